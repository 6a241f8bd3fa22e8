/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource of streams over a real store, with an exchange of the test's own in place of
 * the server's: what goes into the log, and what is answered.
 */
#include "fan/fan.h"
#include "unit/serve/fake_exchange.h"

static struct exchange append(const char *name, const char *body)
{
    struct exchange ex = request(name, body);
    run(&ex, streams_append);
    return ex;
}

/* All that is in a log, as it goes on the wire. */
static void expect_log(const char *log, const char *want)
{
    struct log_read read;
    struct weir_buf all;
    weir_buf_init(&all, 1 << 20);
    store_read(store, weir_slice_of(log), 1, 1 << 20, &read);
    T_EQ(read.status, WEIR_OK);
    for (unsigned i = 0; i < read.n_chunks; i++) {
        weir_buf_append(&all, read.chunks[i]->bytes, read.chunks[i]->len);
        chunk_unref(read.chunks[i]);
    }
    T_EQ_STR(weir_buf_slice(&all), want);
    weir_buf_fini(&all);
}

/* ---- appending ---- */

TEST(append_makes_the_stream_and_answers_with_the_id)
{
    open_store();
    struct exchange ex = append("demo", "{\"a\":1}");
    T_EQ(ex.status, 201);
    T_EQ_STR(weir_slice_of(ex.text), "{\"id\":1}");
    ex = append("demo", "2");
    T_EQ_STR(weir_slice_of(ex.text), "{\"id\":2}");
    ex = append("other", "null");
    T_EQ_STR(weir_slice_of(ex.text), "{\"id\":1}");
    expect_log("s/demo", "id: 1\ndata: {\"a\":1}\n\nid: 2\ndata: 2\n\n");
    expect_log("s/other", "id: 1\ndata: null\n\n");
    close_store();
}

TEST(data_are_the_bytes_that_were_sent_on_one_line)
{
    open_store();
    append("demo", " {\n  \"a\\n\": [1,\r\n2] \t}\n");
    append("demo", "\"\xE2\x82\xAC \\u2028 1e5\"");
    expect_log("s/demo", "id: 1\ndata: {   \"a\\n\": [1,  2] \t}\n\n"
                         "id: 2\ndata: \"\xE2\x82\xAC \\u2028 1e5\"\n\n");
    close_store();
}

TEST(long_values_take_memory_and_are_kept_whole)
{
    enum { LEN = 300000 };
    open_store();
    struct exchange ex = request("demo", "");
    char *body = mem_alloc(LEN);
    memset(body, 'x', LEN);
    body[0] = body[LEN - 1] = '"';
    ex.body = slice_of(body, LEN);
    run(&ex, streams_append);
    T_EQ(ex.status, 201);
    struct log_read read;
    store_read(store, SLICE("s/demo"), 1, 1 << 20, &read);
    T_EQ(read.n_chunks, 1);
    T_EQ(read.chunks[0]->len, LEN + sizeof "id: 1\ndata: \n\n" - 1);
    T_OK(memcmp(read.chunks[0]->bytes + 12, body, LEN) == 0);
    chunk_unref(read.chunks[0]);
    mem_free(body);
    close_store();
}

TEST(type_of_the_event_stands_before_its_data)
{
    static const char *const wrong[] = {"", "a b", "a\nb", "a:b", "\xC3\xA9"};
    open_store();
    struct exchange ex = request("demo", "1");
    add_query(&ex, "event", "turn.started_2-x");
    run(&ex, streams_append);
    T_EQ(ex.status, 201);
    expect_log("s/demo", "id: 1\nevent: turn.started_2-x\ndata: 1\n\n");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ex = request("demo", "1");
        add_query(&ex, "event", wrong[i]);
        run(&ex, streams_append);
        T_EQ(ex.status, 400);
        T_OK(strncmp(ex.text, "invalid_field: ", 15) == 0);
    }
    char longest[66];
    for (size_t len = 64; len <= 65; len++) {
        memset(longest, 'x', len);
        longest[len] = 0;
        ex = request("demo", "1");
        add_query(&ex, "event", longest);
        run(&ex, streams_append);
        T_EQ(ex.status, len == 64 ? 201 : 400);
    }
    close_store();
}

TEST(batch_appends_every_element_or_nothing)
{
    open_store();
    struct exchange ex = request("demo", "[1,\n{\"a\":\n[2]},\"x\"]");
    add_query(&ex, "batch", "1");
    run(&ex, streams_append);
    T_EQ(ex.status, 201);
    T_EQ_STR(weir_slice_of(ex.text), "{\"first\":1,\"last\":3}");
    expect_log("s/demo", "id: 1\ndata: 1\n\nid: 2\ndata: {\"a\": [2]}\n\nid: 3\ndata: \"x\"\n\n");
    static const char *const wrong[] = {"[]", "{}", "1", "[1,2", "[1,]", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ex = request("demo", wrong[i]);
        add_query(&ex, "batch", "true");
        run(&ex, streams_append);
        T_EQ(ex.status, 400);
        T_OK(strncmp(ex.text, "invalid_request: ", 17) == 0);
    }
    /* Without the word it is one event. */
    ex = request("demo", "[]");
    add_query(&ex, "batch", "0");
    run(&ex, streams_append);
    T_EQ_STR(weir_slice_of(ex.text), "{\"id\":4}");
    ex = request("demo", "[]");
    add_query(&ex, "batch", "yes");
    run(&ex, streams_append);
    T_EQ(ex.status, 400);
    close_store();
}

TEST(batch_has_a_ceiling)
{
    enum { MOST = 10000 };
    open_store();
    char *body = mem_alloc(2 * MOST + 8);
    body[0] = '[';
    for (int n = MOST; n <= MOST + 1; n++) {
        size_t len = 1;
        for (int i = 0; i < n; i++) {
            body[len++] = '1';
            body[len++] = i + 1 < n ? ',' : ']';
        }
        struct exchange ex = request("demo", "");
        ex.body = slice_of(body, len);
        add_query(&ex, "batch", "1");
        run(&ex, streams_append);
        T_EQ(ex.status, n == MOST ? 201 : 413);
        T_EQ_STR(weir_slice_of(ex.text),
                 n == MOST ? "{\"first\":1,\"last\":10000}"
                           : "payload_too_large: a batch has at most 10000 elements, not 10001");
    }
    mem_free(body);
    close_store();
}

TEST(what_is_not_json_is_refused_with_its_place)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        {"", "invalid_request: the body is empty; it has to be one JSON value"},
        {"{\"a\":}", "invalid_request: the body is not JSON: expected a value at byte 5"},
        {"1 2", "invalid_request: the body is not JSON: expected the end of the text at byte 2"},
        {"\"\xFF\"",
         "invalid_request: the body is not JSON: a JSON string is not UTF-8, at byte 1"},
        {"[1", "invalid_request: the body is not JSON: expected a comma or ] at byte 2"},
    };
    open_store();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = append("demo", cases[i].body);
        T_EQ(ex.status, 400);
        T_EQ_STR(weir_slice_of(ex.text), cases[i].want);
    }
    close_store();
}

TEST(only_json_is_taken)
{
    static const struct {
        const char *type;
        int status;
    } cases[] = {
        {"application/json", 201},
        {"Application/JSON; charset=utf-8", 201},
        {"application/json ;x", 201},
        {"application/problem+json", 201},
        {"", 201},
        {"text/plain", 415},
        {"application/x-www-form-urlencoded", 201},
        {"application/jsonx", 415},
        {"xapplication/json", 415},
        {"json", 415},
    };
    open_store();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = request("demo", "1");
        add_field(&ex, "content-type", cases[i].type);
        run(&ex, streams_append);
        T_EQ(ex.status, cases[i].status);
    }
    close_store();
}

TEST(forms_are_taken_from_programs_but_not_from_pages)
{
    open_store();
    struct exchange ex = request("demo", "1");
    add_field(&ex, "content-type", "application/x-www-form-urlencoded");
    run(&ex, streams_append);
    T_EQ(ex.status, 201);
    ex = request("demo", "1");
    add_field(&ex, "content-type", "application/x-www-form-urlencoded");
    add_field(&ex, "origin", "http://evil.example");
    run(&ex, streams_append);
    T_EQ(ex.status, 415);
    close_store();
}

TEST(names_have_a_form)
{
    static const struct {
        const char *name;
        int status;
    } cases[] = {
        {"a", 201},        {"a b", 201},          {"\xC3\xA9\xE2\x82\xAC", 201},
        {".", 201},        {"a/b", 201},          {"a\nb", 400},
        {"\x7F", 400},     {"\xFF", 400},         {"\xC2\x85", 400},
        {"\xC2\xA0", 201}, {"\xED\xA0\x80", 400},
    };
    char longest[202];
    open_store();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        T_EQ(append(cases[i].name, "1").status, cases[i].status);
    struct exchange ex = request("", "1");
    ex.name = SLICE("a\0b");
    run(&ex, streams_append);
    T_EQ(ex.status, 400);
    for (size_t len = 200; len <= 201; len++) {
        memset(longest, 'n', len);
        longest[len] = 0;
        T_EQ(append(longest, "1").status, len == 200 ? 201 : 400);
    }
    close_store();
}

TEST(sealed_stream_takes_no_more)
{
    open_store();
    append("demo", "1");
    struct commit *c = commit_new(100);
    commit_seal(c, SLICE("s/demo"), -1);
    T_EQ(store_commit_wait(store, c).status, WEIR_OK);
    struct exchange ex = append("demo", "2");
    T_EQ(ex.status, 409);
    T_OK(strncmp(ex.text, "sealed: ", 8) == 0);
    close_store();
}

/* ---- the store's failures ---- */

TEST(failures_of_the_store_say_when_to_try_again)
{
    static const struct {
        enum weir_status st;
        const char *code;
        const char *fields;
    } cases[] = {
        {WEIR_NO_SPACE, "storage_unavailable: ", "Retry-After: 10\n"},
        {WEIR_STORAGE, "storage_unavailable: ", "Retry-After: 10\n"},
        {WEIR_IO, "storage_unavailable: ", "Retry-After: 10\n"},
        {WEIR_BUSY, "busy: ", "Retry-After: 1\n"},
        {WEIR_NOMEM, "no_memory: ", "Retry-After: 1\n"},
        {WEIR_LIMIT, "payload_too_large: ", ""},
        {WEIR_SEALED, "sealed: ", ""},
        {WEIR_CORRUPT, "internal_error: ", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = {0};
        resource_store_error(&ex, cases[i].st);
        T_OK(strncmp(ex.text, cases[i].code, strlen(cases[i].code)) == 0);
        T_EQ_STR(weir_slice_of(ex.fields), cases[i].fields);
    }
}

/* ---- the state ---- */

TEST(state_is_told_in_fields_and_as_json)
{
    open_store();
    append("d\"emo", "1");
    append("d\"emo", "2");
    struct exchange ex = request("d\"emo", "");
    run(&ex, streams_state);
    T_EQ(ex.status, 200);
    T_EQ_STR(weir_slice_of(ex.text), "{\"name\":\"d\\\"emo\",\"last\":2,\"sealed\":false}");
    T_EQ_STR(weir_slice_of(ex.fields), "Weir-Last-Id: 2\nWeir-Sealed: false\n");
    ex = request("none", "");
    run(&ex, streams_state);
    T_EQ(ex.status, 404);
    close_store();
}

TEST(state_of_a_stream_that_only_the_disk_knows_is_told)
{
    open_store();
    append("demo", "1");
    close_store();
    open_store();
    struct exchange ex = request("demo", "");
    run(&ex, streams_state);
    T_EQ(ex.status, 200);
    T_EQ_STR(weir_slice_of(ex.text), "{\"name\":\"demo\",\"last\":1,\"sealed\":false}");
    close_store();
}

/* ---- watching ---- */

TEST(accept_decides_between_stream_and_state)
{
    static const struct {
        const char *accept; /* NULL: none */
        char kind;          /* 's' stream, 'j' state, 'n' not acceptable */
    } cases[] = {
        {NULL, 's'},
        {"*/*", 's'},
        {"text/event-stream", 's'},
        {"Text/Event-Stream;q=0.5, application/json", 's'},
        {"text/*", 's'},
        {"application/json", 'j'},
        {"application/json, text/html", 'j'},
        {"text/event-stream;q=0, application/json", 'j'},
        {"image/png", 'n'},
        {"", 'n'},
    };
    open_store();
    append("demo", "1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = request("demo", "");
        if (cases[i].accept) add_field(&ex, "accept", cases[i].accept);
        run(&ex, streams_watch);
        T_EQ(ex.status, cases[i].kind == 'n' ? 406 : 200);
        T_EQ(ex.log[0] != 0, cases[i].kind == 's');
        T_EQ(ex.text[0] == '{', cases[i].kind == 'j');
    }
    close_store();
}

TEST(start_is_what_the_reader_says_it_has)
{
    static const struct {
        const char *header, *query, *from;
        int status;
        uint64_t start;
        bool has_last_id;
    } cases[] = {
        {NULL, NULL, NULL, 200, 1, false},
        {"5", NULL, NULL, 200, 6, true},
        {NULL, "7", NULL, 200, 8, true},
        {"5", "7", NULL, 200, 6, true},
        {"0", NULL, NULL, 200, 1, true},
        {"007", NULL, NULL, 200, 8, true},
        {"", "7", NULL, 200, 8, true},
        {NULL, "", NULL, 200, 1, false},
        {NULL, NULL, "latest", 200, SUB_FROM_LATEST, false},
        {"5", NULL, "latest", 200, 6, true},
        {NULL, NULL, "3", 400, 0, false},
        {NULL, NULL, "", 400, 0, false},
        {"x", NULL, NULL, 400, 0, false},
        {"-1", NULL, NULL, 400, 0, false},
        {"1.0", NULL, NULL, 400, 0, false},
        {" 1", NULL, NULL, 400, 0, false},
        {"99999999999999999999", NULL, NULL, 400, 0, false},
        {"9223372036854775807", NULL, NULL, 400, 0, false},
        {"9223372036854775806", NULL, NULL, 200, 9223372036854775807, true},
        {NULL, "x", NULL, 400, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = request("demo", "");
        if (cases[i].header) add_field(&ex, "Last-Event-ID", cases[i].header);
        if (cases[i].query) add_query(&ex, "last_event_id", cases[i].query);
        if (cases[i].from) add_query(&ex, "from", cases[i].from);
        run(&ex, streams_watch);
        T_EQ(ex.status, cases[i].status);
        if (cases[i].status == 200) {
            T_EQ_STR(weir_slice_of(ex.log), "s/demo");
            T_EQ(ex.how.from, cases[i].start);
            T_EQ(ex.how.has_last_id, cases[i].has_last_id);
        } else {
            T_OK(strncmp(ex.text, "invalid_field: ", 15) == 0);
        }
    }
}

TEST(replay_alone_is_asked_for_by_live)
{
    static const struct {
        const char *live;
        int status;
        bool ends;
    } cases[] = {{"false", 200, true}, {"0", 200, true}, {"true", 200, false}, {"x", 400, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = request("demo", "");
        add_query(&ex, "live", cases[i].live);
        run(&ex, streams_watch);
        T_EQ(ex.status, cases[i].status);
        if (ex.status == 200) T_EQ(ex.how.ends_at_newest, cases[i].ends);
    }
}

/* ---- dropping ---- */

TEST(dropped_stream_is_gone_and_begins_again_at_1)
{
    open_store();
    append("demo", "1");
    struct exchange ex = request("demo", "");
    run(&ex, ds_delete);
    T_EQ(ex.status, 204);
    ex = request("demo", "");
    run(&ex, ds_delete);
    T_EQ(ex.status, 404);
    ex = append("demo", "2");
    T_EQ_STR(weir_slice_of(ex.text), "{\"id\":1}");
    close_store();
}
