/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_view.h"

#include "base/slice.h"
#include "output.h"
#include "term_text.h"
#include "view_line.h"

enum {
    TEXT_BYTES = 128 << 20, /* more than a label of one event can become when it is made harmless */
    PIECE_BYTES = 64 << 10, /* of longer texts, so that they need no room */
};

void plain_view_init(struct plain_view *v, FILE *notes, bool is_quiet)
{
    *v = (struct plain_view){.notes = notes, .is_quiet = is_quiet};
    weir_buf_init(&v->text, TEXT_BYTES);
}

void plain_view_fini(struct plain_view *v)
{
    weir_buf_fini(&v->text);
}

static void end_line(struct plain_view *v)
{
    if (v->speaker[0]) fputc('\n', v->notes);
    v->speaker[0] = '\0';
}

/* Text of others, made harmless. */
static void print(struct plain_view *v, FILE *to, struct weir_slice text)
{
    struct term_cleaner cleaner = {.n_held = 0};
    do {
        size_t len = text.len < PIECE_BYTES ? text.len : PIECE_BYTES;
        weir_buf_reset(&v->text);
        term_clean_feed(&cleaner, &v->text, slice_of(text.ptr, len));
        text = slice_from(text, len);
        if (text.len == 0) term_clean_end(&cleaner, &v->text);
        if (v->text.len > 0) fwrite(v->text.ptr, 1, v->text.len, to);
    } while (text.len > 0);
}

static void print_label(struct plain_view *v, FILE *to, struct weir_slice text)
{
    weir_buf_reset(&v->text);
    term_clean_label(&v->text, text);
    if (v->text.len > 0) fwrite(v->text.ptr, 1, v->text.len, to);
}

static struct weir_slice text_of(const struct weir_json *v, const char *key)
{
    return weir_json_text(weir_json_get_str(v, key));
}

/* A line of two members of an event, with what stands before and between them. */
static void show_pair(struct plain_view *v, const struct weir_json *data, const char *head,
                      const char *first, const char *between, const char *second)
{
    fputs(head, v->notes);
    print_label(v, v->notes, text_of(data, first));
    fputs(between, v->notes);
    print_label(v, v->notes, text_of(data, second));
    fputc('\n', v->notes);
}

static void show_started(struct plain_view *v, const struct weir_json *data)
{
    end_line(v);
    show_pair(v, data, "> ", "agent", ": ", "question");
}

/* Thoughts of one agent are one paragraph; what synthesis writes is the answer, shown later. */
static void show_thought(struct plain_view *v, const struct weir_json *data)
{
    struct weir_slice agent = text_of(data, "agent");
    if (weir_json_get_str(data, "channel")) return;
    if (!weir_slice_is(agent, v->speaker)) {
        end_line(v);
        snprintf(v->speaker, sizeof v->speaker, "%.*s", (int)agent.len,
                 agent.len > 0 ? agent.ptr : "");
        fputs("  ", v->notes);
    }
    print(v, v->notes, text_of(data, "delta"));
}

static void show_gate(struct plain_view *v, const struct weir_json *data)
{
    end_line(v);
    if (weir_slice_is(text_of(data, "gate"), "sample_size"))
        show_pair(v, data, "  ", "finding_id", ": ", "claim");
    show_pair(v, data, "    ", "gate", ": ", "verdict");
}

static void show_critic(struct plain_view *v, const struct weir_json *data)
{
    end_line(v);
    show_pair(v, data, "    critic: ", "verdict", ", ", "reasoning");
}

static void show_answer(struct plain_view *v, const struct weir_json *data)
{
    end_line(v);
    if (!v->is_quiet) fputc('\n', v->notes);
    print(v, stdout, text_of(weir_json_get_str(data, "result"), "answer"));
    fputc('\n', stdout);
    (void)output_flush();
    if (v->is_quiet) return;
    fputs("\nturn ", v->notes);
    print_label(v, v->notes, text_of(data, "turn_id"));
    fputs("; weir trace shows every step of it\n", v->notes);
}

static void complain(struct plain_view *v, struct weir_slice message, struct weir_slice code)
{
    v->has_complained = true;
    fputs("weir: ", stderr);
    print_label(v, stderr, message);
    fputs(" (", stderr);
    print_label(v, stderr, code);
    fputs(")\n", stderr);
}

static void show_failure(struct plain_view *v, const struct weir_json *data)
{
    const struct weir_json *error = weir_json_get_str(data, "error");
    end_line(v);
    complain(v, text_of(error, "message"), text_of(error, "code"));
}

static const struct {
    const char *type;
    void (*show)(struct plain_view *v, const struct weir_json *data);
    bool is_loud; /* not shown when quiet is asked for */
} views[] = {
    {"agent.started", show_started, true},  {"agent.thought", show_thought, true},
    {"validator.gate", show_gate, true},    {"validator.critic", show_critic, true},
    {"turn.completed", show_answer, false}, {"turn.failed", show_failure, false},
};

void plain_view_event(struct plain_view *v, struct weir_slice type, const struct weir_json *data)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (weir_slice_is(type, views[i].type) && !(views[i].is_loud && v->is_quiet))
            views[i].show(v, data);
    (void)output_flush();
}

static void end_answer_line(struct plain_view *v)
{
    if (v->is_middle) fputc('\n', stdout);
    v->is_middle = false;
}

/* How what waits in a session is answered: there is nobody here who could be asked. */
static void show_way(struct plain_view *v, FILE *to, struct weir_slice approval,
                     struct weir_slice question)
{
    if (approval.len > 0) {
        fputs("  weir session approve ", to);
        print_label(v, to, approval);
        fputs(", or weir session deny ", to);
        print_label(v, to, approval);
    } else {
        fputs("  weir session answer ", to);
        print_label(v, to, question);
        fputs(" TEXT", to);
    }
    fputc('\n', to);
}

void plain_view_aside(struct plain_view *v, const struct weir_ui *state, struct weir_slice type,
                      const struct weir_json *data)
{
    struct view_line line;
    if (!view_line_of(state, type, data, &line)) return;
    struct weir_slice approval = text_of(weir_json_get_str(data, "request"), "approvalId");
    struct weir_slice question = text_of(data, "requestId");
    bool has_way = line.is_open && approval.len + question.len > 0;
    /* What a session waits for is always said: nobody is to wait for it in silence. */
    if (v->is_quiet && !has_way) return;
    FILE *to = v->is_quiet ? stderr : v->notes;
    if (to == stdout) end_answer_line(v);
    fprintf(to, "%s ", line.sign);
    print_label(v, to, weir_slice_of(line.label));
    fputs(": ", to);
    print_label(v, to, weir_slice_of(line.text));
    fputc('\n', to);
    if (has_way) show_way(v, to, approval, question);
    (void)output_flush();
}

void plain_view_line(struct plain_view *v, struct weir_slice label, struct weir_slice text)
{
    print_label(v, stdout, label);
    fputc(' ', stdout);
    print_label(v, stdout, text);
    fputc('\n', stdout);
    (void)output_flush();
}

void plain_view_answer(struct plain_view *v, const struct weir_ui_text *answer,
                       struct weir_slice more)
{
    /* It was begun again, or another follows. */
    if (v->answer_round != answer->round) end_answer_line(v);
    v->answer_round = answer->round;
    v->is_middle = more.ptr[more.len - 1] != '\n';
    print(v, stdout, more);
    (void)output_flush();
}

static void show_citations(struct plain_view *v, const struct weir_ui *state)
{
    for (size_t i = 0; i < state->n_citations && !v->is_quiet; i++) {
        const struct weir_ui_citation *c = &state->citations[i];
        fprintf(v->notes, "[%zu] ", i + 1);
        print_label(v, v->notes, weir_slice_of(c->title[0] != '\0' ? c->title : c->source_id));
        fputs(": ", v->notes);
        print_label(v, v->notes, weir_slice_of(c->snippet));
        fputc('\n', v->notes);
    }
}

void plain_view_end(struct plain_view *v, const struct weir_ui *state)
{
    if (v->is_ended) return;
    v->is_ended = true;
    end_line(v);
    end_answer_line(v);
    show_citations(v, state);
    (void)output_flush();
    if (state->phase == WEIR_UI_FAILED && !v->has_complained)
        complain(v, weir_slice_of(state->error_message), weir_slice_of(state->error_code));
}

void plain_view_restart(struct plain_view *v)
{
    v->is_ended = v->has_complained = false;
}
