/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /openapi.json: OpenAPI 3.1, made from the route table and what openapi.def says of its rows. A
 * row that nothing is said of is left out; a test makes sure that there is none.
 */
#include "serve/openapi.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"
#include "codec/json_member.h"
#include "serve/resource.h"

#include <weir/version.h>

enum { DOCUMENT_BYTES = 1 << 20, NAME_BYTES = 64 };

struct parameter {
    const char *name, *where, *schema, *text;
};

struct media {
    const char *name, *type, *schema, *more;
};

struct schema {
    const char *name, *json;
};

static const struct operation operations[] = {
#define OPERATION(...) {__VA_ARGS__},
#define PARAMETER(...)
#define MEDIA(...)
#define SCHEMA(...)
#include "serve/openapi.def"
#undef OPERATION
#undef PARAMETER
};

static const struct parameter parameters[] = {
#define OPERATION(...)
#define PARAMETER(...) {__VA_ARGS__},
#include "serve/openapi.def"
#undef PARAMETER
#undef MEDIA
};

static const struct media medias[] = {
#define PARAMETER(...)
#define MEDIA(...) {__VA_ARGS__},
#include "serve/openapi.def"
#undef MEDIA
#undef SCHEMA
};

static const struct schema schemas[] = {
#define MEDIA(...)
#define SCHEMA(...) {__VA_ARGS__},
#include "serve/openapi.def"
#undef OPERATION
#undef PARAMETER
#undef MEDIA
#undef SCHEMA
};

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

/* ---- looking things up ---- */

const struct operation *operation_find(const char *row)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (strcmp(operations[i].row, row) == 0) return &operations[i];
    return NULL;
}

size_t operation_count(void)
{
    return COUNT_OF(operations);
}

const struct operation *operation_at(size_t i)
{
    return &operations[i];
}

static const struct parameter *find_parameter(struct weir_slice name)
{
    for (size_t i = 0; i < COUNT_OF(parameters); i++)
        if (weir_slice_is(name, parameters[i].name)) return &parameters[i];
    return NULL;
}

static const struct media *find_media(struct weir_slice name)
{
    for (size_t i = 0; i < COUNT_OF(medias); i++)
        if (weir_slice_is(name, medias[i].name)) return &medias[i];
    return NULL;
}

static bool is_schema(struct weir_slice name)
{
    for (size_t i = 0; i < COUNT_OF(schemas); i++)
        if (weir_slice_is(name, schemas[i].name)) return true;
    return false;
}

/* The next word of a list; false at its end. */
static bool next_word(const char **list, struct weir_slice *word)
{
    *list += strspn(*list, " ,");
    *word = slice_of(*list, strcspn(*list, " ,"));
    *list += word->len;
    return word->len > 0;
}

/* ---- writing ---- */

/* JSON as openapi.def has it. */
static void put_quoted(struct weir_buf *out, const char *json)
{
    for (; *json; json++) weir_buf_append_char(out, *json == '\'' ? '"' : *json);
}

static void put_raw(struct weir_buf *out, const char *key, const char *json)
{
    weir_json_put_key(out, key);
    put_quoted(out, json);
}

static void put_ref(struct weir_buf *out, struct weir_slice schema)
{
    weir_buf_printf(out, "{\"$ref\":\"#/components/schemas/%.*s\"}", (int)schema.len, schema.ptr);
}

/* A body, by the name of a schema or of another kind; false when there is none such. */
static bool put_content(struct weir_buf *out, struct weir_slice name)
{
    const struct media *m = find_media(name);
    weir_json_put_key(out, m ? m->type : "application/json");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "schema");
    if (m) put_quoted(out, m->schema);
    else put_ref(out, name);
    if (m && m->more[0]) {
        weir_buf_append_char(out, ',');
        put_quoted(out, m->more);
    }
    weir_json_put_end_object(out);
    return m || is_schema(name);
}

const char *openapi_method(enum http_method method)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD",     [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT", [HTTP_DELETE] = "DELETE", [HTTP_PATCH] = "PATCH"};
    return names[method];
}

void openapi_put_path(struct weir_buf *out, const char *pattern)
{
    bool is_open = false;
    for (const char *c = pattern; *c; c++) {
        bool is_parameter = (*c == ':' || *c == '*') && c > pattern && c[-1] == '/';
        if (*c == '/' && is_open) weir_buf_append_char(out, '}');
        if (*c == '/') is_open = false;
        weir_buf_append_char(out, is_parameter ? '{' : *c);
        is_open |= is_parameter;
    }
    if (is_open) weir_buf_append_char(out, '}');
}

/* ---- an operation ---- */

static void put_path_parameters(struct weir_buf *out, const char *pattern)
{
    for (const char *c = pattern; (c = strpbrk(c, ":*"));) {
        size_t len = strcspn(++c, "/");
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "name");
        weir_json_put_string(out, slice_of(c, len));
        member_str(out, "in", "path");
        weir_json_put_key(out, "required");
        weir_json_put_bool(out, true);
        put_raw(out, "schema", "{'type':'string'}");
        weir_json_put_end_object(out);
    }
}

/* `where` is "query limit", or "query metric!" for one that has to be there. */
static void put_parameter(struct weir_buf *out, const struct parameter *p)
{
    size_t in = strcspn(p->where, " ");
    struct weir_slice name = weir_slice_of(p->where + in + 1);
    bool is_required = name.ptr[name.len - 1] == '!';
    if (is_required) name.len--;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "name");
    weir_json_put_string(out, name);
    weir_json_put_key(out, "in");
    weir_json_put_string(out, slice_of(p->where, in));
    member_str(out, "description", p->text);
    weir_json_put_key(out, "required");
    weir_json_put_bool(out, is_required);
    put_raw(out, "schema", p->schema);
    weir_json_put_end_object(out);
}

static bool put_parameters(struct weir_buf *out, const struct route *r, const struct operation *o)
{
    const char *list = o->parameters;
    struct weir_slice word;
    bool is_good = true;
    weir_json_put_key(out, "parameters");
    weir_json_put_begin_array(out);
    put_path_parameters(out, r->pattern);
    while (next_word(&list, &word)) {
        const struct parameter *p = find_parameter(word);
        if (p) put_parameter(out, p);
        is_good &= p != NULL;
    }
    weir_json_put_end_array(out);
    return is_good;
}

static bool put_body(struct weir_buf *out, const struct operation *o)
{
    if (!o->body[0]) return true;
    weir_json_put_key(out, "requestBody");
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "required");
    weir_json_put_bool(out, true);
    weir_json_put_key(out, "content");
    weir_json_put_begin_object(out);
    bool is_good = put_content(out, weir_slice_of(o->body));
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
    return is_good;
}

static const char *what_of(struct weir_slice status)
{
    if (status.ptr[0] == '2') return "Done";
    return status.ptr[0] == '3' ? "Not changed" : "Why not";
}

/* One status with all its kinds of bodies, which stand one after the other. */
static bool put_answer(struct weir_buf *out, const char **list, struct weir_slice status)
{
    struct weir_slice body;
    bool is_good = true;
    bool has_body = false;
    weir_json_put_key_slice(out, status);
    weir_json_put_begin_object(out);
    member_str(out, "description", what_of(status));
    for (;;) {
        const char *at = *list;
        if (*at != ',' && next_word(&at, &body)) {
            if (!has_body) weir_json_put_key(out, "content");
            if (!has_body) weir_json_put_begin_object(out);
            has_body = true;
            is_good &= put_content(out, body);
            *list = at;
        }
        /* The same status again has another kind of body. */
        struct weir_slice again;
        at = *list;
        if (!next_word(&at, &again) || !slice_eq(again, status)) break;
        *list = at;
    }
    if (has_body) weir_json_put_end_object(out);
    weir_json_put_end_object(out);
    return is_good;
}

static bool is_call(const struct route *r)
{
    return r->handle == rpc_post;
}

static void put_refusal(struct weir_buf *out, const struct route *r, struct weir_slice status)
{
    weir_json_put_key_slice(out, status);
    weir_buf_printf(out, "{\"$ref\":\"#/components/responses/%s\"}",
                    is_call(r) ? "CallError" : "Error");
}

/* The methods of calls, which have one row together. */
static void put_methods(struct weir_buf *out)
{
    const struct session_method *m;
    weir_json_put_key(out, "x-methods");
    weir_json_put_begin_array(out);
    for (size_t i = 0; (m = session_method_at(i)); i++) {
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "path");
        weir_buf_printf(out, "\"/rpc/%s/%s\"", session_method_space(m), session_method_name(m));
        member_str(out, "scope", session_method_writes(m) ? "write" : "read");
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
}

static bool put_answers(struct weir_buf *out, const struct route *r, const struct operation *o)
{
    static const char for_keys[] = "401 403 429 500 503";
    const char *answers = o->answers;
    const char *refusals = o->refusals;
    const char *others = r->scope == SCOPE_NONE ? "" : for_keys;
    struct weir_slice status;
    bool is_good = true;
    weir_json_put_key(out, "responses");
    weir_json_put_begin_object(out);
    while (next_word(&answers, &status)) is_good &= put_answer(out, &answers, status);
    while (next_word(&refusals, &status)) put_refusal(out, r, status);
    while (next_word(&others, &status)) put_refusal(out, r, status);
    weir_json_put_end_object(out);
    return is_good;
}

static bool put_operation(struct weir_buf *out, const struct route *r, const struct operation *o)
{
    char method[8] = "";
    for (size_t i = 0; openapi_method(r->method)[i]; i++)
        method[i] = (char)(openapi_method(r->method)[i] | 0x20);
    weir_json_put_key(out, method);
    weir_json_put_begin_object(out);
    member_str(out, "operationId", r->name);
    member_str(out, "summary", o->summary);
    weir_json_put_key(out, "tags");
    weir_json_put_begin_array(out);
    weir_json_put_str(out, o->tag);
    weir_json_put_end_array(out);
    if (r->scope == SCOPE_NONE) put_raw(out, "security", "[]");
    if (is_call(r)) put_methods(out);
    bool is_good = put_parameters(out, r, o) && put_body(out, o) && put_answers(out, r, o);
    weir_json_put_end_object(out);
    return is_good;
}

/* ---- the document ---- */

/* All methods of a path stand together, where its first row is. */
static bool put_path(struct weir_buf *out, const struct route *first)
{
    struct weir_buf path;
    bool is_good = true;
    for (const struct route *r = routes; r < first; r++)
        if (strcmp(r->pattern, first->pattern) == 0) return true;
    weir_buf_init(&path, DOCUMENT_BYTES);
    openapi_put_path(&path, first->pattern);
    weir_json_put_key_slice(out, weir_buf_slice(&path));
    weir_buf_fini(&path);
    weir_json_put_begin_object(out);
    for (const struct route *r = first; r->handle; r++) {
        const struct operation *o = operation_find(r->name);
        if (o && strcmp(r->pattern, first->pattern) == 0) is_good &= put_operation(out, r, o);
    }
    weir_json_put_end_object(out);
    return is_good;
}

static void put_info(struct weir_buf *out)
{
    weir_json_put_key(out, "info");
    weir_json_put_begin_object(out);
    member_str(out, "title", "weir");
    member_str(out, "version", weir_version());
    member_str(out, "summary", "Durable streams and agent turns");
    member_str(out, "description",
               "Questions about somebody's own data become turns: agents work, every number is "
               "checked, and each step streams as it happens. Streams, memory, data and laboratory "
               "results beside them.");
    put_raw(out, "license", "{'name':'Apache-2.0','identifier':'Apache-2.0'}");
    weir_json_put_end_object(out);
    put_raw(out, "servers", "[{'url':'/'}]");
    put_raw(out, "security", "[{'key':[]}]");
}

/* Every code of the status table. */
static void put_codes(struct weir_buf *out)
{
    weir_json_put_key(out, "ErrorCode");
    weir_json_put_begin_object(out);
    member_str(out, "type", "string");
    weir_json_put_key(out, "enum");
    weir_json_put_begin_array(out);
    for (int i = WEIR_OK + 1; i < WEIR_N_STATUS; i++)
        weir_json_put_str(out, weir_status_name((enum weir_status)i));
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

static void put_components(struct weir_buf *out)
{
    weir_json_put_key(out, "components");
    weir_json_put_begin_object(out);
    put_raw(out, "securitySchemes", "{'key':{'type':'http','scheme':'bearer'}}");
    put_raw(out, "responses",
            "{'Error':{'description':'Why not; see /docs/errors','content':{'application/json':"
            "{'schema':{'$ref':'#/components/schemas/Error'}}}},"
            "'CallError':{'description':'Why not','content':{'application/json':"
            "{'schema':{'$ref':'#/components/schemas/CallError'}}}}}");
    weir_json_put_key(out, "schemas");
    weir_json_put_begin_object(out);
    put_codes(out);
    for (size_t i = 0; i < COUNT_OF(schemas); i++) put_raw(out, schemas[i].name, schemas[i].json);
    weir_json_put_end_object(out);
    weir_json_put_end_object(out);
}

bool openapi_put(struct weir_buf *out)
{
    bool is_good = true;
    weir_json_put_begin_object(out);
    member_str(out, "openapi", "3.1.0");
    put_info(out);
    weir_json_put_key(out, "paths");
    weir_json_put_begin_object(out);
    for (const struct route *r = routes; r->handle; r++) is_good &= put_path(out, r);
    weir_json_put_end_object(out);
    put_components(out);
    weir_json_put_end_object(out);
    return is_good;
}

void openapi_get(struct exchange *ex)
{
    struct weir_buf json;
    weir_buf_init(&json, DOCUMENT_BYTES);
    (void)openapi_put(&json); /* that it is good is a test's to say */
    if (weir_buf_status(&json) == WEIR_OK) exchange_json(ex, 200, weir_buf_slice(&json));
    else resource_store_error(ex, WEIR_NOMEM);
    weir_buf_fini(&json);
}
