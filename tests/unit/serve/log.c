/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/log.h"

#include <stdio.h>
#include <unistd.h>

#include "base/slice.h"
#include "t.h"

static struct log_line sample(void)
{
    return (struct log_line){.wall_ms = 0,
                             .request_id = SLICE("req_1"),
                             .method = "GET",
                             .path = SLICE("/a\"b\n"),
                             .route = "streams.watch",
                             .status = 200,
                             .n_bytes = 12,
                             .duration_us = 345,
                             .peer = "127.0.0.1:1",
                             .key = "k"};
}

static const char sample_text[] =
    "{\"time\":\"1970-01-01T00:00:00.000Z\",\"request_id\":\"req_1\",\"method\":\"GET\","
    "\"path\":\"/a\\\"b\\n\",\"route\":\"streams.watch\",\"status\":200,\"bytes\":12,"
    "\"duration_us\":345,\"peer\":\"127.0.0.1:1\",\"key\":\"k\"}\n";

static void path_of(char out[4200], const char *name)
{
    snprintf(out, 4200, "%s/%s", t_temp_dir(), name);
}

TEST(a_line_is_one_object_of_json)
{
    char path[4200];
    struct access_log *l;
    static struct counters counters;
    struct log_buffer b;
    path_of(path, "log");
    T_EQ(access_log_open(&l, path), WEIR_OK);
    T_EQ(access_log_start(l), WEIR_OK);
    log_buffer_init(&b, l, &counters);
    struct log_line line = sample();
    log_add(&b, &line);
    log_flush(&b);
    log_flush(&b); /* nothing is no line */
    access_log_close(l);
    log_buffer_fini(&b);
    T_EQ_STR(t_read_file(path), sample_text);
    T_EQ(counters.values[COUNT_LOG_LINES], 1);
}

TEST(a_log_that_was_moved_is_opened_again)
{
    char path[4200], moved[4200];
    struct access_log *l;
    static struct counters counters;
    struct log_buffer b;
    path_of(path, "log");
    path_of(moved, "log.1");
    T_EQ(access_log_open(&l, path), WEIR_OK);
    T_EQ(access_log_start(l), WEIR_OK);
    log_buffer_init(&b, l, &counters);
    struct log_line line = sample();
    log_add(&b, &line);
    log_flush(&b);
    T_EQ(rename(path, moved), 0);
    T_EQ(access_log_reopen(l), WEIR_OK);
    T_EQ(access_log_reopen(l), WEIR_OK);
    access_log_close(l);
    /* The thread may have met the new file before or after the line: it is in one of them. */
    T_EQ(t_read_file(path).len + t_read_file(moved).len, sizeof sample_text - 1);
    T_EQ(access(path, F_OK), 0);
    log_buffer_fini(&b);
}

TEST(lines_beyond_the_ceiling_are_dropped_whole_and_counted)
{
    char path[4200];
    struct access_log *l;
    static struct counters counters;
    struct log_buffer b;
    path_of(path, "log");
    T_EQ(access_log_open(&l, path), WEIR_OK);
    T_EQ(access_log_start(l), WEIR_OK);
    log_buffer_init(&b, l, &counters);
    struct log_line line = sample();
    size_t fit = LOG_BUFFER_BYTES / (sizeof sample_text - 1);
    for (size_t i = 0; i < fit + 10; i++) log_add(&b, &line);
    log_flush(&b);
    access_log_close(l);
    log_buffer_fini(&b);
    uint64_t n = counters.values[COUNT_LOG_LINES];
    T_EQ(n + counters.values[COUNT_LOG_DROPPED], fit + 10);
    T_OK(n <= fit && n > 0);
    T_EQ(t_read_file(path).len, n * (sizeof sample_text - 1));
}

TEST(without_a_log_nothing_is_written)
{
    static struct counters counters;
    struct log_buffer b;
    log_buffer_init(&b, NULL, &counters);
    struct log_line line = sample();
    log_add(&b, &line);
    log_flush(&b);
    T_EQ(b.lines.len, 0);
    log_buffer_fini(&b);
}

TEST(a_log_that_cannot_be_opened_is_said)
{
    struct access_log *l;
    T_EQ(access_log_open(&l, "/nowhere/at/all/log"), WEIR_IO);
}
