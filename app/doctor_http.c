/* SPDX-License-Identifier: Apache-2.0 */
/* What the server answers: status, version, store, key, clock. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <weir/json.h>
#include <weir/version.h>

#include "base/clock.h"
#include "base/slice.h"
#include "doctor.h"
#include "io/retry_after.h"
#include "remote.h"

enum {
    ANSWER_MS = 10 * 1000, /* for one that is no stream */
    CLOCK_WARN_MS = 5000,
    FIELD_HALF_SECOND_MS = 500, /* a Date has whole seconds: on average half of one is lost */
    KEY_SOON_DAYS = 7,
    DAY_MS = 86400000,
};

/* ---- requests ---- */

static void keep(char *out, size_t cap, const struct fetch_answer *head, const char *name)
{
    struct weir_slice value = fetch_field_of(head, name);
    snprintf(out, cap, "%.*s", (int)value.len, value.len > 0 ? value.ptr : "");
}

static bool take_head(void *user, int status, const struct fetch_answer *head)
{
    struct doctor_answer *a = user;
    a->status = status;
    a->head_ns = clock_mono_ns(&clock_system);
    keep(a->date, sizeof a->date, head, "Date");
    keep(a->server, sizeof a->server, head, "Server");
    keep(a->via, sizeof a->via, head, "Via");
    keep(a->encoding, sizeof a->encoding, head, "Content-Encoding");
    keep(a->type, sizeof a->type, head, "Content-Type");
    keep(a->location, sizeof a->location, head, "Location");
    keep(a->cloudflare, sizeof a->cloudflare, head, "CF-RAY");
    return true;
}

static bool take_piece(void *user, struct weir_slice bytes)
{
    struct doctor_answer *a = user;
    return a->on_body(a, bytes);
}

static void take_end(void *user, const struct fetch_result *result)
{
    struct doctor_answer *a = user;
    a->is_over = true;
    a->end = result->end;
    a->why = result->why;
    a->status = result->http_status;
    a->done_ns = clock_mono_ns(&clock_system);
    if (result->answer && a->head_ns == 0) (void)take_head(a, a->status, result->answer);
    weir_buf_append_slice(&a->body, result->body);
}

static void wait_for(struct doctor *d, const struct doctor_answer *a)
{
    while (!a->is_over) {
        struct pollfd fd = {.fd = fetcher_fd(d->fetcher), .events = POLLIN};
        (void)poll(&fd, 1, fetcher_wait_ms(d->fetcher));
        fetcher_round(d->fetcher);
    }
}

void doctor_fetch(struct doctor *d, const struct doctor_wish *wish, struct doctor_answer *out)
{
    struct fetch_request request = {
        .method = FETCH_GET,
        .limits = {.whole_ms = wish->whole_ms > 0 ? wish->whole_ms : ANSWER_MS},
        .on_head = take_head,
        .on_body = out->on_body ? take_piece : NULL,
        .done = take_end,
        .user = out};
    if (wish->accept)
        request.fields[request.n_fields++] =
            (struct fetch_field){"Accept", weir_slice_of(wish->accept)};
    if (wish->last_event_id)
        request.fields[request.n_fields++] =
            (struct fetch_field){"Last-Event-ID", weir_slice_of(wish->last_event_id)};
    weir_buf_init(&out->body, CONTROL_ANSWER_BYTES);
    out->sent_ns = clock_mono_ns(&clock_system);
    out->sent_ms = clock_wall_ms(&clock_system);
    enum weir_status st = remote_send(d->fetcher, d->config, wish->path, &request);
    if (st == WEIR_OK) {
        wait_for(d, out);
    } else {
        out->end = FETCH_OTHER;
        out->why = weir_status_text(st);
    }
}

void doctor_answer_fini(struct doctor_answer *a)
{
    weir_buf_fini(&a->body);
}

/* ---- what the proxy is ---- */

static bool has(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

const char *doctor_proxy_advice(const struct doctor_answer *a)
{
    if (a->cloudflare[0] != 0 || has(a->server, "cloudflare"))
        return "Cloudflare buffers here: turn compression off for this path (a Compression Rule), "
               "or go around it with a DNS-only record";
    if (has(a->server, "nginx") || has(a->server, "openresty"))
        return "nginx, in its location: proxy_buffering off; proxy_cache off; gzip off; "
               "proxy_http_version 1.1; proxy_read_timeout 600s;";
    if (has(a->server, "caddy") || has(a->via, "caddy"))
        return "Caddy: reverse_proxy with flush_interval -1, and no encode for text/event-stream";
    if (has(a->server, "traefik") || has(a->via, "traefik"))
        return "Traefik: no buffering or compress middleware on this router; "
               "responseForwarding.flushInterval=1ms";
    if (has(a->server, "apache"))
        return "Apache: SetEnv proxy-sendchunked 1, flushpackets=on at ProxyPass, no mod_deflate";
    return "of the proxy in between: nginx proxy_buffering off; Traefik without buffering "
           "middleware; Caddy flush_interval -1; Cloudflare without compression";
}

/* ---- status, store ---- */

static bool is_gateway_error(int status)
{
    return status == 502 || status == 503 || status == 504;
}

static bool say_no_answer(struct doctor *d, const struct doctor_answer *a)
{
    doctor_say(d, DOCTOR_FAIL, "http", "is this the port of weir, and http or https as it should?",
               "no answer: %s", a->why);
    return false;
}

static bool look_at_status(struct doctor *d, const struct doctor_answer *a)
{
    double ms = (double)(a->head_ns - a->sent_ns) / 1e6;
    bool is_weir = a->body.len == 3 && memcmp(a->body.ptr, "ok\n", 3) == 0;
    if (a->end == FETCH_ENCODED) {
        doctor_say(d, DOCTOR_FAIL, "compression", doctor_proxy_advice(a),
                   "answers come compressed (%s), which was not asked for", a->encoding);
        return false;
    }
    if (a->status == 0) return say_no_answer(d, a);
    if (a->status == 200 && is_weir) {
        doctor_say(d, DOCTOR_OK, "http", "", "200 (%.0f ms)%s%s", ms,
                   a->server[0] != 0 ? ", by way of " : "", a->server);
        return true;
    }
    if (is_gateway_error(a->status))
        doctor_say(d, DOCTOR_FAIL, "http",
                   "the proxy runs, the server behind it does not: weir serve", "%d from %s",
                   a->status, a->server[0] != 0 ? a->server : "a proxy");
    else if (a->location[0] != 0)
        doctor_say(d, DOCTOR_FAIL, "http", "name that URL: a key is not sent after a redirect",
                   "%d: it leads to %s", a->status, a->location);
    else
        doctor_say(d, DOCTOR_FAIL, "http", "does the URL lead to weir, with the right path?",
                   "%d at /healthz, and not weir's answer", a->status);
    return false;
}

static void look_at_store(struct doctor *d)
{
    struct doctor_answer a = {0};
    doctor_fetch(d, &(struct doctor_wish){.path = "/readyz"}, &a);
    if (a.status == 200) doctor_say(d, DOCTOR_OK, "store", "", "it takes events");
    else {
        char why[REMOTE_WHY_BYTES];
        struct control_answer answer = {.status = a.status, .body = a.body};
        remote_explain(d->config, &answer, why);
        doctor_say(d, DOCTOR_FAIL, "store", "look at the log of the server, and at its disk", "%s",
                   why);
    }
    doctor_answer_fini(&a);
}

/* ---- clock ---- */

static void look_at_clock(struct doctor *d, const struct doctor_answer *a, struct weir_slice now)
{
    int64_t theirs = 0;
    if (!clock_parse(now, &theirs)) {
        if (!http_date_read(weir_slice_of(a->date), &theirs)) return;
        theirs += FIELD_HALF_SECOND_MS;
    }
    /* It was said in the middle of the time that the answer took. */
    int64_t ours = a->sent_ms + (int64_t)((a->head_ns - a->sent_ns) / 2000000);
    double off_s = (double)(theirs - ours) / 1000;
    bool is_off = off_s * 1000 > CLOCK_WARN_MS || off_s * 1000 < -CLOCK_WARN_MS;
    doctor_say(d, is_off ? DOCTOR_WARN : DOCTOR_OK, "clock",
               is_off ? "set the one that is wrong (timedatectl set-ntp true): tokens, expiry of "
                        "keys and schedules depend on it"
                      : "",
               "that of the server is %.1f s %s ours", off_s < 0 ? -off_s : off_s,
               off_s < 0 ? "behind" : "ahead of");
}

/* ---- version and key ---- */

static void look_at_version(struct doctor *d, struct weir_slice version)
{
    if (weir_slice_is(version, WEIR_VERSION))
        doctor_say(d, DOCTOR_OK, "version", "", "%s, as this command", WEIR_VERSION);
    else
        doctor_say(d, DOCTOR_WARN, "version", "install the same version at both ends",
                   "the server is %.*s, this command %s", (int)version.len,
                   version.len > 0 ? version.ptr : "unknown", WEIR_VERSION);
}

static void put_scopes(const struct weir_json *list, char *out, size_t cap)
{
    out[0] = 0;
    for (const struct weir_json *s = weir_json_first(list); s; s = weir_json_next(s)) {
        struct weir_slice text = weir_json_text(s);
        size_t len = strlen(out);
        snprintf(out + len, cap - len, "%s%.*s", len > 0 ? ", " : "", (int)text.len, text.ptr);
    }
}

static void say_key(struct doctor *d, const struct weir_json *who)
{
    char scopes[64];
    int64_t ends_ms = 0;
    const struct weir_json *key = weir_json_get_str(who, "key");
    struct weir_slice name = weir_json_text(weir_json_get_str(key, "name"));
    struct weir_slice prefix = weir_json_text(weir_json_get_str(key, "prefix"));
    struct weir_slice way = weir_json_text(weir_json_get_str(who, "access"));
    put_scopes(weir_json_get_str(who, "scopes"), scopes, sizeof scopes);
    snprintf(d->prefix, sizeof d->prefix, "%.*s", (int)prefix.len, prefix.len ? prefix.ptr : "");
    d->can_read = strstr(scopes, "read") != NULL;
    bool has_end = clock_parse(weir_json_text(weir_json_get_str(key, "expires")), &ends_ms);
    long long days = (long long)((ends_ms - clock_wall_ms(&clock_system)) / DAY_MS);
    if (has_end && days < KEY_SOON_DAYS)
        doctor_say(d, DOCTOR_WARN, "key", "make another in time: weir key create",
                   "%.*s may %s, and expires in %lld days", (int)name.len, name.ptr, scopes, days);
    else if (name.len > 0)
        doctor_say(d, DOCTOR_OK, "key", "", "%.*s may %s%s%s", (int)name.len, name.ptr, scopes,
                   prefix.len > 0 ? "; only streams that begin with " : "", d->prefix);
    else
        doctor_say(d, DOCTOR_OK, "key", "", "%s; one may %s",
                   weir_slice_is(way, "token") ? "a token of somebody else" : "none is needed",
                   scopes);
}

static void refuse_key(struct doctor *d, struct doctor_answer *a)
{
    char why[REMOTE_WHY_BYTES];
    struct control_answer answer = {.status = a->status, .body = a->body};
    const char *advice = d->config->key[0] != 0
                             ? "\"weir key list\" on the server tells; weir key create, weir login"
                             : "weir login, $WEIR_KEY or --key-file";
    remote_explain(d->config, &answer, why);
    doctor_say(d, DOCTOR_FAIL, "key", a->status == 401 ? advice : "", "%s",
               a->status > 0 ? why : a->why);
    look_at_clock(d, a, SLICE(""));
}

static bool look_at_whoami(struct doctor *d)
{
    const struct weir_json *who = NULL;
    struct doctor_answer a = {0};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    doctor_fetch(d, &(struct doctor_wish){.path = "/v1/whoami"}, &a);
    bool is_known = doc && a.status == 200 && a.end == FETCH_WHOLE &&
                    weir_json_parse(doc, weir_buf_slice(&a.body), &who, NULL) == WEIR_OK;
    if (is_known) {
        look_at_version(d, weir_json_text(weir_json_get_str(who, "version")));
        say_key(d, who);
        look_at_clock(d, &a, weir_json_text(weir_json_get_str(who, "now")));
    } else {
        refuse_key(d, &a);
    }
    weir_json_doc_free(doc);
    doctor_answer_fini(&a);
    return is_known;
}

bool doctor_http(struct doctor *d)
{
    struct doctor_answer a = {0};
    doctor_fetch(d, &(struct doctor_wish){.path = "/healthz"}, &a);
    bool is_weir = look_at_status(d, &a);
    if (!is_weir && a.status > 0) look_at_clock(d, &a, SLICE(""));
    doctor_answer_fini(&a);
    if (!is_weir) return false;
    look_at_store(d);
    return look_at_whoami(d);
}
