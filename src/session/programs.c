/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are tools: what the file of --tools says (docs/tools.md). Strict, for a member that
 * is misspelled would otherwise be a setting that is not; whatever is wrong is said with its place.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "io/file.h"
#include "session/tools_impl.h"

enum {
    FILE_BYTES = 256 << 10,
    VALUE_BYTES = 8 << 20,
    NAME_BYTES = 64,
    DESCRIPTION_BYTES = 1024,
    MAX_TIMEOUT_S = 600,
    MIN_MEMORY_MB = 16,
    MAX_MEMORY_MB = 64 << 10,
};

struct session_programs {
    struct program list[PROGRAMS];
    size_t n;
    struct weir_json_doc *doc; /* memory of all texts */
    struct arena arena;
};

struct reading {
    struct session_programs *programs;
    const char *path;
    struct weir_slice text; /* of the file */
    char *why;
    size_t i;
};

/* ---- what is wrong, and where ---- */

__attribute__((format(printf, 3, 4))) static enum weir_status bad(const struct reading *r,
                                                                  const char *member,
                                                                  const char *format, ...)
{
    va_list args;
    int len = snprintf(r->why, SESSION_WHY_BYTES, "%.120s: tool %zu%s%s: ", r->path, r->i + 1,
                       member[0] ? ": " : "", member);
    va_start(args, format);
    if (len > 0 && len < SESSION_WHY_BYTES)
        vsnprintf(r->why + len, SESSION_WHY_BYTES - (size_t)len, format, args);
    va_end(args);
    r->why[utf8_valid_prefix(weir_slice_of(r->why))] = 0;
    for (char *c = r->why; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F) *c = '?';
    return WEIR_BAD_FIELD;
}

/* ---- members ---- */

static const char *keep(struct reading *r, struct weir_slice text)
{
    char *copy = arena_alloc(&r->programs->arena, text.len + 1);
    if (!copy) return NULL;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

static bool is_name(struct weir_slice text)
{
    if (text.len == 0 || text.len > NAME_BYTES) return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_good = (c >= 'a' && c <= 'z') || (i > 0 && ((c >= '0' && c <= '9') || c == '_'));
        if (!is_good) return false;
    }
    return true;
}

static enum weir_status take_name(struct reading *r, struct program *p, const struct weir_json *v)
{
    struct weir_slice text = weir_json_text(v);
    if (!is_name(text))
        return bad(r, "name", "it has to be a small letter, then such, digits and _, at most %d",
                   NAME_BYTES);
    if (session_tool_is_builtin(text))
        return bad(r, "name", "there is a tool of that name already");
    for (size_t i = 0; i < r->i; i++)
        if (slice_eq(text, weir_slice_of(r->programs->list[i].name)))
            return bad(r, "name", "tool %zu has the same", i + 1);
    p->name = keep(r, text);
    return p->name ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status take_description(struct reading *r, struct program *p,
                                         const struct weir_json *v)
{
    struct weir_slice text = weir_json_text(v);
    if (text.len == 0 || text.len > DESCRIPTION_BYTES)
        return bad(r, "description", "it has to be a text of at most %d bytes", DESCRIPTION_BYTES);
    p->description = keep(r, text);
    return p->description ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_status take_schema(struct reading *r, struct program *p, const struct weir_json *v)
{
    if (weir_json_type_of(v) != WEIR_JSON_OBJECT ||
        !weir_slice_is(weir_json_text(weir_json_get_str(v, "type")), "object"))
        return bad(r, "input_schema", "it has to be a JSON schema of type \"object\"");
    p->schema = v;
    return WEIR_OK;
}

static enum weir_status look_at_program(const struct reading *r, const char *path)
{
    struct stat info;
    if (path[0] != '/') return bad(r, "command", "%.80s is not an absolute path", path);
    if (access(path, X_OK) != 0 || stat(path, &info) != 0)
        return bad(r, "command", "%.80s cannot be run: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return bad(r, "command", "%.80s cannot be run: it is no file", path);
    return WEIR_OK;
}

static enum weir_status take_command(struct reading *r, struct program *p,
                                     const struct weir_json *v)
{
    size_t n = 0, n_bytes = 0;
    if (weir_json_type_of(v) != WEIR_JSON_ARRAY || weir_json_count(v) == 0 ||
        weir_json_count(v) > RUNNER_ARGS)
        return bad(r, "command", "it has to be a list of 1 to %d texts", RUNNER_ARGS);
    const char **argv = arena_alloc(&r->programs->arena, (RUNNER_ARGS + 1) * sizeof *argv);
    if (!argv) return WEIR_NOMEM;
    for (const struct weir_json *word = weir_json_first(v); word; word = weir_json_next(word)) {
        struct weir_slice text = weir_json_text(word);
        if (weir_json_type_of(word) != WEIR_JSON_STRING ||
            (text.len > 0 && memchr(text.ptr, 0, text.len)))
            return bad(r, "command", "word %zu is no text", n + 1);
        n_bytes += text.len + 1;
        argv[n] = keep(r, text);
        if (!argv[n++]) return WEIR_NOMEM;
    }
    argv[n] = NULL;
    if (n_bytes > RUNNER_ARGS_BYTES)
        return bad(r, "command", "it has more than %d bytes", RUNNER_ARGS_BYTES);
    p->argv = argv;
    return look_at_program(r, argv[0]);
}

static enum weir_status take_approval(struct reading *r, struct program *p,
                                      const struct weir_json *v)
{
    enum weir_json_type type = weir_json_type_of(v);
    if (type != WEIR_JSON_TRUE && type != WEIR_JSON_FALSE)
        return bad(r, "approval", "it is true or false");
    p->needs_approval = type == WEIR_JSON_TRUE;
    return WEIR_OK;
}

static enum weir_status take_timeout(struct reading *r, struct program *p,
                                     const struct weir_json *v)
{
    double s = 0;
    if (!weir_json_double(v, &s) || s < 0.1 || s > MAX_TIMEOUT_S)
        return bad(r, "timeout", "it is a number of seconds, at most %d", MAX_TIMEOUT_S);
    p->wall_ms = (unsigned)lround(s * 1000);
    return WEIR_OK;
}

static enum weir_status take_memory(struct reading *r, struct program *p, const struct weir_json *v)
{
    int64_t n = 0;
    if (!weir_json_int64(v, &n) || n < MIN_MEMORY_MB || n > MAX_MEMORY_MB)
        return bad(r, "memory", "it is a number of MiB, from %d to %d", MIN_MEMORY_MB,
                   MAX_MEMORY_MB);
    p->memory_bytes = (uint64_t)n << 20;
    return WEIR_OK;
}

static const struct member {
    const char *key;
    enum weir_status (*take)(struct reading *r, struct program *p, const struct weir_json *v);
    bool is_needed;
} members[] = {
    {"name", take_name, true},           {"description", take_description, true},
    {"input_schema", take_schema, true}, {"command", take_command, true},
    {"approval", take_approval, false},  {"timeout", take_timeout, false},
    {"memory", take_memory, false},
};
enum { N_MEMBERS = sizeof members / sizeof *members };

/* Members that the text has of the ith value of its list, with those of all values in it. */
static size_t count_written(struct weir_slice text, size_t i)
{
    size_t n = 0, at = 0, depth = 0;
    bool is_string = false;
    for (size_t k = 0; k < text.len; k++) {
        char c = text.ptr[k];
        if (is_string && c == '\\') k++;
        else if (c == '"') is_string = !is_string;
        else if (is_string) continue;
        else if (c == '[' || c == '{') depth++;
        else if (c == ']' || c == '}') depth--;
        else if (c == ',' && depth == 1) at++;
        else if (c == ':' && at == i) n++;
    }
    return n;
}

/* The same of a value, where one that was written twice counts once. */
static size_t count_read(const struct weir_json *v)
{
    size_t n = weir_json_type_of(v) == WEIR_JSON_OBJECT ? weir_json_count(v) : 0;
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m))
        n += count_read(m);
    return n;
}

static bool is_member(struct weir_slice key)
{
    for (size_t i = 0; i < N_MEMBERS; i++)
        if (weir_slice_is(key, members[i].key)) return true;
    return false;
}

static enum weir_status take_program(struct reading *r, const struct weir_json *v)
{
    struct program *p = &r->programs->list[r->i];
    *p = (struct program){.needs_approval = true};
    if (weir_json_type_of(v) != WEIR_JSON_OBJECT) return bad(r, "", "it is no object");
    for (const struct weir_json *m = weir_json_first(v); m; m = weir_json_next(m)) {
        struct weir_slice key = weir_json_key(m);
        if (!is_member(key))
            return bad(r, "", "there is no \"%.*s\"", (int)(key.len < 64 ? key.len : 64), key.ptr);
    }
    if (count_written(r->text, r->i) != count_read(v))
        return bad(r, "", "one of its members is there twice");
    for (size_t i = 0; i < N_MEMBERS; i++) {
        const struct weir_json *m = weir_json_get_str(v, members[i].key);
        if (!m && members[i].is_needed) return bad(r, members[i].key, "it is missing");
        enum weir_status st = m ? members[i].take(r, p, m) : WEIR_OK;
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

static enum weir_status take_all(struct reading *r, const struct weir_json *v)
{
    enum weir_status st = WEIR_OK;
    if (weir_json_type_of(v) != WEIR_JSON_ARRAY || weir_json_count(v) > PROGRAMS) {
        snprintf(r->why, SESSION_WHY_BYTES, "%.120s: it has to be a list of at most %d tools",
                 r->path, PROGRAMS);
        return WEIR_BAD_FIELD;
    }
    for (const struct weir_json *m = weir_json_first(v); st == WEIR_OK && m;
         m = weir_json_next(m)) {
        st = take_program(r, m);
        r->i = ++r->programs->n;
    }
    return st;
}

/* ---- the file ---- */

static enum weir_status read_file(const char *path, struct weir_buf *out,
                                  char why[SESSION_WHY_BYTES])
{
    struct file f;
    struct stat info;
    size_t n = 0;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        snprintf(why, SESSION_WHY_BYTES, "%.150s: it is no file", path); /* it could block */
        return WEIR_IO;
    }
    char *bytes = mem_alloc(FILE_BYTES + 1);
    if (!bytes) return WEIR_NOMEM;
    enum weir_status st = file_open(&f, path, FILE_READ_ONLY);
    if (st == WEIR_OK) {
        st = file_read_at(&f, bytes, FILE_BYTES + 1, 0, &n);
        file_close(&f);
    }
    if (st != WEIR_OK) snprintf(why, SESSION_WHY_BYTES, "%.150s: %s", path, strerror(errno));
    weir_buf_append(out, bytes, n);
    mem_free(bytes);
    if (st == WEIR_OK && n > FILE_BYTES) {
        snprintf(why, SESSION_WHY_BYTES, "%.150s: it is larger than %d bytes", path, FILE_BYTES);
        st = WEIR_LIMIT;
    }
    return st;
}

enum weir_status session_programs_read(struct session_programs **out, const char *path,
                                       char why[SESSION_WHY_BYTES])
{
    struct weir_buf text;
    size_t at = 0;
    const struct weir_json *v = NULL;
    struct session_programs *p = mem_zalloc(sizeof *p);
    *out = NULL;
    why[0] = 0;
    if (!p) return WEIR_NOMEM;
    arena_init(&p->arena, FILE_BYTES * 8);
    p->doc = weir_json_doc_new(VALUE_BYTES);
    weir_buf_init(&text, FILE_BYTES + 1);
    enum weir_status st = p->doc ? read_file(path, &text, why) : WEIR_NOMEM;
    if (st == WEIR_OK) {
        st = weir_json_parse(p->doc, weir_buf_slice(&text), &v, &at);
        if (st != WEIR_OK)
            snprintf(why, SESSION_WHY_BYTES, "%.120s: byte %zu: %s", path, at,
                     weir_status_text(st));
    }
    struct reading r = {.programs = p, .path = path, .text = weir_buf_slice(&text), .why = why};
    if (st == WEIR_OK) st = take_all(&r, v);
    weir_buf_fini(&text);
    if (st == WEIR_OK) *out = p;
    else session_programs_free(p);
    return st;
}

void session_programs_free(struct session_programs *p)
{
    if (!p) return;
    weir_json_doc_free(p->doc);
    arena_fini(&p->arena);
    mem_free(p);
}

size_t programs_count(const struct session_programs *p)
{
    return p ? p->n : 0;
}

const struct program *programs_at(const struct session_programs *p, size_t i)
{
    return &p->list[i];
}
