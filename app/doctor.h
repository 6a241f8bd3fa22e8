/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checks of weir doctor share. Each file of checks looks at one thing and tells what it
 * found with doctor_say(); what a later check needs is left in the struct.
 */
#pragma once

#include "client_config.h"
#include "control.h"
#include "io/fetch.h"
#include "io/probe.h"

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_SKIP };

struct doctor {
    bool is_json;
    unsigned n_failed, n_warned;
    const struct client_config *config;
    struct fetcher *fetcher;
    char prefix[128]; /* of the streams that the key is for */
    bool can_read;    /* the key allows watching */
};

/* One line: what was looked at and what is the case, and what to do about it ("" when nothing). */
void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *check,
                const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- doctor_reach.c: the way to the server ---- */

/* Name, connections, TLS. False: no more can be found out. */
bool doctor_reach(struct doctor *d);

/* ---- doctor_http.c: what it answers ---- */

/* An answer, as far as it came. */
struct doctor_answer {
    enum fetch_end end;
    const char *why;
    bool is_over;
    int status; /* HTTP's; 0: none */
    struct weir_buf body;
    char date[64], server[64], via[128], encoding[64], type[64], cloudflare[64];
    char location[256];
    uint64_t sent_ns, head_ns, done_ns; /* by the monotonic clock; head_ns 0: none came */
    int64_t sent_ms;                    /* by the wall clock */
    bool (*on_body)(struct doctor_answer *a, struct weir_slice bytes);
    void *user; /* of on_body */
};

struct doctor_wish {
    const char *path;
    const char *accept;        /* NULL: JSON */
    const char *last_event_id; /* NULL: none */
    unsigned whole_ms;         /* 0: ten seconds */
};

/*
 * Waits for the answer to a GET, which goes piece by piece to out->on_body, if there is one (the
 * caller zeroes the rest). doctor_answer_fini() after it.
 */
void doctor_fetch(struct doctor *d, const struct doctor_wish *wish, struct doctor_answer *out);
void doctor_answer_fini(struct doctor_answer *a);

/* Status, version, store, key, clock. False: no use to go on. */
bool doctor_http(struct doctor *d);

/* The settings of the proxy that the head tells of, or of the usual ones. */
const char *doctor_proxy_advice(const struct doctor_answer *a);

/* ---- doctor_stream.c: how event streams get here ---- */

void doctor_streams(struct doctor *d);

/* ---- doctor_local.c: this machine and its folder ---- */

void doctor_local(struct doctor *d);
void doctor_process(struct doctor *d);
