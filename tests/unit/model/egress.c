/* SPDX-License-Identifier: Apache-2.0 */
/* The last look at what leaves: what is private in the bytes of a request is sent to nobody. */
#include "base/fault.h"
#include "shield/guard.h"
#include "stand.h"

/* An engine whose main role has a fallback, and a policy. */
struct bench {
    struct stand *stand;
    struct model_config *config;
    struct models *models;
    struct shield_policy *policy;
    struct guard *guard;
    struct asker asker;
};

static bool hear_no_name(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n;
    T_OK(!strstr(request, "alice@example.org"));
    return stand_hello(fd);
}

static bool hear_all(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n;
    T_OK(strstr(request, "alice@example.org"));
    return stand_hello(fd);
}

static bool fail_first(struct stand *s, int fd, unsigned n, const char *request)
{
    (void)s, (void)n;
    T_OK(strstr(request, "/second") || !strstr(request, "alice@example.org"));
    if (strstr(request, "/second")) return stand_hello(fd);
    return stand_status(fd, "400 Bad Request", "", "{}");
}

static void open_bench(struct bench *b, stand_fn answer, const char *external, const char *policy)
{
    char text[1024], why[MODEL_WHY_BYTES];
    b->stand = stand_start(answer, b);
    snprintf(
        text, sizeof text,
        "{\"providers\":{\"first\":{\"type\":\"anthropic\",\"base_url\":\"http://127.0.0.1:%u\""
        "%s},\"second\":{\"type\":\"anthropic\",\"base_url\":\"http://127.0.0.1:%u/second\"}},"
        "\"roles\":{\"main\":{\"provider\":\"first\",\"model\":\"m-1\"},\"critic\":{"
        "\"provider\":\"first\",\"model\":\"m-1\",\"fallback\":{\"provider\":\"second\","
        "\"model\":\"m-2\"}}}}",
        b->stand->port, external, b->stand->port);
    T_EQ(model_config_parse(&b->config, weir_slice_of(text), "test", why), WEIR_OK);
    T_EQ(models_new(&b->models, b->config, &(struct models_options){.max_calls = 0}), WEIR_OK);
    T_EQ(shield_policy_parse(&b->policy, weir_slice_of(policy), "policy", why), WEIR_OK);
    b->guard = guard_new(b->policy);
    asker_init(&b->asker, b->models);
    b->asker.guard = b->guard;
}

static void close_bench(struct bench *b)
{
    models_free(b->models);
    model_config_free(b->config);
    guard_free(b->guard);
    shield_policy_free(b->policy);
    stand_stop(b->stand);
}

static void ask(struct bench *b, enum model_role role, const char *question)
{
    unsigned n = b->asker.n_done;
    T_EQ(asker_ask_for(&b->asker, role, question), WEIR_OK);
    asker_wait_done(&b->asker, n + 1);
}

TEST(what_is_private_leaves_for_nobody)
{
    struct bench b;
    struct models_stats stats;
    open_bench(&b, hear_no_name, "", "{}");
    T_OK(models_is_external(b.models, MODEL_MAIN) && models_is_external(b.models, MODEL_CRITIC));
    T_OK(!models_is_external(b.models, MODEL_FAST));
    ask(&b, MODEL_MAIN, "I am alice@example.org");
    T_EQ(b.asker.answer.status, WEIR_FORBIDDEN);
    T_OK(b.asker.answer.is_final);
    T_EQ(b.asker.answer.attempts, 0);
    T_OK(strstr(b.asker.why, "private") && strstr(b.asker.why, "email"));
    T_OK(!strstr(b.asker.why, "alice"));
    ask(&b, MODEL_CRITIC, "I am alice\\u0040example.org");
    T_EQ(b.asker.answer.status, WEIR_FORBIDDEN);
    T_EQ(atomic_load(&b.stand->n_requests), 0);
    ask(&b, MODEL_MAIN, "I am [email_1]");
    T_EQ(b.asker.answer.status, WEIR_OK);
    models_stats(b.models, &stats);
    T_EQ(stats.n_residues, 2);
    T_EQ(stats.n_fallbacks, 0);
    close_bench(&b);
}

TEST(what_was_allowed_leaves)
{
    struct bench b;
    const struct weir_json *v;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    open_bench(&b, hear_all, "", "{}");
    T_EQ(weir_json_parse(doc, SLICE("\"alice@example.org\""), &v, NULL), WEIR_OK);
    T_EQ(guard_allow(b.guard, GUARD_VALUE, v), WEIR_OK);
    ask(&b, MODEL_MAIN, "I am alice@example.org");
    T_EQ(b.asker.answer.status, WEIR_OK);
    weir_json_doc_free(doc);
    close_bench(&b);
}

TEST(own_machines_are_left_alone_unless_the_policy_covers_all)
{
    struct bench b;
    open_bench(&b, hear_all, ",\"external\":false", "{}");
    T_OK(!models_is_external(b.models, MODEL_MAIN) && models_is_external(b.models, MODEL_CRITIC));
    ask(&b, MODEL_MAIN, "I am alice@example.org");
    T_EQ(b.asker.answer.status, WEIR_OK);
    close_bench(&b);
    open_bench(&b, hear_no_name, ",\"external\":false", "{\"scope\":\"all\"}");
    ask(&b, MODEL_MAIN, "I am alice@example.org");
    T_EQ(b.asker.answer.status, WEIR_FORBIDDEN);
    close_bench(&b);
}

/* Who is asked in the place of another is looked at by itself. */
TEST(a_fallback_that_is_external_gets_nothing_private)
{
    struct bench b;
    open_bench(&b, fail_first, ",\"external\":false", "{}");
    b.asker.guard = NULL;
    ask(&b, MODEL_CRITIC, "I am nobody");
    T_EQ(b.asker.answer.status, WEIR_OK);
    unsigned before = atomic_load(&b.stand->n_requests);
    b.asker.guard = b.guard;
    ask(&b, MODEL_CRITIC, "Call +31 6 12345678");
    T_EQ(b.asker.answer.status, WEIR_FORBIDDEN);
    T_EQ(atomic_load(&b.stand->n_requests), before + 1);
    close_bench(&b);
}

TEST(without_a_guard_nobody_looks)
{
    struct bench b;
    open_bench(&b, hear_all, "", "{}");
    b.asker.guard = NULL;
    ask(&b, MODEL_MAIN, "I am alice@example.org");
    T_EQ(b.asker.answer.status, WEIR_OK);
    close_bench(&b);
}

/* A pattern that needs too many steps is a detector that has failed. */
TEST(a_detector_that_fails_lets_nothing_out)
{
    struct bench b;
    char question[900];
    open_bench(&b, hear_no_name, "",
               "{\"patterns\":[{\"label\":\"slow\",\"pattern\":\"(a|aa|aaa|aaaa|aaaaa|aaaaaa){1,60}"
               "(b|bb|bbb){1,60}c{1,60}x{1,60}y{1,60}\"}]}");
    memset(question, 'a', sizeof question);
    question[sizeof question - 1] = 0;
    ask(&b, MODEL_MAIN, question);
    T_OK(b.asker.answer.status != WEIR_OK);
    T_EQ(atomic_load(&b.stand->n_requests), 0);
    close_bench(&b);
}
