/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a turn from its events that were kept on this machine (event_keep.h), for when the
 * server has expired them or is gone: what the agents brought, gates, critic, the end; and every
 * event as it came. It has the shape of the server's, without steps and calls of models, which
 * events do not tell.
 */
#pragma once

#include <weir/json.h>

/* JSON into `out`. False: nothing is kept of this turn, or there is no memory. */
bool trace_kept(struct weir_buf *out, const char *turn);
