/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private values of a run: what models are asked leaves with placeholders in their place, and what
 * comes back, as it comes and as a whole, has the values again. So whoever asks knows nothing of
 * it, and what is recorded of calls holds placeholders only.
 *
 * The map is the document "shield_map" of an id, sealed: a turn's own, or that of the session that
 * it is of. It is put before the request that needs it, in the same order of commits; so whoever
 * finds an answer finds the map, and the same question has the same bytes after a crash. Nobody is
 * asked: "ask" counts as auto_redact, and "block" ends the run.
 *
 * The guard is shared by the parts of a step, under the lock. The model engine has a copy, for it
 * looks at what leaves at a time of its own.
 */
#include "call/values.h"

#include "base/mem.h"
#include "base/slice.h"
#include "shield/decision.h"
#include "shield/restore.h"

enum {
    MAP_BYTES = STORE_DOC_BYTES,
    REQUEST_BYTES = STORE_DOC_BYTES,      /* of a request as JSON */
    ANSWER_BYTES = 8 * MODEL_ANSWER_BYTES /* of an answer with its values */
};

static struct doc_key map_key(struct weir_slice id)
{
    return (struct doc_key){SLICE("shield_map"), id};
}

void call_values_init(struct call_values *v, const struct values_home *home, struct weir_slice id)
{
    *v = (struct call_values){.home = home, .id = id};
    pthread_mutex_init(&v->lock, NULL);
}

void call_values_fini(struct call_values *v)
{
    guard_free(v->guard);
    guard_free(atomic_load(&v->leaving));
    for (unsigned i = 0; i < v->n_old; i++) guard_free(v->old[i]);
    pthread_mutex_destroy(&v->lock);
}

/* Whether what is asked in a role is the policy's business. */
static bool is_covered(const struct values_home *h, enum model_role role)
{
    const struct shield_policy *p = h->policy;
    if (!p || !h->vault || shield_policy_action(p) == PII_OFF) return false;
    return shield_policy_scope(p) == PII_ALL || models_is_external(h->models, role);
}

/* WEIR_NOT_FOUND: it has none. */
static enum weir_status unseal(const struct values_home *h, struct weir_slice id, struct guard *g)
{
    struct doc doc;
    enum weir_status st = store_doc_get(h->store, map_key(id), &doc);
    if (st != WEIR_OK) return st;
    st = guard_unseal(g, h->vault, id, doc.body);
    doc_fini(&doc);
    /* A key that is not there any more is another thing than a map that is not. */
    return st == WEIR_NOT_FOUND ? WEIR_FORBIDDEN : st;
}

struct guard *call_values_of(const struct values_home *home, struct weir_slice id)
{
    if (!home->policy || !home->vault) return NULL;
    struct guard *g = guard_new(home->policy);
    if (g && unseal(home, id, g) == WEIR_OK) return g;
    guard_free(g);
    return NULL;
}

/* ---- requests ---- */

/* JSON of a member as the request has it; empty: there is none. */
static void put_part(struct weir_buf *out, const struct weir_json *v)
{
    if (v) weir_json_put_value(out, v);
}

/* A request of placeholders, and the memory of its texts. */
struct redacted {
    struct model_request request;
    struct weir_json_doc *doc;
    struct weir_buf messages, tools, schema;
};

static void redacted_fini(struct redacted *r)
{
    weir_buf_fini(&r->messages);
    weir_buf_fini(&r->tools);
    weir_buf_fini(&r->schema);
    weir_json_doc_free(r->doc);
}

static enum weir_status read_redacted(struct redacted *r, struct weir_slice body)
{
    const struct weir_json *v;
    enum weir_status st = weir_json_parse(r->doc, body, &v, NULL);
    if (st != WEIR_OK) return st;
    put_part(&r->messages, weir_json_get_str(v, "messages"));
    put_part(&r->tools, weir_json_get_str(v, "tools"));
    put_part(&r->schema, weir_json_get_str(v, "schema"));
    r->request.system = weir_json_text(weir_json_get_str(v, "system"));
    r->request.messages = weir_buf_slice(&r->messages);
    r->request.tools = weir_buf_slice(&r->tools);
    r->request.schema = weir_buf_slice(&r->schema);
    st = weir_buf_status(&r->messages);
    if (st == WEIR_OK) st = weir_buf_status(&r->tools);
    return st == WEIR_OK ? weir_buf_status(&r->schema) : st;
}

/* The same request with placeholders. redacted_fini() always. */
static enum weir_status redact(struct redacted *r, struct guard *g,
                               const struct model_request *request, struct guard_report *report)
{
    struct weir_buf plain, body;
    const struct weir_json *v;
    *r = (struct redacted){.request = *request, .doc = weir_json_doc_new(0)};
    weir_buf_init(&r->messages, REQUEST_BYTES);
    weir_buf_init(&r->tools, REQUEST_BYTES);
    weir_buf_init(&r->schema, REQUEST_BYTES);
    weir_buf_init(&plain, REQUEST_BYTES);
    weir_buf_init(&body, REQUEST_BYTES);
    model_request_put(&plain, request);
    enum weir_status st = r->doc ? weir_buf_status(&plain) : WEIR_NOMEM;
    if (st == WEIR_OK) st = weir_json_parse(r->doc, weir_buf_slice(&plain), &v, NULL);
    if (st == WEIR_OK) st = guard_redact(g, GUARD_ANTHROPIC, v, &body, report);
    weir_buf_reset(&plain);
    if (st == WEIR_OK) weir_json_put_value(&plain, v);
    /* Where there is nothing private it stays as it is, byte for byte. */
    bool is_same = slice_eq(weir_buf_slice(&plain), weir_buf_slice(&body));
    if (st == WEIR_OK && !is_same) st = read_redacted(r, weir_buf_slice(&body));
    weir_buf_fini(&plain);
    weir_buf_fini(&body);
    return st;
}

/* ---- the map ---- */

static void audit(const struct call_values *v, struct flow_step *s, const char *action,
                  const char *decider, const struct guard_report *report)
{
    audit_write(flow_store(s), &(struct audit_entry){.at_ms = clock_wall_ms(flow_clock(s)),
                                                     .owner = flow_owner(s),
                                                     .conversation = v->id,
                                                     .action = action,
                                                     .decider = decider,
                                                     .path = v->home->path,
                                                     .report = report});
}

static enum weir_status save_map(struct call_values *v, struct flow_step *s)
{
    struct weir_buf sealed;
    weir_buf_init(&sealed, MAP_BYTES);
    enum weir_status st = guard_seal(v->guard, v->home->vault, v->id, &sealed);
    if (st == WEIR_OK) st = weir_buf_status(&sealed);
    if (st == WEIR_OK)
        flow_save(s, &(struct flow_save){.key = map_key(v->id), .body = weir_buf_slice(&sealed)});
    weir_buf_fini(&sealed);
    return st;
}

/*
 * A new copy for who looks at what leaves. The old one may be in use by a call of another part:
 * it is kept until all of them are over.
 */
static enum weir_status hand_out(struct call_values *v)
{
    struct guard *before = atomic_load(&v->leaving);
    if (before && v->n_old == VALUES_OLD) return WEIR_LIMIT;
    struct guard *copy = guard_copy(v->guard);
    if (!copy) return WEIR_NOMEM;
    if (before) v->old[v->n_old++] = before;
    atomic_store(&v->leaving, copy);
    v->version = guard_version(v->guard);
    return WEIR_OK;
}

static enum weir_status load_locked(struct call_values *v)
{
    if (v->guard) return WEIR_OK;
    struct guard *g = guard_new(v->home->policy);
    if (!g) return WEIR_NOMEM;
    enum weir_status st = unseal(v->home, v->id, g);
    if (st != WEIR_OK && st != WEIR_NOT_FOUND) {
        guard_free(g);
        return st;
    }
    v->guard = g;
    return hand_out(v);
}

static enum weir_status refuse(const struct call_values *v, struct values_asker *w,
                               const struct guard_report *report)
{
    audit(v, w->step, "policy_block", "policy", report);
    return asker_refuse(w->asker, WEIR_UNPROCESSABLE,
                        "the policy lets nothing private leave for a model, and there is some in "
                        "what it would be asked");
}

static enum weir_status redact_locked(struct call_values *v, struct values_asker *w,
                                      const struct model_request *request, struct redacted *out,
                                      struct guard_report *report)
{
    bool is_blocked = shield_policy_action(v->home->policy) == PII_BLOCK;
    enum weir_status st = redact(out, v->guard, request, report);
    if (st == WEIR_FORBIDDEN || (st == WEIR_OK && is_blocked && report->n > 0))
        return refuse(v, w, report);
    if (st != WEIR_OK || guard_version(v->guard) == v->version) return st;
    st = save_map(v, w->step);
    if (st == WEIR_OK) audit(v, w->step, "redact", "policy", report);
    return st == WEIR_OK ? hand_out(v) : st;
}

/* ---- answers ---- */

/* The answer as agents know it, in the pass's memory. */
enum weir_status call_values_restore(const struct guard *g, struct arena *arena,
                                     const struct model_answer *answer,
                                     const struct model_answer **out)
{
    struct weir_buf content;
    struct model_answer *copy = arena_alloc(arena, sizeof *copy);
    if (!copy) return arena->status;
    weir_buf_init(&content, ANSWER_BYTES);
    enum weir_status st = guard_restore(g, answer->content, &content);
    char *text = st == WEIR_OK ? arena_alloc(arena, content.len + 1) : NULL;
    if (st == WEIR_OK && !text) st = arena->status;
    if (st == WEIR_OK) {
        memcpy(text, content.ptr, content.len);
        *copy = *answer;
        copy->content = slice_of(text, content.len);
        *out = copy;
    }
    weir_buf_fini(&content);
    return st;
}

enum weir_status call_values_ask(struct call_values *v, struct values_asker *w,
                                 const struct model_request *request, const char *agent,
                                 const struct call_found **found,
                                 const struct model_answer **answer)
{
    struct redacted r;
    struct guard_report report;
    if (!is_covered(v->home, request->role)) {
        enum weir_status plain = asker_ask(w->asker, request, agent, found);
        if (plain == WEIR_OK) *answer = &(*found)->answer;
        return plain;
    }
    guard_report_init(&report);
    pthread_mutex_lock(&v->lock);
    r = (struct redacted){.doc = NULL};
    enum weir_status st = load_locked(v);
    if (st == WEIR_OK) st = redact_locked(v, w, request, &r, &report);
    r.request.guard = atomic_load(&v->leaving);
    pthread_mutex_unlock(&v->lock);
    if (st == WEIR_OK) st = asker_ask(w->asker, &r.request, agent, found);
    if (st == WEIR_OK && (*found)->answer.status == WEIR_FORBIDDEN)
        audit(v, w->step, "residue_block", "egress", NULL);
    if (st == WEIR_OK) {
        pthread_mutex_lock(&v->lock);
        st = call_values_restore(v->guard, w->arena, &(*found)->answer, answer);
        pthread_mutex_unlock(&v->lock);
    }
    redacted_fini(&r);
    guard_report_fini(&report);
    return st;
}

/* ---- while it comes ---- */

size_t call_values_ready(struct call_values *v, struct weir_slice text)
{
    const struct guard *g = atomic_load(&v->leaving);
    struct restorer r;
    struct weir_buf nothing;
    if (!g) return text.len;
    weir_buf_init(&nothing, 0);
    restorer_init(&r, guard_tokens(g), RESTORE_NOT);
    restorer_feed(&r, text, &nothing);
    weir_buf_fini(&nothing);
    return text.len - r.n_held;
}

void call_values_restore_text(struct call_values *v, struct weir_slice text, struct weir_buf *out)
{
    const struct guard *g = atomic_load(&v->leaving);
    struct restorer r;
    if (!g) {
        weir_buf_append_slice(out, text);
        return;
    }
    restorer_init(&r, guard_tokens(g), RESTORE_TEXT);
    restorer_feed(&r, text, out);
    restorer_end(&r, out);
}

/* ---- again ---- */

enum weir_status call_values_redact_again(struct guard *g, const struct model_request *request,
                                          struct weir_buf *body)
{
    struct redacted r;
    enum weir_status st = redact(&r, g, request, NULL);
    if (st == WEIR_OK) model_request_put(body, &r.request);
    redacted_fini(&r);
    return st == WEIR_OK ? weir_buf_status(body) : st;
}
