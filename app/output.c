/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "term_text.h"

static int first_error;

static void keep_error(bool is_failed)
{
    if (is_failed && first_error == 0) first_error = errno;
}

void output_line(struct weir_buf *line)
{
    weir_buf_append_char(line, '\n');
    if (weir_buf_status(line) != WEIR_OK) {
        errno = weir_buf_status(line) == WEIR_NOMEM ? ENOMEM : EMSGSIZE;
        keep_error(true);
    } else {
        keep_error(fwrite(line->ptr, 1, line->len, stdout) < line->len);
    }
    weir_buf_reset(line);
}

void output_label(struct weir_slice text, unsigned columns)
{
    struct weir_buf clean;
    weir_buf_init(&clean, OUTPUT_LINE_MAX_BYTES);
    term_clean_label(&clean, text);
    unsigned width = weir_buf_status(&clean) == WEIR_OK ? term_width(weir_buf_slice(&clean)) : 0;
    for (; width < columns; width++) weir_buf_append_char(&clean, ' ');
    keep_error(clean.len > 0 && fwrite(clean.ptr, 1, clean.len, stdout) < clean.len);
    weir_buf_fini(&clean);
}

bool output_flush(void)
{
    keep_error(fflush(stdout) != 0);
    return first_error == 0;
}

int output_error(void)
{
    return first_error;
}

bool output_finish(void)
{
    if (output_flush()) return true;
    fprintf(stderr, "weir: the output is not whole: %s\n", strerror(first_error));
    return false;
}
