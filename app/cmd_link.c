/* SPDX-License-Identifier: Apache-2.0 */
/* weir link: makes links to one stream, and makes all of them void, while the server runs or not.
 */
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/slice.h"
#include "output.h"
#include "remote.h"
#include "serve/link.h"

static const char help[] =
    "usage: weir link create STREAM [--expires 1h] [--json]\n"
    "       weir link rotate [--json]\n"
    "           both with [--url URL | --data FOLDER]\n"
    "\n"
    "A link lets whoever has it read one stream until it expires, and do nothing else: no key\n"
    "is needed, or given away. It is for a browser, whose EventSource can send no key.\n"
    "Both work while the server runs, and take effect at once; over the network they need a key\n"
    "with the scope admin.\n"
    "\n"
    "  create     prints the path of the stream with a signed token; put the server's address\n"
    "             before it. The stream need not be there yet. The token is good for\n"
    "             /v1/stream/STREAM?link=TOKEN (Durable Streams) too\n"
    "  rotate     makes all links void that were ever made; those made from now on work.\n"
    "             Readers that are at it are not cut off, but cannot come again\n"
    "\n"
    "  --expires  how long it opens the stream, as 90s, 12h or 7d, a year at most; without: 1h.\n"
    "             Nothing is kept for a link, so one alone cannot be taken back: keep it short\n"
    "  --json     stream, time of its end, token and path as a JSON object\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  curl -N \"http://127.0.0.1:8080$(weir link create demo)\"\n"
    "  weir link create chat/42 --expires 15m\n"
    "\n"
    "In a page: new EventSource(\"https://example.com\" + path). A page of another origin needs\n"
    "weir serve --cors-origin. A service makes links by POST /v1/links with an admin key.\n"
    "\n"
    "Exit status: 0 done, 1 error, 2 wrong usage.\n";

struct link_options {
    struct client_flags flags;
    const char *stream;
    unsigned lasts_s;
    bool is_json;
};

static int failed(enum weir_status st)
{
    fprintf(stderr, "weir: %s\n", weir_status_text(st));
    return EXIT_FAILED;
}

/* The links of a store that no server has open. */
static int open_links(struct store *store, struct links **links)
{
    enum weir_status st = links_open(links, store, &clock_system);
    return st == WEIR_OK ? EXIT_DONE : failed(st);
}

/* ---- create ---- */

static int print_path(struct weir_slice json)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_slice path = {0};
    if (doc && weir_json_parse(doc, json, &v, NULL) == WEIR_OK)
        path = weir_json_text(weir_json_get_str(v, "path"));
    output_label(path, 0);
    if (path.len > 0) putchar('\n');
    weir_json_doc_free(doc);
    return path.len > 0 ? EXIT_DONE : failed(WEIR_INTERNAL);
}

static int print_link(struct weir_slice json, const struct link_options *o)
{
    if (!o->is_json) return print_path(json);
    return output_json(json) ? EXIT_DONE : EXIT_FAILED;
}

static int print_created(struct control_answer *answer, void *user)
{
    if (answer->status != 201) return remote_refused(answer);
    return print_link(weir_buf_slice(&answer->body), user);
}

static int create_offline(struct store *store, void *user)
{
    const struct link_options *o = user;
    struct links *links;
    struct weir_buf json;
    struct link link = {.stream = weir_slice_of(o->stream), .lasts_s = o->lasts_s};
    int exit_status = open_links(store, &links);
    if (exit_status != EXIT_DONE) return exit_status;
    enum weir_status st = links_make(links, &link);
    links_close(links);
    if (st != WEIR_OK) return failed(st);
    weir_buf_init(&json, LINK_JSON_BYTES);
    link_put(&json, &link);
    st = weir_buf_status(&json);
    exit_status = st == WEIR_OK ? print_link(weir_buf_slice(&json), o) : failed(st);
    weir_buf_fini(&json);
    return exit_status;
}

static void put_body(struct weir_buf *body, const struct link_options *o)
{
    weir_json_put_begin_object(body);
    weir_json_put_key(body, "stream");
    weir_json_put_str(body, o->stream);
    weir_json_put_key(body, "expires_in");
    weir_json_put_uint(body, o->lasts_s);
    weir_json_put_end_object(body);
}

static int create(struct link_options *o, const struct client_config *c)
{
    struct weir_buf body;
    const char *why;
    const struct link link = {.stream = weir_slice_of(o->stream), .lasts_s = o->lasts_s};
    if (!link_is_valid(&link, &why)) return usage_error(&link_command, "%s", why);
    if (c->is_local && !data_folder_is_there(c->folder)) return EXIT_FAILED;
    weir_buf_init(&body, LINK_JSON_BYTES);
    put_body(&body, o);
    int exit_status = remote_data_run(c, &(struct data_request){
                                             .method = "POST",
                                             .path = "/v1/links",
                                             .body = weir_buf_slice(&body),
                                             .answered = print_created,
                                             .offline = create_offline,
                                             .user = o,
                                         });
    weir_buf_fini(&body);
    return exit_status;
}

/* ---- rotate ---- */

/* Without --json there is nothing to say. */
static int print_rotated(const struct link_options *o)
{
    if (o->is_json) puts("{\"rotated\":true}");
    return EXIT_DONE;
}

static int check_rotated(struct control_answer *answer, void *user)
{
    return answer->status == 204 ? print_rotated(user) : remote_refused(answer);
}

static int rotate_offline(struct store *store, void *user)
{
    struct links *links;
    int exit_status = open_links(store, &links);
    if (exit_status != EXIT_DONE) return exit_status;
    enum weir_status st = links_rotate(links);
    links_close(links);
    return st == WEIR_OK ? print_rotated(user) : failed(st);
}

static int rotate(struct link_options *o, const struct client_config *c)
{
    if (c->is_local && !data_folder_is_there(c->folder)) return EXIT_FAILED;
    return remote_data_run(c, &(struct data_request){
                                  .method = "DELETE",
                                  .path = "/v1/links",
                                  .answered = check_rotated,
                                  .offline = rotate_offline,
                                  .user = o,
                              });
}

/* ---- the command ---- */

static int run_words(struct link_options *o, char **words, int n_words)
{
    struct client_config c;
    const char *what = n_words > 0 ? words[0] : "";
    bool is_create = strcmp(what, "create") == 0;
    if (!is_create && strcmp(what, "rotate") != 0)
        return usage_error(&link_command, "say what to do: create or rotate");
    if (is_create && n_words != 2)
        return usage_error(&link_command, "create takes the name of one stream");
    if (!is_create && n_words > 1)
        return usage_error(&link_command, "one word too many: \"%s\"", words[1]);
    if (is_create) o->stream = words[1];
    int exit_status = client_config_load(&o->flags, &c);
    if (exit_status != EXIT_DONE) return exit_status;
    exit_status = is_create ? create(o, &c) : rotate(o, &c);
    client_config_forget(&c);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct link_options o = {.lasts_s = LINK_DEFAULT_LIFE_S};
    const struct option_row rows[] = {
        CLIENT_OPTION_ROWS(&o.flags),
        {.name = "expires",
         .kind = OPTION_LIFE,
         .to = &o.lasts_s,
         .min = 1,
         .max = LINK_MAX_LIFE_S},
        {.name = "json", .kind = OPTION_FLAG, .to = &o.is_json},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&link_command, argc, argv, rows, &words, &n_words);
    return exit_status == EXIT_DONE ? run_words(&o, words, n_words) : exit_status;
}

const struct command link_command = {
    .name = "link",
    .summary = "make links that let a browser read one stream for a while",
    .help = help,
    .run = run,
};
