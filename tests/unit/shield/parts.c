/* SPDX-License-Identifier: Apache-2.0 */
/* What is private is found wherever a message is cut into parts. */
#include "base/slice.h"
#include "shield/restore.h"
#include "t.h"

static void redact(const struct weir_slice *parts, size_t n_parts, struct weir_buf *all, size_t *n)
{
    struct token_map *map = token_map_new();
    struct shield_rules *rules = shield_rules_new();
    struct weir_buf outs[8];
    for (size_t i = 0; i < n_parts; i++) weir_buf_init(&outs[i], 1 << 16);
    weir_buf_init(all, 1 << 16);
    T_EQ(shield_redact_parts(map, rules, parts, n_parts, outs, n), WEIR_OK);
    for (size_t i = 0; i < n_parts; i++) {
        if (i > 0) weir_buf_append_char(all, '|');
        weir_buf_append_slice(all, weir_buf_slice(&outs[i]));
        weir_buf_fini(&outs[i]);
    }
    shield_rules_free(rules);
    token_map_free(map);
}

TEST(a_value_cut_anywhere_is_one_token)
{
    static const char text[] =
        "pay with 4012888888881881 or DE89370400440532013000 to a.b@example.org";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct weir_slice parts[2] = {{text, cut}, {text + cut, sizeof text - 1 - cut}};
        struct weir_buf all;
        size_t n;
        redact(parts, 2, &all, &n);
        T_OK(!memmem(all.ptr, all.len, "4012", 4) && !memmem(all.ptr, all.len, "1881", 4));
        T_OK(!memmem(all.ptr, all.len, "DE89", 4) && !memmem(all.ptr, all.len, "3000", 4));
        T_OK(!memmem(all.ptr, all.len, "a.b@", 4) && !memmem(all.ptr, all.len, "example", 7));
        T_OK(n == 3);
        weir_buf_fini(&all);
    }
}

TEST(parts_keep_what_is_theirs)
{
    struct weir_slice parts[] = {SLICE("call a@x.org"), SLICE(""), SLICE("4012 8888 "),
                                 SLICE("8888 1881, then"), SLICE(" a@x.org")};
    struct weir_buf all;
    size_t n;
    redact(parts, 5, &all, &n);
    T_EQ_STR(weir_buf_slice(&all), "call [email_1]||[credit_card_1]|, then| [email_1]");
    T_EQ(n, 3);
    weir_buf_fini(&all);
    redact(parts, 0, &all, &n);
    T_EQ(n, 0);
    weir_buf_fini(&all);
}
