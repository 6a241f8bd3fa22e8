/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir stat: the statistics that weir checks its findings with, one JSON line in and one out, so
 * that anybody can hold them against another implementation.
 */
#include <stdio.h>

#include "command.h"
#include "json_lines.h"
#include "options.h"
#include "output.h"
#include "stat_ops.h"

enum { LINE_MEMORY = 1 << 30 };

static bool answer(void *user, const struct weir_json *line, struct weir_buf *out,
                   char error[LINES_ERROR_BYTES])
{
    struct call *c = user;
    arena_reset(&c->arena);
    c->inputs = weir_json_get_str(line, "inputs");
    c->out = out;
    weir_json_put_key(out, "result");
    stat_op_run(c, weir_json_text(weir_json_get_str(line, "op")));
    if (c->reason[0] != '\0') {
        weir_json_put_key(out, "undefined");
        weir_json_put_str(out, c->reason);
    }
    snprintf(error, LINES_ERROR_BYTES, "%s", c->complaint);
    return error[0] == '\0';
}

static int answer_all(void)
{
    struct call c = {0};
    arena_init(&c.arena, LINE_MEMORY);
    int exit_status = lines_answer(answer, &c);
    arena_fini(&c.arena);
    return exit_status;
}

static const char help[] =
    "usage: weir stat < LINES\n"
    "       weir stat --ops\n"
    "\n"
    "Computes statistics. Each line of input is {\"id\", \"op\", \"inputs\"}, each line of\n"
    "output {\"id\", \"result\"}, or {\"id\", \"error\"} when the inputs are wrong. What is not\n"
    "defined (the mean of nothing, the correlation with a constant) is null, and \"undefined\"\n"
    "beside the result says why. In the inputs null is a value that is missing.\n"
    "\n"
    "  --ops    list the operations: name, inputs (with what they are when not given), result\n"
    "\n"
    "Draws of bootstraps and permutations are the same for the same inputs; \"seed\" among the\n"
    "inputs gives others.\n"
    "\n"
    "Examples:\n"
    "  echo '{\"op\":\"mean\",\"inputs\":{\"x\":[1,2,null,6]}}' | weir stat\n"
    "  echo "
    "'{\"op\":\"bootstrap_ci_range\",\"inputs\":{\"x\":[4,5,9,2],\"statistic\":\"mean\",'\\\n"
    "'\"method\":\"bca\"}}' | weir stat\n"
    "  echo '{\"op\":\"welch_t\",\"inputs\":{\"a\":[1,2,3],\"b\":[2,4,9]}}' | weir stat\n"
    "\n"
    "Exit status: 0 done, 1 some line was wrong, 2 wrong usage.\n";

static void print_op(const struct stat_op *op)
{
    printf("%s\n    inputs  %s\n    result  %s\n", op->name, op->inputs, op->gives);
}

static int run(int argc, char **argv)
{
    bool lists_ops = false;
    const struct option_row rows[] = {
        {.name = "ops", .kind = OPTION_FLAG, .to = &lists_ops},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&stat_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 0) return usage_error(&stat_command, "one word too many: \"%s\"", words[0]);
    if (!lists_ops) return answer_all();
    for (size_t i = 0; stat_op_at(i); i++) print_op(stat_op_at(i));
    return output_finish() ? EXIT_DONE : EXIT_FAILED;
}

const struct command stat_command = {
    .name = "stat",
    .summary = "compute statistics, line by line, to check ours against others",
    .help = help,
    .run = run,
};
