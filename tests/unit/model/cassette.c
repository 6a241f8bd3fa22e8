/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/slice.h"
#include "model/cassette.h"
#include "t.h"

static char key[] = "k3y-of-the-test";
static const struct model_provider claude = {
    .name = "claude", .type = MODEL_ANTHROPIC, .base_url = "https://x", .key = key};
static const struct model_player player = {.provider = &claude, .model = "m-1"};
static const struct model_request request = {
    .role = MODEL_FAST, .purpose = "route", .system = {"S", 1}, .messages = {"[]", 2}};

static void record(struct cassette *c)
{
    cassette_init(c);
    c->http_status = 200;
    snprintf(c->content_type, sizeof c->content_type, "text/event-stream");
    cassette_add(c, SLICE("data: {\"a\":\"Gr\xc3"), 3);
    cassette_add(c, SLICE("\xbc\xc3\x9f\"}\n\ndata: k3y-of"), 15);
    cassette_add(c, SLICE("-the-test\n\n"), 15);
    c->end_ms = 20;
    snprintf(c->cut, sizeof c->cut, "the connection was lost");
}

TEST(a_cassette_is_played_as_it_was_recorded)
{
    struct cassette c, back;
    struct weir_buf text;
    record(&c);
    weir_buf_init(&text, 1 << 20);
    cassette_put(&text, &c, &request, &player);
    cassette_init(&back);
    T_OK(cassette_read(&back, weir_buf_slice(&text)));
    T_EQ_STR(weir_buf_slice(&back.bytes),
             "data: {\"a\":\"Gr\xc3\xbc\xc3\x9f\"}\n\ndata: ***************\n\n");
    T_EQ(back.n_pieces, 3);
    T_EQ(back.pieces[0].at_ms, 3);
    T_EQ(back.pieces[0].end, 15);
    T_EQ(back.pieces[2].at_ms, 15);
    T_EQ(back.end_ms, 20);
    T_EQ(back.http_status, 200);
    T_EQ(back.type, MODEL_ANTHROPIC);
    T_EQ_STR(weir_slice_of(back.content_type), "text/event-stream");
    T_EQ_STR(weir_slice_of(back.cut), "the connection was lost");
    T_OK(!memmem(text.ptr, text.len, key, strlen(key)));
    cassette_fini(&c);
    cassette_fini(&back);
    weir_buf_fini(&text);
}

TEST(a_cassette_that_is_cut_anywhere_is_none)
{
    struct cassette c;
    struct weir_buf text;
    record(&c);
    weir_buf_init(&text, 1 << 20);
    cassette_put(&text, &c, &request, &player);
    for (size_t len = 0; len + 1 < text.len; len++) {
        struct cassette back;
        cassette_init(&back);
        T_OK(!cassette_read(&back, slice_of(text.ptr, len)));
        cassette_fini(&back);
    }
    cassette_fini(&c);
    weir_buf_fini(&text);
}

TEST(cassettes_of_one_request_are_numbered)
{
    const char *folder = t_temp_dir();
    char hash[CASSETTE_HASH_BYTES];
    struct cassette c;
    cassette_hash(&request, hash);
    T_EQ(strlen(hash), 64);
    for (int i = 1; i <= 3; i++) {
        struct weir_buf text;
        record(&c);
        c.end_ms = (uint64_t)i * 100;
        weir_buf_init(&text, 1 << 20);
        cassette_put(&text, &c, &request, &player);
        T_EQ(cassette_save(folder, hash, weir_buf_slice(&text)), WEIR_OK);
        weir_buf_fini(&text);
        cassette_fini(&c);
    }
    for (unsigned n = 1; n <= 5; n++) {
        cassette_init(&c);
        T_EQ(cassette_load(&c, folder, hash, n), WEIR_OK);
        T_EQ(c.end_ms, n < 3 ? n * 100 : 300);
        cassette_fini(&c);
    }
    cassette_init(&c);
    T_EQ(cassette_load(&c, folder, "other", 1), WEIR_NOT_FOUND);
    T_EQ(cassette_save("/nowhere", hash, SLICE("")), WEIR_IO);
    cassette_fini(&c);
}

TEST(the_hash_depends_on_what_is_asked_alone)
{
    char a[CASSETTE_HASH_BYTES], b[CASSETTE_HASH_BYTES];
    struct model_request other = request;
    cassette_hash(&request, a);
    other.max_tokens = MODEL_MAX_TOKENS;
    cassette_hash(&other, b);
    T_EQ(strcmp(a, b), 0);
    other.system = SLICE("T");
    cassette_hash(&other, b);
    T_OK(strcmp(a, b) != 0);
}
