/* SPDX-License-Identifier: Apache-2.0 */
/* Replies without a model. */
#include "desk.h"

static const struct setting alone = {.is_builtin = true};
static const struct wish assistant = {.agent = "asst_default"};

TEST(without_a_model_a_greeting_is_answered_and_nothing_made_up)
{
    struct made m;
    desk_open(&alone);
    run_with(&m, USER("Hello!"), &assistant);
    check_log("done");
    T_OK(says(said_text(), "Hello! Ask me about your own health data"));
    T_OK(says(event_text, "\"usage\":{\"input\":0,\"output\":0},\"model\":\"builtin\""));
    run_with(&m, USER("How many steps did I take on average last month?"), &assistant);
    check_log("done");
    T_OK(said_text()[0]);
    run_with(&m, USER("What do you remember about me?"), &assistant);
    check_log("done");
    T_EQ_STR(weir_slice_of(said_text()), "Nothing is remembered of you yet.");
    T_EQ(count(event_text, "event: tool_call\ndata: {\"id\":\"tc_1\",\"name\":\"read_memory\""), 1);
    run_with(&m, USER("Hello!"), &(struct wish){0});
    check_log("done");
    T_OK(says(said_text(), "There is no model here"));
    desk_close();
}

TEST(a_long_message_is_looked_for_by_its_beginning)
{
    static char message[8 << 10];
    static const char *const words[] = {"zebras in the wild ", "what is normal for zebras ", "é"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        struct made m;
        size_t n =
            (size_t)snprintf(message, sizeof message, "[{\"role\":\"user\",\"content\":\"Long ");
        while (n < sizeof message - 64)
            n += (size_t)snprintf(message + n, sizeof message - n, "%s", words[w]);
        snprintf(message + n, sizeof message - n, " long\"}]");
        desk_open(&alone);
        run_with(&m, message, &assistant);
        check_log("done");
        T_OK(!says(event_text, "bytes"));
        desk_close();
    }
}

TEST(what_is_private_stays_out_of_the_log_of_a_builtin_reply)
{
    struct made m;
    desk_open(&alone);
    run_with(&m, USER("My address is ann@example.org, what is my goal?"), &assistant);
    check_log("done");
    T_OK(!says(event_text, "ann@example.org"));
    T_EQ(count(event_text, "event: dlp_"), 0);
    desk_close();
}
