/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir search: looks through all of a person's days for what stands out, and says what was tried.
 */
#include <stdio.h>

#include "check/search.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "spark.h"

static const char help[] =
    "usage: weir search [--json [--log]] [--seed N] [--user USER] [--data FOLDER]\n"
    "\n"
    "Looks through a person's days for what stands out: metrics that go together, also up to "
    "three\n"
    "days later, trends, days of the week, changes of level, single days. Older days are "
    "searched,\n"
    "newer ones have to confirm it, and the seven gates have the last word. At most five findings\n"
    "are printed, the strongest and most useful first, and how much was tried; often nothing\n"
    "stands, which is an answer too. docs/search.md explains it.\n"
    "\n"
    "  --json     one JSON object, which is the default where standard output is no terminal\n"
    "  --log      with every test that was tried: what, on how many days, p, q, what came of it\n"
    "  --seed N   of what is drawn at random; the same seed gives the same numbers (1)\n"
    "  --user     whose data; without: me\n"
    "  --data     the data folder; without: $WEIR_DATA or ~/.local/share/weir\n"
    "\n"
    "Examples:\n"
    "  weir search\n"
    "  weir search --json --log --user anna\n"
    "\n"
    "Exit status: 0 done, also when nothing stands; 1 the data cannot be read; 2 wrong usage.\n";

struct searching {
    bool is_json, has_log;
    unsigned seed;
    struct weir_buf line;
};

static const struct search_row *row_of(const struct search_input *in, const struct metric *m)
{
    size_t i = 0;
    while (i < in->n_rows && in->rows[i].metric != m) i++;
    return i < in->n_rows ? &in->rows[i] : NULL;
}

enum { NAME_COLUMNS = 24, BESIDE = NAME_COLUMNS + 4 };

static void draw(struct searching *s, const struct search_input *in, const struct metric *m,
                 const int32_t *days)
{
    const struct search_row *row = m ? row_of(in, m) : NULL;
    if (!row) return;
    struct spark spark = {days, row->x, in->n_days, days[0], days[in->n_days - 1]};
    weir_buf_printf(&s->line, "   %-*.*s ", NAME_COLUMNS, NAME_COLUMNS, m->title);
    unsigned columns = spark_columns();
    spark_line(&s->line, &spark, columns > 2 * BESIDE ? columns - BESIDE : BESIDE);
    output_line(&s->line);
}

static void print_hypothesis(struct searching *s, const struct search_result *r, size_t i,
                             const int32_t *days)
{
    const struct hypothesis *h = &r->hypotheses[i];
    weir_buf_printf(&s->line, "%zu. %s", i + 1, h->words);
    output_line(&s->line);
    draw(s, r->input, h->x, days);
    draw(s, r->input, h->y, days);
    weir_buf_printf(&s->line, "   %s. Among all tests q = %.2g, on the newer days %.2g.",
                    verdict_name(h->verdict), h->q_search, h->p_confirm);
    output_line(&s->line);
    if (h->verdict != VERDICT_VALIDATED) {
        weir_buf_printf(&s->line, "   %s", h->gates.assessment);
        output_line(&s->line);
    }
    output_line(&s->line);
}

static enum weir_status print_result(struct searching *s, const struct search_result *r,
                                     struct arena *arena)
{
    const struct search_input *in = r->input;
    int32_t *days = arena_alloc(arena, (in->n_days + 1) * sizeof *days);
    if (!days) return arena->status;
    for (size_t i = 0; i < in->n_days; i++) days[i] = in->first_day + (int32_t)i;
    for (size_t i = 0; i < r->n; i++) print_hypothesis(s, r, i, days);
    weir_buf_append_str(&s->line, r->words);
    output_line(&s->line);
    return WEIR_OK;
}

static int search_data(struct dataset *d, void *user)
{
    struct searching *s = user;
    struct search_input input;
    struct search_result result;
    struct arena arena;
    arena_init(&arena, SEARCH_ARENA_BYTES);
    weir_buf_init(&s->line, OUTPUT_LINE_MAX_BYTES);
    enum weir_status st = search_input_of(&input, d, &arena);
    if (st == WEIR_OK) st = search_run(&result, &input, s->seed, &arena);
    if (st == WEIR_OK && s->is_json) {
        search_put(&s->line, &result, s->has_log);
        output_line(&s->line);
    } else if (st == WEIR_OK) {
        st = print_result(s, &result, &arena);
    }
    weir_buf_fini(&s->line);
    arena_fini(&arena);
    return st == WEIR_OK ? EXIT_DONE : person_failed(st);
}

static int run(int argc, char **argv)
{
    struct person_options person = {.user = "me"};
    struct searching s = {.seed = 1};
    const struct option_row rows[] = {
        {.name = "data", .kind = OPTION_TEXT, .to = &person.data},
        {.name = "user", .kind = OPTION_TEXT, .to = &person.user},
        {.name = "seed", .kind = OPTION_COUNT, .to = &s.seed},
        {.name = "json", .kind = OPTION_FLAG, .to = &s.is_json},
        {.name = "log", .kind = OPTION_FLAG, .to = &s.has_log},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&search_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 0) return usage_error(&search_command, "one word too many: \"%s\"", words[0]);
    s.is_json |= !spark_is_terminal();
    if (s.has_log && !s.is_json) return usage_error(&search_command, "--log goes with --json");
    return person_run(&search_command, &person, search_data, &s);
}

const struct command search_command = {
    .name = "search",
    .summary = "look through a person's days for what stands out",
    .help = help,
    .run = run,
};
