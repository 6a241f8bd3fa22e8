/* SPDX-License-Identifier: Apache-2.0 */
#include "session_line.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "term_text.h"

enum { LEFT_BYTES = 32 };

/* ---- commands ---- */

static const struct row {
    const char *name, *argument, *what;
    enum session_act act;
} rows[] = {
    {"/steer", "TEXT", "tell the turn that runs something more", SESSION_STEER},
    {"/queue", "TEXT", "send a message though something waits for an answer", SESSION_SEND},
    {"/abort", "", "end the turn that runs, as Ctrl-C does", SESSION_ABORT},
    {"/cancel", "", "leave the question without an answer", SESSION_CANCEL},
    {"/new", "", "begin another session", SESSION_NEW},
    {"/help", "", "this list", SESSION_HELP},
    {"/quit", "", "leave, as Ctrl-D on an empty line does; the session goes on", SESSION_QUIT},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && is_blank(s.ptr[0])) s = slice_from(s, 1);
    while (s.len > 0 && is_blank(s.ptr[s.len - 1])) s.len--;
    return s;
}

/* The first word; *rest is what follows it. */
static struct weir_slice first_word(struct weir_slice line, struct weir_slice *rest)
{
    size_t len = 0;
    while (len < line.len && !is_blank(line.ptr[len])) len++;
    *rest = trim(slice_from(line, len));
    return slice_of(line.ptr, len);
}

static struct session_line wrong(const char *why)
{
    return (struct session_line){.act = SESSION_WRONG, .why = why};
}

/* What is no command of ours is a message: the server has shortcuts of its own, as "/name". */
static struct session_line read_command(const struct row *row, struct weir_slice rest,
                                        const struct weir_ui_ask *ask)
{
    bool takes_text = row->argument[0] != '\0';
    bool is_question = ask && ask->kind == WEIR_UI_ASK_QUESTION;
    if (takes_text && rest.len == 0) return wrong("what is it to be told?");
    if (!takes_text && rest.len > 0) return wrong("that command takes nothing behind it");
    if (row->act == SESSION_CANCEL && !is_question) return wrong("no question waits");
    return (struct session_line){.act = row->act, .text = rest};
}

/* ---- answers ---- */

static bool is_word(struct weir_slice word, const char *text)
{
    if (word.len != strlen(text)) return false;
    for (size_t i = 0; i < word.len; i++)
        if (tolower((unsigned char)word.ptr[i]) != text[i]) return false;
    return true;
}

static struct session_line read_decision(struct weir_slice line)
{
    static const struct {
        const char *word, *scope; /* NULL: denied */
    } words[] = {
        {"o", "once"},       {"once", "once"},        {"y", "once"},     {"yes", "once"},
        {"e", "exact-args"}, {"exact", "exact-args"}, {"a", "any-args"}, {"any", "any-args"},
        {"d", NULL},         {"deny", NULL},          {"n", NULL},       {"no", NULL},
    };
    struct weir_slice rest;
    struct weir_slice word = first_word(line, &rest);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!is_word(word, words[i].word)) continue;
        if (words[i].scope && rest.len == 0)
            return (struct session_line){.act = SESSION_ALLOW, .scope = words[i].scope};
        if (!words[i].scope) return (struct session_line){.act = SESSION_DENY, .text = rest};
    }
    return wrong("o, e, a or d; or /queue TEXT, which waits for its turn");
}

/* A number is that option, nothing is the default, and anything else what it says. */
static struct session_line read_answer(struct weir_slice line, const struct weir_ui_ask *ask)
{
    struct session_line l = {.act = SESSION_ANSWER, .text = line};
    if (line.len == 0 && !ask->has_default) l.act = SESSION_NOTHING;
    if (line.len == 0) l.text = weir_slice_of(ask->default_answer);
    for (size_t i = 0; i < ask->n_options; i++) {
        char number[LEFT_BYTES];
        snprintf(number, sizeof number, "%zu", i + 1);
        if (weir_slice_is(line, number)) l.text = weir_slice_of(ask->options[i]);
    }
    return l;
}

struct session_line session_line_read(struct weir_slice line, const struct weir_ui_ask *ask)
{
    struct weir_slice rest;
    line = trim(line);
    struct weir_slice word = first_word(line, &rest);
    for (size_t i = 0; i < N_ROWS; i++)
        if (weir_slice_is(word, rows[i].name)) return read_command(&rows[i], rest, ask);
    if (ask && ask->kind == WEIR_UI_ASK_QUESTION) return read_answer(line, ask);
    if (line.len == 0) return (struct session_line){.act = SESSION_NOTHING};
    if (ask && ask->kind == WEIR_UI_ASK_APPROVAL) return read_decision(line);
    return (struct session_line){.act = SESSION_SEND, .text = line};
}

const struct weir_ui_ask *session_line_ask(const struct weir_ui *s)
{
    for (size_t i = 0; i < s->n_asks; i++)
        if (s->asks[i].is_open && s->asks[i].kind != WEIR_UI_ASK_PRIVACY) return &s->asks[i];
    return NULL;
}

/* ---- what stands above the line ---- */

static void put_approval(struct weir_buf *out, const struct weir_ui_ask *ask, size_t *n_question)
{
    struct weir_slice rest = weir_slice_of(ask->detail);
    term_clean_label(out, weir_slice_of(ask->tool));
    weir_buf_append_str(out, " wants to run");
    if (ask->reason[0] != '\0') weir_buf_append_str(out, ": ");
    term_clean_label(out, weir_slice_of(ask->reason));
    weir_buf_append_char(out, '\n');
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        weir_buf_append_str(out, "    ");
        term_clean_label(out, slice_of(rest.ptr, len));
        weir_buf_append_char(out, '\n');
        rest = slice_from(rest, end ? len + 1 : len);
    }
    *n_question = out->len;
    if (ask->is_cut)
        weir_buf_append_str(out,
                            "there is more of it than can be shown here; deny it if in doubt\n");
    weir_buf_append_str(
        out, "allow? [o]nce, these [e]xact arguments, [a]ny arguments, [d]eny, and Enter\n");
}

/* "4:12", or "1:02:03". */
static void format_left(char out[LEFT_BYTES], int64_t ms)
{
    long long s = ms > 0 ? (ms + 999) / 1000 : 0;
    if (s >= 3600) snprintf(out, LEFT_BYTES, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else snprintf(out, LEFT_BYTES, "%lld:%02lld", s / 60, s % 60);
}

static void put_question(struct weir_buf *out, const struct weir_ui_ask *ask, int64_t now_ms,
                         size_t *n_question)
{
    char left[LEFT_BYTES] = "";
    term_clean_label(out, weir_slice_of(ask->text));
    weir_buf_append_char(out, '\n');
    for (size_t i = 0; i < ask->n_options; i++) {
        bool is_default = ask->has_default && strcmp(ask->options[i], ask->default_answer) == 0;
        weir_buf_printf(out, "    %zu  ", i + 1);
        term_clean_label(out, weir_slice_of(ask->options[i]));
        weir_buf_append_str(out, is_default ? "  (default)\n" : "\n");
    }
    *n_question = out->len;
    weir_buf_append_str(out, ask->n_options > 0 ? "a number, or your own words" : "your answer");
    if (ask->has_default) {
        weir_buf_append_str(out, "; Enter alone takes \"");
        term_clean_label(out, weir_slice_of(ask->default_answer));
        weir_buf_append_char(out, '"');
    }
    weir_buf_append_str(out, "; /cancel");
    if (ask->deadline_ms > 0) format_left(left, ask->deadline_ms - now_ms);
    if (ask->deadline_ms > 0)
        weir_buf_printf(out, "  (%s left%s)", left, ask->has_default ? ", then the default" : "");
    weir_buf_append_char(out, '\n');
}

void session_line_prompt(struct weir_buf *out, const struct weir_ui_ask *ask, int64_t now_ms,
                         size_t *n_question)
{
    if (ask->kind == WEIR_UI_ASK_APPROVAL) put_approval(out, ask, n_question);
    else put_question(out, ask, now_ms, n_question);
}

void session_line_help(struct weir_buf *out)
{
    weir_buf_append_str(out, "Anything else is a message; while a turn runs it waits in order.\n");
    for (size_t i = 0; i < N_ROWS; i++) {
        char usage[LEFT_BYTES];
        snprintf(usage, sizeof usage, "%s %s", rows[i].name, rows[i].argument);
        weir_buf_printf(out, "  %-14s %s\n", usage, rows[i].what);
    }
    weir_buf_append_str(out, "  Esc twice or Ctrl-C aborts a turn; Ctrl-C twice leaves.\n");
}
