/* SPDX-License-Identifier: Apache-2.0 */
#include "client_config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/buf.h>

#include "base/slice.h"
#include "io/fetch.h"

enum { PIPE_MS = 30 * 1000 }; /* for a key that comes through a pipe: somebody may have to type */

/* What is known while it is put together. */
struct finding {
    const struct client_flags *flags;
    struct client_config *c;
    struct weir_buf text; /* of the configuration file; the slices of `file` lie in it */
    struct config_file file;
    char *why;
    int exit_status;
};

static bool __attribute__((format(printf, 3, 4)))
fail(struct finding *f, int exit_status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->why, CLIENT_WHY_BYTES, format, args);
    va_end(args);
    f->exit_status = exit_status;
    return false;
}

static void place(struct config_place *p, enum config_from from, const char *text)
{
    p->from = from;
    snprintf(p->text, sizeof p->text, "%s", text);
}

static void place_in_file(struct finding *f, struct config_place *p, enum config_name name)
{
    p->from = CONFIG_FROM_FILE;
    snprintf(p->text, sizeof p->text, "%s:%u", f->c->file, f->file.lines[name]);
}

/* ---- files ---- */

/* Anything else than a file, or a pipe where one may be, has no end or asks for things. */
static bool is_file(struct finding *f, int fd, const char *path, bool takes_pipe)
{
    struct stat found;
    if (fstat(fd, &found) != 0) return fail(f, EXIT_FAILED, "%s: %s", path, strerror(errno));
    if (S_ISDIR(found.st_mode)) return fail(f, EXIT_FAILED, "%s: it is a folder", path);
    if (S_ISREG(found.st_mode) || (takes_pipe && S_ISFIFO(found.st_mode))) return true;
    return fail(f, EXIT_FAILED, "%s: it is no file%s", path, takes_pipe ? ", and no pipe" : "");
}

/* A pipe has no readers that were not meant; a file may have. */
static bool is_closed_to_others(struct finding *f, int fd, const char *path)
{
    struct stat found;
    if (fstat(fd, &found) != 0) return fail(f, EXIT_FAILED, "%s: %s", path, strerror(errno));
    if (!S_ISREG(found.st_mode)) return true;
    if (geteuid() != 0 && found.st_uid != geteuid() && found.st_uid != 0)
        return fail(f, EXIT_FAILED, "%s has a key in it and belongs to another user", path);
    if ((found.st_mode & 077) == 0) return true;
    return fail(f, EXIT_FAILED,
                "%s has a key in it and is open to others (mode %03o): chmod 600 %s", path,
                (unsigned)found.st_mode & 0777, path);
}

/* Without waiting: a pipe that nobody writes into would never be open. */
static int open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Whether reading may go on after it has failed like this. */
static bool can_go_on(int fd)
{
    struct pollfd fds = {.fd = fd, .events = POLLIN};
    if (errno == EINTR) return true;
    if (errno != EAGAIN) return false;
    int n = poll(&fds, 1, PIPE_MS);
    if (n == 0) errno = ETIMEDOUT;
    return n > 0 || (n < 0 && errno == EINTR);
}

static bool read_all(struct finding *f, int fd, const char *path, struct weir_buf *out)
{
    char piece[4096];
    while (weir_buf_status(out) == WEIR_OK) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && can_go_on(fd)) continue;
        if (n < 0) return fail(f, EXIT_FAILED, "%s: %s", path, strerror(errno));
        if (n == 0) break;
        weir_buf_append(out, piece, (size_t)n);
    }
    explicit_bzero(piece, sizeof piece);
    if (weir_buf_status(out) == WEIR_OK) return true;
    return fail(f, EXIT_FAILED, "%s: it is longer than such a file may be", path);
}

/* The one line of a file: a key. */
static bool read_key_file(struct finding *f, const char *path)
{
    struct weir_buf text;
    int fd = open_to_read(path);
    if (fd < 0) return fail(f, EXIT_FAILED, "%s: %s", path, strerror(errno));
    weir_buf_init(&text, CLIENT_KEY_BYTES - 1);
    bool is_read = is_file(f, fd, path, true) && is_closed_to_others(f, fd, path) &&
                   read_all(f, fd, path, &text);
    close(fd);
    while (is_read && text.len > 0 && strchr("\r\n\t ", text.ptr[text.len - 1])) text.len--;
    if (is_read) snprintf(f->c->key, sizeof f->c->key, "%.*s", (int)text.len, text.ptr);
    if (text.ptr) explicit_bzero(text.ptr, text.cap);
    weir_buf_fini(&text);
    return is_read;
}

/* Of the configuration file: from the home folder, or from where that file is. */
static bool full_path(struct finding *f, struct weir_slice given, char out[XDG_PATH_BYTES])
{
    const char *home = xdg_environment("HOME");
    int len;
    if (given.ptr[0] == '/') {
        len = snprintf(out, XDG_PATH_BYTES, "%.*s", (int)given.len, given.ptr);
    } else if (home && given.len > 1 && memcmp(given.ptr, "~/", 2) == 0) {
        len = snprintf(out, XDG_PATH_BYTES, "%s%.*s", home, (int)given.len - 1, given.ptr + 1);
    } else {
        int dir = (int)(strrchr(f->c->file, '/') - f->c->file);
        len =
            snprintf(out, XDG_PATH_BYTES, "%.*s/%.*s", dir, f->c->file, (int)given.len, given.ptr);
    }
    if (len > 0 && len < XDG_PATH_BYTES) return true;
    return fail(f, EXIT_FAILED, "%s: a path in it is too long", f->c->file);
}

/* ---- the configuration file ---- */

static bool read_text(struct finding *f, int fd)
{
    struct config_mistake mistake;
    const char *path = f->c->file;
    const char *profile = f->c->profile[0] != 0 ? f->c->profile : NULL;
    if (!is_file(f, fd, path, false) || !read_all(f, fd, path, &f->text)) return false;
    if (!config_file_read(weir_buf_slice(&f->text), profile, &f->file, &mistake))
        return fail(f, EXIT_FAILED, "%s:%u: %s", path, mistake.line, mistake.why);
    if (!f->file.has_profile)
        return fail(f, EXIT_FAILED, "%s has no section [%s]", path, profile ? profile : "");
    unsigned key_line = f->file.lines[CONFIG_KEY] + f->file.lines[CONFIG_KEY_FILE];
    if (key_line > 0 && f->file.values[CONFIG_URL].len == 0)
        return fail(f, EXIT_FAILED, "%s:%u: a key needs the url that it is for", path, key_line);
    return !f->file.has_key || is_closed_to_others(f, fd, path);
}

static bool choose_profile(struct finding *f)
{
    const char *profile = f->flags->profile;
    if (!profile) profile = xdg_environment("WEIR_PROFILE");
    if (!profile) return true;
    if (strlen(profile) >= CONFIG_PROFILE_BYTES || profile[0] == 0)
        return fail(f, EXIT_USAGE, "\"%s\" is no name of a profile", profile);
    snprintf(f->c->profile, sizeof f->c->profile, "%s", profile);
    return true;
}

static bool read_file(struct finding *f)
{
    char folder[XDG_PATH_BYTES];
    if (!choose_profile(f)) return false;
    int len = -1;
    if (xdg_folder(XDG_CONFIG, folder))
        len = snprintf(f->c->file, sizeof f->c->file, "%s/config", folder);
    int fd = len > 0 && len < XDG_PATH_BYTES ? open_to_read(f->c->file) : -1;
    if (fd < 0 && f->c->profile[0] != 0)
        return fail(f, EXIT_FAILED, "there is no profile \"%s\": %s: %s", f->c->profile, f->c->file,
                    strerror(errno));
    if (fd < 0 && len > 0 && errno != ENOENT && errno != ENOTDIR)
        return fail(f, EXIT_FAILED, "%s: %s", f->c->file, strerror(errno));
    if (fd < 0) return true;
    f->c->has_file = true;
    bool is_read = read_text(f, fd);
    close(fd);
    return is_read;
}

/* ---- the server ---- */

/* Scheme, host and port, as far as they are written. */
static size_t origin_len(const char *url)
{
    const char *host = strstr(url, "://");
    return host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : strlen(url);
}

void client_url_shown(struct weir_slice url, char out[CLIENT_URL_BYTES])
{
    struct weir_slice rest = url;
    const char *scheme = url.len > 0 ? memmem(url.ptr, url.len, "://", 3) : NULL;
    size_t n_scheme = scheme ? (size_t)(scheme - url.ptr) + 3 : 0;
    size_t n_host = n_scheme;
    while (n_host < url.len && !memchr("/?#", url.ptr[n_host], 3)) n_host++;
    const char *at = NULL;
    if (n_host > n_scheme) at = memrchr(url.ptr + n_scheme, '@', n_host - n_scheme);
    if (at) rest = slice_from(url, (size_t)(at - url.ptr));
    snprintf(out, CLIENT_URL_BYTES, "%.*s%s%.*s", at ? (int)n_scheme : 0, url.ptr, at ? "***" : "",
             (int)rest.len, rest.ptr);
}

static bool take_url(struct finding *f, struct weir_slice given)
{
    const char *why;
    char shown[CLIENT_URL_BYTES];
    struct client_config *c = f->c;
    const char *where = c->server_place.text;
    while (given.len > 0 && given.ptr[given.len - 1] == '/') given.len--;
    if (given.len >= sizeof c->url) return fail(f, EXIT_FAILED, "%s: it is too long", where);
    client_url_shown(given, shown);
    if (fetch_check_url(NULL, given, &why) != WEIR_OK)
        return fail(f, EXIT_FAILED, "%s: \"%s\": %s; a server is as https://weir.example", where,
                    shown, why);
    memcpy(c->url, given.ptr, given.len);
    c->url[given.len] = 0;
    if (strpbrk(c->url, "?#"))
        return fail(f, EXIT_FAILED, "%s: the URL of a server has no ? or # in it", where);
    return true;
}

static bool take_local(struct finding *f)
{
    struct client_config *c = f->c;
    const char *variable = xdg_environment("WEIR_DATA");
    c->is_local = true;
    if (f->flags->data) place(&c->server_place, CONFIG_FROM_FLAG, "--data");
    else if (variable) place(&c->server_place, CONFIG_FROM_ENV, "$WEIR_DATA");
    else place(&c->server_place, CONFIG_FROM_DEFAULT, "nothing else was said");
    if (data_folder_find(f->flags->data, c->folder)) return true;
    return fail(f, EXIT_USAGE, "%s", ""); /* it has said so itself */
}

static bool find_server(struct finding *f)
{
    const char *flag = f->flags->url;
    const char *variable = xdg_environment("WEIR_URL");
    struct config_place *where = &f->c->server_place;
    if (flag) {
        place(where, CONFIG_FROM_FLAG, "--url");
        return take_url(f, weir_slice_of(flag));
    }
    if (f->flags->data) return take_local(f);
    /* A profile that is named on the command line is nearer than any variable. */
    bool has_chosen = f->flags->profile != NULL && f->file.values[CONFIG_URL].len > 0;
    if (variable && !has_chosen) {
        place(where, CONFIG_FROM_ENV, "$WEIR_URL");
        return take_url(f, weir_slice_of(variable));
    }
    if (f->file.values[CONFIG_URL].len == 0 || (xdg_environment("WEIR_DATA") && !has_chosen))
        return take_local(f);
    place_in_file(f, where, CONFIG_URL);
    return take_url(f, f->file.values[CONFIG_URL]);
}

/* ---- the key ---- */

static bool is_of_this_server(const struct finding *f)
{
    char url[CLIENT_URL_BYTES];
    struct weir_slice of = f->file.values[CONFIG_URL];
    if (f->c->server_place.from == CONFIG_FROM_FILE) return true;
    if (of.len >= sizeof url) return false;
    memcpy(url, of.ptr, of.len);
    url[of.len] = 0;
    size_t len = origin_len(url);
    return len == origin_len(f->c->url) && strncasecmp(url, f->c->url, len) == 0;
}

static bool take_key_of_file(struct finding *f)
{
    char path[XDG_PATH_BYTES];
    struct client_config *c = f->c;
    struct weir_slice key = f->file.values[CONFIG_KEY], file = f->file.values[CONFIG_KEY_FILE];
    if (key.len == 0 && file.len == 0) return true;
    if (key.len > 0 && file.len > 0)
        return fail(f, EXIT_FAILED, "%s:%u: there is a key and a key_file: which of them?", c->file,
                    f->file.lines[CONFIG_KEY_FILE]);
    c->has_other_key = !is_of_this_server(f);
    if (c->has_other_key) return true;
    place_in_file(f, &c->key_place, key.len > 0 ? CONFIG_KEY : CONFIG_KEY_FILE);
    if (file.len > 0) return full_path(f, file, path) && read_key_file(f, path);
    if (key.len >= sizeof c->key)
        return fail(f, EXIT_FAILED, "%s: the key is too long", c->key_place.text);
    memcpy(c->key, key.ptr, key.len);
    return true;
}

static bool find_key(struct finding *f)
{
    struct client_config *c = f->c;
    const char *variable = xdg_environment("WEIR_KEY");
    if (f->flags->key_file) {
        place(&c->key_place, CONFIG_FROM_FLAG, "--key-file");
        return read_key_file(f, f->flags->key_file);
    }
    bool has_chosen = f->flags->profile != NULL && f->file.values[CONFIG_URL].len > 0;
    if (!variable || has_chosen) return take_key_of_file(f);
    place(&c->key_place, CONFIG_FROM_ENV, "$WEIR_KEY");
    if (strlen(variable) >= sizeof c->key) return fail(f, EXIT_FAILED, "$WEIR_KEY is too long");
    snprintf(c->key, sizeof c->key, "%s", variable);
    return true;
}

/* It becomes a part of a field: a line end in it would be another one. */
static bool is_good_key(struct finding *f)
{
    const struct client_config *c = f->c;
    for (const char *p = c->key; *p; p++)
        if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7F)
            return fail(f, EXIT_FAILED, "%s: what is there is not a key", c->key_place.text);
    if (c->key[0] == 0 && c->key_place.from != CONFIG_FROM_DEFAULT)
        return fail(f, EXIT_FAILED, "%s: there is no key in it", c->key_place.text);
    return true;
}

static bool find_ca(struct finding *f)
{
    struct client_config *c = f->c;
    const char *path = f->flags->ca_file;
    place(&c->ca_place, CONFIG_FROM_FLAG, "--ca-file");
    if (!path && (path = xdg_environment("WEIR_CA_FILE")))
        place(&c->ca_place, CONFIG_FROM_ENV, "$WEIR_CA_FILE");
    if (path) {
        size_t len = strnlen(path, sizeof c->ca_file);
        if (len == sizeof c->ca_file) return fail(f, EXIT_FAILED, "--ca-file: it is too long");
        memcpy(c->ca_file, path, len);
    } else if (f->file.values[CONFIG_CA_FILE].len > 0) {
        place_in_file(f, &c->ca_place, CONFIG_CA_FILE);
        if (!full_path(f, f->file.values[CONFIG_CA_FILE], c->ca_file)) return false;
    } else {
        place(&c->ca_place, CONFIG_FROM_DEFAULT, "");
    }
    if (c->ca_file[0] == 0 || access(c->ca_file, R_OK) == 0) return true;
    return fail(f, EXIT_FAILED, "%s: %s: %s", c->ca_place.text, c->ca_file, strerror(errno));
}

/* ---- all of it ---- */

static bool find(struct finding *f)
{
    const struct client_flags *flags = f->flags;
    const char *keep = xdg_environment("WEIR_KEEP");
    /* Whoever says something about what is kept wants it to be understood (event_keep.h). */
    if (keep && strcmp(keep, "yes") != 0 && strcmp(keep, "no") != 0)
        return fail(f, EXIT_FAILED, "$WEIR_KEEP is yes or no, and not \"%s\"", keep);
    if (flags->data && (flags->url || flags->profile))
        return fail(f, EXIT_USAGE,
                    "--data is a folder of this machine: --url and --profile are not");
    /* What is said on the command line about a folder needs no file, be it right or wrong. */
    if (!flags->data && !read_file(f)) return false;
    if (!find_server(f)) return false;
    if (f->c->is_local) return true;
    return find_key(f) && is_good_key(f) && find_ca(f);
}

int client_config_find(const struct client_flags *flags, struct client_config *out,
                       char why[CLIENT_WHY_BYTES])
{
    struct finding f = {.flags = flags, .c = out, .why = why};
    memset(out, 0, sizeof *out);
    out->tells_waiting = flags->tells_waiting;
    why[0] = 0;
    weir_buf_init(&f.text, CONFIG_FILE_BYTES);
    (void)find(&f);
    if (f.text.ptr) explicit_bzero(f.text.ptr, f.text.cap);
    weir_buf_fini(&f.text);
    return f.exit_status;
}

int client_config_load(const struct client_flags *flags, struct client_config *out)
{
    char why[CLIENT_WHY_BYTES];
    int exit_status = client_config_find(flags, out, why);
    if (why[0] != 0) fprintf(stderr, "weir: %s\n", why);
    return exit_status;
}

void client_config_forget(struct client_config *c)
{
    explicit_bzero(c->key, sizeof c->key);
}

const char *client_config_server(const struct client_config *c)
{
    return c->is_local ? c->folder : c->url;
}
