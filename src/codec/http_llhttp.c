/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that knows llhttp: one whole head, read in one go. See http_llhttp_impl.h. */
#include "codec/http_llhttp_impl.h"

#include <llhttp.h>

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct http_reading *reading = parser->data;
    reading->target = (struct weir_slice){at, len};
    return 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    struct http_reading *reading = parser->data;
    if (reading->n_fields == HTTP_READING_FIELDS) return -1;
    reading->names[reading->n_fields] = (struct weir_slice){at, len};
    reading->values[reading->n_fields] = (struct weir_slice){at, 0};
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t len)
{
    struct http_reading *reading = parser->data;
    reading->values[reading->n_fields] = (struct weir_slice){at, len};
    return 0;
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct http_reading *reading = parser->data;
    reading->n_fields++;
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct http_reading *reading = parser->data;
    reading->minor = parser->http_minor;
    reading->is_chunked = (parser->flags & F_CHUNKED) != 0;
    reading->has_length = (parser->flags & F_CONTENT_LENGTH) != 0;
    reading->content_length = parser->content_length;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
};

bool http_llhttp_read(struct weir_slice method, struct weir_slice rest,
                      struct http_reading *reading)
{
    llhttp_t parser;
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = reading;
    reading->n_fields = 0;
    reading->target = (struct weir_slice){rest.ptr, 0};
    if (llhttp_execute(&parser, method.ptr, method.len) != HPE_OK) return false;
    if (llhttp_execute(&parser, rest.ptr, rest.len) != HPE_PAUSED) return false;
    return parser.http_major == 1 && llhttp_get_error_pos(&parser) == rest.ptr + rest.len;
}
