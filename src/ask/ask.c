/* SPDX-License-Identifier: Apache-2.0 */
/* The door of the folder: a question in, a plan or a refusal out. */
#include "ask/ask.h"

enum weir_status ask_read(struct ask_reading *out, struct weir_slice question, struct dataset *d,
                          struct arena *arena)
{
    (void)question, (void)d, (void)arena;
    *out = (struct ask_reading){.refusal = "no question can be read yet"};
    return WEIR_OK;
}
