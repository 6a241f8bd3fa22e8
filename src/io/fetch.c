/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outgoing HTTP on libcurl's multi interface: the queue and the thread. See fetch.h.
 *
 * libcurl says which descriptors it waits for and when it wants to be called; epoll waits. So a
 * round costs what has happened in it, however many requests are waiting. Requests end in one
 * place, conclude(), and never inside a call of libcurl's.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "io/fetch_impl.h"

enum {
    MAX_RUNNING = 256,
    MAX_WAITING = 4096,
    KEPT_CONNECTIONS = 64, /* that nobody uses */
    EVENTS_A_ROUND = 256,
    NS_PER_MS = 1000 * 1000,
    MAX_WAIT_MS = 60 * 1000,
};

static uint64_t now_ns(void)
{
    return clock_mono_ns(&clock_system);
}

/* ---- what libcurl calls ---- */

static struct job *job_of(CURL *curl)
{
    char *user = NULL;
    curl_easy_getinfo(curl, CURLINFO_PRIVATE, &user);
    return job_checked((void *)user);
}

/* It ends with this round; libcurl would not take it well if it did here. */
static void end_soon(struct fetcher *f, struct job *job, enum fetch_end end)
{
    job->end = end;
    pthread_mutex_lock(&f->lock);
    if (!list_is_linked(&job->aborted_node)) list_push_back(&f->aborted, &job->aborted_node);
    pthread_mutex_unlock(&f->lock);
}

static int on_watch(CURL *curl, curl_socket_t fd, int what, void *user, void *known)
{
    struct fetcher *f = user;
    struct epoll_event event = {.data.fd = fd};
    if (what == CURL_POLL_REMOVE) {
        /* Fails when it was closed before: then the kernel has forgotten it. */
        epoll_ctl(f->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    /* The kernel has a limit here as well (fs.epoll.max_user_watches). */
    if (epoll_ctl(f->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0)
        end_soon(f, job_of(curl), FETCH_NO_DESCRIPTORS);
    else curl_multi_assign(f->multi, fd, f);
    return 0;
}

static int on_timer(CURLM *multi, long in_ms, void *user)
{
    struct fetcher *f = user;
    (void)multi;
    f->curl_due_ns = in_ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)in_ms * NS_PER_MS;
    return 0;
}

/* ---- ends ---- */

/* It waits or runs no more. */
static void conclude(struct fetcher *f, struct job *job)
{
    if (heap_is_linked(&job->timer)) heap_remove(&f->timers, &job->timer);
    origin_leave(job);
    if (list_is_linked(&job->node)) {
        curl_multi_remove_handle(f->multi, job->answer.curl);
        list_remove(&job->node);
    }
    struct fetch_result result = job_result(job);
    pthread_mutex_lock(&f->lock);
    map_take(&f->jobs, map_key_of(&job->ticket));
    if (list_is_linked(&job->aborted_node)) list_remove(&job->aborted_node);
    f->n_running--;
    f->stats.n_done++;
    f->stats.n_forbidden += result.status == WEIR_FORBIDDEN;
    f->stats.n_failed += result.status != WEIR_OK;
    pthread_mutex_unlock(&f->lock);
    job->request.done(job->request.user, &result);
    job_free(job);
}

static void end_finished(struct fetcher *f)
{
    CURLMsg *message;
    int n_left;
    while ((message = curl_multi_info_read(f->multi, &n_left))) {
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE) continue;
        struct job *job = job_of(message->easy_handle);
        job_judge_code(job, code);
        conclude(f, job);
    }
}

/* The time of a request that was delayed has come. */
static void come_up(struct fetcher *f, struct job *job)
{
    if (heap_is_linked(&job->timer)) heap_remove(&f->timers, &job->timer);
    pthread_mutex_lock(&f->lock);
    list_push_back(&f->waiting, &job->node);
    pthread_mutex_unlock(&f->lock);
}

/*
 * By the time up to which everything has been seen: what waits in a socket while a callback takes
 * its time has come.
 */
static void act_on_timers(struct fetcher *f)
{
    struct heap_node *node;
    uint64_t now = f->seen_ns;
    while ((node = heap_peek(&f->timers)) && node->due <= now) {
        struct job *job = CONTAINER_OF(node, struct job, timer);
        if (job->phase == FETCH_WAITING) {
            come_up(f, job);
        } else if (job_due_ns(job) > now) {
            heap_move(&f->timers, node, job_due_ns(job));
        } else {
            job_expire(job, now);
            conclude(f, job);
        }
    }
}

static void end_as_aborted(struct fetcher *f, struct job *job)
{
    if (job->end == FETCH_WHOLE) job->end = FETCH_ABORTED;
    conclude(f, job);
}

/* One that runs and shall not; NULL when there is none. */
static struct job *take_aborted(struct fetcher *f)
{
    pthread_mutex_lock(&f->lock);
    struct list_node *node = list_pop_front(&f->aborted);
    struct job *job = node ? CONTAINER_OF(node, struct job, aborted_node) : NULL;
    if (job && job->phase == FETCH_WAITING) {
        if (list_is_linked(&job->node)) list_remove(&job->node);
        f->n_waiting--;
        f->n_running++;
    }
    pthread_mutex_unlock(&f->lock);
    return job;
}

/* ---- beginnings ---- */

/* The next one whose turn it is; NULL when there is none. */
static struct job *take_waiting(struct fetcher *f)
{
    struct list_node *node = NULL;
    pthread_mutex_lock(&f->lock);
    if (f->n_running < f->options.max_running) node = list_pop_front(&f->waiting);
    if (node) {
        f->n_waiting--;
        f->n_running++;
    }
    pthread_mutex_unlock(&f->lock);
    return node ? CONTAINER_OF(node, struct job, node) : NULL;
}

/* The next one that shall not begin yet; NULL when there is none. */
static struct job *pop_delayed(struct fetcher *f)
{
    pthread_mutex_lock(&f->lock);
    struct list_node *node = list_pop_front(&f->delayed);
    pthread_mutex_unlock(&f->lock);
    return node ? CONTAINER_OF(node, struct job, node) : NULL;
}

/* Those without memory for a timer begin at once: that is better than not at all. */
static void set_delayed(struct fetcher *f)
{
    struct job *job;
    while ((job = pop_delayed(f)))
        if (heap_push(&f->timers, &job->timer, job->start_ns) != WEIR_OK) come_up(f, job);
}

static void launch(struct fetcher *f, struct job *job)
{
    if (job_start(job)) list_push_back(&f->running, &job->node);
    else conclude(f, job);
}

static void start_waiting(struct fetcher *f)
{
    struct job *job;
    while ((job = take_waiting(f))) {
        if (!job_take_turn(job)) conclude(f, job);
        else if (origin_admit(job)) launch(f, job);
    }
    while ((job = origin_release(f))) launch(f, job);
}

/* ---- the thread ---- */

static bool is_stopping(struct fetcher *f)
{
    pthread_mutex_lock(&f->lock);
    bool stops = f->is_stopping;
    pthread_mutex_unlock(&f->lock);
    return stops;
}

/* Rounded up, so that nothing is woken in vain. -1: for ever. */
static int wait_ms(const struct fetcher *f)
{
    const struct heap_node *node = heap_peek(&f->timers);
    uint64_t due = node && node->due < f->curl_due_ns ? node->due : f->curl_due_ns;
    uint64_t now = now_ns();
    if (due <= now) return 0;
    if (due == UINT64_MAX) return -1;
    uint64_t ms = (due - now - 1) / NS_PER_MS + 1;
    return ms < MAX_WAIT_MS ? (int)ms : MAX_WAIT_MS;
}

static void act(struct fetcher *f, curl_socket_t fd, int what)
{
    int n_running;
    CURLMcode code = curl_multi_socket_action(f->multi, fd, what, &n_running);
    CHECK(code == CURLM_OK || code == CURLM_OUT_OF_MEMORY);
}

static void take_event(struct fetcher *f, const struct epoll_event *event)
{
    uint64_t n;
    int what = 0;
    if (event->data.fd == f->wake_fd) {
        CHECK(read(f->wake_fd, &n, sizeof n) == sizeof n);
        return;
    }
    if (event->events & EPOLLIN) what |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT) what |= CURL_CSELECT_OUT;
    if (event->events & (EPOLLERR | EPOLLHUP)) what |= CURL_CSELECT_ERR;
    act(f, event->data.fd, what);
}

static void wait_and_act(struct fetcher *f, int max_ms)
{
    struct epoll_event events[EVENTS_A_ROUND];
    uint64_t begin = now_ns();
    int n = EVENTS_A_ROUND;
    /* The kernel gives each its turn, so that many times are enough for all that can be there. */
    for (int i = 0; i < FETCH_MAX_RUNNING / EVENTS_A_ROUND && n == EVENTS_A_ROUND; i++) {
        n = epoll_wait(f->epoll_fd, events, EVENTS_A_ROUND, i == 0 ? max_ms : 0);
        for (int j = 0; j < n; j++) take_event(f, &events[j]);
    }
    if (n >= 0) f->seen_ns = begin;
    if (f->curl_due_ns > now_ns()) return;
    f->curl_due_ns = UINT64_MAX;
    act(f, CURL_SOCKET_TIMEOUT, 0);
}

static void finish_round(struct fetcher *f)
{
    struct job *job;
    end_finished(f);
    act_on_timers(f);
    set_delayed(f);
    while ((job = take_aborted(f))) end_as_aborted(f, job);
    start_waiting(f);
}

static void end_all(struct fetcher *f)
{
    struct job *job;
    struct list_node *n;
    set_delayed(f);
    while ((job = origin_first_held(f))) end_as_aborted(f, job);
    while ((n = list_first(&f->running))) end_as_aborted(f, CONTAINER_OF(n, struct job, node));
    while (heap_peek(&f->timers))
        come_up(f, CONTAINER_OF(heap_peek(&f->timers), struct job, timer));
    while ((job = take_waiting(f))) end_as_aborted(f, job);
}

static void *run(void *user)
{
    struct fetcher *f = user;
    while (!is_stopping(f)) {
        wait_and_act(f, wait_ms(f));
        finish_round(f);
    }
    end_all(f);
    return NULL;
}

int fetcher_fd(const struct fetcher *f)
{
    return f->epoll_fd;
}

int fetcher_wait_ms(const struct fetcher *f)
{
    return wait_ms(f);
}

void fetcher_round(struct fetcher *f)
{
    wait_and_act(f, 0);
    finish_round(f);
}

static void wake(struct fetcher *f)
{
    uint64_t one = 1;
    CHECK(write(f->wake_fd, &one, sizeof one) == sizeof one);
}

/* ---- life ---- */

static unsigned or_default(unsigned value, unsigned otherwise)
{
    return value > 0 ? value : otherwise;
}

static void take_options(struct fetcher *f, const struct target_rules *rules,
                         const struct fetcher_options *options)
{
    unsigned running = or_default(options->max_running, MAX_RUNNING);
    if (rules) f->rules = *rules;
    f->has_rules = rules != NULL;
    f->options.max_running = running < FETCH_MAX_RUNNING ? running : FETCH_MAX_RUNNING;
    f->options.max_waiting = or_default(options->max_waiting, MAX_WAITING);
    f->options.has_no_thread = options->has_no_thread;
}

static WEIR_MUST_CHECK enum weir_status open_all(struct fetcher *f)
{
    struct epoll_event event = {.events = EPOLLIN};
    f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    event.data.fd = f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (f->epoll_fd < 0 || f->wake_fd < 0) return WEIR_IO;
    if (epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, f->wake_fd, &event) != 0) return WEIR_IO;
    f->multi = curl_multi_init();
    bool is_set =
        f->multi &&
        curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS) == CURLM_OK &&
        curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION, on_watch) == CURLM_OK &&
        curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f) == CURLM_OK &&
        curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
        curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f) == CURLM_OK;
    return is_set ? WEIR_OK : WEIR_NOMEM;
}

static void release(struct fetcher *f)
{
    if (f->multi) curl_multi_cleanup(f->multi);
    if (f->epoll_fd >= 0) close(f->epoll_fd);
    if (f->wake_fd >= 0) close(f->wake_fd);
    heap_fini(&f->timers);
    map_fini(&f->jobs);
    map_fini(&f->origins);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

/* Signals are for the program's own threads; a broken pipe inside of OpenSSL is for nobody. */
static WEIR_MUST_CHECK enum weir_status start_thread(struct fetcher *f)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&f->thread, NULL, run, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? WEIR_OK : WEIR_IO;
}

enum weir_status fetcher_new(struct fetcher **out, const struct target_rules *rules,
                             const struct fetcher_options *options)
{
    fetch_need_curl();
    struct fetcher *f = mem_zalloc(sizeof *f);
    if (!f) return WEIR_NOMEM;
    take_options(f, rules, options);
    f->epoll_fd = f->wake_fd = -1;
    f->curl_due_ns = UINT64_MAX;
    /* One more: a request that is about to end has left the counts, but not the map. */
    size_t max_jobs = (size_t)f->options.max_running + f->options.max_waiting + 1;
    heap_init(&f->timers, max_jobs);
    map_init(&f->jobs, max_jobs);
    map_init_borrowing(&f->origins, max_jobs);
    list_init(&f->crowded);
    list_init(&f->waiting);
    list_init(&f->delayed);
    list_init(&f->running);
    list_init(&f->aborted);
    pthread_mutex_init(&f->lock, NULL);
    enum weir_status st = open_all(f);
    if (st == WEIR_OK && !options->has_no_thread) st = start_thread(f);
    if (st == WEIR_OK) *out = f;
    else release(f);
    return st;
}

void fetcher_free(struct fetcher *f)
{
    if (!f) return;
    pthread_mutex_lock(&f->lock);
    f->is_stopping = true;
    pthread_mutex_unlock(&f->lock);
    if (f->options.has_no_thread) {
        end_all(f);
    } else {
        wake(f);
        pthread_join(f->thread, NULL);
    }
    CHECK(list_is_empty(&f->waiting) && list_is_empty(&f->running));
    release(f);
}

/* ---- asking ---- */

static WEIR_MUST_CHECK enum weir_status enqueue(struct fetcher *f, struct job *job,
                                                uint64_t *ticket)
{
    enum weir_status st = WEIR_OK;
    pthread_mutex_lock(&f->lock);
    job->ticket = ++f->n_tickets;
    if (f->is_stopping) st = WEIR_SHUTDOWN;
    else if (f->n_waiting >= f->options.max_waiting) st = WEIR_BUSY;
    if (st == WEIR_OK) st = map_put(&f->jobs, map_key_of(&job->ticket), job);
    if (st == WEIR_OK) {
        if (ticket) *ticket = job->ticket;
        list_push_back(job->request.delay_ms > 0 ? &f->delayed : &f->waiting, &job->node);
        f->n_waiting++;
    }
    f->stats.n_refused += st == WEIR_BUSY;
    pthread_mutex_unlock(&f->lock);
    return st;
}

enum weir_status fetcher_send(struct fetcher *f, const struct fetch_request *request,
                              uint64_t *ticket)
{
    struct job *job;
    CHECK(request->n_fields <= FETCH_MAX_FIELDS);
    enum weir_status st = job_new(&job, f, request);
    if (st != WEIR_OK) return st;
    st = enqueue(f, job, ticket);
    if (st == WEIR_OK) wake(f);
    else job_free(job);
    return st;
}

void fetcher_abort(struct fetcher *f, uint64_t ticket)
{
    pthread_mutex_lock(&f->lock);
    struct job *job = map_get(&f->jobs, map_key_of(&ticket));
    bool is_new = job && !list_is_linked(&job->aborted_node);
    if (is_new) list_push_back(&f->aborted, &job->aborted_node);
    pthread_mutex_unlock(&f->lock);
    if (is_new) wake(f);
}

void fetcher_limit(struct fetcher *f, uint64_t ticket, unsigned ms)
{
    pthread_mutex_lock(&f->lock);
    struct job *job = map_get(&f->jobs, map_key_of(&ticket));
    pthread_mutex_unlock(&f->lock);
    if (job) job_limit(job, ms);
}

void fetcher_stats(struct fetcher *f, struct fetcher_stats *out)
{
    pthread_mutex_lock(&f->lock);
    *out = f->stats;
    out->n_running = f->n_running;
    out->n_waiting = f->n_waiting;
    pthread_mutex_unlock(&f->lock);
}
