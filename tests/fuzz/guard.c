/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON in all forms of requests, and any text cut into the blocks of a message: what is
 * redacted has nothing left to find, passes the last look, and comes back as the same value.
 *
 * Two values are the same if they differ only in how JSON inside of strings is written, and in
 * numbers that have become texts. What is in base64 does not come back and is left out.
 */
#include "shield/guard.h"

#include <string.h>

#include "base/slice.h"
#include "fuzz/fuzz.h"
#include "shield/guard_impl.h"

static struct shield_policy *policy;

static void make_policy(void)
{
    static const char text[] =
        "{\"attachments\":\"send\",\"terms\":[{\"label\":\"project\",\"term\":"
        "\"blue heron\"}],\"patterns\":[{\"label\":\"ticket\",\"pattern\":"
        "\"TCK-[0-9]{2,4}\"}]}";
    char error[SHIELD_ERROR_BYTES];
    fuzz_true("policy", shield_policy_parse(&policy, weir_slice_of(text), "p", error) == WEIR_OK);
}

static void add_value(struct text *out, const struct weir_json *v, unsigned depth, unsigned nested);

static void add_text(struct text *out, struct weir_slice s, unsigned depth, unsigned nested)
{
    struct weir_json_doc *doc = NULL;
    const struct weir_json *inside = NULL;
    if (nested < GUARD_NESTED) fuzz_true("memory", guard_nested(&doc, s, &inside) == WEIR_OK);
    if (inside) {
        text_add(out, "J", 1);
        add_value(out, inside, depth + 1, nested + 1);
    } else {
        text_quote(out, s);
    }
    weir_json_doc_free(doc);
}

static void add_value(struct text *out, const struct weir_json *v, unsigned depth, unsigned nested)
{
    enum weir_json_type type = weir_json_type_of(v);
    if (type == WEIR_JSON_STRING) {
        add_text(out, weir_json_text(v), depth, nested);
        return;
    }
    if (type == WEIR_JSON_NUMBER) {
        text_quote(out, weir_json_text(v));
        return;
    }
    text_printf(out, "%d(", (int)type);
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m)) {
        text_quote(out, weir_json_key(m));
        text_add(out, ":", 1);
        add_value(out, m, depth + 1, nested);
        text_add(out, ",", 1);
    }
    text_add(out, ")", 1);
}

static bool has(struct weir_slice text, const char *what)
{
    return memmem(text.ptr, text.len, what, strlen(what)) != NULL;
}

static void check_nothing_left(const struct guard *g, enum guard_form form,
                               const struct weir_json *redacted, struct weir_slice body)
{
    struct guard_report report;
    enum shield_category category;
    guard_report_init(&report);
    fuzz_true("looking again", guard_find(g, form, redacted, &report) == WEIR_OK);
    if (report.n > 0)
        fuzz_same("left", &(struct text){report.findings.ptr, report.findings.len, 0},
                  &(struct text){body.ptr ? (char *)(uintptr_t)body.ptr : NULL, body.len, 0});
    guard_report_fini(&report);
    if (form != GUARD_VALUE) fuzz_true("the last look", guard_check(g, body, &category) == WEIR_OK);
}

static void check_way_back(const struct guard *g, const struct weir_json *request,
                           struct weir_slice body)
{
    struct weir_buf back;
    const struct weir_json *restored;
    struct text was = {0}, is = {0};
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&back, 1 << 26);
    fuzz_true("restoring", guard_restore(g, body, &back) == WEIR_OK);
    fuzz_true("JSON", weir_json_parse(doc, weir_buf_slice(&back), &restored, NULL) == WEIR_OK);
    add_value(&was, request, 0, 0);
    add_value(&is, restored, 0, 0);
    fuzz_same("way back", &is, &was);
    text_fini(&was);
    text_fini(&is);
    weir_buf_fini(&back);
    weir_json_doc_free(doc);
}

static void check(enum guard_form form, struct weir_slice json)
{
    struct weir_buf out;
    const struct weir_json *request, *redacted;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&out, 1 << 26);
    struct guard *g = guard_new(policy);
    if (weir_json_parse(doc, json, &request, NULL) == WEIR_OK) {
        enum weir_status st = guard_redact(g, form, request, &out, NULL);
        fuzz_true("redacting", st == WEIR_OK || st == WEIR_FORBIDDEN || st == WEIR_LIMIT);
        if (st == WEIR_OK) {
            struct weir_slice body = weir_buf_slice(&out);
            fuzz_true("JSON", weir_json_parse(doc, body, &redacted, NULL) == WEIR_OK);
            check_nothing_left(g, form, redacted, body);
            bool has_bytes = has(json, "dat") || has(json, "url") || has(json, "\\u");
            if (form == GUARD_VALUE || !has_bytes) check_way_back(g, request, body);
        }
    }
    guard_free(g);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

/* The text as blocks of one message. */
static void check_cut(struct weir_slice text, struct cut *cut)
{
    struct weir_buf json;
    struct weir_slice piece;
    weir_buf_init(&json, 1 << 26);
    weir_buf_append_str(&json, "[{\"role\":\"user\",\"content\":[");
    for (bool is_first = true; cut_take(cut, &text, &piece); is_first = false) {
        weir_buf_append_str(&json, is_first ? "{\"type\":\"text\",\"text\":"
                                            : ",{\"type\":\"text\",\"text\":");
        weir_json_put_string(&json, piece);
        weir_buf_append_char(&json, '}');
    }
    weir_buf_append_str(&json, "]}]");
    check(GUARD_MESSAGES, weir_buf_slice(&json));
    weir_buf_fini(&json);
    cut_fini(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    if (!policy) make_policy();
    if (!fuzz_input(data, size, &cut, &input) || input.len > 4096) return 0;
    for (int form = GUARD_MESSAGES; form <= GUARD_VALUE; form++)
        check((enum guard_form)form, input);
    if (input.len > 0) check_cut(input, &cut);
    else cut_fini(&cut);
    return 0;
}
