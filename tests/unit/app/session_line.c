/* SPDX-License-Identifier: Apache-2.0 */
#include "session_line.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "t.h"

static struct weir_ui_ask approval;
static struct weir_ui_ask question;

static void begin(void)
{
    approval = (struct weir_ui_ask){.kind = WEIR_UI_ASK_APPROVAL, .is_open = true};
    snprintf(approval.tool, sizeof approval.tool, "write_note");
    snprintf(approval.reason, sizeof approval.reason, "it changes a file");
    snprintf(approval.detail, sizeof approval.detail, "path: a\x1b.md\ntext: b");
    question = (struct weir_ui_ask){.kind = WEIR_UI_ASK_QUESTION, .is_open = true, .n_options = 2};
    snprintf(question.text, sizeof question.text, "which year?");
    snprintf(question.options[0], sizeof question.options[0], "2024");
    snprintf(question.options[1], sizeof question.options[1], "2025");
}

static void check(const struct weir_ui_ask *ask, const char *line, enum session_act act,
                  const char *text)
{
    struct session_line l = session_line_read(weir_slice_of(line), ask);
    T_EQ(l.act, act);
    if (act != SESSION_WRONG) T_EQ_STR(l.text, text);
    T_EQ(l.why != NULL, act == SESSION_WRONG);
}

TEST(what_is_no_command_is_a_message)
{
    check(NULL, "how did I sleep?", SESSION_SEND, "how did I sleep?");
    check(NULL, "  o \n", SESSION_SEND, "o");
    check(NULL, "", SESSION_NOTHING, "");
    check(NULL, " \t", SESSION_NOTHING, "");
    check(NULL, "/weekly", SESSION_SEND, "/weekly");
    check(NULL, "/abort", SESSION_ABORT, "");
    check(NULL, "/steer  be short ", SESSION_STEER, "be short");
    check(NULL, "/steer", SESSION_WRONG, "");
    check(NULL, "/queue x y", SESSION_SEND, "x y");
    check(NULL, "/cancel", SESSION_WRONG, "");
    check(NULL, "/new", SESSION_NEW, "");
    check(NULL, "/help", SESSION_HELP, "");
    check(NULL, "/quit", SESSION_QUIT, "");
    check(NULL, "/quit now", SESSION_WRONG, "");
}

static void check_scope(const char *line, const char *scope)
{
    struct session_line l = session_line_read(weir_slice_of(line), &approval);
    T_EQ(l.act, SESSION_ALLOW);
    T_OK(l.scope && strcmp(l.scope, scope) == 0);
}

TEST(an_approval_is_decided_by_a_letter_or_its_word_alone)
{
    begin();
    check_scope("o", "once");
    check_scope(" Yes ", "once");
    check_scope("e", "exact-args");
    check_scope("ANY", "any-args");
    check(&approval, "d", SESSION_DENY, "");
    check(&approval, "no", SESSION_DENY, "");
    check(&approval, "d  not that file", SESSION_DENY, "not that file");
    check(&approval, "o x", SESSION_WRONG, "");
    check(&approval, "a walk a day", SESSION_WRONG, "");
    check(&approval, "ok", SESSION_WRONG, "");
    check(&approval, "", SESSION_NOTHING, "");
    check(&approval, "/cancel", SESSION_WRONG, "");
    check(&approval, "/queue a", SESSION_SEND, "a");
    check(&approval, "/abort", SESSION_ABORT, "");
}

TEST(a_question_takes_a_number_or_words)
{
    begin();
    check(&question, "2", SESSION_ANSWER, "2025");
    check(&question, "2025", SESSION_ANSWER, "2025");
    check(&question, "3", SESSION_ANSWER, "3");
    check(&question, " both of them ", SESSION_ANSWER, "both of them");
    check(&question, "", SESSION_NOTHING, "");
    check(&question, "/cancel", SESSION_CANCEL, "");
    question.has_default = true;
    snprintf(question.default_answer, sizeof question.default_answer, "2024");
    check(&question, "", SESSION_ANSWER, "2024");
}

static void check_prompt(const struct weir_ui_ask *ask, int64_t now_ms, const char *above,
                         const char *question_line)
{
    struct weir_buf out;
    size_t n = 0;
    weir_buf_init(&out, 16 << 10);
    session_line_prompt(&out, ask, now_ms, &n);
    T_EQ_STR(slice_of(out.ptr, n), above);
    T_EQ_STR(slice_from(weir_buf_slice(&out), n), question_line);
    weir_buf_fini(&out);
}

TEST(prompts_say_what_waits_and_how_long)
{
    begin();
    check_prompt(&approval, 0,
                 "write_note wants to run: it changes a file\n    path: a␛.md\n    text: b\n",
                 "allow? [o]nce, these [e]xact arguments, [a]ny arguments, [d]eny, and Enter\n");
    approval.is_cut = true;
    approval.reason[0] = approval.detail[0] = '\0';
    check_prompt(&approval, 0, "write_note wants to run\n",
                 "there is more of it than can be shown here; deny it if in doubt\n"
                 "allow? [o]nce, these [e]xact arguments, [a]ny arguments, [d]eny, and Enter\n");
    check_prompt(&question, 0, "which year?\n    1  2024\n    2  2025\n",
                 "a number, or your own words; /cancel\n");
    question.has_default = true;
    question.deadline_ms = 300 * 1000;
    snprintf(question.default_answer, sizeof question.default_answer, "2025");
    check_prompt(&question, 47001, "which year?\n    1  2024\n    2  2025  (default)\n",
                 "a number, or your own words; Enter alone takes \"2025\"; /cancel"
                 "  (4:13 left, then the default)\n");
    question.n_options = 0;
    question.has_default = false;
    check_prompt(&question, 400 * 1000, "which year?\n", "your answer; /cancel  (0:00 left)\n");
    question.deadline_ms = 3723 * 1000;
    check_prompt(&question, 0, "which year?\n", "your answer; /cancel  (1:02:03 left)\n");
}

TEST(what_waits_longest_is_answered_first)
{
    static struct weir_ui state;
    weir_ui_init(&state);
    T_OK(!session_line_ask(&state));
    state.n_asks = 4;
    state.asks[1] = (struct weir_ui_ask){.kind = WEIR_UI_ASK_PRIVACY, .is_open = true};
    state.asks[2] = (struct weir_ui_ask){.kind = WEIR_UI_ASK_QUESTION, .is_open = true};
    state.asks[3] = (struct weir_ui_ask){.kind = WEIR_UI_ASK_APPROVAL, .is_open = true};
    T_OK(session_line_ask(&state) == &state.asks[2]);
    weir_ui_fini(&state);
}

TEST(help_has_every_command)
{
    struct weir_buf out;
    weir_buf_init(&out, 16 << 10);
    session_line_help(&out);
    weir_buf_append_char(&out, '\0');
    static const char *const all[] = {"/steer", "/queue", "/abort", "/cancel",
                                      "/new",   "/help",  "/quit",  "Ctrl-C"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) T_OK(strstr(out.ptr, all[i]));
    weir_buf_fini(&out);
}
