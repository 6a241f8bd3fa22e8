/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, forks and deletions: what is somebody's is there, and what is gone is gone. */
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "play.h"

static struct sent one_turn(const char *text)
{
    struct sent s = send_text(NULL, text);
    wait_idle(s.session);
    return s;
}

static const char *id_input(const char *session)
{
    return desk_format("{\"id\":\"%s\"}", session);
}

TEST(a_session_is_shown_with_what_was_said)
{
    play_open(false);
    struct sent s = one_turn("hello");
    T_EQ(call_as("ann", "sessions/get", id_input(s.session)), WEIR_OK);
    T_OK(says(call_text_out, desk_format("{\"session\":{\"id\":\"%s\",\"key\":\"%s\","
                                         "\"platform\":\"weir\",\"model\":\"play-1\","
                                         "\"provider\":\"play\",\"personalityId\":null,"
                                         "\"parentSessionId\":null,\"workingDir\":null,"
                                         "\"title\":\"hello\",\"pinned\":false,\"usage\":{"
                                         "\"inputTokens\":10,\"outputTokens\":5,",
                                         s.session, s.session)));
    T_OK(
        says(call_text_out, "\"estimatedCostUsd\":0.25,\"apiCallCount\":1,\"compactionCount\":0}"));
    T_OK(says(call_text_out, "\"version\":1,\"state\":\"idle\",\"queued\":0}"));
    T_OK(says(call_text_out, desk_format("\"messages\":[{\"id\":\"msg_%s_0\",\"sessionId\":\"%s\","
                                         "\"role\":\"user\",\"content\":\"hello\","
                                         "\"timestamp\":\"",
                                         s.turn + 4, s.session)));
    T_EQ(CALL("sessions/get", "{\"sessionId\":\"%s\"}", s.session), WEIR_OK);
    T_EQ(CALL("sessions/get", "{\"sessionId\":\"%s\",\"id\":\"x\"}", s.session), WEIR_BAD_FIELD);
    T_EQ(CALL("sessions/get", "{}"), WEIR_BAD_FIELD);
    T_OK(says(call_why, "id is missing"));
    T_EQ(call_as("bob", "sessions/get", id_input(s.session)), WEIR_NOT_FOUND);
    play_stop();
}

TEST(messages_and_stream_fit_together)
{
    play_open(false);
    struct sent s = one_turn("one");
    uint64_t before = last_event(s.session);
    T_EQ(call_as("ann", "sessions/get", id_input(s.session)), WEIR_OK);
    T_OK(says(call_text_out,
              desk_format(",\"queue\":[],\"seq\":%llu}", (unsigned long long)before)));
    /* All of a turn that runs is in the stream behind it, and what waits is shown. */
    play_set(true);
    struct sent running = send_text(s.session, "two");
    struct sent next = send_text(s.session, "three");
    WAIT_FOR(play_n_held() == 1);
    WAIT_FOR(last_event(s.session) > before);
    T_EQ(call_as("ann", "sessions/get", id_input(s.session)), WEIR_OK);
    T_OK(says(call_text_out,
              desk_format(",\"queue\":[{\"turnId\":\"%s\",\"text\":\"three\",\"createdAt\":\"",
                          next.turn)));
    T_OK(says(call_text_out, desk_format("}],\"seq\":%llu}", (unsigned long long)before)));
    T_OK(says(call_text_out, running.turn + 4));
    play_stop();
}

TEST(a_text_that_waits_is_shown_by_its_beginning)
{
    static char text[6000 + 1];
    play_open(true);
    struct sent s = send_text(NULL, "one");
    memset(text, 'a', sizeof text - 1);
    memcpy(text + 4095, "\xc3\xbc", 2);
    send_text(s.session, text);
    T_EQ(call_as("ann", "sessions/get", id_input(s.session)), WEIR_OK);
    const char *shown = strstr(call_text_out, "\"queue\":[{");
    T_OK(shown);
    shown = strstr(shown, "\"text\":\"") + 8;
    T_EQ(strcspn(shown, "\""), 4095);
    play_stop();
}

TEST(titles_and_pins_are_kept)
{
    play_open(true);
    struct sent s = send_text(NULL, "x");
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"Sleep \\u00fc\"}", s.session),
         WEIR_OK);
    T_OK(says(call_text_out, "{\"session\":{\"id\":"));
    T_OK(says(call_text_out, "\"title\":\"Sleep \xc3\xbc\""));
    T_OK(says(call_text_out, "\"state\":\"running\""));
    T_EQ(call_as("ann", "sessions/pin", id_input(s.session)), WEIR_OK);
    T_OK(says(call_text_out, "{\"ok\":true}"));
    T_EQ(call_as("ann", "sessions/get", id_input(s.session)), WEIR_OK);
    T_OK(says(call_text_out, "\"pinned\":true"));
    T_EQ(call_as("ann", "sessions/unpin", id_input(s.session)), WEIR_OK);
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":null}", s.session), WEIR_OK);
    T_OK(says(call_text_out, "\"title\":null,\"pinned\":false"));
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\"}", s.session), WEIR_BAD_FIELD);
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"a\\nb\"}", s.session), WEIR_BAD_FIELD);
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"\\ud800\"}", s.session),
         WEIR_BAD_FIELD);
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"%0201d\"}", s.session, 7),
         WEIR_BAD_FIELD);
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"%0200d\"}", s.session, 7), WEIR_OK);
    T_EQ(call_as("bob", "sessions/pin", id_input(s.session)), WEIR_NOT_FOUND);
    play_stop();
}

static void title_is(const char *session, const char *title)
{
    T_EQ(call_as("ann", "sessions/get", id_input(session)), WEIR_OK);
    if (!says(call_text_out, desk_format("\"title\":%s,", title)))
        t_fail(__FILE__, __LINE__, "not %s: %s", title, call_text_out);
}

/* A list shows titles in one line, and as they are. */
TEST(a_title_is_something_that_can_be_seen)
{
    static const struct {
        const char *title, *why;
    } rows[] = {
        {"", "title is empty"},
        {"  ", "title is blank"},
        {"a\\tb", "title has a control character in it"},
        {"a\\u0085b", "title has a control character in it"},
        {"a\\u202eb", "title has a control character in it"},
        {"a\\u2028b", "title has a control character in it"},
    };
    play_open(false);
    struct sent s = one_turn("hello");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"%s\"}", s.session, rows[i].title),
             WEIR_BAD_FIELD);
        T_EQ_STR(weir_slice_of(call_why), rows[i].why);
        T_EQ(CALL("sessions/create", "{\"title\":\"%s\"}", rows[i].title), WEIR_BAD_FIELD);
    }
    title_is(s.session, "\"hello\"");
    s = one_turn("how did \\u202e I sleep?");
    title_is(s.session, "\"how did I sleep?\"");
    play_stop();
}

TEST(the_first_message_is_the_title)
{
    char id[SESSION_LEN + 1];
    play_open(false);
    struct sent s = one_turn("\\n how did\\t I  sleep?\\nI was late.");
    title_is(s.session, "\"how did I sleep?\"");
    T_EQ(call_as("ann", "sessions/list", "{\"q\":\"i sleep\"}"), WEIR_OK);
    T_OK(says(call_text_out, s.session));
    send_text(s.session, "and now?");
    title_is(s.session, "\"how did I sleep?\"");
    /* Who wants none has none. */
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":null}", s.session), WEIR_OK);
    wait_idle(s.session);
    send_text(s.session, "again");
    title_is(s.session, "null");
    T_EQ(call_as("ann", "sessions/create", "{}"), WEIR_OK);
    said("id", id, sizeof id);
    send_text(id, "first");
    title_is(id, "\"first\"");
    T_EQ(call_as("ann", "sessions/create", "{\"title\":\"T\"}"), WEIR_OK);
    said("id", id, sizeof id);
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":null}", id), WEIR_OK);
    send_text(id, "first");
    title_is(id, "null");
    T_EQ(call_as("ann", "sessions/create", "{\"title\":\"T\"}"), WEIR_OK);
    said("id", id, sizeof id);
    send_text(id, "first");
    title_is(id, "\"T\"");
    play_stop();
}

#define DIGITS "0123456789"
#define DOTS   "\xe2\x80\xa6"
#define UMLAUT "\xc3\xbc"

TEST(long_titles_are_cut_behind_a_word)
{
    static const struct {
        const char *text, *title;
    } cases[] = {
        {"", ""},
        {" \r\n\t", ""},
        {"\x01\x7f a \x1b[31m", "a [31m"},
        {"a\rb", "a"},
        {"a\xff\xc3 b", "a b"},
        {"\xff"
         "a",
         "a"},
        {DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS, DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS},
        {DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS " \n",
         DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS},
        {DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS "0",
         DIGITS DIGITS DIGITS DIGITS DIGITS "012345678" DOTS},
        {DIGITS DIGITS DIGITS DIGITS DIGITS " 012345678",
         DIGITS DIGITS DIGITS DIGITS DIGITS " 012345678"},
        {DIGITS DIGITS DIGITS DIGITS DIGITS " 0123456789", DIGITS DIGITS DIGITS DIGITS DIGITS DOTS},
        {DIGITS DIGITS DIGITS DIGITS DIGITS " 01234567  x",
         DIGITS DIGITS DIGITS DIGITS DIGITS " 01234567" DOTS},
        {UMLAUT UMLAUT " " DIGITS DIGITS DIGITS DIGITS DIGITS DIGITS, UMLAUT UMLAUT DOTS},
    };
    char out[SESSION_TITLE_BYTES], wide[4 * 100 + 1], want[SESSION_TITLE_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        T_EQ_STR(session_title(out, weir_slice_of(cases[i].text)), cases[i].title);
    for (size_t i = 0; i < sizeof wide - 1; i++) wide[i] = "\xf0\x9f\x98\xb4"[i % 4];
    wide[sizeof wide - 1] = 0;
    snprintf(want, sizeof want, "%.*s" DOTS, 4 * (SESSION_TITLE_CHARS - 1), wide);
    T_EQ_STR(session_title(out, weir_slice_of(wide)), want);
}

TEST(lists_have_pages_and_are_searched)
{
    char cursor[64], seen[8][SESSION_LEN + 1];
    struct sent all[7];
    play_open(false);
    for (int i = 0; i < 7; i++) all[i] = one_turn(desk_format("words of %d", i));
    T_EQ(call_as("bob", "chat/send", "{\"clientId\":\"b\",\"text\":\"mine\"}"), WEIR_OK);
    T_EQ(call_as("ann", "sessions/list", "{\"limit\":3}"), WEIR_OK);
    T_EQ(count(call_text_out, "\"platform\""), 3);
    said("id", seen[0], sizeof seen[0]);
    T_EQ_STR(weir_slice_of(seen[0]), all[6].session); /* the newest first */
    said("nextCursor", cursor, sizeof cursor);
    T_EQ(CALL("sessions/list", "{\"limit\":3,\"cursor\":\"%s\"}", cursor), WEIR_OK);
    T_OK(says(call_text_out, all[3].session) && says(call_text_out, all[1].session));
    said("nextCursor", cursor, sizeof cursor);
    T_EQ(CALL("sessions/list", "{\"limit\":3,\"cursor\":\"%s\"}", cursor), WEIR_OK);
    T_EQ(count(call_text_out, "\"platform\""), 1);
    T_OK(says(call_text_out, "\"nextCursor\":null"));
    T_EQ(call_as("ann", "sessions/list", "{}"), WEIR_OK);
    T_EQ(count(call_text_out, "\"platform\""), 7);
    T_EQ(call_as("ann", "sessions/list", "null"), WEIR_OK);
    T_EQ(count(call_text_out, "\"platform\""), 7);
    T_EQ(call_as("ann", "sessions/list", "{\"q\":\"WORDS of 4\"}"), WEIR_OK);
    T_EQ(count(call_text_out, "\"platform\""), 1);
    T_OK(says(call_text_out, all[4].session));
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"Heart\"}", all[2].session), WEIR_OK);
    T_EQ(call_as("ann", "sessions/list", "{\"q\":\"heart\"}"), WEIR_OK);
    T_EQ(count(call_text_out, "\"platform\""), 1);
    T_EQ(call_as("cleo", "sessions/list", "{}"), WEIR_OK);
    T_OK(says(call_text_out, "{\"sessions\":[],\"nextCursor\":null}"));
    T_EQ(call_as("ann", "sessions/list", "{\"limit\":0}"), WEIR_BAD_FIELD);
    T_EQ(call_as("ann", "sessions/list", "{\"limit\":201}"), WEIR_BAD_FIELD);
    T_EQ(call_as("ann", "sessions/list", "{\"limit\":\"3\"}"), WEIR_BAD_FIELD);
    T_EQ(call_as("ann", "sessions/list", "{\"cursor\":\"x\"}"), WEIR_BAD_FIELD);
    T_EQ(call_as("ann", "sessions/list", "{\"page\":1}"), WEIR_BAD_FIELD);
    play_stop();
}

TEST(a_session_may_begin_without_a_message)
{
    char id[SESSION_LEN + 1];
    play_open(false);
    T_EQ(call_as("ann", "sessions/create", "{\"title\":\"Sleep\"}"), WEIR_OK);
    T_OK(says(call_text_out, "\"title\":\"Sleep\"") && says(call_text_out, "\"state\":\"idle\""));
    said("id", id, sizeof id);
    T_EQ(call_as("ann", "sessions/get", id_input(id)), WEIR_OK);
    T_OK(says(call_text_out, "\"messages\":[]"));
    T_EQ(call_as("bob", "sessions/get", id_input(id)), WEIR_NOT_FOUND);
    T_EQ(n_events(id, "mesh.changed"), 1);
    send_text(id, "one");
    wait_idle(id);
    T_EQ(call_as("ann", "sessions/create", "{}"), WEIR_OK);
    T_OK(says(call_text_out, "\"title\":null"));
    T_EQ(call_as("ann", "sessions/create", "{\"title\":null}"), WEIR_OK);
    T_EQ(call_as("ann", "sessions/create", "{\"title\":7}"), WEIR_BAD_FIELD);
    T_EQ(call_as("ann", "sessions/create", "{\"name\":\"x\"}"), WEIR_BAD_FIELD);
    play_stop();
}

TEST(a_fork_has_the_messages_and_goes_its_own_way)
{
    char fork[SESSION_LEN + 1];
    play_open(false);
    struct sent s = one_turn("one");
    send_text(s.session, "two");
    wait_idle(s.session);
    T_EQ(CALL("sessions/update", "{\"id\":\"%s\",\"title\":\"T\"}", s.session), WEIR_OK);
    T_EQ(call_as("ann", "sessions/fork", id_input(s.session)), WEIR_OK);
    said("id", fork, sizeof fork);
    T_OK(strcmp(fork, s.session) != 0);
    T_OK(says(call_text_out, desk_format("\"parentSessionId\":\"%s\"", s.session)));
    T_OK(says(call_text_out, "\"title\":\"T\""));
    T_OK(says(call_text_out, "\"inputTokens\":0"));
    T_EQ(call_as("ann", "sessions/get", id_input(fork)), WEIR_OK);
    const char *one = strstr(call_text_out, "\"content\":\"one\"");
    T_OK(one && strstr(one, "\"content\":\"two\""));
    T_OK(!says(call_text_out, s.turn + 4)); /* ids of its own */
    T_EQ(n_events(fork, "mesh.changed"), 1);
    T_EQ(last_event(fork), 1);
    send_text(fork, "three");
    wait_idle(fork);
    T_EQ(call_as("ann", "sessions/get", id_input(s.session)), WEIR_OK);
    T_EQ(count(call_text_out, "\"role\""), 2);
    T_EQ(call_as("ann", "sessions/get", id_input(fork)), WEIR_OK);
    T_EQ(count(call_text_out, "\"role\""), 3);
    T_EQ(n_docs("session_deleted"), 0);
    T_EQ(call_as("bob", "sessions/fork", id_input(fork)), WEIR_NOT_FOUND);
    T_EQ(n_docs("session_deleted"), 0);
    play_stop();
}

TEST(a_fork_larger_than_a_commit_is_whole)
{
    enum { LARGE = 200 << 10, N = 50 };
    static char body[LARGE + 128];
    char id[SESSION_MESSAGE_BYTES], turn[SESSION_TURN_LEN + 1];
    play_open(false);
    struct sent s = one_turn("one");
    memset(body, 'a', sizeof body);
    int n = snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":\"");
    body[n] = 'b';
    snprintf(body + LARGE, 64, "\",\"at\":\"2026-01-01T00:00:00.000Z\"}");
    for (int i = 0; i < N; i++) {
        struct commit *c = commit_new(0);
        T_EQ(sessions_next_id(desk.sessions, "trn_", turn), WEIR_OK);
        commit_put(c, session_message_key(id, weir_slice_of(s.session), weir_slice_of(turn), 99),
                   DOC_MUST_BE_NEW, SLICE("ann"), weir_slice_of(body));
        T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    }
    T_EQ(call_as("ann", "sessions/fork", id_input(s.session)), WEIR_OK);
    T_EQ(n_docs("session_message"), 2 * (N + 1));
    T_EQ(n_docs("session_deleted"), 0);
    play_stop();
}

/* What was begun and not ended, as a crash leaves it. */
TEST(a_fork_that_was_cut_off_leaves_nothing)
{
    char fork[SESSION_LEN + 1];
    struct session_call *c;
    const struct weir_json *json;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    play_open(false);
    struct sent s = one_turn("one");
    T_EQ(weir_json_parse(doc, weir_slice_of(id_input(s.session)), &json, NULL), WEIR_OK);
    T_EQ(session_call_new(&c, desk.sessions, session_method_find(SLICE("sessions"), SLICE("fork")),
                          SLICE("ann"), json),
         WEIR_OK);
    T_EQ(session_call_prepare(c), WEIR_OK);
    T_EQ(n_docs("session_deleted"), 1);
    T_EQ(n_docs("session_message"), 2);
    session_call_free(c);
    WAIT_FOR(n_docs("session_deleted") == 0);
    T_EQ(n_docs("session_message"), 1);
    /* And at the next start. */
    T_EQ(sessions_next_id(desk.sessions, "ses_", fork), WEIR_OK);
    struct commit *commit = commit_new(0);
    char id[SESSION_MESSAGE_BYTES];
    commit_put(commit, session_deleted_key(weir_slice_of(fork)), DOC_MUST_BE_NEW, SLICE("ann"),
               SLICE("{}"));
    commit_put(commit, session_message_key(id, weir_slice_of(fork), weir_slice_of(s.turn), 0),
               DOC_MUST_BE_NEW, SLICE("ann"), SLICE("{}"));
    T_EQ(store_commit_wait(desk.store, commit).status, WEIR_OK);
    play_stop();
    desk_start();
    T_EQ(n_docs("session_deleted"), 0);
    T_EQ(n_docs("session_message"), 1);
    weir_json_doc_free(doc);
    play_stop();
}

/* Nothing that belongs to sessions is there any more. */
static void expect_nothing(void)
{
    static const char *const kinds[] = {
        "session",     "session_turn", "session_message", "session_steer",   "session_scope",
        "session_has", "session_busy", "session_deleted", "session_pending", "approval",
        "clarify",     "run",          "run-cancel",      "run-input",       "step",
        "turn_call",   "turn_request", "session_tool",    "shield_map"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        unsigned n = n_docs(kinds[i]);
        if (n > 0) t_fail(__FILE__, __LINE__, "%u of %s", n, kinds[i]);
    }
}

static bool has_log(const char *session)
{
    char log[SESSION_LOG_BYTES];
    struct log_read read;
    store_read(desk.store, session_log(log, weir_slice_of(session)), 1, 0, &read);
    return read.state.exists;
}

TEST(what_is_deleted_is_gone_with_all_of_it)
{
    char folder[300], path[400];
    struct session_view view;
    snprintf(folder, sizeof folder, "%s/folders", t_temp_dir());
    desk.options.folder = folder;
    play_open(false);
    struct sent s = one_turn("one");
    send_text(s.session, "two");
    wait_idle(s.session);
    T_EQ(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/%s", folder, s.session);
    T_EQ(mkdir(path, 0700), 0);
    T_EQ(call_as("bob", "sessions/delete", id_input(s.session)), WEIR_NOT_FOUND);
    T_EQ(call_as("ann", "sessions/delete", id_input(s.session)), WEIR_OK);
    T_OK(says(call_text_out, "{\"ok\":true}"));
    T_EQ(call_as("ann", "sessions/get", id_input(s.session)), WEIR_NOT_FOUND);
    T_EQ(call_as("ann", "sessions/delete", id_input(s.session)), WEIR_NOT_FOUND);
    T_EQ(CALL("chat/send", "{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}", s.session),
         WEIR_NOT_FOUND);
    T_EQ(call_as("ann", "sessions/list", "{}"), WEIR_OK);
    T_OK(says(call_text_out, "{\"sessions\":[],\"nextCursor\":null}"));
    T_EQ(sessions_attach(desk.sessions, SLICE("ann"), weir_slice_of(s.session), &view),
         WEIR_NOT_FOUND);
    WAIT_FOR(n_docs("session_deleted") == 0);
    T_OK(!has_log(s.session));
    T_OK(!file_exists(path));
    expect_nothing();
    desk.options.folder = NULL;
    play_stop();
}

TEST(a_deletion_ends_the_turn_and_what_waits)
{
    play_open(true);
    struct sent s = send_text(NULL, "one");
    WAIT_FOR(play_n_held() == 1);
    for (int i = 0; i < 5; i++) send_text(s.session, "more");
    T_EQ(CALL("chat/steer", "{\"sessionId\":\"%s\",\"text\":\"x\"}", s.session), WEIR_OK);
    struct commit *c = commit_new(0);
    const char *tool = desk_format("%s/001", s.turn);
    commit_put(c, (struct doc_key){SLICE("session_tool"), weir_slice_of(tool)}, DOC_MUST_BE_NEW,
               SLICE("ann"), SLICE("{}"));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    T_EQ(call_as("ann", "sessions/delete", id_input(s.session)), WEIR_OK);
    WAIT_FOR(n_docs("session_deleted") == 0);
    T_EQ(atomic_load(&play.n_begun), 1);
    T_OK(!has_log(s.session));
    expect_nothing();
    play_stop();
}

/* With a turn as it really is, and not one of the test's own. */
TEST(a_real_turn_leaves_nothing_behind_either)
{
    desk_tune = NULL;
    desk_open();
    struct sent s = send_text(NULL, "Hello there");
    wait_idle(s.session);
    T_EQ(n_events(s.session, "done"), 1);
    T_EQ(call_as("ann", "sessions/fork", id_input(s.session)), WEIR_OK);
    char fork[SESSION_LEN + 1];
    said("id", fork, sizeof fork);
    send_text(fork, "And again");
    T_EQ(call_as("ann", "sessions/delete", id_input(fork)), WEIR_OK);
    T_EQ(call_as("ann", "sessions/delete", id_input(s.session)), WEIR_OK);
    WAIT_FOR(n_docs("session_deleted") == 0);
    expect_nothing();
    desk_stop();
}

/* The mark is durable, and nothing else has happened. */
TEST(a_deletion_that_was_cut_off_goes_on_at_the_next_start)
{
    struct session_call *c;
    const struct weir_json *json;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    play_open(true);
    struct sent s = send_text(NULL, "one");
    WAIT_FOR(play_n_held() == 1);
    T_EQ(weir_json_parse(doc, weir_slice_of(id_input(s.session)), &json, NULL), WEIR_OK);
    const struct session_method *m = session_method_find(SLICE("sessions"), SLICE("delete"));
    struct session_method cut = *m;
    cut.committed = NULL;
    T_EQ(session_call_new(&c, desk.sessions, &cut, SLICE("ann"), json), WEIR_OK);
    T_EQ(session_call_run(c), WEIR_OK);
    session_call_free(c);
    play_stop();
    T_EQ(atomic_load(&play.n_begun), 1);
    desk_start();
    WAIT_FOR(n_docs("session_deleted") == 0);
    T_OK(!has_log(s.session));
    expect_nothing();
    weir_json_doc_free(doc);
    play_stop();
}

/* ---- at once ---- */

static void *send_until_gone(void *session)
{
    enum weir_status st;
    do {
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        st = call_into("ann", "chat/send",
                       desk_format("{\"sessionId\":\"%s\",\"clientId\":\"t\",\"text\":\"x\"}",
                                   (const char *)session),
                       &out, NULL);
        weir_buf_fini(&out);
    } while (st == WEIR_OK || st == WEIR_CONCURRENCY);
    T_EQ(st, WEIR_NOT_FOUND);
    return NULL;
}

TEST(whoever_sends_while_it_is_deleted_leaves_nothing_behind)
{
    play_open(false);
    for (int i = 0; i < 20; i++) {
        pthread_t threads[2];
        struct sent s = send_text(NULL, "one");
        for (int k = 0; k < 2; k++)
            T_EQ(pthread_create(&threads[k], NULL, send_until_gone, s.session), 0);
        WAIT_FOR(last_event(s.session) > (unsigned)i);
        T_EQ(call_as("ann", "sessions/delete", id_input(s.session)), WEIR_OK);
        for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
        WAIT_FOR(n_docs("session_deleted") == 0);
        T_OK(!has_log(s.session));
    }
    expect_nothing();
    play_stop();
}
