/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What approvals and clarifications have in common: approval.c, clarify.c, pending.c, question.c,
 * scope.c, audit.c.
 *
 *   asked      document "session_pending" ID and the event that asks, in one commit of the run
 *   closed     in one commit: that document goes, "approval" or "clarify" ID comes, with all that
 *              it said and what became of it; the event that tells; an entry of the audit
 *
 * So a question that is listed was shown, and the other way round; and whoever closes a question
 * has found it open inside of the commit: of two answers at once one wins.
 */
#pragma once

#include "session/session_impl.h"

enum {
    QUESTION_ID_BYTES = 64,         /* with a NUL; as in struct live */
    QUESTION_DOC_BYTES = 512 << 10, /* of a document or an event: texts, as JSON six times */
    SCOPE_HASH_BYTES = 2 * 32 + 1,  /* in hex, with a NUL */
};

enum question_kind { QUESTION_APPROVAL, QUESTION_CLARIFY };

/* One that is open. Texts are borrowed from its document. */
struct question {
    enum question_kind kind;
    struct weir_slice id, owner, session, turn;
    int64_t asked_ms, deadline_ms, version;
    struct weir_slice tool, hash;     /* of an approval: hash of the arguments */
    struct weir_slice default_answer; /* of a clarification; ptr NULL: none */
    struct weir_slice body;           /* of the document, JSON */
};

/* How one is closed. */
struct outcome {
    const char *decision;   /* "allow", "deny"; of a clarification its source */
    const char *decider;    /* "user", "deadline", "abort", "end", "scope", "limit" */
    struct weir_slice by;   /* for clients: the tab, or what the decider is called there */
    const char *scope;      /* "once", "exact-args", "any-args"; NULL: none */
    struct weir_slice text; /* why, or the answer; ptr NULL: none */
    int64_t at_ms;
    bool is_silent; /* it was never asked: there is no event */
};

/* ---- question.c ---- */

/* "ap_" or "clr_", the ULID of the turn, "_" and the number. */
struct weir_slice question_id(char out[QUESTION_ID_BYTES], enum question_kind kind,
                              struct weir_slice turn, unsigned number);
/* Whether it can be one, in its one spelling; and of which turn. */
bool question_is_id(enum question_kind kind, struct weir_slice id, char turn[SESSION_TURN_LEN + 1]);
struct doc_key question_open_key(struct weir_slice id);
struct doc_key question_closed_key(enum question_kind kind, struct weir_slice id);

/* The members that every question has; the object is begun and not ended. */
void question_put_head(struct weir_buf *out, const struct question *q);
/* False: it is none. */
bool question_read(const struct session_doc *doc, struct question *out);

/* Whatever there is of it, for a pass; WEIR_NOT_FOUND: it was not asked. Fini the document. */
WEIR_MUST_CHECK enum weir_status question_find(struct store *store, enum question_kind kind,
                                               struct weir_slice id, struct session_doc *out,
                                               bool *is_open);
/* Asks, and waits for the answer: WEIR_PENDING. Body and event are whole lines of JSON. */
WEIR_MUST_CHECK enum weir_status question_ask(struct turn_pass *p, const struct question *q,
                                              const struct weir_buf *body,
                                              const struct weir_buf *event);
/*
 * A pass found nothing of it: was it asked by an earlier pass of this attempt, and is on its way?
 * WEIR_PENDING: it is, and is waited for. WEIR_OK: it was not.
 */
WEIR_MUST_CHECK enum weir_status question_await(struct turn_pass *p, struct weir_slice id);
/* One that is open. WEIR_PENDING. */
WEIR_MUST_CHECK enum weir_status question_wait(struct turn_pass *p, const struct session_doc *doc);

/* For a decide. */
WEIR_MUST_CHECK enum weir_status question_close(struct commit *c, const struct question *q,
                                                const struct outcome *o);

/*
 * An answer, for a decide: finds the question, which must be open, in time, and of a turn that goes
 * on. question_read() has filled `q` then. WEIR_NOT_FOUND, WEIR_CONFLICT with a reason.
 */
struct answer {
    enum question_kind kind;
    struct weir_slice id;
    char turn[SESSION_TURN_LEN + 1];
    struct outcome outcome;
};
/* For `check` of a method: the id, and whether it can be one. */
WEIR_MUST_CHECK enum weir_status answer_check(struct session_call *c, const char *member,
                                              enum question_kind kind, struct answer *out);
WEIR_MUST_CHECK enum weir_status answer_find(struct session_call *c, const struct answer *a,
                                             struct commit_view *view, struct session_doc *doc,
                                             struct question *q);

/* {"type":…} that tells of it. approval.c, clarify.c. */
void approval_put_resolved(struct weir_buf *out, const struct question *q, const struct outcome *o);
void clarify_put_resolved(struct weir_buf *out, const struct question *q, const struct outcome *o);
/* One that is open, for lists: {"approvalId",…,"deadlineAt"}, {"requestId",…}; `doc` is its own. */
void approval_put_pending(struct weir_buf *out, const struct weir_json *doc,
                          const struct question *q);
void clarify_put_pending(struct weir_buf *out, const struct weir_json *doc,
                         const struct question *q);
/* What the deadline means for it. */
struct outcome clarify_expired(const struct question *q);

/* ---- audit.c ---- */

void session_audit_put(struct weir_buf *out, const struct question *q, const struct outcome *o);

/* ---- scope.c ---- */

/* Of JSON that is the same whatever the order of members. WEIR_LIMIT, WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status scope_hash(struct arena *arena, const struct weir_json *args,
                                            char out[SCOPE_HASH_BYTES]);
/* The scope that covers it, "any-args" or "exact-args"; NULL: none does. */
struct scope_wish {
    struct weir_slice session, tool, hash;
};
WEIR_MUST_CHECK enum weir_status scope_find(struct store *store, const struct scope_wish *w,
                                            const char **scope);
WEIR_MUST_CHECK enum weir_status scope_find_view(struct commit_view *view,
                                                 const struct scope_wish *w, const char **scope);
/* Remembers what was allowed, unless it was allowed once. */
WEIR_MUST_CHECK enum weir_status scope_keep(struct commit *c, const struct question *q,
                                            const struct outcome *o);
