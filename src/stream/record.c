/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/record.h"

#include <string.h>

#include "base/slice.h"

#define MAX_TTL_S INT64_C(1000000000000)

enum { TOUCHES_PER_TTL = 8, MAX_DIGITS = 19 };

struct stream_record record_of_type(struct weir_slice type)
{
    return (struct stream_record){.type = type, .ttl_s = -1};
}

/* ---- writing ---- */

static void put_text(struct weir_buf *out, const char *name, struct weir_slice value)
{
    if (value.len == 0) return;
    weir_buf_append_str(out, name);
    weir_buf_append_char(out, ' ');
    weir_buf_append_slice(out, value);
    weir_buf_append_char(out, '\n');
}

static struct weir_slice digits_of(uint64_t n, char out[MAX_DIGITS + 1])
{
    size_t at = MAX_DIGITS + 1;
    do out[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    return slice_of(out + at, MAX_DIGITS + 1 - at);
}

static void put_number(struct weir_buf *out, const char *name, uint64_t n)
{
    char digits[MAX_DIGITS + 1];
    put_text(out, name, digits_of(n, digits));
}

/* What was before 1970 is over, whenever it was. */
static void put_time(struct weir_buf *out, const char *name, int64_t ms)
{
    put_number(out, name, ms > 0 ? (uint64_t)ms : 0);
}

static void put_flag(struct weir_buf *out, const char *name, bool is_set)
{
    if (is_set) put_number(out, name, 1);
}

void stream_record_write(struct weir_buf *out, const struct stream_record *r)
{
    put_text(out, "type", r->type);
    if (r->ttl_s >= 0) put_number(out, "ttl", (uint64_t)r->ttl_s);
    put_text(out, "expires", r->expires);
    if (r->expires.len > 0) put_time(out, "expires_ms", r->expires_ms);
    put_time(out, "created", r->created_ms);
    put_time(out, "touched", r->touched_ms);
    put_flag(out, "closed", r->is_closed);
    if (r->has_closer) {
        put_text(out, "closer", r->closer);
        put_number(out, "closer_epoch", r->closer_epoch);
        put_number(out, "closer_seq", r->closer_seq);
    }
    put_text(out, "seq", r->seq);
    put_text(out, "source", r->source);
    if (r->source.len > 0) put_number(out, "fork_at", r->fork_at);
    if (r->fork_sub > 0) put_number(out, "fork_sub", r->fork_sub);
    if (r->n_forks > 0) put_number(out, "forks", r->n_forks);
    put_flag(out, "gone", r->is_gone);
    put_flag(out, "copying", r->is_copying);
}

void producer_write(struct weir_buf *out, const struct producer_record *p)
{
    put_text(out, "stream", p->stream);
    put_number(out, "epoch", p->epoch);
    put_number(out, "seq", p->seq);
}

/* ---- reading ---- */

/* Takes "name value\n" off. */
static bool next_line(struct weir_slice *body, struct weir_slice *name, struct weir_slice *value)
{
    if (body->len == 0) return false;
    const char *end = memchr(body->ptr, '\n', body->len);
    const char *space = end ? memchr(body->ptr, ' ', (size_t)(end - body->ptr)) : NULL;
    if (!space) return false;
    *name = slice_of(body->ptr, (size_t)(space - body->ptr));
    *value = slice_of(space + 1, (size_t)(end - space - 1));
    *body = slice_from(*body, (size_t)(end + 1 - body->ptr));
    return true;
}

static bool take_number(struct weir_slice text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        *out = *out * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0 && text.len <= MAX_DIGITS;
}

static bool take_time(struct weir_slice text, int64_t *out)
{
    uint64_t n;
    if (!take_number(text, &n) || n > INT64_MAX) return false;
    *out = (int64_t)n;
    return true;
}

/* False: it is not one of these. */
static bool take_slice_line(struct stream_record *r, struct weir_slice name,
                            struct weir_slice value)
{
    static const struct {
        const char *name;
        size_t at;
    } lines[] = {
        {"type", offsetof(struct stream_record, type)},
        {"expires", offsetof(struct stream_record, expires)},
        {"closer", offsetof(struct stream_record, closer)},
        {"seq", offsetof(struct stream_record, seq)},
        {"source", offsetof(struct stream_record, source)},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!weir_slice_is(name, lines[i].name)) continue;
        memcpy((char *)r + lines[i].at, &value, sizeof value);
        return true;
    }
    return false;
}

/* False: it is not one of these, or has no number. */
static bool take_number_line(struct stream_record *r, struct weir_slice name,
                             struct weir_slice value)
{
    if (weir_slice_is(name, "closer_epoch")) return take_number(value, &r->closer_epoch);
    if (weir_slice_is(name, "closer_seq")) return take_number(value, &r->closer_seq);
    if (weir_slice_is(name, "fork_at")) return take_number(value, &r->fork_at);
    if (weir_slice_is(name, "fork_sub")) return take_number(value, &r->fork_sub);
    if (weir_slice_is(name, "forks")) return take_number(value, &r->n_forks);
    return false;
}

static bool take_line(struct stream_record *r, struct weir_slice name, struct weir_slice value)
{
    uint64_t n = 0;
    if (take_slice_line(r, name, value)) {
        if (weir_slice_is(name, "closer")) r->has_closer = value.len > 0;
        return true;
    }
    if (weir_slice_is(name, "ttl")) return take_time(value, &r->ttl_s);
    if (weir_slice_is(name, "expires_ms")) return take_time(value, &r->expires_ms);
    if (weir_slice_is(name, "created")) return take_time(value, &r->created_ms);
    if (weir_slice_is(name, "touched")) return take_time(value, &r->touched_ms);
    if (take_number_line(r, name, value)) return true;
    if (!take_number(value, &n)) return false;
    if (weir_slice_is(name, "closed")) r->is_closed = n != 0;
    if (weir_slice_is(name, "gone")) r->is_gone = n != 0;
    if (weir_slice_is(name, "copying")) r->is_copying = n != 0;
    return true;
}

bool stream_record_read(struct weir_slice body, struct stream_record *out)
{
    struct weir_slice name;
    struct weir_slice value;
    *out = record_of_type((struct weir_slice){0});
    while (next_line(&body, &name, &value))
        if (!take_line(out, name, value)) return false;
    return body.len == 0 && out->type.len > 0;
}

bool producer_read(struct weir_slice body, struct producer_record *out)
{
    struct weir_slice name;
    struct weir_slice value;
    *out = (struct producer_record){0};
    while (next_line(&body, &name, &value)) {
        uint64_t *n = weir_slice_is(name, "epoch") ? &out->epoch : &out->seq;
        if (weir_slice_is(name, "stream")) out->stream = value;
        else if (!take_number(value, n)) return false;
    }
    return body.len == 0;
}

/* ---- time ---- */

/* Beyond any clock there is, and small enough to count with. */
static int64_t ttl_ms(const struct stream_record *r)
{
    return r->ttl_s < MAX_TTL_S ? r->ttl_s * 1000 : MAX_TTL_S * 1000;
}

static int64_t slack_ms(const struct stream_record *r)
{
    return ttl_ms(r) / TOUCHES_PER_TTL;
}

/* Later by what `touched` may be behind: nothing ends before its time. */
bool record_is_expired(const struct stream_record *r, int64_t now_ms)
{
    if (r->is_copying) return now_ms - r->touched_ms >= COPY_PAUSE_MS;
    if (r->expires.len > 0 && now_ms >= r->expires_ms) return true;
    return r->ttl_s >= 0 && now_ms - r->touched_ms >= ttl_ms(r) + slack_ms(r);
}

bool record_wants_touch(const struct stream_record *r, int64_t now_ms)
{
    return r->ttl_s >= 0 && now_ms - r->touched_ms >= slack_ms(r);
}
