/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of the calls of models, by step, part of the step, and number in the order in which
 * the part asks: RUN/SS/PP/KK. Runs of all kinds have them, whatever the documents are called.
 *
 *   document "turn_request"  the request, as model_request_put() writes it; from its beginning on
 *   document "turn_call"     who asked for what, its hash, when, the answer, what it has cost
 *
 * They are two because a call may take long: the request need not be kept in memory for the second.
 */
#include "call/calls.h"

#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "codec/json_member.h"
#include "io/crypto.h"

enum { VALUES_BYTES = 64 << 20 /* of one call, as values */ };

const char call_kind[] = "turn_call";
const char call_request_kind[] = "turn_request";

struct doc_key call_key(char out[CALL_ID_BYTES], const char *kind, struct weir_slice run,
                        struct call_place at)
{
    CHECK(at.number < CALLS);
    int len = snprintf(out, CALL_ID_BYTES, "%.*s/%02u/%02u/%02u", (int)run.len, run.ptr, at.step,
                       at.part, at.number);
    CHECK(len > 0 && len < CALL_ID_BYTES);
    return (struct doc_key){weir_slice_of(kind), slice_of(out, (size_t)len)};
}

void call_hash(char out[CALL_HASH_BYTES], struct weir_slice request)
{
    unsigned char hash[SHA256_BYTES];
    sha256(request, hash);
    for (size_t i = 0; i < SHA256_BYTES; i++) snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

/* ---- writing ---- */

static void put_text(struct weir_buf *out, const char *key, const char *text)
{
    weir_json_put_key(out, key);
    weir_json_put_str(out, text[0] ? text : NULL);
}

void call_put(struct weir_buf *out, const struct call *call, const struct model_answer *answer)
{
    weir_json_put_begin_object(out);
    member_int(out, "step", call->at.step);
    member_int(out, "part", call->at.part);
    member_int(out, "number", call->at.number);
    put_text(out, "agent", call->agent);
    put_text(out, "purpose", call->purpose);
    put_text(out, "role", model_role_name(call->role));
    put_text(out, "sha256", call->hash);
    member_int(out, "began_ms", call->began_ms);
    member_int(out, "ended_ms", call->ended_ms);
    weir_json_put_key(out, "earlier_usd");
    weir_json_put_double(out, call->earlier_usd);
    weir_json_put_key(out, "answer");
    model_answer_put(out, answer);
    weir_json_put_end_object(out);
}

/* ---- reading ---- */

void call_found_free(struct call_found *f)
{
    if (!f) return;
    weir_json_doc_free(f->doc);
    weir_buf_fini(&f->content);
    mem_free(f);
}

static void copy_text(char *out, size_t size, const struct weir_json *json, const char *key)
{
    struct weir_slice text = weir_json_text(weir_json_get_str(json, key));
    snprintf(out, size, "%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
}

static int64_t get_int(const struct weir_json *json, const char *key)
{
    int64_t n = 0;
    return weir_json_int64(weir_json_get_str(json, key), &n) ? n : 0;
}

static unsigned get_small(const struct weir_json *json, const char *key)
{
    int64_t n = get_int(json, key);
    return n >= 0 && n < CALLS ? (unsigned)n : 0;
}

static enum model_role get_role(const struct weir_json *json)
{
    struct weir_slice name = weir_json_text(weir_json_get_str(json, "role"));
    for (int role = 0; role < MODEL_N_ROLES; role++)
        if (weir_slice_is(name, model_role_name((enum model_role)role)))
            return (enum model_role)role;
    return MODEL_N_ROLES;
}

static enum weir_status read_body(struct call_found *f, struct weir_slice body)
{
    const struct weir_json *json;
    struct call *c = &f->call;
    f->doc = weir_json_doc_new(VALUES_BYTES);
    if (!f->doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(f->doc, body, &json, NULL);
    if (st == WEIR_NOMEM || st == WEIR_LIMIT) return st;
    if (st != WEIR_OK) return WEIR_CORRUPT;
    c->at = (struct call_place){get_small(json, "step"), get_small(json, "part"),
                                get_small(json, "number")};
    c->role = get_role(json);
    c->began_ms = get_int(json, "began_ms");
    c->ended_ms = get_int(json, "ended_ms");
    copy_text(c->agent, sizeof c->agent, json, "agent");
    copy_text(c->purpose, sizeof c->purpose, json, "purpose");
    copy_text(c->hash, sizeof c->hash, json, "sha256");
    if (!weir_json_double(weir_json_get_str(json, "earlier_usd"), &c->earlier_usd))
        c->earlier_usd = 0;
    f->json = weir_json_get_str(json, "answer");
    bool is_good = c->role < MODEL_N_ROLES && model_answer_read(f->json, &f->content, &f->answer);
    st = weir_buf_status(&f->content);
    if (st != WEIR_OK) return st;
    return is_good ? WEIR_OK : WEIR_CORRUPT;
}

enum weir_status call_read(struct weir_slice body, struct call_found **out)
{
    struct call_found *f = mem_zalloc(sizeof *f);
    *out = NULL;
    if (!f) return WEIR_NOMEM;
    weir_buf_init(&f->content, STORE_DOC_BYTES);
    enum weir_status st = read_body(f, body);
    if (st == WEIR_OK) *out = f;
    else call_found_free(f);
    return st;
}

enum weir_status call_find(struct store *store, struct weir_slice run, struct call_place at,
                           struct call_found **out)
{
    char id[CALL_ID_BYTES];
    struct doc doc;
    *out = NULL;
    enum weir_status st = store_doc_get(store, call_key(id, call_kind, run, at), &doc);
    if (st != WEIR_OK) return st;
    st = call_read(doc.body, out);
    doc_fini(&doc);
    return st;
}

struct listing {
    struct weir_slice prefix;
    call_fn each;
    void *user;
    bool is_over;
};

static enum weir_status list_call(void *user, const struct doc *doc)
{
    struct listing *l = user;
    struct call_found *f;
    if (doc->id.len < l->prefix.len || memcmp(doc->id.ptr, l->prefix.ptr, l->prefix.len) != 0) {
        l->is_over = true;
        return WEIR_LIMIT;
    }
    enum weir_status st = call_read(doc->body, &f);
    return st == WEIR_OK ? l->each(l->user, f) : st;
}

enum weir_status calls_each(struct store *store, struct weir_slice run, unsigned step, call_fn each,
                            void *user)
{
    char prefix[CALL_ID_BYTES];
    int len = snprintf(prefix, sizeof prefix, "%.*s/", (int)run.len, run.ptr);
    if (step > 0) len += snprintf(prefix + len, sizeof prefix - (size_t)len, "%02u/", step);
    struct listing l = {.prefix = slice_of(prefix, (size_t)len), .each = each, .user = user};
    const struct doc_query query = {
        .kind = weir_slice_of(call_kind), .after = l.prefix, .limit = SIZE_MAX};
    enum weir_status st = store_doc_list(store, &query, list_call, &l);
    return l.is_over ? WEIR_OK : st;
}
