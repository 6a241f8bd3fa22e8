/* SPDX-License-Identifier: Apache-2.0 */
/* A server as one of several on a store: its name, its files, and its duties. */
#include <stdio.h>

#include "gateway/gateway.h"
#include "hook/signer.h"
#include "io/file.h"
#include "serve/imports.h"
#include "serve/key_files.h"
#include "serve/place.h"
#include "serve/server_impl.h"
#include "serve/shared.h"

enum { PATH_BYTES = 1024 };

static void find_path(const struct server *s, const char *name, char out[PATH_BYTES])
{
    snprintf(out, PATH_BYTES, "%s/%s", s->options.folder, name);
}

/* Whether the folder is the right one for where the store is. */
enum weir_status node_look_at_folder(struct server *s, struct server_error *e)
{
    const struct server_options *o = &s->options;
    char url[PLACE_BYTES], path[PATH_BYTES];
    find_path(s, "weir.db", path);
    bool is_marked = place_marked(o->folder, url);
    if (o->place && !is_marked && file_exists(path))
        TRACE(o->trace, TRACE_WARN, "serve",
              "the folder has a store of its own, which is not used: weir store copy moves it",
              trace_str("folder", weir_slice_of(o->folder)));
    if (o->place || !is_marked) return WEIR_OK;
    return server_fail(
        e, WEIR_CONFLICT,
        "the data of %.100s are in %.100s: say --store, or remove store.url in it to "
        "use a store in the folder",
        o->folder, url);
}

/* When the store has been opened: before, its URL may have been a mistake. */
enum weir_status node_mark_folder(struct server *s, struct server_error *e)
{
    const struct server_options *o = &s->options;
    if (!o->place || place_mark(o->folder, o->place)) return WEIR_OK;
    return server_fail(e, WEIR_IO, "cannot write to %.200s", o->folder);
}

enum weir_status node_name(struct server *s, struct server_error *e)
{
    struct ulid id;
    struct ulid_source ids;
    if (!store_is_shared(s->store)) return WEIR_OK;
    ulid_source_init(&ids, s->options.clock);
    enum weir_status st = ulid_next(&ids, &id);
    if (st == WEIR_OK) ulid_format(s->node, id);
    if (st == WEIR_OK) st = lives_new(&s->lives, s->store, s->node, s->options.clock);
    if (st == WEIR_OK) lives_set_lease(s->lives, s->options.turns.lease_ms);
    if (st == WEIR_OK) st = lives_round(s->lives);
    if (st == WEIR_OK) return st;
    return server_fail(e, st, "cannot join the other nodes: %s", weir_status_text(st));
}

bool node_is_dead(void *server, struct weir_slice node)
{
    return lives_is_dead(((struct server *)server)->lives, node);
}

/* ---- files ---- */

enum weir_status node_need_files(struct server *s, struct server_error *e)
{
    char path[PATH_BYTES];
    if (!s->lives) return WEIR_OK;
    struct key_file file = {.name = "shield.key", .path = path};
    enum weir_status st = WEIR_OK;
    find_path(s, file.name, path);
    if (!s->options.shield_key) st = key_files_need(s->store, &file, e->text);
    return st;
}

static enum weir_status match_shield(struct server *s, struct server_error *e)
{
    char path[PATH_BYTES], ids[KEY_FILES_IDS_BYTES] = "";
    struct key_file file = {.name = "shield.key", .path = path, .ids = ids};
    size_t len = 0;
    for (size_t i = 0; i < vault_count(s->privacy.vault) && len + VAULT_ID_BYTES < sizeof ids;
         i++) {
        char id[VAULT_ID_BYTES];
        vault_key_id(s->privacy.vault, i, id);
        len += (size_t)snprintf(ids + len, sizeof ids - len, "%s%s", i > 0 ? " " : "", id);
    }
    find_path(s, file.name, path);
    if (s->options.shield_key) file.path = s->options.shield_key;
    /* Before it is compared: of two that start at once, one at least sees what the other has. */
    enum weir_status st = lives_say(s->lives, ids);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot join the other nodes: %s", weir_status_text(st));
    return key_files_match(s->store, s->lives, &file, e->text);
}

/* It is made now, so that there is something to copy. */
static enum weir_status match_hooks(struct server *s, struct server_error *e)
{
    char path[PATH_BYTES];
    struct signer signer;
    struct key_file file = {.name = "hooks.key", .path = path};
    find_path(s, file.name, path);
    enum weir_status st = key_files_need(s->store, &file, e->text);
    if (st != WEIR_OK) return st;
    st = signer_open(&signer, s->options.folder);
    if (st != WEIR_OK)
        return server_fail(e, st, "cannot open %.256s: %s", path, weir_status_text(st));
    file.ids = signer.kid;
    st = key_files_match(s->store, NULL, &file, e->text);
    explicit_bzero(&signer, sizeof signer);
    return st;
}

enum weir_status node_match_files(struct server *s, struct server_error *e)
{
    if (!s->lives) return WEIR_OK;
    enum weir_status st = match_shield(s, e);
    return st == WEIR_OK ? match_hooks(s, e) : st;
}

/* ---- duties ---- */

static unsigned count_nodes(void *server)
{
    return 1 + lives_count_others(((struct server *)server)->lives);
}

static void note_failure(struct server *s, enum weir_status st, const char *what)
{
    if (st == WEIR_OK) return;
    TRACE(s->options.trace, TRACE_DEBUG, "serve", "a duty is left to the next time",
          trace_str("what", weir_slice_of(what)),
          trace_str("why", weir_slice_of(weir_status_text(st))));
}

/*
 * What a node does for itself and for those that died; what fails is tried again in a second, and
 * keeps nothing else from being done: of several databases one may be away for long.
 */
static void do_duty(void *server)
{
    struct server *s = server;
    enum weir_status st = lives_round(s->lives);
    /* Who cannot renew is soon taken for dead. */
    hooks_lead(s->hooks, st == WEIR_OK && lives_is_first(s->lives));
    note_failure(s, st, "a look at the other nodes");
    if (st == WEIR_OK) {
        note_failure(s, imports_look(s->imports), "imports");
        note_failure(s, gateway_end_cut(s->gateway, node_is_dead, s), "streams of the gateway");
    }
    drain_go_on(s);
}

enum weir_status node_start(struct server *s, struct server_error *e)
{
    struct shared *shared = NULL;
    const struct shared_options options = {.store = s->store,
                                           .keys = s->keys,
                                           .links = s->links,
                                           .cookies = s->cookies,
                                           .node = s->node,
                                           .count_nodes = count_nodes,
                                           .clock = s->options.clock,
                                           .duty = do_duty,
                                           .duty_user = s};
    if (!s->lives) return WEIR_OK;
    enum weir_status st = shared_start(&shared, &options);
    atomic_store(&s->shared, shared);
    if (st == WEIR_OK) return st;
    return server_fail(e, st, "cannot start the thread that looks at other nodes");
}
