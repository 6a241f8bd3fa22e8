/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir login: asks for a key without showing it, tries it, and writes the configuration file. The
 * file is replaced as a whole or not at all, and is the user's alone from its first byte on.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/slice.h"
#include "output.h"
#include "remote.h"

static const char help[] =
    "usage: weir login URL [--ca-file FILE] [--json]\n"
    "\n"
    "Asks for a key of the server, without showing it, tries it, and writes both into\n"
    "~/.config/weir/config (or $XDG_CONFIG_HOME/weir/config), closed to others. From then on "
    "every\n"
    "command talks to that server; weir whoami tells. A file that is there already is not "
    "changed:\n"
    "add a section to it yourself, as [work], and choose it with --profile.\n"
    "\n"
    "  --ca-file  PEM of whom to trust, for a server with a certificate of its own\n"
    "  --json     what was written, as one line of JSON\n"
    "\n"
    "Examples:\n"
    "  weir login https://weir.example\n"
    "  pass show weir | weir login https://weir.example\n"
    "\n"
    "Exit status: 0 written, 1 the key is refused, the server cannot be reached or there is a "
    "file\n"
    "already, 2 wrong usage.\n";

enum { FILE_TEXT_BYTES = 16 << 10 };
_Static_assert(XDG_PATH_BYTES >= PATH_MAX, "realpath() writes that much");

/* ---- the key ---- */

static const char key_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._~+/=";

enum { CONTROL_C = 3 };

/* Byte by byte: what follows the line is not ours, and Ctrl-C ends one, too. */
static size_t read_line(char *out, size_t cap)
{
    size_t len = 0;
    for (char c; len < cap - 1 && read(STDIN_FILENO, &c, 1) == 1 && c != '\n' && c != '\r';) {
        out[len++] = c;
        if (c == CONTROL_C) break;
    }
    out[len] = 0;
    return len;
}

/* One line of standard input; on a terminal it is not shown while it is typed. */
static bool read_key(struct client_config *c)
{
    struct termios shown;
    bool is_hidden = tcgetattr(STDIN_FILENO, &shown) == 0;
    struct termios hidden = shown;
    if (is_hidden) {
        /* Ctrl-C ends the line, and then it is no key: so the terminal is always put right. */
        hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
        hidden.c_cc[VEOL] = hidden.c_cc[VINTR];
        is_hidden = tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0;
        fprintf(stderr, "Key of %s (it is not shown): ", c->url);
    }
    size_t len = read_line(c->key, sizeof c->key);
    if (is_hidden) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
        fputc('\n', stderr);
    }
    bool is_key = len > 0 && strspn(c->key, key_letters) == len;
    if (is_key) return true;
    fputs("weir: that is not a key; \"weir key create\" on the server makes one\n", stderr);
    return false;
}

/* ---- the file ---- */

static bool complain(const char *path)
{
    fprintf(stderr, "weir: %s: %s\n", path, strerror(errno));
    return false;
}

static void put_text(struct weir_buf *out, const struct client_config *c)
{
    weir_buf_printf(out, "# Written by weir login; see weir(1).\nurl = %s\nkey = %s\n", c->url,
                    c->key);
    if (c->ca_file[0] != 0) weir_buf_printf(out, "ca_file = %s\n", c->ca_file);
}

static bool write_new(const char *path, struct weir_slice text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return complain(path);
    bool is_written = write(fd, text.ptr, text.len) == (ssize_t)text.len && fsync(fd) == 0;
    if (!is_written) (void)complain(path);
    close(fd);
    if (!is_written) unlink(path);
    return is_written;
}

/* By a link and not a rename: a file that came meanwhile is not replaced. */
static bool put_in_place(const struct client_config *c, struct weir_slice text)
{
    char new_path[XDG_PATH_BYTES + 32];
    snprintf(new_path, sizeof new_path, "%s.%d.new", c->file, (int)getpid());
    if (!write_new(new_path, text)) return false;
    bool is_there = link(new_path, c->file) == 0 || complain(c->file);
    unlink(new_path);
    return is_there;
}

static bool write_file(struct client_config *c)
{
    char folder[XDG_PATH_BYTES];
    char given[XDG_PATH_BYTES]; /* from here; in the file, a path is from where the file is */
    memcpy(given, c->ca_file, sizeof given);
    struct weir_buf text;
    if (!xdg_folder(XDG_CONFIG, folder) || !data_folder_make(folder, NULL)) return false;
    if (c->ca_file[0] != 0 && !realpath(given, c->ca_file)) return complain(given);
    weir_buf_init(&text, FILE_TEXT_BYTES);
    put_text(&text, c);
    bool is_written = weir_buf_status(&text) == WEIR_OK && put_in_place(c, weir_buf_slice(&text));
    if (text.ptr) explicit_bzero(text.ptr, text.cap);
    weir_buf_fini(&text);
    return is_written;
}

static bool is_new(const struct client_config *c)
{
    if (!c->has_file) return true;
    fprintf(stderr,
            "weir: %s is there already and is not changed; add a section to it, as\n"
            "\n  [work]\n  url = %s\n  key = …\n\nand choose it with --profile work.\n",
            c->file, c->url);
    return false;
}

/* ---- the command ---- */

static void print_done(const struct client_config *c, bool is_json)
{
    struct weir_buf line;
    if (!is_json) {
        printf("%s has it now; weir whoami tells who you are.\n", c->file);
        return;
    }
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    weir_json_put_key(&line, "file");
    weir_json_put_str(&line, c->file);
    weir_json_put_key(&line, "url");
    weir_json_put_str(&line, c->url);
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

static int login(struct client_config *c, bool is_json)
{
    struct control_answer answer;
    const struct remote_request request = {.method = "GET", .path = "/v1/whoami"};
    if (!is_new(c) || !read_key(c)) return EXIT_FAILED;
    snprintf(c->key_place.text, sizeof c->key_place.text, "what was typed");
    if (!remote_call(c, &request, 200, &answer)) return EXIT_FAILED;
    weir_buf_fini(&answer.body);
    if (!write_file(c)) return EXIT_FAILED;
    print_done(c, is_json);
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct client_flags flags = {0};
    struct client_config config;
    bool is_json = false;
    const struct option_row rows[] = {
        {.name = "ca-file", .kind = OPTION_TEXT, .to = &flags.ca_file},
        {.name = "json", .kind = OPTION_FLAG, .to = &is_json},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&login_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words != 1)
        return usage_error(&login_command, "name one server, as https://weir.example");
    flags.url = words[0];
    exit_status = client_config_load(&flags, &config);
    if (exit_status == EXIT_DONE) exit_status = login(&config, is_json);
    client_config_forget(&config);
    return exit_status;
}

const struct command login_command = {
    .name = "login",
    .summary = "write the configuration: a server and a key that it takes",
    .help = help,
    .run = run,
};
