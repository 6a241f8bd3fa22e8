/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as the body of a JSON string. It lives here and not in codec because
 * trace lines need it too. Any thread.
 */
#pragma once

#include <weir/buf.h>

/*
 * Appends s escaped, without the quotes around it. Quote, backslash and control
 * characters below U+0020 are escaped, in the short form where JSON has one, and
 * so are U+0085, U+2028 and U+2029, which many tools take for line ends; other
 * well-formed UTF-8 is copied as it is. A surrogate in its three-byte
 * generalised form becomes a \uXXXX escape in lower-case hex; any other
 * ill-formed bytes become U+FFFD, one for each maximal bad part. So the output
 * is well-formed UTF-8 whatever s is. A failure sticks in the buffer.
 */
void escape_json(struct weir_buf *out, struct weir_slice s);
