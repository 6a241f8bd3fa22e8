/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions about streams, with a real store and a clock that is a number. */
#include "stream/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/slice.h"
#include "t.h"

/* ---- helpers ---- */

static const int64_t noon = INT64_C(1800000000000);

static struct store *open_store(const char *folder)
{
    struct store *s = NULL;
    struct store_error error;
    T_EQ(store_open(&s, folder, NULL, &error), WEIR_OK);
    return s;
}

/* The status says the same as the outcome. */
static void check_status(enum weir_status st, enum stream_outcome outcome)
{
    T_EQ(st, outcome == STREAM_DONE ? WEIR_OK : WEIR_CONFLICT);
}

static enum stream_outcome create(struct store *s, struct stream_create *create)
{
    struct commit *c = commit_new(0);
    if (create->now_ms == 0) create->now_ms = noon;
    if (create->wanted.type.len == 0) {
        create->wanted.type = SLICE("text/plain");
        if (create->wanted.ttl_s == 0) create->wanted.ttl_s = -1;
    }
    stream_create_commit(c, create);
    enum weir_status st = store_commit_wait(s, c).status;
    check_status(st, create->outcome);
    return create->outcome;
}

static enum stream_outcome make(struct store *s, const char *name)
{
    struct stream_create c = {.name = weir_slice_of(name)};
    return create(s, &c);
}

/* With one event, unless it has no type. */
static enum stream_outcome append(struct store *s, struct stream_append *a)
{
    struct stream_log_text log;
    struct commit *c = commit_new(0);
    if (a->now_ms == 0) a->now_ms = noon;
    if (a->type.len > 0) commit_append(c, stream_log_name(&log, a->name), SLICE("data: x\n\n"));
    stream_append_commit(c, a);
    enum weir_status st = store_commit_wait(s, c).status;
    check_status(st, a->outcome);
    return a->outcome;
}

static enum stream_outcome add(struct store *s, const char *name)
{
    struct stream_append a = {.name = weir_slice_of(name), .type = SLICE("text/plain")};
    return append(s, &a);
}

static enum stream_outcome erase_at(struct store *s, const char *name, bool only_expired,
                                    int64_t now_ms)
{
    struct stream_delete d = {
        .name = weir_slice_of(name), .only_expired = only_expired, .now_ms = now_ms};
    struct commit *c = commit_new(0);
    stream_delete_commit(c, &d);
    enum weir_status st = store_commit_wait(s, c).status;
    check_status(st, d.outcome);
    return d.outcome;
}

static enum stream_outcome erase(struct store *s, const char *name)
{
    return erase_at(s, name, false, noon);
}

static enum weir_status find_at(struct store *s, const char *name, int64_t now_ms,
                                struct stream_found *found)
{
    stream_find(s, weir_slice_of(name), now_ms, found);
    doc_fini(&found->doc); /* the record's slices are not looked at */
    return found->status;
}

static uint64_t last_of(struct store *s, const char *name)
{
    struct stream_found found;
    T_EQ(find_at(s, name, noon, &found), WEIR_OK);
    return found.log.last;
}

static struct log_state log_of(struct store *s, const char *name)
{
    struct stream_log_text log;
    struct log_read read;
    store_read(s, stream_log_name(&log, weir_slice_of(name)), 1, 0, &read);
    T_EQ(read.status, WEIR_OK);
    return read.state;
}

/* ---- names ---- */

TEST(a_name_is_text_without_control_characters)
{
    static const char *const good[] = {"a",   "a/b/c", "\xc3\xa4", "a b",
                                       "%2F", "..",    "/",        "\xc2\xa0"};
    static const char *const bad[] = {"",      "a\nb",     "\x7f", "\xff",
                                      "a\xc3", "\xc2\x85", "\x1b", "a\t"};
    char name[STREAM_NAME_BYTES + 1];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        T_OK(stream_is_name(weir_slice_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        T_OK(!stream_is_name(weir_slice_of(bad[i])));
    T_OK(!stream_is_name(slice_of("a\0b", 3)));
    memset(name, 'n', sizeof name);
    T_OK(stream_is_name(slice_of(name, STREAM_NAME_BYTES)));
    T_OK(!stream_is_name(slice_of(name, STREAM_NAME_BYTES + 1)));
}

TEST(the_longest_names_work)
{
    struct store *s = open_store(t_temp_dir());
    char name[STREAM_NAME_BYTES];
    char producer[PRODUCER_ID_BYTES];
    char seq[STREAM_SEQ_BYTES];
    char type[STREAM_TYPE_BYTES];
    memset(name, 'n', sizeof name);
    memset(producer, 'p', sizeof producer);
    memset(seq, 's', sizeof seq);
    memset(type, 't', sizeof type);
    type[3] = '/';
    struct stream_create c = {.name = slice_of(name, sizeof name),
                              .wanted = record_of_type(slice_of(type, sizeof type))};
    T_EQ(create(s, &c), STREAM_DONE);
    T_EQ(create(s, &c), STREAM_EXISTED);
    T_EQ_SLICE(slice_of(c.type, c.type_len), slice_of(type, sizeof type));
    struct stream_append a = {.name = c.name,
                              .type = slice_of(type, sizeof type),
                              .seq = slice_of(seq, sizeof seq),
                              .has_producer = true,
                              .producer = slice_of(producer, sizeof producer),
                              .closes = true};
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(append(s, &a), STREAM_DUPLICATE);
    store_close(s);
}

/* ---- making ---- */

TEST(a_stream_is_made_once_and_the_same_again_is_no_harm)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    struct stream_found found;
    T_EQ(find_at(s, "a", noon, &found), WEIR_NOT_FOUND);
    T_EQ(make(s, "a"), STREAM_DONE);
    for (int round = 0; round < 3; round++) {
        T_EQ(find_at(s, "a", noon, &found), WEIR_OK);
        T_OK(found.log.exists && !found.log.is_sealed && !found.record.is_closed);
        T_EQ(found.log.last, 0);
        T_EQ(found.record.created_ms, noon);
        struct stream_create again = {.name = SLICE("a"), .now_ms = noon + 5};
        T_EQ(create(s, &again), STREAM_EXISTED);
        T_EQ(again.last, 0);
        T_EQ_STR(slice_of(again.type, again.type_len), "text/plain");
        if (round == 0) T_EQ(store_settle(s), WEIR_OK);
        store_close(s);
        s = open_store(folder);
    }
    T_EQ(add(s, "a"), STREAM_DONE);
    struct stream_create again = {.name = SLICE("a")};
    T_EQ(create(s, &again), STREAM_EXISTED);
    T_EQ(again.last_there, 1);
    store_close(s);
}

TEST(a_stream_of_another_kind_is_not_the_same)
{
    struct store *s = open_store(t_temp_dir());
    struct stream_record r = record_of_type(SLICE("text/plain; charset=utf-8"));
    r.ttl_s = 60;
    struct stream_create c = {.name = SLICE("a"), .wanted = r};
    T_EQ(create(s, &c), STREAM_DONE);
    T_EQ(create(s, &c), STREAM_EXISTED);
    c.wanted.type = SLICE("TEXT/plain"); /* parameters and case are nothing */
    T_EQ(create(s, &c), STREAM_EXISTED);
    c.wanted.type = SLICE("text/html");
    T_EQ(create(s, &c), STREAM_DIFFERS);
    c.wanted = r;
    c.wanted.ttl_s = 61;
    T_EQ(create(s, &c), STREAM_DIFFERS);
    c.wanted = r;
    c.wanted.expires = SLICE("2030-01-01T00:00:00Z");
    T_EQ(create(s, &c), STREAM_DIFFERS);
    c.wanted = r;
    c.wanted.is_closed = true;
    T_EQ(create(s, &c), STREAM_DIFFERS);
    c.wanted = r;
    c.wanted.source = SLICE("b");
    T_EQ(create(s, &c), STREAM_DIFFERS);
    store_close(s);
}

TEST(a_refused_making_brings_none_of_its_events)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(make(s, "a"), STREAM_DONE);
    struct stream_create again = {.name = SLICE("a"), .now_ms = noon};
    again.wanted = record_of_type(SLICE("text/plain"));
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("s/a"), SLICE("data: again\n\n"));
    stream_create_commit(c, &again);
    T_EQ(store_commit_wait(s, c).status, WEIR_CONFLICT);
    T_EQ(again.outcome, STREAM_EXISTED);
    T_EQ(last_of(s, "a"), 0);
    store_close(s);
}

TEST(a_stream_may_be_made_closed_with_or_without_events)
{
    struct store *s = open_store(t_temp_dir());
    for (int n = 0; n < 2; n++) {
        const char *name = n ? "full" : "empty";
        struct stream_log_text log;
        struct stream_create made = {.name = weir_slice_of(name), .now_ms = noon};
        made.wanted = record_of_type(SLICE("text/plain"));
        made.wanted.is_closed = true;
        struct commit *c = commit_new(0);
        if (n) commit_append(c, stream_log_name(&log, made.name), SLICE("data: x\n\n"));
        stream_create_commit(c, &made);
        T_EQ(store_commit_wait(s, c).status, WEIR_OK);
        T_OK(made.is_closed);
        T_OK(log_of(s, name).is_sealed);
        T_EQ(last_of(s, name), n);
        T_EQ(add(s, name), STREAM_CLOSED);
    }
    store_close(s);
}

/* ---- appending ---- */

TEST(an_append_needs_a_stream_of_its_type)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(add(s, "a"), STREAM_NOT_FOUND);
    T_OK(!log_of(s, "a").exists);
    T_EQ(make(s, "a"), STREAM_DONE);
    struct stream_append a = {.name = SLICE("a"), .type = SLICE("Text/PLAIN")};
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(a.last, 0);
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(a.last, 1);
    a.type = SLICE("application/json");
    T_EQ(append(s, &a), STREAM_OTHER_TYPE);
    T_EQ(last_of(s, "a"), 2);
    store_close(s);
}

TEST(stream_seq_rises_as_text_or_nothing_happens)
{
    static const struct {
        const char *seq;
        enum stream_outcome want;
    } steps[] = {
        {"1", STREAM_DONE},  {"1", STREAM_OLD_SEQ},  {"0", STREAM_OLD_SEQ}, {"10", STREAM_DONE},
        {"2", STREAM_DONE},  {"10", STREAM_OLD_SEQ}, {"", STREAM_DONE},     {"2", STREAM_OLD_SEQ},
        {"2a", STREAM_DONE}, {"2", STREAM_OLD_SEQ},  {"\xff", STREAM_DONE}, {"z", STREAM_OLD_SEQ},
    };
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    uint64_t n = 0;
    T_EQ(make(s, "a"), STREAM_DONE);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct stream_append a = {
            .name = SLICE("a"), .type = SLICE("text/plain"), .seq = weir_slice_of(steps[i].seq)};
        T_EQ(append(s, &a), steps[i].want);
        if (steps[i].want == STREAM_DONE) n++;
        T_EQ(last_of(s, "a"), n);
        if (i == 6) {
            store_close(s);
            s = open_store(folder);
        }
    }
    store_close(s);
}

/* ---- closing ---- */

static enum stream_outcome close_stream(struct store *s, const char *name, bool has_data)
{
    struct stream_append a = {.name = weir_slice_of(name), .closes = true};
    if (has_data) a.type = SLICE("text/plain");
    enum stream_outcome outcome = append(s, &a);
    T_EQ(a.is_closed, outcome != STREAM_NOT_FOUND);
    return outcome;
}

TEST(a_closed_stream_takes_no_more_and_may_be_closed_again)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    T_EQ(close_stream(s, "a", false), STREAM_NOT_FOUND);
    T_EQ(make(s, "a"), STREAM_DONE);
    T_EQ(make(s, "b"), STREAM_DONE);
    T_EQ(close_stream(s, "a", false), STREAM_DONE);
    T_EQ(close_stream(s, "b", true), STREAM_DONE);
    for (int round = 0; round < 2; round++) {
        T_EQ(last_of(s, "a"), 0);
        T_EQ(last_of(s, "b"), 1);
        T_OK(log_of(s, "a").is_sealed && log_of(s, "b").is_sealed);
        T_EQ(add(s, "a"), STREAM_CLOSED);
        T_EQ(close_stream(s, "a", true), STREAM_CLOSED);
        T_EQ(close_stream(s, "a", false), STREAM_DUPLICATE);
        T_EQ(close_stream(s, "b", false), STREAM_DUPLICATE);
        store_close(s);
        s = open_store(folder);
    }
    store_close(s);
}

static struct stream_append of_producer(const char *id, uint64_t epoch, uint64_t seq)
{
    return (struct stream_append){.name = SLICE("a"),
                                  .type = SLICE("text/plain"),
                                  .has_producer = true,
                                  .producer = weir_slice_of(id),
                                  .epoch = epoch,
                                  .producer_seq = seq};
}

TEST(a_producer_that_closes_may_say_so_twice_and_no_other)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(make(s, "a"), STREAM_DONE);
    struct stream_append a = of_producer("me", 3, 0);
    T_EQ(append(s, &a), STREAM_DONE);
    a = of_producer("me", 3, 1);
    a.closes = true;
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(append(s, &a), STREAM_DUPLICATE);
    T_OK(a.is_closed);
    T_EQ(last_of(s, "a"), 2);
    struct stream_append other = of_producer("you", 3, 1);
    other.closes = true;
    T_EQ(append(s, &other), STREAM_CLOSED);
    other = of_producer("me", 3, 2);
    T_EQ(append(s, &other), STREAM_CLOSED);
    other.closes = true;
    other.type = (struct weir_slice){0};
    T_EQ(append(s, &other), STREAM_CLOSED);
    other = of_producer("me", 4, 1);
    T_EQ(append(s, &other), STREAM_CLOSED);
    store_close(s);
}

TEST(a_refused_close_leaves_the_stream_open)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(make(s, "a"), STREAM_DONE);
    struct stream_append a = of_producer("me", 0, 5);
    a.closes = true;
    T_EQ(append(s, &a), STREAM_SEQ_GAP);
    T_OK(!log_of(s, "a").is_sealed);
    T_EQ(add(s, "a"), STREAM_DONE);
    store_close(s);
}

/* ---- producers ---- */

TEST(a_producer_is_counted_by_epoch_and_sequence)
{
    static const struct {
        const char *id;
        uint64_t epoch, seq;
        enum stream_outcome want;
        uint64_t told_epoch, told_seq;
    } steps[] = {
        {"me", 0, 1, STREAM_SEQ_GAP, 0, 0},   /* it begins with 0 */
        {"me", 0, 0, STREAM_DONE, 0, 0},      /**/
        {"me", 0, 0, STREAM_DUPLICATE, 0, 0}, /**/
        {"me", 0, 1, STREAM_DONE, 0, 1},      /**/
        {"me", 0, 2, STREAM_DONE, 0, 2},      /**/
        {"me", 0, 1, STREAM_DUPLICATE, 0, 2}, /* the newest is told */
        {"me", 0, 0, STREAM_DUPLICATE, 0, 2}, /**/
        {"me", 0, 4, STREAM_SEQ_GAP, 0, 3},   /* the one that is due */
        {"me", 1, 3, STREAM_BAD_EPOCH, 0, 0}, /* a new epoch begins with 0 */
        {"me", 0, 3, STREAM_DONE, 0, 3},      /* and nothing of it happened */
        {"me", 7, 0, STREAM_DONE, 7, 0},      /**/
        {"me", 0, 4, STREAM_OLD_EPOCH, 7, 0}, /* the old one is fenced off */
        {"me", 6, 0, STREAM_OLD_EPOCH, 7, 0}, /**/
        {"me", 7, 1, STREAM_DONE, 7, 1},      /**/
        {"you", 2, 0, STREAM_DONE, 2, 0},     /* another is another */
        {"you", 2, 1, STREAM_DONE, 2, 1},     /**/
        {"me", 7, 2, STREAM_DONE, 7, 2},      /**/
        {"it", 9, 1, STREAM_SEQ_GAP, 9, 0},   /**/
    };
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    uint64_t n = 0;
    T_EQ(make(s, "a"), STREAM_DONE);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct stream_append a = of_producer(steps[i].id, steps[i].epoch, steps[i].seq);
        T_EQ(append(s, &a), steps[i].want);
        if (steps[i].want != STREAM_BAD_EPOCH) {
            T_EQ(a.told_epoch, steps[i].told_epoch);
            if (steps[i].want != STREAM_OLD_EPOCH) T_EQ(a.told_seq, steps[i].told_seq);
        }
        if (steps[i].want == STREAM_DONE) n++;
        T_EQ(last_of(s, "a"), n);
        /* Wherever the producer's document is. */
        if (i % 3 == 1) T_EQ(store_settle(s), WEIR_OK);
        if (i % 3 == 2) {
            store_close(s);
            s = open_store(folder);
        }
    }
    store_close(s);
}

TEST(an_append_that_fails_otherwise_does_not_count_for_its_producer)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(make(s, "a"), STREAM_DONE);
    struct stream_append a = of_producer("me", 0, 0);
    a.seq = SLICE("5");
    T_EQ(append(s, &a), STREAM_DONE);
    a = of_producer("me", 0, 1);
    a.seq = SLICE("5");
    T_EQ(append(s, &a), STREAM_OLD_SEQ);
    a = of_producer("me", 0, 1);
    a.type = SLICE("text/html");
    T_EQ(append(s, &a), STREAM_OTHER_TYPE);
    a = of_producer("me", 0, 1);
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(last_of(s, "a"), 2);
    store_close(s);
}

TEST(a_stream_made_again_knows_no_producers)
{
    struct store *s = open_store(t_temp_dir());
    for (int life = 0; life < 3; life++) {
        T_EQ(make(s, "a"), STREAM_DONE);
        for (uint64_t seq = 0; seq < 3; seq++) {
            struct stream_append a = of_producer("me", 1, seq);
            T_EQ(append(s, &a), STREAM_DONE);
        }
        T_EQ(last_of(s, "a"), 3);
        T_EQ(erase(s, "a"), STREAM_DONE);
        if (life == 1) T_EQ(store_settle(s), WEIR_OK);
    }
    store_close(s);
}

/* ---- deleting ---- */

TEST(a_deleted_stream_is_gone_and_its_name_is_free)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    struct stream_found found;
    T_EQ(erase(s, "a"), STREAM_NOT_FOUND);
    for (int how = 0; how < 4; how++) {
        struct stream_create html = {.name = SLICE("a")};
        html.wanted = record_of_type(how % 2 ? SLICE("text/html") : SLICE("text/plain"));
        T_EQ(create(s, &html), STREAM_DONE);
        struct stream_append a = {.name = SLICE("a"), .type = html.wanted.type, .seq = SLICE("5")};
        T_EQ(append(s, &a), STREAM_DONE);
        if (how & 1) T_EQ(store_settle(s), WEIR_OK);
        T_EQ(erase(s, "a"), STREAM_DONE);
        T_EQ(find_at(s, "a", noon, &found), WEIR_NOT_FOUND);
        T_EQ(erase(s, "a"), STREAM_NOT_FOUND);
        T_EQ(append(s, &a), STREAM_NOT_FOUND);
        if (how & 2) {
            store_close(s);
            s = open_store(folder);
            T_EQ(find_at(s, "a", noon, &found), WEIR_NOT_FOUND);
        }
    }
    store_close(s);
}

/* ---- time ---- */

static struct stream_create with_ttl(const char *name, int64_t ttl_s, int64_t now_ms)
{
    struct stream_create c = {.name = weir_slice_of(name), .now_ms = now_ms};
    c.wanted = record_of_type(SLICE("text/plain"));
    c.wanted.ttl_s = ttl_s;
    return c;
}

TEST(an_expired_stream_is_not_there_until_it_is_made_again)
{
    struct store *s = open_store(t_temp_dir());
    struct stream_found found;
    const int64_t late = noon + 80000 + 10000;
    struct stream_create c = with_ttl("a", 80, noon);
    T_EQ(create(s, &c), STREAM_DONE);
    T_EQ(find_at(s, "a", noon + 79999, &found), WEIR_OK);
    T_EQ(erase_at(s, "a", true, noon + 79999), STREAM_NOT_FOUND); /* the sweep is too early */
    T_EQ(find_at(s, "a", late, &found), WEIR_NOT_FOUND);
    struct stream_append a = {.name = SLICE("a"), .type = SLICE("text/plain"), .now_ms = late};
    T_EQ(append(s, &a), STREAM_NOT_FOUND);
    T_EQ(erase_at(s, "a", false, late), STREAM_NOT_FOUND);
    c = with_ttl("a", 80, late);
    T_EQ(create(s, &c), STREAM_EXPIRED);
    T_EQ(erase_at(s, "a", true, late), STREAM_DONE);
    T_EQ(erase_at(s, "a", true, late), STREAM_NOT_FOUND);
    T_EQ(create(s, &c), STREAM_DONE);
    T_EQ(find_at(s, "a", late, &found), WEIR_OK);
    T_EQ(found.log.last, 0);
    store_close(s);
}

static void touch(struct store *s, const char *name, int64_t now_ms)
{
    struct stream_touch t = {.name = weir_slice_of(name), .now_ms = now_ms};
    struct commit *c = commit_new(0);
    stream_touch_commit(c, &t);
    enum weir_status st = store_commit_wait(s, c).status;
    T_OK(st == WEIR_OK || st == WEIR_CONFLICT || st == WEIR_NOT_FOUND);
}

TEST(using_a_stream_lets_it_live_on)
{
    struct store *s = open_store(t_temp_dir());
    struct stream_found found;
    int64_t now = noon;
    struct stream_create c = with_ttl("read", 80, now);
    T_EQ(create(s, &c), STREAM_DONE);
    c = with_ttl("written", 80, now);
    T_EQ(create(s, &c), STREAM_DONE);
    for (int i = 0; i < 10; i++) {
        now += 1000 + (int64_t)(t_random() % 78000);
        touch(s, "read", now);
        struct stream_append a = {
            .name = SLICE("written"), .type = SLICE("text/plain"), .now_ms = now};
        T_EQ(append(s, &a), STREAM_DONE);
        T_EQ(find_at(s, "read", now + 79999, &found), WEIR_OK);
        T_EQ(find_at(s, "written", now + 79999, &found), WEIR_OK);
        T_EQ(erase_at(s, "read", true, now + 79999), STREAM_NOT_FOUND);
    }
    T_EQ(find_at(s, "read", now + 90000, &found), WEIR_NOT_FOUND);
    T_EQ(find_at(s, "written", now + 90000, &found), WEIR_NOT_FOUND);
    touch(s, "read", now + 90000); /* too late: it does not come back */
    T_EQ(find_at(s, "read", now + 90000, &found), WEIR_NOT_FOUND);
    touch(s, "nobody", now);
    T_EQ(find_at(s, "nobody", now, &found), WEIR_NOT_FOUND);
    store_close(s);
}

TEST(a_day_to_expire_is_not_put_off)
{
    struct store *s = open_store(t_temp_dir());
    struct stream_found found;
    struct stream_create c = with_ttl("a", -1, noon);
    c.wanted.expires = SLICE("then");
    c.wanted.expires_ms = noon + 1000;
    T_EQ(create(s, &c), STREAM_DONE);
    struct stream_append a = {
        .name = SLICE("a"), .type = SLICE("text/plain"), .now_ms = noon + 999};
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(find_at(s, "a", noon + 1000, &found), WEIR_NOT_FOUND);
    store_close(s);
}

/* ---- forks ---- */

static enum stream_outcome fork_stream(struct store *s, const char *name, const char *source)
{
    struct stream_create c = {.name = weir_slice_of(name), .now_ms = noon};
    c.wanted = record_of_type(SLICE("text/plain"));
    c.wanted.source = weir_slice_of(source);
    c.source_log = log_of(s, source).log_id;
    return create(s, &c);
}

static uint64_t forks_of(struct store *s, const char *name)
{
    struct stream_found found;
    T_EQ(find_at(s, name, noon, &found), WEIR_OK);
    return found.record.n_forks;
}

TEST(a_source_counts_its_forks)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(fork_stream(s, "f", "a"), STREAM_NO_SOURCE);
    T_OK(!log_of(s, "f").exists);
    T_EQ(make(s, "a"), STREAM_DONE);
    T_EQ(fork_stream(s, "f", "a"), STREAM_DONE);
    T_EQ(fork_stream(s, "f", "a"), STREAM_EXISTED);
    T_EQ(fork_stream(s, "g", "a"), STREAM_DONE);
    T_EQ(forks_of(s, "a"), 2);
    T_EQ(erase(s, "f"), STREAM_DONE);
    T_EQ(forks_of(s, "a"), 1);
    T_EQ(erase(s, "g"), STREAM_DONE);
    T_EQ(forks_of(s, "a"), 0);
    T_EQ(add(s, "a"), STREAM_DONE);
    T_EQ(erase(s, "a"), STREAM_DONE);
    T_EQ(make(s, "a"), STREAM_DONE);
    store_close(s);
}

TEST(a_fork_of_something_else_than_was_read_is_refused)
{
    struct store *s = open_store(t_temp_dir());
    T_EQ(make(s, "a"), STREAM_DONE);
    struct stream_create c = {.name = SLICE("f"), .now_ms = noon};
    c.wanted = record_of_type(SLICE("text/plain"));
    c.wanted.source = SLICE("a");
    c.source_log = log_of(s, "a").log_id;
    T_EQ(erase(s, "a"), STREAM_DONE);
    T_EQ(create(s, &c), STREAM_NO_SOURCE);
    T_EQ(make(s, "a"), STREAM_DONE);
    T_EQ(create(s, &c), STREAM_SOURCE_CHANGED);
    T_EQ(forks_of(s, "a"), 0);
    store_close(s);
}

TEST(a_deleted_source_is_remembered_until_its_last_fork_goes)
{
    const char *folder = t_temp_dir();
    struct store *s = open_store(folder);
    struct stream_found found;
    T_EQ(make(s, "a"), STREAM_DONE);
    T_EQ(add(s, "a"), STREAM_DONE);
    T_EQ(fork_stream(s, "f", "a"), STREAM_DONE);
    T_EQ(fork_stream(s, "g", "a"), STREAM_DONE);
    T_EQ(erase(s, "a"), STREAM_DONE);
    for (int round = 0; round < 2; round++) {
        T_OK(!log_of(s, "a").exists);
        T_EQ(find_at(s, "a", noon, &found), WEIR_OK);
        T_OK(found.record.is_gone);
        T_EQ(add(s, "a"), STREAM_GONE);
        T_EQ(make(s, "a"), STREAM_GONE);
        T_EQ(erase(s, "a"), STREAM_GONE);
        T_EQ(fork_stream(s, "h", "a"), STREAM_SOURCE_GONE);
        T_OK(!log_of(s, "a").exists && !log_of(s, "h").exists);
        T_EQ(add(s, "f"), STREAM_DONE);
        store_close(s);
        s = open_store(folder);
    }
    T_EQ(erase(s, "f"), STREAM_DONE);
    T_EQ(make(s, "a"), STREAM_GONE);
    T_EQ(erase(s, "g"), STREAM_DONE);
    T_EQ(find_at(s, "a", noon, &found), WEIR_NOT_FOUND);
    T_EQ(make(s, "a"), STREAM_DONE);
    store_close(s);
}

TEST(a_chain_of_deleted_forks_goes_with_its_last_link)
{
    enum { N = 20 };
    struct store *s = open_store(t_temp_dir());
    char names[N][8];
    struct stream_found found;
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        T_EQ(i == 0 ? make(s, names[0]) : fork_stream(s, names[i], names[i - 1]), STREAM_DONE);
    }
    for (int i = 0; i + 1 < N; i++) {
        if (i != 7) T_EQ(erase(s, names[i]), STREAM_DONE);
    }
    T_EQ(erase(s, names[N - 1]), STREAM_DONE);
    for (int i = 0; i < N; i++) {
        enum weir_status want = i <= 7 ? WEIR_OK : WEIR_NOT_FOUND;
        T_EQ(find_at(s, names[i], noon, &found), want);
        if (want == WEIR_OK) T_EQ(found.record.is_gone, i < 7);
    }
    T_EQ(forks_of(s, names[7]), 0);
    T_EQ(erase(s, names[7]), STREAM_DONE);
    for (int i = 0; i < N; i++) T_EQ(find_at(s, names[i], noon, &found), WEIR_NOT_FOUND);
    store_close(s);
}

TEST(an_expired_source_goes_as_a_deleted_one_does)
{
    struct store *s = open_store(t_temp_dir());
    struct stream_found found;
    const int64_t late = noon + 90000;
    struct stream_create c = with_ttl("a", 80, noon);
    T_EQ(create(s, &c), STREAM_DONE);
    T_EQ(fork_stream(s, "f", "a"), STREAM_DONE);
    T_EQ(find_at(s, "a", late, &found), WEIR_OK);
    T_OK(found.record.is_gone);
    struct stream_create again = with_ttl("g", -1, late);
    again.wanted.source = SLICE("a");
    again.source_log = log_of(s, "a").log_id;
    T_EQ(create(s, &again), STREAM_NO_SOURCE);
    T_EQ(erase_at(s, "a", true, late), STREAM_DONE);
    T_EQ(find_at(s, "a", late, &found), WEIR_OK);
    T_OK(found.record.is_gone);
    T_EQ(erase(s, "f"), STREAM_DONE);
    T_EQ(find_at(s, "a", late, &found), WEIR_NOT_FOUND);
    store_close(s);
}

/* ---- logs that nobody made a document for ---- */

TEST(a_log_without_a_document_is_a_stream_of_json)
{
    struct store *s = open_store(t_temp_dir());
    struct stream_found found;
    struct commit *c = commit_new(0);
    commit_append(c, SLICE("s/a"), SLICE("data: 1\n\n"));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    stream_find(s, SLICE("a"), noon, &found);
    T_EQ(found.status, WEIR_OK);
    T_EQ_STR(found.record.type, "application/json");
    doc_fini(&found.doc);
    T_EQ(add(s, "a"), STREAM_OTHER_TYPE);
    struct stream_append a = {.name = SLICE("a"), .type = SLICE("application/json")};
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(make(s, "a"), STREAM_DIFFERS);
    T_EQ(fork_stream(s, "f", "a"), STREAM_DONE);
    T_EQ(forks_of(s, "a"), 1);
    T_EQ(append(s, &a), STREAM_DONE);
    a.closes = true;
    T_EQ(append(s, &a), STREAM_DONE);
    T_EQ(last_of(s, "a"), 4);
    T_EQ(erase(s, "a"), STREAM_DONE);
    T_EQ(erase(s, "f"), STREAM_DONE);
    T_EQ(find_at(s, "a", noon, &found), WEIR_NOT_FOUND);
    c = commit_new(0);
    commit_append(c, SLICE("s/b"), SLICE("data: 1\n\n"));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    T_EQ(erase(s, "b"), STREAM_DONE);
    T_EQ(find_at(s, "b", noon, &found), WEIR_NOT_FOUND);
    store_close(s);
}

/* ---- many at once ---- */

enum { N_THREADS = 4, N_EACH = 150 };

struct racer {
    struct store *s;
    pthread_t thread;
    unsigned number;
    unsigned n_done;
};

static void run_racers(struct racer racers[N_THREADS], struct store *s, void *(*run)(void *))
{
    for (unsigned i = 0; i < N_THREADS; i++) {
        racers[i] = (struct racer){.s = s, .number = i};
        pthread_create(&racers[i].thread, NULL, run, &racers[i]);
    }
    for (unsigned i = 0; i < N_THREADS; i++) pthread_join(racers[i].thread, NULL);
}

/* All say the same thing: what is accepted of one is a duplicate of the others. */
static void *race_as_one_producer(void *user)
{
    struct racer *r = user;
    for (uint64_t seq = 0; seq < N_EACH;) {
        struct stream_append a = of_producer("me", 1, seq);
        enum stream_outcome outcome = append(r->s, &a);
        T_OK(outcome == STREAM_DONE || outcome == STREAM_DUPLICATE);
        if (outcome == STREAM_DONE) r->n_done++;
        seq = a.told_seq + 1;
    }
    return NULL;
}

TEST(one_producer_in_many_places_is_counted_once)
{
    struct racer racers[N_THREADS];
    struct store *s = open_store(t_temp_dir());
    unsigned n_done = 0;
    T_EQ(make(s, "a"), STREAM_DONE);
    run_racers(racers, s, race_as_one_producer);
    for (unsigned i = 0; i < N_THREADS; i++) n_done += racers[i].n_done;
    T_EQ(n_done, N_EACH);
    T_EQ(last_of(s, "a"), N_EACH);
    store_close(s);
}

static void *race_to_make(void *user)
{
    struct racer *r = user;
    for (unsigned i = 0; i < N_EACH; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%u", i);
        enum stream_outcome outcome = make(r->s, name);
        T_OK(outcome == STREAM_DONE || outcome == STREAM_EXISTED);
        if (outcome == STREAM_DONE) r->n_done++;
    }
    return NULL;
}

TEST(of_many_who_make_a_stream_one_has_made_it)
{
    struct racer racers[N_THREADS];
    struct store *s = open_store(t_temp_dir());
    unsigned n_done = 0;
    run_racers(racers, s, race_to_make);
    for (unsigned i = 0; i < N_THREADS; i++) n_done += racers[i].n_done;
    T_EQ(n_done, N_EACH);
    store_close(s);
}

static void *race_with_close(void *user)
{
    struct racer *r = user;
    for (unsigned i = 0; i < N_EACH; i++) {
        if (r->number == 0 && i == N_EACH / 2) {
            T_EQ(close_stream(r->s, "a", true), STREAM_DONE);
            r->n_done++;
            return NULL;
        }
        enum stream_outcome outcome = add(r->s, "a");
        if (outcome == STREAM_CLOSED) return NULL;
        T_EQ(outcome, STREAM_DONE);
        r->n_done++;
    }
    return NULL;
}

TEST(nothing_comes_behind_a_close)
{
    struct racer racers[N_THREADS];
    struct store *s = open_store(t_temp_dir());
    unsigned n_done = 0;
    T_EQ(make(s, "a"), STREAM_DONE);
    run_racers(racers, s, race_with_close);
    for (unsigned i = 0; i < N_THREADS; i++) n_done += racers[i].n_done;
    T_EQ(last_of(s, "a"), n_done);
    store_close(s);
}

/* Two types take turns under one name. Whoever looks sees one or the other, never a third. */
static void *race_to_replace(void *user)
{
    struct racer *r = user;
    for (unsigned i = 0; i < N_EACH; i++) {
        if (r->number == 0) {
            struct stream_create c = {.name = SLICE("a"), .now_ms = noon};
            c.wanted = record_of_type(SLICE("text/plain"));
            T_EQ(create(r->s, &c), STREAM_DONE);
            T_EQ(erase(r->s, "a"), STREAM_DONE);
            continue;
        }
        struct stream_found found;
        stream_find(r->s, SLICE("a"), noon, &found);
        T_OK(found.status == WEIR_OK || found.status == WEIR_NOT_FOUND);
        if (found.status == WEIR_OK) {
            T_EQ_STR(found.record.type, "text/plain");
            T_OK(found.log.exists);
        }
        doc_fini(&found.doc);
    }
    return NULL;
}

TEST(a_stream_is_found_as_it_is_or_not_at_all)
{
    struct racer racers[N_THREADS];
    struct store *s = open_store(t_temp_dir());
    for (int round = 0; round < 10; round++) run_racers(racers, s, race_to_replace);
    store_close(s);
}
