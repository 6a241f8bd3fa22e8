/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/doc_news.h"

#include "base/slice.h"
#include "serve/server_impl.h"
#include "serve/shared.h"

static const char import_prefix[] = "imports/";

/* ---- documents ---- */

/* An empty kind: any of them may have changed. */
typedef void (*told_fn)(struct server *s, struct weir_slice kind, struct weir_slice id);

static void tell_access(struct server *s, struct weir_slice kind, struct weir_slice id)
{
    struct shared *shared = atomic_load(&s->shared);
    if (shared) shared_changed(shared, kind, id);
}

static void tell_sessions(struct server *s, struct weir_slice kind, struct weir_slice id)
{
    sessions_docs_changed(s->sessions, kind, id);
}

static void tell_chats(struct server *s, struct weir_slice kind, struct weir_slice id)
{
    chats_docs_changed(s->chats, kind, id);
}

static void tell_runs(struct server *s, struct weir_slice kind, struct weir_slice id)
{
    turns_docs_changed(s->turns, kind, id);
    chats_docs_changed(s->chats, kind, id);
    sessions_docs_changed(s->sessions, kind, id);
}

static void tell_turns(struct server *s, struct weir_slice kind, struct weir_slice id)
{
    turns_docs_changed(s->turns, kind, id);
}

static void tell_hooks(struct server *s, struct weir_slice kind, struct weir_slice id)
{
    hooks_docs_changed(s->hooks, kind, id);
}

/* People's data are in memory of three engines. */
static void tell_data(struct server *s, struct weir_slice kind, struct weir_slice id)
{
    (void)kind;
    (void)id;
    turns_data_changed(s->turns);
    chats_data_changed(s->chats);
    sessions_data_changed(s->sessions);
}

static const struct {
    const char *kind;
    told_fn tell;
} readers[] = {
    {"approval", tell_sessions},  {"clarify", tell_sessions}, {"cron", tell_sessions},
    {"dlp_decision", tell_chats}, {"shield_map", tell_chats}, {"cookie", tell_access},
    {"key", tell_access},         {"secret", tell_access},    {"run", tell_runs},
    {"run-cancel", tell_runs},    {"run-offer", tell_runs},   {"run-node", tell_runs},
    {"subscription", tell_hooks},
};

static void tell_doc(struct server *s, const struct doc_key *key)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (weir_slice_is(key->kind, readers[i].kind)) readers[i].tell(s, key->kind, key->id);
}

static void tell_all(struct server *s)
{
    static const told_fn all[] = {tell_access, tell_turns, tell_sessions,
                                  tell_chats,  tell_hooks, tell_data};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i](s, (struct weir_slice){0}, (struct weir_slice){0});
}

/* A store_docs_fn. */
static void on_docs(void *server, const struct doc_key *keys, size_t n)
{
    struct server *s = server;
    pthread_mutex_lock(&s->doc_news.lock);
    if (s->doc_news.is_on && n == 0) tell_all(s);
    for (size_t i = 0; s->doc_news.is_on && i < n; i++) tell_doc(s, &keys[i]);
    pthread_mutex_unlock(&s->doc_news.lock);
}

/* ---- logs ---- */

static bool is_import(struct weir_slice log)
{
    size_t len = sizeof import_prefix - 1;
    return log.len >= len && memcmp(log.ptr, import_prefix, len) == 0;
}

/* An import tells how far it is with every commit of its own. */
static bool has_import(const struct store_news *news, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_import(news[i].log)) return true;
    return false;
}

static void tell_logs(struct server *s, const struct store_news *news, size_t n)
{
    if (s->hooks) hooks_news(s->hooks, news, n);
    if (!has_import(news, n)) return;
    if (s->turns) turns_data_changed(s->turns);
    if (s->chats) chats_data_changed(s->chats);
    if (s->sessions) sessions_data_changed(s->sessions);
}

/* News of our own commits come only when parts are there; those of others at any time. */
void doc_news_logs(struct server *s, const struct store_news *news, size_t n)
{
    if (!s->doc_news.is_shared) {
        tell_logs(s, news, n);
        return;
    }
    pthread_mutex_lock(&s->doc_news.lock);
    if (s->doc_news.is_on) tell_logs(s, news, n);
    pthread_mutex_unlock(&s->doc_news.lock);
}

/* Whose events are wanted here: those that somebody reads, waits for the end of, or is woken by. */
static bool wants_log(void *server, struct weir_slice log)
{
    struct server *s = server;
    if (is_import(log) || hub_wants_log(s->hub, log) || log_waits_has(&s->log_waits, log))
        return true;
    pthread_mutex_lock(&s->doc_news.lock);
    bool is_wanted = s->doc_news.is_on && hooks_wants(s->hooks, log);
    pthread_mutex_unlock(&s->doc_news.lock);
    return is_wanted;
}

static void each_log(void *server, unsigned part, store_log_fn each, void *arg)
{
    struct server *s = server;
    hub_each_log(s->hub, part, each, arg);
    if (part == 0) log_waits_each(&s->log_waits, each, arg);
}

/* ---- life ---- */

void doc_news_init(struct server *s)
{
    pthread_mutex_init(&s->doc_news.lock, NULL);
}

void doc_news_fini(struct server *s)
{
    pthread_mutex_destroy(&s->doc_news.lock);
}

void doc_news_set(struct server *s, struct store_options *options)
{
    s->doc_news.is_shared = true;
    options->on_docs = on_docs;
    options->wants_log = wants_log;
    options->each_log = each_log;
}

void doc_news_begin(struct server *s)
{
    if (!s->doc_news.is_shared) return;
    pthread_mutex_lock(&s->doc_news.lock);
    s->doc_news.is_on = true;
    tell_all(s);
    pthread_mutex_unlock(&s->doc_news.lock);
}

void doc_news_end(struct server *s)
{
    pthread_mutex_lock(&s->doc_news.lock);
    s->doc_news.is_on = false;
    pthread_mutex_unlock(&s->doc_news.lock);
}
