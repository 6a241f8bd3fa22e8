/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts with what is private in them: the shared samples, our own corpus, and the half of it that
 * nobody looked at while the rules were written. A line that fails is printed when T_CASES is set.
 *
 * A case has `text`, `expected` spans in code points, and the categories in `scope` that are
 * judged (all of them without it). `weak` spans may be found or not, `alt` spans are right as well,
 * and what overlaps `also` is not judged; `debatable` and `requires_region` cases are left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <weir/json.h>

#include "base/slice.h"
#include "shield/token_map.h"
#include "t.h"

struct tally {
    unsigned n_right, n_missed, n_wrong;
};

struct judge {
    struct shield_rules *rules;
    struct weir_json_doc *doc;
    struct tally all;
    struct tally by[SHIELD_N_CATEGORIES];
};

static size_t number_of(const struct weir_json *v, const char *key)
{
    double x = 0;
    T_OK(weir_json_double(weir_json_get_str(v, key), &x));
    return (size_t)x;
}

/* The names of other projects for the same. */
static int category_of(struct weir_slice name)
{
    if (weir_slice_is(name, "us_passport")) return SHIELD_PASSPORT;
    if (weir_slice_is(name, "us_driver_license")) return SHIELD_DRIVER_LICENSE;
    for (int i = 0; i < SHIELD_N_CATEGORIES; i++)
        if (weir_slice_is(name, shield_category_name((enum shield_category)i))) return i;
    t_fail(__FILE__, __LINE__, "no category %.*s", (int)name.len, name.ptr);
    return 0;
}

static bool is_span(const struct weir_json *v, const struct shield_finding *f)
{
    if (number_of(v, "start") == f->point_start && number_of(v, "end") == f->point_end) return true;
    const struct weir_json *alt = weir_json_first(weir_json_get_str(v, "alt"));
    for (; alt; alt = weir_json_next(alt)) {
        double from = 0, to = 0;
        const struct weir_json *first = weir_json_first(alt);
        if (weir_json_double(first, &from) && weir_json_double(weir_json_next(first), &to) &&
            (size_t)from == f->point_start && (size_t)to == f->point_end)
            return true;
    }
    return false;
}

static bool is_expected(const struct weir_json *line, const struct shield_finding *f)
{
    const struct weir_json *v = weir_json_first(weir_json_get_str(line, "expected"));
    for (; v; v = weir_json_next(v))
        if (category_of(weir_json_text(weir_json_get_str(v, "category"))) == f->category &&
            is_span(v, f))
            return true;
    return false;
}

static bool is_ignored(const struct weir_json *line, const struct shield_finding *f)
{
    const struct weir_json *v = weir_json_first(weir_json_get_str(line, "also"));
    for (; v; v = weir_json_next(v))
        if (number_of(v, "start") < f->point_end && number_of(v, "end") > f->point_start)
            return true;
    return false;
}

static bool is_in_scope(const struct weir_json *line, int category)
{
    const struct weir_json *scope = weir_json_get_str(line, "scope");
    if (!scope) return true;
    for (const struct weir_json *v = weir_json_first(scope); v; v = weir_json_next(v))
        if (category_of(weir_json_text(v)) == category) return true;
    return false;
}

static void say(const char *what, const struct weir_json *line, int category, size_t start,
                size_t end)
{
    struct weir_slice id = weir_json_text(weir_json_get_str(line, "id"));
    struct weir_slice text = weir_json_text(weir_json_get_str(line, "text"));
    if (!getenv("T_CASES")) return;
    printf("%s %.*s %s %zu..%zu: %.*s\n", what, (int)id.len, id.ptr,
           shield_category_name((enum shield_category)category), start, end, (int)text.len,
           text.ptr);
}

static void judge_expected(struct judge *j, const struct weir_json *line,
                           const struct shield_findings *found)
{
    const struct weir_json *v = weir_json_first(weir_json_get_str(line, "expected"));
    for (; v; v = weir_json_next(v)) {
        int category = category_of(weir_json_text(weir_json_get_str(v, "category")));
        const struct weir_json *weak = weir_json_get_str(v, "weak");
        bool is_found = false;
        if (weir_json_type_of(weak) == WEIR_JSON_TRUE) continue;
        for (size_t i = 0; i < found->n; i++)
            is_found |= found->items[i].category == category && is_span(v, &found->items[i]);
        if (is_found) j->by[category].n_right++;
        else j->by[category].n_missed++;
        if (!is_found) say("missed", line, category, number_of(v, "start"), number_of(v, "end"));
    }
}

static void judge_line(struct judge *j, struct weir_slice bytes)
{
    const struct weir_json *line;
    struct shield_findings found;
    weir_json_doc_reset(j->doc);
    T_EQ(weir_json_parse(j->doc, bytes, &line, NULL), WEIR_OK);
    if (weir_json_get_str(line, "debatable") || weir_json_get_str(line, "requires_region")) return;
    T_EQ(shield_scan(j->rules, weir_json_text(weir_json_get_str(line, "text")), &found), WEIR_OK);
    judge_expected(j, line, &found);
    for (size_t i = 0; i < found.n; i++) {
        const struct shield_finding *f = &found.items[i];
        if (!is_in_scope(line, f->category) || is_expected(line, f) || is_ignored(line, f))
            continue;
        j->by[f->category].n_wrong++;
        say("wrong", line, f->category, f->point_start, f->point_end);
    }
    shield_findings_fini(&found);
}

static void judge_file(struct judge *j, struct weir_slice rest)
{
    j->rules = shield_rules_new();
    j->doc = weir_json_doc_new(0);
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        if (len > 1) judge_line(j, (struct weir_slice){rest.ptr, len});
        rest = slice_from(rest, end ? len + 1 : len);
    }
    weir_json_doc_free(j->doc);
    shield_rules_free(j->rules);
}

static void print_tally(const char *name, const struct tally *t)
{
    unsigned n = t->n_right + t->n_missed, found = t->n_right + t->n_wrong;
    if (n + found == 0) return;
    printf("  %-16s recall %.4f (%u of %u) precision %.4f (%u wrong)\n", name,
           n ? (double)t->n_right / n : 1, t->n_right, n, found ? (double)t->n_right / found : 1,
           t->n_wrong);
}

/* Both rates, in ten thousandths. */
static void judge_all(const char *path, unsigned least)
{
    struct judge j = {0};
    struct weir_slice bytes = t_read_file(path);
    if (bytes.len == 0) {
        t_skip("the samples are not on this machine");
        return;
    }
    judge_file(&j, bytes);
    for (int i = 0; i < SHIELD_N_CATEGORIES; i++) {
        print_tally(shield_category_name((enum shield_category)i), &j.by[i]);
        j.all.n_right += j.by[i].n_right;
        j.all.n_missed += j.by[i].n_missed;
        j.all.n_wrong += j.by[i].n_wrong;
    }
    print_tally("all", &j.all);
    T_OK(j.all.n_right * 10000 >= least * (j.all.n_right + j.all.n_missed));
    T_OK(j.all.n_right * 10000 >= least * (j.all.n_right + j.all.n_wrong));
}

TEST(shared_samples_have_99_of_100_and_nothing_else)
{
    char path[512] = "";
    if (t_samples_dir()) snprintf(path, sizeof path, "%s/pii/cases.jsonl", t_samples_dir());
    judge_all(path, 9900);
}

TEST(of_400_secrets_and_400_look_alikes_98_of_100_are_right)
{
    judge_all(T_SOURCE_ROOT "/tests/data/shield/secrets.jsonl", 9800);
}

TEST(our_corpus_has_99_of_100)
{
    judge_all(T_SOURCE_ROOT "/tests/data/shield/corpus.jsonl", 9900);
}

TEST(the_held_out_half_has_99_of_100)
{
    judge_all(T_SOURCE_ROOT "/tests/data/shield/held_out.jsonl", 9900);
}

/* Redacts a line's text and counts what a second look still finds. */
static unsigned residue_of(struct judge *j, struct weir_slice bytes)
{
    const struct weir_json *line;
    struct shield_findings found;
    struct weir_buf out;
    unsigned n = 0;
    struct token_map *map = token_map_new();
    weir_json_doc_reset(j->doc);
    weir_buf_init(&out, 1 << 20);
    T_EQ(weir_json_parse(j->doc, bytes, &line, NULL), WEIR_OK);
    struct weir_slice text = weir_json_text(weir_json_get_str(line, "text"));
    T_EQ(shield_scan(j->rules, text, &found), WEIR_OK);
    T_EQ(shield_redact(map, text, &found, &out, NULL), WEIR_OK);
    shield_findings_fini(&found);
    T_EQ(shield_scan(j->rules, weir_buf_slice(&out), &found), WEIR_OK);
    for (size_t i = 0; i < found.n; i++) {
        if (found.items[i].is_public) continue;
        say("left", line, found.items[i].category, found.items[i].start, found.items[i].end);
        n++;
    }
    shield_findings_fini(&found);
    weir_buf_fini(&out);
    token_map_free(map);
    return n;
}

/* What goes out is looked at again, and what is left blocks it: placeholders must not. */
TEST(what_is_redacted_has_nothing_left)
{
    static const char *const names[] = {"corpus", "held_out", "secrets"};
    struct judge j = {.rules = shield_rules_new(), .doc = weir_json_doc_new(0)};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/tests/data/shield/%s.jsonl", T_SOURCE_ROOT, names[i]);
        struct weir_slice rest = t_read_file(path);
        while (rest.len > 0) {
            const char *end = memchr(rest.ptr, '\n', rest.len);
            size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
            if (len > 1) T_EQ(residue_of(&j, (struct weir_slice){rest.ptr, len}), 0);
            rest = slice_from(rest, end ? len + 1 : len);
        }
    }
    weir_json_doc_free(j.doc);
    shield_rules_free(j.rules);
}
