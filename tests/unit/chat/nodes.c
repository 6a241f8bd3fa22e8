/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two engines on one store: what is said to one reaches the reply that the other runs, and who
 * reads there counts here. Nobody tells them but the test.
 */
#include "desk.h"

#define MAIL "alice.cooper@example.org"

static const struct setting asking = {.policy = "{\"piiAction\":\"ask\"}"};
static const struct wish nothing = {0};

enum { A, B };
static struct chats *nodes[2];

static void share(void)
{
    desk.chats->is_shared = true;
}

static void open_nodes(const struct setting *how)
{
    before_start = share;
    desk_open(how);
    before_start = NULL;
    nodes[A] = desk.chats;
    struct chats_options o = nodes[A]->options;
    o.is_shared = true;
    T_EQ(chats_new(&nodes[B], desk.store, &o), WEIR_OK);
    T_EQ(chats_start(nodes[B]), WEIR_OK);
}

static void close_nodes(void)
{
    chats_stop(nodes[B], 200);
    chats_free(nodes[B]);
    desk.chats = nodes[A];
    desk_close();
}

static void advance(int64_t ms)
{
    fake_clock_advance(&desk.clock, (uint64_t)ms * 1000000);
    chats_wake(nodes[A]);
    chats_wake(nodes[B]);
}

/* A reply of node A that waits for a decision; calls go to node B from then on. */
static void ask_at_a(struct made *m, char decision[DECISION_ID_BYTES])
{
    stage->plans[0] = (struct plan){.deltas = {"Done."}};
    begin_with(m, USER("Write to " MAIL), &nothing);
    WAIT_FOR(has_event(m->id, "dlp_preview"));
    find_decision(decision);
    desk.chats = nodes[B];
}

TEST(a_decision_at_one_node_wakes_the_reply_at_the_other)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    open_nodes(&asking);
    ask_at_a(&m, id);
    T_EQ(decide_as(id, DECISION_REDACT, false), WEIR_OK);
    T_OK(!has_ended(m.id)); /* nobody has told it */
    chats_docs_changed(nodes[A], SLICE("dlp_decision"), weir_slice_of(id));
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("done");
    close_nodes();
}

TEST(a_decision_that_nobody_told_of_is_found_when_news_were_lost)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    open_nodes(&asking);
    ask_at_a(&m, id);
    for (int i = 0; i < 10; i++) { /* nothing is decided yet */
        chats_docs_changed(nodes[A], SLICE(""), SLICE(""));
        chats_docs_changed(nodes[B], SLICE("dlp_decision"), weir_slice_of(id));
        chats_docs_changed(nodes[A], SLICE("dlp_decision"), SLICE("dlp_no"));
    }
    T_EQ(decide_as(id, DECISION_BLOCK, false), WEIR_OK);
    chats_docs_changed(nodes[A], SLICE(""), SLICE(""));
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("dlp_blocked");
    close_nodes();
}

/* Whether a guard knows what stands behind the first placeholder. */
static bool is_restored(const struct guard *g)
{
    struct weir_buf out;
    weir_buf_init(&out, TEXT_BYTES);
    T_EQ(chat_restore_event(g, SLICE("token"), SLICE("{\"text\":\"[email_1]\"}"), &out), WEIR_OK);
    weir_buf_append_char(&out, 0);
    bool is = says(out.ptr, MAIL);
    weir_buf_fini(&out);
    return is;
}

/* At node B, for one that begins to read, or reads on. */
static bool restores(const char *message, const struct guard **held)
{
    struct weir_slice id = weir_slice_of(message);
    const struct guard *g = *held ? chats_guard_again(nodes[B], id) : chats_guard(nodes[B], id);
    chats_guard_release(nodes[B], *held);
    *held = g;
    return is_restored(g);
}

static bool restores_at(int node, const char *message)
{
    const struct guard *g = chats_guard(nodes[node], weir_slice_of(message));
    bool is = is_restored(g);
    chats_guard_release(nodes[node], g);
    return is;
}

/* A reply of node A that has ended, with a value that both nodes have in memory. */
static void reply_with_value(struct made *m, const struct guard **held)
{
    char id[DECISION_ID_BYTES];
    open_nodes(&asking);
    ask_at_a(m, id);
    T_EQ(decide_as(id, DECISION_REDACT, false), WEIR_OK);
    chats_docs_changed(nodes[A], SLICE("dlp_decision"), weir_slice_of(id));
    WAIT_FOR(n_sealed() == 1);
    T_OK(restores_at(A, m->id) && restores(m->id, held));
}

/* Nobody has told the node that made them. */
TEST(values_forgotten_at_another_node_are_unknown_where_the_reply_ran)
{
    struct made m;
    const struct guard *held = NULL;
    reply_with_value(&m, &held);
    struct weir_slice conversation = weir_slice_of(m.conversation);
    T_EQ(chats_delete_map(nodes[B], SLICE("ann"), conversation), WEIR_OK);
    T_OK(!restores_at(A, m.id));
    T_OK(!restores_at(A, m.id));
    T_OK(!restores_at(B, m.id));
    chats_guard_release(nodes[B], held);
    close_nodes();
}

TEST(who_reads_on_loses_forgotten_values_when_that_is_told)
{
    struct made m;
    const struct guard *held = NULL;
    reply_with_value(&m, &held);
    struct weir_slice conversation = weir_slice_of(m.conversation);
    T_EQ(chats_delete_map(nodes[A], SLICE("ann"), conversation), WEIR_OK);
    T_OK(restores(m.id, &held));
    chats_docs_changed(nodes[B], SLICE("shield_map"), conversation);
    T_OK(!restores(m.id, &held));
    T_OK(!restores(m.id, &held));
    chats_guard_release(nodes[B], held);
    close_nodes();
}

TEST(who_begins_to_read_has_no_values_that_were_forgotten)
{
    struct made m;
    const struct guard *held = NULL;
    reply_with_value(&m, &held);
    T_EQ(chats_delete_map(nodes[A], SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    T_OK(!restores_at(B, m.id));
    T_OK(!restores(m.id, &held)); /* nor who reads on from then */
    chats_guard_release(nodes[B], held);
    close_nodes();
}

TEST(readers_at_one_node_get_the_values_of_a_reply_at_the_other)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    const struct guard *held = NULL;
    open_nodes(&asking);
    stage->plans[0] = (struct plan){.deltas = {"Hello."}, .is_held = true};
    begin_with(&m, USER("Hello"), &nothing);
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    chats_readers(nodes[B], weir_slice_of(m.id), 1);
    T_OK(!restores(m.id, &held)); /* there is no map yet */
    T_EQ(chats_cancel_reply(nodes[A], SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    chats_readers(nodes[B], weir_slice_of(m.id), -1);
    chats_guard_release(nodes[B], held);
    held = NULL;
    struct made next;
    begin_with(&next, USER("Write to " MAIL), &(struct wish){.conversation = m.conversation});
    chats_readers(nodes[B], weir_slice_of(next.id), 1);
    (void)restores(next.id, &held); /* read at some moment, before the map or after it */
    WAIT_FOR(has_event(next.id, "dlp_preview"));
    find_decision(id);
    chats_docs_changed(nodes[B], SLICE("shield_map"), weir_slice_of(next.conversation));
    T_OK(restores(next.id, &held));
    chats_guard_release(nodes[B], held);
    chats_readers(nodes[B], weir_slice_of(next.id), -1);
    close_nodes();
}

static bool is_given_up(const char *id)
{
    return has_ended(id);
}

static int64_t n_told(const char *id)
{
    struct doc doc;
    if (store_doc_get(desk.store, reader_key(weir_slice_of(id)), &doc) != WEIR_OK) return 0;
    int64_t n = doc_n_puts(doc.version);
    doc_fini(&doc);
    return n;
}

/* What the timer of node A thinks of it. */
static int64_t grace_at(const char *id)
{
    pthread_mutex_lock(&nodes[A]->lock);
    const struct reply *r = map_get(&nodes[A]->replies, weir_slice_of(id));
    int64_t at = r ? r->grace_at : 0;
    pthread_mutex_unlock(&nodes[A]->lock);
    return at;
}

TEST(a_reply_is_not_given_up_while_it_is_read_at_another_node)
{
    struct made m;
    open_nodes(&(struct setting){0});
    stage->plans[0] = (struct plan){.deltas = {"Hello."}, .is_held = true};
    begin_with(&m, USER("Hello"), &nothing);
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    chats_readers(nodes[B], weir_slice_of(m.id), 1);
    chats_wake(nodes[B]);
    for (int i = 0; i < 12; i++) {
        WAIT_FOR(n_told(m.id) >= i + 1);
        WAIT_FOR(grace_at(m.id) > clock_wall_ms(&desk.clock.clock));
        T_OK(!is_given_up(m.id));
        advance(CHAT_GRACE_MS / 3);
    }
    chats_readers(nodes[B], weir_slice_of(m.id), -1);
    for (int i = 0; i < 3 && !is_given_up(m.id); i++) {
        int64_t before = grace_at(m.id);
        advance(CHAT_GRACE_MS);
        WAIT_FOR(is_given_up(m.id) || grace_at(m.id) != before);
    }
    WAIT_FOR(n_sealed() == 1);
    look(m.id);
    check_log("error");
    T_EQ(n_told(m.id), 0); /* nothing is left of it */
    close_nodes();
}

/* It has readers at node B that know nothing of a run, nor can end one. */
TEST(a_node_gives_up_no_reply_of_another)
{
    struct made m;
    open_nodes(&(struct setting){0});
    stage->plans[0] = (struct plan){.deltas = {"Hello."}, .is_held = true};
    begin_with(&m, USER("Hello"), &nothing);
    WAIT_FOR(atomic_load(&stage->n_held) == 1);
    chats_readers(nodes[A], weir_slice_of(m.id), 1);
    chats_readers(nodes[B], weir_slice_of(m.id), 1);
    chats_readers(nodes[B], weir_slice_of(m.id), -1);
    reply_set_running(nodes[B], weir_slice_of(m.id)); /* as a node that has lost it */
    advance(4 * CHAT_GRACE_MS);
    pthread_mutex_lock(&nodes[B]->lock);
    while (map_get(&nodes[B]->replies, weir_slice_of(m.id))) {
        pthread_mutex_unlock(&nodes[B]->lock);
        wait_1_ms();
        pthread_mutex_lock(&nodes[B]->lock);
    }
    pthread_mutex_unlock(&nodes[B]->lock);
    T_OK(!is_given_up(m.id));
    chats_readers(nodes[A], weir_slice_of(m.id), -1);
    close_nodes();
}

static enum weir_status count_doc(void *n, const struct doc *doc)
{
    (void)doc;
    ++*(unsigned *)n;
    return WEIR_OK;
}

static unsigned n_docs(const char *kind)
{
    unsigned n = 0;
    const struct doc_query query = {.kind = weir_slice_of(kind), .limit = SIZE_MAX};
    T_EQ(store_doc_list(desk.store, &query, count_doc, &n), WEIR_OK);
    return n;
}

/* Marked, as a node leaves it that is gone before its time for the rest has come. */
TEST(a_deletion_of_a_node_that_is_gone_is_ended_by_another)
{
    struct made m;
    char id[DECISION_ID_BYTES];
    open_nodes(&asking);
    ask_at_a(&m, id);
    T_EQ(chats_delete(nodes[A], SLICE("ann"), weir_slice_of(m.conversation)), WEIR_OK);
    WAIT_FOR(n_sealed() == 1);
    T_EQ(n_docs("chat_deleted"), 1);
    chats_delete_soon(nodes[B]); /* the engine of runs tells that the other is gone */
    WAIT_FOR(n_docs("chat_deleted") == 0);
    T_EQ(n_docs("conversation"), 0);
    T_EQ(n_docs("shield_map"), 0);
    close_nodes();
}
