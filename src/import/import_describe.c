/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is that no reader knows: as much as its first bytes tell, for people. */
#include <string.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "import/import_impl.h"

enum { MAX_NAMES = 8, NAME_BYTES = 32, LINE_BYTES = 2000 };

static bool begins(struct weir_slice s, const char *with, size_t len)
{
    return s.len >= len && memcmp(s.ptr, with, len) == 0;
}

static const struct {
    const char *magic;
    size_t len;
    const char *what;
} magics[] = {
    {"%PDF", 4, "a PDF document"},
    {"\x1f\x8b", 2, "a gzip file: unpack it first"},
    /* One that was named itself was opened, so this is one of its members. */
    {"PK\3\4", 4, "a zip archive inside of an archive: unpack it first"},
    {"PK\5\6", 4, "a zip archive inside of an archive: unpack it first"},
    {"PK", 2, "a zip archive that is damaged"},
    {"7z\xbc\xaf", 4, "a 7-Zip archive: unpack it first"},
    {"Rar!", 4, "a RAR archive: unpack it first"},
    {"\x89PNG", 4, "a picture"},
    {"\xff\xd8\xff", 3, "a picture"},
    {"GIF8", 4, "a picture"},
    {"SQLite format 3", 15, "an SQLite database"},
    {"\xff\xfe", 2, "text in UTF-16: save it as UTF-8"},
    {"\xfe\xff", 2, "text in UTF-16: save it as UTF-8"},
    {"\xd0\xcf\x11\xe0", 4, "an old Office document: save it as CSV"},
    {"<!DOCTYPE html", 14, "a web page"},
    {"<html", 5, "a web page"},
};

static void put_name(struct weir_buf *out, struct weir_slice name)
{
    size_t len = name.len < NAME_BYTES ? name.len : NAME_BYTES;
    utf8_append_repaired(out, slice_of(name.ptr, utf8_valid_prefix(slice_of(name.ptr, len))));
    if (len < name.len) weir_buf_append_str(out, "…");
}

static struct weir_slice skip_blanks(struct weir_slice s)
{
    if (begins(s, "\xef\xbb\xbf", 3)) s = slice_from(s, 3);
    while (s.len > 0 && strchr(" \t\r\n", s.ptr[0]) && s.ptr[0] != 0) s = slice_from(s, 1);
    return s;
}

/* The root's name: the first '<' that a letter follows. */
static void describe_xml(struct weir_buf *out, struct weir_slice s)
{
    weir_buf_append_str(out, "XML");
    for (size_t i = 0; i + 1 < s.len; i++) {
        char c = s.ptr[i + 1] | 0x20;
        if (s.ptr[i] != '<' || c < 'a' || c > 'z') continue;
        size_t len = 0;
        while (i + 1 + len < s.len && !strchr(" \t\r\n/>", s.ptr[i + 1 + len])) len++;
        weir_buf_append_str(out, " whose root is <");
        put_name(out, slice_of(s.ptr + i + 1, len));
        weir_buf_append_str(out, ">");
        if (weir_slice_is(slice_of(s.ptr + i + 1, len), "ClinicalDocument"))
            weir_buf_append_str(out, ", a CDA document: import the export.xml beside it instead");
        return;
    }
}

static void describe_json(struct weir_buf *out, struct weir_slice s)
{
    struct weir_json_doc *doc = weir_json_doc_new(0);
    struct weir_json_reader *r = doc ? weir_json_reader_new(doc, 0) : NULL;
    bool is_json = r && weir_json_reader_feed(r, s.ptr, s.len) == WEIR_OK;
    const struct weir_json *v = is_json ? weir_json_reader_value(r) : NULL;
    if (weir_json_type_of(v) == WEIR_JSON_ARRAY) v = weir_json_first(v);
    weir_buf_append_str(out, is_json ? "JSON" : "text that begins as JSON does, but is none");
    const struct weir_json *m =
        weir_json_type_of(v) == WEIR_JSON_OBJECT ? weir_json_first(v) : NULL;
    for (int i = 0; m && i < MAX_NAMES; m = weir_json_next(m), i++) {
        weir_buf_append_str(out, i == 0 ? " with the keys " : ", ");
        put_name(out, weir_json_key(m));
    }
    weir_json_reader_free(r);
    weir_json_doc_free(doc);
}

static struct weir_slice first_line(struct weir_slice s)
{
    size_t len = 0;
    while (len < s.len && len < LINE_BYTES && s.ptr[len] != '\n' && s.ptr[len] != '\r') len++;
    return slice_of(s.ptr, len);
}

static void describe_table(struct weir_buf *out, struct weir_slice line, char separator)
{
    weir_buf_append_str(out, separator == '\t' ? "a table with tabs, with the columns "
                                               : "CSV with the columns ");
    for (int i = 0; i < MAX_NAMES; i++) {
        const char *end = memchr(line.ptr, separator, line.len);
        size_t len = end ? (size_t)(end - line.ptr) : line.len;
        if (i > 0) weir_buf_append_str(out, ", ");
        put_name(out, slice_of(line.ptr, len));
        if (!end) return;
        line = slice_from(line, len + 1);
    }
    weir_buf_append_str(out, ", …");
}

static bool is_text(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 && !strchr("\t\r\n\v\f", s.ptr[i])) return false;
    return !memchr(s.ptr, 0, s.len);
}

void describe_head(struct weir_buf *out, struct weir_slice head)
{
    if (head.len == 0) {
        weir_buf_append_str(out, "it is empty");
        return;
    }
    weir_buf_append_str(out, "it looks like ");
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if (!begins(head, magics[i].magic, magics[i].len)) continue;
        weir_buf_append_str(out, magics[i].what);
        return;
    }
    struct weir_slice s = skip_blanks(head);
    struct weir_slice line = first_line(s);
    if (s.len > 0 && s.ptr[0] == '<') describe_xml(out, s);
    else if (!is_text(head)) weir_buf_append_str(out, "binary data");
    else if (s.len > 0 && (s.ptr[0] == '{' || s.ptr[0] == '[')) describe_json(out, s);
    else if (memchr(line.ptr, '\t', line.len)) describe_table(out, line, '\t');
    else if (memchr(line.ptr, ';', line.len)) describe_table(out, line, ';');
    else if (memchr(line.ptr, ',', line.len)) describe_table(out, line, ',');
    else weir_buf_append_str(out, "plain text");
}

void describe_kinds(struct weir_buf *out)
{
    for (size_t i = 0; reader_kinds[i]; i++)
        weir_buf_printf(out, "%s%s", i > 0 ? ", " : "", reader_kinds[i]->name);
}
