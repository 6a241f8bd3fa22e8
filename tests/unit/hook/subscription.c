/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/subscription.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/slice.h"
#include "t.h"

enum { LEASE_MS = 5000 };

static int64_t now(struct fake_clock *f)
{
    return clock_wall_ms(&f->clock);
}

static void pass(struct fake_clock *f, uint64_t ms)
{
    fake_clock_advance(f, ms * 1000000);
}

static struct subscription *make(enum subscription_type type)
{
    const struct subscription_config config = {
        .type = type,
        .pattern = SLICE("events/**"),
        .url = SLICE("https://a.example/"),
        .wake_stream = type == SUBSCRIPTION_PULL ? SLICE("events/wake") : SLICE(""),
        .description = SLICE("what \"it\" is for"),
        .lease_ttl_ms = LEASE_MS,
    };
    struct subscription *s = subscription_new(SLICE("sub"), SLICE("me"), &config);
    if (!s) abort();
    return s;
}

static struct stream_link *add(struct subscription *s, const char *path, int64_t acked,
                               uint64_t tail)
{
    T_EQ(subscription_add_link(s, weir_slice_of(path), LINK_GLOB, acked), WEIR_OK);
    struct stream_link *link = subscription_link(s, weir_slice_of(path));
    if (!link) abort();
    stream_link_set_tail(link, 1, tail);
    return link;
}

static char *holder(void)
{
    char *text = mem_zalloc(2);
    text[0] = 'w';
    return text;
}

TEST(a_webhook_is_delivered_leased_and_ended)
{
    struct fake_clock clock;
    fake_clock_init(&clock, 1000000);
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    struct stream_link *link = add(s, "events/a", ACKED_NOTHING, 3);
    T_OK(subscription_is_idle(s) && subscription_pending(s) == link);
    T_OK(!subscription_wants_delivery(s, now(&clock)));
    subscription_wake(s);
    T_EQ(s->generation, 1);
    T_OK(subscription_wants_delivery(s, now(&clock)));
    T_EQ(subscription_due_ms(s), 0);
    subscription_delivered(s, now(&clock));
    T_OK(!subscription_wants_delivery(s, now(&clock)));
    T_EQ(subscription_due_ms(s), now(&clock) + LEASE_MS);
    pass(&clock, LEASE_MS - 1);
    T_OK(!subscription_lease_is_over(s, now(&clock)));
    subscription_extend(s, now(&clock));
    pass(&clock, LEASE_MS - 1);
    T_OK(!subscription_lease_is_over(s, now(&clock)));
    pass(&clock, 1);
    T_OK(subscription_lease_is_over(s, now(&clock)));
    subscription_end(s);
    T_OK(subscription_is_idle(s));
    char old_id[WAKE_ID_BYTES];
    subscription_wake(s);
    memcpy(old_id, s->wake_id, sizeof old_id);
    subscription_end(s);
    subscription_wake(s);
    T_EQ(s->generation, 3);
    T_OK(strcmp(old_id, s->wake_id) != 0);
    subscription_free(s);
}

TEST(what_fails_is_tried_again_ever_later)
{
    struct fake_clock clock;
    fake_clock_init(&clock, 1000000);
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    int64_t expected_ms = RETRY_FIRST_MS;
    add(s, "events/a", 0, 1);
    subscription_wake(s);
    for (unsigned i = 0; i < 40; i++) {
        subscription_failed(s, now(&clock), (uint32_t)t_random());
        int64_t delay_ms = s->retry_at_ms - now(&clock);
        T_OK(delay_ms >= expected_ms * 4 / 5 && delay_ms <= expected_ms * 6 / 5);
        T_EQ(subscription_due_ms(s), s->retry_at_ms);
        T_OK(!subscription_wants_delivery(s, s->retry_at_ms - 1));
        T_OK(subscription_wants_delivery(s, s->retry_at_ms));
        T_EQ(s->n_failures, i + 1);
        expected_ms = expected_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : expected_ms * 2;
        pass(&clock, (uint64_t)delay_ms);
    }
    T_EQ(s->generation, 1);
    subscription_delivered(s, now(&clock));
    T_EQ(s->n_failures, 0);
    T_EQ(s->retry_at_ms, 0);
    subscription_free(s);
}

TEST(a_claim_holds_until_its_lease_is_over)
{
    struct fake_clock clock;
    fake_clock_init(&clock, 1000000);
    struct subscription *s = make(SUBSCRIPTION_PULL);
    add(s, "events/a", 0, 1);
    subscription_wake(s);
    T_OK(s->has_wake_event);
    T_OK(!subscription_wants_delivery(s, now(&clock)));
    subscription_claim(s, holder(), now(&clock));
    T_OK(s->holder != NULL);
    pass(&clock, LEASE_MS);
    T_OK(subscription_lease_is_over(s, now(&clock)));
    subscription_end(s);
    T_OK(!s->holder && subscription_due_ms(s) == 0);
    subscription_free(s);
}

TEST(acknowledgements_go_forward_and_not_beyond_the_end)
{
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    struct stream_link *link = add(s, "events/a", ACKED_NOTHING, 5);
    T_OK(stream_link_is_pending(link));
    T_OK(stream_link_may_ack(link, 0) && stream_link_may_ack(link, 5));
    T_OK(!stream_link_may_ack(link, 6));
    link->acked = 3;
    T_OK(!stream_link_may_ack(link, 2) && stream_link_may_ack(link, 3));
    link->acked = 5;
    T_OK(!stream_link_is_pending(link));
    link->acked = 0;
    link->tail = 0;
    T_OK(!stream_link_is_pending(link));
    subscription_free(s);
}

TEST(done_acknowledges_what_was_told_and_no_more)
{
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    struct stream_link *told = add(s, "events/a", ACKED_NOTHING, 5);
    struct stream_link *untold = add(s, "events/b", 1, 9);
    told->told_to = 5;
    told->tail = 7; /* two more while it was on its way */
    subscription_ack_told(s);
    T_EQ(told->acked, 5);
    T_EQ(untold->acked, 1);
    T_OK(subscription_pending(s) == told);
    subscription_free(s);
}

TEST(another_stream_of_the_same_name_begins_anew)
{
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    struct stream_link *link = add(s, "events/a", 4, 4);
    T_OK(!stream_link_set_tail(link, 1, 5));
    T_EQ(link->acked, 4);
    T_OK(stream_link_set_tail(link, 2, 1));
    T_EQ(link->acked, ACKED_NOTHING);
    T_OK(stream_link_is_pending(link));
    subscription_free(s);
}

TEST(a_link_lives_as_long_as_one_of_its_kinds)
{
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    add(s, "events/a", 0, 0);
    T_EQ(subscription_add_link(s, SLICE("events/a"), LINK_EXPLICIT, 9), WEIR_OK);
    T_EQ(subscription_link(s, SLICE("events/a"))->acked, 0);
    subscription_remove_link(s, SLICE("events/a"), LINK_EXPLICIT);
    T_OK(subscription_link(s, SLICE("events/a")) != NULL);
    subscription_remove_link(s, SLICE("events/a"), LINK_EXPLICIT);
    T_OK(subscription_link(s, SLICE("events/a")) != NULL);
    subscription_remove_link(s, SLICE("events/a"), LINK_GLOB);
    T_OK(!subscription_link(s, SLICE("events/a")));
    subscription_remove_link(s, SLICE("events/a"), 0);
    subscription_free(s);
}

TEST(links_have_a_ceiling)
{
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    char path[16];
    for (int i = 0; i < SUBSCRIPTION_MAX_LINKS; i++) {
        int len = snprintf(path, sizeof path, "events/%d", i);
        T_EQ(subscription_add_link(s, slice_of(path, (size_t)len), LINK_GLOB, 0), WEIR_OK);
    }
    T_EQ(subscription_add_link(s, SLICE("events/x"), LINK_GLOB, 0), WEIR_LIMIT);
    T_EQ(subscription_add_link(s, SLICE("events/1"), LINK_EXPLICIT, 0), WEIR_OK);
    subscription_free(s);
}

TEST(its_own_wake_stream_wakes_nobody)
{
    struct subscription *s = make(SUBSCRIPTION_PULL);
    T_OK(subscription_matches(s, SLICE("events/a/b")));
    T_OK(!subscription_matches(s, SLICE("events/wake")));
    T_OK(!subscription_matches(s, SLICE("other")));
    subscription_free(s);
}

TEST(a_clock_that_was_set_back_makes_nothing_last_longer)
{
    struct subscription *s = make(SUBSCRIPTION_WEBHOOK);
    s->lease_until_ms = 1000 + LEASE_MS;
    s->retry_at_ms = 2000;
    subscription_resume(s, 1000);
    T_EQ(s->lease_until_ms, 1000 + LEASE_MS);
    T_EQ(s->retry_at_ms, 2000);
    s->lease_until_ms = s->retry_at_ms = 3600 * 1000;
    subscription_resume(s, 1000);
    T_EQ(s->lease_until_ms, 1000 + LEASE_MS);
    T_EQ(s->retry_at_ms, 1000);
    subscription_free(s);
}

static void expect_same(const struct subscription *a, const struct subscription *b)
{
    struct weir_buf first, second;
    weir_buf_init(&first, SUBSCRIPTION_DOC_BYTES);
    weir_buf_init(&second, SUBSCRIPTION_DOC_BYTES);
    subscription_write(a, &first);
    subscription_write(b, &second);
    T_EQ_SLICE(weir_buf_slice(&first), weir_buf_slice(&second));
    weir_buf_fini(&first);
    weir_buf_fini(&second);
}

TEST(a_document_gives_back_all_that_is_kept)
{
    struct subscription *s = make(SUBSCRIPTION_PULL);
    struct weir_buf body;
    add(s, "events/a \"quoted\" name that is longer than sixteen", ACKED_NOTHING, 3);
    add(s, "b", 17, 20)->kinds = LINK_GLOB | LINK_EXPLICIT;
    random_bytes(s->hash, sizeof s->hash);
    s->created_ms = 1234567890123;
    subscription_wake(s);
    subscription_claim(s, holder(), 1000);
    s->n_failures = 3;
    weir_buf_init(&body, SUBSCRIPTION_DOC_BYTES);
    subscription_write(s, &body);
    struct subscription *again =
        subscription_read(SLICE("sub"), SLICE("me"), weir_buf_slice(&body));
    T_OK(again != NULL);
    if (again) {
        expect_same(s, again);
        T_EQ(again->lease_until_ms, 1000 + LEASE_MS);
        T_EQ_STR(weir_slice_of(again->holder), "w");
        T_EQ_STR(weir_slice_of(again->wake_id), s->wake_id);
        T_EQ(again->generation, 1);
        T_EQ(subscription_link(again, SLICE("b"))->acked, 17);
        T_EQ(subscription_link(again, SLICE("b"))->log_id, 1);
    }
    /* Cut anywhere it is none. */
    for (size_t i = 0; i < body.len; i++) {
        struct subscription *cut =
            subscription_read(SLICE("sub"), SLICE("me"), slice_of(body.ptr, i));
        T_OK(!cut);
        subscription_free(cut);
    }
    subscription_free(again);
    weir_buf_fini(&body);
    subscription_free(s);
}

TEST(memory_that_cannot_be_had_leaves_nothing_behind)
{
    struct subscription *s = make(SUBSCRIPTION_PULL);
    struct weir_buf body;
    struct subscription *again = NULL;
    uint64_t nth;
    add(s, "events/a \"quoted\" name that is longer than sixteen", ACKED_NOTHING, 3);
    weir_buf_init(&body, SUBSCRIPTION_DOC_BYTES);
    subscription_write(s, &body);
    for (nth = 1; !again && nth < 1000; nth++) {
        fault_arm(FAULT_ALLOC, nth, FAULT_ONCE);
        again = subscription_read(SLICE("sub"), SLICE("me"), weir_buf_slice(&body));
        fault_disarm_all();
    }
    T_OK(again != NULL && nth > 8);
    subscription_free(again);
    weir_buf_fini(&body);
    subscription_free(s);
}
