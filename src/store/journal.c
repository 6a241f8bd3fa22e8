/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's files: segments in a chain, each in a slot (a file) that is used
 * again when all of its records are released. See journal_format.h for the bytes.
 *
 * Recovery reads the segments by rising serial. One that begins with the number
 * due next continues the chain; one that does not is left over from writes that
 * never became durable, and is free. The chain ends at the first byte that is no
 * record; a number that a later head or record calls durable must not be missing
 * then. Every opening begins a new segment, with a serial above all that were seen,
 * so nothing is ever written behind a torn record.
 *
 * A file is not made at its full size, which would be a pause in the middle of commits and
 * megabytes for a store that keeps a few events: it grows by a sixteenth when a record reaches
 * beyond its end, and the sync of that record makes its new size durable as well.
 */
#include "store/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "io/file.h"
#include "store/journal_format.h"

enum {
    DEFAULT_SEGMENT_BYTES = 16 << 20,
    LEAST_SEGMENT_BYTES = 64 << 10,
    DEFAULT_SEGMENTS = 64,
    MAX_SEGMENTS = 4096,
    PATH_BYTES = 1024,
    ZERO_BYTES = 1 << 16,
    STEPS = 16, /* in which a segment grows */
    READ_PIECE_BYTES = 1 << 18,
};

struct slot {
    struct file file;
    uint64_t n_bytes;         /* size of the file, which grows */
    struct segment_head head; /* as found on the disk, or as written */
    uint64_t last;            /* number of its newest record; 0: none */
    bool has_head;
    bool is_live; /* part of the chain */
};

struct journal {
    char folder[PATH_BYTES];
    uint64_t segment_bytes;
    size_t max_segments;
    struct slot *slots; /* room for max_segments, or for as many as there were */
    size_t n_slots;
    struct slot *current;    /* the last of the chain; NULL before the first write */
    uint64_t at;             /* where the next byte of current goes */
    struct weir_buf pending; /* written by nobody yet, from `at` on */
    uint64_t next;           /* number of the next record */
    uint64_t durable;
    uint64_t released;
    uint64_t last_serial;
    bool has_names; /* that of each file survives a power cut */
    bool is_broken;
};

/* ---- slots ---- */

static bool slot_path(const struct journal *j, size_t i, char path[PATH_BYTES])
{
    int len = snprintf(path, PATH_BYTES, "%s/journal-%04zu", j->folder, i);
    return len > 0 && len < PATH_BYTES;
}

/* How long the slot's segment may become: longer than ours when other options made it. */
static uint64_t capacity(const struct journal *j, const struct slot *s)
{
    return s->n_bytes > j->segment_bytes ? s->n_bytes : j->segment_bytes;
}

/*
 * Makes room up to `end`, and for a step: zeros, so that the writes that follow change no metadata.
 * When that fails, as on a full disk, the file is what it was.
 */
static WEIR_MUST_CHECK enum weir_status grow(struct journal *j, struct slot *s, uint64_t end)
{
    static const char zeros[ZERO_BYTES];
    if (end <= s->n_bytes) return WEIR_OK;
    uint64_t step = j->segment_bytes / STEPS;
    uint64_t size = (end + step - 1) / step * step;
    if (size > j->segment_bytes) size = j->segment_bytes;
    for (uint64_t at = s->n_bytes; at < size;) {
        uint64_t n = size - at < ZERO_BYTES ? size - at : ZERO_BYTES;
        enum weir_status st = file_write_at(&s->file, slice_of(zeros, n), at);
        if (st != WEIR_OK) return st;
        at += n;
    }
    s->n_bytes = size;
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status open_slot(struct journal *j, enum file_mode mode)
{
    char path[PATH_BYTES];
    struct slot *s = &j->slots[j->n_slots];
    *s = (struct slot){.file = {.fd = -1}};
    if (!slot_path(j, j->n_slots, path)) return WEIR_INVALID;
    enum weir_status st = file_open(&s->file, path, mode);
    if (st != WEIR_OK) return st;
    j->n_slots++;
    j->has_names = false;
    return WEIR_OK;
}

/* A slot that nobody needs, or a new one. WEIR_LIMIT when all wait for release. */
static WEIR_MUST_CHECK enum weir_status free_slot(struct journal *j, struct slot **out)
{
    size_t i = 0;
    while (i < j->n_slots && j->slots[i].is_live) i++;
    if (i == j->n_slots) {
        if (j->n_slots >= j->max_segments) return WEIR_LIMIT;
        enum weir_status st = open_slot(j, FILE_MAY_CREATE);
        if (st != WEIR_OK) return st;
    }
    *out = &j->slots[i];
    return grow(j, *out, SEGMENT_HEAD_BYTES);
}

/* ---- writing ---- */

static enum weir_status break_down(struct journal *j, enum weir_status st)
{
    if (st != WEIR_OK) j->is_broken = true;
    return st;
}

static WEIR_MUST_CHECK enum weir_status flush(struct journal *j)
{
    struct weir_slice bytes = weir_buf_slice(&j->pending);
    if (bytes.len == 0) return WEIR_OK;
    enum weir_status st = file_write_at(&j->current->file, bytes, j->at);
    j->at += bytes.len;
    weir_buf_reset(&j->pending);
    return break_down(j, st);
}

enum weir_status journal_flush(struct journal *j)
{
    return j->is_broken ? WEIR_STORAGE : flush(j);
}

enum weir_status journal_sync(struct journal *j)
{
    if (j->is_broken) return WEIR_STORAGE;
    if (j->durable + 1 == j->next) return WEIR_OK;
    enum weir_status st = flush(j);
    if (st == WEIR_OK) st = break_down(j, file_sync(&j->current->file));
    if (st == WEIR_OK) j->durable = j->next - 1;
    return st;
}

/*
 * Ends the current segment, which is made durable, and begins another. The new head is
 * durable before any record has its serial, so that a serial is never given twice: a
 * record of a lost attempt could otherwise be taken for one of the next.
 */
static WEIR_MUST_CHECK enum weir_status begin_segment(struct journal *j)
{
    struct slot *s;
    char head[SEGMENT_HEAD_BYTES];
    enum weir_status st = free_slot(j, &s);
    if (st != WEIR_OK) return st;
    st = j->current ? journal_sync(j) : WEIR_OK;
    if (st != WEIR_OK) return st;
    s->head = (struct segment_head){++j->last_serial, j->next, j->durable};
    s->has_head = true;
    s->last = 0;
    segment_head_write(head, &s->head);
    st = file_write_at(&s->file, slice_of(head, sizeof head), 0);
    if (st == WEIR_OK) st = file_sync(&s->file);
    if (st == WEIR_OK && !j->has_names) st = file_sync_folder(j->folder);
    if (st != WEIR_OK) return break_down(j, st);
    j->has_names = true;
    s->is_live = true;
    j->current = s;
    j->at = SEGMENT_HEAD_BYTES;
    return WEIR_OK;
}

/* For a record behind the last one: in the current segment, or in another. */
static WEIR_MUST_CHECK enum weir_status make_room(struct journal *j, uint64_t n_bytes)
{
    uint64_t used = j->at + j->pending.len;
    if (!j->current || n_bytes > capacity(j, j->current) - used) {
        enum weir_status st = begin_segment(j);
        if (st != WEIR_OK) return st;
    }
    return grow(j, j->current, j->at + j->pending.len + n_bytes);
}

enum weir_status journal_write(struct journal *j, struct weir_slice bytes, uint64_t *number)
{
    struct record record = {.number = j->next, .durable = j->durable, .payload = bytes};
    if (j->is_broken) return WEIR_STORAGE;
    uint64_t room = j->segment_bytes - SEGMENT_HEAD_BYTES;
    if (bytes.len > UINT32_MAX || record_size(bytes.len) > room) return WEIR_LIMIT;
    enum weir_status st = make_room(j, record_size(bytes.len));
    if (st != WEIR_OK) return st;
    record.durable = j->durable;
    record_write(&j->pending, j->current->head.serial, &record);
    st = break_down(j, weir_buf_status(&j->pending));
    if (st != WEIR_OK) return st;
    j->current->last = j->next;
    *number = j->next++;
    return WEIR_OK;
}

void journal_release(struct journal *j, uint64_t number)
{
    if (number > j->released) j->released = number;
    for (size_t i = 0; i < j->n_slots; i++) {
        struct slot *s = &j->slots[i];
        if (s->is_live && s != j->current && s->last <= j->released) s->is_live = false;
    }
}

bool journal_is_sound(const struct journal *j)
{
    return !j->is_broken;
}

uint64_t journal_last(const struct journal *j)
{
    return j->next - 1;
}

/* ---- recovery ---- */

struct recovery {
    struct journal *j;
    char *bytes; /* of one segment */
    size_t len;
    journal_record_fn on_record;
    void *user;
};

static int by_serial(const void *a, const void *b)
{
    const struct slot *const *x = a;
    const struct slot *const *y = b;
    return ((*x)->head.serial > (*y)->head.serial) - ((*x)->head.serial < (*y)->head.serial);
}

/* Has the first `wanted` bytes of a segment in memory, or all that there are. */
static WEIR_MUST_CHECK enum weir_status read_segment(struct recovery *r, struct slot *s,
                                                     size_t wanted)
{
    if (wanted > s->n_bytes) wanted = s->n_bytes;
    char *bytes = mem_realloc(r->bytes, wanted);
    if (!bytes) return WEIR_NOMEM;
    r->bytes = bytes;
    return file_read_at(&s->file, r->bytes, wanted, 0, &r->len);
}

/* Whether the record at `at` may go on behind the bytes that are in memory. */
static bool is_cut(const struct recovery *r, const struct slot *s, size_t at)
{
    size_t claims = record_claims(slice_of(r->bytes + at, r->len - at));
    return claims > r->len - at && claims <= s->n_bytes - at;
}

/* Takes the record at *at if it is the one due; WEIR_NOT_FOUND when there is none. */
static WEIR_MUST_CHECK enum weir_status take_record(struct recovery *r, struct slot *s, size_t *at)
{
    struct journal *j = r->j;
    struct record record;
    enum weir_status st = WEIR_OK;
    if (*at > r->len) return WEIR_NOT_FOUND;
    bool is_read = record_read(slice_of(r->bytes + *at, r->len - *at), s->head.serial, &record);
    if (!is_read && is_cut(r, s, *at)) {
        st = read_segment(r, s, s->n_bytes);
        if (st != WEIR_OK) return st;
        is_read = record_read(slice_of(r->bytes + *at, r->len - *at), s->head.serial, &record);
    }
    if (!is_read || record.number != j->next) return WEIR_NOT_FOUND;
    if (record.number > j->released) st = r->on_record(r->user, record.number, record.payload);
    s->last = j->next++;
    *at += record.n_bytes;
    return st;
}

/* Whether some record behind `at` says that number `missing` was durable. */
static bool is_lost(const struct recovery *r, const struct slot *s, size_t at, uint64_t missing)
{
    struct record record;
    for (; at + RECORD_HEAD_BYTES <= r->len; at += RECORD_ALIGN) {
        struct weir_slice rest = slice_of(r->bytes + at, r->len - at);
        if (record_may_vouch_for(rest, missing, s->n_bytes) &&
            record_read(rest, s->head.serial, &record))
            return true;
    }
    return false;
}

/*
 * Whether is_lost() has to look behind `at`: it goes through the segment piece by piece, for most
 * of it is zeros or what it held long ago, which need not be in memory as a whole.
 */
static WEIR_MUST_CHECK enum weir_status has_suspects(struct slot *s, size_t at, uint64_t missing,
                                                     bool *out)
{
    char *piece = mem_alloc(READ_PIECE_BYTES);
    if (!piece) return WEIR_NOMEM;
    enum weir_status st = WEIR_OK;
    size_t n = 0;
    *out = false;
    do {
        st = file_read_at(&s->file, piece, READ_PIECE_BYTES, at, &n);
        if (st != WEIR_OK) break;
        *out = record_any_may_vouch(slice_of(piece, n), missing, s->n_bytes);
        at += READ_PIECE_BYTES - RECORD_HEAD_BYTES; /* a head over the seam is seen whole */
    } while (n == READ_PIECE_BYTES && !*out);
    mem_free(piece);
    return st;
}

/* Takes the records of a segment that begins with the number due. */
static WEIR_MUST_CHECK enum weir_status take_segment(struct recovery *r, struct slot *s)
{
    struct journal *j = r->j;
    bool is_suspect = false;
    size_t at = SEGMENT_HEAD_BYTES;
    enum weir_status st = read_segment(r, s, READ_PIECE_BYTES);
    while (st == WEIR_OK) st = take_record(r, s, &at);
    if (st == WEIR_NOT_FOUND) st = has_suspects(s, at, j->next, &is_suspect);
    if (st == WEIR_OK && is_suspect) {
        st = read_segment(r, s, s->n_bytes);
        if (st == WEIR_OK && is_lost(r, s, at, j->next)) st = WEIR_CORRUPT;
    }
    s->is_live = s->last > j->released;
    return st;
}

/* The chain may begin anywhere up to the first record that is not released. */
static uint64_t first_due(const struct journal *j, struct slot *const *sorted, size_t n)
{
    uint64_t due = j->released + 1;
    uint64_t begin = due;
    for (size_t i = 0; i < n; i++)
        if (sorted[i]->head.first <= due) begin = sorted[i]->head.first;
    return begin;
}

static WEIR_MUST_CHECK enum weir_status take_segments(struct recovery *r, struct slot **sorted,
                                                      size_t n)
{
    struct journal *j = r->j;
    enum weir_status st = WEIR_OK;
    j->next = first_due(j, sorted, n);
    for (size_t i = 0; i < n && st == WEIR_OK; i++)
        if (sorted[i]->head.first == j->next) st = take_segment(r, sorted[i]);
    if (st != WEIR_OK) return st;
    if (j->next <= j->released) j->next = j->released + 1;
    for (size_t i = 0; i < n; i++)
        if (sorted[i]->head.durable >= j->next) return WEIR_CORRUPT;
    return WEIR_OK;
}

/* Opens the slots there are, from 0 up to the first that is missing, and reads their heads. */
static WEIR_MUST_CHECK enum weir_status find_slots(struct journal *j)
{
    char path[PATH_BYTES];
    char head[SEGMENT_HEAD_BYTES];
    size_t n = 0;
    while (n < MAX_SEGMENTS && slot_path(j, n, path) && file_exists(path)) n++;
    j->slots = mem_zalloc((n > j->max_segments ? n : j->max_segments) * sizeof *j->slots);
    if (!j->slots) return WEIR_NOMEM;
    while (j->n_slots < n) {
        size_t n_read = 0;
        enum weir_status st = open_slot(j, FILE_MUST_EXIST);
        if (st != WEIR_OK) return st;
        struct slot *s = &j->slots[j->n_slots - 1];
        st = file_size(&s->file, &s->n_bytes);
        if (st == WEIR_OK) st = file_read_at(&s->file, head, sizeof head, 0, &n_read);
        if (st != WEIR_OK) return st;
        s->has_head = segment_head_read(slice_of(head, n_read), &s->head);
        if (s->has_head && s->head.serial > j->last_serial) j->last_serial = s->head.serial;
    }
    return WEIR_OK;
}

static WEIR_MUST_CHECK enum weir_status recover(struct journal *j, journal_record_fn on_record,
                                                void *user)
{
    struct recovery r = {.j = j, .on_record = on_record, .user = user};
    struct slot **sorted = NULL;
    size_t n = 0;
    enum weir_status st = find_slots(j);
    if (st != WEIR_OK) return st;
    sorted = mem_alloc((j->n_slots + 1) * sizeof *sorted);
    if (!sorted) st = WEIR_NOMEM;
    for (size_t i = 0; i < j->n_slots && sorted; i++)
        if (j->slots[i].has_head) sorted[n++] = &j->slots[i];
    if (st == WEIR_OK) {
        qsort(sorted, n, sizeof *sorted, by_serial);
        st = take_segments(&r, sorted, n);
    }
    mem_free(r.bytes);
    mem_free(sorted);
    return st;
}

/* What was read may be in memory only, if the one who wrote it died before the sync. */
static WEIR_MUST_CHECK enum weir_status sync_recovered(struct journal *j)
{
    enum weir_status st = WEIR_OK;
    for (size_t i = 0; i < j->n_slots && st == WEIR_OK; i++)
        if (j->slots[i].is_live) st = file_sync(&j->slots[i].file);
    j->durable = j->next - 1;
    return st;
}

/* ---- life ---- */

static struct journal *new_journal(const char *folder, const struct journal_options *o)
{
    struct journal *j = mem_zalloc(sizeof *j);
    if (!j) return NULL;
    snprintf(j->folder, sizeof j->folder, "%s", folder);
    j->segment_bytes = o && o->segment_bytes > 0 ? o->segment_bytes : DEFAULT_SEGMENT_BYTES;
    if (j->segment_bytes < LEAST_SEGMENT_BYTES) j->segment_bytes = LEAST_SEGMENT_BYTES;
    j->max_segments = o && o->max_segments > 0 ? o->max_segments : DEFAULT_SEGMENTS;
    if (j->max_segments > MAX_SEGMENTS) j->max_segments = MAX_SEGMENTS;
    weir_buf_init(&j->pending, UINT32_MAX);
    return j;
}

void journal_close(struct journal *j)
{
    if (!j) return;
    for (size_t i = 0; i < j->n_slots; i++) file_close(&j->slots[i].file);
    mem_free(j->slots);
    weir_buf_fini(&j->pending);
    mem_free(j);
}

enum weir_status journal_open(struct journal **out, const char *folder,
                              const struct journal_options *options, uint64_t released,
                              journal_record_fn on_record, void *user)
{
    *out = NULL;
    if (strlen(folder) >= PATH_BYTES) return WEIR_INVALID;
    struct journal *j = new_journal(folder, options);
    if (!j) return WEIR_NOMEM;
    j->released = released;
    enum weir_status st = recover(j, on_record, user);
    if (st == WEIR_OK) st = sync_recovered(j);
    if (st != WEIR_OK) {
        journal_close(j);
        return st;
    }
    *out = j;
    return WEIR_OK;
}
