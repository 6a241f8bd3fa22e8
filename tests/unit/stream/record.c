/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/record.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

static void check_same(const struct stream_record *a, const struct stream_record *b)
{
    T_EQ_SLICE(a->type, b->type);
    T_EQ(a->ttl_s, b->ttl_s);
    T_EQ_SLICE(a->expires, b->expires);
    T_EQ(a->expires_ms, b->expires_ms);
    T_EQ(a->created_ms, b->created_ms);
    T_EQ(a->touched_ms, b->touched_ms);
    T_EQ(a->is_closed, b->is_closed);
    T_EQ(a->has_closer, b->has_closer);
    T_EQ_SLICE(a->closer, b->closer);
    T_EQ(a->closer_epoch, b->closer_epoch);
    T_EQ(a->closer_seq, b->closer_seq);
    T_EQ_SLICE(a->seq, b->seq);
    T_EQ_SLICE(a->source, b->source);
    T_EQ(a->fork_at, b->fork_at);
    T_EQ(a->fork_sub, b->fork_sub);
    T_EQ(a->n_forks, b->n_forks);
    T_EQ(a->is_gone, b->is_gone);
}

static void check_round(const struct stream_record *r)
{
    struct stream_record back;
    struct weir_buf body;
    weir_buf_init(&body, 1 << 16);
    stream_record_write(&body, r);
    T_EQ(weir_buf_status(&body), WEIR_OK);
    T_OK(stream_record_read(weir_buf_slice(&body), &back));
    check_same(&back, r);
    weir_buf_fini(&body);
}

/* Any bytes that a field may have, spaces too. */
static struct weir_slice random_text(char *out, size_t cap, size_t least)
{
    size_t len = least + t_random() % (cap - least);
    for (size_t i = 0; i < len; i++) out[i] = (char)(' ' + t_random() % 95);
    return slice_of(out, len);
}

static int64_t random_time(void)
{
    return (int64_t)(t_random() >> (1 + t_random() % 40));
}

TEST(a_record_comes_back_as_it_was)
{
    static const struct stream_record plain = {.type = {"text/plain", 10}, .ttl_s = -1};
    char type[STREAM_TYPE_BYTES];
    char expires[40];
    char closer[PRODUCER_ID_BYTES];
    char seq[STREAM_SEQ_BYTES];
    char source[STREAM_NAME_BYTES];
    check_round(&plain);
    for (int i = 0; i < 2000; i++) {
        struct stream_record r = record_of_type(random_text(type, sizeof type, 1));
        r.created_ms = random_time();
        r.touched_ms = random_time();
        if (t_random() % 2) r.ttl_s = random_time();
        if (t_random() % 2) {
            r.expires = random_text(expires, sizeof expires, 1);
            r.expires_ms = random_time();
        }
        r.is_closed = t_random() % 2;
        r.has_closer = t_random() % 2;
        if (r.has_closer) {
            r.closer = random_text(closer, sizeof closer, 1);
            r.closer_epoch = t_random() >> 1;
            r.closer_seq = t_random() >> 1;
        }
        r.seq = random_text(seq, sizeof seq, 0);
        if (t_random() % 2) {
            r.source = random_text(source, sizeof source, 1);
            r.fork_at = t_random() >> 1;
            r.fork_sub = t_random() % 3;
        }
        r.n_forks = t_random() % 5;
        r.is_gone = t_random() % 2;
        check_round(&r);
    }
}

TEST(the_largest_record_fits)
{
    static char letters[STREAM_SEQ_BYTES];
    memset(letters, 'x', sizeof letters);
    struct stream_record r = {
        .type = {letters, STREAM_TYPE_BYTES},
        .ttl_s = INT64_MAX,
        .expires = {letters, 64},
        .expires_ms = INT64_MAX,
        .created_ms = INT64_MAX,
        .touched_ms = INT64_MAX,
        .is_closed = true,
        .has_closer = true,
        .closer = {letters, PRODUCER_ID_BYTES},
        .closer_epoch = INT64_MAX,
        .closer_seq = INT64_MAX,
        .seq = {letters, STREAM_SEQ_BYTES},
        .source = {letters, STREAM_NAME_BYTES},
        .fork_at = INT64_MAX,
        .fork_sub = INT64_MAX,
        .n_forks = INT64_MAX,
        .is_gone = true,
    };
    struct weir_buf body;
    weir_buf_init(&body, RECORD_BYTES);
    stream_record_write(&body, &r);
    T_EQ(weir_buf_status(&body), WEIR_OK);
    weir_buf_fini(&body);
    check_round(&r);
}

TEST(a_time_before_1970_is_as_good_as_1970)
{
    struct stream_record r = record_of_type(SLICE("text/plain"));
    struct stream_record back;
    struct weir_buf body;
    r.expires = SLICE("1960-01-01T00:00:00Z");
    r.expires_ms = INT64_C(-315619200000);
    r.touched_ms = -1;
    weir_buf_init(&body, RECORD_BYTES);
    stream_record_write(&body, &r);
    T_OK(stream_record_read(weir_buf_slice(&body), &back));
    T_EQ(back.expires_ms, 0);
    T_EQ(back.touched_ms, 0);
    T_OK(record_is_expired(&back, 1));
    weir_buf_fini(&body);
}

TEST(what_is_no_record_is_refused)
{
    static const char *const bad[] = {
        "",
        "\n",
        "type",
        "type text/plain",
        "type \n",
        "typetext/plain\n",
        "type text/plain\nx",
        "type text/plain\nttl\n",
        "type text/plain\nttl x\n",
        "type text/plain\nttl -1\n",
        "type text/plain\nttl 99999999999999999999\n",
        "type text/plain\nttl 9999999999999999999\n", /* more than a time can be */
        "type text/plain\nclosed yes\n",
        "type text/plain\nunknown word\n",
        "created 5\n",
        "{\"type\":\"text/plain\"}",
    };
    struct stream_record r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool is_read = stream_record_read(weir_slice_of(bad[i]), &r);
        if (is_read) printf("taken: %s\n", bad[i]);
        T_OK(!is_read);
    }
    T_OK(stream_record_read(SLICE("type text/plain\nnewer 5\n"),
                            &r)); /* of a later version: a number */
}

/* A record that was cut is none, or one with fewer lines, and never read beyond its end. */
TEST(a_record_cut_anywhere_is_read_within_its_bytes)
{
    static const char body[] =
        "type text/plain\nttl 60\ncreated 5\ntouched 6\nclosed 1\ncloser me\n"
        "closer_epoch 3\ncloser_seq 4\nseq 0a\nforks 2\n";
    struct stream_record r;
    for (size_t len = 0; len < sizeof body - 1; len++) {
        char copy[sizeof body];
        memcpy(copy, body, len);
        bool is_whole = len > 0 && copy[len - 1] == '\n';
        T_EQ(stream_record_read(slice_of(copy, len), &r), is_whole);
    }
}

TEST(a_producer_comes_back)
{
    for (int i = 0; i < 500; i++) {
        struct producer_record p = {t_random() >> 1, t_random() >> (1 + t_random() % 60),
                                    SLICE("some/stream")};
        struct producer_record back;
        struct weir_buf body;
        weir_buf_init(&body, 128);
        producer_write(&body, &p);
        T_EQ(weir_buf_status(&body), WEIR_OK);
        T_OK(producer_read(weir_buf_slice(&body), &back));
        T_EQ(back.epoch, p.epoch);
        T_EQ(back.seq, p.seq);
        T_EQ_SLICE(back.stream, p.stream);
        weir_buf_fini(&body);
    }
    struct producer_record p;
    T_OK(!producer_read(SLICE("epoch x\n"), &p));
    T_OK(!producer_read(SLICE("epoch 1"), &p));
    T_OK(!producer_read(SLICE("epoch -1\nseq 0\n"), &p));
}

/* ---- time ---- */

TEST(nothing_ends_before_its_time)
{
    struct stream_record r = record_of_type(SLICE("a/b"));
    const int64_t now = INT64_C(1800000000000);
    r.touched_ms = now;
    T_OK(!record_is_expired(&r, INT64_MAX)); /* no time at all */
    T_OK(!record_wants_touch(&r, INT64_MAX));
    r.ttl_s = 80;
    T_OK(!record_is_expired(&r, now));
    T_OK(!record_is_expired(&r, now + 80000 - 1));
    T_OK(record_is_expired(&r, now + 80000 + 80000 / 8));
    T_OK(!record_wants_touch(&r, now));
    T_OK(record_wants_touch(&r, now + 80000 / 8));
    T_OK(!record_is_expired(&r, now - 5000)); /* a clock that went back */
    r.expires = SLICE("then");
    r.expires_ms = now + 10;
    T_OK(!record_is_expired(&r, now + 9));
    T_OK(record_is_expired(&r, now + 10));
}

/* Used at any moment, and touched only when that is worth it: it lives a ttl from its last use. */
TEST(a_stream_lives_its_ttl_from_its_last_use)
{
    for (int round = 0; round < 500; round++) {
        struct stream_record r = record_of_type(SLICE("a/b"));
        int64_t now = INT64_C(1800000000000);
        int64_t ttl_ms = 1000 * (1 + (int64_t)(t_random() % 100));
        r.ttl_s = ttl_ms / 1000;
        r.touched_ms = now;
        for (int use = 0; use < 20; use++) {
            now += (int64_t)(t_random() % (uint64_t)ttl_ms);
            T_OK(!record_is_expired(&r, now));
            if (record_wants_touch(&r, now)) r.touched_ms = now;
        }
        T_OK(!record_is_expired(&r, now + ttl_ms - 1));
        T_OK(record_is_expired(&r, now + ttl_ms + ttl_ms / 8));
    }
}

TEST(a_ttl_too_long_to_count_never_ends)
{
    struct stream_record r = record_of_type(SLICE("a/b"));
    r.ttl_s = INT64_MAX;
    r.touched_ms = INT64_C(1800000000000);
    T_OK(!record_is_expired(&r, INT64_C(9800000000000)));
    r.ttl_s = INT64_MAX / 1000;
    T_OK(!record_is_expired(&r, INT64_C(9800000000000)));
    r.ttl_s = 0;
    T_OK(record_is_expired(&r, r.touched_ms));
}
