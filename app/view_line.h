/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event of a session or of a chat's reply comes to, as one line for people: a tool that has
 * ended, something that waits for a person or was settled, a notice. Pure.
 */
#pragma once

#include <weir/ui.h>

struct view_line {
    const char *sign;
    bool is_good, is_bad;
    bool is_open; /* it waits for a person */
    char label[WEIR_UI_NAME_BYTES];
    char text[2 * WEIR_UI_LABEL_BYTES + WEIR_UI_NAME_BYTES + 16];
};

/* The event has been given to the state. False: there is nothing to say about it. */
bool view_line_of(const struct weir_ui *s, struct weir_slice type, const struct weir_json *data,
                  struct view_line *out);

/* The same for something that waits for a person, or did. */
void view_line_of_ask(const struct weir_ui_ask *a, struct view_line *out);
