/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/data/metrics and /v1/data/series: what there is of a person's data, and the daily values of a
 * metric with who measured them and how far they may be trusted.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/slice.h"
#include "data/catalogue.h"
#include "serve/data_impl.h"

/* ---- asking ---- */

static void tell_answer(struct post *post)
{
    struct data_asked *a = CONTAINER_OF(post, struct data_asked, post);
    if (a->status == WEIR_OK) exchange_json(a->ex, 200, weir_buf_slice(&a->json));
    else if (a->why[0]) exchange_error(a->ex, a->status, "%s", a->why);
    else resource_store_error(a->ex, a->status);
    weir_buf_fini(&a->json);
}

/* By a thread of the store's. */
static void run_question(void *user)
{
    struct data_asked *a = user;
    struct dataset *d = NULL;
    a->status = dataset_open(&d, a->store, weir_slice_of(a->owner));
    if (a->status == WEIR_OK) a->status = a->answer(a, d);
    if (a->status == WEIR_OK) a->status = weir_buf_status(&a->json);
    dataset_free(d);
    loop_post(a->loop, &a->post);
}

bool data_has_owner(struct exchange *ex)
{
    if (owner_is_name(resource_owner(ex))) return true;
    exchange_error(ex, WEIR_FORBIDDEN,
                   "the key's owner has a \"/\" in its name, and so can have no data");
    return false;
}

/*
 * A page of another site may send these kinds without having been asked whether it may, and
 * somebody's browser would bring it here.
 */
static bool is_from_anywhere(struct exchange *ex)
{
    static const char *const simple[] = {"text/plain", "multipart/form-data",
                                         "application/x-www-form-urlencoded"};
    struct weir_slice type;
    struct weir_slice origin;
    if (!http_find(exchange_head(ex), "origin", &origin)) return false;
    if (!http_find(exchange_head(ex), "content-type", &type) || type.len == 0) return true;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++) {
        size_t len = strlen(simple[i]);
        if (type.len >= len && strncasecmp(type.ptr, simple[i], len) == 0) return true;
    }
    return false;
}

bool data_is_asked_for(struct exchange *ex)
{
    if (!is_from_anywhere(ex)) return true;
    exchange_error(ex, WEIR_BAD_TYPE, "a page has to send a file as application/octet-stream");
    return false;
}

struct data_asked *data_asked_new(struct exchange *ex)
{
    struct weir_slice owner = resource_owner(ex);
    if (!data_has_owner(ex)) return NULL;
    struct data_asked *a = exchange_alloc(ex, sizeof *a);
    if (!a) {
        resource_store_error(ex, WEIR_NOMEM);
        return NULL;
    }
    *a = (struct data_asked){.post = {.run = tell_answer},
                             .ex = ex,
                             .loop = worker_loop(exchange_worker(ex)),
                             .store = server_store(exchange_server(ex)),
                             .from = DAY_NONE,
                             .to = DAY_NONE};
    memcpy(a->owner, owner.ptr, owner.len);
    weir_buf_init(&a->json, DATA_ANSWER_BYTES);
    return a;
}

void data_ask(struct data_asked *a, data_answer_fn answer)
{
    a->answer = answer;
    if (store_later(a->store, run_question, a) != WEIR_OK) resource_store_error(a->ex, WEIR_NOMEM);
}

enum weir_status data_refuse(struct data_asked *a, enum weir_status st, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(a->why, sizeof a->why, format, args);
    va_end(args);
    return st;
}

bool data_take_word(struct exchange *ex, const char *name, struct data_asked *a)
{
    struct weir_slice text;
    if (!exchange_query(ex, name, &text) || text.len == 0 || text.len >= sizeof a->word)
        return false;
    memcpy(a->word, text.ptr, text.len);
    a->word[text.len] = 0;
    return true;
}

void data_put_text(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    if (text.len > 0) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

void data_put_day(struct weir_buf *out, const char *key, int32_t day)
{
    char text[DAY_TEXT_BYTES];
    day_format(text, day);
    weir_json_put_key(out, key);
    weir_json_put_str(out, text);
}

/* ---- what there is ---- */

enum { MAX_SOURCES = UINT16_MAX + 1 };

/* Who measured any of it, each once. */
static enum weir_status put_sources(struct weir_buf *out, struct dataset *d, const struct series *s)
{
    bool *is_seen = mem_zalloc(MAX_SOURCES * sizeof *is_seen);
    if (!is_seen) return WEIR_NOMEM;
    weir_json_put_key(out, "sources");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < s->n; i++) {
        struct weir_slice name = dataset_source(d, s->sources[i]);
        if (is_seen[s->sources[i]] || name.len == 0) continue;
        is_seen[s->sources[i]] = true;
        weir_json_put_string(out, name);
    }
    weir_json_put_end_array(out);
    mem_free(is_seen);
    return WEIR_OK;
}

static void put_metric(struct weir_buf *out, const struct metric *m)
{
    data_put_text(out, "metric", weir_slice_of(m->name));
    data_put_text(out, "title", weir_slice_of(m->title));
    data_put_text(out, "unit", weir_slice_of(m->unit ? m->unit : ""));
}

static enum weir_status put_metrics(struct data_asked *a, struct dataset *d)
{
    const struct metric *const *metrics;
    const struct series *s;
    size_t n = 0;
    enum weir_status st = dataset_metrics(d, &metrics, &n);
    weir_json_put_begin_object(&a->json);
    weir_json_put_key(&a->json, "data");
    weir_json_put_begin_array(&a->json);
    for (size_t i = 0; i < n && st == WEIR_OK; i++) {
        st = dataset_series(d, metrics[i], &s);
        if (st != WEIR_OK || s->n == 0) break;
        weir_json_put_begin_object(&a->json);
        put_metric(&a->json, metrics[i]);
        weir_json_put_key(&a->json, "n");
        weir_json_put_uint(&a->json, s->n);
        data_put_day(&a->json, "first", s->days[0]);
        data_put_day(&a->json, "last", s->days[s->n - 1]);
        st = put_sources(&a->json, d, s);
        weir_json_put_end_object(&a->json);
    }
    weir_json_put_end_array(&a->json);
    weir_json_put_end_object(&a->json);
    return st;
}

void data_metrics(struct exchange *ex)
{
    struct data_asked *a = data_asked_new(ex);
    if (a) data_ask(a, put_metrics);
}

/* ---- the values of one ---- */

static void put_value(struct data_asked *a, struct dataset *d, const struct series *s, size_t i)
{
    bool is_wanted = (a->from == DAY_NONE || s->days[i] >= a->from) &&
                     (a->to == DAY_NONE || s->days[i] <= a->to);
    if (!is_wanted) return;
    weir_json_put_begin_object(&a->json);
    data_put_day(&a->json, "day", s->days[i]);
    weir_json_put_key(&a->json, "value");
    weir_json_put_double(&a->json, s->values[i]);
    weir_json_put_key(&a->json, "quality");
    weir_json_put_str(&a->json, quality_name((enum quality)s->quality[i]));
    data_put_text(&a->json, "source", dataset_source(d, s->sources[i]));
    weir_json_put_end_object(&a->json);
}

static enum weir_status put_series(struct data_asked *a, struct dataset *d)
{
    const struct series *s = NULL;
    const struct metric *m = dataset_find_metric(d, weir_slice_of(a->word));
    if (!m)
        return data_refuse(a, WEIR_NO_SOURCE,
                           "there is no metric of that name; /v1/data/metrics lists those with "
                           "values");
    enum weir_status st = dataset_series(d, m, &s);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) return st;
    weir_json_put_begin_object(&a->json);
    put_metric(&a->json, m);
    weir_json_put_key(&a->json, "data");
    weir_json_put_begin_array(&a->json);
    for (size_t i = 0; st == WEIR_OK && i < s->n; i++) put_value(a, d, s, i);
    weir_json_put_end_array(&a->json);
    weir_json_put_end_object(&a->json);
    return WEIR_OK;
}

/* False when that was answered with an error. */
static bool take_day(struct exchange *ex, const char *name, int32_t *day)
{
    struct weir_slice text;
    if (!exchange_query(ex, name, &text)) return true;
    *day = day_parse(text);
    if (*day != DAY_NONE) return true;
    exchange_error(ex, WEIR_BAD_FIELD, "%s has to be a day such as 2025-03-09", name);
    return false;
}

void data_series(struct exchange *ex)
{
    struct data_asked *a = data_asked_new(ex);
    if (!a || !take_day(ex, "from", &a->from) || !take_day(ex, "to", &a->to)) return;
    if (!data_take_word(ex, "metric", a))
        exchange_error(ex, WEIR_BAD_FIELD, "metric has to name one of /v1/data/metrics");
    else if (a->to != DAY_NONE && a->from > a->to)
        exchange_error(ex, WEIR_BAD_FIELD, "from has to be no later than to");
    else data_ask(a, put_series);
}
