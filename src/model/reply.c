/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an answer, as it comes: an event stream as a rule, one JSON object from servers that
 * do not stream. Pure: however the bytes are cut, deltas add up to the same, and so does the
 * answer.
 *
 * Output is text, thoughts, or a part of a tool's input. What a server says before (that a message
 * begins, say) commits nobody.
 */
#include <stdio.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/slice.h"
#include "model/model_impl.h"

enum {
    MESSAGE_BYTES = 16 << 20, /* memory of a message */
    EVENT_BYTES = 2 << 20,    /* of an event, and of its lines */
    WHOLE_BYTES = 4 << 20,    /* of an answer that is one object */
    STREAM_BYTES = 256 << 20, /* of a stream: an event is many times its text */
    MAX_BLOCKS = 256,
    MAX_DEPTH = 128,
};

enum kind { KIND_STREAM, KIND_WHOLE, KIND_OTHER };

struct model_reply {
    struct model_reply_options options;
    enum kind kind;
    struct weir_message *message; /* of a stream */
    struct weir_buf whole;        /* of the rest: for error texts, too */
    size_t n_content;             /* bytes of output */
    size_t n_bytes;
    enum weir_status st; /* a limit, or no memory */
    char type[MODEL_NAME_BYTES];
};

/* ---- as it comes ---- */

/* False: there is too much of it. */
static bool count(struct model_reply *r, size_t len)
{
    r->n_content += len;
    if (r->n_content > MODEL_ANSWER_BYTES) r->st = WEIR_LIMIT;
    return r->st == WEIR_OK;
}

static void on_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct model_reply *r = user;
    (void)block, (void)all;
    /* An object is not text, even where it comes as such. */
    if (delta.len > 0 && count(r, delta.len) && r->options.on_delta && !r->options.wants_object)
        r->options.on_delta(r->options.user, MODEL_TEXT, delta);
}

static void on_thinking(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct model_reply *r = user;
    (void)block, (void)all;
    if (delta.len > 0 && count(r, delta.len) && r->options.on_delta)
        r->options.on_delta(r->options.user, MODEL_THINKING, delta);
}

static void on_input(void *user, size_t block, struct weir_slice delta,
                     const struct weir_json *value)
{
    (void)block, (void)value;
    (void)count(user, delta.len);
}

static bool has_type(struct weir_slice content_type, const char *type)
{
    size_t len = 0;
    while (len < content_type.len && !strchr("; \t,", content_type.ptr[len])) len++;
    return len == strlen(type) && strncasecmp(content_type.ptr, type, len) == 0;
}

static bool make_message(struct model_reply *r)
{
    static const struct weir_message_handlers handlers = {
        .on_text = on_text, .on_thinking = on_thinking, .on_input_json = on_input};
    static const struct weir_message_limits limits = {
        .sse = {.max_line_bytes = EVENT_BYTES, .max_event_bytes = EVENT_BYTES},
        .max_message_bytes = MESSAGE_BYTES,
        .max_blocks = MAX_BLOCKS,
        .max_depth = MAX_DEPTH,
    };
    enum weir_dialect dialect = r->options.type == MODEL_ANTHROPIC ? WEIR_ANTHROPIC : WEIR_OPENAI;
    r->message = weir_message_new(dialect, &handlers, r, &limits);
    return r->message != NULL;
}

struct model_reply *model_reply_new(const struct model_reply_options *options,
                                    struct weir_slice content_type)
{
    struct model_reply *r = mem_zalloc(sizeof *r);
    if (!r) return NULL;
    r->options = *options;
    r->kind = KIND_OTHER;
    if (has_type(content_type, "text/event-stream")) r->kind = KIND_STREAM;
    else if (has_type(content_type, "application/json")) r->kind = KIND_WHOLE;
    snprintf(r->type, sizeof r->type, "%.*s",
             (int)(content_type.len < sizeof r->type ? content_type.len : sizeof r->type),
             content_type.len > 0 ? content_type.ptr : "");
    weir_buf_init(&r->whole, WHOLE_BYTES);
    if (r->kind != KIND_STREAM || make_message(r)) return r;
    model_reply_free(r);
    return NULL;
}

void model_reply_free(struct model_reply *r)
{
    if (!r) return;
    weir_message_free(r->message);
    weir_buf_fini(&r->whole);
    mem_free(r);
}

bool model_reply_feed(struct model_reply *r, struct weir_slice bytes)
{
    r->n_bytes += bytes.len;
    if (r->n_bytes > STREAM_BYTES) r->st = WEIR_LIMIT;
    if (r->kind == KIND_OTHER || r->st != WEIR_OK) return false;
    if (r->kind == KIND_WHOLE) {
        weir_buf_append_slice(&r->whole, bytes);
        r->st = weir_buf_status(&r->whole);
        return r->st == WEIR_OK;
    }
    enum weir_status st = weir_message_feed(r->message, bytes.ptr, bytes.len);
    if (st != WEIR_OK && r->st == WEIR_OK) r->st = st == WEIR_NOMEM ? st : WEIR_LIMIT;
    return r->st == WEIR_OK && weir_message_outcome(r->message) != WEIR_OUTCOME_ERROR;
}

bool model_reply_is_whole(const struct model_reply *r)
{
    return r->message && weir_message_outcome(r->message) == WEIR_OUTCOME_MESSAGE;
}

bool model_reply_has_output(const struct model_reply *r)
{
    return r->n_content > 0;
}

/* ---- the object that was wanted ---- */

/* From its first brace to its last, whatever a model has put around it. */
static const struct weir_json *find_object(struct weir_json_doc *doc, struct weir_slice text)
{
    const struct weir_json *value = NULL;
    const char *begin = text.len > 0 ? memchr(text.ptr, '{', text.len) : NULL;
    const char *end = begin ? memrchr(text.ptr, '}', text.len) : NULL;
    if (!end || end < begin) return NULL;
    struct weir_slice object = slice_of(begin, (size_t)(end - begin) + 1);
    if (weir_json_parse(doc, object, &value, NULL) != WEIR_OK) return NULL;
    return value;
}

/* Thoughts stay, text becomes the tool; `from` is where the blocks begin. */
static void put_object(struct model_content *c, const struct weir_json *object, size_t from)
{
    struct weir_json_doc *doc = weir_json_doc_new(MESSAGE_BYTES);
    const struct weir_json *blocks = NULL;
    char id[32];
    snprintf(id, sizeof id, "answer_%08x", crc32c(0, weir_buf_slice(&c->texts)));
    weir_json_put_end_array(c->out);
    struct weir_slice put = slice_of(c->out->ptr + from, c->out->len - from);
    if (!doc || weir_json_parse(doc, put, &blocks, NULL) != WEIR_OK) blocks = NULL;
    c->out->len = from;
    weir_json_put_begin_array(c->out);
    for (const struct weir_json *x = weir_json_first(blocks); x; x = weir_json_next(x))
        if (!weir_slice_is(weir_json_text(weir_json_get_str(x, "type")), "text"))
            weir_json_put_value(c->out, x);
    model_content_tool(c, weir_slice_of(id), weir_slice_of(model_answer_tool), object);
    weir_json_doc_free(doc);
}

static void make_object(struct model_content *c, size_t from)
{
    struct weir_json_doc *doc = weir_json_doc_new(MESSAGE_BYTES);
    const struct weir_json *object = doc ? find_object(doc, weir_buf_slice(&c->texts)) : NULL;
    if (object) put_object(c, object, from);
    weir_json_doc_free(doc);
}

/* ---- the end ---- */

static bool put_blocks(struct model_reply *r, struct model_content *c,
                       const struct weir_json *message)
{
    size_t from = c->out->len;
    weir_buf_init(&c->texts, 2 * MODEL_ANSWER_BYTES);
    if (r->kind == KIND_WHOLE) c->tell = &r->options;
    weir_json_put_begin_array(c->out);
    bool is_message = r->options.type == MODEL_ANTHROPIC
                          ? anthropic_content_put(c, message, r->message)
                          : openai_content_put(c, message, r->message);
    if (r->options.wants_object && c->n_tools == 0 && !c->has_broken) make_object(c, from);
    weir_json_put_end_array(c->out);
    weir_buf_fini(&c->texts);
    if (c->stop == MODEL_STOP_END && c->n_tools > 0) c->stop = MODEL_STOP_TOOL;
    return is_message;
}

static void fail(struct model_reply *r, struct model_failure *f, bool may_help, const char *what,
                 struct weir_slice said)
{
    f->status = WEIR_UPSTREAM;
    f->may_help = may_help;
    f->is_outage = may_help;
    model_failure_say(f, r->options.provider, what, said);
}

static void fail_by_cut(struct model_reply *r, struct model_failure *f, const char *cut)
{
    fail(r, f, true, "broke off", weir_slice_of(cut));
}

/* An error that the sender told inside of a 200. */
static void fail_by_sender(struct model_reply *r, struct model_failure *f,
                           const struct weir_json *error)
{
    struct weir_slice type = weir_json_text(weir_json_get_str(error, "type"));
    struct weir_slice word = model_failure_word(type); /* the code may be one of ours */
    if (word.len == 0) word = model_error_code(error);
    fail(r, f, model_error_may_help(type), "reported an error", word);
}

static void end_stream(struct model_reply *r, const char *cut, struct model_failure *f)
{
    enum weir_outcome outcome = weir_message_end(r->message);
    const struct weir_json *error = weir_message_error(r->message);
    struct weir_slice code = weir_json_text(weir_json_get_str(error, "code"));
    bool is_told = error && !weir_slice_is(code, weir_status_name(WEIR_STREAM_EMPTY));
    if (is_told) fail_by_sender(r, f, error);
    else if (outcome != WEIR_OUTCOME_MESSAGE)
        fail_by_cut(r, f, cut ? cut : "the answer ended before it was whole");
}

/* The value of a whole answer; NULL when it is none, and then it failed. */
static const struct weir_json *end_whole(struct model_reply *r, const char *cut,
                                         struct weir_json_doc *doc, struct model_failure *f)
{
    const struct weir_json *value = NULL;
    enum weir_status st =
        doc ? weir_json_parse(doc, weir_buf_slice(&r->whole), &value, NULL) : WEIR_NOMEM;
    const struct weir_json *error = weir_json_get_str(value, "error");
    if (cut) fail_by_cut(r, f, cut);
    else if (st != WEIR_OK) fail(r, f, true, "answered with what is no JSON", SLICE(""));
    else if (error && weir_json_type_of(error) != WEIR_JSON_NULL) fail_by_sender(r, f, error);
    else return value;
    return NULL;
}

static void end_other(struct model_reply *r, struct model_failure *f)
{
    fail(r, f, false, "answered with something else than an event stream or JSON",
         model_failure_word(weir_slice_of(r->type)));
    f->is_outage = false;
}

static void end_at_limit(struct model_reply *r, struct model_failure *f)
{
    f->status = r->st;
    f->may_help = r->st == WEIR_NOMEM;
    f->is_outage = false;
    model_failure_say(f, r->options.provider,
                      r->st == WEIR_LIMIT ? "gave an answer that is longer than it may be"
                                          : "could not be heard for lack of memory",
                      SLICE(""));
}

/* A tool that the model wants to be run, but whose input cannot be read. */
static void check_tools(struct model_reply *r, const struct model_content *c,
                        struct model_failure *f)
{
    if (f->status != WEIR_OK || !c->has_broken || c->stop == MODEL_STOP_LENGTH) return;
    fail(r, f, true, "called a tool with an input that is no JSON object", SLICE(""));
    /* The model's doing, not the server's. */
    f->is_outage = false;
}

void model_reply_end(struct model_reply *r, const char *cut, struct model_content *content,
                     struct model_failure *failure)
{
    struct weir_json_doc *doc = r->kind == KIND_WHOLE ? weir_json_doc_new(MESSAGE_BYTES) : NULL;
    const struct weir_json *message = NULL;
    *failure = (struct model_failure){.status = WEIR_OK};
    if (r->kind == KIND_STREAM) end_stream(r, cut, failure);
    if (r->kind == KIND_STREAM) message = weir_message_value(r->message);
    else if (r->kind == KIND_WHOLE && r->st == WEIR_OK) message = end_whole(r, cut, doc, failure);
    else if (r->kind == KIND_OTHER) end_other(r, failure);
    if (r->st != WEIR_OK) end_at_limit(r, failure);
    bool is_message = put_blocks(r, content, message);
    if (!is_message && failure->status == WEIR_OK)
        fail(r, failure, false, "answered with JSON that is no message", SLICE(""));
    check_tools(r, content, failure);
    if (failure->status != WEIR_OK) content->stop = MODEL_STOP_CUT;
    weir_json_doc_free(doc);
}
