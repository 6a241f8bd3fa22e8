/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A commit, as its maker fills it and the committer works it off: operations one behind
 * the other in one buffer, each with the bytes it speaks of.
 */
#pragma once

#include "store/store.h"

struct log;
struct pending_doc;

enum op_kind { OP_APPEND, OP_MAKE, OP_EXPECT, OP_SEAL, OP_DROP, OP_PUT, OP_REMOVE };

/* Followed by its names and bytes: log and payload, or kind, id, owner and body. */
struct op {
    unsigned char kind; /* enum op_kind */
    unsigned char n_name;
    unsigned char n_id;
    unsigned char n_owner;
    uint32_t n_payload;
    int64_t number;          /* newest id, milliseconds to keep, log id, version expected, or
                              * whether the log was not there before */
    struct op *before;       /* the one in front of it, once the committer came by */
    struct log *log;         /* found by the committer */
    struct pending_doc *old; /* what the committer replaced, in case the commit fails */
};

struct commit {
    struct commit *next;
    char *ops;  /* struct op and its bytes, each at a multiple of eight */
    size_t len; /* bytes of it in use */
    size_t cap;
    size_t n_given; /* bytes that its maker filled: the rest was decided, and may be anew */
    enum weir_status status;
    bool drops;       /* has an OP_DROP, or may have */
    bool is_borrowed; /* its memory is somebody else's */
    uint64_t queued_ns;
    commit_done_fn done;
    void *user;
    commit_decide_fn decide; /* NULL: the operations are there already */
    void *decider;
    struct commit_result result;
    _Alignas(8) char room[]; /* the first ops; one allocation is enough for most commits */
};

/*
 * As commit_drop(), but of the log with this id alone, expired or not. Another of that name stays;
 * one that is not there any more is no failure, so that a commit may drop many.
 */
void commit_drop_id(struct commit *c, struct weir_slice log, uint64_t log_id);

/* What it counts for while it waits: its bytes, and those that its decision will likely add. */
size_t commit_weight(const struct commit *c);

/* The first operation; NULL when there is none. */
struct op *commit_first(struct commit *c);
/* The one behind `op`; NULL at the end. */
struct op *commit_next(struct commit *c, struct op *op);

struct weir_slice op_log(const struct op *op);     /* of append, expect, seal, drop */
struct weir_slice op_payload(const struct op *op); /* frame or body */
struct doc_key op_key(const struct op *op);        /* of put, remove */
struct weir_slice op_owner(const struct op *op);
