/* SPDX-License-Identifier: Apache-2.0 */
/* Replies from their beginning to their end, on a model that does as it is told. */
#include "desk.h"

static const struct setting plain = {0};
static const struct wish nothing = {0};

TEST(a_reply_says_what_the_model_says_and_is_done)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"Hel", "lo."}};
    run_with(&m, USER("Hi"), &nothing);
    T_EQ_STR(weir_slice_of(said_text()), "Hello.");
    check_log("done");
    T_OK(says(event_text, "\"usage\":{\"input\":10,\"output\":5},\"model\":\"parrot-1\""));
    T_OK(says(event_text, m.id));
    T_OK(says(stage->asked[0], "\"text\":\"Hi\""));
    desk_close();
}

TEST(a_conversation_remembers_what_was_said)
{
    struct made a, b;
    struct weir_buf out;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"One."}};
    stage->plans[1] = (struct plan){.deltas = {"Two."}};
    run_with(&a, USER("first"), &nothing);
    run_with(&b, USER("second"), &(struct wish){.conversation = a.conversation});
    T_EQ_STR(weir_slice_of(b.conversation), a.conversation);
    T_OK(says(stage->asked[1], "first"));
    T_OK(says(stage->asked[1], "One."));
    T_OK(says(stage->asked[1], "second"));
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(a.conversation), &out),
         WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_EQ(count(out.ptr, "\"role\":"), 4);
    weir_buf_fini(&out);
    desk_close();
}
