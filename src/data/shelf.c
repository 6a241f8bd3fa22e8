/* SPDX-License-Identifier: Apache-2.0 */
/*
 * People's data between two steps. Reading two years of days takes longer than most steps do, so a
 * dataset is kept when a step is done with it, and the next step of the same person gets it,
 * unless somebody's data have changed meanwhile. Each is used by one step at a time; parallel
 * agents of one person get one each.
 */
#include "data/shelf.h"

#include "base/check.h"
#include "base/slice.h"

void shelf_init(struct shelf *s, struct store *store)
{
    *s = (struct shelf){.store = store};
    pthread_mutex_init(&s->lock, NULL);
}

void shelf_fini(struct shelf *s)
{
    for (unsigned i = 0; i < s->n_idle; i++) dataset_free(s->idle[i].data);
    s->n_idle = 0;
    pthread_mutex_destroy(&s->lock);
}

static void remove_idle(struct shelf *s, unsigned i)
{
    s->n_idle--;
    memmove(&s->idle[i], &s->idle[i + 1], (s->n_idle - i) * sizeof s->idle[0]);
}

/* The newest of the owner's, if there is one. */
static bool find_idle(struct shelf *s, struct weir_slice owner, struct shelved *out)
{
    for (unsigned i = s->n_idle; i-- > 0;) {
        if (!slice_eq(weir_slice_of(s->idle[i].owner), owner)) continue;
        *out = s->idle[i];
        remove_idle(s, i);
        return true;
    }
    return false;
}

enum weir_status shelf_take(struct shelf *s, struct weir_slice owner, struct shelved *out)
{
    bool is_found = true;
    uint64_t now = atomic_load(&s->generation);
    *out = (struct shelved){0};
    while (is_found) {
        pthread_mutex_lock(&s->lock);
        is_found = find_idle(s, owner, out);
        pthread_mutex_unlock(&s->lock);
        if (is_found && out->generation == now) return WEIR_OK;
        if (is_found) dataset_free(out->data);
    }
    CHECK(owner.len < sizeof out->owner);
    *out = (struct shelved){.generation = now};
    memcpy(out->owner, owner.ptr, owner.len);
    return dataset_open(&out->data, s->store, owner);
}

void shelf_give(struct shelf *s, struct shelved *data)
{
    struct dataset *old = NULL;
    if (!data->data) return;
    if (data->generation != atomic_load(&s->generation)) {
        dataset_free(data->data);
    } else {
        pthread_mutex_lock(&s->lock);
        if (s->n_idle == SHELF_DATASETS) {
            old = s->idle[0].data;
            remove_idle(s, 0);
        }
        s->idle[s->n_idle++] = *data;
        pthread_mutex_unlock(&s->lock);
        dataset_free(old);
    }
    *data = (struct shelved){0};
}
