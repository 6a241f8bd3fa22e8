/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pg_news.h"

#include "base/check.h"
#include "base/slice.h"

static const char format_name[] = "weir1 ";

enum {
    NUMBER_BYTES = 19, /* of 2^63 - 1 */
    /* The longest line: two words that are escaped throughout. */
    LINE_BYTES = 2 + 4 * NUMBER_BYTES + 9 + 2 * 3 * STORE_NAME_BYTES,
};

static bool is_plain(unsigned char c)
{
    return c > ' ' && c <= '~' && c != '%';
}

/* ---- writing ---- */

/* A line that is made; it is always long enough. */
struct line {
    size_t len;
    char bytes[LINE_BYTES];
};

/* Not zeroed: there are thousands, and most are short. */
static void line_begin(struct line *l, char kind)
{
    l->len = 1;
    l->bytes[0] = kind;
}

static size_t escape(char *out, struct weir_slice word)
{
    static const char hex[] = "0123456789ABCDEF";
    char *at = out;
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];
        if (is_plain(c)) {
            *at++ = (char)c;
            continue;
        }
        *at++ = '%';
        *at++ = hex[c >> 4];
        *at++ = hex[c & 15];
    }
    return (size_t)(at - out);
}

static void put_word(struct line *l, struct weir_slice word)
{
    CHECK(word.len > 0 && word.len <= STORE_NAME_BYTES);
    l->bytes[l->len++] = ' ';
    l->len += escape(l->bytes + l->len, word);
}

static void put_number(struct line *l, uint64_t n)
{
    char digits[NUMBER_BYTES];
    size_t at = sizeof digits;
    CHECK(n <= INT64_MAX);
    do digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    l->bytes[l->len++] = ' ';
    memcpy(l->bytes + l->len, digits + at, sizeof digits - at);
    l->len += sizeof digits - at;
}

static void add_bytes(struct pg_news *n, const char *bytes, size_t len)
{
    memcpy(n->parts[n->n - 1] + n->lens[n->n - 1], bytes, len);
    n->lens[n->n - 1] += len;
}

static void begin_part(struct pg_news *n)
{
    struct line l;
    l.len = 0;
    n->lens[n->n++] = 0;
    add_bytes(n, format_name, sizeof format_name - 1);
    add_bytes(n, n->writer, n->n_writer);
    put_number(&l, n->batch);
    put_number(&l, n->n);
    l.bytes[l.len++] = '\n';
    add_bytes(n, l.bytes, l.len);
}

void pg_news_begin(struct pg_news *n, struct weir_slice writer, uint64_t batch)
{
    CHECK(writer.len > 0 && writer.len <= PG_NEWS_WRITER_BYTES && batch > 0 && batch <= INT64_MAX);
    n->n_writer = escape(n->writer, writer);
    n->batch = batch;
    n->n = 0;
    n->is_too_much = false;
    begin_part(n);
}

/* One byte of each part is for how it ends. */
static void add_line(struct pg_news *n, struct line *l)
{
    if (n->is_too_much) return;
    l->bytes[l->len++] = '\n';
    if (n->lens[n->n - 1] + l->len > PG_NEWS_BYTES - 1) {
        if (n->n == PG_NEWS_PARTS) {
            pg_news_add_all(n);
            return;
        }
        add_bytes(n, "+", 1);
        begin_part(n);
    }
    add_bytes(n, l->bytes, l->len);
}

void pg_news_add_log(struct pg_news *n, const struct pg_news_log *log)
{
    struct line l;
    line_begin(&l, 'l');
    put_number(&l, log->log_id);
    put_number(&l, log->cluster);
    put_number(&l, log->first);
    put_number(&l, log->last);
    l.bytes[l.len++] = ' ';
    if (log->is_made) l.bytes[l.len++] = 'm';
    if (log->is_sealed) l.bytes[l.len++] = 's';
    if (log->is_dropped) l.bytes[l.len++] = 'd';
    if (!log->is_made && !log->is_sealed && !log->is_dropped) l.bytes[l.len++] = '-';
    put_word(&l, log->name);
    add_line(n, &l);
}

void pg_news_add_doc(struct pg_news *n, struct doc_key key)
{
    struct line l;
    line_begin(&l, 'd');
    put_word(&l, key.kind);
    put_word(&l, key.id);
    add_line(n, &l);
}

/* One part says it all, so what was said before is not needed. */
void pg_news_add_all(struct pg_news *n)
{
    struct line l;
    if (n->is_too_much) return;
    line_begin(&l, '*');
    n->n = 0;
    begin_part(n);
    add_line(n, &l);
    n->is_too_much = true;
}

unsigned pg_news_end(struct pg_news *n)
{
    add_bytes(n, ".", 1);
    for (unsigned i = 0; i < n->n; i++) n->parts[i][n->lens[i]] = '\0';
    return n->n;
}

struct weir_slice pg_news_payload(const struct pg_news *n, unsigned i)
{
    CHECK(i < n->n);
    return slice_of(n->parts[i], n->lens[i]);
}

/* ---- reading ---- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Takes what stands before `stop`, and that. False: it does not come, or nothing is before it. */
static bool take_until(struct weir_slice *rest, char stop, struct weir_slice *out)
{
    const char *end = rest->len > 0 ? memchr(rest->ptr, stop, rest->len) : NULL;
    if (!end || end == rest->ptr) return false;
    *out = slice_of(rest->ptr, (size_t)(end - rest->ptr));
    *rest = slice_from(*rest, out->len + 1);
    return true;
}

static bool take_number(struct weir_slice *rest, char stop, uint64_t *out)
{
    struct weir_slice digits;
    if (!take_until(rest, stop, &digits) || digits.len > NUMBER_BYTES) return false;
    if (digits.ptr[0] == '0' && digits.len > 1) return false;
    *out = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9') return false;
        *out = *out * 10 + (uint64_t)(digits.ptr[i] - '0');
    }
    return *out <= INT64_MAX;
}

/* Into `to`, which has room for `cap` bytes. */
static bool take_word(struct weir_slice *rest, char stop, char *to, size_t cap,
                      struct weir_slice *out)
{
    struct weir_slice w;
    size_t n = 0;
    if (!take_until(rest, stop, &w)) return false;
    for (size_t i = 0; i < w.len; i++) {
        int c = (unsigned char)w.ptr[i];
        if (n == cap) return false;
        if (c == '%') {
            int high = i + 2 < w.len ? hex_of(w.ptr[i + 1]) : -1;
            int low = i + 2 < w.len ? hex_of(w.ptr[i + 2]) : -1;
            if (high < 0 || low < 0 || is_plain((unsigned char)(high << 4 | low))) return false;
            c = high << 4 | low;
            i += 2;
        } else if (!is_plain((unsigned char)c)) {
            return false;
        }
        to[n++] = (char)c;
    }
    *out = slice_of(to, n);
    return true;
}

static bool take_flags(struct weir_slice *rest, struct pg_news_log *log)
{
    struct weir_slice f;
    if (!take_until(rest, ' ', &f)) return false;
    if (weir_slice_is(f, "-")) return true;
    size_t i = 0;
    log->is_made = i < f.len && f.ptr[i] == 'm';
    i += log->is_made;
    log->is_sealed = i < f.len && f.ptr[i] == 's';
    i += log->is_sealed;
    log->is_dropped = i < f.len && f.ptr[i] == 'd';
    i += log->is_dropped;
    return i == f.len;
}

static bool read_log(struct weir_slice line, char *words, struct pg_news_log *log)
{
    *log = (struct pg_news_log){0};
    if (!take_number(&line, ' ', &log->log_id) || !take_number(&line, ' ', &log->cluster))
        return false;
    if (!take_number(&line, ' ', &log->first) || !take_number(&line, ' ', &log->last)) return false;
    if (log->cluster > UINT8_MAX || !take_flags(&line, log)) return false;
    if (!take_word(&line, '\n', words, STORE_NAME_BYTES, &log->name)) return false;
    bool has_events = log->first > 0 && log->first <= log->last;
    return log->log_id > 0 && (has_events || (log->first == 0 && log->last == 0));
}

static bool read_doc(struct weir_slice line, char *words, struct doc_key *key)
{
    return take_word(&line, ' ', words, STORE_NAME_BYTES, &key->kind) &&
           take_word(&line, '\n', words + STORE_NAME_BYTES, STORE_NAME_BYTES, &key->id);
}

bool pg_news_open(struct pg_news_reader *r, struct weir_slice payload)
{
    size_t n_name = sizeof format_name - 1;
    if (payload.len > PG_NEWS_BYTES || payload.len <= n_name) return false;
    if (memcmp(payload.ptr, format_name, n_name) != 0) return false;
    char end = payload.ptr[payload.len - 1];
    if (end != '.' && end != '+') return false;
    r->is_last = end == '.';
    r->rest = slice_of(payload.ptr + n_name, payload.len - n_name - 1);
    if (!take_word(&r->rest, ' ', r->words, PG_NEWS_WRITER_BYTES, &r->writer)) return false;
    if (!take_number(&r->rest, ' ', &r->batch) || !take_number(&r->rest, '\n', &r->part))
        return false;
    return r->batch > 0 && r->part > 0 && r->part <= PG_NEWS_PARTS;
}

enum pg_news_kind pg_news_next(struct pg_news_reader *r, struct pg_news_item *out)
{
    struct weir_slice line;
    char *words = r->words + PG_NEWS_WRITER_BYTES;
    if (r->rest.len == 0) return PG_NEWS_END;
    if (!take_until(&r->rest, '\n', &line)) return PG_NEWS_BAD;
    if (weir_slice_is(line, "*")) return PG_NEWS_ALL;
    if (line.len < 3 || line.ptr[1] != ' ') return PG_NEWS_BAD;
    char kind = line.ptr[0];
    line = slice_of(line.ptr + 2, line.len - 1); /* with its LF */
    if (kind == 'l' && read_log(line, words, &out->log)) return PG_NEWS_LOG;
    if (kind == 'd' && read_doc(line, words, &out->doc)) return PG_NEWS_DOC;
    return PG_NEWS_BAD;
}
