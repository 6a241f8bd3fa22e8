/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode, JSON and accumulate: the stream of 50 MB, one weir_message for each
 * message in it, fed in chunks of 64 KB, a callback on every delta. The final
 * messages are compared as text with those of the peer in an untimed pass.
 */
#include <stdlib.h>

#include <weir/message.h>

#include "bench.h"

struct index {
    size_t *lens;
    size_t n;
};

static struct index load_index(const char *dir)
{
    struct weir_slice text = bench_load(dir, "stream.idx");
    struct index index = {.n = 0};
    for (size_t i = 0; i < text.len; i++) index.n += text.ptr[i] == '\n';
    index.lens = calloc(index.n, sizeof *index.lens);
    bench_need(index.lens != NULL, "no memory");
    size_t line = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n') {
            line++;
        } else {
            index.lens[line] = index.lens[line] * 10 + (size_t)(text.ptr[i] - '0');
        }
    }
    return index;
}

static void on_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct bench_case *c = user;
    c->count++;
    c->check += (uint32_t)block + (delta.len != 0 && all.ptr[all.len - delta.len] != '\0');
}

static void on_input_json(void *user, size_t block, struct weir_slice delta,
                          const struct weir_json *value)
{
    struct bench_case *c = user;
    c->count++;
    c->check += (uint32_t)block + (delta.len != 0 && value != NULL);
}

static const struct weir_message_handlers handlers = {.on_text = on_text,
                                                      .on_input_json = on_input_json};

/* Feeds one message and hands it back, complete. */
static struct weir_message *accumulate(struct bench_case *c, const char *bytes, size_t len)
{
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, &handlers, c, NULL);
    bench_need(m != NULL, "no memory");
    for (size_t at = 0; at < len; at += c->chunk) {
        size_t n = len - at < c->chunk ? len - at : c->chunk;
        bench_need(weir_message_feed(m, bytes + at, n) == WEIR_OK, "the message failed");
    }
    bench_need(weir_message_end(m) == WEIR_OUTCOME_MESSAGE, "a message is not whole");
    return m;
}

static void run_touch(struct bench_case *c)
{
    const struct index *index = c->extra;
    const char *p = c->text.ptr;
    c->count = 0;
    c->check = 0;
    for (size_t i = 0; i < index->n; i++) {
        struct weir_message *m = accumulate(c, p, index->lens[i]);
        const struct weir_json *content = weir_json_get_str(weir_message_value(m), "content");
        c->check += (uint32_t)weir_json_count(content);
        weir_message_free(m);
        p += index->lens[i];
    }
}

/* count: messages; check: over the compact JSON text of each. */
static void run_hash(struct bench_case *c)
{
    const struct index *index = c->extra;
    const char *p = c->text.ptr;
    uint32_t hash = BENCH_FNV_INIT;
    struct weir_buf out;
    weir_buf_init(&out, (size_t)1 << 30);
    for (size_t i = 0; i < index->n; i++) {
        struct weir_message *m = accumulate(c, p, index->lens[i]);
        weir_buf_reset(&out);
        weir_json_put_value(&out, weir_message_value(m));
        bench_need(weir_buf_status(&out) == WEIR_OK, "no memory");
        hash = bench_fnv(hash, out.ptr, out.len);
        weir_message_free(m);
        p += index->lens[i];
    }
    weir_buf_fini(&out);
    c->count = index->n;
    c->check = hash;
}

int main(int argc, char **argv)
{
    bench_need(argc >= 2, "usage: bench-message DATA_DIRECTORY [--once]");
    struct weir_slice stream = bench_load(argv[1], "stream.sse");
    struct index index = load_index(argv[1]);
    struct bench_case cases[] = {
        {.name = "message/64k", .run = run_touch, .text = stream, .chunk = 65536},
        {.name = "message/1k", .run = run_touch, .text = stream, .chunk = 1024},
    };
    cases[0].extra = cases[1].extra = &index;
    if (bench_flag(argc, argv, "--once")) {
        index.n /= 10;
        cases[0].name = "message/once";
        cases[0].text.len = 0;
        for (size_t i = 0; i < index.n; i++) cases[0].text.len += index.lens[i];
        bench_verify(&cases[0]);
        return 0;
    }
    bench_run(cases, 2, 7);
    bench_report(cases, 2);
    struct bench_case whole = {.name = "message/hash", .run = run_hash, .text = stream};
    whole.chunk = 4093;
    whole.extra = &index;
    bench_verify(&whole);
    return 0;
}
