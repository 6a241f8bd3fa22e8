/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any events, in each of the dialects, into the state of a view and onto a small terminal: lists
 * keep to their ceilings, labels end, and no event's text brings an escape sequence of its own.
 */
#include <string.h>

#include <weir/ui.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "term_view.h"

enum { COLUMNS = 30, ROWS = 8, TICK_NS = 40 * 1000 * 1000, N_DIALECTS = 3 };

struct watching {
    struct weir_ui *ui;
    struct view *view;
    struct weir_json_doc *doc;
    unsigned dialect;
};

static void check_label(const char *label, size_t room)
{
    fuzz_true("a label ends", memchr(label, '\0', room) != NULL);
}

static void check_state(const struct weir_ui *s)
{
    fuzz_true("lists have ceilings",
              s->n_agents <= WEIR_UI_AGENTS && s->n_tools <= WEIR_UI_TOOLS &&
                  s->n_findings <= WEIR_UI_FINDINGS && s->n_asks <= WEIR_UI_ASKS &&
                  s->n_notices <= WEIR_UI_NOTICES && s->n_citations <= WEIR_UI_CITATIONS);
    for (size_t i = 0; i < s->n_tools; i++) {
        check_label(s->tools[i].progress, sizeof s->tools[i].progress);
        check_label(s->tools[i].result, sizeof s->tools[i].result);
        check_label(s->tools[i].name, sizeof s->tools[i].name);
    }
    for (size_t i = 0; i < s->n_asks; i++) {
        check_label(s->asks[i].text, sizeof s->asks[i].text);
        check_label(s->asks[i].answer, sizeof s->asks[i].answer);
    }
    for (size_t i = 0; i < s->n_notices; i++)
        check_label(s->notices[i].text, sizeof s->notices[i].text);
    check_label(s->progress, sizeof s->progress);
    check_label(s->error_message, sizeof s->error_message);
    check_label(s->model, sizeof s->model);
}

/* Ours begin with ESC [ and never with ESC ] or ESC P, which set titles and worse. */
static void check_frame(struct weir_slice frame)
{
    for (size_t i = 0; i + 1 < frame.len; i++)
        if (frame.ptr[i] == '\x1b') fuzz_true("only our sequences", frame.ptr[i + 1] == '[');
}

static void take(void *user, const struct weir_sse_event *event)
{
    struct watching *w = user;
    const struct weir_json *data = NULL;
    struct weir_slice type = event->type;
    weir_json_doc_reset(w->doc);
    if (weir_json_parse(w->doc, event->data, &data, NULL) != WEIR_OK) data = NULL;
    weir_ui_tick(w->ui, w->ui->now_ns + TICK_NS);
    if (w->dialect == 0) (void)weir_ui_turn_event(w->ui, type, data);
    if (w->dialect == 1) {
        type = weir_json_text(weir_json_get_str(data, "type"));
        if (weir_ui_session_begins(w->ui, data)) {
            check_frame(view_end(w->view));
            weir_ui_next(w->ui);
            view_restart(w->view);
        }
        (void)weir_ui_session_event(w->ui, data);
    }
    if (w->dialect == 2) (void)weir_ui_chat_event(w->ui, type, data);
    view_event(w->view, type, data);
    check_state(w->ui);
    check_frame(view_frame(w->view));
}

static void run(unsigned dialect, const uint8_t *data, size_t size)
{
    static const struct weir_sse_handlers handlers = {.on_event = take};
    struct watching w = {.dialect = dialect, .ui = mem_alloc(sizeof *w.ui)};
    fuzz_true("memory", w.ui != NULL);
    weir_ui_init(w.ui);
    weir_ui_tick(w.ui, TICK_NS);
    w.doc = weir_json_doc_new(0);
    w.view = view_new(w.ui, (struct view_options){.is_quiet = false}, COLUMNS, ROWS);
    struct weir_sse *sse = weir_sse_new(&handlers, &w, NULL);
    fuzz_true("memory", w.doc && w.view && sse);
    (void)!weir_sse_feed(sse, data, size);
    check_frame(view_end(w.view));
    weir_sse_free(sse);
    view_free(w.view);
    weir_json_doc_free(w.doc);
    weir_ui_fini(w.ui);
    mem_free(w.ui);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned dialect = 0; dialect < N_DIALECTS; dialect++) run(dialect, data, size);
    return 0;
}
