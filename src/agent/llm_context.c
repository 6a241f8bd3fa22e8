/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request tells of the person, as short as it can be: a line for each thing. Names of their
 * own metrics, of devices and of laboratory tests, and what memory and messages say, are other
 * people's text: all of this goes into data blocks, and the lines here are cut, so that one of them
 * cannot push out the others.
 */
#include "agent/llm_impl.h"
#include "base/slice.h"
#include "data/day.h"

enum {
    MOST_METRICS = 80,
    MOST_LABS = 40,
    MOST_KINDS = 24, /* of workouts */
    MOST_SOURCES = 3,
    MOST_MEMORIES = 24,
    MOST_MESSAGES = 6,
    NAME_BYTES = 64,     /* of a name that is not ours */
    MEMORY_BYTES = 240,  /* of an entry of memory */
    MESSAGE_BYTES = 800, /* of an earlier message */
};

/* Foreign text in one line. */
static void put_line(struct weir_buf *out, struct weir_slice text, size_t most)
{
    size_t len = text.len < most ? text.len : most;
    while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) len--;
    for (size_t i = 0; i < len; i++)
        weir_buf_append_char(out, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
    if (len < text.len) weir_buf_append_str(out, "…");
}

static void put_days(struct weir_buf *out, int32_t from, int32_t to)
{
    char a[DAY_TEXT_BYTES], b[DAY_TEXT_BYTES];
    day_format(a, from);
    day_format(b, to);
    weir_buf_printf(out, "%s..%s", a, b);
}

/* ---- metrics ---- */

static void put_sources(struct weir_buf *out, struct agent_case *c, const struct series *s)
{
    uint16_t seen[MOST_SOURCES];
    size_t n = 0;
    for (size_t i = s->n; s->sources && i-- > 0 && n < MOST_SOURCES;) {
        bool is_new = s->sources[i] != 0;
        for (size_t k = 0; k < n; k++) is_new = is_new && seen[k] != s->sources[i];
        if (!is_new) continue;
        weir_buf_append_str(out, n == 0 ? ", measured by " : ", ");
        put_line(out, dataset_source(c->data, s->sources[i]), NAME_BYTES);
        seen[n++] = s->sources[i];
    }
}

static enum weir_status put_metric(struct weir_buf *out, struct agent_case *c,
                                   const struct metric *m, bool has_sources)
{
    const struct series *s;
    enum weir_status st = dataset_series(c->data, m, &s);
    if (st == WEIR_NOT_FOUND || (st == WEIR_OK && s->n == 0)) return WEIR_OK;
    if (st != WEIR_OK) return st;
    put_line(out, weir_slice_of(m->name), NAME_BYTES);
    bool is_clock = m->daily == DAILY_CIRCULAR;
    weir_buf_printf(out, " (%s): %zu days ", is_clock ? "time of day" : m->unit, s->n);
    put_days(out, s->days[0], s->days[s->n - 1]);
    if (has_sources) put_sources(out, c, s);
    weir_buf_append_char(out, '\n');
    return WEIR_OK;
}

static enum weir_status put_metrics(struct weir_buf *out, struct agent_case *c, bool has_sources)
{
    const struct metric *const *list;
    size_t n;
    enum weir_status st = dataset_metrics(c->data, &list, &n);
    weir_buf_append_str(out, "metrics (daily values):\n");
    for (size_t i = 0; st == WEIR_OK && i < n && i < MOST_METRICS; i++)
        st = put_metric(out, c, list[i], has_sources);
    if (st == WEIR_OK && n > MOST_METRICS) weir_buf_printf(out, "and %zu more\n", n - MOST_METRICS);
    return st;
}

/* ---- workouts and laboratory tests ---- */

static enum weir_status put_workouts(struct weir_buf *out, struct agent_case *c)
{
    const struct workout *list;
    size_t n, n_kinds = 0;
    enum weir_status st = dataset_workouts(c->data, &list, &n);
    if (st != WEIR_OK || n == 0) return st == WEIR_NOT_FOUND ? WEIR_OK : st;
    weir_buf_append_str(out, "workouts (sessions): ");
    for (size_t k = 0; k < activity_count() && n_kinds < MOST_KINDS; k++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) count += list[i].activity == activity_at(k);
        if (count == 0) continue;
        weir_buf_printf(out, "%s%s %zu", n_kinds++ > 0 ? ", " : "", activity_at(k)->name, count);
    }
    weir_buf_append_str(out, "; ");
    put_days(out, list[0].day, list[n - 1].day);
    weir_buf_append_char(out, '\n');
    return WEIR_OK;
}

static struct weir_slice lab_name(const struct lab *l)
{
    return l->analyte ? weir_slice_of(l->analyte->name) : l->label;
}

/* The newest result of each test stands for it. */
static bool is_newest(const struct lab *list, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (slice_eq(lab_name(&list[k]), lab_name(&list[i]))) return false;
    return true;
}

static enum weir_status put_labs(struct weir_buf *out, struct agent_case *c, bool has_ranges)
{
    const struct lab *list;
    size_t n, n_put = 0;
    if (!c->has_biomarkers) return WEIR_OK;
    enum weir_status st = dataset_labs(c->data, &list, &n);
    if (st != WEIR_OK || n == 0) return st == WEIR_NOT_FOUND ? WEIR_OK : st;
    weir_buf_append_str(out, "laboratory tests:\n");
    for (size_t i = 0; i < n && n_put < MOST_LABS; i++) {
        char day[DAY_TEXT_BYTES];
        size_t count = 0;
        if (!is_newest(list, n, i)) continue;
        for (size_t k = 0; k < n; k++) count += slice_eq(lab_name(&list[k]), lab_name(&list[i]));
        day_format(day, list[i].day);
        put_line(out, lab_name(&list[i]), NAME_BYTES);
        weir_buf_append_str(out, " (");
        put_line(out, list[i].unit, NAME_BYTES / 2);
        weir_buf_printf(out, "): %zu, newest %s", count, day);
        if (has_ranges && list[i].range.len > 0) {
            weir_buf_append_str(out, ", printed range ");
            put_line(out, list[i].range, NAME_BYTES);
        }
        weir_buf_append_char(out, '\n');
        n_put++;
    }
    return WEIR_OK;
}

enum weir_status context_put_data(struct weir_buf *out, struct agent_case *c, bool has_sources)
{
    int32_t first, newest;
    char day[DAY_TEXT_BYTES];
    enum weir_status st = dataset_span(c->data, &first, &newest);
    if (st == WEIR_NOT_FOUND) {
        weir_buf_append_str(out, "There are no data at all.\n");
        return WEIR_OK;
    }
    if (st != WEIR_OK) return st;
    day_format(day, newest);
    weir_buf_printf(out, "today (newest day with data): %s, a %s\n", day,
                    day_weekday_name(day_weekday(newest)));
    st = put_metrics(out, c, has_sources);
    if (st == WEIR_OK) st = put_workouts(out, c);
    if (st == WEIR_OK) st = put_labs(out, c, has_sources);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

enum weir_status context_put_names(struct weir_buf *out, struct agent_case *c)
{
    const struct metric *const *list;
    size_t n;
    enum weir_status st = dataset_metrics(c->data, &list, &n);
    for (size_t i = 0; st == WEIR_OK && i < n && i < MOST_METRICS; i++) {
        if (i > 0) weir_buf_append_str(out, ", ");
        put_line(out, weir_slice_of(list[i]->title), NAME_BYTES);
    }
    if (st == WEIR_OK && n == 0) weir_buf_append_str(out, "(none)");
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* ---- memory ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Whether a word of four letters or more is in both. */
static bool shares_word(struct weir_slice text, struct weir_slice words)
{
    enum { LEAST = 4 };
    for (size_t i = 0; i < words.len;) {
        size_t n = 0;
        while (i + n < words.len && is_letter(words.ptr[i + n])) n++;
        for (size_t k = 0; n >= LEAST && k + n <= text.len; k++)
            if (strncasecmp(text.ptr + k, words.ptr + i, n) == 0) return true;
        i += n + 1;
    }
    return false;
}

/* Before which of the first n entries a text belongs, by their bytes. */
static size_t place_of(const struct weir_json *const *list, size_t n, struct weir_slice text)
{
    size_t i = n;
    for (; i > 0; i--) {
        struct weir_slice other = agent_text(list[i - 1], "text");
        size_t len = other.len < text.len ? other.len : text.len;
        int order = memcmp(other.ptr, text.ptr, len);
        if (order < 0 || (order == 0 && other.len <= text.len)) break;
    }
    return i;
}

/* Ordered, since entries of one turn have no order of their own and a request is always the same.
 */
void context_put_memory(struct weir_buf *out, struct agent_case *c, struct weir_slice words)
{
    const struct weir_json *list[MOST_MEMORIES];
    size_t n = 0;
    for (const struct weir_json *m = weir_json_first(c->memory); m && n < MOST_MEMORIES;
         m = weir_json_next(m)) {
        struct weir_slice text = agent_text(m, "text");
        if (text.len == 0 || (words.len > 0 && !shares_word(text, words))) continue;
        size_t at = place_of(list, n, text);
        memmove(list + at + 1, list + at, (n++ - at) * sizeof *list);
        list[at] = m;
    }
    for (size_t i = 0; i < n; i++) {
        put_line(out, agent_text(list[i], "category"), NAME_BYTES / 2);
        weir_buf_append_str(out, ": ");
        put_line(out, agent_text(list[i], "text"), MEMORY_BYTES);
        weir_buf_append_char(out, '\n');
    }
    if (n == 0) weir_buf_append_str(out, "(nothing)");
}

/* ---- what was said ---- */

void context_put_talk(struct weir_buf *out, struct agent_case *c)
{
    size_t all = weir_json_count(c->messages), i = 0, n = 0;
    for (const struct weir_json *m = weir_json_first(c->messages); m; m = weir_json_next(m), i++) {
        if (i + 1 >= all || all - i > MOST_MESSAGES + 1) continue;
        bool is_user = weir_slice_is(agent_text(m, "role"), "user");
        weir_buf_append_str(out, is_user ? "person: " : "weir: ");
        put_line(out, agent_text(m, "content"), MESSAGE_BYTES);
        weir_buf_append_char(out, '\n');
        n++;
    }
    if (n == 0) weir_buf_append_str(out, "(nothing)");
}
