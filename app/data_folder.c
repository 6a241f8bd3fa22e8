/* SPDX-License-Identifier: Apache-2.0 */
#include "data_folder.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"
#include "serve/place.h"
#include "xdg.h"

enum {
    TRIES = 50,
    TRY_EVERY_MS = 100,
    PENDING_BYTES = 4 << 20, /* a command has no readers to keep events for */
};

/* ---- which ---- */

static bool join(char out[DATA_FOLDER_BYTES], const char *first, const char *rest)
{
    int len = snprintf(out, DATA_FOLDER_BYTES, "%s%s", first, rest);
    if (len > 0 && len < DATA_FOLDER_BYTES) return true;
    fputs("weir: the path of the data folder is too long\n", stderr);
    return false;
}

static bool make_absolute(const char *path, char out[DATA_FOLDER_BYTES])
{
    char here[DATA_FOLDER_BYTES];
    if (path[0] == '/') return join(out, path, "");
    if (!getcwd(here, sizeof here - 1)) {
        fprintf(stderr, "weir: the current folder has no path: %s\n", strerror(errno));
        return false;
    }
    size_t len = strlen(here);
    here[len] = '/';
    here[len + 1] = 0;
    return join(out, here, path);
}

bool data_folder_find(const char *given, char out[DATA_FOLDER_BYTES])
{
    if (given && given[0] == 0) {
        fputs("weir: --data needs a folder\n", stderr);
        return false;
    }
    if (given) return make_absolute(given, out);
    const char *value = xdg_environment("WEIR_DATA");
    if (value) return make_absolute(value, out);
    if (xdg_folder(XDG_DATA, out)) return true;
    fputs("weir: say where the data are, with --data FOLDER or $WEIR_DATA\n", stderr);
    return false;
}

/* ---- there or not ---- */

static bool complain(const char *what, const char *folder)
{
    fprintf(stderr, "weir: %s %s: %s\n", what, folder, strerror(errno));
    if (errno == EACCES || errno == EPERM)
        fputs("It belongs to another user: run this as that user or as root, or name another "
              "folder with --data.\n",
              stderr);
    if (errno == EROFS)
        fputs("Its file system is read-only: name a folder on another one with --data.\n", stderr);
    return false;
}

/* A user that is not there is found out by whoever is to become it. */
static bool give_to(const char *folder, const char *user)
{
    const struct passwd *found = user && geteuid() == 0 ? getpwnam(user) : NULL;
    if (!found || chown(folder, found->pw_uid, found->pw_gid) == 0) return true;
    return complain("cannot give to its user", folder);
}

bool data_folder_make(const char *folder, const char *user)
{
    char path[DATA_FOLDER_BYTES];
    size_t len = strlen(folder);
    bool is_new = false;
    memcpy(path, folder, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        char kept = path[i];
        path[i] = 0;
        is_new = mkdir(path, 0700) == 0;
        if (!is_new && errno != EEXIST) return complain("cannot make", path);
        path[i] = kept;
    }
    return !is_new || give_to(folder, user);
}

bool data_folder_is_there(const char *folder)
{
    struct stat found;
    if (stat(folder, &found) != 0) {
        if (errno != ENOENT) return complain("cannot look into", folder);
        fprintf(stderr,
                "weir: there is no data folder %s. Name another with --data FOLDER, or make it by "
                "\"weir import FILE\" or \"weir serve\".\n",
                folder);
        return false;
    }
    if (S_ISDIR(found.st_mode)) return true;
    errno = ENOTDIR;
    return complain("cannot use", folder);
}

/* ---- opening ---- */

/* Whose place root has taken; root itself: nobody's. */
static uid_t owner_uid;
static gid_t owner_gid;

bool data_folder_become_owner(void)
{
    return owner_uid == 0 || (setegid(owner_gid) == 0 && seteuid(owner_uid) == 0);
}

bool data_folder_leave_owner(void)
{
    return owner_uid == 0 || (seteuid(0) == 0 && setegid(getgid()) == 0);
}

void data_folder_read_as_caller(void)
{
    if (owner_uid == 0) return;
    setfsuid(getuid());
    setfsgid(getgid());
}

bool data_folder_take_place(const char *folder)
{
    struct stat found;
    if (geteuid() != 0 || stat(folder, &found) != 0) return true;
    owner_uid = found.st_uid;
    owner_gid = found.st_gid;
    return data_folder_become_owner() || complain("cannot become the owner of", folder);
}

/* The store that several servers share; theirs may run meanwhile. */
static enum weir_status open_shared(const char *url, const struct store_options *options,
                                    struct store **store)
{
    struct store_error error = {{0}};
    enum weir_status st =
        place_is_url(url) ? store_open(store, url, options, &error) : WEIR_INVALID;
    place_hide(error.text, url);
    if (st != WEIR_OK)
        fprintf(stderr, "weir: cannot open the store of $WEIR_STORE_URL: %s\n",
                error.text[0] != 0 ? error.text : weir_status_text(st));
    return st == WEIR_LOCKED ? WEIR_IO : st;
}

enum weir_status data_folder_open(const char *folder, struct store **store)
{
    struct store_error error = {{0}};
    const struct store_options options = {.durability = STORE_DURABLE_FULL,
                                          .pending_bytes = PENDING_BYTES};
    const char *url = getenv("WEIR_STORE_URL");
    char marked[PLACE_BYTES];
    if (url && url[0] != 0) return open_shared(url, &options, store);
    if (place_marked(folder, marked)) {
        fprintf(stderr, "weir: the data of %s are in %s: name it by $WEIR_STORE_URL\n", folder,
                marked);
        return WEIR_CONFLICT;
    }
    if (!data_folder_take_place(folder)) return WEIR_IO;
    enum weir_status st = store_open(store, folder, &options, &error);
    if (st != WEIR_OK && st != WEIR_LOCKED)
        fprintf(stderr, "weir: cannot open the store in %s: %s\n", folder,
                error.text[0] != 0 ? error.text : weir_status_text(st));
    return st;
}

/* False: neither was possible just now. */
static bool try_run(const char *folder, const struct data_request *r, int *exit_status)
{
    struct control_answer answer;
    struct store *store;
    *exit_status = EXIT_FAILED;
    enum weir_status st = control_call(folder, r->method, r->path, r->body, &answer);
    if (st == WEIR_OK) *exit_status = r->answered(&answer, r->user);
    else if (st != WEIR_NOT_FOUND)
        fprintf(stderr, "weir: the server on %s does not answer: %s\n", folder, strerror(errno));
    weir_buf_fini(&answer.body);
    if (st != WEIR_NOT_FOUND) return true;
    st = data_folder_open(folder, &store);
    if (st == WEIR_LOCKED) return false;
    if (st == WEIR_OK) {
        *exit_status = r->offline(store, r->user);
        store_close(store);
    }
    return true;
}

int data_folder_run(const char *folder, const struct data_request *request)
{
    int exit_status = EXIT_FAILED;
    for (int i = 0; i < TRIES; i++) {
        if (try_run(folder, request, &exit_status)) return exit_status;
        poll(NULL, 0, TRY_EVERY_MS);
    }
    fprintf(stderr,
            "weir: another process has %s open and listens on no %s/control.sock. Is it another "
            "weir command that is still at work?\n",
            folder, folder);
    return EXIT_FAILED;
}
