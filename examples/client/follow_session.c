/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a session for as long as one likes. What in JavaScript is
 *
 *     const sub = EventStream({
 *         baseUrl, apiKey, sessionId, sinceSeq, signal,
 *         onEvent(event, seq) {
 *             if (event.type === 'text_delta') process.stdout.write(event.text);
 *             if (event.type === 'done') console.log('\n--- turn complete ---');
 *         },
 *         onError(err) { console.error('Stream error:', err); },
 *     });
 *     … sub.close();
 *
 * is here:
 *
 *     follow_session http://127.0.0.1:8080 SESSION [SINCE-SEQ]     (WEIR_KEY: the key)
 *
 * The client has a thread of its own, in which it calls back; this one waits for Ctrl-C or the end.
 * Exit status: 0 it was left or came to its end, 1 it was lost for good.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/client.h>
#include <weir/json.h>

struct session {
    struct weir_json_doc *doc; /* for one event at a time */
    enum weir_status status;
};

static void print_event(const struct weir_json *event)
{
    struct weir_slice type = weir_json_text(weir_json_get_str(event, "type"));
    struct weir_slice text = weir_json_text(weir_json_get_str(event, "text"));
    if (weir_slice_is(type, "text_delta") && text.len > 0) fwrite(text.ptr, 1, text.len, stdout);
    if (weir_slice_is(type, "done")) puts("\n--- turn complete ---");
    fflush(stdout);
}

static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct session *session = user;
    const struct weir_json *value = NULL;
    weir_json_doc_reset(session->doc);
    if (weir_json_parse(session->doc, event->data, &value, NULL) == WEIR_OK) print_event(value);
    else fprintf(stderr, "Stream error: event %llu is no JSON\n", (unsigned long long)seq);
    return true;
}

/* It was away for longer than the server keeps events. */
static void on_gap(void *user, uint64_t first_seq, uint64_t last_seq)
{
    (void)user;
    fprintf(stderr, "Events %llu to %llu are gone.\n", (unsigned long long)first_seq,
            (unsigned long long)last_seq);
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    (void)user;
    fprintf(stderr, "Stream error: %s (%d)%s\n", error->why, error->http_status,
            error->is_final ? "" : ", trying again");
}

static void on_closed(void *user, enum weir_status status)
{
    struct session *session = user;
    session->status = status;
    kill(getpid(), SIGTERM); /* nothing more to wait for */
}

static int follow(struct weir_client *client, struct session *session, char **argv,
                  const sigset_t *ends)
{
    const char *key = getenv("WEIR_KEY");
    int signal_number;
    const struct weir_event_stream_options options = {
        .kind = WEIR_STREAM_SESSION,
        .url = weir_slice_of(argv[1]),
        .key = weir_slice_of(key ? key : ""),
        .id = weir_slice_of(argv[2]),
        .since_seq = argv[3] ? strtoull(argv[3], NULL, 10) : 0,
        .limits = {.idle_ms = 60 * 1000}, /* a healthy server says something every 15 s */
        .on_event = on_event,
        .on_gap = on_gap,
        .on_error = on_error,
        .on_closed = on_closed,
        .user = session,
    };
    struct weir_event_stream *stream;
    if (weir_event_stream_open(&stream, client, &options) != WEIR_OK) return 2;
    sigwait(ends, &signal_number);
    fprintf(stderr, "Last seq: %llu\n", (unsigned long long)weir_event_stream_last_seq(stream));
    weir_event_stream_close(stream);
    return session->status == WEIR_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct session session = {.status = WEIR_OK};
    struct weir_client *client;
    sigset_t ends;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: follow_session SERVER SESSION [SINCE-SEQ]\n");
        return 2;
    }
    /* Before there are other threads, so that only sigwait() gets them. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    session.doc = weir_json_doc_new(0);
    if (!session.doc || weir_client_new(&client, NULL) != WEIR_OK) return 2;
    int status = follow(client, &session, argv, &ends);
    weir_client_free(client);
    weir_json_doc_free(session.doc);
    return status;
}
