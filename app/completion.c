/* SPDX-License-Identifier: Apache-2.0 */
#include "completion.h"

#include <string.h>

#include "base/slice.h"

/* ---- what help says ---- */

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || c == '-';
}

/* The word at the beginning of a text, without brackets; empty when it is no plain word. */
static struct weir_slice plain_word(const char *text)
{
    text += strspn(text, "[ ");
    size_t len = 0;
    while (is_lower(text[len])) len++;
    bool ends = text[len] == 0 || strchr(" \n]|", text[len]) != NULL;
    return slice_of(text, ends && len > 1 && text[0] != '-' ? len : 0);
}

static const char *line_end(const char *text)
{
    return text + strcspn(text, "\n");
}

static void words_of_line(const char *line, const char *name,
                          void (*each)(void *user, struct weir_slice word), void *user)
{
    size_t n_name = strlen(name);
    const char *end = line_end(line);
    const char *at = strstr(line, "weir ");
    bool is_ours = at && at < end && strncmp(at + 5, name, n_name) == 0;
    struct weir_slice word = plain_word(is_ours ? at + 5 + n_name : "");
    if (word.len > 0) each(user, word);
    for (at = line; at < end; at++) {
        if (at[0] != '|') continue;
        word = plain_word(at + 1);
        if (word.len > 0) each(user, word);
    }
}

void completion_words(const struct command *command,
                      void (*each)(void *user, struct weir_slice word), void *user)
{
    const char *line = command->help;
    while (*line && *line != '\n') {
        words_of_line(line, command->name, each, user);
        line = line_end(line);
        line += *line == '\n';
    }
}

/*
 * "--listen HOST:PORT   where to listen", "--from, --to  only days", and in a table of them,
 * "--max-head 16K   --max-body 1M": what stands behind the gap, or before it.
 */
static struct weir_slice about_of(const char *rest, const char *end)
{
    const char *gap = strstr(rest, "  ");
    if (!gap || gap > end) gap = end;
    const char *text = gap + strspn(gap, " ");
    bool is_table = text >= end || strncmp(text, "--", 2) == 0;
    if (!is_table) return slice_of(text, (size_t)(end - text));
    rest += strspn(rest, " ,");
    return slice_of(rest, rest < gap ? (size_t)(gap - rest) : 0);
}

struct weir_slice completion_about(const struct command *command, const char *option)
{
    size_t len = strlen(option);
    for (const char *line = command->help; *line; line += *line == '\n') {
        const char *end = line_end(line);
        const char *at = line + strspn(line, " ");
        bool has_options = at > line && strncmp(at, "--", 2) == 0;
        while (has_options && (at = strstr(at, "--")) && at < end) {
            at += 2;
            if (strncmp(at, option, len) == 0 && strchr(" ,\n", at[len]))
                return about_of(at + len, end);
        }
        line = end;
    }
    return SLICE("");
}

/* ---- scripts ---- */

struct script {
    struct weir_buf *out;
    const struct command *command;
    unsigned n; /* words of a list so far */
};

/* Text in single quotes of the shell at hand; `also` are signs that get a backslash, too. */
static void put_quoted(struct weir_buf *out, struct weir_slice text, const char *also)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'') weir_buf_append_str(out, "'\\''");
        else if (strchr(also, text.ptr[i])) weir_buf_printf(out, "\\%c", text.ptr[i]);
        else weir_buf_append_char(out, text.ptr[i]);
    }
}

static void put_word(void *user, struct weir_slice word)
{
    struct script *s = user;
    if (s->n++ > 0) weir_buf_append_char(s->out, ' ');
    weir_buf_append_slice(s->out, word);
}

static void put_words(struct script *s)
{
    s->n = 0;
    completion_words(s->command, put_word, s);
}

static void count_word(void *user, struct weir_slice word)
{
    (void)word;
    ++*(unsigned *)user;
}

static bool has_words(const struct command *command)
{
    unsigned n = 0;
    completion_words(command, count_word, &n);
    return n > 0;
}

static void put_commands(struct weir_buf *out)
{
    for (unsigned i = 0; i < n_commands; i++)
        weir_buf_printf(out, "%s%s", i > 0 ? " " : "", commands[i]->name);
}

static bool is_folder(const struct option_row *row)
{
    return strcmp(row->name, "data") == 0;
}

/* ---- bash ---- */

static void put_bash_option(void *user, const struct option_row *row)
{
    struct script *s = user;
    weir_buf_printf(s->out, " --%s", row->name);
}

static void put_bash_value(void *user, const struct option_row *row)
{
    if (option_takes_value(row)) put_bash_option(user, row);
}

static void put_bash_command(struct script *s)
{
    weir_buf_printf(s->out, "    %s)\n        words='", s->command->name);
    put_words(s);
    weir_buf_append_str(s->out, "'\n        options='--help");
    options_each(s->command, put_bash_option, s);
    weir_buf_append_str(s->out, "'\n        values='");
    options_each(s->command, put_bash_value, s);
    weir_buf_append_str(s->out, " '\n        ;;\n");
}

static const char bash_begin[] =
    "# Completions of weir for bash; made by: weir completion bash\n"
    "_weir() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local words='' options='' values=''\n"
    "    COMPREPLY=()\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        words=\"$_weir_commands help\"\n"
    "        [[ $cur == -* ]] && words='--help --version'\n"
    "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "        return\n"
    "    fi\n"
    "    case ${COMP_WORDS[1]} in\n"
    "    help) words=$_weir_commands ;;\n";

/* Where nothing is found, files are: by -o default. */
static const char bash_end[] = "    esac\n"
                               "    if [[ $values == *\" $prev \"* ]]; then\n"
                               "        [ \"$prev\" = --data ] && compopt -o dirnames 2>/dev/null\n"
                               "        return\n"
                               "    fi\n"
                               "    if [[ $cur == -* ]]; then\n"
                               "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                               "    elif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                               "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                               "    fi\n"
                               "}\n"
                               "complete -o default -F _weir weir\n";

static void put_bash(struct weir_buf *out)
{
    weir_buf_append_str(out, bash_begin);
    for (unsigned i = 0; i < n_commands; i++)
        put_bash_command(&(struct script){.out = out, .command = commands[i]});
    weir_buf_append_str(out, bash_end);
    weir_buf_append_str(out, "_weir_commands='");
    put_commands(out);
    weir_buf_append_str(out, "'\n");
}

/* ---- zsh ---- */

static void put_zsh_option(void *user, const struct option_row *row)
{
    struct script *s = user;
    const char *again = row->kind == OPTION_TEXTS ? "*" : "";
    weir_buf_printf(s->out, " \\\n            '%s--%s[", again, row->name);
    put_quoted(s->out, completion_about(s->command, row->name), "[]:\\");
    weir_buf_append_char(s->out, ']');
    if (option_takes_value(row))
        weir_buf_printf(s->out, ":%s:%s", row->name, is_folder(row) ? "_files -/" : "_files");
    weir_buf_append_char(s->out, '\'');
}

static void put_zsh_command(struct script *s)
{
    weir_buf_printf(s->out, "    %s)\n        _arguments '--help[what it does]'", s->command->name);
    options_each(s->command, put_zsh_option, s);
    if (has_words(s->command)) {
        weir_buf_append_str(s->out, " \\\n            '1:what:(");
        put_words(s);
        weir_buf_append_str(s->out, ")'");
    }
    weir_buf_append_str(s->out, " \\\n            '*:file:_files'\n        ;;\n");
}

static void put_zsh(struct weir_buf *out)
{
    weir_buf_append_str(out, "#compdef weir\n"
                             "# Completions of weir for zsh; made by: weir completion zsh\n"
                             "_weir() {\n"
                             "    local -a commands\n"
                             "    commands=(\n");
    for (unsigned i = 0; i < n_commands; i++) {
        weir_buf_printf(out, "        '%s:", commands[i]->name);
        put_quoted(out, weir_slice_of(commands[i]->summary), ":\\");
        weir_buf_append_str(out, "'\n");
    }
    weir_buf_append_str(out, "    )\n"
                             "    if (( CURRENT == 2 )); then\n"
                             "        _describe -t commands 'command' commands\n"
                             "        return\n"
                             "    fi\n"
                             "    shift words\n"
                             "    (( CURRENT-- ))\n"
                             "    case $words[1] in\n");
    for (unsigned i = 0; i < n_commands; i++)
        put_zsh_command(&(struct script){.out = out, .command = commands[i]});
    weir_buf_append_str(out, "    esac\n"
                             "}\n"
                             "if [ \"$funcstack[1]\" = _weir ]; then _weir \"$@\"; "
                             "else compdef _weir weir; fi\n");
}

/* ---- fish ---- */

/* Its single quotes know two escapes. */
static void put_fish_about(struct weir_buf *out, struct weir_slice about)
{
    weir_buf_append_str(out, " -d '");
    for (size_t i = 0; i < about.len; i++) {
        if (strchr("'\\", about.ptr[i])) weir_buf_append_char(out, '\\');
        weir_buf_append_char(out, about.ptr[i]);
    }
    weir_buf_append_str(out, "'\n");
}

static void put_fish_option(void *user, const struct option_row *row)
{
    struct script *s = user;
    weir_buf_printf(s->out, "complete -c weir -n '__fish_seen_subcommand_from %s' -l %s",
                    s->command->name, row->name);
    if (option_takes_value(row)) weir_buf_append_str(s->out, " -r");
    if (is_folder(row)) weir_buf_append_str(s->out, " -a '(__fish_complete_directories)'");
    put_fish_about(s->out, completion_about(s->command, row->name));
}

static void put_fish_command(struct script *s)
{
    const char *name = s->command->name;
    weir_buf_printf(s->out, "complete -c weir -n __fish_use_subcommand -f -a %s", name);
    put_fish_about(s->out, weir_slice_of(s->command->summary));
    if (has_words(s->command)) {
        weir_buf_printf(s->out,
                        "complete -c weir -n '__fish_seen_subcommand_from %s; and not "
                        "__fish_seen_subcommand_from ",
                        name);
        put_words(s);
        weir_buf_append_str(s->out, "' -f -a '");
        put_words(s);
        weir_buf_append_str(s->out, "'\n");
    }
    options_each(s->command, put_fish_option, s);
}

static void put_fish(struct weir_buf *out)
{
    weir_buf_append_str(out, "# Completions of weir for fish; made by: weir completion fish\n"
                             "complete -c weir -l help -d 'what it does'\n"
                             "complete -c weir -n __fish_use_subcommand -l version -d version\n");
    for (unsigned i = 0; i < n_commands; i++)
        put_fish_command(&(struct script){.out = out, .command = commands[i]});
}

bool completion_script(struct weir_buf *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0) put_bash(out);
    else if (strcmp(shell, "zsh") == 0) put_zsh(out);
    else if (strcmp(shell, "fish") == 0) put_fish(out);
    else return false;
    return true;
}
