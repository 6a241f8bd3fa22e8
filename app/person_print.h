/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server has answered, printed: as lines for people (person_text.h), as wide as the terminal
 * if it is one, or as JSON. All give the exit status, and complain.
 */
#pragma once

#include "command.h"
#include "person_text.h"

typedef enum weir_status (*person_text_fn)(struct weir_buf *out, const struct weir_json *v,
                                           unsigned columns);

/* A list; without a function each member is a line of JSON. */
int person_print_list(const struct weir_json *list, person_text_fn text);

/* An answer; without a function as it is. It is empty afterwards. */
int person_print_answer(struct weir_buf *json, person_text_fn text);
