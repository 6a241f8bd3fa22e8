/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-fetch URL N BYTES
 *
 * N requests at once, questions of so many bytes to a model, to a server that does not answer: what
 * libcurl holds for each. It says "sent" when all are under way, waits for a byte on standard input
 * (the server's word that all have come), and prints {"requests","libcurl_bytes","rss_bytes"}.
 * libcurl's memory is counted by its own hooks, as malloc rounds it up.
 */
#include <curl/curl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "bench.h"
#include "io/fetch.h"
#include "io/process.h"

enum { HEAD_BYTES = 8 /* of malloc, for each block */ };

static atomic_size_t held;

static void *count_in(void *block)
{
    if (block) atomic_fetch_add(&held, malloc_usable_size(block) + HEAD_BYTES);
    return block;
}

static void count_out(void *block)
{
    if (block) atomic_fetch_sub(&held, malloc_usable_size(block) + HEAD_BYTES);
}

static void *on_malloc(size_t size)
{
    return count_in(malloc(size));
}

static void on_free(void *block)
{
    count_out(block);
    free(block);
}

static void *on_realloc(void *block, size_t size)
{
    count_out(block);
    return count_in(realloc(block, size));
}

static char *on_strdup(const char *text)
{
    return count_in(strdup(text));
}

static void *on_calloc(size_t n, size_t size)
{
    return count_in(calloc(n, size));
}

static size_t resident_bytes(void)
{
    char text[256] = "";
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bench_need(file && fgets(text, sizeof text, file), "/proc/self/statm cannot be read");
    fclose(file);
    const char *second = strchr(text, ' ');
    if (second) pages = strtoul(second, NULL, 10);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void on_done(void *user, const struct fetch_result *result)
{
    (void)user;
    bench_need(result->end == FETCH_ABORTED, result->why);
}

static void send_all(struct fetcher *f, const char *url, unsigned n, struct weir_slice body)
{
    struct fetch_request request = {
        .url = weir_slice_of(url), .body = body, .done = on_done, .limits = {.connect_ms = 60000}};
    for (unsigned i = 0; i < n; i++)
        bench_need(fetcher_send(f, &request, NULL) == WEIR_OK, "a request cannot be sent");
}

static void put_question(struct weir_buf *out, size_t n_bytes)
{
    weir_buf_init(out, 16 << 20);
    weir_buf_append_str(out, "{\"model\":\"m\",\"max_tokens\":1,\"stream\":true,\"messages\":"
                             "[{\"role\":\"user\",\"content\":\"");
    while (out->len < n_bytes) weir_buf_append_char(out, 'x');
    weir_buf_append_str(out, "\"}]}");
    bench_need(weir_buf_status(out) == WEIR_OK, "no memory");
}

int main(int argc, char **argv)
{
    bench_need(argc == 4, "usage: bench-fetch URL N BYTES");
    unsigned n = (unsigned)strtoul(argv[2], NULL, 10);
    struct weir_buf body = {0};
    struct fetcher *f;
    char byte;
    put_question(&body, strtoul(argv[3], NULL, 10));
    process_raise_descriptors();
    bench_need(curl_global_init_mem(CURL_GLOBAL_DEFAULT, on_malloc, on_free, on_realloc, on_strdup,
                                    on_calloc) == CURLE_OK,
               "libcurl cannot be used");
    struct fetcher_options options = {.max_running = n, .max_waiting = n};
    bench_need(fetcher_new(&f, NULL, &options) == WEIR_OK, "no fetcher");
    size_t held_before = atomic_load(&held), resident_before = resident_bytes();
    send_all(f, argv[1], n, weir_buf_slice(&body));
    puts("sent");
    fflush(stdout);
    bench_need(read(STDIN_FILENO, &byte, 1) == 1, "nobody says that all have come");
    printf("{\"requests\":%u,\"libcurl_bytes\":%zu,\"rss_bytes\":%zu}\n", n,
           atomic_load(&held) - held_before, resident_bytes() - resident_before);
    fetcher_free(f);
    weir_buf_fini(&body);
    return 0;
}
