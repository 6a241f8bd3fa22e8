/* SPDX-License-Identifier: Apache-2.0 */
/* See privacy.h. */
#include "serve/privacy.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static enum weir_status open_vault(struct privacy *p, const char *path,
                                   char error[PRIVACY_ERROR_BYTES])
{
    char why[VAULT_ERROR_BYTES] = "";
    enum weir_status st = vault_open(path, &p->vault, why);
    if (st == WEIR_OK) return st;
    bool is_named = strstr(why, path);
    snprintf(error, PRIVACY_ERROR_BYTES, "%.80s%s%s", is_named ? "" : path, is_named ? "" : ": ",
             why[0] ? why : weir_status_text(st));
    return st;
}

static enum weir_status read_policy(struct privacy *p, const char *path,
                                    char error[PRIVACY_ERROR_BYTES])
{
    char why[SHIELD_ERROR_BYTES] = "";
    enum weir_status st = WEIR_OK;
    if (path) st = shield_policy_read(&p->policy, path, why);
    else p->policy = shield_policy_default();
    if (st == WEIR_OK && !p->policy) st = WEIR_NOMEM;
    if (st != WEIR_OK)
        snprintf(error, PRIVACY_ERROR_BYTES, "%s", why[0] ? why : weir_status_text(st));
    return st;
}

enum weir_status privacy_read(struct privacy *p, const struct privacy_files *files,
                              char error[PRIVACY_ERROR_BYTES])
{
    enum weir_status st = read_policy(p, files->policy, error);
    if (st == WEIR_OK && files->key) st = open_vault(p, files->key, error);
    return st;
}

enum weir_status privacy_open(struct privacy *p, const char *folder,
                              char error[PRIVACY_ERROR_BYTES])
{
    char path[PATH_MAX];
    if (p->vault) return WEIR_OK;
    int len = snprintf(path, sizeof path, "%s/shield.key", folder);
    enum weir_status st = len > 0 && len < PATH_MAX ? vault_create(path) : WEIR_INVALID;
    if (st == WEIR_OK || st == WEIR_EXISTS) return open_vault(p, path, error);
    snprintf(error, PRIVACY_ERROR_BYTES, "cannot make the key of what is sealed in %.128s: %s",
             folder, weir_status_text(st));
    return st;
}

void privacy_close(struct privacy *p)
{
    shield_policy_free(p->policy);
    vault_close(p->vault);
    *p = (struct privacy){0};
}
