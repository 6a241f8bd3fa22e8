/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clinical records as FHIR has them in JSON (DSTU2 and R4 alike, as far as they go here): a
 * resource, a Bundle of them, an array, or one on each line. Observations with a number become
 * laboratory results; vital signs join the series of their metric; parts of a panel count one by
 * one. What has no number, and resources of other types, are counted as ignored.
 *
 * Such files are small: the whole text is kept until it is complete.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/mem.h"
#include "base/slice.h"
#include "data/day.h"
#include "import/cell.h"
#include "import/fhir_code.h"
#include "import/kinds.h"
#include "import/lab_value.h"

enum {
    FHIR_BYTES = 24 << 20,    /* longest text */
    VALUES_BYTES = 160 << 20, /* its values in memory */
    FHIR_DEPTH = 8,           /* Bundles in Bundles, contained in contained */
    TEXT_BYTES = 96,
    REASON_BYTES = 160,
    SHOWN_BYTES = 60,
};

struct reader {
    struct fact_sink sink;
    const struct zone *zone;
    struct weir_buf text;
    struct weir_json_doc *doc;
    uint64_t n_records;
    char error[READER_ERROR_BYTES];
};

/* What an Observation says besides its value: its parts have no day and source of their own. */
struct setting {
    int32_t day;
    struct moment at;
    bool has_time;
    struct weir_slice source;
};

/* ---- looking into values ---- */

static struct weir_slice text_at(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

/* The first element of an array, or what stands there instead of one. */
static const struct weir_json *first_of(const struct weir_json *v)
{
    return weir_json_type_of(v) == WEIR_JSON_ARRAY ? weir_json_first(v) : v;
}

static enum weir_status refuse(struct reader *r, struct weir_slice what, const char *why)
{
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "\"%.*s\" %s",
             (int)(what.len < SHOWN_BYTES ? what.len : SHOWN_BYTES), what.len > 0 ? what.ptr : "",
             why);
    r->sink.refuse(r->sink.user, r->n_records, reason);
    return WEIR_OK;
}

static void ignore(struct reader *r, const char *more, struct weir_slice type)
{
    char what[TEXT_BYTES];
    int len = snprintf(what, sizeof what, "FHIR %.*s%s",
                       (int)(type.len < SHOWN_BYTES ? type.len : SHOWN_BYTES),
                       type.len > 0 ? type.ptr : "", more);
    r->sink.ignore(r->sink.user, slice_of(what, len > 0 ? strlen(what) : 0));
}

/* ---- when ---- */

static bool read_time(struct reader *r, struct weir_slice text, struct setting *s)
{
    struct cell_time t;
    if (!cell_time(text, DATES_UNKNOWN, &t) || t.day == DAY_NONE) return false;
    s->has_time = t.has_time && (t.has_offset || r->zone);
    s->day = t.day;
    if (!s->has_time) return s->day >= DAY_MIN && s->day <= DAY_MAX;
    s->at = cell_moment(&t, r->zone);
    /* A time in UTC says nothing of the clock on the wall; the person's zone does. */
    if (t.has_offset && t.offset == 0 && r->zone) s->at.offset = zone_offset(r->zone, s->at.at);
    s->day = day_of_moment(s->at.at, s->at.offset);
    return s->day >= DAY_MIN && s->day <= DAY_MAX;
}

static struct weir_slice time_of(const struct weir_json *v)
{
    static const char *const keys[] = {"effectiveDateTime", "effectiveInstant", "issued"};
    struct weir_slice text = text_at(v, keys[0]);
    if (text.len == 0) text = text_at(weir_json_get_str(v, "effectivePeriod"), "start");
    for (size_t i = 1; text.len == 0 && i < sizeof keys / sizeof *keys; i++)
        text = text_at(v, keys[i]);
    return text;
}

/* ---- what ---- */

/* What a test is called, and what it is in the catalogue. */
struct meaning {
    const struct analyte *analyte;
    const struct metric *metric;
    struct weir_slice label;
};

static struct meaning meaning_of(const struct weir_json *code)
{
    struct meaning m = {.label = text_at(code, "text")};
    const struct weir_json *coding = weir_json_first(weir_json_get_str(code, "coding"));
    for (; coding; coding = weir_json_next(coding)) {
        struct weir_slice system = text_at(coding, "system");
        struct weir_slice display = text_at(coding, "display");
        if (m.label.len == 0) m.label = display;
        bool is_loinc = system.len == 0 || memmem(system.ptr, system.len, "loinc", 5) ||
                        weir_slice_is(system, "urn:oid:2.16.840.1.113883.6.1");
        if (!is_loinc || m.analyte || m.metric) continue;
        m.analyte = loinc_analyte(text_at(coding, "code"));
        m.metric = loinc_metric(text_at(coding, "code"));
        if (!m.analyte && !m.metric) m.analyte = lab_find(display);
    }
    if (!m.analyte && !m.metric) m.analyte = lab_find(m.label);
    return m;
}

/* ---- how much ---- */

struct quantity {
    double value;
    char comparator;
    struct weir_slice digits, unit, code;
};

static char comparator_of(struct weir_slice text)
{
    return text.len > 0 && (text.ptr[0] == '<' || text.ptr[0] == '>') ? text.ptr[0] : 0;
}

/* "<0.3", "5.4": a number that was written as text. */
static bool read_string(struct weir_slice text, struct quantity *out)
{
    struct weir_slice s = cell_trim(text);
    out->comparator = comparator_of(s);
    if (out->comparator) s = slice_from(s, 1);
    if (s.len > 0 && s.ptr[0] == '=') s = slice_from(s, 1);
    s = cell_trim(s);
    const char *blank = s.len > 0 ? memchr(s.ptr, ' ', s.len) : NULL;
    size_t len = blank ? (size_t)(blank - s.ptr) : s.len;
    out->digits = slice_of(s.ptr, len);
    if (blank) out->unit = cell_trim(slice_from(s, len + 1));
    return len > 0 && cell_decimal(out->digits, &out->value);
}

static bool read_quantity(const struct weir_json *v, struct quantity *out)
{
    const struct weir_json *q = weir_json_get_str(v, "valueQuantity");
    *out = (struct quantity){0};
    if (!q) {
        const struct weir_json *n = weir_json_get_str(v, "valueInteger");
        if (n) out->digits = weir_json_text(n);
        if (n) return weir_json_double(n, &out->value);
        return read_string(text_at(v, "valueString"), out);
    }
    const struct weir_json *value = weir_json_get_str(q, "value");
    out->digits = weir_json_text(value);
    out->unit = text_at(q, "unit");
    out->code = text_at(q, "code");
    if (out->unit.len == 0) out->unit = text_at(q, "units"); /* as DSTU1 called it */
    if (out->unit.len == 0) out->unit = out->code;
    out->comparator = comparator_of(text_at(q, "comparator"));
    return weir_json_double(value, &out->value) ||
           (weir_json_type_of(value) == WEIR_JSON_STRING &&
            cell_decimal(weir_json_text(value), &out->value));
}

/* The unit as it is printed, its code, and both as the catalogue would spell them. */
static bool convert(const struct meaning *m, const struct quantity *q, double *out)
{
    const struct weir_slice units[] = {q->unit, q->code};
    for (size_t i = 0; i < 2; i++) {
        char spelt[UCUM_BYTES];
        if (m->analyte && units[i].len > 0 && analyte_convert(m->analyte, units[i], q->value, out))
            return true;
        if (!ucum_spell(units[i], spelt)) continue;
        if (m->metric && unit_convert(spelt, m->metric->unit, q->value, out)) return true;
        if (m->analyte && analyte_convert(m->analyte, weir_slice_of(spelt), q->value, out))
            return true;
    }
    return false;
}

/* ---- handing over ---- */

/* "70 - 99", "< 5.7", or the range's own text. */
static struct weir_slice range_of(const struct weir_json *v, char out[TEXT_BYTES])
{
    const struct weir_json *range = first_of(weir_json_get_str(v, "referenceRange"));
    struct weir_slice text = text_at(range, "text");
    if (text.len > 0) return text;
    struct weir_slice low =
        weir_json_text(weir_json_get_str(weir_json_get_str(range, "low"), "value"));
    struct weir_slice high =
        weir_json_text(weir_json_get_str(weir_json_get_str(range, "high"), "value"));
    const char *between = low.len > 0 && high.len > 0 ? " - " : low.len > 0 ? " or more" : "";
    if (low.len + high.len == 0 || low.len + high.len > TEXT_BYTES - 16) return SLICE("");
    snprintf(out, TEXT_BYTES, "%s%.*s%s%.*s", low.len == 0 ? "up to " : "", (int)low.len,
             low.len > 0 ? low.ptr : "", between, (int)high.len, high.len > 0 ? high.ptr : "");
    return weir_slice_of(out);
}

/* "H", "L", …; an array in R4, one in DSTU2. */
static struct weir_slice flag_of(const struct weir_json *v)
{
    const struct weir_json *concept = first_of(weir_json_get_str(v, "interpretation"));
    struct weir_slice code = text_at(first_of(weir_json_get_str(concept, "coding")), "code");
    if (code.len == 0) code = text_at(concept, "text");
    return weir_slice_is(code, "N") ? SLICE("") : code;
}

/* "<0.3 mg/L" */
static void write_printed(char out[TEXT_BYTES], const struct quantity *q)
{
    char comparator[2] = {q->comparator, 0};
    snprintf(out, TEXT_BYTES, "%s%.*s%s%.*s", comparator,
             (int)(q->digits.len < 32 ? q->digits.len : 32), q->digits.ptr,
             q->unit.len > 0 ? " " : "", (int)(q->unit.len < 32 ? q->unit.len : 32),
             q->unit.len > 0 ? q->unit.ptr : "");
}

static enum weir_status give_lab(struct reader *r, const struct weir_json *v,
                                 const struct meaning *m, const struct quantity *q,
                                 const struct setting *s)
{
    char printed[TEXT_BYTES];
    char range[TEXT_BYTES];
    double value = q->value;
    const struct analyte *a = m->analyte;
    if (a && !convert(m, q, &value)) a = NULL;
    if (!a) value = q->value;
    if (a && q->comparator == 0 && (value < a->min || value > a->max))
        return refuse(r, m->label, "has a value that is not plausible");
    if (m->label.len == 0 && !a) return refuse(r, m->label, "has no name");
    write_printed(printed, q);
    struct lab lab = {
        .analyte = a,
        .label = m->label.len > 0 ? m->label : weir_slice_of(a->title),
        .day = s->day,
        .value = value,
        .comparator = q->comparator,
        .printed = weir_slice_of(printed),
        .unit = a ? weir_slice_of(a->unit) : q->unit,
        .range = range_of(v, range),
        .flag = flag_of(v),
        .source = {s->source, SOURCE_LAB},
    };
    return r->sink.lab(r->sink.user, &lab);
}

static enum weir_status give_vital(struct reader *r, const struct meaning *m,
                                   const struct quantity *q, const struct setting *s)
{
    double value;
    if (!convert(m, q, &value)) return refuse(r, q->unit, "is a unit that cannot be converted");
    struct source source = {s->source, SOURCE_SCALE};
    if (s->has_time)
        return r->sink.sample(r->sink.user, &(struct sample){.metric = m->metric,
                                                             .start = s->at,
                                                             .end = s->at,
                                                             .value = value,
                                                             .source = source});
    return r->sink.day_value(
        r->sink.user,
        &(struct day_value){.metric = m->metric, .day = s->day, .value = value, .source = source});
}

/* An Observation or a part of one; *n_given counts what had a number. */
static enum weir_status give(struct reader *r, const struct weir_json *v, const struct setting *s,
                             unsigned *n_given)
{
    struct quantity q;
    if (!read_quantity(v, &q)) return WEIR_OK;
    struct meaning m = meaning_of(weir_json_get_str(v, "code"));
    (*n_given)++;
    return m.metric ? give_vital(r, &m, &q, s) : give_lab(r, v, &m, &q, s);
}

static bool is_void(struct weir_slice status)
{
    return weir_slice_is(status, "entered-in-error") || weir_slice_is(status, "cancelled");
}

static enum weir_status read_observation(struct reader *r, const struct weir_json *v,
                                         struct weir_slice source)
{
    struct setting s = {.source = text_at(first_of(weir_json_get_str(v, "performer")), "display")};
    unsigned n_given = 0;
    r->n_records++;
    if (s.source.len == 0) s.source = source;
    if (is_void(text_at(v, "status"))) {
        ignore(r, " that was an error", SLICE("Observation"));
        return WEIR_OK;
    }
    struct weir_slice time = time_of(v);
    if (!read_time(r, time, &s)) return refuse(r, time, "is no date of a result");
    enum weir_status st = give(r, v, &s, &n_given);
    const struct weir_json *part = weir_json_first(weir_json_get_str(v, "component"));
    for (; part && st == WEIR_OK; part = weir_json_next(part)) st = give(r, part, &s, &n_given);
    if (st == WEIR_OK && n_given == 0) ignore(r, " without a number", SLICE("Observation"));
    return st;
}

static enum weir_status read_resource(struct reader *r, const struct weir_json *v,
                                      struct weir_slice source, unsigned depth);

/* The resources of a Bundle, or those inside of another. */
static enum weir_status read_list(struct reader *r, const struct weir_json *list, const char *key,
                                  struct weir_slice source, unsigned depth)
{
    enum weir_status st = WEIR_OK;
    for (const struct weir_json *v = weir_json_first(list); v && st == WEIR_OK;
         v = weir_json_next(v))
        st = read_resource(r, key ? weir_json_get_str(v, key) : v, source, depth + 1);
    return st;
}

static enum weir_status read_resource(struct reader *r, const struct weir_json *v,
                                      struct weir_slice source, unsigned depth)
{
    struct weir_slice type = text_at(v, "resourceType");
    if (depth == FHIR_DEPTH) return refuse(r, type, "is nested too deep");
    if (weir_json_type_of(v) == WEIR_JSON_ARRAY) return read_list(r, v, NULL, source, depth);
    if (weir_slice_is(type, "Bundle"))
        return read_list(r, weir_json_get_str(v, "entry"), "resource", source, depth);
    struct weir_slice by = text_at(first_of(weir_json_get_str(v, "performer")), "display");
    enum weir_status st = WEIR_OK;
    if (weir_slice_is(type, "Observation")) {
        st = read_observation(r, v, source);
    } else {
        r->n_records++;
        bool is_report = weir_slice_is(type, "DiagnosticReport");
        if (!is_report) ignore(r, type.len > 0 ? "" : "of no type", type);
    }
    if (st != WEIR_OK) return st;
    return read_list(r, weir_json_get_str(v, "contained"), NULL, by.len > 0 ? by : source, depth);
}

/* ---- the reader's face ---- */

static unsigned recognise(struct weir_slice file_name, struct weir_slice head)
{
    (void)file_name;
    if (head.len >= 3 && memcmp(head.ptr, "\xEF\xBB\xBF", 3) == 0) head = slice_from(head, 3);
    struct weir_slice s = cell_trim(head);
    if (s.len == 0 || (s.ptr[0] != '{' && s.ptr[0] != '[')) return 0;
    return memmem(s.ptr, s.len, "\"resourceType\"", 14) ? 92 : 0;
}

static void close_reader(struct reader *r)
{
    if (!r) return;
    weir_json_doc_free(r->doc);
    weir_buf_fini(&r->text);
    mem_free(r);
}

static enum weir_status open_reader(struct reader **out, const struct reader_context *c)
{
    struct reader *r = mem_zalloc(sizeof *r);
    *out = r;
    if (!r) return WEIR_NOMEM;
    r->sink = c->sink;
    r->zone = c->zone;
    weir_buf_init(&r->text, FHIR_BYTES);
    r->doc = weir_json_doc_new(VALUES_BYTES);
    if (r->doc) return WEIR_OK;
    close_reader(r);
    *out = NULL;
    return WEIR_NOMEM;
}

static enum weir_status feed(struct reader *r, struct weir_slice bytes)
{
    weir_buf_append_slice(&r->text, bytes);
    enum weir_status st = weir_buf_status(&r->text);
    if (st == WEIR_LIMIT)
        snprintf(r->error, sizeof r->error, "clinical records of more than 24 MiB in one file");
    return st;
}

static enum weir_status say_where(struct reader *r, struct weir_slice text, size_t offset,
                                  enum weir_status st)
{
    unsigned long line = 1;
    for (size_t i = 0; i < offset && i < text.len; i++) line += text.ptr[i] == '\n';
    snprintf(r->error, sizeof r->error, "line %lu: %s", line, weir_status_text(st));
    return st;
}

/* One resource on each line, as bulk exports have it. */
static enum weir_status read_lines(struct reader *r, struct weir_slice text)
{
    size_t begin = 0;
    while (begin < text.len) {
        const char *end = memchr(text.ptr + begin, '\n', text.len - begin);
        size_t len = end ? (size_t)(end - text.ptr) - begin : text.len - begin;
        struct weir_slice line = cell_trim(slice_of(text.ptr + begin, len));
        const struct weir_json *v;
        size_t offset;
        if (line.len > 0) {
            weir_json_doc_reset(r->doc);
            enum weir_status st = weir_json_parse(r->doc, line, &v, &offset);
            if (st != WEIR_OK) return say_where(r, text, begin, st);
            st = read_resource(r, v, SLICE("clinical record"), 0);
            if (st != WEIR_OK) return st;
        }
        begin += len + 1;
    }
    return WEIR_OK;
}

static enum weir_status end(struct reader *r)
{
    struct weir_slice text = weir_buf_slice(&r->text);
    const struct weir_json *v;
    size_t offset = 0;
    if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0) text = slice_from(text, 3);
    enum weir_status st = weir_json_parse(r->doc, text, &v, &offset);
    if (st == WEIR_OK) return read_resource(r, v, SLICE("clinical record"), 0);
    bool is_second = st == WEIR_JSON_SYNTAX && offset < text.len && text.ptr[offset] == '{';
    return is_second ? read_lines(r, text) : say_where(r, text, offset, st);
}

static uint64_t records(const struct reader *r)
{
    return r->n_records;
}

static const char *error(const struct reader *r)
{
    return r->error;
}

const struct reader_kind reader_fhir = {
    .name = "fhir",
    .title = "clinical records, FHIR in JSON",
    .recognise = recognise,
    .open = open_reader,
    .feed = feed,
    .end = end,
    .close = close_reader,
    .records = records,
    .error = error,
};
