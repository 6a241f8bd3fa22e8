/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs llhttp; see http_peer.h. codec/http.h cannot be included here, for llhttp has other
 * numbers for the names of methods.
 */
#include "oracle/http_peer.h"

#include <llhttp.h>

struct peer {
    struct text *out;
    struct text head; /* shown when it is whole */
    struct text body;
};

static struct peer *peer_of(llhttp_t *parser)
{
    return parser->data;
}

/* White space at the end of a value is not of it; llhttp leaves that to the caller. */
static struct weir_slice trimmed(const char *at, size_t len)
{
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t')) len--;
    return (struct weir_slice){at, len};
}

static int on_message_begin(llhttp_t *parser)
{
    peer_of(parser)->head.len = 0;
    peer_of(parser)->body.len = 0;
    return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct peer *peer = peer_of(parser);
    text_printf(&peer->head, "request %s ", llhttp_method_name((llhttp_method_t)parser->method));
    text_quote(&peer->head, (struct weir_slice){at, len});
    return 0;
}

static int on_version_complete(llhttp_t *parser)
{
    text_printf(&peer_of(parser)->head, " %d.%d\n", parser->http_major, parser->http_minor);
    return 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    if (parser->flags & F_TRAILING) return 0;
    text_add_char(&peer_of(parser)->head, ' ');
    text_quote(&peer_of(parser)->head, (struct weir_slice){at, len});
    text_add_char(&peer_of(parser)->head, ' ');
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t len)
{
    if (parser->flags & F_TRAILING) return 0;
    text_quote(&peer_of(parser)->head, trimmed(at, len));
    return 0;
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct text *head = &peer_of(parser)->head;
    if (parser->flags & F_TRAILING) return 0;
    if (head->ptr[head->len - 1] == ' ') text_printf(head, "''");
    text_add_char(head, '\n');
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct peer *peer = peer_of(parser);
    text_add(peer->out, peer->head.ptr, peer->head.len);
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    text_add(&peer_of(parser)->body, at, len);
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct peer *peer = peer_of(parser);
    text_printf(peer->out, "body ");
    text_quote(peer->out, text_slice(&peer->body));
    text_printf(peer->out, "\nend\n");
    return 0;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_url = on_url,
    .on_version_complete = on_version_complete,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

bool http_peer_transcript(struct text *out, struct weir_slice input)
{
    struct peer peer = {.out = out};
    llhttp_t parser;
    llhttp_errno_t result = HPE_OK;
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    /* Whether to go on after "Connection: close" is not what is compared. */
    llhttp_set_lenient_keep_alive(&parser, 1);
    parser.data = &peer;
    while (input.len > 0) {
        result = llhttp_execute(&parser, input.ptr, input.len);
        if (result != HPE_PAUSED_UPGRADE) break;
        const char *stop = llhttp_get_error_pos(&parser);
        input.len -= (size_t)(stop - input.ptr);
        input.ptr = stop;
        llhttp_resume_after_upgrade(&parser);
    }
    text_fini(&peer.head);
    text_fini(&peer.body);
    return result == HPE_OK;
}
