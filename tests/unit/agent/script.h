/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A desk whose models answer by a script: what is to be answered is put down by purpose, the last
 * of a purpose is said again for ever. Every answer comes late: the step is told WEIR_PENDING, runs
 * again from its beginning, and has to ask the same and to emit the same as before.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "desk.h"

enum { SCRIPT_ANSWERS = 64, SCRIPT_ASKED = 128, SCRIPT_EVENTS = 4096 };

struct script {
    struct desk d; /* the first: it is the case's user */
    struct {
        const char *purpose;
        char *content;
        enum model_stop stop;
        enum weir_status status;
        size_t n_said;
    } answers[SCRIPT_ANSWERS];
    size_t n_answers;
    struct {
        char *request;
        struct model_answer answer;
    } asked[SCRIPT_ASKED];
    size_t n_asked, at; /* in all passes; in this one */
    char *events[SCRIPT_EVENTS];
    size_t n_events, event_at;
};

static inline void script_put(struct script *s, const char *purpose, const char *content)
{
    s->answers[s->n_answers].purpose = purpose;
    s->answers[s->n_answers].content = strdup(content);
    s->answers[s->n_answers++].stop = MODEL_STOP_END;
}

__attribute__((format(printf, 1, 2))) static inline char *script_format(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    T_OK(vasprintf(&text, format, args) >= 0);
    va_end(args);
    return text;
}

/* The object that was asked for by a schema. */
static inline void script_object(struct script *s, const char *purpose, const char *json)
{
    char *content = script_format(
        "[{\"type\":\"tool_use\",\"id\":\"a1\",\"name\":\"answer\",\"input\":%s}]", json);
    script_put(s, purpose, content);
    free(content);
}

static inline void script_text(struct script *s, const char *purpose, const char *text)
{
    struct weir_buf out;
    weir_buf_init(&out, 1 << 20);
    weir_buf_append_str(&out, "[{\"type\":\"text\",\"text\":");
    weir_json_put_str(&out, text);
    weir_buf_append_str(&out, "}]");
    weir_buf_append_char(&out, '\0');
    script_put(s, purpose, out.ptr);
    weir_buf_fini(&out);
}

/* A call of a tool; more than one are put by script_put(). */
static inline void script_call(struct script *s, const char *purpose, const char *tool,
                               const char *input)
{
    char *content =
        script_format("[{\"type\":\"tool_use\",\"id\":\"c%zu\",\"name\":\"%s\",\"input\":%s}]",
                      s->n_answers, tool, input);
    script_put(s, purpose, content);
    free(content);
}

/* The next answer of this purpose that was not said yet, else the last. */
static inline size_t script_find(struct script *s, const char *purpose)
{
    size_t found = SCRIPT_ANSWERS;
    for (size_t i = 0; i < s->n_answers; i++) {
        if (strcmp(s->answers[i].purpose, purpose) != 0) continue;
        found = i;
        if (s->answers[i].n_said == 0) break;
    }
    return found;
}

static inline void script_record(struct script *s, const struct model_request *request,
                                 const char *text)
{
    size_t i = script_find(s, request->purpose);
    struct model_answer *a = &s->asked[s->n_asked].answer;
    *a = (struct model_answer){.provider = "script", .model = "script", .why = "it failed"};
    a->cost_usd = 0.25;
    a->content = SLICE("[]");
    if (i < s->n_answers) {
        a->stop = s->answers[i].stop;
        a->status = s->answers[i].status;
        a->content = weir_slice_of(s->answers[i].content);
        s->answers[i].n_said++;
    }
    s->asked[s->n_asked++].request = strdup(text);
}

static inline enum weir_status script_ask(void *user, const struct model_request *request,
                                          const char *agent, const struct model_answer **answer)
{
    struct script *s = user;
    struct weir_buf text;
    bool is_new = s->at == s->n_asked;
    (void)agent;
    weir_buf_init(&text, MODEL_REQUEST_BYTES);
    model_request_put(&text, request);
    weir_buf_append_char(&text, '\0');
    T_EQ(weir_buf_status(&text), WEIR_OK);
    if (is_new && request->schema.len > 0) desk_json(&s->d, request->schema);
    if (is_new && request->tools.len > 0) desk_json(&s->d, request->tools);
    if (is_new) script_record(s, request, text.ptr);
    else T_EQ_STR(weir_slice_of(s->asked[s->at].request), text.ptr);
    weir_buf_fini(&text);
    if (is_new) return WEIR_PENDING;
    *answer = &s->asked[s->at++].answer;
    return WEIR_OK;
}

/* What was emitted in an earlier pass is the same again, and is not sent. */
static inline void script_emit(void *user, const char *type, struct weir_slice json)
{
    struct script *s = user;
    char *text = script_format("%s %.*s", type, (int)json.len, json.ptr);
    if (s->event_at < s->n_events) {
        T_EQ_STR(weir_slice_of(s->events[s->event_at++]), text);
        free(text);
        return;
    }
    if (s->n_events < SCRIPT_EVENTS) s->events[s->n_events++] = text;
    s->event_at = s->n_events;
    desk_emit(user, type, json);
}

static inline void script_init(struct script *s, const char *question)
{
    memset(s, 0, sizeof *s);
    desk_init(&s->d, question);
    s->d.c.ask = script_ask;
    s->d.c.emit = script_emit;
    s->d.c.user = s;
    for (size_t i = 0; i < MODEL_N_ROLES; i++) s->d.c.has_model[i] = true;
}

static inline void script_fini(struct script *s)
{
    for (size_t i = 0; i < s->n_answers; i++) free(s->answers[i].content);
    for (size_t i = 0; i < s->n_asked; i++) free(s->asked[i].request);
    for (size_t i = 0; i < s->n_events; i++) free(s->events[i]);
    desk_fini(&s->d);
}

/* Forgets what a step asked and emitted: another one begins. */
static inline void script_next(struct script *s)
{
    for (size_t i = 0; i < s->n_asked; i++) free(s->asked[i].request);
    for (size_t i = 0; i < s->n_events; i++) free(s->events[i]);
    s->n_asked = s->n_events = 0;
}

/* Runs until it is no longer waiting; how it ended. What it brought is in d.out. */
static inline enum weir_status script_run(struct script *s,
                                          enum weir_status (*step)(struct agent_case *c,
                                                                   struct weir_buf *out))
{
    enum weir_status st;
    do {
        s->at = s->event_at = 0;
        s->d.c.n_findings = 0;
        s->d.c.cost_usd = 0;
        weir_buf_reset(&s->d.out);
        st = step(&s->d.c, &s->d.out);
    } while (st == WEIR_PENDING);
    T_EQ(s->at, s->n_asked);
    return st;
}

/* The same, when it has to end well; what it brought. */
static inline const struct weir_json *script_ok(struct script *s,
                                                enum weir_status (*step)(struct agent_case *c,
                                                                         struct weir_buf *out))
{
    enum weir_status st = script_run(s, step);
    T_EQ(st, WEIR_OK);
    return st == WEIR_OK ? desk_json(&s->d, weir_buf_slice(&s->d.out)) : NULL;
}

static inline struct weir_slice script_text_of(const struct weir_json *object, const char *key)
{
    return weir_json_text(weir_json_get_str(object, key));
}

/* Whether the request of this number holds a text. */
static inline bool script_asked(const struct script *s, size_t i, const char *part)
{
    return i < s->n_asked && strstr(s->asked[i].request, part) != NULL;
}
