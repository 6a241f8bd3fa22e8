/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a turn to its end, whatever the network does on the way. What in JavaScript is
 *
 *     const iterator = client.turns.stream(id, {
 *         onReconnect: (lastId) => console.log("Reconnecting from", lastId),
 *     });
 *     for await (const event of iterator) {
 *         print(event);
 *     }
 *
 * is here, with the same names:
 *
 *     follow_turn http://127.0.0.1:8080 TURN [LAST-ID]     (WEIR_KEY: the key, if there is one)
 *
 * Exit status: 0 the turn is completed, 1 it has failed, 3 its end could not be seen; the id to
 * go on with is printed then.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/client.h>

struct turn {
    struct weir_client *client;
    struct weir_event_stream *stream;
    int status;
};

/* The body of the loop: each event once, in order. */
static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct turn *turn = user;
    (void)seq;
    printf("%.*s %.*s\n", (int)event->type.len, event->type.ptr, (int)event->data.len,
           event->data.ptr);
    if (weir_slice_is(event->type, "turn.completed")) turn->status = 0;
    if (weir_slice_is(event->type, "turn.failed")) turn->status = 1;
    return fflush(stdout) == 0; /* otherwise nobody reads on: break */
}

static void on_reconnect(const struct turn *turn, const struct weir_stream_error *error)
{
    fprintf(stderr, "Reconnecting from %llu in %.1f s: %s\n",
            (unsigned long long)weir_event_stream_last_seq(turn->stream),
            (double)error->retry_in_ms / 1000, error->why);
}

/* Where JavaScript throws, or reconnects. */
static void on_error(void *user, const struct weir_stream_error *error)
{
    if (!error->is_final) {
        on_reconnect(user, error);
        return;
    }
    fprintf(stderr, "follow_turn: %s (%d)\n%.*s\n", error->why, error->http_status,
            (int)error->body.len, error->body.len > 0 ? error->body.ptr : "");
}

/* The `for await`. This program has nothing else to do, but it could: one descriptor, one timeout.
 */
static void run(struct turn *turn)
{
    struct pollfd ready = {.fd = weir_client_fd(turn->client), .events = POLLIN};
    while (!weir_event_stream_closed(turn->stream)) {
        poll(&ready, 1, weir_client_timeout_ms(turn->client));
        weir_client_run(turn->client);
    }
}

static int follow(struct turn *turn, char **argv)
{
    const char *key = getenv("WEIR_KEY");
    const struct weir_event_stream_options options = {
        .kind = WEIR_STREAM_TURN,
        .url = weir_slice_of(argv[1]),
        .id = weir_slice_of(argv[2]),
        .key = weir_slice_of(key ? key : ""),
        .since_seq = argv[3] ? strtoull(argv[3], NULL, 10) : 0,
        /* As it is: exponential with jitter, and 5 times in a row before it throws. */
        .retry = {.max_retries = 5, .initial_ms = 1000},
        .on_event = on_event,
        .on_error = on_error,
        .user = turn,
    };
    if (weir_event_stream_open(&turn->stream, turn->client, &options) != WEIR_OK) {
        fprintf(stderr, "follow_turn: there can be no such stream\n");
        return 2;
    }
    run(turn);
    if (turn->status == 3)
        printf("Last-Event-Id: %llu\n",
               (unsigned long long)weir_event_stream_last_seq(turn->stream));
    weir_event_stream_close(turn->stream);
    return turn->status;
}

int main(int argc, char **argv)
{
    const struct weir_client_options options = {.has_no_thread = true};
    struct turn turn = {.status = 3};
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: follow_turn SERVER TURN [LAST-ID]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* a server that is gone is no reason to go */
    if (weir_client_new(&turn.client, &options) != WEIR_OK) return 2;
    int status = follow(&turn, argv);
    weir_client_free(turn.client);
    return status;
}
