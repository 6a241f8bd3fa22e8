/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the type and the data of each event of a stream on standard input.
 *
 *     curl -sN https://example.org/events | sse_cat
 */
#include <stdio.h>
#include <unistd.h>

#include <weir/sse.h>

static void print_event(void *user, const struct weir_sse_event *event)
{
    FILE *out = user;
    fprintf(out, "[%.*s] ", (int)event->type.len, event->type.ptr);
    fwrite(event->data.ptr, 1, event->data.len, out);
    fputc('\n', out);
    fflush(out);
}

int main(void)
{
    const struct weir_sse_handlers handlers = {.on_event = print_event};
    struct weir_sse *decoder = weir_sse_new(&handlers, stdout, NULL);
    enum weir_status st = decoder ? WEIR_OK : WEIR_NOMEM;
    char bytes[4096];
    ssize_t n;
    while (st == WEIR_OK && (n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0)
        st = weir_sse_feed(decoder, bytes, (size_t)n);
    weir_sse_free(decoder);
    if (st != WEIR_OK) fprintf(stderr, "sse_cat: %s\n", weir_status_text(st));
    return st != WEIR_OK;
}
