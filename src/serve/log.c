/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access log's queue and its thread. Two buffers change places: workers add to one under a
 * lock while the thread writes the other without it.
 */
#include "serve/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"

struct access_log {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    struct weir_buf waiting; /* under the lock */
    struct weir_buf writing; /* the thread's */
    int new_fd;              /* under the lock: to be used from now on; -1: none */
    bool is_ending;          /* under the lock */
    int fd;                  /* the thread's */
    char *path;              /* NULL: standard error */
};

/* ---- the thread ---- */

/* A log that cannot be written is no reason to stop: the lines are lost. */
static void write_out(struct access_log *l)
{
    const char *at = l->writing.ptr;
    size_t left = l->writing.len;
    while (left > 0) {
        ssize_t n = write(l->fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        at += n;
        left -= (size_t)n;
    }
    weir_buf_reset(&l->writing);
}

static void *run(void *user)
{
    struct access_log *l = user;
    bool is_ending = false;
    while (!is_ending) {
        pthread_mutex_lock(&l->lock);
        while (l->waiting.len == 0 && !l->is_ending && l->new_fd < 0)
            pthread_cond_wait(&l->has_work, &l->lock);
        struct weir_buf swap = l->waiting;
        l->waiting = l->writing;
        l->writing = swap;
        int new_fd = l->new_fd;
        l->new_fd = -1;
        is_ending = l->is_ending;
        pthread_mutex_unlock(&l->lock);
        write_out(l);
        if (new_fd >= 0) {
            close(l->fd);
            l->fd = new_fd;
        }
    }
    return NULL;
}

/* ---- life ---- */

static int open_file(const char *path)
{
    return path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640)
                : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

static enum weir_status keep_path(struct access_log *l, const char *path)
{
    if (strcmp(path, "-") == 0) return WEIR_OK;
    size_t size = strlen(path) + 1;
    l->path = mem_alloc(size);
    if (!l->path) return WEIR_NOMEM;
    memcpy(l->path, path, size);
    return WEIR_OK;
}

static void destroy(struct access_log *l)
{
    if (l->fd >= 0) close(l->fd);
    if (l->new_fd >= 0) close(l->new_fd);
    pthread_cond_destroy(&l->has_work);
    pthread_mutex_destroy(&l->lock);
    weir_buf_fini(&l->waiting);
    weir_buf_fini(&l->writing);
    mem_free(l->path);
    mem_free(l);
}

enum weir_status access_log_open(struct access_log **out, const char *path)
{
    struct access_log *l = mem_zalloc(sizeof *l);
    if (!l) return WEIR_NOMEM;
    l->fd = l->new_fd = -1;
    weir_buf_init(&l->waiting, LOG_QUEUE_BYTES);
    weir_buf_init(&l->writing, LOG_QUEUE_BYTES);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->has_work, NULL);
    enum weir_status st = keep_path(l, path);
    if (st == WEIR_OK) {
        l->fd = open_file(l->path);
        if (l->fd < 0) st = WEIR_IO;
    }
    if (st == WEIR_OK) *out = l;
    else destroy(l);
    return st;
}

enum weir_status access_log_start(struct access_log *l)
{
    if (pthread_create(&l->thread, NULL, run, l) != 0) return WEIR_NOMEM;
    l->has_thread = true;
    return WEIR_OK;
}

void access_log_close(struct access_log *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->is_ending = true;
    pthread_cond_signal(&l->has_work);
    pthread_mutex_unlock(&l->lock);
    if (l->has_thread) pthread_join(l->thread, NULL);
    destroy(l);
}

enum weir_status access_log_reopen(struct access_log *l)
{
    int fd = open_file(l->path);
    if (fd < 0) return WEIR_IO;
    pthread_mutex_lock(&l->lock);
    int unused = l->new_fd;
    l->new_fd = fd;
    pthread_cond_signal(&l->has_work);
    pthread_mutex_unlock(&l->lock);
    if (unused >= 0) close(unused);
    return WEIR_OK;
}

/* ---- lines ---- */

void log_buffer_init(struct log_buffer *b, struct access_log *log, struct counters *counters)
{
    *b = (struct log_buffer){.log = log, .counters = counters};
    weir_buf_init(&b->lines, LOG_BUFFER_BYTES);
}

void log_buffer_fini(struct log_buffer *b)
{
    weir_buf_fini(&b->lines);
}

static void put_string(struct weir_buf *b, const char *before, struct weir_slice s)
{
    weir_buf_append_str(b, before);
    escape_json(b, s);
}

static void put_number(struct weir_buf *b, const char *before, uint64_t n)
{
    weir_buf_append_str(b, before);
    weir_buf_append_u64(b, n);
}

void log_add(struct log_buffer *b, const struct log_line *line)
{
    if (!b->log) return;
    struct weir_buf *out = &b->lines;
    size_t before = out->len;
    char time[CLOCK_TEXT_BYTES];
    clock_format(time, line->wall_ms);
    put_string(out, "{\"time\":\"", weir_slice_of(time));
    put_string(out, "\",\"request_id\":\"", line->request_id);
    put_string(out, "\",\"method\":\"", weir_slice_of(line->method));
    put_string(out, "\",\"path\":\"", line->path);
    put_string(out, "\",\"route\":\"", weir_slice_of(line->route));
    put_number(out, "\",\"status\":", (uint64_t)line->status);
    put_number(out, ",\"bytes\":", line->n_bytes);
    put_number(out, ",\"duration_us\":", line->duration_us);
    put_string(out, ",\"peer\":\"", weir_slice_of(line->peer));
    put_string(out, "\",\"key\":\"", weir_slice_of(line->key));
    weir_buf_append_str(out, "\"}\n");
    if (weir_buf_status(out) == WEIR_OK) {
        b->n_lines++;
        return;
    }
    /* Half a line is none. */
    out->len = before;
    out->status = WEIR_OK;
    count(b->counters, COUNT_LOG_DROPPED, 1);
}

void log_flush(struct log_buffer *b)
{
    if (b->n_lines == 0) return;
    struct access_log *l = b->log;
    pthread_mutex_lock(&l->lock);
    bool has_room = l->waiting.len + b->lines.len <= LOG_QUEUE_BYTES;
    if (has_room) weir_buf_append_slice(&l->waiting, weir_buf_slice(&b->lines));
    bool is_full = !has_room || weir_buf_status(&l->waiting) != WEIR_OK;
    l->waiting.status = WEIR_OK;
    pthread_cond_signal(&l->has_work);
    pthread_mutex_unlock(&l->lock);
    count(b->counters, is_full ? COUNT_LOG_DROPPED : COUNT_LOG_LINES, b->n_lines);
    weir_buf_reset(&b->lines);
    b->n_lines = 0;
}
