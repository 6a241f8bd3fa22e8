/* SPDX-License-Identifier: Apache-2.0 */
/* Fields by name, tokens of lists, Accept. */
#include "codec/http.h"

#include <stdlib.h>

#include "base/slice.h"
#include "t.h"

TEST(fields_are_found_in_any_case_and_the_first_counts)
{
    struct weir_slice value = SLICE("untouched");
    struct http_head head = {.n_fields = 3,
                             .fields = {{SLICE("HOST"), SLICE("a")},
                                        {SLICE("host"), SLICE("b")},
                                        {SLICE("x-[]"), SLICE("c")}}};
    T_OK(http_find(&head, "host", &value));
    T_EQ_STR(value, "a");
    T_OK(!http_find(&head, "hos", &value));
    T_OK(!http_find(&head, "hosts", &value));
    T_OK(!http_find(&head, "x-{}", &value));
    T_EQ_STR(value, "a");
    T_OK(http_field_is(&head.fields[0], "host"));
    T_OK(!http_field_is(&head.fields[2], "host"));
}

/* Every pointer of the struct, also of members that are not there yet. */
TEST(head_that_is_moved_has_nothing_of_its_old_place)
{
    static const char text[] =
        "POST /a/b?c=d HTTP/1.1\r\nHost: h:1\r\nX: y\r\nContent-Length: 1\r\n\r\n";
    static const size_t len = sizeof text - 1;
    char *from = malloc(len), *to = malloc(len);
    struct http_reader reader;
    struct http_head head;
    size_t used = 0;
    memcpy(from, text, len);
    memcpy(to, text, len);
    memset(&head, 0, sizeof head);
    http_reader_init(&reader, &(struct http_limits){.head_bytes = 4096, .body_bytes = 4096});
    T_EQ(http_read_head(&reader, slice_of(from, len), &head, &used), HTTP_DONE);
    http_head_move(&head, slice_of(from, len), to);
    for (size_t at = 0; at + sizeof(uintptr_t) <= sizeof head; at += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, (const char *)&head + at, sizeof word);
        T_OK(word < (uintptr_t)from || word >= (uintptr_t)from + len);
    }
    T_EQ_STR(head.host, "h:1");
    T_EQ_STR(head.target, "/a/b?c=d");
    T_EQ_STR(head.query, "c=d");
    free(from);
    free(to);
}

struct row {
    const char *list;
    const char *token;
    bool want;
};

static const struct row lists[] = {
    {"close", "close", true},
    {"Close", "close", true},
    {"a, close", "close", true},
    {"a,close,b", "close", true},
    {" \t close \t ;q=1, b", "close", true},
    {"close;q=0", "close", true},
    {"closed", "close", false},
    {"clos", "close", false},
    {"a close", "close", false},
    {"", "close", false},
    {",,,", "close", false},
    {",,close", "close", true},
    {"a=\"x, close\"", "close", false},
    {"a=\"x\\\", close\", b", "close", false},
    {"a=\"x\\\"\", close", "close", true},
    {"a=\"never closed, close", "close", false},
    {"a=\"\\", "close", false},
};

TEST(lists_have_their_tokens)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (http_list_has(weir_slice_of(lists[i].list), lists[i].token) != lists[i].want)
            t_fail(__FILE__, __LINE__, "'%s'", lists[i].list);
}

static const struct row accepts[] = {
    {"text/event-stream", "text/event-stream", true},
    {"Text/Event-Stream", "text/event-stream", true},
    {"text/*", "text/event-stream", true},
    {"*/*", "text/event-stream", true},
    {"text/html, application/json;q=0.9, */*;q=0.8", "text/event-stream", true},
    {"text/html,application/json", "text/event-stream", false},
    {"", "text/event-stream", false},
    {"text/event-stream;q=0", "text/event-stream", false},
    {"text/event-stream; q=0.000", "text/event-stream", false},
    {"text/event-stream ; Q=0.", "text/event-stream", false},
    {"text/event-stream;q=0.001", "text/event-stream", true},
    {"text/event-stream;q=0, */*", "text/event-stream", false},
    {"*/*, text/event-stream;q=0", "text/event-stream", false},
    {"*/*;q=0, text/event-stream", "text/event-stream", true},
    {"*/*;q=0, text/*", "text/event-stream", true},
    {"text/*;q=0, */*", "text/event-stream", false},
    {"text/event-stream;charset=utf-8", "text/event-stream", true},
    {"text/event-stream;a=\"q=0;q=0, x\";q=1", "text/event-stream", true},
    {"text/event", "text/event-stream", false},
    {"text", "text/event-stream", false},
    {"*", "text/event-stream", false},
    {"application/*", "text/event-stream", false},
    {"te*t/event-stream", "text/event-stream", false},
    {"text/event-stream;q=", "text/event-stream", true},
    {";q=0,text/event-stream", "text/event-stream", true},
};

TEST(accept_allows_by_name_and_by_range)
{
    for (size_t i = 0; i < sizeof accepts / sizeof *accepts; i++)
        if (http_accepts(weir_slice_of(accepts[i].list), accepts[i].token) != accepts[i].want)
            t_fail(__FILE__, __LINE__, "'%s'", accepts[i].list);
}
