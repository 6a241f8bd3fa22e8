/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each request tells the server once more: it gives away what has begun to wait since the last one,
 * and says what is left.
 */
#include "serve_drain.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/clock.h"
#include "base/container.h"
#include "data_folder.h"
#include "options.h"
#include "output.h"

enum {
    DEFAULT_WAIT_MS = 60 * 1000,
    ASK_EVERY_MS = 250,
    HTTP_NOT_NOW = 503,
    NS_PER_MS = 1000 * 1000,
    WORDS_BYTES = 128,
};

/* What the server says. */
struct left {
    bool is_drained, has_others;
    int64_t n[4]; /* as the names below */
};

static const struct {
    const char *key, *one, *many;
} kinds[] = {{"turns", "turn", "turns"},
             {"sessions", "session", "sessions"},
             {"chats", "chat", "chats"},
             {"imports", "import", "imports"}};

int drain_check(const struct drain_wish *wish, int argc, char **argv)
{
    static const char *const allowed[] = {"--drain", "--data", "--wait", "--json"};
    if (!wish->is_wished && (wish->is_json || wish->wait_ms != DRAIN_NO_TIME))
        return usage_error(&serve_command, "--wait and --json go together with --drain");
    for (int i = 1; wish->is_wished && i < argc; i++) {
        size_t len = strcspn(argv[i], "=");
        bool is_allowed = strncmp(argv[i], "--", 2) != 0;
        for (size_t a = 0; a < sizeof allowed / sizeof *allowed; a++)
            is_allowed |= strlen(allowed[a]) == len && strncmp(argv[i], allowed[a], len) == 0;
        if (!is_allowed)
            return usage_error(&serve_command,
                               "--drain starts no server: %.*s is for one that does", (int)len,
                               argv[i]);
    }
    return EXIT_DONE;
}

/* ---- the answer ---- */

static bool read_left(struct weir_slice json, struct left *out)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    *out = (struct left){.is_drained = false};
    bool is_read = doc && weir_json_parse(doc, json, &v, NULL) == WEIR_OK;
    for (size_t i = 0; is_read && i < sizeof kinds / sizeof *kinds; i++)
        is_read = weir_json_int64(weir_json_get_str(v, kinds[i].key), &out->n[i]);
    out->is_drained = weir_json_type_of(weir_json_get_str(v, "drained")) == WEIR_JSON_TRUE;
    out->has_others = weir_json_type_of(weir_json_get_str(v, "others")) == WEIR_JSON_TRUE;
    weir_json_doc_free(doc);
    return is_read;
}

/* "2 turns, 1 import" */
static void put_words(const struct left *left, char out[WORDS_BYTES])
{
    size_t len = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && len < WORDS_BYTES; i++)
        if (left->n[i] > 0)
            len += (size_t)snprintf(out + len, WORDS_BYTES - len, "%s%lld %s", len > 0 ? ", " : "",
                                    (long long)left->n[i],
                                    left->n[i] == 1 ? kinds[i].one : kinds[i].many);
}

static void show_progress(const struct left *left)
{
    char words[WORDS_BYTES];
    if (isatty(STDERR_FILENO) != 1) return;
    put_words(left, words);
    fprintf(stderr, "\r\033[Kdraining… %s", words);
}

static int tell_end(const struct drain_wish *wish, const char *folder, const struct left *left,
                    struct weir_slice json)
{
    char words[WORDS_BYTES];
    int exit_status = left->is_drained ? EXIT_DONE : EXIT_FAILED;
    if (isatty(STDERR_FILENO) == 1) fputs("\r\033[K", stderr);
    put_words(left, words);
    if (wish->is_json) printf("%.*s\n", (int)json.len, json.ptr);
    else if (left->is_drained) printf("%s: no work is left\n", folder);
    if (!left->is_drained) fprintf(stderr, "weir: the time is over; still there: %s\n", words);
    if (!left->has_others)
        fputs("There is no other server that would take its work: what is under way comes to its "
              "end there, and nothing new is begun.\n",
              stderr);
    return exit_status;
}

/* ---- asking ---- */

static int refused(const char *folder, enum weir_status st, struct control_answer *answer)
{
    if (st == WEIR_NOT_FOUND) {
        fprintf(stderr, "weir: no server runs on %s\n", folder);
    } else if (st != WEIR_OK) {
        fprintf(stderr, "weir: the server on %s cannot be talked to: %s\n", folder,
                strerror(errno));
    } else {
        struct weir_slice why = control_error(answer);
        fprintf(stderr, "weir: %.*s\n", (int)why.len, why.len > 0 ? why.ptr : "");
    }
    return EXIT_FAILED;
}

/* True: it is over, with this exit status. */
static bool ask(const struct drain_wish *wish, const char *folder, bool is_last, int *exit_status)
{
    struct control_answer answer;
    struct left left;
    enum weir_status st =
        control_call(folder, "POST", "/v1/drain", (struct weir_slice){0}, &answer);
    struct weir_slice json = weir_buf_slice(&answer.body);
    bool is_told = st == WEIR_OK && answer.status == 200 && read_left(json, &left);
    bool is_over = is_last;
    if (is_told) {
        is_over |= left.is_drained;
        if (is_over) *exit_status = tell_end(wish, folder, &left, json);
        else show_progress(&left);
    } else {
        /* A thread that is not to be had now may be in a moment. */
        is_over |= st != WEIR_OK || answer.status != HTTP_NOT_NOW;
        if (is_over) *exit_status = refused(folder, st, &answer);
    }
    weir_buf_fini(&answer.body);
    return is_over;
}

int drain_run(const struct drain_wish *wish, const char *data)
{
    char folder[DATA_FOLDER_BYTES];
    int exit_status = EXIT_FAILED;
    uint64_t began_ns = clock_mono_ns(&clock_system);
    uint64_t wait_ms = wish->wait_ms == DRAIN_NO_TIME ? DEFAULT_WAIT_MS : wish->wait_ms;
    if (!data_folder_find(data, folder)) return EXIT_USAGE;
    for (;;) {
        uint64_t spent_ms = (clock_mono_ns(&clock_system) - began_ns) / NS_PER_MS;
        if (ask(wish, folder, spent_ms >= wait_ms, &exit_status)) break;
        (void)poll(NULL, 0, ASK_EVERY_MS);
    }
    return output_flush() ? exit_status : EXIT_FAILED;
}
