/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a model what standard input says, and prints its answer as it comes:
 *
 *     echo 'Why is the sky blue?' | ask_model anthropic https://api.anthropic.com/v1/messages MODEL
 *     echo 'Why is the sky blue?' | ask_model openai http://127.0.0.1:8081/v1/chat/completions
 * MODEL
 *
 * MODEL_KEY is the key. An answer is paid for by the token: it is asked for again while nothing of
 * it has come, and never after its first byte. What a cut leaves is a beginning, and is told so.
 *
 * Exit status: 0 the answer is whole, 1 the model or the server refused, 3 it broke off.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/client.h>
#include <weir/message.h>

enum { QUESTION_BYTES = 64 << 10, REQUEST_BYTES = 8 * QUESTION_BYTES, MAX_TOKENS = 1024 };

/* ---- the request ---- */

/* What both dialects take. */
static void put_request(struct weir_buf *out, const char *model, struct weir_slice question)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "model");
    weir_json_put_str(out, model);
    weir_json_put_key(out, "max_tokens");
    weir_json_put_int(out, MAX_TOKENS);
    weir_json_put_key(out, "stream");
    weir_json_put_bool(out, true);
    weir_json_put_key(out, "messages");
    weir_json_put_begin_array(out);
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "role");
    weir_json_put_str(out, "user");
    weir_json_put_key(out, "content");
    weir_json_put_string(out, question);
    weir_json_put_end_object(out);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

/* ---- the answer ---- */

static void print_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    (void)user, (void)block, (void)all;
    fwrite(delta.ptr, 1, delta.len, stdout);
    fflush(stdout);
}

/* The transport knows events, the message what they mean. Once it is decided that is enough. */
static bool on_event(void *user, const struct weir_sse_event *event, uint64_t seq)
{
    struct weir_message *message = user;
    (void)seq;
    return weir_message_event(message, event) == WEIR_OK &&
           weir_message_outcome(message) == WEIR_OUTCOME_OPEN;
}

static void on_error(void *user, const struct weir_stream_error *error)
{
    (void)user;
    fprintf(stderr, "ask_model: %s (%d)%s\n", error->why, error->http_status,
            error->is_final ? "" : ", once more");
    if (error->body.len > 0) fprintf(stderr, "%.*s\n", (int)error->body.len, error->body.ptr);
}

/* ---- asking ---- */

static bool ask(struct weir_client *client, const struct weir_event_stream_options *options)
{
    struct pollfd ready = {.fd = weir_client_fd(client), .events = POLLIN};
    struct weir_event_stream *stream;
    if (weir_event_stream_open(&stream, client, options) != WEIR_OK) return false;
    while (!weir_event_stream_closed(stream)) {
        poll(&ready, 1, weir_client_timeout_ms(client));
        weir_client_run(client);
    }
    weir_event_stream_close(stream);
    return true;
}

static int ask_and_tell(struct weir_client *client, struct weir_message *message, char **argv,
                        struct weir_slice request)
{
    const char *key = getenv("MODEL_KEY");
    bool is_openai = strcmp(argv[1], "openai") == 0;
    const struct weir_stream_field fields[] = {{"x-api-key", weir_slice_of(key ? key : "")},
                                               {"anthropic-version", weir_slice_of("2023-06-01")}};
    const struct weir_event_stream_options options = {
        .kind = WEIR_STREAM_MODEL,
        .url = weir_slice_of(argv[2]),
        .key = weir_slice_of(key && is_openai ? key : ""),
        .fields = fields,
        .n_fields = is_openai ? 0 : 2,
        .body = request,
        .limits = {.idle_ms = 60 * 1000},
        .on_event = on_event,
        .on_error = on_error,
        .user = message,
    };
    if (!ask(client, &options)) return 2;
    bool has_begun = weir_message_value(message) != NULL;
    enum weir_outcome outcome = weir_message_end(message);
    struct weir_slice why =
        weir_json_text(weir_json_get_str(weir_message_error(message), "message"));
    if (has_begun) putchar('\n');
    if (why.len > 0) fprintf(stderr, "ask_model: %.*s\n", (int)why.len, why.ptr);
    if (outcome == WEIR_OUTCOME_MESSAGE) return 0;
    return outcome == WEIR_OUTCOME_INCOMPLETE && has_begun ? 3 : 1;
}

int main(int argc, char **argv)
{
    static char question[QUESTION_BYTES];
    const struct weir_client_options options = {.has_no_thread = true};
    const struct weir_message_handlers handlers = {.on_text = print_text};
    struct weir_client *client = NULL;
    struct weir_buf request;
    if (argc != 4) {
        fprintf(stderr, "usage: ask_model anthropic|openai URL MODEL <QUESTION\n");
        return 2;
    }
    enum weir_dialect dialect = strcmp(argv[1], "openai") == 0 ? WEIR_OPENAI : WEIR_ANTHROPIC;
    struct weir_message *message = weir_message_new(dialect, &handlers, NULL, NULL);
    const struct weir_slice asked = {question, fread(question, 1, sizeof question, stdin)};
    signal(SIGPIPE, SIG_IGN); /* a server that is gone is no reason to go */
    weir_buf_init(&request, REQUEST_BYTES);
    put_request(&request, argv[3], asked);
    int status = 2;
    if (message && weir_buf_status(&request) == WEIR_OK &&
        weir_client_new(&client, &options) == WEIR_OK)
        status = ask_and_tell(client, message, argv, weir_buf_slice(&request));
    weir_client_free(client);
    weir_buf_fini(&request);
    weir_message_free(message);
    return status;
}
