/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows, keeps its newest part, and knows when each part came. */
#include <weir/ui.h>

#include "base/fault.h"
#include "t.h"

static void add(struct weir_ui_text *t, const char *text, uint64_t now_ns)
{
    weir_ui_text_add(t, weir_slice_of(text), now_ns);
}

TEST(a_reader_gets_what_it_has_not_seen)
{
    struct weir_ui_text t;
    weir_ui_text_init(&t, 100);
    T_EQ(weir_ui_text_from(&t, 0).len, 0);
    add(&t, "one ", 1);
    T_EQ_STR(weir_ui_text_from(&t, 0), "one ");
    add(&t, "two", 2);
    T_EQ_STR(weir_ui_text_from(&t, 4), "two");
    T_EQ(weir_ui_text_from(&t, 7).len, 0);
    T_EQ(weir_ui_text_from(&t, 99).len, 0);
    weir_ui_text_fini(&t);
}

TEST(segments_know_when_they_were_born)
{
    struct weir_ui_text t;
    weir_ui_text_init(&t, 100);
    add(&t, "ab", 5);
    add(&t, "c", 5);
    add(&t, "", 6);
    add(&t, "d", 7);
    T_EQ(t.n_segments, 2);
    T_EQ(t.segments[0].born_ns, 5);
    T_EQ(t.segments[0].end, 3);
    T_EQ(t.segments[1].born_ns, 7);
    T_EQ(t.segments[1].begin, 3);
    T_EQ(t.segments[1].end, 4);
    weir_ui_text_fini(&t);
}

TEST(too_many_segments_join_at_the_old_end)
{
    struct weir_ui_text t;
    weir_ui_text_init(&t, 1000);
    for (uint64_t i = 0; i < 3 * WEIR_UI_SEGMENTS; i++) add(&t, "x", i);
    T_EQ(t.n_segments, WEIR_UI_SEGMENTS);
    T_EQ(t.segments[0].begin, 0);
    for (size_t i = 1; i < t.n_segments; i++) T_EQ(t.segments[i].begin, t.segments[i - 1].end);
    T_EQ(t.segments[t.n_segments - 1].end, 3 * WEIR_UI_SEGMENTS);
    weir_ui_text_fini(&t);
}

static void gather(void *user, const struct weir_ui_text *t, struct weir_slice more)
{
    (void)t;
    weir_buf_append_slice(user, more);
}

TEST(a_listener_gets_what_is_too_long_to_be_kept)
{
    struct weir_ui_text t;
    struct weir_buf all;
    weir_ui_text_init(&t, 4);
    weir_buf_init(&all, 100);
    t.on_add = gather;
    t.add_user = &all;
    add(&t, "0123456789", 1);
    add(&t, "", 2);
    add(&t, "ab", 3);
    T_EQ_STR(weir_buf_slice(&all), "0123456789ab");
    T_EQ_STR(weir_ui_text_from(&t, 10), "ab");
    weir_buf_fini(&all);
    weir_ui_text_fini(&t);
}

TEST(the_oldest_bytes_give_way)
{
    struct weir_ui_text t;
    weir_ui_text_init(&t, 10);
    for (int i = 0; i < 1000; i++) {
        add(&t, "0123456", (uint64_t)i);
        T_OK(t.bytes.len <= 20);
        T_EQ(t.begin + t.bytes.len, t.end);
        T_OK(t.end < 10 || t.bytes.len >= 10);
    }
    T_EQ_STR(weir_ui_text_from(&t, t.end - 10), "4560123456");
    add(&t, "abcdefghijklmnopqrstuvwxyz", 9);
    T_EQ_STR(weir_ui_text_from(&t, 0), "qrstuvwxyz");
    weir_ui_text_fini(&t);
}

TEST(clearing_begins_a_round)
{
    struct weir_ui_text t;
    weir_ui_text_init(&t, 10);
    add(&t, "abc", 1);
    weir_ui_text_clear(&t);
    T_EQ(t.round, 1);
    T_EQ(t.end, 0);
    add(&t, "d", 2);
    T_EQ_STR(weir_ui_text_from(&t, 0), "d");
    T_OK(weir_ui_text_is(&t, weir_slice_of("d")));
    weir_ui_text_fini(&t);
}

TEST(the_whole_is_known_when_little_is_kept)
{
    struct weir_ui_text t;
    weir_ui_text_init(&t, 4);
    add(&t, "Hello, ", 1);
    add(&t, "world", 2);
    T_OK(weir_ui_text_is(&t, weir_slice_of("Hello, world")));
    T_OK(!weir_ui_text_is(&t, weir_slice_of("Hello, World")));
    T_OK(!weir_ui_text_is(&t, weir_slice_of("world")));
    weir_ui_text_fini(&t);
}

TEST(without_memory_it_is_lossy_and_goes_on)
{
    struct weir_ui_text t;
    weir_ui_text_init(&t, 100);
    fault_arm(FAULT_ALLOC, 1, FAULT_ONCE);
    add(&t, "abc", 1);
    fault_disarm_all();
    T_OK(t.is_lossy);
    T_EQ(t.end, 3);
    add(&t, "d", 2);
    T_EQ_STR(weir_ui_text_from(&t, 0), "d");
    T_OK(weir_ui_text_is(&t, weir_slice_of("abcd")));
    weir_ui_text_fini(&t);
}
