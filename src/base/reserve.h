/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is paid for at the start. A server with ceilings knows how much memory it may
 * need; when it takes and touches that much at the start, its resident memory does not move
 * under load, and a machine that is too small shows at once.
 *
 * Afterwards the C library keeps what is freed instead of giving it back to the system, and all
 * threads share one heap, so that what was reserved serves every one of them. That costs some
 * speed where threads allocate a lot: nothing is changed unless it is asked for.
 */
#pragma once

#include <weir/status.h>

/* Before the first thread is made. 0: nothing happens. WEIR_NOMEM. */
WEIR_MUST_CHECK enum weir_status memory_reserve(size_t n_bytes);
