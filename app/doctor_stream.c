/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How event streams get here. The server is asked for a stream that nobody writes to, with comment
 * lines in short turns: they come one by one, or a proxy in between gathers them. And for one from
 * an event on that cannot be: whoever gets it all the same has lost the field on its way.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/slice.h"
#include "doctor.h"

enum {
    LINES = 6,           /* that are waited for */
    PROBE_MS = 4000,     /* and for how long */
    ONE_ARRIVAL_MS = 80, /* what comes within is one arrival */
    MAX_PER_ARRIVAL = 2, /* on average; more is a lump */
    LATE_HEAD_MS = 2500,
    PATH_BYTES = 256,
};

static const char no_such_id[] = "999999999999999";

struct arrivals {
    unsigned n_lines, n_arrivals;
    uint64_t first_ns, last_ns;
};

static bool take_lines(struct doctor_answer *a, struct weir_slice bytes)
{
    struct arrivals *seen = a->user;
    unsigned n = 0;
    uint64_t now = clock_mono_ns(&clock_system);
    for (size_t i = 0; i < bytes.len; i++) n += bytes.ptr[i] == ':';
    if (n == 0) return true;
    bool is_new = seen->n_arrivals == 0 || now - seen->last_ns > ONE_ARRIVAL_MS * 1000000ull;
    if (seen->n_arrivals == 0) seen->first_ns = now;
    seen->n_arrivals += is_new;
    seen->n_lines += n;
    seen->last_ns = now;
    return seen->n_lines < LINES;
}

/* Escaped, for prefixes are any text. */
static void put_path(const struct doctor *d, const char *query, char out[PATH_BYTES])
{
    size_t len = (size_t)snprintf(out, PATH_BYTES, "/v1/streams/");
    for (const char *p = d->prefix; *p && len < PATH_BYTES - 64; p++)
        len += (size_t)snprintf(out + len, PATH_BYTES - len, "%%%02X", (unsigned char)*p);
    snprintf(out + len, PATH_BYTES - len, "weir-doctor%s", query);
}

static void judge(struct doctor *d, const struct doctor_answer *a, const struct arrivals *seen)
{
    double head_ms = (double)(a->head_ns - a->sent_ns) / 1e6;
    const char *advice = doctor_proxy_advice(a);
    if (seen->n_lines == 0) {
        doctor_say(d, DOCTOR_FAIL, "buffering", advice,
                   "nothing of a stream came in %d s, though a line is sent twice a second: "
                   "something in between holds it back",
                   PROBE_MS / 1000);
    } else if (seen->n_lines > MAX_PER_ARRIVAL * seen->n_arrivals || head_ms > LATE_HEAD_MS) {
        doctor_say(d, DOCTOR_FAIL, "buffering", advice,
                   "%u lines of a stream came in %u lump%s, the first after %.1f s: something in "
                   "between gathers them",
                   seen->n_lines, seen->n_arrivals, seen->n_arrivals == 1 ? "" : "s",
                   (double)(seen->first_ns - a->sent_ns) / 1e9);
    } else {
        doctor_say(d, DOCTOR_OK, "buffering", "", "events come one by one, %.0f ms apart",
                   (double)(seen->last_ns - seen->first_ns) / 1e6 /
                       (seen->n_arrivals > 1 ? seen->n_arrivals - 1 : 1));
    }
}

static bool look_at_buffering(struct doctor *d)
{
    char path[PATH_BYTES];
    struct arrivals seen = {0};
    struct doctor_answer a = {.on_body = take_lines, .user = &seen};
    put_path(d, "?probe=true", path);
    doctor_fetch(
        d, &(struct doctor_wish){.path = path, .accept = "text/event-stream", .whole_ms = PROBE_MS},
        &a);
    bool is_stream = strncasecmp(a.type, "text/event-stream", 17) == 0;
    if (a.end == FETCH_ENCODED)
        doctor_say(d, DOCTOR_FAIL, "compression", doctor_proxy_advice(&a),
                   "a stream comes compressed (%s), which was not asked for", a.encoding);
    else if (a.status == 200 && !is_stream)
        doctor_say(d, DOCTOR_FAIL, "buffering", "the proxy may not change Content-Type",
                   "a stream comes as \"%s\"", a.type);
    else if (a.status != 200 && a.status != 0)
        doctor_say(d, DOCTOR_FAIL, "buffering", "", "a stream is answered with %d", a.status);
    else judge(d, &a, &seen);
    doctor_answer_fini(&a);
    return a.status == 200 && is_stream;
}

static bool have_enough(struct doctor_answer *a, struct weir_slice bytes)
{
    (void)a;
    (void)bytes;
    return false;
}

/* With its field, such a request is refused: there is no such event. Without it, it is a stream. */
static void look_at_resuming(struct doctor *d)
{
    char path[PATH_BYTES];
    struct doctor_answer a = {.on_body = have_enough};
    put_path(d, "?probe=true", path);
    doctor_fetch(d,
                 &(struct doctor_wish){.path = path,
                                       .accept = "text/event-stream",
                                       .last_event_id = no_such_id,
                                       .whole_ms = PROBE_MS},
                 &a);
    if (a.status == 400)
        doctor_say(d, DOCTOR_OK, "last-event-id", "",
                   "the field gets through: streams go on "
                   "where they broke off");
    else if (a.status == 200)
        doctor_say(d, DOCTOR_FAIL, "last-event-id",
                   "let the proxy pass Last-Event-ID on (nginx does; look for proxy_set_header "
                   "or a list of allowed headers)",
                   "the field is lost on its way: after a break, streams begin anew");
    else
        doctor_say(d, DOCTOR_WARN, "last-event-id", "", "not to be told: %s (%d)",
                   a.why ? a.why : "", a.status);
    doctor_answer_fini(&a);
}

void doctor_streams(struct doctor *d)
{
    if (!d->can_read) {
        doctor_say(d, DOCTOR_SKIP, "buffering", "", "the key may not watch streams");
        return;
    }
    if (look_at_buffering(d)) look_at_resuming(d);
}
