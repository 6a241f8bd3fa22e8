/* SPDX-License-Identifier: Apache-2.0 */
/* weir completion: the scripts by which shells complete this program's words. */
#include <string.h>

#include <weir/json.h>

#include "completion.h"
#include "output.h"

static const char help[] =
    "usage: weir completion bash | zsh | fish\n"
    "       weir completion --json\n"
    "\n"
    "Prints a script that makes a shell complete commands, their words and their options. A weir\n"
    "that was installed has them in place; else:\n"
    "\n"
    "  bash       eval \"$(weir completion bash)\", in ~/.bashrc\n"
    "  zsh        weir completion zsh > ~/.zfunc/_weir, with fpath+=~/.zfunc before compinit\n"
    "  fish       weir completion fish > ~/.config/fish/completions/weir.fish\n"
    "\n"
    "  --json     what there is to complete, for other programs: a line for each command,\n"
    "             "
    "{\"command\",\"summary\",\"words\",\"options\":[{\"name\",\"value\",\"about\"}]}\n"
    "\n"
    "Examples:\n"
    "  eval \"$(weir completion bash)\"\n"
    "  weir completion --json | jq -r '.command'\n"
    "\n"
    "Exit status: 0 printed, 2 wrong usage.\n";

enum { SCRIPT_BYTES = 1 << 20 };

/* ---- as JSON ---- */

struct listing {
    struct weir_buf *line;
    const struct command *command;
};

static void put_word(void *user, struct weir_slice word)
{
    weir_json_put_string(user, word);
}

static void put_option(void *user, const struct option_row *row)
{
    const struct listing *l = user;
    weir_json_put_begin_object(l->line);
    weir_json_put_key(l->line, "name");
    weir_json_put_str(l->line, row->name);
    weir_json_put_key(l->line, "value");
    weir_json_put_bool(l->line, option_takes_value(row));
    weir_json_put_key(l->line, "about");
    weir_json_put_string(l->line, completion_about(l->command, row->name));
    weir_json_put_end_object(l->line);
}

static int print_json(void)
{
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    for (unsigned i = 0; i < n_commands; i++) {
        struct listing listing = {.line = &line, .command = commands[i]};
        weir_json_put_begin_object(&line);
        weir_json_put_key(&line, "command");
        weir_json_put_str(&line, commands[i]->name);
        weir_json_put_key(&line, "summary");
        weir_json_put_str(&line, commands[i]->summary);
        weir_json_put_key(&line, "words");
        weir_json_put_begin_array(&line);
        completion_words(commands[i], put_word, &line);
        weir_json_put_end_array(&line);
        weir_json_put_key(&line, "options");
        weir_json_put_begin_array(&line);
        options_each(commands[i], put_option, &listing);
        weir_json_put_end_array(&line);
        weir_json_put_end_object(&line);
        output_line(&line);
    }
    weir_buf_fini(&line);
    return EXIT_DONE;
}

/* ---- the command ---- */

static int print_script(const char *shell)
{
    struct weir_buf script;
    weir_buf_init(&script, SCRIPT_BYTES);
    bool is_known = completion_script(&script, shell);
    /* The last line end comes with the line. */
    if (is_known && script.len > 0) script.len--;
    if (is_known) output_line(&script);
    weir_buf_fini(&script);
    if (is_known) return EXIT_DONE;
    return usage_error(&completion_command, "bash, zsh or fish, and not \"%s\"", shell);
}

static int run(int argc, char **argv)
{
    bool is_json = false;
    const struct option_row rows[] = {
        {.name = "json", .kind = OPTION_FLAG, .to = &is_json},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&completion_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (is_json && n_words == 0) return print_json();
    if (n_words != 1 || is_json)
        return usage_error(&completion_command, "name one: bash, zsh, fish");
    return print_script(words[0]);
}

const struct command completion_command = {
    .name = "completion",
    .summary = "print what makes bash, zsh or fish complete weir's words",
    .help = help,
    .run = run,
};
