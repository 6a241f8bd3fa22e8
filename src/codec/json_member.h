/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a JSON object that is being written: a name and what it is. */
#pragma once

#include <weir/json.h>

#include "base/clock.h"

static inline void member_string(struct weir_buf *out, const char *name, struct weir_slice text)
{
    weir_json_put_key(out, name);
    weir_json_put_string(out, text);
}

/* null for NULL. */
static inline void member_str(struct weir_buf *out, const char *name, const char *text)
{
    weir_json_put_key(out, name);
    weir_json_put_str(out, text);
}

static inline void member_int(struct weir_buf *out, const char *name, int64_t n)
{
    weir_json_put_key(out, name);
    weir_json_put_int(out, n);
}

static inline void member_uint(struct weir_buf *out, const char *name, uint64_t n)
{
    weir_json_put_key(out, name);
    weir_json_put_uint(out, n);
}

static inline void member_bool(struct weir_buf *out, const char *name, bool is)
{
    weir_json_put_key(out, name);
    weir_json_put_bool(out, is);
}

/* As clock_format() writes it. */
static inline void member_time(struct weir_buf *out, const char *name, int64_t wall_ms)
{
    char text[CLOCK_TEXT_BYTES];
    clock_format(text, wall_ms);
    member_str(out, name, text);
}
