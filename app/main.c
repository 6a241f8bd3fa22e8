/* SPDX-License-Identifier: Apache-2.0 */
/* The weir program: finds the command and runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/version.h>

#include "base/fault.h"
#include "command.h"
#include "output.h"

enum { COMPLAINT_BYTES = 1024 };

const struct command *const commands[] = {
    &serve_command,   &key_command,    &link_command,       &store_command,  &import_command,
    &ask_command,     &chat_command,   &watch_command,      &trace_command,  &turns_command,
    &session_command, &cron_command,   &skills_command,     &memory_command, &documents_command,
    &replay_command,  &plan_command,   &series_command,     &search_command, &stat_command,
    &gate_command,    &verify_command, &shield_command,     &decode_command, &whoami_command,
    &doctor_command,  &login_command,  &completion_command,
};

const unsigned n_commands = sizeof commands / sizeof *commands;

static const char intro[] = "weir " WEIR_VERSION " - durable streams for AI agents\n"
                            "\n"
                            "usage: weir COMMAND [OPTION]... [ARGUMENT]...\n"
                            "\n";

static const char outro[] =
    "\n"
    "  weir COMMAND --help   what a command does, with examples\n"
    "  weir --version        the version\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the input ended too early.\n"
    "Manual: weir(1); the library: libweir(3).\n";

static void print_help(FILE *to)
{
    fputs(intro, to);
    for (unsigned i = 0; i < n_commands; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs(outro, to);
}

static const struct command *find_command(const char *name)
{
    for (unsigned i = 0; i < n_commands; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

int usage_error(const struct command *command, const char *format, ...)
{
    va_list args;
    char text[COMPLAINT_BYTES];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "weir %s: ", command->name);
    output_complaint(text);
    fprintf(stderr, "\nTry: weir %s --help\n", command->name);
    return EXIT_USAGE;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int no_command(const char *name)
{
    fputs("weir: there is no command \"", stderr);
    output_complaint(name);
    fputs("\". Try: weir --help\n", stderr);
    return EXIT_USAGE;
}

static int run_command(int argc, char **argv)
{
    const struct command *command = find_command(argv[0]);
    if (!command) return no_command(argv[0]);
    for (int i = 1; i < argc; i++) {
        if (!is_help(argv[i])) continue;
        fputs(command->help, stdout);
        return EXIT_DONE;
    }
    return command->run(argc, argv);
}

static int show_help(const char *about)
{
    const struct command *command = about ? find_command(about) : NULL;
    if (about && !command) return no_command(about);
    if (command) fputs(command->help, stdout);
    else print_help(stdout);
    return EXIT_DONE;
}

static int run_program(int argc, char **argv)
{
    if (fault_arm_from_env() != WEIR_OK) {
        fputs("weir: WEIR_FAULT is not of the form POINT:N, POINT:N+ or POINT:N!\n", stderr);
        return EXIT_USAGE;
    }
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("weir " WEIR_VERSION);
        return EXIT_DONE;
    }
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0)
        return show_help(argc > 2 ? argv[2] : NULL);
    return run_command(argc - 1, argv + 1);
}

/* A descriptor that was closed would be the next file that is opened. */
static bool open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        /* Nothing can be written to standard output then, and whoever writes there is told. */
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    /* A file that may not grow is to be told as any other error of writing. */
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    if (!open_standard_descriptors() || sigaction(SIGXFSZ, &ignored, NULL) != 0) return EXIT_FAILED;
    output_guard_errors();
    int exit_status = run_program(argc, argv);
    return output_finish() ? exit_status : EXIT_FAILED;
}
