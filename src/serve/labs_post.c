/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/labs: a laboratory report, as a table or as FHIR. It is imported as any other file, but
 * at once, for it is small, and the answer says which results are new.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_member.h"
#include "import/import.h"
#include "serve/data_impl.h"
#include "serve/idempotency.h"
#include "serve/imports.h"

enum { WHY_BYTES = 512, COMMIT_BYTES = 4096, CONFLICTS = 8 };

struct id {
    char text[LAB_ID_LEN + 1];
};

struct posting {
    struct imports *imports;
    struct store *store;
    const struct clock *clock;
    struct idempotency key;
    struct import_wish wish;
    char owner[DOCUMENT_OWNER_BYTES];
    struct weir_slice report; /* in the exchange's memory */
    struct id *before;        /* results that were there, in order */
    size_t n_before;
    struct import_summary summary;
    struct weir_buf body;
    enum weir_status status;
    char why[WHY_BYTES];
};

/* ---- what is new ---- */

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

typedef enum weir_status (*labs_fn)(struct posting *p, const struct lab *labs, size_t n);

static enum weir_status with_labs(struct posting *p, labs_fn fn)
{
    struct dataset *d = NULL;
    const struct lab *labs = NULL;
    size_t n = 0;
    enum weir_status st = dataset_open(&d, p->store, weir_slice_of(p->owner));
    if (st == WEIR_OK) st = dataset_labs(d, &labs, &n);
    if (st == WEIR_OK) st = fn(p, labs, n);
    dataset_free(d);
    return st;
}

static enum weir_status note_ids(struct posting *p, const struct lab *labs, size_t n)
{
    p->before = mem_alloc((n + 1) * sizeof *p->before);
    if (!p->before) return WEIR_NOMEM;
    for (size_t i = 0; i < n; i++) lab_put_id(p->before[i].text, &labs[i]);
    p->n_before = n;
    qsort(p->before, n, sizeof *p->before, compare_ids);
    return WEIR_OK;
}

static void put_refusals(struct weir_buf *out, const struct import_summary *s)
{
    weir_json_put_key(out, "refusals");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < s->n_refusals; i++) {
        weir_json_put_begin_object(out);
        member_uint(out, "line", s->refusals[i].line);
        data_put_text(out, "reason", weir_slice_of(s->refusals[i].reason));
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
}

static enum weir_status put_answer(struct posting *p, const struct lab *labs, size_t n)
{
    struct id id;
    weir_json_put_begin_object(&p->body);
    member_uint(&p->body, "new", p->summary.n_new);
    member_uint(&p->body, "duplicates", p->summary.n_duplicates);
    member_uint(&p->body, "refused", p->summary.n_refused);
    put_refusals(&p->body, &p->summary);
    weir_json_put_key(&p->body, "data");
    weir_json_put_begin_array(&p->body);
    for (size_t i = 0; i < n; i++) {
        lab_put_id(id.text, &labs[i]);
        if (bsearch(&id, p->before, p->n_before, sizeof id, compare_ids)) continue;
        lab_put(&p->body, &labs[i]);
    }
    weir_json_put_end_array(&p->body);
    weir_json_put_end_object(&p->body);
    return weir_buf_status(&p->body);
}

/* ---- importing ---- */

static enum weir_status import_report(struct posting *p, const struct spool *spool)
{
    struct import_error error;
    const char *paths[] = {spool->path};
    char hidden[SPOOL_PATH_BYTES + 1];
    const struct import_options o = {.user = weir_slice_of(p->owner),
                                     .paths = paths,
                                     .n_paths = 1,
                                     .kind = p->wish.kind,
                                     .hidden = hidden,
                                     .clock = p->clock};
    snprintf(hidden, sizeof hidden, "%s/", spool->folder);
    enum weir_status st = WEIR_CONFLICT;
    /* Another node may change the same person's data; adding to that twice changes nothing. */
    for (int n = 0; n < CONFLICTS && st == WEIR_CONFLICT; n++) {
        p->summary = (struct import_summary){.bytes = 0};
        st = import_run(p->store, &o, &p->summary, &error);
    }
    if (st == WEIR_CONFLICT) st = WEIR_BUSY;
    int http = weir_status_http(st);
    if (st != WEIR_OK) snprintf(p->why, sizeof p->why, "%s", error.text);
    if (st == WEIR_BUSY) return WEIR_CONCURRENCY;
    return st != WEIR_OK && http >= 400 && http < 500 ? WEIR_BAD_FILE : st;
}

static enum weir_status nothing_good(struct posting *p)
{
    const struct import_summary *s = &p->summary;
    if (s->n_facts > 0) return WEIR_OK;
    snprintf(p->why, sizeof p->why, "there is no result in it that can be kept%s%s",
             s->n_refusals > 0 ? ": " : "", s->n_refusals > 0 ? s->refusals[0].reason : "");
    return WEIR_UNPROCESSABLE;
}

static enum weir_status store_report(struct posting *p)
{
    struct spool *spool = NULL;
    enum weir_status st = imports_spool(p->imports, &spool);
    if (st == WEIR_OK) st = spool_add(spool, p->report);
    if (st == WEIR_OK) {
        spool_end(spool);
        st = imports_take(p->imports, spool, &p->wish, p->why, sizeof p->why);
    }
    if (st == WEIR_OK) st = import_report(p, spool);
    spool_free(spool);
    return st == WEIR_OK ? nothing_good(p) : st;
}

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    struct posting *p = user;
    struct idempotent_answer answer = {.status = 201, .body = weir_buf_slice(&p->body)};
    return idempotency_decide(&p->key, view, c, &answer);
}

/* Adding results twice changes nothing, so the key may follow. */
static enum weir_status keep_key(struct posting *p)
{
    struct commit *c = p->key.has_key ? commit_new(COMMIT_BYTES) : NULL;
    if (!c) return p->key.has_key ? WEIR_NOMEM : WEIR_OK;
    commit_decide(c, false, decide, p);
    return store_commit_wait(p->store, c).status;
}

/* In a thread of its own. */
static void take_report(void *user)
{
    struct posting *p = user;
    p->status = idempotency_find(&p->key, p->store);
    if (p->status == WEIR_OK) p->status = with_labs(p, note_ids);
    if (p->status == WEIR_OK) p->status = store_report(p);
    if (p->status == WEIR_OK) p->status = with_labs(p, put_answer);
    if (p->status == WEIR_OK) p->status = keep_key(p);
}

/* ---- the request ---- */

static void answer_post(struct exchange *ex, void *user)
{
    struct posting *p = user;
    if (p->status == WEIR_OK) exchange_json(ex, 201, weir_buf_slice(&p->body));
    else if (p->status == WEIR_EXISTS) idempotency_replay(ex, &p->key);
    else if (p->status == WEIR_IDEMPOTENCY) exchange_error(ex, p->status, NULL);
    else if (p->why[0]) exchange_error(ex, p->status, "%s", p->why);
    else resource_store_error(ex, p->status);
    idempotency_fini(&p->key);
    weir_buf_fini(&p->body);
    mem_free(p->before);
}

/* JSON is FHIR, anything else a table. What it says it is counts less than what it is. */
static void name_report(struct weir_slice report, struct import_wish *wish)
{
    size_t i = 0;
    if (report.len >= 3 && memcmp(report.ptr, "\xEF\xBB\xBF", 3) == 0) i = 3;
    while (i < report.len && memchr(" \t\r\n", report.ptr[i], 4)) i++;
    bool is_json = i < report.len && (report.ptr[i] == '{' || report.ptr[i] == '[');
    snprintf(wish->name, sizeof wish->name, is_json ? "labs.json" : "labs.csv");
    snprintf(wish->kind, sizeof wish->kind, is_json ? "fhir" : "labs");
}

void labs_post(struct exchange *ex)
{
    struct weir_slice owner = resource_owner(ex);
    struct weir_slice body = exchange_body(ex);
    struct posting *p = exchange_alloc(ex, sizeof *p);
    char *report = exchange_alloc(ex, body.len + 1);
    if (!p || !report) {
        resource_store_error(ex, WEIR_NOMEM);
        return;
    }
    *p = (struct posting){.imports = server_imports(exchange_server(ex)),
                          .store = server_store(exchange_server(ex)),
                          .clock = exchange_clock(ex),
                          .report = slice_of(report, body.len)};
    if (!data_has_owner(ex) || !data_is_asked_for(ex) || !idempotency_read(ex, &p->key)) return;
    memcpy(p->owner, owner.ptr, owner.len);
    if (body.len > 0) memcpy(report, body.ptr, body.len);
    weir_buf_init(&p->body, DATA_ANSWER_BYTES);
    name_report(p->report, &p->wish);
    resource_work(ex, take_report, answer_post, p);
}
