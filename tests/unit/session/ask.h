/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of questions share: turns that wait, questions that they asked, the audit. */
#pragma once

#include "play.h"
#include "session/question_impl.h"

enum { ASK_MS = 60 * 1000 };

static char asked_id[QUESTION_ID_BYTES]; /* of the last one */

/* A question as a pass would have saved it: `more` is what it says, as members. */
static inline const char *ask_by_hand(enum question_kind kind, const struct sent *t, unsigned n,
                                      const char *more)
{
    struct weir_buf body;
    struct weir_slice id = question_id(asked_id, kind, weir_slice_of(t->turn), n);
    int64_t now_ms = clock_wall_ms(&desk.clock.clock);
    const struct question q = {.session = weir_slice_of(t->session),
                               .turn = weir_slice_of(t->turn),
                               .asked_ms = now_ms,
                               .deadline_ms = now_ms + ASK_MS};
    weir_buf_init(&body, 1 << 20);
    question_put_head(&body, &q);
    weir_buf_printf(&body, ",%s}", more);
    struct commit *c = commit_new(0);
    commit_put(c, question_open_key(id), DOC_MUST_BE_NEW, SLICE("ann"), weir_buf_slice(&body));
    T_EQ(store_commit_wait(desk.store, c).status, WEIR_OK);
    weir_buf_fini(&body);
    return asked_id;
}

static inline void advance(int64_t ms)
{
    fake_clock_advance(&desk.clock, (uint64_t)ms * 1000000);
    sessions_wake(desk.sessions);
}

/* The audit as it is stored. */
static inline const char *audit(void)
{
    static char text[1 << 20];
    size_t len = 0;
    uint64_t next = 1;
    struct log_read r;
    do {
        store_read(desk.store, weir_slice_of(session_audit_log), next, 1 << 20, &r);
        for (unsigned i = 0; i < r.n_chunks; i++) {
            T_OK(len + r.chunks[i]->len < sizeof text);
            memcpy(text + len, r.chunks[i]->bytes, r.chunks[i]->len);
            len += r.chunks[i]->len;
            next = r.chunks[i]->last + 1;
            chunk_unref(r.chunks[i]);
        }
    } while (r.n_chunks > 0);
    text[len] = '\0';
    return text;
}

static inline unsigned n_audited(void)
{
    return count(audit(), "event: audit\n");
}
