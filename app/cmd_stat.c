/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir stat: the statistics that weir checks its findings with, one JSON line in and one out, so
 * that anybody can hold them against another implementation.
 */
#include <stdio.h>

#include "command.h"
#include "options.h"
#include "output.h"
#include "stat_ops.h"

enum { LINE_MEMORY = 256 << 20 };

/* One line of output for one of input: {"id","result"} or {"id","error"}. */
static bool answer_line(struct call *c, struct weir_json_doc *doc, struct weir_slice line,
                        struct weir_buf *out)
{
    const struct weir_json *v;
    struct weir_buf result;
    weir_buf_init(&result, OUTPUT_LINE_MAX_BYTES);
    c->out = &result;
    c->complaint[0] = '\0';
    arena_reset(&c->arena);
    size_t offset = 0;
    if (weir_json_parse(doc, line, &v, &offset) != WEIR_OK)
        snprintf(c->complaint, sizeof c->complaint, "not JSON, at byte %zu", offset);
    c->inputs = weir_json_get_str(v, "inputs");
    if (c->complaint[0] == '\0') stat_op_run(c, weir_json_text(weir_json_get_str(v, "op")));
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "id");
    weir_json_put_value(out, weir_json_get_str(v, "id"));
    bool is_right = c->complaint[0] == '\0';
    weir_json_put_key(out, is_right ? "result" : "error");
    if (is_right) weir_buf_append_slice(out, weir_buf_slice(&result));
    else weir_json_put_str(out, c->complaint);
    weir_json_put_end_object(out);
    weir_buf_fini(&result);
    weir_json_doc_reset(doc);
    return is_right;
}

/* The next line of standard input without its end; false when there is none. */
static bool read_line(struct weir_buf *line)
{
    int ch = getc(stdin);
    weir_buf_reset(line);
    if (ch == EOF) return false;
    for (; ch != EOF && ch != '\n'; ch = getc(stdin)) weir_buf_append_char(line, (char)ch);
    return weir_buf_status(line) == WEIR_OK;
}

static int answer_all(void)
{
    struct call c = {0};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_buf out, line;
    bool is_right = doc != NULL;
    arena_init(&c.arena, LINE_MEMORY);
    weir_buf_init(&out, OUTPUT_LINE_MAX_BYTES);
    weir_buf_init(&line, LINE_MEMORY);
    while (doc && read_line(&line)) {
        if (line.len == 0) continue;
        is_right = answer_line(&c, doc, weir_buf_slice(&line), &out) && is_right;
        output_line(&out);
    }
    weir_buf_fini(&line);
    weir_buf_fini(&out);
    arena_fini(&c.arena);
    weir_json_doc_free(doc);
    return output_finish() && is_right ? EXIT_DONE : EXIT_FAILED;
}

static const char help[] =
    "usage: weir stat < LINES\n"
    "       weir stat --ops\n"
    "\n"
    "Computes statistics. Each line of input is {\"id\", \"op\", \"inputs\"}, each line of\n"
    "output {\"id\", \"result\"}, or {\"id\", \"error\"} when the inputs are wrong. What is not\n"
    "defined (the mean of nothing, the correlation with a constant) is null. In the inputs\n"
    "null is a value that is missing.\n"
    "\n"
    "  --ops    list the operations\n"
    "\n"
    "Draws of bootstraps and permutations are the same for the same inputs; \"seed\" among the\n"
    "inputs gives others.\n"
    "\n"
    "Examples:\n"
    "  echo '{\"op\":\"mean\",\"inputs\":{\"x\":[1,2,null,6]}}' | weir stat\n"
    "  echo '{\"op\":\"welch_t\",\"inputs\":{\"a\":[1,2,3],\"b\":[2,4,9]}}' | weir stat\n"
    "\n"
    "Exit status: 0 done, 1 some line was wrong, 2 wrong usage.\n";

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
    for (size_t i = 0; stat_op_name(i); i++) puts(stat_op_name(i));
    return output_finish() ? EXIT_DONE : EXIT_FAILED;
}

const struct command stat_command = {
    .name = "stat",
    .summary = "compute statistics, line by line, to check ours against others",
    .help = help,
    .run = run,
};
