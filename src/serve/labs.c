/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/labs: laboratory results as they were printed and as weir reads them. A result is a fact and
 * never changes, so its id is a hash of it: the same result has the same id whichever file brought
 * it, and again after everything was imported anew.
 */
#include "base/slice.h"
#include "data/catalogue.h"
#include "io/crypto.h"
#include "serve/data_impl.h"

enum {
    ID_BYTES = 16, /* of the hash */
    FACT_BYTES = 64 << 10,
};

static const char id_prefix[] = "lab_";

/* ---- a result ---- */

static void add(struct weir_buf *all, struct weir_slice text)
{
    weir_buf_printf(all, "%zu:", text.len);
    weir_buf_append_slice(all, text);
}

void lab_put_id(char out[LAB_ID_LEN + 1], const struct lab *l)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[SHA256_BYTES];
    struct weir_buf all;
    weir_buf_init(&all, FACT_BYTES);
    weir_buf_printf(&all, "%d,%.17g,%d,", l->day, l->value, l->comparator);
    add(&all, weir_slice_of(l->analyte ? l->analyte->name : ""));
    add(&all, l->label);
    add(&all, l->printed);
    add(&all, l->unit);
    add(&all, l->range);
    add(&all, l->flag);
    add(&all, l->source.name);
    sha256(weir_buf_slice(&all), hash);
    weir_buf_fini(&all);
    memcpy(out, id_prefix, sizeof id_prefix - 1);
    for (size_t i = 0; i < ID_BYTES; i++) {
        out[sizeof id_prefix - 1 + 2 * i] = digits[hash[i] >> 4];
        out[sizeof id_prefix + 2 * i] = digits[hash[i] & 15];
    }
    out[LAB_ID_LEN] = 0;
}

void lab_put(struct weir_buf *out, const struct lab *l)
{
    char id[LAB_ID_LEN + 1];
    lab_put_id(id, l);
    weir_json_put_begin_object(out);
    data_put_text(out, "id", weir_slice_of(id));
    data_put_text(out, "analyte", weir_slice_of(l->analyte ? l->analyte->name : ""));
    data_put_text(out, "title", weir_slice_of(l->analyte ? l->analyte->title : ""));
    data_put_text(out, "label", l->label);
    data_put_day(out, "date", l->day);
    weir_json_put_key(out, "value");
    weir_json_put_double(out, l->value);
    data_put_text(out, "comparator", slice_of(&l->comparator, l->comparator ? 1 : 0));
    data_put_text(out, "unit", l->unit);
    data_put_text(out, "printed", l->printed);
    data_put_text(out, "range", l->range);
    data_put_text(out, "flag", l->flag);
    data_put_text(out, "source", l->source.name);
    weir_json_put_end_object(out);
}

static bool has_id(const struct lab *l, const char *wanted)
{
    char id[LAB_ID_LEN + 1];
    lab_put_id(id, l);
    return strcmp(id, wanted) == 0;
}

/* ---- one ---- */

static enum weir_status put_one(struct data_asked *a, struct dataset *d)
{
    const struct lab *labs = NULL;
    size_t n = 0;
    enum weir_status st = dataset_labs(d, &labs, &n);
    if (st != WEIR_OK) return st;
    for (size_t i = 0; i < n; i++) {
        if (!has_id(&labs[i], a->word)) continue;
        lab_put(&a->json, &labs[i]);
        return WEIR_OK;
    }
    return data_refuse(a, WEIR_NO_LAB, "%s", weir_status_text(WEIR_NO_LAB));
}

void labs_get(struct exchange *ex)
{
    struct weir_slice id = exchange_param(ex, 0);
    if (id.len != LAB_ID_LEN) {
        exchange_error(ex, WEIR_NO_LAB, NULL);
        return;
    }
    struct data_asked *a = data_asked_new(ex);
    if (!a) return;
    memcpy(a->word, id.ptr, id.len);
    data_ask(a, put_one);
}

/* ---- all, the newest first ---- */

static enum weir_status put_page(struct data_asked *a, struct dataset *d)
{
    const struct lab *labs = NULL;
    const struct lab *last = NULL;
    size_t n = 0;
    size_t n_put = 0;
    char next[LAB_ID_LEN + 1];
    enum weir_status st = dataset_labs(d, &labs, &n);
    if (st != WEIR_OK) return st;
    while (a->word[0] && n > 0 && !has_id(&labs[n - 1], a->word)) n--;
    if (a->word[0] && n == 0)
        return data_refuse(a, WEIR_BAD_FIELD, "cursor is what next_cursor of a page says");
    if (a->word[0]) n--; /* it was on the page before */
    weir_json_put_begin_object(&a->json);
    weir_json_put_key(&a->json, "data");
    weir_json_put_begin_array(&a->json);
    for (; n > 0 && n_put < a->limit; n_put++) {
        last = &labs[--n];
        lab_put(&a->json, last);
    }
    weir_json_put_end_array(&a->json);
    weir_json_put_key(&a->json, "next_cursor");
    if (n > 0 && last) lab_put_id(next, last);
    weir_json_put_str(&a->json, n > 0 && last ? next : NULL);
    weir_json_put_end_object(&a->json);
    return WEIR_OK;
}

void labs_list(struct exchange *ex)
{
    struct weir_slice text;
    struct data_asked *a = data_asked_new(ex);
    if (!a) return;
    if (!document_take_limit(ex, &a->limit)) return;
    if (exchange_query(ex, "cursor", &text) && !data_take_word(ex, "cursor", a))
        exchange_error(ex, WEIR_BAD_FIELD, "cursor is what next_cursor of a page says");
    else data_ask(a, put_page);
}
