/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body is taken as if CR LF came before it, so that every boundary is the same mark, CR LF "--"
 * and the boundary. Boundaries have no CR: a mark that breaks off can begin anew at the byte that
 * broke it and nowhere before.
 */
#include "codec/multipart.h"

#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/slice.h"

/* ---- fields ---- */

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) s = slice_from(s, 1);
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) s.len--;
    return s;
}

/* How long it is up to the next semicolon that is in no quotes. */
static size_t parameter_len(struct weir_slice s)
{
    bool is_quoted = false;
    size_t i = 0;
    for (; i < s.len && (is_quoted || s.ptr[i] != ';'); i++) {
        if (s.ptr[i] == '"') is_quoted = !is_quoted;
        else if (s.ptr[i] == '\\' && is_quoted) i++;
    }
    return i < s.len ? i : s.len;
}

bool field_parameter(struct weir_slice value, const char *lower_name, struct weir_slice *out)
{
    size_t name_len = strlen(lower_name);
    while (value.len > 0) {
        size_t len = parameter_len(value);
        struct weir_slice one = trim(slice_of(value.ptr, len));
        value = slice_from(value, len < value.len ? len + 1 : len);
        bool is_it = one.len > name_len && one.ptr[name_len] == '=' &&
                     strncasecmp(one.ptr, lower_name, name_len) == 0;
        if (!is_it) continue;
        *out = trim(slice_from(one, name_len + 1));
        bool is_quoted = out->len >= 2 && out->ptr[0] == '"' && out->ptr[out->len - 1] == '"';
        if (is_quoted) *out = slice_of(out->ptr + 1, out->len - 2);
        return true;
    }
    return false;
}

bool multipart_boundary(struct weir_slice content_type, struct weir_slice *boundary)
{
    static const char type[] = "multipart/form-data";
    size_t len = sizeof type - 1;
    if (content_type.len <= len || strncasecmp(content_type.ptr, type, len) != 0) return false;
    if (!field_parameter(slice_from(content_type, len), "boundary", boundary)) return false;
    if (boundary->len == 0 || boundary->len > MULTIPART_BOUNDARY_BYTES) return false;
    for (size_t i = 0; i < boundary->len; i++)
        if (boundary->ptr[i] < ' ' || boundary->ptr[i] > '~') return false;
    return boundary->ptr[boundary->len - 1] != ' ';
}

/* ---- parts ---- */

static bool fail(struct multipart *m, const char *why)
{
    m->status = WEIR_BAD_REQUEST;
    m->error = why;
    return false;
}

static void put(struct multipart *m, struct weir_slice bytes)
{
    if (m->state != MULTIPART_FILE || bytes.len == 0 || m->status != WEIR_OK) return;
    m->status = m->put(m->user, bytes);
}

/* The field that says what a part is; an empty slice when there is none. */
static struct weir_slice disposition(struct weir_slice head)
{
    static const char key[] = "content-disposition:";
    while (head.len > 0) {
        const char *end = memchr(head.ptr, '\n', head.len);
        size_t len = end ? (size_t)(end - head.ptr) : head.len;
        if (len >= sizeof key - 1 && strncasecmp(head.ptr, key, sizeof key - 1) == 0) {
            struct weir_slice line = slice_of(head.ptr, len);
            if (line.ptr[line.len - 1] == '\r') line.len--;
            return slice_from(line, sizeof key - 1);
        }
        head = slice_from(head, end ? len + 1 : len);
    }
    return slice_of(NULL, 0);
}

/* The fields of a part are there: it is the file, or it is passed over. */
static bool begin_part(struct multipart *m)
{
    struct weir_slice name;
    struct weir_slice field = disposition(slice_of(m->head, m->head_len));
    m->state = MULTIPART_BETWEEN;
    m->matched = m->skipped = 2; /* a part may be empty: the line before it ends in CR LF, too */
    if (field.len == 0) return fail(m, "a part of the form does not say what it is");
    if (!field_parameter(field, "filename", &name)) return true;
    if (m->has_file) return fail(m, "there are two files in the form, and only one is taken");
    m->has_file = true;
    m->state = MULTIPART_FILE;
    if (name.len >= sizeof m->name) return fail(m, "the name of the file is too long");
    memcpy(m->name, name.ptr, name.len);
    m->name[name.len] = 0;
    return true;
}

static bool ends_with(const struct multipart *m, const char *text)
{
    size_t len = strlen(text);
    return m->head_len >= len && memcmp(m->head + m->head_len - len, text, len) == 0;
}

/* What comes behind a boundary: "--" at the last one, blanks, the end of the line. */
static bool take_line(struct multipart *m)
{
    if (m->head_len == 2 && ends_with(m, "--")) {
        m->state = MULTIPART_OVER;
        return true;
    }
    char c = m->head[m->head_len - 1];
    if (ends_with(m, "\r\n")) {
        m->state = MULTIPART_HEAD;
        if (m->n_parts++ == MULTIPART_PARTS) return fail(m, "there are too many parts in the form");
        return true;
    }
    bool is_dash = c == '-' && m->head_len == 1;
    bool is_blank = (c == ' ' || c == '\t' || c == '\r') && m->head[0] != '-';
    if (is_dash || is_blank) return true;
    return fail(m, "a boundary of the form is not the end of its line");
}

/* One byte of a line behind a boundary, or of a part's fields. */
static bool take_head(struct multipart *m, char c)
{
    if (m->head_len == sizeof m->head) return fail(m, "a part of the form has too many fields");
    m->head[m->head_len++] = c;
    if (m->state == MULTIPART_LINE) {
        if (!take_line(m)) return false;
        if (m->state == MULTIPART_HEAD) m->head_len = 0;
        return true;
    }
    bool is_over = ends_with(m, "\r\n\r\n") || (m->head_len == 2 && ends_with(m, "\r\n"));
    return !is_over || begin_part(m);
}

/* ---- bytes ---- */

/* One byte of a part, or of what is before the first. */
static void take_byte(struct multipart *m, char c)
{
    if (c == m->mark[m->matched]) {
        if (++m->matched < m->mark_len) return;
        m->matched = m->skipped = 0;
        m->head_len = 0;
        m->state = MULTIPART_LINE;
        return;
    }
    /* What looked like a boundary was the part's own. */
    put(m, slice_of(m->mark + m->skipped, m->matched - m->skipped));
    m->skipped = 0;
    m->matched = c == '\r';
    if (m->matched == 0) put(m, slice_of(&c, 1));
}

/* Bytes in which no boundary can begin. */
static struct weir_slice plain_run(const struct multipart *m, struct weir_slice bytes)
{
    if (m->matched > 0 || m->state > MULTIPART_FILE) return slice_of(bytes.ptr, 0);
    const char *cr = memchr(bytes.ptr, '\r', bytes.len);
    return slice_of(bytes.ptr, cr ? (size_t)(cr - bytes.ptr) : bytes.len);
}

enum weir_status multipart_feed(struct multipart *m, struct weir_slice bytes)
{
    while (bytes.len > 0 && m->status == WEIR_OK && m->state != MULTIPART_OVER) {
        struct weir_slice run = plain_run(m, bytes);
        put(m, run);
        bytes = slice_from(bytes, run.len);
        if (bytes.len == 0) break;
        if (m->state <= MULTIPART_FILE) take_byte(m, bytes.ptr[0]);
        else (void)take_head(m, bytes.ptr[0]);
        bytes = slice_from(bytes, 1);
    }
    return m->status;
}

enum weir_status multipart_end(struct multipart *m)
{
    if (m->status != WEIR_OK) return m->status;
    if (m->state != MULTIPART_OVER) (void)fail(m, "the form ends before its last boundary");
    else if (!m->has_file) (void)fail(m, "there is no file in the form");
    return m->status;
}

void multipart_init(struct multipart *m, struct weir_slice boundary, multipart_fn put_fn,
                    void *user)
{
    CHECK(boundary.len > 0 && boundary.len <= MULTIPART_BOUNDARY_BYTES);
    *m = (struct multipart){.state = MULTIPART_BETWEEN,
                            .put = put_fn,
                            .user = user,
                            .mark = "\r\n--",
                            .mark_len = 4 + boundary.len,
                            .matched = 2,
                            .skipped = 2};
    memcpy(m->mark + 4, boundary.ptr, boundary.len);
}
