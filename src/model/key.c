/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys: where they come from, and that they leave nothing behind. A key is one line of visible
 * ASCII, for it becomes a field of a request.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/slice.h"
#include "io/secret_file.h"
#include "model/model_impl.h"

void model_key_free(char *key)
{
    if (!key) return;
    explicit_bzero(key, strlen(key));
    mem_free(key);
}

static bool is_line(struct weir_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~') return false;
    return s.len > 0;
}

/* Neither the key nor its length is said. */
static enum weir_status keep(struct weir_slice text, char **key, char *why)
{
    while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
        text.len--;
    if (!is_line(text)) {
        snprintf(why, MODEL_WHY_BYTES,
                 "it has to be one line of visible ASCII without blanks: the key and nothing else");
        return WEIR_BAD_FIELD;
    }
    char *copy = mem_alloc(text.len + 1);
    if (!copy) {
        snprintf(why, MODEL_WHY_BYTES, "%s", weir_status_text(WEIR_NOMEM));
        return WEIR_NOMEM;
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *key = copy;
    return WEIR_OK;
}

enum weir_status model_key_from_env(const char *name, char **key, char *why)
{
    const char *value = getenv(name);
    if (!value || value[0] == 0) {
        snprintf(why, MODEL_WHY_BYTES,
                 "the environment has no %s: export it, or name a file with key_file", name);
        return WEIR_NOT_FOUND;
    }
    struct weir_slice text = weir_slice_of(value);
    if (text.len < MODEL_KEY_BYTES) return keep(text, key, why);
    snprintf(why, MODEL_WHY_BYTES, "%s is too long for a key (%d bytes at most)", name,
             MODEL_KEY_BYTES - 1);
    return WEIR_BAD_FIELD;
}

enum weir_status model_key_from_file(const char *path, char **key, char *why)
{
    char text[MODEL_KEY_BYTES];
    struct secret_file_error error;
    size_t len = 0;
    enum weir_status st = secret_file_read(path, text, sizeof text, &len, &error);
    if (st == WEIR_OK) st = keep(slice_of(text, len), key, why);
    else snprintf(why, MODEL_WHY_BYTES, "%s", error.text);
    explicit_bzero(text, sizeof text);
    return st;
}

void model_key_blot(const char *key, char *bytes, size_t len)
{
    size_t key_len = key ? strlen(key) : 0;
    if (key_len == 0 || len == 0) return;
    char *end = bytes + len;
    for (char *at = bytes; (at = memmem(at, (size_t)(end - at), key, key_len)); at += key_len)
        memset(at, '*', key_len);
}
