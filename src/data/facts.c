/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch: facts are checked, made small, and kept until they are flushed. Nothing is read from
 * the store here but, once, which sources and metrics there are.
 *
 * A fact that cannot be kept (no number, no such day, a sample of months) is refused: counted, and
 * told to whoever asked to hear of it.
 */
#include "data/series.h"

#include <math.h>

#include "base/mem.h"
#include "base/slice.h"
#include "data/facts_impl.h"
#include "data/night.h"

void *rows_push(struct rows *r, size_t size)
{
    if (r->n == r->cap) {
        size_t cap = r->cap > 0 ? r->cap * 2 : 64;
        void *ptr = mem_realloc(r->ptr, cap * size);
        if (!ptr) return NULL;
        r->ptr = ptr;
        r->cap = cap;
    }
    return (char *)r->ptr + size * r->n++;
}

void facts_summary(const struct facts *f, struct facts_summary *out)
{
    *out = f->summary;
}

void facts_on_refuse(struct facts *f, void (*refuse)(void *user, const char *reason), void *user)
{
    f->refuse = refuse;
    f->refuse_user = user;
}

void facts_next_file(struct facts *f)
{
    f->exported.at = INT64_MIN;
}

bool facts_is_full(const struct facts *f)
{
    size_t n = f->facts.n + f->days.n + f->sleeps.n + f->workouts.n + f->labs.n;
    return n >= FACTS_BATCH || f->texts.n_bytes > FACTS_TEXT_BYTES / 2;
}

/* ---- names of metrics ---- */

const struct metric *facts_metric(uint16_t metric)
{
    static const struct metric own = {.name = "",
                                      .title = "",
                                      .unit = "",
                                      .aliases = "",
                                      .group = "own",
                                      .min = -INFINITY,
                                      .max = INFINITY,
                                      .source = ""};
    if (metric >= FACTS_FOLLOWER_FIRST) return metric_at(metric - FACTS_FOLLOWER_FIRST);
    return metric < FACTS_OWN_FIRST ? metric_at(metric) : &own;
}

void facts_metric_name(const struct facts *f, uint16_t metric, char out[DOC_MAX_NAME + 8])
{
    const char *prefix = "";
    struct weir_slice name;
    if (metric == FACTS_STAGE) {
        name = SLICE("sleep_stage");
    } else if (metric >= FACTS_FOLLOWER_FIRST) {
        prefix = "via:";
        name = weir_slice_of(metric_at(metric - FACTS_FOLLOWER_FIRST)->name);
    } else if (metric >= FACTS_OWN_FIRST) {
        prefix = "own:";
        name = ((const struct weir_slice *)f->own.ptr)[metric - FACTS_OWN_FIRST];
    } else {
        name = weir_slice_of(metric_at(metric)->name);
    }
    size_t len = strlen(prefix), rest = name.len < DOC_MAX_NAME ? name.len : DOC_MAX_NAME;
    memcpy(out, prefix, len);
    memcpy(out + len, name.ptr, rest);
    out[len + rest] = '\0';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '_' || c == '-' || (unsigned char)c < 0x20;
}

/* "Morning  Mood " and "morning_mood" are one metric. Returns the length; 0: no name. */
static size_t plain_name(struct weir_slice name, char out[DOC_MAX_NAME])
{
    size_t n = 0;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (is_blank(c)) {
            if (n == 0 || out[n - 1] == '_') continue;
            c = '_';
        }
        if (n == DOC_MAX_NAME - 8) return 0;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return n > 0 && out[n - 1] == '_' ? n - 1 : n;
}

static enum weir_status add_own(struct facts *f, struct weir_slice name)
{
    char *copy = arena_alloc(&f->stays, name.len);
    struct weir_slice *place = copy ? rows_push(&f->own, sizeof *place) : NULL;
    if (!place) return WEIR_NOMEM;
    memcpy(copy, name.ptr, name.len);
    *place = slice_of(copy, name.len);
    return map_put(&f->own_by_name, *place, (void *)(uintptr_t)f->own.n);
}

/* Those that are stored are known from the start: the ceiling is on all of them. */
static enum weir_status load_own(struct facts *f)
{
    const struct index_row *rows = f->index.ptr;
    for (size_t i = 0; i < f->index.n; i++) {
        struct weir_slice name = rows[i].name;
        if (name.len < 5 || memcmp(name.ptr, "own:", 4) != 0) continue;
        enum weir_status st = add_own(f, slice_from(name, 4));
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* The number of a metric of the person's own; 0: it has no usable name, or there are too many. */
static enum weir_status own_metric(struct facts *f, struct weir_slice name, uint16_t *out)
{
    char plain[DOC_MAX_NAME];
    size_t len = plain_name(name, plain);
    *out = 0;
    if (len == 0) return WEIR_OK;
    uintptr_t number = (uintptr_t)map_get(&f->own_by_name, slice_of(plain, len));
    if (number == 0) {
        if (f->own.n == FACTS_OWN) return WEIR_OK;
        enum weir_status st = add_own(f, slice_of(plain, len));
        if (st != WEIR_OK) return st;
        number = f->own.n;
    }
    *out = (uint16_t)(FACTS_OWN_FIRST + number - 1);
    return WEIR_OK;
}

/* ---- life ---- */

enum { NAMES_BYTES = 4 << 20, MAX_USER = 96 };

static bool is_user(struct weir_slice user)
{
    return user.len > 0 && user.len <= MAX_USER && !memchr(user.ptr, '/', user.len);
}

enum weir_status facts_open(struct facts **out, struct store *store, struct weir_slice user)
{
    *out = NULL;
    if (!is_user(user)) return WEIR_INVALID;
    struct facts *f = mem_zalloc(sizeof *f);
    if (!f) return WEIR_NOMEM;
    f->store = store;
    f->exported.at = INT64_MIN;
    arena_init(&f->stays, NAMES_BYTES);
    arena_init(&f->texts, FACTS_TEXT_BYTES);
    map_init(&f->by_name, DOC_MAX_SOURCES);
    map_init(&f->own_by_name, FACTS_OWN);
    char *name = arena_alloc(&f->stays, user.len);
    if (!name) {
        facts_close(f);
        return WEIR_NOMEM;
    }
    memcpy(name, user.ptr, user.len);
    f->user = slice_of(name, user.len);
    enum weir_status st = facts_load(f);
    if (st == WEIR_OK) st = load_own(f);
    if (st != WEIR_OK) {
        facts_close(f);
        return st;
    }
    *out = f;
    return WEIR_OK;
}

void facts_close(struct facts *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n_sources; i++) {
        mem_free(f->known[i]->worn.ptr);
        mem_free(f->known[i]->news.ptr);
    }
    struct rows *all[] = {&f->index,  &f->own,      &f->facts, &f->days,
                          &f->sleeps, &f->workouts, &f->labs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) mem_free(all[i]->ptr);
    mem_free(f->known);
    mem_free(f->sources);
    mem_free(f->kinds);
    map_fini(&f->by_name);
    map_fini(&f->own_by_name);
    arena_fini(&f->stays);
    arena_fini(&f->texts);
    mem_free(f);
}

/* ---- taking facts ---- */

void facts_refuse(struct facts *f, const char *reason)
{
    f->summary.n_refused++;
    if (f->refuse) f->refuse(f->refuse_user, reason);
}

static enum weir_status refuse(struct facts *f, const char *reason)
{
    facts_refuse(f, reason);
    return WEIR_OK;
}

/* Before anything else: NULL when the fact may come in. */
static const char *moment_flaw(struct moment m)
{
    if (m.offset < -FACTS_MAX_OFFSET || m.offset > FACTS_MAX_OFFSET)
        return "the offset from UTC is more than 18 hours";
    if (m.at < (int64_t)DAY_MIN * DAY_SECONDS || m.at >= (int64_t)DAY_MAX * DAY_SECONDS)
        return "the time is before 1900 or after 2169";
    if (day_of_moment(m.at, m.offset) == DAY_NONE) return "the time is before 1900 or after 2169";
    return NULL;
}

static const char *span_flaw(struct moment start, struct moment end)
{
    const char *flaw = moment_flaw(start);
    if (!flaw) flaw = moment_flaw(end);
    if (flaw) return flaw;
    if (end.at < start.at) return "it ends before it begins";
    if (end.at - start.at > FACTS_MAX_SECONDS) return "it lasts longer than 31 days";
    return NULL;
}

static const char *day_flaw(int32_t day)
{
    return day < DAY_MIN || day > DAY_MAX ? "the day is before 1900 or after 2169" : NULL;
}

/* The source of a fact that is taken; counts it. NULL: *st, or it was refused. */
static struct known_source *admit(struct facts *f, const struct source *source,
                                  enum weir_status *st)
{
    struct known_source *s = facts_source(f, source, st);
    if (!s && *st == WEIR_LIMIT) *st = refuse(f, "there are more than 4096 sources");
    if (s) f->summary.n_facts++;
    return s;
}

static enum weir_status take_day_value(void *user, const struct day_value *v);

/* What belongs to a night is the value of a day: that of waking. */
static enum weir_status take_night_value(struct facts *f, const struct sample *s)
{
    struct day_value v = {.metric = s->metric,
                          .day = day_of_moment(s->end.at, s->end.offset),
                          .value = s->value,
                          .source = s->source};
    return take_day_value(f, &v);
}

static enum weir_status take_sample(void *user, const struct sample *s)
{
    struct facts *f = user;
    if (facts_is_full(f)) return WEIR_BUSY;
    const char *flaw = span_flaw(s->start, s->end);
    if (!flaw && !isfinite(s->value)) flaw = "the value is no number";
    if (flaw) return refuse(f, flaw);
    if (night_is_metric((uint16_t)metric_index(s->metric))) return take_night_value(f, s);
    enum weir_status st = WEIR_OK;
    struct known_source *source = admit(f, &s->source, &st);
    if (!source) return st;
    struct fact *place = rows_push(&f->facts, sizeof *place);
    if (!place) return WEIR_NOMEM;
    *place = (struct fact){.at = s->start.at,
                           .value = s->value + 0.0, /* minus zero is zero */
                           .seconds = (uint32_t)(s->end.at - s->start.at),
                           .offset = s->start.offset,
                           .end_offset = s->end.offset,
                           .metric = (uint16_t)metric_index(s->metric),
                           .source = source->id};
    facts_note_worn(f, source, s->metric, day_of_moment(s->start.at, s->start.offset), s->value);
    return WEIR_OK;
}

static enum weir_status take_day_value(void *user, const struct day_value *v)
{
    struct facts *f = user;
    if (facts_is_full(f)) return WEIR_BUSY;
    const char *flaw = day_flaw(v->day);
    if (!flaw && !isfinite(v->value)) flaw = "the value is no number";
    if (flaw) return refuse(f, flaw);
    enum weir_status st = WEIR_OK;
    uint16_t metric = 0;
    if (v->metric) metric = (uint16_t)metric_index(v->metric);
    else st = own_metric(f, v->name, &metric);
    if (st != WEIR_OK) return st;
    if (!v->metric && metric == 0)
        return refuse(f, "a column without a usable name, or more than 1000 of one's own");
    struct known_source *source = admit(f, &v->source, &st);
    if (!source) return st;
    struct given_day *place = rows_push(&f->days, sizeof *place);
    if (!place) return WEIR_NOMEM;
    *place = (struct given_day){{v->value + 0.0, v->day, source->id, v->is_partial}, metric};
    if (v->metric) facts_note_worn(f, source, v->metric, v->day, v->value);
    return WEIR_OK;
}

static enum weir_status take_stage(void *user, const struct stage *s)
{
    struct facts *f = user;
    if (facts_is_full(f)) return WEIR_BUSY;
    const char *flaw = span_flaw(s->start, s->end);
    if (!flaw && s->start.at == s->end.at) flaw = "a stage of sleep without length";
    if (!flaw && s->end.at - s->start.at > DAY_SECONDS) flaw = "a stage longer than a day";
    if (!flaw && (unsigned)s->stage > STAGE_REM) flaw = "a stage of sleep that is none";
    if (flaw) return refuse(f, flaw);
    enum weir_status st = WEIR_OK;
    struct known_source *source = admit(f, &s->source, &st);
    if (!source) return st;
    struct fact *place = rows_push(&f->facts, sizeof *place);
    if (!place) return WEIR_NOMEM;
    *place = (struct fact){.at = s->start.at,
                           .value = s->stage,
                           .seconds = (uint32_t)(s->end.at - s->start.at),
                           .offset = s->start.offset,
                           .end_offset = s->end.offset,
                           .metric = FACTS_STAGE,
                           .source = source->id};
    facts_note_worn(f, source, NULL, day_of_moment(s->end.at, s->end.offset), 1);
    return WEIR_OK;
}

static enum weir_status keep_text(struct facts *f, struct weir_slice *text)
{
    enum { MAX_TEXT = 1024 };
    if (text->len > MAX_TEXT) text->len = MAX_TEXT;
    char *copy = arena_alloc(&f->texts, text->len + 1);
    if (!copy) return f->texts.status;
    if (text->len > 0) memcpy(copy, text->ptr, text->len);
    text->ptr = copy;
    return WEIR_OK;
}

static enum weir_status take_sleep(void *user, const struct sleep *s)
{
    struct facts *f = user;
    if (facts_is_full(f)) return WEIR_BUSY;
    const char *flaw = span_flaw(s->start, s->end);
    if (!flaw) flaw = day_flaw(s->day);
    if (!flaw && s->end.at - s->start.at > 2 * DAY_SECONDS) flaw = "a sleep of more than two days";
    if (flaw) return refuse(f, flaw);
    enum weir_status st = WEIR_OK;
    struct known_source *source = admit(f, &s->source, &st);
    if (!source) return st;
    struct sleep_row *place = rows_push(&f->sleeps, sizeof *place);
    if (!place) return WEIR_NOMEM;
    *place = (struct sleep_row){.sleep = *s, .source = source->id};
    place->sleep.is_nap = s->is_nap || night_is_nap(s);
    facts_note_worn(f, source, NULL, s->day, 1);
    return WEIR_OK;
}

static enum weir_status take_workout(void *user, const struct workout *w)
{
    struct facts *f = user;
    if (facts_is_full(f)) return WEIR_BUSY;
    const char *flaw = moment_flaw(w->start);
    if (!flaw) flaw = day_flaw(w->day);
    if (flaw) return refuse(f, flaw);
    enum weir_status st = WEIR_OK;
    struct known_source *source = admit(f, &w->source, &st);
    if (!source) return st;
    struct workout copy = *w;
    copy.source = source->source;
    st = keep_text(f, &copy.label);
    if (st != WEIR_OK) return st;
    struct workout *place = rows_push(&f->workouts, sizeof *place);
    if (!place) return WEIR_NOMEM;
    *place = copy;
    facts_note_worn(f, source, NULL, w->day, 1);
    return WEIR_OK;
}

static enum weir_status take_lab(void *user, const struct lab *l)
{
    struct facts *f = user;
    if (facts_is_full(f)) return WEIR_BUSY;
    const char *flaw = day_flaw(l->day);
    if (!flaw && !isfinite(l->value)) flaw = "the value is no number";
    if (flaw) return refuse(f, flaw);
    enum weir_status st = WEIR_OK;
    struct known_source *source = admit(f, &l->source, &st);
    if (!source) return st;
    struct lab copy = *l;
    copy.source = source->source;
    struct weir_slice *texts[] = {&copy.label, &copy.printed, &copy.unit, &copy.range, &copy.flag};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        st = keep_text(f, texts[i]);
        if (st != WEIR_OK) return st;
    }
    struct lab *place = rows_push(&f->labs, sizeof *place);
    if (!place) return WEIR_NOMEM;
    *place = copy;
    return WEIR_OK;
}

static enum weir_status take_exported(void *user, struct moment at)
{
    struct facts *f = user;
    if (!moment_flaw(at) && at.at > f->exported.at) f->exported = at;
    return WEIR_OK;
}

struct fact_sink facts_sink(struct facts *f)
{
    return (struct fact_sink){.user = f,
                              .sample = take_sample,
                              .day_value = take_day_value,
                              .stage = take_stage,
                              .sleep = take_sleep,
                              .workout = take_workout,
                              .lab = take_lab,
                              .exported = take_exported};
}
