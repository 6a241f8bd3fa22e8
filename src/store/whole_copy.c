/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying goes through one store in its order and puts what comes into the other. Comparing goes
 * through both at once, as two sorted lists are merged; rows of events need not be cut at the same
 * places.
 */
#include "store/whole_copy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/slice.h"

enum { COMPLAINT_BYTES = 512, SHOWN_BYTES = 80 };

/* What both have in common. */
struct work {
    const struct whole_watch *watch;
    struct whole_facts all;
    struct whole_count *done;
};

static void tell(const struct work *w)
{
    if (w->watch && w->watch->tell) w->watch->tell(w->watch->user, w->done, &w->all);
}

static WEIR_MUST_CHECK enum weir_status begin(struct work *w, struct whole *from)
{
    *w->done = (struct whole_count){0};
    whole_rewind(from);
    return whole_facts(from, &w->all);
}

static void count_events(struct work *w, const struct whole_events *e)
{
    w->done->n_events += e->last - e->first + 1;
    w->done->n_bytes += e->bytes.len;
    tell(w);
}

static void count_doc(struct work *w, const struct doc *doc)
{
    w->done->n_docs++;
    w->done->n_bytes += doc->body.len;
    tell(w);
}

/* ---- copying ---- */

static WEIR_MUST_CHECK enum weir_status copy_logs(struct whole *from, struct whole *to,
                                                  struct work *w)
{
    struct whole_log log;
    struct whole_events events;
    enum weir_status st;
    while ((st = whole_next_log(from, &log)) == WEIR_OK) {
        st = whole_put_log(to, &log);
        while (st == WEIR_OK && (st = whole_next_events(from, &events)) == WEIR_OK) {
            st = whole_put_events(to, &events);
            count_events(w, &events);
        }
        if (st != WEIR_NOT_FOUND) return st;
        w->done->n_logs++;
        tell(w);
    }
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

static WEIR_MUST_CHECK enum weir_status copy_docs(struct whole *from, struct whole *to,
                                                  struct work *w)
{
    struct doc doc;
    enum weir_status st;
    while ((st = whole_next_doc(from, &doc)) == WEIR_OK) {
        st = whole_put_doc(to, &doc);
        if (st != WEIR_OK) return st;
        count_doc(w, &doc);
    }
    return st == WEIR_NOT_FOUND ? WEIR_OK : st;
}

enum weir_status whole_copy(struct whole *from, struct whole *to, const struct whole_watch *watch,
                            struct whole_count *done)
{
    struct work w = {.watch = watch, .done = done};
    enum weir_status st = begin(&w, from);
    if (st == WEIR_OK) st = copy_logs(from, to, &w);
    if (st == WEIR_OK) st = copy_docs(from, to, &w);
    return st == WEIR_OK ? whole_fill_end(to, w.all.last_id) : st;
}

/* ---- comparing ---- */

/* Byte for byte, as both engines sort. */
static int compare_bytes(struct weir_slice a, struct weir_slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

struct comparison {
    struct work work;
    struct whole *a, *b;
    struct whole_verdict *verdict;
};

static __attribute__((format(printf, 2, 3))) void complain(struct comparison *c, const char *format,
                                                           ...)
{
    char text[COMPLAINT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->verdict->n_wrong++;
    if (c->verdict->complain) c->verdict->complain(c->verdict->user, text);
}

/* For people: the beginning of a name, in characters that do nothing to a terminal. */
struct shown {
    char text[SHOWN_BYTES + 4];
};

static struct shown show(struct weir_slice name)
{
    struct shown out = {{0}};
    size_t n = name.len < SHOWN_BYTES ? name.len : SHOWN_BYTES;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        out.text[i] = (char)(c < ' ' || c >= 0x7f ? '?' : c);
    }
    if (name.len > n) memcpy(out.text + n, "...", 4);
    return out;
}

static void compare_numbers(struct comparison *c, struct weir_slice name, const char *what,
                            int64_t a, int64_t b)
{
    if (a != b)
        complain(c, "log %s: %s is %" PRId64 " in one and %" PRId64 " in the other",
                 show(name).text, what, a, b);
}

/* Bytes of events that are not compared yet. */
struct side {
    struct whole *whole;
    struct weir_slice bytes;
    bool has_ended;
};

static WEIR_MUST_CHECK enum weir_status fill_side(struct comparison *c, struct side *s)
{
    struct whole_events events;
    if (s->bytes.len > 0 || s->has_ended) return WEIR_OK;
    enum weir_status st = whole_next_events(s->whole, &events);
    s->has_ended = st == WEIR_NOT_FOUND;
    if (s->has_ended) return WEIR_OK;
    if (st == WEIR_OK && s->whole == c->a) count_events(&c->work, &events);
    s->bytes = events.bytes;
    return st;
}

static WEIR_MUST_CHECK enum weir_status compare_events(struct comparison *c, struct weir_slice name)
{
    struct side a = {.whole = c->a};
    struct side b = {.whole = c->b};
    uint64_t n_same = 0;
    for (;;) {
        enum weir_status st = fill_side(c, &a);
        if (st == WEIR_OK) st = fill_side(c, &b);
        if (st != WEIR_OK) return st;
        size_t n = a.bytes.len < b.bytes.len ? a.bytes.len : b.bytes.len;
        if (n == 0 || memcmp(a.bytes.ptr, b.bytes.ptr, n) != 0) break;
        n_same += n;
        a.bytes = slice_from(a.bytes, n);
        b.bytes = slice_from(b.bytes, n);
    }
    if (!a.has_ended || !b.has_ended)
        complain(c, "log %s: its events differ, within some bytes behind the first %" PRIu64,
                 show(name).text, n_same);
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status compare_log(struct comparison *c, const struct whole_log *a,
                                                    const struct whole_log *b)
{
    compare_numbers(c, a->name, "its id", (int64_t)a->id, (int64_t)b->id);
    compare_numbers(c, a->name, "its first event", (int64_t)a->kept_from, (int64_t)b->kept_from);
    compare_numbers(c, a->name, "its last event", (int64_t)a->last, (int64_t)b->last);
    compare_numbers(c, a->name, "whether it is sealed", a->is_sealed, b->is_sealed);
    compare_numbers(c, a->name, "its end in milliseconds", a->expires_ms, b->expires_ms);
    bool is_alike = a->kept_from == b->kept_from && a->last == b->last;
    return is_alike ? compare_events(c, a->name) : WEIR_OK;
}

/* The next of a list, unless the one before still waits; at its end it is the last of all. */
#define ADVANCE(next, whole, item, has, status)                                                    \
    do {                                                                                           \
        if ((has) || (status) != WEIR_OK) break;                                                   \
        (status) = next((whole), &(item));                                                         \
        (has) = (status) == WEIR_OK;                                                               \
        if ((status) == WEIR_NOT_FOUND) (status) = WEIR_OK;                                        \
    } while (false)

/* Which of two comes first; one that is not there comes last. */
static int order_of(bool has_a, bool has_b, int by_name)
{
    if (has_a && has_b) return by_name;
    return has_a ? -1 : 1;
}

static WEIR_MUST_CHECK enum weir_status compare_logs(struct comparison *c)
{
    struct whole_log a;
    struct whole_log b;
    bool has_a = false;
    bool has_b = false;
    enum weir_status st = WEIR_OK;
    for (;;) {
        ADVANCE(whole_next_log, c->a, a, has_a, st);
        ADVANCE(whole_next_log, c->b, b, has_b, st);
        if (st != WEIR_OK || (!has_a && !has_b)) return st;
        int order = order_of(has_a, has_b, has_a && has_b ? compare_bytes(a.name, b.name) : 0);
        if (order < 0) complain(c, "log %s is in the first alone", show(a.name).text);
        else if (order > 0) complain(c, "log %s is in the second alone", show(b.name).text);
        else st = compare_log(c, &a, &b);
        if (order <= 0) {
            has_a = false;
            c->work.done->n_logs++;
            tell(&c->work);
        }
        if (order >= 0) has_b = false;
    }
}

static void compare_doc(struct comparison *c, const struct doc *a, const struct doc *b)
{
    const char *what = NULL;
    if (a->version != b->version) what = "version";
    else if (!slice_eq(a->owner, b->owner)) what = "owner";
    else if (!slice_eq(a->body, b->body)) what = "body";
    if (what)
        complain(c, "document %s/%s: its %s differs", show(a->kind).text, show(a->id).text, what);
}

static int compare_keys(const struct doc *a, const struct doc *b)
{
    int order = compare_bytes(a->kind, b->kind);
    return order != 0 ? order : compare_bytes(a->id, b->id);
}

static WEIR_MUST_CHECK enum weir_status compare_docs(struct comparison *c)
{
    struct doc a;
    struct doc b;
    bool has_a = false;
    bool has_b = false;
    enum weir_status st = WEIR_OK;
    for (;;) {
        ADVANCE(whole_next_doc, c->a, a, has_a, st);
        ADVANCE(whole_next_doc, c->b, b, has_b, st);
        if (st != WEIR_OK || (!has_a && !has_b)) return st;
        int order = order_of(has_a, has_b, has_a && has_b ? compare_keys(&a, &b) : 0);
        const struct doc *one = order < 0 ? &a : &b;
        if (order == 0) compare_doc(c, &a, &b);
        else
            complain(c, "document %s/%s is in the %s alone", show(one->kind).text,
                     show(one->id).text, order < 0 ? "first" : "second");
        if (order <= 0) {
            has_a = false;
            count_doc(&c->work, &a);
        }
        if (order >= 0) has_b = false;
    }
}

static WEIR_MUST_CHECK enum weir_status compare_facts(struct comparison *c)
{
    struct whole_facts b;
    enum weir_status st = whole_facts(c->b, &b);
    if (st == WEIR_OK && b.n_passages != c->work.all.n_passages)
        complain(c, "%" PRIu64 " passages can be searched in one and %" PRIu64 " in the other",
                 c->work.all.n_passages, b.n_passages);
    return st;
}

enum weir_status whole_compare(struct whole *a, struct whole *b, const struct whole_watch *watch,
                               struct whole_verdict *verdict, struct whole_count *done)
{
    struct comparison c = {
        .work = {.watch = watch, .done = done}, .a = a, .b = b, .verdict = verdict};
    verdict->n_wrong = 0;
    whole_rewind(b);
    enum weir_status st = begin(&c.work, a);
    if (st == WEIR_OK) st = compare_facts(&c);
    if (st == WEIR_OK) st = compare_logs(&c);
    return st == WEIR_OK ? compare_docs(&c) : st;
}
