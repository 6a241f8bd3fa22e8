/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incremental JSON: a tool input of 200 KB in deltas of 20 bytes, the value read
 * after each of them; then one of 400 KB, which may take twice as long and no
 * more. Reader and document are made and freed inside the measured time.
 *
 * "Read" means: find the growing member from the root and look at its end. For
 * the string that is its length and last byte, for the array its length.
 */
#include <weir/json.h>
#include <weir/message.h>

#include "bench.h"

enum { DELTA_BYTES = 20 };

/* Looks at the value as a user of partial values would. */
static uint32_t touch(const struct weir_json *root)
{
    const struct weir_json *items = weir_json_get_str(root, "items");
    if (items != NULL) return (uint32_t)weir_json_count(items);
    struct weir_slice s = weir_json_text(weir_json_get_str(root, "content"));
    return s.len == 0 ? 0 : (uint32_t)s.len + (unsigned char)s.ptr[s.len - 1];
}

static void feed_all(struct bench_case *c, struct weir_json_reader *r)
{
    for (size_t at = 0; at < c->text.len; at += c->chunk) {
        size_t n = c->text.len - at < c->chunk ? c->text.len - at : c->chunk;
        bench_need(weir_json_reader_feed(r, c->text.ptr + at, n) == WEIR_OK, "the reader failed");
        c->check += touch(weir_json_reader_value(r));
        c->count++;
    }
    bench_need(weir_json_reader_end(r) == WEIR_OK, "the text is not whole");
}

static void run_touch(struct bench_case *c)
{
    c->count = 0;
    c->check = 0;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    bench_need(doc != NULL, "no memory");
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    bench_need(r != NULL, "no memory");
    feed_all(c, r);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

/* check: over the text of the final value, written compactly. */
static void run_hash(struct bench_case *c)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    bench_need(doc != NULL, "no memory");
    struct weir_json_reader *r = weir_json_reader_new(doc, 0);
    bench_need(r != NULL, "no memory");
    struct weir_buf out;
    weir_buf_init(&out, (size_t)1 << 30);
    feed_all(c, r);
    weir_json_put_value(&out, weir_json_reader_value(r));
    bench_need(weir_buf_status(&out) == WEIR_OK, "no memory");
    c->count = out.len;
    c->check = bench_fnv(BENCH_FNV_INIT, out.ptr, out.len);
    weir_buf_fini(&out);
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

static void on_input_json(void *user, size_t block, struct weir_slice delta,
                          const struct weir_json *value)
{
    struct bench_case *c = user;
    (void)block;
    (void)delta;
    c->count++;
    c->check += touch(value);
}

static void put_event(struct weir_buf *out, const char *type, const char *head)
{
    weir_buf_append_str(out, "event: ");
    weir_buf_append_str(out, type);
    weir_buf_append_str(out, "\ndata: {\"type\":\"");
    weir_buf_append_str(out, type);
    weir_buf_append_str(out, head);
}

/* The same input as a model sends it: a message of input_json_delta events. */
static void put_wire(struct weir_buf *out, struct weir_slice input)
{
    put_event(out, "message_start", "\",\"message\":{\"type\":\"message\",\"content\":[]}}\n\n");
    put_event(out, "content_block_start",
              "\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"input\":{}}}\n\n");
    for (size_t at = 0; at < input.len;) {
        size_t n = input.len - at < DELTA_BYTES ? input.len - at : DELTA_BYTES;
        /* A JSON string cannot be cut inside a character. */
        while (at + n < input.len && ((unsigned char)input.ptr[at + n] & 0xC0) == 0x80) n++;
        put_event(out, "content_block_delta",
                  "\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":");
        struct weir_buf text;
        weir_buf_init(&text, 4096);
        weir_json_put_string(&text, (struct weir_slice){input.ptr + at, n});
        weir_buf_append_slice(out, weir_buf_slice(&text));
        weir_buf_fini(&text);
        weir_buf_append_str(out, "}}\n\n");
        at += n;
    }
    put_event(out, "content_block_stop", "\",\"index\":0}\n\n");
    put_event(out, "message_stop", "\"}\n\n");
}

static void run_wire(struct bench_case *c)
{
    static const struct weir_message_handlers handlers = {.on_input_json = on_input_json};
    c->count = 0;
    c->check = 0;
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, &handlers, c, NULL);
    bench_need(m != NULL, "no memory");
    bench_need(weir_message_feed(m, c->text.ptr, c->text.len) == WEIR_OK, "the message failed");
    bench_need(weir_message_end(m) == WEIR_OUTCOME_MESSAGE, "the message is not whole");
    bench_need(weir_message_input_state(m, 0, NULL) == WEIR_INPUT_COMPLETE, "input is not whole");
    weir_message_free(m);
}

static void run_messages(struct weir_slice string, struct weir_slice objects)
{
    struct weir_buf wire[2];
    weir_buf_init(&wire[0], (size_t)1 << 30);
    weir_buf_init(&wire[1], (size_t)1 << 30);
    put_wire(&wire[0], string);
    put_wire(&wire[1], objects);
    struct bench_case cases[] = {
        {.name = "partial/wire-string-200k", .run = run_wire, .text = weir_buf_slice(&wire[0])},
        {.name = "partial/wire-objects-200k", .run = run_wire, .text = weir_buf_slice(&wire[1])},
    };
    bench_run(cases, 2, 20);
    bench_report(cases, 2);
    weir_buf_fini(&wire[0]);
    weir_buf_fini(&wire[1]);
}

int main(int argc, char **argv)
{
    bench_need(argc >= 2, "usage: bench-partial DATA_DIRECTORY");
    bench_keep_memory();
    struct bench_case cases[] = {
        {.name = "partial/string-200k", .text = bench_load(argv[1], "string_200k.json")},
        {.name = "partial/string-400k", .text = bench_load(argv[1], "string_400k.json")},
        {.name = "partial/objects-200k", .text = bench_load(argv[1], "objects_200k.json")},
        {.name = "partial/objects-400k", .text = bench_load(argv[1], "objects_400k.json")},
    };
    static const char *const hash_names[] = {"partial/string-200k-hash", "partial/string-400k-hash",
                                             "partial/objects-200k-hash",
                                             "partial/objects-400k-hash"};
    for (size_t i = 0; i < 4; i++) {
        cases[i].run = run_touch;
        cases[i].chunk = DELTA_BYTES;
    }
    bench_run(cases, 4, 60);
    bench_report(cases, 4);
    for (size_t i = 0; i < 4; i++) {
        struct bench_case hash = cases[i];
        hash.name = hash_names[i];
        hash.run = run_hash;
        bench_verify(&hash);
    }
    run_messages(cases[0].text, cases[2].text);
    return 0;
}
