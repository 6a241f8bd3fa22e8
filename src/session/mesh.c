/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that come and go. Each process is a node of its own with a name of its own. A session hears
 * of a change when somebody sends to it or begins to read it, for all of them at once would be a
 * storm at every start; and those that are read hear of it when it happens, some at a time. Its
 * document has what it was told: the name of the node, or, at a store that several share, a hash of
 * all names. So whichever nodes find a change, the first one's commit tells of it, and the others'
 * have nothing to add.
 */
#include <stdio.h>

#include "base/slice.h"
#include "session/session_impl.h"

enum {
    EVENT_BYTES = 64 << 10,
    NODES = 32, /* that a session is told of */
    TELL_AT_ONCE = 128,
    TELL_GAP_MS = 50,
    /* Of the sessions that are read; beyond that they hear of it when they are used. */
    LEFT_BYTES = 16 << 20,
};

static void put_capabilities(struct sessions *s, struct weir_buf *out)
{
    weir_json_put_begin_array(out);
    weir_json_put_str(out, "chat");
    weir_json_put_str(out, s->has_model ? "model" : "builtin");
    weir_json_put_str(out, "tools");
    if (s->options.runner) weir_json_put_str(out, "processes");
    weir_json_put_str(out, "approvals");
    weir_json_put_str(out, "clarify");
    weir_json_put_str(out, "cron");
    weir_json_put_str(out, "skills");
    weir_json_put_end_array(out);
}

/* ---- those who read ---- */

void mesh_changed(struct sessions *s, unsigned in_ms)
{
    if (!s->options.each_log) return;
    pthread_mutex_lock(&s->lock);
    s->is_mesh_new = true;
    due_set_locked(s, &s->tell_mesh, sessions_now(s) + in_ms);
    pthread_mutex_unlock(&s->lock);
}

/* A store_log_fn. */
static void add_reader(void *sessions, struct weir_slice log)
{
    static const char prefix[] = "sessions/";
    struct sessions *s = sessions;
    size_t len = sizeof prefix - 1;
    if (log.len != len + SESSION_LEN || memcmp(log.ptr, prefix, len) != 0) return;
    if (session_is_id(slice_from(log, len)))
        weir_buf_append_slice(&s->mesh_left, slice_from(log, len));
}

/* Is it over with those that were told of an earlier change? */
static bool take_news(struct sessions *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_new = s->is_mesh_new;
    s->is_mesh_new = false;
    pthread_mutex_unlock(&s->lock);
    return is_new;
}

/* A due's fire. */
static void tell_some(struct sessions *s, struct due *d)
{
    struct weir_buf *left = &s->mesh_left;
    if (take_news(s)) {
        weir_buf_reset(left);
        s->mesh_part = 0;
    }
    while (left->len < TELL_AT_ONCE * SESSION_LEN && s->mesh_part < STORE_LOG_PARTS)
        s->options.each_log(s->options.log_user, s->mesh_part++, add_reader, s);
    for (unsigned n = 0; n < TELL_AT_ONCE && left->len > 0; n++) {
        left->len -= SESSION_LEN;
        retain_look_later(s, slice_of(left->ptr + left->len, SESSION_LEN));
    }
    if (left->len > 0 || s->mesh_part < STORE_LOG_PARTS)
        due_set(s, d, sessions_now(s) + TELL_GAP_MS);
    else weir_buf_fini(left);
}

/* ---- what they are told ---- */

void mesh_fini(struct sessions *s)
{
    weir_buf_fini(&s->mesh_left);
}

void mesh_init(struct sessions *s)
{
    struct weir_buf json;
    weir_buf_init(&s->mesh_left, LEFT_BYTES);
    s->tell_mesh.fire = tell_some;
    weir_buf_init(&json, sizeof s->about - 1);
    put_capabilities(s, &json);
    if (weir_buf_status(&json) == WEIR_OK) memcpy(s->about, json.ptr, json.len);
    weir_buf_fini(&json);
}

/* Any order of the same names is the same. */
static void name_mesh(struct sessions *s, const struct flow_node *nodes, size_t n,
                      char out[MESH_BYTES])
{
    static const struct hash_key same_for_all = {0x6d657368, 0x77656972};
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += hash_bytes(same_for_all, weir_slice_of(nodes[i].id));
    if (flow_is_shared(s->flow)) snprintf(out, MESH_BYTES, "mesh_%016llx", (unsigned long long)sum);
    else snprintf(out, MESH_BYTES, "%s", s->node);
}

size_t mesh_count(struct sessions *s)
{
    struct flow_node nodes[NODES];
    return flow_nodes(s->flow, nodes, NODES);
}

bool mesh_is_told(struct sessions *s, const struct session *v)
{
    struct flow_node nodes[NODES];
    char name[MESH_BYTES];
    name_mesh(s, nodes, flow_nodes(s->flow, nodes, NODES), name);
    return weir_slice_is(v->node, name);
}

static void put_agent(struct sessions *s, struct weir_buf *out, const struct flow_node *node)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "agentId");
    weir_json_put_str(out, node->id);
    weir_json_put_key(out, "capabilities");
    weir_buf_append_str(out, node->about[0] ? node->about : s->about);
    weir_json_put_key(out, "activeSessions");
    weir_json_put_uint(out, node->n_runs);
    weir_json_put_end_object(out);
}

static void put_event(struct sessions *s, struct weir_buf *out, const struct flow_node *nodes,
                      size_t n)
{
    weir_json_put_begin_object(out);
    weir_json_put_key(out, "type");
    weir_json_put_str(out, "mesh.changed");
    weir_json_put_key(out, "agents");
    weir_json_put_begin_array(out);
    for (size_t i = 0; i < n; i++) put_agent(s, out, &nodes[i]);
    weir_json_put_end_array(out);
    weir_json_put_end_object(out);
}

enum weir_status mesh_look(struct sessions *s, struct session *v, struct commit *c,
                           bool *has_changed)
{
    struct flow_node nodes[NODES];
    struct weir_buf json;
    size_t n = flow_nodes(s->flow, nodes, NODES);
    name_mesh(s, nodes, n, s->mesh);
    if (weir_slice_is(v->node, s->mesh)) return WEIR_OK;
    weir_buf_init(&json, EVENT_BYTES);
    put_event(s, &json, nodes, n);
    enum weir_status st = weir_buf_status(&json);
    if (st == WEIR_OK) st = session_append(c, v->id, weir_buf_slice(&json));
    weir_buf_fini(&json);
    v->node = weir_slice_of(s->mesh);
    *has_changed = true;
    return st;
}
