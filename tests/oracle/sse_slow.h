/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second decoder for Server-Sent Events, slow and plainly right: WHATWG HTML
 * 9.2.6 over the whole input at once, step by step as the standard says it.
 * It shares no code with the library.
 *
 * The result is a transcript, one line for each thing that happened, in the
 * form that transcript_sse() (transcript.h) gives for the library's decoder.
 */
#pragma once

#include "text.h"

void sse_slow(struct text *out, struct weir_slice input);
