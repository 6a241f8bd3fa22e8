/* SPDX-License-Identifier: Apache-2.0 */
#include "pg_server.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

enum { NOT_INSTALLED = 77 };

static struct {
    bool was_tried;
    bool is_missing;
    pid_t script;
    FILE *in;  /* held open: the script ends with it */
    FILE *out; /* what the script answers */
    char url[256];
    char database[320];
} server;

static void end_server(void)
{
    int status;
    if (!server.in) return;
    fclose(server.in);
    fclose(server.out);
    server.in = NULL;
    waitpid(server.script, &status, 0);
}

static void run_script(int in, int out)
{
    if (!getenv("T_POSTGRES_KEEP")) setenv("T_POSTGRES_KEEP", T_BUILD_ROOT "/postgres", 1);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execl(T_SOURCE_ROOT "/tests/postgres", "postgres", (char *)NULL);
    _exit(127);
}

/* One line of the script, without its end; false at the end of its life. */
static bool read_line(char *line, size_t size)
{
    if (!fgets(line, (int)size, server.out)) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static void start_script(void)
{
    int in[2];
    int out[2];
    int status = 0;
    server.was_tried = true;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
    server.script = fork();
    if (server.script == 0) run_script(in[0], out[1]);
    close(in[0]);
    close(out[1]);
    server.in = fdopen(in[1], "w");
    server.out = fdopen(out[0], "r");
    if (!server.in || !server.out) abort();
    atexit(end_server);
    if (read_line(server.url, sizeof server.url)) return;
    waitpid(server.script, &status, 0);
    fclose(server.in);
    fclose(server.out);
    server.in = NULL;
    server.is_missing = WIFEXITED(status) && WEXITSTATUS(status) == NOT_INSTALLED;
}

const char *pg_server_url(void)
{
    if (!server.was_tried) start_script();
    if (server.in) return server.url;
    if (server.is_missing) t_skip("PostgreSQL is not installed");
    else t_fail(__FILE__, __LINE__, "the server does not start");
    return NULL;
}

/* A statement on the first database; false when it fails. */
static bool say(const char *verb, const char *name, const char *rest)
{
    char sql[256];
    snprintf(sql, sizeof sql, "%s \"%s\"%s", verb, name, rest);
    PGconn *conn = PQconnectdb(server.url);
    PGresult *result = PQexec(conn, sql);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    /* 42P04: it is there. */
    bool is_ok = PQresultStatus(result) == PGRES_COMMAND_OK || (state && !strcmp(state, "42P04"));
    if (!is_ok) printf("%s: %s\n", sql, PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
    return is_ok;
}

const char *pg_server_database(const char *name)
{
    if (!pg_server_url()) return NULL;
    T_OK(say("CREATE DATABASE", name, ""));
    snprintf(server.database, sizeof server.database, "postgresql://weir@/%s%s", name,
             strchr(server.url, '?'));
    return server.database;
}

void pg_server_drop(const char *name)
{
    if (server.in) T_OK(say("DROP DATABASE IF EXISTS", name, " WITH (FORCE)"));
}

static void tell(const char *what, const char *answer)
{
    char line[128] = "";
    fprintf(server.in, "%s\n", what);
    fflush(server.in);
    T_OK(read_line(line, sizeof line));
    T_OK(strcmp(line, answer) == 0);
}

void pg_server_stop(void)
{
    tell("stop", "stopped");
}

void pg_server_start(void)
{
    tell("start", "started");
}
