/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "term_text.h"

enum { ERROR_BYTES = 8 << 10 };

static int first_error;

static void keep_error(bool is_failed)
{
    if (is_failed && first_error == 0) first_error = errno;
}

/* DEL and the controls of C1, marks of width, lines and direction, and the byte order mark. */
static bool is_hidden(unsigned code)
{
    return (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xFEFF;
}

/* The length of the hidden character that the text begins with; 0: it begins with another. */
static size_t hidden_len(const unsigned char *p, size_t left, unsigned *code)
{
    size_t len = p[0] == 0xC2 ? 2 : p[0] == 0xE2 || p[0] == 0xEF ? 3 : 1;
    if (len > left || (len == 1 && p[0] != 0x7F)) return 0;
    *code = p[0];
    if (len == 2) *code = p[1];
    if (len == 3) *code = (p[0] & 0x0FU) << 12 | (p[1] & 0x3FU) << 6 | (p[2] & 0x3FU);
    return is_hidden(*code) ? len : 0;
}

static void write_visible(struct weir_slice text)
{
    size_t done = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned code;
        if ((unsigned char)text.ptr[i] < 0x7F) continue;
        size_t len = hidden_len((const unsigned char *)text.ptr + i, text.len - i, &code);
        if (len == 0) continue;
        keep_error(fwrite(text.ptr + done, 1, i - done, stdout) < i - done);
        keep_error(printf("\\u%04x", code) < 0);
        done = i + len;
        i = done - 1;
    }
    keep_error(fwrite(text.ptr + done, 1, text.len - done, stdout) < text.len - done);
}

void output_line(struct weir_buf *line)
{
    weir_buf_append_char(line, '\n');
    if (weir_buf_status(line) != WEIR_OK) {
        errno = weir_buf_status(line) == WEIR_NOMEM ? ENOMEM : EMSGSIZE;
        keep_error(true);
    } else {
        write_visible(weir_buf_slice(line));
    }
    weir_buf_reset(line);
}

bool output_json(struct weir_slice json)
{
    struct weir_buf line;
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    enum weir_status st = doc ? weir_json_parse(doc, json, &v, NULL) : WEIR_NOMEM;
    weir_buf_init(&line, OUTPUT_LINE_MAX_BYTES);
    if (st == WEIR_OK) {
        weir_json_put_value(&line, v);
        output_line(&line);
    } else {
        fprintf(stderr, "weir: the answer cannot be read: %s\n", weir_status_text(st));
    }
    if (line.ptr) explicit_bzero(line.ptr, line.cap); /* a key may have been in it */
    weir_buf_fini(&line);
    weir_json_doc_free(doc);
    return st == WEIR_OK;
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

static bool is_c1(const char *bytes)
{
    return (unsigned char)bytes[0] == 0xc2 && (bytes[1] & 0xe0) == 0x80;
}

/* What the terminal would obey: C0, DEL, and both bytes of C1. */
static bool is_harmful(const char *bytes, size_t i, size_t len)
{
    unsigned char c = (unsigned char)bytes[i];
    if (c == '\033') return len - i < 3 || memcmp(bytes + i, "\033[K", 3) != 0;
    if (c < 0x20) return c != '\n' && c != '\t' && c != '\r';
    return c == 0x7f || (i > 0 && is_c1(bytes + i - 1)) || (i + 1 < len && is_c1(bytes + i));
}

static ssize_t write_errors(void *unused, const char *bytes, size_t len)
{
    char piece[ERROR_BYTES];
    size_t n = len < sizeof piece ? len : sizeof piece;
    (void)unused;
    for (size_t i = 0; i < n; i++) piece[i] = is_harmful(bytes, i, n) ? '?' : bytes[i];
    return write(STDERR_FILENO, piece, n);
}

void output_guard_errors(void)
{
    FILE *guarded = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_errors});
    if (!guarded) return;
    setvbuf(guarded, NULL, _IONBF, 0);
    stderr = guarded;
}

void output_complaint(const char *text)
{
    struct weir_buf clean;
    weir_buf_init(&clean, OUTPUT_LINE_MAX_BYTES);
    term_clean_label(&clean, weir_slice_of(text));
    fprintf(stderr, "%.*s", (int)clean.len, clean.len > 0 ? clean.ptr : "");
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
