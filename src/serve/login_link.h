/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that log a browser in, each once: "ADDRESS/#/link/TOKEN". A browser does not send what
 * stands behind the "#", so the token is in no log; the page sends it to POST /auth/session, and
 * gets the cookie of the key that the link stands for (auth_cookie.h).
 *
 * They are in this process's memory alone, as SHA-256 of their tokens, for LOGIN_LINK_LIFE_S:
 * whoever reads the store finds none, and a restart ends all. There are LOGIN_LINKS of them; one
 * more takes the place of one that is of no use any more, or else of the oldest. Of several nodes
 * that share a store any may be asked; so there each is a document "login-link", whose id is the
 * hash, and using it is a commit: it works once, on whichever node.
 *
 * A token has 256 random bits, so nobody guesses one. Who tries is told to wait after LOGIN_MISSES;
 * a token that is right passes all the same, or a stranger could keep others out by trying.
 *
 * 1. login_links_new().
 * 2. login_links_make(), login_links_take().
 * 3. login_links_free().
 *
 * Any thread; nothing waits for the disk but login_page_key() and login_link_offer(), and with a
 * shared store login_links_make().
 */
#pragma once

#include <weir/buf.h>

#include "serve/access.h"

enum {
    LOGIN_LINK_LIFE_S = 600,
    LOGIN_LINKS = 16,       /* that may be open at a time */
    LOGIN_TOKEN_BYTES = 44, /* with the NUL */
    LOGIN_MISSES = 20,      /* wrong tokens, of all clients together, in: */
    LOGIN_MISSES_MS = 60 * 1000,
    LOGIN_URL_BYTES = 2048, /* what login_link_put_url() writes is shorter */
};

struct login_links;
struct server; /* serve/server.h */

/* `store`: one that others have, too; NULL: they are in memory. NULL: no memory. */
struct login_links *login_links_new(struct store *store, const struct clock *clock);
void login_links_free(struct login_links *l); /* NULL is allowed */

/* A link, as its maker is told this once. */
struct login_link {
    char token[LOGIN_TOKEN_BYTES];
    int64_t expires_ms;
};
/* WEIR_OK; of a shared store, what it says. */
WEIR_MUST_CHECK enum weir_status login_links_make(struct login_links *l, struct weir_slice key,
                                                  struct login_link *out);

/* What login_links_take() tells. */
struct login_taken {
    char key[KEY_NAME_BYTES + 1];
    const char *why;         /* not WEIR_OK: a sentence */
    uint64_t retry_after_ms; /* WEIR_RATE_LIMIT */
};

/* Whether they are documents: then login_shared_use(), and login_links_miss() for one that is not
 * there. */
bool login_links_are_shared(const struct login_links *l);

/* There is no such link. WEIR_BAD_TOKEN, WEIR_RATE_LIMIT. */
WEIR_MUST_CHECK enum weir_status login_links_miss(struct login_links *l, struct login_taken *out);

/* The key that the link stands for, to the first who asks. WEIR_BAD_TOKEN, WEIR_RATE_LIMIT. */
WEIR_MUST_CHECK enum weir_status login_links_take(struct login_links *l, struct weir_slice token,
                                                  struct login_taken *out);

/*
 * The key of an owner's pages, to read and to write, labelled "page": the newest there is, or a new
 * one. Nobody knows its text; revoking it ends all cookies that came by links.
 */
WEIR_MUST_CHECK enum weir_status login_page_key(struct keys *keys, struct weir_slice owner,
                                                char name[KEY_NAME_BYTES + 1]);

/*
 * "http://127.0.0.1:8080/#/link/TOKEN". An address that means all of this machine's is written as
 * one that a browser can go to.
 */
void login_link_put_url(struct weir_buf *out, const char *address, const char *token);

/* ---- with a server ---- */

/* The URL of a link for "me", whose data the commands of this machine see. */
WEIR_MUST_CHECK enum weir_status login_link_offer(struct server *s, struct weir_buf *url);
