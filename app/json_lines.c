/* SPDX-License-Identifier: Apache-2.0 */
/* Reading lines of JSON and writing the answers. */
#include "json_lines.h"

#include <stdio.h>

#include "command.h"
#include "output.h"

enum { LINE_BYTES = 256 << 20 };

struct lines {
    lines_answer_fn answer;
    void *user;
    struct weir_json_doc *doc;
    struct weir_buf line, members, out;
};

/* The next line of standard input without its end; false when there is none. */
static bool read_line(struct weir_buf *line)
{
    int ch = getc(stdin);
    weir_buf_reset(line);
    if (ch == EOF) return false;
    for (; ch != EOF && ch != '\n'; ch = getc(stdin)) weir_buf_append_char(line, (char)ch);
    return weir_buf_status(line) == WEIR_OK;
}

static bool answer_line(struct lines *l)
{
    const struct weir_json *v;
    char error[LINES_ERROR_BYTES] = "";
    size_t offset = 0;
    weir_buf_reset(&l->members);
    bool is_json = weir_json_parse(l->doc, weir_buf_slice(&l->line), &v, &offset) == WEIR_OK;
    if (!is_json) snprintf(error, sizeof error, "not JSON, at byte %zu", offset);
    bool is_right = is_json && l->answer(l->user, v, &l->members, error);
    weir_json_put_begin_object(&l->out);
    weir_json_put_key(&l->out, "id");
    weir_json_put_value(&l->out, weir_json_get_str(v, "id"));
    if (is_right) {
        weir_buf_append_char(&l->out, ',');
        weir_buf_append_slice(&l->out, weir_buf_slice(&l->members));
    } else {
        weir_json_put_key(&l->out, "error");
        weir_json_put_str(&l->out, error);
    }
    weir_json_put_end_object(&l->out);
    weir_json_doc_reset(l->doc);
    return is_right;
}

int lines_answer(lines_answer_fn answer, void *user)
{
    struct lines l = {.answer = answer, .user = user, .doc = weir_json_doc_new(0)};
    bool is_right = l.doc != NULL;
    weir_buf_init(&l.line, LINE_BYTES);
    weir_buf_init(&l.members, OUTPUT_LINE_MAX_BYTES);
    weir_buf_init(&l.out, OUTPUT_LINE_MAX_BYTES);
    while (l.doc && read_line(&l.line)) {
        if (l.line.len == 0) continue;
        is_right = answer_line(&l) && is_right;
        output_line(&l.out);
    }
    if (weir_buf_status(&l.line) != WEIR_OK) {
        fputs("weir: a line is longer than 256 MiB; it and what follows is not answered\n", stderr);
        is_right = false;
    }
    weir_buf_fini(&l.out);
    weir_buf_fini(&l.members);
    weir_buf_fini(&l.line);
    weir_json_doc_free(l.doc);
    return output_finish() && is_right ? EXIT_DONE : EXIT_FAILED;
}
