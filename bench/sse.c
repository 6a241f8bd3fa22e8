/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SSE: bytes to events. The stream of 50 MB in chunks of 1 KB and 64 KB, the
 * first 5 and 10 MB of it byte by byte, and the shapes that make a careless
 * decoder quadratic: one line of 16 MB, and one chunk of nothing but tiny lines.
 *
 * The callback reads the first and the last byte of the data; eventsource-parser's
 * does the same. The whole content is compared in an untimed pass.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/sse.h>

#include "bench.h"

enum { MB = 1000 * 1000, LINE_BYTES = 16 * MB, TINY_BYTES = 4 * MB };

static void on_event_touch(void *user, const struct weir_sse_event *e)
{
    struct bench_case *c = user;
    c->count++;
    if (e->data.len == 0) return;
    const char *p = e->data.ptr;
    c->check += (unsigned char)p[0] + (unsigned char)p[e->data.len - 1] + (uint32_t)e->type.len;
}

static void on_event_hash(void *user, const struct weir_sse_event *e)
{
    struct bench_case *c = user;
    c->count++;
    c->check = bench_fnv(c->check, e->type.ptr, e->type.len);
    c->check = bench_fnv(c->check, e->data.ptr, e->data.len);
}

static void decode(struct bench_case *c, const struct weir_sse_handlers *handlers)
{
    struct weir_sse *d = weir_sse_new(handlers, c, NULL);
    bench_need(d != NULL, "no memory");
    size_t chunk = c->chunk != 0 ? c->chunk : c->text.len;
    for (size_t at = 0; at < c->text.len; at += chunk) {
        size_t n = c->text.len - at < chunk ? c->text.len - at : chunk;
        bench_need(weir_sse_feed(d, c->text.ptr + at, n) == WEIR_OK, "the decoder failed");
    }
    weir_sse_free(d);
}

static void run_touch(struct bench_case *c)
{
    static const struct weir_sse_handlers handlers = {.on_event = on_event_touch};
    c->count = 0;
    c->check = 0;
    decode(c, &handlers);
}

static void run_hash(struct bench_case *c)
{
    static const struct weir_sse_handlers handlers = {.on_event = on_event_hash};
    c->count = 0;
    c->check = BENCH_FNV_INIT;
    decode(c, &handlers);
}

static struct weir_slice cut(struct weir_slice s, size_t len)
{
    return (struct weir_slice){s.ptr, len < s.len ? len : s.len};
}

/* "data: xxxx…" of this length with its blank line. */
static struct weir_slice long_line(size_t len)
{
    char *p = malloc(len);
    bench_need(p != NULL && len > 8, "no memory");
    memset(p, 'x', len);
    memcpy(p, "data: ", 6);
    p[len - 2] = p[len - 1] = '\n';
    return (struct weir_slice){p, len};
}

/* Runs of "data:" with one byte each, an event every fourth line. */
static struct weir_slice tiny_lines(size_t len)
{
    static const char pattern[] = "data:a\ndata:b\n:\n\n";
    char *p = malloc(len);
    bench_need(p != NULL, "no memory");
    for (size_t i = 0; i < len; i++) p[i] = pattern[i % (sizeof pattern - 1)];
    return (struct weir_slice){p, len};
}

static void run_stream(struct weir_slice stream)
{
    struct bench_case cases[] = {
        {.name = "sse/64k", .run = run_touch, .text = stream, .chunk = 65536},
        {.name = "sse/1k", .run = run_touch, .text = stream, .chunk = 1024},
    };
    bench_run(cases, 2, 9);
    bench_report(cases, 2);
    struct bench_case whole = {.name = "sse/hash", .run = run_hash, .text = stream, .chunk = 4093};
    bench_verify(&whole);
}

static void run_bytes(struct weir_slice stream)
{
    struct bench_case cases[] = {
        {.name = "sse/1b-5m", .run = run_touch, .text = cut(stream, 5 * MB), .chunk = 1},
        {.name = "sse/1b-10m", .run = run_touch, .text = cut(stream, 10 * MB), .chunk = 1},
    };
    bench_run(cases, 2, 7);
    bench_report(cases, 2);
}

static void run_hostile(void)
{
    bench_keep_memory();
    struct weir_slice half = long_line(LINE_BYTES / 2);
    struct weir_slice full = long_line(LINE_BYTES);
    struct bench_case cases[] = {
        {.name = "sse/line-8m-1b", .run = run_touch, .text = half, .chunk = 1},
        {.name = "sse/line-16m-1b", .run = run_touch, .text = full, .chunk = 1},
        {.name = "sse/line-8m-1k", .run = run_touch, .text = half, .chunk = 1024},
        {.name = "sse/line-16m-1k", .run = run_touch, .text = full, .chunk = 1024},
        {.name = "sse/tiny-2m", .run = run_touch, .text = tiny_lines(TINY_BYTES / 2)},
        {.name = "sse/tiny-4m", .run = run_touch, .text = tiny_lines(TINY_BYTES)},
    };
    bench_run(cases, sizeof cases / sizeof cases[0], 7);
    bench_report(cases, sizeof cases / sizeof cases[0]);
}

/* For callgrind: 5 MB once, so that instructions over bytes is the whole story. */
static void run_once(struct weir_slice stream)
{
    struct bench_case c = {.name = "sse/once", .text = cut(stream, 5 * MB), .chunk = 65536};
    c.run = run_touch;
    bench_verify(&c);
}

int main(int argc, char **argv)
{
    bench_need(argc >= 2, "usage: bench-sse DATA_DIRECTORY [--once]");
    struct weir_slice stream = bench_load(argv[1], "stream.sse");
    if (bench_flag(argc, argv, "--once")) {
        run_once(stream);
        return 0;
    }
    run_stream(stream);
    run_bytes(stream);
    run_hostile();
    return 0;
}
