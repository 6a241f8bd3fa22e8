/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a model stream, whatever its dialect: bytes to events, events
 * to JSON, the outcome, notes, and the rule that a callback may free it all.
 */
#include <weir/message.h>

#include "base/mem.h"
#include "base/slice.h"
#include "message/message_impl.h"

enum {
    DEFAULT_MESSAGE_BYTES = 256 << 20,
    DEFAULT_BLOCKS = 4096,
    SIDE_BYTES = 1 << 20,
    ERROR_TEXT_BYTES = 8192,
    ERROR_NAME_BYTES = 256,
};

/* ---- errors ---- */

enum weir_status message_set_side(struct weir_message *m, struct weir_json *object, const char *key,
                                  struct weir_json *value)
{
    return weir_json_set(m->side, object, weir_slice_of(key), value);
}

struct weir_slice message_cut(struct weir_slice text, size_t max)
{
    if (text.len <= max) return text;
    text.len = max;
    while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xC0) == 0x80) text.len--;
    return text;
}

/* A name that the sender gave, or null. */
static struct weir_json *short_copy(struct weir_message *m, const struct weir_json *v)
{
    if (weir_json_type_of(v) != WEIR_JSON_STRING) return weir_json_new(m->side, WEIR_JSON_NULL);
    return weir_json_new_string(m->side, message_cut(weir_json_text(v), ERROR_NAME_BYTES));
}

static struct weir_json *new_error(struct weir_message *m, enum weir_status code,
                                   const struct weir_json *type, struct weir_slice text)
{
    struct weir_json *error = weir_json_new(m->side, WEIR_JSON_OBJECT);
    struct weir_slice name = weir_slice_of(weir_status_name(code));
    text = message_cut(text, ERROR_TEXT_BYTES);
    bool is_made =
        message_set_side(m, error, "code", weir_json_new_string(m->side, name)) == WEIR_OK &&
        message_set_side(m, error, "type", short_copy(m, type)) == WEIR_OK &&
        message_set_side(m, error, "message", weir_json_new_string(m->side, text)) == WEIR_OK;
    return is_made ? error : NULL;
}

/* ---- life ---- */

static void on_sse_event(void *user, const struct weir_sse_event *event);
static void on_sse_unknown(void *user, struct weir_slice name, struct weir_slice value);

static bool make_parts(struct weir_message *m, const struct weir_message_limits *limits)
{
    const struct weir_sse_handlers handlers = {.on_event = on_sse_event,
                                               .on_unknown = on_sse_unknown};
    size_t max_bytes = limits->max_message_bytes;
    if (max_bytes == 0) max_bytes = DEFAULT_MESSAGE_BYTES;
    m->sse = weir_sse_new(&handlers, m, &limits->sse);
    m->doc = weir_json_doc_new(max_bytes);
    m->side = weir_json_doc_new(SIDE_BYTES);
    m->scratch = weir_json_doc_new(max_bytes);
    if (!m->sse || !m->doc || !m->side || !m->scratch) return false;
    m->event_reader = weir_json_reader_new(m->scratch, limits->max_depth);
    m->notes.list = weir_json_new(m->side, WEIR_JSON_ARRAY);
    m->spare_error = new_error(m, WEIR_NOMEM, NULL, weir_slice_of(weir_status_text(WEIR_NOMEM)));
    weir_buf_init(&m->joined, max_bytes);
    return m->event_reader && m->notes.list && m->spare_error;
}

struct weir_message *weir_message_new(enum weir_dialect dialect,
                                      const struct weir_message_handlers *handlers, void *user,
                                      const struct weir_message_limits *limits)
{
    static const struct weir_message_limits defaults = {0};
    if (dialect != WEIR_ANTHROPIC && dialect != WEIR_OPENAI) return NULL;
    struct weir_message *m = mem_zalloc(sizeof *m);
    if (!m) return NULL;
    if (!limits) limits = &defaults;
    if (handlers) m->on = *handlers;
    m->user = user;
    m->dialect = dialect == WEIR_OPENAI ? &openai_dialect : &anthropic_dialect;
    m->max_depth = limits->max_depth;
    m->max_blocks = limits->max_blocks > 0 ? limits->max_blocks : DEFAULT_BLOCKS;
    /* A call may be known by an index and by an id. */
    map_init(&m->call_names, m->max_blocks > SIZE_MAX / 2 ? SIZE_MAX : 2 * m->max_blocks);
    if (make_parts(m, limits)) return m;
    weir_message_free(m);
    return NULL;
}

static void free_inputs(struct weir_message *m)
{
    for (size_t i = 0; i < m->dialect->n_inputs(m); i++)
        weir_json_reader_free(m->dialect->input_at(m, i)->reader);
}

void weir_message_free(struct weir_message *m)
{
    if (!m) return;
    if (m->is_busy) {
        m->is_dying = true;
        weir_sse_reset(m->sse); /* drops the rest of the piece */
        return;
    }
    free_inputs(m);
    mem_free(m->parts.ptr);
    mem_free(m->order.ptr);
    mem_free(m->calls.ptr);
    map_fini(&m->call_names);
    weir_buf_fini(&m->joined);
    weir_json_reader_free(m->event_reader);
    weir_json_doc_free(m->scratch);
    weir_json_doc_free(m->side);
    weir_json_doc_free(m->doc);
    weir_sse_free(m->sse);
    mem_free(m);
}

bool message_is_open(const struct weir_message *m)
{
    return !m->is_dying && m->outcome == WEIR_OUTCOME_OPEN;
}

/* Every public call that may run callbacks stands between enter and leave. */
static void enter(struct weir_message *m)
{
    m->is_busy = true;
    m->failure = WEIR_OK;
}

static enum weir_status leave(struct weir_message *m)
{
    enum weir_status st = m->failure;
    m->is_busy = false;
    if (m->is_dying) {
        weir_message_free(m);
        return WEIR_OK;
    }
    return st;
}

/* ---- outcome ---- */

void message_finish(struct weir_message *m, enum weir_outcome outcome)
{
    if (m->outcome != WEIR_OUTCOME_OPEN) return;
    m->outcome = outcome;
    m->dialect->close(m);
    if (outcome == WEIR_OUTCOME_MESSAGE && m->on.on_message && !m->is_dying)
        m->on.on_message(m->user, m->value);
    if (outcome == WEIR_OUTCOME_ERROR && m->on.on_error && !m->is_dying)
        m->on.on_error(m->user, m->error);
    if (m->on.on_end && !m->is_dying) m->on.on_end(m->user);
}

/* The error as far as memory allows: raw is left out when it is too long. */
static void set_error(struct weir_message *m, enum weir_status code, const struct weir_json *type,
                      struct weir_slice text, const struct weir_json *raw)
{
    const struct weir_json *id = weir_json_get_str(raw, "request_id");
    struct weir_json *error = new_error(m, code, type, text);
    m->error = error ? error : m->spare_error;
    if (!error) return;
    bool is_full = true;
    if (is_text(id))
        is_full = message_set_side(m, error, "request_id", short_copy(m, id)) == WEIR_OK;
    /* The copy is a value of the message's document, which lives just as long. */
    if (raw) is_full &= message_set_side(m, error, "raw", weir_json_copy(m->doc, raw)) == WEIR_OK;
    if (!is_full) note(m, "error_cut", "the sender's error is too long to keep");
}

void message_sender_failed(struct weir_message *m, enum weir_status code,
                           const struct weir_json *error, struct weir_slice text,
                           const struct weir_json *raw)
{
    const struct weir_json *said = weir_json_get_str(error, "message");
    if (m->outcome != WEIR_OUTCOME_OPEN) return;
    if (weir_json_type_of(error) == WEIR_JSON_STRING) said = error;
    if (is_text(said)) text = weir_json_text(said);
    if (text.len == 0) text = weir_slice_of(weir_status_text(code));
    set_error(m, code, weir_json_get_str(error, "type"), text, raw);
    message_finish(m, WEIR_OUTCOME_ERROR);
}

/* With what the sender sent instead, as far as it is worth showing. */
static void fail_with_bytes(struct weir_message *m, enum weir_status code, struct weir_slice bytes)
{
    struct weir_slice shown = message_cut(bytes, ERROR_TEXT_BYTES);
    struct weir_json *raw = bytes.len > 0 ? weir_json_new_string(m->side, shown) : NULL;
    message_sender_failed(m, code, NULL, SLICE(""), raw);
}

void message_bad_event(struct weir_message *m, struct weir_slice data)
{
    fail_with_bytes(m, WEIR_BAD_EVENT, data);
}

void message_fail(struct weir_message *m, enum weir_status st)
{
    if (st == WEIR_OK || m->outcome != WEIR_OUTCOME_OPEN) return;
    m->failure = st;
    set_error(m, st, NULL, weir_slice_of(weir_status_text(st)), NULL);
    message_finish(m, WEIR_OUTCOME_ERROR);
}

/* ---- input ---- */

const struct weir_json *message_read(struct weir_message *m, struct weir_slice text)
{
    weir_json_doc_reset(m->scratch);
    weir_json_reader_reset(m->event_reader);
    enum weir_status st = weir_json_reader_feed(m->event_reader, text.ptr, text.len);
    if (st == WEIR_OK) st = weir_json_reader_end(m->event_reader);
    if (st == WEIR_NOMEM || st == WEIR_LIMIT) message_fail(m, st);
    return st == WEIR_OK ? weir_json_reader_value(m->event_reader) : NULL;
}

static void take_event(struct weir_message *m, const struct weir_sse_event *event)
{
    if (!message_is_open(m)) return;
    m->n_events++;
    const struct weir_json *data = message_read(m, event->data);
    if (message_is_open(m)) m->dialect->take_event(m, event, data);
}

static void on_sse_event(void *user, const struct weir_sse_event *event)
{
    take_event(user, event);
}

static void on_sse_unknown(void *user, struct weir_slice name, struct weir_slice value)
{
    struct weir_message *m = user;
    if (m->dialect->take_field && message_is_open(m)) m->dialect->take_field(m, name, value);
}

enum weir_status weir_message_event(struct weir_message *m, const struct weir_sse_event *event)
{
    if (m->is_busy) return WEIR_INVALID;
    enter(m);
    take_event(m, event);
    return leave(m);
}

/* Input without a single event is often an error page: its beginning is worth showing. */
static void keep_head(struct weir_message *m, struct weir_slice bytes)
{
    size_t n = sizeof m->head - m->head_len;
    if (n > bytes.len) n = bytes.len;
    if (n > 0) memcpy(m->head + m->head_len, bytes.ptr, n);
    m->head_len += n;
}

enum weir_status weir_message_feed(struct weir_message *m, const void *bytes, size_t len)
{
    if (m->is_busy) return WEIR_INVALID;
    enter(m);
    if (m->n_events == 0) keep_head(m, slice_of(bytes, len));
    if (m->outcome == WEIR_OUTCOME_OPEN) message_fail(m, weir_sse_feed(m->sse, bytes, len));
    return leave(m);
}

enum weir_outcome weir_message_end(struct weir_message *m)
{
    if (m->is_busy) return m->outcome;
    enter(m);
    if (m->outcome == WEIR_OUTCOME_OPEN) {
        if (weir_sse_pending(m->sse))
            note(m, "unfinished_event", "the input ended inside an event, which is dropped");
        if (m->n_events == 0) fail_with_bytes(m, WEIR_STREAM_EMPTY, slice_of(m->head, m->head_len));
        else m->dialect->take_end(m);
    }
    enum weir_outcome outcome = m->outcome;
    (void)leave(m);
    return outcome;
}

/* ---- reading ---- */

enum weir_outcome weir_message_outcome(const struct weir_message *m)
{
    return m->outcome;
}

const struct weir_json *weir_message_value(const struct weir_message *m)
{
    return m->value;
}

const struct weir_json *weir_message_error(const struct weir_message *m)
{
    return m->error;
}

const struct weir_json *weir_message_notes(const struct weir_message *m)
{
    return m->notes.list;
}

enum weir_input_state weir_message_input_state(const struct weir_message *m, size_t block,
                                               size_t *offset)
{
    if (block >= m->dialect->n_inputs(m)) return WEIR_INPUT_NONE;
    const struct tool_input *input = m->dialect->input_at(m, block);
    if (offset) *offset = input->offset;
    return input->state;
}

const struct weir_json *weir_message_block(const struct weir_message *m, size_t block)
{
    return block < m->dialect->n_inputs(m) ? m->dialect->block_at(m, block) : NULL;
}

const struct weir_json *weir_message_choice(const struct weir_message *m, size_t choice)
{
    bool has_choices = m->dialect->choice_at && choice < m->parts.n;
    return has_choices ? m->dialect->choice_at(m, choice) : NULL;
}

const struct weir_json *weir_message_input(const struct weir_message *m, size_t block)
{
    return block < m->dialect->n_inputs(m) ? m->dialect->input_at(m, block)->value : NULL;
}
