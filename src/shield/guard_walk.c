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
};

/* Where a value is: what it is given by the container it stands in. */
struct spot {
    enum place place;
    uint32_t group;
    struct weir_slice parent, name;
    const struct weir_json *in; /* NULL: nothing */
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
                       .is_nested = is_nested};
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

static bool is_readable(struct weir_slice bytes)
{
    if (utf8_valid_prefix(bytes) != bytes.len) return false;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        if (c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f') return false;
    }
    return true;
}

/* How long "data:…;base64," is at the beginning of a text; 0: it is not there. */
static size_t data_head(struct weir_slice text)
{
    static const char mark[] = ";base64,";
    if (text.len < 5 || strncasecmp(text.ptr, "data:", 5) != 0) return 0;
    const char *at = memmem(text.ptr, text.len < 256 ? text.len : 256, mark, sizeof mark - 1);
    return at ? (size_t)(at - text.ptr) + sizeof mark - 1 : 0;
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

static void take_base64(struct walk *w, const struct weir_json *node, size_t head)
{
    struct weir_buf bytes;
    struct weir_slice text = weir_json_text(node);
    weir_buf_init(&bytes, GUARD_BYTES);
    bool is_text =
        guard_base64_read(&bytes, slice_from(text, head)) && is_readable(weir_buf_slice(&bytes));
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

/* The bytes of a document, or where it is. */
static void take_data(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    struct weir_slice text = weir_json_text(node);
    size_t head = data_head(text);
    bool is_text = weir_slice_is(weir_json_text(weir_json_get_str(spot->in, "type")), "text");
    if (head == 0 && (is_text || has_scheme(text))) take_text(w, node, spot);
    else take_base64(w, node, head);
}

static void take_string(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    switch (spot->place) {
    case P_WORD: add_item(w, node, ITEM_WORD, weir_json_text(node)); return;
    case P_CHOICE:
    case P_NAME: add_item(w, node, ITEM_NAME, weir_json_text(node)); return;
    case P_MEDIA:
    case P_DATA: take_data(w, node, spot); return;
    default: take_text(w, node, spot);
    }
}

static void take_number(struct walk *w, const struct weir_json *node, const struct spot *spot)
{
    bool is_fixed = spot->place == P_WORD || spot->place == P_NAME;
    struct guard_item *item =
        add_item(w, node, is_fixed ? ITEM_NAME : ITEM_NUMBER, weir_json_text(node));
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
    struct spot spot = {.place = P_FREE, .in = f->node};
    bool is_known = member_place(f->place, name, &spot.place);
    if (!is_known) {
        bool is_fixed = f->place == P_WORD || f->place == P_NAME;
        struct guard_item *item = add_item(w, node, is_fixed ? ITEM_NAME : ITEM_TEXT, name);
        if (item) item->is_key = true;
        spot.parent = f->name;
        spot.name = name;
        if (is_fixed) spot.place = f->place;
    }
    if (is_in_group(f, name, spot.place)) spot.group = group_in(w, f, node, spot.place);
    visit(w, node, &spot);
}

static void visit_element(struct walk *w, struct frame *f, const struct weir_json *node)
{
    struct spot spot = {
        .place = element_place(f->place), .parent = f->parent, .name = f->name, .in = f->node};
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
    visit(&w, request, &root);
    run(&w);
    mem_free(w.frames);
    return w.status;
}
