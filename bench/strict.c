/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON: text to values. 20,000 objects of about 200 bytes with a reset of
 * the document between them, and one document of 200 KB many times over. jansson
 * is measured on the same texts when it was there at build time.
 */
#include <string.h>

#include <weir/json.h>

#ifdef HAVE_JANSSON
#include <jansson.h>
#endif

#include "bench.h"

enum { DOC_REPEATS = 20 };

/* One document for all runs, as a program would keep it. */
static struct weir_json_doc *doc;

static const struct weir_json *parse(struct weir_slice text)
{
    const struct weir_json *v;
    weir_json_doc_reset(doc);
    bench_need(weir_json_parse(doc, text, &v, NULL) == WEIR_OK, "the parser failed");
    return v;
}

static struct weir_slice take_line(struct weir_slice *rest)
{
    const char *end = memchr(rest->ptr, '\n', rest->len);
    bench_need(end != NULL, "a line has no end");
    struct weir_slice line = {rest->ptr, (size_t)(end - rest->ptr)};
    rest->ptr = end + 1;
    rest->len -= line.len + 1;
    return line;
}

static void run_lines(struct bench_case *c)
{
    struct weir_slice rest = c->text;
    c->count = 0;
    c->check = 0;
    while (rest.len > 0) {
        c->check += (uint32_t)weir_json_count(parse(take_line(&rest)));
        c->count++;
    }
}

static void run_doc(struct bench_case *c)
{
    c->count = 0;
    c->check = 0;
    for (int i = 0; i < DOC_REPEATS; i++) {
        c->check += (uint32_t)weir_json_count(weir_json_get_str(parse(c->text), "events"));
        c->count++;
    }
}

/* Written back, every value must be the text it came from. */
static void check_round_trip(struct weir_slice text, struct weir_buf *out)
{
    weir_buf_reset(out);
    weir_json_put_value(out, parse(text));
    bench_need(weir_buf_status(out) == WEIR_OK && out->len == text.len &&
                   memcmp(out->ptr, text.ptr, text.len) == 0,
               "a value is not what its text said");
}

static void check_all(struct weir_slice lines, struct weir_slice whole)
{
    struct weir_buf out;
    weir_buf_init(&out, (size_t)1 << 30);
    check_round_trip(whole, &out);
    while (lines.len > 0) check_round_trip(take_line(&lines), &out);
    weir_buf_fini(&out);
}

#ifdef HAVE_JANSSON
static void run_lines_jansson(struct bench_case *c)
{
    struct weir_slice rest = c->text;
    c->count = 0;
    c->check = 0;
    while (rest.len > 0) {
        struct weir_slice line = take_line(&rest);
        json_t *v = json_loadb(line.ptr, line.len, 0, NULL);
        bench_need(v != NULL, "jansson failed");
        c->check += (uint32_t)json_object_size(v);
        c->count++;
        json_decref(v);
    }
}

static void run_doc_jansson(struct bench_case *c)
{
    c->count = 0;
    c->check = 0;
    for (int i = 0; i < DOC_REPEATS; i++) {
        json_t *v = json_loadb(c->text.ptr, c->text.len, 0, NULL);
        bench_need(v != NULL, "jansson failed");
        c->check += (uint32_t)json_array_size(json_object_get(v, "events"));
        c->count++;
        json_decref(v);
    }
}
#endif

int main(int argc, char **argv)
{
    bench_need(argc >= 2, "usage: bench-strict DATA_DIRECTORY [--once]");
    struct weir_slice lines = bench_load(argv[1], "small.ndjson");
    struct weir_slice whole = bench_load(argv[1], "doc_200k.json");
    size_t doc_bytes = whole.len * DOC_REPEATS;
    doc = weir_json_doc_new(0);
    bench_need(doc != NULL, "no memory");
    struct bench_case cases[] = {
        {.name = "strict/200b", .run = run_lines, .text = lines},
        {.name = "strict/200k", .run = run_doc, .text = whole, .bytes = doc_bytes},
#ifdef HAVE_JANSSON
        {.name = "strict/200b-jansson", .run = run_lines_jansson, .text = lines},
        {.name = "strict/200k-jansson", .run = run_doc_jansson, .text = whole, .bytes = doc_bytes},
#endif
    };
    if (bench_flag(argc, argv, "--once")) {
        cases[0].name = "strict/once";
        bench_verify(&cases[0]);
        return 0;
    }
    check_all(lines, whole);
    bench_run(cases, sizeof cases / sizeof cases[0], 15);
    bench_report(cases, sizeof cases / sizeof cases[0]);
    weir_json_doc_free(doc);
    return 0;
}
