/* SPDX-License-Identifier: Apache-2.0 */
/* After a rotation all maps are sealed with the newest key, and the old one may go. */
#include "shield/reseal.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

enum { N_MAPS = 150 };

static struct store *open_store(void)
{
    struct store *s = NULL;
    struct store_error error;
    struct store_options o = {.durability = STORE_DURABLE_NORMAL};
    T_EQ(store_open(&s, t_temp_dir(), &o, &error), WEIR_OK);
    return s;
}

static const char *key_path(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/shield.key", t_temp_dir());
    return path;
}

static struct vault *open_vault(void)
{
    char error[VAULT_ERROR_BYTES];
    struct vault *v = NULL;
    T_EQ(vault_open(key_path(), &v, error), WEIR_OK);
    return v;
}

static void put_map(struct store *s, const struct vault *v, unsigned n)
{
    char id[32];
    struct weir_buf sealed;
    snprintf(id, sizeof id, "conv_%04u", n);
    weir_buf_init(&sealed, 4096);
    T_EQ(vault_seal(v, weir_slice_of(id), weir_slice_of(id), &sealed), WEIR_OK);
    struct commit *c = commit_new(0);
    commit_put(c, (struct doc_key){SLICE("shield_map"), weir_slice_of(id)}, DOC_ANY_VERSION,
               SLICE("ann"), weir_buf_slice(&sealed));
    T_EQ(store_commit_wait(s, c).status, WEIR_OK);
    weir_buf_fini(&sealed);
}

static unsigned count_open(struct store *s, const struct vault *v)
{
    unsigned n = 0;
    for (unsigned i = 0; i < N_MAPS; i++) {
        char id[32];
        struct doc doc;
        struct weir_buf plain;
        snprintf(id, sizeof id, "conv_%04u", i);
        struct doc_key key = {SLICE("shield_map"), weir_slice_of(id)};
        T_EQ(store_doc_get(s, key, &doc), WEIR_OK);
        T_EQ_STR(doc.owner, "ann");
        weir_buf_init(&plain, 4096);
        bool is_open = !vault_is_old(v, doc.body) &&
                       vault_unseal(v, weir_slice_of(id), doc.body, &plain) == WEIR_OK;
        if (is_open) T_EQ_STR(weir_buf_slice(&plain), id);
        n += is_open;
        weir_buf_fini(&plain);
        doc_fini(&doc);
    }
    return n;
}

TEST(old_maps_are_sealed_anew_and_others_left)
{
    char error[VAULT_ERROR_BYTES];
    struct reseal_counts counts;
    struct store *s = open_store();
    T_EQ(vault_create(key_path()), WEIR_OK);
    struct vault *v = open_vault();
    for (unsigned i = 0; i < N_MAPS; i++) put_map(s, v, i);
    T_EQ(reseal_all(s, v, &counts), WEIR_OK);
    T_EQ(counts.n_old, 0);
    vault_close(v);
    T_EQ(vault_rotate(key_path(), error), WEIR_OK);
    v = open_vault();
    T_EQ(vault_count(v), 2);
    put_map(s, v, 7);
    T_EQ(count_open(s, v), 1);
    T_EQ(reseal_all(s, v, &counts), WEIR_OK);
    T_EQ(counts.n_old, N_MAPS - 1);
    T_EQ(counts.n_lost, 0);
    T_EQ(count_open(s, v), N_MAPS);
    T_EQ(reseal_all(s, v, &counts), WEIR_OK);
    T_EQ(counts.n_old, 0);
    vault_close(v);
    store_close(s);
}

TEST(a_map_without_its_key_is_counted_and_kept)
{
    struct reseal_counts counts;
    struct store *s = open_store();
    T_EQ(vault_create(key_path()), WEIR_OK);
    struct vault *v = open_vault();
    put_map(s, v, 1);
    vault_close(v);
    remove(key_path());
    T_EQ(vault_create(key_path()), WEIR_OK);
    v = open_vault();
    T_EQ(reseal_all(s, v, &counts), WEIR_OK);
    T_EQ(counts.n_old, 0);
    T_EQ(counts.n_lost, 1);
    struct reseal *r;
    T_EQ(reseal_start(&r, s, v, NULL), WEIR_OK);
    reseal_stop(r);
    reseal_stop(NULL);
    vault_close(v);
    store_close(s);
}
