/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes scanned: findings lie in the text, in order, apart from each other, with the right
 * places in code points, and none cuts a character. What is redacted comes back by restoring, in
 * any cutting.
 */
#include <string.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "shield/restore.h"

static size_t points_of(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

static bool is_inside(struct weir_slice text, size_t at)
{
    return at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80;
}

static void check_findings(struct weir_slice text, const struct shield_findings *found)
{
    bool is_whole = utf8_valid_prefix(text) == text.len;
    size_t last = 0;
    for (size_t i = 0; i < found->n; i++) {
        const struct shield_finding *f = &found->items[i];
        fuzz_true("in order and apart", f->start >= last && f->end > f->start);
        fuzz_true("in the text", f->end <= text.len);
        fuzz_true("code points", f->point_start == points_of(text.ptr, f->start) &&
                                     f->point_end == points_of(text.ptr, f->end));
        fuzz_true("whole characters",
                  !is_whole || (!is_inside(text, f->start) && !is_inside(text, f->end)));
        fuzz_true("a category", f->category < SHIELD_N_CATEGORIES && f->label);
        fuzz_true("a score", f->score >= 0.4F && f->score <= 1);
        last = f->end;
    }
}

static void check_way_back(struct weir_slice text, const struct shield_findings *found,
                           struct cut *cut)
{
    struct token_map *map = token_map_new();
    struct weir_buf redacted, back;
    struct restorer r;
    weir_buf_init(&redacted, 1 << 24);
    weir_buf_init(&back, 1 << 24);
    fuzz_true("redacting", shield_redact(map, text, found, &redacted, NULL) == WEIR_OK);
    restorer_init(&r, map, RESTORE_TEXT);
    struct weir_slice rest = weir_buf_slice(&redacted), piece;
    while (cut_take(cut, &rest, &piece)) restorer_feed(&r, piece, &back);
    restorer_end(&r, &back);
    fuzz_true("restored", back.len == text.len && memcmp(back.ptr, text.ptr, text.len) == 0);
    cut_fini(cut);
    weir_buf_fini(&back);
    weir_buf_fini(&redacted);
    token_map_free(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct shield_rules *rules;
    char error[SHIELD_ERROR_BYTES];
    struct cut cut;
    struct weir_slice text;
    struct shield_findings found;
    if (!rules) {
        rules = shield_rules_new();
        fuzz_true("rules", rules != NULL);
        fuzz_true("term", shield_rules_add_term(rules, "project", weir_slice_of("blue heron"),
                                                error) == WEIR_OK);
    }
    if (!fuzz_input(data, size, &cut, &text)) return 0;
    fuzz_true("scanning", shield_scan(rules, text, &found) == WEIR_OK);
    check_findings(text, &found);
    if (text.len > 0) check_way_back(text, &found, &cut);
    shield_findings_fini(&found);
    return 0;
}
