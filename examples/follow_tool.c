/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a JSON value while it arrives, as a program would that wants to act on a
 * tool's input before it is whole: one line after each piece, what is there so far.
 *
 *     follow_tool < examples/tool_input.json
 */
#include <stdio.h>
#include <unistd.h>

#include <weir/json.h>

enum { PIECE_BYTES = 12, LINE_MAX_BYTES = 1 << 20 };

static void print_value(struct weir_buf *line, const struct weir_json *value)
{
    weir_buf_reset(line);
    weir_json_put_value(line, value);
    if (weir_buf_status(line) == WEIR_OK) printf("%.*s\n", (int)line->len, line->ptr);
}

int main(void)
{
    struct weir_buf line;
    weir_buf_init(&line, LINE_MAX_BYTES);
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *reader = doc ? weir_json_reader_new(doc, 0) : NULL;
    enum weir_status st = reader ? WEIR_OK : WEIR_NOMEM;
    char bytes[PIECE_BYTES];
    ssize_t n;
    while (st == WEIR_OK && (n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
        st = weir_json_reader_feed(reader, bytes, (size_t)n);
        print_value(&line, weir_json_reader_value(reader));
    }
    if (st == WEIR_OK) st = weir_json_reader_end(reader);
    if (st != WEIR_OK) fprintf(stderr, "follow_tool: %s\n", weir_status_text(st));
    weir_json_reader_free(reader);
    weir_json_doc_free(doc);
    weir_buf_fini(&line);
    return st != WEIR_OK;
}
