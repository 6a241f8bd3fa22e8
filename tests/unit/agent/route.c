/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/route_impl.h"
#include "desk.h"
#include "person.h"

enum { COLUMNS = 5 };

/* "main<TAB>supporting<TAB>vagueness<TAB>safety" of a question, "-" for none. */
static void describe(struct desk *d, const char *question, char *out, size_t cap)
{
    struct weir_buf text;
    weir_buf_init(&text, 1 << 16);
    desk_ask(d, question);
    const struct weir_json *classify = desk_run(d, agent_classify);
    struct weir_slice vagueness = weir_json_text(weir_json_get_str(classify, "vagueness"));
    const struct weir_json *route = desk_run(d, agent_route);
    const struct weir_json *supporting = weir_json_get_str(route, "supporting");
    struct weir_slice main = weir_json_text(weir_json_get_str(route, "main"));
    struct weir_slice safety = weir_json_text(weir_json_get_str(route, "safety"));
    weir_buf_append_slice(&text, main.len ? main : SLICE("-"));
    weir_buf_append_char(&text, '\t');
    if (weir_json_count(supporting) == 0) weir_buf_append_char(&text, '-');
    for (const struct weir_json *s = weir_json_first(supporting); s; s = weir_json_next(s)) {
        if (s != weir_json_first(supporting)) weir_buf_append_char(&text, ',');
        weir_buf_append_slice(&text, weir_json_text(s));
    }
    weir_buf_append_char(&text, '\t');
    weir_buf_append_slice(&text, vagueness);
    weir_buf_append_char(&text, '\t');
    weir_buf_append_slice(&text, safety.len ? safety : SLICE("-"));
    snprintf(out, cap, "%.*s", (int)text.len, text.ptr);
    weir_buf_fini(&text);
}

/* Each line of a table: what is expected, then the question. */
static void check_table(const char *path)
{
    struct desk d;
    char got[256];
    struct weir_slice file = t_read_file(path);
    T_OK(file.len > 0);
    desk_init(&d, "");
    person_add(d.c.data);
    size_t n = 0;
    while (file.len > 0) {
        size_t len = (size_t)((char *)memchr(file.ptr, '\n', file.len) - file.ptr);
        char *line = strndup(file.ptr, len);
        char *question = strrchr(line, '\t');
        file = slice_from(file, len + 1);
        if (line[0] != '#' && question) {
            *question++ = 0;
            describe(&d, question, got, sizeof got);
            if (strcmp(got, line) != 0)
                t_fail(__FILE__, __LINE__, "%s: got %s, not %s", question, got, line);
            n++;
        }
        free(line);
        arena_reset(&d.arena);
    }
    T_OK(n > 40);
    desk_fini(&d);
}

TEST(questions_of_people_go_to_the_agents_of_the_table)
{
    check_table(T_SOURCE_ROOT "/tests/data/agent/routes.tsv");
}

static const char *safety_of_text(struct desk *d, const char *text)
{
    struct said said;
    T_EQ(said_read(&said, weir_slice_of(text), NULL, &d->arena), WEIR_OK);
    const char *kind = safety_of(&said);
    return kind ? kind : "none";
}

TEST(denials_and_ways_of_speaking_are_no_emergencies)
{
    static const char *const harmless[] = {
        "I do not have chest pain",
        "no chest pain, no dizziness",
        "never had any chest pain",
        "without chest pain",
        "I'm not going to kill myself",
        "This diet is killing me",
        "those stairs are killing me!",
        "I'm dying to see my steps",
        "The sunset was to die for",
        "my fitbit battery is dead",
        "I died laughing",
        "I am starving!",
        "I don't want to die early, so what is my blood pressure?",
        "That deadlift PR was killer",
        "I want to die after every leg day",
        "what was my fasting glucose?",
        "my grandfather had a stroke",
        "is there a link between sleep and risk of suicide?",
    };
    struct desk d;
    desk_init(&d, "");
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(safety_of_text(&d, harmless[i]), "none") != 0)
            t_fail(__FILE__, __LINE__, "%s: %s", harmless[i], safety_of_text(&d, harmless[i]));
    desk_fini(&d);
}

TEST(what_only_sounds_dangerous_is_not)
{
    struct weir_slice file = t_read_file(T_SOURCE_ROOT "/tests/data/agent/harmless.txt");
    struct desk d;
    size_t n = 0;
    desk_init(&d, "");
    while (file.len > 0) {
        const char *end = memchr(file.ptr, '\n', file.len);
        size_t len = end ? (size_t)(end - file.ptr) : file.len;
        char line[400];
        snprintf(line, sizeof line, "%.*s", (int)len, file.ptr);
        if (line[0] != '#' && strcmp(safety_of_text(&d, line), "none") != 0)
            t_fail(__FILE__, __LINE__, "%s: %s", line, safety_of_text(&d, line));
        file = slice_from(file, len < file.len ? len + 1 : len);
        arena_reset(&d.arena);
        n++;
    }
    T_OK(n > 70);
    desk_fini(&d);
}

TEST(danger_is_heard_in_any_case_and_anywhere_in_a_long_text)
{
    struct desk d;
    struct weir_buf text;
    desk_init(&d, "");
    T_EQ(strcmp(safety_of_text(&d, "I WANT TO KILL MYSELF!!!"), "self_harm"), 0);
    T_EQ(strcmp(safety_of_text(&d, "i don\xE2\x80\x99t want to live"), "self_harm"), 0);
    T_EQ(strcmp(safety_of_text(&d, "I'm not ok. I want to die"), "self_harm"), 0);
    T_EQ(strcmp(safety_of_text(&d, "my steps?\n\nalso i have chest pain"), "emergency"), 0);
    weir_buf_init(&text, 1 << 20);
    for (int i = 0; i < 900; i++) weir_buf_append_str(&text, "My steps were fine on that day. ");
    weir_buf_append_str(&text, "I can't breathe. ");
    for (int i = 0; i < 900; i++) weir_buf_append_str(&text, "My sleep was fine on that day. ");
    weir_buf_append_char(&text, 0);
    T_EQ(strcmp(safety_of_text(&d, text.ptr), "emergency"), 0);
    weir_buf_fini(&text);
    desk_fini(&d);
}

TEST(words_of_help_and_of_conversation_have_no_number)
{
    static const char *const kinds[] = {"self_harm", "starvation", "emergency", "thanks",
                                        "greeting",  "goodbye",    "agreement", "about",
                                        "medicine",  "unknown"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct weir_slice kind = weir_slice_of(kinds[i]);
        T_EQ(strcspn(safety_answer(kind), "0123456789"), strlen(safety_answer(kind)));
        T_EQ(strcspn(fallback_answer(kind), "0123456789"), strlen(fallback_answer(kind)));
    }
}

/* Any bytes are a question. */
TEST(bytes_of_any_kind_are_routed)
{
    struct desk d;
    desk_init(&d, "");
    uint64_t state = t_random();
    for (int round = 0; round < 300; round++) {
        char text[300];
        size_t n = (size_t)(round % 290);
        for (size_t i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[i] = round % 3 == 0 ? (char)(state >> 56) : " a.?i'm80h\n-"[(state >> 56) % 12];
        }
        d.c.question = slice_of(text, n);
        T_OK(desk_run(&d, agent_classify) != NULL);
        T_OK(desk_run(&d, agent_route) != NULL);
        arena_reset(&d.arena);
    }
    desk_fini(&d);
}

/* The rows of the tables are in the page for people, and no others. */
TEST(the_page_of_routing_names_every_row)
{
    static const char *const rows[] = {
#define ROUTE(name, test, main, supporting, pattern) #name,
#include "agent/route.def"
#define VAGUE(row, pattern) #row,
#include "agent/vague.def"
    };
    struct weir_slice page = t_read_file(T_SOURCE_ROOT "/docs/routing.md");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char cell[64];
        snprintf(cell, sizeof cell, "| `%s` |", rows[i]);
        if (!desk_holds(page, cell)) t_fail(__FILE__, __LINE__, "%s is not in the page", rows[i]);
    }
}
