/* SPDX-License-Identifier: Apache-2.0 */
/* What logging in and out needs of who looks at keys and cookies. Loop thread only. */
#pragma once

#include "serve/exchange.h"

/* The key that the request's fields have; false: none, or in no form that we know. */
bool admit_find_key(const struct http_head *head, struct weir_slice *key);

/* Whose key it is; false when that was answered with an error. */
bool admit_login(struct exchange *ex, struct weir_slice key, struct key_found *found);

/* Says why not, as for a key; the time is for WEIR_RATE_LIMIT. */
void admit_refuse(struct exchange *ex, enum weir_status st, const char *text,
                  uint64_t retry_after_ms);

/*
 * For a row that anybody may ask: finds out who does, if the request says so by something that is
 * good; else it is still nobody. False when that was answered with an error.
 */
bool admit_visitor(struct exchange *ex, const struct http_head *head);

/* Whether its Origin is our own. Without one it is not. */
bool admit_is_own_page(struct exchange *ex, const struct http_head *head);

/*
 * The cookie that the request shows: of several the first that is good, for a neighbour may have
 * put its own before ours. False: there is none. What is found may be a bad one.
 */
bool admit_find_cookie(struct exchange *ex, const struct http_head *head, struct weir_slice *text);

/* Set-Cookie; "" and 0 take it away. */
void admit_put_cookie(struct exchange *ex, const char *text, int64_t lasts_s);

/*
 * Whether the request shows a key, cookie or link that this node does not know, but another might:
 * then the name of the key, or "" for a link. False, too, when nobody else has the store.
 */
bool admit_is_unknown(struct worker *w, const struct http_head *head, char key[KEY_NAME_BYTES + 1]);

/* Whether its key has let pass as many here as it may before the other nodes are asked. */
bool admit_must_ask(struct worker *w, const struct http_head *head);
