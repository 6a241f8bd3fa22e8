/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says of scheduled prompts and skills, in lines for people; `columns` is how wide
 * the screen is, 0: nothing is cut. Text of others is made harmless. Lists with nothing in them are
 * one line that says so.
 *
 * All give WEIR_OK, WEIR_NOMEM or WEIR_LIMIT. Pure.
 */
#pragma once

#include <weir/json.h>

struct zone; /* data/zone.h */

enum { CRON_RUNS_SHOWN = 3, CRON_MOMENT_BYTES = 48 };

/* "in 19 h, Tue 17 Nov 2026 07:00" by the clock of a zone. */
void cron_moment(char out[CRON_MOMENT_BYTES], int64_t at_ms, int64_t now_ms,
                 const struct zone *zone);

/* An array of Jobs, each with its next run by the clock of its own zone. */
WEIR_MUST_CHECK enum weir_status cron_list_text(struct weir_buf *out, const struct weir_json *jobs,
                                                unsigned columns, int64_t now_ms);

/* A Job that was made: its id, its session, and its next runs by the clock of its own zone. */
WEIR_MUST_CHECK enum weir_status cron_job_text(struct weir_buf *out, const struct weir_json *job,
                                               int64_t now_ms);

/* An array of Skills. */
WEIR_MUST_CHECK enum weir_status skill_list_text(struct weir_buf *out,
                                                 const struct weir_json *skills, unsigned columns);
