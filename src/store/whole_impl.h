/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine is to whole.c, which looks after the order of calls: logs come with their events
 * in one piece and without a gap, and nothing is put into what is read. Private to
 * src/store/whole*.c.
 */
#pragma once

#include "store/whole.h"

struct whole_engine {
    void (*close)(struct whole *w);
    enum weir_status (*next_log)(struct whole *w, struct whole_log *out);
    /* Those of a log that begin with event `from` or later. */
    enum weir_status (*next_events)(struct whole *w, uint64_t log_id, uint64_t from,
                                    struct whole_events *out);
    enum weir_status (*next_doc)(struct whole *w, struct doc *out);
    void (*rewind)(struct whole *w);
    enum weir_status (*facts)(struct whole *w, struct whole_facts *out);
    enum weir_status (*put_log)(struct whole *w, const struct whole_log *log);
    enum weir_status (*put_events)(struct whole *w, uint64_t log_id,
                                   const struct whole_events *events);
    enum weir_status (*put_doc)(struct whole *w, const struct doc *doc);
    enum weir_status (*fill_end)(struct whole *w, uint64_t last_id);
};

/* An engine's own struct begins with it. */
struct whole {
    const struct whole_engine *engine;
    bool is_filling;
    uint64_t log_id;   /* whose events come now; 0: nobody's */
    uint64_t due;      /* the event that comes next, */
    uint64_t log_last; /* and the last one */
    struct store_error error;
};

/* As whole_open(), but whether it is empty is not looked at. */
WEIR_MUST_CHECK enum weir_status whole_embedded_open(struct whole **out, const char *folder,
                                                     enum whole_use use, struct store_error *error);
WEIR_MUST_CHECK enum weir_status whole_pg_open(struct whole **out, const char *url,
                                               enum whole_use use, struct store_error *error);
