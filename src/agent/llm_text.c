/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model's words, made fit to be shown. A program that renders Markdown fetches pictures and makes
 * links to click on: a model that was talked into it could send a person's data away with one. So
 * there are no addresses in what is shown, and no HTML.
 */
#include <ctype.h>

#include "agent/finding.h"
#include "agent/llm_impl.h"
#include "base/slice.h"
#include "check/verify.h"

/* ---- addresses ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '+' || c == '.' || c == '-';
}

/* The length of an address that begins here, "https://…" or "www.…"; 0: none. */
static size_t address_length(struct weir_slice s)
{
    size_t n = 0;
    while (n < s.len && is_word(s.ptr[n])) n++;
    bool is_url = n > 0 && n + 3 <= s.len && memcmp(s.ptr + n, "://", 3) == 0;
    bool is_www = s.len > 4 && strncasecmp(s.ptr, "www.", 4) == 0;
    if (!is_url && !is_www) return 0;
    while (n < s.len && !isspace((unsigned char)s.ptr[n]) && !strchr("<>()[]\"'`|", s.ptr[n])) n++;
    return n;
}

/* The length of what stands between `open`, which is here, and `close`; 0: it does not close. */
static size_t closed_length(struct weir_slice s, char close)
{
    const char *end = memchr(s.ptr, close, s.len);
    const char *line = memchr(s.ptr, '\n', s.len);
    if (!end || (line && line < end)) return 0;
    return (size_t)(end - s.ptr) + 1;
}

/* "<img …>", "</p>", "<!-- …": "<5 bpm" is none. */
static bool is_tag(struct weir_slice s)
{
    return s.len > 1 && (isalpha((unsigned char)s.ptr[1]) || strchr("/!?", s.ptr[1]));
}

/* How much is left out here; `before` is the byte before, 0 at the beginning. */
static size_t unfit_length(struct weir_slice s, char before)
{
    if (s.ptr[0] == '!' && s.len > 1 && s.ptr[1] == '[') return 1;
    if (before == ']' && s.ptr[0] == '(')
        return closed_length(s, ')') > 0 ? closed_length(s, ')') : 1;
    if (s.ptr[0] == '<' && is_tag(s)) return closed_length(s, '>') > 0 ? closed_length(s, '>') : 1;
    return is_word(before) ? 0 : address_length(s);
}

void text_put_clean(struct weir_buf *out, struct weir_slice text)
{
    char before = 0;
    while (text.len > 0) {
        bool is_shown;
        size_t unfit = unfit_length(text, before);
        size_t n = unfit > 0 ? unfit : block_next(text, &is_shown);
        if (unfit == 0 && is_shown) weir_buf_append(out, text.ptr, n);
        before = unfit > 0 ? ' ' : text.ptr[n - 1];
        text = slice_from(text, n);
    }
}

/* The length of the first sentence with what follows it up to the next. */
static size_t sentence_length(struct weir_slice s)
{
    size_t n = 0;
    while (n < s.len && s.ptr[n] != '\n') {
        bool is_end = strchr(".!?", s.ptr[n]) && s.ptr[n] != '\0';
        n++;
        if (is_end && (n == s.len || isspace((unsigned char)s.ptr[n]))) break;
    }
    while (n < s.len && isspace((unsigned char)s.ptr[n])) n++;
    return n > 0 ? n : 1;
}

enum weir_status text_put_fit(struct weir_buf *out, struct agent_case *c, struct weir_slice text,
                              struct weir_buf *gone)
{
    struct weir_buf clean;
    struct weir_slice left;
    enum weir_status st = WEIR_OK;
    weir_buf_init(&clean, AGENT_TEXT_BYTES);
    text_put_clean(&clean, text);
    if (weir_buf_status(&clean) == WEIR_OK) left = weir_buf_slice(&clean);
    else left = (struct weir_slice){0}; /* nobody reads so long an answer */
    while (left.len > 0 && st == WEIR_OK) {
        struct said said;
        size_t n = sentence_length(left);
        struct weir_slice sentence = slice_of(left.ptr, n);
        st = said_read(&said, sentence, NULL, c->arena);
        bool is_fit = st != WEIR_OK || !said_plays_doctor(&said);
        if (is_fit || gone) weir_buf_append_slice(is_fit ? out : gone, sentence);
        if (!is_fit && gone) weir_buf_append_char(gone, '\n');
        left = slice_from(left, n);
    }
    weir_buf_fini(&clean);
    return st == WEIR_OK ? weir_buf_status(out) : st;
}

struct weir_slice text_keep_clean(struct arena *arena, struct weir_slice text, size_t most)
{
    struct weir_buf clean;
    char *copy = NULL;
    weir_buf_init(&clean, AGENT_TEXT_BYTES);
    text_put_clean(&clean, text);
    struct weir_slice s = text_cut(weir_buf_slice(&clean), most);
    while (s.len > 0 && isspace((unsigned char)s.ptr[s.len - 1])) s.len--;
    while (s.len > 0 && isspace((unsigned char)s.ptr[0])) s = slice_from(s, 1);
    if (weir_buf_status(&clean) == WEIR_OK) copy = arena_alloc(arena, s.len + 1);
    if (copy) {
        if (s.len > 0) memcpy(copy, s.ptr, s.len);
        copy[s.len] = '\0';
    }
    weir_buf_fini(&clean);
    return copy ? slice_of(copy, s.len) : (struct weir_slice){0};
}

/* ---- numbers ---- */

size_t text_own(struct agent_case *c, struct weir_slice known[TEXT_KNOWN])
{
    size_t all = weir_json_count(c->messages), i = 0, n = 0;
    for (const struct weir_json *m = weir_json_first(c->messages); m; m = weir_json_next(m), i++) {
        struct weir_slice text = agent_text(m, "content");
        bool is_user = weir_slice_is(agent_text(m, "role"), "user");
        if (all - i <= TEXT_KNOWN && is_user && text.len <= VERIFY_TEXT_BYTES) known[n++] = text;
    }
    return n;
}

enum weir_status text_has_own_numbers(struct agent_case *c, struct weir_slice text, bool *out)
{
    struct weir_slice known[TEXT_KNOWN];
    struct ledger ledger = {0};
    struct verify_result result;
    struct verify_input input = {.text = text, .ledger = &ledger, .known = known};
    input.n_known = text_own(c, known);
    enum weir_status st = verify_text(&result, &input, c->arena);
    *out = st == WEIR_OK && result.n_lacking == 0;
    return st;
}
