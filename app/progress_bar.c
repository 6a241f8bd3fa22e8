/* SPDX-License-Identifier: Apache-2.0 */
#include "progress_bar.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    LINE_EVERY_MS = 5000, /* where there is no terminal */
    BAR_WIDTH = 24,
    MIN_COLUMNS = 40,
    DEFAULT_COLUMNS = 80,
    MAX_COLUMNS = 200,
    GUESS_AFTER_MS = 1000, /* a time left that is said sooner is a lie */
};

void bar_begin(struct bar *b, bool is_quiet)
{
    *b = (struct bar){.is_quiet = is_quiet, .is_terminal = isatty(STDERR_FILENO) == 1};
    b->next_ms = LINE_EVERY_MS;
}

void bar_bytes(char out[BAR_TEXT_BYTES], uint64_t n)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double x = (double)n;
    unsigned i = 0;
    while (x >= 999.5 && i < 4) {
        x /= 1000;
        i++;
    }
    snprintf(out, BAR_TEXT_BYTES, i > 0 && x < 10 ? "%.1f %s" : "%.0f %s", x, units[i]);
}

void bar_time(char out[BAR_TEXT_BYTES], uint64_t seconds)
{
    unsigned long long s = seconds;
    if (s < 60) snprintf(out, BAR_TEXT_BYTES, "%llu s", s);
    else if (s < 3600) snprintf(out, BAR_TEXT_BYTES, "%llu min %02llu s", s / 60, s % 60);
    else snprintf(out, BAR_TEXT_BYTES, "%llu h %02llu min", s / 3600, s / 60 % 60);
}

static unsigned columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return DEFAULT_COLUMNS;
    if (size.ws_col < MIN_COLUMNS) return MIN_COLUMNS;
    return size.ws_col < MAX_COLUMNS ? size.ws_col : MAX_COLUMNS;
}

static void format_numbers(const struct bar *b, const struct bar_state *s, char *out, size_t room)
{
    char done[BAR_TEXT_BYTES];
    char total[BAR_TEXT_BYTES];
    char rate[BAR_TEXT_BYTES] = "";
    char left[BAR_TEXT_BYTES] = "";
    uint64_t ms = s->elapsed_ms - b->phase_ms;
    bar_bytes(done, s->done);
    bar_bytes(total, s->total);
    uint64_t did = s->done > b->phase_done ? s->done - b->phase_done : 0;
    if (ms >= GUESS_AFTER_MS && did > 0) {
        bar_bytes(rate, did * 1000 / ms);
        uint64_t rest = s->total > s->done ? s->total - s->done : 0;
        bar_time(left, (uint64_t)((double)rest / (double)did * (double)ms / 1000));
    }
    snprintf(out, room, "%s of %s, %llu records%s%s%s%s%s", done, total,
             (unsigned long long)s->records, rate[0] ? ", " : "", rate, rate[0] ? "/s, " : "", left,
             left[0] ? " left" : "");
}

static void show_line(const struct bar *b, const struct bar_state *s)
{
    char numbers[160];
    char line[320];
    char bar[BAR_WIDTH + 1];
    double share = s->total > 0 ? (double)s->done / (double)s->total : 1;
    unsigned full = (unsigned)(share * BAR_WIDTH);
    if (full > BAR_WIDTH) full = BAR_WIDTH;
    memset(bar, '-', BAR_WIDTH);
    memset(bar, '#', full);
    bar[BAR_WIDTH] = 0;
    format_numbers(b, s, numbers, sizeof numbers);
    int len = snprintf(line, sizeof line, "%s [%s] %3u %%  %s", s->doing, bar,
                       (unsigned)(share * 100), numbers);
    unsigned most = columns() - 1;
    if (len > 0 && (unsigned)len > most) line[most] = 0;
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
}

void bar_show(struct bar *b, const struct bar_state *s)
{
    char numbers[160];
    if (b->is_quiet) return;
    if (b->doing != s->doing) {
        b->doing = s->doing;
        b->phase_ms = s->elapsed_ms;
        b->phase_done = s->done;
    }
    if (b->is_terminal) {
        show_line(b, s);
        b->is_shown = true;
        return;
    }
    if (s->elapsed_ms < b->next_ms) return;
    b->next_ms = s->elapsed_ms + LINE_EVERY_MS;
    format_numbers(b, s, numbers, sizeof numbers);
    fprintf(stderr, "%s %s: %s\n", s->doing, s->what, numbers);
}

void bar_end(struct bar *b)
{
    if (b->is_shown) fputs("\r\033[K", stderr);
    b->is_shown = false;
}
