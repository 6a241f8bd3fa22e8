/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a turn to its end, whatever the network does on the way. What in JavaScript is
 *
 *     for await (const event of client.turns.stream(id, { onReconnect })) …
 *
 * is here a callback for each event, once and in order:
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

static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    int *status = user;
    (void)seq;
    printf("%.*s %.*s\n", (int)event->type.len, event->type.ptr, (int)event->data.len,
           event->data.ptr);
    if (weir_slice_is(event->type, "turn.completed")) *status = 0;
    if (weir_slice_is(event->type, "turn.failed")) *status = 1;
    return fflush(stdout) == 0; /* otherwise nobody reads on */
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    (void)user;
    fprintf(stderr, "follow_turn: %s", error->why);
    if (error->http_status > 0) fprintf(stderr, " (%d)", error->http_status);
    if (error->is_final) fprintf(stderr, "\n%.*s\n", (int)error->body.len, error->body.ptr);
    else fprintf(stderr, "; again in %.1f s\n", (double)error->retry_in_ms / 1000);
}

/* This program has nothing else to do, but it could: there is one descriptor, and a timeout. */
static void loop(struct weir_client *client, const struct weir_event_stream *stream)
{
    struct pollfd ready = {.fd = weir_client_fd(client), .events = POLLIN};
    while (!weir_event_stream_closed(stream)) {
        poll(&ready, 1, weir_client_timeout_ms(client));
        weir_client_run(client);
    }
}

static int follow(struct weir_client *client, char **argv)
{
    const char *key = getenv("WEIR_KEY");
    int status = 3;
    const struct weir_event_stream_options options = {
        .kind = WEIR_STREAM_TURN,
        .url = weir_slice_of(argv[1]),
        .id = weir_slice_of(argv[2]),
        .key = weir_slice_of(key ? key : ""),
        .since_seq = argv[3] ? strtoull(argv[3], NULL, 10) : 0,
        .on_event = on_event,
        .on_error = on_error,
        .user = &status,
    };
    struct weir_event_stream *stream;
    enum weir_status st = weir_event_stream_open(&stream, client, &options);
    if (st != WEIR_OK) {
        fprintf(stderr, "follow_turn: the stream cannot be opened (%d)\n", (int)st);
        return 2;
    }
    loop(client, stream);
    if (status == 3)
        printf("Last-Event-Id: %llu\n", (unsigned long long)weir_event_stream_last_seq(stream));
    weir_event_stream_close(stream);
    return status;
}

int main(int argc, char **argv)
{
    const struct weir_client_options options = {.has_no_thread = true};
    struct weir_client *client;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: follow_turn SERVER TURN [LAST-ID]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* a server that is gone is no reason to go */
    if (weir_client_new(&client, &options) != WEIR_OK) return 2;
    int status = follow(client, argv);
    weir_client_free(client);
    return status;
}
