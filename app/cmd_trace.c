/* SPDX-License-Identifier: Apache-2.0 */
/* weir trace: how a turn came about, step by step. */
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/clock.h"
#include "base/slice.h"
#include "data_folder.h"
#include "local_server.h"
#include "options.h"
#include "output.h"

static const char help[] =
    "usage: weir trace TURN [--user USER] [--json] [--data FOLDER]\n"
    "\n"
    "Shows how a turn came about: each step with its time, attempts and cost, which models were\n"
    "asked what, what the agents brought, which gates each finding passed, what the critic said,\n"
    "and the numbers that had no home in the fact sheet.\n"
    "\n"
    "  --user     whose turn; without: me\n"
    "  --json     everything, with the whole input and output of each step\n"
    "  --data     the data folder; without: $WEIR_DATA or ~/.local/share/weir\n"
    "\n"
    "Examples:\n"
    "  weir trace turn_01HX2K3M4N5P6Q7R8S9T0V1W2X\n"
    "  weir trace turn_01HX2K3M4N5P6Q7R8S9T0V1W2X --json | jq '.steps[].output'\n"
    "  weir trace turn_01HX2K3M4N5P6Q7R8S9T0V1W2X --json | jq '.steps[].model_calls[].request'\n"
    "\n"
    "Exit status: 0 shown, 1 no such turn or another failure, 2 wrong usage.\n";

enum { PATH_BYTES = 256, BAR_CELLS = 30 };

struct tracing {
    const char *turn, *user;
    bool is_json;
};

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

static void print_text(const struct weir_json *v, const char *key)
{
    struct weir_slice text = text_of(v, key);
    printf("%.*s", (int)text.len, text.len > 0 ? text.ptr : "");
}

static int64_t time_of(const struct weir_json *v, const char *key)
{
    int64_t ms = 0;
    return clock_parse(text_of(v, key), &ms) ? ms : 0;
}

/* ---- steps, as bars in time ---- */

struct scale {
    int64_t from, to;
};

static unsigned cell_of(struct scale s, int64_t at)
{
    if (s.to <= s.from || at <= s.from) return 0;
    return at >= s.to ? BAR_CELLS : (unsigned)((at - s.from) * BAR_CELLS / (s.to - s.from));
}

static void print_bar(struct scale s, int64_t from, int64_t to)
{
    unsigned first = cell_of(s, from), last = cell_of(s, to);
    if (first == BAR_CELLS) first--;
    for (unsigned i = 0; i < BAR_CELLS; i++)
        putchar(i == first || (i > first && i < last) ? '#' : '.');
}

static void print_step(const struct weir_json *step, struct scale s)
{
    int64_t from = time_of(step, "started_at"), to = time_of(step, "ended_at");
    int64_t attempts = 0;
    double cost = 0;
    struct weir_slice name = text_of(step, "name");
    (void)weir_json_int64(weir_json_get_str(step, "attempts"), &attempts);
    (void)weir_json_double(weir_json_get_str(step, "cost_usd"), &cost);
    printf("  %-22.*s ", (int)name.len, name.len > 0 ? name.ptr : "");
    print_bar(s, from, to);
    printf(" %6lld ms", (long long)(to - from));
    if (attempts > 1) printf("  %lld attempts", (long long)attempts);
    if (cost > 0) printf("  $%.4f", cost);
    const struct weir_json *error = weir_json_get_str(step, "error");
    if (weir_json_type_of(error) == WEIR_JSON_OBJECT) {
        printf("  ");
        print_text(error, "message");
    }
    putchar('\n');
}

static void print_steps(const struct weir_json *trace)
{
    const struct weir_json *steps = weir_json_get_str(trace, "steps");
    struct scale s = {time_of(trace, "created_at"), time_of(trace, "completed_at")};
    const struct weir_json *step;
    for (step = weir_json_first(steps); step; step = weir_json_next(step))
        if (time_of(step, "ended_at") > s.to) s.to = time_of(step, "ended_at");
    for (step = weir_json_first(steps); step; step = weir_json_next(step)) print_step(step, s);
}

/* ---- models ---- */

static long long count_of(const struct weir_json *v, const char *key)
{
    int64_t n = 0;
    return weir_json_int64(weir_json_get_str(v, key), &n) ? (long long)n : 0;
}

static void print_call(const struct weir_json *call)
{
    double cost = 0;
    struct weir_slice purpose = text_of(call, "purpose");
    const struct weir_json *usage = weir_json_get_str(call, "usage");
    (void)weir_json_double(weir_json_get_str(call, "cost_usd"), &cost);
    printf("  %-22.*s ", (int)purpose.len, purpose.len > 0 ? purpose.ptr : "");
    print_text(call, "provider");
    putchar('/');
    print_text(call, "model");
    printf("  %lld ms  %lld tokens in, %lld out", count_of(call, "duration_ms"),
           count_of(usage, "input_tokens"), count_of(usage, "output_tokens"));
    if (count_of(call, "attempts") > 1) printf("  %lld attempts", count_of(call, "attempts"));
    if (cost > 0) printf("  $%.4f", cost);
    if (!weir_slice_is(text_of(call, "status"), "ok")) {
        printf("  ");
        print_text(call, "why");
    }
    putchar('\n');
}

static void print_calls(const struct weir_json *trace)
{
    bool has_title = false;
    const struct weir_json *step = weir_json_first(weir_json_get_str(trace, "steps"));
    for (; step; step = weir_json_next(step)) {
        const struct weir_json *c = weir_json_first(weir_json_get_str(step, "model_calls"));
        if (c && !has_title) puts("\nmodels");
        has_title |= c != NULL;
        for (; c; c = weir_json_next(c)) print_call(c);
    }
}

/* ---- agents and checks ---- */

static void print_agents(const struct weir_json *trace)
{
    const struct weir_json *a = weir_json_first(weir_json_get_str(trace, "agents"));
    if (a) puts("\nagents");
    for (; a; a = weir_json_next(a)) {
        printf("  ");
        print_text(a, "agent");
        printf(": ");
        print_text(a, "summary");
        putchar('\n');
    }
}

static void print_gates(const struct weir_json *trace)
{
    const struct weir_json *g = weir_json_first(weir_json_get_str(trace, "gates"));
    struct weir_slice finding = {0};
    if (g) puts("\nchecks");
    for (; g; g = weir_json_next(g)) {
        struct weir_slice id = text_of(g, "finding_id");
        if (!slice_eq(id, finding))
            printf("%s  %.*s ", finding.len > 0 ? "\n" : "", (int)id.len, id.ptr);
        finding = id;
        putchar(' ');
        print_text(g, "gate");
        putchar('=');
        print_text(g, "verdict");
    }
    if (finding.len > 0) putchar('\n');
    for (g = weir_json_first(weir_json_get_str(trace, "critic")); g; g = weir_json_next(g)) {
        printf("  ");
        print_text(g, "finding_id");
        printf("  critic: ");
        print_text(g, "verdict");
        printf(", ");
        print_text(g, "reasoning");
        putchar('\n');
    }
}

static void print_flagged(const struct weir_json *trace)
{
    const struct weir_json *f = weir_json_first(weir_json_get_str(trace, "flagged"));
    struct weir_buf line;
    if (f) puts("\nnumbers without a home");
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    for (; f; f = weir_json_next(f)) {
        weir_buf_append_str(&line, "  ");
        weir_json_put_value(&line, f);
        output_line(&line);
    }
    weir_buf_fini(&line);
}

static int print_trace(struct weir_slice json)
{
    const struct weir_json *trace = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, json, &trace, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK) {
        print_text(trace, "turn_id");
        printf("  ");
        print_text(trace, "status");
        puts("\n");
        print_steps(trace);
        print_calls(trace);
        print_agents(trace);
        print_gates(trace);
        print_flagged(trace);
    } else fprintf(stderr, "weir: the trace cannot be read: %s\n", weir_status_text(st));
    weir_json_doc_free(doc);
    return st == WEIR_OK ? EXIT_DONE : EXIT_FAILED;
}

static int show(const char *folder, void *user)
{
    const struct tracing *t = user;
    char path[PATH_BYTES];
    struct weir_buf json;
    snprintf(path, sizeof path, "/v1/turns/%s/trace?user=%s", t->turn, t->user);
    if (!local_server_get(folder, path, &json)) return EXIT_FAILED;
    int exit_status = EXIT_DONE;
    if (t->is_json) output_line(&json);
    else exit_status = print_trace(weir_buf_slice(&json));
    weir_buf_fini(&json);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct tracing t = {.user = "me"};
    const char *data = NULL;
    char folder[DATA_FOLDER_BYTES];
    const struct option_row rows[] = {
        {.name = "user", .kind = OPTION_TEXT, .to = &t.user},
        {.name = "json", .kind = OPTION_FLAG, .to = &t.is_json},
        {.name = "data", .kind = OPTION_TEXT, .to = &data},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&trace_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words != 1) return usage_error(&trace_command, "name one turn, as turn_01HX…");
    if (!local_server_is_name(words[0]) || !local_server_is_name(t.user))
        return usage_error(&trace_command, "turns and users have letters, digits, . _ - @");
    t.turn = words[0];
    if (!data_folder_find(data, folder)) return EXIT_USAGE;
    if (!data_folder_is_there(folder)) return EXIT_FAILED;
    return local_server_run(folder, show, &t);
}

const struct command trace_command = {
    .name = "trace",
    .summary = "show how a turn came about, step by step",
    .help = help,
    .run = run,
};
