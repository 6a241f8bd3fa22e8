/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a reader over a text and checks the transcript of its facts (oracle/reading.h). */
#pragma once

#include "import/reader.h"
#include "text.h"

/* Reads the whole input with the kind. Ends with text_fini(). */
struct text record(const struct reader_kind *kind, const char *file_name, struct weir_slice input);

/* The same with what a person says: dates, units, person of `says`. */
struct text record_with(const struct reader_kind *kind, const struct reader_context *says,
                        struct weir_slice input);

/* Checks the transcript, and that it is the same in every cutting. */
void record_is(const char *file, int line, const struct reader_kind *kind, const char *file_name,
               const char *input, const char *want);
#define RECORD_IS(kind, file_name, input, want)                                                    \
    record_is(__FILE__, __LINE__, kind, file_name, input, want)

/* Whether the transcript has this line. */
bool record_has(const struct text *t, const char *line);

/* How many lines begin so. */
size_t record_count(const struct text *t, const char *begin);

/* Which kind the file is found to be: "none" when it is not known. */
const char *record_kind(const char *file_name, struct weir_slice input);
