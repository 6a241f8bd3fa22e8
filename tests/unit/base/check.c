/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

/* Runs CHECK in a child; *said is what it wrote, and the result how it ended. */
static int run_check(int number, char *said, size_t cap)
{
    int ends[2], status = 0;
    T_EQ(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], STDERR_FILENO);
        CHECK(number == 1);
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(ends[0], said + len, cap - 1 - len)) > 0;) len += (size_t)n;
    said[len] = 0;
    close(ends[0]);
    waitpid(pid, &status, 0);
    return status;
}

TEST(claim_that_holds_goes_on_silently)
{
    char said[300];
    int status = run_check(1, said, sizeof said);
    T_OK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    T_EQ_STR(((struct weir_slice){said, strlen(said)}), "");
}

TEST(claim_that_fails_is_named_and_aborts)
{
    char said[300];
    int status = run_check(2, said, sizeof said);
    T_OK(WIFSIGNALED(status));
    T_EQ(WTERMSIG(status), SIGABRT);
    T_OK(strstr(said, "check.c:"));
    T_OK(strstr(said, "number == 1"));
}

TEST(claim_is_evaluated_once)
{
    int n = 0;
    CHECK(++n == 1);
    T_EQ(n, 1);
}
