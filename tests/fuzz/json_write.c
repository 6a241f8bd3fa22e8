/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: whatever bytes a string has, and whatever is put in whatever
 * order, the output is JSON; and what was read is written so that it reads the
 * same again.
 */
#include <string.h>

#include <weir/json.h>

#include "fuzz/fuzz.h"
#include "oracle/json_slow.h"
#include "oracle/transcript.h"

enum { MAX_OPEN = 64 };

static void check_json(const struct weir_buf *out)
{
    size_t offset;
    fuzz_true("no failure", weir_buf_status(out) == WEIR_OK);
    fuzz_true("the output is JSON", json_slow_check(weir_buf_slice(out), 0, &offset) == WEIR_OK);
}

static void check_string(struct weir_slice input)
{
    struct weir_buf out;
    weir_buf_init(&out, 1 << 20);
    weir_json_put_string(&out, input);
    check_json(&out);
    weir_buf_fini(&out);
}

static void check_round_trip(struct weir_slice input)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    const struct weir_json *v;
    const struct weir_json *again;
    if (weir_json_parse(doc, input, &v, NULL) == WEIR_OK) {
        struct text first = {0};
        struct text second = {0};
        transcript_value(&first, v);
        fuzz_true("what is written reads",
                  weir_json_parse(doc, text_slice(&first), &again, NULL) == WEIR_OK);
        fuzz_true("and is the same", transcript_same(v, again, true));
        transcript_value(&second, again);
        fuzz_same("second writing", &second, &first);
        text_fini(&first);
        text_fini(&second);
    }
    weir_json_doc_free(doc);
}

struct program {
    struct weir_buf *out;
    struct weir_slice rest;
    char open[MAX_OPEN]; /* what closes each bracket */
    size_t n_open;
};

static unsigned char take_byte(struct program *p)
{
    if (p->rest.len == 0) return 0;
    p->rest.len--;
    return (unsigned char)*p->rest.ptr++;
}

static struct weir_slice take_text(struct program *p)
{
    size_t len = take_byte(p) % 8;
    if (len > p->rest.len) len = p->rest.len;
    struct weir_slice text = {p->rest.ptr, len};
    p->rest.ptr += len;
    p->rest.len -= len;
    return text;
}

static void put_scalar(struct program *p, unsigned char kind)
{
    uint64_t bits = 0;
    double x;
    for (int i = 0; i < 8; i++) bits = bits << 8 | take_byte(p);
    memcpy(&x, &bits, sizeof x);
    if (kind == 0) weir_json_put_int(p->out, (int64_t)bits);
    else if (kind == 1) weir_json_put_uint(p->out, bits);
    else if (kind == 2) weir_json_put_double(p->out, x);
    else if (kind == 3) weir_json_put_bool(p->out, bits & 1);
    else weir_json_put_null(p->out);
}

static void close_last(struct program *p)
{
    if (p->open[--p->n_open] == '}') weir_json_put_end_object(p->out);
    else weir_json_put_end_array(p->out);
}

static void step(struct program *p)
{
    unsigned char kind = take_byte(p) % 9;
    if (kind == 8) {
        if (p->n_open > 1) close_last(p);
        return;
    }
    if (p->open[p->n_open - 1] == '}') weir_json_put_key_slice(p->out, take_text(p));
    if (kind == 5) weir_json_put_string(p->out, take_text(p));
    else if (kind < 5) put_scalar(p, kind);
    else if (p->n_open == MAX_OPEN) weir_json_put_str(p->out, NULL);
    else if (kind == 6) weir_json_put_begin_object(p->out);
    else weir_json_put_begin_array(p->out);
    if (kind > 5 && p->n_open < MAX_OPEN) p->open[p->n_open++] = kind == 6 ? '}' : ']';
}

static void check_program(struct weir_slice input)
{
    struct weir_buf out;
    struct program p = {.out = &out, .rest = input, .open = "]", .n_open = 1};
    weir_buf_init(&out, 1 << 20);
    weir_json_put_begin_array(&out);
    while (p.rest.len > 0) step(&p);
    while (p.n_open > 0) close_last(&p);
    check_json(&out);
    weir_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice input = {(const char *)data, size};
    check_string(input);
    check_round_trip(input);
    check_program(input);
    return 0;
}
