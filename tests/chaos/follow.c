/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows one stream with libweir-client and prints a line for each callback, for
 * tests/chaos/cases:
 *
 *     chaos-follow NAME=VALUE...
 *
 *     kind=turn|session|any|model|chat  url=URL  id=ID  key=KEY  since=N  last_id=ID  body=TEXT
 *     ca=FILE  retries=N|never|forever  initial_ms=N  max_ms=N
 *     connect_ms=N  first_byte_ms=N  idle_ms=N  max_event=BYTES
 *     loop=1     no thread: this program polls
 *     slow_ms=N  each event takes so long here
 *     enough=N   events, then on_event says so
 *     quiet=1    events are counted, not printed
 *
 * Lines: "open", "event SEQ TYPE DATA", "gap FIRST LAST", "error NAME HTTP again|final N WHY",
 * "body TEXT", "closed NAME"; at the end "end LAST-SEQ EVENTS CPU-MS PEAK-KB". A line on standard
 * input closes the stream, with "aborted MICROSECONDS" for how long that took, and nothing else
 * after it but the end.
 *
 * The name "stuck.invalid" is never resolved here, and "nobody.invalid" leads nowhere.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <weir/client.h>

enum { SHOWN_BYTES = 200, WAIT_MS = 1000 };

struct follower {
    struct weir_client *client;
    struct weir_event_stream *stream;
    bool has_loop, is_quiet;
    unsigned slow_ms;
    unsigned long n_enough, n_events;
};

/* ---- a resolver ---- */

/* In place of the C library's own. Addresses never come here; libcurl reads those itself. */
__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    (void)service;
    (void)hints;
    *out = NULL;
    if (strcmp(name, "stuck.invalid") == 0) pause();
    return EAI_NONAME;
}

/* ---- lines ---- */

static void put_text(struct weir_slice s)
{
    for (size_t i = 0; i < s.len && i < SHOWN_BYTES; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x20 && c != 0x7f && c != '\\') putchar(c);
        else printf("\\x%02x", c);
    }
    putchar('\n');
}

static void on_open(void *user)
{
    (void)user;
    puts("open");
}

static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct follower *f = user;
    const struct timespec pause = {.tv_sec = f->slow_ms / 1000,
                                   .tv_nsec = (long)(f->slow_ms % 1000) * 1000000};
    f->n_events++;
    if (!f->is_quiet) {
        printf("event %llu %.*s ", (unsigned long long)seq, (int)event->type.len, event->type.ptr);
        put_text(event->data);
    }
    if (f->slow_ms > 0) nanosleep(&pause, NULL);
    return f->n_enough == 0 || f->n_events < f->n_enough;
}

static void on_gap(void *user, uint64_t first_seq, uint64_t last_seq)
{
    (void)user;
    printf("gap %llu %llu\n", (unsigned long long)first_seq, (unsigned long long)last_seq);
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    (void)user;
    printf("error %s %d %s %llu %s\n", weir_status_name(error->status), error->http_status,
           error->is_final ? "final" : "again", (unsigned long long)error->retry_in_ms, error->why);
    if (error->body.len == 0) return;
    printf("body ");
    put_text(error->body);
}

static void on_closed(void *user, enum weir_status status)
{
    (void)user;
    printf("closed %s\n", weir_status_name(status));
}

/* ---- options ---- */

static const char *option(char **argv, const char *name)
{
    size_t n_name = strlen(name);
    for (char **word = argv + 1; *word; word++)
        if (strncmp(*word, name, n_name) == 0 && (*word)[n_name] == '=') return *word + n_name + 1;
    return NULL;
}

static unsigned number(char **argv, const char *name)
{
    const char *text = option(argv, name);
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static struct weir_slice text(char **argv, const char *name)
{
    const char *value = option(argv, name);
    return weir_slice_of(value ? value : "");
}

static enum weir_stream_kind kind_of(char **argv)
{
    static const char *const names[] = {"any", "turn", "session", "model", "chat"};
    const char *name = option(argv, "kind");
    for (int i = 0; name && i < 5; i++)
        if (strcmp(name, names[i]) == 0) return (enum weir_stream_kind)i;
    return WEIR_STREAM_TURN;
}

static unsigned retries_of(char **argv)
{
    struct weir_slice value = text(argv, "retries");
    if (weir_slice_is(value, "never")) return WEIR_RETRY_NEVER;
    return weir_slice_is(value, "forever") ? WEIR_RETRY_FOREVER : number(argv, "retries");
}

static enum weir_status open_stream(struct follower *f, char **argv)
{
    const char *since = option(argv, "since");
    const struct weir_event_stream_options options = {
        .kind = kind_of(argv),
        .url = text(argv, "url"),
        .key = text(argv, "key"),
        .id = option(argv, "id") ? text(argv, "id") : weir_slice_of("t1"),
        .since_seq = since ? strtoull(since, NULL, 10) : 0,
        .last_event_id = text(argv, "last_id"),
        .body = text(argv, "body"),
        .ca_file = option(argv, "ca"),
        .retry = {retries_of(argv), number(argv, "initial_ms"), number(argv, "max_ms")},
        .limits = {.connect_ms = number(argv, "connect_ms"),
                   .first_byte_ms = number(argv, "first_byte_ms"),
                   .idle_ms = number(argv, "idle_ms"),
                   .sse.max_event_bytes = number(argv, "max_event")},
        .on_event = on_event,
        .on_open = on_open,
        .on_error = on_error,
        .on_gap = on_gap,
        .on_closed = on_closed,
        .user = f,
    };
    return weir_event_stream_open(&f->stream, f->client, &options);
}

/* ---- the run ---- */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Whether somebody wants the stream closed. Waits for that, for work, or for a while. */
static bool wait_a_round(struct follower *f)
{
    struct pollfd ready[2] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = f->has_loop ? weir_client_fd(f->client) : -1, .events = POLLIN}};
    int timeout = f->has_loop ? weir_client_timeout_ms(f->client) : 5;
    char c;
    poll(ready, 2, timeout >= 0 && timeout < WAIT_MS ? timeout : WAIT_MS);
    if (f->has_loop) weir_client_run(f->client);
    return (ready[0].revents & POLLIN) && read(STDIN_FILENO, &c, 1) == 1;
}

static void follow(struct follower *f)
{
    bool is_aborted = false;
    while (!is_aborted && !weir_event_stream_closed(f->stream)) is_aborted = wait_a_round(f);
    uint64_t last_seq = weir_event_stream_last_seq(f->stream);
    uint64_t begin = now_us();
    weir_event_stream_close(f->stream);
    if (is_aborted) printf("aborted %llu\n", (unsigned long long)(now_us() - begin));
    weir_client_free(f->client);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("end %llu %lu %ld %ld\n", (unsigned long long)last_seq, f->n_events,
           used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000 +
               used.ru_stime.tv_sec * 1000 + used.ru_stime.tv_usec / 1000,
           used.ru_maxrss);
}

int main(int argc, char **argv)
{
    struct follower f = {.has_loop = number(argv, "loop") > 0,
                         .is_quiet = number(argv, "quiet") > 0,
                         .slow_ms = number(argv, "slow_ms"),
                         .n_enough = number(argv, "enough")};
    const struct weir_client_options options = {.has_no_thread = f.has_loop};
    (void)argc;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (weir_client_new(&f.client, &options) != WEIR_OK) return 2;
    enum weir_status st = open_stream(&f, argv);
    if (st != WEIR_OK) {
        printf("not opened: %s\n", weir_status_name(st));
        weir_client_free(f.client);
        return 2;
    }
    follow(&f);
    return 0;
}
