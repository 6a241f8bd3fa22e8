/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts with their values, and data blocks that nothing in them can end. */
#include "agent/llm_prompt.h"

#include <string.h>

#include "base/check.h"
#include "base/slice.h"
#include "base/utf8.h"

/* ---- blocks ---- */

static uint32_t code_point(struct weir_slice s, size_t n)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)s.ptr[0] & masks[n];
    for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)s.ptr[i] & 0x3Fu);
    return c;
}

/*
 * Characters that a reader does not see and a model does: controls, marks of direction, the block
 * of tags in which whole sentences can be hidden, and what else has no width. Line ends and tabs
 * stay.
 */
static bool is_hidden(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {{0x00, 0x08},     {0x0B, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},
                  {0x61C, 0x61C},   {0x200B, 0x200B}, {0x200E, 0x200F}, {0x202A, 0x202E},
                  {0x2060, 0x2064}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE0FFF}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].from && c <= ranges[i].to) return true;
    return false;
}

size_t block_next(struct weir_slice text, bool *is_shown)
{
    size_t n;
    enum utf8_verdict verdict = utf8_first(text, &n);
    if (verdict == UTF8_PARTIAL) n = text.len;
    *is_shown = verdict == UTF8_WHOLE && !is_hidden(code_point(text, n));
    return n;
}

static void put_character(struct weir_buf *out, struct weir_slice s, size_t n)
{
    uint32_t c = code_point(s, n);
    if (c == '<') weir_buf_append_str(out, "&lt;");
    else if (c == 0x2028 || c == 0x2029) weir_buf_append_char(out, ' ');
    else if (!is_hidden(c)) weir_buf_append(out, s.ptr, n);
}

void block_text(struct weir_buf *out, struct weir_slice text, size_t most)
{
    bool is_cut = text.len > most;
    if (is_cut) text.len = most;
    while (text.len > 0) {
        size_t n;
        enum utf8_verdict verdict = utf8_first(text, &n);
        if (verdict == UTF8_PARTIAL) break;
        if (verdict == UTF8_BAD) weir_buf_append_str(out, "\xEF\xBF\xBD");
        else put_character(out, text, n);
        text = slice_from(text, n);
    }
    if (is_cut) weir_buf_append_str(out, " [cut]");
}

void block_put(struct weir_buf *out, const char *name, struct weir_slice text)
{
    weir_buf_printf(out, "<data name=\"%s\">\n", name);
    block_text(out, text, BLOCK_BYTES);
    weir_buf_append_str(out, "\n</data>");
}

/* ---- prompts ---- */

const struct prompt *prompt_find(const char *name)
{
    size_t i = 0;
    while (i < n_prompts && strcmp(prompts[i].name, name) != 0) i++;
    CHECK(i < n_prompts);
    return &prompts[i];
}

void prompt_put_system(struct weir_buf *out, const struct prompt *p)
{
    const struct prompt *common = prompt_find("common");
    weir_buf_printf(out, "weir/%s v%u\nweir/common v%u\n\n%s\n\n%s", p->name, p->version,
                    common->version, p->system, common->system);
}

/* The value of the variable that begins here; its length with the braces goes to *len. */
static const struct prompt_value *value_at(const char *at, const struct prompt_value *values,
                                           size_t n, size_t *len)
{
    const char *end = strstr(at, "}}");
    size_t i = 0;
    CHECK(end);
    *len = (size_t)(end - at) + 2;
    while (i < n && !weir_slice_is(slice_of(at + 2, *len - 4), values[i].name)) i++;
    CHECK(i < n);
    return &values[i];
}

void prompt_put_user(struct weir_buf *out, const struct prompt *p,
                     const struct prompt_value *values, size_t n)
{
    size_t n_used = 0, len;
    const char *text = p->user;
    for (const char *at; (at = strstr(text, "{{")); text = at + len) {
        const struct prompt_value *value = value_at(at, values, n, &len);
        weir_buf_append(out, text, (size_t)(at - text));
        block_text(out, value->text, BLOCK_BYTES);
        n_used++;
    }
    weir_buf_append_str(out, text);
    CHECK(n_used == n);
}
