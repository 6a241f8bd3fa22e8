/* SPDX-License-Identifier: Apache-2.0 */
/* Runs our reader of HTTP; see http.h. */
#include "oracle/http.h"

#include <stdlib.h>
#include <string.h>

struct run {
    struct http_reader reader;
    struct http_head head;
    struct text *out;
    struct text body;
    char *bytes; /* unread, in memory just as large */
    size_t len;
    bool is_in_body;
};

static void need(bool claim)
{
    if (!claim) abort();
}

static void replace(struct run *run, size_t n_drop, struct weir_slice add)
{
    size_t len = run->len - n_drop + add.len;
    char *bytes = malloc(len);
    need(bytes || len == 0);
    if (run->len > n_drop) memcpy(bytes, run->bytes + n_drop, run->len - n_drop);
    if (add.len > 0) memcpy(bytes + len - add.len, add.ptr, add.len);
    free(run->bytes);
    run->bytes = bytes;
    run->len = len;
}

static void write_head(struct text *out, const struct http_head *head)
{
    text_printf(out, "request %.*s ", (int)head->method_text.len, head->method_text.ptr);
    text_quote(out, head->target);
    text_printf(out, " 1.%d\n", head->minor);
    for (unsigned i = 0; i < head->n_fields; i++) {
        text_add_char(out, ' ');
        text_quote(out, head->fields[i].name);
        text_add_char(out, ' ');
        text_quote(out, head->fields[i].value);
        text_add_char(out, '\n');
    }
    text_printf(out, "+ host ");
    text_quote(out, head->host);
    text_printf(out, " path ");
    text_quote(out, head->path);
    text_printf(out, " query ");
    text_quote(out, head->query);
    if (head->method == HTTP_OTHER) text_printf(out, " other");
    if (head->keep_alive) text_printf(out, " keep-alive");
    if (head->expects_continue) text_printf(out, " continue");
    need(head->has_body == (head->is_chunked || head->content_length > 0));
    if (head->is_chunked) text_printf(out, " chunked");
    else if (head->has_body)
        text_printf(out, " length %llu", (unsigned long long)head->content_length);
    text_add_char(out, '\n');
}

static enum http_result take_head(struct run *run)
{
    size_t used = 1;
    enum http_result result =
        http_read_head(&run->reader, (struct weir_slice){run->bytes, run->len}, &run->head, &used);
    if (result == HTTP_DONE) {
        need(used > 0 && used <= run->len);
        write_head(run->out, &run->head);
        run->is_in_body = true;
        replace(run, used, (struct weir_slice){"", 0});
    }
    return result;
}

static enum http_result take_body(struct run *run)
{
    size_t used = run->len + 1;
    struct weir_slice data = {NULL, 1};
    enum http_result result =
        http_read_body(&run->reader, (struct weir_slice){run->bytes, run->len}, &used, &data);
    need(used <= run->len);
    need((data.len > 0) == (result == HTTP_DATA));
    if (result == HTTP_DATA) {
        need(data.ptr >= run->bytes && data.ptr + data.len <= run->bytes + used);
        text_add(&run->body, data.ptr, data.len);
    }
    replace(run, used, (struct weir_slice){"", 0});
    if (result == HTTP_DONE) {
        text_printf(run->out, "body ");
        text_quote(run->out, text_slice(&run->body));
        text_printf(run->out, "\nend\n");
        run->body.len = 0;
        run->is_in_body = false;
    }
    return result;
}

/* False when the reader has failed. */
static bool take_all(struct run *run)
{
    for (;;) {
        enum http_result result = run->is_in_body ? take_body(run) : take_head(run);
        if (result == HTTP_ERROR) return false;
        if (result == HTTP_MORE) return true;
    }
}

/* An error stays, with its reason, whatever is asked. */
static void check_error_stays(struct run *run)
{
    struct http_reader *r = &run->reader;
    enum weir_status error = r->error;
    const char *reason = r->reason;
    size_t used;
    struct weir_slice data, more = {"GET / HTTP/1.1\r\n\r\n", 18};
    need(error != WEIR_OK && *reason);
    need(http_read_head(r, more, &run->head, &used) == HTTP_ERROR && used == 0);
    need(http_read_body(r, more, &used, &data) == HTTP_ERROR && used == 0 && data.len == 0);
    need(r->error == error && r->reason == reason);
}

enum weir_status http_transcript(struct text *out, struct weir_slice input, struct cut *cut,
                                 const struct http_limits *limits, size_t *n_fed)
{
    struct weir_slice rest = input, piece;
    struct run *run = calloc(1, sizeof *run);
    bool is_good = true;
    need(run != NULL);
    run->out = out;
    http_reader_init(&run->reader, limits);
    while (is_good && cut_take(cut, &rest, &piece)) {
        replace(run, 0, piece);
        is_good = take_all(run);
    }
    if (n_fed) *n_fed = input.len - rest.len;
    enum weir_status error = run->reader.error;
    need(is_good == (error == WEIR_OK));
    if (!is_good) check_error_stays(run);
    if (!is_good) text_printf(out, "error %s: %s\n", weir_status_name(error), run->reader.reason);
    else text_printf(out, run->is_in_body || run->len > 0 ? "more\n" : "idle\n");
    cut_fini(cut);
    text_fini(&run->body);
    free(run->bytes);
    free(run);
    return error;
}
