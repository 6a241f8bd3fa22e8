/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows any event stream and prints a line for each event: its type, a tab, and its data with
 * line ends as \n. When the stream is cut it goes on behind the last id.
 *
 *     follow_url URL [LAST-ID]       (WEIR_KEY: a bearer token, if one is needed)
 *
 * Streams of the Durable Streams protocol (URL?offset=-1&live=sse) have no ids. There an event
 * "control" says behind which offset to go on, and what came before it is printed when it comes:
 * so what is cut in between is not printed twice.
 *
 * Exit status: 0 the stream has ended for good, 1 it failed.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/client.h>
#include <weir/json.h>

enum { MAX_HELD_BYTES = 64 << 20, MAX_URL_BYTES = 1024 };

struct follower {
    struct weir_event_stream *stream;
    bool is_durable;
    size_t n_base; /* bytes of the URL before its query */
    const char *url;
    struct weir_buf lines; /* that wait for a "control" */
    enum weir_status status;
};

static void put_line(struct weir_buf *out, const struct weir_sse_event *event)
{
    weir_buf_append_slice(out, event->type);
    weir_buf_append_char(out, '\t');
    for (size_t i = 0; i < event->data.len; i++) {
        if (event->data.ptr[i] == '\n') weir_buf_append_str(out, "\\n");
        else weir_buf_append_char(out, event->data.ptr[i]);
    }
    weir_buf_append_char(out, '\n');
}

static bool print_lines(struct follower *f)
{
    bool is_good = weir_buf_status(&f->lines) == WEIR_OK;
    if (is_good) fwrite(f->lines.ptr, 1, f->lines.len, stdout);
    weir_buf_reset(&f->lines);
    return is_good && fflush(stdout) == 0; /* otherwise nobody reads on */
}

/* Goes on behind this offset. False: the stream is closed, or cannot be understood. */
static bool take_control(struct follower *f, struct weir_slice data)
{
    char url[MAX_URL_BYTES];
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    bool goes_on = doc && weir_json_parse(doc, data, &v, NULL) == WEIR_OK;
    struct weir_slice offset = weir_json_text(weir_json_get_str(v, "streamNextOffset"));
    snprintf(url, sizeof url, "%.*s?live=sse&offset=%.*s", (int)f->n_base, f->url, (int)offset.len,
             offset.ptr);
    goes_on = goes_on && weir_event_stream_move(f->stream, weir_slice_of(url)) == WEIR_OK &&
              weir_json_type_of(weir_json_get_str(v, "streamClosed")) != WEIR_JSON_TRUE;
    weir_json_doc_free(doc);
    return goes_on;
}

static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct follower *f = user;
    (void)seq;
    bool is_control = f->is_durable && weir_slice_is(event->type, "control");
    if (!is_control) put_line(&f->lines, event);
    if (f->is_durable && !is_control) return true;
    return print_lines(f) && (!is_control || take_control(f, event->data));
}

/* What was not confirmed comes again. */
static void on_open(void *user)
{
    struct follower *f = user;
    weir_buf_reset(&f->lines);
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    (void)user;
    fprintf(stderr, "follow_url: %s (%d)%s\n", error->why, error->http_status,
            error->is_final ? "" : ", again soon");
}

static void on_closed(void *user, enum weir_status status)
{
    struct follower *f = user;
    f->status = status;
}

int main(int argc, char **argv)
{
    const struct weir_client_options options = {.has_no_thread = true};
    struct weir_client *client;
    struct follower f = {.url = argc > 1 ? argv[1] : "", .status = WEIR_IO};
    const char *key = getenv("WEIR_KEY");
    signal(SIGPIPE, SIG_IGN); /* a server that is gone is no reason to go */
    if (argc < 2 || argc > 3 || weir_client_new(&client, &options) != WEIR_OK) return 2;
    f.n_base = strcspn(f.url, "?");
    f.is_durable = strstr(f.url, "live=sse") != NULL;
    weir_buf_init(&f.lines, MAX_HELD_BYTES);
    const struct weir_event_stream_options stream = {
        .url = weir_slice_of(f.url),
        .last_event_id = weir_slice_of(argc > 2 ? argv[2] : ""),
        .key = weir_slice_of(key ? key : ""),
        .on_event = on_event,
        .on_open = on_open,
        .on_error = on_error,
        .on_closed = on_closed,
        .user = &f,
    };
    enum weir_status st = weir_event_stream_open(&f.stream, client, &stream);
    struct pollfd ready = {.fd = weir_client_fd(client), .events = POLLIN};
    while (st == WEIR_OK && !weir_event_stream_closed(f.stream)) {
        poll(&ready, 1, weir_client_timeout_ms(client));
        weir_client_run(client);
    }
    weir_client_free(client);
    weir_buf_fini(&f.lines);
    return st == WEIR_OK && f.status == WEIR_OK ? 0 : 1;
}
