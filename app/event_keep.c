/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KIND-ID-SERVER is the file of a stream, with the CRC-32C of the server's name, and
 * KIND-ID-SERVER.old the half before it. Both are whole events in wire form, each with its id.
 *
 * Of a turn the events 1, 2, 3… are kept without a gap, and what would leave one is not kept: so a
 * part that was watched does not keep the whole from being kept later. Of sessions, which may have
 * gaps, what is above the last number is new; of chats, what is of another reply or above its last.
 */
#include "event_keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/slice.h"
#include "config_file.h"
#include "io/file.h"
#include "xdg.h"

enum { NAME_BYTES = 192, ID_BYTES = 256, SUFFIX_BYTES = 8, PATH_BYTES = XDG_PATH_BYTES + 256 };

static const char *const kind_names[] = {
    [EVENT_KEEP_TURN] = "turn", [EVENT_KEEP_SESSION] = "session", [EVENT_KEEP_CHAT] = "chat"};

const struct event_keep_limits event_keep_usual = {
    .total_bytes = EVENT_KEEP_TOTAL_BYTES,
    .stream_bytes = EVENT_KEEP_STREAM_BYTES,
    .step_bytes = EVENT_KEEP_STEP_BYTES,
    .max_files = EVENT_KEEP_FILES,
    .max_age_s = EVENT_KEEP_AGE_S,
};

struct event_keep {
    enum event_keep_kind kind;
    struct event_keep_limits limits;
    char folder[XDG_PATH_BYTES];
    char name[NAME_BYTES];
    struct file file;
    bool is_open;
    bool is_off; /* another process keeps it, or writing has failed */
    uint64_t size;
    uint64_t n_unseen; /* bytes written since the last look at all files */
    uint64_t last_seq;
    char last_id[ID_BYTES]; /* of the last event that is kept */
    struct weir_buf frame;
};

static bool path_of(const char *folder, const char *name, const char *suffix, char out[PATH_BYTES])
{
    int len = snprintf(out, PATH_BYTES, "%s/%s%s", folder, name, suffix);
    return len > 0 && len < PATH_BYTES;
}

/* ---- room ---- */

struct kept {
    char name[NAME_BYTES];
    time_t written;
    uint64_t size;
};

struct kept_list {
    struct kept *files;
    size_t n, room;
    uint64_t total;
};

static bool add_kept(struct kept_list *l, const char *name, const struct stat *found)
{
    if (l->n == l->room) {
        size_t room = l->room > 0 ? 2 * l->room : 64;
        struct kept *files = mem_realloc(l->files, room * sizeof *files);
        if (!files) return false;
        l->files = files;
        l->room = room;
    }
    struct kept *f = &l->files[l->n++];
    snprintf(f->name, sizeof f->name, "%s", name);
    f->written = found->st_mtime;
    f->size = (uint64_t)found->st_size;
    l->total += f->size;
    return true;
}

/* What others have put there is no business of ours. */
static bool is_ours(const char *name)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++) {
        size_t len = strlen(kind_names[i]);
        if (strncmp(name, kind_names[i], len) == 0 && name[len] == '-') return true;
    }
    return false;
}

static bool list_kept(const char *folder, struct kept_list *out)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    struct stat found;
    bool is_whole = dir != NULL;
    *out = (struct kept_list){.n = 0};
    while (dir && is_whole && (entry = readdir(dir))) {
        if (!is_ours(entry->d_name) || strlen(entry->d_name) >= NAME_BYTES ||
            fstatat(dirfd(dir), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(found.st_mode))
            continue;
        is_whole = add_kept(out, entry->d_name, &found);
    }
    if (dir) closedir(dir);
    if (is_whole) return true;
    mem_free(out->files);
    *out = (struct kept_list){.n = 0};
    return false;
}

static int by_age(const void *a, const void *b)
{
    time_t left = ((const struct kept *)a)->written, right = ((const struct kept *)b)->written;
    return left < right ? -1 : left > right;
}

/* Whether it is one of the stream's own two files. */
static bool is_own(const struct event_keep *k, const char *name)
{
    size_t len = strlen(k->name);
    return strncmp(name, k->name, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

/* Removes the oldest until so many bytes, and one file, can be written. False: they cannot. */
static bool make_room(struct event_keep *k, uint64_t n_bytes)
{
    struct kept_list l;
    char path[PATH_BYTES];
    const struct event_keep_limits *limits = &k->limits;
    uint64_t reserve = EVENT_KEEP_WRITERS * limits->step_bytes + n_bytes;
    uint64_t most = limits->total_bytes > reserve ? limits->total_bytes - reserve : 0;
    int64_t now_s = clock_wall_ms(&clock_system) / 1000;
    bool is_known = list_kept(k->folder, &l);
    if (is_known && l.n > 0) qsort(l.files, l.n, sizeof *l.files, by_age);
    size_t n_left = l.n;
    for (size_t i = 0; i < l.n && is_known; i++) {
        const struct kept *f = &l.files[i];
        bool is_old = now_s - (int64_t)f->written > (int64_t)limits->max_age_s;
        bool is_much = l.total > most || n_left >= limits->max_files;
        if ((!is_old && !is_much) || is_own(k, f->name)) continue;
        if (!path_of(k->folder, f->name, "", path) || unlink(path) != 0) continue;
        l.total -= f->size;
        n_left--;
    }
    mem_free(l.files);
    return is_known && l.total <= most;
}

/* ---- what is there ---- */

/* The whole events of a file. */
static bool read_events(const char *path, uint64_t most, struct weir_buf *out)
{
    struct file f;
    uint64_t size = 0;
    size_t n = 0;
    char piece[16 << 10];
    weir_buf_reset(out);
    if (file_open(&f, path, FILE_READ_ONLY) != WEIR_OK) return false;
    bool is_read = file_size(&f, &size) == WEIR_OK && size <= most;
    while (is_read && out->len < size) {
        is_read = file_read_at(&f, piece, sizeof piece, out->len, &n) == WEIR_OK && n > 0;
        if (is_read) weir_buf_append(out, piece, n);
        if (weir_buf_status(out) != WEIR_OK) is_read = false;
    }
    file_close(&f);
    while (out->len > 0 && !(out->len > 1 && memcmp(out->ptr + out->len - 2, "\n\n", 2) == 0))
        out->len--;
    return is_read;
}

/* Gives them; false when there is nothing whole. */
static bool give_events(struct weir_slice events, event_keep_fn give, void *user)
{
    const struct weir_sse_handlers handlers = {.on_event = give};
    struct weir_sse *decoder = weir_sse_new(&handlers, user, NULL);
    bool is_given =
        decoder && events.len > 0 && weir_sse_feed(decoder, events.ptr, events.len) == WEIR_OK;
    weir_sse_free(decoder);
    return is_given;
}

static uint64_t seq_of(struct weir_slice id)
{
    uint64_t seq = 0;
    for (size_t i = 0; i < id.len; i++) {
        if (id.ptr[i] < '0' || id.ptr[i] > '9' || seq > UINT64_MAX / 100) return 0;
        seq = seq * 10 + (uint64_t)(id.ptr[i] - '0');
    }
    return seq;
}

/* "MESSAGE:" of "MESSAGE:NUMBER"; all of it where there is no number. */
static size_t reply_len(struct weir_slice id)
{
    const char *colon = id.len > 0 ? memrchr(id.ptr, ':', id.len) : NULL;
    return colon ? (size_t)(colon - id.ptr) + 1 : id.len;
}

static void note_last(void *user, const struct weir_sse_event *event)
{
    struct event_keep *k = user;
    struct weir_slice id = event->id;
    if (id.len >= sizeof k->last_id) return;
    memcpy(k->last_id, id.ptr, id.len);
    k->last_id[id.len] = '\0';
    k->last_seq = seq_of(k->kind == EVENT_KEEP_CHAT ? slice_from(id, reply_len(id)) : id);
}

static bool is_new(const struct event_keep *k, struct weir_slice id)
{
    if (id.len == 0 || id.len >= sizeof k->last_id) return false;
    if (k->kind == EVENT_KEEP_TURN) return seq_of(id) == k->last_seq + 1;
    if (k->kind == EVENT_KEEP_SESSION) return seq_of(id) > k->last_seq;
    size_t len = reply_len(id);
    bool is_same = strncmp(k->last_id, id.ptr, len) == 0 && strlen(k->last_id) > len;
    return !is_same || seq_of(slice_from(id, len)) > k->last_seq;
}

/* ---- keeping ---- */

static bool open_file(struct event_keep *k)
{
    char path[PATH_BYTES];
    if (!path_of(k->folder, k->name, "", path) ||
        file_open(&k->file, path, FILE_MAY_CREATE) != WEIR_OK)
        return false;
    k->is_open = file_lock(&k->file) == WEIR_OK && file_size(&k->file, &k->size) == WEIR_OK;
    if (!k->is_open) file_close(&k->file);
    return k->is_open;
}

/* Cuts off what a crash has left, and finds what is had. */
static bool recover(struct event_keep *k)
{
    char path[PATH_BYTES];
    struct weir_buf events;
    bool is_good = path_of(k->folder, k->name, ".old", path);
    weir_buf_init(&events, k->limits.stream_bytes);
    if (is_good && read_events(path, k->limits.stream_bytes, &events))
        (void)give_events(weir_buf_slice(&events), note_last, k);
    is_good = is_good && path_of(k->folder, k->name, "", path) &&
              read_events(path, k->limits.stream_bytes, &events);
    if (is_good) (void)give_events(weir_buf_slice(&events), note_last, k);
    if (is_good && events.len < k->size) is_good = ftruncate(k->file.fd, (off_t)events.len) == 0;
    k->size = events.len;
    weir_buf_fini(&events);
    return is_good;
}

/* The file is full: it becomes the half before the next. */
static bool turn_over(struct event_keep *k)
{
    char path[PATH_BYTES];
    char old[PATH_BYTES];
    if (!path_of(k->folder, k->name, "", path) || !path_of(k->folder, k->name, ".old", old) ||
        rename(path, old) != 0)
        return false;
    file_close(&k->file);
    k->is_open = false;
    return open_file(k);
}

static bool write_frame(struct event_keep *k)
{
    struct weir_slice frame = weir_buf_slice(&k->frame);
    uint64_t half = k->limits.stream_bytes / 2;
    if (frame.len > half) return false;
    if (k->size + frame.len > half && !turn_over(k)) return false;
    if (k->n_unseen + frame.len > k->limits.step_bytes) {
        if (!make_room(k, frame.len)) return false;
        k->n_unseen = 0;
    }
    if (file_write_at(&k->file, frame, k->size) != WEIR_OK) {
        (void)!ftruncate(k->file.fd, (off_t)k->size); /* else it is cut when it is opened next */
        return false;
    }
    k->size += frame.len;
    k->n_unseen += frame.len;
    return true;
}

/* The file is opened for the first event: what never begins leaves none. */
static bool is_ready(struct event_keep *k)
{
    if (!k->is_open && !k->is_off) k->is_off = !open_file(k) || !recover(k);
    return !k->is_off;
}

void event_keep_add(struct event_keep *k, const struct weir_sse_event *event)
{
    if (!k || !is_ready(k) || !is_new(k, event->id)) return;
    weir_buf_reset(&k->frame);
    k->is_off = weir_sse_write(&k->frame, event) != WEIR_OK || !write_frame(k);
    if (!k->is_off) note_last(k, event);
}

void event_keep_close(struct event_keep *k)
{
    char path[PATH_BYTES];
    if (!k) return;
    /* One that has nothing in it is none. */
    if (k->is_open && k->size == 0 && path_of(k->folder, k->name, "", path)) (void)unlink(path);
    if (k->is_open) file_close(&k->file);
    weir_buf_fini(&k->frame);
    mem_free(k);
}

/* ---- opening ---- */

static bool is_name(const char *id)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    size_t len = strlen(id);
    return len > 0 && len < NAME_BYTES - 64 && strspn(id, allowed) == len;
}

static bool make_folders(const char *folder)
{
    char path[XDG_PATH_BYTES];
    size_t len = strlen(folder);
    if (len >= sizeof path) return false;
    memcpy(path, folder, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (folder[i] != '/' && folder[i] != '\0') continue;
        path[i] = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
        path[i] = folder[i];
    }
    return true;
}

struct event_keep *event_keep_open_in(const struct event_keep_place *place,
                                      enum event_keep_kind kind, const char *id, const char *server)
{
    if (!is_name(id) || strlen(place->folder) >= XDG_PATH_BYTES) return NULL;
    struct event_keep *k = mem_zalloc(sizeof *k);
    if (!k) return NULL;
    k->kind = kind;
    k->limits = *place->limits;
    snprintf(k->folder, sizeof k->folder, "%s", place->folder);
    snprintf(k->name, sizeof k->name, "%s-%s-%08x", kind_names[kind], id,
             (unsigned)crc32c(0, weir_slice_of(server)));
    weir_buf_init(&k->frame, k->limits.stream_bytes);
    if (make_folders(k->folder) && make_room(k, 0)) return k;
    event_keep_close(k);
    return NULL;
}

/* Of a file that cannot be understood it is not known whether its user wants this: then not. */
static bool is_wanted(void)
{
    char path[PATH_BYTES];
    char folder[XDG_PATH_BYTES];
    char text[CONFIG_FILE_BYTES];
    struct file f;
    struct config_file config;
    struct config_mistake mistake;
    size_t n = 0;
    struct stat found;
    const char *wish = xdg_environment("WEIR_KEEP");
    if (wish) return strcmp(wish, "yes") == 0;
    if (!xdg_folder(XDG_CONFIG, folder) || !path_of(folder, "config", "", path)) return true;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) return false;
    if (file_open(&f, path, FILE_READ_ONLY) != WEIR_OK) return errno == ENOENT;
    bool is_read = file_read_at(&f, text, sizeof text, 0, &n) == WEIR_OK;
    file_close(&f);
    bool is_good = is_read && config_file_read(slice_of(text, n), NULL, &config, &mistake);
    bool is_no = is_good && weir_slice_is(config.values[CONFIG_KEEP_EVENTS], "no");
    explicit_bzero(text, sizeof text); /* a key may have been in it */
    return is_good && !is_no;
}

/* $XDG_STATE_HOME/weir/events; false: there is no such place. */
static bool usual_folder(char out[XDG_PATH_BYTES])
{
    char state[XDG_PATH_BYTES];
    if (!xdg_folder(XDG_STATE, state)) return false;
    int len = snprintf(out, XDG_PATH_BYTES, "%s/events", state);
    return len > 0 && len < XDG_PATH_BYTES;
}

struct event_keep *event_keep_open(enum event_keep_kind kind, const char *id, const char *server)
{
    char folder[XDG_PATH_BYTES];
    if (!is_wanted() || !usual_folder(folder)) return NULL;
    return event_keep_open_in(&(struct event_keep_place){folder, &event_keep_usual}, kind, id,
                              server);
}

/* ---- reading ---- */

/* The name of the files of a stream, without a suffix; false: there are none. */
static bool find_newest(const char *folder, const char *prefix, char out[NAME_BYTES])
{
    struct kept_list l;
    size_t n_prefix = strlen(prefix);
    size_t n_name = n_prefix + SUFFIX_BYTES;
    const struct kept *newest = NULL;
    if (!list_kept(folder, &l)) return false;
    for (size_t i = 0; i < l.n; i++) {
        const struct kept *f = &l.files[i];
        bool is_it = strncmp(f->name, prefix, n_prefix) == 0 && strlen(f->name) >= n_name &&
                     (f->name[n_name] == '\0' || strcmp(f->name + n_name, ".old") == 0);
        if (is_it && (!newest || f->written >= newest->written)) newest = f;
    }
    if (newest) snprintf(out, NAME_BYTES, "%.*s", (int)n_name, newest->name);
    bool is_found = newest != NULL;
    mem_free(l.files);
    return is_found;
}

bool event_keep_read_in(const struct event_keep_place *place, enum event_keep_kind kind,
                        const char *id, event_keep_fn give, void *user)
{
    static const char *const suffixes[] = {".old", ""};
    struct weir_buf events;
    char path[PATH_BYTES];
    char name[NAME_BYTES];
    char prefix[NAME_BYTES];
    bool is_given = false;
    if (!is_name(id)) return false;
    snprintf(prefix, sizeof prefix, "%s-%s-", kind_names[kind], id);
    if (!find_newest(place->folder, prefix, name)) return false;
    weir_buf_init(&events, place->limits->stream_bytes);
    for (size_t i = 0; i < 2; i++)
        if (path_of(place->folder, name, suffixes[i], path) &&
            read_events(path, place->limits->stream_bytes, &events))
            is_given |= give_events(weir_buf_slice(&events), give, user);
    weir_buf_fini(&events);
    return is_given;
}

bool event_keep_read(enum event_keep_kind kind, const char *id, event_keep_fn give, void *user)
{
    char folder[XDG_PATH_BYTES];
    if (!usual_folder(folder)) return false;
    return event_keep_read_in(&(struct event_keep_place){folder, &event_keep_usual}, kind, id, give,
                              user);
}
