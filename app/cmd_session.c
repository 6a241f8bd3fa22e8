/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir session: conversations with tools that outlive connections and restarts. Each act is a call
 * of the server (rpc.h); what comes of it is watched as any other stream.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "local_server.h"
#include "output.h"
#include "pages.h"
#include "person_print.h"
#include "rpc.h"
#include "session_text.h"
#include "stream_watch.h"
#include "term_tty.h"

static const char help[] =
    "usage: weir session [list] [--search TEXT] [--limit N]\n"
    "       weir session new [--title TITLE] [TEXT... [--watch]]\n"
    "       weir session send SESSION TEXT... [--watch]\n"
    "       weir session watch SESSION [--from N] [--quiet] [--no-keep]\n"
    "       weir session show SESSION\n"
    "       weir session approve APPROVAL [--scope SCOPE]\n"
    "       weir session deny APPROVAL [--reason TEXT]\n"
    "       weir session answer QUESTION TEXT... | --cancel\n"
    "       weir session steer SESSION TEXT...\n"
    "       weir session abort SESSION\n"
    "       weir session fork SESSION\n"
    "       weir session rename SESSION TITLE...\n"
    "       weir session pin SESSION\n"
    "       weir session unpin SESSION\n"
    "       weir session delete SESSION...\n"
    "       weir session audit [--limit N]\n"
    "\n"
    "A session is a conversation with tools that goes on whether or not somebody looks: it reads\n"
    "your data and its memory, keeps notes, and asks before it changes anything. send prints the\n"
    "turn's id; messages that come while one is answered wait for their turn. watch shows all\n"
    "that happens in it, from its beginning, and goes on when the connection or the server was\n"
    "lost. What waits for you is shown there with its id: allow it with approve, refuse it with\n"
    "deny, and answer what was asked. abort ends the turn that runs and refuses what it asked;\n"
    "steer tells it something meanwhile. fork begins another session with what was said so far.\n"
    "audit lists what was decided about tools and questions, by whom, also of deleted sessions.\n"
    "To talk at a terminal: weir chat --session.\n"
    "\n"
    "  --title    of a new session\n"
    "  --watch    show the turn until it is done; - as TEXT is standard input\n"
    "  --from     the number of the first event to show; without: all that are kept\n"
    "  --scope    what else is allowed from now on in this session: once (nothing; the default),\n"
    "             exact-args (the same tool with the same arguments), any-args (the same tool)\n"
    "  --reason   why not, for the model\n"
    "  --cancel   the question is not answered\n"
    "  --search   only sessions with this in their title or messages\n"
    "  --limit    how many, the newest first; without: 20\n"
    "  --quiet    watching: the answers alone\n"
    "  --no-keep  watching: keep no copy of the events on this machine\n"
    "  --user     whose sessions, of a folder of this machine; without: me\n"
    "  --json     what the server says, as JSON; lists and events a line each\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir session new 'remember that I run on Sundays' --watch\n"
    "  weir session send ses_01HX2K3M4N5P6Q7R8S9T0V1W2X 'and in winter on Saturdays'\n"
    "  weir session watch ses_01HX2K3M4N5P6Q7R8S9T0V1W2X --json | jq -r .data.type\n"
    "  weir session approve ap_01HX2K3M4N5P6Q7R8S9T0V1W2X_1 --scope exact-args\n"
    "\n"
    "Exit status: 0 done, 1 refused, failed or no such session, 2 wrong usage, 3 the watching was\n"
    "left before the turn was done.\n";

enum {
    LIMIT = 20,
    MOST = 10000,
    PAGE_MOST = 200,
    TEXT_BYTES = 1 << 20, /* the server has a lower ceiling, and says so */
    PIECE_BYTES = 64 << 10,
    ID_BYTES = 128,
    CLIENT_BYTES = 32,
    PLACE_BYTES = 64,
    BEHIND_TEXT_BYTES = 4 * STREAM_BEHIND_BYTES,
};

struct request {
    char **words; /* behind the act */
    int n_words;
    const char *user, *title, *scope, *reason, *search;
    unsigned limit;
    unsigned from;
    bool is_watched, is_cancelled, is_json, is_quiet, is_not_kept;
    struct weir_buf text;
    struct weir_buf input; /* of the call */
    int signal_number;
};

/* Who asks why a turn has not begun. */
struct behind_asker {
    const struct client_config *config;
    struct request *request;
    const char *session;
};

/* ---- inputs ---- */

/* {"key": text; more members may follow until end_input(). */
static void begin_input(struct request *r, const char *key, const char *text)
{
    weir_buf_reset(&r->input);
    weir_json_put_begin_object(&r->input);
    if (text) member_string(&r->input, key, weir_slice_of(text));
}

/* Who decides, for those who look on. */
static void put_client(struct request *r)
{
    char name[CLIENT_BYTES];
    snprintf(name, sizeof name, "weir-session-%ld", (long)getpid());
    member_string(&r->input, "clientId", weir_slice_of(name));
}

static struct rpc call_of(struct request *r, const char *method)
{
    weir_json_put_end_object(&r->input);
    return (struct rpc){.method = method, .user = r->user, .input = weir_buf_slice(&r->input)};
}

static bool read_input(struct weir_buf *out)
{
    char piece[PIECE_BYTES];
    for (size_t n; (n = fread(piece, 1, sizeof piece, stdin)) > 0;) weir_buf_append(out, piece, n);
    if (ferror(stdin)) fputs("weir: standard input cannot be read\n", stderr);
    return !ferror(stdin);
}

/* The words from this one on, with blanks between them; or standard input. */
static bool take_text(struct request *r, int first)
{
    bool is_input = r->n_words == first + 1 && strcmp(r->words[first], "-") == 0;
    if (is_input && !read_input(&r->text)) return false;
    for (int i = first; i < r->n_words && !is_input; i++)
        weir_buf_printf(&r->text, "%s%s", i > first ? " " : "", r->words[i]);
    struct weir_slice text = weir_buf_slice(&r->text);
    while (is_input && text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1])) text.len--;
    r->text.len = text.len;
    if (weir_buf_status(&r->text) != WEIR_OK) fputs("weir: the text is too long\n", stderr);
    else if (utf8_valid_prefix(text) < text.len) fputs("weir: the text is not UTF-8\n", stderr);
    else return true;
    return false;
}

/* ---- answers ---- */

/* One call whose output is printed as it is, or as a sentence about the first word. */
static int call_and_say(const struct client_config *c, struct request *r, const struct rpc *call,
                        const char *said)
{
    struct rpc_answer answer;
    int exit_status = EXIT_FAILED;
    if (rpc_call(c, call, &answer)) {
        exit_status = EXIT_DONE;
        if (r->is_json) exit_status = rpc_print(answer.output);
        else printf("%s%s\n", r->words[0], said);
    }
    rpc_answer_fini(&answer);
    return exit_status;
}

static void copy_id(char out[ID_BYTES], const struct weir_json *v, const char *key)
{
    struct weir_slice id = weir_json_text(weir_json_get_str(v, key));
    bool fits = id.len > 0 && id.len < ID_BYTES;
    snprintf(out, ID_BYTES, "%.*s", fits ? (int)id.len : 0, fits ? id.ptr : "");
    if (!local_server_is_name(out)) out[0] = '\0';
}

/* A session that a call has made or changed. */
static int call_for_session(const struct client_config *c, const struct request *r,
                            const struct rpc *call)
{
    struct rpc_answer answer;
    char id[ID_BYTES];
    int exit_status = EXIT_FAILED;
    if (rpc_call(c, call, &answer)) {
        copy_id(id, weir_json_get_str(answer.output, "session"), "id");
        exit_status = r->is_json ? rpc_print(answer.output) : EXIT_DONE;
        if (!r->is_json) printf("%s\n", id);
    }
    rpc_answer_fini(&answer);
    return exit_status;
}

/* ---- lists ---- */

static int64_t now_ms(void)
{
    return clock_wall_ms(&clock_system);
}

static enum weir_status list_text(struct weir_buf *out, const struct weir_json *v, unsigned columns)
{
    return session_list_text(out, v, columns, now_ms());
}

static enum weir_status show_text(struct weir_buf *out, const struct weir_json *v, unsigned columns)
{
    (void)columns; /* a terminal may wrap it */
    return session_show_text(out, v, now_ms());
}

/* Adds a page to the list. The next one begins at *cursor; empty: there is none. */
static bool add_page(const struct client_config *c, struct request *r, struct weir_json_doc *doc,
                     struct weir_json *list, char cursor[ID_BYTES])
{
    struct rpc_answer answer;
    size_t left = r->limit - weir_json_count(list);
    begin_input(r, "q", r->search);
    weir_json_put_key(&r->input, "limit");
    weir_buf_append_u64(&r->input, left < PAGE_MOST ? left : PAGE_MOST);
    if (cursor[0] != '\0') member_string(&r->input, "cursor", weir_slice_of(cursor));
    const struct rpc call = call_of(r, "sessions/list");
    bool is_good = rpc_call(c, &call, &answer);
    const struct weir_json *s = weir_json_first(weir_json_get_str(answer.output, "sessions"));
    for (; s && is_good; s = weir_json_next(s))
        is_good = weir_json_push(doc, list, weir_json_copy(doc, s)) == WEIR_OK;
    copy_id(cursor, answer.output, "nextCursor");
    rpc_answer_fini(&answer);
    return is_good;
}

static int list(const struct client_config *c, void *user)
{
    struct request *r = user;
    char cursor[ID_BYTES] = "", before[ID_BYTES];
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json *all = doc ? weir_json_new(doc, WEIR_JSON_ARRAY) : NULL;
    bool is_good = all != NULL;
    do {
        memcpy(before, cursor, sizeof before);
        is_good = is_good && add_page(c, r, doc, all, cursor);
        /* A page of a search may be empty and not the last; one that leads to itself is. */
    } while (is_good && cursor[0] != '\0' && strcmp(cursor, before) != 0 &&
             weir_json_count(all) < r->limit);
    int exit_status = EXIT_FAILED;
    if (is_good) exit_status = person_print_list(all, r->is_json ? NULL : list_text);
    weir_json_doc_free(doc);
    return exit_status;
}

static enum weir_status audit_text(struct weir_buf *out, const struct weir_json *v,
                                   unsigned columns)
{
    return session_audit_text(out, v, columns, now_ms());
}

static int audit(const struct client_config *c, void *user)
{
    const struct request *r = user;
    char why[REMOTE_WHY_BYTES];
    struct weir_json *entries = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct pages pages = {.path = "/v1/sessions/audit", .user = r->user, .most = r->limit};
    int exit_status = EXIT_FAILED;
    if (doc && pages_get(c, &pages, doc, &entries, why) == WEIR_OK)
        exit_status = person_print_list(entries, r->is_json ? NULL : audit_text);
    else fprintf(stderr, "weir: %s\n", doc ? why : weir_status_text(WEIR_NOMEM));
    weir_json_doc_free(doc);
    return exit_status;
}

static int show(const struct client_config *c, void *user)
{
    struct request *r = user;
    struct rpc_answer answer;
    begin_input(r, "id", r->words[0]);
    const struct rpc call = call_of(r, "sessions/get");
    int exit_status = EXIT_FAILED;
    if (rpc_call(c, &call, &answer))
        exit_status =
            r->is_json ? rpc_print(answer.output) : person_print_list(answer.output, show_text);
    rpc_answer_fini(&answer);
    return exit_status;
}

/* ---- messages ---- */

/* How many messages wait in the session; 0: nobody knows. */
static unsigned count_waiting(const struct behind_asker *a)
{
    struct rpc_answer answer;
    char why[REMOTE_WHY_BYTES];
    int64_t n = 0;
    begin_input(a->request, "id", a->session);
    const struct rpc call = call_of(a->request, "sessions/get");
    if (rpc_try(a->config, &call, &answer, why) == WEIR_OK)
        (void)weir_json_int64(
            weir_json_get_str(weir_json_get_str(answer.output, "session"), "queued"), &n);
    rpc_answer_fini(&answer);
    return n > 0 ? (unsigned)n : 0;
}

/* Nobody is to wait in silence for a turn that waits for another. */
static void on_behind(void *user, struct watcher *w, const struct stream_behind *b)
{
    const struct behind_asker *a = user;
    char place[PLACE_BYTES] = "", text[BEHIND_TEXT_BYTES];
    unsigned n = count_waiting(a);
    if (n > 0) snprintf(place, sizeof place, " (%u message%s)", n, n == 1 ? " waits" : "s wait");
    if (b->kind == BEHIND_APPROVAL)
        snprintf(text, sizeof text,
                 "it waits for a turn before it%s, which may not run %s yet: weir session approve "
                 "%s, or weir session deny %s",
                 place, b->what, b->id, b->id);
    else if (b->kind == BEHIND_QUESTION)
        snprintf(text, sizeof text,
                 "it waits for a turn before it%s, which asks \"%s\": weir session answer %s TEXT",
                 place, b->what, b->id);
    else snprintf(text, sizeof text, "it waits for a turn before it%s", place);
    watcher_tell(w, text);
}

static int watch_it(const struct client_config *c, struct request *r, const char *session,
                    const char *turn)
{
    struct behind_asker asker = {c, r, session};
    const struct watcher_options options = {
        .is_json = r->is_json, .is_quiet = r->is_quiet, .notes = turn ? stderr : stdout};
    const struct stream_wish wish = {.kind = WEIR_STREAM_SESSION,
                                     .id = session,
                                     .user = r->user,
                                     .since = r->from > 0 ? r->from - 1 : 0,
                                     .turn = turn,
                                     .on_behind = on_behind,
                                     .behind_user = &asker,
                                     .is_not_kept = r->is_not_kept};
    return stream_watch(c, &wish, &options, &r->signal_number);
}

static int watch(const struct client_config *c, void *user)
{
    struct request *r = user;
    return watch_it(c, r, r->words[0], NULL);
}

/* Of a session that was begun with it the session is named, else the turn. */
static void name_sent(const struct request *r, const char *session, const char *turn, bool is_new)
{
    FILE *to = r->is_watched ? stderr : stdout;
    if (r->is_json) return;
    if (is_new) fprintf(to, "%s\n", session);
    else if (!r->is_watched) fprintf(to, "%s\n", turn);
    (void)output_flush();
}

/* To a new session, when it is NULL. */
static int send_text(const struct client_config *c, struct request *r, const char *session,
                     bool is_new)
{
    struct rpc_answer answer;
    char in[ID_BYTES];
    char turn[ID_BYTES];
    begin_input(r, "sessionId", session);
    put_client(r);
    member_string(&r->input, "text", weir_buf_slice(&r->text));
    const struct rpc call = call_of(r, "chat/send");
    bool is_sent = rpc_call(c, &call, &answer);
    copy_id(in, answer.output, "sessionId");
    copy_id(turn, answer.output, "turnId");
    if (is_sent && r->is_json) (void)rpc_print(answer.output);
    rpc_answer_fini(&answer);
    if (is_sent && (in[0] == '\0' || turn[0] == '\0')) {
        fputs("weir: the server's answer names no turn\n", stderr);
        return EXIT_FAILED;
    }
    if (!is_sent) return EXIT_FAILED;
    name_sent(r, in, turn, is_new);
    return r->is_watched ? watch_it(c, r, in, turn) : EXIT_DONE;
}

static int send_to(const struct client_config *c, void *user)
{
    struct request *r = user;
    return take_text(r, 1) ? send_text(c, r, r->words[0], false) : EXIT_FAILED;
}

/* With a title it is made before the text is sent, so that nobody sees it without. */
static int begin(const struct client_config *c, void *user)
{
    struct request *r = user;
    struct rpc_answer answer;
    char id[ID_BYTES];
    if (r->n_words > 0 && !take_text(r, 0)) return EXIT_FAILED;
    if (r->n_words > 0 && !r->title) return send_text(c, r, NULL, true);
    begin_input(r, "title", r->title);
    const struct rpc call = call_of(r, "sessions/create");
    if (r->n_words == 0) return call_for_session(c, r, &call);
    bool is_made = rpc_call(c, &call, &answer);
    copy_id(id, weir_json_get_str(answer.output, "session"), "id");
    rpc_answer_fini(&answer);
    return is_made ? send_text(c, r, id, true) : EXIT_FAILED;
}

/* ---- what is decided ---- */

static int approve(const struct client_config *c, void *user)
{
    struct request *r = user;
    begin_input(r, "approvalId", r->words[0]);
    put_client(r);
    member_string(&r->input, "scope", weir_slice_of(r->scope ? r->scope : "once"));
    const struct rpc call = call_of(r, "tools/approve");
    return call_and_say(c, r, &call, " is allowed");
}

static int deny(const struct client_config *c, void *user)
{
    struct request *r = user;
    begin_input(r, "approvalId", r->words[0]);
    put_client(r);
    if (r->reason) member_string(&r->input, "reason", weir_slice_of(r->reason));
    const struct rpc call = call_of(r, "tools/deny");
    return call_and_say(c, r, &call, " is denied");
}

static int answer_question(const struct client_config *c, void *user)
{
    struct request *r = user;
    if (!take_text(r, 1)) return EXIT_FAILED;
    begin_input(r, "requestId", r->words[0]);
    member_string(&r->input, "answer", weir_buf_slice(&r->text));
    member_string(&r->input, "source", r->is_cancelled ? SLICE("cancel") : SLICE("user"));
    const struct rpc call = call_of(r, "clarify/respond");
    return call_and_say(c, r, &call, r->is_cancelled ? " is cancelled" : " is answered");
}

static int steer(const struct client_config *c, void *user)
{
    struct request *r = user;
    struct rpc_answer answer;
    if (!take_text(r, 1)) return EXIT_FAILED;
    begin_input(r, "sessionId", r->words[0]);
    member_string(&r->input, "text", weir_buf_slice(&r->text));
    const struct rpc call = call_of(r, "chat/steer");
    bool is_good = rpc_call(c, &call, &answer);
    bool is_taken =
        is_good && weir_json_type_of(weir_json_get_str(answer.output, "ok")) == WEIR_JSON_TRUE;
    if (is_good && r->is_json) (void)rpc_print(answer.output);
    rpc_answer_fini(&answer);
    if (is_good && !is_taken)
        fputs("weir: nothing runs in this session; \"weir session send\" begins a turn\n", stderr);
    if (is_taken && !r->is_json) puts("the turn was told");
    return is_taken ? EXIT_DONE : EXIT_FAILED;
}

/* ---- whole sessions ---- */

static int abort_turn(const struct client_config *c, void *user)
{
    struct request *r = user;
    begin_input(r, "sessionId", r->words[0]);
    const struct rpc call = call_of(r, "chat/abort");
    return call_and_say(c, r, &call, ": what ran is aborted, if anything did");
}

static int fork_it(const struct client_config *c, void *user)
{
    struct request *r = user;
    begin_input(r, "id", r->words[0]);
    const struct rpc call = call_of(r, "sessions/fork");
    return call_for_session(c, r, &call);
}

static int rename_it(const struct client_config *c, void *user)
{
    struct request *r = user;
    if (!take_text(r, 1)) return EXIT_FAILED;
    begin_input(r, "id", r->words[0]);
    member_string(&r->input, "title", weir_buf_slice(&r->text));
    const struct rpc call = call_of(r, "sessions/update");
    return call_and_say(c, r, &call, " is renamed");
}

static int pin(const struct client_config *c, void *user)
{
    struct request *r = user;
    begin_input(r, "id", r->words[0]);
    const struct rpc call = call_of(r, "sessions/pin");
    return call_and_say(c, r, &call, " is pinned");
}

static int unpin(const struct client_config *c, void *user)
{
    struct request *r = user;
    begin_input(r, "id", r->words[0]);
    const struct rpc call = call_of(r, "sessions/unpin");
    return call_and_say(c, r, &call, " is no longer pinned");
}

static int delete_all(const struct client_config *c, void *user)
{
    struct request *r = user;
    int exit_status = EXIT_DONE;
    for (; r->n_words > 0; r->words++, r->n_words--) {
        begin_input(r, "id", r->words[0]);
        const struct rpc call = call_of(r, "sessions/delete");
        if (call_and_say(c, r, &call, " is deleted") != EXIT_DONE) exit_status = EXIT_FAILED;
    }
    return exit_status;
}

/* ---- the command ---- */

enum takes { TAKES_NOTHING, TAKES_ONE, TAKES_MANY, TAKES_TEXT };

/* `what` is what the first word names; NULL: it is a text. */
static const struct act {
    const char *name;
    remote_fn run;
    enum takes takes;
    const char *what, *text;
} acts[] = {
    {"list", list, TAKES_NOTHING, NULL, NULL},
    {"new", begin, TAKES_MANY, NULL, NULL},
    {"send", send_to, TAKES_TEXT, "a session, as ses_01HX…", "what is to be sent?"},
    {"watch", watch, TAKES_ONE, "a session, as ses_01HX…", NULL},
    {"show", show, TAKES_ONE, "a session, as ses_01HX…", NULL},
    {"approve", approve, TAKES_ONE, "what waits for approval, as ap_01HX…", NULL},
    {"deny", deny, TAKES_ONE, "what waits for approval, as ap_01HX…", NULL},
    {"answer", answer_question, TAKES_TEXT, "the question, as clr_01HX…", "what is the answer?"},
    {"steer", steer, TAKES_TEXT, "a session, as ses_01HX…", "what is it to be told?"},
    {"abort", abort_turn, TAKES_ONE, "a session, as ses_01HX…", NULL},
    {"fork", fork_it, TAKES_ONE, "a session, as ses_01HX…", NULL},
    {"rename", rename_it, TAKES_TEXT, "a session, as ses_01HX…", "what is it to be called?"},
    {"pin", pin, TAKES_ONE, "a session, as ses_01HX…", NULL},
    {"unpin", unpin, TAKES_ONE, "a session, as ses_01HX…", NULL},
    {"delete", delete_all, TAKES_MANY, "a session, as ses_01HX…", NULL},
    {"audit", audit, TAKES_NOTHING, NULL, NULL},
};

static const struct act *find_act(const char *name)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(acts[i].name, name) == 0) return &acts[i];
    return NULL;
}

/* Whether what is named can be. */
static bool are_names(const struct request *r, const struct act *act)
{
    int n = act->takes == TAKES_MANY ? r->n_words : 1;
    for (int i = 0; i < n && i < r->n_words; i++)
        if (!local_server_is_name(r->words[i])) return false;
    return r->n_words > 0;
}

/* Whether the words are such as the act takes. */
static int check_words(const struct request *r, const struct act *act)
{
    bool takes_text = act->takes == TAKES_TEXT;
    if (act->takes == TAKES_NOTHING && r->n_words > 0)
        return usage_error(&session_command, "%s takes no \"%s\"", act->name, r->words[0]);
    if (act->what && !are_names(r, act))
        return usage_error(&session_command, "%s: name %s", act->name, act->what);
    if (act->takes == TAKES_ONE && r->n_words > 1)
        return usage_error(&session_command, "%s takes one, and not \"%s\" too", act->name,
                           r->words[1]);
    if (takes_text && r->n_words < 2 && !r->is_cancelled)
        return usage_error(&session_command, "%s", act->text);
    if (takes_text && r->n_words > 1 && r->is_cancelled)
        return usage_error(&session_command, "an answer or --cancel, and not both");
    return EXIT_DONE;
}

static bool is_scope(const char *text)
{
    static const char *const all[] = {"once", "exact-args", "any-args"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i], text) == 0) return true;
    return false;
}

/* Options that are for one act say nothing to another. */
static int check_options(const struct request *r, const struct act *act)
{
    const struct {
        bool is_given;
        const char *option, *acts[3];
    } rules[] = {
        {r->title != NULL, "--title", {"new"}},
        {r->is_watched, "--watch", {"new", "send"}},
        {r->from > 0, "--from", {"watch"}},
        {r->scope != NULL, "--scope", {"approve"}},
        {r->reason != NULL, "--reason", {"deny"}},
        {r->is_cancelled, "--cancel", {"answer"}},
        {r->search != NULL, "--search", {"list"}},
        {r->is_quiet, "--quiet", {"watch", "new", "send"}},
        {r->is_not_kept, "--no-keep", {"watch", "new", "send"}},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        bool is_ours = !rules[i].is_given;
        for (size_t j = 0; j < 3 && rules[i].acts[j]; j++)
            is_ours |= strcmp(act->name, rules[i].acts[j]) == 0;
        if (!is_ours)
            return usage_error(&session_command, "%s is for %s, not for %s", rules[i].option,
                               rules[i].acts[0], act->name);
    }
    if (r->scope && !is_scope(r->scope))
        return usage_error(&session_command, "--scope is once, exact-args or any-args");
    if (r->is_quiet && r->is_json)
        return usage_error(&session_command, "--quiet or --json, and not both");
    if (r->user && !local_server_is_name(r->user))
        return usage_error(&session_command, "--user takes letters, digits, . _ - @");
    return EXIT_DONE;
}

static int run_act(struct request *r, const struct client_flags *flags, const char *name)
{
    const struct act *act = find_act(name);
    if (!act)
        return usage_error(&session_command, "there is no \"%s\"; weir session --help has them all",
                           name);
    int exit_status = check_options(r, act);
    if (exit_status == EXIT_DONE) exit_status = check_words(r, act);
    if (exit_status == EXIT_DONE && r->is_watched && r->n_words == 0)
        exit_status = usage_error(&session_command, "what is to be sent?");
    if (exit_status != EXIT_DONE) return exit_status;
    weir_buf_init(&r->text, TEXT_BYTES);
    weir_buf_init(&r->input, RPC_INPUT_BYTES);
    exit_status = remote_command(flags, r->user, act->run, r);
    weir_buf_fini(&r->input);
    weir_buf_fini(&r->text);
    /* Only now, when a server of our own has closed its store. */
    if (r->signal_number != 0) tty_die(r->signal_number);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct request r = {.limit = LIMIT};
    struct client_flags flags = {.tells_waiting = true};
    const struct option_row rows[] = {
        {.name = "title", .kind = OPTION_TEXT, .to = &r.title},
        {.name = "watch", .kind = OPTION_FLAG, .to = &r.is_watched},
        {.name = "from", .kind = OPTION_COUNT, .to = &r.from, .min = 1},
        {.name = "scope", .kind = OPTION_TEXT, .to = &r.scope},
        {.name = "reason", .kind = OPTION_TEXT, .to = &r.reason},
        {.name = "cancel", .kind = OPTION_FLAG, .to = &r.is_cancelled},
        {.name = "search", .kind = OPTION_TEXT, .to = &r.search},
        {.name = "limit", .kind = OPTION_COUNT, .to = &r.limit, .min = 1, .max = MOST},
        {.name = "quiet", .kind = OPTION_FLAG, .to = &r.is_quiet},
        {.name = "no-keep", .kind = OPTION_FLAG, .to = &r.is_not_kept},
        {.name = "user", .kind = OPTION_TEXT, .to = &r.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &r.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&session_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 0) {
        r.words = words + 1;
        r.n_words = n_words - 1;
    }
    return run_act(&r, &flags, n_words > 0 ? words[0] : "list");
}

const struct command session_command = {
    .name = "session",
    .summary = "conversations with tools: begin, watch, allow, answer",
    .help = help,
    .run = run,
};
