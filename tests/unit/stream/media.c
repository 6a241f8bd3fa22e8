/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/media.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

TEST(a_media_type_is_told_from_what_is_none)
{
    static const struct {
        const char *value;
        const char *essence; /* "": none */
    } cases[] = {
        {"text/plain", "text/plain"},
        {"Text/Plain;charset=utf-8", "Text/Plain"},
        {"text/plain ; charset=utf-8", "text/plain"},
        {" \ttext/plain", "text/plain"},
        {"application/vnd.api+json; v=1;w=2", "application/vnd.api+json"},
        {"a/b", "a/b"},
        {"", ""},
        {"   ", ""},
        {"text", ""},
        {"text/", ""},
        {"/plain", ""},
        {"text/;x", ""},
        {";text/plain", ""},
        {"text/pl/ain", ""},
        {"text /plain", ""},
        {"te,xt/plain", ""},
        {"text/pl\"ain", ""},
        {"text/pl\nain", ""},
        {"text/pl\xc3\xa4in", ""},
        {"text/plain,text/html", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        T_EQ_STR(media_essence(weir_slice_of(cases[i].value)), cases[i].essence);
    T_EQ(media_essence(slice_of("text/pl\0in", 10)).len, 0);
    T_EQ(media_essence((struct weir_slice){0}).len, 0);
}

TEST(types_are_the_same_in_either_case)
{
    T_OK(media_is_same(SLICE("text/plain"), SLICE("TEXT/Plain")));
    T_OK(!media_is_same(SLICE("text/plain"), SLICE("text/plai")));
    T_OK(!media_is_same(SLICE("text/plain"), SLICE("text/html_")));
    T_OK(media_is_same((struct weir_slice){0}, (struct weir_slice){0}));
}

TEST(the_type_says_how_messages_are_kept)
{
    T_EQ(media_format(SLICE("application/json")), STREAM_JSON);
    T_EQ(media_format(SLICE("Application/JSON")), STREAM_JSON);
    T_EQ(media_format(SLICE("application/jsonl")), STREAM_BYTES);
    T_EQ(media_format(SLICE("text/plain")), STREAM_TEXT);
    T_EQ(media_format(SLICE("TEXT/x")), STREAM_TEXT);
    T_EQ(media_format(SLICE("text")), STREAM_BYTES);
    T_EQ(media_format(SLICE("text/")), STREAM_BYTES);
    T_EQ(media_format(SLICE("application/octet-stream")), STREAM_BYTES);
    T_EQ(media_format((struct weir_slice){0}), STREAM_BYTES);
}
