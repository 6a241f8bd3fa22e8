/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists what was named and reads it. A zip archive is looked at member by member before anything
 * is unpacked: the directory at its end says how large each is and how small it is packed. Where
 * it lies, the reading notices: no member gives more bytes than it said.
 */
#include "import/archive.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "io/file.h"

enum {
    FIRST_ITEMS = 64,
    SAMPLE_BYTES = 64 << 10, /* of the head and of the tail, for the hash */
    SKIP_BYTES = 64 << 10,
};
#define NAMES_BYTES ((size_t)128 << 20) /* all names together */

/* An item, and where it is. */
struct place {
    struct archive_item item;
    const char *file;  /* the path to open */
    int64_t member;    /* of the zip archive; -1: the file itself */
    uint32_t checksum; /* of the member */
};

struct archive {
    struct arena names;
    struct place *places;
    size_t n, cap;
    uint64_t n_bytes;
    char error[ARCHIVE_ERROR_BYTES];

    zip_t *zip; /* open, of the path `zip_path` */
    const char *zip_path;
    zip_file_t *member;
    struct file file;
    const struct place *current;
    uint64_t at;
};

/* ---- failing ---- */

__attribute__((format(printf, 3, 4))) static enum weir_status fail(struct archive *a,
                                                                   enum weir_status st,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(a->error, sizeof a->error, format, args);
    va_end(args);
    return st;
}

const char *archive_error(const struct archive *a)
{
    return a->error;
}

/* ---- the list ---- */

static const char *keep_text(struct archive *a, const char *first, const char *second)
{
    size_t len = strlen(first) + strlen(second);
    char *kept = arena_alloc(&a->names, len + 1);
    if (kept) snprintf(kept, len + 1, "%s%s", first, second);
    return kept;
}

/* "export.zip: a/b.xml". Names of members are printed: what would speak to a terminal is blank. */
static const char *keep_name(struct archive *a, const char *path, const char *member)
{
    size_t begin = strlen(path) + 2;
    size_t len = begin + strlen(member);
    char *kept = arena_alloc(&a->names, len + 1);
    if (!kept) return NULL;
    snprintf(kept, len + 1, "%s: %s", path, member);
    for (char *c = kept + begin; *c != 0; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = ' ';
    return kept;
}

static struct weir_slice last_part(struct weir_slice path)
{
    size_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '/' && path.ptr[at - 1] != '\\') at--;
    return slice_from(path, at);
}

static enum weir_status add(struct archive *a, const struct place *place)
{
    if (a->n == ARCHIVE_ITEMS)
        return fail(a, WEIR_LIMIT, "%s: there are more than 200,000 files", place->file);
    if (a->n == a->cap) {
        size_t cap = a->cap > 0 ? a->cap * 2 : FIRST_ITEMS;
        struct place *larger = mem_realloc(a->places, cap * sizeof *larger);
        if (!larger) return WEIR_NOMEM;
        a->places = larger;
        a->cap = cap;
    }
    if (!place->item.name) return WEIR_NOMEM;
    a->places[a->n] = *place;
    a->places[a->n].item.base = last_part(place->item.path);
    a->places[a->n++].item.bytes = place->item.bytes;
    a->n_bytes += place->item.bytes;
    return WEIR_OK;
}

size_t archive_count(const struct archive *a)
{
    return a->n;
}

const struct archive_item *archive_item(const struct archive *a, size_t i)
{
    return &a->places[i].item;
}

/* ---- zip archives ---- */

static void close_zip(struct archive *a)
{
    if (a->zip) zip_discard(a->zip);
    a->zip = NULL;
    a->zip_path = NULL;
}

static enum weir_status open_zip(struct archive *a, const char *path)
{
    int code = 0;
    if (a->zip && a->zip_path == path) return WEIR_OK;
    close_zip(a);
    a->zip = zip_open(path, ZIP_RDONLY, &code);
    if (a->zip) {
        a->zip_path = path;
        return WEIR_OK;
    }
    if (code == ZIP_ER_MEMORY) return WEIR_NOMEM;
    if (code == ZIP_ER_OPEN || code == ZIP_ER_READ || code == ZIP_ER_SEEK)
        return fail(a, WEIR_IO, "%s: cannot be read: %s", path, strerror(errno));
    return fail(a, WEIR_INVALID,
                "%s: begins as a zip archive, but its directory is missing or damaged: it is "
                "truncated, as by a download or copy that was cut off",
                path);
}

static bool is_trick(struct weir_slice name)
{
    size_t begin = 0;
    if (name.len > 0 && (name.ptr[0] == '/' || name.ptr[0] == '\\')) return true;
    for (size_t i = 0; i <= name.len; i++) {
        if (i < name.len && name.ptr[i] != '/' && name.ptr[i] != '\\') continue;
        if (i - begin == 2 && memcmp(name.ptr + begin, "..", 2) == 0) return true;
        begin = i + 1;
    }
    return false;
}

static const char *trap_of(const zip_stat_t *s, struct weir_slice name)
{
    if (name.len > ARCHIVE_NAME_BYTES) return "the name of a member is longer than 1024 bytes";
    if (is_trick(name))
        return "a member's name leads out of the archive (\"..\" or an absolute path)";
    if (s->encryption_method != ZIP_EM_NONE)
        return "it is encrypted: unpack it with its password first, then import what comes out";
    if (s->size > ARCHIVE_MEMBER_BYTES) return "a member is larger than 64 GiB unpacked";
    if (s->size > ARCHIVE_SMALL_BYTES && s->size / ARCHIVE_RATIO > s->comp_size)
        return "a member is packed more than 250 to 1: it is refused as a possible zip bomb";
    return NULL;
}

static enum weir_status add_member(struct archive *a, const char *path, zip_uint64_t i,
                                   uint64_t *packed)
{
    zip_stat_t s;
    zip_stat_init(&s);
    const zip_uint64_t wanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC |
                                ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(a->zip, i, 0, &s) != 0 || (s.valid & wanted) != wanted)
        return fail(a, WEIR_INVALID,
                    "%s: the entry of a member in the archive's directory is "
                    "damaged",
                    path);
    struct weir_slice name = weir_slice_of(s.name);
    const char *trap = trap_of(&s, name);
    if (trap) return fail(a, WEIR_INVALID, "%s: %s", path, trap);
    *packed += s.comp_size;
    if (name.len == 0 || name.ptr[name.len - 1] == '/') return WEIR_OK;
    const char *kept = keep_name(a, path, s.name);
    struct place place = {
        .item = {.name = kept, .bytes = s.size},
        .file = path,
        .member = (int64_t)i,
        .checksum = s.crc,
    };
    if (kept) place.item.path = slice_of(kept + strlen(path) + 2, name.len);
    return add(a, &place);
}

static enum weir_status add_zip(struct archive *a, const char *path, uint64_t n_bytes)
{
    uint64_t packed = 0;
    enum weir_status st = open_zip(a, path);
    if (st != WEIR_OK) return st;
    zip_int64_t n = zip_get_num_entries(a->zip, 0);
    if (n > ARCHIVE_ITEMS)
        return fail(a, WEIR_LIMIT, "%s: the archive has more than 200,000 members", path);
    for (zip_int64_t i = 0; i < n && st == WEIR_OK; i++)
        st = add_member(a, path, (zip_uint64_t)i, &packed);
    if (st == WEIR_OK && packed > n_bytes)
        return fail(a, WEIR_INVALID,
                    "%s: its members lie over one another: it is refused as a zip bomb", path);
    return st;
}

/* ---- files and folders ---- */

static bool is_zip(struct archive *a, const char *path)
{
    char head[4];
    size_t n = 0;
    struct file f;
    (void)a;
    if (file_open(&f, path, FILE_READ_ONLY) != WEIR_OK) return false;
    bool is_read = file_read_at(&f, head, sizeof head, 0, &n) == WEIR_OK && n == sizeof head;
    file_close(&f);
    return is_read && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

static enum weir_status add_file(struct archive *a, const char *path, size_t folder_len,
                                 uint64_t n_bytes)
{
    if (is_zip(a, path)) return add_zip(a, path, n_bytes);
    struct weir_slice whole = weir_slice_of(path);
    return add(
        a, &(struct place){
               .item = {.name = path,
                        .path = folder_len > 0 ? slice_from(whole, folder_len) : last_part(whole),
                        .bytes = n_bytes,
                        .is_named = folder_len == 0},
               .file = path,
               .member = -1,
           });
}

static enum weir_status add_path(struct archive *a, const char *path, size_t folder_len,
                                 unsigned depth);

static int by_name(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

/* What begins with a dot is the system's: ".DS_Store", "._export.xml". */
static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum weir_status add_folder(struct archive *a, const char *path, size_t folder_len,
                                   unsigned depth)
{
    struct dirent **entries = NULL;
    enum weir_status st = WEIR_OK;
    if (depth == ARCHIVE_DEPTH)
        return fail(a, WEIR_LIMIT, "%s: folders are nested deeper than 32", path);
    int n = scandir(path, &entries, is_wanted, by_name);
    if (n < 0) return fail(a, WEIR_IO, "%s: cannot be read: %s", path, strerror(errno));
    const char *prefix = keep_text(a, path, path[strlen(path) - 1] == '/' ? "" : "/");
    for (int i = 0; i < n; i++) {
        const char *name =
            prefix && st == WEIR_OK ? keep_text(a, prefix, entries[i]->d_name) : NULL;
        if (name) st = add_path(a, name, folder_len > 0 ? folder_len : strlen(prefix), depth + 1);
        else if (st == WEIR_OK) st = WEIR_NOMEM;
        mem_free(entries[i]);
    }
    mem_free(entries);
    return st;
}

/* Links are followed where the caller named them, not where they are found. */
static enum weir_status add_path(struct archive *a, const char *path, size_t folder_len,
                                 unsigned depth)
{
    struct stat s;
    int found = depth == 0 ? stat(path, &s) : lstat(path, &s);
    if (found != 0 && errno == ENOENT)
        return fail(a, WEIR_NOT_FOUND, "%s: there is no such file", path);
    if (found != 0) return fail(a, WEIR_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(s.st_mode)) return add_folder(a, path, folder_len, depth);
    if (S_ISREG(s.st_mode)) return add_file(a, path, folder_len, (uint64_t)s.st_size);
    if (depth > 0) return WEIR_OK;
    return fail(a, WEIR_INVALID, "%s: is no file and no folder", path);
}

enum weir_status archive_open(struct archive **out, const char *const *paths, size_t n_paths,
                              char error[ARCHIVE_ERROR_BYTES])
{
    enum weir_status st = WEIR_OK;
    struct archive *a = mem_zalloc(sizeof *a);
    *out = NULL;
    error[0] = 0;
    if (!a) return WEIR_NOMEM;
    arena_init(&a->names, NAMES_BYTES);
    a->file.fd = -1;
    for (size_t i = 0; i < n_paths && st == WEIR_OK; i++) {
        const char *path = keep_text(a, paths[i], "");
        st = path ? add_path(a, path, 0, 0) : WEIR_NOMEM;
    }
    if (st == WEIR_OK && a->n_bytes > ARCHIVE_TOTAL_BYTES)
        st = fail(a, WEIR_LIMIT, "%s: all together is larger than 256 GiB", paths[0]);
    if (st == WEIR_OK && a->n == 0)
        st = fail(a, WEIR_INVALID, "%s: there is no file in it", paths[0]);
    close_zip(a);
    if (st == WEIR_OK) {
        *out = a;
        return WEIR_OK;
    }
    snprintf(error, ARCHIVE_ERROR_BYTES, "%s", a->error);
    archive_close(a);
    return st;
}

void archive_close(struct archive *a)
{
    if (!a) return;
    archive_stop(a);
    close_zip(a);
    mem_free(a->places);
    arena_fini(&a->names);
    mem_free(a);
}

/* ---- reading ---- */

void archive_stop(struct archive *a)
{
    if (a->member) zip_fclose(a->member);
    a->member = NULL;
    file_close(&a->file);
    a->current = NULL;
}

static enum weir_status skip(struct archive *a, uint64_t from)
{
    char bytes[4096];
    while (a->at < from) {
        size_t n;
        uint64_t left = from - a->at;
        size_t want = left < sizeof bytes ? (size_t)left : sizeof bytes;
        enum weir_status st = archive_read(a, bytes, want, &n);
        if (st != WEIR_OK) return st;
        if (n == 0)
            return fail(a, WEIR_INVALID, "%s: it has become shorter", a->current->item.name);
    }
    return WEIR_OK;
}

enum weir_status archive_start(struct archive *a, size_t i, uint64_t from)
{
    archive_stop(a);
    a->current = &a->places[i];
    a->at = 0;
    if (a->current->member < 0) {
        if (file_open(&a->file, a->current->file, FILE_READ_ONLY) != WEIR_OK)
            return fail(a, WEIR_IO, "%s: cannot be opened: %s", a->current->file, strerror(errno));
        a->at = from;
        return WEIR_OK;
    }
    enum weir_status st = open_zip(a, a->current->file);
    if (st != WEIR_OK) return st;
    a->member = zip_fopen_index(a->zip, (zip_uint64_t)a->current->member, 0);
    if (!a->member)
        return fail(a, WEIR_INVALID, "%s: cannot be unpacked: %s", a->current->item.name,
                    zip_strerror(a->zip));
    return skip(a, from);
}

enum weir_status archive_read(struct archive *a, char *bytes, size_t len, size_t *n_read)
{
    const struct archive_item *item = &a->current->item;
    *n_read = 0;
    if (a->current->member < 0) {
        enum weir_status st = file_read_at(&a->file, bytes, len, a->at, n_read);
        if (st != WEIR_OK)
            return fail(a, st, "%s: cannot be read: %s", item->name, strerror(errno));
        a->at += *n_read;
        return WEIR_OK;
    }
    zip_int64_t n = zip_fread(a->member, bytes, len);
    if (n < 0)
        return fail(a, WEIR_INVALID, "%s: what is packed there is damaged: %s", item->name,
                    zip_file_strerror(a->member));
    *n_read = (size_t)n;
    a->at += *n_read;
    if (a->at > item->bytes)
        return fail(a, WEIR_INVALID,
                    "%s: it unpacks to more than the archive says: it is refused as a zip bomb",
                    item->name);
    if (n == 0 && a->at < item->bytes)
        return fail(a, WEIR_INVALID, "%s: it unpacks to less than the archive says", item->name);
    return WEIR_OK;
}

/* ---- which contents these are ---- */

/* Head and tail of a file; a member's checksum says as much of it. */
static enum weir_status sample(struct archive *a, size_t i, struct weir_buf *out)
{
    static const uint64_t tail_bytes = SAMPLE_BYTES;
    char *bytes = mem_alloc(SAMPLE_BYTES);
    size_t n = 0;
    if (!bytes) return WEIR_NOMEM;
    uint64_t size = a->places[i].item.bytes;
    enum weir_status st = archive_start(a, i, 0);
    if (st == WEIR_OK) st = archive_read(a, bytes, SAMPLE_BYTES, &n);
    weir_buf_append(out, bytes, n);
    if (st == WEIR_OK && size > tail_bytes) {
        a->at = size - tail_bytes;
        st = archive_read(a, bytes, SAMPLE_BYTES, &n);
        weir_buf_append(out, bytes, n);
    }
    archive_stop(a);
    mem_free(bytes);
    return st;
}

enum weir_status archive_hash(struct archive *a, unsigned char out[ARCHIVE_HASH_BYTES])
{
    struct weir_buf buf;
    enum weir_status st = WEIR_OK;
    unsigned char so_far[SHA256_BYTES] = {0};
    weir_buf_init(&buf, 4 * SAMPLE_BYTES);
    for (size_t i = 0; i < a->n && st == WEIR_OK; i++) {
        const struct place *p = &a->places[i];
        weir_buf_reset(&buf);
        weir_buf_append(&buf, so_far, sizeof so_far);
        weir_buf_append(&buf, &p->item.bytes, sizeof p->item.bytes);
        weir_buf_append(&buf, &p->checksum, sizeof p->checksum);
        /* A file that is alone may have been moved; one of many is known by its name too. */
        if (a->n > 1) weir_buf_append_slice(&buf, p->item.base);
        if (p->member < 0) st = sample(a, i, &buf);
        if (st == WEIR_OK) st = weir_buf_status(&buf);
        if (st == WEIR_OK) sha256(weir_buf_slice(&buf), so_far);
    }
    weir_buf_fini(&buf);
    memcpy(out, so_far, ARCHIVE_HASH_BYTES);
    return st;
}
