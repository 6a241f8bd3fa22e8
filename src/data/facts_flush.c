/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining the batch with what is stored.
 *
 * Samples of a metric are in documents by month, and a month of very many is in two halves, and so
 * on down to a day: by a rule that looks at their number alone, so that the same set is always cut
 * the same way. A document holds every sample that can have to do with its days: those that touch
 * them by anybody's clock. So daily values follow from one document, whatever is in the others, at
 * the price of some samples that are kept twice.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "data/facts_flush.h"

enum {
    JOIN_FACTS = 100000,      /* most samples that are joined with a document at once */
    COMMIT_BYTES = 3 << 20,   /* what is written at once, about */
    PUT_BYTES = 256,          /* of a document beside its body, in memory and in a commit */
    STAGE_MARGIN = 48 * 3600, /* stages before and behind a day that may be of its night */
    MAX_REST = DOC_MAX_NAME + 32,
};

/* ---- documents ---- */

static char *doc_id(struct flush *x, const char *rest)
{
    struct weir_slice user = x->f->user;
    size_t len = strlen(rest);
    char *id = arena_alloc(&x->ids, user.len + 1 + len + 1);
    if (!id) return NULL;
    memcpy(id, user.ptr, user.len);
    id[user.len] = len > 0 ? '/' : '\0';
    memcpy(id + user.len + 1, rest, len);
    id[user.len + 1 + len] = '\0';
    return id;
}

enum weir_status flush_get(struct flush *x, const char *kind, const char *rest, struct doc *out)
{
    *out = (struct doc){0};
    const char *id = doc_id(x, rest);
    if (!id) return WEIR_NOMEM;
    struct doc_key key = {weir_slice_of(kind), weir_slice_of(id)};
    enum weir_status st = store_doc_get(x->f->store, key, out);
    if (st != WEIR_NOT_FOUND) return st;
    *out = (struct doc){0};
    return WEIR_OK;
}

enum weir_status flush_put(struct flush *x, const char *kind, const char *rest, int64_t version,
                           struct weir_buf *body)
{
    enum weir_status st = weir_buf_status(body);
    if (st != WEIR_OK) return st;
    char *id = doc_id(x, rest);
    struct put *p = id ? rows_push(&x->puts, sizeof *p) : NULL;
    if (!p) return WEIR_NOMEM;
    *p = (struct put){.kind = kind, .id = id, .version = version, .body = *body};
    x->put_bytes += body->len + PUT_BYTES;
    weir_buf_init(body, STORE_DOC_BYTES);
    return WEIR_OK;
}

enum weir_status flush_put_changed(struct flush *x, const char *kind, const char *rest,
                                   const struct doc *old, struct weir_buf *body)
{
    enum weir_status st = weir_buf_status(body);
    if (st != WEIR_OK) return st;
    if (old->version > 0 && slice_eq(old->body, weir_buf_slice(body))) return WEIR_OK;
    return flush_put(x, kind, rest, old->version, body);
}

enum weir_status flush_remove(struct flush *x, const char *kind, const char *rest, int64_t version)
{
    if (version == 0) return WEIR_OK;
    char *id = doc_id(x, rest);
    struct put *p = id ? rows_push(&x->puts, sizeof *p) : NULL;
    if (!p) return WEIR_NOMEM;
    *p = (struct put){.kind = kind, .id = id, .version = version, .is_removal = true};
    return WEIR_OK;
}

static void drop_puts(struct flush *x)
{
    struct put *puts = x->puts.ptr;
    for (size_t i = 0; i < x->puts.n; i++) weir_buf_fini(&puts[i].body);
    x->puts.n = 0;
    x->put_bytes = 0;
}

/* ---- committing ---- */

static enum weir_status put_sources_and_index(struct flush *x)
{
    struct facts *f = x->f;
    struct weir_buf body;
    weir_buf_init(&body, STORE_DOC_BYTES);
    enum weir_status st = WEIR_OK;
    if (f->has_source_news) {
        facts_put_sources(f, &body);
        st = flush_put(x, "sources", "", f->sources_version, &body);
    }
    if (st == WEIR_OK && x->has_index_news) {
        facts_put_index(f, &body);
        st = flush_put(x, "metrics", "", f->index_version, &body);
    }
    weir_buf_fini(&body);
    return st;
}

static int64_t next_version(int64_t version, int64_t made)
{
    return version > 0 ? version + 1 : made;
}

static void settle_news(struct flush *x, int64_t made)
{
    struct facts *f = x->f;
    if (f->has_source_news) f->sources_version = next_version(f->sources_version, made);
    if (x->has_index_news) f->index_version = next_version(f->index_version, made);
    f->has_source_news = x->has_index_news = false;
    for (size_t i = 0; i < f->n_sources; i++) f->known[i]->is_new = false;
}

/* Writes all that is to be written, and what follows from it, in one commit. */
static enum weir_status emit(struct flush *x, struct commit *commit)
{
    enum weir_status st = night_put_all(x);
    if (st == WEIR_OK) st = daily_put_all(x);
    if (st == WEIR_OK) st = put_sources_and_index(x);
    if (st == WEIR_OK && !commit && x->puts.n > 0) {
        commit = commit_new(x->put_bytes + x->puts.n * STORE_NAME_BYTES);
        if (!commit) st = WEIR_NOMEM;
    }
    if (st != WEIR_OK) {
        commit_free(commit);
        return st;
    }
    const struct put *puts = x->puts.ptr;
    for (size_t i = 0; i < x->puts.n; i++) {
        struct doc_key key = {weir_slice_of(puts[i].kind), weir_slice_of(puts[i].id)};
        if (puts[i].is_removal) commit_remove(commit, key, puts[i].version);
        else commit_put(commit, key, puts[i].version, x->f->user, weir_buf_slice(&puts[i].body));
    }
    drop_puts(x);
    night_free_all(x);
    daily_free_all(x);
    arena_reset(&x->ids);
    if (!commit) return WEIR_OK;
    struct commit_result result = store_commit_wait(x->f->store, commit);
    st = result.status;
    if (st == WEIR_OK) settle_news(x, result.made);
    return st == WEIR_EXISTS || st == WEIR_NOT_FOUND ? WEIR_CONFLICT : st;
}

enum weir_status flush_relieve(struct flush *x)
{
    return x->put_bytes + daily_bytes(x) < COMMIT_BYTES ? WEIR_OK : emit(x, NULL);
}

/* ---- samples ---- */

/* The days of a document, and its name. */
struct node {
    uint16_t metric;
    int32_t from, to;
    char rest[MAX_REST];
};

static int64_t margin_of(uint16_t metric)
{
    return metric == FACTS_STAGE ? FACTS_MAX_OFFSET + STAGE_MARGIN : FACTS_MAX_OFFSET;
}

/* Whether a sample can have to do with the days of a document. */
static bool is_of(const struct node *node, const struct fact *f)
{
    int64_t margin = margin_of(node->metric);
    return f->at < (int64_t)(node->to + 1) * DAY_SECONDS + margin &&
           f->at + f->seconds >= (int64_t)node->from * DAY_SECONDS - margin;
}

/* A sample is counted where it begins, and only there. */
static bool is_home(const struct node *node, const struct fact *f)
{
    int32_t day = day_of_moment(f->at, f->offset);
    return day >= node->from && day <= node->to;
}

struct facts_list {
    struct fact *ptr;
    size_t n;
};

/* Those of the facts that the document has to hold; for mem_free(). */
static enum weir_status choose(const struct node *node, const struct fact *facts, size_t n,
                               struct facts_list *out)
{
    *out = (struct facts_list){mem_alloc(n * sizeof *facts + 1), 0};
    if (!out->ptr) return WEIR_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (is_of(node, &facts[i])) out->ptr[out->n++] = facts[i];
    return WEIR_OK;
}

/* The union of two lists, both in order. Of a fact that is there twice the first counts, which has
 * the larger offset. False when it is what `old` was. */
static bool unite(struct flush *x, const struct node *node, struct facts_list old,
                  struct facts_list in, struct facts_list *out)
{
    bool is_changed = false;
    size_t o = 0, i = 0;
    while (o < old.n || i < in.n) {
        bool is_old = i == in.n || (o < old.n && fact_compare(&old.ptr[o], &in.ptr[i]) <= 0);
        const struct fact *next = is_old ? &old.ptr[o++] : &in.ptr[i++];
        if (out->n > 0 && fact_is_same(&out->ptr[out->n - 1], next)) continue;
        out->ptr[out->n++] = *next;
        if (is_old) continue;
        is_changed = true;
        bool is_known = o < old.n && fact_is_same(&old.ptr[o], next);
        if (!is_known && is_home(node, next)) x->n_new++;
    }
    return is_changed;
}

/* The days of a document by a metric's rule, kept under a number. */
static enum weir_status merge_as(struct flush *x, const struct node *node, struct facts_list all,
                                 const struct follower *as)
{
    struct merge_input in = {.metric = as->rule,
                             .facts = all.ptr,
                             .n = all.n,
                             .kinds = x->f->kinds,
                             .n_sources = x->f->n_sources,
                             .from = node->from,
                             .to = node->to};
    struct merged_day merged[MERGE_DAYS];
    struct day_row rows[MERGE_DAYS];
    size_t n;
    enum weir_status st = merge_days(&in, merged, &n);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct day_row){merged[i].value, merged[i].day, merged[i].source, false};
    struct daily *daily;
    st = daily_get(x, as->kept_as, &daily);
    return st == WEIR_OK ? daily_replace(daily, node->from, node->to, rows, n) : st;
}

static enum weir_status compute_days(struct flush *x, const struct node *node,
                                     struct facts_list all)
{
    if (node->metric == FACTS_STAGE) return night_replace(x, all.ptr, all.n, node->from, node->to);
    struct follower as = {node->metric, facts_metric(node->metric)};
    enum weir_status st = merge_as(x, node, all, &as);
    for (size_t i = 0; st == WEIR_OK && daily_follower(node->metric, i, &as); i++)
        st = merge_as(x, node, all, &as);
    return st;
}

static struct node half_of(const struct node *node, bool is_second)
{
    struct node half = *node;
    int32_t middle = node->from + (node->to - node->from) / 2;
    if (is_second) half.from = middle + 1;
    else half.to = middle;
    size_t len = strlen(node->rest);
    CHECK(len + 2 < sizeof half.rest);
    half.rest[len] = is_second ? 'b' : 'a';
    half.rest[len + 1] = '\0';
    return half;
}

static enum weir_status join_node(struct flush *x, const struct node *node,
                                  const struct fact *facts, size_t n);

/* At most five deep: a month has 31 days. */
static enum weir_status join_halves(struct flush *x, const struct node *node,
                                    struct facts_list facts)
{
    for (int i = 0; i < 2; i++) {
        struct node half = half_of(node, i == 1);
        enum weir_status st = join_node(x, &half, facts.ptr, facts.n);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* The last samples of a day that has more than a document holds; the same whatever came first. */
static size_t leave_out(struct flush *x, const struct node *node, struct facts_list all, size_t n)
{
    for (size_t i = n; i < all.n; i++) x->n_left_out += is_home(node, &all.ptr[i]);
    return n;
}

/* All samples of a document are known: write them, or cut it. */
static enum weir_status write_node(struct flush *x, const struct node *node, const struct doc *old,
                                   struct facts_list all)
{
    struct weir_buf body;
    weir_buf_init(&body, STORE_DOC_BYTES);
    bool is_cut = all.n > LEAF_FACTS && node->from < node->to;
    if (is_cut) leaf_put_split(&body);
    else all.n = leave_out(x, node, all, leaf_put(&body, x->f, all.ptr, all.n));
    enum weir_status st = flush_put(x, "facts", node->rest, old->version, &body);
    weir_buf_fini(&body);
    if (st != WEIR_OK) return st;
    if (!is_cut) return compute_days(x, node, all);
    /* What it held is counted already. */
    uint64_t n_new = x->n_new;
    st = join_halves(x, node, all);
    x->n_new = n_new;
    return st;
}

static enum weir_status join_node(struct flush *x, const struct node *node,
                                  const struct fact *facts, size_t n)
{
    struct facts_list in = {0}, old = {0}, all = {0};
    struct doc doc = {0};
    enum weir_status st = choose(node, facts, n, &in);
    if (st != WEIR_OK || in.n == 0) goto out;
    st = flush_get(x, "facts", node->rest, &doc);
    if (st != WEIR_OK) goto out;
    if (doc.version > 0 && leaf_is_split(doc.body)) {
        st = join_halves(x, node, in);
        goto out;
    }
    if (doc.version > 0) st = leaf_read(x->f, doc.body, node->metric, &old.ptr, &old.n);
    if (st != WEIR_OK) goto out;
    all.ptr = mem_alloc((old.n + in.n) * sizeof *all.ptr);
    st = all.ptr ? WEIR_OK : WEIR_NOMEM;
    if (st != WEIR_OK) goto out;
    bool is_changed = unite(x, node, old, in, &all);
    mem_free(old.ptr);
    mem_free(in.ptr);
    old.ptr = in.ptr = NULL;
    if (is_changed) st = write_node(x, node, &doc, all);
out:
    mem_free(in.ptr);
    mem_free(old.ptr);
    mem_free(all.ptr);
    doc_fini(&doc);
    return st;
}

/* The first of the facts that begins at this moment or later. */
static size_t first_at(const struct fact *facts, size_t n, int64_t at)
{
    size_t low = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (facts[low + half].at < at) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

static enum weir_status join_month(struct flush *x, const struct node *month,
                                   const struct fact *facts, size_t n, int64_t longest)
{
    int64_t margin = margin_of(month->metric);
    size_t from = first_at(facts, n, (int64_t)month->from * DAY_SECONDS - margin - longest);
    size_t to = first_at(facts, n, (int64_t)(month->to + 1) * DAY_SECONDS + margin);
    /*
     * Piece by piece: what is cut has to be written at once, and a commit has a ceiling. The next
     * piece has to see what the one before has written.
     */
    for (; to - from > JOIN_FACTS; from += JOIN_FACTS) {
        enum weir_status st = join_node(x, month, facts + from, JOIN_FACTS);
        if (st == WEIR_OK) st = emit(x, NULL);
        if (st != WEIR_OK) return st;
    }
    if (from == to) return WEIR_OK;
    enum weir_status st = join_node(x, month, facts + from, to - from);
    return st == WEIR_OK ? flush_relieve(x) : st;
}

/* All samples of one metric in the batch, in order. */
static enum weir_status join_metric(struct flush *x, const struct fact *facts, size_t n)
{
    uint16_t metric = facts[0].metric;
    int64_t longest = 0, end = facts[0].at, margin = margin_of(metric);
    for (size_t i = 0; i < n; i++) {
        if (facts[i].seconds > longest) longest = facts[i].seconds;
        if (facts[i].at + facts[i].seconds > end) end = facts[i].at + facts[i].seconds;
    }
    char name[DOC_MAX_NAME + 8];
    facts_metric_name(x->f, metric, name);
    int64_t first = (facts[0].at - margin) / DAY_SECONDS - 1, last = (end + margin) / DAY_SECONDS;
    struct civil c = day_to_civil((int32_t)first);
    for (int month = c.month;; month++) {
        struct node node = {.metric = metric,
                            .from = day_month_first(c.year, month),
                            .to = day_month_last(c.year, month)};
        if (node.from > last) return WEIR_OK;
        struct civil m = day_to_civil(node.from);
        snprintf(node.rest, sizeof node.rest, "%s/%04d-%02d", name, m.year, m.month);
        enum weir_status st = join_month(x, &node, facts, n, longest);
        if (st != WEIR_OK) return st;
    }
}

static enum weir_status join_samples(struct flush *x)
{
    struct fact *facts = x->f->facts.ptr;
    size_t n = x->f->facts.n;
    if (n > 1) qsort(facts, n, sizeof *facts, fact_compare);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && facts[end].metric == facts[i].metric) end++;
        enum weir_status st = join_metric(x, facts + i, end - i);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* ---- the whole ---- */

static size_t batch_size(const struct facts *f)
{
    return f->facts.n + f->days.n + f->sleeps.n + f->workouts.n + f->labs.n;
}

static void clear_batch(struct facts *f)
{
    f->facts.n = f->days.n = f->sleeps.n = f->workouts.n = f->labs.n = 0;
    arena_reset(&f->texts);
}

static enum weir_status join_all(struct flush *x)
{
    enum weir_status st = facts_load(x->f);
    if (st == WEIR_OK) st = facts_order_sources(x->f);
    if (st == WEIR_OK) st = facts_join_worn(x->f);
    if (st == WEIR_OK) st = join_samples(x);
    if (st == WEIR_OK) st = night_join_batch(x);
    if (st == WEIR_OK) st = daily_join_batch(x);
    if (st == WEIR_OK) st = list_join_batch(x);
    return st;
}

enum weir_status facts_flush(struct facts *f, struct commit *with)
{
    enum { ID_BYTES = 64 << 20 };
    struct flush x = {.f = f, .with = with};
    arena_init(&x.ids, ID_BYTES);
    enum weir_status st = join_all(&x);
    if (st == WEIR_OK) st = emit(&x, with);
    else commit_free(with);
    drop_puts(&x);
    night_free_all(&x);
    daily_free_all(&x);
    mem_free(x.puts.ptr);
    mem_free(x.dailies.ptr);
    mem_free(x.years.ptr);
    arena_fini(&x.ids);
    if (st != WEIR_OK) {
        f->is_loaded = false;
        f->has_source_news = true;
        return st;
    }
    /* What was left out had been counted as new, in this batch or in one before. */
    f->summary.n_new += x.n_new > x.n_left_out ? x.n_new - x.n_left_out : 0;
    f->summary.n_duplicates += batch_size(f) - x.n_new;
    for (uint64_t i = 0; i < x.n_left_out; i++)
        facts_refuse(f, "of more samples of a day than can be kept, the last are left out");
    f->summary.n_days_changed += x.n_days_changed;
    clear_batch(f);
    return WEIR_OK;
}
