/* SPDX-License-Identifier: Apache-2.0 */
/* weir watch: a recorded or piped event stream, shown as it comes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/slice.h"
#include "options.h"
#include "term_tty.h"
#include "watcher.h"

static const char help[] =
    "usage: weir watch FILE|- [--quiet | --json]\n"
    "\n"
    "Shows a stream of server-sent events as it comes, from a file or standard input: a turn, or "
    "a\n"
    "model's answer in Anthropic's or OpenAI's form. On a terminal, agents are lanes, gates a "
    "grid,\n"
    "and the answer is Markdown; elsewhere, with NO_COLOR or TERM=dumb, they are plain lines.\n"
    "\n"
    "  --quiet    the answer alone\n"
    "  --json     every event as a line of JSON: {\"id\",\"event\",\"data\"}\n"
    "\n"
    "Esc twice or Ctrl-C stops watching.\n"
    "\n"
    "Examples:\n"
    "  curl -N -H \"Authorization: Bearer $KEY\" -H \"Accept: text/event-stream\" \\\n"
    "    http://127.0.0.1:8080/v1/turns/$TURN/events | weir watch -\n"
    "  weir watch recorded.sse\n"
    "\n"
    "Exit status: 0 complete, 1 failed, 2 wrong usage, 3 the stream ended before it was "
    "complete.\n";

enum { PIECE_BYTES = 64 << 10 };

static enum watcher_more read_piece(void *user, struct watcher *w)
{
    char bytes[PIECE_BYTES];
    int fd = *(int *)user;
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return WATCHER_MORE;
    if (n < 0) fprintf(stderr, "weir: reading failed: %s\n", strerror(errno));
    if (n < 0) return WATCHER_BROKEN;
    if (n == 0) return WATCHER_ENDED;
    return watcher_feed(w, slice_of(bytes, (size_t)n)) ? WATCHER_MORE : WATCHER_BROKEN;
}

static int watch(int fd, const struct watcher_options *options)
{
    struct watcher *w = watcher_new(options);
    if (!w) return EXIT_FAILED;
    int exit_status =
        watcher_run(w, &(struct watcher_source){.fd = fd, .read = read_piece, .user = &fd});
    int signal_number = watcher_signal(w);
    watcher_free(w);
    if (signal_number != 0) tty_die(signal_number);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct watcher_options options = {.notes = stdout};
    const struct option_row rows[] = {
        {.name = "quiet", .kind = OPTION_FLAG, .to = &options.is_quiet},
        {.name = "json", .kind = OPTION_FLAG, .to = &options.is_json},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&watch_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words != 1) return usage_error(&watch_command, "one file, or - for standard input");
    bool is_input = strcmp(words[0], "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(words[0], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "weir: %s: %s\n", words[0], strerror(errno));
        return EXIT_FAILED;
    }
    exit_status = watch(fd, &options);
    if (!is_input) close(fd);
    return exit_status;
}

const struct command watch_command = {
    .name = "watch",
    .summary = "show a stream of events as it comes",
    .help = help,
    .run = run,
};
