/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one step of a reply. It is passed through from its beginning as often as something has come
 * that it waited for: an answer of a model, or a decision. What a pass did before, the next one
 * finds: answers among the recorded calls, by their number (call/ask.c), and everything that was
 * shown in the transcript of the log, which is never shown again.
 *
 *   history, new messages ─▶ what is private? ─▶ the model's answer ─┬─▶ the end
 *                                 ▲                                  │ it wants tools
 *                                 └───────── their results ◀─────────┘
 *
 * An answer that a crash has cut is what was shown of it; the model is asked to go on from there.
 */
#include <stdio.h>

#include "agent/llm_prompt.h"
#include "agent/tool.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/slice.h"
#include "chat/chat_impl.h"
#include "shield/restore.h"

enum {
    ATTEMPTS = 3,
    BACKOFF_MS = 500,
    LIMIT_MS = 20 * 60 * 1000, /* of an attempt, decisions included */
    HISTORY_BYTES = 384 << 10, /* of earlier messages that a model is told */
    SYSTEM_BYTES = 64 << 10,
    TOOLS_BYTES = 256 << 10,
    TOKEN_BYTES = 1024, /* of one event of weir's own text */
};

static const char go_on[] =
    "Your answer was interrupted. Go on exactly where it stopped: repeat nothing of it, and say "
    "nothing about the interruption.";

/* ---- what is shown ---- */

enum weir_status pass_note(struct pass *p, const char *type, struct weir_slice json)
{
    struct reply *r = p->reply;
    pthread_mutex_lock(&r->lock);
    enum weir_status st = transcript_add(&r->transcript, weir_slice_of(type), json);
    pthread_mutex_unlock(&r->lock);
    return st;
}

enum weir_status reply_emit(struct pass *p, const char *type, struct weir_buf *json)
{
    enum weir_status st = weir_buf_status(json);
    if (st == WEIR_OK) st = pass_note(p, type, weir_buf_slice(json));
    if (st == WEIR_OK) flow_emit(p->step, type, weir_buf_slice(json));
    return st;
}

static void put_token(struct weir_buf *json, struct weir_slice text)
{
    weir_json_put_begin_object(json);
    weir_json_put_key(json, "text");
    weir_json_put_string(json, text);
    weir_json_put_end_object(json);
}

/* With a lock of the workflow's engine: an event that is made is one that is sent. */
void reply_put_token(struct asker *a, struct weir_buf *json, enum model_delta kind,
                     struct weir_slice text)
{
    (void)kind;
    struct attempt *attempt = a->user;
    struct reply *r = attempt->reply;
    put_token(json, text);
    pthread_mutex_lock(&r->lock);
    weir_buf_append_slice(&r->transcript.text, text);
    pthread_mutex_unlock(&r->lock);
}

/* A placeholder stays whole: what may be the beginning of one waits for the rest. */
size_t reply_ready(struct asker *a, struct weir_slice text, bool is_last)
{
    const struct attempt *attempt = a->user;
    struct restorer r;
    struct weir_buf out;
    if (is_last || !attempt->leaving) return text.len;
    weir_buf_init(&out, 2 * TOKEN_BYTES + RESTORE_HELD_BYTES);
    restorer_init(&r, guard_tokens(attempt->leaving->guard), RESTORE_NOT);
    restorer_feed(&r, text, &out);
    weir_buf_fini(&out);
    return text.len - r.n_held;
}

/* What is in the log behind the answers that are recorded. */
struct weir_slice reply_shown(struct asker *a)
{
    const struct attempt *attempt = a->user;
    struct weir_slice text = weir_buf_slice(&attempt->reply->transcript.text);
    return attempt->n_text < text.len ? slice_from(text, attempt->n_text) : (struct weir_slice){0};
}

enum weir_status pass_say(struct pass *p, struct weir_slice text)
{
    struct weir_buf json;
    size_t *n_text = &p->attempt->n_text, n_shown = p->reply->transcript.text.len;
    size_t n_skip = n_shown > *n_text ? n_shown - *n_text : 0;
    if (n_skip > text.len) n_skip = text.len;
    *n_text += text.len;
    text = slice_from(text, n_skip);
    enum weir_status st = WEIR_OK;
    weir_buf_init(&json, CHAT_EVENT_BYTES);
    while (st == WEIR_OK && text.len > 0) {
        size_t n = token_cut(text, TOKEN_BYTES);
        weir_buf_reset(&json);
        put_token(&json, slice_of(text.ptr, n));
        st = reply_emit(p, "token", &json);
        text = slice_from(text, n);
    }
    weir_buf_fini(&json);
    return st;
}

/* ---- private values ---- */

enum weir_status pass_keep_values(struct pass *p)
{
    struct attempt *a = p->attempt;
    struct weir_buf sealed;
    uint64_t version = guard_version(a->guard);
    if (version == a->guard_version) return WEIR_OK;
    weir_buf_init(&sealed, CHAT_BODY_BYTES);
    enum weir_status st = guard_seal(a->guard, p->chats->options.vault, p->conversation, &sealed);
    if (st == WEIR_OK) st = weir_buf_status(&sealed);
    if (st == WEIR_OK) st = values_publish(p->chats, p->reply, a->guard);
    if (st == WEIR_OK) {
        flow_save(p->step, &(struct flow_save){.key = map_key(p->conversation),
                                               .body = weir_buf_slice(&sealed)});
        a->guard_version = version;
    }
    weir_buf_fini(&sealed);
    return st;
}

static enum weir_status load_values(struct pass *p)
{
    struct attempt *a = p->attempt;
    if (a->guard) return WEIR_OK;
    enum weir_status st = values_load_for(p->chats, p->conversation, p->wish, &a->guard);
    if (st != WEIR_OK) return st;
    a->guard_version = guard_version(a->guard);
    return values_publish(p->chats, p->reply, a->guard);
}

/* ---- the request ---- */

static uint64_t get_uint(const struct weir_json *json, const char *key)
{
    int64_t n = 0;
    return weir_json_int64(weir_json_get_str(json, key), &n) && n > 0 ? (uint64_t)n : 0;
}

static bool is_true(const struct weir_json *json, const char *key)
{
    return weir_json_type_of(weir_json_get_str(json, key)) == WEIR_JSON_TRUE;
}

/* What is new has its values again, for the look at it. */
static enum weir_status add_text(struct pass *p, bool is_user, bool is_new, struct weir_slice text)
{
    struct weir_buf plain;
    weir_buf_init(&plain, CHAT_BODY_BYTES);
    if (is_new) {
        values_restore_text(p->attempt->guard, RESTORE_PRIVATE, text, &plain);
        if (is_user && p->preview.len > 0) weir_buf_append_char(&p->preview, '\n');
        if (is_user) weir_buf_append_slice(&p->preview, text);
        text = weir_buf_slice(&plain);
    }
    enum weir_status st = weir_buf_status(&plain);
    if (st == WEIR_OK) model_message_put(&p->messages, is_user ? "user" : "assistant", text);
    weir_buf_fini(&plain);
    return st == WEIR_OK ? weir_buf_status(&p->messages) : st;
}

static enum weir_status add_history(void *user, unsigned n, const struct weir_json *message)
{
    struct pass *p = user;
    struct weir_slice text = weir_json_text(weir_json_get_str(message, "content"));
    bool is_user = weir_slice_is(weir_json_text(weir_json_get_str(message, "role")), "user");
    bool is_first = p->messages.len <= 1;
    if (n >= p->first + p->n || is_true(message, "blocked")) return WEIR_OK;
    /* A model is told nothing empty, and the person begins. */
    if (text.len == 0 || (is_first && !is_user)) return WEIR_OK;
    return add_text(p, is_user, n >= p->first, text);
}

/* Bytes of all messages, the newest of which are told. */
static enum weir_status measure(void *user, unsigned n, const struct weir_json *message)
{
    size_t *sizes = user;
    if (n < CHAT_MAX_MESSAGES) sizes[n] = weir_json_text(weir_json_get_str(message, "content")).len;
    return WEIR_OK;
}

static enum weir_status find_oldest(struct pass *p, unsigned *oldest)
{
    size_t n_bytes = 0;
    size_t *sizes = mem_zalloc(CHAT_MAX_MESSAGES * sizeof *sizes);
    if (!sizes) return WEIR_NOMEM;
    enum weir_status st = messages_each(p->chats->store, p->conversation, 0, measure, sizes);
    for (*oldest = p->first; *oldest > 0; (*oldest)--) {
        n_bytes += sizes[*oldest - 1];
        if (n_bytes > HISTORY_BYTES) break;
    }
    mem_free(sizes);
    return st;
}

static enum weir_status build_history(struct pass *p)
{
    unsigned oldest;
    enum weir_status st = find_oldest(p, &oldest);
    weir_json_put_begin_array(&p->messages);
    if (st == WEIR_OK) st = messages_each(p->chats->store, p->conversation, oldest, add_history, p);
    return st == WEIR_OK ? weir_buf_status(&p->messages) : st;
}

/* ---- an answer ---- */

static enum weir_status fail_by_model(struct pass *p, const struct model_answer *answer)
{
    snprintf(p->attempt->why, sizeof p->attempt->why, "%s",
             answer->why && answer->why[0] ? answer->why : weir_status_text(answer->status));
    return WEIR_UPSTREAM;
}

static void count(struct pass *p, const struct model_answer *answer)
{
    const struct model_usage *u = &answer->usage;
    p->n_input += u->input_tokens + u->cache_read_tokens + u->cache_write_tokens;
    p->n_output += u->output_tokens;
    if (answer->model && answer->model[0]) snprintf(p->model, sizeof p->model, "%s", answer->model);
}

static size_t text_bytes(const struct weir_json *content)
{
    size_t n = 0;
    for (const struct weir_json *b = weir_json_first(content); b; b = weir_json_next(b))
        if (weir_slice_is(weir_json_text(weir_json_get_str(b, "type")), "text"))
            n += weir_json_text(weir_json_get_str(b, "text")).len;
    return n;
}

static void add_answer(struct pass *p, const struct call_found *f)
{
    weir_json_put_begin_object(&p->messages);
    weir_json_put_key(&p->messages, "role");
    weir_json_put_str(&p->messages, "assistant");
    weir_json_put_key(&p->messages, "content");
    weir_json_put_value(&p->messages, weir_json_get_str(f->json, "content"));
    weir_json_put_end_object(&p->messages);
    p->attempt->n_text += text_bytes(weir_json_get_str(f->json, "content"));
}

/* Until the pass is over, or the call: what looks at what leaves, and knows its placeholders. */
static void hold_values(struct pass *p)
{
    struct snapshot *old = p->attempt->leaving;
    p->attempt->leaving = values_ref(p->chats, p->reply);
    values_unref(p->chats, old);
}

static enum weir_status ask_for(struct pass *p, struct weir_slice messages,
                                const struct call_found **found)
{
    struct weir_buf system, tools;
    const struct prompt *prompt = prompt_find(p->agent.len > 0 ? "chat" : "chat_direct");
    weir_buf_init(&system, SYSTEM_BYTES);
    weir_buf_init(&tools, TOOLS_BYTES);
    weir_buf_printf(&system, "weir/%s v%u\n\n%s", prompt->name, prompt->version, prompt->system);
    if (p->agent.len > 0) tools_put(&tools);
    enum weir_status st = weir_buf_status(&tools);
    if (st == WEIR_OK) st = weir_buf_status(&system);
    hold_values(p);
    struct model_request request = {.role = MODEL_MAIN,
                                    .purpose = "chat",
                                    .system = weir_buf_slice(&system),
                                    .messages = messages,
                                    .tools = weir_buf_slice(&tools),
                                    .guard = pass_egress(p)};
    if (st == WEIR_OK) st = asker_ask(&p->attempt->asker, &request, "chat", found);
    weir_buf_fini(&system);
    weir_buf_fini(&tools);
    return st;
}

/* An answer that is whole; or p->is_blocked. */
static enum weir_status ask(struct pass *p, const struct call_found **found)
{
    struct weir_buf messages;
    weir_buf_init(&messages, 2 * MODEL_REQUEST_BYTES);
    enum weir_status st = pass_protect(p, &messages);
    if (st == WEIR_OK && !p->is_blocked) st = ask_for(p, weir_buf_slice(&messages), found);
    weir_buf_fini(&messages);
    if (st != WEIR_OK || p->is_blocked) return st;
    const struct model_answer *answer = &(*found)->answer;
    count(p, answer);
    if (answer->status == WEIR_FORBIDDEN) return pass_block_residue(p);
    return answer->status == WEIR_OK ? WEIR_OK : fail_by_model(p, answer);
}

static enum weir_status ask_model(struct pass *p)
{
    for (;;) {
        const struct call_found *f;
        enum weir_status st = ask(p, &f);
        if (st != WEIR_OK || p->is_blocked) return st;
        const struct weir_json *content = weir_json_get_str(f->json, "content");
        bool wants_tools = f->answer.stop == MODEL_STOP_TOOL && p->agent.len > 0;
        if (f->answer.stop == MODEL_STOP_CUT) {
            add_answer(p, f);
            p->fresh_at = p->messages.len;
            model_message_put(&p->messages, "user", weir_slice_of(go_on));
            p->round++;
        } else if (wants_tools && p->n_rounds < CHAT_TOOL_ROUNDS) {
            add_answer(p, f);
            st = tools_answer(p, content, ++p->n_rounds == CHAT_TOOL_ROUNDS);
            if (st != WEIR_OK) return st;
            p->round++;
        } else {
            return WEIR_OK;
        }
    }
}

/* ---- a pass ---- */

static enum weir_status pass_begin(struct pass *p, struct attempt *a, struct arena *arena)
{
    const struct weir_json *input = flow_input(a->asker.step);
    *p = (struct pass){.chats = a->chats,
                       .attempt = a,
                       .reply = a->reply,
                       .step = a->asker.step,
                       .arena = arena,
                       .conversation = weir_json_text(weir_json_get_str(input, "conversation")),
                       .agent = weir_json_text(weir_json_get_str(input, "agent")),
                       .first = (unsigned)get_uint(input, "first"),
                       .n = (unsigned)get_uint(input, "n"),
                       .shows_raw = is_true(input, "showsRaw"),
                       .has_sources = is_true(input, "hasSources"),
                       .model = "builtin"};
    weir_buf_init(&p->messages, MODEL_REQUEST_BYTES);
    weir_buf_init(&p->preview, MODEL_REQUEST_BYTES);
    a->n_text = 0;
    if (!input) return WEIR_IO;
    if (!pii_action_parse(weir_json_text(weir_json_get_str(input, "wish")), &p->wish))
        return WEIR_CORRUPT;
    reply_belongs(p->chats, p->reply, p->conversation);
    enum weir_status st = load_values(p);
    if (st != WEIR_OK) return st;
    pthread_mutex_lock(&p->reply->lock);
    st = transcript_load(&p->reply->transcript, p->chats->store, weir_slice_of(p->reply->id));
    pthread_mutex_unlock(&p->reply->lock);
    return st == WEIR_OK ? build_history(p) : st;
}

static void put_output(struct pass *p)
{
    struct weir_buf *out = &p->attempt->out;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "usage");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "input");
    weir_json_put_uint(out, p->n_input);
    weir_json_put_key(out, "output");
    weir_json_put_uint(out, p->n_output);
    weir_json_put_end_object(out);
    weir_json_put_key(out, "model");
    weir_json_put_str(out, p->model);
    weir_json_put_end_object(out);
}

static enum weir_status run_pass(struct attempt *a, struct arena *arena)
{
    struct pass p;
    enum weir_status st = pass_begin(&p, a, arena);
    if (st == WEIR_OK) st = p.chats->has_model ? ask_model(&p) : builtin_reply(&p);
    if (st == WEIR_OK && !p.is_blocked) put_output(&p);
    weir_buf_fini(&p.messages);
    weir_buf_fini(&p.preview);
    return st;
}

/* ---- an attempt ---- */

static struct attempt *attempt_new(struct flow_step *s)
{
    struct chats *c = flow_user(s);
    struct attempt *a = mem_zalloc(sizeof *a);
    if (!a) return NULL;
    a->chats = c;
    reply_set_running(c, flow_id(s)); /* whoever began it */
    a->reply = reply_pin(c, flow_id(s));
    if (!a->reply) {
        mem_free(a);
        return NULL;
    }
    asker_init(&a->asker, &c->host, s, 0);
    a->asker.user = a;
    /* All that an earlier attempt has sent is in the log by now, and that is what counts. */
    pthread_mutex_lock(&a->reply->lock);
    transcript_fini(&a->reply->transcript);
    pthread_mutex_unlock(&a->reply->lock);
    pthread_mutex_lock(&c->lock);
    a->reply->n_attempts++;
    list_push_back(&c->attempts, &a->node);
    pthread_mutex_unlock(&c->lock);
    return a;
}

/* Out of the list. */
static void attempt_free(struct attempt *a)
{
    asker_fini(&a->asker);
    guard_free(a->guard);
    values_unref(a->chats, a->leaving);
    weir_buf_fini(&a->out);
    pthread_mutex_lock(&a->chats->lock);
    a->reply->n_attempts--;
    pthread_mutex_unlock(&a->chats->lock);
    reply_unpin(a->chats, a->reply);
    mem_free(a);
}

void replies_forget_attempts(struct chats *c)
{
    struct list_node *node;
    while ((node = list_pop_front(&c->attempts)))
        attempt_free(CONTAINER_OF(node, struct attempt, node));
}

static void abort_attempt(void *attempt)
{
    struct attempt *a = attempt;
    asker_abort(&a->asker);
    reply_wake(a->chats, weir_slice_of(a->reply->id));
}

static bool next_token(void *attempt, struct weir_buf *json)
{
    struct attempt *a = attempt;
    return asker_next_text(&a->asker, json);
}

static void join(struct flow_step *s)
{
    struct attempt *a = flow_data(s);
    struct chats *c = a->chats;
    struct flow_failure failure = asker_failure(&a->asker, a->status, a->why);
    if (a->status == WEIR_OK) flow_done(s, weir_buf_slice(&a->out));
    else flow_fail(s, &failure);
    pthread_mutex_lock(&c->lock);
    list_remove(&a->node);
    pthread_mutex_unlock(&c->lock);
    attempt_free(a);
}

static void run_part(struct flow_step *s, size_t i)
{
    struct attempt *a = flow_data(s);
    a->is_waiting = false;
    if (!asker_begin(&a->asker)) {
        a->status = a->asker.failure.code;
        return;
    }
    weir_buf_init(&a->out, FLOW_OUTPUT_BYTES);
    enum weir_status st = run_pass(a, flow_part_arena(s, i));
    a->status = asker_end_output(&a->asker, st, a->is_waiting, &a->out);
    if (a->status == WEIR_PENDING && a->is_waiting) flow_part_rest(s, i);
    else if (a->status == WEIR_PENDING) flow_part_wait(s, i);
}

static void run_reply(struct flow_step *s)
{
    struct attempt *a = attempt_new(s);
    if (!a) {
        flow_fail(s, &(struct flow_failure){.code = WEIR_NOMEM});
        return;
    }
    flow_set_data(s, a);
    flow_set_source(s, a->asker.host->text_type, next_token, a);
    flow_on_abort(s, abort_attempt, a);
    flow_parallel(s, 1, run_part, join);
}

const struct step chat_steps[1] = {
    {"reply", run_reply, NULL, ATTEMPTS, BACKOFF_MS, LIMIT_MS},
};
