/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of src/store/passage.h. Every engine has to pass this. */
#include "store/passage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <weir/buf.h>

#include "base/mem.h"
#include "base/slice.h"
#include "conform/engine.h"
#include "t.h"

/* ---- helpers ---- */

static struct store *open_store(const char *folder)
{
    struct store *s = NULL;
    T_EQ(engine_open(&s, folder, NULL), WEIR_OK);
    return s;
}

static enum weir_status put(struct store *s, const char *owner, const char *id, const char *title,
                            const char *text)
{
    struct passage p = {weir_slice_of(id), weir_slice_of(owner), weir_slice_of(title),
                        weir_slice_of(text)};
    struct commit *c = commit_new(0);
    passage_put(c, &p, DOC_ANY_VERSION);
    return store_commit_wait(s, c).status;
}

static void take_away(struct store *s, const char *id)
{
    struct commit *c = commit_new(0);
    commit_remove(c, passage_key(weir_slice_of(id)), DOC_ANY_VERSION);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
}

static void put_ranges(struct weir_buf *out, struct weir_slice text,
                       const struct passage_range *ranges, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        T_OK(ranges[i].start >= at && ranges[i].end > ranges[i].start);
        T_OK(ranges[i].end <= text.len);
        weir_buf_append(out, text.ptr + at, ranges[i].start - at);
        weir_buf_append_char(out, '<');
        weir_buf_append(out, text.ptr + ranges[i].start, ranges[i].end - ranges[i].start);
        weir_buf_append_char(out, '>');
        at = ranges[i].end;
    }
    weir_buf_append(out, text.ptr + at, text.len - at);
}

/* "id:title|text with <marks>; " for each. */
static enum weir_status note_hit(void *user, const struct passage_hit *hit)
{
    struct weir_buf *out = user;
    weir_buf_append_slice(out, hit->id);
    weir_buf_append_char(out, ':');
    put_ranges(out, hit->title, hit->in_title, hit->n_in_title);
    weir_buf_append_char(out, '|');
    put_ranges(out, hit->text, hit->in_text, hit->n_in_text);
    weir_buf_append_str(out, "; ");
    return WEIR_OK;
}

static enum weir_status search(struct store *s, const struct passage_query *query,
                               struct weir_buf *out)
{
    weir_buf_init(out, 16 << 20);
    return store_search(s, query, note_hit, out);
}

static void expect_all(struct store *s, const struct passage_query *query, const char *want)
{
    struct weir_buf got;
    T_EQ(search(s, query, &got), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&got), want);
    weir_buf_fini(&got);
}

static void expect(struct store *s, const char *words, const char *want)
{
    struct passage_query q = {.owner = SLICE("ann"), .words = weir_slice_of(words), .limit = 10};
    expect_all(s, &q, want);
}

static enum weir_status refusal(struct store *s, struct weir_slice words)
{
    struct weir_buf got;
    struct passage_query q = {.owner = SLICE("ann"), .words = words, .limit = 10};
    enum weir_status st = search(s, &q, &got);
    T_EQ(got.len, 0);
    weir_buf_fini(&got);
    return st;
}

static void show_complaint(void *user, const char *text)
{
    (void)user;
    t_fail(__FILE__, __LINE__, "store_check: %s", text);
}

static void check(struct store *s)
{
    uint64_t n_wrong = 1;
    T_EQ(store_check(s, show_complaint, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
}

/* ---- words ---- */

TEST(all_words_have_to_be_there_in_any_order_and_place)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "Running", "slow miles in the morning"), WEIR_OK);
    T_EQ(put(s, "ann", "b", "Sleep", "mornings after slow evenings"), WEIR_OK);
    expect(s, "morning slow running", "a:<Running>|<slow> miles in the <morning>; ");
    expect(s, "slow morn",
           "b:Sleep|<mornings> after <slow> evenings; "
           "a:Running|<slow> miles in the <morning>; ");
    expect(s, "slow nothing", "");
    struct passage_query any = {
        .owner = SLICE("ann"), .words = SLICE("miles nothing"), .is_any = true, .limit = 10};
    expect_all(s, &any, "a:Running|slow <miles> in the morning; ");
    check(s);
    store_close(s);
}

TEST(a_phrase_is_its_words_in_a_row)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "", "one two three"), WEIR_OK);
    T_EQ(put(s, "ann", "b", "", "two one three"), WEIR_OK);
    expect(s, "\"one two\"", "a:|<one two> three; ");
    expect(s, "\"one two", "a:|<one two> three; ");
    expect(s, "\"one thr\"", "");
    expect(s, "\"two one\" \"three\"", "b:|<two one> <three>; ");
    expect(s, "one-two", "a:|<one two> three; ");
    expect(s, "\"one two\" \"two three\" two", "a:|<one two three>; ");
    store_close(s);
}

TEST(the_last_word_may_be_a_beginning_unless_a_sign_ends_it)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "", "write to [email_1] now"), WEIR_OK);
    T_EQ(put(s, "ann", "b", "", "write to [email_12] then"), WEIR_OK);
    expect(s, "[email_1]", "a:|write to [<email_1>] now; ");
    expect(s, "wri th", "");
    expect(s, "write th", "b:|<write> to [email_12] <then>; ");
    expect(s, "th.", "");
    expect(s, "th ", "");
    store_close(s);
}

TEST(case_and_diacritics_do_not_count)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "Größe", "Café ÉCLAIR naïve Ångström"), WEIR_OK);
    expect(s, "cafe", "a:Größe|<Café> ÉCLAIR naïve Ångström; ");
    expect(s, "CAFE\xCC\x81 eclair", "a:Größe|<Café> <ÉCLAIR> naïve Ångström; ");
    expect(s, "grosse", "");
    expect(s, "große", "a:<Größe>|Café ÉCLAIR naïve Ångström; ");
    expect(s, "groß", "a:<Größe>|Café ÉCLAIR naïve Ångström; ");
    store_close(s);
}

TEST(scripts_without_spaces_are_found_by_any_part)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "", "我有糖尿病史，医生说。"), WEIR_OK);
    T_EQ(put(s, "ann", "b", "", "血糖と尿酸のABC検査"), WEIR_OK);
    T_EQ(put(s, "ann", "c", "", "ฉันนอนหลับดี"), WEIR_OK);
    T_EQ(put(s, "ann", "d", "", "Ηλίας спит хорошо 잠을 잘 잔다"), WEIR_OK);
    expect(s, "糖尿病", "a:|我有<糖尿病>史，医生说。; ");
    expect(s, "abc検査", "b:|血糖と尿酸の<ABC検査>; ");
    expect(s, "尿病 医生", "a:|我有糖<尿病>史，<医生>说。; ");
    expect(s, "นอนหลับ", "c:|ฉัน<นอนหลับ>ดี; ");
    expect(s, "СПИТ ΗΛΊΑς", "d:|<Ηλίας> <спит> хорошо 잠을 잘 잔다; ");
    check(s);
    store_close(s);
}

TEST(nothing_in_a_query_has_a_meaning_for_the_engine)
{
    static const char *const hostile[] = {
        "one AND",       "one OR two", "NOT one",     "NEAR(one two, 3)", "title:one",
        "owner:o616e6e", "-one",       "^one",        "one*two",          "one + two",
        "{title} : one", "(one",       "one)",        "\"\"\"one\"\"\"",  "'; DROP TABLE docs",
        "search MATCH",  "%s%n",       "one\" OR \"", "rank:one",         "o626f62",
    };
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "bob", "b", "", "one two secret"), WEIR_OK);
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) expect(s, hostile[i], "");
    T_EQ(put(s, "ann", "a", "", "one and not near two"), WEIR_OK);
    expect(s, "one AND", "a:|<one> <and> not near two; ");
    expect(s, "NOT one", "a:|<one> and <not> near two; ");
    expect(s, "NEAR(two", "a:|one and not <near two>; ");
    expect(s, "-one", "a:|<one> and not near two; ");
    check(s);
    store_close(s);
}

TEST(a_query_that_cannot_be_is_refused)
{
    struct store *s = open_store(t_temp_dir());
    char words[PASSAGE_WORDS_BYTES + 2];
    memset(words, 'a', sizeof words);
    T_EQ(refusal(s, SLICE("")), WEIR_INVALID);
    T_EQ(refusal(s, SLICE("  \t\n")), WEIR_INVALID);
    T_EQ(refusal(s, SLICE("— … \"!?\" ()")), WEIR_INVALID);
    T_EQ(refusal(s, SLICE("a\xFF")), WEIR_INVALID);
    T_EQ(refusal(s, SLICE("a\0b")), WEIR_INVALID);
    T_EQ(refusal(s, SLICE("\"\xC3")), WEIR_INVALID);
    T_EQ(refusal(s, slice_of(words, PASSAGE_WORDS_BYTES)), WEIR_OK);
    T_EQ(refusal(s, slice_of(words, PASSAGE_WORDS_BYTES + 1)), WEIR_LIMIT);
    for (size_t i = 0; i < PASSAGE_WORDS_BYTES; i++) words[i] = i % 2 ? ' ' : 'a';
    T_EQ(refusal(s, slice_of(words, 2 * PASSAGE_MAX_WORDS)), WEIR_OK);
    T_EQ(refusal(s, slice_of(words, 2 * PASSAGE_MAX_WORDS + 1)), WEIR_LIMIT);
    store_close(s);
}

TEST(any_bytes_as_a_query_end_well)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "x", "one two"), WEIR_OK);
    for (int i = 0; i < 2000; i++) {
        static const char signs[] = "\"*():^-+{}[], anONE\xC3\xA9\xE7\xB3\x96";
        char words[24];
        size_t n = t_random() % sizeof words;
        for (size_t k = 0; k < n; k++) words[k] = signs[t_random() % (sizeof signs - 1)];
        struct weir_buf got;
        struct passage_query q = {.owner = SLICE("ann"), .words = slice_of(words, n), .limit = 3};
        enum weir_status st = search(s, &q, &got);
        T_OK(st == WEIR_OK || st == WEIR_INVALID);
        weir_buf_fini(&got);
    }
    store_close(s);
}

/* ---- passages ---- */

TEST(what_is_no_text_is_refused_and_the_place_is_told)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "", "good \xC3("), WEIR_INVALID);
    T_EQ(put(s, "ann", "a", "bad\xED\xA0\x80", ""), WEIR_INVALID);
    T_EQ(put(s, "ann", "a", "two\nlines", ""), WEIR_INVALID);
    T_EQ(put(s, "", "a", "", "of nobody"), WEIR_INVALID);
    struct passage nul = {SLICE("a"), SLICE("ann"), SLICE(""), SLICE("a\0b")};
    struct commit *c = commit_new(0);
    passage_put(c, &nul, DOC_ANY_VERSION);
    T_EQ(store_commit_wait(s, c).status, WEIR_INVALID);
    T_EQ(passage_good_prefix(SLICE("a\0b")), 1);
    T_EQ(passage_good_prefix(SLICE("\xC3\xA9\xFF")), 2);
    T_EQ(passage_good_prefix(SLICE("\xC3\xA9")), 2);
    T_EQ(passage_good_prefix(SLICE("")), 0);
    expect(s, "good", "");
    store_close(s);
}

TEST(a_passage_that_changes_is_found_by_its_new_words_alone)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "first", "apple"), WEIR_OK);
    expect(s, "apple", "a:first|<apple>; ");
    T_EQ(put(s, "ann", "a", "second", "pear"), WEIR_OK);
    expect(s, "apple", "");
    expect(s, "first", "");
    expect(s, "pear", "a:second|<pear>; ");
    take_away(s, "a");
    expect(s, "pear", "");
    check(s);
    T_EQ(put(s, "bob", "a", "third", "pear"), WEIR_OK);
    expect(s, "pear", "");
    check(s);
    store_close(s);
}

TEST(a_passage_is_a_document_like_all_others)
{
    struct doc doc;
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a/1", "title", "text\nof two lines"), WEIR_OK);
    T_EQ(store_doc_get(s, passage_key(SLICE("a/1")), &doc), WEIR_OK);
    T_EQ_STR(doc.body, "title\ntext\nof two lines");
    doc_fini(&doc);
    store_close(s);
}

TEST(others_passages_are_not_found)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "bob", "b", "secret", "secret"), WEIR_OK);
    T_EQ(put(s, "Ann", "c", "secret", "secret"), WEIR_OK);
    T_EQ(put(s, "ann2", "d", "secret", "secret"), WEIR_OK);
    T_EQ(put(s, "a nn", "e", "secret", "secret ann"), WEIR_OK);
    expect(s, "secret", "");
    struct passage_query q = {.owner = SLICE("a nn"), .words = SLICE("secret"), .limit = 9};
    expect_all(s, &q, "e:<secret>|<secret> ann; ");
    store_close(s);
}

TEST(the_best_come_first_and_ties_by_id)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "z", "", "apple"), WEIR_OK);
    T_EQ(put(s, "ann", "m", "", "apple"), WEIR_OK);
    T_EQ(put(s, "ann", "a", "", "apple and a lot of other things that nobody asked for"), WEIR_OK);
    T_EQ(put(s, "ann", "q", "apple", "pear"), WEIR_OK);
    expect(s, "apple",
           "q:<apple>|pear; m:|<apple>; z:|<apple>; "
           "a:|<apple> and a lot of other things that nobody asked for; ");
    struct passage_query two = {.owner = SLICE("ann"), .words = SLICE("apple"), .limit = 2};
    expect_all(s, &two, "q:<apple>|pear; m:|<apple>; ");
    store_close(s);
}

TEST(of_one_source_there_are_as_many_as_were_asked_for)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "x/1", "", "apple"), WEIR_OK);
    T_EQ(put(s, "ann", "x/2", "", "apple"), WEIR_OK);
    T_EQ(put(s, "ann", "x/3", "", "apple"), WEIR_OK);
    T_EQ(put(s, "ann", "y", "", "apple pie"), WEIR_OK);
    struct passage_query one = {
        .owner = SLICE("ann"), .words = SLICE("apple"), .limit = 3, .per_source = 1};
    expect_all(s, &one, "x/1:|<apple>; y:|<apple> pie; ");
    one.per_source = 2;
    expect_all(s, &one, "x/1:|<apple>; x/2:|<apple>; y:|<apple> pie; ");
    store_close(s);
}

static enum weir_status stop(void *user, const struct passage_hit *hit)
{
    (void)hit;
    ++*(int *)user;
    return WEIR_CONFLICT;
}

TEST(whoever_has_enough_ends_the_search)
{
    int n = 0;
    struct store *s = open_store(t_temp_dir());
    T_EQ(put(s, "ann", "a", "", "apple"), WEIR_OK);
    T_EQ(put(s, "ann", "b", "", "apple"), WEIR_OK);
    struct passage_query q = {.owner = SLICE("ann"), .words = SLICE("apple"), .limit = 3};
    T_EQ(store_search(s, &q, stop, &n), WEIR_CONFLICT);
    T_EQ(n, 1);
    expect(s, "apple", "a:|<apple>; b:|<apple>; ");
    store_close(s);
}

/* ---- size, time, crowds ---- */

TEST(a_text_of_four_megabytes_is_found)
{
    struct store *s = open_store(t_temp_dir());
    struct weir_buf text, got;
    weir_buf_init(&text, STORE_DOC_BYTES);
    for (unsigned i = 0; text.len < STORE_DOC_BYTES - 64; i++)
        weir_buf_printf(&text, "word%u common ", i);
    weir_buf_append_str(&text, "needle");
    struct passage p = {SLICE("a"), SLICE("ann"), SLICE("t"), weir_buf_slice(&text)};
    struct commit *c = commit_new(0);
    passage_put(c, &p, DOC_ANY_VERSION);
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    struct passage_query q = {.owner = SLICE("ann"), .words = SLICE("common needle"), .limit = 1};
    T_EQ(search(s, &q, &got), WEIR_OK);
    T_EQ(got.len, text.len + strlen("a:t|; ") + 2UL * PASSAGE_MAX_RANGES);
    weir_buf_fini(&got);
    weir_buf_fini(&text);
    check(s);
    store_close(s);
}

TEST(passages_are_found_after_the_store_was_opened_again)
{
    const char *folder = t_temp_dir();
    char id[16];
    struct store *s = open_store(folder);
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "p%03d", i);
        T_EQ(put(s, i % 2 ? "ann" : "bob", id, "title", i == 201 ? "needle" : "hay"), WEIR_OK);
    }
    take_away(s, "p003");
    store_close(s);
    s = open_store(folder);
    expect(s, "needle", "p201:title|<needle>; ");
    check(s);
    store_close(s);
}

TEST(a_backup_finds_what_the_store_finds)
{
    const char *folder = t_temp_dir();
    char copy[512], path[600];
    struct store_error error;
    struct store *s = open_store(folder);
    T_EQ(put(s, "ann", "a", "t", "needle"), WEIR_OK);
    snprintf(copy, sizeof copy, "%s/copy", folder);
    T_EQ(mkdir(copy, 0700), 0);
    snprintf(path, sizeof path, "%s/weir.db", copy);
    T_EQ(store_backup(s, path, &error), engine_backs_up ? WEIR_OK : WEIR_NOT_IMPLEMENTED);
    if (!engine_backs_up) {
        T_OK(error.text[0] != '\0');
        store_close(s);
        return;
    }
    store_close(s);
    s = open_store(copy);
    expect(s, "needle", "a:t|<needle>; ");
    check(s);
    store_close(s);
}

struct crowd {
    struct store *s;
    atomic_bool is_over;
};

static enum weir_status count_hit(void *user, const struct passage_hit *hit)
{
    T_EQ(hit->n_in_text, 1);
    ++*(size_t *)user;
    return WEIR_OK;
}

static void *search_on_and_on(void *user)
{
    struct crowd *crowd = user;
    size_t before = 0;
    while (!atomic_load(&crowd->is_over)) {
        struct passage_query q = {
            .owner = SLICE("ann"), .words = SLICE("common"), .limit = PASSAGE_MAX_HITS};
        size_t n = 0;
        T_EQ(store_search(crowd->s, &q, count_hit, &n), WEIR_OK);
        T_OK(n >= before);
        before = n;
    }
    return NULL;
}

TEST(a_search_sees_what_was_committed_before_it_began)
{
    struct crowd crowd = {.s = open_store(t_temp_dir())};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, search_on_and_on, &crowd);
    for (int i = 0; i < 60; i++) {
        char id[16], words[32];
        snprintf(id, sizeof id, "p%03d", i);
        snprintf(words, sizeof words, "common number%d", i);
        T_EQ(put(crowd.s, "ann", id, "", words), WEIR_OK);
        snprintf(words, sizeof words, "number%d ", i);
        struct passage_query q = {.owner = SLICE("ann"), .words = weir_slice_of(words), .limit = 5};
        size_t n = 0;
        T_EQ(store_search(crowd.s, &q, count_hit, &n), WEIR_OK);
        T_EQ(n, 1);
    }
    atomic_store(&crowd.is_over, true);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    check(crowd.s);
    store_close(crowd.s);
}
