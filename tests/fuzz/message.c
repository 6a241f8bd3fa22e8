/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model stream of any bytes: the cutting does not matter, with and without
 * tight limits, and all that is handed out is consistent.
 */
#include "fuzz/message.h"

#include <string.h>

#include "fuzz/fuzz.h"
#include "oracle/json_slow.h"
#include "oracle/transcript.h"

static void check_cutting(enum weir_dialect dialect, struct weir_slice input, struct cut *cut,
                          const struct weir_message_limits *limits)
{
    struct text whole = {0};
    struct text pieces = {0};
    struct cut none;
    cut_from_byte(&none, 0);
    transcript_message(&whole, dialect, input, &none, limits);
    transcript_message(&pieces, dialect, input, cut, limits);
    fuzz_same("transcript", &pieces, &whole);
    text_fini(&whole);
    text_fini(&pieces);
}

static void check_written(const struct weir_json *v)
{
    struct text text = {0};
    size_t offset;
    if (!v) return;
    transcript_value(&text, v);
    fuzz_true("it is JSON", json_slow_check(text_slice(&text), 2000, &offset) == WEIR_OK);
    text_fini(&text);
}

static void check_result(enum weir_dialect dialect, struct weir_slice input)
{
    struct weir_message *m = weir_message_new(dialect, NULL, NULL, NULL);
    fuzz_true("no limit is met", weir_message_feed(m, input.ptr, input.len) == WEIR_OK);
    enum weir_outcome outcome = weir_message_end(m);
    fuzz_true("the outcome is decided", outcome != WEIR_OUTCOME_OPEN);
    fuzz_true("an error exactly when it is one",
              (weir_message_error(m) != NULL) == (outcome == WEIR_OUTCOME_ERROR));
    fuzz_true("a whole message has a value",
              outcome != WEIR_OUTCOME_MESSAGE || weir_message_value(m));
    fuzz_true("notes are a list", weir_json_type_of(weir_message_notes(m)) == WEIR_JSON_ARRAY);
    check_written(weir_message_value(m));
    check_written(weir_message_error(m));
    check_written(weir_message_notes(m));
    for (size_t block = 0; block < 32; block++) {
        enum weir_input_state state = weir_message_input_state(m, block, NULL);
        const struct weir_json *input_value = weir_message_input(m, block);
        fuzz_true("no input stays open", state != WEIR_INPUT_OPEN);
        if (state == WEIR_INPUT_COMPLETE && input_value)
            fuzz_true("complete input is whole", weir_json_is_whole(input_value));
    }
    weir_message_free(m);
}

void fuzz_message(enum weir_dialect dialect, const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    if (!fuzz_input(data, size, &cut, &input)) return;
    struct weir_message_limits tight = {.sse = {.max_line_bytes = 300, .max_event_bytes = 300},
                                        .max_message_bytes = 64 << 10,
                                        .max_depth = 6,
                                        .max_blocks = 3};
    check_cutting(dialect, input, &cut, NULL);
    cut_from_byte(&cut, data[0]);
    check_cutting(dialect, input, &cut, &tight);
    check_result(dialect, input);
}
