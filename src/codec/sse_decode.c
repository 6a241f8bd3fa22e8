/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Server-Sent Events decoder (WHATWG HTML 9.2.6).
 *
 * Bytes are searched for line ends; a line that lies whole in the caller's
 * piece is interpreted where it is, one that began in an earlier piece is
 * gathered in `line`. Data and type of the event being built are borrowed from
 * the piece as long as they are one line of it, and are copied out when a
 * second data line comes or the piece ends. So a stream of whole events is
 * decoded without copying.
 *
 * UTF-8 is repaired line by line, which equals repairing the whole stream: CR
 * and LF never occur inside a character and end any bad part.
 *
 * A callback may reset or free the decoder. Both raise `generation`, which the
 * feeding loop compares after every line; the free itself waits until the
 * outermost call is left.
 */
#include <weir/sse.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "codec/scan.h"

enum {
    DEFAULT_LINE_BYTES = 16 << 20,
    DEFAULT_EVENT_BYTES = 16 << 20,
    DEFAULT_ID_BYTES = 4096,
};

/* What a field value's bytes are in: the caller's piece, or memory that the next line reuses. */
enum origin { IN_PIECE, IN_SCRATCH };

/*
 * One member of the event being built: borrowed from the piece, or held. `held`
 * is empty unless it is in use, so that clearing a borrowed member costs nothing.
 */
struct field {
    struct weir_slice borrowed;
    struct weir_buf held;
    bool is_set;
    bool is_borrowed;
};

struct weir_sse {
    struct weir_sse_handlers on;
    void *user;
    struct weir_sse_limits limits;
    struct weir_buf line;     /* a line whose end has not arrived */
    struct weir_buf repaired; /* the current line, if its UTF-8 was bad */
    struct field data;
    struct field type;
    struct weir_buf id; /* set by the id field, committed by a blank line */
    struct weir_buf last_id;
    uint64_t retry_ms;
    enum weir_status status; /* sticks until a reset */
    unsigned generation;
    bool line_has_high; /* the gathered part of `line` has bytes above 0x7F */
    bool is_first_line;
    bool swallow_lf; /* the last line ended with CR; an LF now belongs to it */
    bool id_is_set;
    bool has_retry;
    bool is_feeding;
    bool is_dying;
};

static size_t or_default(size_t value, size_t fallback)
{
    return value > 0 ? value : fallback;
}

struct weir_sse *weir_sse_new(const struct weir_sse_handlers *handlers, void *user,
                              const struct weir_sse_limits *limits)
{
    struct weir_sse_limits wanted = limits ? *limits : (struct weir_sse_limits){0};
    struct weir_sse *d = mem_zalloc(sizeof *d);
    if (!d) return NULL;
    if (handlers) d->on = *handlers;
    d->user = user;
    d->limits.max_line_bytes = or_default(wanted.max_line_bytes, DEFAULT_LINE_BYTES);
    d->limits.max_event_bytes = or_default(wanted.max_event_bytes, DEFAULT_EVENT_BYTES);
    d->limits.max_id_bytes = or_default(wanted.max_id_bytes, DEFAULT_ID_BYTES);
    weir_buf_init(&d->line, d->limits.max_line_bytes);
    /* One bad byte becomes the three of U+FFFD. */
    bool is_huge = d->limits.max_line_bytes > SIZE_MAX / 3;
    weir_buf_init(&d->repaired, is_huge ? SIZE_MAX : 3 * d->limits.max_line_bytes);
    weir_buf_init(&d->data.held, d->limits.max_event_bytes);
    weir_buf_init(&d->type.held, d->limits.max_line_bytes);
    weir_buf_init(&d->id, d->limits.max_id_bytes);
    weir_buf_init(&d->last_id, d->limits.max_id_bytes);
    d->is_first_line = true;
    return d;
}

void weir_sse_free(struct weir_sse *d)
{
    if (!d) return;
    d->generation++;
    if (d->is_feeding) {
        d->is_dying = true;
        return;
    }
    weir_buf_fini(&d->line);
    weir_buf_fini(&d->repaired);
    weir_buf_fini(&d->data.held);
    weir_buf_fini(&d->type.held);
    weir_buf_fini(&d->id);
    weir_buf_fini(&d->last_id);
    mem_free(d);
}

static void field_clear(struct field *f)
{
    if (f->is_set && !f->is_borrowed) weir_buf_reset(&f->held);
    f->is_set = false;
    f->is_borrowed = false;
}

void weir_sse_reset(struct weir_sse *d)
{
    d->generation++;
    weir_buf_reset(&d->line);
    weir_buf_reset(&d->id);
    weir_buf_reset(&d->last_id);
    field_clear(&d->data);
    field_clear(&d->type);
    weir_buf_reset(&d->data.held); /* a failure may have left its mark */
    weir_buf_reset(&d->type.held);
    d->status = WEIR_OK;
    d->line_has_high = false;
    d->is_first_line = true;
    d->swallow_lf = false;
    d->id_is_set = false;
    d->has_retry = false;
}

static bool starts_with_bom(struct weir_slice line)
{
    return line.len >= 3 && memcmp(line.ptr, "\xEF\xBB\xBF", 3) == 0;
}

bool weir_sse_pending(const struct weir_sse *d)
{
    if (d->status != WEIR_OK) return true;
    size_t n_bom = d->is_first_line && starts_with_bom(weir_buf_slice(&d->line)) ? 3 : 0;
    return d->line.len > n_bom || d->data.is_set || d->type.is_set || d->id_is_set;
}

struct weir_slice weir_sse_last_event_id(const struct weir_sse *d)
{
    return weir_buf_slice(&d->last_id);
}

bool weir_sse_retry_ms(const struct weir_sse *d, uint64_t *retry_ms)
{
    if (d->has_retry) *retry_ms = d->retry_ms;
    return d->has_retry;
}

/* Records the first failure; a ceiling gets the name of what it bounds. */
static void fail(struct weir_sse *d, enum weir_status st, enum weir_status limit_name)
{
    if (d->status == WEIR_OK) d->status = st == WEIR_LIMIT ? limit_name : st;
}

/* ---- the event being built ---- */

static struct weir_slice field_value(const struct field *f)
{
    return f->is_borrowed ? f->borrowed : weir_buf_slice(&f->held);
}

/* Copies out what is borrowed, before the piece goes away or the value grows. */
static void field_hold(struct field *f)
{
    if (!f->is_borrowed) return;
    weir_buf_append_slice(&f->held, f->borrowed);
    f->is_borrowed = false;
}

static void field_set(struct field *f, struct weir_slice value, enum origin origin)
{
    field_clear(f);
    f->is_set = true;
    f->is_borrowed = origin == IN_PIECE;
    if (f->is_borrowed) f->borrowed = value;
    else weir_buf_append_slice(&f->held, value);
}

static void add_data(struct weir_sse *d, struct weir_slice value, enum origin origin)
{
    struct field *f = &d->data;
    if (!f->is_set) {
        field_set(f, value, origin);
    } else {
        field_hold(f);
        weir_buf_append_char(&f->held, '\n');
        weir_buf_append_slice(&f->held, value);
    }
    bool is_over = f->is_borrowed && value.len > d->limits.max_event_bytes;
    fail(d, is_over ? WEIR_LIMIT : f->held.status, WEIR_EVENT_TOO_LONG);
}

static void set_id(struct weir_sse *d, struct weir_slice value)
{
    if (value.len > 0 && memchr(value.ptr, 0, value.len)) return;
    weir_buf_reset(&d->id);
    weir_buf_append_slice(&d->id, value);
    d->id_is_set = true;
    fail(d, d->id.status, WEIR_ID_TOO_LONG);
}

static void set_retry(struct weir_sse *d, struct weir_slice value)
{
    uint64_t ms = 0;
    if (value.len == 0) return;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9') return;
        ms = ms * 10 + (uint64_t)(value.ptr[i] - '0');
        if (ms > WEIR_SSE_RETRY_MAX_MS) ms = WEIR_SSE_RETRY_MAX_MS;
    }
    d->retry_ms = ms;
    d->has_retry = true;
    if (d->on.on_retry) d->on.on_retry(d->user, ms);
}

static void commit_id(struct weir_sse *d)
{
    if (!d->id_is_set) return;
    weir_buf_reset(&d->last_id);
    weir_buf_append_slice(&d->last_id, weir_buf_slice(&d->id));
    d->id_is_set = false;
    fail(d, d->last_id.status, WEIR_ID_TOO_LONG);
}

/* A blank line: the id takes effect, and the event goes out if it has data. */
static void dispatch(struct weir_sse *d)
{
    commit_id(d);
    struct weir_slice type = field_value(&d->type);
    struct weir_sse_event event = {
        .type = d->type.is_set && type.len > 0 ? type : SLICE("message"),
        .data = field_value(&d->data),
        .id = weir_buf_slice(&d->last_id),
    };
    unsigned generation = d->generation;
    if (d->data.is_set && d->on.on_event && d->status == WEIR_OK) d->on.on_event(d->user, &event);
    if (d->generation != generation) return;
    field_clear(&d->data);
    field_clear(&d->type);
}

/* ---- lines ---- */

static void set_type(struct weir_sse *d, struct weir_slice value, enum origin origin)
{
    field_set(&d->type, value, origin);
    fail(d, d->type.held.status, WEIR_LINE_TOO_LONG);
}

static void take_field(struct weir_sse *d, struct weir_slice name, struct weir_slice value,
                       enum origin origin)
{
    if (slice_eq(name, SLICE("data"))) add_data(d, value, origin);
    else if (slice_eq(name, SLICE("event"))) set_type(d, value, origin);
    else if (slice_eq(name, SLICE("id"))) set_id(d, value);
    else if (slice_eq(name, SLICE("retry"))) set_retry(d, value);
    else if (d->on.on_unknown) d->on.on_unknown(d->user, name, value);
}

/* The lines that streams are made of are told by their first bytes, without a search. */
static bool take_common(struct weir_sse *d, struct weir_slice line, enum origin origin)
{
    if (line.len >= 6 && memcmp(line.ptr, "data: ", 6) == 0)
        add_data(d, slice_from(line, 6), origin);
    else if (line.len >= 7 && memcmp(line.ptr, "event: ", 7) == 0)
        set_type(d, slice_from(line, 7), origin);
    else return false;
    return true;
}

static void take_text(struct weir_sse *d, struct weir_slice line, enum origin origin)
{
    if (line.len == 0) {
        dispatch(d);
        return;
    }
    if (take_common(d, line, origin)) return;
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon) {
        take_field(d, line, (struct weir_slice){line.ptr + line.len, 0}, origin);
        return;
    }
    struct weir_slice name = {line.ptr, (size_t)(colon - line.ptr)};
    struct weir_slice value = slice_from(line, name.len + 1);
    if (name.len == 0) {
        if (d->on.on_comment) d->on.on_comment(d->user, value);
        return;
    }
    if (value.len > 0 && value.ptr[0] == ' ') value = slice_from(value, 1);
    take_field(d, name, value, origin);
}

static void take_line(struct weir_sse *d, struct weir_slice line, bool has_high, enum origin origin)
{
    if (line.len > d->limits.max_line_bytes) {
        fail(d, WEIR_LIMIT, WEIR_LINE_TOO_LONG);
        return;
    }
    if (d->is_first_line && starts_with_bom(line)) line = slice_from(line, 3);
    d->is_first_line = false;
    if (has_high && utf8_valid_prefix(line) < line.len) {
        weir_buf_reset(&d->repaired);
        utf8_append_repaired(&d->repaired, line);
        fail(d, d->repaired.status, WEIR_LINE_TOO_LONG);
        line = weir_buf_slice(&d->repaired);
        origin = IN_SCRATCH;
    }
    if (d->status == WEIR_OK) take_text(d, line, origin);
}

/* Where the line ends, or `end`. *has_high may also speak of bytes a little further on. */
static const char *find_line_end(const char *p, const char *end, bool *has_high)
{
    scan_bytes seen = {0};
    unsigned char rest = 0;
    while (end - p >= SCAN_WIDTH) {
        scan_bytes x = scan_load(p);
        scan_bytes hits = (scan_bytes)(x == '\n') | (scan_bytes)(x == '\r');
        seen |= x;
        if (scan_any(hits)) {
            *has_high |= scan_any(seen & 0x80);
            return p + scan_first(hits);
        }
        p += SCAN_WIDTH;
    }
    for (; p < end && *p != '\n' && *p != '\r'; p++) rest |= (unsigned char)*p;
    *has_high |= rest >= 0x80 || scan_any(seen & 0x80);
    return p;
}

/* Keeps the part of a line that has arrived; its end is in a later piece. */
static void keep_part(struct weir_sse *d, const char *p, const char *end, bool has_high)
{
    weir_buf_append(&d->line, p, (size_t)(end - p));
    d->line_has_high |= has_high;
    fail(d, d->line.status, WEIR_LINE_TOO_LONG);
}

/* The line that ends at eol; the part of it that came earlier is in d->line. */
static void end_line(struct weir_sse *d, const char *p, const char *eol, bool has_high)
{
    if (d->line.len == 0) {
        take_line(d, slice_of(p, (size_t)(eol - p)), has_high, IN_PIECE);
        return;
    }
    unsigned generation = d->generation;
    keep_part(d, p, eol, has_high);
    if (d->status != WEIR_OK) return;
    take_line(d, weir_buf_slice(&d->line), d->line_has_high, IN_SCRATCH);
    if (d->generation != generation) return;
    weir_buf_reset(&d->line);
    d->line_has_high = false;
}

/* One line of the piece, or as much of it as there is; returns where the next begins. */
static const char *feed_line(struct weir_sse *d, const char *p, const char *end)
{
    if (*p == '\n' && d->line.len == 0) { /* the end of nearly every event */
        d->is_first_line = false;
        dispatch(d);
        return p + 1;
    }
    bool has_high = false;
    const char *eol = find_line_end(p, end, &has_high);
    if (eol == end) {
        keep_part(d, p, end, has_high);
        return end;
    }
    d->swallow_lf = *eol == '\r';
    end_line(d, p, eol, has_high);
    return eol + 1;
}

static void feed_lines(struct weir_sse *d, const char *p, const char *end)
{
    unsigned generation = d->generation;
    while (p < end) {
        if (d->swallow_lf) {
            d->swallow_lf = false;
            if (*p == '\n' && ++p == end) break;
        }
        p = feed_line(d, p, end);
        if (d->generation != generation || d->status != WEIR_OK) return;
    }
    field_hold(&d->data);
    field_hold(&d->type);
    fail(d, d->data.held.status, WEIR_EVENT_TOO_LONG);
    fail(d, d->type.held.status, WEIR_LINE_TOO_LONG);
}

enum weir_status weir_sse_feed(struct weir_sse *d, const void *bytes, size_t len)
{
    if (d->is_feeding) return WEIR_INVALID;
    if (d->status != WEIR_OK || len == 0) return d->status;
    d->is_feeding = true;
    feed_lines(d, bytes, (const char *)bytes + len);
    d->is_feeding = false;
    if (d->is_dying) {
        weir_sse_free(d);
        return WEIR_OK;
    }
    return d->status;
}
