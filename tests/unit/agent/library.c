/* SPDX-License-Identifier: Apache-2.0 */
/* People's documents: kept without private values, found by them, whole again for their owner. */
#include "agent/library.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>

#include "agent/library_impl.h"
#include "base/mem.h"
#include "base/slice.h"
#include "t.h"
#include "unit/agent/desk.h"

/* ---- helpers ---- */

struct shelf {
    struct library l;
    struct store *store;
    struct vault *vault;
    struct shield_policy *policy, *off;
    struct fake_clock clock;
    struct weir_json_doc *doc;
    struct weir_buf out;
    char folder[400], id[LIBRARY_ID_LEN + 1];
};

static void write_policy(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    T_OK(f != NULL);
    fputs(text, f);
    fclose(f);
}

static void shelf_init(struct shelf *s)
{
    char path[512], error[SHIELD_ERROR_BYTES];
    struct store_error store_error;
    memset(s, 0, sizeof *s);
    snprintf(s->folder, sizeof s->folder, "%s/store", t_temp_dir());
    snprintf(path, sizeof path, "%s/key", t_temp_dir());
    T_EQ(vault_create(path), WEIR_OK);
    T_EQ(vault_open(path, &s->vault, error), WEIR_OK);
    s->policy = shield_policy_default();
    snprintf(path, sizeof path, "%s/off.json", t_temp_dir());
    write_policy(path, "{\"piiAction\":\"off\"}");
    T_EQ(shield_policy_read(&s->off, path, error), WEIR_OK);
    T_EQ(store_open(&s->store, s->folder, NULL, &store_error), WEIR_OK);
    fake_clock_init(&s->clock, 1750000000000);
    s->doc = weir_json_doc_new(0);
    weir_buf_init(&s->out, LIBRARY_ANSWER_BYTES);
    s->l = (struct library){.store = s->store,
                            .vault = s->vault,
                            .policy = s->policy,
                            .clock = &s->clock.clock,
                            .owner = SLICE("ann")};
}

static void shelf_fini(struct shelf *s)
{
    uint64_t n_wrong = 0;
    T_EQ(store_check(s->store, NULL, NULL, &n_wrong), WEIR_OK);
    T_EQ(n_wrong, 0);
    store_close(s->store);
    weir_buf_fini(&s->out);
    weir_json_doc_free(s->doc);
    shield_policy_free(s->policy);
    shield_policy_free(s->off);
    vault_close(s->vault);
}

static const char *add(struct shelf *s, const char *title, const char *text)
{
    struct library_text t = {weir_slice_of(title), weir_slice_of(text), true};
    weir_buf_reset(&s->out);
    enum weir_status st = library_add(&s->l, &t, s->id, &s->out);
    if (st != WEIR_OK) t_fail(__FILE__, __LINE__, "%s: %s", weir_status_name(st), s->l.why);
    return s->id;
}

static const struct weir_json *got(struct shelf *s, const char *id)
{
    const struct weir_json *json = NULL;
    weir_buf_reset(&s->out);
    T_EQ(library_get(&s->l, weir_slice_of(id), &s->out), WEIR_OK);
    T_EQ(weir_json_parse(s->doc, weir_buf_slice(&s->out), &json, NULL), WEIR_OK);
    return json;
}

static struct weir_slice text_of(const struct weir_json *json, const char *key)
{
    return weir_json_text(weir_json_get_str(json, key));
}

/* "title#heading: snippet with <marks>; " for each. */
static enum weir_status note_hit(void *user, const struct library_hit *hit)
{
    struct weir_buf *out = user;
    size_t point = 0;
    size_t k = 0;
    T_EQ(hit->id.len, LIBRARY_ID_LEN);
    weir_buf_append_slice(out, hit->title);
    weir_buf_append_char(out, '#');
    weir_buf_append_slice(out, hit->heading);
    weir_buf_append_str(out, ": ");
    T_EQ(utf8_valid_prefix(hit->snippet), hit->snippet.len);
    for (size_t i = 0; i <= hit->snippet.len; i++) {
        bool is_start =
            i == hit->snippet.len || ((unsigned char)hit->snippet.ptr[i] & 0xC0) != 0x80;
        if (is_start && k < hit->n_points && hit->points[k].end == point) {
            weir_buf_append_char(out, '>');
            k++;
        }
        if (is_start && k < hit->n_points && hit->points[k].start == point)
            weir_buf_append_char(out, '<');
        if (i < hit->snippet.len) weir_buf_append_char(out, hit->snippet.ptr[i]);
        point += is_start;
    }
    T_EQ(k, hit->n_points);
    weir_buf_append_str(out, "; ");
    return WEIR_OK;
}

static void expect(struct shelf *s, const char *words, const char *want)
{
    struct library_query q = {
        .words = weir_slice_of(words), .limit = 10, .per_document = 1, .snippet_points = 60};
    weir_buf_reset(&s->out);
    T_EQ(library_search(&s->l, &q, note_hit, &s->out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&s->out), want);
}

/* Whether any file of the store has these bytes. */
static bool is_on_disk(struct shelf *s, const char *bytes)
{
    bool is_there = false;
    T_EQ(store_settle(s->store), WEIR_OK);
    DIR *d = opendir(s->folder);
    for (struct dirent *e; (e = readdir(d));) {
        char path[900];
        char *content = mem_alloc(64 << 20);
        snprintf(path, sizeof path, "%s/%s", s->folder, e->d_name);
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(content, 1, 64 << 20, f) : 0;
        if (f) fclose(f);
        is_there = is_there || memmem(content, n, bytes, strlen(bytes)) != NULL;
        mem_free(content);
    }
    closedir(d);
    return is_there;
}

/* ---- passages ---- */

static void expect_cuts(struct weir_slice text, bool is_markdown)
{
    struct cutter c;
    struct weir_slice piece;
    struct weir_buf all, headings;
    size_t n = 0;
    weir_buf_init(&all, 64 << 20);
    weir_buf_init(&headings, 4096);
    cutter_init(&c, text, is_markdown);
    while (cutter_next(&c, &piece, &headings)) {
        T_OK(piece.len > 0 && piece.len <= CUT_MOST_BYTES);
        T_EQ(utf8_valid_prefix(piece), piece.len);
        T_EQ(weir_buf_status(&headings), WEIR_OK);
        weir_buf_append_slice(&all, piece);
        n++;
    }
    T_EQ_SLICE(weir_buf_slice(&all), text);
    T_OK(n <= text.len / 300 + 2);
    weir_buf_fini(&all);
    weir_buf_fini(&headings);
}

TEST(passages_are_the_text_whatever_it_is)
{
    static const char *const parts[] = {"word ", "\n",     "\n\n", "# Heading\n",      "## Zwei\n",
                                        "```\n", "糖尿病", "é",    "[email_1]",        ". ",
                                        "#",     "~~~\n",  "\r\n", "aaaaaaaaaaaaaaaa", "😀",
                                        "[",     "]"};
    for (size_t round = 0; round < t_rounds(400); round++) {
        struct weir_buf text;
        size_t n = t_random() % 3000;
        size_t kinds = 1 + t_random() % (sizeof parts / sizeof *parts);
        size_t from = t_random() % (sizeof parts / sizeof *parts);
        weir_buf_init(&text, 1 << 20);
        for (size_t i = 0; i < n; i++)
            weir_buf_append_str(
                &text, parts[(from + t_random() % kinds) % (sizeof parts / sizeof *parts)]);
        expect_cuts(weir_buf_slice(&text), round % 2);
        weir_buf_fini(&text);
    }
}

TEST(a_placeholder_is_never_cut)
{
    for (size_t before = CUT_MOST_BYTES - 40; before < CUT_MOST_BYTES + 2; before++) {
        struct cutter c;
        struct weir_slice piece;
        struct weir_buf text, headings;
        size_t n = 0;
        weir_buf_init(&text, 1 << 20);
        weir_buf_init(&headings, 4096);
        for (size_t i = 0; i < before; i++) weir_buf_append_char(&text, 'x');
        weir_buf_append_str(&text, "[email_1]");
        for (size_t i = 0; i < before; i++) weir_buf_append_char(&text, 'x');
        cutter_init(&c, weir_buf_slice(&text), false);
        while (cutter_next(&c, &piece, &headings))
            n += memmem(piece.ptr, piece.len, "[email_1]", 9) != NULL;
        T_EQ(n, 1);
        weir_buf_fini(&text);
        weir_buf_fini(&headings);
    }
}

TEST(headings_stand_above_their_passages)
{
    struct shelf s;
    struct weir_buf text;
    shelf_init(&s);
    weir_buf_init(&text, 1 << 20);
    weir_buf_append_str(&text, "# Guide\n\n");
    for (int i = 0; i < 50; i++) weir_buf_append_str(&text, "Some plain words here. ");
    weir_buf_append_str(&text, "\n\n## Sleep\n\nneedle one\n");
    for (int i = 0; i < 50; i++) weir_buf_append_str(&text, "More plain words here. ");
    weir_buf_append_str(&text, "\n```\n# no heading\n```\n## Food\nneedle two\n");
    weir_buf_append_char(&text, 0);
    add(&s, "Book", text.ptr);
    struct library_query q = {
        .words = SLICE("\"needle one\""), .limit = 5, .per_document = 5, .snippet_points = 30};
    weir_buf_reset(&s.out);
    T_EQ(library_search(&s.l, &q, note_hit, &s.out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&s.out), "Book#Guide › Sleep: …Sleep <needle one> More plain…; ");
    weir_buf_reset(&s.out);
    q.words = SLICE("\"needle two\"");
    T_EQ(library_search(&s.l, &q, note_hit, &s.out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&s.out), "Book#Guide › Food: ## Food <needle two>; ");
    weir_buf_fini(&text);
    shelf_fini(&s);
}

/* ---- documents ---- */

TEST(a_document_comes_back_as_it_was_given)
{
    static const char text[] = "# Title\r\n\r\nÉté — 糖尿病 \t [email_1] and [x]\n\n\n  end  ";
    struct shelf s;
    shelf_init(&s);
    const struct weir_json *d = got(&s, add(&s, "", text));
    T_EQ_STR(text_of(d, "text"), text);
    T_EQ_STR(text_of(d, "title"), "Title");
    T_EQ_STR(text_of(d, "mediaType"), "text/markdown");
    T_EQ_STR(text_of(d, "createdAt"), "2025-06-15T15:06:40.000Z");
    int64_t n = 0;
    T_OK(weir_json_int64(weir_json_get_str(d, "bytes"), &n));
    T_EQ(n, (int64_t)sizeof text - 1);
    shelf_fini(&s);
}

TEST(what_is_no_text_is_refused_with_its_place)
{
    struct shelf s;
    shelf_init(&s);
    struct library_text bad[] = {
        {SLICE("t"), SLICE("one\ntwo \xFF"), false},
        {SLICE("t"), SLICE("a\0b"), false},
        {SLICE("t"), SLICE(" \n\t"), false},
        {SLICE("t"), SLICE(""), false},
        {SLICE("a\nb"), SLICE("x"), false},
        {SLICE("\xFF"), SLICE("x"), false},
        {SLICE("  "), SLICE("x"), false},
    };
    static const char *const why[] = {"byte 8 (line 2, byte 5",
                                      "NUL",
                                      "say something",
                                      "say something",
                                      "one line",
                                      "one line",
                                      "one line"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        T_EQ(library_add(&s.l, &bad[i], s.id, &s.out), WEIR_BAD_FIELD);
        if (!strstr(s.l.why, why[i])) t_fail(__FILE__, __LINE__, "%zu: %s", i, s.l.why);
    }
    struct library_text large = {SLICE("t"), {"x", LIBRARY_TEXT_BYTES + 1}, false};
    char *big = mem_alloc(LIBRARY_TEXT_BYTES + 1);
    memset(big, 'x', LIBRARY_TEXT_BYTES + 1);
    large.text.ptr = big;
    T_EQ(library_add(&s.l, &large, s.id, &s.out), WEIR_TOO_LARGE);
    mem_free(big);
    T_EQ(s.out.len, 0);
    shelf_fini(&s);
}

TEST(private_values_are_on_no_disk_and_found_all_the_same)
{
    struct shelf s;
    shelf_init(&s);
    const char *id = add(&s, "Letter to alice.canary@example.org",
                         "Dear Alice,\nwrite to bob.canary@example.org or alice.canary@example.org "
                         "about IBAN DE89370400440532013000, please.");
    T_OK(!is_on_disk(&s, "canary@example"));
    T_OK(!is_on_disk(&s, "DE89370400440532013000"));
    T_OK(is_on_disk(&s, "[email_1]"));
    T_OK(is_on_disk(&s, "\"document\""));
    expect(&s, "bob.canary@example.org",
           "Letter to alice.canary@example.org#: …write to <bob.canary@example.org> or "
           "alice.canary@example.org about IBAN DE89370400440532013000, please.; ");
    expect(&s, "DE89370400440532013000 please",
           "Letter to alice.canary@example.org#: …about IBAN "
           "<DE89370400440532013000>, <please>.; ");
    expect(&s, "eve@example.org", "");
    const struct weir_json *d = got(&s, id);
    T_EQ_STR(text_of(d, "title"), "Letter to alice.canary@example.org");
    T_OK(memmem(text_of(d, "text").ptr, text_of(d, "text").len, "bob.canary@example.org or", 25));
    weir_buf_reset(&s.out);
    T_EQ(library_list(&s.l, SLICE(""), 5, &s.out), WEIR_OK);
    T_OK(memmem(s.out.ptr, s.out.len, "\"Letter to alice.canary@example.org\"", 36) != NULL);
    T_OK(!is_on_disk(&s, "canary@example"));
    shelf_fini(&s);
}

TEST(a_title_that_is_cut_shows_no_part_of_a_value)
{
    static const char value[] = "4012888888881881";
    struct shelf s;
    char xs[256];
    memset(xs, 'x', sizeof xs);
    char text[512], want[512];
    shelf_init(&s);
    for (int n = 170; n < 205; n++) {
        snprintf(text, sizeof text, "%.*s %s was paid\n\nzebra%d", n, xs, value, n);
        struct weir_slice title = text_of(got(&s, add(&s, "", text)), "title");
        snprintf(want, sizeof want, "%.*s", (int)title.len, title.ptr);
        T_OK(strncmp(want, text, title.len) == 0 && title.len >= 170);
        /* All of it or nothing. */
        T_EQ(strchr(want, '4') != NULL, strstr(want, value) != NULL);
    }
    T_OK(!is_on_disk(&s, "40128"));
    shelf_fini(&s);
}

TEST(a_heading_that_is_cut_keeps_its_placeholder_whole)
{
    struct shelf s;
    char text[256], xs[256];
    memset(xs, 'x', sizeof xs);
    shelf_init(&s);
    for (int n = 40; n < 65; n++) {
        snprintf(text, sizeof text, "# %.*s c.canary@example.org\n\nzebra%d", n, xs, n);
        add(&s, "t", text);
        snprintf(text, sizeof text, "zebra%d", n);
        struct library_query q = {
            .words = weir_slice_of(text), .limit = 1, .per_document = 1, .snippet_points = 6};
        weir_buf_reset(&s.out);
        T_EQ(library_search(&s.l, &q, note_hit, &s.out), WEIR_OK);
        T_OK(memmem(s.out.ptr, s.out.len, "zebra", 5) && !memchr(s.out.ptr, '[', s.out.len));
    }
    shelf_fini(&s);
}

TEST(what_looks_like_a_placeholder_of_the_map_is_text)
{
    static const char literal[] = "giraffe, literally [email_1], [Email 2] and [text_1]: [email_9]";
    struct shelf s;
    shelf_init(&s);
    add(&s, "one", "a.canary@example.org and b.canary@example.org");
    const char *id = add(&s, "[email_1]", literal);
    T_EQ_STR(text_of(got(&s, id), "text"), literal);
    T_EQ_STR(text_of(got(&s, id), "title"), "[email_1]");
    /* Stored as it came back, and stored again. */
    id = add(&s, "", literal);
    T_EQ_STR(text_of(got(&s, id), "text"), literal);
    T_EQ_STR(text_of(got(&s, id), "title"), literal);
    T_OK(!is_on_disk(&s, "canary@example"));
    shelf_fini(&s);
}

TEST(with_a_policy_that_is_off_texts_are_kept_as_they_are)
{
    struct shelf s;
    shelf_init(&s);
    s.l.policy = s.off;
    const char *id = add(&s, "t", "write to [email_1] or carol@example.org");
    T_OK(is_on_disk(&s, "carol@example.org"));
    expect(&s, "carol@example.org", "t#: write to [email_1] or <carol@example.org>; ");
    s.l.policy = s.policy;
    expect(&s, "carol@example.org", "t#: write to [email_1] or <carol@example.org>; ");
    char first[LIBRARY_ID_LEN + 1];
    memcpy(first, id, sizeof first);
    add(&s, "u", "dave@example.org");
    T_EQ_STR(text_of(got(&s, first), "text"), "write to [email_1] or carol@example.org");
    expect(&s, "dave@example.org", "u#: <dave@example.org>; ");
    struct library_text again = {SLICE("t"), SLICE("carol@example.org"), false};
    weir_buf_reset(&s.out);
    T_EQ(library_replace(&s.l, weir_slice_of(first), &again, &s.out), WEIR_OK);
    expect(&s, "carol@example.org", "t#: <carol@example.org>; ");
    expect(&s, "write", "");
    shelf_fini(&s);
}

TEST(one_map_serves_all_documents_and_goes_with_the_last)
{
    struct shelf s;
    struct doc doc;
    char first[LIBRARY_ID_LEN + 1];
    struct doc_key map = {SLICE("shield_map"), SLICE("documents/ann")};
    shelf_init(&s);
    memcpy(first, add(&s, "a", "one@example.org"), sizeof first);
    add(&s, "b", "two@example.org one@example.org");
    T_EQ(library_remove(&s.l, weir_slice_of(s.id)), WEIR_OK);
    T_EQ_STR(text_of(got(&s, first), "text"), "one@example.org");
    T_EQ(store_doc_get(s.store, map, &doc), WEIR_OK);
    doc_fini(&doc);
    T_EQ(library_remove(&s.l, weir_slice_of(first)), WEIR_OK);
    T_EQ(store_doc_get(s.store, map, &doc), WEIR_NOT_FOUND);
    T_EQ(library_remove(&s.l, weir_slice_of(first)), WEIR_NOT_FOUND);
    T_EQ(library_get(&s.l, weir_slice_of(first), &s.out), WEIR_NOT_FOUND);
    expect(&s, "one@example.org", "");
    shelf_fini(&s);
}

TEST(a_replaced_document_is_found_by_its_new_text_alone)
{
    struct shelf s;
    struct weir_buf text;
    shelf_init(&s);
    weir_buf_init(&text, 1 << 20);
    for (int i = 0; i < 500; i++) weir_buf_append_str(&text, "old words in a long text. ");
    weir_buf_append_char(&text, 0);
    const char *id = add(&s, "t", text.ptr);
    struct library_text new = {SLICE("u"), SLICE("new words"), false};
    fake_clock_advance(&s.clock, 1000000000);
    weir_buf_reset(&s.out);
    T_EQ(library_replace(&s.l, weir_slice_of(id), &new, &s.out), WEIR_OK);
    expect(&s, "old", "");
    expect(&s, "words", "u#: new <words>; ");
    const struct weir_json *d = got(&s, id);
    T_EQ_STR(text_of(d, "text"), "new words");
    T_EQ_STR(text_of(d, "mediaType"), "text/plain");
    T_EQ_STR(text_of(d, "createdAt"), "2025-06-15T15:06:40.000Z");
    T_EQ_STR(text_of(d, "updatedAt"), "2025-06-15T15:06:41.000Z");
    weir_buf_fini(&text);
    shelf_fini(&s);
}

TEST(other_peoples_documents_are_not_there)
{
    struct shelf s;
    shelf_init(&s);
    const char *id = add(&s, "t", "secret words");
    s.l.owner = SLICE("bob");
    struct library_text new = {SLICE("u"), SLICE("x"), false};
    weir_buf_reset(&s.out);
    T_EQ(library_get(&s.l, weir_slice_of(id), &s.out), WEIR_NOT_FOUND);
    T_EQ(library_replace(&s.l, weir_slice_of(id), &new, &s.out), WEIR_NOT_FOUND);
    T_EQ(library_remove(&s.l, weir_slice_of(id)), WEIR_NOT_FOUND);
    T_EQ(library_get(&s.l, SLICE("doc_x"), &s.out), WEIR_NOT_FOUND);
    T_EQ(library_list(&s.l, SLICE(""), 5, &s.out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&s.out), "{\"data\":[],\"next_cursor\":null}");
    expect(&s, "secret", "");
    shelf_fini(&s);
}

TEST(pages_come_the_newest_first_without_gap_or_repeat)
{
    struct shelf s;
    char after[LIBRARY_ID_LEN + 1] = "";
    size_t n = 0;
    shelf_init(&s);
    for (int i = 0; i < 7; i++) {
        char title[8];
        snprintf(title, sizeof title, "t%d", i);
        fake_clock_advance(&s.clock, 1000000);
        add(&s, title, "x");
    }
    do {
        const struct weir_json *page = NULL;
        weir_buf_reset(&s.out);
        T_EQ(library_list(&s.l, weir_slice_of(after), 3, &s.out), WEIR_OK);
        T_EQ(weir_json_parse(s.doc, weir_buf_slice(&s.out), &page, NULL), WEIR_OK);
        const struct weir_json *d = weir_json_first(weir_json_get_str(page, "data"));
        for (; d; d = weir_json_next(d), n++) {
            char want[8];
            snprintf(want, sizeof want, "t%zu", 6 - n);
            T_EQ_STR(text_of(d, "title"), want);
        }
        struct weir_slice next = text_of(page, "next_cursor");
        snprintf(after, sizeof after, "%.*s", (int)next.len, next.len > 0 ? next.ptr : "");
    } while (after[0]);
    T_EQ(n, 7);
    shelf_fini(&s);
}

TEST(some_words_are_better_than_none)
{
    struct shelf s;
    shelf_init(&s);
    add(&s, "Insurance", "Physiotherapy is covered for twelve visits.");
    expect(&s, "what does my insurance cover for physiotherapy",
           "Insurance#: <Physiotherapy> is covered for twelve visits.; ");
    expect(&s, "what is the weather for us?", "");
    expect(&s, "is it for \"twelve visits\", please?",
           "Insurance#: Physiotherapy is covered for <twelve visits>.; ");
    expect(&s, "is for", "Insurance#: Physiotherapy <is> covered <for> twelve visits.; ");
    expect(&s, "is not", "");
    expect(&s, "not — …", "");
    expect(&s,
           "I have been thinking about it for a while and have talked to all of my friends, who do "
           "not know it either: how many visits for physiotherapy would my insurance be paying "
           "for, if I were to get some of them this year and then the rest later?",
           "Insurance#: <Physiotherapy> is covered for twelve <visits>.; ");
    shelf_fini(&s);
}

TEST(queries_that_cannot_be_are_refused_in_words)
{
    struct shelf s;
    shelf_init(&s);
    char words[PASSAGE_WORDS_BYTES + 1];
    for (size_t i = 0; i < sizeof words; i++) words[i] = i % 2 ? ' ' : 'a';
    struct weir_slice bad[] = {SLICE(""), SLICE("?!"), SLICE("\xFF"), slice_of(words, 100),
                               slice_of(words, sizeof words)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct library_query q = {
            .words = bad[i], .limit = 1, .per_document = 1, .snippet_points = 60};
        T_EQ(library_search(&s.l, &q, note_hit, &s.out), WEIR_BAD_FIELD);
        T_OK(s.l.why[0] != 0);
    }
    shelf_fini(&s);
}

TEST(four_megabytes_of_anything_are_kept_and_found)
{
    static const char *const fills[] = {"word and word. ", "# a\n", "x", "\n", "糖",
                                        "a@b.example "};
    struct shelf s;
    shelf_init(&s);
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        struct weir_buf text;
        size_t n_bytes = t_rounds(LIBRARY_TEXT_BYTES);
        weir_buf_init(&text, n_bytes);
        while (text.len + 32 < n_bytes) weir_buf_append_str(&text, fills[i]);
        weir_buf_append_str(&text, " needle");
        struct library_text t = {SLICE("t"), weir_buf_slice(&text), true};
        weir_buf_reset(&s.out);
        enum weir_status st = library_add(&s.l, &t, s.id, &s.out);
        T_OK(st == WEIR_OK || st == WEIR_TOO_LARGE);
        if (st == WEIR_OK) T_EQ_SLICE(text_of(got(&s, s.id), "text"), weir_buf_slice(&text));
        else printf("%zu: %s\n", i, s.l.why);
        weir_buf_fini(&text);
    }
    struct library_query q = {
        .words = SLICE("needle"), .limit = 50, .per_document = 5, .snippet_points = 60};
    weir_buf_reset(&s.out);
    T_EQ(library_search(&s.l, &q, note_hit, &s.out), WEIR_OK);
    T_OK(s.out.len > 100);
    shelf_fini(&s);
}

static void *add_many(void *user)
{
    struct shelf *s = user;
    struct library l = s->l;
    struct weir_buf out;
    char id[LIBRARY_ID_LEN + 1];
    weir_buf_init(&out, 1 << 20);
    for (int i = 0; i < 5; i++) {
        char text[64];
        snprintf(text, sizeof text, "mail to p%lu.%d@example.org",
                 (unsigned long)pthread_self() % 997, i);
        struct library_text t = {SLICE("t"), weir_slice_of(text), false};
        enum weir_status st;
        do st = library_add(&l, &t, id, &out);
        while (st == WEIR_CONFLICT || st == WEIR_EXISTS);
        T_EQ(st, WEIR_OK);
        weir_buf_reset(&out);
        T_EQ(library_get(&l, weir_slice_of(id), &out), WEIR_OK);
        T_OK(memmem(out.ptr, out.len, text, strlen(text)) != NULL);
        weir_buf_reset(&out);
    }
    weir_buf_fini(&out);
    return NULL;
}

TEST(documents_that_come_at_once_share_the_map)
{
    struct shelf s;
    pthread_t threads[4];
    shelf_init(&s);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, add_many, &s);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    weir_buf_reset(&s.out);
    T_EQ(library_list(&s.l, SLICE(""), 50, &s.out), WEIR_OK);
    T_OK(!is_on_disk(&s, "@example.org"));
    shelf_fini(&s);
}
