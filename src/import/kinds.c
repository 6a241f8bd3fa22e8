/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of files there are readers for, and which of them a file is. */
#include <string.h>

#include "import/kinds.h"

const struct reader_kind *const reader_kinds[] = {
    &reader_apple,      &reader_fhir,           &reader_samsung,
    &reader_whoop,      &reader_oura,           &reader_garmin,
    &reader_fitbit_csv, &reader_fitabase,       &reader_fitbit,
    &reader_oura_api,   &reader_garmin_connect, &reader_labs,
    &reader_activities, &reader_plain,          NULL,
};

const struct reader_kind *reader_kind_find(const char *name)
{
    for (size_t i = 0; reader_kinds[i]; i++)
        if (strcmp(reader_kinds[i]->name, name) == 0) return reader_kinds[i];
    return NULL;
}

const struct reader_kind *reader_detect(struct weir_slice file_name, struct weir_slice head)
{
    const struct reader_kind *best = NULL;
    unsigned surest = 0;
    for (size_t i = 0; reader_kinds[i]; i++) {
        unsigned sure = reader_kinds[i]->recognise(file_name, head);
        if (sure <= surest) continue;
        surest = sure;
        best = reader_kinds[i];
    }
    return best;
}
