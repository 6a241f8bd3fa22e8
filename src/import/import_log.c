/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far an import is, as a document, and what happens in it, as a log.
 *
 * The document (kind "import", id USER/HASH) is put by the same commit as the facts that were
 * read until then: what it says was read is there. The hash is that of the files, so that the
 * same command, run again, finds it. By one commit the import is done, its log has the last event
 * and is closed; the next import of these files begins anew.
 */
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "base/ulid.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "import/import_impl.h"

enum { HEX_BYTES = 32, LOG_KEEP_DAYS = 90 };
#define LOG_KEEP_MS ((int64_t)LOG_KEEP_DAYS * 24 * 3600 * 1000)

static struct doc_key key_of(const struct job *j)
{
    return (struct doc_key){SLICE("import"), weir_slice_of(j->id)};
}

static void copy(char *out, size_t room, const struct weir_json *text)
{
    struct weir_slice s = weir_json_text(text);
    snprintf(out, room, "%.*s", (int)(s.len < room ? s.len : room - 1), s.len > 0 ? s.ptr : "");
}

/* What an earlier import of the same files left, unless it came to its end. */
static void take_over(struct job *j, const struct weir_json *v)
{
    int64_t item;
    int64_t mark;
    if (!weir_slice_is(weir_json_text(weir_json_get_str(v, "state")), "running")) return;
    if (!weir_json_int64(weir_json_get_str(v, "item"), &item) || item < 0) return;
    if (!weir_json_int64(weir_json_get_str(v, "mark"), &mark) || mark < 0) return;
    copy(j->note, sizeof j->note, weir_json_get_str(v, "note"));
    copy(j->log, sizeof j->log, weir_json_get_str(v, "log"));
    j->item = (size_t)item;
    j->mark = (uint64_t)mark;
    j->is_resumed = j->log[0] != 0;
    if (!j->is_resumed) j->item = j->mark = 0;
}

static enum weir_status find(struct job *j)
{
    struct doc doc;
    const struct weir_json *v;
    enum weir_status st = store_doc_get(j->store, key_of(j), &doc);
    if (st == WEIR_NOT_FOUND) return WEIR_OK;
    if (st != WEIR_OK) return st;
    struct weir_json_doc *json = weir_json_doc_new(JOB_MAX_BYTES * 4);
    if (json && weir_json_parse(json, doc.body, &v, NULL) == WEIR_OK) take_over(j, v);
    weir_json_doc_free(json);
    doc_fini(&doc);
    return WEIR_OK;
}

enum weir_status job_begin(struct job *j, const unsigned char hash[32])
{
    static const char digits[] = "0123456789abcdef";
    char hex[HEX_BYTES + 1];
    for (int i = 0; i < HEX_BYTES; i++)
        hex[i] = digits[i % 2 == 0 ? hash[i / 2] >> 4 : hash[i / 2] & 15];
    hex[HEX_BYTES] = 0;
    int len = snprintf(j->id, sizeof j->id, "%.*s/%s", (int)j->user.len, j->user.ptr, hex);
    if (len < 0 || (size_t)len >= sizeof j->id) return WEIR_LIMIT;
    j->started_ms = clock_wall_ms(j->clock);
    enum weir_status st = find(j);
    if (st == WEIR_OK && j->wish) snprintf(j->log, sizeof j->log, "%s", j->wish);
    if (st != WEIR_OK || j->is_resumed || j->wish) return st;
    struct ulid_source ids;
    struct ulid ulid;
    char id[ULID_TEXT_LEN + 1];
    ulid_source_init(&ids, j->clock);
    st = ulid_next(&ids, &ulid);
    if (st != WEIR_OK) return st;
    ulid_format(id, ulid);
    snprintf(j->log, sizeof j->log, "imports/%s", id);
    return WEIR_OK;
}

void job_put_text(struct weir_buf *out, const char *key, const char *text)
{
    struct weir_buf whole;
    weir_buf_init(&whole, JOB_MAX_BYTES);
    utf8_append_repaired(&whole, weir_slice_of(text ? text : ""));
    weir_json_put_key(out, key);
    if (text) weir_json_put_string(out, weir_buf_slice(&whole));
    else weir_json_put_null(out);
    weir_buf_fini(&whole);
}

enum weir_status job_put(const struct job *j, struct commit *c, const char *state)
{
    struct weir_buf body;
    weir_buf_init(&body, JOB_MAX_BYTES);
    weir_json_put_begin_object(&body);
    weir_json_put_key(&body, "state");
    weir_json_put_str(&body, state);
    weir_json_put_key(&body, "log");
    weir_json_put_str(&body, j->log);
    job_put_text(&body, "file", j->first_file);
    weir_json_put_key(&body, "item");
    weir_json_put_uint(&body, j->item);
    weir_json_put_key(&body, "mark");
    weir_json_put_uint(&body, j->mark);
    weir_json_put_key(&body, "note");
    weir_json_put_str(&body, j->note);
    member_time(&body, "at", clock_wall_ms(j->clock));
    weir_json_put_end_object(&body);
    enum weir_status st = weir_buf_status(&body);
    if (st == WEIR_OK) commit_put(c, key_of(j), DOC_ANY_VERSION, j->user, weir_buf_slice(&body));
    weir_buf_fini(&body);
    return st;
}

enum weir_status job_event(const struct job *j, struct commit *c, const char *type,
                           struct weir_slice data)
{
    struct weir_buf frame;
    weir_buf_init(&frame, 2 * JOB_MAX_BYTES);
    weir_buf_printf(&frame, "event: %s\ndata: ", type);
    weir_buf_append_slice(&frame, data);
    weir_buf_append_str(&frame, "\n\n");
    enum weir_status st = weir_buf_status(&frame);
    if (st == WEIR_OK) commit_append(c, weir_slice_of(j->log), weir_buf_slice(&frame));
    weir_buf_fini(&frame);
    return st;
}

void job_seal(const struct job *j, struct commit *c)
{
    commit_seal(c, weir_slice_of(j->log), LOG_KEEP_MS);
}

/* ---- the summary as JSON ---- */

static void put_counts(struct weir_buf *out, const char *key, const struct import_count *counts,
                       size_t n)
{
    weir_json_put_key(out, key);
    weir_json_put_begin_object(out);
    for (size_t i = 0; i < n; i++) {
        weir_json_put_key(out, counts[i].name);
        weir_json_put_uint(out, counts[i].n);
    }
    weir_json_put_end_object(out);
}

static void put_day(struct weir_buf *out, const char *key, int32_t day)
{
    char text[DAY_TEXT_BYTES];
    weir_json_put_key(out, key);
    if (day == DAY_NONE) {
        weir_json_put_null(out);
        return;
    }
    day_format(text, day);
    weir_json_put_str(out, text);
}

static void put_refusals(struct weir_buf *out, const struct import_summary *s)
{
    weir_json_put_key(out, "refusals");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < s->n_refusals; i++) {
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "file");
        weir_json_put_str(out, s->refusals[i].file);
        member_uint(out, "line", s->refusals[i].line);
        weir_json_put_key(out, "reason");
        weir_json_put_str(out, s->refusals[i].reason);
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
}

void import_write_summary(struct weir_buf *out, const struct import_summary *s)
{
    weir_json_put_begin_object(out);
    member_uint(out, "bytes", s->bytes);
    member_uint(out, "records", s->records);
    member_uint(out, "facts", s->n_facts);
    member_uint(out, "new", s->n_new);
    member_uint(out, "duplicates", s->n_duplicates);
    member_uint(out, "refused", s->n_refused);
    member_uint(out, "ignored", s->n_ignored);
    member_uint(out, "days", s->n_days);
    put_day(out, "first_day", s->first_day);
    put_day(out, "last_day", s->last_day);
    weir_json_put_key(out, "resumed");
    weir_json_put_bool(out, s->was_resumed);
    put_counts(out, "metrics", s->metrics, s->n_metrics);
    put_counts(out, "sources", s->sources, s->n_sources);
    put_counts(out, "ignored_kinds", s->ignored, s->n_ignored_kinds);
    put_refusals(out, s);
    weir_json_put_key(out, "log");
    weir_json_put_str(out, s->log);
    weir_json_put_end_object(out);
}
