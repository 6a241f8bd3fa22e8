/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection with any bytes on it: requests one after the other, heads and bodies. The cutting
 * changes nothing; and of what our reader took for requests, llhttp, where it does not refuse,
 * finds the same requests with the same bodies.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "oracle/http.h"
#include "oracle/http_peer.h"

/* What llhttp can say too: no lines of our own, and nothing from a method on that it lacks. */
static void keep_common(struct text *t)
{
    size_t to = 0;
    for (size_t i = 0; i < t->len;) {
        const char *line = t->ptr + i;
        size_t len = (size_t)((const char *)memchr(line, '\n', t->len - i) - line) + 1;
        bool is_end = memcmp(line, "more", 4) == 0 || memcmp(line, "idle", 4) == 0 ||
                      memcmp(line, "erro", 4) == 0;
        i += len;
        if (is_end) break;
        if (*line == '+' && memmem(line, len, " other", 6)) {
            /* Back to before the request with a method that may be unknown. */
            while (to > 0 && !(memcmp(t->ptr + to, "request ", 8) == 0 && t->ptr[to - 1] == '\n'))
                to--;
            break;
        }
        if (*line == '+') continue;
        memmove(t->ptr + to, line, len);
        to += len;
    }
    t->len = to;
}

static void check_peer(struct text *ours, struct weir_slice input)
{
    struct text theirs = {0};
    bool took_all = http_peer_transcript(&theirs, input);
    keep_common(ours);
    if (theirs.len > ours->len) theirs.len = ours->len;
    if (!took_all && theirs.len < ours->len) ours->len = theirs.len;
    fuzz_same("llhttp's reading", ours, &theirs);
    text_fini(&theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut, whole;
    struct weir_slice input;
    struct text got = {0}, want = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    /* Small enough for the fuzzer to reach them. */
    struct http_limits limits = {.head_bytes = 512, .body_bytes = 256};
    cut_from_byte(&whole, 0);
    enum weir_status st = http_transcript(&want, input, &whole, &limits, NULL);
    fuzz_true("the same status", http_transcript(&got, input, &cut, &limits, NULL) == st);
    fuzz_same("another cutting", &got, &want);
    check_peer(&want, input);
    text_fini(&got);
    text_fini(&want);
    return 0;
}
