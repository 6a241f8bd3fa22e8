/* SPDX-License-Identifier: Apache-2.0 */
/* Notes, as the runner runs them: in the folder that is theirs. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/slice.h"
#include "session/session.h"
#include "t.h"

static char said[4096]; /* the result, or what is wrong */

/* In a process of its own, as the runner has it: what it takes from the heap ends with that. */
static enum weir_status run_here(const struct runner_function *f, const char *input, char *out_text)
{
    char why[RUNNER_WHY_BYTES] = "";
    struct weir_buf out;
    weir_buf_init(&out, sizeof said - 1);
    enum weir_status st = f->run(weir_slice_of(input), &out, why);
    snprintf(out_text, sizeof said, "%.*s", st == WEIR_OK ? (int)out.len : (int)strlen(why),
             st == WEIR_OK ? out.ptr : why);
    return st;
}

static enum weir_status run(const char *name, const char *call, const char *input)
{
    char text[1024];
    int status = 0;
    const struct runner_function *f = session_functions;
    char *shared =
        mmap(NULL, sizeof said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (f->name && strcmp(f->name, name) != 0) f++;
    T_OK(f->name);
    snprintf(text, sizeof text, "{\"call\":\"%s\",\"input\":%s}", call, input);
    pid_t child = fork();
    if (child == 0) _exit((int)run_here(f, text, shared));
    T_EQ(waitpid(child, &status, 0), child);
    T_OK(WIFEXITED(status));
    memcpy(said, shared, sizeof said);
    munmap(shared, sizeof said);
    return (enum weir_status)WEXITSTATUS(status);
}

#define SAYS(words) T_EQ_STR(weir_slice_of(said), words)

TEST(notes_are_written_read_listed_and_deleted)
{
    T_EQ(chdir(t_temp_dir()), 0);
    T_EQ(run("write_note", "tc_1", "{\"name\":\"a b\",\"text\":\"one\"}"), WEIR_OK);
    T_EQ(run("append_note", "tc_2", "{\"name\":\"a b\",\"text\":\"two\"}"), WEIR_OK);
    T_EQ(run("read_note", "tc_3", "{\"name\":\"a b\"}"), WEIR_OK);
    SAYS("{\"name\":\"a b\",\"text\":\"one\\ntwo\"}");
    T_EQ(run("delete_note", "tc_4", "{\"name\":\"a b\"}"), WEIR_OK);
    SAYS("{\"deleted\":\"a b\"}");
    T_EQ(run("list_notes", "tc_5", "{}"), WEIR_OK);
    SAYS("{\"notes\":[]}");
}

/* The first run was not told any more: a crash came in between. */
TEST(a_note_is_deleted_once_by_a_call_that_runs_again)
{
    T_EQ(chdir(t_temp_dir()), 0);
    T_EQ(run("delete_note", "tc_1", "{\"name\":\"list\"}"), WEIR_UNPROCESSABLE);
    SAYS("there is no note of that name");
    T_EQ(run("write_note", "tc_2", "{\"name\":\"list\",\"text\":\"tea\"}"), WEIR_OK);
    for (unsigned i = 0; i < 3; i++) {
        T_EQ(run("delete_note", "tc_3", "{\"name\":\"list\"}"), WEIR_OK);
        SAYS("{\"deleted\":\"list\"}");
    }
    T_EQ(run("delete_note", "tc_4", "{\"name\":\"list\"}"), WEIR_UNPROCESSABLE);
    SAYS("there is no note of that name");
}

/* Or it came before the note was gone, or what is there is nobody's mark. */
TEST(a_mark_alone_deletes_nothing)
{
    T_EQ(chdir(t_temp_dir()), 0);
    T_EQ(run("write_note", "tc_1", "{\"name\":\"a\",\"text\":\"x\"}"), WEIR_OK);
    T_EQ(run("write_note", "tc_2", "{\"name\":\"b\",\"text\":\"x\"}"), WEIR_OK);
    T_EQ(run("delete_note", "tc_3", "{\"name\":\"a\"}"), WEIR_OK);
    T_EQ(run("write_note", "tc_4", "{\"name\":\"a\",\"text\":\"x\"}"), WEIR_OK);
    T_EQ(run("delete_note", "tc_3", "{\"name\":\"a\"}"), WEIR_OK);
    T_EQ(access("notes/a", F_OK), -1);
    T_EQ(access("notes/b", F_OK), 0);
    T_EQ(unlink("notes/.deleted"), 0);
    T_EQ(mkdir("notes/.deleted", 0700), 0);
    T_EQ(run("delete_note", "tc_3", "{\"name\":\"a\"}"), WEIR_UNPROCESSABLE);
    T_EQ(run("delete_note", "tc_5", "{\"name\":\"b\"}"), WEIR_UNPROCESSABLE);
    T_EQ(access("notes/b", F_OK), 0);
}
