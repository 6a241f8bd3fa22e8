/* SPDX-License-Identifier: Apache-2.0 */
/* Media types of streams: what is the same, and how bytes of a type are kept. Pure. */
#pragma once

#include <weir/types.h>

/* How a stream's messages are kept in events; see frame.h. */
enum stream_format { STREAM_JSON, STREAM_TEXT, STREAM_BYTES };

/* "type/subtype" of a field's value, without parameters; empty when it is no media type. */
struct weir_slice media_essence(struct weir_slice value);

/* Compares what media_essence() gave; letters in either case. */
bool media_is_same(struct weir_slice a, struct weir_slice b);

enum stream_format media_format(struct weir_slice essence);
