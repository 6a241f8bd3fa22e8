/* SPDX-License-Identifier: Apache-2.0 */
#include "spark.h"

#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80, FEWEST_COLUMNS = 20, MOST_COLUMNS = 200, LEVELS = 8 };

static const char *const levels[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

bool spark_is_terminal(void)
{
    return isatty(STDOUT_FILENO) == 1;
}

unsigned spark_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return COLUMNS;
    if (size.ws_col < FEWEST_COLUMNS) return FEWEST_COLUMNS;
    return size.ws_col > MOST_COLUMNS ? MOST_COLUMNS : size.ws_col;
}

struct column {
    double sum;
    size_t n;
};

static size_t fill_columns(const struct spark *s, struct column *columns, unsigned most)
{
    int64_t days = (int64_t)s->to - s->from + 1;
    size_t width = days < (int64_t)most ? (size_t)days : most;
    for (size_t i = 0; i < width; i++) columns[i] = (struct column){0};
    for (size_t i = 0; i < s->n; i++) {
        if (s->days[i] < s->from || s->days[i] > s->to || isnan(s->values[i])) continue;
        size_t at = (size_t)((int64_t)(s->days[i] - s->from) * (int64_t)width / days);
        columns[at].sum += s->values[i];
        columns[at].n++;
    }
    return width;
}

void spark_line(struct weir_buf *out, const struct spark *s, unsigned columns)
{
    struct column all[MOST_COLUMNS];
    double low = INFINITY, high = -INFINITY;
    if (s->to < s->from) return;
    size_t width = fill_columns(s, all, columns < MOST_COLUMNS ? columns : MOST_COLUMNS);
    for (size_t i = 0; i < width; i++) {
        if (all[i].n == 0) continue;
        all[i].sum /= (double)all[i].n;
        low = fmin(low, all[i].sum);
        high = fmax(high, all[i].sum);
    }
    for (size_t i = 0; i < width; i++) {
        double part = high > low ? (all[i].sum - low) / (high - low) : 0.5;
        int level = (int)(part * LEVELS);
        weir_buf_append_str(out, all[i].n == 0 ? " " : levels[level < LEVELS ? level : LEVELS - 1]);
    }
}

void spark_bar(struct weir_buf *out, double value, double most, unsigned columns)
{
    if (!(most > 0) || !(value > 0)) return;
    unsigned width = (unsigned)lround(value / most * columns);
    for (unsigned i = 0; i < width && i < columns; i++) weir_buf_append_str(out, "█");
}
