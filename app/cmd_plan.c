/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir plan: answers from a person's data, to a question in English or to a plan in JSON.
 * Nothing here needs a network or a model.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "ask/ask.h"
#include "base/slice.h"
#include "data/plan.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "spark.h"

static const char help[] =
    "usage: weir plan QUESTION [--json] [--user USER] [--data FOLDER]\n"
    "       weir plan --run PLAN [--json] [--user USER] [--data FOLDER]\n"
    "       weir plan --batch [--user USER] [--data FOLDER] < LINES\n"
    "\n"
    "Answers a question about a person's data. A question becomes a plan, which is shown with the\n"
    "answer; what cannot be understood or is not in the data is refused, and no number is given.\n"
    "\n"
    "  QUESTION   in English: \"How many steps did I average in March?\"\n"
    "  --run      a plan: JSON, - for standard input, or @FILE. docs/plans.md teaches the\n"
    "             language, docs/plan.schema.json defines it\n"
    "  --batch    answers every line of standard input, a question or, if it begins with {, a\n"
    "             plan, with one line of JSON\n"
    "  --json     JSON, which is the default where standard output is no terminal\n"
    "  --user     whose data; without: me\n"
    "  --data     the data folder; without: $WEIR_DATA or ~/.local/share/weir\n"
    "\n"
    "The JSON is {\"plan\",\"value\",\"unit\",\"n\",\"window\",...}, {\"unanswerable\":REASON,...} "
    "or, for\n"
    "a plan that is wrong, {\"error\":{\"path\",\"message\"}}.\n"
    "\n"
    "Examples:\n"
    "  weir plan \"What was my longest run this year?\"\n"
    "  weir plan --run "
    "'{\"op\":\"aggregate\",\"metric\":\"steps\",\"window\":{\"last_days\":30}}'\n"
    "  weir plan --run @plan.json --user anna\n"
    "\n"
    "Exit status: 0 for an answer, and for one that says why there is none; 1 when the plan is\n"
    "wrong or the data cannot be read, with --batch only the latter; 2 wrong usage.\n";

enum {
    TEXT_BYTES = 1 << 20,    /* of a plan or a line */
    ANSWER_BYTES = 64 << 20, /* memory of one answer */
    SHOWN_ROWS = 20,
    NEWEST_ROWS = 7, /* below a line over time that has more */
    BAR_COLUMNS = 30,
};

struct planning {
    struct dataset *d;
    const char *question; /* or */
    const char *run;      /* or */
    bool is_batch;
    bool is_json;
    struct arena arena;
    struct weir_json_doc *doc;
    struct weir_buf line, text;
};

/* ---- for people ---- */

static bool is_dated(const struct plan_answer *a)
{
    for (size_t i = 0; i < a->n_rows; i++)
        if (a->rows[i].day == DAY_NONE || isnan(a->rows[i].value)) return false;
    return a->n_rows > 2;
}

/* Rows that rise by date are a line over time. True when one was drawn. */
static bool draw_line(struct planning *p, const struct plan_answer *a)
{
    int32_t *days = arena_alloc(&p->arena, a->n_rows * sizeof *days);
    double *values = arena_alloc(&p->arena, a->n_rows * sizeof *values);
    if (!days || !values || !is_dated(a)) return false;
    for (size_t i = 0; i < a->n_rows; i++) {
        if (i > 0 && a->rows[i].day <= a->rows[i - 1].day) return false;
        days[i] = a->rows[i].day;
        values[i] = a->rows[i].value;
    }
    struct spark spark = {days, values, a->n_rows, days[0], days[a->n_rows - 1]};
    spark_line(&p->line, &spark, spark_columns());
    output_line(&p->line);
    return true;
}

/* How rows are shown: as times of day, and what their bars are of. */
struct row_form {
    bool is_clock;
    bool bars_count; /* of how many values, as in a histogram; else of the value */
    double most;     /* 0: no bars */
};

static void print_row(struct planning *p, const struct plan_row *row, const struct row_form *form)
{
    char day[DAY_TEXT_BYTES] = "";
    int minutes = isnan(row->value) ? 0 : (int)lround(row->value) % (24 * 60);
    if (row->day != DAY_NONE) day_format(day, row->day);
    weir_buf_printf(&p->line, "  %-10s %s", row->key ? row->key : day, row->key ? day : "");
    if (form->is_clock && !isnan(row->value))
        weir_buf_printf(&p->line, "      %02d:%02d  ", minutes / 60, minutes % 60);
    else if (!isnan(row->value)) weir_buf_printf(&p->line, " %10.6g  ", row->value);
    if (row->key && row->n > 0) weir_buf_printf(&p->line, "%6zu  ", row->n);
    spark_bar(&p->line, form->bars_count ? (double)row->n : row->value, form->most, BAR_COLUMNS);
    output_line(&p->line);
}

/* The quantiles of a distribution come first, and only its bins have bars. */
static size_t first_bar(const struct plan *plan, const struct plan_answer *a)
{
    size_t i = 0;
    if (plan->op != PLAN_DISTRIBUTION) return 0;
    while (i < a->n_rows && a->rows[i].n == a->n) i++;
    return i;
}

static struct row_form form_of(const struct plan *plan, const struct plan_answer *a, size_t first)
{
    bool is_of_clock = plan->subject == PLAN_OF_METRIC && plan->metric->daily == DAILY_CIRCULAR;
    struct row_form form = {.is_clock = is_of_clock, .bars_count = plan->op == PLAN_DISTRIBUTION};
    for (size_t i = first; i < a->n_rows && !is_of_clock; i++) {
        double size = form.bars_count ? (double)a->rows[i].n : a->rows[i].value;
        /* A bar cannot show what is below nothing. */
        if (size < 0) return (struct row_form){0};
        if (size > form.most) form.most = size;
    }
    return form;
}

static void print_rows(struct planning *p, const struct plan *plan, const struct plan_answer *a)
{
    if (a->n_rows < 2) return;
    size_t first = first_bar(plan, a), begin = 0, end = a->n_rows;
    struct row_form form = form_of(plan, a, first);
    const struct row_form plain = {.is_clock = form.is_clock};
    bool is_drawn = draw_line(p, a), is_long = a->n_rows > SHOWN_ROWS && !form.bars_count;
    if (is_long && is_drawn) begin = end - NEWEST_ROWS;
    else if (is_long) end = SHOWN_ROWS;
    for (size_t i = begin; i < end; i++) print_row(p, &a->rows[i], i < first ? &plain : &form);
    if (is_long)
        printf("  %zu rows, of which these are the %s; --json has all\n", a->n_rows,
               is_drawn ? "newest" : "first");
}

static void print_answer(struct planning *p, const struct plan *plan, const struct plan_answer *a,
                         const char *const *notes, size_t n_notes)
{
    plan_say(&p->line, plan, a);
    output_line(&p->line);
    print_rows(p, plan, a);
    for (size_t i = 0; i < n_notes; i++) printf("Note: %s\n", notes[i]);
    for (size_t i = 0; i < a->n_notes; i++) printf("Note: %s\n", a->notes[i]);
}

/* ---- plans ---- */

static void put_error(struct weir_buf *out, const char *path, const char *message)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "error");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "path");
    weir_json_put_str(out, path);
    weir_json_put_key(out, "message");
    weir_json_put_str(out, message);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

/* In a batch, a wrong plan is a line like any other. */
static int wrong_plan(struct planning *p, const char *path, const char *message)
{
    if (p->is_json) {
        put_error(&p->line, path, message);
        output_line(&p->line);
    }
    if (p->is_batch) return EXIT_DONE;
    fprintf(stderr, "weir: the plan%s%s %s\n", path[0] ? ": " : "", path, message);
    return EXIT_FAILED;
}

static int answer_plan(struct planning *p, struct weir_slice text)
{
    struct plan plan;
    struct plan_error error;
    struct plan_answer answer;
    const struct weir_json *json;
    size_t offset;
    weir_json_doc_reset(p->doc);
    enum weir_status st = weir_json_parse(p->doc, text, &json, &offset);
    if (st != WEIR_OK) {
        snprintf(error.text, sizeof error.text, "is no JSON: %s, at byte %zu", weir_status_text(st),
                 offset);
        return wrong_plan(p, "", error.text);
    }
    st = plan_parse(&plan, json, p->d, &error);
    if (st == WEIR_BAD_FIELD) return wrong_plan(p, error.path, error.text);
    if (st == WEIR_OK) st = plan_run(&plan, p->d, &p->arena, &answer);
    if (st != WEIR_OK) return person_failed(st);
    if (p->is_json) {
        plan_put_answer(&p->line, &plan, &answer);
        output_line(&p->line);
    } else {
        print_answer(p, &plan, &answer, NULL, 0);
    }
    return EXIT_DONE;
}

/* ---- questions ---- */

static int answer_question(struct planning *p, struct weir_slice question)
{
    struct ask_reading reading;
    struct plan_answer answer = {0};
    enum weir_status st = ask_read(&reading, question, p->d, &p->arena);
    if (st == WEIR_OK && reading.is_understood)
        st = plan_run(&reading.plan, p->d, &p->arena, &answer);
    if (st != WEIR_OK) return person_failed(st);
    if (p->is_json) {
        ask_put(&p->line, &reading, &answer);
        output_line(&p->line);
        return EXIT_DONE;
    }
    if (reading.is_understood) {
        print_answer(p, &reading.plan, &answer, reading.notes, reading.n_notes);
        return EXIT_DONE;
    }
    printf("No answer: %s\n", reading.refusal);
    if (reading.understood) printf("Understood: %s\n", reading.understood);
    for (size_t i = 0; i < reading.n_notes; i++) printf("Note: %s\n", reading.notes[i]);
    return EXIT_DONE;
}

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && strchr(" \t\r\n", s.ptr[s.len - 1])) s.len--;
    while (s.len > 0 && strchr(" \t\r\n", s.ptr[0])) s = slice_from(s, 1);
    return s;
}

static int answer_text(struct planning *p, struct weir_slice text)
{
    text = trim(text);
    arena_reset(&p->arena);
    return text.len > 0 && text.ptr[0] == '{' ? answer_plan(p, text) : answer_question(p, text);
}

/* ---- where they come from ---- */

static bool read_all(struct weir_buf *to, FILE *from)
{
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, from)) > 0) weir_buf_append(to, piece, n);
    return !ferror(from) && weir_buf_status(to) == WEIR_OK;
}

static int cannot_read(const char *name)
{
    fprintf(stderr, "weir: cannot read %s: %s\n", name, errno ? strerror(errno) : "it is too long");
    return EXIT_FAILED;
}

static int run_plan(struct planning *p)
{
    const char *path = p->run[0] == '@' ? p->run + 1 : NULL;
    bool is_standard = strcmp(p->run, "-") == 0;
    errno = 0;
    if (!path && !is_standard) {
        weir_buf_append_str(&p->text, p->run);
    } else {
        FILE *from = is_standard ? stdin : fopen(path, "r");
        bool is_read = from && read_all(&p->text, from);
        if (from && !is_standard) fclose(from);
        if (!is_read) return cannot_read(is_standard ? "standard input" : path);
    }
    arena_reset(&p->arena);
    return answer_plan(p, trim(weir_buf_slice(&p->text)));
}

/* A line that is too long is refused, and the rest goes on. */
static int answer_line(struct planning *p)
{
    int exit_status;
    if (weir_buf_status(&p->text) != WEIR_OK)
        exit_status = wrong_plan(p, "", "is longer than a megabyte");
    else exit_status = answer_text(p, weir_buf_slice(&p->text));
    weir_buf_reset(&p->text);
    return exit_status;
}

static int run_batch(struct planning *p)
{
    int c;
    errno = 0;
    while ((c = getc(stdin)) != EOF) {
        if (c != '\n') {
            weir_buf_append_char(&p->text, (char)c);
            continue;
        }
        int exit_status = answer_line(p);
        if (exit_status != EXIT_DONE) return exit_status;
        if (!output_flush()) return EXIT_FAILED;
    }
    if (ferror(stdin)) return cannot_read("standard input");
    return p->text.len > 0 ? answer_line(p) : EXIT_DONE;
}

static int plan_data(struct dataset *d, void *user)
{
    struct planning *p = user;
    int exit_status = EXIT_FAILED;
    p->d = d;
    arena_init(&p->arena, ANSWER_BYTES);
    weir_buf_init(&p->line, OUTPUT_LINE_MAX_BYTES);
    weir_buf_init(&p->text, TEXT_BYTES);
    p->doc = weir_json_doc_new(TEXT_BYTES * 32);
    if (!p->doc) fputs("weir: there is no memory\n", stderr);
    else if (p->is_batch) exit_status = run_batch(p);
    else if (p->run) exit_status = run_plan(p);
    else exit_status = answer_text(p, weir_slice_of(p->question));
    weir_json_doc_free(p->doc);
    weir_buf_fini(&p->text);
    weir_buf_fini(&p->line);
    arena_fini(&p->arena);
    return exit_status;
}

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    struct person_options person = {.user = "me"};
    struct planning p = {0};
    const struct option_row rows[] = {
        {.name = "data", .kind = OPTION_TEXT, .to = &person.data},
        {.name = "user", .kind = OPTION_TEXT, .to = &person.user},
        {.name = "run", .kind = OPTION_TEXT, .to = &p.run},
        {.name = "batch", .kind = OPTION_FLAG, .to = &p.is_batch},
        {.name = "json", .kind = OPTION_FLAG, .to = &p.is_json},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&plan_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 1)
        return usage_error(&plan_command, "one word too many: \"%s\"; a question stands in quotes",
                           words[1]);
    if ((n_words > 0) + (p.run != NULL) + p.is_batch != 1)
        return usage_error(&plan_command, "a question, or --run PLAN, or --batch");
    p.question = n_words > 0 ? words[0] : NULL;
    p.is_json |= p.is_batch || !spark_is_terminal();
    return person_run(&plan_command, &person, plan_data, &p);
}

const struct command plan_command = {
    .name = "plan",
    .summary = "answer questions about a person's data",
    .help = help,
    .run = run,
};
