/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apple Health's export.xml. Records, workouts and activity summaries become facts when their
 * element ends, for what stands inside may change them: HKTimeZone says what the clock showed,
 * HKWasUserEntered that a person typed it in. Records inside a Correlation stand in the file
 * twice; facts are a set, so they count once.
 *
 * The export's times carry the offset that the phone had when it wrote them; where a record
 * names its zone, that zone's offset takes its place. The moment is the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "import/apple_impl.h"
#include "import/cell.h"
#include "import/kinds.h"

enum {
    TYPE_BYTES = 96,
    UNIT_BYTES = 48,
    LABEL_BYTES = 64,
    REASON_BYTES = 160,
    SHOWN_BYTES = 60, /* of a wrong value, in a reason */
    N_ZONES = 16,
    ZONE_BYTES = 48,
    SECONDS_PER_MINUTE = 60,
};

/* What is being read: an element whose fact is made when it ends. */
enum pending_kind { PENDING_NONE, PENDING_SAMPLE, PENDING_STAGE, PENDING_WORKOUT };

struct pending {
    enum pending_kind kind;
    unsigned depth; /* of its element */
    struct sample sample;
    struct stage stage;
    struct workout workout;
    struct moment start, end;
    enum source_class source_kind;
    char source[APPLE_SOURCE_BYTES];
    size_t source_len;
    char label[LABEL_BYTES];
    bool has_total_km, has_total_kcal; /* from the element itself; statistics go before */
};

/* What the newest activity summary says: without a date of export it is known at the end. */
struct summary {
    bool is_there;
    int32_t day;
    double kcal, exercise, stand; /* NAN: not there */
};

struct reader {
    struct xml *xml;
    struct fact_sink sink;
    struct apple_clock clock;
    struct apple_sources sources;
    uint64_t n_records;
    char error[READER_ERROR_BYTES];

    char type_id[TYPE_BYTES]; /* the type seen last, and what it is */
    size_t type_id_len;
    struct apple_type type;
    const struct metric *unit_metric; /* the unit seen last, and what it is */
    char unit[UNIT_BYTES];
    size_t unit_len;
    struct apple_scale scale;

    struct {
        char name[ZONE_BYTES];
        struct zone *zone; /* NULL: there is none of this name */
    } zones[N_ZONES];
    unsigned n_zones;

    struct pending pending;
    struct summary summary;
    bool has_root;
    bool is_exported_known;
    struct moment exported;
    bool has_element; /* below the root: there is something in it */

    uint64_t mark;      /* behind the last child of the root that is wholly handled */
    uint64_t mark_line; /* of it, when it lies before `piece` */
    struct weir_slice piece;
    uint64_t piece_offset, piece_line;
};

/* ---- refusing ---- */

/* Printable, cut, for a reason. */
static int shown(struct weir_slice s)
{
    return (int)(s.len < SHOWN_BYTES ? s.len : SHOWN_BYTES);
}

static enum weir_status refuse(struct reader *r, const char *reason)
{
    r->sink.refuse(r->sink.user, xml_line(r->xml), reason);
    return WEIR_OK;
}

static enum weir_status refuse_value(struct reader *r, const char *what, struct weir_slice value,
                                     const char *why)
{
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "%s \"%.*s\" %s", what, shown(value),
             value.len > 0 ? value.ptr : "", why);
    return refuse(r, reason);
}

/* ---- attributes ---- */

/* Those of a Record, Workout or Correlation that matter. */
struct attrs {
    const struct xml_attr *type, *unit, *value, *source, *device, *start, *end;
    const struct xml_attr *workout, *duration, *duration_unit;
    const struct xml_attr *km, *km_unit, *kcal, *kcal_unit;
};

static const struct {
    const char *name;
    size_t len, at;
} known_attrs[] = {
#define ATTR(name, field)                                                                          \
    {                                                                                              \
        name, sizeof(name) - 1, offsetof(struct attrs, field)                                      \
    }
    ATTR("type", type),
    ATTR("unit", unit),
    ATTR("value", value),
    ATTR("sourceName", source),
    ATTR("device", device),
    ATTR("startDate", start),
    ATTR("endDate", end),
    ATTR("workoutActivityType", workout),
    ATTR("duration", duration),
    ATTR("durationUnit", duration_unit),
    ATTR("totalDistance", km),
    ATTR("totalDistanceUnit", km_unit),
    ATTR("totalEnergyBurned", kcal),
    ATTR("totalEnergyBurnedUnit", kcal_unit),
#undef ATTR
};

enum { N_KNOWN_ATTRS = sizeof known_attrs / sizeof *known_attrs };

static struct attrs find_attrs(const struct xml_tag *tag)
{
    struct attrs found = {0};
    for (size_t i = 0; i < tag->n_attrs; i++) {
        const struct xml_attr *a = &tag->attrs[i];
        for (size_t k = 0; k < N_KNOWN_ATTRS; k++) {
            if (a->name.len != known_attrs[k].len ||
                memcmp(a->name.ptr, known_attrs[k].name, a->name.len) != 0)
                continue;
            const struct xml_attr **to =
                (const struct xml_attr **)(void *)((char *)&found + known_attrs[k].at);
            /* Exports of 2022 write the end of some records as a second startDate. */
            if (!*to) *to = a;
            else if (to == &found.start && !found.end) found.end = a;
            break;
        }
    }
    return found;
}

static const struct xml_attr *find_attr(const struct xml_tag *tag, const char *name)
{
    for (size_t i = 0; i < tag->n_attrs; i++)
        if (weir_slice_is(tag->attrs[i].name, name)) return &tag->attrs[i];
    return NULL;
}

/* The value of an attribute, which may be missing: then it is empty. */
static enum weir_status text_of(struct reader *r, const struct xml_attr *a, struct weir_slice *out)
{
    *out = SLICE("");
    return !a || xml_value(r->xml, a, out) ? WEIR_OK : WEIR_INVALID;
}

/* A number, or NAN when it is missing or none. */
static double number_of(const struct xml_attr *a)
{
    double value;
    return a && a->is_plain && cell_decimal(a->raw, &value) ? value : NAN;
}

/* ---- units ---- */

static bool find_scale(struct reader *r, const struct metric *m, struct weir_slice unit)
{
    if (r->unit_metric == m && slice_eq(slice_of(r->unit, r->unit_len), unit)) return true;
    r->unit_metric = NULL;
    if (unit.len > UNIT_BYTES || !apple_scale_find(m, unit, &r->scale)) return false;
    if (unit.len > 0) memcpy(r->unit, unit.ptr, unit.len);
    r->unit_len = unit.len;
    r->unit_metric = m;
    return true;
}

/* A total or statistic in the unit of a metric; NAN when there is none. */
static double amount(struct reader *r, const char *metric, const struct xml_attr *value,
                     const struct xml_attr *unit)
{
    double n = number_of(value);
    struct weir_slice u;
    const struct metric *m = metric_find(weir_slice_of(metric));
    if (isnan(n) || text_of(r, unit, &u) != WEIR_OK || !m || !find_scale(r, m, u)) return NAN;
    return n * r->scale.factor + r->scale.offset;
}

/* ---- what begins ---- */

static enum weir_status read_span(struct reader *r, const struct attrs *a, bool *is_refused)
{
    struct weir_slice text;
    struct pending *p = &r->pending;
    *is_refused = true;
    enum weir_status st = text_of(r, a->start, &text);
    if (st != WEIR_OK) return st;
    if (!a->start) return refuse(r, "there is no startDate");
    if (!apple_moment(&r->clock, text, &p->start))
        return refuse_value(r, "startDate", text, "is no time from 1900 to 2169");
    p->end = p->start;
    st = text_of(r, a->end, &text);
    if (st != WEIR_OK) return st;
    if (a->end && !apple_moment(&r->clock, text, &p->end))
        return refuse_value(r, "endDate", text, "is no time from 1900 to 2169");
    if (p->end.at < p->start.at) return refuse_value(r, "endDate", text, "is before the startDate");
    *is_refused = false;
    return WEIR_OK;
}

static enum weir_status read_source(struct reader *r, const struct attrs *a)
{
    struct source source;
    struct pending *p = &r->pending;
    if (!apple_source_find(&r->sources, r->xml, a->source, a->device, &source)) return WEIR_INVALID;
    p->source_len = source.name.len;
    if (source.name.len > 0) memcpy(p->source, source.name.ptr, source.name.len);
    p->source_kind = source.kind;
    return WEIR_OK;
}

static enum weir_status begin_quantity(struct reader *r, const struct attrs *a)
{
    struct weir_slice text;
    const struct metric *m = r->type.metric;
    enum weir_status st = text_of(r, a->value, &text);
    if (st != WEIR_OK) return st;
    if (!a->value) return refuse(r, "there is no value");
    double value;
    if (!cell_decimal(text, &value)) return refuse_value(r, "value", text, "is no number");
    st = text_of(r, a->unit, &text);
    if (st != WEIR_OK) return st;
    if (!find_scale(r, m, text)) {
        char why[REASON_BYTES];
        snprintf(why, sizeof why, "cannot be converted to %s, the unit of %s", m->unit, m->title);
        return refuse_value(r, "unit", text, why);
    }
    r->pending.sample.value = value * r->scale.factor + r->scale.offset;
    r->pending.kind = PENDING_SAMPLE;
    return WEIR_OK;
}

static enum weir_status begin_stage(struct reader *r, const struct attrs *a)
{
    struct weir_slice text;
    enum weir_status st = text_of(r, a->value, &text);
    if (st != WEIR_OK) return st;
    if (!apple_stage_find(text, &r->pending.stage.stage))
        return refuse_value(r, "value", text, "is no stage of sleep");
    r->pending.kind = PENDING_STAGE;
    return WEIR_OK;
}

static enum weir_status begin_stand(struct reader *r, const struct attrs *a)
{
    struct weir_slice text;
    enum weir_status st = text_of(r, a->value, &text);
    if (st != WEIR_OK) return st;
    bool has_stood = weir_slice_is(text, "HKCategoryValueAppleStandHourStood");
    if (!has_stood && !weir_slice_is(text, "0")) return WEIR_OK;
    r->pending.sample.value = 1;
    r->pending.kind = PENDING_SAMPLE;
    return WEIR_OK;
}

static enum weir_status find_type(struct reader *r, const struct xml_attr *a)
{
    struct weir_slice id;
    if (a && a->is_plain && slice_eq(a->raw, slice_of(r->type_id, r->type_id_len))) return WEIR_OK;
    enum weir_status st = text_of(r, a, &id);
    if (st != WEIR_OK) return st;
    r->type = apple_type_find(id);
    r->type_id_len = id.len < TYPE_BYTES ? id.len : 0;
    if (r->type_id_len > 0) memcpy(r->type_id, id.ptr, id.len);
    return WEIR_OK;
}

static enum weir_status begin_record(struct reader *r, const struct xml_tag *tag)
{
    struct attrs a = find_attrs(tag);
    bool is_refused;
    r->n_records++;
    enum weir_status st = find_type(r, a.type);
    if (st != WEIR_OK) return st;
    if (r->type.what == APPLE_UNKNOWN) {
        struct weir_slice id = a.type ? a.type->raw : SLICE("Record without a type");
        r->sink.ignore(r->sink.user, id);
        return WEIR_OK;
    }
    st = read_span(r, &a, &is_refused);
    if (st != WEIR_OK || is_refused) return st;
    st = read_source(r, &a);
    if (st != WEIR_OK) return st;
    r->pending.depth = tag->depth;
    r->pending.sample.metric = r->type.metric;
    if (r->type.what == APPLE_QUANTITY) return begin_quantity(r, &a);
    if (r->type.what == APPLE_SLEEP) return begin_stage(r, &a);
    if (r->type.what == APPLE_STAND) return begin_stand(r, &a);
    r->pending.sample.value =
        (double)(r->pending.end.at - r->pending.start.at) / SECONDS_PER_MINUTE;
    r->pending.kind = PENDING_SAMPLE;
    return WEIR_OK;
}

static double positive(double x)
{
    return x > 0 ? x : NAN;
}

static enum weir_status begin_workout(struct reader *r, const struct xml_tag *tag)
{
    struct attrs a = find_attrs(tag);
    struct pending *p = &r->pending;
    struct weir_slice type;
    struct weir_slice label;
    bool is_refused;
    r->n_records++;
    enum weir_status st = read_span(r, &a, &is_refused);
    if (st != WEIR_OK || is_refused) return st;
    st = read_source(r, &a);
    if (st != WEIR_OK) return st;
    st = text_of(r, a.workout, &type);
    if (st != WEIR_OK) return st;
    double minutes = amount(r, "active_minutes", a.duration, a.duration_unit);
    if (a.duration && !a.duration_unit) minutes = number_of(a.duration);
    /* Nobody walks no way: totals of an export that has none are zeros. */
    p->workout = (struct workout){
        .activity = apple_activity_find(type, &label),
        .minutes = minutes > 0 ? minutes : (double)(p->end.at - p->start.at) / SECONDS_PER_MINUTE,
        .km = positive(amount(r, "distance", a.km, a.km_unit)),
        .kcal = positive(amount(r, "active_energy", a.kcal, a.kcal_unit)),
        .avg_hr = NAN,
        .max_hr = NAN,
        .steps = NAN,
        .ascent_m = NAN,
    };
    size_t len = label.len < LABEL_BYTES ? label.len : LABEL_BYTES;
    if (len > 0) memcpy(p->label, label.ptr, len);
    p->workout.label = slice_of(p->label, len);
    p->has_total_km = !isnan(p->workout.km);
    p->has_total_kcal = !isnan(p->workout.kcal);
    p->depth = tag->depth;
    p->kind = PENDING_WORKOUT;
    return WEIR_OK;
}

/* ---- what stands inside ---- */

static void read_statistics(struct reader *r, const struct xml_tag *tag)
{
    static const char distance[] = "HKQuantityTypeIdentifierDistance";
    struct workout *w = &r->pending.workout;
    const struct xml_attr *type = find_attr(tag, "type");
    const struct xml_attr *unit = find_attr(tag, "unit");
    const struct xml_attr *sum = find_attr(tag, "sum");
    if (!type) return;
    bool is_distance = type->raw.len > sizeof distance - 1 &&
                       memcmp(type->raw.ptr, distance, sizeof distance - 1) == 0;
    if (is_distance) {
        double km = positive(amount(r, "distance", sum, unit));
        if (!isnan(km)) w->km = isnan(w->km) || r->pending.has_total_km ? km : w->km + km;
        if (!isnan(km)) r->pending.has_total_km = false;
    } else if (weir_slice_is(type->raw, "HKQuantityTypeIdentifierActiveEnergyBurned")) {
        double kcal = positive(amount(r, "active_energy", sum, unit));
        if (!isnan(kcal)) w->kcal = kcal;
    } else if (weir_slice_is(type->raw, "HKQuantityTypeIdentifierStepCount")) {
        w->steps = amount(r, "steps", sum, unit);
    } else if (weir_slice_is(type->raw, "HKQuantityTypeIdentifierHeartRate")) {
        w->avg_hr = amount(r, "heart_rate", find_attr(tag, "average"), unit);
        w->max_hr = amount(r, "heart_rate", find_attr(tag, "maximum"), unit);
    }
}

static const struct zone *find_zone(struct reader *r, struct weir_slice name)
{
    unsigned i = 0;
    if (name.len == 0 || name.len >= ZONE_BYTES) return NULL;
    while (i < r->n_zones && !weir_slice_is(name, r->zones[i].name)) i++;
    if (i < r->n_zones) return r->zones[i].zone;
    if (i == N_ZONES) zone_free(r->zones[i = N_ZONES - 1].zone);
    memcpy(r->zones[i].name, name.ptr, name.len);
    r->zones[i].name[name.len] = 0;
    r->zones[i].zone = NULL;
    if (r->n_zones < N_ZONES) r->n_zones++;
    /* "GMT-0500" is what a phone without a place says. */
    const char *text = r->zones[i].name;
    bool is_fixed = strncmp(text, "GMT", 3) == 0 && (text[3] == '+' || text[3] == '-');
    if (zone_load(&r->zones[i].zone, is_fixed ? text + 3 : text) != WEIR_OK)
        r->zones[i].zone = NULL;
    return r->zones[i].zone;
}

/* "418 cm": the catalogue's height is in centimetres, an ascent in metres. */
static void read_ascent(struct reader *r, struct weir_slice text)
{
    const struct metric *height = metric_find(SLICE("height"));
    const char *blank = text.len > 0 ? memchr(text.ptr, ' ', text.len) : NULL;
    double value;
    if (!blank || !height) return;
    size_t len = (size_t)(blank - text.ptr);
    if (!cell_decimal(slice_of(text.ptr, len), &value)) return;
    if (!find_scale(r, height, slice_from(text, len + 1))) return;
    r->pending.workout.ascent_m = (value * r->scale.factor + r->scale.offset) / 100;
}

static enum weir_status read_metadata(struct reader *r, const struct xml_tag *tag)
{
    struct pending *p = &r->pending;
    const struct xml_attr *key = find_attr(tag, "key");
    struct weir_slice value;
    if (p->kind == PENDING_NONE || tag->depth != p->depth + 1 || !key) return WEIR_OK;
    bool is_entered = weir_slice_is(key->raw, "HKWasUserEntered");
    bool is_zone = !is_entered && weir_slice_is(key->raw, "HKTimeZone");
    bool is_ascent = p->kind == PENDING_WORKOUT && weir_slice_is(key->raw, "HKElevationAscended");
    if (!is_entered && !is_zone && !is_ascent) return WEIR_OK;
    enum weir_status st = text_of(r, find_attr(tag, "value"), &value);
    if (st != WEIR_OK) return st;
    if (is_entered && weir_slice_is(value, "1")) p->source_kind = SOURCE_MANUAL;
    if (is_ascent) read_ascent(r, value);
    const struct zone *zone = is_zone ? find_zone(r, value) : NULL;
    if (!zone) return WEIR_OK;
    p->start.offset = zone_offset(zone, p->start.at);
    p->end.offset = zone_offset(zone, p->end.at);
    return WEIR_OK;
}

/* ---- what ends ---- */

static enum weir_status end_pending(struct reader *r)
{
    struct pending *p = &r->pending;
    struct source source = {slice_of(p->source, p->source_len), p->source_kind};
    enum pending_kind kind = p->kind;
    p->kind = PENDING_NONE;
    if (kind == PENDING_SAMPLE) {
        p->sample.start = p->start;
        p->sample.end = p->end;
        p->sample.source = source;
        return r->sink.sample(r->sink.user, &p->sample);
    }
    if (kind == PENDING_STAGE) {
        p->stage.start = p->start;
        p->stage.end = p->end;
        p->stage.source = source;
        return r->sink.stage(r->sink.user, &p->stage);
    }
    p->workout.start = p->start;
    p->workout.day = day_of_moment(p->start.at, p->start.offset);
    p->workout.source = source;
    return r->sink.workout(r->sink.user, &p->workout);
}

/* ---- activity summaries ---- */

static enum weir_status hand_over_value(struct reader *r, const char *metric, double value,
                                        bool is_partial)
{
    if (isnan(value)) return WEIR_OK;
    struct day_value v = {
        .metric = metric_find(weir_slice_of(metric)),
        .day = r->summary.day,
        .value = value,
        .is_partial = is_partial,
        .source = {SLICE("Apple Health activity summary"), SOURCE_WATCH},
    };
    return v.metric ? r->sink.day_value(r->sink.user, &v) : WEIR_OK;
}

static enum weir_status hand_over_summary(struct reader *r, bool is_partial)
{
    const struct summary s = r->summary;
    r->summary.is_there = false;
    if (!s.is_there) return WEIR_OK;
    enum weir_status st = hand_over_value(r, "active_energy", s.kcal, is_partial);
    if (st == WEIR_OK) st = hand_over_value(r, "active_minutes", s.exercise, is_partial);
    if (st == WEIR_OK) st = hand_over_value(r, "stand_hours", s.stand, is_partial);
    return st;
}

/* A day on which all is zero is one without a watch, which the export lists all the same. */
static bool is_worn(const struct summary *s)
{
    return s->kcal > 0 || s->exercise > 0 || s->stand > 0;
}

static enum weir_status read_summary(struct reader *r, const struct xml_tag *tag)
{
    struct weir_slice date;
    r->n_records++;
    enum weir_status st = text_of(r, find_attr(tag, "dateComponents"), &date);
    if (st != WEIR_OK) return st;
    int32_t day = day_parse(date);
    if (day < DAY_MIN || day > DAY_MAX)
        return refuse_value(r, "dateComponents", date, "is no date from 1900 to 2169");
    struct summary s = {
        .is_there = true,
        .day = day,
        .kcal = amount(r, "active_energy", find_attr(tag, "activeEnergyBurned"),
                       find_attr(tag, "activeEnergyBurnedUnit")),
        .exercise = number_of(find_attr(tag, "appleExerciseTime")),
        .stand = number_of(find_attr(tag, "appleStandHours")),
    };
    if (!is_worn(&s)) {
        r->sink.ignore(r->sink.user, SLICE("ActivitySummary of a day without a watch"));
        return WEIR_OK;
    }
    if (r->is_exported_known) {
        r->summary = s;
        return hand_over_summary(r, s.day >= day_of_moment(r->exported.at, r->exported.offset));
    }
    struct summary held = r->summary;
    if (held.is_there && held.day >= s.day) r->summary = s;
    st = hand_over_summary(r, false);
    r->summary = held.is_there && held.day >= s.day ? held : s;
    return st;
}

static enum weir_status read_exported(struct reader *r, const struct xml_tag *tag)
{
    struct weir_slice text;
    enum weir_status st = text_of(r, find_attr(tag, "value"), &text);
    if (st != WEIR_OK) return st;
    if (!apple_moment(&r->clock, text, &r->exported))
        return refuse_value(r, "ExportDate", text, "is no time");
    r->is_exported_known = true;
    return r->sink.exported ? r->sink.exported(r->sink.user, r->exported) : WEIR_OK;
}

/* ---- tags ---- */

static enum weir_status begin_child(struct reader *r, const struct xml_tag *tag)
{
    r->has_element = true;
    if (weir_slice_is(tag->name, "Workout")) return begin_workout(r, tag);
    if (weir_slice_is(tag->name, "ActivitySummary")) return read_summary(r, tag);
    if (weir_slice_is(tag->name, "ExportDate")) return read_exported(r, tag);
    bool is_known = weir_slice_is(tag->name, "Correlation") || weir_slice_is(tag->name, "Me");
    if (!is_known) r->sink.ignore(r->sink.user, tag->name);
    return WEIR_OK;
}

static enum weir_status begin_root(struct reader *r, const struct xml_tag *tag)
{
    r->has_root = true;
    if (weir_slice_is(tag->name, "HealthData")) return WEIR_OK;
    snprintf(r->error, sizeof r->error,
             "line %llu: the root element is <%.*s>, not <HealthData>: this is no export of Apple "
             "Health",
             (unsigned long long)xml_line(r->xml), shown(tag->name), tag->name.ptr);
    return WEIR_INVALID;
}

static enum weir_status on_start(void *user, const struct xml_tag *tag)
{
    struct reader *r = user;
    struct pending *p = &r->pending;
    if (weir_slice_is(tag->name, "Record") && p->kind == PENDING_NONE && tag->depth <= 3)
        return begin_record(r, tag);
    if (weir_slice_is(tag->name, "MetadataEntry")) return read_metadata(r, tag);
    if (tag->depth == 2) return begin_child(r, tag);
    if (tag->depth == 1) return begin_root(r, tag);
    if (p->kind == PENDING_WORKOUT && tag->depth == p->depth + 1 &&
        weir_slice_is(tag->name, "WorkoutStatistics"))
        read_statistics(r, tag);
    return WEIR_OK;
}

static enum weir_status on_end(void *user, const struct xml_tag *tag)
{
    struct reader *r = user;
    if (r->pending.kind != PENDING_NONE && tag->depth == r->pending.depth) {
        enum weir_status st = end_pending(r);
        if (st != WEIR_OK) return st;
    }
    if (tag->depth == 2) r->mark = tag->offset;
    return WEIR_OK;
}

/* ---- the reader's face ---- */

static unsigned recognise(struct weir_slice file_name, struct weir_slice head)
{
    (void)file_name;
    if (head.len == 0) return 0;
    if (memmem(head.ptr, head.len, "<!DOCTYPE HealthData", 20)) return 100;
    return memmem(head.ptr, head.len, "<HealthData", 11) ? 95 : 0;
}

static struct reader *make(const struct reader_context *c)
{
    struct reader *r = mem_zalloc(sizeof *r);
    if (!r) return NULL;
    r->sink = c->sink;
    r->clock.zone = c->zone;
    r->piece_line = r->mark_line = 1;
    return r;
}

static void close_reader(struct reader *r)
{
    if (!r) return;
    for (unsigned i = 0; i < r->n_zones; i++) zone_free(r->zones[i].zone);
    xml_free(r->xml);
    mem_free(r);
}

static enum weir_status open_reader(struct reader **out, const struct reader_context *c)
{
    struct reader *r = make(c);
    *out = r;
    if (!r) return WEIR_NOMEM;
    r->xml = xml_new(&(struct xml_handler){r, on_start, on_end});
    if (r->xml) return WEIR_OK;
    close_reader(r);
    *out = NULL;
    return WEIR_NOMEM;
}

/* The line of a byte of the piece that is being read. */
static uint64_t line_in_piece(const struct reader *r, uint64_t at)
{
    uint64_t line = r->piece_line;
    for (uint64_t i = 0; i < at; i++) line += r->piece.ptr[i] == '\n';
    return line;
}

/* "273668 1743426000 -14400": the line of the mark and when the file was written. */
static void write_note(const struct reader *r, char out[READER_NOTE_BYTES])
{
    bool is_here = r->piece.len > 0 && r->mark >= r->piece_offset;
    uint64_t line = is_here ? line_in_piece(r, r->mark - r->piece_offset) : r->mark_line;
    snprintf(out, READER_NOTE_BYTES, "%llu %lld %d", (unsigned long long)line,
             (long long)r->exported.at, (int)r->exported.offset);
}

/* The next whole number of a note; false when there is none. */
static bool next_number(struct weir_slice *note, int64_t *out)
{
    const char *blank = note->len > 0 ? memchr(note->ptr, ' ', note->len) : NULL;
    size_t len = blank ? (size_t)(blank - note->ptr) : note->len;
    double value;
    if (!cell_decimal(slice_of(note->ptr, len), &value) || fabs(value) > 1e15) return false;
    *out = (int64_t)value;
    *note = slice_from(*note, blank ? len + 1 : len);
    return true;
}

static enum weir_status resume(struct reader **out, const struct reader_context *c, uint64_t mark)
{
    struct weir_slice note = c->note;
    int64_t line;
    int64_t at;
    int64_t offset;
    *out = NULL;
    if (!next_number(&note, &line) || !next_number(&note, &at) || !next_number(&note, &offset))
        return WEIR_INVALID;
    struct reader *r = make(c);
    if (!r) return WEIR_NOMEM;
    r->is_exported_known = r->has_root = r->has_element = true;
    r->exported = (struct moment){at, (int32_t)offset};
    r->mark = r->piece_offset = mark;
    r->mark_line = r->piece_line = (uint64_t)line;
    r->xml = xml_new_inside(&(struct xml_handler){r, on_start, on_end}, SLICE("HealthData"), mark,
                            (uint64_t)line);
    if (!r->xml) {
        close_reader(r);
        return WEIR_NOMEM;
    }
    *out = r;
    return r->sink.exported ? r->sink.exported(r->sink.user, r->exported) : WEIR_OK;
}

/* Says where, when it is the file that is wrong. */
static enum weir_status failed(struct reader *r, enum weir_status st)
{
    const char *why = xml_error(r->xml);
    if (st != WEIR_OK && r->error[0] == 0 && why[0] != 0)
        snprintf(r->error, sizeof r->error, "line %llu: %s", (unsigned long long)xml_line(r->xml),
                 why);
    return st;
}

static enum weir_status feed(struct reader *r, struct weir_slice bytes)
{
    r->piece = bytes;
    enum weir_status st = xml_feed(r->xml, bytes);
    if (st == WEIR_OK) {
        if (r->mark >= r->piece_offset) r->mark_line = line_in_piece(r, r->mark - r->piece_offset);
        r->piece_line = line_in_piece(r, bytes.len);
        r->piece_offset += bytes.len;
    }
    r->piece = SLICE("");
    return failed(r, st);
}

static enum weir_status end(struct reader *r)
{
    enum weir_status st = xml_end(r->xml);
    if (st != WEIR_OK) return failed(r, st);
    if (!r->has_element) {
        snprintf(r->error, sizeof r->error, "the export is empty: <HealthData> has no elements");
        return WEIR_INVALID;
    }
    return hand_over_summary(r, true);
}

static uint64_t records(const struct reader *r)
{
    return r->n_records;
}

static const char *error(const struct reader *r)
{
    return r->error;
}

/* Without a date of export the newest summary is held back, and nothing may be skipped. */
static uint64_t mark(const struct reader *r)
{
    return r->is_exported_known ? r->mark : 0;
}

static uint64_t line(const struct reader *r)
{
    return xml_line(r->xml);
}

const struct reader_kind reader_apple = {
    .name = "apple",
    .title = "Apple Health export (export.zip, export.xml)",
    .recognise = recognise,
    .open = open_reader,
    .feed = feed,
    .end = end,
    .close = close_reader,
    .records = records,
    .error = error,
    .mark = mark,
    .resume = resume,
    .note = write_note,
    .line = line,
};
