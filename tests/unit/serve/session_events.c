/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of a session in a silence that is as long as the clock says, over real sockets. */
#include "base/clock.h"
#include "running.h"

enum {
    MS = 1000000,
    BEAT_MS = 15 * 1000, /* as nobody has set it */
    SILENCE_MS = 600 * 1000,
    LOOK_MS = 20,
    N_LOOKS = 12,
};

static const int64_t BEGIN_MS = 1794828977219;

/* Makes a session, and asks for its events: up to the end of the head. */
static int watch_new_session(const struct running *r)
{
    static const char body[] = "{\"json\":{\"clientId\":\"c\",\"text\":\"hello\"}}";
    char text[512];
    int fd = dial(r);
    forget();
    snprintf(text, sizeof text,
             "POST /rpc/chat/send HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
             sizeof body - 1, body);
    say(fd, text);
    T_OK(hear(fd, "}}", 1));
    const char *id = strstr(reply, "ses_");
    T_OK(id);
    if (!id) return fd;
    snprintf(text, sizeof text, "GET /sse/sessions/%.30s HTTP/1.1\r\nHost: localhost\r\n\r\n", id);
    forget();
    say(fd, text);
    T_OK(hear(fd, "\r\n\r\n", 1));
    return fd;
}

/* Whether something comes in time, which is short: a look at the deadlines. */
static bool hears_soon(int fd)
{
    struct timeval soon = {.tv_usec = LOOK_MS * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    return hear_some(fd);
}

static unsigned count_beats(void)
{
    unsigned n = 0;
    for (const char *at = reply; (at = strstr(at, ": hb\n\n")); at++) n++;
    return n;
}

/*
 * The clock goes on by half a beat whenever the server has had the time to look, which it does five
 * times a second: its deadlines are looked at twice before a comment line. On a busy machine it may
 * come to look less often than the clock says, so what is asked is what counts: a client that dies
 * of five minutes without a byte lives.
 */
TEST(a_silence_of_ten_minutes_has_comment_lines)
{
    struct running r;
    struct fake_clock clock;
    set_up(&r);
    fake_clock_init(&clock, BEGIN_MS);
    r.options.clock = &clock.clock;
    start(&r);
    int fd = watch_new_session(&r);
    T_OK(hear(fd, "\"type\":\"done\"", 1));
    forget();
    unsigned n = 0;
    uint64_t silent_ms = 0, longest_ms = 0;
    for (uint64_t passed_ms = 0; passed_ms < SILENCE_MS; passed_ms += BEAT_MS / 2) {
        fake_clock_advance(&clock, (uint64_t)BEAT_MS / 2 * MS);
        silent_ms += BEAT_MS / 2;
        for (int i = 0; i < N_LOOKS && count_beats() == n; i++) (void)hears_soon(fd);
        if (count_beats() > n) silent_ms = 0;
        if (silent_ms > longest_ms) longest_ms = silent_ms;
        n = count_beats();
    }
    T_OK(n >= SILENCE_MS / BEAT_MS / 2);
    T_OK(n <= SILENCE_MS / BEAT_MS + 1);
    T_OK(longest_ms <= 4 * BEAT_MS);
    T_OK(!strstr(reply, "data:"));
    close(fd);
    stop(&r);
}
