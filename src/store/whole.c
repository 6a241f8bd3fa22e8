/* SPDX-License-Identifier: Apache-2.0 */
/* All of a store: what is the same for every engine, and that events have no gap. */
#include "store/whole.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "store/engine.h"
#include "store/whole_impl.h"

static enum weir_status expect_empty(struct whole *w, struct store_error *error)
{
    struct whole_facts facts = {0};
    enum weir_status st = whole_facts(w, &facts);
    if (st != WEIR_OK) {
        *error = w->error;
    } else if (facts.n_logs > 0 || facts.n_docs > 0) {
        snprintf(error->text, sizeof error->text,
                 "it is not empty: it has %" PRIu64 " logs and %" PRIu64 " documents", facts.n_logs,
                 facts.n_docs);
        st = WEIR_EXISTS;
    }
    return st;
}

enum weir_status whole_open(struct whole **out, const char *place, enum whole_use use,
                            struct store_error *error)
{
    struct store_error unused;
    struct whole *w = NULL;
    *out = NULL;
    if (!error) error = &unused;
    error->text[0] = '\0';
    enum weir_status st = place_is_database(place) ? whole_pg_open(&w, place, use, error)
                                                   : whole_embedded_open(&w, place, use, error);
    if (st == WEIR_OK && use == WHOLE_FILL) st = expect_empty(w, error);
    if (st == WEIR_OK) {
        *out = w;
        return WEIR_OK;
    }
    whole_close(w);
    if (error->text[0] == '\0')
        snprintf(error->text, sizeof error->text, "%s", weir_status_text(st));
    return st;
}

void whole_close(struct whole *w)
{
    if (w) w->engine->close(w);
}

const char *whole_message(const struct whole *w)
{
    return w->error.text;
}

/* ---- reading ---- */

/* Whether all events of the log before were seen, and whether those of this one can be. */
static enum weir_status begin_log(struct whole *w, const struct whole_log *log)
{
    w->log_id = log->id;
    w->due = log->kept_from;
    w->log_last = log->last;
    bool is_sane = log->id > 0 && log->kept_from > 0 && log->kept_from <= log->last + 1;
    if (is_sane) return WEIR_OK;
    snprintf(w->error.text, sizeof w->error.text, "log %" PRIu64 " contradicts itself", log->id);
    return WEIR_CORRUPT;
}

static enum weir_status expect_due(struct whole *w, const struct whole_events *e)
{
    bool is_due = w->log_id > 0 && e->first == w->due && e->last >= e->first &&
                  e->last <= w->log_last && e->bytes.len > 0;
    if (!is_due) {
        snprintf(w->error.text, sizeof w->error.text,
                 "log %" PRIu64 ": event %" PRIu64 " was to come, not %" PRIu64 " to %" PRIu64,
                 w->log_id, w->due, e->first, e->last);
        return WEIR_CORRUPT;
    }
    w->due = e->last + 1;
    return WEIR_OK;
}

enum weir_status whole_next_log(struct whole *w, struct whole_log *out)
{
    CHECK(!w->is_filling);
    *out = (struct whole_log){0};
    enum weir_status st = w->engine->next_log(w, out);
    return st == WEIR_OK ? begin_log(w, out) : st;
}

enum weir_status whole_next_events(struct whole *w, struct whole_events *out)
{
    CHECK(!w->is_filling);
    *out = (struct whole_events){0};
    if (w->due > w->log_last) return WEIR_NOT_FOUND;
    enum weir_status st = w->engine->next_events(w, w->log_id, w->due, out);
    /* The end comes too soon: that is a gap, too. */
    return st == WEIR_OK || st == WEIR_NOT_FOUND ? expect_due(w, out) : st;
}

enum weir_status whole_next_doc(struct whole *w, struct doc *out)
{
    CHECK(!w->is_filling);
    *out = (struct doc){0};
    return w->engine->next_doc(w, out);
}

void whole_rewind(struct whole *w)
{
    w->log_id = w->due = w->log_last = 0;
    w->engine->rewind(w);
}

enum weir_status whole_facts(struct whole *w, struct whole_facts *out)
{
    *out = (struct whole_facts){0};
    return w->engine->facts(w, out);
}

/* ---- filling ---- */

/* The log before has all its events. */
static enum weir_status end_log(struct whole *w)
{
    if (w->log_id == 0 || w->due == w->log_last + 1) return WEIR_OK;
    snprintf(w->error.text, sizeof w->error.text,
             "log %" PRIu64 ": event %" PRIu64 " and those behind it are missing", w->log_id,
             w->due);
    return WEIR_CORRUPT;
}

enum weir_status whole_put_log(struct whole *w, const struct whole_log *log)
{
    CHECK(w->is_filling);
    enum weir_status st = end_log(w);
    if (st == WEIR_OK) st = begin_log(w, log);
    return st == WEIR_OK ? w->engine->put_log(w, log) : st;
}

enum weir_status whole_put_events(struct whole *w, const struct whole_events *events)
{
    CHECK(w->is_filling);
    enum weir_status st = expect_due(w, events);
    return st == WEIR_OK ? w->engine->put_events(w, w->log_id, events) : st;
}

enum weir_status whole_put_doc(struct whole *w, const struct doc *doc)
{
    CHECK(w->is_filling);
    return w->engine->put_doc(w, doc);
}

enum weir_status whole_fill_end(struct whole *w, uint64_t last_id)
{
    CHECK(w->is_filling);
    enum weir_status st = end_log(w);
    if (st == WEIR_OK) st = w->engine->fill_end(w, last_id);
    if (st != WEIR_OK) return st;
    w->is_filling = false;
    whole_rewind(w);
    return WEIR_OK;
}
