/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir decode: the library's readers on standard input, for people, scripts and
 * tests. Output is one JSON object per line.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/message.h>

#include "base/mem.h"
#include "command.h"
#include "options.h"
#include "output.h"

enum { PIECE_BYTES = 64 * 1024 };

struct options {
    size_t chunk; /* feed pieces of this many bytes; 0: as they come */
    bool is_partial;
    bool has_each;
};

/* Takes one piece; false when it wants no more. */
typedef bool (*piece_fn)(void *user, const char *bytes, size_t len);

/* Bytes that were read and not fed yet. */
struct input {
    char *bytes;
    size_t len;
    size_t cap;
};

/* Waits where the descriptor is one that does not. False when reading failed. */
static bool read_more(struct input *in, bool *is_end)
{
    for (;;) {
        ssize_t n = read(STDIN_FILENO, in->bytes + in->len, in->cap - in->len);
        if (n >= 0) {
            in->len += (size_t)n;
            *is_end = n == 0;
            return true;
        }
        struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
        if (errno == EAGAIN) poll(&ready, 1, -1);
        else if (errno != EINTR) return false;
    }
}

/* Feeds all whole pieces, at the end the rest too; what is left moves to the front. */
static bool feed_pieces(const struct options *o, struct input *in, bool is_end, piece_fn take,
                        void *user)
{
    size_t step = o->chunk > 0 ? o->chunk : in->len;
    size_t at = 0;
    bool goes_on = true;
    while (goes_on && at < in->len && (in->len - at >= step || is_end)) {
        size_t n = in->len - at < step ? in->len - at : step;
        goes_on = take(user, in->bytes + at, n);
        at += n;
    }
    if (at > 0) memmove(in->bytes, in->bytes + at, in->len - at);
    in->len -= at;
    return goes_on;
}

/* Reads standard input until its end, or until nobody wants more; false when that failed. */
static bool read_input(const struct options *o, piece_fn take, void *user)
{
    struct input in = {.cap = o->chunk > PIECE_BYTES ? o->chunk : PIECE_BYTES};
    bool is_end = false;
    bool is_read = true;
    bool goes_on = true;
    in.bytes = mem_alloc(in.cap);
    if (!in.bytes) {
        errno = ENOMEM;
        is_read = false;
    }
    while (is_read && goes_on && !is_end) {
        is_read = read_more(&in, &is_end);
        if (is_read) goes_on = feed_pieces(o, &in, is_end, take, user);
        /* Nobody reads what cannot be written: then there is no use in reading on. */
        if (!output_flush()) goes_on = false;
    }
    if (!is_read) fprintf(stderr, "weir: cannot read standard input: %s\n", strerror(errno));
    mem_free(in.bytes);
    return is_read;
}

static int no_memory(void)
{
    fprintf(stderr, "weir: %s\n", weir_status_text(WEIR_NOMEM));
    return EXIT_FAILED;
}

/* ---- sse ---- */

struct sse_run {
    struct weir_sse *decoder;
    struct weir_buf line;
    enum weir_status status;
};

static void print_event(void *user, const struct weir_sse_event *event)
{
    struct sse_run *run = user;
    weir_json_put_begin_object(&run->line);
    weir_json_put_key(&run->line, "event");
    weir_json_put_string(&run->line, event->type);
    weir_json_put_key(&run->line, "data");
    weir_json_put_string(&run->line, event->data);
    weir_json_put_key(&run->line, "id");
    weir_json_put_string(&run->line, event->id);
    weir_json_put_end_object(&run->line);
    output_line(&run->line);
}

static bool take_sse(void *user, const char *bytes, size_t len)
{
    struct sse_run *run = user;
    run->status = weir_sse_feed(run->decoder, bytes, len);
    return run->status == WEIR_OK;
}

static void print_sse_end(struct sse_run *run)
{
    uint64_t retry_ms;
    struct weir_buf *line = &run->line;
    weir_json_put_begin_object(line);
    weir_json_put_key(line, "end");
    weir_json_put_begin_object(line);
    weir_json_put_key(line, "last_event_id");
    weir_json_put_string(line, weir_sse_last_event_id(run->decoder));
    weir_json_put_key(line, "retry");
    if (weir_sse_retry_ms(run->decoder, &retry_ms)) weir_json_put_uint(line, retry_ms);
    else weir_json_put_null(line);
    weir_json_put_key(line, "pending");
    weir_json_put_bool(line, weir_sse_pending(run->decoder));
    weir_json_put_key(line, "error");
    weir_json_put_str(line, run->status == WEIR_OK ? NULL : weir_status_name(run->status));
    weir_json_put_end_object(line);
    weir_json_put_end_object(line);
    output_line(line);
}

static int decode_sse(const struct options *o)
{
    const struct weir_sse_handlers handlers = {.on_event = print_event};
    struct sse_run run = {.status = WEIR_OK};
    run.decoder = weir_sse_new(&handlers, &run, NULL);
    if (!run.decoder) return no_memory();
    weir_buf_init(&run.line, OUTPUT_LINE_MAX_BYTES);
    bool is_read = read_input(o, take_sse, &run);
    if (is_read) print_sse_end(&run);
    bool is_good = is_read && run.status == WEIR_OK;
    weir_buf_fini(&run.line);
    weir_sse_free(run.decoder);
    return is_good ? EXIT_DONE : EXIT_FAILED;
}

/* ---- json ---- */

struct json_run {
    const struct options *options;
    struct weir_json_reader *reader;
    struct weir_buf line;
    enum weir_status status;
};

/* One sentence; for a wrong byte with what could have stood in its place. */
static void put_json_error(struct weir_buf *line, const struct json_run *run)
{
    char text[160];
    const char *expected = weir_json_reader_expected(run->reader);
    if (run->status == WEIR_JSON_SYNTAX || run->status == WEIR_JSON_TRUNCATED)
        snprintf(text, sizeof text, "%s: expected %s", weir_status_text(run->status), expected);
    else snprintf(text, sizeof text, "%s", weir_status_text(run->status));
    weir_json_put_str(line, text);
}

static void print_json(struct json_run *run)
{
    struct weir_buf *line = &run->line;
    const struct weir_json *value = weir_json_reader_value(run->reader);
    bool is_error = run->status != WEIR_OK;
    weir_json_put_begin_object(line);
    weir_json_put_key(line, "status");
    weir_json_put_str(line, is_error ? "error" : value ? "value" : "nothing");
    weir_json_put_key(line, "value");
    weir_json_put_value(line, is_error ? NULL : value);
    weir_json_put_key(line, "offset");
    weir_json_put_uint(line, weir_json_reader_offset(run->reader));
    if (is_error) {
        weir_json_put_key(line, "error");
        weir_json_put_str(line, weir_status_name(run->status));
        weir_json_put_key(line, "message");
        put_json_error(line, run);
    }
    weir_json_put_end_object(line);
    output_line(line);
}

static bool take_json(void *user, const char *bytes, size_t len)
{
    struct json_run *run = user;
    run->status = weir_json_reader_feed(run->reader, bytes, len);
    if (run->options->has_each) print_json(run);
    return run->status == WEIR_OK;
}

static void end_json(struct json_run *run)
{
    if (run->options->has_each) return;
    if (run->options->is_partial) weir_json_reader_cut(run->reader);
    else if (run->status == WEIR_OK) run->status = weir_json_reader_end(run->reader);
    print_json(run);
}

static int decode_json(const struct options *o)
{
    struct json_run run = {.options = o, .status = WEIR_OK};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    run.reader = doc ? weir_json_reader_new(doc, 0) : NULL;
    weir_buf_init(&run.line, OUTPUT_LINE_MAX_BYTES);
    int exit_status = EXIT_FAILED;
    if (run.reader) {
        bool is_read = read_input(o, take_json, &run);
        if (is_read) end_json(&run);
        if (is_read && run.status == WEIR_OK) exit_status = EXIT_DONE;
    } else {
        exit_status = no_memory();
    }
    weir_buf_fini(&run.line);
    weir_json_reader_free(run.reader);
    weir_json_doc_free(doc);
    return exit_status;
}

/* ---- anthropic, openai ---- */

static bool take_message(void *user, const char *bytes, size_t len)
{
    struct weir_message *m = user;
    /* What went wrong is part of the outcome, which is printed at the end. */
    (void)!weir_message_feed(m, bytes, len);
    return weir_message_outcome(m) == WEIR_OUTCOME_OPEN;
}

static void print_message(const struct weir_message *m)
{
    static const char *const names[] = {"open", "message", "error", "incomplete"};
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    weir_json_put_key(&line, "outcome");
    weir_json_put_str(&line, names[weir_message_outcome(m)]);
    weir_json_put_key(&line, "message");
    weir_json_put_value(&line, weir_message_value(m));
    weir_json_put_key(&line, "error");
    weir_json_put_value(&line, weir_message_error(m));
    weir_json_put_key(&line, "notes");
    weir_json_put_value(&line, weir_message_notes(m));
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

static int decode_message(const struct options *o, enum weir_dialect dialect)
{
    struct weir_message *m = weir_message_new(dialect, NULL, NULL, NULL);
    if (!m) return no_memory();
    int exit_status = EXIT_FAILED;
    if (read_input(o, take_message, m)) {
        enum weir_outcome outcome = weir_message_end(m);
        print_message(m);
        if (outcome == WEIR_OUTCOME_MESSAGE) exit_status = EXIT_DONE;
        if (outcome == WEIR_OUTCOME_INCOMPLETE) exit_status = EXIT_INCOMPLETE;
    }
    weir_message_free(m);
    return exit_status;
}

/* ---- the command ---- */

static const char help[] =
    "usage: weir decode sse       [--chunk N] < BYTES\n"
    "       weir decode json      [--partial] [--each] [--chunk N] < BYTES\n"
    "       weir decode anthropic [--chunk N] < BYTES\n"
    "       weir decode openai    [--chunk N] < BYTES\n"
    "\n"
    "Reads standard input as it arrives and prints JSON, one object per line.\n"
    "\n"
    "  sse        Server-Sent Events: {\"event\",\"data\",\"id\"} for each event, and last\n"
    "             {\"end\":{\"last_event_id\",\"retry\",\"pending\",\"error\"}}\n"
    "  json       JSON: {\"status\":\"value|nothing|error\",\"value\",\"offset\"}; numbers keep\n"
    "             their digits; offset is where an error became certain\n"
    "  anthropic  an Anthropic Messages stream: {\"outcome\":\"message|error|incomplete\",\n"
    "             \"message\",\"error\",\"notes\"}; does not wait for the end of input\n"
    "  openai     an OpenAI Chat Completions stream (also llama.cpp, vLLM, Ollama): same\n"
    "\n"
    "  --partial  the text may be cut off: show the value of what is there\n"
    "  --each     with json: a line after each piece of input, as --partial\n"
    "  --chunk    feed the reader so many bytes at a time, to test it; the result is the same,\n"
    "             but for the lines of --each\n"
    "\n"
    "Examples:\n"
    "  curl -sN https://example.com/events | weir decode sse\n"
    "  printf '{\"path\": \"/etc/ho' | weir decode json --partial\n"
    "\n"
    "Exit status: 0 done, 1 error, 2 wrong usage, 3 incomplete message.\n";

enum { MAX_CHUNK_BYTES = 1 << 30 };

static int run(int argc, char **argv)
{
    struct options o = {0};
    const struct option_row rows[] = {
        {.name = "partial", .kind = OPTION_FLAG, .to = &o.is_partial},
        {.name = "each", .kind = OPTION_FLAG, .to = &o.has_each},
        {.name = "chunk", .kind = OPTION_BYTES, .to = &o.chunk, .min = 1, .max = MAX_CHUNK_BYTES},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&decode_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words == 0)
        return usage_error(&decode_command, "say what to decode: sse, json, anthropic or openai");
    if (n_words > 1) return usage_error(&decode_command, "one word too many: \"%s\"", words[1]);
    const char *what = words[0];
    if ((o.is_partial || o.has_each) && strcmp(what, "json") != 0)
        return usage_error(&decode_command, "--partial and --each go with json only");
    if (strcmp(what, "sse") == 0) return decode_sse(&o);
    if (strcmp(what, "json") == 0) return decode_json(&o);
    if (strcmp(what, "anthropic") == 0) return decode_message(&o, WEIR_ANTHROPIC);
    if (strcmp(what, "openai") == 0) return decode_message(&o, WEIR_OPENAI);
    return usage_error(&decode_command, "cannot decode \"%s\": sse, json, anthropic or openai",
                       what);
}

const struct command decode_command = {
    .name = "decode",
    .summary = "read SSE, JSON or a model's stream from standard input, print JSON",
    .help = help,
    .run = run,
};
