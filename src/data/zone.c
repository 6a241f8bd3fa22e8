/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zone files (TZif, RFC 8536): a header of 44 bytes ("TZif", version, 15 bytes, six counts), then
 * moments of change, the type of time that each begins, and the types. Version 2 and later have it
 * all twice, first with moments of 32 bits, for old readers, then with 64 and the rule for all
 * times to come between two line feeds. We read the last that there is.
 *
 * Names become paths: none may leave the folder of zones.
 */
#include "data/zone.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/slice.h"
#include "data/zone_rule.h"

enum {
    HEADER_BYTES = 44,
    TYPE_BYTES = 6,
    FILE_BYTES = 1 << 17,   /* the largest zone file is 4 KB */
    MAX_OFFSET = 26 * 3600, /* RFC 8536: between -25 and 26 hours */
    NAME_BYTES = 64,
    PATH_BYTES = 512,
    LOOK_AROUND = 2 * 86400, /* seconds around a wall time in which one change is looked for */
};

struct zone {
    char name[NAME_BYTES];
    int32_t first; /* before all changes */
    size_t n;
    int64_t *moments; /* of changes, rising */
    int32_t *offsets; /* from then on */
    struct zone_rule rule;
};

/* ---- reading ---- */

struct counts {
    uint32_t n_utc, n_std, n_leaps, n_moments, n_types, n_chars;
};

static uint64_t big_endian(const char *at, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v = v << 8 | (unsigned char)at[i];
    return v;
}

static bool read_header(struct weir_slice bytes, struct counts *c, char *version)
{
    if (bytes.len < HEADER_BYTES || memcmp(bytes.ptr, "TZif", 4) != 0) return false;
    *version = bytes.ptr[4];
    uint32_t *all[] = {&c->n_utc, &c->n_std, &c->n_leaps, &c->n_moments, &c->n_types, &c->n_chars};
    for (size_t i = 0; i < 6; i++) *all[i] = (uint32_t)big_endian(bytes.ptr + 20 + 4 * i, 4);
    return c->n_leaps ==
           0; /* "right/…": there moments count leap seconds, and are not those of clocks */
}

/* Bytes of a block behind its header; moments have 4 or 8. */
static uint64_t block_size(const struct counts *c, unsigned width)
{
    return (uint64_t)c->n_moments * (width + 1) + (uint64_t)c->n_types * TYPE_BYTES + c->n_chars +
           (uint64_t)c->n_leaps * (width + 4) + c->n_std + c->n_utc;
}

static bool read_types(struct zone *z, const struct counts *c, const char *indexes,
                       const char *types)
{
    for (uint32_t i = 0; i < c->n_types; i++) {
        int32_t offset = (int32_t)(uint32_t)big_endian(types + (size_t)i * TYPE_BYTES, 4);
        if (offset < -MAX_OFFSET || offset > MAX_OFFSET) return false;
    }
    z->first = (int32_t)(uint32_t)big_endian(types, 4);
    for (size_t i = 0; i < z->n; i++) {
        unsigned type = (unsigned char)indexes[i];
        if (type >= c->n_types) return false;
        z->offsets[i] = (int32_t)(uint32_t)big_endian(types + (size_t)type * TYPE_BYTES, 4);
    }
    return true;
}

static enum weir_status read_block(struct zone *z, const struct counts *c, const char *at,
                                   unsigned width)
{
    if (c->n_types == 0) return WEIR_CORRUPT;
    z->n = c->n_moments;
    z->moments = mem_alloc(z->n * sizeof *z->moments + 1);
    z->offsets = mem_alloc(z->n * sizeof *z->offsets + 1);
    if (!z->moments || !z->offsets) return WEIR_NOMEM;
    for (size_t i = 0; i < z->n; i++) {
        uint64_t v = big_endian(at + i * width, width);
        z->moments[i] = width == 4 ? (int32_t)(uint32_t)v : (int64_t)v;
        if (i > 0 && z->moments[i] <= z->moments[i - 1]) return WEIR_CORRUPT;
    }
    const char *indexes = at + z->n * width;
    return read_types(z, c, indexes, indexes + z->n) ? WEIR_OK : WEIR_CORRUPT;
}

/* "\nEST5EDT,M3.2.0,M11.1.0\n"; an empty one says nothing of times to come. */
static bool read_footer(struct zone *z, struct weir_slice rest)
{
    if (rest.len < 2 || rest.ptr[0] != '\n') return false;
    const char *end = memchr(rest.ptr + 1, '\n', rest.len - 1);
    if (!end) return false;
    struct weir_slice text = slice_of(rest.ptr + 1, (size_t)(end - rest.ptr - 1));
    return text.len == 0 || zone_rule_parse(text, &z->rule);
}

static enum weir_status read_all(struct zone *z, struct weir_slice bytes)
{
    struct counts c;
    char version;
    if (!read_header(bytes, &c, &version)) return WEIR_CORRUPT;
    struct weir_slice block = slice_from(bytes, HEADER_BYTES);
    if (block_size(&c, 4) > block.len) return WEIR_CORRUPT;
    if (version < '2') return read_block(z, &c, block.ptr, 4);
    bytes = slice_from(block, (size_t)block_size(&c, 4));
    if (!read_header(bytes, &c, &version)) return WEIR_CORRUPT;
    block = slice_from(bytes, HEADER_BYTES);
    if (block_size(&c, 8) > block.len) return WEIR_CORRUPT;
    enum weir_status st = read_block(z, &c, block.ptr, 8);
    if (st != WEIR_OK) return st;
    return read_footer(z, slice_from(block, (size_t)block_size(&c, 8))) ? WEIR_OK : WEIR_CORRUPT;
}

static struct zone *new_zone(const char *name)
{
    struct zone *z = mem_zalloc(sizeof *z);
    if (z) memcpy(z->name, name, strnlen(name, NAME_BYTES - 1));
    return z;
}

enum weir_status zone_read(struct zone **out, const char *name, struct weir_slice bytes)
{
    *out = new_zone(name);
    if (!*out) return WEIR_NOMEM;
    enum weir_status st = read_all(*out, bytes);
    if (st == WEIR_OK) return WEIR_OK;
    zone_free(*out);
    *out = NULL;
    return st;
}

void zone_free(struct zone *z)
{
    if (!z) return;
    mem_free(z->moments);
    mem_free(z->offsets);
    mem_free(z);
}

const char *zone_name(const struct zone *z)
{
    return z->name;
}

/* ---- files ---- */

static bool is_zone_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '/';
}

/* "America/Argentina/Buenos_Aires": no dots, so no way out of the folder. */
static bool is_zone_name(const char *name)
{
    size_t len = strnlen(name, NAME_BYTES);
    if (len == 0 || len == NAME_BYTES || name[0] == '/') return false;
    if (name[len - 1] == '/' || strstr(name, "//")) return false; /* one spelling of each */
    for (size_t i = 0; i < len; i++)
        if (!is_zone_char(name[i])) return false;
    return true;
}

static enum weir_status load_file(struct zone **out, const char *name, const char *path)
{
    FILE *file = fopen(path, "rbe");
    if (!file) return WEIR_NOT_FOUND;
    enum weir_status st = WEIR_NOMEM;
    char *bytes = mem_alloc(FILE_BYTES);
    if (bytes) {
        size_t n = fread(bytes, 1, FILE_BYTES, file);
        /* A folder can be opened, too, but not read. */
        st = ferror(file) ? WEIR_NOT_FOUND : zone_read(out, name, slice_of(bytes, n));
    }
    mem_free(bytes);
    fclose(file);
    return st;
}

static enum weir_status load_named(struct zone **out, const char *name)
{
    if (!is_zone_name(name)) return WEIR_NOT_FOUND;
    char path[PATH_BYTES] = "/usr/share/zoneinfo/";
    const char *folder = getenv("TZDIR");
    size_t at = strlen(path);
    if (folder && strlen(folder) + NAME_BYTES + 2 < sizeof path) {
        at = strlen(folder);
        memcpy(path, folder, at);
        path[at++] = '/';
    }
    memcpy(path + at, name, strlen(name) + 1);
    return load_file(out, name, path);
}

static enum weir_status load_fixed(struct zone **out, const char *name, int32_t offset)
{
    *out = new_zone(name);
    if (!*out) return WEIR_NOMEM;
    (*out)->first = offset;
    return WEIR_OK;
}

/* What TZ names, else what the machine is set to, else UTC. */
static enum weir_status load_own(struct zone **out)
{
    const char *name = getenv("TZ");
    if (name && name[0] == ':') name++;
    enum weir_status st = name && name[0] != '\0' ? load_named(out, name) : WEIR_NOT_FOUND;
    if (st == WEIR_NOT_FOUND) st = load_file(out, "local", "/etc/localtime");
    return st == WEIR_NOT_FOUND ? load_fixed(out, "UTC", 0) : st;
}

enum weir_status zone_load(struct zone **out, const char *name)
{
    *out = NULL;
    int32_t offset;
    if (!name) return load_own(out);
    if (zone_parse_offset(weir_slice_of(name), &offset)) return load_fixed(out, name, offset);
    return load_named(out, name);
}

/* ---- using ---- */

int32_t zone_offset(const struct zone *z, int64_t at)
{
    if (z->rule.is_set && (z->n == 0 || at >= z->moments[z->n - 1]))
        return zone_rule_offset(&z->rule, at);
    size_t low = 0, n = z->n;
    while (n > 0) {
        size_t half = n / 2;
        if (z->moments[low + half] <= at) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low > 0 ? z->offsets[low - 1] : z->first;
}

struct moment zone_moment(const struct zone *z, int64_t wall)
{
    int32_t before = zone_offset(z, wall - LOOK_AROUND), after = zone_offset(z, wall + LOOK_AROUND);
    int64_t first = wall - before, second = wall - after;
    bool is_first = zone_offset(z, first) == before, is_second = zone_offset(z, second) == after;
    /* Of two moments the clocks were set back between, the one before; in a gap, go on by the
     * old clock. */
    if (is_second && (!is_first || second < first)) return (struct moment){second, after};
    return (struct moment){first, zone_offset(z, first)};
}

/* ---- offsets as text ---- */

static bool two_digits(struct weir_slice *text, int *out)
{
    if (text->len < 2) return false;
    int value = 0;
    for (int i = 0; i < 2; i++) {
        if (text->ptr[i] < '0' || text->ptr[i] > '9') return false;
        value = value * 10 + (text->ptr[i] - '0');
    }
    *out = value;
    *text = slice_from(*text, 2);
    return true;
}

static bool starts_with_zone(struct weir_slice text)
{
    return text.len >= 3 &&
           (strncasecmp(text.ptr, "UTC", 3) == 0 || strncasecmp(text.ptr, "GMT", 3) == 0);
}

/* The hour has one digit in "GMT+2" and "+530". */
static bool hour_digits(struct weir_slice *text, int *out)
{
    if (text->len != 1 && text->len != 3) return two_digits(text, out);
    if (text->ptr[0] < '0' || text->ptr[0] > '9') return false;
    *out = text->ptr[0] - '0';
    *text = slice_from(*text, 1);
    return true;
}

/* What follows the sign: "05:00", "0500", "05", "5". */
static bool hours_and_minutes(struct weir_slice text, int32_t *out)
{
    enum { LARGEST_HOURS = 18 };
    int hours = 0, minutes = 0;
    if (!hour_digits(&text, &hours)) return false;
    if (text.len > 0 && text.ptr[0] == ':') text = slice_from(text, 1);
    if (text.len > 0 && !two_digits(&text, &minutes)) return false;
    *out = (hours * 60 + minutes) * 60;
    return text.len == 0 && hours <= LARGEST_HOURS && minutes < 60;
}

bool zone_parse_offset(struct weir_slice text, int32_t *offset)
{
    *offset = 0;
    bool is_named = starts_with_zone(text);
    if (is_named) text = slice_from(text, 3);
    if (text.len == 0) return is_named;
    char sign = text.ptr[0];
    text = slice_from(text, 1);
    if ((sign == 'Z' || sign == 'z') && text.len == 0) return !is_named;
    if ((sign != '-' && sign != '+') || !hours_and_minutes(text, offset)) return false;
    if (sign == '-') *offset = -*offset;
    return true;
}
