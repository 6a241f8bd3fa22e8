/* SPDX-License-Identifier: Apache-2.0 */
/* The Turn as text, its ids and the name of its log; data between two steps. */
#include "turn/turn.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"
#include "turn/turn_impl.h"

static const char id[] = "turn_01HX2K3M4N5P6Q7R8S9T0V1W2X";

TEST(ids_have_one_spelling)
{
    T_OK(turn_is_id(weir_slice_of(id)));
    T_OK(turn_is_id(SLICE("turn_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")));
    static const char *const others[] = {
        "",
        "turn_",
        "turn_01hx2k3m4n5p6q7r8s9t0v1w2x",
        "turn_81HX2K3M4N5P6Q7R8S9T0V1W2X",
        "turn_01HX2K3M4N5P6Q7R8S9T0V1W2",
        "turn_01HX2K3M4N5P6Q7R8S9T0V1W2XX",
        "turn-01HX2K3M4N5P6Q7R8S9T0V1W2X",
        "turn_01HX2K3M4N5P6Q7R8S9T0V1W2I",
        "mem__01HX2K3M4N5P6Q7R8S9T0V1W2X",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        T_OK(!turn_is_id(weir_slice_of(others[i])));
    T_OK(!turn_is_id(slice_of("turn_01HX2K3M4N5P6Q7R8S9T0V1W\0X", TURN_ID_LEN)));
}

TEST(log_and_turn_name_each_other)
{
    char log[TURN_LOG_BYTES];
    T_EQ_STR(turn_log(log, weir_slice_of(id)), "turns/turn_01HX2K3M4N5P6Q7R8S9T0V1W2X");
    T_EQ_STR(turn_of_log(turn_log(log, weir_slice_of(id))), id);
    T_EQ(turn_of_log(SLICE("s/turns")).len, 0);
    T_EQ(turn_of_log(SLICE("")).len, 0);
    T_EQ(turn_of_log(SLICE("turns/x")).len, 0);
}

static void write(struct weir_buf *out, enum turn_status status, const struct weir_json *messages)
{
    struct turn_view view = {.id = weir_slice_of(id),
                             .created_at = SLICE("2026-05-25T10:00:00.000Z"),
                             .status = status,
                             .completed_ms = 1779703422123,
                             .messages = messages};
    weir_buf_init(out, 1 << 16);
    turn_put(out, &view);
    T_EQ(weir_buf_status(out), WEIR_OK);
}

TEST(state_is_read_from_what_is_written_and_from_nothing_else)
{
    struct weir_buf text;
    struct turn_state state;
    const struct weir_json *messages;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    T_EQ(weir_json_parse(doc, SLICE("[{\"role\":\"user\",\"content\":\"\\u0000\\ud800\",\"x\":1}]"),
                         &messages, NULL),
         WEIR_OK);
    for (int i = TURN_QUEUED; i <= TURN_FAILED; i++) {
        enum turn_status status = (enum turn_status)i;
        write(&text, status, messages);
        T_OK(turn_read_state(weir_buf_slice(&text), &state));
        T_EQ(state.status, status);
        T_EQ(state.completed_ms, turn_has_ended(status) ? 1779703422123 : 0);
        /* Cut anywhere before the messages, it is no Turn; the last quote does not matter. */
        const char *messages_at = memmem(text.ptr, text.len, ",\"messages\"", 11);
        size_t head_len = (size_t)(messages_at - text.ptr) - turn_has_ended(status);
        for (size_t len = 0; len < text.len; len++)
            T_EQ(turn_read_state(slice_of(text.ptr, len), &state), len >= head_len);
        weir_buf_fini(&text);
    }
    write(&text, TURN_QUEUED, messages);
    T_EQ_STR(weir_buf_slice(&text),
             "{\"id\":\"turn_01HX2K3M4N5P6Q7R8S9T0V1W2X\",\"status\":\"queued\",\"created_at\":"
             "\"2026-05-25T10:00:00.000Z\",\"completed_at\":null,\"messages\":[{\"role\":\"user\","
             "\"content\":\"\\u0000\\ud800\"}],\"result\":null,\"error\":null}");
    weir_buf_fini(&text);
    weir_json_doc_free(doc);
    T_OK(!turn_read_state(SLICE("{\"id\":\"x\"}"), &state));
}

/* ---- the shelf ---- */

TEST(data_are_kept_for_their_owner_until_they_change)
{
    struct store *store;
    struct store_error error;
    struct store_options options = {0};
    struct shelf shelf;
    struct shelved a, b;
    T_EQ(store_open(&store, t_temp_dir(), &options, &error), WEIR_OK);
    shelf_init(&shelf, store);
    T_EQ(shelf_take(&shelf, SLICE("ann"), &a), WEIR_OK);
    T_EQ(shelf_take(&shelf, SLICE("ann"), &b), WEIR_OK);
    const struct dataset *first = a.data, *second = b.data;
    T_OK(first != second); /* each is used by one at a time */
    shelf_give(&shelf, &a);
    T_OK(!a.data);
    T_EQ(shelf_take(&shelf, SLICE("bob"), &a), WEIR_OK);
    T_OK(a.data != first);
    shelf_give(&shelf, &a);
    T_EQ(shelf_take(&shelf, SLICE("ann"), &a), WEIR_OK);
    T_OK(a.data == first);
    shelf_give(&shelf, &a);
    atomic_fetch_add(&shelf.generation, 1); /* b is older than that, and so are all there are */
    shelf_give(&shelf, &b);
    T_EQ(shelf.n_idle, 2);
    T_EQ(shelf_take(&shelf, SLICE("ann"), &a), WEIR_OK);
    T_EQ(shelf.n_idle, 1);
    shelf_give(&shelf, &a);
    for (int i = 0; i < SHELF_DATASETS + 5; i++) {
        char owner[8];
        snprintf(owner, sizeof owner, "u%d", i);
        T_EQ(shelf_take(&shelf, weir_slice_of(owner), &a), WEIR_OK);
        shelf_give(&shelf, &a);
    }
    T_EQ(shelf.n_idle, SHELF_DATASETS);
    shelf_fini(&shelf);
    store_close(store);
}
