/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_plain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/slice.h"
#include "chat_session.h"
#include "command.h"
#include "output.h"

enum { PIECE_BYTES = 16 << 10 };

struct input {
    struct weir_buf bytes;
    size_t taken; /* of them: lines that were given */
    bool is_ended;
};

static void read_more(struct input *in)
{
    char piece[PIECE_BYTES];
    in->bytes.len -= in->taken;
    if (in->bytes.len > 0) memmove(in->bytes.ptr, in->bytes.ptr + in->taken, in->bytes.len);
    in->taken = 0;
    ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
    if (n < 0 && errno == EINTR) return;
    if (n > 0) weir_buf_append(&in->bytes, piece, (size_t)n);
    else in->is_ended = true;
}

/* The next line, borrowed until the next call; false at the end, or when it is too long. */
static bool next_line(struct input *in, struct weir_slice *line)
{
    while (weir_buf_status(&in->bytes) == WEIR_OK) {
        struct weir_slice rest = slice_from(weir_buf_slice(&in->bytes), in->taken);
        const char *end = rest.len > 0 ? memchr(rest.ptr, '\n', rest.len) : NULL;
        if (!end && in->is_ended && rest.len == 0) return false;
        if (!end && !in->is_ended) {
            read_more(in);
            continue;
        }
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        in->taken += end ? len + 1 : len;
        while (len > 0 && rest.ptr[len - 1] == '\r') len--;
        *line = slice_of(rest.ptr, len);
        return true;
    }
    return false;
}

static bool is_empty(struct weir_slice line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] != ' ' && line.ptr[i] != '\t') return false;
    return true;
}

static void print_text(const struct chat *c, const struct chat_errand *e)
{
    struct weir_buf line;
    if (!c->is_json || !e->is_good) {
        fwrite(e->text.ptr, 1, e->text.len, e->is_good ? stdout : stderr);
        return;
    }
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_buf_append_str(&line, "{\"id\":null,\"event\":\"chat.text\",\"data\":{\"text\":");
    weir_json_put_string(&line, weir_buf_slice(&e->text));
    weir_buf_append_str(&line, "}}");
    output_line(&line);
    weir_buf_fini(&line);
}

/* It is begun, or looked for, with the first message. */
static void begin_session(struct chat *c, const struct chat_command *command)
{
    c->is_session = true;
    snprintf(c->session, sizeof c->session, "%.*s", (int)sizeof c->session - 1, command->argument);
}

/* False: it is over. */
static bool take_line(struct chat *c, struct weir_slice line, int *exit_status, int *signal_number)
{
    struct chat_command command = chat_command_read(line);
    struct weir_buf left_out;
    if (c->is_session) {
        bool is_left;
        *exit_status = chat_session_plain(c, line, &is_left, signal_number);
        return !is_left;
    }
    if (command.act == CHAT_SESSION) {
        begin_session(c, &command);
        return true;
    }
    if (command.act == CHAT_QUIT) return false; /* with the status of what was before */
    struct chat_errand *e = chat_errand_new(c, &command, line, 0);
    int before = *exit_status;
    *exit_status = EXIT_FAILED;
    if (!e) return false;
    chat_errand_run(e);
    weir_buf_init(&left_out, PIECE_BYTES);
    if (chat_say_left_out(e, &left_out)) fwrite(left_out.ptr, 1, left_out.len, stderr);
    weir_buf_fini(&left_out);
    if (e->text.len > 0) print_text(c, e);
    if (e->is_good) *exit_status = EXIT_DONE;
    if (command.act == CHAT_UNKNOWN) *exit_status = before; /* nothing was asked for */
    if (command.act == CHAT_NEW) dialogue_fini(&c->dialogue);
    if (command.act == CHAT_QUESTION && e->is_good)
        *exit_status = chat_watch(c, e, NULL, signal_number);
    bool is_over = e->is_gone || *signal_number != 0;
    chat_errand_free(e);
    return output_flush() && !is_over;
}

int chat_plain(struct chat *c, int *signal_number)
{
    struct input in = {.taken = 0};
    struct weir_slice line;
    int exit_status = EXIT_DONE;
    bool has_prompt = !c->is_json && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    bool is_over = false;
    weir_buf_init(&in.bytes, DIALOGUE_REQUEST_BYTES);
    while (!is_over) {
        if (has_prompt) fputs("> ", stdout);
        (void)output_flush();
        if (!next_line(&in, &line)) break;
        if (!is_empty(line)) is_over = !take_line(c, line, &exit_status, signal_number);
    }
    if (weir_buf_status(&in.bytes) != WEIR_OK) {
        fputs("weir: a line is longer than a question may be\n", stderr);
        exit_status = EXIT_FAILED;
    }
    weir_buf_fini(&in.bytes);
    return exit_status;
}
