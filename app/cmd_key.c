/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir key: makes, lists and revokes API keys, while the server runs or not; and makes links that
 * log a browser in, while it runs.
 */
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/slice.h"
#include "output.h"
#include "remote.h"
#include "serve/access.h"

enum {
    BODY_BYTES = 8192,
    LIST_BYTES = 16 << 20,
    PATH_BYTES = 64,
    DAY_BYTES = 10, /* "2026-01-02" */
    PREFIX_COLUMNS = 12,
};

static const char help[] =
    "usage: weir key create [--label TEXT] [--scopes read,write,admin] [--prefix chat/]\n"
    "                       [--expires 30d] [--owner USER] [--rate N/s] [--burst N] [--json]\n"
    "       weir key list   [--json]\n"
    "       weir key revoke NAME [--json]\n"
    "       weir key link   [NAME | --owner USER] [--json]\n"
    "           each with [--url URL | --data FOLDER]\n"
    "\n"
    "A client of weir serve sends its key with every request: Authorization: Bearer KEY.\n"
    "All work while the server runs, and take effect at once; over the network they need a key\n"
    "with the scope admin.\n"
    "\n"
    "  create     prints the new key alone on standard output. It is shown this once:\n"
    "             the store keeps a hash of it only\n"
    "  list       prints the keys by name, never the keys themselves\n"
    "  revoke     refuses a key from now on; NAME is the part after weir_, as in the list\n"
    "  link       prints the address of the page, with what logs a browser in there: once, within\n"
    "             10 minutes, with the rights of the key NAME. Without NAME that is a key with "
    "the\n"
    "             label page, which is made when there is none. The server has to run\n"
    "\n"
    "  --label    what the key is for, for you to read in the list\n"
    "  --scopes   what it may do: read (watch), write (append, drop), admin (keys, checks).\n"
    "             Without this option: read,write\n"
    "  --prefix   it may touch the streams whose name begins with this, and nothing else:\n"
    "             chat/ is for chat/1, not for chatter. Without: all of them\n"
    "  --expires  how long it lasts, as 12h or 30d; without: until it is revoked. A reader that\n"
    "             is at it then is not cut off, but cannot come again\n"
    "  --owner    whose key it is; link: whose page, without: me\n"
    "  --rate     how many requests it may make, as 10/s or 600/m; without: no limit\n"
    "  --burst    how many of them at once; without: what --rate allows in a second\n"
    "  --json     each key as a line of JSON; create: with the key itself; link: address, end and\n"
    "             key as a JSON object\n" CLIENT_HELP "\n"
    "Examples:\n"
    "  KEY=$(weir key create --label laptop)\n"
    "  curl -N -H \"Authorization: Bearer $KEY\" http://127.0.0.1:8080/v1/streams/demo\n"
    "  weir key create --label dashboard --scopes read --rate 5/s\n"
    "  weir key create --label chat-service --prefix chat/ --expires 90d\n"
    "\n"
    "For one browser and one stream a link is better than a key: weir link --help.\n"
    "\n"
    "Exit status: 0 done, 1 error, 2 wrong usage.\n";

struct key_options {
    struct client_flags flags;
    const char *label;
    const char *scopes;
    const char *owner;
    const char *prefix;
    unsigned lasts_s;
    double rate;
    unsigned burst;
    bool is_json;
};

static int failed(enum weir_status st)
{
    fprintf(stderr, "weir: %s\n", weir_status_text(st));
    return EXIT_FAILED;
}

/* Keys of a store that no server has open. */
static int with_keys(struct store *store, void *user, int (*use)(struct keys *keys, void *user))
{
    struct keys *keys;
    enum weir_status st = keys_open(&keys, store, &clock_system);
    if (st != WEIR_OK) return failed(st);
    int exit_status = use(keys, user);
    keys_close(keys);
    return exit_status;
}

/* ---- create ---- */

/* What is made of what was wished for. */
struct making {
    struct key_info info;
    bool is_json;
};

static int print_created(struct control_answer *answer, void *user)
{
    const struct making *m = user;
    const struct weir_json *v = NULL;
    if (answer->status != 201) return remote_refused(answer);
    if (m->is_json) return output_json(weir_buf_slice(&answer->body)) ? EXIT_DONE : EXIT_FAILED;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_slice key = {0};
    if (doc && weir_json_parse(doc, weir_buf_slice(&answer->body), &v, NULL) == WEIR_OK)
        key = weir_json_text(weir_json_get_str(v, "key"));
    output_label(key, 0);
    putchar('\n');
    weir_json_doc_free(doc);
    return key.len > 0 ? EXIT_DONE : failed(WEIR_INTERNAL);
}

static int create_key(struct keys *keys, void *user)
{
    char text[KEY_TEXT_BYTES];
    struct weir_buf line;
    const struct making *m = user;
    struct key_info info = m->info;
    enum weir_status st = keys_create(keys, &info, text);
    if (st != WEIR_OK) return failed(st);
    weir_buf_init(&line, LIST_BYTES);
    if (m->is_json) key_info_put(&line, &info, text);
    else weir_buf_append_str(&line, text);
    output_line(&line);
    if (line.ptr) explicit_bzero(line.ptr, line.cap);
    weir_buf_fini(&line);
    explicit_bzero(text, sizeof text);
    return EXIT_DONE;
}

static int create_offline(struct store *store, void *user)
{
    return with_keys(store, user, create_key);
}

static bool fits(const char *text, char *out, size_t cap)
{
    size_t len = text ? strlen(text) : 0;
    if (len >= cap) return false;
    if (len > 0) memcpy(out, text, len);
    out[len] = 0;
    return true;
}

/* EXIT_DONE when the options describe a key. */
static int describe(const struct key_options *o, struct key_info *info)
{
    const char *why;
    *info = (struct key_info){
        .scopes = SCOPE_READ | SCOPE_WRITE,
        .rate_per_s = o->rate,
        .burst = o->burst,
        .lasts_s = o->lasts_s,
    };
    if (o->scopes && !scopes_parse(weir_slice_of(o->scopes), &info->scopes))
        return usage_error(&key_command, "--scopes takes some of read,write,admin, not \"%s\"",
                           o->scopes);
    if (!fits(o->label, info->label, sizeof info->label))
        return usage_error(&key_command, "--label takes up to 63 bytes");
    if (!fits(o->owner, info->owner, sizeof info->owner))
        return usage_error(&key_command, "--owner takes up to 63 bytes");
    if (!fits(o->prefix, info->prefix, sizeof info->prefix))
        return usage_error(&key_command, "--prefix takes up to 127 bytes");
    if (!key_info_is_valid(info, &why)) return usage_error(&key_command, "%s", why);
    return EXIT_DONE;
}

static void put_body(struct weir_buf *body, const struct key_info *info)
{
    weir_json_put_begin_object(body);
    key_info_put_wish(body, info);
    if (info->lasts_s > 0) {
        weir_json_put_key(body, "expires_in");
        weir_json_put_int(body, info->lasts_s);
    }
    weir_json_put_end_object(body);
}

static int create(const struct key_options *o, const struct client_config *c)
{
    struct making m = {.is_json = o->is_json};
    struct weir_buf body;
    int exit_status = describe(o, &m.info);
    if (exit_status != EXIT_DONE) return exit_status;
    if (c->is_local && !data_folder_make(c->folder, NULL)) return EXIT_FAILED;
    weir_buf_init(&body, BODY_BYTES);
    put_body(&body, &m.info);
    exit_status = remote_data_run(c, &(struct data_request){
                                         .method = "POST",
                                         .path = "/v1/keys",
                                         .body = weir_buf_slice(&body),
                                         .answered = print_created,
                                         .offline = create_offline,
                                         .user = &m,
                                     });
    weir_buf_fini(&body);
    return exit_status;
}

/* ---- list ---- */

static void print_cell(struct weir_slice text, int width)
{
    if (text.len > KEY_PREFIX_BYTES) text.len = KEY_PREFIX_BYTES;
    output_label(text, (unsigned)width);
    fputs("  ", stdout);
}

/* The day of a time, or "-" for null. */
static void print_day(const struct weir_json *time)
{
    struct weir_slice text = weir_json_text(time);
    if (weir_json_type_of(time) != WEIR_JSON_STRING) text = SLICE("-");
    print_cell(slice_of(text.ptr, text.len < DAY_BYTES ? text.len : DAY_BYTES), DAY_BYTES);
}

/* Times of one form and zone are in the order of their texts. */
static const char *state_of(const struct weir_json *v)
{
    char now[CLOCK_TEXT_BYTES];
    struct weir_slice end = weir_json_text(weir_json_get_str(v, "expires"));
    if (weir_json_type_of(weir_json_get_str(v, "revoked")) == WEIR_JSON_STRING) return "revoked";
    clock_format(now, clock_wall_ms(&clock_system));
    bool is_time = end.len == CLOCK_TEXT_BYTES - 1;
    return is_time && memcmp(end.ptr, now, end.len) <= 0 ? "expired" : "valid";
}

static void print_scopes(const struct weir_json *list)
{
    char scopes[SCOPES_TEXT_BYTES] = "";
    unsigned all = SCOPE_NONE;
    unsigned one;
    for (const struct weir_json *s = weir_json_first(list); s; s = weir_json_next(s))
        if (scopes_parse(weir_json_text(s), &one)) all |= one;
    scopes_format(all, scopes);
    print_cell(weir_slice_of(scopes), 16);
}

static void print_row(const struct weir_json *v)
{
    double rate = 0;
    struct weir_slice prefix = weir_json_text(weir_json_get_str(v, "prefix"));
    print_cell(weir_json_text(weir_json_get_str(v, "name")), KEY_NAME_BYTES);
    print_scopes(weir_json_get_str(v, "scopes"));
    print_cell(prefix.len > 0 ? prefix : SLICE("-"), PREFIX_COLUMNS);
    if (weir_json_double(weir_json_get_str(v, "rate"), &rate) && rate > 0)
        printf("%8.6g/s  ", rate);
    else printf("%10s  ", "-");
    print_day(weir_json_get_str(v, "created"));
    print_day(weir_json_get_str(v, "expires"));
    printf("%-7s  ", state_of(v));
    print_cell(weir_json_text(weir_json_get_str(v, "owner")), 12);
    output_label(weir_json_text(weir_json_get_str(v, "label")), 0);
    putchar('\n');
}

static int print_list(struct weir_slice json, bool is_json)
{
    const struct weir_json *v = NULL;
    struct weir_buf line;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, json, &v, NULL) : WEIR_NOMEM;
    const struct weir_json *key = weir_json_first(weir_json_get_str(v, "keys"));
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    if (st == WEIR_OK && !is_json && key)
        printf("%-12s  %-16s  %-*s  %10s  %-10s  %-10s  %-7s  %-12s  %s\n", "NAME", "SCOPES",
               PREFIX_COLUMNS, "PREFIX", "RATE", "CREATED", "EXPIRES", "STATE", "OWNER", "LABEL");
    if (st == WEIR_OK && !is_json && !key)
        fputs("There are no keys yet; \"weir key create\" makes one.\n", stderr);
    for (; key; key = weir_json_next(key)) {
        if (is_json) {
            weir_json_put_value(&line, key);
            output_line(&line);
        } else {
            print_row(key);
        }
    }
    weir_buf_fini(&line);
    weir_json_doc_free(doc);
    return st == WEIR_OK ? EXIT_DONE : failed(st);
}

static int print_listed(struct control_answer *answer, void *user)
{
    const struct key_options *o = user;
    if (answer->status != 200) return remote_refused(answer);
    return print_list(weir_buf_slice(&answer->body), o->is_json);
}

static void put_key(void *user, const struct key_info *info)
{
    key_info_put(user, info, NULL);
}

static int list_keys(struct keys *keys, void *user)
{
    const struct key_options *o = user;
    struct weir_buf json;
    weir_buf_init(&json, LIST_BYTES);
    weir_json_put_begin_object(&json);
    weir_json_put_key(&json, "keys");
    weir_json_put_begin_array(&json);
    enum weir_status st = keys_each(keys, put_key, &json);
    weir_json_put_end_array(&json);
    weir_json_put_end_object(&json);
    if (st == WEIR_OK) st = weir_buf_status(&json);
    int exit_status = st == WEIR_OK ? print_list(weir_buf_slice(&json), o->is_json) : failed(st);
    weir_buf_fini(&json);
    return exit_status;
}

static int list_offline(struct store *store, void *user)
{
    return with_keys(store, user, list_keys);
}

static int list(struct key_options *o, const struct client_config *c)
{
    if (c->is_local && !data_folder_is_there(c->folder)) return EXIT_FAILED;
    return remote_data_run(c, &(struct data_request){
                                  .method = "GET",
                                  .path = "/v1/keys",
                                  .answered = print_listed,
                                  .offline = list_offline,
                                  .user = o,
                              });
}

/* ---- revoke ---- */

static int no_such_key(const char *name)
{
    fprintf(stderr, "weir: there is no key of the name %s; \"weir key list\" has them all\n", name);
    return EXIT_FAILED;
}

struct revoking {
    char *name;
    bool is_json;
};

/* Without --json there is nothing to say. */
static int print_revoked(const struct revoking *r)
{
    if (r->is_json) printf("{\"name\":\"%s\",\"revoked\":true}\n", r->name);
    return EXIT_DONE;
}

static int check_revoked(struct control_answer *answer, void *user)
{
    const struct revoking *r = user;
    if (answer->status == 404) return no_such_key(r->name);
    return answer->status == 204 ? print_revoked(r) : remote_refused(answer);
}

static int revoke_key(struct keys *keys, void *user)
{
    const struct revoking *r = user;
    enum weir_status st = keys_revoke(keys, weir_slice_of(r->name));
    if (st == WEIR_NOT_FOUND) return no_such_key(r->name);
    return st == WEIR_OK ? print_revoked(r) : failed(st);
}

static int revoke_offline(struct store *store, void *user)
{
    return with_keys(store, user, revoke_key);
}

static bool is_name(const char *name)
{
    if (strlen(name) != KEY_NAME_BYTES) return false;
    return strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz") == KEY_NAME_BYTES;
}

static int revoke(const struct key_options *o, char *name, const struct client_config *c)
{
    char path[PATH_BYTES];
    if (strncmp(name, "weir_", 5) == 0) {
        /* A whole key was given: its name is inside, and the rest is nobody's business. */
        name += 5;
        if (strlen(name) > KEY_NAME_BYTES) name[KEY_NAME_BYTES] = 0;
    }
    if (!is_name(name))
        return usage_error(&key_command, "a key's name is 12 letters and digits, as in the list");
    if (c->is_local && !data_folder_is_there(c->folder)) return EXIT_FAILED;
    struct revoking r = {.name = name, .is_json = o->is_json};
    snprintf(path, sizeof path, "/v1/keys/%s", name);
    return remote_data_run(c, &(struct data_request){
                                  .method = "DELETE",
                                  .path = path,
                                  .answered = check_revoked,
                                  .offline = revoke_offline,
                                  .user = &r,
                              });
}

/* ---- link ---- */

/* Over the network the server is known by the address that it was found at. */
static int print_link(const struct client_config *c, struct weir_slice json)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_slice text = {0};
    if (doc && weir_json_parse(doc, json, &v, NULL) == WEIR_OK)
        text = weir_json_text(weir_json_get_str(v, c->is_local ? "url" : "path"));
    if (text.len > 0) {
        if (!c->is_local) fputs(c->url, stdout);
        output_label(text, 0);
        putchar('\n');
    }
    weir_json_doc_free(doc);
    return text.len > 0 ? EXIT_DONE : failed(WEIR_INTERNAL);
}

static void put_link_wish(struct weir_buf *body, const struct key_options *o, const char *name)
{
    const char *value = name ? name : o->owner;
    weir_json_put_begin_object(body);
    if (value) weir_json_put_key(body, name ? "key" : "owner");
    if (value) weir_json_put_str(body, value);
    weir_json_put_end_object(body);
}

static int make_link(const struct key_options *o, const char *name, const struct client_config *c)
{
    struct weir_buf body;
    struct control_answer answer;
    if (name && o->owner) return usage_error(&key_command, "a key's NAME says whose it is");
    if (name && !is_name(name))
        return usage_error(&key_command, "a key's name is 12 letters and digits, as in the list");
    if (c->is_local && !data_folder_is_there(c->folder)) return EXIT_FAILED;
    weir_buf_init(&body, BODY_BYTES);
    put_link_wish(&body, o, name);
    const struct remote_request request = {
        .method = "POST", .path = "/auth/links", .body = weir_buf_slice(&body)};
    int exit_status = EXIT_FAILED;
    if (remote_call(c, &request, 201, &answer)) {
        struct weir_slice json = weir_buf_slice(&answer.body);
        if (!o->is_json) exit_status = print_link(c, json);
        else exit_status = output_json(json) ? EXIT_DONE : EXIT_FAILED;
        if (answer.body.ptr) explicit_bzero(answer.body.ptr, answer.body.cap);
        weir_buf_fini(&answer.body);
    }
    weir_buf_fini(&body);
    return exit_status;
}

/* ---- the command ---- */

static int run_words(struct key_options *o, char **words, int n_words)
{
    struct client_config c;
    const char *what = n_words > 0 ? words[0] : "";
    bool is_revoke = strcmp(what, "revoke") == 0;
    bool is_link = strcmp(what, "link") == 0;
    int most = is_revoke || is_link ? 2 : 1;
    if (is_revoke && n_words != 2) return usage_error(&key_command, "revoke takes one name");
    if (n_words > most) return usage_error(&key_command, "one word too many: \"%s\"", words[most]);
    bool is_known = most == 2 || strcmp(what, "create") == 0 || strcmp(what, "list") == 0;
    if (!is_known) return usage_error(&key_command, "say what to do: create, list, revoke or link");
    int exit_status = client_config_load(&o->flags, &c);
    if (exit_status != EXIT_DONE) return exit_status;
    if (is_revoke) exit_status = revoke(o, words[1], &c);
    else if (is_link) exit_status = make_link(o, n_words == 2 ? words[1] : NULL, &c);
    else exit_status = what[0] == 'c' ? create(o, &c) : list(o, &c);
    client_config_forget(&c);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct key_options o = {0};
    const struct option_row rows[] = {
        CLIENT_OPTION_ROWS(&o.flags),
        {.name = "label", .kind = OPTION_TEXT, .to = &o.label},
        {.name = "scopes", .kind = OPTION_TEXT, .to = &o.scopes},
        {.name = "owner", .kind = OPTION_TEXT, .to = &o.owner},
        {.name = "prefix", .kind = OPTION_TEXT, .to = &o.prefix},
        {.name = "expires", .kind = OPTION_LIFE, .to = &o.lasts_s, .min = 1, .max = KEY_MAX_LIFE_S},
        {.name = "rate", .kind = OPTION_RATE, .to = &o.rate},
        {.name = "burst",
         .kind = OPTION_COUNT,
         .to = &o.burst,
         .min = 1,
         .max = KEY_MAX_RATE_PER_S},
        {.name = "json", .kind = OPTION_FLAG, .to = &o.is_json},
        {.name = NULL},
    };
    char **words;
    int n_words;
    int exit_status = options_parse(&key_command, argc, argv, rows, &words, &n_words);
    return exit_status == EXIT_DONE ? run_words(&o, words, n_words) : exit_status;
}

const struct command key_command = {
    .name = "key",
    .summary = "make, list and revoke the API keys of a server",
    .help = help,
    .run = run,
};
