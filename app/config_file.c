/* SPDX-License-Identifier: Apache-2.0 */
#include "config_file.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/slice.h"
#include "data/nearest.h"

static const char *const names[CONFIG_N_NAMES] = {
    [CONFIG_URL] = "url",
    [CONFIG_KEY] = "key",
    [CONFIG_KEY_FILE] = "key_file",
    [CONFIG_CA_FILE] = "ca_file",
    [CONFIG_KEEP_EVENTS] = "keep_events",
};

/* What is read, and which profile the line at hand belongs to. */
struct reading {
    struct config_file *file;
    struct weir_slice wanted;      /* profile; empty: the one without a name */
    struct weir_slice section;     /* at hand */
    bool has_seen[CONFIG_N_NAMES]; /* in this section */
    struct config_mistake *mistake;
};

static struct weir_slice trim(struct weir_slice s)
{
    while (s.len > 0 && strchr(" \t\r", s.ptr[s.len - 1]) && s.ptr[s.len - 1] != 0) s.len--;
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) s = slice_from(s, 1);
    return s;
}

/* Neither a key nor a whole file that is none of ours belongs on a terminal. */
enum { SHOWN_BYTES = 40 };
#define SHOWN(s) (int)((s).len < SHOWN_BYTES ? (s).len : SHOWN_BYTES), (s).len > 0 ? (s).ptr : ""

static bool __attribute__((format(printf, 2, 3)))
is_wrong(struct reading *r, const char *format, ...)
{
    va_list args;
    size_t len = strlen(r->mistake->why);
    va_start(args, format);
    vsnprintf(r->mistake->why + len, CONFIG_WHY_BYTES - len, format, args);
    va_end(args);
    return false;
}

static bool is_plain(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 && s.ptr[i] != '\t') return false;
    return true;
}

/* ---- lines ---- */

static bool read_section(struct reading *r, struct weir_slice line)
{
    struct weir_slice name = trim(slice_of(line.ptr + 1, line.len > 1 ? line.len - 2 : 0));
    if (line.ptr[line.len - 1] != ']' || name.len == 0 || name.len >= CONFIG_PROFILE_BYTES)
        return is_wrong(r, "a section is a name in brackets, as [work], not \"%.*s\"", SHOWN(line));
    r->section = name;
    memset(r->has_seen, 0, sizeof r->has_seen);
    bool is_wanted = slice_eq(name, r->wanted);
    if (is_wanted && r->file->has_profile)
        return is_wrong(r, "the section [%.*s] is there twice", SHOWN(name));
    r->file->has_profile |= is_wanted;
    return true;
}

static bool no_such_name(struct reading *r, struct weir_slice name)
{
    struct nearest near;
    nearest_begin(&near, name);
    for (int i = 0; i < CONFIG_N_NAMES; i++)
        nearest_offer(&near, weir_slice_of(names[i]), names[i]);
    (void)is_wrong(r, "there is no setting \"%.*s\"", SHOWN(name));
    if (near.name) return is_wrong(r, "; did you mean %s?", near.name);
    return is_wrong(r, "; there are url, key, key_file, ca_file and keep_events");
}

static bool keep(struct reading *r, unsigned i, struct weir_slice value)
{
    if (r->has_seen[i]) return is_wrong(r, "%s is set twice", names[i]);
    if (value.len == 0) return is_wrong(r, "%s has no value", names[i]);
    if (value.ptr[0] == '"' || value.ptr[0] == '\'')
        return is_wrong(r, "%s: values are written without quotes", names[i]);
    if (i == CONFIG_KEEP_EVENTS && !weir_slice_is(value, "yes") && !weir_slice_is(value, "no"))
        return is_wrong(r, "%s is yes or no", names[i]);
    r->has_seen[i] = true;
    r->file->has_key |= i == CONFIG_KEY;
    if (!slice_eq(r->section, r->wanted)) return true;
    r->file->values[i] = value;
    r->file->lines[i] = r->mistake->line;
    return true;
}

static bool read_setting(struct reading *r, struct weir_slice line)
{
    const char *sign = memchr(line.ptr, '=', line.len);
    if (!sign) return is_wrong(r, "a line is \"name = value\", not \"%.*s\"", SHOWN(line));
    size_t at = (size_t)(sign - line.ptr);
    struct weir_slice name = trim(slice_of(line.ptr, at));
    for (unsigned i = 0; i < CONFIG_N_NAMES; i++)
        if (weir_slice_is(name, names[i])) return keep(r, i, trim(slice_from(line, at + 1)));
    return no_such_name(r, name);
}

static bool read_line(struct reading *r, struct weir_slice line)
{
    line = trim(line);
    if (line.len == 0 || line.ptr[0] == '#') return true;
    if (!is_plain(line)) return is_wrong(r, "there is a control character in it");
    return line.ptr[0] == '[' ? read_section(r, line) : read_setting(r, line);
}

bool config_file_read(struct weir_slice text, const char *profile, struct config_file *out,
                      struct config_mistake *mistake)
{
    struct reading r = {.file = out, .mistake = mistake};
    *out = (struct config_file){.has_profile = !profile};
    *mistake = (struct config_mistake){.line = 0};
    if (profile) r.wanted = weir_slice_of(profile);
    /* Some editors put a byte order mark at the beginning. */
    if (text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0) text = slice_from(text, 3);
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        mistake->line++;
        if (!read_line(&r, slice_of(text.ptr, len))) return false;
        text = slice_from(text, end ? len + 1 : len);
    }
    return true;
}
