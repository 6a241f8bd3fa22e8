/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir import: other people's files into a person's data. The store has to be free: a server
 * that runs on the folder is told about.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/slice.h"
#include "control.h"
#include "data/day.h"
#include "data_folder.h"
#include "import/import.h"
#include "options.h"
#include "output.h"
#include "progress_bar.h"

enum { SHOWN_COUNTS = 40, SUMMARY_BYTES = 1 << 20 };

static const char help[] =
    "usage: weir import FILE... [--user USER] [--kind KIND] [--zone ZONE] [--data FOLDER]\n"
    "                   [--dates ORDER] [--units SYSTEM] [--person ID] [--json] [--quiet]\n"
    "\n"
    "Reads health exports into a person's data. A FILE may be a file, a zip archive as it was\n"
    "downloaded, or a folder. What kind it is is found out; importing a file twice, or one that\n"
    "overlaps another, changes nothing that is there already. When an import was interrupted,\n"
    "the same command goes on where it stopped.\n"
    "\n"
    "  --user     whose data they are; without: me\n"
    "  --kind     what the files are, if that is not found out; \"weir import --kind help\" lists\n"
    "             what there is\n"
    "  --zone     the time zone of times that do not say theirs, as Europe/Berlin; without: this\n"
    "             machine's\n"
    "  --dates    mdy or dmy: which of 03/04/2025 is the month, where a table does not show it\n"
    "  --units    metric or imperial, where a table does not say it\n"
    "  --person   of a table with several people, the id of the one\n"
    "  --json     the summary as one JSON object\n"
    "  --quiet    no progress and no summary\n"
    "  --data     the data folder, which is made if it is not there; without: $WEIR_DATA or\n"
    "             ~/.local/share/weir\n"
    "\n"
    "Examples:\n"
    "  weir import export.zip\n"
    "  weir import ~/Takeout --user anna\n"
    "  weir import labs.csv --kind labs --dates dmy\n"
    "\n"
    "Exit status: 0 done, 1 a file cannot be read (nothing of it was imported) or the data\n"
    "cannot be stored, 2 wrong usage.\n";

struct import {
    struct import_options options;
    struct bar bar;
    const char *folder;
    bool is_json, is_quiet;
};

/* ---- progress ---- */

static void show_progress(void *user, const struct import_progress *p)
{
    struct import *i = user;
    static const char checking[] = "checking";
    static const char importing[] = "importing";
    bar_show(&i->bar, &(struct bar_state){
                          .doing = p->is_checking ? checking : importing,
                          .what = p->file,
                          .done = p->bytes,
                          .total = p->total_bytes,
                          .records = p->records,
                          .elapsed_ms = p->elapsed_ms,
                      });
}

/* ---- the summary ---- */

static void print_counts(const char *title, const struct import_count *counts, size_t n)
{
    if (n == 0) return;
    printf("\n%s\n", title);
    for (size_t i = 0; i < n && i < SHOWN_COUNTS; i++)
        printf("  %10llu  %s\n", (unsigned long long)counts[i].n, counts[i].name);
    if (n > SHOWN_COUNTS) printf("              and %zu more\n", n - SHOWN_COUNTS);
}

static void print_refusals(const struct import_summary *s)
{
    if (s->n_refused == 0) return;
    printf("\nRefused: %llu\n", (unsigned long long)s->n_refused);
    for (size_t i = 0; i < s->n_refusals; i++) {
        const struct import_refusal *r = &s->refusals[i];
        if (r->line > 0)
            printf("  %s, line %llu: %s\n", r->file, (unsigned long long)r->line, r->reason);
        else printf("  %s: %s\n", r->file, r->reason);
    }
    if (s->n_refused > s->n_refusals)
        printf("  and %llu more\n", (unsigned long long)(s->n_refused - s->n_refusals));
}

static void print_days(const struct import_summary *s)
{
    char first[DAY_TEXT_BYTES];
    char last[DAY_TEXT_BYTES];
    if (s->n_days == 0) return;
    day_format(first, s->first_day);
    day_format(last, s->last_day);
    printf("Days: %llu, from %s to %s\n", (unsigned long long)s->n_days, first, last);
}

static void print_summary(const struct import *i, const struct import_summary *s)
{
    char bytes[BAR_TEXT_BYTES];
    bar_bytes(bytes, s->bytes);
    if (s->was_resumed)
        printf("An import that was interrupted went on; what follows is the rest.\n");
    printf("Imported for %.*s: %llu records of %s, %llu facts: %llu new, %llu that were there "
           "already\n",
           (int)i->options.user.len, i->options.user.ptr, (unsigned long long)s->records, bytes,
           (unsigned long long)s->n_facts, (unsigned long long)s->n_new,
           (unsigned long long)s->n_duplicates);
    print_days(s);
    print_counts("Metrics", s->metrics, s->n_metrics);
    print_counts("Sources", s->sources, s->n_sources);
    print_counts("Ignored, for weir has no use for it", s->ignored, s->n_ignored_kinds);
    print_refusals(s);
}

static void print_json(const struct import_summary *s)
{
    struct weir_buf line;
    weir_buf_init(&line, SUMMARY_BYTES);
    import_write_summary(&line, s);
    output_line(&line);
    weir_buf_fini(&line);
}

/* ---- doing it ---- */

static int import_into(struct store *store, void *user)
{
    static struct import_summary summary; /* 40 KB, too much for a stack */
    struct import *i = user;
    struct import_error error;
    data_folder_read_as_caller();
    bar_begin(&i->bar, i->is_quiet);
    enum weir_status st = import_run(store, &i->options, &summary, &error);
    bar_end(&i->bar);
    if (!data_folder_become_owner()) return EXIT_FAILED;
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: %s\n", error.text);
        return EXIT_FAILED;
    }
    if (i->is_json) print_json(&summary);
    else if (!i->is_quiet) print_summary(i, &summary);
    return EXIT_DONE;
}

static int server_runs(struct control_answer *answer, void *user)
{
    const struct import *i = user;
    (void)answer;
    fprintf(stderr,
            "weir: a server runs on %s and has its data open. Stop it for the time of the import, "
            "import over HTTP (POST /v1/data/imports), or into another folder with --data.\n",
            i->folder);
    return EXIT_FAILED;
}

static void print_kinds(void)
{
    for (size_t i = 0; reader_kinds[i]; i++)
        printf("  %-16s %s\n", reader_kinds[i]->name, reader_kinds[i]->title);
}

static bool choose(const char *text, const char *const names[2], unsigned *out)
{
    for (unsigned i = 0; text && i < 2; i++)
        if (strcmp(text, names[i]) == 0) *out = i + 1;
    return !text || *out > 0;
}

/* What the words mean; EXIT_DONE when all is well. */
static int read_options(struct import *i, const char *dates, const char *units, int n_words)
{
    static const char *const orders[] = {"mdy", "dmy"};
    static const char *const systems[] = {"metric", "imperial"};
    unsigned order = 0;
    unsigned system = 0;
    if (n_words == 0) return usage_error(&import_command, "import which file?");
    if (!choose(dates, orders, &order))
        return usage_error(&import_command, "--dates takes mdy or dmy, not \"%s\"", dates);
    if (!choose(units, systems, &system))
        return usage_error(&import_command, "--units takes metric or imperial, not \"%s\"", units);
    if (i->options.kind && !reader_kind_find(i->options.kind))
        return usage_error(&import_command,
                           "there is no kind \"%s\"; \"weir import --kind help\" lists them",
                           i->options.kind);
    i->options.dates = order == 1   ? DATES_MONTH_FIRST
                       : order == 2 ? DATES_DAY_FIRST
                                    : DATES_UNKNOWN;
    i->options.units = system == 1 ? UNITS_METRIC : system == 2 ? UNITS_IMPERIAL : UNITS_UNKNOWN;
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct import i = {.options = {.clock = &clock_system, .progress = show_progress}};
    const char *data = NULL;
    const char *user = "me";
    const char *dates = NULL;
    const char *units = NULL;
    const char *person = "";
    const struct option_row rows[] = {
        {.name = "data", .kind = OPTION_TEXT, .to = &data},
        {.name = "user", .kind = OPTION_TEXT, .to = &user},
        {.name = "kind", .kind = OPTION_TEXT, .to = &i.options.kind},
        {.name = "zone", .kind = OPTION_TEXT, .to = &i.options.zone},
        {.name = "dates", .kind = OPTION_TEXT, .to = &dates},
        {.name = "units", .kind = OPTION_TEXT, .to = &units},
        {.name = "person", .kind = OPTION_TEXT, .to = &person},
        {.name = "json", .kind = OPTION_FLAG, .to = &i.is_json},
        {.name = "quiet", .kind = OPTION_FLAG, .to = &i.is_quiet},
        {.name = NULL},
    };
    char folder[DATA_FOLDER_BYTES];
    char **words;
    int n_words;
    int exit_status = options_parse(&import_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (i.options.kind && strcmp(i.options.kind, "help") == 0) {
        print_kinds();
        return EXIT_DONE;
    }
    exit_status = read_options(&i, dates, units, n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    i.options.user = weir_slice_of(user);
    i.options.person = weir_slice_of(person);
    i.options.paths = (const char *const *)words;
    i.options.n_paths = (size_t)n_words;
    i.options.progress_user = &i;
    if (!data_folder_find(data, folder)) return EXIT_USAGE;
    if (!data_folder_make(folder, NULL)) return EXIT_FAILED;
    i.folder = folder;
    return data_folder_run(folder, &(struct data_request){
                                       .method = "GET",
                                       .path = "/healthz",
                                       .answered = server_runs,
                                       .offline = import_into,
                                       .user = &i,
                                   });
}

const struct command import_command = {
    .name = "import",
    .summary = "read health exports into a person's data",
    .help = help,
    .run = run,
};
