/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers: which column is what, and in which unit its cells are. A unit may stand in brackets
 * ("Weight (lb)"), behind the name ("weight_kg", "glucose mmol/L") or before it ("hours slept").
 */
#include "base/slice.h"
#include "import/table_impl.h"

enum { LABEL_BYTES = 256 };

/* ---- names ---- */

/* Lower case of ASCII and of the letters of western Europe (U+00C0 to U+00DE); 0: no letter. */
static char letter(const char *p, const char *begin)
{
    unsigned char c = (unsigned char)*p;
    if (c >= 'A' && c <= 'Z') return (char)(c + 32);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return (char)c;
    bool is_latin = p > begin && (unsigned char)p[-1] == 0xC3;
    if (is_latin && c >= 0x80 && c <= 0x9E && c != 0x97) return (char)(c + 0x20);
    return c >= 0x80 ? (char)c : 0;
}

bool table_is_name(struct weir_slice a, struct weir_slice b)
{
    size_t i = 0;
    size_t j = 0;
    for (;;) {
        while (i < a.len && letter(a.ptr + i, a.ptr) == 0) i++;
        while (j < b.len && letter(b.ptr + j, b.ptr) == 0) j++;
        if (i == a.len || j == b.len) return i == a.len && j == b.len;
        if (letter(a.ptr + i, a.ptr) != letter(b.ptr + j, b.ptr)) return false;
        i++;
        j++;
    }
}

/* "com.samsung.health.sleep.start_time" is start_time. */
static struct weir_slice without_package(struct weir_slice label)
{
    if (label.len < 4 || memcmp(label.ptr, "com.", 4) != 0) return label;
    const char *dot = memrchr(label.ptr, '.', label.len);
    return slice_from(label, (size_t)(dot + 1 - label.ptr));
}

/* ---- units ---- */

/* The bracket that the last one closes: of "VO2max (ml/(kg*min))" the first. */
static const char *opening(struct weir_slice label, char open, char close)
{
    int depth = 0;
    for (size_t i = label.len; i > 0; i--) {
        if (label.ptr[i - 1] == close) depth++;
        if (label.ptr[i - 1] == open && --depth == 0) return label.ptr + i - 1;
    }
    return NULL;
}

/* "Weight (lb)": the name, and the unit when what stands in the brackets is one. */
static struct weir_slice split_brackets(struct weir_slice label, struct weir_slice *unit)
{
    *unit = (struct weir_slice){0};
    char last = label.len > 0 ? label.ptr[label.len - 1] : 0;
    if (last != ')' && last != ']') return label;
    const char *open = opening(label, last == ')' ? '(' : '[', last);
    if (!open) return label;
    struct weir_slice inside =
        cell_trim(slice_of(open + 1, (size_t)(label.ptr + label.len - 1 - (open + 1))));
    if (!unit_find(inside) && !weir_slice_is(inside, "m")) return label;
    *unit = inside;
    return cell_trim(slice_of(label.ptr, (size_t)(open - label.ptr)));
}

static const char *keep_text(struct table *t, struct weir_slice s)
{
    char *p = arena_alloc(&t->names, s.len + 1);
    if (!p) return NULL;
    if (s.len > 0) memcpy(p, s.ptr, s.len);
    p[s.len] = 0;
    return p;
}

/* Not a unit of its own: a deviation has no zero to move. */
static bool is_difference(const struct metric *m)
{
    return strcmp(m->name, "temperature_deviation") == 0;
}

bool table_convert(const struct metric *m, const char *unit, double value, double *out)
{
    double zero = 0;
    if (!unit) {
        *out = value;
        return true;
    }
    if (!unit_convert(unit, m->unit, value, out)) {
        /* Sugar is the one metric whose units differ by the substance. */
        const struct analyte *a = analyte_find(SLICE("fasting_glucose"));
        return strcmp(m->name, "blood_glucose") == 0 && a &&
               analyte_convert(a, weir_slice_of(unit), value, out);
    }
    if (is_difference(m) && unit_convert(unit, m->unit, 0, &zero)) *out -= zero;
    return true;
}

/* For a file that does not say, of a person who did. */
static const char *imperial(const struct metric *m)
{
    static const char *const pairs[][2] = {
        {"kg", "lb"}, {"km", "mi"}, {"degC", "degF"}, {"cm", "in"}, {"ml", "floz"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(m->unit, pairs[i][0]) == 0) return pairs[i][1];
    return NULL;
}

static enum weir_status set_metric(struct table *t, struct table_bound *b, const struct metric *m,
                                   struct weir_slice unit)
{
    double out;
    b->metric = m;
    if (unit.len == 0) {
        if (!b->unit && t->context.units == UNITS_IMPERIAL) b->unit = imperial(m);
        return WEIR_OK;
    }
    const char *text = keep_text(t, unit);
    if (!text) return t->names.status;
    if (table_convert(m, text, 1, &out)) b->unit = text;
    return WEIR_OK;
}

/* ---- columns that the format knows ---- */

static bool is_called(const char *names, struct weir_slice label, struct weir_slice base)
{
    size_t at = 0;
    for (struct weir_slice n = alias_next(names, &at); n.len > 0; n = alias_next(names, &at))
        if (table_is_name(label, n) || table_is_name(base, n)) return true;
    return false;
}

bool table_has_field(const struct table_format *f, enum table_field field, struct weir_slice name)
{
    for (size_t i = 0; i < f->n_columns; i++)
        if (f->columns[i].field == field && is_called(f->columns[i].names, name, name)) return true;
    return false;
}

static enum weir_status bind_known(struct table *t, const struct table_column *c,
                                   struct table_bound *b, struct weir_slice unit)
{
    b->spec = c;
    b->field = c->field;
    b->unit = c->unit;
    if (c->metric) return set_metric(t, b, metric_find(weir_slice_of(c->metric)), unit);
    if (unit.len == 0) return WEIR_OK;
    b->unit = keep_text(t, unit);
    return b->unit ? WEIR_OK : t->names.status;
}

/* ---- columns of an open format ---- */

static bool is_between(char c)
{
    return c == '_' || c == ' ' || c == '-' || c == ',';
}

static bool fits(const struct metric *m, struct weir_slice unit)
{
    char text[LABEL_BYTES];
    double out;
    if (!m || unit.len == 0 || unit.len >= sizeof text) return false;
    memcpy(text, unit.ptr, unit.len);
    text[unit.len] = 0;
    return table_convert(m, text, 1, &out);
}

/* "weight_kg", "glucose mmol/L": the metric before a unit of its kind. */
static const struct metric *unit_behind(struct weir_slice label, struct weir_slice *unit)
{
    for (size_t i = label.len; i > 1; i--) {
        if (!is_between(label.ptr[i - 1])) continue;
        struct weir_slice name = slice_of(label.ptr, i - 1);
        while (name.len > 0 && is_between(name.ptr[name.len - 1])) name.len--;
        const struct metric *m = metric_find(name);
        *unit = slice_from(label, i);
        if (fits(m, *unit)) return m;
    }
    *unit = (struct weir_slice){0};
    return NULL;
}

/* "hours slept", "minutes of exercise": the unit is the first word. */
static const struct metric *unit_before(struct weir_slice label, struct weir_slice *unit)
{
    const struct metric *m = metric_find(label);
    size_t n = 0;
    while (n < label.len && !is_between(label.ptr[n])) n++;
    *unit = slice_of(label.ptr, n);
    if (!fits(m, *unit)) *unit = (struct weir_slice){0};
    return m;
}

static enum weir_status bind_open(struct table *t, struct table_bound *b, struct weir_slice base,
                                  struct weir_slice bracket)
{
    struct weir_slice unit = bracket;
    const struct metric *m = bracket.len > 0 ? metric_find(base) : unit_behind(base, &unit);
    if (!m) m = unit_before(base, &unit);
    if (m && bracket.len > 0 && !fits(m, bracket)) m = NULL;
    if (m) return set_metric(t, b, m, bracket.len > 0 ? bracket : unit);
    b->analyte = analyte_find(base);
    b->is_own = !b->analyte && b->label.len > 0;
    b->unit = keep_text(t, bracket);
    return b->unit ? WEIR_OK : t->names.status;
}

bool table_bind_value(struct table *t, struct table_bound *b, struct weir_slice name,
                      struct weir_slice unit)
{
    struct weir_slice found = unit;
    char quoted[2][TABLE_QUOTE_BYTES];
    const struct metric *m = unit.len > 0 ? metric_find(name) : unit_behind(name, &found);
    if (!m && unit.len == 0) m = unit_before(name, &found);
    b->metric = m;
    b->analyte = m ? NULL : analyte_find(name);
    b->unit = NULL;
    if (!m || found.len == 0) return true;
    if (!fits(m, found) || found.len >= sizeof t->unit_text) {
        table_refuse(t, "%s: \"%s\" is not a unit it is measured in", table_quote(quoted[0], name),
                     table_quote(quoted[1], found));
        return false;
    }
    memcpy(t->unit_text, found.ptr, found.len);
    t->unit_text[found.len] = 0;
    b->unit = t->unit_text;
    return true;
}

/* Of two columns for one field, the one whose names stand first in the format: "date" not "day". */
static bool take_field(struct table *t, const struct table_column *c, size_t i)
{
    size_t old = t->at[c->field];
    if (c->field == FIELD_NONE || c->field == FIELD_UNUSED) return true;
    if (old != SIZE_MAX && t->columns[old].spec <= c) return false;
    if (old != SIZE_MAX) t->columns[old].field = FIELD_UNUSED;
    t->at[c->field] = i;
    return true;
}

static size_t utf8_cut(struct weir_slice label)
{
    size_t n = LABEL_BYTES;
    while (n > 0 && ((unsigned char)label.ptr[n] & 0xC0) == 0x80) n--;
    return n;
}

static enum weir_status bind_column(struct table *t, const struct table_format *f, size_t i,
                                    struct weir_slice text)
{
    struct weir_slice unit;
    struct table_bound *b = &t->columns[i];
    struct weir_slice label = cell_trim(text);
    /* What is cut off makes it no name of a metric, which is then refused with its line. */
    if (label.len > LABEL_BYTES) label.len = utf8_cut(label);
    const char *kept = keep_text(t, label);
    if (!kept) return t->names.status;
    b->label = slice_of(kept, label.len);
    label = without_package(b->label);
    struct weir_slice base = split_brackets(label, &unit);
    for (size_t c = 0; c < f->n_columns; c++) {
        if (!is_called(f->columns[c].names, label, base)) continue;
        if (!take_field(t, &f->columns[c], i)) continue;
        return bind_known(t, &f->columns[c], b, unit);
    }
    if (f->is_open && label.len > 0) return bind_open(t, b, base, unit);
    /* The index that some programs write first has no name; whether it is one, its cells tell. */
    if (f->is_open && i == 0 && t->at[FIELD_DATE] == SIZE_MAX) {
        t->at[FIELD_DATE] = i;
        b->field = FIELD_DATE;
        b->spec = f->columns + f->n_columns;
    }
    return WEIR_OK;
}

enum weir_status table_bind(struct table *t, const struct table_format *f,
                            const struct csv_row *header)
{
    arena_reset(&t->names);
    t->n_columns = header->n;
    t->columns = arena_alloc(&t->names, header->n * sizeof *t->columns);
    if (!t->columns) return t->names.status;
    memset(t->columns, 0, header->n * sizeof *t->columns);
    for (size_t i = 0; i < N_FIELDS; i++) t->at[i] = SIZE_MAX;
    for (size_t i = 0; i < header->n; i++) {
        enum weir_status st = bind_column(t, f, i, header->fields[i]);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static bool has_letters(struct weir_slice name, const char *letters)
{
    return !letters || (name.len > 0 && memmem(name.ptr, name.len, letters, strlen(letters)));
}

static bool has_preamble(const struct table *t, const char *wanted)
{
    if (!wanted) return true;
    size_t len = strlen(wanted);
    if (len > 0 && wanted[len - 1] == '*') return strncmp(t->preamble, wanted, len - 1) == 0;
    return strcmp(t->preamble, wanted) == 0;
}

bool table_is_bound(const struct table *t, const struct table_format *f)
{
    bool has_metric = !f->metric;
    size_t n_values = 0;
    if (!has_preamble(t, f->preamble) || !has_letters(t->context.file_name, f->file)) return false;
    for (size_t i = 1; i < N_FIELDS; i++)
        if ((f->needs & FIELD_BIT(i)) != 0 && t->at[i] == SIZE_MAX) return false;
    for (size_t i = 0; i < t->n_columns; i++) {
        const struct table_bound *b = &t->columns[i];
        if (b->metric && f->metric && strcmp(b->metric->name, f->metric) == 0) has_metric = true;
        n_values += b->metric || b->analyte || b->is_own;
    }
    return has_metric && (!f->is_open || n_values > 0);
}
