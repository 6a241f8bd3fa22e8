/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the server: its name, connections by IPv4 and IPv6, TLS and the certificate. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "doctor.h"

enum {
    TIMEOUT_MS = 5000,
    HOST_BYTES = 256,
    LIST_BYTES = 512,
    SOON_DAYS = 14, /* a certificate that expires within is told of */
    DAY_MS = 86400000,
    HTTP_PORT = 80,
    HTTPS_PORT = 443,
};

struct address {
    char host[HOST_BYTES]; /* without the brackets of IPv6 */
    unsigned port;
    bool is_tls;
};

/* Of a URL that was found good before. */
static void split(const char *url, struct address *out)
{
    out->is_tls = strncasecmp(url, "https", 5) == 0;
    out->port = out->is_tls ? HTTPS_PORT : HTTP_PORT;
    const char *host = strstr(url, "://") + 3;
    bool is_v6 = host[0] == '[';
    host += is_v6;
    size_t len = strcspn(host, is_v6 ? "]" : ":/");
    snprintf(out->host, sizeof out->host, "%.*s", (int)len, host);
    const char *rest = host + len + (is_v6 && host[len] == ']');
    if (rest[0] == ':') out->port = (unsigned)strtoul(rest + 1, NULL, 10);
}

/* ---- name and connections ---- */

static bool look_up(struct doctor *d, const struct address *where, struct probe_host *host)
{
    const char *why;
    char list[LIST_BYTES] = "";
    uint64_t from_ns = clock_mono_ns(&clock_system);
    enum weir_status st = probe_resolve(where->host, where->port, host, &why);
    double ms = (double)(clock_mono_ns(&clock_system) - from_ns) / 1e6;
    if (st != WEIR_OK) {
        doctor_say(d, DOCTOR_FAIL, "name", "is it written right? is there a network, a VPN?",
                   "%s cannot be resolved: %s", where->host, why);
        return false;
    }
    for (unsigned i = 0; i < host->n; i++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? ", " : "", host->addresses[i].text);
    }
    doctor_say(d, DOCTOR_OK, "name", "", "%s: %s (%.0f ms)", where->host, list, ms);
    return true;
}

static const char *advice_on(int error)
{
    if (error == ECONNREFUSED) return "is the server running? \"weir serve\" starts one";
    if (error == ETIMEDOUT) return "a firewall drops it, or the port is another";
    return "this network has no way there";
}

static const struct probe_address *connect_to(struct doctor *d, const struct address *where,
                                              struct probe_host *host)
{
    const struct probe_address *first = NULL;
    bool has_any = probe_connect(host, TIMEOUT_MS);
    for (unsigned i = 0; i < host->n; i++) {
        const struct probe_address *a = &host->addresses[i];
        const char *check = a->is_v6 ? "tcp (IPv6)" : "tcp (IPv4)";
        if (a->error == 0) {
            doctor_say(d, DOCTOR_OK, check, "", "%s port %u (%.1f ms)", a->text, where->port,
                       a->ms);
            if (!first) first = a;
            continue;
        }
        /* Where one address works, another that does not costs time only. */
        doctor_say(d, has_any ? DOCTOR_WARN : DOCTOR_FAIL, check,
                   has_any ? "clients try it first or wait for it: take it out of the DNS, or "
                             "listen there"
                           : advice_on(a->error),
                   "%s port %u: %s", a->text, where->port, strerror(a->error));
    }
    return first;
}

/* ---- TLS ---- */

static const char *advice_on_tls(const struct probe_certificate *c, const char *ca_file)
{
    if (!c->is_for_host) return "connect by a name that the certificate has, or get one for this";
    if (c->is_expired) return "renew it (certbot renew) and let the server read it: kill -HUP";
    if (c->is_early) return "is the clock of this machine right?";
    if (c->is_self_signed) return "name it with --ca-file, if it is your own";
    if (c->n_chain < 2 && !ca_file) return "the server has to send the whole chain (fullchain.pem)";
    return "name its issuer with --ca-file, if it is your own";
}

static bool look_at_tls(struct doctor *d, const struct address *where,
                        const struct probe_address *address)
{
    struct probe_certificate c;
    char day[CLOCK_TEXT_BYTES];
    const char *ca_file = d->config->ca_file[0] != 0 ? d->config->ca_file : NULL;
    enum weir_status st = probe_tls(address, where->host, ca_file, TIMEOUT_MS, &c);
    if (st != WEIR_OK) {
        doctor_say(d, DOCTOR_FAIL, "tls",
                   "is it http and not https, or the port of something else?", "%s", c.why);
        return false;
    }
    clock_format(day, c.expires_ms);
    long long days = (long long)((c.expires_ms - clock_wall_ms(&clock_system)) / DAY_MS);
    if (!c.is_trusted) {
        doctor_say(d, DOCTOR_FAIL, "tls", advice_on_tls(&c, ca_file),
                   "%s: %s (issued by %s, expires %.10s, %u in its chain)", c.why, c.subject,
                   c.issuer, day, c.n_chain);
        return false;
    }
    bool is_soon = days < SOON_DAYS;
    doctor_say(d, is_soon ? DOCTOR_WARN : DOCTOR_OK, "tls",
               is_soon ? "renew the certificate before then" : "",
               "%s, %s, expires %.10s, in %lld days (%.0f ms)", c.version, c.subject, day, days,
               c.ms);
    if (strcmp(c.protocol, "h2") == 0) doctor_say(d, DOCTOR_OK, "http/2", "", "it is offered");
    else
        doctor_say(d, DOCTOR_OK, "http/2", "",
                   "not offered: a browser has six connections to it, and so six streams");
    return true;
}

bool doctor_reach(struct doctor *d)
{
    struct address where;
    struct probe_host host;
    split(d->config->url, &where);
    if (!look_up(d, &where, &host)) return false;
    const struct probe_address *address = connect_to(d, &where, &host);
    return address && (!where.is_tls || look_at_tls(d, &where, address));
}
