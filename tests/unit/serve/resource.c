/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that waits, and the small resources: keys, backup and check, health, metrics and the
 * page of errors. With an exchange of the test's own in place of the server's.
 */
#include <unistd.h>

#include <weir/json.h>

#include "unit/serve/fake_exchange.h"

static void open_all(void)
{
    open_store();
    T_EQ(keys_open(&keys, store, &clock_system), WEIR_OK);
    if (!keys) abort();
}

static void close_all(void)
{
    keys_close(keys);
    keys = NULL;
    close_store();
}

static bool has(const struct exchange *ex, const char *text)
{
    return strstr(ex->text, text) != NULL;
}

/* The text of a member of the answer, copied. */
static void get_member(const struct exchange *ex, const char *key, char *out, size_t cap)
{
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    T_EQ(weir_json_parse(doc, weir_slice_of(ex->text), &v, NULL), WEIR_OK);
    struct weir_slice text = weir_json_text(weir_json_get_str(v, key));
    T_OK(text.len < cap);
    snprintf(out, cap, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
    weir_json_doc_free(doc);
}

/* ---- work that waits ---- */

struct held {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_begun;
    unsigned n_elsewhere; /* of them in another thread than the loop's */
    bool may_end;
    pthread_t loop_thread;
};

static void hold(void *user)
{
    struct held *h = user;
    pthread_mutex_lock(&h->lock);
    h->n_begun++;
    if (!pthread_equal(h->loop_thread, pthread_self())) h->n_elsewhere++;
    pthread_cond_broadcast(&h->changed);
    while (!h->may_end) pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

static void end_held(struct exchange *ex, void *user)
{
    const struct held *h = user;
    T_OK(pthread_equal(h->loop_thread, pthread_self()));
    exchange_empty(ex, 204);
}

TEST(work_is_done_by_another_thread_up_to_a_ceiling)
{
    struct held held = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    held.loop_thread = pthread_self();
    static struct exchange all[RESOURCE_MAX_WORK + 1];
    memset(all, 0, sizeof all);
    for (int i = 0; i <= RESOURCE_MAX_WORK; i++) resource_work(&all[i], hold, end_held, &held);
    T_EQ(all[RESOURCE_MAX_WORK].status, 503);
    T_EQ_STR(weir_slice_of(all[RESOURCE_MAX_WORK].fields), "Retry-After: 1\n");
    T_EQ(resource_n_working(), RESOURCE_MAX_WORK);
    pthread_mutex_lock(&held.lock);
    held.may_end = true;
    pthread_cond_broadcast(&held.changed);
    pthread_mutex_unlock(&held.lock);
    for (int i = 0; i < RESOURCE_MAX_WORK; i++) run_post();
    for (int i = 0; i < RESOURCE_MAX_WORK; i++) {
        T_EQ(all[i].status, 204);
        T_EQ(all[i].n_answers, 1);
    }
    T_EQ(held.n_begun, RESOURCE_MAX_WORK);
    T_EQ(held.n_elsewhere, RESOURCE_MAX_WORK);
    for (int i = 0; i <= RESOURCE_MAX_WORK; i++) free_memory(&all[i]);
}

/* ---- keys ---- */

TEST(key_is_made_listed_and_revoked)
{
    char text[KEY_TEXT_BYTES];
    char name[KEY_NAME_BYTES + 1];
    struct key_found found;
    open_all();
    static struct exchange ex;
    ex = request(
        "", "{\"label\":\"one\",\"scopes\":[\"read\",\"admin\"],\"rate\":5,\"owner\":\"ada\"}");
    run(&ex, keys_post);
    T_EQ(ex.status, 201);
    T_EQ_STR(weir_slice_of(ex.fields), "Cache-Control: no-store\n");
    get_member(&ex, "key", text, sizeof text);
    get_member(&ex, "name", name, sizeof name);
    T_OK(has(&ex, "\"scopes\":[\"read\",\"admin\"],\"rate\":5,\"burst\":5"));
    T_EQ(keys_find(keys, weir_slice_of(text), &found), WEIR_OK);
    ex = request("", "");
    run(&ex, keys_list);
    T_EQ(ex.status, 200);
    T_OK(has(&ex, name) && !has(&ex, text));
    ex = request(name, "");
    run(&ex, keys_delete);
    T_EQ(ex.status, 204);
    T_EQ(keys_find(keys, weir_slice_of(text), &found), WEIR_BAD_TOKEN);
    close_all();
}

TEST(what_cannot_be_a_key_is_refused)
{
    static const struct {
        const char *body;
        const char *code;
    } cases[] = {
        {"", "invalid_request"},
        {"x", "invalid_request"},
        {"[]", "invalid_request"},
        {"{\"label\":1}", "invalid_field"},
        {"{\"label\":\"a\\u0000b\"}", "invalid_field"},
        {"{\"label\":\"a\\nb\"}", "invalid_field"},
        {"{\"scopes\":\"read\"}", "invalid_field"},
        {"{\"scopes\":[]}", "invalid_field"},
        {"{\"scopes\":[\"all\"]}", "invalid_field"},
        {"{\"scopes\":[1]}", "invalid_field"},
        {"{\"rate\":-1}", "invalid_field"},
        {"{\"rate\":\"5\"}", "invalid_field"},
        {"{\"burst\":0.5}", "invalid_field"},
        {"{\"name\":\"x\"}", "invalid_field"},
        {"{\"prefix\":1}", "invalid_field"},
        {"{\"prefix\":\"a\\nb\"}", "invalid_field"},
        {"{\"prefix\":\"a\",\"scopes\":[\"admin\"]}", "invalid_field"},
        {"{\"expires_in\":-1}", "invalid_field"},
        {"{\"expires_in\":0.5}", "invalid_field"},
        {"{\"expires_in\":\"1h\"}", "invalid_field"},
        {"{\"expires_in\":9000000000}", "invalid_field"},
    };
    open_all();
    static struct exchange ex;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ex = request("", cases[i].body);
        run(&ex, keys_post);
        T_EQ(ex.status, 400);
        T_OK(strncmp(ex.text, cases[i].code, strlen(cases[i].code)) == 0);
    }
    T_EQ(keys_count(keys), 0);
    ex = request("", "{}");
    run(&ex, keys_post);
    T_EQ(ex.status, 201);
    T_OK(has(&ex, "\"scopes\":[\"read\",\"write\"],\"rate\":0,\"burst\":0"));
    static const char *const names[] = {"x", "0123456789ab", "0123456789abc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ex = request(names[i], "");
        run(&ex, keys_delete);
        T_EQ(ex.status, 404);
    }
    close_all();
}

/* ---- the store ---- */

TEST(backup_is_made_for_the_machine_itself_only)
{
    char path[1000];
    char body[1100];
    open_all();
    snprintf(path, sizeof path, "%s/copy", t_temp_dir());
    snprintf(body, sizeof body, "{\"path\":\"%s\"}", path);
    static struct exchange ex;
    ex = request("", body);
    run(&ex, store_post_backup);
    T_EQ(ex.status, 403);
    T_OK(access(path, F_OK) != 0);
    ex = request("", body);
    ex.is_local = true;
    run(&ex, store_post_backup);
    T_EQ(ex.status, 204);
    T_OK(access(path, F_OK) == 0);
    ex = request("", body);
    ex.is_local = true;
    run(&ex, store_post_backup);
    T_OK(ex.status >= 400);
    static const char *const wrong[] = {"", "{}", "{\"path\":\"copy\"}", "{\"path\":1}",
                                        "{\"path\":\"/a\\u0000b\"}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ex = request("", wrong[i]);
        ex.is_local = true;
        run(&ex, store_post_backup);
        T_EQ(ex.status, 400);
    }
    close_all();
}

TEST(check_of_a_good_store_finds_nothing)
{
    open_all();
    static struct exchange ex;
    ex = request("", "");
    run(&ex, store_post_check);
    T_EQ(ex.status, 200);
    T_EQ_STR(weir_slice_of(ex.text), "{\"wrong\":0,\"complaints\":[]}");
    close_all();
}

/* ---- pages ---- */

TEST(ready_means_that_events_are_taken)
{
    open_all();
    static struct exchange ex;
    ex = request("", "");
    run(&ex, health_live);
    T_EQ(ex.status, 200);
    ex = request("", "");
    run(&ex, health_ready);
    T_EQ(ex.status, 200);
    T_EQ_STR(weir_slice_of(ex.text), "ready\n");
    is_stopping = true;
    ex = request("", "");
    run(&ex, health_ready);
    T_EQ(ex.status, 503);
    T_OK(has(&ex, "shutting_down"));
    ex = request("", "");
    run(&ex, health_live);
    T_EQ(ex.status, 200);
    is_stopping = false;
    close_all();
}

TEST(server_that_drains_is_not_ready_and_takes_runs_if_others_do)
{
    open_all();
    static struct exchange ex;
    ex = request("", "");
    T_OK(resource_takes_runs(&ex));
    is_draining = true;
    run(&ex, health_ready);
    T_EQ(ex.status, 503);
    has_others = true;
    ex = request("", "");
    T_OK(resource_takes_runs(&ex));
    has_others = false;
    T_OK(!resource_takes_runs(&ex));
    T_EQ(ex.status, 503);
    T_OK(has(&ex, "shutting_down"));
    ex = request("", "");
    run(&ex, drain_post);
    T_EQ(ex.status, 403); /* not over the network */
    is_draining = false;
    close_all();
}

TEST(errors_have_a_place_for_every_code)
{
    static struct exchange ex;
    ex = request("", "");
    run(&ex, errors_get);
    T_EQ(ex.status, 200);
    for (int i = WEIR_OK + 1; i < WEIR_N_STATUS; i++) {
        char anchor[100];
        snprintf(anchor, sizeof anchor, "id=\"%s\"", weir_status_name((enum weir_status)i));
        T_OK(has(&ex, anchor));
    }
}

TEST(metrics_show_what_was_counted)
{
    static const char *const lines[] = {
        "weir_uptime_seconds 1.500\n",
        "weir_connections 7\n",
        "weir_errors_total{code=\"not_found\"} 3\n",
        "weir_connections_closed_total{reason=\"idle_timeout\"} 4\n",
        "weir_answers_total{route=\"streams.append\",class=\"2xx\"} 5\n",
        "weir_answers_total{route=\"\",class=\"4xx\"} 6\n",
        "weir_fan_lag_seconds_bucket{le=\"0.000512\"} 0\n",
        "weir_fan_lag_seconds_bucket{le=\"0.001024\"} 2\n",
        "weir_fan_lag_seconds_bucket{le=\"+Inf\"} 2\n",
        "weir_fan_lag_seconds_sum 0.0015\n",
        "weir_fan_lag_seconds_count 2\n",
        "weir_keys 0\n",
        "weir_store_broken 0\n",
        "process_resident_memory_bytes ",
        "process_open_fds ",
        "process_max_fds ",
        "process_cpu_seconds_total ",
    };
    open_all();
    static struct exchange ex;
    ex = request("", "");
    run(&ex, metrics_get);
    T_EQ(ex.status, 200);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!has(&ex, lines[i])) t_fail(__FILE__, __LINE__, "no line %s", lines[i]);
    close_all();
}
