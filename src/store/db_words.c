/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokenizer "weir" of the index. It cuts a text into runs: those of scripts without spaces go
 * out character by character, so that a phrase finds any part of them; all else is unicode61's.
 *
 * What it makes of a text is part of the schema: a change of it is a new step there that builds the
 * index anew.
 */
#include "store/db_words.h"

#include <limits.h>

#include "base/mem.h"
#include "base/slice.h"

static const char tokenizer_name[] = "weir";

struct cutter {
    fts5_tokenizer inner;
    Fts5Tokenizer *instance;
};

typedef int (*token_fn)(void *, int, const char *, int, int, int);

/* ---- scripts ---- */

/* Han, kana, Thai, Lao, Myanmar, Khmer; their punctuation is unicode61's. */
static bool has_no_spaces(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x0E00, 0x0EFF}, {0x1000, 0x109F}, {0x1780, 0x17FF},   {0x3005, 0x3007},
                  {0x3041, 0x309F}, {0x30A1, 0x30FA}, {0x30FC, 0x30FF},   {0x31F0, 0x31FF},
                  {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xA9E0, 0xA9FF},   {0xAA60, 0xAA7F},
                  {0xF900, 0xFAFF}, {0xFF66, 0xFF9F}, {0x1B000, 0x1B16F}, {0x20000, 0x3FFFD}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && c >= ranges[i].first; i++)
        if (c <= ranges[i].last) return true;
    return false;
}

/* The length of such a character at text[i]; 0: there is none. Bad bytes are none. */
static int lone_length(const unsigned char *text, int i, int n)
{
    uint32_t c = text[i];
    int len = c >= 0xF0 ? 4 : 3;
    if (c < 0xE0 || c > 0xF4 || n - i < len) return 0;
    c &= len == 4 ? 0x07 : 0x0F;
    for (int k = 1; k < len; k++) {
        if ((text[i + k] & 0xC0) != 0x80) return 0;
        c = c << 6 | (text[i + k] & 0x3F);
    }
    return has_no_spaces(c) ? len : 0;
}

/* ---- the tokenizer ---- */

/* What unicode61 finds in a run, told with places in the whole. */
struct run {
    void *user;
    token_fn token;
    int at;
};

static int pass_on(void *user, int flags, const char *token, int len, int start, int end)
{
    struct run *r = user;
    return r->token(r->user, flags, token, len, start + r->at, end + r->at);
}

static int cut(Fts5Tokenizer *tokenizer, void *user, int flags, const char *text, int n,
               token_fn token)
{
    struct cutter *c = (struct cutter *)(void *)tokenizer;
    struct run r = {user, token, 0};
    int rc = SQLITE_OK;
    int len = 0;
    for (int i = 0; i <= n && rc == SQLITE_OK; i += len > 0 ? len : 1) {
        len = i < n ? lone_length((const unsigned char *)text, i, n) : 0;
        if (i < n && len == 0) continue;
        if (i > r.at)
            rc = c->inner.xTokenize(c->instance, &r, flags, text + r.at, i - r.at, pass_on);
        if (len > 0 && rc == SQLITE_OK) rc = token(user, 0, text + i, len, i, i + len);
        r.at = i + len;
    }
    return rc;
}

static void cutter_free(Fts5Tokenizer *tokenizer)
{
    struct cutter *c = (struct cutter *)(void *)tokenizer;
    if (c && c->instance) c->inner.xDelete(c->instance);
    mem_free(c);
}

static int cutter_new(void *api_of, const char **arguments, int n, Fts5Tokenizer **out)
{
    static const char *ours[] = {"remove_diacritics", "2"};
    fts5_api *api = api_of;
    void *user = NULL;
    (void)arguments;
    (void)n;
    *out = NULL;
    struct cutter *c = mem_zalloc(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    int rc = api->xFindTokenizer(api, "unicode61", &user, &c->inner);
    if (rc == SQLITE_OK) rc = c->inner.xCreate(user, ours, 2, &c->instance);
    if (rc == SQLITE_OK) *out = (Fts5Tokenizer *)(void *)c;
    else cutter_free((Fts5Tokenizer *)(void *)c);
    return rc;
}

/* ---- using it ---- */

/* NULL when this SQLite has no full-text search. */
static fts5_api *api_of(sqlite3 *sqlite)
{
    sqlite3_stmt *s = NULL;
    fts5_api *api = NULL;
    if (sqlite3_prepare_v2(sqlite, "SELECT fts5(?1)", -1, &s, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(s, 1, &api, "fts5_api_ptr", NULL);
        sqlite3_step(s);
    }
    sqlite3_finalize(s);
    return api;
}

enum weir_status db_words_register(sqlite3 *sqlite)
{
    fts5_tokenizer tokenizer = {cutter_new, cutter_free, cut};
    fts5_api *api = api_of(sqlite);
    if (!api) return WEIR_NOT_IMPLEMENTED;
    return db_status(sqlite, api->xCreateTokenizer(api, tokenizer_name, api, &tokenizer, NULL));
}

enum weir_status db_words_open(struct db_words *w, sqlite3 *sqlite)
{
    void *user = NULL;
    fts5_api *api = api_of(sqlite);
    *w = (struct db_words){0};
    if (!api) return WEIR_NOT_IMPLEMENTED;
    int rc = api->xFindTokenizer(api, tokenizer_name, &user, &w->kind);
    if (rc == SQLITE_OK) rc = w->kind.xCreate(user, NULL, 0, &w->cutter);
    return db_status(sqlite, rc);
}

enum weir_status db_words_open_alone(struct db_words *w)
{
    sqlite3 *own = NULL;
    *w = (struct db_words){0};
    int rc = sqlite3_open_v2(":memory:", &own, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    enum weir_status st = own ? db_status(own, rc) : WEIR_NOMEM;
    if (st == WEIR_OK) st = db_words_register(own);
    if (st == WEIR_OK) st = db_words_open(w, own);
    w->own = own;
    if (st != WEIR_OK) db_words_close(w);
    return st;
}

void db_words_close(struct db_words *w)
{
    if (w->cutter) w->kind.xDelete(w->cutter);
    sqlite3_close(w->own);
    *w = (struct db_words){0};
}

struct walk {
    db_word_fn each;
    void *user;
};

static int see_word(void *user, int flags, const char *token, int len, int start, int end)
{
    struct walk *walk = user;
    (void)flags;
    bool goes_on = walk->each(walk->user, slice_of(token, (size_t)len), (size_t)start, (size_t)end);
    return goes_on ? SQLITE_OK : SQLITE_DONE;
}

enum weir_status db_words_each(const struct db_words *w, struct weir_slice text, db_word_fn each,
                               void *user)
{
    struct walk walk = {each, user};
    if (text.len > INT_MAX) return WEIR_LIMIT;
    int rc =
        w->kind.xTokenize(w->cutter, &walk, FTS5_TOKENIZE_AUX, text.ptr, (int)text.len, see_word);
    return db_status(NULL, rc);
}
