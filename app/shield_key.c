/* SPDX-License-Identifier: Apache-2.0 */
/* See shield_key.h. A key itself is never printed: its id is eight bytes of its hash. */
#include "shield_key.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "data_folder.h"
#include "options.h"
#include "output.h"
#include "shield/vault.h"

enum { STATUS_BYTES = 16 << 10 };

bool shield_key_is_action(const char *word)
{
    return strcmp(word, "create") == 0 || strcmp(word, "rotate") == 0 ||
           strcmp(word, "status") == 0;
}

/* False: complained. */
static bool find_path(const struct shield_key_options *o, char path[PATH_MAX])
{
    char folder[DATA_FOLDER_BYTES];
    int len;
    if (o->key) {
        len = snprintf(path, PATH_MAX, "%s", o->key);
    } else {
        if (!data_folder_find(o->data, folder) || !data_folder_is_there(folder)) return false;
        len = snprintf(path, PATH_MAX, "%s/shield.key", folder);
    }
    if (len > 0 && len < PATH_MAX) return true;
    fputs("weir shield key: the path is too long\n", stderr);
    return false;
}

static int fail(const char *path, enum weir_status st, const char *why)
{
    fprintf(stderr, "weir shield key: %s: %s\n", path, why[0] ? why : weir_status_text(st));
    return EXIT_FAILED;
}

static void put_status(struct weir_buf *out, const struct vault *v, const char *path)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "file");
    weir_json_put_str(out, path);
    weir_json_put_key(out, "keys");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < vault_count(v); i++) {
        char id[VAULT_ID_BYTES];
        vault_key_id(v, i, id);
        weir_json_put_begin_object(out);
        weir_json_put_key(out, "id");
        weir_json_put_str(out, id);
        weir_json_put_key(out, "seals");
        weir_json_put_bool(out, i == 0);
        weir_json_put_end_object(out);
    }
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
    weir_buf_append_char(out, '\n');
}

static void say_status(struct weir_buf *out, const struct vault *v, const char *path)
{
    weir_buf_printf(out, "%s\n", path);
    for (size_t i = 0; i < vault_count(v); i++) {
        char id[VAULT_ID_BYTES];
        vault_key_id(v, i, id);
        weir_buf_printf(out, "%s  %s\n", id, i == 0 ? "seals and opens" : "opens");
    }
}

static int tell_status(const char *path, bool is_json)
{
    char why[VAULT_ERROR_BYTES] = "";
    struct vault *v;
    struct weir_buf out;
    enum weir_status st = vault_open(path, &v, why);
    if (st != WEIR_OK) return fail(path, st, why);
    weir_buf_init(&out, STATUS_BYTES);
    if (is_json) put_status(&out, v, path);
    else say_status(&out, v, path);
    vault_close(v);
    st = weir_buf_status(&out);
    bool is_written = st == WEIR_OK && fwrite(out.ptr, 1, out.len, stdout) == out.len;
    weir_buf_fini(&out);
    return is_written && output_flush() ? EXIT_DONE : EXIT_FAILED;
}

int shield_key_run(const char *action, const struct shield_key_options *o)
{
    char path[PATH_MAX], why[VAULT_ERROR_BYTES] = "";
    if (!find_path(o, path)) return EXIT_FAILED;
    enum weir_status st = WEIR_OK;
    if (strcmp(action, "create") == 0) st = vault_create(path);
    if (strcmp(action, "rotate") == 0) st = vault_rotate(path, why);
    if (st == WEIR_EXISTS) return fail(path, st, "there is one already; rotate puts a new key in");
    if (st != WEIR_OK) return fail(path, st, why);
    if (strcmp(action, "rotate") == 0)
        fputs("Start the server anew: it seals with the new key then, and all old maps anew.\n",
              stderr);
    return tell_status(path, o->is_json);
}
