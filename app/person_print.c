/* SPDX-License-Identifier: Apache-2.0 */
#include "person_print.h"

#include <stdio.h>
#include <unistd.h>

#include "output.h"
#include "term_tty.h"

static int print_text(const struct weir_json *v, person_text_fn text)
{
    struct weir_buf out;
    unsigned columns = 0;
    unsigned rows;
    weir_buf_init(&out, OUTPUT_LINE_MAX_BYTES);
    if (isatty(STDOUT_FILENO) == 1) tty_size(&columns, &rows);
    enum weir_status st = text(&out, v, columns);
    if (st == WEIR_OK) fwrite(out.ptr, 1, out.len, stdout);
    else fprintf(stderr, "weir: %s\n", weir_status_text(st));
    weir_buf_fini(&out);
    return st == WEIR_OK ? EXIT_DONE : EXIT_FAILED;
}

int person_print_list(const struct weir_json *list, person_text_fn text)
{
    struct weir_buf line;
    if (text) return print_text(list, text);
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        weir_json_put_value(&line, v);
        output_line(&line);
    }
    weir_buf_fini(&line);
    return EXIT_DONE;
}

int person_print_answer(struct weir_buf *json, person_text_fn text)
{
    const struct weir_json *v = NULL;
    if (!text) return output_json(weir_buf_slice(json)) ? EXIT_DONE : EXIT_FAILED;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, weir_buf_slice(json), &v, NULL) : WEIR_NOMEM;
    int exit_status = EXIT_FAILED;
    if (st == WEIR_OK) exit_status = print_text(v, text);
    else fprintf(stderr, "weir: the answer cannot be read: %s\n", weir_status_text(st));
    weir_json_doc_free(doc);
    return exit_status;
}
