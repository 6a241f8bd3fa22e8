/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are sent again, on a store and with exchanges of the tests' own. */
#include "serve/idempotency.h"

#include "fake_exchange.h"

static struct exchange ask_with(const char *key, const char *method, const char *path,
                                const char *body)
{
    struct exchange ex = {.body = weir_slice_of(body)};
    ex.head.method_text = weir_slice_of(method);
    ex.head.path = weir_slice_of(path);
    if (key) add_field(&ex, "Idempotency-Key", key);
    return ex;
}

struct doing {
    struct idempotency *key;
    struct idempotent_answer answer;
};

static enum weir_status decide(void *user, struct commit_view *view, struct commit *c)
{
    struct doing *d = user;
    enum weir_status st = idempotency_decide(d->key, view, c, &d->answer);
    if (st != WEIR_OK) return st;
    commit_append(c, SLICE("done"), SLICE("data: 1\n\n"));
    return WEIR_OK;
}

/* Does something by a key, or finds it done. */
static enum weir_status act(struct idempotency *key, const char *body)
{
    struct doing d = {
        .key = key,
        .answer = {.status = 201, .location = SLICE("/v1/memory/1"), .body = weir_slice_of(body)}};
    struct commit *c = commit_new(0);
    commit_decide(c, false, decide, &d);
    return store_commit_wait(store, c).status;
}

static uint64_t n_done(void)
{
    struct log_read read;
    store_read(store, SLICE("done"), 1, 0, &read);
    return read.state.last;
}

TEST(first_answer_is_given_again_byte_for_byte)
{
    struct idempotency key;
    static const char answer_text[] = "{\"text\":\"\\u0000 \\ud800 \\\"x\\\" \u00e9\"}";
    open_store();
    for (int i = 0; i < 3; i++) {
        struct exchange ex = ask_with("k", "POST", "/v1/memory", "{\"text\":1}");
        T_OK(idempotency_read(&ex, &key));
        T_OK(key.has_key);
        T_EQ(idempotency_find(&key, store), i == 0 ? WEIR_OK : WEIR_EXISTS);
        T_EQ(act(&key, answer_text), i == 0 ? WEIR_OK : WEIR_EXISTS);
        T_EQ(n_done(), 1);
        if (i > 0) {
            idempotency_replay(&ex, &key);
            T_EQ(ex.status, 201);
            T_EQ_STR(weir_slice_of(ex.text), answer_text);
            T_OK(strstr(ex.fields, "Idempotent-Replayed: true") != NULL);
            T_OK(strstr(ex.fields, "Location: /v1/memory/1") != NULL);
        }
        idempotency_fini(&key);
        free_memory(&ex);
    }
    close_store();
}

TEST(method_path_and_body_make_the_request)
{
    static const struct {
        const char *key, *method, *path, *body;
        enum weir_status status;
    } rows[] = {
        {"k", "PATCH", "/v1/memory/1", "{}", WEIR_OK},
        {"k", "PATCH", "/v1/memory/1", "{}", WEIR_EXISTS},
        {"k", "PATCH", "/v1/memory/1", "{ }", WEIR_IDEMPOTENCY},
        {"k", "PATCH", "/v1/memory/2", "{}", WEIR_IDEMPOTENCY},
        {"k", "POST", "/v1/memory/1", "{}", WEIR_IDEMPOTENCY},
        {"K", "PATCH", "/v1/memory/1", "{}", WEIR_OK},
        {"k2", "PATCH", "/v1/memory/12", "{}", WEIR_OK},
        {"k2", "PATCH", "/v1/memory/1", "2{}", WEIR_IDEMPOTENCY},
        {NULL, "PATCH", "/v1/memory/1", "{}", WEIR_OK},
        {NULL, "PATCH", "/v1/memory/1", "{}", WEIR_OK},
    };
    struct idempotency key;
    open_store();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct exchange ex = ask_with(rows[i].key, rows[i].method, rows[i].path, rows[i].body);
        T_OK(idempotency_read(&ex, &key));
        T_EQ(act(&key, "{}"), rows[i].status);
        idempotency_fini(&key);
        free_memory(&ex);
    }
    T_EQ(n_done(), 5);
    close_store();
}

TEST(keys_are_visible_characters)
{
    static const struct {
        const char *key;
        bool is_good;
    } rows[] = {{"a", true},    {"!~", true},    {"", false},         {" ", false},
                {"a b", false}, {"\x7f", false}, {"\xc3\xa9", false}, {"a\tb", false}};
    char longest[IDEMPOTENCY_KEY_BYTES + 2];
    struct idempotency key;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct exchange ex = ask_with(rows[i].key, "POST", "/", "");
        T_EQ(idempotency_read(&ex, &key), rows[i].is_good);
        T_EQ(ex.status, rows[i].is_good ? 0 : 400);
        idempotency_fini(&key);
        free_memory(&ex);
    }
    memset(longest, 'x', sizeof longest);
    for (size_t len = IDEMPOTENCY_KEY_BYTES; len <= IDEMPOTENCY_KEY_BYTES + 1; len++) {
        longest[len] = 0;
        struct exchange ex = ask_with(longest, "POST", "/", "");
        T_EQ(idempotency_read(&ex, &key), len == IDEMPOTENCY_KEY_BYTES);
        idempotency_fini(&key);
        free_memory(&ex);
        longest[len] = 'x';
    }
}
