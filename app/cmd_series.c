/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir series: a person's data as they are stored. Daily values, sleeps, workouts and results as
 * CSV for programs, as a small picture for people.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/slice.h"
#include "data/nearest.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "spark.h"
#include "stat/circular.h"
#include "stat/moments.h"

static const char help[] =
    "usage: weir series [METRIC | sleeps | workouts | labs] [--from DATE] [--to DATE]\n"
    "                   [--last DAYS] [--csv | --json | --spark] [--user USER] [--data FOLDER]\n"
    "\n"
    "Prints a person's data. Without a name: which metrics there are, with their days.\n"
    "\n"
    "  METRIC     the daily values of a metric, by its name or what people call it: steps,\n"
    "             \"resting heart rate\", hrv. As CSV: date,value,unit,source,quality.\n"
    "             A time of day is in minutes after midnight. Days of the quality partial were\n"
    "             not over; not_worn and implausible are in no answer of weir plan\n"
    "  sleeps     the sleep sessions, by the day of waking\n"
    "  workouts   the workouts\n"
    "  labs       the laboratory results\n"
    "\n"
    "  --from, --to  only days from and up to a date, as 2025-03-09; both are included\n"
    "  --last     only so many days up to the newest one with data\n"
    "  --csv      CSV, which is the default where standard output is no terminal\n"
    "  --json     one JSON object per line\n"
    "  --spark    a line of bars with the lowest, mean and highest, the default on a terminal\n"
    "  --user     whose data; without: me\n"
    "  --data     the data folder; without: $WEIR_DATA or ~/.local/share/weir\n"
    "\n"
    "Examples:\n"
    "  weir series\n"
    "  weir series steps --last 30\n"
    "  weir series weight --from 2025-01-01 --csv > weight.csv\n"
    "\n"
    "Exit status: 0 done, 1 there is no such metric or the data cannot be read, 2 wrong usage.\n";

enum form { FORM_CSV, FORM_JSON, FORM_SPARK };

enum { LINE_BYTES = 1 << 20 };

struct show {
    struct dataset *d;
    const char *what; /* NULL: the list of metrics */
    const char *user;
    enum form form;
    int32_t from, to;
    unsigned last;
    struct weir_buf line;
    bool is_begun; /* the line has a cell */
    const char *const *columns;
    size_t column;
};

/* ---- lines of cells ---- */

/* Cells go into a line of CSV, or under the names of the columns into a JSON object. */
static void begin_line(struct show *s)
{
    s->column = 0;
    if (s->form == FORM_JSON) weir_json_put_begin_object(&s->line);
}

static void end_line(struct show *s)
{
    if (s->form == FORM_JSON) weir_json_put_end_object(&s->line);
    output_line(&s->line);
}

static void begin_cell(struct show *s)
{
    if (s->form == FORM_JSON) weir_json_put_key(&s->line, s->columns[s->column]);
    else if (s->column > 0) weir_buf_append_char(&s->line, ',');
    s->column++;
}

static void cell_text(struct show *s, struct weir_slice text)
{
    begin_cell(s);
    if (s->form == FORM_JSON) {
        weir_json_put_string(&s->line, text);
        return;
    }
    bool needs_quotes = false;
    for (size_t i = 0; i < text.len; i++)
        needs_quotes |=
            text.ptr[i] == ',' || text.ptr[i] == '"' || text.ptr[i] == '\n' || text.ptr[i] == '\r';
    if (!needs_quotes) {
        weir_buf_append_slice(&s->line, text);
        return;
    }
    weir_buf_append_char(&s->line, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"') weir_buf_append_char(&s->line, '"');
        weir_buf_append_char(&s->line, text.ptr[i]);
    }
    weir_buf_append_char(&s->line, '"');
}

static void cell_str(struct show *s, const char *text)
{
    cell_text(s, weir_slice_of(text));
}

/* Exact; nothing where it is not known. */
static void cell_number(struct show *s, double x)
{
    struct weir_buf digits;
    begin_cell(s);
    if (s->form == FORM_JSON || isnan(x)) {
        if (s->form == FORM_JSON) weir_json_put_double(&s->line, x);
        return;
    }
    /* The writer places commas by itself, which are cells here. */
    weir_buf_init(&digits, 64);
    weir_json_put_double(&digits, x);
    weir_buf_append_slice(&s->line, weir_buf_slice(&digits));
    weir_buf_fini(&digits);
}

static void cell_day(struct show *s, int32_t day)
{
    char text[DAY_TEXT_BYTES];
    day_format(text, day);
    cell_str(s, text);
}

/* Local time with its distance from UTC: 2025-03-09T07:00:00-05:00. */
static void cell_moment(struct show *s, struct moment m)
{
    char day[DAY_TEXT_BYTES], text[48];
    int64_t local = m.at + m.offset;
    int32_t date = day_of_moment(m.at, m.offset);
    int second = (int)(local - (int64_t)date * DAY_SECONDS);
    int away = m.offset < 0 ? -m.offset / 60 : m.offset / 60;
    day_format(day, date);
    snprintf(text, sizeof text, "%sT%02d:%02d:%02d%c%02d:%02d", day, second / 3600,
             second / 60 % 60, second % 60, m.offset < 0 ? '-' : '+', away / 60, away % 60);
    cell_str(s, text);
}

static void put_head(struct show *s, const char *const *columns)
{
    s->columns = columns;
    if (s->form == FORM_JSON) return;
    for (size_t i = 0; columns[i]; i++)
        weir_buf_printf(&s->line, "%s%s", i > 0 ? "," : "", columns[i]);
    output_line(&s->line);
}

static bool is_wanted(const struct show *s, int32_t day)
{
    return (s->from == DAY_NONE || day >= s->from) && (s->to == DAY_NONE || day <= s->to);
}

/* ---- the list of metrics ---- */

static void put_summary(struct show *s, const struct series *series)
{
    const struct metric *m = series->metric;
    begin_line(s);
    cell_str(s, m->name);
    cell_str(s, m->unit);
    cell_number(s, (double)series->n);
    cell_day(s, series->days[0]);
    cell_day(s, series->days[series->n - 1]);
    end_line(s);
}

static void draw_summary(struct show *s, const struct series *series)
{
    char first[DAY_TEXT_BYTES], last[DAY_TEXT_BYTES];
    struct spark spark = {series->days, series->values, series->n, series->days[0],
                          series->days[series->n - 1]};
    day_format(first, spark.from);
    day_format(last, spark.to);
    weir_buf_printf(&s->line, "%-24s %-12s %5zu days  %s to %s  ", series->metric->name,
                    series->metric->unit, series->n, first, last);
    if (spark_columns() > 100) spark_line(&s->line, &spark, 20);
    output_line(&s->line);
}

static int no_data(const struct show *s)
{
    fprintf(stderr,
            "weir: there are no data of %s yet; \"weir import FILE --user %s\" brings some\n",
            s->user, s->user);
    return EXIT_FAILED;
}

static int list_metrics(struct show *s)
{
    static const char *const columns[] = {"metric", "unit", "days", "first", "last", NULL};
    const struct metric *const *metrics;
    size_t n;
    enum weir_status st = dataset_metrics(s->d, &metrics, &n);
    if (st != WEIR_OK) return person_failed(st);
    if (n == 0 && s->form == FORM_SPARK) return no_data(s);
    if (s->form != FORM_SPARK) put_head(s, columns);
    for (size_t i = 0; i < n; i++) {
        const struct series *series;
        st = dataset_series(s->d, metrics[i], &series);
        if (st == WEIR_NOT_FOUND) continue;
        if (st != WEIR_OK) return person_failed(st);
        if (s->form == FORM_SPARK) draw_summary(s, series);
        else put_summary(s, series);
    }
    return EXIT_DONE;
}

/* ---- one metric ---- */

static void offer(struct nearest *near, const struct metric *m)
{
    size_t at = 0;
    nearest_offer(near, weir_slice_of(m->name), m->name);
    nearest_offer(near, weir_slice_of(m->title), m->name);
    for (struct weir_slice a = alias_next(m->aliases, &at); a.len > 0;
         a = alias_next(m->aliases, &at))
        nearest_offer(near, a, m->name);
}

static int no_such_metric(struct show *s)
{
    struct nearest near;
    const struct metric *const *metrics;
    size_t n = 0;
    nearest_begin(&near, weir_slice_of(s->what));
    /* Those that the person has first, so that they win. */
    if (dataset_metrics(s->d, &metrics, &n) == WEIR_OK)
        for (size_t i = 0; i < n; i++) offer(&near, metrics[i]);
    for (size_t i = 0; i < metric_count(); i++) offer(&near, metric_at(i));
    fprintf(stderr, "weir: there is no metric \"%s\"", s->what);
    if (near.name) fprintf(stderr, "; did you mean \"%s\"?\n", near.name);
    else fputs("; \"weir series\" lists those there are\n", stderr);
    return EXIT_FAILED;
}

static void put_values(struct show *s, const struct series *series)
{
    static const char *const columns[] = {"date", "value", "unit", "source", "quality", NULL};
    put_head(s, columns);
    for (size_t i = 0; i < series->n; i++) {
        if (!is_wanted(s, series->days[i])) continue;
        begin_line(s);
        cell_day(s, series->days[i]);
        cell_number(s, series->values[i]);
        cell_str(s, series->metric->unit);
        cell_text(s, dataset_source(s->d, series->sources[i]));
        cell_str(s, quality_name((enum quality)series->quality[i]));
        end_line(s);
    }
}

static void put_amount(struct weir_buf *out, const char *name, double value, bool is_clock)
{
    int minutes = (int)lround(stat_circular_wrap(value)) % 1440;
    if (is_clock) weir_buf_printf(out, "%s %02d:%02d   ", name, minutes / 60, minutes % 60);
    else weir_buf_printf(out, "%s %.6g   ", name, value);
}

enum { MOST_DAYS = 1 << 17 }; /* more than there are days */

/* What is fit to be drawn. Times of day lie around their mean: 23:50 is next to 00:10. */
static size_t choose_values(const struct show *s, const struct series *all, int32_t *days,
                            double *values)
{
    bool is_clock = all->metric->daily == DAILY_CIRCULAR;
    size_t n = 0;
    for (size_t i = 0; i < all->n && n < MOST_DAYS; i++) {
        if (!is_wanted(s, all->days[i]) || all->quality[i] > QUALITY_PARTIAL) continue;
        days[n] = all->days[i];
        values[n++] = all->values[i];
    }
    double center = is_clock ? stat_circular_mean(values, n) : 0;
    for (size_t i = 0; is_clock && !isnan(center) && i < n; i++)
        values[i] = stat_circular_near(values[i], center);
    return n;
}

static int draw_values(struct show *s, const struct series *all)
{
    static int32_t days[MOST_DAYS];
    static double values[MOST_DAYS];
    bool is_clock = all->metric->daily == DAILY_CIRCULAR;
    const char *unit = is_clock ? "" : all->metric->unit;
    size_t n = choose_values(s, all, days, values);
    if (n == 0) {
        fprintf(stderr, "weir: no values of %s on these days\n", all->metric->title);
        return EXIT_FAILED;
    }
    struct spark spark = {days, values, n, days[0], days[n - 1]};
    char from[DAY_TEXT_BYTES], to[DAY_TEXT_BYTES];
    day_format(from, spark.from);
    day_format(to, spark.to);
    weir_buf_printf(&s->line, "%s%s%s, %s to %s, %zu days", all->metric->title,
                    unit[0] ? " in " : "", unit, from, to, n);
    output_line(&s->line);
    spark_line(&s->line, &spark, spark_columns());
    output_line(&s->line);
    put_amount(&s->line, "lowest", stat_min(values, n), is_clock);
    put_amount(&s->line, "mean", stat_mean(values, n), is_clock);
    put_amount(&s->line, "highest", stat_max(values, n), is_clock);
    output_line(&s->line);
    return EXIT_DONE;
}

static int show_metric(struct show *s)
{
    const struct metric *m = dataset_find_metric(s->d, weir_slice_of(s->what));
    const struct series *series;
    if (!m) return no_such_metric(s);
    enum weir_status st = dataset_series(s->d, m, &series);
    if (st == WEIR_NOT_FOUND) {
        fprintf(stderr, "weir: no data for %s; \"weir series\" lists what there is\n", m->title);
        return EXIT_FAILED;
    }
    if (st != WEIR_OK) return person_failed(st);
    if (s->form == FORM_SPARK) return draw_values(s, series);
    put_values(s, series);
    return EXIT_DONE;
}

/* ---- sessions and results ---- */

static int show_workouts(struct show *s)
{
    static const char *const columns[] = {"date",   "start",  "activity", "label",  "minutes",
                                          "km",     "kcal",   "avg_hr",   "max_hr", "steps",
                                          "ascent", "source", NULL};
    const struct workout *w;
    size_t n;
    enum weir_status st = dataset_workouts(s->d, &w, &n);
    if (st != WEIR_OK) return person_failed(st);
    put_head(s, columns);
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(s, w[i].day)) continue;
        const double numbers[] = {w[i].minutes, w[i].km,    w[i].kcal,    w[i].avg_hr,
                                  w[i].max_hr,  w[i].steps, w[i].ascent_m};
        begin_line(s);
        cell_day(s, w[i].day);
        cell_moment(s, w[i].start);
        cell_str(s, w[i].activity ? w[i].activity->name : "");
        cell_text(s, w[i].label);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) cell_number(s, numbers[k]);
        cell_text(s, w[i].source.name);
        end_line(s);
    }
    return EXIT_DONE;
}

static int show_sleeps(struct show *s)
{
    static const char *const columns[] = {"date",       "start",   "end",    "nap",  "asleep",
                                          "in_bed",     "awake",   "light",  "deep", "rem",
                                          "efficiency", "latency", "source", NULL};
    const struct sleep *w;
    size_t n;
    enum weir_status st = dataset_sleeps(s->d, &w, &n);
    if (st != WEIR_OK) return person_failed(st);
    put_head(s, columns);
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(s, w[i].day)) continue;
        const double numbers[] = {w[i].asleep, w[i].in_bed, w[i].awake,      w[i].light,
                                  w[i].deep,   w[i].rem,    w[i].efficiency, w[i].latency};
        begin_line(s);
        cell_day(s, w[i].day);
        cell_moment(s, w[i].start);
        cell_moment(s, w[i].end);
        cell_str(s, w[i].is_nap ? "yes" : "no");
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) cell_number(s, numbers[k]);
        cell_text(s, w[i].source.name);
        end_line(s);
    }
    return EXIT_DONE;
}

static int show_labs(struct show *s)
{
    static const char *const columns[] = {"date", "analyte",    "label",   "value",
                                          "unit", "comparator", "printed", "range",
                                          "flag", "source",     NULL};
    const struct lab *l;
    size_t n;
    enum weir_status st = dataset_labs(s->d, &l, &n);
    if (st != WEIR_OK) return person_failed(st);
    put_head(s, columns);
    for (size_t i = 0; i < n; i++) {
        char comparator[] = {l[i].comparator, 0};
        if (!is_wanted(s, l[i].day)) continue;
        begin_line(s);
        cell_day(s, l[i].day);
        cell_str(s, l[i].analyte ? l[i].analyte->name : "");
        cell_text(s, l[i].label);
        cell_number(s, l[i].value);
        cell_text(s, l[i].unit);
        cell_str(s, comparator);
        cell_text(s, l[i].printed);
        cell_text(s, l[i].range);
        cell_text(s, l[i].flag);
        cell_text(s, l[i].source.name);
        end_line(s);
    }
    return EXIT_DONE;
}

/* ---- the command ---- */

static int show_data(struct dataset *d, void *user)
{
    static const struct {
        const char *name;
        int (*show)(struct show *s);
    } tables[] = {{"sleeps", show_sleeps}, {"workouts", show_workouts}, {"labs", show_labs}};
    struct show *s = user;
    s->d = d;
    if (s->last > 0) {
        int32_t first, newest;
        enum weir_status st = dataset_span(d, &first, &newest);
        if (st == WEIR_NOT_FOUND) return no_data(s);
        if (st != WEIR_OK) return person_failed(st);
        s->from = newest - (int32_t)s->last + 1;
        s->to = newest;
    }
    if (!s->what) return list_metrics(s);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(s->what, tables[i].name) != 0) continue;
        if (s->form == FORM_SPARK) s->form = FORM_CSV; /* there is no picture of a table */
        return tables[i].show(s);
    }
    return show_metric(s);
}

struct series_options {
    struct person_options person;
    const char *from, *to;
    bool is_csv, is_json, is_spark;
};

static int read_options(const struct series_options *o, struct show *s)
{
    s->from = o->from ? day_parse(weir_slice_of(o->from)) : DAY_NONE;
    s->to = o->to ? day_parse(weir_slice_of(o->to)) : DAY_NONE;
    if ((o->from && s->from == DAY_NONE) || (o->to && s->to == DAY_NONE))
        return usage_error(&series_command, "--from and --to take a date, as 2025-03-09");
    if (s->last > 0 && (o->from || o->to))
        return usage_error(&series_command, "--last does not go with --from and --to");
    if (o->is_csv + o->is_json + o->is_spark > 1)
        return usage_error(&series_command, "one of --csv, --json and --spark");
    s->form = o->is_json    ? FORM_JSON
              : o->is_csv   ? FORM_CSV
              : o->is_spark ? FORM_SPARK
                            : (spark_is_terminal() ? FORM_SPARK : FORM_CSV);
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct series_options o = {.person = {.user = "me"}};
    struct show s = {0};
    const struct option_row rows[] = {
        {.name = "data", .kind = OPTION_TEXT, .to = &o.person.data},
        {.name = "user", .kind = OPTION_TEXT, .to = &o.person.user},
        {.name = "from", .kind = OPTION_TEXT, .to = &o.from},
        {.name = "to", .kind = OPTION_TEXT, .to = &o.to},
        {.name = "last", .kind = OPTION_COUNT, .to = &s.last, .min = 1, .max = 100000},
        {.name = "csv", .kind = OPTION_FLAG, .to = &o.is_csv},
        {.name = "json", .kind = OPTION_FLAG, .to = &o.is_json},
        {.name = "spark", .kind = OPTION_FLAG, .to = &o.is_spark},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&series_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 1)
        return usage_error(&series_command,
                           "one word too many: \"%s\"; a name with blanks needs "
                           "quotes",
                           words[1]);
    exit_status = read_options(&o, &s);
    if (exit_status != EXIT_DONE) return exit_status;
    s.what = n_words > 0 ? words[0] : NULL;
    s.user = o.person.user;
    weir_buf_init(&s.line, LINE_BYTES);
    exit_status = person_run(&series_command, &o.person, show_data, &s);
    weir_buf_fini(&s.line);
    return exit_status;
}

const struct command series_command = {
    .name = "series",
    .summary = "print a person's daily values, sleeps, workouts and results",
    .help = help,
    .run = run,
};
