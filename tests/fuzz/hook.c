/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a subscription's document, a token, a pattern with a name, a rule and a host:
 * nothing is read beyond the end, nothing that was not made by us is a token, and a document that
 * was read once is written and read the same again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "hook/glob.h"
#include "hook/subscription.h"
#include "hook/token.h"
#include "io/target.h"

enum { HOST_BYTES = 300 };

static void check_document(struct weir_slice input)
{
    struct weir_buf first;
    struct weir_buf second;
    struct subscription *s = subscription_read(SLICE("id"), SLICE("owner"), input);
    if (!s) return;
    weir_buf_init(&first, SUBSCRIPTION_DOC_BYTES);
    weir_buf_init(&second, SUBSCRIPTION_DOC_BYTES);
    subscription_write(s, &first);
    struct subscription *again =
        subscription_read(SLICE("id"), SLICE("owner"), weir_buf_slice(&first));
    fuzz_true("it is read again", again != NULL);
    subscription_write(again, &second);
    fuzz_true("and is the same", slice_eq(weir_buf_slice(&first), weir_buf_slice(&second)));
    weir_buf_fini(&first);
    weir_buf_fini(&second);
    subscription_free(again);
    subscription_free(s);
}

static void check_token(struct weir_slice input)
{
    static const unsigned char key[TOKEN_KEY_BYTES] = "not what anybody would guess";
    struct token token;
    fuzz_true("nobody guesses a token",
              token_read(input, key, SLICE("id"), 0, &token) == TOKEN_INVALID);
}

/* What is before the first line end is the pattern, the rest the name. */
static void check_glob(struct weir_slice input)
{
    const char *end = input.len > 0 ? memchr(input.ptr, '\n', input.len) : NULL;
    if (!end) return;
    struct weir_slice pattern = slice_of(input.ptr, (size_t)(end - input.ptr));
    struct weir_slice name = slice_from(input, pattern.len + 1);
    (void)glob_match(pattern, name);
    fuzz_true("two stars are everything", glob_match(SLICE("**"), name));
}

static void check_target(struct weir_slice input)
{
    char text[HOST_BYTES];
    struct target_rules rules = {.n = 0};
    if (input.len >= sizeof text) return;
    if (input.len > 0) memcpy(text, input.ptr, input.len);
    text[input.len] = 0;
    enum target_verdict before = target_judge_host(&rules, text);
    bool is_rule = target_rules_add(&rules, text);
    if (is_rule && !strchr(text, '/')) {
        fuzz_true("a rule lists itself", target_is_listed(&rules, text));
        if (before == TARGET_FORBIDDEN)
            fuzz_true("and lets itself in", target_judge_host(&rules, text) != TARGET_FORBIDDEN);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice input = slice_of(data, size);
    check_document(input);
    check_token(input);
    check_glob(input);
    check_target(input);
    return 0;
}
