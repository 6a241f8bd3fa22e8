/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says of sessions, in lines for people; `columns` is how wide the screen is, 0:
 * nothing is cut, and `now_ms` what time it is. Text of others is made harmless. Lists with nothing
 * in them are one line that says so.
 *
 * All give WEIR_OK, WEIR_NOMEM or WEIR_LIMIT. Pure.
 */
#pragma once

#include <weir/json.h>

enum { SESSION_AGO_BYTES = 32 };

/* "just now", "5 min ago", "in 2 h", and the day where it is more than a month. */
void session_ago(char out[SESSION_AGO_BYTES], int64_t at_ms, int64_t now_ms);

/* An array of Sessions. */
WEIR_MUST_CHECK enum weir_status session_list_text(struct weir_buf *out,
                                                   const struct weir_json *sessions,
                                                   unsigned columns, int64_t now_ms);

/* An array of what was decided, as GET /v1/sessions/audit has it. */
WEIR_MUST_CHECK enum weir_status session_audit_text(struct weir_buf *out,
                                                    const struct weir_json *entries,
                                                    unsigned columns, int64_t now_ms);

/* {"session", "messages"}: what was said. */
WEIR_MUST_CHECK enum weir_status session_show_text(struct weir_buf *out,
                                                   const struct weir_json *whole, int64_t now_ms);
