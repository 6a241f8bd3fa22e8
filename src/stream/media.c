/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/media.h"

#include <string.h>
#include <strings.h>

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

struct weir_slice media_essence(struct weir_slice value)
{
    size_t slash = 0;
    size_t i = 0;
    while (value.len > 0 && (value.ptr[0] == ' ' || value.ptr[0] == '\t')) {
        value.ptr++;
        value.len--;
    }
    for (; i < value.len && value.ptr[i] != ';'; i++) {
        char c = value.ptr[i];
        if (c == '/' && slash == 0 && i > 0) slash = i;
        else if (c == ' ' || c == '\t') break;
        else if (!is_token_char(c)) return (struct weir_slice){0};
    }
    if (slash == 0 || slash + 1 == i) return (struct weir_slice){0};
    return (struct weir_slice){value.ptr, i};
}

bool media_is_same(struct weir_slice a, struct weir_slice b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

static bool is(struct weir_slice essence, const char *type)
{
    return media_is_same(essence, (struct weir_slice){type, strlen(type)});
}

enum stream_format media_format(struct weir_slice essence)
{
    if (is(essence, "application/json")) return STREAM_JSON;
    if (essence.len > 5 && strncasecmp(essence.ptr, "text/", 5) == 0) return STREAM_TEXT;
    return STREAM_BYTES;
}
