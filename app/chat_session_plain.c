/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session from a pipe: a line is a message, and its turn is shown to its end. Nobody is there who
 * could allow or answer anything, so that is left open: somebody else may do it meanwhile, or the
 * server decides when its time is over.
 */
#include <stdio.h>

#include "base/slice.h"
#include "chat_session.h"
#include "command.h"
#include "output.h"
#include "session_errand.h"
#include "stream_watch.h"

static int watch_turn(struct chat *c, const char *turn, int *signal_number)
{
    const struct watcher_options options = {
        .is_json = c->is_json, .is_quiet = c->is_quiet, .notes = stderr};
    const struct stream_wish wish = {.kind = WEIR_STREAM_SESSION,
                                     .id = c->session,
                                     .user = c->user,
                                     .since = c->session_seq,
                                     .turn = turn,
                                     .last = &c->session_seq,
                                     .is_not_kept = c->is_not_kept};
    return stream_watch(c->config, &wish, &options, signal_number);
}

/* Of a session that has begun with this message its name is told, to come back by. */
static void take_session(struct chat *c, const struct session_errand *e)
{
    bool is_new = c->session[0] == '\0';
    memcpy(c->session, e->session, sizeof c->session);
    if (is_new && !c->is_quiet && !c->is_json) fprintf(stderr, "weir: session %s\n", c->session);
}

static int run_errand(struct chat *c, struct session_errand *e, bool *is_over, int *signal_number)
{
    session_errand_run(e);
    *is_over = e->is_gone;
    if (!e->is_good) {
        fprintf(stderr, "weir: %s\n", e->why);
        return EXIT_FAILED;
    }
    if (e->act != SESSION_SEND) return EXIT_DONE;
    take_session(c, e);
    return watch_turn(c, e->turn, signal_number);
}

static int show_help(const struct chat *c)
{
    struct weir_buf text;
    weir_buf_init(&text, OUTPUT_LINE_MAX_BYTES);
    session_line_help(&text);
    fwrite(text.ptr, 1, text.len, c->is_json ? stderr : stdout);
    weir_buf_fini(&text);
    return EXIT_DONE;
}

int chat_session_plain(struct chat *c, struct weir_slice line, bool *is_over, int *signal_number)
{
    struct session_line read = session_line_read(line, NULL);
    bool has_session = c->session[0] != '\0';
    *is_over = read.act == SESSION_QUIT;
    if (read.act == SESSION_HELP) return show_help(c);
    if (read.act == SESSION_NEW) c->session[0] = '\0';
    if (read.act == SESSION_NEW) c->session_seq = 0;
    if (read.act == SESSION_WRONG) fprintf(stderr, "weir: %s\n", read.why);
    if (read.act == SESSION_WRONG) return EXIT_FAILED;
    bool is_call = read.act == SESSION_SEND || (has_session && read.act != SESSION_NOTHING);
    if (!is_call || *is_over || read.act == SESSION_NEW) return EXIT_DONE;
    struct session_errand *e = session_errand_new(c, &read, "");
    if (!e) fputs("weir: there is no memory\n", stderr);
    int exit_status = e ? run_errand(c, e, is_over, signal_number) : EXIT_FAILED;
    if (*signal_number != 0 || !output_flush()) *is_over = true;
    session_errand_free(e);
    return exit_status;
}
