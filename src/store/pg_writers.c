/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a notification is missing: batches of a writer are numbered without a gap, and so are the
 * parts of each. What the table of writers has and nobody told of, from one sweep to the next, was
 * committed by somebody who could not tell.
 */
#include "base/mem.h"
#include "store/pg_listen_impl.h"

enum { MAX_WRITERS = 4096 };

struct pg_writer {
    uint64_t batch, part; /* newest that was heard of */
    bool is_whole;        /* that part was the last */
    uint64_t seen;        /* in the table, at the last sweep */
};

void writers_init(struct pg_writers *w)
{
    map_init(&w->by_id, MAX_WRITERS);
}

void writers_fini(struct pg_writers *w)
{
    for (struct map_walk walk = map_walk_begin(&w->by_id); map_walk_next(&w->by_id, &walk);)
        mem_free(walk.value);
    map_fini(&w->by_id);
}

/* Nothing is known of it but that its next batch is the first. NULL: no memory. */
static struct pg_writer *writer_of(struct pg_writers *w, struct weir_slice id)
{
    struct pg_writer *writer = map_get(&w->by_id, id);
    if (writer) return writer;
    if (w->by_id.len == MAX_WRITERS) {
        writers_fini(w);
        writers_init(w);
    }
    writer = mem_zalloc(sizeof *writer);
    if (!writer) return NULL;
    writer->is_whole = true;
    if (map_put(&w->by_id, id, writer) == WEIR_OK) return writer;
    mem_free(writer);
    return NULL;
}

bool writers_hear(struct pg_writers *w, struct weir_slice id, uint64_t batch, uint64_t part,
                  bool is_last)
{
    struct pg_writer *writer = writer_of(w, id);
    if (!writer) return false;
    bool is_old = batch < writer->batch || (batch == writer->batch && part <= writer->part);
    if (is_old) return true;
    bool is_next = writer->is_whole ? batch == writer->batch + 1 && part == 1
                                    : batch == writer->batch && part == writer->part + 1;
    writer->batch = batch;
    writer->part = part;
    writer->is_whole = is_last;
    return is_next;
}

bool writers_look(struct pg_writers *w, struct weir_slice id, uint64_t batch, bool is_known)
{
    struct pg_writer *writer = writer_of(w, id);
    if (!writer) return false;
    uint64_t before = is_known ? batch : writer->seen;
    bool is_missing = !is_known && before > writer->batch;
    if (before > writer->batch) {
        writer->batch = before;
        writer->part = UINT64_MAX; /* the last, whichever that was */
        writer->is_whole = true;
    }
    writer->seen = batch;
    return !is_missing;
}
