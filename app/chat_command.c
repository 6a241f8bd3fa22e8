/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_command.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "term_text.h"

enum { WORD_BYTES = 16, SHOWN_COLUMNS = 24 };

static const struct row {
    const char *name, *argument, *what;
    enum chat_act act;
} rows[] = {
    {"/trace", "[TURN]", "how the last answer, or another turn, came about", CHAT_TRACE},
    {"/facts", "", "the numbers of the last answer, and where they are from", CHAT_FACTS},
    {"/memory", "", "what is remembered of you", CHAT_MEMORY},
    {"/memory", "forget ID", "forget an entry of it", CHAT_FORGET},
    {"/turns", "", "what you have asked lately", CHAT_TURNS},
    {"/session", "[SESSION]", "talk in a session, which may act and asks you first", CHAT_SESSION},
    {"/new", "", "begin anew: earlier questions no longer count", CHAT_NEW},
    {"/help", "", "this list", CHAT_HELP},
    {"/quit", "", "leave, as Ctrl-D on an empty line does", CHAT_QUIT},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

/* ---- reading ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct weir_slice next_word(struct weir_slice *rest)
{
    while (rest->len > 0 && is_blank(rest->ptr[0])) *rest = slice_from(*rest, 1);
    size_t len = 0;
    while (len < rest->len && !is_blank(rest->ptr[len])) len++;
    struct weir_slice word = slice_of(rest->ptr, len);
    *rest = slice_from(*rest, len);
    return word;
}

static const struct row *find_row(struct weir_slice name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (weir_slice_is(name, rows[i].name)) return &rows[i];
    return NULL;
}

static bool take_argument(struct chat_command *c, struct weir_slice word)
{
    snprintf(c->argument, sizeof c->argument, "%.*s", (int)word.len, word.ptr);
    return word.len < sizeof c->argument;
}

struct chat_command chat_command_read(struct weir_slice text)
{
    struct chat_command c = {.act = CHAT_QUESTION};
    if (text.len == 0 || text.ptr[0] != '/') return c;
    const struct row *row = find_row(next_word(&text));
    struct weir_slice word = next_word(&text);
    c.act = row ? row->act : CHAT_UNKNOWN;
    if (c.act == CHAT_MEMORY && weir_slice_is(word, "forget")) {
        c.act = CHAT_FORGET;
        word = next_word(&text);
    }
    bool takes_one = c.act == CHAT_TRACE || c.act == CHAT_FORGET || c.act == CHAT_SESSION;
    bool is_missing = c.act == CHAT_FORGET && word.len == 0;
    bool is_wrong = word.len > 0 && (!takes_one || !take_argument(&c, word));
    if (is_missing || is_wrong || next_word(&text).len > 0) c.act = CHAT_UNKNOWN;
    return c;
}

/* ---- saying ---- */

static void put_row(struct weir_buf *out, const struct row *row)
{
    char usage[SHOWN_COLUMNS];
    snprintf(usage, sizeof usage, "%s %s", row->name, row->argument);
    weir_buf_printf(out, "  %-18s %s\n", usage, row->what);
}

void chat_command_help(struct weir_buf *out)
{
    weir_buf_append_str(out, "Anything else is a question about your data.\n");
    for (size_t i = 0; i < N_ROWS; i++) put_row(out, &rows[i]);
    weir_buf_append_str(out, "  Alt-Enter, or \\ at the end of a line, begins another line.\n"
                             "  Esc twice or Ctrl-C cancels a turn; Ctrl-C twice quits.\n");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters have to be changed, put in or taken out to make one word the other. */
static size_t distance(struct weir_slice a, struct weir_slice b)
{
    size_t above[WORD_BYTES + 1];
    if (a.len > WORD_BYTES || b.len > WORD_BYTES) return WORD_BYTES;
    for (size_t j = 0; j <= b.len; j++) above[j] = j;
    for (size_t i = 0; i < a.len; i++) {
        size_t corner = above[0];
        above[0] = i + 1;
        for (size_t j = 0; j < b.len; j++) {
            size_t changed = corner + (a.ptr[i] == b.ptr[j] ? 0 : 1);
            corner = above[j + 1];
            above[j + 1] = least(changed, least(above[j], above[j + 1]) + 1);
        }
    }
    return above[b.len];
}

/* Each name once, by falling likeness; those as like as each other in the order of the table. */
static size_t order_names(struct weir_slice word, const char *names[N_ROWS])
{
    size_t n = 0;
    for (size_t d = 0; d <= WORD_BYTES; d++)
        for (size_t i = 0; i < N_ROWS; i++) {
            bool is_first = find_row(weir_slice_of(rows[i].name)) == &rows[i];
            if (is_first && distance(word, weir_slice_of(rows[i].name)) == d)
                names[n++] = rows[i].name;
        }
    return n;
}

void chat_command_unknown(struct weir_slice text, struct weir_buf *out)
{
    const char *names[N_ROWS];
    struct weir_slice word = next_word(&text);
    const struct row *row = find_row(word);
    if (row) {
        weir_buf_append_str(out, "That is not how it goes:\n");
        for (size_t i = 0; i < N_ROWS; i++)
            if (weir_slice_is(word, rows[i].name)) put_row(out, &rows[i]);
        return;
    }
    weir_buf_append_str(out, "There is no ");
    struct weir_buf label;
    weir_buf_init(&label, text.len + 4096);
    term_clean_label(&label, word);
    (void)term_put_cut(out, weir_buf_slice(&label), SHOWN_COLUMNS);
    weir_buf_fini(&label);
    size_t n = order_names(word, names);
    weir_buf_append_str(out, "; there are ");
    for (size_t i = 0; i < n; i++)
        weir_buf_printf(out, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", names[i]);
    weir_buf_append_str(out, ".\n");
}

/* ---- the beginning of one ---- */

static size_t common_len(struct weir_slice a, const char *b)
{
    size_t n = 0;
    while (n < a.len && a.ptr[n] == b[n]) n++;
    return n;
}

void chat_command_complete(struct weir_slice text, struct weir_buf *line, struct weir_buf *note)
{
    struct weir_slice sure = {0}; /* what all of them begin with */
    size_t n = 0;
    if (text.len == 0 || text.ptr[0] != '/') return;
    for (size_t i = 0; i < N_ROWS; i++) {
        const char *name = rows[i].name;
        bool is_first = find_row(weir_slice_of(name)) == &rows[i];
        if (!is_first || common_len(text, name) < text.len) continue;
        weir_buf_printf(note, "%s%s", n > 0 ? "  " : "", name);
        if (n++ == 0) sure = weir_slice_of(name);
        else sure.len = common_len(sure, name);
    }
    weir_buf_append_slice(line, sure);
    if (n == 1) weir_buf_reset(note);
}
