/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the Durable Streams resource (/v1/stream/NAME) share: the fields that all
 * of its answers have, and small things about requests. Loop thread only.
 */
#pragma once

#include "serve/resource.h"
#include "stream/offset.h"
#include "stream/stream.h"

/* The stream that the request names, kept; false when that was answered with an error. */
bool ds_name(struct exchange *ex, struct weir_slice *name);

/*
 * Puts it into memory of the exchange's; false when there is none, which was answered. An empty
 * one is kept as it is.
 */
bool ds_keep(struct exchange *ex, struct weir_slice *s);

/* Fields of the answer. */
void ds_common_fields(struct exchange *ex);
void ds_offset_field(struct exchange *ex, uint64_t last);
void ds_number_field(struct exchange *ex, const char *name, uint64_t n);
void ds_closed_field(struct exchange *ex);

/* Stream-Closed: true. */
bool ds_says_closed(struct exchange *ex);

/* A number without sign, blanks or needless zeros, up to 2^53 - 1. */
bool ds_parse_number(struct weir_slice text, uint64_t *out);

/* "a/b" of "/v1/stream/a/b" or of a whole URL, decoded; empty when it is neither. */
struct weir_slice ds_name_of_path(struct exchange *ex, struct weir_slice path);
