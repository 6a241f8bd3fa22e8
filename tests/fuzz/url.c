/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes, queries, lists and Accept from any bytes: nothing is read beyond the end (the input
 * is copied to memory just as large), what is decoded has no NUL and no more bytes than before,
 * and what is found lies in the input.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/http.h"
#include "fuzz/fuzz.h"

static void check_decode(struct weir_slice input, bool is_query)
{
    struct weir_buf out;
    size_t n_escapes = 0;
    for (size_t i = 0; i < input.len; i++) n_escapes += input.ptr[i] == '%';
    weir_buf_init(&out, 1 << 20);
    if (url_decode(input, is_query, &out)) {
        fuzz_true("the buffer holds", weir_buf_status(&out) == WEIR_OK);
        fuzz_true("an escape is three bytes", out.len + 2 * n_escapes == input.len);
        fuzz_true("no NUL", out.len == 0 || !memchr(out.ptr, 0, out.len));
    } else fuzz_true("nothing is appended", out.len == 0);
    weir_buf_fini(&out);
}

static void check_query(struct weir_slice input, const char *name)
{
    struct weir_slice value;
    if (!query_find(input, name, &value)) return;
    fuzz_true("the value is in the query",
              value.ptr >= input.ptr && value.ptr + value.len <= input.ptr + input.len);
    fuzz_true("and is one value", value.len == 0 || !memchr(value.ptr, '&', value.len));
}

/* Whatever the list, one more element at its front that allows cannot make it forbid. */
static void check_accept(struct weir_slice input)
{
    struct text more = {0};
    bool is_allowed = http_accepts(input, "text/event-stream");
    text_printf(&more, "text/event-stream,");
    text_add(&more, input.ptr, input.len);
    fuzz_true("an entry by name allows", http_accepts(text_slice(&more), "text/event-stream"));
    fuzz_true("an entry is in the list", http_list_has(text_slice(&more), "text/event-stream"));
    if (is_allowed) fuzz_true("something allowed it", memchr(input.ptr, '/', input.len) != NULL);
    text_fini(&more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size);
    struct weir_slice input = {copy, size};
    fuzz_true("memory", copy || size == 0);
    if (size > 0) memcpy(copy, data, size);
    check_decode(input, false);
    check_decode(input, true);
    check_query(input, "a");
    check_query(input, "api_key");
    if (size > 0) check_accept(input);
    free(copy);
    return 0;
}
