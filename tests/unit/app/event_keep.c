/* SPDX-License-Identifier: Apache-2.0 */
/* Events that are kept on this machine: once each, within their ceilings, whatever happens. */
#include "event_keep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

enum { DATA_BYTES = 100, PATH_BYTES = 512, ALL_BYTES = 1 << 20 };

/* Small ones; the reserve for other writers is 16 steps. */
static const struct event_keep_limits small = {.total_bytes = 20000,
                                               .stream_bytes = 4000,
                                               .step_bytes = 500,
                                               .max_files = 100,
                                               .max_age_s = 1000};
static char folder[PATH_BYTES];
static struct event_keep_place place;

static void begin(const struct event_keep_limits *limits)
{
    snprintf(folder, sizeof folder, "%s/state/weir/events", t_temp_dir());
    place = (struct event_keep_place){folder, limits};
}

static struct event_keep *keep(enum event_keep_kind kind, const char *id)
{
    return event_keep_open_in(&place, kind, id, "http://a.example");
}

static void add(struct event_keep *k, const char *id, const char *data)
{
    event_keep_add(k, &(struct weir_sse_event){SLICE("x"), weir_slice_of(data), weir_slice_of(id)});
}

static void add_seq(struct event_keep *k, uint64_t seq, size_t n_data)
{
    char id[32];
    char data[DATA_BYTES + 1];
    memset(data, 'd', n_data);
    data[n_data] = '\0';
    snprintf(id, sizeof id, "%llu", (unsigned long long)seq);
    add(k, id, data);
}

/* What is kept, as "id=data " each. */
static void gather(void *user, const struct weir_sse_event *event)
{
    struct weir_buf *all = user;
    weir_buf_append_slice(all, event->id);
    weir_buf_append_char(all, '=');
    weir_buf_append_slice(all, event->data);
    weir_buf_append_char(all, ' ');
}

static void expect(enum event_keep_kind kind, const char *id, const char *want)
{
    struct weir_buf all;
    weir_buf_init(&all, ALL_BYTES);
    T_EQ(event_keep_read_in(&place, kind, id, gather, &all), want[0] != '\0');
    T_EQ_SLICE(slice_of(all.ptr, all.len), weir_slice_of(want));
    weir_buf_fini(&all);
}

/* Bytes and number of the files; their modes are checked. */
static uint64_t total(unsigned *n_files)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    struct stat found;
    uint64_t sum = 0;
    *n_files = 0;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.') continue;
        T_EQ(fstatat(dirfd(dir), entry->d_name, &found, 0), 0);
        T_EQ(found.st_mode & 0777, 0600);
        sum += (uint64_t)found.st_size;
        ++*n_files;
    }
    if (dir) closedir(dir);
    return sum;
}

/* The path of the one file of a stream. */
static void path_of(const char *prefix, char out[PATH_BYTES + 256])
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    out[0] = '\0';
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            snprintf(out, PATH_BYTES + 256, "%s/%.200s", folder, entry->d_name);
    if (dir) closedir(dir);
}

TEST(what_was_kept_is_given_back)
{
    begin(&event_keep_usual);
    struct event_keep *k = keep(EVENT_KEEP_TURN, "turn_1");
    T_OK(k != NULL);
    add(k, "1", "one");
    add(k, "2", "two\nlines");
    event_keep_close(k);
    expect(EVENT_KEEP_TURN, "turn_1", "1=one 2=two\nlines ");
    expect(EVENT_KEEP_TURN, "turn_2", "");
    expect(EVENT_KEEP_SESSION, "turn_1", "");
    unsigned n_files;
    T_OK(total(&n_files) > 0);
    T_EQ(n_files, 1);
    struct stat found;
    T_EQ(stat(folder, &found), 0);
    T_EQ(found.st_mode & 0777, 0700);
}

TEST(a_turn_that_is_watched_again_is_kept_once)
{
    begin(&event_keep_usual);
    for (int round = 0; round < 3; round++) {
        struct event_keep *k = keep(EVENT_KEEP_TURN, "turn_1");
        for (uint64_t seq = 1; seq <= 2 + (uint64_t)round; seq++) add_seq(k, seq, 1);
        event_keep_close(k);
    }
    expect(EVENT_KEEP_TURN, "turn_1", "1=d 2=d 3=d 4=d ");
}

TEST(a_part_of_a_turn_does_not_stand_in_the_way_of_the_whole)
{
    begin(&event_keep_usual);
    struct event_keep *k = keep(EVENT_KEEP_TURN, "turn_1");
    add(k, "5", "late");
    add(k, "6", "later");
    event_keep_close(k);
    expect(EVENT_KEEP_TURN, "turn_1", "");
    unsigned n_files;
    T_EQ(total(&n_files), 0);
    T_EQ(n_files, 0);
    k = keep(EVENT_KEEP_TURN, "turn_1");
    add(k, "1", "a");
    add(k, "3", "c");
    add(k, "2", "b");
    add(k, "3", "c");
    event_keep_close(k);
    expect(EVENT_KEEP_TURN, "turn_1", "1=a 2=b 3=c ");
}

TEST(a_session_may_have_gaps)
{
    begin(&event_keep_usual);
    struct event_keep *k = keep(EVENT_KEEP_SESSION, "s");
    add(k, "5", "a");
    add(k, "9", "b");
    add(k, "7", "had");
    add(k, "nonsense", "none");
    add(k, "", "none");
    event_keep_close(k);
    k = keep(EVENT_KEEP_SESSION, "s");
    add(k, "9", "b");
    add(k, "10", "c");
    event_keep_close(k);
    expect(EVENT_KEEP_SESSION, "s", "5=a 9=b 10=c ");
}

TEST(replies_of_a_chat_have_their_own_numbers)
{
    begin(&event_keep_usual);
    for (int round = 0; round < 2; round++) {
        struct event_keep *k = keep(EVENT_KEEP_CHAT, "conv_1");
        add(k, "m1:1", "a");
        add(k, "m1:2", "b");
        event_keep_close(k);
    }
    struct event_keep *k = keep(EVENT_KEEP_CHAT, "conv_1");
    add(k, "m12:1", "c");
    add(k, "m12:2", "d");
    add(k, "m12:1", "had");
    event_keep_close(k);
    expect(EVENT_KEEP_CHAT, "conv_1", "m1:1=a m1:2=b m12:1=c m12:2=d ");
}

TEST(streams_of_two_servers_are_two)
{
    begin(&event_keep_usual);
    struct event_keep *a = event_keep_open_in(&place, EVENT_KEEP_SESSION, "s", "http://a.example");
    struct event_keep *b = event_keep_open_in(&place, EVENT_KEEP_SESSION, "s", "http://b.example");
    add(a, "1", "a");
    add(b, "1", "b");
    event_keep_close(a);
    event_keep_close(b);
    unsigned n_files;
    (void)total(&n_files);
    T_EQ(n_files, 2);
}

TEST(one_at_a_time_keeps_a_stream)
{
    begin(&event_keep_usual);
    struct event_keep *k = keep(EVENT_KEEP_TURN, "turn_1");
    struct event_keep *other = keep(EVENT_KEEP_TURN, "turn_1");
    add(k, "1", "a");
    add(other, "1", "other");
    add(other, "2", "other");
    add(k, "2", "b");
    event_keep_close(other);
    event_keep_close(k);
    expect(EVENT_KEEP_TURN, "turn_1", "1=a 2=b ");
}

TEST(names_that_would_be_paths_are_not_kept)
{
    static const char *const names[] = {"", "../x", "a/b", "a b", "a\nb", "ä"};
    char name[300];
    begin(&event_keep_usual);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        T_OK(keep(EVENT_KEEP_TURN, names[i]) == NULL);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    T_OK(keep(EVENT_KEEP_TURN, name) == NULL);
    event_keep_add(NULL, &(struct weir_sse_event){SLICE("x"), SLICE("x"), SLICE("1")});
    event_keep_close(NULL);
}

/* A crash may leave any beginning of an event behind the last whole one. */
TEST(what_a_crash_has_left_is_cut_at_every_byte)
{
    static const char whole[] = "id: 1\nevent: x\ndata: one\n\nid: 2\nevent: x\ndata: two\n\n";
    char path[PATH_BYTES + 256];
    for (size_t cut = 0; cut < sizeof whole; cut++) {
        char name[32];
        begin(&event_keep_usual);
        snprintf(name, sizeof name, "turn_%zu", cut);
        struct event_keep *k = keep(EVENT_KEEP_TURN, name);
        add(k, "1", "one");
        event_keep_close(k);
        snprintf(name, sizeof name, "turn-turn_%zu-", cut);
        path_of(name, path);
        FILE *f = fopen(path, "w");
        T_EQ(fwrite(whole, 1, cut, f), cut);
        fclose(f);
        snprintf(name, sizeof name, "turn_%zu", cut);
        k = keep(EVENT_KEEP_TURN, name);
        add(k, "1", "one");
        add(k, "2", "two");
        event_keep_close(k);
        expect(EVENT_KEEP_TURN, name, "1=one 2=two ");
    }
}

TEST(a_stream_keeps_its_newest_half)
{
    unsigned n_files;
    begin(&small);
    struct event_keep *k = keep(EVENT_KEEP_SESSION, "s");
    for (uint64_t seq = 1; seq <= 200; seq++) {
        add_seq(k, seq, DATA_BYTES);
        T_OK(total(&n_files) <= small.stream_bytes);
    }
    event_keep_close(k);
    struct weir_buf all;
    weir_buf_init(&all, ALL_BYTES);
    T_OK(event_keep_read_in(&place, EVENT_KEEP_SESSION, "s", gather, &all));
    weir_buf_append_char(&all, '\0');
    T_OK(strncmp(all.ptr, "1=", 2) != 0 && strstr(all.ptr, " 200=") != NULL);
    T_OK(all.len > small.stream_bytes / 4);
    weir_buf_fini(&all);
    /* What comes next is still known to be next. */
    k = keep(EVENT_KEEP_SESSION, "s");
    add(k, "200", "had");
    add(k, "201", "new");
    event_keep_close(k);
}

static void make_older(const char *prefix, time_t seconds)
{
    char path[PATH_BYTES + 256];
    struct stat found;
    path_of(prefix, path);
    T_EQ(stat(path, &found), 0);
    const struct timespec times[2] = {{.tv_sec = found.st_mtime - seconds},
                                      {.tv_sec = found.st_mtime - seconds}};
    T_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(the_ceiling_of_all_is_never_passed_and_the_oldest_go_first)
{
    char name[32];
    unsigned n_files;
    begin(&small);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "turn_%d", i);
        struct event_keep *k = keep(EVENT_KEEP_TURN, name);
        for (uint64_t seq = 1; seq <= 12; seq++) {
            add_seq(k, seq, DATA_BYTES);
            T_OK(total(&n_files) <= small.total_bytes);
        }
        event_keep_close(k);
        snprintf(name, sizeof name, "turn-turn_%d-", i);
        make_older(name, 500 - 10 * i);
    }
    char path[PATH_BYTES + 256];
    path_of("turn-turn_0-", path);
    T_OK(path[0] == '\0');
    path_of("turn-turn_19-", path);
    T_OK(path[0] != '\0');
    T_OK(n_files > 3);
}

TEST(several_writers_stay_below_the_ceiling_together)
{
    struct event_keep *keeps[EVENT_KEEP_WRITERS];
    char name[32];
    unsigned n_files;
    struct event_keep_limits limits = small;
    limits.stream_bytes = 8000;
    begin(&limits);
    for (int i = 0; i < EVENT_KEEP_WRITERS; i++) {
        snprintf(name, sizeof name, "turn_%d", i);
        keeps[i] = keep(EVENT_KEEP_TURN, name);
        T_OK(keeps[i] != NULL);
    }
    for (uint64_t seq = 1; seq <= 40; seq++) {
        for (int i = 0; i < EVENT_KEEP_WRITERS; i++) add_seq(keeps[i], seq, DATA_BYTES);
        T_OK(total(&n_files) <= limits.total_bytes);
    }
    for (int i = 0; i < EVENT_KEEP_WRITERS; i++) event_keep_close(keeps[i]);
}

TEST(what_is_too_old_goes)
{
    char path[PATH_BYTES + 256];
    begin(&small);
    struct event_keep *k = keep(EVENT_KEEP_TURN, "old");
    add(k, "1", "a");
    event_keep_close(k);
    make_older("turn-old-", 2000);
    event_keep_close(keep(EVENT_KEEP_TURN, "new"));
    path_of("turn-old-", path);
    T_OK(path[0] == '\0');
}

TEST(there_are_only_so_many_files)
{
    char name[32];
    unsigned n_files;
    struct event_keep_limits limits = small;
    limits.max_files = 5;
    begin(&limits);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "turn_%d", i);
        struct event_keep *k = keep(EVENT_KEEP_TURN, name);
        add(k, "1", "a");
        event_keep_close(k);
        (void)total(&n_files);
        T_OK(n_files <= 5);
    }
}

TEST(files_of_others_stay)
{
    char path[PATH_BYTES + 256];
    begin(&small);
    event_keep_close(keep(EVENT_KEEP_TURN, "a"));
    snprintf(path, sizeof path, "%s/notes.txt", folder);
    FILE *f = fopen(path, "w");
    fclose(f);
    T_EQ(chmod(path, 0600), 0);
    make_older("notes", 5000);
    event_keep_close(keep(EVENT_KEEP_TURN, "b"));
    T_EQ(access(path, F_OK), 0);
}

TEST(an_event_that_is_too_large_ends_the_keeping)
{
    static char large[5000];
    begin(&small);
    memset(large, 'x', sizeof large - 1);
    struct event_keep *k = keep(EVENT_KEEP_SESSION, "s");
    add(k, "1", "a");
    add(k, "2", large);
    add(k, "3", "b");
    event_keep_close(k);
    expect(EVENT_KEEP_SESSION, "s", "1=a ");
}

TEST(a_disk_that_fails_ends_the_keeping_and_nothing_else)
{
    begin(&event_keep_usual);
    struct event_keep *k = keep(EVENT_KEEP_TURN, "turn_1");
    add(k, "1", "a");
    fault_arm(FAULT_WRITE, 1, FAULT_ONCE);
    add(k, "2", "b");
    fault_disarm_all();
    add(k, "2", "b");
    event_keep_close(k);
    expect(EVENT_KEEP_TURN, "turn_1", "1=a ");
    k = keep(EVENT_KEEP_TURN, "turn_1");
    add(k, "2", "b");
    event_keep_close(k);
    expect(EVENT_KEEP_TURN, "turn_1", "1=a 2=b ");
}

TEST(lack_of_memory_ends_the_keeping_and_nothing_else)
{
    begin(&event_keep_usual);
    for (uint64_t nth = 1; nth < 60; nth++) {
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        struct event_keep *k = keep(EVENT_KEEP_SESSION, "s");
        add_seq(k, nth, 3);
        event_keep_close(k);
        fault_disarm_all();
    }
    struct weir_buf all;
    weir_buf_init(&all, ALL_BYTES);
    T_OK(event_keep_read_in(&place, EVENT_KEEP_SESSION, "s", gather, &all));
    weir_buf_fini(&all);
}

TEST(a_place_that_cannot_be_is_none)
{
    begin(&event_keep_usual);
    snprintf(folder, sizeof folder, "/proc/nothing/here");
    T_OK(keep(EVENT_KEEP_TURN, "turn_1") == NULL);
    expect(EVENT_KEEP_TURN, "turn_1", "");
}
