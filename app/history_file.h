/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was typed, kept over programs: $XDG_STATE_HOME/weir/history, for the user alone (mode 0600),
 * bounded as line_history.h says. Several programs may write it. It is a convenience: what fails
 * here stops nobody.
 */
#pragma once

#include <weir/buf.h>

/* Appends what the file has to `lines`; a file that has grown too long is cut to its newer part. */
void history_file_read(struct weir_buf *lines);

/* One more text. False when it cannot be kept, with errno. */
bool history_file_add(struct weir_slice text);
