/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader hands over, written down, one line for each fact:
 *
 *     day steps 2025-03-01 11802 [Fitbit watch]
 *     sample weight 2025-03-01T07:10:00-05:00 77.6 [Fitbit scale]
 *     sleep 2025-03-01 2025-02-28T23:14:00-05:00 … asleep 424 deep 61 [Fitbit watch]
 *     refused 7: steps: "abc" is not a number
 *
 * Numbers have twelve digits at most. A line that begins with "error" is the reader's last word;
 * one with "UNSOUND" says that a fact was not what a fact must be. The zone of times that do not
 * say theirs is New York.
 */
#pragma once

#include "cut.h"
#include "import/reader.h"
#include "text.h"

/* Reads the input in pieces; dates, units, person and the file's name are those of `says`. */
void reading_transcript(struct text *out, const struct reader_kind *kind,
                        const struct reader_context *says, struct weir_slice input,
                        struct cut *cut);

/* How many facts so far were not what a fact must be. */
extern unsigned reading_n_unsound;
