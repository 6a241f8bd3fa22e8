/* SPDX-License-Identifier: Apache-2.0 */
#include "session_text.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/slice.h"
#include "term_text.h"
#include "text_table.h"

enum { CELL_BYTES = 64, DAY_LEN = sizeof "2026-01-02" - 1 };

static const int64_t second_ms = 1000;
static const int64_t minute_ms = 60 * second_ms;
static const int64_t hour_ms = 60 * minute_ms;
static const int64_t day_ms = 24 * hour_ms;

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

/* ---- times ---- */

void session_ago(char out[SESSION_AGO_BYTES], int64_t at_ms, int64_t now_ms)
{
    char date[CLOCK_TEXT_BYTES];
    int64_t away_ms = at_ms < now_ms ? now_ms - at_ms : at_ms - now_ms;
    const char *unit = "min";
    int64_t n = away_ms / minute_ms;
    if (away_ms >= hour_ms) {
        unit = "h";
        n = away_ms / hour_ms;
    }
    if (away_ms >= 2 * day_ms) {
        unit = "days";
        n = away_ms / day_ms;
    }
    clock_format(date, at_ms);
    if (away_ms > 31 * day_ms) snprintf(out, SESSION_AGO_BYTES, "%.*s", DAY_LEN, date);
    else if (n == 0) snprintf(out, SESSION_AGO_BYTES, "%s", at_ms <= now_ms ? "just now" : "soon");
    else if (at_ms < now_ms) snprintf(out, SESSION_AGO_BYTES, "%lld %s ago", (long long)n, unit);
    else snprintf(out, SESSION_AGO_BYTES, "in %lld %s", (long long)n, unit);
}

/* "" when it is no time. */
static void ago_of(char out[SESSION_AGO_BYTES], const struct weir_json *v, const char *key,
                   int64_t now_ms)
{
    int64_t at_ms;
    out[0] = '\0';
    if (clock_parse(text_of(v, key), &at_ms)) session_ago(out, at_ms, now_ms);
}

/* ---- lists ---- */

/* "idle", "running", "running, 2 wait". */
static void state_of(char out[CELL_BYTES], const struct weir_json *session)
{
    struct weir_slice state = text_of(session, "state");
    int64_t n = 0;
    bool has_queue = weir_json_int64(weir_json_get_str(session, "queued"), &n) && n > 0;
    snprintf(out, CELL_BYTES, "%.*s", (int)state.len, state.len > 0 ? state.ptr : "");
    if (has_queue && state.len > 0 && state.len < CELL_BYTES / 2)
        snprintf(out, CELL_BYTES, "%.*s, %lld wait%s", (int)state.len, state.ptr, (long long)n,
                 n == 1 ? "s" : "");
}

static bool is_pinned(const struct weir_json *session)
{
    return weir_json_type_of(weir_json_get_str(session, "pinned")) == WEIR_JSON_TRUE;
}

enum weir_status session_list_text(struct weir_buf *out, const struct weir_json *sessions,
                                   unsigned columns, int64_t now_ms)
{
    static const struct text_column titles[] = {
        {"session", false}, {"used", false}, {"state", false}, {"pinned", false}, {"title", false}};
    struct text_table t;
    char cell[CELL_BYTES];
    char ago[SESSION_AGO_BYTES];
    const struct weir_json *s = weir_json_first(sessions);
    if (!s) weir_buf_append_str(out, "There are no sessions; \"weir session new\" begins one.\n");
    if (!s) return weir_buf_status(out);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; s; s = weir_json_next(s)) {
        text_table_cell(&t, text_of(s, "id"));
        ago_of(ago, s, "updatedAt", now_ms);
        text_table_cell(&t, weir_slice_of(ago));
        state_of(cell, s);
        text_table_cell(&t, weir_slice_of(cell));
        text_table_cell(&t, is_pinned(s) ? SLICE("yes") : SLICE(""));
        text_table_cell(&t, text_of(s, "title"));
    }
    enum weir_status st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}

enum weir_status session_audit_text(struct weir_buf *out, const struct weir_json *entries,
                                    unsigned columns, int64_t now_ms)
{
    static const struct text_column titles[] = {{"when", false}, {"decision", false},
                                                {"of", false},   {"scope", false},
                                                {"by", false},   {"session", false}};
    struct text_table t;
    char ago[SESSION_AGO_BYTES];
    const struct weir_json *e = weir_json_first(entries);
    if (!e) weir_buf_append_str(out, "Nothing has been decided yet.\n");
    if (!e) return weir_buf_status(out);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; e; e = weir_json_next(e)) {
        struct weir_slice tool = text_of(e, "tool");
        ago_of(ago, e, "at", now_ms);
        text_table_cell(&t, weir_slice_of(ago));
        text_table_cell(&t, text_of(e, "decision"));
        text_table_cell(&t, tool.len > 0 ? tool : text_of(e, "kind"));
        text_table_cell(&t, text_of(e, "scope"));
        text_table_cell(&t, text_of(e, "decidedBy"));
        text_table_cell(&t, text_of(e, "session"));
    }
    enum weir_status st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}

/* ---- one ---- */

static void put_text(struct weir_buf *out, struct weir_slice text)
{
    struct term_cleaner cleaner = {.n_held = 0};
    term_clean_feed(&cleaner, out, text);
    term_clean_end(&cleaner, out);
    weir_buf_append_char(out, '\n');
}

static void put_head(struct weir_buf *out, const struct weir_json *session, int64_t now_ms)
{
    char cell[CELL_BYTES];
    char ago[SESSION_AGO_BYTES];
    struct weir_slice title = text_of(session, "title");
    struct weir_slice parent = text_of(session, "parentSessionId");
    term_clean_label(out, text_of(session, "id"));
    weir_buf_append_str(out, title.len > 0 ? "  " : "");
    term_clean_label(out, title);
    state_of(cell, session);
    weir_buf_append_char(out, '\n');
    term_clean_label(out, weir_slice_of(cell));
    ago_of(ago, session, "createdAt", now_ms);
    weir_buf_printf(out, "; begun %s", ago);
    ago_of(ago, session, "updatedAt", now_ms);
    weir_buf_printf(out, ", used %s%s", ago, is_pinned(session) ? "; pinned" : "");
    if (parent.len > 0) weir_buf_append_str(out, "; from ");
    term_clean_label(out, parent);
    weir_buf_append_char(out, '\n');
}

enum weir_status session_show_text(struct weir_buf *out, const struct weir_json *whole,
                                   int64_t now_ms)
{
    char ago[SESSION_AGO_BYTES];
    const struct weir_json *m = weir_json_first(weir_json_get_str(whole, "messages"));
    put_head(out, weir_json_get_str(whole, "session"), now_ms);
    if (!m) weir_buf_append_str(out, "\nNothing has been said yet.\n");
    for (; m; m = weir_json_next(m)) {
        bool is_user = weir_slice_is(text_of(m, "role"), "user");
        ago_of(ago, m, "timestamp", now_ms);
        weir_buf_printf(out, "\n%s, %s:\n", is_user ? "you" : "weir", ago);
        put_text(out, text_of(m, "content"));
    }
    return weir_buf_status(out);
}
