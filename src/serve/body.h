/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies with messages, as turns and chats have them: what is wrong, with its place. Pure.
 */
#pragma once

#include <weir/json.h>
#include <weir/status.h>

enum { FLAW_PATH_BYTES = 64 }; /* of a member, as messages[2].role; longer ones are cut */

/* What is wrong with a body. */
struct flaw {
    enum weir_status code; /* WEIR_OK: nothing */
    char path[FLAW_PATH_BYTES];
    const char *text; /* "has to be …" */
};

/* Says what is wrong, with WEIR_BAD_FIELD. Always false. */
bool flaw_set(struct flaw *f, const char *text, const char *path, ...)
    __attribute__((format(printf, 3, 4)));

/* A member that is true or false; as it was when it is not there. False: it is something else. */
bool body_take_flag(const struct weir_json *object, const char *key, bool *flag);

/* Of the i-th message; false with a flaw. */
typedef bool (*body_content_fn)(const struct weir_json *content, size_t i, struct flaw *f);

/*
 * Whether it is an array of {"role": "user"|"assistant", "content"} with one message at least,
 * and contents as `is_content` wants them; `n` is their number. The last one, or NULL with a flaw.
 */
const struct weir_json *body_check_messages(const struct weir_json *messages,
                                            body_content_fn is_content, size_t *n, struct flaw *f);

/* Whether a message is the user's. */
bool body_is_users(const struct weir_json *message);
