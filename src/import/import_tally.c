/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what an import brought: by metric, by source, by day, and what it left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "import/import_impl.h"

enum weir_status tally_init(struct tally *t, struct import_summary *summary)
{
    *summary = (struct import_summary){.first_day = DAY_NONE, .last_day = DAY_NONE};
    *t = (struct tally){.summary = summary};
    t->by_metric = mem_zalloc(metric_count() * sizeof *t->by_metric);
    return t->by_metric ? WEIR_OK : WEIR_NOMEM;
}

void tally_fini(struct tally *t)
{
    mem_free(t->by_metric);
    t->by_metric = NULL;
}

/* As much of a text as there is room for, whole characters, printable. */
static void copy_text(char *out, size_t room, struct weir_slice text)
{
    size_t len = text.len < room ? text.len : room - 1;
    len = len > 0 ? utf8_valid_prefix(slice_of(text.ptr, len)) : 0;
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7F ? ' ' : text.ptr[i];
    out[len] = 0;
}

static bool is_called(const struct import_count *c, struct weir_slice name)
{
    size_t len = strlen(c->name);
    size_t most = sizeof c->name - 1;
    if (name.len <= most) return name.len == len && memcmp(c->name, name.ptr, len) == 0;
    return len > most - UTF8_MAX_BYTES && memcmp(c->name, name.ptr, len) == 0;
}

/* Where it is counted; of what is beyond the ceiling the last place counts all together. */
static size_t place_of(struct import_count *counts, size_t *n, struct weir_slice name)
{
    size_t i = 0;
    while (i < *n && !is_called(&counts[i], name)) i++;
    if (i < *n) return i;
    if (*n == IMPORT_COUNTS) {
        copy_text(counts[IMPORT_COUNTS - 1].name, sizeof counts->name, SLICE("others"));
        return IMPORT_COUNTS - 1;
    }
    copy_text(counts[i].name, sizeof counts[i].name, name);
    counts[i].n = 0;
    (*n)++;
    return i;
}

static void count(struct import_count *counts, size_t *n, struct weir_slice name)
{
    counts[place_of(counts, n, name)].n++;
}

void tally_metric(struct tally *t, const struct metric *m, struct weir_slice name)
{
    if (m) t->by_metric[metric_index(m)]++;
    else count(t->summary->metrics, &t->summary->n_metrics, name);
}

void tally_named(struct tally *t, const char *what)
{
    count(t->summary->metrics, &t->summary->n_metrics, weir_slice_of(what));
}

void tally_source(struct tally *t, const struct source *source)
{
    struct import_summary *s = t->summary;
    if (source->name.len == 0) return;
    if (t->last_source >= s->n_sources || !is_called(&s->sources[t->last_source], source->name))
        t->last_source = place_of(s->sources, &s->n_sources, source->name);
    s->sources[t->last_source].n++;
}

void tally_day(struct tally *t, int32_t day)
{
    struct import_summary *s = t->summary;
    if (day < DAY_MIN || day > DAY_MAX) return;
    unsigned i = (unsigned)(day - DAY_MIN);
    if (t->days[i / 8] & 1u << i % 8) return;
    t->days[i / 8] |= (uint8_t)(1u << i % 8);
    s->n_days++;
    if (s->first_day == DAY_NONE || day < s->first_day) s->first_day = day;
    if (s->last_day == DAY_NONE || day > s->last_day) s->last_day = day;
}

void tally_ignored(struct tally *t, struct weir_slice what)
{
    struct import_summary *s = t->summary;
    s->n_ignored++;
    if (t->last_ignored >= s->n_ignored_kinds || !is_called(&s->ignored[t->last_ignored], what))
        t->last_ignored = place_of(s->ignored, &s->n_ignored_kinds, what);
    s->ignored[t->last_ignored].n++;
}

void tally_refused(struct tally *t, const char *file, uint64_t line, const char *reason)
{
    struct import_summary *s = t->summary;
    s->n_refused++;
    if (s->n_refusals == IMPORT_REFUSALS) return;
    struct import_refusal *r = &s->refusals[s->n_refusals++];
    copy_text(r->file, sizeof r->file, weir_slice_of(file));
    copy_text(r->reason, sizeof r->reason, weir_slice_of(reason));
    r->line = line;
}

static int by_count(const void *x, const void *y)
{
    const struct import_count *a = x;
    const struct import_count *b = y;
    if (a->n != b->n) return a->n < b->n ? 1 : -1;
    return strcmp(a->name, b->name);
}

void tally_finish(struct tally *t)
{
    struct import_summary *s = t->summary;
    for (size_t i = 0; i < metric_count(); i++) {
        if (t->by_metric[i] == 0) continue;
        size_t at = place_of(s->metrics, &s->n_metrics, weir_slice_of(metric_at(i)->name));
        s->metrics[at].n += t->by_metric[i];
        t->by_metric[i] = 0;
    }
    qsort(s->metrics, s->n_metrics, sizeof *s->metrics, by_count);
    qsort(s->sources, s->n_sources, sizeof *s->sources, by_count);
    qsort(s->ignored, s->n_ignored_kinds, sizeof *s->ignored, by_count);
    t->last_source = t->last_ignored = 0;
}
