/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a JSON text apart into records. Only what lies between records is read here: brackets,
 * commas, keys. What a record itself says is kept as text until it ends, and then parsed by the
 * codec, which judges it.
 *
 *   state     expects                     goes to
 *   TOP       a value                     LIST_1 at [, KEY_1 at {
 *   LIST_1    an element or ]             VALUE, KEY_1; AFTER's caller at ]
 *   LIST      an element                  as LIST_1 without ]
 *   NEXT      a comma or ]                LIST, end of the list
 *   KEY_1     a key or }                  KEY_TEXT; end of the record
 *   KEY       a key                       KEY_TEXT
 *   KEY_TEXT  the rest of a key           COLON
 *   COLON     a colon                     MEMBER
 *   MEMBER    a member's value            VALUE; LIST_1 when it is a list to be taken apart
 *   MORE      a comma or }                KEY; end of the record
 *   VALUE     the rest of a value         NEXT or MORE or TOP
 */
#include "import/json_rows.h"

#include <stdio.h>

#include "base/slice.h"
#include "data/catalogue.h"

enum { TOP, LIST_1, LIST, NEXT, KEY_1, KEY, KEY_TEXT, COLON, MEMBER, MORE, VALUE };

static const char mark[] = {'\xEF', '\xBB', '\xBF'};

enum weir_status json_rows_init(struct json_rows *r, const char *lists, json_row_fn row, void *user)
{
    *r = (struct json_rows){.row = row, .user = user, .lists = lists};
    weir_buf_init(&r->text, JSON_ROW_BYTES);
    weir_buf_init(&r->inside, JSON_ROW_BYTES);
    r->doc = weir_json_doc_new(JSON_ROW_TREE_BYTES);
    return r->doc ? WEIR_OK : WEIR_NOMEM;
}

void json_rows_fini(struct json_rows *r)
{
    weir_buf_fini(&r->text);
    weir_buf_fini(&r->inside);
    weir_json_doc_free(r->doc);
    r->doc = NULL;
}

const char *json_rows_error(const struct json_rows *r)
{
    return r->error;
}

static void fail(struct json_rows *r, enum weir_status st, const char *what)
{
    if (r->status != WEIR_OK) return;
    r->status = st;
    snprintf(r->error, sizeof r->error, "record %llu, byte %llu: %s",
             (unsigned long long)r->n_rows + 1, (unsigned long long)r->offset, what);
}

/* ---- records ---- */

static void give(struct json_rows *r, struct weir_buf *text, bool is_inner)
{
    const struct weir_json *value;
    enum weir_status st = weir_json_parse(r->doc, weir_buf_slice(text), &value, NULL);
    if (st != WEIR_OK) {
        fail(r, st, weir_status_text(st));
    } else {
        struct json_row row = {.number = ++r->n_rows,
                               .list = is_inner ? weir_slice_of(r->list) : SLICE(""),
                               .value = value,
                               .had_lists = !is_inner && r->had_lists};
        r->status = r->row(r->user, &row);
    }
    weir_json_doc_reset(r->doc);
    weir_buf_reset(text);
}

/* Where what is being read is kept. */
static struct weir_buf *kept(struct json_rows *r)
{
    return r->in_inner ? &r->inside : &r->text;
}

static void keep(struct json_rows *r, const char *bytes, size_t len)
{
    struct weir_buf *text = kept(r);
    weir_buf_append(text, bytes, len);
    enum weir_status st = weir_buf_status(text);
    if (st == WEIR_LIMIT) fail(r, st, "a record of more than 4 MiB; this is no export of values");
    else if (st != WEIR_OK) fail(r, st, weir_status_text(st));
}

/* ---- values ---- */

static void begin_value(struct json_rows *r, char c)
{
    r->state = VALUE;
    r->depth = c == '{' || c == '[' ? 1 : 0;
    r->is_string = c == '"';
    r->is_escaped = false;
    r->is_scalar = r->depth == 0 && !r->is_string;
    keep(r, &c, 1);
}

static void end_value(struct json_rows *r)
{
    if (r->in_inner) {
        give(r, &r->inside, true);
        r->state = NEXT;
    } else if (r->in_record) {
        r->state = MORE;
    } else {
        give(r, &r->text, false);
        r->state = r->in_list ? NEXT : TOP;
    }
}

static void string_byte(struct json_rows *r, char c)
{
    if (r->is_escaped) r->is_escaped = false;
    else if (c == '\\') r->is_escaped = true;
    else if (c == '"') r->is_string = false;
    if (!r->is_string && r->depth == 0) end_value(r);
}

static void nested_byte(struct json_rows *r, char c)
{
    if (c == '"') r->is_string = true;
    else if (c == '{' || c == '[') r->depth++;
    else if (c == '}' || c == ']') r->depth--;
    if (r->depth == 0) end_value(r);
}

/* True when the byte was the value's; a scalar is ended by the byte behind it. */
static bool value_byte(struct json_rows *r, char c)
{
    if (r->is_scalar && c != 0 && strchr(",]} \n\r\t", c)) {
        end_value(r);
        return false;
    }
    keep(r, &c, 1);
    if (r->is_string) string_byte(r, c);
    else if (!r->is_scalar) nested_byte(r, c);
    return true;
}

/* ---- between records ---- */

static void begin_record(struct json_rows *r)
{
    r->in_record = true;
    r->had_lists = false;
    r->state = KEY_1;
    keep(r, "{", 1);
}

static void end_record(struct json_rows *r)
{
    keep(r, "}", 1);
    r->in_record = false;
    if (r->status == WEIR_OK) give(r, &r->text, false);
    r->state = r->in_list ? NEXT : TOP;
}

static void end_list(struct json_rows *r)
{
    if (r->in_inner) {
        r->in_inner = false;
        r->state = MORE;
    } else {
        r->in_list = false;
        r->is_over = true;
        r->state = TOP;
    }
}

/* Whether the key just read names a list to be taken apart; its name is then in `list`. */
static bool is_named_list(struct json_rows *r)
{
    size_t at = 0;
    struct weir_slice key = slice_of(r->text.ptr + r->key_at, r->text.len - r->key_at);
    while (key.len > 0 && key.ptr[key.len - 1] != '"') key.len--;
    if (key.len < 2) return false;
    key = slice_of(key.ptr + 1, key.len - 2);
    for (struct weir_slice n = alias_next(r->lists, &at); n.len > 0;
         n = alias_next(r->lists, &at)) {
        if (!slice_eq(n, key) || key.len >= sizeof r->list) continue;
        memcpy(r->list, key.ptr, key.len);
        r->list[key.len] = 0;
        return true;
    }
    return false;
}

static void top_byte(struct json_rows *r, char c)
{
    if (r->is_over) {
        fail(r, WEIR_JSON_SYNTAX, "nothing may follow the list");
    } else if (c == '[' && r->n_rows == 0) {
        r->in_list = true;
        r->state = LIST_1;
    } else if (c == '{') {
        begin_record(r);
    } else {
        fail(r, WEIR_JSON_SYNTAX, "expected an object or a list of them");
    }
}

static void list_byte(struct json_rows *r, char c)
{
    if (c == ']' && r->state == LIST_1) end_list(r);
    else if (c == ']' || c == ',' || c == '}' || c == ':')
        fail(r, WEIR_JSON_SYNTAX, "expected an element of the list");
    else if (c == '{' && !r->in_inner) begin_record(r);
    else begin_value(r, c);
}

static void next_byte(struct json_rows *r, char c)
{
    if (c == ',') r->state = LIST;
    else if (c == ']') end_list(r);
    else fail(r, WEIR_JSON_SYNTAX, "expected a comma or ]");
}

static void key_byte(struct json_rows *r, char c)
{
    if (c == '}' && r->state == KEY_1) {
        end_record(r);
    } else if (c == '"') {
        r->key_at = r->text.len;
        keep(r, &c, 1);
        r->is_escaped = false;
        r->state = KEY_TEXT;
    } else {
        fail(r, WEIR_JSON_SYNTAX, r->state == KEY_1 ? "expected a key or }" : "expected a key");
    }
}

static void key_text_byte(struct json_rows *r, char c)
{
    keep(r, &c, 1);
    if (r->is_escaped) r->is_escaped = false;
    else if (c == '\\') r->is_escaped = true;
    else if (c == '"') r->state = COLON;
}

static void member_byte(struct json_rows *r, char c)
{
    if (c == '[' && is_named_list(r)) {
        keep(r, "[]", 2);
        r->in_inner = true;
        r->had_lists = true;
        r->state = LIST_1;
    } else if (c == '}' || c == ']' || c == ',' || c == ':') {
        fail(r, WEIR_JSON_SYNTAX, "expected a value");
    } else {
        begin_value(r, c);
    }
}

static void more_byte(struct json_rows *r, char c)
{
    if (c == '}') {
        end_record(r);
    } else if (c == ',') {
        keep(r, &c, 1);
        r->state = KEY;
    } else {
        fail(r, WEIR_JSON_SYNTAX, "expected a comma or }");
    }
}

static void between_byte(struct json_rows *r, char c)
{
    switch (r->state) {
    case TOP: top_byte(r, c); return;
    case LIST_1:
    case LIST: list_byte(r, c); return;
    case NEXT: next_byte(r, c); return;
    case KEY_1:
    case KEY: key_byte(r, c); return;
    case COLON:
        if (c != ':') fail(r, WEIR_JSON_SYNTAX, "expected a colon");
        keep(r, &c, 1);
        r->state = MEMBER;
        return;
    case MEMBER: member_byte(r, c); return;
    default: more_byte(r, c); return;
    }
}

/* ---- bytes ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void put(struct json_rows *r, char c)
{
    if (r->state == KEY_TEXT) key_text_byte(r, c);
    else if (r->state == VALUE && value_byte(r, c)) return;
    else if (!is_blank(c) && r->status == WEIR_OK) between_byte(r, c);
}

/* Inside a value most bytes are plain: whole runs of them at once. */
static size_t put_run(struct json_rows *r, struct weir_slice bytes)
{
    size_t n = 0;
    if (r->state != VALUE || r->is_scalar || r->is_escaped) return 0;
    if (r->is_string) {
        while (n < bytes.len && bytes.ptr[n] != '"' && bytes.ptr[n] != '\\') n++;
    } else {
        while (n < bytes.len && !strchr("\"{}[]", bytes.ptr[n])) n++;
    }
    if (n > 0) keep(r, bytes.ptr, n);
    return n;
}

static void put_mark(struct json_rows *r, char c)
{
    unsigned n = r->n_mark;
    if (c == mark[n]) {
        r->n_mark++;
        return;
    }
    r->n_mark = sizeof mark;
    if ((unsigned char)c >= 0xFE || c == 0 || n > 0)
        fail(r, WEIR_JSON_UTF8, "not UTF-8; save the file as UTF-8");
    else put(r, c);
}

enum weir_status json_rows_feed(struct json_rows *r, struct weir_slice bytes)
{
    size_t at = 0;
    while (at < bytes.len && r->status == WEIR_OK) {
        size_t n = put_run(r, slice_from(bytes, at));
        if (n == 0) {
            if (r->n_mark < sizeof mark) put_mark(r, bytes.ptr[at]);
            else put(r, bytes.ptr[at]);
            n = 1;
        }
        at += n;
        r->offset += n;
    }
    return r->status;
}

enum weir_status json_rows_end(struct json_rows *r)
{
    if (r->status == WEIR_OK && (r->state != TOP || (r->n_mark > 0 && r->n_mark < sizeof mark)))
        fail(r, WEIR_JSON_TRUNCATED, "the file ends inside it");
    return r->status;
}
