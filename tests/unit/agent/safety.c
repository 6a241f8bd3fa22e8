/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in danger is met with help, in whatever words, and who only sounds so is not. The
 * sentences of dangers.tsv were written in four lots; docs/routing.md says how many of each were
 * heard before the rules were widened by it.
 */
#include <stdio.h>

#include "agent/route_impl.h"
#include "base/slice.h"
#include "desk.h"

#include <weir/json.h>

static const char *kind_of(struct arena *arena, struct weir_slice text)
{
    struct said said;
    arena_reset(arena);
    T_EQ(said_read(&said, text, NULL, arena), WEIR_OK);
    return safety_of(&said);
}

/* The next line of a text; false at its end. */
static bool next_line(struct weir_slice *text, struct weir_slice *line)
{
    if (text->len == 0) return false;
    const char *end = memchr(text->ptr, '\n', text->len);
    *line = slice_of(text->ptr, end ? (size_t)(end - text->ptr) : text->len);
    *text = slice_from(*text, line->len < text->len ? line->len + 1 : line->len);
    return true;
}

TEST(danger_is_heard_in_the_words_of_many_and_what_sounds_so_is_not)
{
    struct weir_slice file = t_read_file(T_SOURCE_ROOT "/tests/data/agent/dangers.tsv"), line;
    size_t n_dangers = 0, n_heard = 0, n_harmless = 0, n_false = 0;
    struct arena arena;
    arena_init(&arena, 8 << 20);
    while (next_line(&file, &line)) {
        const char *tab = memchr(line.ptr, '\t', line.len);
        if (line.ptr[0] == '#' || !tab) continue;
        struct weir_slice kind = slice_of(line.ptr, (size_t)(tab - line.ptr));
        const char *got = kind_of(&arena, slice_from(line, kind.len + 1));
        if (weir_slice_is(kind, "-")) {
            n_harmless++;
            n_false += got != NULL;
        } else {
            n_dangers++;
            n_heard += got && weir_slice_is(kind, got);
        }
    }
    arena_fini(&arena);
    T_OK(n_dangers > 250 && n_harmless > 250);
    T_OK(100 * n_heard >= 96 * n_dangers);
    T_OK(100 * n_false <= n_harmless);
}

TEST(questions_about_data_are_no_danger)
{
    static const char *const files[] = {"people.jsonl", "people_held.jsonl", "people_late.jsonl"};
    struct arena arena;
    arena_init(&arena, 8 << 20);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/tests/ask/%s", T_SOURCE_ROOT, files[i]);
        struct weir_slice file = t_read_file(path), line;
        while (next_line(&file, &line)) {
            struct weir_json_doc *doc = weir_json_doc_new(0);
            const struct weir_json *row;
            T_EQ(weir_json_parse(doc, line, &row, NULL), WEIR_OK);
            struct weir_slice text = weir_json_text(weir_json_get_str(row, "question"));
            const char *got = kind_of(&arena, text);
            if (got) t_fail(__FILE__, __LINE__, "%.*s: %s", (int)text.len, text.ptr, got);
            weir_json_doc_free(doc);
        }
    }
    arena_fini(&arena);
}

TEST(slips_of_the_pen_do_not_hide_danger)
{
    static const char *const texts[] = {"feeling suicdal again", "sucide is all I think of",
                                        "he is unconcious", "i want to kil myself",
                                        "i think im having a strok"};
    struct arena arena;
    arena_init(&arena, 8 << 20);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        T_OK(kind_of(&arena, weir_slice_of(texts[i])) != NULL);
    arena_fini(&arena);
}
