/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that behave, and above all those that do not. */
#include "io/runner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/slice.h"
#include "t.h"

enum { PATIENCE_S = 30, TEXT_BYTES = 4096, LINES = 8 };

/* ---- one job ---- */

struct ended {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_done, n_lines;
    enum weir_status st;
    size_t len;
    char text[TEXT_BYTES];
    char lines[LINES][TEXT_BYTES];
};

static void keep(char out[TEXT_BYTES], struct weir_slice text)
{
    snprintf(out, TEXT_BYTES, "%.*s", (int)(text.len < TEXT_BYTES ? text.len : TEXT_BYTES - 1),
             text.ptr);
}

static void on_line(void *user, struct weir_slice line)
{
    struct ended *e = user;
    pthread_mutex_lock(&e->lock);
    if (e->n_lines < LINES) keep(e->lines[e->n_lines], line);
    e->n_lines++;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static void on_done(void *user, enum weir_status st, struct weir_slice output)
{
    struct ended *e = user;
    pthread_mutex_lock(&e->lock);
    e->n_done++;
    e->st = st;
    e->len = output.len;
    keep(e->text, output);
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static void ended_init(struct ended *e)
{
    memset(e, 0, sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
}

/* Until *count is n. */
static bool wait_for(struct ended *e, const unsigned *count, unsigned n)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    int error = 0;
    pthread_mutex_lock(&e->lock);
    while (*count < n && error == 0) error = pthread_cond_timedwait(&e->changed, &e->lock, &end);
    bool is_there = *count >= n;
    pthread_mutex_unlock(&e->lock);
    return is_there;
}

static enum weir_status repeat(struct weir_slice input, struct weir_buf *out,
                               char why[RUNNER_WHY_BYTES])
{
    if (weir_slice_is(input, "no")) {
        snprintf(why, RUNNER_WHY_BYTES, "not this");
        return WEIR_BAD_FIELD;
    }
    weir_buf_append_slice(out, input);
    return WEIR_OK;
}

static enum weir_status write_file(struct weir_slice input, struct weir_buf *out,
                                   char why[RUNNER_WHY_BYTES])
{
    char path[256];
    snprintf(path, sizeof path, "%.*s", (int)input.len, input.ptr);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd < 0) snprintf(why, RUNNER_WHY_BYTES, "%s", strerror(errno));
    else close(fd);
    weir_buf_append_str(out, "written");
    return fd >= 0 ? WEIR_OK : WEIR_IO;
}

/*
 * Processes that become more all the time, each in a session of its own, and half of which end at
 * once. The kernel allows so many of them, and they last no longer than this.
 */
static enum weir_status breed(struct weir_slice input, struct weir_buf *out,
                              char why[RUNNER_WHY_BYTES])
{
    enum { BREED_S = 25 };
    (void)input, (void)why;
    uint64_t end_ns = clock_mono_ns(&clock_system) + BREED_S * 1000000000ULL;
    weir_buf_append_str(out, "well");
    if (_Fork() != 0) return WEIR_OK;
    for (unsigned i = 0; clock_mono_ns(&clock_system) < end_ns; i++) {
        pid_t child = _Fork();
        if (child == 0) (void)setsid();
        if (child > 0 && i % 2) _exit(0);
    }
    _exit(0);
}

static const struct runner_function functions[] = {
    {"repeat", repeat}, {"write_file", write_file}, {"breed", breed}, {.name = NULL}};

static struct runner *start(bool is_plain)
{
    struct runner *r = NULL;
    const struct runner_options o = {.functions = functions, .is_plain = is_plain};
    T_EQ(runner_start(&r, &o), WEIR_OK);
    T_EQ(runner_open(r), WEIR_OK);
    return r;
}

static const char *folder(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/own", t_temp_dir());
    return path;
}

/* ---- who is alive ---- */

/* Processes that have the mark among their words. */
static unsigned count_marked(const char *mark)
{
    unsigned n = 0;
    const struct dirent *e;
    DIR *proc = opendir("/proc");
    while (proc && (e = readdir(proc)) != NULL) {
        char path[64], words[TEXT_BYTES];
        if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", e->d_name);
        int fd = open(path, O_RDONLY);
        ssize_t len = fd >= 0 ? read(fd, words, sizeof words) : 0;
        if (fd >= 0) close(fd);
        if (len > 0 && memmem(words, (size_t)len, mark, strlen(mark))) n++;
    }
    if (proc) closedir(proc);
    return n;
}

/* The first child; 0: there is none. */
static pid_t child_of(pid_t process)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

static pid_t find_guard(void)
{
    return child_of(getpid());
}

/* Of the runner. */
static unsigned count_children(const char *what)
{
    (void)what;
    return child_of(child_of(find_guard())) > 0;
}

/* A word that nobody else's processes have. */
static const char *mark(void)
{
    static char text[32];
    static unsigned n;
    snprintf(text, sizeof text, "31%07d.%04u", (int)getpid(), ++n);
    return text;
}

static bool becomes(unsigned (*count)(const char *), const char *what, bool is_none)
{
    uint64_t end_ns = clock_mono_ns(&clock_system) + PATIENCE_S * 1000000000ULL;
    while (clock_mono_ns(&clock_system) < end_ns) {
        if ((count(what) == 0) == is_none) return true;
        (void)poll(NULL, 0, 10);
    }
    return false;
}

static bool dies_out(const char *what)
{
    return becomes(count_marked, what, true);
}

static bool appears(const char *what)
{
    return becomes(count_marked, what, false);
}

/* ---- running ---- */

struct asked {
    const char *script; /* of sh; NULL: */
    const char *python; /* or: */
    const char *function;
    const char *input;
    unsigned wall_ms, cpu_s;
    uint64_t memory_bytes, file_bytes;
};

static enum weir_status begin(struct runner *r, const struct asked *a, struct ended *e,
                              uint64_t *ticket)
{
    const char *shell[] = {"/bin/sh", "-c", a->script, NULL};
    const char *python[] = {"/usr/bin/python3", "-c", a->python, NULL};
    const struct runner_job job = {.folder = folder(),
                                   .function = a->function,
                                   .argv = a->script ? shell : python,
                                   .input = weir_slice_of(a->input ? a->input : ""),
                                   .wall_ms = a->wall_ms,
                                   .cpu_s = a->cpu_s,
                                   .memory_bytes = a->memory_bytes,
                                   .file_bytes = a->file_bytes,
                                   .progress = on_line,
                                   .done = on_done,
                                   .user = e};
    ended_init(e);
    return runner_run(r, &job, ticket);
}

static struct ended *run(struct runner *r, const struct asked *a)
{
    static struct ended e;
    uint64_t ticket;
    T_EQ(begin(r, a, &e, &ticket), WEIR_OK);
    T_OK(wait_for(&e, &e.n_done, 1));
    return &e;
}

TEST(a_program_gets_its_input_and_says_its_result)
{
    struct runner *r = start(false);
    struct ended *e = run(
        r, &(struct asked){.script = "cat; echo; pwd; env | sort; umask", .input = "{\"a\":1}"});
    char want[TEXT_BYTES];
    snprintf(want, sizeof want,
             "{\"a\":1}\n%s\nHOME=%s\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=%s\n"
             "TMPDIR=%s\n0077\n",
             folder(), folder(), folder(), folder());
    T_EQ(e->st, WEIR_OK);
    T_EQ_STR(weir_slice_of(e->text), want);
    struct stat info;
    T_EQ(stat(folder(), &info), 0);
    T_EQ(info.st_mode & 07777, 0700);
    runner_close(r);
}

TEST(a_function_runs_in_its_folder)
{
    struct runner *r = start(false);
    struct ended *e = run(r, &(struct asked){.function = "repeat", .input = "hello"});
    T_EQ(e->st, WEIR_OK);
    T_EQ_STR(weir_slice_of(e->text), "hello");
    e = run(r, &(struct asked){.function = "repeat", .input = "no"});
    T_EQ(e->st, WEIR_UNPROCESSABLE);
    T_EQ_STR(weir_slice_of(e->text), "not this");
    e = run(r, &(struct asked){.function = "write_file", .input = "a.txt"});
    T_EQ(e->st, WEIR_OK);
    char path[300];
    snprintf(path, sizeof path, "%s/a.txt", folder());
    T_EQ(access(path, F_OK), 0);
    runner_close(r);
}

TEST(lines_of_progress_are_no_part_of_the_result)
{
    struct runner *r = start(false);
    struct ended *e =
        run(r, &(struct asked){.script = "echo one; echo '{\"progress\":\"half\",\"percent\":50}';"
                                         "echo '{\"progress\":7}'; echo two; printf three"});
    T_EQ(e->st, WEIR_OK);
    T_EQ(e->n_lines, 1);
    T_EQ_STR(weir_slice_of(e->lines[0]), "{\"progress\":\"half\",\"percent\":50}");
    T_EQ_STR(weir_slice_of(e->text), "one\n{\"progress\":7}\ntwo\nthree");
    runner_close(r);
}

static void on_line_slowly(void *user, struct weir_slice line)
{
    (void)poll(NULL, 0, 1);
    on_line(user, line);
}

/* It says lines faster than they are heard, so that some wait at any time, and more than may wait.
 */
TEST(who_is_heard_slowly_has_its_result_all_the_same)
{
    static const char script[] =
        "import time\n"
        "line = '{\"progress\":\"' + 'x' * 3900 + '\"}'\n"
        "for i in range(4000): print(line, flush=True); time.sleep(0.0001)\n"
        "print('y' * 200000)";
    const char *const argv[] = {"/usr/bin/python3", "-c", script, NULL};
    struct runner *r = start(false);
    struct ended e;
    uint64_t ticket;
    const struct runner_job job = {
        .folder = folder(), .argv = argv, .progress = on_line_slowly, .done = on_done, .user = &e};
    ended_init(&e);
    T_EQ(runner_run(r, &job, &ticket), WEIR_OK);
    T_OK(wait_for(&e, &e.n_done, 1));
    T_EQ(e.st, WEIR_OK);
    T_EQ(e.len, 200001);
    T_OK(e.n_lines > 0 && e.n_lines <= RUNNER_LINES);
    runner_close(r);
}

TEST(what_fails_is_told_with_its_reason)
{
    static const struct {
        struct asked asked;
        enum weir_status st;
        const char *says;
    } rows[] = {
        {{.script = "echo first >&2; echo 'last words' >&2; echo >&2; exit 3"},
         WEIR_UNPROCESSABLE,
         "last words"},
        {{.script = "exit 3"}, WEIR_UNPROCESSABLE, "it ended with exit status 3"},
        {{.script = "kill -SEGV $$"}, WEIR_UNPROCESSABLE, "it was ended by signal 11"},
        {{.script = "yes"}, WEIR_LIMIT, "it said more than may be said"},
        {{.script = "while :; do echo noise >&2; done", .wall_ms = 300},
         WEIR_TIMEOUT,
         "it took too long"},
        {{.script = "sleep 100", .wall_ms = 100}, WEIR_TIMEOUT, "it took too long"},
        {{.script = "while :; do :; done", .cpu_s = 1},
         WEIR_LIMIT,
         "it used more than 1 s of the processor"},
        {{.script = "exec head -c 2000000 /dev/zero >big", .file_bytes = 1000000},
         WEIR_LIMIT,
         "a file would be larger than may be"},
        {{.python = "a = []\nwhile True: a.append(bytes(10000000))", .memory_bytes = 100 << 20},
         WEIR_UNPROCESSABLE,
         "MemoryError"},
    };
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (plain && i == 2) continue; /* there it cannot signal anybody */
            struct ended *e = run(r, &rows[i].asked);
            T_EQ(e->st, rows[i].st);
            T_EQ_STR(weir_slice_of(e->text), rows[i].says);
            T_EQ(e->n_done, 1);
        }
        runner_close(r);
    }
}

TEST(a_folder_has_so_much_room)
{
    struct runner *r = start(false);
    struct ended *e = run(
        r, &(struct asked){.python = "import os\ni = 0\nwhile True:\n os.mkdir(f'd{i}')\n i += 1"});
    T_EQ(e->st, WEIR_LIMIT);
    T_EQ_STR(weir_slice_of(e->text), "its files take more room than they may");
    e = run(r, &(struct asked){.function = "repeat", .input = "well"});
    T_EQ(e->st, WEIR_OK);
    runner_close(r);
}

/* Also by those that are over before anybody looks; what is too much can be removed. */
TEST(quick_ones_have_no_more_room)
{
    static const char makes[] = "import os\nn = len(os.listdir())\n"
                                "for i in range(2500): os.mkdir(f'd{n + i}')";
    struct runner *r = start(false);
    T_EQ(run(r, &(struct asked){.python = makes})->st, WEIR_OK);
    struct ended *e = run(r, &(struct asked){.python = makes});
    T_EQ(e->st, WEIR_LIMIT);
    T_EQ_STR(weir_slice_of(e->text), "its files take more room than they may");
    T_EQ(run(r, &(struct asked){.script = "mkdir one more"})->st, WEIR_LIMIT);
    T_EQ(run(r, &(struct asked){.script = "rmdir one d*"})->st, WEIR_OK);
    T_EQ(run(r, &(struct asked){.script = "mkdir one"})->st, WEIR_OK);
    runner_close(r);
}

/*
 * As a server that is not root; the exit status of `serve`. Of a user that another run of this
 * program is not, since the kernel counts processes by user.
 */
static int as_nobody(int (*serve)(void))
{
    enum { FIRST = 20000, USERS = 40000 };
    const uid_t user = FIRST + (uid_t)getpid() % USERS;
    int status = -1;
    char above[300];
    snprintf(above, sizeof above, "%s/..", t_temp_dir());
    bool is_root = geteuid() == 0;
    if (is_root) T_EQ(chmod(above, 0711) + chown(t_temp_dir(), user, user), 0);
    pid_t server = fork();
    if (server == 0) {
        if (is_root && (setresgid(user, user, user) || setresuid(user, user, user))) _exit(100);
        _exit(serve());
    }
    T_EQ(waitpid(server, &status, 0), server);
    if (is_root) T_EQ(chown(t_temp_dir(), 0, 0), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int fill_a_closed_folder(void)
{
    struct runner *r = start(true);
    enum weir_status few = run(r, &(struct asked){.script = "umask 0477; mkdir e; echo >e/a"})->st;
    enum weir_status st =
        run(r, &(struct asked){.python = "import os\nos.umask(0o477)\nos.mkdir('d')\n"
                                         "for i in range(5000): open(f'd/{i}', 'x').close()"})
            ->st;
    runner_close(r);
    return few == WEIR_OK ? (int)st : 99;
}

/* Mode 0300: who made it can write there, and nobody can read. */
TEST(a_folder_that_is_closed_has_no_more_room)
{
    T_EQ(as_nobody(fill_a_closed_folder), WEIR_LIMIT);
}

TEST(a_program_that_is_not_there_cannot_be_run)
{
    struct runner *r = start(false);
    struct ended e;
    uint64_t ticket;
    static const char *const argv[] = {"/no/such/program", NULL};
    struct runner_job job = {.folder = folder(), .argv = argv, .done = on_done, .user = &e};
    ended_init(&e);
    T_EQ(runner_run(r, &job, &ticket), WEIR_OK);
    T_OK(wait_for(&e, &e.n_done, 1));
    T_EQ(e.st, WEIR_IO);
    T_EQ_STR(weir_slice_of(e.text), "/no/such/program cannot be run: No such file or directory");
    job.folder = "own";
    T_EQ(runner_run(r, &job, &ticket), WEIR_INVALID);
    job.folder = folder();
    job.function = "nothing";
    T_EQ(runner_run(r, &job, &ticket), WEIR_INVALID);
    runner_close(r);
}

TEST(any_bytes_are_a_result)
{
    struct runner *r = start(false);
    struct ended *e = run(r, &(struct asked){.script = "printf 'a\\377\\000b'"});
    T_EQ(e->st, WEIR_OK);
    T_EQ(e->len, 4);
    e = run(r, &(struct asked){.script = "head -c 262144 /dev/zero"});
    T_EQ(e->st, WEIR_OK);
    T_EQ(e->len, RUNNER_OUTPUT_BYTES);
    e = run(r, &(struct asked){.script = "head -c 262145 /dev/zero"});
    T_EQ(e->st, WEIR_LIMIT);
    runner_close(r);
}

TEST(all_of_a_large_input_arrives)
{
    static char input[RUNNER_INPUT_BYTES + 1];
    struct runner *r = start(false);
    memset(input, 'x', RUNNER_INPUT_BYTES);
    struct ended *e = run(r, &(struct asked){.script = "wc -c", .input = input});
    T_EQ(e->st, WEIR_OK);
    T_EQ_STR(weir_slice_of(e->text), "1048576\n");
    e = run(r, &(struct asked){.script = "exec <&-; sleep 0; echo done", .input = input});
    T_EQ(e->st, WEIR_OK);
    runner_close(r);
}

/* ---- the end ---- */

/* Each leaves processes behind that have the mark, written as @. */
static const struct {
    const char *script;
    enum weir_status st;
} brutes[] = {
    {"trap '' TERM INT HUP; sleep @ & while :; do sleep @; done", WEIR_TIMEOUT},
    {"i=0; while [ $i -lt 100 ]; do sleep @ & i=$((i+1)); done; wait", WEIR_TIMEOUT},
    {"i=0; while [ $i -lt 20 ]; do setsid sh -c 'trap \"\" TERM; sleep @ & sleep @' & "
     "i=$((i+1)); done; wait",
     WEIR_TIMEOUT},
    {"(setsid sh -c 'sleep @ & sleep @' &) ; exit 0", WEIR_OK},
    {"sleep @ & (sleep @ &) ; echo well; exit 0", WEIR_OK},
    {"setsid sleep @ & exit 5", WEIR_UNPROCESSABLE},
};

/* With the mark for each @. */
static void write_script(char *out, size_t size, const char *script, const char *word)
{
    size_t n = 0;
    for (const char *c = script; *c && n + 40 < size; c++)
        if (*c == '@') n += (size_t)snprintf(out + n, size - n, "%s", word);
        else out[n++] = *c;
    out[n] = 0;
}

TEST(nothing_survives_a_job)
{
    enum { N = sizeof brutes / sizeof *brutes };
    static struct ended ends[N];
    char script[TEXT_BYTES], words[N][32];
    uint64_t ticket;
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        for (size_t i = 0; i < N; i++) {
            snprintf(words[i], sizeof words[i], "%s", mark());
            write_script(script, sizeof script, brutes[i].script, words[i]);
            unsigned wall_ms = brutes[i].st == WEIR_TIMEOUT ? 600 : 0;
            T_EQ(begin(r, &(struct asked){.script = script, .wall_ms = wall_ms}, &ends[i], &ticket),
                 WEIR_OK);
        }
        for (size_t i = 0; i < N; i++) {
            T_OK(wait_for(&ends[i], &ends[i].n_done, 1));
            T_EQ(ends[i].st, brutes[i].st);
            T_EQ(count_marked(words[i]), 0);
        }
        runner_close(r);
    }
}

TEST(who_forks_for_ever_ends_too)
{
    struct runner *r = start(false);
    const char *word = mark();
    char script[TEXT_BYTES];
    snprintf(
        script, sizeof script,
        "import os, time\n'%s'\nwhile True:\n try: os.fork()\n except OSError: time.sleep(0.01)",
        word);
    struct ended *e = run(r, &(struct asked){.python = script, .wall_ms = 100});
    T_EQ(e->st, WEIR_TIMEOUT);
    T_EQ(count_marked(word), 0);
    runner_close(r);
}

static int breed_without_end(void)
{
    enum { MOST = 100 };
    const struct rlimit most = {MOST, MOST};
    if (setrlimit(RLIMIT_NPROC, &most) != 0) return 1;
    struct runner *r = start(true);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t begin_ns = clock_mono_ns(&clock_system);
        if (run(r, &(struct asked){.function = "breed"})->st != WEIR_OK) return 2;
        if (clock_mono_ns(&clock_system) - begin_ns > 9 * 1000000000ULL) return 3;
        if (!becomes(count_children, NULL, true)) return 4;
    }
    runner_close(r);
    return 0;
}

/* Up to 512 of them, where the kernel may not count. */
TEST(who_becomes_many_at_once_ends_too)
{
    static const char bomb[] = "import os, time\n'@'\n"
                               "for i in range(9):\n"
                               " if os.fork() == 0 and i % 2: os.setsid()\n"
                               "time.sleep(25)";
    char script[TEXT_BYTES];
    struct runner *r = start(true);
    const char *word = mark();
    write_script(script, sizeof script, bomb, word);
    struct ended *e = run(r, &(struct asked){.python = script, .wall_ms = 200});
    T_OK(e->st == WEIR_TIMEOUT || e->st == WEIR_LIMIT);
    T_EQ(count_marked(word), 0);
    runner_close(r);
}

TEST(a_job_has_so_many_processes)
{
    char script[TEXT_BYTES];
    for (unsigned plain = 0; plain < 2; plain++) {
        if (!plain && geteuid() != 0) continue; /* there it cannot have more */
        struct runner *r = start(plain);
        const char *word = mark();
        write_script(script, sizeof script,
                     "i=0; while [ $i -lt 200 ]; do sleep @ & i=$((i+1)); done; wait", word);
        struct ended *e = run(r, &(struct asked){.script = script});
        T_EQ(e->st, WEIR_LIMIT);
        T_EQ_STR(weir_slice_of(e->text), "it has more processes than it may");
        T_EQ(count_marked(word), 0);
        runner_close(r);
    }
}

static int count_its_limit(void)
{
    struct runner *r = start(true);
    const struct ended *e = run(r, &(struct asked){.python = "import resource\nprint(int(0 < "
                                                             "resource.getrlimit(resource.RLIMIT_"
                                                             "NPROC)[1] < 70000))"});
    bool is_good = e->st == WEIR_OK && weir_slice_is(weir_slice_of(e->text), "1\n");
    runner_close(r);
    return is_good ? 0 : 1;
}

/* Between two looks, too, where it is not root. */
TEST(the_kernel_limits_processes_that_it_cannot_tell_apart)
{
    T_EQ(as_nobody(count_its_limit), 0);
}

TEST(who_breeds_without_end_ends_too)
{
    if (geteuid() != 0) {
        t_skip("only root has another user, whose processes alone are limited");
        return;
    }
    T_EQ(as_nobody(breed_without_end), 0);
}

/* It looks like one that is dead and not buried. */
TEST(who_has_ended_but_for_a_thread_ends_too)
{
    static const char form[] =
        "import ctypes, os, threading, time\n'@'\n"
        "if os.fork() == 0:\n"
        " os.setsid()\n"
        " threading.Thread(target=time.sleep, args=(25,)).start()\n"
        " print('ready', flush=True)\n"
        " ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n"
        "time.sleep(1000)";
    char script[TEXT_BYTES];
    struct runner *r = start(true);
    const char *word = mark();
    write_script(script, sizeof script, form, word);
    uint64_t begin_ns = clock_mono_ns(&clock_system);
    struct ended *e = run(r, &(struct asked){.python = script, .wall_ms = 1000});
    T_EQ(e->st, WEIR_TIMEOUT);
    /* Nobody waits until the kernel has ended it by itself. */
    T_OK(clock_mono_ns(&clock_system) - begin_ns < 9 * 1000000000ULL);
    runner_close(r);
}

TEST(a_job_is_killed_by_wish)
{
    static const char polite[] = "trap 'echo \"{\\\"progress\\\":\\\"TERM\\\"}\"; exit 0' TERM; "
                                 "echo '{\"progress\":\"ready\"}'; sleep @ & wait; sleep @";
    char script[TEXT_BYTES];
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        struct ended e;
        uint64_t ticket;
        const char *word = mark();
        write_script(script, sizeof script, polite, word);
        T_EQ(begin(r, &(struct asked){.script = script}, &e, &ticket), WEIR_OK);
        T_OK(wait_for(&e, &e.n_lines, 1));
        runner_kill(r, ticket);
        runner_kill(r, ticket);
        T_OK(wait_for(&e, &e.n_done, 1));
        T_EQ(e.st, WEIR_CANCELLED);
        T_EQ_STR(weir_slice_of(e.lines[1]), "{\"progress\":\"TERM\"}");
        T_EQ(count_marked(word), 0);
        runner_kill(r, ticket);
        T_EQ(begin(r, &(struct asked){.script = script}, &e, &ticket), WEIR_OK);
        runner_kill(r, ticket); /* perhaps before it begins */
        T_OK(wait_for(&e, &e.n_done, 1));
        T_EQ(e.st, WEIR_CANCELLED);
        T_OK(dies_out(word));
        runner_close(r);
    }
}

TEST(closing_kills_all_and_tells_everybody)
{
    struct runner *r = start(false);
    const char *word = mark();
    char script[TEXT_BYTES];
    struct ended e[4];
    uint64_t ticket;
    write_script(script, sizeof script, "sleep @ & sleep @", word);
    for (unsigned i = 0; i < 4; i++)
        T_EQ(begin(r, &(struct asked){.script = script}, &e[i], &ticket), WEIR_OK);
    runner_close(r);
    for (unsigned i = 0; i < 4; i++) {
        T_EQ(e[i].n_done, 1);
        T_EQ(e[i].st, WEIR_CANCELLED);
    }
    T_OK(dies_out(word));
}

TEST(so_many_run_at_once_and_no_more)
{
    static struct ended e[RUNNER_JOBS];
    struct runner *r = start(false);
    struct ended more;
    uint64_t ticket;
    const struct asked asked = {.script = "read x; echo $x", .input = "well"};
    for (unsigned i = 0; i < RUNNER_JOBS; i++)
        T_EQ(begin(r, &(struct asked){.script = "sleep 1000"}, &e[i], &ticket), WEIR_OK);
    T_EQ(begin(r, &asked, &more, &ticket), WEIR_BUSY);
    for (unsigned i = 0; i < RUNNER_JOBS; i++) runner_kill(r, i + 1);
    for (unsigned i = 0; i < RUNNER_JOBS; i++) T_OK(wait_for(&e[i], &e[i].n_done, 1));
    for (unsigned i = 0; i < RUNNER_JOBS; i++) T_EQ(begin(r, &asked, &e[i], &ticket), WEIR_OK);
    for (unsigned i = 0; i < RUNNER_JOBS; i++) {
        T_OK(wait_for(&e[i], &e[i].n_done, 1));
        T_EQ(e[i].st, WEIR_OK);
        T_EQ_STR(weir_slice_of(e[i].text), "well\n");
    }
    runner_close(r);
}

/* ---- what it may do ---- */

static bool has(const struct runner *r, const char *what)
{
    char report[RUNNER_REPORT_BYTES];
    runner_report(r, report);
    return strstr(report, what) && !strstr(report, "no landlock");
}

TEST(files_of_others_cannot_be_touched)
{
    char path[300], script[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/secret", t_temp_dir());
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    T_EQ(write(fd, "secret", 6), 6);
    close(fd);
    struct runner *r = start(false);
    if (!has(r, "landlock")) {
        runner_close(r);
        t_skip("this kernel has no landlock");
        return;
    }
    static const char *const tries[] = {
        "cat ../secret",
        "echo >../secret",
        "ls ..",
        "ls /root",
        "ls /home",
        "cat /etc/passwd",
        "cat /proc/self/environ",
        "echo >/tmp/weir-test-of-jail",
        "mkdir ../other",
        "ln -s ../secret link && cat link",
        "cp /bin/true . && ./true",
        "mv ../secret .",
        "rm ../secret",
        "ln ../secret here && cat here",
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct ended *e = run(r, &(struct asked){.script = tries[i]});
        if (e->st != WEIR_UNPROCESSABLE) t_fail(__FILE__, __LINE__, "%s: %s", tries[i], e->text);
    }
    T_EQ_STR(t_read_file(path), "secret");
    snprintf(script, sizeof script, "%s", "mkdir -p a/b && echo hi >a/b/c && cat a/b/c && rm -r a");
    struct ended *e = run(r, &(struct asked){.script = script});
    T_EQ(e->st, WEIR_OK);
    T_EQ_STR(weir_slice_of(e->text), "hi\n");
    runner_close(r);
}

/* Neither by a path, nor by something that may be read. */
TEST(modes_and_times_of_others_stay)
{
    static const char script[] =
        "import os\n"
        "reached = []\n"
        "def attempt(name, do, *words):\n"
        "    try: do(*words)\n"
        "    except OSError: return\n"
        "    reached.append(name)\n"
        "for path in ('../secret', '..', '/usr/bin', '/dev/null'):\n"
        "    info = os.stat(path)\n"
        "    attempt('chmod ' + path, os.chmod, path, info.st_mode & 0o7777)\n"
        "    attempt('chown ' + path, os.chown, path, info.st_uid, info.st_gid)\n"
        "    attempt('lchown ' + path, os.lchown, path, info.st_uid, info.st_gid)\n"
        "    attempt('utime ' + path, os.utime, path, (info.st_atime, info.st_mtime))\n"
        "    attempt('setxattr ' + path, os.setxattr, path, 'user.weir', b'x')\n"
        "for path in ('/usr/bin', '/usr/bin/env', '/dev/null'):\n"
        "    fd = os.open(path, os.O_RDONLY)\n"
        "    info = os.fstat(fd)\n"
        "    attempt('fchmod ' + path, os.fchmod, fd, info.st_mode & 0o7777)\n"
        "    attempt('fchown ' + path, os.fchown, fd, info.st_uid, info.st_gid)\n"
        "    attempt('fsetxattr ' + path, os.setxattr, fd, 'user.weir', b'x')\n"
        "attempt('memfd', os.memfd_create, 'x')\n"
        "import ctypes, signal, threading\n"
        "libc = ctypes.CDLL(None)\n"
        "if libc.syscall(56 if os.uname().machine == 'x86_64' else 220, 0x10000000 | "
        "signal.SIGCHLD,"
        " 0, 0, 0, 0) >= 0: reached.append('clone')\n"
        "if libc.inotify_add_watch(libc.inotify_init(), b'..', 2) >= 0: reached.append('watch')\n"
        "thread = threading.Thread(target=print, args=('thread',))\n"
        "thread.start(); thread.join()\n"
        "print(reached)\n";
    char path[300];
    snprintf(path, sizeof path, "%s/secret", t_temp_dir());
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    T_OK(fd >= 0);
    close(fd);
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        struct ended *e = run(r, &(struct asked){.python = script});
        T_EQ(e->st, WEIR_OK);
        T_EQ_STR(weir_slice_of(e->text), "thread\n[]\n");
        runner_close(r);
    }
}

/* What keeps modes, as `cp -p`, needs mounts of its own. */
TEST(usual_programs_do_their_work)
{
    static const struct {
        const char *script;
        bool needs_modes;
    } rows[] = {
        {"echo one >a && cp a b && mv b c && cat c && rm c", false},
        {"touch t && touch t && ln a hard && rm t hard", false},
        {"mktemp -d >name && rmdir $(cat name) && sort a | uniq -c", false},
        {"python3 -c 'import tempfile, shutil, subprocess, sqlite3\n"
         "tempfile.NamedTemporaryFile().write(b\"x\"); shutil.copyfile(\"a\", \"d\")\n"
         "subprocess.run([\"true\"], check=True)\n"
         "d = sqlite3.connect(\"s.db\"); d.execute(\"create table t (x)\"); d.commit()'",
         false},
        {"cp -p a e && chmod 600 e && touch -d 2020-01-01 e", true},
        {"sed -i s/one/two/ a && grep two a", true},
        {"tar cf t.tar a && rm a && tar xf t.tar && cat a", true},
        {"python3 -c 'import shutil; shutil.copy2(\"a\", \"f\")'", true},
    };
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (rows[i].needs_modes && !has(r, "own mounts")) continue;
            struct ended *e = run(r, &(struct asked){.script = rows[i].script});
            if (e->st != WEIR_OK) t_fail(__FILE__, __LINE__, "%s: %s", rows[i].script, e->text);
        }
        T_EQ(run(r, &(struct asked){.script = "rm -r *"})->st, WEIR_OK);
        runner_close(r);
    }
}

TEST(who_locks_itself_out_is_let_in_again)
{
    struct runner *r = start(false);
    (void)run(r, &(struct asked){.script = "chmod 0 ."});
    T_EQ(run(r, &(struct asked){.script = "echo hi >a"})->st, WEIR_OK);
    struct stat info;
    T_EQ(stat(folder(), &info), 0);
    T_EQ(info.st_mode & 07777, 0700);
    runner_close(r);
}

static int listen_here(unsigned short *port)
{
    struct {
        unsigned short family, port;
        unsigned address;
        char rest[8];
    } a = {.family = AF_INET, .address = 0x0100007f};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    T_EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    T_EQ(listen(fd, 1), 0);
    T_EQ(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *port = (unsigned short)(a.port >> 8 | a.port << 8);
    return fd;
}

TEST(nothing_can_be_reached)
{
    unsigned short port;
    int fd = listen_here(&port);
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        char script[TEXT_BYTES];
        static const char *const families[] = {"AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK",
                                               "AF_PACKET"};
        for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
            snprintf(script, sizeof script,
                     "import socket\ns=socket.socket(socket.%s, socket.SOCK_%s)\n", families[i],
                     i < 3 ? "STREAM" : "RAW");
            struct ended *e = run(r, &(struct asked){.python = script});
            T_EQ(e->st, WEIR_UNPROCESSABLE);
            T_EQ_STR(weir_slice_of(e->text), "PermissionError: [Errno 1] Operation not permitted");
        }
        snprintf(script, sizeof script,
                 "import socket\nsocket.create_connection(('127.0.0.1', %u))", port);
        T_EQ(run(r, &(struct asked){.python = script})->st, WEIR_UNPROCESSABLE);
        /* Pairs lead nowhere else. */
        T_EQ(run(r, &(struct asked){.python = "import socket; socket.socketpair()"})->st, WEIR_OK);
        static const char *const tries[] = {
            "socket.socketpair(type=socket.SOCK_DGRAM)",
            "socket.socketpair(type=socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)",
            "socket.socketpair(type=socket.SOCK_RAW)",
            "socket.socketpair()[0].connect('sock')",
            "socket.socketpair()[0].bind('sock')",
            "socket.socketpair()[0].listen()",
            "socket.socketpair()[0].accept()",
        };
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            snprintf(script, sizeof script, "import socket; %s", tries[i]);
            struct ended *e = run(r, &(struct asked){.python = script});
            T_EQ(e->st, WEIR_UNPROCESSABLE);
            T_EQ_STR(weir_slice_of(e->text), "PermissionError: [Errno 1] Operation not permitted");
        }
        runner_close(r);
    }
    close(fd);
}

TEST(others_cannot_be_signalled_nor_limited)
{
    char script[TEXT_BYTES];
    pid_t victim = fork();
    while (victim == 0) pause();
    T_OK(victim > 0);
    if (victim < 0) return;
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        snprintf(script, sizeof script, "import os; os.kill(%d, 0)", (int)getpid());
        T_EQ(run(r, &(struct asked){.python = script})->st, WEIR_UNPROCESSABLE);
        snprintf(script, sizeof script,
                 "import resource; resource.prlimit(%d, resource.RLIMIT_CPU, (1, 1))",
                 (int)getpid());
        T_EQ(run(r, &(struct asked){.python = script})->st, WEIR_UNPROCESSABLE);
        /* What comes through a descriptor can be told to anybody by any signal. */
        snprintf(script, sizeof script,
                 "import fcntl, os, signal\n"
                 "r, w = os.pipe()\n"
                 "try: fcntl.fcntl(r, fcntl.F_SETOWN, %d)\n"
                 "except OSError: pass\n"
                 "fcntl.fcntl(r, fcntl.F_SETSIG, signal.SIGKILL)\n"
                 "fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)\n"
                 "os.write(w, b'x')",
                 (int)victim);
        T_EQ(run(r, &(struct asked){.python = script})->st, WEIR_OK);
        T_EQ(waitpid(victim, NULL, WNOHANG), 0);
        (void)run(r, &(struct asked){.script = "kill -9 -1", .wall_ms = 1000});
        T_EQ(run(r, &(struct asked){.script = "echo alive"})->st, WEIR_OK);
        runner_close(r);
    }
    (void)kill(victim, SIGKILL);
    (void)waitpid(victim, NULL, 0);
}

/* When it has the processor or a device, and where its memory is. */
static int change_turns(void)
{
    static const char form[] =
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "other, reached = %d, []\n"
        "x86 = os.uname().machine == 'x86_64'\n"
        "def attempt(name, done):\n"
        "    if done >= 0 or ctypes.get_errno() != 1: reached.append(name)\n"
        "room = ctypes.create_string_buffer(128)\n"
        "libc.sched_getaffinity(0, 128, room)\n"
        "none = ctypes.create_string_buffer(48)\n"
        "none[0] = 48\n"
        "attempt('priority', libc.setpriority(0, other, libc.getpriority(0, other)))\n"
        "attempt('priority of group', libc.setpriority(1, os.getpgid(other), -20))\n"
        "attempt('priority of user', libc.setpriority(2, os.getuid(), -20))\n"
        "attempt('affinity', libc.sched_setaffinity(other, 128, room))\n"
        "attempt('scheduler', libc.sched_setscheduler(other, 0, ctypes.create_string_buffer(4)))\n"
        "attempt('param', libc.sched_setparam(other, ctypes.create_string_buffer(4)))\n"
        "attempt('attr', libc.syscall(314 if x86 else 274, other, none, 0))\n"
        "attempt('ioprio', libc.syscall(251 if x86 else 30, 1, other, 0))\n"
        "attempt('ioprio of user', libc.syscall(251 if x86 else 30, 3, os.getuid(), 0))\n"
        "attempt('migrate', libc.syscall(256 if x86 else 238, other, 0, None, None))\n"
        "attempt('move', libc.syscall(279 if x86 else 239, other, 0, None, None, None, 0))\n"
        "os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0))\n"
        "if libc.syscall(251 if x86 else 30, 1, 0, 0) < 0: reached.append('not itself')\n"
        "print(reached)\n";
    char script[TEXT_BYTES];
    snprintf(script, sizeof script, form, (int)getpid());
    struct runner *r = start(true);
    struct ended *e = run(r, &(struct asked){.python = script});
    T_EQ_STR(weir_slice_of(e->text), "[]\n");
    bool is_good = e->st == WEIR_OK && weir_slice_is(weir_slice_of(e->text), "[]\n");
    runner_close(r);
    return is_good ? 0 : 1;
}

/* The kernel keeps those of root from it, since it has fewer rights. */
TEST(only_its_own_turn_can_be_changed)
{
    T_EQ(as_nobody(change_turns), 0);
}

TEST(a_folder_that_is_a_link_is_none)
{
    struct runner *r = start(false);
    T_EQ(symlink("/tmp", folder()), 0);
    struct ended *e = run(r, &(struct asked){.script = "pwd"});
    T_EQ(e->st, WEIR_IO);
    runner_close(r);
}

/* ---- deaths ---- */

/* It is dead, and nothing that it was given since is taken by it. */
static bool is_buried(pid_t process)
{
    uint64_t end_ns = clock_mono_ns(&clock_system) + PATIENCE_S * 1000000000ULL;
    while (kill(process, 0) == 0 && clock_mono_ns(&clock_system) < end_ns) (void)poll(NULL, 0, 1);
    return kill(process, 0) != 0 && errno == ESRCH;
}

/* Another one than this. */
static pid_t find_runner(pid_t than)
{
    uint64_t end_ns = clock_mono_ns(&clock_system) + PATIENCE_S * 1000000000ULL;
    pid_t found = 0;
    while (clock_mono_ns(&clock_system) < end_ns && (found == 0 || found == than)) {
        found = child_of(find_guard());
        if (found == 0) (void)poll(NULL, 0, 10);
    }
    T_OK(found > 0 && found != than);
    return found;
}

TEST(a_runner_that_is_killed_ends_all_jobs_and_comes_back)
{
    char script[TEXT_BYTES], words[3][32];
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        struct ended e[3];
        uint64_t ticket;
        pid_t killed = 0;
        for (unsigned death = 1; death <= 3; death++) {
            for (unsigned i = 0; i < 3; i++) {
                snprintf(words[i], sizeof words[i], "%s", mark());
                write_script(script, sizeof script, "setsid sleep @ & sleep @", words[i]);
                T_EQ(begin(r, &(struct asked){.script = script}, &e[i], &ticket), WEIR_OK);
            }
            /* One that has not begun would be the next runner's. */
            for (unsigned i = 0; i < 3; i++) T_OK(appears(words[i]));
            killed = find_runner(killed);
            T_EQ(kill(killed, SIGKILL), 0);
            for (unsigned i = 0; i < 3; i++) {
                T_OK(wait_for(&e[i], &e[i].n_done, 1));
                T_EQ(e[i].st, WEIR_IO);
                T_OK(dies_out(words[i]));
            }
            T_EQ(run(r, &(struct asked){.script = "echo well"})->st, WEIR_OK);
            T_EQ(runner_restarts(r), death);
            T_OK(is_buried(killed));
        }
        runner_close(r);
        T_EQ(find_guard(), 0);
    }
}

/* Whoever dies at once is not waited for. */
TEST(closing_does_not_wait_for_a_runner_that_comes_back)
{
    struct runner *r = start(false);
    struct ended e;
    uint64_t ticket;
    pid_t killed = 0;
    for (unsigned death = 1; death <= 5; death++) {
        killed = find_runner(killed);
        T_EQ(kill(killed, SIGKILL), 0);
    }
    T_OK(is_buried(killed));
    T_EQ(begin(r, &(struct asked){.script = "sleep 1000"}, &e, &ticket), WEIR_OK);
    runner_close(r);
    T_EQ(e.n_done, 1);
    T_EQ(e.st, WEIR_CANCELLED);
}

TEST(without_guard_and_runner_there_are_no_jobs)
{
    char script[TEXT_BYTES];
    struct runner *r = start(false);
    struct ended e;
    uint64_t ticket;
    const char *word = mark();
    pid_t guard = find_guard(), runner = find_runner(0);
    T_EQ(kill(guard, SIGKILL), 0);
    T_EQ(run(r, &(struct asked){.script = "echo well"})->st, WEIR_OK);
    write_script(script, sizeof script, "setsid sleep @ & sleep @", word);
    T_EQ(begin(r, &(struct asked){.script = script}, &e, &ticket), WEIR_OK);
    T_OK(appears(word));
    T_EQ(kill(runner, SIGKILL), 0);
    T_OK(wait_for(&e, &e.n_done, 1));
    T_EQ(e.st, WEIR_IO);
    T_OK(dies_out(word));
    T_EQ(begin(r, &(struct asked){.script = script}, &e, &ticket), WEIR_IO);
    runner_close(r);
}

/* Its own process is the server here. */
TEST(a_server_that_is_killed_leaves_nobody)
{
    char script[TEXT_BYTES];
    for (unsigned plain = 0; plain < 2; plain++) {
        const char *word = mark();
        write_script(script, sizeof script, "trap '' TERM; setsid sleep @ & sleep @", word);
        pid_t server = fork();
        if (server == 0) {
            struct ended e;
            uint64_t ticket;
            struct runner *r = start(plain);
            if (begin(r, &(struct asked){.script = script}, &e, &ticket) != WEIR_OK) _exit(1);
            for (;;) (void)poll(NULL, 0, 1000);
        }
        T_OK(appears(word));
        T_EQ(kill(server, SIGKILL), 0);
        T_EQ(waitpid(server, NULL, 0), server);
        T_OK(dies_out(word));
    }
}

TEST(a_warden_that_is_killed_leaves_nobody)
{
    char script[TEXT_BYTES];
    for (unsigned plain = 0; plain < 2; plain++) {
        struct runner *r = start(plain);
        struct ended e;
        uint64_t ticket;
        const char *word = mark();
        write_script(script, sizeof script, "trap '' TERM; setsid sleep @ & sleep @", word);
        T_EQ(begin(r, &(struct asked){.script = script}, &e, &ticket), WEIR_OK);
        T_OK(appears(word));
        pid_t warden = child_of(find_runner(0));
        T_OK(warden > 0 && kill(warden, SIGKILL) == 0);
        T_OK(wait_for(&e, &e.n_done, 1));
        T_EQ(e.st, WEIR_IO);
        T_OK(dies_out(word));
        T_EQ(run(r, &(struct asked){.script = "echo well"})->st, WEIR_OK);
        runner_close(r);
    }
}

static bool holds(pid_t process, const char *path)
{
    char name[64], target[300];
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)process, i);
        ssize_t n = readlink(name, target, sizeof target - 1);
        if (n <= 0) continue;
        target[n] = 0;
        if (strcmp(target, path) == 0) return true;
    }
    return false;
}

TEST(nothing_of_the_server_stays_open)
{
    char path[256];
    snprintf(path, sizeof path, "%s/lock", t_temp_dir());
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    T_OK(holds(getpid(), path));
    struct runner *r = start(false);
    T_OK(!holds(find_guard(), path) && !holds(find_runner(0), path));
    struct ended *e = run(r, &(struct asked){.python = "import os\nn=[]\nfor i in range(256):\n"
                                                       " try: os.fstat(i); n.append(i)\n"
                                                       " except OSError: pass\nprint(n)"});
    T_EQ_STR(weir_slice_of(e->text), "[0, 1, 2]\n");
    close(fd);
    runner_close(r);
}
