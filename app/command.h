/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command of the weir program: one file defines one, main.c lists them.
 *
 * Exit statuses are the same everywhere: see enum exit_status.
 */
#pragma once

enum exit_status {
    EXIT_DONE = 0,   /* it worked, and the result is whole */
    EXIT_FAILED = 1, /* the input or the world is wrong; standard error or the output says how */
    EXIT_USAGE = 2,  /* the command line is wrong */
    EXIT_INCOMPLETE = 3, /* the input ended before the result did */
};

struct command {
    const char *name;
    const char *summary;               /* one line for the list of commands */
    const char *help;                  /* what `weir NAME --help` prints */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command ask_command;
extern const struct command chat_command;
extern const struct command completion_command;
extern const struct command cron_command;
extern const struct command decode_command;
extern const struct command doctor_command;
extern const struct command documents_command;
extern const struct command gate_command;
extern const struct command import_command;
extern const struct command key_command;
extern const struct command link_command;
extern const struct command login_command;
extern const struct command memory_command;
extern const struct command session_command;
extern const struct command plan_command;
extern const struct command replay_command;
extern const struct command search_command;
extern const struct command series_command;
extern const struct command serve_command;
extern const struct command shield_command;
extern const struct command skills_command;
extern const struct command stat_command;
extern const struct command store_command;
extern const struct command trace_command;
extern const struct command turns_command;
extern const struct command verify_command;
extern const struct command watch_command;
extern const struct command whoami_command;

/* All of them, in the order of the help. */
extern const struct command *const commands[];
extern const unsigned n_commands;

/* Says what is wrong with the command line and where help is; returns EXIT_USAGE. */
int usage_error(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
