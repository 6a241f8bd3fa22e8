/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of scheduled prompts and skills, in lines. */
#include "cron_text.h"

#include "base/clock.h"
#include "base/slice.h"
#include "data/zone.h"
#include "t.h"

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    T_OK(clock_parse(weir_slice_of(text), &ms));
    return ms;
}

enum what { JOBS, JOB, SKILLS };

static void check(enum what what, const char *json, unsigned columns, const char *want)
{
    const struct weir_json *v = NULL;
    int64_t now_ms = ms_of("2026-11-16T11:30:00Z");
    struct weir_buf out;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&out, 64 << 10);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &v, NULL), WEIR_OK);
    if (what == JOBS) T_EQ(cron_list_text(&out, v, columns, now_ms), WEIR_OK);
    else if (what == JOB) T_EQ(cron_job_text(&out, v, now_ms), WEIR_OK);
    else T_EQ(skill_list_text(&out, v, columns), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

TEST(moments_are_told_in_words_and_by_the_clock_of_a_zone)
{
    static const struct {
        const char *zone, *at, *want;
    } rows[] = {
        {"Europe/Berlin", "2026-11-17T06:30:00Z", "in 19 h, Tue 17 Nov 2026 07:30"},
        {"UTC", "2026-11-16T11:35:00Z", "in 5 min, Mon 16 Nov 2026 11:35"},
        {"UTC", "2026-11-16T11:30:30Z", "soon, Mon 16 Nov 2026 11:30"},
        {"Pacific/Auckland", "2026-11-30T12:00:00Z", "in 14 days, Tue 1 Dec 2026 01:00"},
        {"America/New_York", "2028-02-29T05:00:00Z", "Tue 29 Feb 2028 00:00"},
        {"UTC", "2026-11-16T10:30:00Z", "1 h ago, Mon 16 Nov 2026 10:30"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[CRON_MOMENT_BYTES];
        struct zone *zone;
        T_EQ(zone_load(&zone, rows[i].zone), WEIR_OK);
        cron_moment(text, ms_of(rows[i].at), ms_of("2026-11-16T11:30:00Z"), zone);
        T_EQ_STR(weir_slice_of(text), rows[i].want);
        zone_free(zone);
    }
}

#define NIGHTS                                                                                     \
    "{\"id\":\"cron_1\",\"sessionId\":\"ses_1\",\"name\":null,\"schedule\":\"30 7 * * MON-FRI\","  \
    "\"timezone\":\"Europe/Berlin\",\"text\":\"How did I sleep?\\u001b[31m\","                     \
    "\"nextRunAt\":\"2026-11-20T06:30:00.000Z\",\"lastRunAt\":null}"
#define NEVER                                                                                      \
    "{\"id\":\"cron_2\",\"sessionId\":\"ses_1\",\"name\":\"once\",\"schedule\":\"@yearly\","       \
    "\"timezone\":\"UTC\",\"text\":\"x\",\"nextRunAt\":null,\"lastRunAt\":null}"

TEST(prompts_have_a_row_each)
{
    check(JOBS, "[" NIGHTS "," NEVER ",{},null]", 0,
          "id      next                              schedule          zone           prompt\n"
          "cron_1  in 3 days, Fri 20 Nov 2026 07:30  30 7 * * MON-FRI  Europe/Berlin  "
          "How did I sleep?␛[31m\n"
          "cron_2  never                             @yearly           UTC            once\n"
          "        never\n"
          "        never\n");
    check(JOBS,
          "[{\"id\":\"cron_3\",\"schedule\":\"@daily\",\"timezone\":\"Moon/Sea\",\"text\":\"x\","
          "\"nextRunAt\":\"2026-11-17T00:00:00Z\"}]",
          0,
          "id      next                                schedule  zone      prompt\n"
          "cron_3  in 12 h, Tue 17 Nov 2026 00:00 UTC  @daily    Moon/Sea  x\n");
    check(JOBS, "[]", 0, "There are no scheduled prompts; \"weir cron add\" makes one.\n");
    check(JOBS, "null", 80, "There are no scheduled prompts; \"weir cron add\" makes one.\n");
}

TEST(a_prompt_that_was_made_shows_its_next_runs)
{
    check(JOB, NIGHTS, 0,
          "cron_1\n"
          "in ses_1, next by the clock of Europe/Berlin:\n"
          "  in 3 days, Fri 20 Nov 2026 07:30\n"
          "  in 6 days, Mon 23 Nov 2026 07:30\n"
          "  in 7 days, Tue 24 Nov 2026 07:30\n");
    check(JOB, NEVER, 0, "cron_2\nin ses_1, next by the clock of UTC:\n");
    check(
        JOB,
        "{\"id\":\"cron_3\",\"sessionId\":\"ses_1\",\"schedule\":\"??\",\"timezone\":\"Moon/Sea\","
        "\"nextRunAt\":\"2026-11-16T12:00:00.000Z\"}",
        0,
        "cron_3\nin ses_1, next by the clock of Moon/Sea:\n"
        "  (that zone is not known here; the times are UTC)\n"
        "  in 30 min, Mon 16 Nov 2026 12:00\n");
}

TEST(skills_have_a_row_each)
{
    check(SKILLS,
          "[{\"id\":\"skl_1\",\"name\":\"nights\",\"text\":\"How did I\\nsleep?\","
          "\"state\":\"pending\"},{\"id\":7}]",
          0,
          "id     state    name     question\n"
          "skl_1  pending  /nights  How did I sleep?\n"
          "7               /\n");
    check(SKILLS, "[]", 0,
          "There are no skills; a question that comes three times is proposed as one.\n");
}
