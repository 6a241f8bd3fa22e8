/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An organisation's policy from its file. Strict: a member that is misspelled would be a protection
 * that is not there, so nothing unknown is taken, and whatever is wrong is said with its place.
 */
#include "shield/policy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <weir/json.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "io/file.h"

enum { VALUE_BYTES = 64 << 20 }; /* of a file's values in memory */

struct shield_policy {
    enum pii_action action;
    enum pii_scope scope;
    bool sends_attachments;
    struct shield_rules *rules;
    char labels[POLICY_MAX_LABELS][SHIELD_LABEL_BYTES + 1];
    size_t n_labels;
};

/* Where in the file one is, for messages. */
struct policy_reader {
    struct shield_policy *policy;
    const char *name;
    char *error;
};

static const char *const action_names[] = {
    [PII_OFF] = "off", [PII_ASK] = "ask", [PII_REDACT] = "auto_redact", [PII_BLOCK] = "block"};

bool pii_action_parse(struct weir_slice text, enum pii_action *out)
{
    for (int i = PII_OFF; i <= PII_BLOCK; i++) {
        if (!weir_slice_is(text, action_names[i])) continue;
        *out = (enum pii_action)i;
        return true;
    }
    return false;
}

const char *pii_action_name(enum pii_action action)
{
    return action_names[action];
}

struct shield_policy *shield_policy_default(void)
{
    struct shield_policy *p = mem_zalloc(sizeof *p);
    if (!p) return NULL;
    p->action = PII_REDACT;
    p->scope = PII_EXTERNAL;
    p->rules = shield_rules_new();
    if (p->rules) return p;
    mem_free(p);
    return NULL;
}

void shield_policy_free(struct shield_policy *p)
{
    if (!p) return;
    shield_rules_free(p->rules);
    mem_free(p);
}

enum pii_action shield_policy_action(const struct shield_policy *p)
{
    return p->action;
}

enum pii_scope shield_policy_scope(const struct shield_policy *p)
{
    return p->scope;
}

bool shield_policy_sends_attachments(const struct shield_policy *p)
{
    return p->sends_attachments;
}

const struct shield_rules *shield_policy_rules(const struct shield_policy *p)
{
    return p->rules;
}

const char *shield_policy_label(const struct shield_policy *p, size_t i)
{
    return i < p->n_labels ? p->labels[i] : NULL;
}

/* ---- the file ---- */

/* Names of members may be anything, and a message goes to a terminal. */
static void make_printable(char *text)
{
    text[utf8_valid_prefix(weir_slice_of(text))] = 0;
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7F) *text = '?';
}

__attribute__((format(printf, 2, 3))) static enum weir_status bad(struct policy_reader *r,
                                                                  const char *format, ...)
{
    va_list args;
    int len = snprintf(r->error, SHIELD_ERROR_BYTES, "%s: ", r->name);
    va_start(args, format);
    if (len > 0 && len < SHIELD_ERROR_BYTES)
        vsnprintf(r->error + len, (size_t)(SHIELD_ERROR_BYTES - len), format, args);
    va_end(args);
    make_printable(r->error);
    return WEIR_BAD_FIELD;
}

static enum weir_status unknown_member(struct policy_reader *r, const char *place,
                                       struct weir_slice key)
{
    return bad(r, "%s has no member \"%.*s\"", place, (int)(key.len < 40 ? key.len : 40),
               key.ptr ? key.ptr : "");
}

/* A string that can be given to functions that end at a NUL; false: it is none. */
static bool take_label(const struct weir_json *v, char out[SHIELD_LABEL_BYTES + 1])
{
    struct weir_slice text = weir_json_text(v);
    if (weir_json_type_of(v) != WEIR_JSON_STRING || text.len == 0 || text.len > SHIELD_LABEL_BYTES)
        return false;
    if (memchr(text.ptr, 0, text.len)) return false;
    memcpy(out, text.ptr, text.len);
    out[text.len] = 0;
    return true;
}

/*
 * A label becomes the name of placeholders. One that is a category's would let an own term and,
 * say, an address share numbers; that is allowed, for they never share a value. "text" is taken.
 */
static enum weir_status note_label(struct policy_reader *r, const char *label)
{
    struct shield_policy *p = r->policy;
    if (strcmp(label, "text") == 0) return bad(r, "the label \"text\" is taken");
    for (size_t i = 0; i < p->n_labels; i++)
        if (strcmp(p->labels[i], label) == 0) return WEIR_OK;
    if (p->n_labels == POLICY_MAX_LABELS)
        return bad(r, "there are more than %d labels", POLICY_MAX_LABELS);
    snprintf(p->labels[p->n_labels++], SHIELD_LABEL_BYTES + 1, "%s", label);
    return WEIR_OK;
}

typedef enum weir_status (*add_rule_fn)(struct shield_rules *, const char *, struct weir_slice,
                                        char *);

/* A list of own rules: its name, what the rule is called in each, and who takes them. */
struct rule_list {
    const char *list, *member;
    add_rule_fn add;
};

static enum weir_status read_rule(struct policy_reader *r, const struct rule_list *l, size_t at,
                                  const struct weir_json *v)
{
    char place[48], label[SHIELD_LABEL_BYTES + 1], why[SHIELD_ERROR_BYTES] = "";
    const struct weir_json *rule = weir_json_get_str(v, l->member);
    snprintf(place, sizeof place, "%s[%zu]", l->list, at);
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m)) {
        struct weir_slice key = weir_json_key(m);
        if (!weir_slice_is(key, "label") && !weir_slice_is(key, l->member))
            return unknown_member(r, place, key);
    }
    if (!take_label(weir_json_get_str(v, "label"), label))
        return bad(r, "%s.label has to be a text of 1 to %d bytes", place, SHIELD_LABEL_BYTES);
    if (weir_json_type_of(rule) != WEIR_JSON_STRING)
        return bad(r, "%s.%s has to be a text", place, l->member);
    enum weir_status st = l->add(r->policy->rules, label, weir_json_text(rule), why);
    if (st == WEIR_OK) return note_label(r, label);
    if (st == WEIR_NOMEM) return st;
    return bad(r, "%s: %s", place, why[0] ? why : weir_status_text(st));
}

static enum weir_status read_rules(struct policy_reader *r, const struct rule_list *l,
                                   const struct weir_json *list)
{
    size_t at = 0;
    if (weir_json_type_of(list) != WEIR_JSON_ARRAY)
        return bad(r, "%s has to be a list of {\"label\", \"%s\"}", l->list, l->member);
    for (const struct weir_json *v = weir_json_first(list); v; v = weir_json_next(v)) {
        enum weir_status st = read_rule(r, l, at++, v);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static enum weir_status read_action(struct policy_reader *r, const struct weir_json *v)
{
    if (weir_json_type_of(v) == WEIR_JSON_STRING &&
        pii_action_parse(weir_json_text(v), &r->policy->action))
        return WEIR_OK;
    return bad(r, "piiAction is one of \"ask\", \"auto_redact\", \"block\", \"off\"");
}

/* One of two words; the second sets the flag. */
static enum weir_status read_word(struct policy_reader *r, const struct weir_json *v,
                                  const char *const words[3], bool *is_second)
{
    *is_second = weir_slice_is(weir_json_text(v), words[2]);
    bool is_right = *is_second || weir_slice_is(weir_json_text(v), words[1]);
    if (weir_json_type_of(v) == WEIR_JSON_STRING && is_right) return WEIR_OK;
    return bad(r, "%s is \"%s\" or \"%s\"", words[0], words[1], words[2]);
}

static enum weir_status read_member(struct policy_reader *r, const struct weir_json *m)
{
    static const struct rule_list terms = {"terms", "term", shield_rules_add_term};
    static const struct rule_list patterns = {"patterns", "pattern", shield_rules_add_pattern};
    static const char *const scopes[] = {"scope", "external", "all"};
    static const char *const attachments[] = {"attachments", "refuse", "send"};
    struct weir_slice key = weir_json_key(m);
    bool is_all = false;
    if (weir_slice_is(key, "piiAction")) return read_action(r, m);
    if (weir_slice_is(key, "terms")) return read_rules(r, &terms, m);
    if (weir_slice_is(key, "patterns")) return read_rules(r, &patterns, m);
    if (weir_slice_is(key, "attachments"))
        return read_word(r, m, attachments, &r->policy->sends_attachments);
    if (!weir_slice_is(key, "scope")) return unknown_member(r, "a policy", key);
    enum weir_status st = read_word(r, m, scopes, &is_all);
    if (st == WEIR_OK) r->policy->scope = is_all ? PII_ALL : PII_EXTERNAL;
    return st;
}

static enum weir_status read_policy(struct policy_reader *r, struct weir_slice text)
{
    const struct weir_json *root;
    size_t offset;
    struct weir_json_doc *doc = weir_json_doc_new(VALUE_BYTES);
    if (!doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(doc, text, &root, &offset);
    if (st == WEIR_OK && weir_json_type_of(root) != WEIR_JSON_OBJECT)
        st = bad(r, "a policy is a JSON object");
    else if (st != WEIR_OK && st != WEIR_NOMEM)
        st = bad(r, "byte %zu: %s", offset, weir_status_text(st));
    for (const struct weir_json *m = weir_json_first(root); st == WEIR_OK && m;
         m = weir_json_next(m))
        st = read_member(r, m);
    weir_json_doc_free(doc);
    return st;
}

enum weir_status shield_policy_parse(struct shield_policy **out, struct weir_slice text,
                                     const char *name, char error[SHIELD_ERROR_BYTES])
{
    struct policy_reader r = {shield_policy_default(), name, error};
    *out = NULL;
    error[0] = 0;
    enum weir_status st = r.policy ? read_policy(&r, text) : WEIR_NOMEM;
    if (st == WEIR_OK) {
        *out = r.policy;
        return WEIR_OK;
    }
    if (!error[0]) snprintf(error, SHIELD_ERROR_BYTES, "%s: %s", name, weir_status_text(st));
    shield_policy_free(r.policy);
    return st;
}

/* The whole file into memory of its size; WEIR_LIMIT: it is too large. */
static enum weir_status read_all(const char *path, char **bytes, size_t *n)
{
    struct file f;
    uint64_t size = 0;
    *bytes = NULL;
    enum weir_status st = file_open(&f, path, FILE_READ_ONLY);
    if (st != WEIR_OK) return errno == ENOENT ? WEIR_NOT_FOUND : st;
    st = file_size(&f, &size);
    if (st == WEIR_OK && size > POLICY_BYTES) st = WEIR_LIMIT;
    if (st == WEIR_OK) *bytes = mem_alloc((size_t)size + 1);
    if (st == WEIR_OK && !*bytes) st = WEIR_NOMEM;
    if (st == WEIR_OK) st = file_read_at(&f, *bytes, (size_t)size, 0, n);
    file_close(&f);
    return st;
}

enum weir_status shield_policy_read(struct shield_policy **out, const char *path,
                                    char error[SHIELD_ERROR_BYTES])
{
    char *bytes;
    size_t n = 0;
    *out = NULL;
    enum weir_status st = read_all(path, &bytes, &n);
    if (st == WEIR_OK) st = shield_policy_parse(out, slice_of(bytes, n), path, error);
    else snprintf(error, SHIELD_ERROR_BYTES, "%s: %s", path, weir_status_text(st));
    if (st == WEIR_LIMIT) st = WEIR_BAD_FIELD;
    mem_free(bytes);
    return st;
}
