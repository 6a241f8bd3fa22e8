/* SPDX-License-Identifier: Apache-2.0 */
#include "term_view.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "line_rows.h"
#include "spark.h"
#include "term_markdown.h"
#include "term_screen.h"
#include "term_style.h"
#include "term_text.h"
#include "view_line.h"

enum {
    ROW_BYTES = 64 << 10,
    RATE_TICKS = 20, /* columns of the sparkline */
    RATE_TICK_MS = 250,
    NAME_COLUMNS = 14,
    BELOW_COLUMNS = 4,    /* of indentation of what did not fit */
    THOUGHT_BYTES = 2048, /* as much of a thought as can matter for one row */
    TEXT_BYTES = 64,
};

struct view {
    const struct weir_ui *state;
    struct view_options options;
    struct screen screen;
    struct markdown *markdown;
    unsigned columns, rows;
    uint64_t answer_seen; /* how much of the answer was given to markdown, and of which round */
    unsigned answer_round;
    bool has_rows;    /* something stands above the answer */
    bool has_answer;  /* a row of it was committed or is pending */
    size_t n_pending; /* rows of the unfinished block */
    bool is_ended;    /* by view_end() */
    bool is_lossy;    /* memory ran out, or text came faster than it was kept */
    struct weir_buf row;
    struct weir_buf text; /* cleaned */
    struct weir_buf cut;  /* and cut */
    unsigned left;        /* columns of the row at hand that are free */
};

/* ---- rows ---- */

static void row_begin(struct view *v)
{
    weir_buf_reset(&v->row);
    v->left = v->columns;
}

/* Text of our own or of others, cleaned, cut where the row ends. */
static void row_put(struct view *v, struct weir_slice text, unsigned look)
{
    weir_buf_reset(&v->text);
    weir_buf_reset(&v->cut);
    term_clean_label(&v->text, text);
    v->left -= term_put_cut(&v->cut, weir_buf_slice(&v->text), v->left);
    term_put(&v->row, weir_buf_slice(&v->cut), look);
}

static void row_blanks(struct view *v, unsigned n)
{
    for (; n > 0 && v->left > 0; n--, v->left--) weir_buf_append_char(&v->row, ' ');
}

static void row_str(struct view *v, const char *text, unsigned look)
{
    row_put(v, weir_slice_of(text), look);
}

static void row_commit(struct view *v)
{
    screen_commit(&v->screen, weir_buf_slice(&v->row));
    v->has_rows = true;
}

static void row_live(struct view *v)
{
    screen_live_row(&v->screen, weir_buf_slice(&v->row));
}

/* Commits the row with this text in it, or, where it does not fit, with the text below. */
static void row_commit_with(struct view *v, struct weir_slice text)
{
    weir_buf_reset(&v->text);
    term_clean_label(&v->text, text);
    struct weir_slice rest = weir_buf_slice(&v->text);
    if (term_width(rest) <= v->left) {
        weir_buf_append_slice(&v->row, rest);
        row_commit(v);
        return;
    }
    row_commit(v);
    while (rest.len > 0) {
        size_t len;
        size_t next;
        term_wrap(rest, v->columns > 2 * BELOW_COLUMNS ? v->columns - BELOW_COLUMNS : 1, &len,
                  &next);
        row_begin(v);
        row_blanks(v, BELOW_COLUMNS);
        weir_buf_append(&v->row, rest.ptr, len);
        row_commit(v);
        rest = slice_from(rest, next);
    }
}

/* ---- the answer ---- */

static void commit_answer_row(void *user, struct weir_slice row)
{
    struct view *v = user;
    screen_commit(&v->screen, row);
    v->has_answer = true;
}

static void show_pending_row(void *user, struct weir_slice row)
{
    struct view *v = user;
    screen_live_row(&v->screen, row);
    v->n_pending++;
}

/* What was shown of an answer that has begun again stays above, and is said to be void. */
static void restart_answer(struct view *v)
{
    markdown_drop(v->markdown);
    if (v->has_answer) {
        row_begin(v);
        row_str(v, "── begun again ──", TERM_DIM);
        row_commit(v);
    }
    v->has_answer = false;
    v->answer_seen = 0;
    v->answer_round = v->state->answer.round;
}

static void take_answer(struct view *v)
{
    const struct weir_ui_text *answer = &v->state->answer;
    if (v->answer_round != answer->round) restart_answer(v);
    if (v->answer_seen == answer->end) return;
    if (v->answer_seen == 0 && v->has_rows) {
        row_begin(v);
        row_commit(v);
    }
    if (v->answer_seen < answer->begin) v->is_lossy = true;
    enum weir_status st = markdown_feed(v->markdown, weir_ui_text_from(answer, v->answer_seen));
    if (st != WEIR_OK) v->is_lossy = true;
    v->answer_seen = answer->end;
}

/* ---- what is done ---- */

static void put_seconds(struct view *v, uint64_t ms, unsigned look)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.1f s", (double)ms / 1000);
    row_str(v, text, look);
}

/* Between two parts of a row. */
static void put_dot(struct view *v)
{
    row_blanks(v, 1);
    row_str(v, "·", TERM_DIM);
    row_blanks(v, 1);
}

static void put_name(struct view *v, const char *name)
{
    unsigned before = v->left;
    row_str(v, name, TERM_BOLD);
    unsigned used = before - v->left;
    row_blanks(v, used < NAME_COLUMNS ? NAME_COLUMNS - used : 1);
}

static void commit_agent(struct view *v, const struct weir_ui_agent *a)
{
    row_begin(v);
    row_str(v, "✓", TERM_GOOD);
    row_blanks(v, 1);
    put_name(v, a->name);
    row_blanks(v, 1);
    put_seconds(v, a->duration_ms, TERM_DIM);
    row_blanks(v, 2);
    row_commit_with(v, weir_slice_of(a->summary));
}

static void put_finding(struct view *v, const struct weir_ui_finding *f)
{
    static const struct {
        const char *sign;
        unsigned look;
    } signs[] = {
        [WEIR_UI_GATE_OPEN] = {"·", TERM_DIM},
        [WEIR_UI_GATE_PASSED] = {"✓", TERM_GOOD},
        [WEIR_UI_GATE_FAILED] = {"✗", TERM_BAD},
        [WEIR_UI_GATE_SKIPPED] = {"-", TERM_DIM},
    };
    row_begin(v);
    row_blanks(v, 2);
    for (size_t i = 0; i < WEIR_UI_GATES; i++)
        row_str(v, signs[f->gates[i]].sign, signs[f->gates[i]].look);
    row_blanks(v, 1);
    put_name(v, f->id);
    if (f->critic[0] != '\0') {
        bool is_bad = strcmp(f->critic, "reject") == 0;
        row_str(v, f->critic, is_bad ? TERM_BAD : TERM_GOOD);
        row_blanks(v, 1);
    }
}

/* Findings that no critic has spoken of, when the time of findings is over. */
static void commit_open_findings(struct view *v)
{
    for (size_t i = 0; i < v->state->n_findings; i++) {
        if (v->state->findings[i].critic[0] != '\0') continue;
        put_finding(v, &v->state->findings[i]);
        row_commit_with(v, weir_slice_of(v->state->findings[i].claim));
    }
}

/* In a conversation a tool's result is for the model; and who is there is nobody's question. */
static bool is_beside(const struct view *v, struct weir_slice type)
{
    return v->options.has_prompt &&
           (weir_slice_is(type, "mesh.changed") || weir_slice_is(type, "context_meta"));
}

/* Below what was written before it. What waits for a person is shown as long as it does. */
static void commit_line(struct view *v, const struct view_line *line)
{
    bool is_tool = line->is_good || line->is_bad;
    if (line->is_open) return;
    take_answer(v);
    row_begin(v);
    row_str(v, line->sign, (line->is_good ? TERM_GOOD : 0) | (line->is_bad ? TERM_BAD : 0));
    row_blanks(v, 1);
    put_name(v, line->label);
    row_blanks(v, 1);
    if (v->options.has_prompt && is_tool) {
        row_str(v, line->text, TERM_DIM);
        row_commit(v);
    } else {
        row_commit_with(v, weir_slice_of(line->text));
    }
}

void view_event(struct view *v, struct weir_slice type, const struct weir_json *data)
{
    char name[WEIR_UI_NAME_BYTES];
    struct view_line line;
    if (v->options.is_quiet) return;
    if (!is_beside(v, type) && view_line_of(v->state, type, data, &line)) commit_line(v, &line);
    if (weir_slice_is(type, "agent.completed") || weir_slice_is(type, "agent.started")) {
        weir_ui_label_set(name, sizeof name, weir_json_text(weir_json_get_str(data, "agent")));
        const struct weir_ui_agent *a = weir_ui_agent(v->state, name);
        bool is_synthesis = strcmp(name, "synthesis") == 0;
        if (is_synthesis && type.len == sizeof "agent.started" - 1) commit_open_findings(v);
        if (a && !a->is_working && !is_synthesis) commit_agent(v, a);
    } else if (weir_slice_is(type, "validator.critic")) {
        weir_ui_label_set(name, sizeof name, weir_json_text(weir_json_get_str(data, "finding_id")));
        const struct weir_ui_finding *f = weir_ui_finding(v->state, name);
        if (!f) return;
        put_finding(v, f);
        row_commit_with(v, weir_slice_of(f->claim));
    }
}

void view_line(struct view *v, struct weir_slice label, struct weir_slice text)
{
    row_begin(v);
    row_put(v, label, TERM_BOLD);
    row_blanks(v, 1);
    row_commit_with(v, text);
}

static void commit_gap(struct view *v)
{
    take_answer(v);
    if (!v->has_rows && !v->has_answer) return;
    row_begin(v);
    row_commit(v);
}

void view_said(struct view *v, struct weir_slice text)
{
    struct weir_buf clean;
    struct term_cleaner cleaner = {.n_held = 0};
    weir_buf_init(&clean, ROW_BYTES * 8);
    term_clean_feed(&cleaner, &clean, text);
    term_clean_end(&cleaner, &clean);
    commit_gap(v);
    line_rows_commit(slice_of(clean.ptr, clean.len), &v->screen);
    v->has_rows = true;
    weir_buf_fini(&clean);
}

void view_note(struct view *v, struct weir_slice text, bool is_bad)
{
    take_answer(v);
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        row_begin(v);
        row_put(v, slice_of(text.ptr, len), is_bad ? TERM_BAD : TERM_DIM);
        row_commit(v);
        text = slice_from(text, end ? len + 1 : len);
    }
}

/* ---- the live region ---- */

/* The end of a text, as much as fits. */
static void put_tail(struct view *v, struct weir_slice text, unsigned look)
{
    if (text.len > THOUGHT_BYTES) {
        text = slice_from(text, text.len - THOUGHT_BYTES);
        while (text.len > 0 && ((unsigned char)text.ptr[0] & 0xC0) == 0x80)
            text = slice_from(text, 1);
    }
    weir_buf_reset(&v->text);
    term_clean_label(&v->text, text);
    struct weir_slice rest = weir_buf_slice(&v->text);
    unsigned width = term_width(rest);
    bool is_cut = width > v->left;
    while (rest.len > 0 && width + (is_cut ? 1 : 0) > v->left) {
        struct term_cluster cluster = term_first(rest);
        width -= cluster.width;
        rest = slice_from(rest, cluster.len);
    }
    if (is_cut && v->left > 0) term_put(&v->row, SLICE("…"), look);
    term_put(&v->row, rest, look);
    v->left -= width < v->left ? width : v->left;
}

static void show_lane(struct view *v, const char *name, const struct weir_ui_text *thoughts,
                      const char *question)
{
    row_begin(v);
    row_blanks(v, 2);
    put_name(v, name);
    if (thoughts->end > 0) put_tail(v, weir_ui_text_from(thoughts, 0), TERM_DIM);
    else row_str(v, question, TERM_DIM);
    row_live(v);
}

static const char *phase_of(const struct weir_ui_tool *t)
{
    if (t->progress[0] != '\0') return t->progress;
    return t->phase == WEIR_UI_TOOL_BROKEN ? "broken off" : "";
}

static void show_tool(struct view *v, const struct weir_ui_tool *t)
{
    row_begin(v);
    row_blanks(v, 2);
    put_name(v, t->name[0] != '\0' ? t->name : t->id);
    row_str(v, phase_of(t), TERM_DIM);
    row_blanks(v, phase_of(t)[0] != '\0' ? 2 : 0);
    put_tail(v, weir_ui_text_from(&t->arguments, 0), TERM_DIM);
    row_live(v);
}

/* Each gives back how many rows are left for the next. */
static unsigned show_agents(struct view *v, unsigned most)
{
    const struct weir_ui *s = v->state;
    for (size_t i = 0; i < s->n_agents && most > 0; i++) {
        const struct weir_ui_agent *a = &s->agents[i];
        if (!a->is_working || strcmp(a->name, "synthesis") == 0) continue;
        show_lane(v, a->name, &a->thoughts, a->question);
        most--;
    }
    bool is_thinking = s->thinking.end > 0 && s->answer.end == 0 && s->phase == WEIR_UI_RUNNING;
    if (is_thinking && most > 0) show_lane(v, "thinking", &s->thinking, "");
    return most;
}

static unsigned show_tools(struct view *v, unsigned most)
{
    const struct weir_ui *s = v->state;
    for (size_t i = 0; i < s->n_tools && most > 0; i++) {
        if (s->tools[i].phase > WEIR_UI_TOOL_RUNNING) continue;
        show_tool(v, &s->tools[i]);
        most--;
    }
    return most;
}

/* The findings at hand: those behind the last that a critic has spoken of. */
static void show_findings(struct view *v, unsigned most)
{
    const struct weir_ui *s = v->state;
    size_t first = s->n_findings;
    while (first > 0 && s->findings[first - 1].critic[0] == '\0') first--;
    for (size_t i = first; i < s->n_findings && most > 0 && s->answer.end == 0; i++, most--) {
        put_finding(v, &s->findings[i]);
        row_str(v, s->findings[i].claim, 0);
        row_live(v);
    }
}

/* What waits for a person stays in sight. */
static unsigned show_asks(struct view *v, unsigned most)
{
    const struct weir_ui *s = v->state;
    struct view_line line;
    for (size_t i = 0; i < s->n_asks && most > 0; i++) {
        if (!s->asks[i].is_open) continue;
        view_line_of_ask(&s->asks[i], &line);
        row_begin(v);
        row_str(v, line.sign, TERM_BOLD);
        row_blanks(v, 1);
        put_name(v, line.label);
        row_str(v, line.text, 0);
        row_live(v);
        most--;
    }
    return most;
}

static void show_lanes(struct view *v)
{
    unsigned most = v->rows / 2 > 2 ? v->rows / 2 : 2;
    if (!v->options.has_prompt) most = show_asks(v, most);
    most = show_agents(v, most);
    most = show_tools(v, most);
    show_findings(v, most);
}

/* How fast text comes: bytes of each quarter of a second, up to now. */
static void put_rate(struct view *v, const struct weir_ui_text *t)
{
    int32_t days[RATE_TICKS];
    double values[RATE_TICKS] = {0};
    struct weir_buf line;
    uint64_t now = v->state->now_ns / 1000000 / RATE_TICK_MS;
    if (t->n_segments == 0 || v->left < RATE_TICKS + 2) return;
    for (int32_t i = 0; i < RATE_TICKS; i++) days[i] = i;
    for (size_t i = 0; i < t->n_segments; i++) {
        uint64_t age = now - t->segments[i].born_ns / 1000000 / RATE_TICK_MS;
        if (age >= RATE_TICKS) continue;
        values[RATE_TICKS - 1 - age] += (double)(t->segments[i].end - t->segments[i].begin);
    }
    weir_buf_init(&line, ROW_BYTES);
    spark_line(&line, &(struct spark){days, values, RATE_TICKS, 0, RATE_TICKS - 1}, RATE_TICKS);
    row_blanks(v, 2);
    term_put(&v->row, weir_buf_slice(&line), TERM_DIM);
    weir_buf_fini(&line);
}

static void put_usage(struct view *v, const struct weir_ui_usage *u)
{
    char text[TEXT_BYTES];
    if (u->has_tokens) {
        snprintf(text, sizeof text, "· %llu in, %llu out", (unsigned long long)u->input_tokens,
                 (unsigned long long)u->output_tokens);
        row_blanks(v, 1);
        row_str(v, text, TERM_DIM);
    }
    if (u->cost_usd > 0) {
        snprintf(text, sizeof text, "· $%.4f", u->cost_usd);
        row_blanks(v, 1);
        row_str(v, text, u->is_over_threshold ? TERM_BAD : TERM_DIM);
    }
}

/* When it is tried again stands before why, which may be cut. */
static void put_connection(struct view *v)
{
    const struct weir_ui *s = v->state;
    char text[TEXT_BYTES];
    row_blanks(v, 2);
    row_str(v, s->connection == WEIR_UI_RECONNECTING ? "reconnecting" : "connecting", TERM_BOLD);
    if (s->again_ns > s->now_ns) {
        unsigned long long left = (s->again_ns - s->now_ns + 999999999) / 1000000000;
        snprintf(text, sizeof text, "· again in %llu s", left);
        row_blanks(v, 1);
        row_str(v, text, 0);
    }
    if (s->connection_why[0] == '\0') return;
    put_dot(v);
    row_str(v, s->connection_why, TERM_DIM);
}

static const struct weir_ui_text *busiest(const struct weir_ui *s)
{
    if (s->answer.end > 0) return &s->answer;
    if (s->thinking.end > 0) return &s->thinking;
    for (size_t i = s->n_agents; i > 0; i--)
        if (s->agents[i - 1].is_working) return &s->agents[i - 1].thoughts;
    return &s->answer;
}

static void show_status(struct view *v)
{
    const struct weir_ui *s = v->state;
    uint64_t begun_ns = s->phase == WEIR_UI_RUNNING ? s->started_ns : s->now_ns;
    uint64_t ms = (s->now_ns - begun_ns) / 1000000;
    bool is_away = s->connection == WEIR_UI_CONNECTING || s->connection == WEIR_UI_RECONNECTING;
    if (v->options.has_prompt && s->phase != WEIR_UI_RUNNING && !is_away) return;
    row_begin(v);
    row_put(v, term_spinner(s->now_ns), TERM_CODE);
    row_blanks(v, 1);
    put_seconds(v, ms, 0);
    if (s->cancel.is_asking) {
        row_blanks(v, 2);
        row_str(v, "press Esc again to cancel", TERM_BOLD);
    } else if (s->cancel.is_cancelled) {
        row_blanks(v, 2);
        row_str(v, "cancelling", TERM_BOLD);
    } else if (is_away) {
        put_connection(v);
    } else if (v->is_ended) {
        row_blanks(v, 2);
        row_str(v, "waiting for more", TERM_DIM);
    } else {
        row_blanks(v, s->progress[0] != '\0' ? 2 : 0);
        row_str(v, s->progress, TERM_DIM);
        put_usage(v, &s->usage);
        put_rate(v, busiest(s));
    }
    row_live(v);
}

struct weir_slice view_frame(struct view *v)
{
    take_answer(v);
    screen_live_begin(&v->screen);
    v->n_pending = 0;
    if (markdown_pending(v->markdown, show_pending_row, v) != WEIR_OK) v->is_lossy = true;
    if (v->n_pending > 0) screen_live_row(&v->screen, (struct weir_slice){0});
    if (!v->options.is_quiet) show_lanes(v);
    show_status(v);
    if (v->options.foot) v->options.foot(v->options.foot_user, &v->screen);
    return screen_frame(&v->screen);
}

/* ---- the end ---- */

static void commit_failure(struct view *v)
{
    const struct weir_ui *s = v->state;
    row_begin(v);
    row_str(v, "✗", TERM_BAD);
    row_blanks(v, 1);
    row_str(v, s->error_code, TERM_BOLD);
    row_blanks(v, 1);
    row_commit_with(v, weir_slice_of(s->error_message));
}

static void commit_citations(struct view *v)
{
    const struct weir_ui *s = v->state;
    char number[TEXT_BYTES];
    for (size_t i = 0; i < s->n_citations; i++) {
        const struct weir_ui_citation *c = &s->citations[i];
        row_begin(v);
        snprintf(number, sizeof number, "[%zu]", i + 1);
        row_str(v, number, TERM_DIM);
        row_blanks(v, 1);
        row_str(v, c->title[0] != '\0' ? c->title : c->source_id, TERM_BOLD);
        row_blanks(v, 2);
        row_commit_with(v, weir_slice_of(c->snippet));
    }
}

static void commit_footer(struct view *v)
{
    const struct weir_ui *s = v->state;
    row_begin(v);
    row_commit(v);
    row_begin(v);
    put_seconds(v, (s->ended_ns - s->started_ns) / 1000000, TERM_DIM);
    put_usage(v, &s->usage);
    if (s->model[0] != '\0') {
        put_dot(v);
        row_str(v, s->model, TERM_DIM);
    }
    if (s->turn_id[0] != '\0') {
        put_dot(v);
        row_str(v, s->turn_id, TERM_DIM);
    }
    if (v->options.hint && s->turn_id[0] != '\0') {
        row_blanks(v, 1);
        row_str(v, v->options.hint, TERM_DIM);
    }
    row_commit(v);
}

static void commit_end(struct view *v)
{
    const struct weir_ui *s = v->state;
    if (!v->options.is_quiet && s->answer.end == 0) commit_open_findings(v);
    take_answer(v);
    if (markdown_end(v->markdown) != WEIR_OK) v->is_lossy = true;
    if (v->is_lossy) view_line(v, SLICE("weir:"), SLICE("a part of the answer could not be shown"));
    if (s->phase == WEIR_UI_FAILED) commit_failure(v);
    if (v->options.is_quiet || s->phase < WEIR_UI_COMPLETED) return;
    if (s->n_citations > 0) {
        row_begin(v);
        row_commit(v);
        commit_citations(v);
    }
    /* What never began took no time. */
    if (s->started_ns > 0) commit_footer(v);
}

struct weir_slice view_end(struct view *v)
{
    if (!v->is_ended) commit_end(v);
    v->is_ended = true;
    screen_live_begin(&v->screen);
    return screen_frame(&v->screen);
}

/* ---- life ---- */

struct view *view_new(const struct weir_ui *state, struct view_options options, unsigned columns,
                      unsigned rows)
{
    struct view *v = mem_zalloc(sizeof *v);
    if (!v) return NULL;
    v->state = state;
    v->options = options;
    v->columns = columns;
    v->rows = rows;
    v->answer_round = state->answer.round;
    screen_init(&v->screen, columns, rows);
    weir_buf_init(&v->row, ROW_BYTES);
    weir_buf_init(&v->text, ROW_BYTES);
    weir_buf_init(&v->cut, ROW_BYTES);
    v->markdown = markdown_new(columns, rows, commit_answer_row, v);
    if (v->markdown) return v;
    view_free(v);
    return NULL;
}

void view_free(struct view *v)
{
    if (!v) return;
    markdown_free(v->markdown);
    weir_buf_fini(&v->cut);
    weir_buf_fini(&v->text);
    weir_buf_fini(&v->row);
    screen_fini(&v->screen);
    mem_free(v);
}

void view_resize(struct view *v, unsigned columns, unsigned rows)
{
    v->columns = columns;
    v->rows = rows;
    screen_resize(&v->screen, columns, rows);
    markdown_resize(v->markdown, columns, rows);
}

struct weir_slice view_leave(struct view *v)
{
    return screen_leave(&v->screen);
}

void view_restart(struct view *v)
{
    markdown_drop(v->markdown);
    v->answer_seen = 0;
    v->answer_round = v->state->answer.round;
    v->has_answer = v->is_lossy = v->is_ended = false;
}

uint64_t view_bytes(const struct view *v)
{
    return v->screen.n_bytes;
}
