/* SPDX-License-Identifier: Apache-2.0 */
/* Tools: what they bring, what they refuse and in which words, and that all of it is the same
 * again. */
#include "agent/tool.h"

#include <stdio.h>

#include "agent/library.h"
#include "agent/memory.h"
#include "desk.h"
#include "person.h"
#include "shield/shield.h"
#include "store/store.h"

/* ---- helpers ---- */

struct bench {
    struct desk d;
    struct tool_case c;
    struct store *store;
    struct vault *vault;
    struct shield_policy *policy;
    struct weir_buf out, cited, told;
    bool is_aborted;
};

static void note_citation(void *user, struct weir_slice source_id, struct weir_slice title,
                          struct weir_slice snippet)
{
    struct bench *b = user;
    T_OK(source_id.len > 0 && title.len > 0 && snippet.len > 0);
    weir_buf_append_slice(&b->cited, source_id);
    weir_buf_append_char(&b->cited, '|');
    weir_buf_append_slice(&b->cited, snippet);
    weir_buf_append_char(&b->cited, '\n');
}

static void note_progress(void *user, struct weir_slice label, unsigned percent)
{
    struct bench *b = user;
    T_OK(percent <= 100);
    weir_buf_append_slice(&b->told, label);
}

static bool is_aborted(void *user)
{
    return ((struct bench *)user)->is_aborted;
}

static void bench_init(struct bench *b)
{
    struct store_error error;
    char path[512], error_text[VAULT_ERROR_BYTES];
    memset(b, 0, sizeof *b);
    desk_init(&b->d, "?");
    person_add(b->d.c.data);
    T_EQ(store_open(&b->store, t_temp_dir(), NULL, &error), WEIR_OK);
    weir_buf_init(&b->out, 1 << 20);
    weir_buf_init(&b->cited, 1 << 20);
    weir_buf_init(&b->told, 1 << 20);
    snprintf(path, sizeof path, "%s/key", t_temp_dir());
    enum weir_status st = vault_create(path);
    T_OK(st == WEIR_OK || st == WEIR_EXISTS);
    T_EQ(vault_open(path, &b->vault, error_text), WEIR_OK);
    b->policy = shield_policy_default();
    b->c = (struct tool_case){.owner = SLICE("ann"),
                              .vault = b->vault,
                              .policy = b->policy,
                              .store = b->store,
                              .data = b->d.c.data,
                              .clock = b->d.c.clock,
                              .arena = b->d.c.arena,
                              .progress = note_progress,
                              .cite = note_citation,
                              .is_aborted = is_aborted,
                              .user = b};
}

static void bench_fini(struct bench *b)
{
    weir_buf_fini(&b->out);
    weir_buf_fini(&b->cited);
    weir_buf_fini(&b->told);
    store_close(b->store);
    vault_close(b->vault);
    shield_policy_free(b->policy);
    desk_fini(&b->d);
}

static enum weir_status run(struct bench *b, const char *name, struct weir_slice input)
{
    const struct tool *t = tool_find(weir_slice_of(name));
    T_OK(t != NULL);
    weir_buf_reset(&b->out);
    weir_buf_reset(&b->cited);
    return tool_run(t, &b->c, desk_json(&b->d, input), &b->out);
}

static const struct weir_json *result(struct bench *b, const char *name, const char *input)
{
    T_EQ(run(b, name, weir_slice_of(input)), WEIR_OK);
    T_OK(b->out.len <= TOOL_RESULT_BYTES);
    T_EQ(b->c.why[0], 0);
    return desk_json(&b->d, weir_buf_slice(&b->out));
}

static void expect_refusal(struct bench *b, const char *name, const char *input, const char *why)
{
    enum weir_status st = run(b, name, weir_slice_of(input));
    T_OK(st == WEIR_BAD_FIELD || st == WEIR_NOT_FOUND || st == WEIR_UNPROCESSABLE);
    T_EQ(b->out.len, 0);
    if (!strstr(b->c.why, why))
        t_fail(__FILE__, __LINE__, "%s %s: \"%s\" lacks \"%s\"", name, input, b->c.why, why);
}

static bool holds(const struct weir_buf *text, const char *part)
{
    return text->len > 0 && memmem(text->ptr, text->len, part, strlen(part)) != NULL;
}

static void remember(struct bench *b, const char *owner, const char *id, const char *category,
                     const char *text)
{
    struct weir_buf body;
    struct memory_entry e = {.id = weir_slice_of(id),
                             .category = weir_slice_of(category),
                             .text = weir_slice_of(text),
                             .created_at = SLICE("2025-01-01T00:00:00.000Z")};
    weir_buf_init(&body, MEMORY_ENTRY_BYTES);
    memory_put(&body, &e);
    struct commit *c = commit_new(0);
    commit_put(c, memory_key(e.id), DOC_ANY_VERSION, weir_slice_of(owner), weir_buf_slice(&body));
    T_EQ(store_commit_wait(b->store, c).status, WEIR_OK);
    weir_buf_fini(&body);
}

/* ---- the list ---- */

TEST(every_tool_of_the_list_is_found_by_its_name)
{
    struct bench b;
    size_t n = 0;
    bench_init(&b);
    tools_put(&b.out);
    const struct weir_json *list = desk_json(&b.d, weir_buf_slice(&b.out));
    for (const struct weir_json *t = weir_json_first(list); t; t = weir_json_next(t), n++) {
        const struct tool *tool = tool_find(weir_json_text(weir_json_get_str(t, "name")));
        T_OK(tool != NULL);
        T_OK(tool_label(tool)[0] && tool_name(tool)[0]);
        T_OK(weir_json_text(weir_json_get_str(t, "description")).len > 20);
        const struct weir_json *schema = weir_json_get_str(t, "input_schema");
        T_EQ_STR(weir_json_text(weir_json_get_str(schema, "type")), "object");
    }
    T_OK(n >= 4);
    T_OK(tool_find(SLICE("rm")) == NULL);
    T_OK(tool_find(SLICE("")) == NULL);
    T_OK(tool_find(SLICE("query_data ")) == NULL);
    bench_fini(&b);
}

TEST(nothing_in_the_list_is_private)
{
    struct bench b;
    struct shield_findings found;
    bench_init(&b);
    struct shield_rules *rules = shield_rules_new();
    tools_put(&b.out);
    T_EQ(shield_scan(rules, weir_buf_slice(&b.out), &found), WEIR_OK);
    for (size_t i = 0; i < found.n; i++)
        if (!found.items[i].is_public)
            t_fail(__FILE__, __LINE__, "%s: %.*s", found.items[i].label,
                   (int)(found.items[i].end - found.items[i].start),
                   b.out.ptr + found.items[i].start);
    shield_findings_fini(&found);
    shield_rules_free(rules);
    bench_fini(&b);
}

TEST(input_that_is_none_is_refused_by_all)
{
    static const char *const names[] = {"list_data", "query_data", "search_documents",
                                        "read_memory", "look_up_fact"};
    static const char *const inputs[] = {"null", "[]", "\"x\"", "1", "true"};
    struct bench b;
    bench_init(&b);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
            expect_refusal(&b, names[i], inputs[k], "object");
        expect_refusal(&b, names[i], "{\"op\":\"count\",\"evil\":1}", "");
        b.is_aborted = true;
        T_EQ(run(&b, names[i], SLICE("{}")), WEIR_CANCELLED);
        b.is_aborted = false;
        T_EQ(tool_run(tool_find(weir_slice_of(names[i])), &b.c, NULL, &b.out), WEIR_BAD_FIELD);
    }
    bench_fini(&b);
}

/* ---- data ---- */

TEST(a_plan_is_answered_with_numbers_words_and_what_bodies_say)
{
    struct bench b;
    bench_init(&b);
    const struct weir_json *r =
        result(&b, "query_data",
               "{\"op\":\"aggregate\",\"metric\":\"resting_heart_rate\",\"window\":"
               "{\"last_days\":30}}");
    int64_t n = 0;
    T_OK(weir_json_int64(weir_json_get_str(weir_json_get_str(r, "result"), "n"), &n));
    T_EQ(n, 30);
    T_OK(weir_json_text(weir_json_get_str(r, "summary")).len > 10);
    const struct weir_json *reference = weir_json_get_str(r, "reference");
    T_OK(weir_json_text(weir_json_get_str(reference, "source")).len > 0);
    T_OK(holds(&b.cited, "fact:"));
    T_OK(holds(&b.cited, "bpm"));
    T_OK(holds(&b.told, "Reading your data"));
    /* A spread is no value that anybody has limits for. */
    r = result(&b, "query_data",
               "{\"op\":\"aggregate\",\"metric\":\"resting_heart_rate\",\"stat\":\"sd\"}");
    T_OK(weir_json_get_str(r, "reference") == NULL);
    T_EQ(b.cited.len, 0);
    bench_fini(&b);
}

TEST(rows_that_do_not_fit_are_left_out_and_counted)
{
    struct bench b;
    bench_init(&b);
    const struct weir_json *r =
        result(&b, "query_data", "{\"op\":\"list\",\"metric\":\"steps\",\"limit\":150}");
    size_t n = weir_json_count(weir_json_get_str(weir_json_get_str(r, "result"), "rows"));
    int64_t left_out = 0;
    T_OK(n > 0);
    T_OK(weir_json_int64(weir_json_get_str(r, "rowsLeftOut"), &left_out));
    T_EQ((int64_t)n + left_out, 150);
    bench_fini(&b);
}

TEST(a_wrong_plan_is_refused_with_its_place)
{
    struct bench b;
    bench_init(&b);
    expect_refusal(&b, "query_data", "{}", "op");
    expect_refusal(&b, "query_data", "{\"op\":\"drop\",\"metric\":\"steps\"}", "op");
    expect_refusal(&b, "query_data", "{\"op\":\"aggregate\",\"metric\":\"stepz\"}", "steps");
    expect_refusal(&b, "query_data", "{\"op\":\"aggregate\",\"metric\":\"../../etc/passwd\"}",
                   "metric");
    expect_refusal(&b, "query_data",
                   "{\"op\":\"aggregate\",\"metric\":\"steps\",\"window\":{\"last_days\":-1}}",
                   "window");
    expect_refusal(&b, "query_data",
                   "{\"op\":\"aggregate\",\"metric\":\"steps\",\"owner\":\"bob\"}", "owner");
    const struct weir_json *r =
        result(&b, "query_data", "{\"op\":\"aggregate\",\"metric\":\"blood_oxygen\"}");
    T_OK(weir_json_get_str(weir_json_get_str(r, "result"), "unanswerable") != NULL);
    bench_fini(&b);
}

TEST(what_was_measured_is_listed)
{
    struct bench b;
    bench_init(&b);
    const struct weir_json *r = result(&b, "list_data", "{}");
    struct weir_slice data = weir_json_text(weir_json_get_str(r, "data"));
    T_OK(memmem(data.ptr, data.len, "resting_heart_rate (bpm)", 24) != NULL);
    bench_fini(&b);
}

/* ---- memory ---- */

TEST(memory_is_read_by_category_the_newest_first_and_ones_own)
{
    struct bench b;
    bench_init(&b);
    remember(&b, "ann", "mem_01", "goal", "run a marathon");
    remember(&b, "ann", "mem_02", "preference", "short \"answers\"");
    remember(&b, "ann", "mem_03", "goal", "sleep more");
    remember(&b, "bob", "mem_04", "goal", "a secret of bob");
    result(&b, "read_memory", "{\"category\":\"goal\"}");
    T_EQ_STR(weir_buf_slice(&b.out),
             "{\"memories\":[{\"category\":\"goal\",\"text\":\"sleep more\",\"since\":"
             "\"2025-01-01T00:00:00.000Z\"},{\"category\":\"goal\",\"text\":\"run a marathon\","
             "\"since\":\"2025-01-01T00:00:00.000Z\"}],\"hasMore\":false}");
    T_EQ(weir_json_count(weir_json_get_str(result(&b, "read_memory", "{}"), "memories")), 3);
    expect_refusal(&b, "read_memory", "{\"category\":\"secret\"}", "goal, preference");
    expect_refusal(&b, "read_memory", "{\"category\":7}", "category");
    expect_refusal(&b, "read_memory", "{\"category\":\" \"}", "category");
    bench_fini(&b);
}

TEST(a_long_memory_is_cut_and_says_so)
{
    struct bench b;
    char id[16];
    char text[4000];
    bench_init(&b);
    memset(text, 1, sizeof text);
    text[sizeof text - 1] = 0;
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "mem_%02d", i);
        remember(&b, "ann", id, "insight", text);
    }
    const struct weir_json *r = result(&b, "read_memory", "{}");
    T_EQ(weir_json_type_of(weir_json_get_str(r, "hasMore")), WEIR_JSON_TRUE);
    bench_fini(&b);
}

/* ---- documents ---- */

static void upload(struct bench *b, const char *owner, const char *title, const char *text)
{
    char id[LIBRARY_ID_LEN + 1];
    struct library l = {.store = b->store,
                        .vault = b->vault,
                        .policy = b->policy,
                        .clock = b->c.clock,
                        .owner = weir_slice_of(owner)};
    struct library_text t = {weir_slice_of(title), weir_slice_of(text), true};
    weir_buf_reset(&b->out);
    T_EQ(library_add(&l, &t, id, &b->out), WEIR_OK);
}

TEST(passages_are_found_cited_and_ones_own)
{
    struct bench b;
    bench_init(&b);
    upload(&b, "ann", "Insurance", "Physiotherapy is covered. Write to help@insurer.example.");
    upload(&b, "bob", "Secret", "Physiotherapy of bob");
    const struct weir_json *r = result(&b, "search_documents", "{\"query\":\"physiotherapy\"}");
    const struct weir_json *list = weir_json_get_str(r, "passages");
    T_EQ(weir_json_count(list), 1);
    const struct weir_json *p = weir_json_first(list);
    T_EQ_STR(weir_json_text(weir_json_get_str(p, "title")), "Insurance");
    T_EQ_STR(weir_json_text(weir_json_get_str(p, "snippet")),
             "Physiotherapy is covered. Write to help@insurer.example.");
    T_OK(library_is_id(weir_json_text(weir_json_get_str(p, "sourceId"))));
    T_OK(holds(&b.cited, "doc_"));
    T_OK(holds(&b.cited, "|Physiotherapy is covered."));
    r = result(&b, "search_documents", "{\"query\":\"help@insurer.example\",\"limit\":1}");
    T_EQ(weir_json_count(weir_json_get_str(r, "passages")), 1);
    r = result(&b, "search_documents", "{\"query\":\"nothing\"}");
    T_EQ(weir_json_count(weir_json_get_str(r, "passages")), 0);
    T_EQ(b.cited.len, 0);
    bench_fini(&b);
}

TEST(a_wrong_search_is_refused_in_words)
{
    struct bench b;
    bench_init(&b);
    expect_refusal(&b, "search_documents", "{}", "query is missing");
    expect_refusal(&b, "search_documents", "{\"query\":\"\"}", "query");
    expect_refusal(&b, "search_documents", "{\"query\":\"?!\"}", "word");
    expect_refusal(&b, "search_documents", "{\"query\":[\"a\"]}", "query");
    expect_refusal(&b, "search_documents", "{\"query\":\"a\\u0000b\"}", "query");
    expect_refusal(&b, "search_documents", "{\"query\":\"a\\ud800\"}", "query");
    expect_refusal(&b, "search_documents", "{\"query\":\"a\",\"limit\":0}", "1 to 10");
    expect_refusal(&b, "search_documents", "{\"query\":\"a\",\"limit\":\"5\"}", "limit");
    expect_refusal(&b, "search_documents", "{\"query\":\"a\",\"owner\":\"bob\"}", "owner");
    bench_fini(&b);
}

TEST(passages_that_do_not_fit_are_left_out)
{
    struct bench b;
    struct weir_buf text;
    bench_init(&b);
    weir_buf_init(&text, 1 << 20);
    weir_buf_append_str(&text, "needle ");
    for (int i = 0; i < 1500; i++) weir_buf_append_char(&text, 1);
    weir_buf_append_char(&text, 0);
    for (int i = 0; i < 12; i++) upload(&b, "ann", "t", text.ptr);
    const struct weir_json *r =
        result(&b, "search_documents", "{\"query\":\"needle\",\"limit\":10}");
    T_EQ(weir_json_type_of(weir_json_get_str(r, "hasMore")), WEIR_JSON_TRUE);
    weir_buf_fini(&text);
    bench_fini(&b);
}

/* ---- facts ---- */

TEST(facts_come_with_their_sources_and_are_cited)
{
    struct bench b;
    bench_init(&b);
    const struct weir_json *r = result(&b, "look_up_fact", "{\"subject\":\"LDL cholesterol\"}");
    const struct weir_json *fact = weir_json_first(weir_json_get_str(r, "facts"));
    T_EQ_STR(weir_json_text(weir_json_get_str(fact, "subject")), "ldl");
    T_OK(weir_json_count(weir_json_get_str(fact, "bands")) >= 2);
    T_OK(weir_json_count(weir_json_get_str(r, "sources")) >= 1);
    T_OK(holds(&b.cited, "fact:"));
    T_OK(holds(&b.cited, "mg/dL"));
    r = result(&b, "look_up_fact", "{\"subject\":\"blood pressure\"}");
    T_EQ(weir_json_count(weir_json_get_str(r, "facts")), 2);
    result(&b, "look_up_fact", "{\"subject\":\"vo2max\",\"age\":34,\"sex\":\"female\"}");
    T_OK(!holds(&b.out, "\"needs\""));
    bench_fini(&b);
}

TEST(what_nobody_has_facts_about_is_refused_with_what_there_is)
{
    struct bench b;
    bench_init(&b);
    expect_refusal(&b, "look_up_fact", "{\"subject\":\"the moon\"}", "resting_heart_rate");
    expect_refusal(&b, "look_up_fact", "{\"subject\":\"resting_hart_rate\"}", "resting_heart_rate");
    expect_refusal(&b, "look_up_fact", "{}", "subject is missing");
    expect_refusal(&b, "look_up_fact", "{\"subject\":\"\"}", "subject");
    expect_refusal(&b, "look_up_fact", "{\"subject\":[\"ldl\"]}", "subject");
    expect_refusal(&b, "look_up_fact", "{\"subject\":\"ldl\",\"age\":\"34\"}", "age");
    expect_refusal(&b, "look_up_fact", "{\"subject\":\"ldl\",\"age\":121}", "0 to 120");
    expect_refusal(&b, "look_up_fact", "{\"subject\":\"ldl\",\"age\":1.5}", "age");
    expect_refusal(&b, "look_up_fact", "{\"subject\":\"ldl\",\"sex\":\"x\"}", "female");
    bench_fini(&b);
}

/* ---- all ---- */

TEST(the_same_call_brings_the_same_bytes)
{
    static const struct {
        const char *name, *input;
    } calls[] = {
        {"list_data", "{}"},
        {"query_data", "{\"op\":\"correlate\",\"metric\":\"steps\",\"with\":\"sleep_minutes\"}"},
        {"query_data", "{\"op\":\"group\",\"metric\":\"steps\",\"by\":\"weekday\"}"},
        {"query_data", "{\"op\":\"aggregate\",\"metric\":\"resting_heart_rate\"}"},
        {"read_memory", "{}"},
        {"search_documents", "{\"query\":\"nothing at all\"}"},
        {"look_up_fact", "{\"subject\":\"blood pressure\"}"},
        {"look_up_fact", "{\"subject\":\"sleep\",\"age\":70}"},
    };
    struct weir_buf first;
    weir_buf_init(&first, 1 << 20);
    for (int round = 0; round < 2; round++) {
        struct bench b;
        bench_init(&b);
        remember(&b, "ann", "mem_01", "goal", "run");
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            enum weir_status st = run(&b, calls[i].name, weir_slice_of(calls[i].input));
            weir_buf_append_slice(&b.out, weir_buf_slice(&b.cited));
            weir_buf_append_str(&b.out, b.c.why);
            weir_buf_append_u64(&b.out, (uint64_t)st);
            if (round == 0) {
                weir_buf_append_u64(&first, b.out.len);
                weir_buf_append_char(&first, ':');
                weir_buf_append_slice(&first, weir_buf_slice(&b.out));
            } else {
                T_OK(memmem(first.ptr, first.len, b.out.ptr, b.out.len) != NULL);
            }
        }
        bench_fini(&b);
    }
    weir_buf_fini(&first);
}
