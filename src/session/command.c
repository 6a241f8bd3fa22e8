/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command is known by its first words; what follows is cut at a colon. It never guesses: a
 * sentence that goes on otherwise than expected is none.
 */
#include "session/command.h"

#include <stdio.h>
#include <strings.h>

#include <weir/json.h>

#include "base/slice.h"

enum { NAME_BYTES = 80 };

static struct weir_slice trim(struct weir_slice t)
{
    while (t.len > 0 && strchr(" \t\r\n", t.ptr[0])) t = slice_from(t, 1);
    while (t.len > 0 && strchr(" \t\r\n", t.ptr[t.len - 1])) t.len--;
    return t;
}

/* Takes the words off the front; they end there, or at something that is no letter. */
static bool take(struct weir_slice *t, const char *words)
{
    size_t n = strlen(words);
    if (t->len < n || strncasecmp(t->ptr, words, n) != 0) return false;
    char next = t->len > n ? t->ptr[n] : ' ';
    bool is_letter =
        (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || (unsigned char)next >= 0x80;
    if (is_letter && words[n - 1] != ' ') return false;
    *t = trim(slice_from(*t, n));
    return true;
}

static bool take_one(struct weir_slice *t, const char *const *list)
{
    for (; *list; list++)
        if (take(t, *list)) return true;
    return false;
}

/* What stands before the first colon, and behind it. */
static bool split(struct weir_slice t, struct weir_slice *before, struct weir_slice *behind)
{
    const char *colon = t.len > 0 ? memchr(t.ptr, ':', t.len) : NULL;
    if (!colon) return false;
    *before = trim(slice_of(t.ptr, (size_t)(colon - t.ptr)));
    *behind = trim(slice_from(t, (size_t)(colon - t.ptr) + 1));
    return behind->len > 0;
}

struct weir_slice command_without_stop(struct weir_slice t)
{
    while (t.len > 0 && strchr(".!? ", t.ptr[t.len - 1])) t.len--;
    return t;
}

static bool is_done(struct command *c, const char *tool, const char *key, struct weir_slice value)
{
    *c = (struct command){.tool = tool, .keys = {key}, .values = {value}};
    return !key || value.len > 0;
}

/* ---- memory, notes ---- */

static bool read_memory(struct weir_slice t, struct command *c)
{
    static const char *const words[] = {"remember that", "remember:", "please remember that",
                                        "remember this:", NULL};
    static const char *const forgetting[] = {"forget that", "forget:", "please forget that", NULL};
    if (take_one(&t, forgetting))
        return is_done(c, "forget_memory", "text", command_without_stop(t));
    return take_one(&t, words) && is_done(c, "remember", "text", t);
}

/* "TITLE: text" */
static bool read_note_text(struct weir_slice t, const char *tool, struct command *c)
{
    struct weir_slice name, text;
    if (!split(t, &name, &text)) return false;
    (void)take(&name, "called");
    name = command_without_stop(name); /* as those that read it */
    if (name.len == 0) name = SLICE("note");
    if (name.len > NAME_BYTES || memchr(name.ptr, '\n', name.len)) return false;
    *c = (struct command){.tool = tool, .keys = {"name", "text"}, .values = {name, text}};
    return true;
}

static bool read_note(struct weir_slice t, struct command *c)
{
    static const char *const writing[] = {"write a note", "write note", "make a note",
                                          "take a note",  "note",       NULL};
    static const char *const reading[] = {"read the note", "read note", "show the note",
                                          "show note",     "open note", NULL};
    static const char *const listing[] = {"list my notes",         "list notes",
                                          "list the notes",        "show my notes",
                                          "which notes do i have", NULL};
    static const char *const adding[] = {"add to the note", "add to note", "append to note", NULL};
    static const char *const deleting[] = {"delete the note", "delete note", NULL};
    if (take_one(&t, listing))
        return command_without_stop(t).len == 0 && is_done(c, "list_notes", NULL, t);
    if (take_one(&t, reading)) return is_done(c, "read_note", "name", command_without_stop(t));
    if (take_one(&t, deleting)) return is_done(c, "delete_note", "name", command_without_stop(t));
    if (take_one(&t, adding)) return read_note_text(t, "append_note", c);
    return take_one(&t, writing) && read_note_text(t, "write_note", c);
}

/* ---- schedules ---- */

/* The number at the front, of one or two digits. */
static bool take_number(struct weir_slice *t, unsigned most, unsigned *out)
{
    size_t n = 0;
    *out = 0;
    while (n < 2 && n < t->len && t->ptr[n] >= '0' && t->ptr[n] <= '9')
        *out = *out * 10 + (unsigned)(t->ptr[n++] - '0');
    *t = slice_from(*t, n);
    return n > 0 && *out <= most;
}

/* "7", "7:30", "7 am", "7:30pm" */
static bool take_time(struct weir_slice *t, unsigned *hour, unsigned *minute)
{
    *minute = 0;
    if (!take_number(t, 23, hour)) return false;
    bool has_minute = t->len > 2 && t->ptr[0] == ':' && t->ptr[1] >= '0' && t->ptr[1] <= '9';
    if (has_minute) {
        *t = slice_from(*t, 1);
        if (!take_number(t, 59, minute)) return false;
    }
    *t = trim(*t);
    bool is_pm = take(t, "pm");
    if (!is_pm && !take(t, "am")) return true;
    if (*hour == 0 || *hour > 12) return false;
    *hour = *hour % 12 + (is_pm ? 12 : 0);
    return true;
}

static bool read_every(struct weir_slice t, struct command *c)
{
    static const struct {
        const char *word, *days;
    } rows[] = {{"day", "*"},       {"morning", "*"}, {"evening", "*"},  {"night", "*"},
                {"weekday", "1-5"}, {"monday", "1"},  {"tuesday", "2"},  {"wednesday", "3"},
                {"thursday", "4"},  {"friday", "5"},  {"saturday", "6"}, {"sunday", "0"}};
    const char *days = NULL;
    unsigned hour, minute;
    if (!take(&t, "every")) return false;
    for (size_t i = 0; !days && i < sizeof rows / sizeof *rows; i++)
        if (take(&t, rows[i].word)) days = rows[i].days;
    if (!days || !take(&t, "at") || !take_time(&t, &hour, &minute)) return false;
    if (t.len == 0 || !strchr(":,", t.ptr[0])) return false;
    t = trim(slice_from(t, 1));
    *c = (struct command){.tool = "schedule_prompt", .keys = {"schedule", "text"}};
    snprintf(c->schedule, sizeof c->schedule, "%u %u * * %s", minute, hour, days);
    c->values[1] = t;
    return t.len > 0;
}

static bool read_schedule(struct weir_slice t, struct command *c)
{
    struct weir_slice schedule, text;
    if (!take(&t, "schedule") || !split(t, &schedule, &text)) return false;
    if (schedule.len == 0 || schedule.len >= sizeof c->schedule) return false;
    *c = (struct command){.tool = "schedule_prompt", .keys = {"schedule", "text"}};
    memcpy(c->schedule, schedule.ptr, schedule.len);
    c->values[1] = text;
    return true;
}

/* ---- all of them ---- */

bool command_read(struct weir_slice text, struct command *out)
{
    struct weir_slice t = trim(text);
    return read_memory(t, out) || read_note(t, out) || read_every(t, out) || read_schedule(t, out);
}

void command_put_input(struct weir_buf *out, const struct command *c)
{
    weir_json_put_begin_object(out);
    for (size_t i = 0; c->keys[i]; i++) {
        bool is_schedule = strcmp(c->keys[i], "schedule") == 0;
        weir_json_put_key(out, c->keys[i]);
        weir_json_put_string(out, is_schedule ? weir_slice_of(c->schedule) : c->values[i]);
    }
    weir_json_put_end_object(out);
}
