/* SPDX-License-Identifier: Apache-2.0 */
/* Conversations: whose they are, lists, and deleting them. */
#include "desk.h"

static const struct setting plain = {0};
static const struct wish nothing = {0};

static enum weir_status count_doc(void *user, const struct doc *doc)
{
    unsigned *n = user;
    (void)doc;
    (*n)++;
    return WEIR_OK;
}

static unsigned count_docs(const char *kind)
{
    unsigned n = 0;
    T_EQ(store_doc_list(desk.store,
                        &(struct doc_query){.kind = weir_slice_of(kind), .limit = SIZE_MAX},
                        count_doc, &n),
         WEIR_OK);
    return n;
}

static void check_nothing_left(void)
{
    static const char *const kinds[] = {"conversation",       "conversation_made",
                                        "conversation_reply", "chat_message",
                                        "chat_choice",        "chat_deleted",
                                        "chat_slot",          "reply",
                                        "shield_map",         "run",
                                        "run-input",          "step",
                                        "turn_call",          "turn_request",
                                        "dlp_decision"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (count_docs(kinds[i]) > 0) fprintf(stderr, "left: %s\n", kinds[i]);
        T_EQ(count_docs(kinds[i]), 0);
    }
}

static bool has_log(const char *id)
{
    char log[CHAT_LOG_BYTES];
    struct log_read read;
    store_read(desk.store, chat_log(log, weir_slice_of(id)), 1, 0, &read);
    return read.state.exists;
}

TEST(a_conversation_is_its_owners_alone)
{
    struct made m;
    struct weir_buf out;
    struct chat_reply reply;
    char newest[CHAT_MESSAGE_LEN + 1];
    struct weir_slice bob = SLICE("bob"), ann = SLICE("ann");
    desk_open(&plain);
    run_with(&m, USER("Hi"), &(struct wish){.conversation = "conv_my-own_1"});
    struct weir_slice id = weir_slice_of(m.conversation), message = weir_slice_of(m.id);
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, bob, id, &out), WEIR_NOT_FOUND);
    T_EQ(chats_reply(desk.chats, bob, message, &reply), WEIR_NOT_FOUND);
    T_EQ(chats_newest(desk.chats, bob, id, newest), WEIR_NOT_FOUND);
    T_EQ(chats_delete(desk.chats, bob, id), WEIR_NOT_FOUND);
    T_EQ(chats_delete_map(desk.chats, bob, id), WEIR_NOT_FOUND);
    T_EQ(make_with(&m, USER("Hi"), &(struct wish){.owner = "bob", .conversation = "conv_my-own_1"}),
         WEIR_NOT_FOUND);
    T_EQ(chats_newest(desk.chats, ann, id, newest), WEIR_OK);
    T_EQ(chats_reply(desk.chats, ann, weir_slice_of(newest), &reply), WEIR_OK);
    T_OK(reply.has_ended);
    T_EQ_STR(weir_slice_of(reply.conversation), "conv_my-own_1");
    weir_buf_fini(&out);
    desk_close();
}

TEST(lists_are_newest_first_in_pages)
{
    struct made m[5];
    struct weir_buf out;
    char next[MADE_ID_BYTES] = "";
    desk_open(&plain);
    for (int i = 0; i < 5; i++) {
        run_with(&m[i], USER("Hi"), &nothing);
        fake_clock_advance(&desk.clock, 1000000000);
    }
    weir_buf_init(&out, TEXT_BYTES);
    for (int page = 0; page < 3; page++) {
        weir_buf_reset(&out);
        T_EQ(chats_list(desk.chats, SLICE("ann"), weir_slice_of(next), 2, &out), WEIR_OK);
        weir_buf_append_char(&out, 0);
        T_OK(says(out.ptr, m[4 - 2 * page].conversation));
        T_EQ(count(out.ptr, "\"id\":"), page < 2 ? 2 : 1);
        const char *at = strstr(out.ptr, "\"next\":\"");
        T_OK(page == 2 ? says(out.ptr, "\"next\":null") : at != NULL);
        if (at) snprintf(next, strcspn(at + 8, "\"") + 1, "%s", at + 8);
    }
    weir_buf_fini(&out);
    desk_close();
}

TEST(nothing_is_left_of_a_conversation_that_is_deleted)
{
    struct made a, b;
    desk_open(&plain);
    stage->plans[1] = (struct plan){.status = WEIR_UPSTREAM, .is_final = true};
    run_with(&a, USER("I am ann@example.org"), &nothing);
    run_with(&b, USER("Again"), &(struct wish){.conversation = a.conversation});
    T_EQ(count_docs("shield_map"), 1);
    T_EQ(chats_delete(desk.chats, SLICE("ann"), weir_slice_of(a.conversation)), WEIR_OK);
    check_nothing_left();
    T_OK(!has_log(a.id));
    T_OK(!has_log(b.id));
    T_EQ(chats_delete(desk.chats, SLICE("ann"), weir_slice_of(a.conversation)), WEIR_NOT_FOUND);
    desk_close();
}

TEST(a_reply_under_way_is_cancelled_and_then_all_goes)
{
    struct made m;
    struct weir_buf out;
    desk_open(&(struct setting){.policy = "{\"piiAction\":\"ask\"}"});
    begin_with(&m, USER("I am ann@example.org"), &nothing);
    WAIT_FOR(has_event(m.id, "dlp_preview"));
    T_EQ(chats_delete(desk.chats, SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(m.conversation), &out),
         WEIR_NOT_FOUND);
    WAIT_FOR(n_sealed() == 1);
    WAIT_FOR((fake_clock_advance(&desk.clock, 1000000000ull), chats_wake(desk.chats),
              !has_log(m.id) && count_docs("chat_deleted") == 0));
    check_nothing_left();
    weir_buf_fini(&out);
    desk_close();
}

TEST(a_deletion_goes_on_after_a_restart)
{
    struct made m;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.is_held = true};
    begin_with(&m, USER("I am ann@example.org"), &nothing);
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    T_EQ(chats_delete(desk.chats, SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    desk_close(); /* the wish is durable, what follows from it may not be */
    open_chats(&plain);
    WAIT_FOR((fake_clock_advance(&desk.clock, 1000000000ull), chats_wake(desk.chats),
              count_docs("chat_deleted") == 0));
    check_nothing_left();
    desk_close();
}

TEST(without_its_map_a_conversation_is_only_read)
{
    struct made m;
    struct weir_buf out;
    desk_open(&plain);
    stage->plans[0] = (struct plan){.deltas = {"Hello [email_1]"}};
    run_with(&m, USER("I am ann@example.org"), &nothing);
    const struct guard *g = chats_guard(desk.chats, weir_slice_of(m.id));
    T_OK(g);
    T_EQ(chats_delete_map(desk.chats, SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    chats_guard_release(desk.chats, g);
    g = chats_guard(desk.chats, weir_slice_of(m.id));
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chat_restore_event(g, SLICE("token"), SLICE("{\"text\":\"[email_1]\"}"), &out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "{\"text\":\"[email_1]\"}");
    chats_guard_release(desk.chats, g);
    weir_buf_reset(&out);
    T_EQ(chats_conversation(desk.chats, SLICE("ann"), weir_slice_of(m.conversation), &out),
         WEIR_OK);
    weir_buf_append_char(&out, 0);
    T_OK(!says(out.ptr, "ann@example.org"));
    T_OK(says(out.ptr, "[email_1]"));
    T_EQ(make_with(&m, USER("Hi"), &(struct wish){.conversation = m.conversation}), WEIR_GONE);
    weir_buf_fini(&out);
    desk_close();
}
