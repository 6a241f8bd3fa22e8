/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include "oracle/reading.h"
#include "t.h"

struct text record_with(const struct reader_kind *kind, const struct reader_context *says,
                        struct weir_slice input)
{
    struct text out = {0};
    struct cut cut;
    T_OK(cut_nth(&cut, 0, input.len));
    reading_transcript(&out, kind, says, input, &cut);
    cut_fini(&cut);
    return out;
}

struct text record(const struct reader_kind *kind, const char *file_name, struct weir_slice input)
{
    struct reader_context says = {.file_name = weir_slice_of(file_name)};
    return record_with(kind, &says, input);
}

void record_is(const char *file, int line, const struct reader_kind *kind, const char *file_name,
               const char *input, const char *want)
{
    struct reader_context says = {.file_name = weir_slice_of(file_name)};
    struct weir_slice bytes = weir_slice_of(input);
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, bytes.len); n++) {
        struct text got = {0};
        reading_transcript(&got, kind, &says, bytes, &cut);
        cut_fini(&cut);
        struct weir_slice expected = weir_slice_of(want);
        bool is_same = got.len == expected.len &&
                       (got.len == 0 || memcmp(got.ptr, expected.ptr, got.len) == 0);
        if (!is_same)
            t_fail(file, line, "cutting %zu gave\n%.*swhere\n%swas expected", n, (int)got.len,
                   got.ptr, want);
        text_fini(&got);
        if (!is_same) return;
    }
}

bool record_has(const struct text *t, const char *line)
{
    size_t len = strlen(line);
    const char *at = t->ptr;
    const char *end = t->ptr + t->len;
    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if ((size_t)(stop - at) == len && memcmp(at, line, len) == 0) return true;
        at = stop + 1;
    }
    return false;
}

size_t record_count(const struct text *t, const char *begin)
{
    size_t n = 0;
    size_t len = strlen(begin);
    const char *at = t->ptr;
    const char *end = t->ptr + t->len;
    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if ((size_t)(stop - at) >= len && memcmp(at, begin, len) == 0) n++;
        at = stop + 1;
    }
    return n;
}

const char *record_kind(const char *file_name, struct weir_slice input)
{
    struct weir_slice head = input;
    if (head.len > READER_HEAD_BYTES) head.len = READER_HEAD_BYTES;
    const struct reader_kind *k = reader_detect(weir_slice_of(file_name), head);
    return k ? k->name : "none";
}
