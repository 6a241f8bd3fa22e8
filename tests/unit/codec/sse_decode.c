/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule of WHATWG HTML 9.2.6, each in every cutting, against a transcript
 * written by hand and against the slow decoder of tests/oracle.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weir/sse.h>

#include "base/fault.h"
#include "base/slice.h"
#include "oracle/sse_slow.h"
#include "oracle/transcript.h"
#include "t.h"

static void expect(struct weir_slice input, const struct weir_sse_limits *limits, const char *want)
{
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        struct text got = {0};
        transcript_sse(&got, input, &cut, limits);
        T_EQ_STR(text_slice(&got), want);
        text_fini(&got);
    }
}

static void expect_both(struct weir_slice input, const char *want)
{
    struct text slow = {0};
    expect(input, NULL, want);
    sse_slow(&slow, input);
    T_EQ_STR(text_slice(&slow), want);
    text_fini(&slow);
}

#define SSE_CASE(name, input, want)                                                                \
    TEST(name)                                                                                     \
    {                                                                                              \
        expect_both(SLICE(input), want);                                                           \
    }

/* ---- lines ---- */

SSE_CASE(empty_input_gives_nothing, "", "end ok id ''\n")
SSE_CASE(lines_end_at_lf, "data:a\n\n", "event 'message' 'a' ''\nend ok id ''\n")
SSE_CASE(lines_end_at_crlf, "data:a\r\n\r\n", "event 'message' 'a' ''\nend ok id ''\n")
SSE_CASE(lines_end_at_cr, "data:a\r\r", "event 'message' 'a' ''\nend ok id ''\n")
SSE_CASE(line_ends_may_be_mixed, "data:a\r\ndata:b\rdata:c\n\r",
         "event 'message' 'a\\nb\\nc' ''\nend ok id ''\n")
SSE_CASE(crlf_is_one_line_end, "data:a\r\ndata:b\r\n\r\ndata:c\r\n\r\n",
         "event 'message' 'a\\nb' ''\nevent 'message' 'c' ''\nend ok id ''\n")
SSE_CASE(cr_cr_lf_is_two_line_ends, "data:a\r\r\ndata:b\n\n",
         "event 'message' 'a' ''\nevent 'message' 'b' ''\nend ok id ''\n")
SSE_CASE(lf_cr_is_two_line_ends, "data:a\n\rdata:b\n\n",
         "event 'message' 'a' ''\nevent 'message' 'b' ''\nend ok id ''\n")
SSE_CASE(
    line_separators_of_unicode_are_text,
    "data:a\xe2\x80\xa8"
    "b\xe2\x80\xa9"
    "c\xc2\x85"
    "d\x0b\x0c\n\n",
    "event 'message' 'a\\xe2\\x80\\xa8b\\xe2\\x80\\xa9c\\xc2\\x85d\\x0b\\x0c' ''\nend ok id ''\n")
SSE_CASE(blank_lines_dispatch_nothing, "\n\r\n\r\n\n\r", "end ok id ''\n")

/* ---- byte order mark and UTF-8 ---- */

SSE_CASE(one_leading_bom_is_dropped,
         "\xef\xbb\xbf"
         "data:a\n\n",
         "event 'message' 'a' ''\nend ok id ''\n")
SSE_CASE(second_bom_is_text,
         "\xef\xbb\xbf\xef\xbb\xbf"
         "data:a\n\ndata:b\n\n",
         "event 'message' 'b' ''\nend ok id ''\n")
SSE_CASE(later_bom_is_text,
         "data:a\n\n\xef\xbb\xbf"
         "data:b\n\ndata:\xef\xbb\xbf\n\n",
         "event 'message' 'a' ''\nevent 'message' '\\xef\\xbb\\xbf' ''\nend ok id ''\n")
SSE_CASE(half_a_bom_is_a_bad_character,
         "\xef\xbb"
         "data:a\n\ndata:b\n\n",
         "event 'message' 'b' ''\nend ok id ''\n")
SSE_CASE(bom_before_blank_line, "\xef\xbb\xbf\ndata:a\n\n",
         "event 'message' 'a' ''\nend ok id ''\n")
SSE_CASE(good_utf8_passes, "data:\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\x80\n\n",
         "event 'message' '\\xc3\\xa4\\xe2\\x82\\xac\\xf0\\x9f\\x9a\\x80' ''\nend ok id ''\n")
SSE_CASE(bad_byte_becomes_one_replacement, "data:a\x80z\xff!\n\n",
         "event 'message' 'a\\xef\\xbf\\xbdz\\xef\\xbf\\xbd!' ''\nend ok id ''\n")
SSE_CASE(maximal_bad_part_becomes_one_replacement, "data:\xe2\x82z\xf0\x9f\x9az\n\n",
         "event 'message' '\\xef\\xbf\\xbdz\\xef\\xbf\\xbdz' ''\nend ok id ''\n")
SSE_CASE(
    overlong_and_surrogate_bytes_are_replaced_one_by_one,
    "data:\xc0\xaf|\xe0\x80\xaf|\xed\xa0\x80|\xf4\x90\x80\x80\n\n",
    "event 'message' '\\xef\\xbf\\xbd\\xef\\xbf\\xbd|\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd"
    "|\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd|\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd"
    "\\xef\\xbf\\xbd' ''\nend ok id ''\n")
SSE_CASE(half_a_character_never_eats_a_line_end, "data:\xe2\x82\n\ndata:\xf0\r\rdata:\xc3\r\n\r\n",
         "event 'message' '\\xef\\xbf\\xbd' ''\nevent 'message' '\\xef\\xbf\\xbd' ''\n"
         "event 'message' '\\xef\\xbf\\xbd' ''\nend ok id ''\n")
SSE_CASE(bad_utf8_in_name_type_and_id_is_replaced, "da\xffta:a\nevent:\xff\nid:\xfe\ndata:b\n\n",
         "event '\\xef\\xbf\\xbd' 'b' '\\xef\\xbf\\xbd'\nend ok id '\\xef\\xbf\\xbd'\n")

/* ---- fields ---- */

SSE_CASE(exactly_one_space_after_the_colon_is_dropped, "data:a\ndata: b\ndata:  c\ndata:\td\n\n",
         "event 'message' 'a\\nb\\n c\\n\\x09d' ''\nend ok id ''\n")
SSE_CASE(field_ends_at_the_first_colon, "data:a:b: c\n\n",
         "event 'message' 'a:b: c' ''\nend ok id ''\n")
SSE_CASE(line_without_colon_is_a_field_with_empty_value, "data\ndata\n\n",
         "event 'message' '\\n' ''\nend ok id ''\n")
SSE_CASE(data_alone_dispatches_empty, "data:\n\ndata\n\n",
         "event 'message' '' ''\nevent 'message' '' ''\nend ok id ''\n")
SSE_CASE(only_one_trailing_lf_is_removed, "data:a\ndata:\ndata:\n\n",
         "event 'message' 'a\\n\\n' ''\nend ok id ''\n")
SSE_CASE(names_are_case_sensitive, "DATA:a\nData:b\nEVENT:x\nID:1\nRETRY:5\n\n", "end ok id ''\n")
SSE_CASE(names_are_not_trimmed, " data:a\ndata :b\n\n", "end ok id ''\n")
SSE_CASE(unknown_fields_are_ignored, "foo:bar\ndata:a\nbaz\n\n",
         "event 'message' 'a' ''\nend ok id ''\n")
SSE_CASE(nul_in_data_survives, "data:a\0b\n\n", "event 'message' 'a\\x00b' ''\nend ok id ''\n")
SSE_CASE(nul_in_name_makes_it_unknown, "da\0ta:a\n\n", "end ok id ''\n")

/* ---- event ---- */

SSE_CASE(event_names_the_type, "event: x\ndata:a\n\n", "event 'x' 'a' ''\nend ok id ''\n")
SSE_CASE(last_event_name_wins, "event:x\nevent:y\ndata:a\n\n", "event 'y' 'a' ''\nend ok id ''\n")
SSE_CASE(empty_event_means_message, "event:x\nevent:\ndata:a\n\n",
         "event 'message' 'a' ''\nend ok id ''\n")
SSE_CASE(event_name_does_not_persist, "event:x\ndata:a\n\ndata:b\n\n",
         "event 'x' 'a' ''\nevent 'message' 'b' ''\nend ok id ''\n")
SSE_CASE(block_without_data_dispatches_nothing_and_forgets_its_type, "event:x\n\ndata:a\n\n",
         "event 'message' 'a' ''\nend ok id ''\n")

/* ---- id ---- */

SSE_CASE(id_persists_over_events, "id:1\ndata:a\n\ndata:b\n\n",
         "event 'message' 'a' '1'\nevent 'message' 'b' '1'\nend ok id '1'\n")
SSE_CASE(id_is_committed_by_a_block_without_data, "id:1\n\n", "end ok id '1'\n")
SSE_CASE(id_is_not_committed_before_the_blank_line, "id:1\ndata:a\n\nid:2\ndata:b\n",
         "event 'message' 'a' '1'\nend ok id '1' pending\n")
SSE_CASE(empty_id_resets_it, "id:1\ndata:a\n\nid\ndata:b\n\n",
         "event 'message' 'a' '1'\nevent 'message' 'b' ''\nend ok id ''\n")
SSE_CASE(id_with_nul_is_ignored, "id:1\nid:2\0\ndata:a\n\nid:\0\n\n",
         "event 'message' 'a' '1'\nend ok id '1'\n")
SSE_CASE(id_may_come_after_data, "data:a\nid:7\n\n", "event 'message' 'a' '7'\nend ok id '7'\n")
SSE_CASE(last_id_of_a_block_wins, "id:1\nid:2\ndata:a\n\n",
         "event 'message' 'a' '2'\nend ok id '2'\n")

/* ---- retry ---- */

SSE_CASE(retry_is_reported_at_once, "retry:100\n", "retry 100\nend ok id '' retry 100\n")
SSE_CASE(retry_needs_digits_only,
         "retry:1x\nretry:-1\nretry:+1\nretry: 1 \nretry:1.5\nretry:0x1\nretry:\nretry\n"
         "retry:\xd9\xa1\n\n",
         "end ok id ''\n")
SSE_CASE(retry_is_decimal_with_leading_zeros, "retry: 0030\n\n",
         "retry 30\nend ok id '' retry 30\n")
SSE_CASE(bad_retry_keeps_the_last, "retry:5\nretry:x\n\n", "retry 5\nend ok id '' retry 5\n")
SSE_CASE(retry_saturates, "retry:9007199254740992\nretry:99999999999999999999999999999999\n\n",
         "retry 9007199254740991\nretry 9007199254740991\nend ok id '' retry 9007199254740991\n")
SSE_CASE(retry_zero_is_a_value, "retry:0\n\n", "retry 0\nend ok id '' retry 0\n")

/* ---- comments and the end ---- */

SSE_CASE(comments_are_reported_and_not_dispatched, ":\n: hi\n:a:b\ndata:x\n:y\n\n",
         "comment ''\ncomment ' hi'\ncomment 'a:b'\ncomment 'y'\nevent 'message' 'x' ''\n"
         "end ok id ''\n")
SSE_CASE(unfinished_block_is_dropped_and_pending, "data:a\n\ndata:b\n",
         "event 'message' 'a' ''\nend ok id '' pending\n")
SSE_CASE(unfinished_line_is_dropped_and_pending, "data:a\n\nd",
         "event 'message' 'a' ''\nend ok id '' pending\n")
SSE_CASE(nothing_is_pending_after_a_blank_line, "data:a\n\n:x\n",
         "event 'message' 'a' ''\ncomment 'x'\nend ok id ''\n")
SSE_CASE(cr_that_ends_input_ends_its_line, "data:a\n\r", "event 'message' 'a' ''\nend ok id ''\n")

TEST(random_bytes_decode_as_the_slow_decoder_says)
{
    static const char *const words[] = {
        "data",      ":",        " ",       "\n",           "\r",       "\r\n", "event",
        "id",        "retry",    "message", "\xef\xbb\xbf", "\xe2",     "\x82", "\xac",
        "\xff",      "\xf0\x9f", "1",       "99999999",     "\xed\xa0", "x",    "\n\n",
        "\n\ndata:", "\nid:",    "\nevent:"};
    for (int round = 0; round < 3000; round++) {
        struct text input = {0};
        struct text want = {0};
        struct text got = {0};
        struct cut cut;
        size_t n_words = t_random() % 24;
        for (size_t i = 0; i < n_words; i++) {
            size_t pick = t_random() % (sizeof words / sizeof *words + 1);
            if (pick == sizeof words / sizeof *words) text_add_char(&input, (char)t_random());
            else text_add(&input, words[pick], strlen(words[pick]));
        }
        sse_slow(&want, text_slice(&input));
        cut_from_byte(&cut, (uint8_t)t_random());
        transcript_sse(&got, text_slice(&input), &cut, NULL);
        T_EQ_SLICE(text_slice(&got), text_slice(&want));
        if (!text_eq(&got, &want)) T_EQ_STR(text_slice(&input), "(the input)");
        text_fini(&input);
        text_fini(&want);
        text_fini(&got);
    }
}

/* ---- limits ---- */

TEST(line_of_exactly_the_limit_passes_and_one_more_byte_does_not)
{
    struct weir_sse_limits limits = {.max_line_bytes = 8};
    expect(SLICE("data:abc\n\n"), &limits, "event 'message' 'abc' ''\nend ok id ''\n");
    expect(SLICE("data:x\n\ndata:abcd\n\n"), &limits,
           "event 'message' 'x' ''\nend line_too_long\n");
    expect(SLICE("data:x\n\n:23456789"), &limits, "event 'message' 'x' ''\nend line_too_long\n");
    expect(SLICE("data:x\n\n:2345678"), &limits, "event 'message' 'x' ''\nend ok id '' pending\n");
}

TEST(event_of_exactly_the_limit_passes_and_one_more_byte_does_not)
{
    struct weir_sse_limits limits = {.max_event_bytes = 5};
    expect(SLICE("data:ab\ndata:cd\n\n"), &limits, "event 'message' 'ab\\ncd' ''\nend ok id ''\n");
    expect(SLICE("data:x\n\ndata:ab\ndata:cde\n\n"), &limits,
           "event 'message' 'x' ''\nend event_too_long\n");
    expect(SLICE("data:abcde\n\ndata:abcdef\n\n"), &limits,
           "event 'message' 'abcde' ''\nend event_too_long\n");
    expect(SLICE("data\ndata\ndata\ndata\ndata\ndata\n\n"), &limits,
           "event 'message' '\\n\\n\\n\\n\\n' ''\nend ok id ''\n");
    expect(SLICE("data\ndata\ndata\ndata\ndata\ndata\ndata\n\n"), &limits, "end event_too_long\n");
}

TEST(event_limit_counts_replaced_characters_as_they_come_out)
{
    struct weir_sse_limits limits = {.max_event_bytes = 6};
    expect(SLICE("data:\xff\xff\n\n"), &limits,
           "event 'message' '\\xef\\xbf\\xbd\\xef\\xbf\\xbd' ''\nend ok id ''\n");
    expect(SLICE("data:\xff\xff\xff\n\n"), &limits, "end event_too_long\n");
}

TEST(id_of_exactly_the_limit_passes_and_one_more_byte_does_not)
{
    struct weir_sse_limits limits = {.max_id_bytes = 3};
    expect(SLICE("id:abc\n\n"), &limits, "end ok id 'abc'\n");
    expect(SLICE("data:x\n\nid:abcd\ndata:y\n\n"), &limits,
           "event 'message' 'x' ''\nend id_too_long\n");
}

static void count_event(void *user, const struct weir_sse_event *event)
{
    (void)event;
    ++*(size_t *)user;
}

TEST(after_a_limit_nothing_is_decoded_until_reset)
{
    size_t n_events = 0;
    struct weir_sse_handlers handlers = {.on_event = count_event};
    struct weir_sse_limits limits = {.max_line_bytes = 8};
    struct weir_sse *d = weir_sse_new(&handlers, &n_events, &limits);
    T_EQ(weir_sse_feed(d, "id:1\n\n:23456789\n", 16), WEIR_LINE_TOO_LONG);
    T_EQ(weir_sse_feed(d, "data:a\n\n", 8), WEIR_LINE_TOO_LONG);
    T_EQ(n_events, 0);
    weir_sse_reset(d);
    T_EQ_STR(weir_sse_last_event_id(d), "");
    T_EQ(weir_sse_feed(d, "data:a\n\n", 8), WEIR_OK);
    T_EQ(n_events, 1);
    weir_sse_free(d);
}

TEST(default_limits_hold)
{
    struct weir_sse *d = weir_sse_new(NULL, NULL, NULL);
    char *big = malloc((16 << 20) + 1);
    if (!d || !big) return;
    memset(big, ':', (16 << 20) + 1);
    T_EQ(weir_sse_feed(d, big, 16 << 20), WEIR_OK);
    T_OK(weir_sse_pending(d));
    T_EQ(weir_sse_feed(d, "\n", 1), WEIR_OK);
    T_EQ(weir_sse_feed(d, big, (16 << 20) + 1), WEIR_LINE_TOO_LONG);
    weir_sse_reset(d);
    memcpy(big, "id:", 3);
    big[3 + 4096] = '\n';
    T_EQ(weir_sse_feed(d, big, 3 + 4096 + 1), WEIR_OK);
    T_EQ(weir_sse_feed(d, "\n", 1), WEIR_OK);
    T_EQ(weir_sse_last_event_id(d).len, 4096);
    big[3 + 4096] = ':';
    big[3 + 4097] = '\n';
    T_EQ(weir_sse_feed(d, big, 3 + 4097 + 1), WEIR_ID_TOO_LONG);
    free(big);
    weir_sse_free(d);
}

/* ---- life cycle ---- */

TEST(reset_forgets_everything)
{
    size_t n_events = 0;
    uint64_t retry_ms;
    struct weir_sse_handlers handlers = {.on_event = count_event};
    struct weir_sse *d = weir_sse_new(&handlers, &n_events, NULL);
    T_EQ(weir_sse_feed(d, "retry:5\nid:1\n\nid:2\nevent:x\ndata:a\ndat", 37), WEIR_OK);
    T_OK(weir_sse_pending(d));
    weir_sse_reset(d);
    T_OK(!weir_sse_pending(d));
    T_OK(!weir_sse_retry_ms(d, &retry_ms));
    T_EQ_STR(weir_sse_last_event_id(d), "");
    T_EQ(weir_sse_feed(d, "\n\n", 2), WEIR_OK);
    T_EQ(n_events, 0);
    T_EQ(weir_sse_feed(d, "\r", 1), WEIR_OK);
    weir_sse_reset(d);
    T_EQ(weir_sse_feed(d,
                       "\xef\xbb\xbf"
                       "data:a\n\n",
                       11),
         WEIR_OK);
    T_EQ(n_events, 1);
    weir_sse_free(d);
}

TEST(null_handlers_and_free_of_null_are_fine)
{
    struct weir_sse *d = weir_sse_new(NULL, NULL, NULL);
    T_EQ(weir_sse_feed(d, "retry:1\n:c\nid:2\ndata:a\n\n", 24), WEIR_OK);
    T_EQ(weir_sse_feed(d, NULL, 0), WEIR_OK);
    T_EQ_STR(weir_sse_last_event_id(d), "2");
    weir_sse_free(d);
    weir_sse_free(NULL);
}

enum act { ACT_RESET, ACT_FREE };

struct actor {
    struct weir_sse *d;
    enum act act;
    bool is_gone;
    size_t n_calls;
    size_t act_at; /* act in this call, counted from 1 */
    char seen[16]; /* the bytes of that call, read after acting */
};

static void act(struct actor *a, struct weir_slice bytes)
{
    if (++a->n_calls != a->act_at) return;
    if (a->act == ACT_RESET) weir_sse_reset(a->d);
    else weir_sse_free(a->d);
    a->is_gone = a->act == ACT_FREE;
    memcpy(a->seen, bytes.ptr, bytes.len < sizeof a->seen ? bytes.len : sizeof a->seen);
}

static void act_on_event(void *user, const struct weir_sse_event *event)
{
    act(user, event->data);
}

static void act_on_comment(void *user, struct weir_slice text)
{
    act(user, text);
}

static void act_on_retry(void *user, uint64_t retry_ms)
{
    (void)retry_ms;
    act(user, SLICE("retry"));
}

/* The stream has ten things that call back; each of them acts once, in every cutting. */
TEST(callbacks_may_reset_or_free_the_decoder)
{
    static const struct weir_sse_handlers handlers = {act_on_event, act_on_comment, act_on_retry,
                                                      NULL};
    struct weir_slice input = SLICE("\xef\xbb\xbf:one\nretry:2\nid:3\ndata:three\n\n"
                                    "event:e\ndata:fo\ndata:ur\n\n:five\r\ndata:\xff\xffsix\r\n\r\n"
                                    "data:seven\n:eight\n\nretry:9\n:ten\ndata:tail");
    for (size_t at = 1; at <= 10; at++) {
        struct cut cut;
        for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
            struct actor a = {.act = n & 1 ? ACT_FREE : ACT_RESET, .act_at = at};
            struct weir_slice rest = input;
            struct weir_slice piece;
            a.d = weir_sse_new(&handlers, &a, NULL);
            while (!a.is_gone && cut_take(&cut, &rest, &piece)) {
                size_t n_before = a.n_calls;
                T_EQ(weir_sse_feed(a.d, piece.ptr, piece.len), WEIR_OK);
                if (n_before < at && a.n_calls >= at) T_EQ(a.n_calls, at);
            }
            if (!a.is_gone) weir_sse_free(a.d);
            cut_fini(&cut);
        }
    }
}

static void feed_again(void *user, const struct weir_sse_event *event)
{
    (void)event;
    T_OK(weir_sse_feed(*(struct weir_sse **)user, "data:x\n\n", 8) != WEIR_OK);
}

TEST(feeding_from_a_callback_is_refused)
{
    struct weir_sse *d;
    struct weir_sse_handlers handlers = {.on_event = feed_again};
    d = weir_sse_new(&handlers, &d, NULL);
    T_EQ(weir_sse_feed(d, "data:a\n\n", 8), WEIR_OK);
    weir_sse_free(d);
}

/* ---- memory and work ---- */

TEST(every_failing_allocation_is_reported)
{
    struct weir_slice input = SLICE("retry:1\nid:abc\nevent:kind\ndata:one\ndata:two\xff\n\n"
                                    "data:a line that is longer than the first\ndata:x\n\n");
    for (int mode = 0; mode < 4; mode++) {
        bool is_done = false;
        for (uint64_t nth = 1; !is_done; nth++) {
            struct text got = {0};
            struct cut cut;
            cut_from_byte(&cut, mode & 1 ? 3 : 0);
            fault_arm(FAULT_ALLOC, nth, mode & 2 ? FAULT_FROM : FAULT_ONCE);
            transcript_sse(&got, input, &cut, NULL);
            is_done = fault_count(FAULT_ALLOC) < nth;
            fault_disarm_all();
            text_add_char(&got, 0);
            T_EQ(strstr(got.ptr, "end no_memory") != NULL, !is_done);
            text_fini(&got);
            if (nth > 1000) is_done = true;
        }
    }
}

/* Counts allocations: they may grow with the logarithm of the input, never with its length. */
static uint64_t allocations_for(size_t n_bytes, size_t piece_len, const char *unit)
{
    struct weir_sse *d = weir_sse_new(NULL, NULL, NULL);
    struct text input = {0};
    while (input.len < n_bytes) text_add(&input, unit, strlen(unit));
    fault_arm(FAULT_ALLOC, UINT64_MAX, FAULT_ONCE);
    for (size_t i = 0; i < input.len; i += piece_len) {
        size_t left = input.len - i;
        T_EQ(weir_sse_feed(d, input.ptr + i, left < piece_len ? left : piece_len), WEIR_OK);
    }
    uint64_t n = fault_count(FAULT_ALLOC);
    fault_disarm_all();
    text_fini(&input);
    weir_sse_free(d);
    return n;
}

TEST(long_line_in_single_bytes_needs_few_allocations)
{
    T_OK(allocations_for(1 << 20, 1, "data:a long line ") < 64);
}

TEST(four_megabytes_of_tiny_lines_need_few_allocations)
{
    T_OK(allocations_for(4 << 20, 4 << 20, "a\n") < 16);
    T_OK(allocations_for(4 << 20, 4 << 20, "data:x\n\n") < 16);
    T_OK(allocations_for(4 << 20, 4096, "data:x\nid:3\nevent:e\n\n") < 64);
}

static void note_unknown(void *user, struct weir_slice name, struct weir_slice value)
{
    weir_buf_append_slice(user, name);
    weir_buf_append_char(user, '=');
    weir_buf_append_slice(user, value);
    weir_buf_append_char(user, ';');
}

TEST(fields_that_the_standard_ignores_are_reported)
{
    static const struct weir_sse_handlers handlers = {.on_unknown = note_unknown};
    struct weir_buf seen;
    weir_buf_init(&seen, 4096);
    struct weir_sse *d = weir_sse_new(&handlers, &seen, NULL);
    struct weir_slice input = SLICE("error: {1}\ndata: x\nid: 1\nretry: 2\nevent: e\n"
                                    ": comment\nData:y\nplain\n\n");
    T_EQ(weir_sse_feed(d, input.ptr, input.len), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&seen), "error={1};Data=y;plain=;");
    weir_sse_free(d);
    weir_buf_fini(&seen);
}

TEST(pending_after_a_failure_does_not_depend_on_the_cutting)
{
    struct weir_sse_limits limits = {.max_line_bytes = 8};
    struct weir_slice input = SLICE("data: 0123456789\n\n");
    for (size_t step = 1; step <= input.len; step++) {
        struct weir_sse *d = weir_sse_new(NULL, NULL, &limits);
        enum weir_status st = WEIR_OK;
        for (size_t at = 0; at < input.len && st == WEIR_OK; at += step)
            st = weir_sse_feed(d, input.ptr + at, input.len - at < step ? input.len - at : step);
        T_EQ(st, WEIR_LINE_TOO_LONG);
        T_OK(weir_sse_pending(d));
        weir_sse_free(d);
    }
}

TEST(the_largest_line_limit_there_is_does_not_wrap)
{
    struct weir_sse_limits limits = {.max_line_bytes = SIZE_MAX / 3 + 1};
    struct weir_sse *d = weir_sse_new(NULL, NULL, &limits);
    T_EQ(weir_sse_feed(d, "data: \xff\n\n", 9), WEIR_OK);
    weir_sse_free(d);
}
