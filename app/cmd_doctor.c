/* SPDX-License-Identifier: Apache-2.0 */
/* weir doctor: looks at everything between a command and its server, and says what to do. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "output.h"

static const char help[] =
    "usage: weir doctor [--json] [--url URL | --data FOLDER]\n"
    "\n"
    "Looks at everything between this command and its server, in order, and says what to do where\n"
    "something is wrong: the configuration, the name, connections over IPv4 and IPv6, TLS and its\n"
    "certificate, HTTP and versions, the key, the clocks, and whether event streams come through "
    "a\n"
    "proxy as they should: at once, one by one, and gone on with where they broke off. Without a\n"
    "URL: the data folder of this machine, its disk and its server. Nothing is written there but\n"
    "a file to measure the disk by, which is removed again.\n"
    "\n"
    "  --json     each check as a line of JSON: "
    "{\"check\",\"verdict\",\"text\",\"advice\"}\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  weir doctor\n"
    "  weir doctor --url https://weir.example\n"
    "  weir doctor --json | jq -r 'select(.verdict == \"fail\") | .advice'\n"
    "\n"
    "Exit status: 0 nothing failed (there may be warnings), 1 something did, 2 wrong usage.\n";

enum { TEXT_BYTES = 2 * XDG_PATH_BYTES + 512 };

static const char *const verdicts[] = {
    [DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "fail", [DOCTOR_SKIP] = "skip"};

static void print_json(enum doctor_verdict verdict, const char *check, const char *text,
                       const char *advice)
{
    struct weir_buf line;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    weir_json_put_begin_object(&line);
    weir_json_put_key(&line, "check");
    weir_json_put_str(&line, check);
    weir_json_put_key(&line, "verdict");
    weir_json_put_str(&line, verdicts[verdict]);
    weir_json_put_key(&line, "text");
    weir_json_put_str(&line, text);
    weir_json_put_key(&line, "advice");
    if (advice[0] != 0) weir_json_put_str(&line, advice);
    else weir_json_put_null(&line);
    weir_json_put_end_object(&line);
    output_line(&line);
    weir_buf_fini(&line);
}

void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *check,
                const char *advice, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (verdict == DOCTOR_FAIL) d->n_failed++;
    if (verdict == DOCTOR_WARN) d->n_warned++;
    if (d->is_json) {
        print_json(verdict, check, text, advice);
    } else {
        printf("%-5s %-14s ", verdicts[verdict], check);
        output_label(weir_slice_of(text), 0);
        putchar('\n');
        if (advice[0] != 0) printf("      %-14s > %s\n", "", advice);
    }
    (void)output_flush(); /* what comes next may take its time */
}

/* ---- the order ---- */

/* The first of the variables that name a proxy; NULL: none does. */
static const char *proxy_variable(void)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "http_proxy",
                                        "HTTP_PROXY",  "all_proxy",   "ALL_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (xdg_environment(names[i])) return names[i];
    return NULL;
}

/* Who relies on one should know, also where it works without; this machine needs none. */
static void say_proxy(struct doctor *d, bool is_near)
{
    const char *name = proxy_variable();
    if (name)
        doctor_say(d, is_near ? DOCTOR_OK : DOCTOR_WARN, "proxy",
                   is_near
                       ? ""
                       : "nothing, if it is reached below; if not, a tunnel: ssh -L 8080:HOST:PORT "
                         "GATEWAY, and --url to its end here",
                   "$%s is set, and not used: weir connects itself", name);
}

static void say_configuration(struct doctor *d)
{
    const struct client_config *c = d->config;
    const char *url = c->url;
    bool is_default = c->server_place.from == CONFIG_FROM_DEFAULT;
    doctor_say(d, DOCTOR_OK, "configuration", "", "%s%s%s%s", client_config_server(c),
               is_default ? "" : ", from ", is_default ? "" : c->server_place.text,
               c->has_file || c->is_local ? "" : " (no configuration file)");
    if (c->is_local) return;
    bool is_near = strncmp(url, "http://127.", 11) == 0 || strncmp(url, "http://[::1]", 12) == 0 ||
                   strncmp(url, "http://localhost", 16) == 0;
    say_proxy(d, is_near);
    if (c->has_other_key)
        doctor_say(d, DOCTOR_WARN, "key", "weir login, $WEIR_KEY or --key-file give it one",
                   "the key of %s is for another server and is not sent", c->file);
    if (c->key[0] != 0 && strncmp(url, "http://", 7) == 0 && !is_near)
        doctor_say(d, DOCTOR_WARN, "key", "put TLS in front of the server and use https",
                   "%s goes over the network in the clear", c->key_place.text);
}

static void look(struct doctor *d)
{
    say_configuration(d);
    if (d->config->is_local) {
        doctor_local(d);
        doctor_process(d);
        return;
    }
    if (doctor_reach(d) && doctor_http(d)) doctor_streams(d);
}

static int conclude(const struct doctor *d)
{
    if (!d->is_json && d->n_failed + d->n_warned == 0) puts("\nAll is well.");
    else if (!d->is_json) printf("\n%u failed, %u to be looked at.\n", d->n_failed, d->n_warned);
    return d->n_failed == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int examine(struct doctor *d, const struct client_flags *flags, struct client_config *config)
{
    char why[CLIENT_WHY_BYTES];
    const struct fetcher_options options = {.has_no_thread = true};
    int exit_status = client_config_find(flags, config, why);
    if (exit_status == EXIT_USAGE) {
        if (why[0] != 0) fprintf(stderr, "weir: %s\n", why);
        return EXIT_USAGE;
    }
    if (exit_status != EXIT_DONE) {
        doctor_say(d, DOCTOR_FAIL, "configuration", "weir whoami --help tells what there is to set",
                   "%s", why);
        exit_status = conclude(d);
    } else if (fetcher_new(&d->fetcher, NULL, &options) == WEIR_OK) {
        look(d);
        fetcher_free(d->fetcher);
        exit_status = conclude(d);
    } else {
        fprintf(stderr, "weir: %s\n", weir_status_text(WEIR_NOMEM));
        exit_status = EXIT_FAILED;
    }
    client_config_forget(config);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct client_flags flags = {0};
    struct client_config config;
    struct doctor d = {.config = &config};
    const struct option_row rows[] = {
        {.name = "json", .kind = OPTION_FLAG, .to = &d.is_json},
        CLIENT_OPTION_ROWS(&flags),
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&doctor_command, argc, argv, rows, &words, &n_words);
    if (exit_status != EXIT_DONE) return exit_status;
    if (n_words > 0) return usage_error(&doctor_command, "one word too many: \"%s\"", words[0]);
    return examine(&d, &flags, &config);
}

const struct command doctor_command = {
    .name = "doctor",
    .summary = "find out what is wrong between here and the server",
    .help = help,
    .run = run,
};
