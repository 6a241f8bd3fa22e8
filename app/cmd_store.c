/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir store: checks and backs up a store, while the server runs or not; store_copy.c and
 * store_databases.c have the rest.
 *
 * A server may write nowhere but in its folder (it may be another user, and confined). So the
 * backup is made there, and this command, which has its caller's rights, moves it where it is
 * wanted.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/json.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/slice.h"
#include "data_folder.h"
#include "options.h"
#include "output.h"
#include "store_copy.h"
#include "store_databases.h"

enum {
    MAX_COMPLAINTS = 100, /* that are shown; all are counted, as the server does */
    COPY_BYTES = 1 << 16,
    BODY_BYTES = 64 << 10,
    NS_PER_S = 1000000000,
};

static const char help[] =
    "usage: weir store check  [--json] [--data FOLDER]\n"
    "       weir store backup FILE [--json] [--data FOLDER]\n"
    "       weir store copy FROM TO [--json]\n"
    "       weir store compare ONE OTHER [--json]\n"
    "       weir store databases [URLS] [--open N | --close N | --remove N] [--json]\n"
    "\n"
    "check, backup and databases work while servers run, and they go on meanwhile. copy and\n"
    "compare need both stores for themselves: stop what uses them first.\n"
    "\n"
    "  check      reads everything in the store and says what is wrong with it, if anything\n"
    "  backup     writes a consistent copy of it into FILE, which must not exist yet. To\n"
    "             restore, make an empty folder and put the copy into it as weir.db\n"
    "  copy       all of one store into another, which has to be empty: data folders, or\n"
    "             databases as postgres://USER@HOST/NAME. It is there as a whole or not at\n"
    "             all, and is compared with the first before this ends\n"
    "  compare    whether two stores have the same in them, byte for byte\n"
    "  databases  those of a store on PostgreSQL, by the list that weir serve --store has\n"
    "             (postgres://A,postgres://B; without: $WEIR_STORE_URL, or what the data folder\n"
    "             says): which take new logs, how many logs and bytes of events each has\n"
    "\n"
    "  --open N    new logs may have their events on database N; nodes know within 5 seconds\n"
    "  --close N   they may not. Logs that are there stay\n"
    "  --remove N  takes it out of the store: one that is closed and has no logs any more\n"
    "  --json     one object: {\"wrong\":N,\"complaints\":[TEXT...]}; backup: "
    "{\"file\",\"bytes\"};\n"
    "             copy and compare: "
    "{\"logs\",\"events\",\"documents\",\"bytes\",\"wrong\",\"complaints\"};\n"
    "             databases: {\"databases\":[{\"number\",\"open\",\"logs\",\"bytes\",\"reached\",\n"
    "             \"url\",\"trouble\"}...]}, {\"number\",\"open\"} or {\"number\",\"freed\"}\n"
    "  --data     the server's data folder; without: $WEIR_DATA or ~/.local/share/weir\n"
    "\n"
    "Examples:\n"
    "  weir store check\n"
    "  weir store backup /backup/weir-$(date +%F).db\n"
    "  weir store copy /var/lib/weir postgres://weir@db.example/weir\n"
    "  weir store databases postgres://a.example/weir,postgres://b.example/weir --open 1\n"
    "\n"
    "Exit status: 0 done and nothing is wrong, 1 error or something is wrong, 2 wrong usage.\n";

/* ---- how long it takes, for people ---- */

struct progress {
    const char *what;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_over;
    bool is_shown; /* standard error is a terminal */
};

static void *show_progress(void *user)
{
    struct progress *p = user;
    uint64_t began = clock_mono_ns(&clock_system);
    CHECK(pthread_mutex_lock(&p->lock) == 0);
    while (!p->is_over) {
        struct timespec due;
        uint64_t spent_s = (clock_mono_ns(&clock_system) - began) / NS_PER_S;
        fprintf(stderr, "\r%s… %llu s", p->what, (unsigned long long)spent_s);
        int64_t due_ms = clock_wall_ms(&clock_system) + 1000;
        due.tv_sec = due_ms / 1000;
        due.tv_nsec = due_ms % 1000 * 1000000;
        pthread_cond_timedwait(&p->changed, &p->lock, &due);
    }
    CHECK(pthread_mutex_unlock(&p->lock) == 0);
    fputs("\r\033[K", stderr);
    return NULL;
}

static void progress_start(struct progress *p, const char *what)
{
    *p = (struct progress){.what = what, .is_shown = isatty(STDERR_FILENO) == 1};
    CHECK(pthread_mutex_init(&p->lock, NULL) == 0);
    CHECK(pthread_cond_init(&p->changed, NULL) == 0);
    if (p->is_shown && pthread_create(&p->thread, NULL, show_progress, p) != 0) p->is_shown = false;
}

static void progress_stop(struct progress *p)
{
    CHECK(pthread_mutex_lock(&p->lock) == 0);
    p->is_over = true;
    pthread_cond_signal(&p->changed);
    CHECK(pthread_mutex_unlock(&p->lock) == 0);
    if (p->is_shown) pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
}

static int refused(struct control_answer *answer)
{
    struct weir_slice why = control_error(answer);
    fprintf(stderr, "weir: %.*s\n", (int)why.len, why.len > 0 ? why.ptr : "");
    return EXIT_FAILED;
}

/* ---- check ---- */

struct check {
    struct progress progress;
    const char *folder;
    bool is_json;
    struct weir_buf complaints; /* JSON strings of an array */
    unsigned n_complaints;
};

static int print_verdict(const struct check *c, const struct weir_json *v)
{
    int64_t n_wrong = -1;
    bool is_told = weir_json_int64(weir_json_get_str(v, "wrong"), &n_wrong);
    const struct weir_json *text = weir_json_first(weir_json_get_str(v, "complaints"));
    for (; text; text = weir_json_next(text)) {
        struct weir_slice s = weir_json_text(text);
        printf("%.*s\n", (int)s.len, s.len > 0 ? s.ptr : "");
    }
    if (!is_told) return EXIT_FAILED;
    if (n_wrong == 0) printf("%s: nothing is wrong\n", c->folder);
    else printf("%s: %lld things are wrong\n", c->folder, (long long)n_wrong);
    return n_wrong == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int print_check(struct check *c, struct weir_slice json)
{
    const struct weir_json *v = NULL;
    int64_t n_wrong = -1;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    int exit_status = EXIT_FAILED;
    if (!doc || weir_json_parse(doc, json, &v, NULL) != WEIR_OK) {
        fputs("weir: the answer cannot be understood\n", stderr);
    } else if (c->is_json) {
        printf("%.*s\n", (int)json.len, json.ptr);
        bool is_told = weir_json_int64(weir_json_get_str(v, "wrong"), &n_wrong);
        exit_status = is_told && n_wrong == 0 ? EXIT_DONE : EXIT_FAILED;
    } else {
        exit_status = print_verdict(c, v);
    }
    weir_json_doc_free(doc);
    return exit_status;
}

static int check_answered(struct control_answer *answer, void *user)
{
    struct check *c = user;
    progress_stop(&c->progress);
    if (answer->status != 200) return refused(answer);
    return print_check(c, weir_buf_slice(&answer->body));
}

static void add_complaint(void *user, const char *text)
{
    struct check *c = user;
    if (c->n_complaints++ < MAX_COMPLAINTS) weir_json_put_str(&c->complaints, text);
}

static int check_offline(struct store *store, void *user)
{
    struct check *c = user;
    uint64_t n_wrong = 0;
    struct weir_buf json;
    weir_buf_init(&c->complaints, CONTROL_ANSWER_BYTES);
    weir_json_put_begin_array(&c->complaints);
    enum weir_status st = store_check(store, add_complaint, c, &n_wrong);
    weir_json_put_end_array(&c->complaints);
    progress_stop(&c->progress);
    weir_buf_init(&json, CONTROL_ANSWER_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "wrong");
    weir_json_put_uint(&json, n_wrong);
    weir_json_put_key(&json, "complaints");
    weir_buf_append_slice(&json, weir_buf_slice(&c->complaints));
    weir_json_put_end_object(&json);
    int exit_status = EXIT_FAILED;
    if (st == WEIR_OK) exit_status = print_check(c, weir_buf_slice(&json));
    else fprintf(stderr, "weir: the check could not be finished: %s\n", weir_status_text(st));
    weir_buf_fini(&json);
    weir_buf_fini(&c->complaints);
    return exit_status;
}

static int check(const char *folder, bool is_json)
{
    struct check c = {.folder = folder, .is_json = is_json};
    if (!data_folder_is_there(folder)) return EXIT_FAILED;
    progress_start(&c.progress, "checking");
    int exit_status = data_folder_run(folder, &(struct data_request){
                                                  .method = "POST",
                                                  .path = "/v1/store/check",
                                                  .answered = check_answered,
                                                  .offline = check_offline,
                                                  .user = &c,
                                              });
    if (!c.progress.is_over) progress_stop(&c.progress);
    return exit_status;
}

/* ---- backup ---- */

struct backup {
    struct progress progress;
    char made[DATA_FOLDER_BYTES + 64]; /* by the server, in its folder */
    char file[DATA_FOLDER_BYTES];      /* where it is wanted */
};

static int cannot_write(const struct backup *b)
{
    fprintf(stderr, "weir: cannot write %s: %s\n", b->file, strerror(errno));
    if (errno == EEXIST) fputs("A backup replaces nothing: name a new file.\n", stderr);
    return EXIT_FAILED;
}

static bool copy_bytes(int from, int to)
{
    char piece[COPY_BYTES];
    for (;;) {
        ssize_t n = read(from, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n == 0 && fsync(to) == 0;
        for (ssize_t at = 0; at < n;) {
            ssize_t put = write(to, piece + at, (size_t)(n - at));
            if (put < 0 && errno != EINTR) return false;
            if (put > 0) at += put;
        }
    }
}

static bool copy_file(const struct backup *b)
{
    int from = open(b->made, O_RDONLY | O_CLOEXEC);
    int to = from < 0 ? -1 : open(b->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_copied = to >= 0 && copy_bytes(from, to);
    int error = errno;
    if (from >= 0) close(from);
    if (to >= 0 && close(to) != 0) is_copied = false;
    if (to >= 0 && !is_copied) unlink(b->file);
    errno = error;
    return is_copied;
}

/* What was made by the server's user becomes the caller's, as a copy would be. */
static bool move_file(const struct backup *b)
{
    if (renameat2(AT_FDCWD, b->made, AT_FDCWD, b->file, RENAME_NOREPLACE) == 0)
        return geteuid() != 0 || chown(b->file, getuid(), getgid()) == 0;
    bool is_moved = errno != EEXIST && copy_file(b);
    int error = errno;
    unlink(b->made);
    errno = error;
    return is_moved;
}

static int backup_answered(struct control_answer *answer, void *user)
{
    struct backup *b = user;
    if (answer->status != 204) {
        progress_stop(&b->progress);
        return refused(answer);
    }
    bool is_moved = move_file(b);
    int error = errno;
    progress_stop(&b->progress);
    errno = error;
    return is_moved ? EXIT_DONE : cannot_write(b);
}

static int backup_offline(struct store *store, void *user)
{
    struct backup *b = user;
    struct store_error error = {{0}};
    enum weir_status st = store_backup(store, b->made, &error);
    bool is_moved = st == WEIR_OK && data_folder_leave_owner() && move_file(b);
    int move_error = errno;
    progress_stop(&b->progress);
    if (st != WEIR_OK) {
        fprintf(stderr, "weir: cannot back up: %s\n",
                error.text[0] != 0 ? error.text : weir_status_text(st));
        return EXIT_FAILED;
    }
    /* The store is closed as its owner, for that may make files. */
    bool is_back = data_folder_become_owner();
    errno = move_error;
    if (!is_moved) return cannot_write(b);
    return is_back ? EXIT_DONE : EXIT_FAILED;
}

static int backup(const char *folder, const char *file)
{
    struct backup b = {.file = ""};
    struct weir_buf body;
    struct stat found;
    if (!data_folder_is_there(folder) || !data_folder_find(file, b.file)) return EXIT_FAILED;
    if (lstat(b.file, &found) == 0) {
        errno = EEXIST;
        return cannot_write(&b);
    }
    snprintf(b.made, sizeof b.made, "%s/backup-%ld.tmp", folder, (long)getpid());
    weir_buf_init(&body, BODY_BYTES);
    weir_json_put_begin_object(&body);
    weir_json_put_key(&body, "path");
    weir_json_put_str(&body, b.made);
    weir_json_put_end_object(&body);
    progress_start(&b.progress, "backing up");
    int exit_status = data_folder_run(folder, &(struct data_request){
                                                  .method = "POST",
                                                  .path = "/v1/store/backup",
                                                  .body = weir_buf_slice(&body),
                                                  .answered = backup_answered,
                                                  .offline = backup_offline,
                                                  .user = &b,
                                              });
    if (!b.progress.is_over) progress_stop(&b.progress);
    weir_buf_fini(&body);
    return exit_status;
}

static void print_backup(const char *file)
{
    struct weir_buf line;
    struct stat found;
    char path[DATA_FOLDER_BYTES];
    if (!data_folder_find(file, path) || stat(path, &found) != 0) return;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    weir_json_put_key(&line, "file");
    weir_json_put_str(&line, path);
    weir_json_put_key(&line, "bytes");
    weir_json_put_int(&line, found.st_size);
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

/* ---- the command ---- */

/* Words, by what they ask for. */
static const struct errand {
    const char *name;
    int n_least, n_words; /* with its name */
    const char *question;
} errands[] = {
    {"check", 1, 1, ""},
    {"backup", 2, 2, "backup into which file?"},
    {"copy", 3, 3, "copy from where to where?"},
    {"compare", 3, 3, "compare which two?"},
    {"databases", 1, 2, ""},
};

static const struct errand *find_errand(int n_words, char **words)
{
    for (size_t i = 0; n_words > 0 && i < sizeof errands / sizeof *errands; i++)
        if (strcmp(words[0], errands[i].name) == 0) return &errands[i];
    return NULL;
}

static int run_on_folder(char **words, const char *data, bool is_json)
{
    char folder[DATA_FOLDER_BYTES];
    if (!data_folder_find(data, folder)) return EXIT_USAGE;
    if (strcmp(words[0], "check") == 0) return check(folder, is_json);
    int exit_status = backup(folder, words[1]);
    if (exit_status == EXIT_DONE && is_json) print_backup(words[1]);
    return exit_status;
}

static int run_on_databases(const struct store_databases_words *w)
{
    const unsigned numbers[] = {w->open, w->close, w->remove};
    int n_given = 0;
    for (int i = 0; i < 3; i++) n_given += numbers[i] != STORE_DATABASES_NONE;
    if (n_given > 1)
        return usage_error(&store_command, "one at a time: --open, --close or --remove");
    if (w->urls && w->data)
        return usage_error(&store_command, "name the databases or the folder, not both");
    return store_databases(w);
}

static int run_errand(char **words, const struct store_databases_words *w)
{
    bool has_number = w->open != STORE_DATABASES_NONE || w->close != STORE_DATABASES_NONE ||
                      w->remove != STORE_DATABASES_NONE;
    if (strcmp(words[0], "databases") == 0) return run_on_databases(w);
    if (has_number)
        return usage_error(&store_command, "--open, --close and --remove are for databases");
    if (strcmp(words[0], "check") == 0 || strcmp(words[0], "backup") == 0)
        return run_on_folder(words, w->data, w->is_json);
    if (w->data) return usage_error(&store_command, "--data is not for %s: name both", words[0]);
    bool is_copy = strcmp(words[0], "copy") == 0;
    return is_copy ? store_copy(words[1], words[2], w->is_json)
                   : store_compare(words[1], words[2], w->is_json);
}

static int run(int argc, char **argv)
{
    struct store_databases_words w = {.open = STORE_DATABASES_NONE,
                                      .close = STORE_DATABASES_NONE,
                                      .remove = STORE_DATABASES_NONE};
    const unsigned most = STORE_DATABASES_NONE - 1;
    const struct option_row rows[] = {
        {.name = "data", .kind = OPTION_TEXT, .to = &w.data},
        {.name = "json", .kind = OPTION_FLAG, .to = &w.is_json},
        {.name = "open", .kind = OPTION_COUNT, .to = &w.open, .max = most},
        {.name = "close", .kind = OPTION_COUNT, .to = &w.close, .max = most},
        {.name = "remove", .kind = OPTION_COUNT, .to = &w.remove, .max = most},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&store_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    const struct errand *errand = find_errand(n_words, words);
    if (!errand)
        return usage_error(&store_command,
                           "say what to do: check, backup, copy, compare or databases");
    if (n_words < errand->n_least) return usage_error(&store_command, "%s", errand->question);
    if (n_words > errand->n_words)
        return usage_error(&store_command, "one word too many: \"%s\"", words[n_words - 1]);
    w.urls = n_words > 1 ? words[1] : NULL;
    return run_errand(words, &w);
}

const struct command store_command = {
    .name = "store",
    .summary = "check, back up or move the data of a server",
    .help = help,
    .run = run,
};
