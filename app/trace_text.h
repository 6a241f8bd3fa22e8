/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a turn, as the server answers it, in lines for people: steps as bars in time, calls
 * of models, agents, gates, the critic, numbers without a home. Text of others is made harmless.
 */
#pragma once

#include <weir/json.h>

/* WEIR_OK, or why it cannot be shown: it is no JSON, or there is no room. */
WEIR_MUST_CHECK enum weir_status trace_text(struct weir_buf *out, struct weir_slice json);
