/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/place.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"

static const char *const schemes[] = {"postgres://", "postgresql://"};
enum { N_SCHEMES = sizeof schemes / sizeof *schemes };

static size_t scheme_len(const char *at)
{
    for (int i = 0; i < N_SCHEMES; i++)
        if (strncmp(at, schemes[i], strlen(schemes[i])) == 0) return strlen(schemes[i]);
    return 0;
}

bool place_is_url(const char *place)
{
    return scheme_len(place) > 0;
}

/* ---- passwords ---- */

struct span {
    size_t at, len;
};

/* Where the next URL of a list begins, or the text ends. */
static size_t end_of_url(const char *url, size_t at)
{
    while (url[at] != 0 && !(url[at] == ',' && scheme_len(url + at + 1) > 0)) at++;
    return at;
}

/* The last '@' of a part of it; its beginning: there is none. */
static size_t last_at_sign(const char *url, size_t from, size_t end)
{
    while (end > from && url[end - 1] != '@') end--;
    return end > from ? end - 1 : from;
}

/*
 * That of "user:password@", behind the scheme; empty: there is none. One that should have been
 * escaped and was not, as in "u:a/b@h", is found, too: it would be shown otherwise.
 */
static struct span find_user_password(const char *url, size_t at)
{
    struct span none = {at, 0};
    size_t stop = end_of_url(url, at);
    size_t end = at + strcspn(url + at, "/?#");
    size_t colon = at + strcspn(url + at, ":@/?#");
    if (end > stop) end = stop;
    if (colon >= end || url[colon] != ':') return none;
    size_t sign = last_at_sign(url, colon, end);
    size_t digits = colon + 1 + strspn(url + colon + 1, "0123456789");
    bool is_port = digits == end || url[digits] == ','; /* of a host, and maybe others follow */
    bool is_address = memchr(url + at, '[', colon - at) != NULL;
    if (sign == colon && !is_port && !is_address) sign = last_at_sign(url, colon, stop);
    return sign == colon ? none : (struct span){colon + 1, sign - colon - 1};
}

/* Whether a parameter of the query begins here whose value is a password. */
static size_t password_name(const char *url, size_t at)
{
    static const char *const names[] = {"password=", "sslpassword="};
    if (at == 0 || (url[at - 1] != '?' && url[at - 1] != '&')) return 0;
    for (int i = 0; i < 2; i++)
        if (strncmp(url + at, names[i], strlen(names[i])) == 0) return strlen(names[i]);
    return 0;
}

/* The next password at or behind a place; false: there is none. */
static bool next_password(const char *url, size_t *from, struct span *out)
{
    for (size_t at = *from; url[at] != 0; at++) {
        size_t scheme = at == 0 || url[at - 1] == ',' ? scheme_len(url + at) : 0;
        size_t name = password_name(url, at);
        *out = (struct span){at, 0};
        if (scheme > 0) *out = find_user_password(url, at + scheme);
        else if (name > 0) *out = (struct span){at + name, strcspn(url + at + name, "&,")};
        if (out->len == 0) continue;
        *from = out->at + out->len;
        return true;
    }
    return false;
}

static void cover(char *at, size_t len)
{
    static const char stars[] = "***";
    memset(at, 'x', len);
    memcpy(at, stars, len < sizeof stars - 1 ? len : sizeof stars - 1);
}

/* That of a parameter ends with it, whatever is in it. */
bool place_is_ambiguous(const char *url)
{
    struct span s;
    for (size_t from = 0; next_password(url, &from, &s);)
        if (url[s.at - 1] == ':' && strcspn(url + s.at, "@/?#") < s.len) return true;
    return false;
}

void place_wipe(char *url)
{
    struct span s;
    for (size_t from = 0; next_password(url, &from, &s);) cover(url + s.at, s.len);
}

void place_hide(char *text, const char *url)
{
    char password[PLACE_BYTES];
    struct span s;
    for (size_t from = 0; next_password(url, &from, &s);) {
        if (s.len >= sizeof password) continue;
        memcpy(password, url + s.at, s.len);
        password[s.len] = 0;
        for (char *at = text; (at = strstr(at, password)); at += s.len) cover(at, s.len);
        explicit_bzero(password, s.len);
    }
}

/* ---- files ---- */

static void add_file(struct place_files *out, const char *path)
{
    if (out->n == PLACE_FILES || strlen(path) >= PLACE_PATH_BYTES || access(path, R_OK) != 0)
        return;
    memcpy(out->paths[out->n++], path, strlen(path) + 1);
}

/* The value of the first such parameter of the URL; false: there is none. */
static bool find_parameter(const char *url, const char *name, char out[PLACE_PATH_BYTES])
{
    size_t name_len = strlen(name);
    for (const char *at = url; (at = strstr(at, name)); at++) {
        bool is_parameter = at > url && (at[-1] == '?' || at[-1] == '&') && at[name_len] == '=';
        size_t len = is_parameter ? strcspn(at + name_len + 1, "&,") : 0;
        if (!is_parameter || len >= PLACE_PATH_BYTES) continue;
        memcpy(out, at + name_len + 1, len);
        out[len] = 0;
        return true;
    }
    return false;
}

void place_files(struct place_files *out, const char *url)
{
    static const struct {
        const char *parameter, *variable, *home;
    } rows[] = {
        {"passfile", "PGPASSFILE", ".pgpass"},
        {"sslrootcert", "PGSSLROOTCERT", ".postgresql/root.crt"},
        {"sslcert", "PGSSLCERT", ".postgresql/postgresql.crt"},
        {"sslkey", "PGSSLKEY", ".postgresql/postgresql.key"},
        {"sslcrl", "PGSSLCRL", ".postgresql/root.crl"},
        {"servicefile", "PGSERVICEFILE", ".pg_service.conf"},
    };
    char path[PLACE_PATH_BYTES];
    const struct passwd *user = getpwuid(geteuid());
    *out = (struct place_files){.n = 0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *value = getenv(rows[i].variable);
        if (find_parameter(url, rows[i].parameter, path)) {
            add_file(out, path);
        } else if (value && value[0] != 0) {
            add_file(out, value);
        } else if (user) {
            int len = snprintf(path, sizeof path, "%s/%s", user->pw_dir, rows[i].home);
            if (len > 0 && len < PLACE_PATH_BYTES) add_file(out, path);
        }
    }
}

/* ---- the folder of a node ---- */

static bool mark_path(const char *folder, char out[PLACE_PATH_BYTES])
{
    int len = snprintf(out, PLACE_PATH_BYTES, "%s/store.url", folder);
    return len > 0 && len < PLACE_PATH_BYTES;
}

bool place_mark(const char *folder, const char *url)
{
    char shown[PLACE_BYTES], path[PLACE_PATH_BYTES];
    struct file f;
    snprintf(shown, sizeof shown, "%s", url);
    place_wipe(shown);
    if (!mark_path(folder, path)) return false;
    (void)unlink(path);
    if (file_open(&f, path, FILE_MUST_CREATE) != WEIR_OK) return false;
    enum weir_status st = file_write_at(&f, weir_slice_of(shown), 0);
    file_close(&f);
    return st == WEIR_OK;
}

bool place_marked(const char *folder, char url[PLACE_BYTES])
{
    char path[PLACE_PATH_BYTES];
    struct file f;
    size_t len = 0;
    if (!mark_path(folder, path) || file_open(&f, path, FILE_READ_ONLY) != WEIR_OK) return false;
    if (file_read_at(&f, url, PLACE_BYTES - 1, 0, &len) != WEIR_OK) len = 0;
    file_close(&f);
    url[len] = 0;
    return true;
}
