/* SPDX-License-Identifier: Apache-2.0 */
/* What turns and messages share when they change the state of a view. */
#pragma once

#include "client/ui_state.h"

/* Something begins to run, unless it does already. */
void ui_state_run(struct ui_state *s);

/* It has ended: nobody works, and there is nothing to cancel. */
void ui_state_end(struct ui_state *s, enum ui_phase phase);
void ui_state_fail(struct ui_state *s, struct weir_slice code, struct weir_slice message);

/* The tool call of this id, the oldest one giving way if need be. */
struct ui_tool *ui_tool_find_or_add(struct ui_state *s, struct weir_slice id);
