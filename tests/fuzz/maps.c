/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From other people's files to facts: whatever a file holds, each fact is sound, and the same in
 * any cutting. The second byte of an input says which kind reads it, the third what the person
 * says of dates and units.
 */
#include <stdlib.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "import/reader.h"
#include "oracle/reading.h"

static const char *const names[] = {"steps-2025-03-01.json", "very_active_minutes-2025-03-01.json",
                                    "distance-2025-03-01.json", "x.csv"};

/* Named here, so that kept inputs stay with their kind when others are added. */
static const char *const kinds[] = {"plain",      "labs",   "activities", "whoop",
                                    "oura",       "garmin", "samsung",    "fitabase",
                                    "fitbit-csv", "fitbit", "oura-api",   "garmin-connect"};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct text pieces = {0};
    struct text whole = {0};
    if (size < 3 || !fuzz_input(data, size, &cut, &input)) return 0;
    input = slice_from(input, 2);
    const struct reader_kind *kind = reader_kind_find(kinds[data[1] % N_KINDS]);
    struct reader_context says = {.file_name = weir_slice_of(names[data[2] & 3]),
                                  .dates = (enum date_order)((data[2] >> 2) % 3),
                                  .units = (enum unit_system)((data[2] >> 4) % 3)};
    fuzz_true("surer than sure", kind->recognise(says.file_name, input) <= 100);
    reading_transcript(&pieces, kind, &says, input, &cut);
    cut_fini(&cut);
    cut_from_byte(&cut, 0);
    reading_transcript(&whole, kind, &says, input, &cut);
    cut_fini(&cut);
    fuzz_same("cutting", &pieces, &whole);
    if (reading_n_unsound > 0) fuzz_same("facts are sound", &pieces, &(struct text){0});
    text_fini(&pieces);
    text_fini(&whole);
    return 0;
}
