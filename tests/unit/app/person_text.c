/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of turns, facts and memory, in lines. */
#include "person_text.h"

#include "base/slice.h"
#include "t.h"

typedef enum weir_status (*text_fn)(struct weir_buf *out, const struct weir_json *v,
                                    unsigned columns);

static void check(text_fn text, const char *json, unsigned columns, const char *want)
{
    const struct weir_json *v = NULL;
    struct weir_buf out;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&out, 64 << 10);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &v, NULL), WEIR_OK);
    T_EQ(text(&out, v, columns), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

#define TURN                                                                                       \
    "{\"id\":\"turn_01\",\"status\":\"completed\",\"created_at\":\"2026-05-25T10:00:00.000Z\","    \
    "\"completed_at\":\"2026-05-25T10:00:02.000Z\",\"messages\":[{\"role\":\"user\",\"content\":"  \
    "\"first\"},{\"role\":\"assistant\",\"content\":\"x\"},{\"role\":\"user\",\"content\":"        \
    "\"why\\n"                                                                                     \
    "so?\"}],\"result\":{\"answer\":\"Because.\",\"fact_sheet\":[{\"claim\":\"ds-001.avg\","       \
    "\"value\":61.8123,\"unit\":\"bpm\",\"source\":\"data_science\",\"n\":87,\"window\":"          \
    "\"2025\",\"verdict\":\"conditional\"},{\"claim\":\"ds-001.date\",\"value\":\"2025-03-01\","   \
    "\"unit\":null,\"source\":\"data_science\",\"n\":1,\"window\":\"2025\"},{\"claim\":\"f.s\","   \
    "\"value\":12345678,\"unit\":\"steps\",\"source\":\"x\",\"n\":2,\"window\":\"2025\"}],"        \
    "\"cost_usd\":0.12881,\"duration_ms\":1234},\"error\":null}"

#define CANCELLED                                                                                  \
    "{\"id\":\"turn_02\",\"status\":\"failed\",\"created_at\":\"2026-05-25T10:00:00.000Z\","       \
    "\"completed_at\":\"2026-05-25T10:02:00.000Z\",\"messages\":[{\"role\":\"user\",\"content\":"  \
    "\"q\"}],\"result\":null,\"error\":{\"code\":\"cancelled\",\"message\":\"it was cancelled\"}}"

TEST(turns_have_a_row_each)
{
    check(turns_text, "[" TURN "," CANCELLED ",{\"id\":7},null]", 0,
          "turn     when (UTC)        status      took     cost  question\n"
          "turn_01  2026-05-25 10:00  completed  1.2 s  $0.1288  why so?\n"
          "turn_02  2026-05-25 10:00  cancelled  2 min           q\n"
          "7\n"
          "\n");
    check(turns_text, "[]", 0, "No turns.\n");
}

TEST(a_turn_is_shown_with_all_that_it_brought)
{
    check(turn_text, TURN, 0,
          "turn_01  completed  2026-05-25 10:00  1.2 s  $0.1288\n"
          "\n"
          "> why\nso?\n"
          "  (2 earlier messages)\n"
          "\n"
          "Because.\n"
          "\n"
          "fact              value  unit   days  window  from\n"
          "ds-001.avg        61.81  bpm      87  2025    conditional, data_science\n"
          "ds-001.date  2025-03-01            1  2025    data_science\n"
          "f.s            12345678  steps     2  2025    x\n");
    check(turn_text, CANCELLED, 0,
          "turn_02  cancelled  2026-05-25 10:00  2 min\n\n> q\n\nit was cancelled (cancelled)\n");
}

TEST(an_answer_without_numbers_says_so)
{
    check(facts_text, "{\"fact_sheet\":[]}", 0,
          "The answer has no numbers, and so no fact sheet.\n");
    check(facts_text, "{}", 0, "The answer has no numbers, and so no fact sheet.\n");
}

TEST(memory_is_a_list_and_an_entry_is_all_of_it)
{
    check(memory_text,
          "[{\"id\":\"mem_01\",\"category\":\"goal\",\"text\":\"Wants to sleep\\u001b 8 hours\"}]",
          0, "id      kind  what\nmem_01  goal  Wants to sleep␛ 8 hours\n");
    check(memory_text, "[]", 0, "Nothing is remembered.\n");
    check(memory_entry_text,
          "{\"id\":\"mem_01\",\"category\":\"goal\",\"text\":\"x\",\"data\":{\"a\":[1]},"
          "\"source_turn\":null,\"created_at\":\"2026-01-02T03:04:05.678Z\",\"updated_at\":\"\"}",
          0,
          "id        mem_01\nkind      goal\nwhat      x\nsince     2026-01-02 03:04\n"
          "data      {\"a\":[1]}\n");
}
