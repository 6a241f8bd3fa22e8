/* SPDX-License-Identifier: Apache-2.0 */
/* Every case confines a process of its own: there is no way back. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "io/crypto.h"
#include "io/file.h"
#include "io/process.h"
#include "io/sock.h"
#include "t.h"
#include "unit/io/child.h"

static char folder[128]; /* the data folder */
static char certs[128];  /* beside it */
static char report[PROCESS_REPORT_BYTES];

static const char *in(const char *where, const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", where, name);
    return path;
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    T_OK(fd >= 0);
    T_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void make_folders(void)
{
    snprintf(folder, sizeof folder, "%s/data", t_temp_dir());
    snprintf(certs, sizeof certs, "%s/certs", t_temp_dir());
    T_EQ(mkdir(folder, 0700), 0);
    T_EQ(mkdir(certs, 0700), 0);
    put(in(certs, "key.pem"), "key");
    put(in(folder, "../beside"), "text");
}

static bool can_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    close(fd);
    return true;
}

/* Confines this process; ends it quietly where there is nothing to test. */
static void confine(void)
{
    const char *readable[] = {in(certs, "key.pem")};
    NEED(process_confine(folder, readable, 1, report) == WEIR_OK);
    if (strstr(report, "sanitizers")) _exit(0);
}

static bool has_landlock(void)
{
    return !strstr(report, "no landlock");
}

static bool has_seccomp(void)
{
    return !strstr(report, "no seccomp");
}

static void show_report(void)
{
    confine();
    fprintf(stderr, "confined by %s\n", report);
    NEED(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

TEST(what_holds_is_reported)
{
    make_folders();
    T_OK(child_passes(show_report));
}

static void use_files(void)
{
    confine();
    NEED(can_open(in(folder, "new"), O_CREAT | O_RDWR | O_EXCL));
    NEED(truncate(in(folder, "new"), 100) == 0);
    NEED(mkdir(in(folder, "below"), 0700) == 0);
    NEED(rename(in(folder, "new"), in(folder, "below/moved")) == 0);
    NEED(unlink(in(folder, "below/moved")) == 0);
    NEED(rmdir(in(folder, "below")) == 0);
    NEED(file_sync_folder(folder) == WEIR_OK);
    NEED(can_open(in(certs, "key.pem"), O_RDONLY));
    NEED(can_open("/dev/urandom", O_RDONLY));
    NEED(can_open("/dev/null", O_WRONLY));
    if (!has_landlock()) return;
    NEED(!can_open(in(certs, "key.pem"), O_RDWR) && errno == EACCES);
    NEED(!can_open(in(certs, "other"), O_CREAT | O_WRONLY));
    NEED(!can_open("/etc/passwd", O_WRONLY) && errno == EACCES);
    NEED(!can_open("/etc/passwd", O_RDONLY) && errno == EACCES);
    NEED(!can_open(in(folder, "../beside"), O_RDONLY));
    NEED(unlink(in(folder, "../beside")) != 0);
    NEED(!can_open("/dev/urandom", O_WRONLY));
}

TEST(files_can_be_written_only_below_the_data_folder)
{
    make_folders();
    T_OK(child_passes(use_files));
}

static void use_log(void)
{
    process_keep_log(in(certs, "log"));
    confine();
    NEED(can_open(in(certs, "log"), O_CREAT | O_WRONLY | O_APPEND));
    NEED(can_open(in(certs, "log"), O_CREAT | O_WRONLY | O_APPEND));
    if (has_landlock()) NEED(unlink(in(certs, "log")) != 0);
}

TEST(log_beside_the_data_folder_can_be_made_anew)
{
    make_folders();
    T_OK(child_passes(use_log));
}

static void use_kept_folder(void)
{
    process_keep_folder(certs);
    confine();
    NEED(can_open(in(certs, "made"), O_CREAT | O_RDWR | O_EXCL));
    NEED(can_open(in(certs, "made"), O_RDONLY));
    if (has_landlock()) NEED(!can_open(in(folder, "../beside"), O_RDONLY));
}

TEST(a_folder_that_is_kept_can_be_written)
{
    make_folders();
    T_OK(child_passes(use_kept_folder));
}

/* Two of them: the other one is also reached by a link in the data folder. */
static void use_linked_folder(void)
{
    char files[128];
    snprintf(files, sizeof files, "%s/files", t_temp_dir());
    NEED(mkdir(files, 0700) == 0 && symlink(files, in(folder, "files")) == 0);
    process_keep_folder(NULL);
    process_keep_folder(certs);
    process_keep_folder(files);
    confine();
    NEED(can_open(in(certs, "made"), O_CREAT | O_RDWR | O_EXCL));
    NEED(mkdir(in(folder, "files/made"), 0700) == 0);
    NEED(can_open(in(files, "made/one"), O_CREAT | O_RDWR | O_EXCL));
    NEED(unlink(in(folder, "files/made/one")) == 0 && rmdir(in(folder, "files/made")) == 0);
    if (has_landlock()) NEED(!can_open(in(folder, "../beside"), O_RDONLY));
}

TEST(a_folder_behind_a_link_can_be_kept_too)
{
    make_folders();
    T_OK(child_passes(use_linked_folder));
}

static void read_key(void)
{
    confine();
    NEED(can_open(in(certs, "key.pem"), O_RDONLY));
}

TEST(certificate_behind_a_link_can_be_read)
{
    make_folders();
    char archive[160];
    snprintf(archive, sizeof archive, "%s/archive", t_temp_dir());
    T_EQ(mkdir(archive, 0700), 0);
    put(in(archive, "key1.pem"), "key");
    T_EQ(unlink(in(certs, "key.pem")), 0);
    T_EQ(symlink("../archive/key1.pem", in(certs, "key.pem")), 0);
    T_OK(child_passes(read_key));
}

/* Another process, not confined, that replaces the file when it is told to. */
static pid_t start_replacer(const int pipes[2])
{
    char byte;
    pid_t other = fork();
    if (other != 0) return other;
    close(pipes[1]); /* so that it ends when the one who tells has ended */
    if (read(pipes[0], &byte, 1) != 1) _exit(1);
    _exit(rename(in(certs, "new.pem"), in(certs, "key.pem")) == 0 ? 0 : 1);
}

static void read_replaced_key(void)
{
    int pipes[2];
    int status = -1;
    char text[16] = "";
    NEED(pipe(pipes) == 0);
    pid_t other = start_replacer(pipes);
    confine();
    NEED(write(pipes[1], "x", 1) == 1);
    NEED(waitpid(other, &status, 0) == other && status == 0);
    int fd = open(in(certs, "key.pem"), O_RDONLY | O_CLOEXEC);
    NEED(fd >= 0 && read(fd, text, sizeof text) == 8);
    NEED(strcmp(text, "replaced") == 0);
}

TEST(certificate_that_is_replaced_can_be_read)
{
    make_folders();
    put(in(certs, "new.pem"), "replaced");
    T_OK(child_passes(read_replaced_key));
}

static void try_forbidden_calls(void)
{
    confine();
    char *const args[] = {NULL};
    if (!has_seccomp()) return;
    NEED(execve("/bin/true", args, args) == -1 && errno == EPERM);
    NEED(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM);
    NEED(mount("none", folder, "tmpfs", 0, NULL) == -1 && errno == EPERM);
    NEED(syscall(SYS_bpf, 0, NULL, 0) == -1 && errno == EPERM);
    NEED(syscall(SYS_keyctl, 0, 0) == -1 && errno == EPERM);
    NEED(syscall(SYS_kexec_load, 0, 0, NULL, 0) == -1 && errno == EPERM);
    NEED(syscall(SYS_init_module, NULL, 0, "") == -1 && errno == EPERM);
    NEED(syscall(SYS_vhangup) == -1 && errno == EPERM);
    NEED(syscall(SYS_io_uring_setup, 1, NULL) == -1 && errno == EPERM);
#ifdef __x86_64__
    /* The same call by its number of x32. */
    NEED(syscall(0x40000000 + 39) == -1 && (errno == EPERM || errno == ENOSYS));
#endif
    NEED(getpid() == (pid_t)syscall(SYS_getpid));
}

TEST(calls_that_only_an_intruder_makes_fail)
{
    make_folders();
    T_OK(child_passes(try_forbidden_calls));
}

static void *sleep_no_longer(void *user)
{
    /* A thread that ends in this way needs libgcc, loaded when it happens. */
    (void)user;
    pthread_exit(NULL);
}

static void work_as_a_server(void)
{
    confine();
    sqlite3 *db = NULL;
    NEED(sqlite3_open(in(folder, "db"), &db) == SQLITE_OK);
    NEED(sqlite3_exec(db,
                      "pragma journal_mode=wal; pragma synchronous=full; create table t(a, b);"
                      "with recursive c(n) as (select 1 union all select n + 1 from c where "
                      "n < 20000) insert into t select n, hex(randomblob(20)) from c;"
                      "pragma temp_store=memory; create index i on t(b); vacuum;",
                      NULL, NULL, NULL) == SQLITE_OK);
    NEED(sqlite3_close(db) == SQLITE_OK);
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, sleep_no_longer, NULL) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    unsigned char digest[SHA256_BYTES];
    sha256((struct weir_slice){"x", 1}, digest);
    random_bytes(digest, sizeof digest);
    struct addr a;
    struct addr bound;
    int fd;
    NEED(addr_parse(&a, "127.0.0.1:0") == WEIR_OK);
    NEED(sock_listen(&fd, &a, &bound) == WEIR_OK);
    NEED(sock_listen_local(&fd, in(folder, "control")) == WEIR_OK);
    NEED(sock_connect_local(&fd, in(folder, "control")) == WEIR_OK);
    struct addrinfo *found = NULL;
    if (getaddrinfo("localhost", "80", NULL, &found) == 0) freeaddrinfo(found);
}

TEST(server_works_inside_the_fences)
{
    make_folders();
    T_OK(child_passes(work_as_a_server));
}

static void *open_outside(void *user)
{
    *(bool *)user = can_open(in(folder, "../beside"), O_RDONLY);
    return NULL;
}

static void start_thread(void)
{
    bool is_open = true;
    pthread_t thread;
    confine();
    NEED(pthread_create(&thread, NULL, open_outside, &is_open) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    NEED(!is_open || !has_landlock());
}

TEST(threads_started_later_are_confined_too)
{
    make_folders();
    T_OK(child_passes(start_thread));
}

static void confine_nowhere(void)
{
    NEED(process_confine(in(folder, "none"), NULL, 0, report) == WEIR_IO ||
         strstr(report, "sanitizers"));
    NEED(can_open(in(folder, "../beside"), O_RDONLY));
}

TEST(missing_data_folder_is_an_error_and_confines_nothing)
{
    make_folders();
    T_OK(child_passes(confine_nowhere));
}
