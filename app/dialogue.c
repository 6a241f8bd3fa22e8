/* SPDX-License-Identifier: Apache-2.0 */
#include "dialogue.h"

#include <string.h>

#include "base/slice.h"

static const char head[] = "{\"messages\":[";
static const char tail[] = "]}";

static void put_message(struct weir_buf *out, const char *role, struct weir_slice text)
{
    weir_buf_printf(out, "{\"role\":\"%s\",\"content\":", role);
    weir_json_put_string(out, text);
    weir_buf_append_char(out, '}');
}

static void drop_oldest(struct dialogue *d)
{
    weir_buf_fini(&d->pairs[0]);
    d->n--;
    d->n_forgotten++;
    memmove(d->pairs, d->pairs + 1, d->n * sizeof *d->pairs);
}

void dialogue_fini(struct dialogue *d)
{
    while (d->n > 0) drop_oldest(d);
    d->n_forgotten = 0;
}

enum weir_status dialogue_add(struct dialogue *d, struct weir_slice question,
                              struct weir_slice answer)
{
    struct weir_buf pair;
    weir_buf_init(&pair, DIALOGUE_REQUEST_BYTES);
    put_message(&pair, "user", question);
    weir_buf_append_char(&pair, ',');
    put_message(&pair, "assistant", answer);
    weir_buf_append_char(&pair, ',');
    enum weir_status st = weir_buf_status(&pair);
    if (st != WEIR_OK) {
        weir_buf_fini(&pair);
        return st;
    }
    if (d->n == DIALOGUE_PAIRS) drop_oldest(d);
    d->pairs[d->n++] = pair;
    return WEIR_OK;
}

enum weir_status dialogue_request(const struct dialogue *d, struct weir_slice question,
                                  struct weir_buf *out, size_t *n_left_out)
{
    struct weir_buf last;
    weir_buf_init(&last, DIALOGUE_REQUEST_BYTES);
    put_message(&last, "user", question);
    enum weir_status st = weir_buf_status(&last);
    size_t len = sizeof head - 1 + last.len + sizeof tail - 1;
    if (st == WEIR_OK && len > DIALOGUE_REQUEST_BYTES) st = WEIR_LIMIT;
    size_t first = d->n;
    while (first > 0 && len + d->pairs[first - 1].len <= DIALOGUE_REQUEST_BYTES)
        len += d->pairs[--first].len;
    weir_buf_append_str(out, head);
    for (size_t i = first; i < d->n; i++) weir_buf_append_slice(out, weir_buf_slice(&d->pairs[i]));
    weir_buf_append_slice(out, weir_buf_slice(&last));
    weir_buf_append_str(out, tail);
    weir_buf_fini(&last);
    *n_left_out = first + d->n_forgotten;
    return st == WEIR_OK ? weir_buf_status(out) : st;
}
