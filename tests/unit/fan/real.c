/* SPDX-License-Identifier: Apache-2.0 */
/* The fan-out with the store it is made for, which settles what it has as early as it can. */
#include <stdio.h>

#include "base/slice.h"
#include "fan/fan_impl.h"
#include "t.h"

enum { N_LOGS = 5, N_READERS = 20, N_COMMITS = 400, FRAME_BYTES = 600, PEEK_BYTES = 20000 };

struct reader {
    struct sub sub;
    struct loop_thread *loop;
    unsigned log;
    uint64_t log_id;
    uint64_t n_seen;
    unsigned n_calls;
};

struct loop_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool is_woken;
    struct fan *fan;
    struct reader readers[N_READERS];
    unsigned n_over; /* readers that have come to the end */
};

static struct weir_slice name_of(unsigned log)
{
    static const char *const names[N_LOGS] = {"turn/1", "turn/2", "session/with/a/long/name", "4",
                                              "dropped"};
    return slice_of(names[log], strlen(names[log]));
}

/* The frame that becomes event `id` of a log. */
static struct weir_slice frame(char out[FRAME_BYTES], unsigned log, uint64_t id)
{
    int len = snprintf(out, FRAME_BYTES, "event: e\ndata: %u/%llu ", log, (unsigned long long)id);
    for (unsigned n = (unsigned)(id * 31 % 400); n > 0; n--) out[len++] = 'x';
    out[len++] = '\n';
    out[len++] = '\n';
    return slice_of(out, (size_t)len);
}

/* ---- reading ---- */

static void check_events(const struct reader *r, const char *bytes, size_t len, uint64_t last)
{
    for (uint64_t id = r->sub.next; id <= last; id++) {
        char text[FRAME_BYTES];
        char head[32];
        struct weir_slice want = frame(text, r->log, id);
        size_t n = (size_t)snprintf(head, sizeof head, "id: %llu\n", (unsigned long long)id);
        bool is_good = len >= n + want.len && memcmp(bytes, head, n) == 0 &&
                       memcmp(bytes + n, want.ptr, want.len) == 0;
        if (!is_good) return t_fail(__FILE__, __LINE__, "event %d is not itself", (int)id);
        bytes += n + want.len;
        len -= n + want.len;
    }
    T_EQ(len, 0);
}

static enum sub_state drain(struct reader *r)
{
    static _Thread_local char bytes[2 * PEEK_BYTES];
    struct iovec iov[8];
    unsigned n_iov = 8;
    uint64_t last = 0;
    while (sub_peek(&r->sub, 0, PEEK_BYTES, iov, &n_iov, &last) == SUB_READY) {
        size_t len = 0;
        for (unsigned i = 0; i < n_iov; i++) {
            memcpy(bytes + len, iov[i].iov_base, iov[i].iov_len);
            len += iov[i].iov_len;
        }
        check_events(r, bytes, len, last);
        r->n_seen += last - r->sub.next + 1;
        sub_advance(&r->sub, last);
        n_iov = 8;
    }
    return (enum sub_state)r->sub.state;
}

static void open_reader(struct reader *r, uint64_t from);

static void on_ready(struct sub *sub)
{
    struct reader *r = CONTAINER_OF(sub, struct reader, sub);
    switch (drain(r)) {
    case SUB_END:
    case SUB_GONE: r->loop->n_over++; break;
    case SUB_FAILED:
        T_EQ(sub->status, WEIR_OK);
        r->loop->n_over++;
        break;
    case SUB_WAITING: /* goes away and comes back now and then */
        if (++r->n_calls % 7 == 0 && r->log != N_LOGS - 1) open_reader(r, sub->next);
        break;
    default: break;
    }
}

static void open_reader(struct reader *r, uint64_t from)
{
    sub_close(&r->sub);
    T_EQ(sub_open(r->loop->fan, &r->sub, name_of(r->log), from, on_ready), WEIR_OK);
    if (r->sub.state != SUB_OPENING && r->sub.state != SUB_WAITING) on_ready(&r->sub);
}

static void wake(void *user)
{
    struct loop_thread *l = user;
    pthread_mutex_lock(&l->lock);
    l->is_woken = true;
    pthread_cond_signal(&l->woken);
    pthread_mutex_unlock(&l->lock);
}

static void *run_loop(void *user)
{
    struct loop_thread *l = user;
    for (unsigned i = 0; i < N_READERS; i++) {
        l->readers[i].loop = l;
        l->readers[i].log = i % N_LOGS;
        open_reader(&l->readers[i], 1);
    }
    while (l->n_over < N_READERS) {
        pthread_mutex_lock(&l->lock);
        while (!l->is_woken) pthread_cond_wait(&l->woken, &l->lock);
        l->is_woken = false;
        pthread_mutex_unlock(&l->lock);
        fan_run(l->fan);
    }
    for (unsigned i = 0; i < N_READERS; i++) sub_close(&l->readers[i].sub);
    return NULL;
}

static void loop_start(struct loop_thread *l, struct hub *hub)
{
    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->woken, NULL);
    struct fan_options options = {.tail_bytes = 40000, .all_tail_bytes = 100000};
    options.wake = wake;
    options.user = l;
    l->fan = fan_new(hub, &options);
    pthread_create(&l->thread, NULL, run_loop, l);
}

/* ---- writing ---- */

static void must(struct store *s, struct commit *c)
{
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
}

static void unwatched(void *commit, const struct commit_result *result)
{
    T_EQ(result->status, WEIR_OK);
    commit_free(commit);
}

/* Appends to all logs, a few events at a time, and seals or drops them. */
static void write_logs(struct store *s, uint64_t last[N_LOGS])
{
    char text[FRAME_BYTES];
    struct commit *c;
    for (unsigned i = 0; i < N_COMMITS; i++) {
        unsigned log = i % N_LOGS;
        c = commit_new(0);
        for (unsigned k = 0; k <= i % 4; k++)
            commit_append(c, name_of(log), frame(text, log, ++last[log]));
        if (i % 16 == 0) must(s, c);
        else store_commit(s, c, unwatched, c);
        if (i % 150 == 149) T_EQ(store_settle(s), WEIR_OK);
    }
    c = commit_new(0);
    for (unsigned log = 0; log < N_LOGS - 1; log++) commit_seal(c, name_of(log), -1);
    commit_drop(c, name_of(N_LOGS - 1));
    must(s, c);
    /* A new log, for whoever has not seen the old one. */
    c = commit_new(0);
    commit_append(c, name_of(N_LOGS - 1), frame(text, N_LOGS - 1, 1));
    commit_seal(c, name_of(N_LOGS - 1), -1);
    must(s, c);
}

static struct store *open_store(struct hub *hub, const char *folder)
{
    struct store *s = NULL;
    struct store_error error = {{0}};
    struct store_options options = {.on_news = hub_news, .user = hub};
    options.pending_bytes = 64 << 10;
    options.max_logs = 2;
    T_EQ(store_open(&s, folder, &options, &error), WEIR_OK);
    if (s) hub_start(hub, s);
    return s;
}

TEST(readers_of_the_real_store_see_every_log_to_its_end)
{
    static struct loop_thread loops[2];
    uint64_t last[N_LOGS] = {0};
    struct hub *hub = hub_new();
    struct store *s = open_store(hub, t_temp_dir());
    if (!s) return;
    for (int i = 0; i < 2; i++) loop_start(&loops[i], hub);
    write_logs(s, last);
    for (int i = 0; i < 2; i++) {
        pthread_join(loops[i].thread, NULL);
        for (unsigned k = 0; k < N_READERS; k++) {
            const struct reader *r = &loops[i].readers[k];
            if (r->log != N_LOGS - 1) T_EQ(r->n_seen, last[r->log]);
            T_OK(r->n_seen <= last[r->log]);
        }
        fan_free(loops[i].fan);
    }
    store_close(s);
    hub_free(hub);
}

TEST(replay_from_the_disk_is_the_same_after_a_restart)
{
    static struct loop_thread loop;
    uint64_t last[N_LOGS] = {0};
    const char *folder = t_temp_dir();
    struct hub *hub = hub_new();
    struct store *s = open_store(hub, folder);
    if (!s) return;
    write_logs(s, last);
    store_close(s);
    s = open_store(hub, folder);
    last[N_LOGS - 1] = 1;
    loop_start(&loop, hub);
    pthread_join(loop.thread, NULL);
    for (unsigned k = 0; k < N_READERS; k++)
        T_EQ(loop.readers[k].n_seen, last[loop.readers[k].log]);
    fan_free(loop.fan);
    store_close(s);
    hub_free(hub);
}
