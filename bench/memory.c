/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory over a long stream: 1 GB, made on the fly, through one SSE decoder and
 * through one weir_message after the other. Prints the resident memory at 10, 50
 * and 100 % of the way; nothing may grow after the first tenth.
 */
#include <stdio.h>
#include <unistd.h>

#include <weir/message.h>

#include "bench.h"
#include "stream.h"

enum { CHUNK_BYTES = 16384 };

struct run {
    const char *name;
    struct weir_sse *sse;         /* one of the two is there */
    struct weir_message *message; /* of the message that is being fed */
    uint64_t n_events;
    uint64_t n_fed_bytes;
};

static void on_event(void *user, const struct weir_sse_event *e)
{
    struct run *r = user;
    r->n_events += e->data.len > 0;
}

static void on_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct run *r = user;
    r->n_events += block == 0 && delta.len <= all.len;
}

/* Resident memory in KiB, from the second number of /proc/self/statm. */
static unsigned long resident_kib(void)
{
    char text[128] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    bench_need(f != NULL && fgets(text, sizeof text, f) != NULL, "/proc/self/statm");
    (void)fclose(f);
    unsigned long n_pages = 0;
    const char *p = text;
    while (*p >= '0' && *p <= '9') p++;
    for (p++; *p >= '0' && *p <= '9'; p++) n_pages = n_pages * 10 + (unsigned long)(*p - '0');
    return n_pages * ((unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

static void feed(struct run *r, struct weir_slice s)
{
    for (size_t at = 0; at < s.len; at += CHUNK_BYTES) {
        size_t n = s.len - at < CHUNK_BYTES ? s.len - at : CHUNK_BYTES;
        enum weir_status st = r->sse != NULL ? weir_sse_feed(r->sse, s.ptr + at, n)
                                             : weir_message_feed(r->message, s.ptr + at, n);
        bench_need(st == WEIR_OK, "the stream failed");
    }
    r->n_fed_bytes += s.len;
}

static void feed_message(struct run *r, struct weir_slice s)
{
    static const struct weir_message_handlers handlers = {.on_text = on_text};
    if (r->sse != NULL) {
        feed(r, s);
        return;
    }
    r->message = weir_message_new(WEIR_ANTHROPIC, &handlers, r, NULL);
    bench_need(r->message != NULL, "no memory");
    feed(r, s);
    bench_need(weir_message_end(r->message) == WEIR_OUTCOME_MESSAGE, "a message is not whole");
    weir_message_free(r->message);
}

static void run_stream(struct run *r, uint64_t total_bytes)
{
    struct stream s;
    struct weir_buf out;
    unsigned long kib[3];
    const unsigned percent[3] = {10, 50, 100};
    stream_init(&s, 5);
    weir_buf_init(&out, (size_t)16 << 20);
    /* The generator's own buffer must not count: it has its full size at once. */
    while (out.len < (size_t)1 << 20) stream_message(&s, &out);
    /* Nor may the code that asks. */
    (void)resident_kib();
    for (int i = 0; i < 3; i++) {
        while (r->n_fed_bytes < total_bytes / 100 * percent[i]) {
            weir_buf_reset(&out);
            stream_message(&s, &out);
            bench_need(weir_buf_status(&out) == WEIR_OK, "no memory");
            feed_message(r, weir_buf_slice(&out));
        }
        kib[i] = resident_kib();
    }
    weir_buf_fini(&out);
    printf("{\"name\":\"%s\",\"bytes\":%llu,\"seconds\":0,\"count\":%llu,\"check\":0,"
           "\"rss_kib\":[%lu,%lu,%lu]}\n",
           r->name, (unsigned long long)r->n_fed_bytes, (unsigned long long)r->n_events, kib[0],
           kib[1], kib[2]);
}

int main(int argc, char **argv)
{
    /* --quick: a tenth of it, to try the program. */
    uint64_t total_bytes = bench_flag(argc, argv, "--quick") ? 100000000 : 1000000000;
    static const struct weir_sse_handlers handlers = {.on_event = on_event};
    struct run sse = {.name = "memory/sse"};
    sse.sse = weir_sse_new(&handlers, &sse, NULL);
    bench_need(sse.sse != NULL, "no memory");
    run_stream(&sse, total_bytes);
    weir_sse_free(sse.sse);

    struct run message = {.name = "memory/message"};
    run_stream(&message, total_bytes);
    return 0;
}
