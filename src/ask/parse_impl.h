/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The productions of the grammar. Each looks at token i and returns the token behind what it has
 * read, or 0 when its phrase does not begin there. What it has read it has put into the frame and
 * marked as used.
 */
#pragma once

#include "ask/ask_impl.h"

/* parse_time.c */
size_t take_window(struct parse *p, size_t i);
size_t take_implied_previous(struct parse *p, size_t i);
size_t take_restated(struct parse *p, size_t i);
size_t take_including_today(struct parse *p, size_t i);
size_t take_since_first(struct parse *p, size_t i);
size_t take_rolling(struct parse *p, size_t i);
size_t take_newest(struct parse *p, size_t i);
size_t take_tomorrow(struct parse *p, size_t i);
size_t take_next_day(struct parse *p, size_t i);
size_t take_days_later(struct parse *p, size_t i);
size_t take_lag_word(struct parse *p, size_t i);
size_t take_day_before(struct parse *p, size_t i);
size_t take_per(struct parse *p, size_t i);
size_t take_per_week_of(struct parse *p, size_t i);
size_t take_per_word(struct parse *p, size_t i);
size_t take_which_period(struct parse *p, size_t i);

/* parse_days.c */
size_t take_on_off(struct parse *p, size_t i);
size_t take_activity_days(struct parse *p, size_t i);
size_t take_metric_days(struct parse *p, size_t i);
size_t take_other_days(struct parse *p, size_t i);
size_t take_one_day(struct parse *p, size_t i);
size_t take_days_when(struct parse *p, size_t i);
size_t take_when(struct parse *p, size_t i);
size_t take_after_activity(struct parse *p, size_t i);
size_t take_without(struct parse *p, size_t i);
size_t take_weekend(struct parse *p, size_t i);
size_t take_dayname(struct parse *p, size_t i);

/* parse_words.c */
size_t take_rather(struct parse *p, size_t i);
size_t take_refusal(struct parse *p, size_t i);
size_t take_quantity(struct parse *p, size_t i);
size_t take_rank(struct parse *p, size_t i);
size_t take_quantile(struct parse *p, size_t i);
size_t take_ask(struct parse *p, size_t i);
size_t take_stat(struct parse *p, size_t i);
size_t take_compare(struct parse *p, size_t i);
size_t take_shape(struct parse *p, size_t i);
size_t take_small_flags(struct parse *p, size_t i);
size_t take_unit(struct parse *p, size_t i);
size_t take_mark(struct parse *p, size_t i);
size_t take_filler(struct parse *p, size_t i);

/* parse_operators.c */
size_t take_except(struct parse *p, size_t i);
size_t take_missing(struct parse *p, size_t i);
size_t take_comparative(struct parse *p, size_t i);
size_t take_placed(struct parse *p, size_t i);
size_t take_at_most(struct parse *p, size_t i);
size_t take_only(struct parse *p, size_t i);
size_t take_adjective(struct parse *p, size_t i);
size_t take_per_thing(struct parse *p, size_t i);
size_t take_exceed(struct parse *p, size_t i);
size_t take_small_operator(struct parse *p, size_t i);
size_t take_while(struct parse *p, size_t i);
size_t take_day_part(struct parse *p, size_t i);
size_t take_second_question(struct parse *p, size_t i);
size_t take_than_start(struct parse *p, size_t i);
size_t take_than_window(struct parse *p, size_t i);

/* parse_things.c */
size_t take_thing(struct parse *p, size_t i);

/* parse.c: what they share. */
size_t took(struct parse *p, size_t i, size_t end); /* marks and returns the end */
size_t skip_small(const struct parse *p, size_t i);
bool is_day_like(const struct parse *p, size_t i);
bool is_subject(const struct parse *p, size_t i);
bool is_sport_at(const struct parse *p, size_t i);
bool begins_condition(const struct parse *p, size_t i);
size_t open_scope(struct parse *p, size_t i, size_t end);
size_t open_other_scope(struct parse *p, size_t i, size_t end);
size_t open_shifted_scope(struct parse *p, size_t i, size_t end, int shift);
void close_scope(struct parse *p);
struct scope *current_scope(struct parse *p);
void add_stat(struct parse *p, enum plan_stat stat);
void set_most(struct parse *p, size_t i, enum super_kind kind);
void set_group(struct parse *p, enum plan_group group);
