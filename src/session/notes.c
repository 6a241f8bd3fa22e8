/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes: text files in the folder "notes" of a session's own folder. These are functions of the
 * runner: each runs in a process of its own that can touch nothing but that folder. What programs
 * may have put there is not believed: only plain files of a name that a note may have are notes.
 *
 * The input is {"call":…,"input":…}: the id of the call, and what the model has said. Whatever is
 * done twice for one call, since a crash came in between, is told as it was the first time.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "codec/json_member.h"
#include "io/file.h"
#include "session/tools_impl.h"

enum {
    NOTES = 200,
    INPUT_BYTES = 8 << 20, /* of an input, as values */
    NOTE_PATH_BYTES = NOTE_NAME_BYTES + 32,
    CALL_BYTES = 128, /* of an id */
};

static const char notes_folder[] = "notes";
static const char new_note[] = "notes/.new"; /* no note has such a name */
/* The id of the call that has deleted a note last, or was about to. */
static const char deleted_mark[] = "notes/.deleted";

/* ---- names ---- */

const char *note_name_fault(struct weir_slice name)
{
    if (name.len == 0 || name.len > NOTE_NAME_BYTES) return "it is too long, or empty";
    if (name.ptr[0] == '.' || name.ptr[0] == ' ' || name.ptr[name.len - 1] == ' ')
        return "it may not begin with a dot or a blank, nor end with a blank";
    if (utf8_valid_prefix(name) != name.len) return "it is not UTF-8";
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] == '/' || name.ptr[i] == '\\') return "it may not have a / or \\";
    return utf8_has_controls(name) ? "it may not have control characters" : NULL;
}

struct note {
    struct weir_json_doc *doc;
    struct weir_slice call, name, text;
    char path[NOTE_PATH_BYTES];
};

__attribute__((format(printf, 2, 3))) static enum weir_status fail(char why[RUNNER_WHY_BYTES],
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, RUNNER_WHY_BYTES, format, args);
    va_end(args);
    return WEIR_UNPROCESSABLE;
}

static enum weir_status fail_by_system(char why[RUNNER_WHY_BYTES])
{
    return fail(why, "the notes cannot be used: %s", strerror(errno));
}

/* The server has looked at it; whoever runs here looks again. */
static enum weir_status read_input(struct note *n, struct weir_slice input,
                                   char why[RUNNER_WHY_BYTES])
{
    const struct weir_json *json = NULL;
    n->doc = weir_json_doc_new(INPUT_BYTES);
    if (!n->doc) return WEIR_NOMEM;
    enum weir_status st = weir_json_parse(n->doc, input, &json, NULL);
    n->call = weir_json_text(weir_json_get_str(json, "call"));
    json = weir_json_get_str(json, "input");
    n->name = weir_json_text(weir_json_get_str(json, "name"));
    n->text = weir_json_text(weir_json_get_str(json, "text"));
    const char *fault = note_name_fault(n->name);
    if (st != WEIR_OK || fault) return fail(why, "name: %s", fault ? fault : "it is missing");
    snprintf(n->path, sizeof n->path, "%s/%.*s", notes_folder, (int)n->name.len, n->name.ptr);
    if (mkdir(notes_folder, S_IRWXU) != 0 && errno != EEXIST) return fail_by_system(why);
    struct stat info;
    if (lstat(notes_folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return fail(why, "the folder of the notes is none");
    return WEIR_OK;
}

/* False: there is no such note. */
static bool is_note(const char *path, struct stat *info)
{
    return lstat(path, info) == 0 && S_ISREG(info->st_mode);
}

/* ---- reading ---- */

static enum weir_status read_text(const struct note *n, struct weir_buf *out,
                                  char why[RUNNER_WHY_BYTES])
{
    struct file f;
    struct stat info;
    static char bytes[NOTE_TEXT_BYTES + 1];
    size_t len = 0;
    if (!is_note(n->path, &info)) return fail(why, "there is no note of that name");
    enum weir_status st = file_open(&f, n->path, FILE_READ_ONLY);
    if (st != WEIR_OK) return fail_by_system(why);
    st = file_read_at(&f, bytes, sizeof bytes, 0, &len);
    file_close(&f);
    if (st != WEIR_OK) return fail_by_system(why);
    if (len > NOTE_TEXT_BYTES) return fail(why, "it is larger than a note may be");
    utf8_append_repaired(out, slice_of(bytes, len));
    return weir_buf_status(out);
}

static enum weir_status read_note(struct weir_slice input, struct weir_buf *out,
                                  char why[RUNNER_WHY_BYTES])
{
    struct note n = {0};
    struct weir_buf text;
    weir_buf_init(&text, 4 * NOTE_TEXT_BYTES);
    enum weir_status st = read_input(&n, input, why);
    if (st == WEIR_OK) st = read_text(&n, &text, why);
    if (st == WEIR_OK) {
        weir_json_put_begin_object(out);
        member_string(out, "name", n.name);
        member_string(out, "text", weir_buf_slice(&text));
        weir_json_put_end_object(out);
    }
    weir_buf_fini(&text);
    weir_json_doc_free(n.doc);
    return st;
}

/* In the order of their names. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int has_name_of_note(const struct dirent *e)
{
    return note_name_fault(weir_slice_of(e->d_name)) == NULL;
}

static void put_one(struct weir_buf *out, const char *name, const struct stat *info)
{
    weir_json_put_begin_object(out);
    member_string(out, "name", weir_slice_of(name));
    weir_json_put_key(out, "bytes");
    weir_json_put_int(out, info->st_size);
    weir_json_put_end_object(out);
}

/* Those there are; `out` may be NULL. */
static unsigned each_note(struct weir_buf *out)
{
    struct dirent **list = NULL;
    char path[NOTE_PATH_BYTES + 256];
    struct stat info;
    unsigned n = 0;
    int n_list = scandir(notes_folder, &list, has_name_of_note, by_name);
    for (int i = 0; i < n_list; i++) {
        snprintf(path, sizeof path, "%s/%s", notes_folder, list[i]->d_name);
        if (!is_note(path, &info)) continue;
        if (out && n < NOTES) put_one(out, list[i]->d_name, &info);
        n++;
    }
    return n; /* the list ends with the process */
}

static enum weir_status list_notes(struct weir_slice input, struct weir_buf *out,
                                   char why[RUNNER_WHY_BYTES])
{
    (void)input;
    (void)why;
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "notes");
    weir_json_put_begin_array(out);
    (void)each_note(out);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    return WEIR_OK;
}

/* ---- writing ---- */

/* All of it or nothing, and on the disk when that is said. */
static enum weir_status replace(const char *path, struct weir_slice text,
                                char why[RUNNER_WHY_BYTES])
{
    struct file f;
    if (unlink(new_note) != 0 && errno != ENOENT) return fail_by_system(why);
    enum weir_status st = file_open(&f, new_note, FILE_MUST_CREATE);
    if (st != WEIR_OK) return fail_by_system(why);
    st = file_write_at(&f, text, 0);
    if (st == WEIR_OK) st = file_sync(&f);
    file_close(&f);
    if (st == WEIR_OK && rename(new_note, path) != 0) st = WEIR_IO;
    if (st == WEIR_OK) st = file_sync_folder(notes_folder);
    return st == WEIR_OK ? st : fail_by_system(why);
}

static enum weir_status put_note(const struct note *n, struct weir_slice text, struct weir_buf *out,
                                 char why[RUNNER_WHY_BYTES])
{
    struct stat info;
    if (text.len > NOTE_TEXT_BYTES)
        return fail(why, "a note has at most %d bytes", (int)NOTE_TEXT_BYTES);
    if (!is_note(n->path, &info) && each_note(NULL) >= NOTES)
        return fail(why, "there are %d notes already; delete some first", (int)NOTES);
    enum weir_status st = replace(n->path, text, why);
    if (st != WEIR_OK) return st;
    weir_json_put_begin_object(out);
    member_string(out, "name", n->name);
    weir_json_put_key(out, "bytes");
    weir_json_put_uint(out, text.len);
    weir_json_put_end_object(out);
    return WEIR_OK;
}

static enum weir_status write_note(struct weir_slice input, struct weir_buf *out,
                                   char why[RUNNER_WHY_BYTES])
{
    struct note n = {0};
    enum weir_status st = read_input(&n, input, why);
    if (st == WEIR_OK) st = put_note(&n, n.text, out, why);
    weir_json_doc_free(n.doc);
    return st;
}

static enum weir_status append_note(struct weir_slice input, struct weir_buf *out,
                                    char why[RUNNER_WHY_BYTES])
{
    struct note n = {0};
    struct stat info;
    struct weir_buf text;
    weir_buf_init(&text, 8 * NOTE_TEXT_BYTES);
    enum weir_status st = read_input(&n, input, why);
    if (st == WEIR_OK && is_note(n.path, &info)) st = read_text(&n, &text, why);
    if (text.len > 0 && text.ptr[text.len - 1] != '\n') weir_buf_append_char(&text, '\n');
    weir_buf_append_slice(&text, n.text);
    if (st == WEIR_OK) st = weir_buf_status(&text);
    if (st == WEIR_OK) st = put_note(&n, weir_buf_slice(&text), out, why);
    weir_buf_fini(&text);
    weir_json_doc_free(n.doc);
    return st;
}

/* Whether an earlier run of this call has found the note. */
static bool was_deleted(const struct note *n)
{
    struct file f;
    struct stat info;
    char call[CALL_BYTES];
    size_t len = 0;
    if (!is_note(deleted_mark, &info) || file_open(&f, deleted_mark, FILE_READ_ONLY) != WEIR_OK)
        return false;
    enum weir_status st = file_read_at(&f, call, sizeof call, 0, &len);
    file_close(&f);
    return st == WEIR_OK && len > 0 && slice_eq(slice_of(call, len), n->call);
}

/* The mark is on the disk before the note is gone. */
static enum weir_status remove_note(const struct note *n, char why[RUNNER_WHY_BYTES])
{
    struct stat info;
    if (!is_note(n->path, &info))
        return was_deleted(n) ? WEIR_OK : fail(why, "there is no note of that name");
    enum weir_status st = replace(deleted_mark, n->call, why);
    if (st != WEIR_OK) return st;
    bool is_done = unlink(n->path) == 0 && file_sync_folder(notes_folder) == WEIR_OK;
    return is_done ? WEIR_OK : fail_by_system(why);
}

static enum weir_status delete_note(struct weir_slice input, struct weir_buf *out,
                                    char why[RUNNER_WHY_BYTES])
{
    struct note n = {0};
    enum weir_status st = read_input(&n, input, why);
    if (st == WEIR_OK) st = remove_note(&n, why);
    if (st == WEIR_OK) {
        weir_json_put_begin_object(out);
        member_string(out, "deleted", n.name);
        weir_json_put_end_object(out);
    }
    weir_json_doc_free(n.doc);
    return st;
}

const struct runner_function session_functions[] = {
    {"list_notes", list_notes},   {"read_note", read_note},     {"write_note", write_note},
    {"append_note", append_note}, {"delete_note", delete_note}, {.name = NULL},
};
