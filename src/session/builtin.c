/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns without a model: nobody else reads along, and nothing is made up.
 *
 *   what the person says                    what is done
 *   wants something done (command.h)        that tool, with the person's approval if it needs one
 *   is a question that the grammar reads    query_data with its plan; the agents' checked words
 *   … but fits several metrics              they are asked which one they mean
 *   is about days, and of nothing measured  the same, unless it goes on from what was said before
 *   asks what is remembered                 read_memory, as a list
 *   asks what is normal                     look_up_fact; the agents' words
 *   has words that their documents have     search_documents; the passages that were found
 *   anything else                           the agents, who also say what they cannot do
 *
 * What is said meanwhile is answered behind it, one after the other.
 */
#include <stdio.h>
#include <strings.h>

#include "agent/path.h"
#include "agent/tool_talk.h"
#include "ask/ask.h"
#include "base/slice.h"
#include "session/command.h"
#include "session/turn_impl.h"
#include "shield/token_map.h"

enum {
    ANSWER_BYTES = 512 << 10,
    INPUT_BYTES = 512 << 10,
    RESULT_BYTES = 1 << 20,
    OPTIONS = 6, /* of a question to the person */
};

struct turn_talk {
    struct turn_pass *pass;
    struct weir_json_doc *doc; /* of inputs and results of tools */
    struct tool_talk talk;
    bool is_restated; /* the question says all that is meant */
};

static bool is_aborted(void *step)
{
    return flow_is_aborted(step);
}

/* ---- tools ---- */

/* `out` has the result, or what went wrong. */
static enum weir_status call(struct turn_talk *t, const char *name, struct weir_buf *input,
                             struct weir_buf *out, bool *is_error)
{
    const struct weir_json *json;
    enum weir_status st = weir_buf_status(input);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, weir_buf_slice(input), &json, NULL);
    return st == WEIR_OK ? pass_call(t->pass, weir_slice_of(name), json, out, is_error) : st;
}

/* The same; *result is NULL when it could not, or is no JSON. */
static enum weir_status use(void *user, const char *name, struct weir_buf *input,
                            const struct weir_json **result)
{
    struct turn_talk *t = user;
    struct weir_buf out;
    bool is_error = false;
    *result = NULL;
    weir_buf_init(&out, RESULT_BYTES);
    enum weir_status st = call(t, name, input, &out, &is_error);
    if (st == WEIR_OK && !is_error &&
        weir_json_parse(t->doc, weir_buf_slice(&out), result, NULL) != WEIR_OK)
        *result = NULL;
    weir_buf_fini(&out);
    return st;
}

/* ---- commands ---- */

/* A list of names or of objects with a name, one line each. */
static void put_names(struct weir_buf *out, const struct weir_json *list)
{
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        struct weir_slice name = weir_json_text(v);
        if (name.len == 0) name = weir_json_text(weir_json_get_str(v, "name"));
        weir_buf_append_str(out, "- ");
        weir_buf_append_slice(out, name);
        weir_buf_append_char(out, '\n');
    }
}

static void say_notes(struct turn_talk *t, struct weir_slice result)
{
    const struct weir_json *v = NULL;
    if (weir_json_parse(t->doc, result, &v, NULL) != WEIR_OK) v = NULL;
    const struct weir_json *list =
        weir_json_type_of(v) == WEIR_JSON_OBJECT ? weir_json_first(v) : v;
    if (weir_json_count(list) == 0) weir_buf_append_str(&t->talk.answer, "There are no notes yet.");
    else {
        weir_buf_append_str(&t->talk.answer, "These are the notes of this session:\n\n");
        put_names(&t->talk.answer, list);
    }
}

static void say_note(struct turn_talk *t, struct weir_slice result)
{
    const struct weir_json *v = NULL;
    if (weir_json_parse(t->doc, result, &v, NULL) != WEIR_OK) v = NULL;
    struct weir_slice text = weir_json_text(weir_json_get_str(v, "text"));
    weir_buf_append_slice(&t->talk.answer, text.len > 0 ? text : result);
}

static void say_schedule(struct turn_talk *t, const struct command *c, struct weir_slice result)
{
    const struct weir_json *v = NULL;
    if (weir_json_parse(t->doc, result, &v, NULL) != WEIR_OK) v = NULL;
    struct weir_slice zone = weir_json_text(weir_json_get_str(v, "timezone"));
    struct weir_slice next = weir_json_text(weir_json_get_str(v, "nextRunAt"));
    weir_buf_printf(&t->talk.answer, "It is scheduled: %s", c->schedule);
    if (zone.len > 0) weir_buf_printf(&t->talk.answer, " (%.*s)", (int)zone.len, zone.ptr);
    if (next.len > 0)
        weir_buf_printf(&t->talk.answer, ", for the first time at %.*s", (int)next.len, next.ptr);
    weir_buf_append_char(&t->talk.answer, '.');
}

static void say_done(struct turn_talk *t, const struct command *c, struct weir_slice result)
{
    static const struct {
        const char *tool, *words;
    } rows[] = {{"remember", "I will remember that."},
                {"forget_memory", "That is forgotten."},
                {"write_note", "The note is written."},
                {"append_note", "It is added to the note."},
                {"delete_note", "The note is deleted."}};
    if (strcmp(c->tool, "list_notes") == 0) say_notes(t, result);
    else if (strcmp(c->tool, "read_note") == 0) say_note(t, result);
    else if (strcmp(c->tool, "schedule_prompt") == 0) say_schedule(t, c, result);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(c->tool, rows[i].tool) == 0) weir_buf_append_str(&t->talk.answer, rows[i].words);
}

static enum weir_status obey(struct turn_talk *t, const struct command *c)
{
    struct weir_buf input, out;
    bool is_error = false;
    weir_buf_init(&input, INPUT_BYTES);
    weir_buf_init(&out, RESULT_BYTES);
    command_put_input(&input, c);
    enum weir_status st = call(t, c->tool, &input, &out, &is_error);
    if (st == WEIR_OK && !is_error) say_done(t, c, weir_buf_slice(&out));
    if (st == WEIR_OK && is_error) {
        weir_buf_append_str(&t->talk.answer, "That was not done: ");
        weir_buf_append_slice(&t->talk.answer, weir_buf_slice(&out));
    }
    weir_buf_fini(&input);
    weir_buf_fini(&out);
    return st;
}

/* ---- asking which metric ---- */

/* A question to the person: what they might mean. */
struct choice {
    struct weir_slice word;      /* of theirs, which fits several; empty: none fits */
    const char *titles[OPTIONS]; /* of metrics */
    size_t n;
    const char *chosen; /* what counts when nobody answers */
};

/* "heart rate" read as resting heart rate: the note that tells of a choice. */
static bool find_word(const struct ask_reading *reading, struct weir_slice *word)
{
    for (size_t i = 0; i < reading->n_notes; i++) {
        const char *note = reading->notes[i], *end = strstr(note, "\" read as ");
        if (note[0] != '"' || !end || end == note + 1) continue;
        *word = slice_of(note + 1, (size_t)(end - note) - 1);
        return true;
    }
    return false;
}

static enum weir_status find_titles(struct choice *c, struct dataset *d, const struct metric *read)
{
    const struct metric *const *list;
    size_t n;
    enum weir_status st = dataset_metrics(d, &list, &n);
    for (size_t i = 0; st == WEIR_OK && i < n && c->n < OPTIONS; i++) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)c->word.len, c->word.ptr);
        if (c->word.len > 0 && !tool_talk_has(weir_slice_of(list[i]->title), word)) continue;
        c->titles[c->n++] = list[i]->title;
        if (list[i] == read) c->chosen = read->title;
    }
    if (!c->chosen && c->n > 0 && c->word.len == 0) c->chosen = c->titles[0];
    return st;
}

/* Nothing to choose: c->n is below 2. */
static enum weir_status find_choice(struct turn_talk *t, struct choice *c,
                                    struct ask_reading *reading, struct dataset *d)
{
    *c = (struct choice){.n = 0};
    enum weir_status st = WEIR_OK;
    if (t->talk.question.len > ASK_BYTES) return st;
    st = ask_read(reading, t->talk.question, d, t->pass->arena);
    if (st != WEIR_OK) return st;
    /* What names nothing may go on from what was said before: the agents see to that. */
    bool is_first = t->pass->attempt->context.history.len <= 1;
    bool is_vague =
        reading->is_understood ? find_word(reading, &c->word) : reading->lacks_thing && is_first;
    if (!is_vague) return WEIR_OK;
    const struct metric *read = reading->is_understood ? reading->plan.metric : NULL;
    st = find_titles(c, d, read);
    if (!c->chosen) c->n = 0;
    return st;
}

/* The question with what they mean in it; what is too long to name anything is no answer. */
static enum weir_status restate(struct turn_talk *t, const struct choice *c,
                                struct weir_slice answer)
{
    struct weir_buf text;
    struct weir_slice q = t->talk.question;
    size_t at = 0;
    while (c->word.len > 0 && at + c->word.len <= q.len &&
           strncasecmp(q.ptr + at, c->word.ptr, c->word.len) != 0)
        at++;
    weir_buf_init(&text, ASK_BYTES);
    if (c->word.len > 0 && at + c->word.len <= q.len) {
        weir_buf_append(&text, q.ptr, at);
        weir_buf_append_slice(&text, answer);
        weir_buf_append_slice(&text, slice_from(q, at + c->word.len));
    } else {
        while (q.len > 0 && strchr("?!. ", q.ptr[q.len - 1])) q.len--;
        weir_buf_append_slice(&text, q);
        weir_buf_append_str(&text, " ");
        weir_buf_append_slice(&text, answer);
        weir_buf_append_str(&text, "?");
    }
    enum weir_status st = weir_buf_status(&text);
    char *copy = st == WEIR_OK ? arena_alloc(t->pass->arena, text.len + 1) : NULL;
    if (st == WEIR_OK && !copy) st = t->pass->arena->status;
    if (st == WEIR_OK) {
        memcpy(copy, text.ptr, text.len);
        t->talk.question = slice_of(copy, text.len);
        t->is_restated = true;
    }
    weir_buf_fini(&text);
    return st == WEIR_LIMIT ? WEIR_OK : st;
}

static enum weir_status ask_person(struct turn_talk *t, const struct choice *c)
{
    struct weir_buf options, question;
    const struct weir_json *list = NULL;
    enum clarify_source source;
    struct weir_slice answer;
    weir_buf_init(&options, INPUT_BYTES);
    weir_buf_init(&question, INPUT_BYTES);
    weir_json_put_begin_array(&options);
    for (size_t i = 0; i < c->n; i++) weir_json_put_str(&options, c->titles[i]);
    weir_json_put_end_array(&options);
    if (c->word.len > 0)
        weir_buf_printf(&question, "Which of these do you mean by \"%.*s\"?", (int)c->word.len,
                        c->word.ptr);
    else weir_buf_append_str(&question, "What of your measurements do you mean?");
    enum weir_status st = weir_buf_status(&options);
    if (st == WEIR_OK) st = weir_buf_status(&question);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, weir_buf_slice(&options), &list, NULL);
    struct clarify_wish w = {.number = t->pass->n_calls + 1,
                             .question = weir_buf_slice(&question),
                             .options = list,
                             .default_answer = weir_slice_of(c->chosen)};
    if (st == WEIR_OK) t->pass->n_calls++;
    if (st == WEIR_OK) st = clarify_ask(t->pass, &w, &source, &answer);
    weir_buf_fini(&options);
    weir_buf_fini(&question);
    bool has_answer = st == WEIR_OK && source != CLARIFY_CANCEL && answer.len > 0;
    return has_answer ? restate(t, c, answer) : st;
}

/* ---- questions ---- */

/* The plan of the question, if it is one: then the tool is used, and *result is what it brought. */
static enum weir_status query(void *user, const struct weir_json **result)
{
    struct turn_talk *t = user;
    struct turn_pass *p = t->pass;
    struct shelved data = {0};
    struct ask_reading reading = {0};
    struct choice choice = {.n = 0};
    struct weir_buf plan;
    *result = NULL;
    weir_buf_init(&plan, INPUT_BYTES);
    enum weir_status st = shelf_take(&p->sessions->shelf, pass_owner(p), &data);
    if (st == WEIR_OK) st = find_choice(t, &choice, &reading, data.data);
    bool must_ask = st == WEIR_OK && choice.n > 1;
    if (must_ask) st = ask_person(t, &choice);
    if (must_ask && st == WEIR_OK && t->talk.question.len <= ASK_BYTES)
        st = ask_read(&reading, t->talk.question, data.data, p->arena);
    if (st == WEIR_OK && reading.is_understood) plan_put(&plan, &reading.plan);
    shelf_give(&p->sessions->shelf, &data);
    if (st == WEIR_OK && plan.len > 0) st = use(t, "query_data", &plan, result);
    weir_buf_fini(&plan);
    return st;
}

/* ---- agents ---- */

static void put_message(struct weir_buf *out, struct weir_slice role, struct weir_slice text)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "role");
    weir_json_put_string(out, role);
    weir_json_put_key(out, "content");
    weir_json_put_string(out, text);
    weir_json_put_end_object(out);
}

/* What was said, with plain contents, as agents have it. */
static enum weir_status read_messages(struct turn_talk *t, const struct weir_json **out)
{
    struct weir_buf text;
    const struct weir_json *history = NULL;
    weir_buf_init(&text, 2 * MODEL_REQUEST_BYTES);
    weir_buf_append_slice(&text, weir_buf_slice(&t->pass->attempt->context.history));
    weir_json_put_end_array(&text);
    enum weir_status st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, weir_buf_slice(&text), &history, NULL);
    weir_buf_reset(&text);
    weir_json_put_begin_array(&text);
    bool has_history = st == WEIR_OK && !t->is_restated;
    for (const struct weir_json *m = has_history ? weir_json_first(history) : NULL; m;
         m = weir_json_next(m)) {
        const struct weir_json *block = weir_json_first(weir_json_get_str(m, "content"));
        put_message(&text, weir_json_text(weir_json_get_str(m, "role")),
                    weir_json_text(weir_json_get_str(block, "text")));
    }
    put_message(&text, SLICE("user"), t->talk.question);
    weir_json_put_end_array(&text);
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) st = weir_json_parse(t->doc, weir_buf_slice(&text), out, NULL);
    weir_buf_fini(&text);
    return st;
}

static enum weir_status ask_agents(void *user)
{
    struct turn_talk *t = user;
    struct turn_pass *p = t->pass;
    struct shelved data = {0};
    const struct weir_json *messages, *memory = NULL;
    enum weir_status st = read_messages(t, &messages);
    if (st == WEIR_OK)
        st = weir_json_parse(t->doc, weir_buf_slice(&p->attempt->context.memory), &memory, NULL);
    if (st == WEIR_OK) st = shelf_take(&p->sessions->shelf, pass_owner(p), &data);
    if (st != WEIR_OK) return st;
    struct agent_case c = {.turn_id = pass_turn(p),
                           .messages = messages,
                           .question = t->talk.question,
                           .memory = memory,
                           .has_biomarkers = true,
                           .data = data.data,
                           .clock = p->sessions->options.clock,
                           .seed = tool_talk_seed(pass_turn(p)),
                           .arena = p->arena,
                           .is_aborted = is_aborted,
                           .user = p->step};
    st = agent_answer(&c, &t->talk.answer);
    shelf_give(&p->sessions->shelf, &data);
    return st;
}

/* ---- the turn ---- */

static const struct tool_talk_host host = {.query = query, .use = use, .ask_agents = ask_agents};

static enum weir_status answer(struct turn_pass *p, struct weir_slice text)
{
    struct turn_talk t = {.pass = p, .talk = {.host = &host, .user = &t, .question = text}};
    struct command c;
    t.talk.question.len = token_cut(text, AGENT_QUESTION_BYTES);
    t.doc = weir_json_doc_new(SESSION_JSON_BYTES);
    if (!t.doc) return WEIR_NOMEM;
    weir_buf_init(&t.talk.answer, ANSWER_BYTES);
    if (p->round > 0) weir_buf_append_str(&t.talk.answer, "\n\n");
    struct weir_slice before = weir_buf_slice(&t.talk.answer);
    enum weir_status st = turn_say(p, before);
    weir_buf_reset(&t.talk.answer);
    if (st == WEIR_OK) st = command_read(text, &c) ? obey(&t, &c) : tool_talk_answer(&t.talk);
    if (st == WEIR_OK) st = weir_buf_status(&t.talk.answer);
    if (st == WEIR_OK) st = turn_say(p, weir_buf_slice(&t.talk.answer));
    weir_buf_fini(&t.talk.answer);
    weir_json_doc_free(t.doc);
    p->round++;
    return st;
}

enum weir_status builtin_turn(struct turn_pass *p)
{
    enum weir_status st = answer(p, p->text);
    for (unsigned i = 0; st == WEIR_OK && i < SESSION_STEERS; i++) {
        struct weir_slice text;
        st = steers_next(p, i, &text);
        if (st == WEIR_NOT_FOUND) return WEIR_OK;
        if (st == WEIR_OK) st = answer(p, text);
    }
    return st;
}
