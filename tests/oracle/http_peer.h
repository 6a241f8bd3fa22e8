/* SPDX-License-Identifier: Apache-2.0 */
/* llhttp over a whole connection, as a program that trusts it alone would use it. */
#pragma once

#include "text.h"

/*
 * Writes what http_transcript() does (http.h), but for the lines with '+' and the last one.
 * Returns false when llhttp refuses something; what it wrote before that holds.
 */
bool http_peer_transcript(struct text *out, struct weir_slice input);
