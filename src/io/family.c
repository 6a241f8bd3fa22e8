/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processes that descend from this one, as /proc tells. One whose parent died is handed to the
 * nearest ancestor that asked for such (PR_SET_CHILD_SUBREAPER): it cannot leave the family. What
 * is born while somebody looks is found the next time; whoever wants all gone looks until none is
 * left.
 *
 * Who forks for ever would win a race against being killed, one after the other: what is killed
 * makes room for more. So all are stopped first, each as soon as it is seen, for a process that
 * forks and ends has another number a moment later; and killed when none runs any more.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/runner_impl.h"

enum {
    FAMILY_MAX = 65536,
    STAT_BYTES = 512,
    HOLD_ROUNDS = 64, /* some do not stop, as one that waits for whom it has forked by vfork() */
    HOLD_MS = 1,      /* between two of them */
};

/* Words of /proc/PID/stat, counted from behind the name. */
enum { STATE, PARENT, GROUP, THREADS = 17 };

struct person {
    pid_t pid, parent, group;
    char state;
    unsigned n_threads;
    bool is_dead; /* and not buried yet */
    pid_t head;   /* from whom it descends; 0: from none of them */
};

/* Of one head or several. */
struct family {
    struct person *all; /* also those of others */
    size_t n, n_running;
    const pid_t *heads;
    size_t n_heads;
    bool is_held; /* whoever is found is stopped */
    const pid_t *spared;
    size_t n_spared;
};

static long number_at(const char *words, unsigned index)
{
    for (unsigned i = 0; i < index && words; i++) {
        words = strchr(words, ' ');
        if (words) words++;
    }
    return words ? strtol(words, NULL, 10) : 0;
}

/*
 * "PID (NAME) STATE PARENT …", where the name may have anything in it. A process whose first thread
 * has ended looks dead, and is not while it has others.
 */
static bool read_person(const char *pid, struct person *out)
{
    char path[64], text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = 0;
    const char *end = strrchr(text, ')');
    if (!end || strlen(end) < 5) return false;
    const char *words = end + 2;
    *out = (struct person){.pid = (pid_t)strtol(pid, NULL, 10),
                           .parent = (pid_t)number_at(words, PARENT),
                           .group = (pid_t)number_at(words, GROUP),
                           .state = words[STATE],
                           .n_threads = (unsigned)number_at(words, THREADS)};
    out->is_dead = strchr("ZX", out->state) && out->n_threads <= 1;
    return true;
}

static bool is_one_of(const pid_t *pids, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid) return true;
    return false;
}

/* Most were born shortly after their parents, and stand behind them. */
static pid_t find_head(const struct family *f, const struct person *p)
{
    if (is_one_of(f->heads, f->n_heads, p->parent)) return p->parent;
    for (size_t i = f->n; i-- > 0;)
        if (f->all[i].pid == p->parent) return f->all[i].head;
    return 0;
}

/*
 * To all of its group, which the kernel reaches at once, with those that are being born. Only one
 * that has not begun yet is in our group.
 */
static void send_signal(const struct person *p, int signal)
{
    if (p->group > 1 && p->group != getpgrp()) (void)kill(-p->group, signal);
    (void)kill(p->pid, signal);
}

static void hold(struct family *f, const struct person *p)
{
    if (p->is_dead || strchr("Tt", p->state)) return;
    if (!strchr("DZX", p->state)) f->n_running++; /* they do nothing before they see the signal */
    send_signal(p, SIGSTOP);
}

/* The spared are nobody's parents here. True: it is ours, and was not known to be. */
static bool adopt(struct family *f, struct person *p)
{
    if (p->head || is_one_of(f->spared, f->n_spared, p->pid)) return false;
    p->head = find_head(f, p);
    if (p->head && f->is_held) hold(f, p);
    return p->head != 0;
}

/* Numbers begin anew some time, so that a child may stand before its parent. */
static void adopt_rest(struct family *f)
{
    bool has_more = true;
    while (has_more) {
        has_more = false;
        for (size_t i = 0; i < f->n; i++) has_more |= adopt(f, &f->all[i]);
    }
}

/* False: some could still fork. */
static bool look(struct family *f)
{
    const struct dirent *e;
    DIR *proc = opendir("/proc");
    f->n = f->n_running = 0;
    if (!proc) return true;
    while (f->n < FAMILY_MAX && (e = readdir(proc)) != NULL) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
        if (!read_person(e->d_name, &f->all[f->n])) continue;
        (void)adopt(f, &f->all[f->n]);
        f->n++;
    }
    closedir(proc);
    adopt_rest(f);
    return f->n_running == 0;
}

size_t family_kill(const pid_t *spared, size_t n_spared)
{
    size_t n_killed = 0;
    const pid_t self = getpid();
    struct family f = {.heads = &self,
                       .n_heads = 1,
                       .is_held = true,
                       .all = mem_alloc(FAMILY_MAX * sizeof *f.all),
                       .spared = spared,
                       .n_spared = n_spared};
    if (!f.all) return 0;
    for (unsigned i = 0; i < HOLD_ROUNDS && !look(&f); i++) (void)poll(NULL, 0, HOLD_MS);
    for (size_t i = 0; i < f.n; i++) {
        if (!f.all[i].head || f.all[i].is_dead) continue;
        send_signal(&f.all[i], SIGKILL);
        n_killed++;
    }
    mem_free(f.all);
    return n_killed;
}

void family_count(const pid_t *heads, size_t n_heads, size_t *n_tasks)
{
    struct family f = {.heads = heads, .n_heads = n_heads};
    memset(n_tasks, 0, n_heads * sizeof *n_tasks);
    f.all = mem_alloc(FAMILY_MAX * sizeof *f.all);
    if (!f.all) return;
    (void)look(&f);
    for (size_t i = 0; i < f.n; i++)
        for (size_t k = 0; k < n_heads && f.all[i].head && !f.all[i].is_dead; k++)
            if (heads[k] == f.all[i].head) n_tasks[k] += f.all[i].n_threads;
    mem_free(f.all);
}
