/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a view writes for each delta: counted, so that it cannot become a redraw of the screen. How
 * it looks is for tests/cli/terminal.py.
 */
#include "term_view.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/slice.h"
#include "t.h"
#include "text.h"

enum {
    COLUMNS = 80,
    ROWS = 24,
    OVERHEAD_BYTES = 600, /* of a frame: the line with the spinner, cursor movements, looks */
};

static struct weir_ui *state;
static struct view *view;
static struct weir_json_doc *doc;

static void begin(struct view_options options)
{
    state = mem_alloc(sizeof *state);
    weir_ui_init(state);
    weir_ui_tick(state, 1000000000);
    doc = weir_json_doc_new(0);
    view = view_new(state, options, COLUMNS, ROWS);
}

static void end(void)
{
    view_free(view);
    weir_json_doc_free(doc);
    weir_ui_fini(state);
    mem_free(state);
}

static void event(const char *type, const char *json)
{
    const struct weir_json *data = NULL;
    weir_json_doc_reset(doc);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &data, NULL), WEIR_OK);
    weir_ui_turn_event(state, weir_slice_of(type), data);
    view_event(view, weir_slice_of(type), data);
}

static void say(const char *text)
{
    struct weir_buf json;
    weir_buf_init(&json, 1 << 20);
    weir_buf_append_str(&json, "{\"agent\":\"a\",\"channel\":\"synthesis\",\"delta\":");
    weir_json_put_str(&json, text);
    weir_buf_append_str(&json, "}");
    weir_buf_append_char(&json, '\0');
    event("agent.thought", json.ptr);
    weir_buf_fini(&json);
}

static bool frame_has(struct weir_slice frame, const char *text)
{
    return frame.len > 0 && memmem(frame.ptr, frame.len, text, strlen(text)) != NULL;
}

/* Feeds a text in deltas, a frame after each; the most bytes that one frame had. */
static size_t most_bytes(const char *delta, size_t times, uint64_t *total)
{
    size_t most = 0;
    uint64_t before = view_bytes(view);
    for (size_t i = 0; i < times; i++) {
        say(delta);
        weir_ui_tick(state, state->now_ns + 20000000);
        size_t len = view_frame(view).len;
        if (len > most) most = len;
    }
    *total = view_bytes(view) - before;
    return most;
}

TEST(a_frame_costs_the_delta_and_the_unfinished_block)
{
    static const struct {
        const char *delta;
        size_t block_bytes; /* how large the unfinished block may be */
    } rows[] = {
        {"A sentence of its own, which ends here.\n\n", 100},
        {"- an item of a list\n", 100},
        {"```\nint x;\n```\n", 100},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t total;
        begin((struct view_options){0});
        size_t most = most_bytes(rows[i].delta, 2000, &total);
        T_OK(most <= strlen(rows[i].delta) * 4 + rows[i].block_bytes * 2 + OVERHEAD_BYTES);
        end();
    }
}

TEST(a_row_that_grows_is_all_that_is_written)
{
    uint64_t total;
    begin((struct view_options){0});
    /* A paragraph without end: of the block, only the row at its end differs. */
    size_t most = most_bytes("word ", 5000, &total);
    T_OK(total / 5000 <= 2 * COLUMNS + OVERHEAD_BYTES);
    T_OK(most <= (size_t)ROWS * (COLUMNS + 20) + OVERHEAD_BYTES);
    end();
}

TEST(nothing_new_is_no_frame)
{
    begin((struct view_options){0});
    say("one");
    T_OK(view_frame(view).len > 0);
    T_EQ(view_frame(view).len, 0);
    end();
}

TEST(lanes_gates_and_the_question_are_shown)
{
    begin((struct view_options){0});
    event("agent.started", "{\"agent\":\"coach\",\"question\":\"what next?\"}");
    T_OK(frame_has(view_frame(view), "what next?"));
    event("agent.thought", "{\"agent\":\"coach\",\"delta\":\"Sleep more.\"}");
    T_OK(frame_has(view_frame(view), "Sleep more."));
    event("validator.gate", "{\"finding_id\":\"f1\",\"claim\":\"it fell\",\"gate\":\"sample_size\","
                            "\"verdict\":\"passed\"}");
    T_OK(frame_has(view_frame(view), "it fell"));
    T_EQ(weir_cancel_press(&state->cancel, WEIR_CANCEL_KEY_ESCAPE, state->now_ns), WEIR_CANCEL_ASK);
    T_OK(frame_has(view_frame(view), "press Esc again to cancel"));
    weir_ui_tick(state, state->now_ns + 2 * WEIR_CANCEL_WITHIN_NS);
    T_OK(!frame_has(view_frame(view), "press Esc"));
    end();
}

TEST(an_answer_that_begins_again_is_said_to)
{
    begin((struct view_options){0});
    say("old\n\nolder");
    view_frame(view);
    event("agent.started", "{\"agent\":\"synthesis\"}");
    say("new\n\n");
    struct weir_slice frame = view_frame(view);
    T_OK(frame_has(frame, "begun again") && frame_has(frame, "new"));
    T_OK(!frame_has(frame, "older"));
    end();
}

TEST(the_end_commits_all_and_says_which_turn_it_was)
{
    begin((struct view_options){.hint = "hint"});
    say("rest");
    view_frame(view);
    event("turn.completed", "{\"turn_id\":\"turn_9\",\"result\":{\"answer\":\"rest\"}}");
    struct weir_slice frame = view_end(view);
    T_OK(frame_has(frame, "rest") && frame_has(frame, "turn_9") && frame_has(frame, "hint"));
    end();
}

TEST(quiet_is_the_answer_alone)
{
    begin((struct view_options){.is_quiet = true});
    event("agent.started", "{\"agent\":\"coach\",\"question\":\"what next?\"}");
    T_OK(!frame_has(view_frame(view), "coach"));
    event("turn.completed", "{\"turn_id\":\"turn_9\",\"result\":{\"answer\":\"All.\"}}");
    struct weir_slice frame = view_end(view);
    T_OK(frame_has(frame, "All.") && !frame_has(frame, "turn_9"));
    end();
}

/* An allocation that fails costs rows or a frame, nothing more. */
TEST(without_memory_it_goes_on)
{
    static const char text[] = "# H\n\n**b** `c` [l](u) and more words\n\n- a\n  - b\n\n"
                               "|a|b|\n|-|-|\n|1|2|\n\n```\ncode\n```\n";
    for (uint64_t n = 1; n < 120; n++) {
        begin((struct view_options){0});
        event("agent.started", "{\"agent\":\"coach\",\"question\":\"what next?\"}");
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        for (int i = 0; i < 20; i++) {
            weir_ui_text_add(&state->answer, weir_slice_of(text), state->now_ns);
            (void)view_frame(view);
        }
        fault_disarm_all();
        (void)view_end(view);
        end();
    }
}

TEST(what_others_say_cannot_steer_the_terminal)
{
    begin((struct view_options){0});
    event("agent.started", "{\"agent\":\"a\\u001b[2J\",\"question\":\"\\u001b]0;t\\u0007\"}");
    struct weir_slice frame = view_frame(view);
    T_OK(!frame_has(frame, "\033[2J") && !frame_has(frame, "\033]") && !frame_has(frame, "\007"));
    event("turn.failed", "{\"error\":{\"code\":\"\\u009b2J\",\"message\":\"\\r\\n\\u001b[H\"}}");
    frame = view_end(view);
    T_OK(frame_has(frame, "<U+009B>2J") && !frame_has(frame, "\033[H"));
    end();
}
