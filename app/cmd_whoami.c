/* SPDX-License-Identifier: Apache-2.0 */
/* weir whoami: which server commands talk to, with which key, and who said so. */
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/clock.h"
#include "base/slice.h"
#include "output.h"
#include "remote.h"

static const char help[] =
    "usage: weir whoami [--print-key] [--json] [--url URL | --data FOLDER]\n"
    "\n"
    "Tells which server the commands of weir talk to, with which key, what that key may do, and\n"
    "where each of this was configured. The first that says something holds: the command line,\n"
    "the environment, the file ~/.config/weir/config, else the data folder of this machine.\n"
    "\n"
    "  --print-key  the key alone, without asking the server; for other programs\n"
    "  --json       the same as one line of JSON\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir whoami\n"
    "  curl -H \"Authorization: Bearer $(weir whoami --print-key)\" https://weir.example/v1/turns\n"
    "  weir whoami --profile work --json | jq -r .key.expires\n"
    "\n"
    "weir login URL writes the configuration file; weir doctor looks for what is wrong.\n"
    "\n"
    "Exit status: 0 the server knows you (or none runs on the folder), 1 it does not, or cannot "
    "be\n"
    "reached, 2 wrong usage.\n";

static const struct weir_json *member(const struct weir_json *v, const char *key)
{
    return weir_json_get_str(v, key);
}

static void put_place(struct weir_buf *out, const char *key, const struct config_place *place)
{
    weir_json_put_key(out, key);
    if (place->from == CONFIG_FROM_DEFAULT) weir_json_put_null(out);
    else weir_json_put_str(out, place->text);
}

/* ---- as JSON ---- */

static void print_json(const struct client_config *c, const struct weir_json *answer)
{
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    weir_json_put_key(&line, "server");
    weir_json_put_str(&line, client_config_server(c));
    weir_json_put_key(&line, "local");
    weir_json_put_bool(&line, c->is_local);
    put_place(&line, "server_from", &c->server_place);
    put_place(&line, "key_from", &c->key_place);
    weir_json_put_key(&line, "running");
    weir_json_put_bool(&line, answer != NULL);
    for (const struct weir_json *v = weir_json_first(answer); v; v = weir_json_next(v)) {
        weir_json_put_key_slice(&line, weir_json_key(v));
        weir_json_put_value(&line, v);
    }
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

/* ---- for people ---- */

static void print_text(const struct weir_json *v)
{
    output_label(weir_json_text(v), 0);
}

static void print_from(const struct config_place *place)
{
    if (place->from == CONFIG_FROM_DEFAULT) putchar('\n');
    else printf("  (%s)\n", place->text);
}

static void print_key(const struct client_config *c, const struct weir_json *answer)
{
    const struct weir_json *key = member(answer, "key");
    if (weir_json_type_of(key) != WEIR_JSON_OBJECT) {
        struct weir_slice way = weir_json_text(member(answer, "access"));
        if (weir_slice_is(way, "token")) printf("key      a token of somebody else");
        else printf("key      none is needed");
        print_from(&c->key_place);
        return;
    }
    printf("key      ");
    print_text(member(key, "name"));
    if (weir_json_text(member(key, "label")).len > 0) {
        printf(", \"");
        print_text(member(key, "label"));
        printf("\"");
    }
    print_from(&c->key_place);
}

static void print_rights(const struct weir_json *answer)
{
    const struct weir_json *scope = weir_json_first(member(answer, "scopes"));
    struct weir_slice prefix = weir_json_text(member(member(answer, "key"), "prefix"));
    printf("may      ");
    for (const char *comma = ""; scope; scope = weir_json_next(scope), comma = ", ") {
        printf("%s", comma);
        print_text(scope);
    }
    if (prefix.len > 0) printf("; streams that begin with ");
    output_label(prefix, 0);
    putchar('\n');
}

static void print_end(const struct weir_json *key)
{
    int64_t ends_ms;
    struct weir_slice ends = weir_json_text(member(key, "expires"));
    if (weir_json_type_of(key) != WEIR_JSON_OBJECT) return;
    if (!clock_parse(ends, &ends_ms)) {
        puts("expires  never");
        return;
    }
    long long days = (long long)((ends_ms - clock_wall_ms(&clock_system)) / 86400000);
    printf("expires  %.*s, in %lld day%s\n", (int)ends.len, ends.ptr, days, days == 1 ? "" : "s");
}

static void print_plain(const struct client_config *c, const struct weir_json *answer)
{
    printf("server   %s", client_config_server(c));
    if (answer) {
        printf(", weir ");
        print_text(member(answer, "version"));
    }
    print_from(&c->server_place);
    if (c->profile[0] != 0) printf("profile  %s\n", c->profile);
    if (!answer) {
        puts("         none runs now: commands that need one serve themselves");
        return;
    }
    print_key(c, answer);
    printf("owner    ");
    print_text(member(answer, "owner"));
    putchar('\n');
    print_rights(answer);
    print_end(member(answer, "key"));
}

/* ---- asking ---- */

static int show(const struct client_config *c, struct weir_slice json, bool is_json)
{
    const struct weir_json *answer = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? WEIR_OK : WEIR_NOMEM;
    if (st == WEIR_OK && json.len > 0) st = weir_json_parse(doc, json, &answer, NULL);
    if (st != WEIR_OK)
        fprintf(stderr, "weir: what %s answers cannot be read: %s\n", client_config_server(c),
                weir_status_text(st));
    else if (is_json) print_json(c, answer);
    else print_plain(c, answer);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? EXIT_DONE : EXIT_FAILED;
}

static int ask(const struct client_config *c, bool is_json)
{
    char why[REMOTE_WHY_BYTES];
    struct control_answer answer;
    const struct remote_request request = {.method = "GET", .path = "/v1/whoami"};
    int exit_status = EXIT_FAILED;
    enum weir_status st = remote_request(c, &request, &answer, why);
    bool is_nobody = c->is_local && st == WEIR_NOT_FOUND;
    if (is_nobody) exit_status = show(c, SLICE(""), is_json);
    else if (st == WEIR_OK && answer.status == 200)
        exit_status = show(c, weir_buf_slice(&answer.body), is_json);
    else if (st == WEIR_OK) remote_explain(c, &answer, why);
    if (exit_status != EXIT_DONE && why[0] != 0) fprintf(stderr, "weir: %s\n", why);
    weir_buf_fini(&answer.body);
    return exit_status;
}

static int print_key_alone(const struct client_config *c)
{
    if (c->key[0] != 0) {
        puts(c->key);
        return EXIT_DONE;
    }
    if (c->is_local) fprintf(stderr, "weir: %s needs no key: it is on this machine\n", c->folder);
    else if (c->has_other_key)
        fprintf(stderr, "weir: the key of %s is for another server than %s\n", c->file, c->url);
    else
        fprintf(stderr, "weir: there is no key for %s; \"weir login %s\" asks for one\n", c->url,
                c->url);
    return EXIT_FAILED;
}

static int run(int argc, char **argv)
{
    struct client_flags flags = {.tells_waiting = true};
    struct client_config config;
    bool is_json = false, is_key = false;
    const struct option_row rows[] = {
        {.name = "print-key", .kind = OPTION_FLAG, .to = &is_key},
        {.name = "json", .kind = OPTION_FLAG, .to = &is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&whoami_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 0) return usage_error(&whoami_command, "one word too many: \"%s\"", words[0]);
    exit_status = client_config_load(&flags, &config);
    if (exit_status == EXIT_DONE)
        exit_status = is_key ? print_key_alone(&config) : ask(&config, is_json);
    client_config_forget(&config);
    return exit_status;
}

const struct command whoami_command = {
    .name = "whoami",
    .summary = "tell which server, which key, and who configured them",
    .help = help,
    .run = run,
};
