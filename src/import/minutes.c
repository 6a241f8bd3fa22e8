/* SPDX-License-Identifier: Apache-2.0 */
#include "import/minutes.h"

enum { MINUTE = 60 };

enum weir_status minutes_end(struct minutes *m, const struct fact_sink *sink,
                             const struct sample *like)
{
    struct sample s = *like;
    if (m->n == 0) return WEIR_OK;
    s.start = (struct moment){m->minute * MINUTE, m->offset};
    s.end = s.start;
    s.value = m->sum / m->n;
    m->n = 0;
    m->sum = 0;
    return sink->sample(sink->user, &s);
}

static int64_t minute_of(int64_t at)
{
    return at >= 0 ? at / MINUTE : -((-at + MINUTE - 1) / MINUTE);
}

enum weir_status minutes_add(struct minutes *m, const struct fact_sink *sink,
                             const struct sample *reading)
{
    int64_t minute = minute_of(reading->start.at);
    if (m->n > 0 && minute != m->minute) {
        enum weir_status st = minutes_end(m, sink, reading);
        if (st != WEIR_OK) return st;
    }
    m->minute = minute;
    m->offset = reading->start.offset;
    m->sum += reading->value;
    m->n++;
    return WEIR_OK;
}
