/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about what is private, and the audit.
 *
 * A question: {"owner","conversation","message","deadline":MS,"choice":"open"|"redact"|"allow"|
 * "block"|"timeout","remembered":BOOL,"categories":TEXT}, the last being JSON of its own, as below.
 *
 * An event of the audit: {"at","user","conversation","message","action","decidedBy","path",
 * "count":N,"categories":{"email":2}}; members that there are none of are null.
 */
#include "shield/decision.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <weir/sse.h>

#include "base/slice.h"
#include "codec/json_member.h"

enum {
    DECISION_BYTES = 4096, /* of a document */
    AUDIT_BYTES = 4096,    /* of an event */
    VALUE_BYTES = 64 << 10,
};

const char shield_audit_log[] = "shield/audit";

static const char *const choice_names[] = {[DECISION_OPEN] = "open",
                                           [DECISION_REDACT] = "redact",
                                           [DECISION_ALLOW] = "allow",
                                           [DECISION_BLOCK] = "block",
                                           [DECISION_TIMEOUT] = "timeout"};

void decision_put(struct weir_buf *out, const struct decision *d)
{
    weir_json_put_begin_object(out);
    member_string(out, "owner", d->owner);
    member_string(out, "conversation", d->conversation);
    member_string(out, "message", d->message);
    weir_json_put_key(out, "deadline");
    weir_json_put_int(out, d->deadline_ms);
    weir_json_put_key(out, "choice");
    weir_json_put_str(out, choice_names[d->choice]);
    weir_json_put_key(out, "remembered");
    weir_json_put_bool(out, d->is_remembered);
    member_string(out, "categories", d->categories.len > 0 ? d->categories : SLICE("{}"));
    weir_json_put_end_object(out);
}

static bool read_choice(struct weir_slice name, enum decision_choice *out)
{
    for (int i = DECISION_OPEN; i <= DECISION_TIMEOUT; i++) {
        if (!weir_slice_is(name, choice_names[i])) continue;
        *out = (enum decision_choice)i;
        return true;
    }
    return false;
}

static bool read_text(const struct weir_json *body, const char *key, struct weir_slice *out)
{
    const struct weir_json *v = weir_json_get_str(body, key);
    *out = weir_json_text(v);
    return weir_json_type_of(v) == WEIR_JSON_STRING;
}

bool decision_read(const struct weir_json *body, struct decision *out)
{
    struct weir_slice choice;
    const struct weir_json *remembered = weir_json_get_str(body, "remembered");
    *out = (struct decision){.is_remembered = weir_json_type_of(remembered) == WEIR_JSON_TRUE};
    return read_text(body, "owner", &out->owner) &&
           read_text(body, "conversation", &out->conversation) &&
           read_text(body, "message", &out->message) && read_text(body, "choice", &choice) &&
           read_choice(choice, &out->choice) && read_text(body, "categories", &out->categories) &&
           weir_json_int64(weir_json_get_str(body, "deadline"), &out->deadline_ms) &&
           (out->is_remembered || weir_json_type_of(remembered) == WEIR_JSON_FALSE);
}

/* ---- deciding ---- */

/* What a report would count, from what the question has kept of it. */
static void read_counts(struct weir_json_doc *doc, struct weir_slice categories,
                        struct guard_report *out)
{
    const struct weir_json *counts;
    if (weir_json_parse(doc, categories, &counts, NULL) != WEIR_OK) return;
    for (int i = 0; i < SHIELD_N_CATEGORIES; i++) {
        int64_t n;
        const char *name = shield_category_name((enum shield_category)i);
        if (!weir_json_int64(weir_json_get_str(counts, name), &n) || n <= 0) continue;
        out->counts[i] = (size_t)n;
        out->n += (size_t)n;
    }
}

void decision_written(enum decision_choice choice)
{
    audit_written(choice_names[choice]);
}

/* A question that was found, and how it ends. */
struct deciding {
    struct weir_slice id;
    struct decision question;
    int64_t version, now_ms;
    const char *decider;
};

static enum weir_status put_decision(struct deciding *d, struct weir_json_doc *doc,
                                     struct commit *c)
{
    struct weir_buf body;
    struct guard_report report = {.n = 0};
    read_counts(doc, d->question.categories, &report);
    weir_buf_init(&body, DECISION_BYTES);
    decision_put(&body, &d->question);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) {
        commit_put(c, decision_key(d->id), d->version, d->question.owner, weir_buf_slice(&body));
        audit_append(c, &(struct audit_entry){.at_ms = d->now_ms,
                                              .owner = d->question.owner,
                                              .conversation = d->question.conversation,
                                              .message = d->question.message,
                                              .action = choice_names[d->question.choice],
                                              .decider = d->decider,
                                              .path = "chat",
                                              .report = &report});
    }
    weir_buf_fini(&body);
    return st;
}

/* Looks the question up, in memory of `doc`'s. WEIR_NOT_FOUND: there is none that waits. */
static enum weir_status find_open(struct deciding *d, struct weir_json_doc *doc,
                                  struct commit_view *view)
{
    struct doc found;
    const struct weir_json *body;
    enum weir_status st = commit_view_doc(view, decision_key(d->id), &found);
    if (st != WEIR_OK) return st;
    d->version = found.version;
    st = weir_json_parse(doc, found.body, &body, NULL);
    if (st != WEIR_OK || !decision_read(body, &d->question)) return WEIR_CORRUPT;
    return d->question.choice == DECISION_OPEN ? WEIR_OK : WEIR_NOT_FOUND;
}

static enum weir_status answer(struct decision_answer *a, struct deciding *d,
                               struct weir_json_doc *doc, struct commit *c)
{
    bool is_theirs = slice_eq(d->question.owner, a->owner);
    if (!is_theirs || a->now_ms >= d->question.deadline_ms) return WEIR_NOT_FOUND;
    d->question.choice = a->choice;
    d->question.is_remembered = a->is_remembered && a->choice != DECISION_BLOCK;
    snprintf(a->message, sizeof a->message, "%.*s", (int)d->question.message.len,
             d->question.message.ptr);
    return put_decision(d, doc, c);
}

/* An id that no store would take is as unknown as any. */
static bool is_id(struct weir_slice id)
{
    return id.len > 0 && id.len <= STORE_NAME_BYTES && !memchr(id.ptr, 0, id.len);
}

enum weir_status decision_decide(struct decision_answer *a, struct commit_view *view,
                                 struct commit *c)
{
    struct deciding d = {.id = a->id, .now_ms = a->now_ms, .decider = "user"};
    a->message[0] = 0;
    if (a->choice == DECISION_OPEN || a->choice == DECISION_TIMEOUT) return WEIR_INVALID;
    if (!is_id(a->id)) return WEIR_NOT_FOUND;
    struct weir_json_doc *doc = weir_json_doc_new(VALUE_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = find_open(&d, doc, view);
    if (st == WEIR_OK) st = answer(a, &d, doc, c);
    weir_json_doc_free(doc);
    return st;
}

enum weir_status decision_expire(struct weir_slice id, int64_t now_ms, struct commit_view *view,
                                 struct commit *c)
{
    struct deciding d = {.id = id, .now_ms = now_ms, .decider = "deadline"};
    struct weir_json_doc *doc = weir_json_doc_new(VALUE_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = find_open(&d, doc, view);
    if (st == WEIR_OK && now_ms < d.question.deadline_ms) st = WEIR_PENDING;
    if (st == WEIR_OK) {
        d.question.choice = DECISION_TIMEOUT;
        st = put_decision(&d, doc, c);
    }
    weir_json_doc_free(doc);
    return st;
}

/* ---- audit ---- */

static void put_or_null(struct weir_buf *out, const char *key, struct weir_slice text)
{
    weir_json_put_key(out, key);
    if (text.len > 0) weir_json_put_string(out, text);
    else weir_json_put_null(out);
}

void audit_put(struct weir_buf *out, const struct audit_entry *e)
{
    char at[CLOCK_TEXT_BYTES];
    clock_format(at, e->at_ms);
    weir_json_put_begin_object(out);
    member_string(out, "at", weir_slice_of(at));
    put_or_null(out, "user", e->owner);
    put_or_null(out, "conversation", e->conversation);
    put_or_null(out, "message", e->message);
    member_string(out, "action", weir_slice_of(e->action));
    member_string(out, "decidedBy", weir_slice_of(e->decider));
    member_string(out, "path", weir_slice_of(e->path));
    weir_json_put_key(out, "count");
    weir_json_put_uint(out, e->report ? e->report->n : 0);
    weir_json_put_key(out, "categories");
    guard_report_put_counts(e->report, out);
    weir_json_put_end_object(out);
}

static const char *const action_names[] = {"redact",  "allow",        "block",
                                           "timeout", "policy_block", "residue_block"};
enum { N_ACTIONS = sizeof action_names / sizeof *action_names };
static atomic_uint_fast64_t action_counts[N_ACTIONS];

const char *audit_count(size_t i, uint64_t *n)
{
    if (i >= N_ACTIONS) return NULL;
    *n = atomic_load(&action_counts[i]);
    return action_names[i];
}

void audit_written(const char *action)
{
    for (size_t i = 0; i < N_ACTIONS; i++)
        if (strcmp(action_names[i], action) == 0) atomic_fetch_add(&action_counts[i], 1);
}

void audit_append(struct commit *c, const struct audit_entry *e)
{
    struct weir_buf json, frame;
    weir_buf_init(&json, AUDIT_BYTES);
    weir_buf_init(&frame, 2 * AUDIT_BYTES);
    audit_put(&json, e);
    struct weir_sse_event event = {.type = SLICE("audit"), .data = weir_buf_slice(&json)};
    enum weir_status st = weir_buf_status(&json);
    if (st == WEIR_OK) st = weir_sse_write(&frame, &event);
    /* Without memory the commit fails by an empty frame: what is not audited does not happen. */
    commit_append(c, weir_slice_of(shield_audit_log),
                  st == WEIR_OK ? weir_buf_slice(&frame) : slice_of(NULL, 0));
    weir_buf_fini(&frame);
    weir_buf_fini(&json);
}

static void on_written(void *user, const struct commit_result *result)
{
    (void)result;
    commit_free(user);
}

void audit_write(struct store *store, const struct audit_entry *e)
{
    struct commit *c = commit_new(AUDIT_BYTES);
    if (!c) return;
    audit_append(c, e);
    audit_written(e->action);
    store_commit(store, c, on_written, c);
}
