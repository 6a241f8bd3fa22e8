/* SPDX-License-Identifier: Apache-2.0 */
#include "cron_text.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/slice.h"
#include "data/day.h"
#include "session/cron.h"
#include "session_text.h"
#include "term_text.h"
#include "text_table.h"

enum { ZONE_BYTES = 64, DAY_NAME_LEN = 3 };

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

/* ---- moments ---- */

/* "Tue 17 Nov 2026 07:00". */
static void put_wall(char out[CRON_MOMENT_BYTES], int64_t at, const struct zone *zone)
{
    int32_t offset = zone_offset(zone, at);
    int32_t day = day_of_moment(at, offset);
    struct civil date = day_to_civil(day);
    int minute = (int)((at + offset - (int64_t)day * DAY_SECONDS) / 60);
    snprintf(out, CRON_MOMENT_BYTES, "%.*s %d %.*s %d %02d:%02d", DAY_NAME_LEN,
             day_weekday_name(day_weekday(day)), date.day, DAY_NAME_LEN,
             day_month_name((unsigned)date.month), date.year, minute / 60, minute % 60);
}

void cron_moment(char out[CRON_MOMENT_BYTES], int64_t at_ms, int64_t now_ms,
                 const struct zone *zone)
{
    enum { MONTH_DAYS = 31, DAY_MS = DAY_SECONDS * 1000 };
    char wall[CRON_MOMENT_BYTES];
    char ago[SESSION_AGO_BYTES];
    int64_t away_ms = at_ms < now_ms ? now_ms - at_ms : at_ms - now_ms;
    put_wall(wall, at_ms / 1000, zone);
    session_ago(ago, at_ms, now_ms);
    /* Beyond a month it would be a date again. */
    if (away_ms > (int64_t)MONTH_DAYS * DAY_MS) snprintf(out, CRON_MOMENT_BYTES, "%s", wall);
    else snprintf(out, CRON_MOMENT_BYTES, "%.16s, %.29s", ago, wall);
}

/* ---- scheduled prompts ---- */

/* The job's own; one that this machine does not know is UTC. */
static enum weir_status load_zone(struct zone **zone, const struct weir_json *job, bool *is_known)
{
    char name[ZONE_BYTES];
    struct weir_slice text = text_of(job, "timezone");
    snprintf(name, sizeof name, "%.*s", (int)(text.len < ZONE_BYTES ? text.len : 0),
             text.len > 0 ? text.ptr : "");
    enum weir_status st = zone_load(zone, name);
    *is_known = st != WEIR_NOT_FOUND;
    return *is_known ? st : zone_load(zone, "UTC");
}

static enum weir_status moment_of(char out[CRON_MOMENT_BYTES], const struct weir_json *job,
                                  int64_t now_ms)
{
    struct zone *zone = NULL;
    char moment[CRON_MOMENT_BYTES];
    bool is_known;
    int64_t at_ms;
    snprintf(out, CRON_MOMENT_BYTES, "never");
    if (!clock_parse(text_of(job, "nextRunAt"), &at_ms)) return WEIR_OK;
    enum weir_status st = load_zone(&zone, job, &is_known);
    if (st == WEIR_OK) {
        cron_moment(moment, at_ms, now_ms, zone);
        snprintf(out, CRON_MOMENT_BYTES, "%.43s%s", moment, is_known ? "" : " UTC");
    }
    zone_free(zone);
    return st;
}

enum weir_status cron_list_text(struct weir_buf *out, const struct weir_json *jobs,
                                unsigned columns, int64_t now_ms)
{
    static const struct text_column titles[] = {
        {"id", false}, {"next", false}, {"schedule", false}, {"zone", false}, {"prompt", false}};
    struct text_table t;
    char next[CRON_MOMENT_BYTES];
    const struct weir_json *job = weir_json_first(jobs);
    if (!job)
        weir_buf_append_str(out, "There are no scheduled prompts; \"weir cron add\" makes one.\n");
    if (!job) return weir_buf_status(out);
    enum weir_status st = WEIR_OK;
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; st == WEIR_OK && job; job = weir_json_next(job)) {
        struct weir_slice name = text_of(job, "name");
        text_table_cell(&t, text_of(job, "id"));
        st = moment_of(next, job, now_ms);
        text_table_cell(&t, weir_slice_of(next));
        text_table_cell(&t, text_of(job, "schedule"));
        text_table_cell(&t, text_of(job, "timezone"));
        text_table_cell(&t, name.len > 0 ? name : text_of(job, "text"));
    }
    if (st == WEIR_OK) st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}

/* The first as the server says, the others as the schedule does. */
static void put_runs(struct weir_buf *out, const struct weir_json *job, int64_t now_ms,
                     const struct zone *zone)
{
    char text[CRON_MOMENT_BYTES];
    char why[CRON_WHY_BYTES];
    struct cron cron;
    int64_t at_ms, at;
    bool has_next = clock_parse(text_of(job, "nextRunAt"), &at_ms);
    bool has_more = cron_parse(text_of(job, "schedule"), &cron, why);
    at = has_next ? at_ms / 1000 : 0;
    for (unsigned i = 0; i < CRON_RUNS_SHOWN && has_next; i++) {
        cron_moment(text, at * 1000, now_ms, zone);
        weir_buf_printf(out, "  %s\n", text);
        has_next = has_more && cron_next(&cron, zone, at, &at);
    }
}

enum weir_status cron_job_text(struct weir_buf *out, const struct weir_json *job, int64_t now_ms)
{
    struct zone *zone = NULL;
    bool is_known;
    term_clean_label(out, text_of(job, "id"));
    weir_buf_append_str(out, "\nin ");
    term_clean_label(out, text_of(job, "sessionId"));
    weir_buf_append_str(out, ", next by the clock of ");
    term_clean_label(out, text_of(job, "timezone"));
    weir_buf_append_str(out, ":\n");
    enum weir_status st = load_zone(&zone, job, &is_known);
    if (!is_known) weir_buf_append_str(out, "  (that zone is not known here; the times are UTC)\n");
    if (st == WEIR_OK) put_runs(out, job, now_ms, zone);
    zone_free(zone);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

/* ---- skills ---- */

enum weir_status skill_list_text(struct weir_buf *out, const struct weir_json *skills,
                                 unsigned columns)
{
    static const struct text_column titles[] = {
        {"id", false}, {"state", false}, {"name", false}, {"question", false}};
    struct text_table t;
    const struct weir_json *skill = weir_json_first(skills);
    if (!skill)
        weir_buf_append_str(
            out, "There are no skills; a question that comes three times is proposed as one.\n");
    if (!skill) return weir_buf_status(out);
    text_table_init(&t, titles, sizeof titles / sizeof *titles);
    for (; skill; skill = weir_json_next(skill)) {
        char name[ZONE_BYTES];
        struct weir_slice text = text_of(skill, "name");
        bool fits = text.len + 2 < sizeof name;
        snprintf(name, sizeof name, "/%.*s", fits ? (int)text.len : 0, fits ? text.ptr : "");
        text_table_cell(&t, text_of(skill, "id"));
        text_table_cell(&t, text_of(skill, "state"));
        text_table_cell(&t, weir_slice_of(name));
        text_table_cell(&t, text_of(skill, "text"));
    }
    enum weir_status st = text_table_put(&t, out, columns);
    text_table_fini(&t);
    return st;
}
