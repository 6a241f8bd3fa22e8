/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 64 };

/* A suffix and what a number before it is multiplied by. */
struct unit {
    const char *suffix;
    unsigned long long factor;
};

static const struct unit byte_units[] = {
    {"", 1}, {"K", 1ull << 10}, {"M", 1ull << 20}, {"G", 1ull << 30}, {NULL, 0}};
static const struct unit time_units[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                                         {"m", 60000}, {"h", 3600000}, {NULL, 0}};
static const struct unit life_units[] = {{"", 1},     {"s", 1},     {"m", 60},
                                         {"h", 3600}, {"d", 86400}, {NULL, 0}};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static bool parse_number(const char *text, const struct unit *units, unsigned long long *out)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9') return false;
    for (; units->suffix; units++) {
        if (strcmp(end, units->suffix) != 0) continue;
        return !__builtin_mul_overflow(n, units->factor, out);
    }
    return false;
}

static bool parse_rate(const char *text, double *out)
{
    static const struct {
        const char *suffix;
        double seconds;
    } spans[] = {{"", 1}, {"/s", 1}, {"/m", 60}, {"/h", 3600}};
    char *end;
    errno = 0;
    if (text[0] < '0' || text[0] > '9') return false;
    double n = strtod(text, &end);
    if (errno != 0) return false;
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        if (strcmp(end, spans[i].suffix) != 0) continue;
        *out = n / spans[i].seconds;
        return true;
    }
    return false;
}

static bool is_in_range(const struct option_row *row, unsigned long long n, unsigned long long most)
{
    return n >= row->min && n <= (row->max > 0 && row->max < most ? row->max : most);
}

static bool set_number(const struct option_row *row, const char *text)
{
    unsigned long long n;
    const struct unit *units = row->kind == OPTION_BYTES  ? byte_units
                               : row->kind == OPTION_TIME ? time_units
                               : row->kind == OPTION_LIFE ? life_units
                                                          : no_units;
    if (!parse_number(text, units, &n)) return false;
    if (!is_in_range(row, n, row->kind == OPTION_BYTES ? SIZE_MAX : UINT_MAX)) return false;
    if (row->kind == OPTION_BYTES) *(size_t *)row->to = (size_t)n;
    else *(unsigned *)row->to = (unsigned)n;
    return true;
}

static bool add_text(struct option_texts *list, const char *text)
{
    if (*list->n >= list->max) return false;
    list->texts[(*list->n)++] = text;
    return true;
}

static bool set(const struct option_row *row, const char *text)
{
    switch (row->kind) {
    case OPTION_FLAG: *(bool *)row->to = true; return true;
    case OPTION_UNSET: *(bool *)row->to = false; return true;
    case OPTION_TEXT: *(const char **)row->to = text; return true;
    case OPTION_TEXTS: return add_text(row->to, text);
    case OPTION_RATE: return parse_rate(text, row->to);
    default: return set_number(row, text);
    }
}

static const char *wanted(enum option_kind kind)
{
    switch (kind) {
    case OPTION_COUNT: return "a whole number";
    case OPTION_BYTES: return "a number of bytes, as 512, 64K or 16M";
    case OPTION_TIME: return "a time, as 500ms, 10s or 5m";
    case OPTION_LIFE: return "a time, as 90s, 1h or 30d,";
    case OPTION_RATE: return "a rate, as 10/s or 600/m";
    case OPTION_TEXTS: return "fewer of its kind";
    default: return "a value";
    }
}

static int complain(const struct command *command, const struct option_row *row, const char *text)
{
    if (row->max > 0)
        return usage_error(command, "--%s takes %s from %llu to %llu%s, not \"%s\"", row->name,
                           wanted(row->kind), row->min, row->max,
                           row->kind == OPTION_TIME   ? " ms"
                           : row->kind == OPTION_LIFE ? " s"
                                                      : "",
                           text);
    if (row->min > 0 && row->kind == OPTION_COUNT)
        return usage_error(command, "--%s takes %s from %llu on, not \"%s\"", row->name,
                           wanted(row->kind), row->min, text);
    return usage_error(command, "--%s takes %s, not \"%s\"", row->name, wanted(row->kind), text);
}

bool option_takes_value(const struct option_row *row)
{
    return row->kind != OPTION_FLAG && row->kind != OPTION_UNSET;
}

/* Who wants the rows of the next command; a program runs one command, in one thread. */
static option_fn listing_fn;
static void *listing_user;

void options_each(const struct command *command, option_fn each, void *user)
{
    char name[] = "";
    char *argv[] = {name, NULL};
    listing_fn = each;
    listing_user = user;
    (void)command->run(1, argv);
    listing_fn = NULL;
}

int options_parse(const struct command *command, int argc, char **argv,
                  const struct option_row *rows, char ***words, int *n_words)
{
    struct option known[MAX_ROWS + 1] = {{0}};
    for (int n = 0; rows[n].name && n < MAX_ROWS; n++) {
        if (listing_fn) listing_fn(listing_user, &rows[n]);
        known[n].name = rows[n].name;
        known[n].has_arg = option_takes_value(&rows[n]) ? required_argument : no_argument;
    }
    if (listing_fn) return EXIT_USAGE;
    opterr = 0;
    for (int c, i = 0; (c = getopt_long(argc, argv, ":", known, &i)) != -1;) {
        const char *word = argv[optind - 1];
        if (c == ':') return usage_error(command, "%s needs a value", word);
        if (c == '?' && strncmp(word, "--", 2) == 0)
            return usage_error(command, "there is no option %s", word);
        if (c == '?') return usage_error(command, "there is no option -%c", optopt);
        if (!set(&rows[i], optarg)) return complain(command, &rows[i], optarg);
    }
    *words = argv + optind;
    *n_words = argc - optind;
    return EXIT_DONE;
}
