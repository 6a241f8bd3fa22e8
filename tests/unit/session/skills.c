/* SPDX-License-Identifier: Apache-2.0 */
/* Skills: which questions are alike, when one is proposed, and what becomes of it. */
#include "session/skills_impl.h"

#include "import/import.h"
#include "play.h"

/* As turns end that are done. */
static void end_hook(struct flow_step *s, const struct flow_end *end)
{
    const struct weir_json *input = flow_input(s);
    if (!end->failure) {
        enum weir_status st = skills_turn_done(s, input);
        if (st != WEIR_OK) flow_hook_fail(s, st);
    }
    play_end_hook(s, end);
}

static void tune(struct sessions *s)
{
    play_tune(s);
    s->workflow.on_end = end_hook;
}

/* With data of ann's own, so that questions about them are understood. */
static void open_skills(void)
{
    static struct import_summary summary;
    const char *paths[] = {T_SOURCE_ROOT "/tests/data/people/p01_daily.csv"};
    struct import_error error;
    const struct import_options options = {
        .user = SLICE("ann"), .paths = paths, .n_paths = 1, .zone = "UTC", .clock = &clock_system};
    desk_tune = tune;
    play_set(false);
    desk_open();
    T_EQ(import_run(desk.store, &options, &summary, &error), WEIR_OK);
    sessions_data_changed(desk.sessions);
}

static void ask(const char *session, const char *text)
{
    (void)send_text(session, text);
    wait_idle(session);
}

static struct sent begin(const char *text)
{
    struct sent s = send_text(NULL, text);
    wait_idle(s.session);
    return s;
}

static const char *shape(const char *text)
{
    static struct skill_shape shapes[2];
    static unsigned n;
    struct skill_shape *out = &shapes[n++ % 2];
    return skill_shape_of(desk.sessions, SLICE("ann"), weir_slice_of(text), out) ? out->hash : "";
}

/* The skill that there is, with its id. */
static const char *the_skill(char id[SKILL_LEN + 1])
{
    T_EQ(CALL("skills/list", "{}"), WEIR_OK);
    said("id", id, SKILL_LEN + 1);
    return call_text_out;
}

TEST(questions_are_alike_whatever_their_days_and_numbers)
{
    static const struct {
        const char *a, *b;
        bool are_alike;
    } rows[] = {
        {"What was my average resting heart rate in the last 30 days?",
         "what was my average resting heart rate last week", true},
        {"Average resting heart rate in March 2025", "my mean resting heart rate this year", true},
        {"How many days did I walk more than 10000 steps in May?",
         "How many days did I walk more than 8,000 steps in the last 90 days?", true},
        {"What was my average resting heart rate last week?",
         "What was my highest resting heart rate last week?", false},
        {"What was my average resting heart rate last week?",
         "What was my average deep sleep last week?", false},
        {"Please write a poem about \"the sea\" in 3 lines",
         "please write a poem about \xE2\x80\x9C"
         "a tree\xE2\x80\x9D in 12 lines!",
         true},
        {"Remind me to call Anna on 9 March 2026", "Remind me to call Anna on Friday", true},
        {"Remind me to call Anna on Friday", "Remind me to call Berta on Friday", false},
        {"Tell me a joke about rivers", "Tell me a joke about dams", false},
    };
    open_skills();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *a = shape(rows[i].a), *b = shape(rows[i].b);
        if (a[0] == '\0' || b[0] == '\0' || (strcmp(a, b) == 0) != rows[i].are_alike)
            t_fail(__FILE__, __LINE__, "\"%s\" %s, \"%s\" %s", rows[i].a, a, rows[i].b, b);
    }
    T_EQ_STR(weir_slice_of(shape("ok")), "");
    T_EQ_STR(weir_slice_of(shape("thank you!")), "");
    T_EQ_STR(weir_slice_of(shape("/sleep again and again")), "");
    T_EQ_STR(weir_slice_of(shape("")), "");
    desk_stop();
}

TEST(names_come_from_the_question)
{
    static const struct {
        const char *text, *name;
    } rows[] = {
        {"Is my resting heart rate going up over the last 90 days?", "resting-heart-rate-trend"},
        {"What was my average resting heart rate last week?", "resting-heart-rate"},
        {"Please write a poem about \"the sea\" in 3 lines", "write-poem-lines"},
        {"Was ist mit \xC3\xA4rger und \xC3\xB6l?", "ist-mit-rger-und"},
        {"\xD0\xBA\xD0\xB0\xD0\xBA \xD1\x8F \xD1\x81\xD0\xBF\xD0\xB0\xD0\xBB", "question"},
        {"describe incomprehensibilities antidisestablishmentarianism "
         "floccinaucinihilipilification",
         "describe-incomprehensibilities-antidises"},
    };
    open_skills();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct skill_shape out;
        T_OK(skill_shape_of(desk.sessions, SLICE("ann"), weir_slice_of(rows[i].text), &out));
        T_EQ_STR(weir_slice_of(out.name), rows[i].name);
        T_OK(skill_is_name(weir_slice_of(out.name)));
    }
    desk_stop();
}

TEST(the_third_of_a_shape_is_proposed_in_its_session)
{
    char id[SKILL_LEN + 1];
    open_skills();
    struct sent a = begin("What was my average resting heart rate in the last 30 days?");
    struct sent b = begin("What was my average resting heart rate last week?");
    ask(b.session, "What was my average deep sleep last week?");
    T_EQ(n_docs("skill"), 0);
    T_EQ(n_events(b.session, "evolve.skill_pending"), 0);
    ask(a.session, "What was my average resting heart rate in May?");
    T_EQ(n_events(a.session, "evolve.skill_pending"), 1);
    T_EQ(n_events(b.session, "evolve.skill_pending"), 0);
    T_OK(says(the_skill(id), "\"name\":\"resting-heart-rate\",\"text\":\"What was my average "
                             "resting heart rate in May?\",\"state\":\"pending\""));
    T_OK(says(call_text_out, "\"pendingCount\":1"));
    T_OK(says(look(a.session), desk_format("{\"type\":\"evolve.skill_pending\",\"skillId\":\"%s\","
                                           "\"personalityId\":null,\"proposedAt\":\"",
                                           id)));
    /* It does nothing yet, and comes once. */
    ask(a.session, "/resting-heart-rate");
    T_OK(says(look(a.session), "\"text\":\"/resting-heart-rate\""));
    for (int i = 0; i < 4; i++) ask(b.session, "What was my average resting heart rate yesterday?");
    T_EQ(n_docs("skill"), 1);
    T_EQ(call_as("bob", "skills/list", "{}"), WEIR_OK);
    T_EQ_STR(weir_slice_of(call_text_out), "{\"skills\":[],\"pendingCount\":0}");
    desk_stop();
}

static void ask_thrice(const char *session, const char *text)
{
    for (int i = 0; i < SKILL_TIMES; i++) ask(session, text);
}

TEST(one_that_was_accepted_runs_by_its_name)
{
    char id[SKILL_LEN + 1];
    open_skills();
    struct sent s = begin("hello there, you!");
    ask_thrice(s.session, "Please write a poem about rivers");
    (void)the_skill(id);
    T_EQ(call_as("bob", "skills/accept", desk_format("{\"id\":\"%s\"}", id)), WEIR_NOT_FOUND);
    T_EQ(call_as("bob", "skills/reject", desk_format("{\"id\":\"%s\"}", id)), WEIR_NOT_FOUND);
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\",\"name\":\"Bad Name\"}", id), WEIR_BAD_FIELD);
    T_EQ(CALL("skills/accept", "{\"id\":\"skl_x\"}"), WEIR_NOT_FOUND);
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\"}", id), WEIR_OK);
    T_OK(says(call_text_out, "\"name\":\"write-poem-rivers\",\"text\":\"Please write a poem about "
                             "rivers\",\"state\":\"accepted\""));
    T_EQ(CALL("skills/list", "{}"), WEIR_OK);
    T_OK(says(call_text_out, "\"pendingCount\":0"));
    uint64_t from = last_event(s.session) + 1;
    ask(s.session, "/write-poem-rivers");
    T_OK(says(look_from(s.session, from), "\"text\":\"Please write a poem about rivers\""));
    from = last_event(s.session) + 1;
    ask(s.session, "/write-poem-rivers  in two lines");
    T_OK(says(look_from(s.session, from),
              "\"text\":\"Please write a poem about rivers in two lines\""));
    from = last_event(s.session) + 1;
    ask(s.session, "/write-poem-riverside");
    T_OK(says(look_from(s.session, from), "\"text\":\"/write-poem-riverside\""));
    desk_stop();
    desk_start();
    from = last_event(s.session) + 1;
    ask(s.session, "/write-poem-rivers");
    T_OK(says(look_from(s.session, from), "\"text\":\"Please write a poem about rivers\""));
    desk_stop();
}

TEST(a_name_is_of_one_skill_and_can_be_changed)
{
    char first[SKILL_LEN + 1], second[SKILL_LEN + 1];
    open_skills();
    struct sent s = begin("hello there, you!");
    ask_thrice(s.session, "Please write a poem about rivers");
    (void)the_skill(first);
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\",\"name\":\"poem\"}", first), WEIR_OK);
    ask_thrice(s.session, "Please write a poem about mountains");
    T_EQ(CALL("skills/list", "{}"), WEIR_OK);
    const char *at = strstr(call_text_out + 20, "\"id\":\"skl_");
    T_OK(at);
    snprintf(second, sizeof second, "%.30s", at ? at + 6 : "");
    T_EQ(CALL("skills/accept", "{\"skillId\":\"%s\",\"name\":\"poem\"}", second), WEIR_CONFLICT);
    T_OK(says(call_why, "\"poem\""));
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\",\"name\":\"rivers\"}", first), WEIR_OK);
    T_EQ(CALL("skills/accept", "{\"skillId\":\"%s\",\"name\":\"poem\"}", second), WEIR_OK);
    uint64_t from = last_event(s.session) + 1;
    ask(s.session, "/poem");
    T_OK(says(look_from(s.session, from), "about mountains\""));
    from = last_event(s.session) + 1;
    ask(s.session, "/rivers");
    T_OK(says(look_from(s.session, from), "about rivers\""));
    T_EQ(n_docs("skill_name"), 2);
    desk_stop();
}

TEST(names_that_are_proposed_differ)
{
    open_skills();
    struct sent s = begin("hello there, you!");
    ask_thrice(s.session, "Please write a poem about rivers");
    ask_thrice(s.session, "Write poem rivers");
    ask_thrice(s.session, "Can you write me the poem of rivers?");
    T_EQ(CALL("skills/list", "{}"), WEIR_OK);
    T_OK(says(call_text_out, "\"name\":\"write-poem-rivers\""));
    T_OK(says(call_text_out, "\"name\":\"write-poem-rivers-2\""));
    T_OK(says(call_text_out, "\"name\":\"write-poem-rivers-3\""));
    desk_stop();
}

TEST(names_of_commands_are_proposed_and_taken_by_nobody)
{
    static const char *const commands[] = {"steer", "queue", "abort", "cancel",
                                           "new",   "help",  "quit"};
    char id[SKILL_LEN + 1];
    open_skills();
    struct sent s = begin("hello there, you!");
    ask_thrice(s.session, "What is new with you?");
    T_OK(says(the_skill(id), "\"name\":\"new-2\""));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        T_EQ(CALL("skills/accept", "{\"id\":\"%s\",\"name\":\"%s\"}", id, commands[i]),
             WEIR_BAD_FIELD);
        T_EQ_STR(weir_slice_of(call_why),
                 desk_format("name: /%s is a command of weir chat: give another", commands[i]));
    }
    T_EQ(n_docs("skill_name"), 0);
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\",\"name\":\"news\"}", id), WEIR_OK);
    desk_stop();
}

TEST(what_a_skill_asks_is_no_question_of_a_person)
{
    char id[SKILL_LEN + 1];
    open_skills();
    struct sent s = begin("hello there, you!");
    ask_thrice(s.session, "Please write a poem about rivers");
    (void)the_skill(id);
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\",\"name\":\"poem\"}", id), WEIR_OK);
    unsigned n_shapes = n_docs("skill_shape");
    for (int i = 0; i < SKILL_TIMES; i++) ask(s.session, "/poem in the manner of sailors");
    /* Those that wait for their turn are known by their documents. */
    play_set(true);
    (void)send_text(s.session, "and then");
    for (int i = 0; i < SKILL_TIMES; i++) {
        struct sent waiting = send_text(s.session, "/poem in the manner of sailors");
        T_OK(says(doc_text("session_turn", waiting.turn), "\"skill\":true"));
    }
    WAIT_FOR(play_n_held() == 1);
    play_set(false);
    T_OK(play_let_go(NULL));
    wait_idle(s.session);
    T_EQ(n_docs("skill_shape"), n_shapes);
    T_EQ(n_docs("skill"), 1);
    ask_thrice(s.session, "Please write a poem about rivers in the manner of sailors");
    T_EQ(n_docs("skill"), 2);
    desk_stop();
}

TEST(one_that_was_rejected_is_not_proposed_again)
{
    char id[SKILL_LEN + 1];
    open_skills();
    struct sent s = begin("hello there, you!");
    ask_thrice(s.session, "Please write a poem about rivers");
    (void)the_skill(id);
    T_EQ(CALL("skills/reject", "{\"id\":\"%s\"}", id), WEIR_OK);
    T_EQ(CALL("skills/reject", "{\"id\":\"%s\"}", id), WEIR_NOT_FOUND);
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\"}", id), WEIR_NOT_FOUND);
    ask_thrice(s.session, "Please write a poem about rivers");
    T_EQ(n_events(s.session, "evolve.skill_pending"), 1);
    T_EQ(n_docs("skill"), 0);
    /* One that was accepted goes with its name. */
    ask_thrice(s.session, "Please write a poem about mountains");
    (void)the_skill(id);
    T_EQ(CALL("skills/accept", "{\"id\":\"%s\"}", id), WEIR_OK);
    T_EQ(n_docs("skill_name"), 1);
    T_EQ(CALL("skills/reject", "{\"id\":\"%s\"}", id), WEIR_OK);
    T_EQ(n_docs("skill_name"), 0);
    T_EQ(n_docs("skill"), 0);
    desk_stop();
}

TEST(what_is_asked_at_once_is_proposed_once)
{
    enum { N = 12 };
    static struct sent all[N];
    open_skills();
    for (int i = 0; i < N; i++) all[i] = begin("hello");
    for (int i = 0; i < N; i++) (void)send_text(all[i].session, "Please write a poem about rivers");
    unsigned n = 0;
    for (int i = 0; i < N; i++) wait_idle(all[i].session);
    for (int i = 0; i < N; i++) n += n_events(all[i].session, "evolve.skill_pending");
    T_EQ(n, 1);
    T_EQ(n_docs("skill"), 1);
    for (int i = 0; i < N; i++) T_EQ(n_events(all[i].session, "error"), 0);
    desk_stop();
}

TEST(the_oldest_shape_is_forgotten_when_there_are_too_many)
{
    open_skills();
    struct sent s = begin("Please write a poem about rivers");
    struct commit *c = commit_new(0);
    for (int i = 0; i < SKILL_SHAPES - 1; i++)
        commit_put(
            c, (struct doc_key){SLICE("skill_shape"), weir_slice_of(desk_format("ann/%016x", i))},
            DOC_MUST_BE_NEW, SLICE("ann"),
            i == 7   ? SLICE("{\"count\":1,\"atMs\":5}")
            : i == 8 ? SLICE("{\"count\":3,\"atMs\":2,\"skill\":\"skl_x\"}")
                     : SLICE("{\"count\":1,\"atMs\":9}"));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    T_EQ(n_docs("skill_shape"), SKILL_SHAPES);
    ask(s.session, "Please write a poem about mountains");
    T_EQ(n_docs("skill_shape"), SKILL_SHAPES);
    T_EQ_STR(weir_slice_of(doc_text("skill_shape", "ann/0000000000000007")), "");
    T_OK(doc_text("skill_shape", "ann/0000000000000008")[0]);
    desk_stop();
}
