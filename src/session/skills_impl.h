/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortcuts: what skill_shape.c (which questions are alike), skills.c (counting them, running one)
 * and skill_calls.c (skills/…) share.
 *
 *   document "skill_shape" OWNER/HASH   {"count","atMs","skill"}; the skill: it was proposed, and
 *                                       is not proposed again, whatever became of it
 *   document "skill" SKL                {"name","text","state","proposedMs"}; pending or accepted
 *   document "skill_name" OWNER/NAME    {"skill"}, of those that were accepted
 */
#pragma once

#include "session/session_impl.h"

enum {
    SKILL_LEN = 4 + 26,    /* "skl_" and a ULID */
    SKILL_NAME_LEN = 40,   /* [a-z0-9-] */
    SKILL_SHAPES = 1000,   /* of a person; then the oldest that came to nothing is forgotten */
    SKILL_TIMES = 3,       /* a question of one shape, then it is proposed */
    SKILL_LEAST_WORDS = 3, /* of a question that is no question about data */
    SKILL_HASH_BYTES = 16 + 1,
    SKILL_KEY_BYTES = SESSION_OWNER_BYTES + SKILL_NAME_LEN + 2,
};

/* What is alike in questions of one kind. */
struct skill_shape {
    char hash[SKILL_HASH_BYTES];
    char name[SKILL_NAME_LEN + 1]; /* that fits */
};
/* False: it has none. May wait. */
bool skill_shape_of(struct sessions *s, struct weir_slice owner, struct weir_slice text,
                    struct skill_shape *out);

struct skill {
    struct weir_slice name, text;
    bool is_accepted;
    int64_t proposed_ms;
};
struct doc_key skill_key(struct weir_slice id);
/* "OWNER/LAST" of this kind. */
struct doc_key skill_key_of(char out[SKILL_KEY_BYTES], const char *kind, struct weir_slice owner,
                            struct weir_slice last);
bool skill_read(const struct weir_json *json, struct skill *out);
void skill_put(struct weir_buf *out, const struct skill *skill);
bool skill_is_name(struct weir_slice text);
/* One that means something else in `weir chat`, so that nobody could use the skill there. */
bool skill_is_command(struct weir_slice name);
