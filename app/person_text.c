/* SPDX-License-Identifier: Apache-2.0 */
#include "person_text.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/slice.h"
#include "term_text.h"
#include "text_table.h"

enum { CELL_BYTES = 64, MINUTE_LEN = sizeof "2026-01-02T03:04" - 1 };

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

static void put_text(struct weir_buf *out, struct weir_slice text)
{
    struct term_cleaner cleaner = {.n_held = 0};
    term_clean_feed(&cleaner, out, text);
    term_clean_end(&cleaner, out);
}

/* ---- cells ---- */

static void add(struct text_table *t, const char *text)
{
    text_table_cell(t, weir_slice_of(text));
}

/* "2026-01-02 03:04", in UTC, as the server has it. */
static void format_time(char out[CELL_BYTES], struct weir_slice at)
{
    snprintf(out, CELL_BYTES, "%.*s", at.len >= MINUTE_LEN ? MINUTE_LEN : 0,
             at.len > 0 ? at.ptr : "");
    if (out[0] != '\0') out[10] = ' ';
}

static void format_duration(char out[CELL_BYTES], const struct weir_json *turn)
{
    int64_t ms = 0;
    int64_t from = 0;
    int64_t to = 0;
    out[0] = '\0';
    const struct weir_json *given =
        weir_json_get_str(weir_json_get_str(turn, "result"), "duration_ms");
    bool is_there = weir_json_int64(given, &ms);
    if (!is_there && clock_parse(text_of(turn, "created_at"), &from) &&
        clock_parse(text_of(turn, "completed_at"), &to)) {
        ms = to - from;
        is_there = true;
    }
    if (!is_there || ms < 0) return;
    if (ms < 1000) snprintf(out, CELL_BYTES, "%lld ms", (long long)ms);
    else if (ms < 60000) snprintf(out, CELL_BYTES, "%.1f s", (double)ms / 1000);
    else snprintf(out, CELL_BYTES, "%lld min", (long long)((ms + 30000) / 60000));
}

static void format_cost(char out[CELL_BYTES], const struct weir_json *turn)
{
    double usd = 0;
    const struct weir_json *cost = weir_json_get_str(weir_json_get_str(turn, "result"), "cost_usd");
    out[0] = '\0';
    if (!weir_json_double(cost, &usd)) return;
    if (usd > 0) snprintf(out, CELL_BYTES, "$%.4f", usd);
    else snprintf(out, CELL_BYTES, "$0");
}

/* Whole numbers and dates as they are; others with as many digits as people read. */
static void format_value(char out[CELL_BYTES], const struct weir_json *v)
{
    double x = 0;
    struct weir_slice text = weir_json_text(v);
    bool is_number = weir_json_type_of(v) == WEIR_JSON_NUMBER && weir_json_double(v, &x);
    bool is_whole =
        is_number && !memchr(text.ptr, '.', text.len) && !memchr(text.ptr, 'e', text.len);
    if (!is_number || is_whole)
        snprintf(out, CELL_BYTES, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
    else if (fabs(x) >= 1000) snprintf(out, CELL_BYTES, "%.0f", x);
    else if (fabs(x) >= 1) snprintf(out, CELL_BYTES, "%.2f", x);
    else snprintf(out, CELL_BYTES, "%.3g", x);
}

/* ---- turns ---- */

struct weir_slice turn_question(const struct weir_json *turn)
{
    struct weir_slice last = {0};
    const struct weir_json *m = weir_json_first(weir_json_get_str(turn, "messages"));
    for (; m; m = weir_json_next(m)) last = text_of(m, "content");
    return last;
}

static struct weir_slice status_of(const struct weir_json *turn)
{
    struct weir_slice code = text_of(weir_json_get_str(turn, "error"), "code");
    return weir_slice_is(code, "cancelled") ? code : text_of(turn, "status");
}

enum weir_status turns_text(struct weir_buf *out, const struct weir_json *turns, unsigned columns)
{
    static const struct text_column titles[] = {{"turn", false},   {"when (UTC)", false},
                                                {"status", false}, {"took", true},
                                                {"cost", true},    {"question", false}};
    struct text_table t;
    char cell[CELL_BYTES];
    const struct weir_json *turn = weir_json_first(turns);
    if (!turn) weir_buf_append_str(out, "No turns.\n");
    if (!turn) return weir_buf_status(out);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; turn; turn = weir_json_next(turn)) {
        text_table_cell(&t, text_of(turn, "id"));
        format_time(cell, text_of(turn, "created_at"));
        add(&t, cell);
        text_table_cell(&t, status_of(turn));
        format_duration(cell, turn);
        add(&t, cell);
        format_cost(cell, turn);
        add(&t, cell);
        text_table_cell(&t, turn_question(turn));
    }
    enum weir_status st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}

static void put_word(struct weir_buf *out, const char *word)
{
    if (word[0] == '\0') return;
    weir_buf_append_str(out, "  ");
    term_clean_label(out, weir_slice_of(word));
}

static void put_head(struct weir_buf *out, const struct weir_json *turn)
{
    char cell[CELL_BYTES];
    size_t n_earlier = weir_json_count(weir_json_get_str(turn, "messages"));
    put_text(out, text_of(turn, "id"));
    weir_buf_append_str(out, "  ");
    put_text(out, status_of(turn));
    format_time(cell, text_of(turn, "created_at"));
    put_word(out, cell);
    format_duration(cell, turn);
    put_word(out, cell);
    format_cost(cell, turn);
    put_word(out, cell);
    weir_buf_append_str(out, "\n\n> ");
    put_text(out, turn_question(turn));
    if (n_earlier > 1) weir_buf_printf(out, "\n  (%zu earlier messages)", n_earlier - 1);
    weir_buf_append_str(out, "\n\n");
}

enum weir_status turn_text(struct weir_buf *out, const struct weir_json *turn, unsigned columns)
{
    const struct weir_json *result = weir_json_get_str(turn, "result");
    const struct weir_json *error = weir_json_get_str(turn, "error");
    put_head(out, turn);
    if (weir_json_type_of(error) == WEIR_JSON_OBJECT) {
        put_text(out, text_of(error, "message"));
        weir_buf_append_str(out, " (");
        put_text(out, text_of(error, "code"));
        weir_buf_append_str(out, ")\n");
    }
    if (weir_json_type_of(result) != WEIR_JSON_OBJECT) return weir_buf_status(out);
    put_text(out, text_of(result, "answer"));
    weir_buf_append_str(out, "\n\n");
    return facts_text(out, result, columns);
}

/* ---- facts ---- */

/* "conditional, data_science": how sure it is, and who says so. */
static void add_source(struct text_table *t, const struct weir_json *fact)
{
    char cell[CELL_BYTES];
    struct weir_slice verdict = text_of(fact, "verdict");
    struct weir_slice source = text_of(fact, "source");
    snprintf(cell, sizeof cell, "%.*s%s%.*s", (int)verdict.len, verdict.len > 0 ? verdict.ptr : "",
             verdict.len > 0 ? ", " : "", (int)source.len, source.len > 0 ? source.ptr : "");
    add(t, cell);
}

static void add_fact(struct text_table *t, const struct weir_json *fact)
{
    char cell[CELL_BYTES];
    text_table_cell(t, text_of(fact, "claim"));
    format_value(cell, weir_json_get_str(fact, "value"));
    add(t, cell);
    text_table_cell(t, text_of(fact, "unit"));
    format_value(cell, weir_json_get_str(fact, "n"));
    add(t, cell);
    text_table_cell(t, text_of(fact, "window"));
    add_source(t, fact);
}

enum weir_status facts_text(struct weir_buf *out, const struct weir_json *result, unsigned columns)
{
    static const struct text_column titles[] = {{"fact", false},   {"value", true},
                                                {"unit", false},   {"days", true},
                                                {"window", false}, {"from", false}};
    struct text_table t;
    const struct weir_json *fact = weir_json_first(weir_json_get_str(result, "fact_sheet"));
    if (!fact) weir_buf_append_str(out, "The answer has no numbers, and so no fact sheet.\n");
    if (!fact) return weir_buf_status(out);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; fact; fact = weir_json_next(fact)) add_fact(&t, fact);
    enum weir_status st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}

/* ---- memory ---- */

enum weir_status memory_text(struct weir_buf *out, const struct weir_json *entries,
                             unsigned columns)
{
    static const struct text_column titles[] = {{"id", false}, {"kind", false}, {"what", false}};
    struct text_table t;
    const struct weir_json *entry = weir_json_first(entries);
    if (!entry) weir_buf_append_str(out, "Nothing is remembered.\n");
    if (!entry) return weir_buf_status(out);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; entry; entry = weir_json_next(entry)) {
        text_table_cell(&t, text_of(entry, "id"));
        text_table_cell(&t, text_of(entry, "category"));
        text_table_cell(&t, text_of(entry, "text"));
    }
    enum weir_status st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}

static void put_member(struct weir_buf *out, const char *label, struct weir_slice text)
{
    if (text.len == 0) return;
    weir_buf_printf(out, "%-9s ", label);
    term_clean_label(out, text);
    weir_buf_append_char(out, '\n');
}

enum weir_status memory_entry_text(struct weir_buf *out, const struct weir_json *entry,
                                   unsigned columns)
{
    (void)columns; /* a terminal may wrap it */
    char at[CELL_BYTES];
    struct weir_buf data;
    weir_buf_init(&data, out->max);
    put_member(out, "id", text_of(entry, "id"));
    put_member(out, "kind", text_of(entry, "category"));
    put_member(out, "what", text_of(entry, "text"));
    put_member(out, "from", text_of(entry, "source_turn"));
    format_time(at, text_of(entry, "created_at"));
    put_member(out, "since", weir_slice_of(at));
    format_time(at, text_of(entry, "updated_at"));
    put_member(out, "changed", weir_slice_of(at));
    const struct weir_json *value = weir_json_get_str(entry, "data");
    if (weir_json_type_of(value) != WEIR_JSON_NULL) {
        weir_json_put_value(&data, value);
        put_member(out, "data", weir_buf_slice(&data));
    }
    enum weir_status st = weir_buf_status(&data);
    weir_buf_fini(&data);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
