/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as Apple writes them: what is read by place says, written again, what was read, whatever
 * day was remembered before.
 */
#include <stdio.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "import/apple_impl.h"

enum { TIME_BYTES = 25 };

static bool is_usual(struct weir_slice s)
{
    static const char form[] = "dddd-dd-dd dd:dd:dd +dddd";
    if (s.len != TIME_BYTES) return false;
    for (size_t i = 0; i < s.len; i++) {
        bool is_digit = s.ptr[i] >= '0' && s.ptr[i] <= '9';
        bool is_sign = s.ptr[i] == '+' || s.ptr[i] == '-';
        if (form[i] == 'd' ? !is_digit : form[i] == '+' ? !is_sign : s.ptr[i] != form[i])
            return false;
    }
    return true;
}

static void check_again(struct weir_slice s, struct moment m)
{
    char day[DAY_TEXT_BYTES];
    char text[64];
    int32_t second =
        (int32_t)((m.at + m.offset) - (int64_t)day_of_moment(m.at, m.offset) * DAY_SECONDS);
    int32_t east = m.offset < 0 ? -m.offset : m.offset;
    day_format(day, day_of_moment(m.at, m.offset));
    snprintf(text, sizeof text, "%s %02d:%02d:%02d %c%02d%02d", day, (int)(second / 3600),
             (int)(second / 60 % 60), (int)(second % 60), s.ptr[20], (int)(east / 3600),
             (int)(east / 60 % 60));
    /* A leap second is the first of the next minute. */
    if (memcmp(s.ptr + 17, "60", 2) == 0) return;
    fuzz_true("it is written as it was read", memcmp(text, s.ptr, TIME_BYTES) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct apple_clock c = {0};
    struct apple_clock fresh = {0};
    struct moment m;
    struct moment again;
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    /* Two times, the second of which finds a day remembered. */
    for (size_t at = 0; at <= input.len; at += TIME_BYTES) {
        size_t left = input.len - at;
        struct weir_slice s = {input.ptr + at, left < TIME_BYTES ? left : TIME_BYTES};
        bool is_read = apple_moment(&c, s, &m);
        fresh = (struct apple_clock){0};
        fuzz_true("what was remembered changes nothing",
                  apple_moment(&fresh, s, &again) == is_read);
        if (!is_read) continue;
        fuzz_true("nor the moment", m.at == again.at && m.offset == again.offset);
        if (is_usual(s)) check_again(s, m);
    }
    cut_fini(&cut);
    return 0;
}
