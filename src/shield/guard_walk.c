/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strings of a request, and what each of them is. One table knows the bodies of both dialects:
 * which members only say how a request is built. All that is not in it is free text, the names of
 * members included; so what a provider invents tomorrow is looked at as well.
 *
 * The walk has a stack of its own, for a request may be nested as deep as its sender likes.
 */
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "shield/guard_impl.h"

/* What a value is, by where it stands. */
enum place {
    P_FREE,     /* anything: arguments, results, schemas */
    P_TEXT,     /* a text, or several */
    P_WORD,     /* of a closed list */
    P_NAME,     /* an id, a tool's name */
    P_DATA,     /* bytes in base64, or a web address */
    P_BODY,     /* of a request */
    P_MESSAGES, /* and one of them */
    P_MESSAGE,
    P_CONTENT, /* a text, or blocks */
    P_BLOCK,
    P_SOURCE, /* of a document or picture */
    P_MEDIA,  /* the same as the other dialect has it */
    P_TOOLS,
    P_TOOL,
    P_CALLS, /* of tools, by a message */
    P_CALL,
    P_CHOICE, /* of a tool, by the request */
    P_FORMAT, /* of the answer */
    P_SCHEMA,
};

struct member_row {
    enum place of;
    const char *names; /* with a space after each */
    enum place is;
};

static const struct member_row rows[] = {
    {P_BODY,
     "model stream max_tokens max_completion_tokens temperature top_p top_k n seed thinking "
     "service_tier stream_options reasoning_effort verbosity store parallel_tool_calls "
     "frequency_penalty presence_penalty logprobs top_logprobs modalities "
     "anthropic_version anthropic_beta prompt_cache_retention ",
     P_WORD},
    {P_BODY, "stop stop_sequences user safety_identifier prompt_cache_key ", P_TEXT},
    {P_BODY, "system instructions prediction ", P_CONTENT},
    {P_BODY, "metadata ", P_FREE},
    {P_BODY, "messages ", P_MESSAGES},
    {P_BODY, "tools functions ", P_TOOLS},
    {P_BODY, "tool_choice function_call ", P_CHOICE},
    {P_BODY, "response_format output_config output_format ", P_FORMAT},
    {P_MESSAGE, "role type ", P_WORD},
    {P_MESSAGE, "tool_call_id id ", P_NAME},
    {P_MESSAGE, "content ", P_CONTENT},
    {P_MESSAGE, "name refusal reasoning_content ", P_TEXT},
    {P_MESSAGE, "tool_calls ", P_CALLS},
    {P_MESSAGE, "function_call ", P_CALL},
    {P_BLOCK, "type is_error cache_control ", P_WORD},
    {P_BLOCK, "id tool_use_id name signature data ", P_NAME},
    {P_BLOCK, "text thinking title context refusal ", P_TEXT},
    {P_BLOCK, "content ", P_CONTENT},
    {P_BLOCK, "input citations ", P_FREE},
    {P_BLOCK, "source ", P_SOURCE},
    {P_BLOCK, "image_url input_audio file audio ", P_MEDIA},
    {P_SOURCE, "type media_type ", P_WORD},
    {P_SOURCE, "file_id ", P_NAME},
    {P_SOURCE, "url data ", P_DATA},
    {P_SOURCE, "content ", P_CONTENT},
    {P_MEDIA, "detail format type ", P_WORD},
    {P_MEDIA, "file_id id ", P_NAME},
    {P_MEDIA, "url data file_data ", P_DATA},
    {P_MEDIA, "filename transcript ", P_TEXT},
    {P_TOOL, "type strict cache_control ", P_WORD},
    {P_TOOL, "name ", P_NAME},
    {P_TOOL, "description ", P_TEXT},
    {P_TOOL, "input_schema parameters ", P_FREE},
    {P_TOOL, "function ", P_TOOL},
    {P_CALL, "type index ", P_WORD},
    {P_CALL, "id name ", P_NAME},
    {P_CALL, "arguments ", P_TEXT},
    {P_CALL, "function ", P_CALL},
    {P_CHOICE, "type disable_parallel_tool_use ", P_WORD},
    {P_CHOICE, "name ", P_NAME},
    {P_CHOICE, "function ", P_CHOICE},
    {P_FORMAT, "type effort ", P_WORD},
    {P_FORMAT, "format ", P_FORMAT},
    {P_FORMAT, "schema ", P_FREE},
    {P_FORMAT, "json_schema ", P_SCHEMA},
    {P_SCHEMA, "strict ", P_WORD},
    {P_SCHEMA, "name ", P_NAME},
    {P_SCHEMA, "description ", P_TEXT},
    {P_SCHEMA, "schema ", P_FREE},
};

/* A container that is being walked. */
struct frame {
    const struct weir_json *node, *next;
    enum place place;
    uint32_t group;
    struct weir_slice parent, name; /* members it stands in; of free ones only */
    bool is_nested;                 /* the root of JSON that is a string */
    bool is_strange;                /* in a member that nobody knows */
};

struct walk {
    struct look *look;
    struct frame *frames; /* GUARD_DEPTH */
    size_t depth;
    unsigned n_nested; /* JSON texts that are open, one in the other */
    size_t outer;      /* the first of them, an item */
    enum weir_status status;
    struct weir_slice role; /* of the message before, and its group */
    uint32_t message_group;
    bool is_request; /* not any JSON, and any text */
};

/* Where a value is: what it is given by the container it stands in. */
struct spot {
    enum place place;
    uint32_t group;
    struct weir_slice parent, name;
    const struct weir_json *in; /* NULL: nothing */
    bool is_strange;
};

static bool is_one_of(const char *names, struct weir_slice name)
{
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, " ");
        if (len == name.len && memcmp(at, name.ptr, len) == 0) return true;
        at += len + 1;
    }
    return false;
}

/* False: nobody knows such a member. */
static bool member_place(enum place of, struct weir_slice name, enum place *is)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].of != of || !is_one_of(rows[i].names, name)) continue;
        *is = rows[i].is;
        return true;
    }
    return false;
}

static enum place element_place(enum place of)
{
    switch (of) {
    case P_MESSAGES: return P_MESSAGE;
    case P_CONTENT: return P_BLOCK;
    case P_TOOLS: return P_TOOL;
    case P_CALLS: return P_CALL;
    default: return of;
    }
}

/* An object where a list is looked for, and the other way. */
static enum place object_place(enum place is)
{
    if (is == P_CONTENT || is == P_DATA) return P_BLOCK;
    if (is == P_TEXT || is == P_MESSAGES || is == P_TOOLS || is == P_CALLS) return P_FREE;
    return is;
}

/* ---- items ---- */

static struct guard_item *add_item(struct walk *w, const struct weir_json *node,
                                   enum item_kind kind, struct weir_slice text)
{
    struct look *l = w->look;
    if (w->status == WEIR_OK && l->n_items == GUARD_MAX_ITEMS) w->status = WEIR_LIMIT;
    if (w->status == WEIR_OK && l->n_items == l->cap_items) {
        size_t cap = l->cap_items ? 2 * l->cap_items : 64;
        struct guard_item *items = mem_realloc(l->items, cap * sizeof *items);
        if (!items) w->status = WEIR_NOMEM;
        else l->items = items, l->cap_items = cap;
    }
    if (w->status != WEIR_OK) return NULL;
    struct guard_item *item = &l->items[l->n_items];
    *item = (struct guard_item){.node = node, .text = text, .kind = kind};
    if (w->n_nested == 0) w->outer = l->n_items;
    item->outer = w->outer;
    l->n_items++;
    return item;
}

static void push(struct walk *w, const struct weir_json *node, const struct spot *spot,
                 bool is_nested)
{
    if (w->depth == GUARD_DEPTH) w->status = WEIR_LIMIT;
    if (w->status != WEIR_OK) return;
    bool is_object = weir_json_type_of(node) == WEIR_JSON_OBJECT;
    w->frames[w->depth++] =
        (struct frame){.node = node,
                       .next = weir_json_first(node),
                       .place = is_object ? object_place(spot->place) : spot->place,
                       .group = spot->group,
                       .parent = spot->parent,
                       .name = spot->name,
                       .is_nested = is_nested,
                       .is_strange = spot->is_strange};
    w->n_nested += is_nested;
}

/* A text that can be replaced; if it is JSON as a whole, what is in it. */
static void take_text(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    struct weir_slice text = weir_json_text(node);
    const struct weir_json *inside = NULL;
    if (w->n_nested < GUARD_NESTED && w->status == WEIR_OK)
        w->status = guard_nested(&w->look->doc, text, &inside);
    struct guard_item *item = add_item(w, node, inside ? ITEM_NESTED : ITEM_TEXT, text);
    if (!item) return;
    item->parent = spot->parent;
    item->name = spot->name;
    item->group = spot->group;
    item->nested = inside;
    struct spot free_spot = {.place = P_FREE, .parent = spot->parent, .name = spot->name};
    if (inside) push(w, inside, &free_spot, true);
}

static struct weir_slice keep(struct walk *w, struct weir_slice bytes)
{
    char *copy = arena_alloc(&w->look->arena, bytes.len + 1);
    if (!copy) {
        w->status = w->look->arena.status;
        return slice_of(NULL, 0);
    }
    if (bytes.len > 0) memcpy(copy, bytes.ptr, bytes.len);
    return slice_of(copy, bytes.len);
}

static void take_blind(struct walk *w, const struct weir_json *node)
{
    add_item(w, node, ITEM_BLIND, slice_of(NULL, 0));
}

static void take_base64(struct walk *w, const struct weir_json *node, size_t head)
{
    struct weir_buf bytes;
    struct weir_slice text = weir_json_text(node);
    weir_buf_init(&bytes, GUARD_BYTES);
    bool is_text = guard_base64_read(&bytes, slice_from(text, head)) &&
                   guard_bytes_are_text(weir_buf_slice(&bytes));
    struct weir_slice kept = slice_of(NULL, 0);
    /* Without memory nobody knows what it is. */
    if (bytes.status != WEIR_OK && w->status == WEIR_OK) w->status = bytes.status;
    if (is_text) kept = keep(w, weir_buf_slice(&bytes));
    weir_buf_fini(&bytes);
    struct guard_item *item = add_item(w, node, is_text ? ITEM_BASE64 : ITEM_BLIND, kept);
    if (item) item->n_head = head;
}

static bool has_scheme(struct weir_slice text)
{
    return (text.len >= 7 && strncasecmp(text.ptr, "http://", 7) == 0) ||
           (text.len >= 8 && strncasecmp(text.ptr, "https://", 8) == 0);
}

/* Whether a text is a web address that is the thing itself; if so, it is taken. */
static bool take_data_url(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    struct guard_data_url url;
    if (!guard_data_url(weir_json_text(node), &url)) return false;
    bool is_text = url.type.len == 0 || guard_media_is_text(url.type);
    if (!is_text) take_blind(w, node);
    else if (url.is_base64) take_base64(w, node, url.n_head);
    else take_text(w, node, spot);
    return true;
}

/* Whether what stands next to some bytes says that they are no text. */
static bool is_said_to_be_none(const struct spot *spot)
{
    struct weir_slice type = weir_json_text(weir_json_get_str(spot->in, "media_type"));
    if (type.len == 0) type = weir_json_text(weir_json_get_str(spot->in, "mime_type"));
    /* Only sound has a format. */
    return type.len > 0 ? !guard_media_is_text(type)
                        : weir_json_get_str(spot->in, "format") != NULL;
}

/* The bytes of a document, or where it is. */
static void take_data(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    bool is_text = weir_slice_is(weir_json_text(weir_json_get_str(spot->in, "type")), "text");
    if (take_data_url(w, node, spot)) return;
    if (is_text || has_scheme(weir_json_text(node))) take_text(w, node, spot);
    else if (is_said_to_be_none(spot)) take_blind(w, node);
    else take_base64(w, node, 0);
}

/* Members of which the provider alone knows what is in them, and who made them. */
static bool is_sealed(struct weir_slice name)
{
    return is_one_of("encrypted_content encrypted_index thought_signature thoughtSignature "
                     "signature ",
                     name);
}

/* A text, which may be a document where nobody expects one. */
static void take_any(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    if (!w->is_request) take_text(w, node, spot);
    else if (take_data_url(w, node, spot)) return;
    else if (spot->is_strange && !is_sealed(spot->name) && guard_is_base64(weir_json_text(node)))
        take_base64(w, node, 0);
    else take_text(w, node, spot);
}

static void take_string(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    switch (spot->place) {
    case P_WORD: add_item(w, node, ITEM_WORD, weir_json_text(node)); return;
    case P_CHOICE:
    case P_NAME: add_item(w, node, ITEM_NAME, weir_json_text(node)); return;
    case P_MEDIA:
    case P_DATA: take_data(w, node, spot); return;
    default: take_any(w, node, spot);
    }
}

enum { MOST_DIGITS = 40 };

/* The exponent of a JSON number, from its sign on; one beyond all is MOST_DIGITS + 1. */
static long exponent_of(struct weir_slice text)
{
    long v = 0;
    bool is_negative = text.len > 0 && text.ptr[0] == '-';
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] >= '0' && text.ptr[i] <= '9' && v <= MOST_DIGITS)
            v = v * 10 + (text.ptr[i] - '0');
    if (v > MOST_DIGITS) v = MOST_DIGITS + 1;
    return is_negative ? -v : v;
}

/* The digits of a number before its exponent, and where its point is; false: too many. */
static bool read_digits(struct weir_slice text, char digits[MOST_DIGITS], long *n, long *point)
{
    *n = 0;
    *point = -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '.') *point = *n;
        if (text.ptr[i] < '0' || text.ptr[i] > '9') continue;
        if (*n == MOST_DIGITS) return false;
        digits[(*n)++] = text.ptr[i];
    }
    if (*point < 0) *point = *n;
    return true;
}

/* A whole number with a point or an exponent as its digits, if those are not too many. */
static struct weir_slice plain_number(struct walk *w, struct weir_slice text)
{
    char digits[MOST_DIGITS];
    long n, point;
    size_t mantissa = 0, first = 0;
    while (mantissa < text.len && (text.ptr[mantissa] | 0x20) != 'e') mantissa++;
    bool is_plain = mantissa == text.len && !memchr(text.ptr, '.', text.len);
    if (is_plain || !read_digits(slice_of(text.ptr, mantissa), digits, &n, &point)) return text;
    if (mantissa < text.len) point += exponent_of(slice_from(text, mantissa + 1));
    while (n < point && n < MOST_DIGITS) digits[n++] = '0';
    while (n > 0 && n > point && digits[n - 1] == '0') n--;
    if (n != point) return text;
    while ((long)first < n && digits[first] == '0') first++;
    return keep(w, slice_of(digits + first, (size_t)n - first));
}

static void take_number(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    bool is_fixed = spot->place == P_WORD || spot->place == P_NAME;
    struct guard_item *item = add_item(w, node, is_fixed ? ITEM_NAME : ITEM_NUMBER,
                                       plain_number(w, weir_json_text(node)));
    if (!item) return;
    item->parent = spot->parent;
    item->name = spot->name;
}

static void visit(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    switch (weir_json_type_of(node)) {
    case WEIR_JSON_STRING: take_string(w, node, spot); return;
    case WEIR_JSON_NUMBER: take_number(w, node, spot); return;
    case WEIR_JSON_ARRAY:
    case WEIR_JSON_OBJECT: push(w, node, spot, false); return;
    default: return;
    }
}

/* ---- the walk ---- */

/* Messages that follow one another with the same role are one text to who reads them. */
static uint32_t group_of_message(struct walk *w, const struct weir_json *message)
{
    struct weir_slice role = weir_json_text(weir_json_get_str(message, "role"));
    bool goes_on = w->role.len > 0 && slice_eq(role, w->role) && !weir_slice_is(role, "tool");
    w->role = role;
    if (!goes_on) w->message_group = ++w->look->last_group;
    return w->message_group;
}

static uint32_t group_in(struct walk *w, const struct frame *f, const struct weir_json *node,
                         enum place place)
{
    if (place == P_MESSAGE) return group_of_message(w, node);
    bool begins = place == P_CONTENT && f->place != P_MESSAGE;
    if (begins) return ++w->look->last_group;
    return f->group;
}

/* Of a message only what is said out loud belongs to the text around it. */
static bool is_in_group(const struct frame *f, struct weir_slice name, enum place place)
{
    if (place == P_TEXT) return f->place == P_BLOCK && weir_slice_is(name, "text");
    return place == P_CONTENT || place == P_MESSAGE;
}

static void visit_member(struct walk *w, struct frame *f, const struct weir_json *node)
{
    struct weir_slice name = weir_json_key(node);
    struct spot spot = {.place = P_FREE, .in = f->node, .is_strange = f->is_strange};
    bool is_known = member_place(f->place, name, &spot.place);
    if (!is_known) {
        bool is_fixed = f->place == P_WORD || f->place == P_NAME;
        struct guard_item *item = add_item(w, node, is_fixed ? ITEM_NAME : ITEM_TEXT, name);
        if (item) item->is_key = true;
        spot.parent = f->name;
        spot.name = name;
        if (is_fixed) spot.place = f->place;
        spot.is_strange = f->is_strange || f->place != P_FREE;
    }
    if (is_in_group(f, name, spot.place)) spot.group = group_in(w, f, node, spot.place);
    visit(w, node, &spot);
}

static void visit_element(struct walk *w, struct frame *f, const struct weir_json *node)
{
    struct spot spot = {.place = element_place(f->place),
                        .parent = f->parent,
                        .name = f->name,
                        .in = f->node,
                        .is_strange = f->is_strange};
    spot.group = group_in(w, f, node, spot.place);
    visit(w, node, &spot);
}

static void run(struct walk *w)
{
    while (w->depth > 0 && w->status == WEIR_OK) {
        struct frame *f = &w->frames[w->depth - 1];
        const struct weir_json *node = f->next;
        if (!node) {
            w->n_nested -= f->is_nested;
            w->depth--;
            continue;
        }
        f->next = weir_json_next(node);
        if (weir_json_type_of(f->node) == WEIR_JSON_OBJECT) visit_member(w, f, node);
        else visit_element(w, f, node);
    }
}

enum weir_status guard_collect(struct look *l, enum guard_form form,
                               const struct weir_json *request)
{
    struct walk w = {.look = l, .frames = mem_alloc(GUARD_DEPTH * sizeof *w.frames)};
    if (!w.frames) return WEIR_NOMEM;
    bool is_list = weir_json_type_of(request) == WEIR_JSON_ARRAY;
    struct spot root = {.place = is_list ? P_MESSAGES : P_BODY};
    if (form == GUARD_VALUE) root.place = P_FREE;
    w.is_request = form != GUARD_VALUE;
    visit(&w, request, &root);
    run(&w);
    mem_free(w.frames);
    return w.status;
}
