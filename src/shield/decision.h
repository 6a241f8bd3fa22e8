/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the user about what is private, and the record of all that was decided.
 *
 * A question is a document "dlp_decision" ID with the user as owner. It is answered once: by the
 * user, or by its deadline. Who answers is decided inside the commit, so that of two answers at
 * once one wins, over restarts too.
 *
 * Every decision, whoever took it, is an event of the log "shield/audit": time, user, conversation,
 * categories, counts, action. No value is in it.
 */
#pragma once

#include "shield/guard.h"
#include "store/store.h"

enum {
    DECISION_ID_BYTES = 4 + 26 + 1, /* "dlp_", a ULID and a NUL */
    DECISION_MS = 60 * 1000,        /* to answer in, unless a setting says otherwise */
};

enum decision_choice {
    DECISION_OPEN,
    DECISION_REDACT,
    DECISION_ALLOW,
    DECISION_BLOCK,
    DECISION_TIMEOUT,
};

struct decision {
    struct weir_slice id, owner, conversation, message;
    int64_t deadline_ms; /* wall time */
    enum decision_choice choice;
    bool is_remembered;
    struct weir_slice categories; /* JSON, guard_report_put_counts(): {"email":2} */
};

static inline struct doc_key decision_key(struct weir_slice id)
{
    return (struct doc_key){{"dlp_decision", 12}, id};
}
void decision_put(struct weir_buf *out, const struct decision *d); /* the document's body */
/* Texts are borrowed from `body`'s value, which the caller keeps. False: it is none. */
bool decision_read(const struct weir_json *body, struct decision *out);

/*
 * For a decide: the user's answer. WEIR_NOT_FOUND alike for what is unknown, expired, used or
 * somebody else's; WEIR_INVALID for a choice that is no user's. Puts the document and the audit. On
 * WEIR_OK `message` has the id of the message that waits, for whoever wakes it.
 */
struct decision_answer {
    struct weir_slice owner, id;
    enum decision_choice choice; /* redact, allow, block */
    bool is_remembered;
    int64_t now_ms;
    char message[STORE_NAME_BYTES + 1];
};
WEIR_MUST_CHECK enum weir_status decision_decide(struct decision_answer *a,
                                                 struct commit_view *view, struct commit *c);
/*
 * For a decide: the deadline has passed. WEIR_NOT_FOUND: it was answered before, or is unknown;
 * WEIR_PENDING: it has not passed yet.
 */
WEIR_MUST_CHECK enum weir_status decision_expire(struct weir_slice id, int64_t now_ms,
                                                 struct commit_view *view, struct commit *c);
/* When that is durable: audit_written() of a choice. */
void decision_written(enum decision_choice choice);

/* ---- audit ---- */

extern const char shield_audit_log[]; /* "shield/audit" */

struct audit_entry {
    int64_t at_ms;
    struct weir_slice owner, conversation, message;
    const char *action; /* "redact", "allow", "block", "timeout", "policy_block", "residue_block" */
    const char *decider; /* "user", "policy", "remembered", "deadline", "egress" */
    const char *path;    /* "chat", "gateway", "turn", "session", "document" */
    const struct guard_report *report;
};
/* The JSON alone, and the event in a commit. */
void audit_put(struct weir_buf *out, const struct audit_entry *e);
void audit_append(struct commit *c, const struct audit_entry *e);
/* Its commit is durable, or on its way: it counts, once. */
void audit_written(const char *action);
/* How many of each action this process has written down; the name of the ith, NULL: no more. */
const char *audit_count(size_t i, uint64_t *n);
/* The event alone, for what happens without a commit. Does not wait, and nobody is told. */
void audit_write(struct store *store, const struct audit_entry *e);
