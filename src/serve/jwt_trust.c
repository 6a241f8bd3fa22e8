/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which issuers are trusted, from a file. Strict: a member that is misspelled would otherwise be a
 * check that is not made. The file names its keys, and holds no secret itself:
 *
 *   [{"alg":"HS256","secret_file":"jwt.secret","iss":"https://id.example","aud":"weir"},
 *    {"alg":"RS256","key_file":"idp.jwks.json","aud":["weir","https://weir.example"],"kid":"2026",
 *     "leeway_s":30,"scope_claim":"scope"}]
 *
 * A key file is PEM (one public key) or JSON: a JWK, or a set of them (RFC 7517) of which those are
 * taken that are for the entry's algorithm.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/json.h>

#include "base/mem.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "io/file.h"
#include "io/secret_file.h"
#include "serve/jwt_impl.h"

enum {
    FILE_BYTES = 256 << 10, /* of this file, and of one with keys */
    VALUES_BYTES = 4 << 20,
    MEMORY_BYTES = 1 << 20, /* of what is kept */
    SECRET_BYTES = 4096,
    NUMBER_BYTES = PUBLIC_KEY_MAX_RSA_BITS / 8,
    PATH_BYTES = 1024,
};

struct reader {
    struct jwt_trust *trust;
    const char *name; /* of the file */
    size_t i;         /* of the entry */
    char *why;
    enum weir_status st;
};

/* ---- what is wrong, and where ---- */

__attribute__((format(printf, 3, 4))) static bool bad(struct reader *r, const char *member,
                                                      const char *format, ...)
{
    va_list args;
    int len = snprintf(r->why, JWT_WHY_BYTES, "%s: [%zu]%s%s: ", r->name, r->i,
                       member[0] != 0 ? "." : "", member);
    va_start(args, format);
    if (len > 0 && len < JWT_WHY_BYTES)
        vsnprintf(r->why + len, (size_t)(JWT_WHY_BYTES - len), format, args);
    va_end(args);
    r->st = WEIR_BAD_FIELD;
    return false;
}

static bool fail(struct reader *r, enum weir_status st)
{
    snprintf(r->why, JWT_WHY_BYTES, "%s: %s", r->name, weir_status_text(st));
    r->st = st;
    return false;
}

/* ---- texts ---- */

static bool keep(struct reader *r, struct weir_slice text, struct weir_slice *out)
{
    char *copy = arena_alloc(&r->trust->memory, text.len + 1);
    if (!copy) return fail(r, r->trust->memory.status);
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *out = slice_of(copy, text.len);
    return true;
}

static bool take_text(struct reader *r, const struct weir_json *v, struct weir_slice *out)
{
    struct weir_slice text = weir_json_text(v);
    struct weir_slice key = weir_json_key(v);
    char member[64];
    snprintf(member, sizeof member, "%.*s", (int)key.len, key.ptr ? key.ptr : "");
    if (weir_json_type_of(v) != WEIR_JSON_STRING || text.len == 0 || text.len >= PATH_BYTES ||
        memchr(text.ptr, 0, text.len))
        return bad(r, member, "has to be a text in quotes that is not empty");
    return keep(r, text, out);
}

/* ---- keys ---- */

static enum public_key_kind kind_of(enum jwt_alg alg)
{
    if (alg == JWT_RS256) return PUBLIC_KEY_RSA;
    return alg == JWT_ES256 ? PUBLIC_KEY_P256 : PUBLIC_KEY_ED25519;
}

/* Of a public key that could not be made. */
static bool bad_key(struct reader *r, enum jwt_alg alg, enum weir_status st)
{
    if (st == WEIR_NOMEM) return fail(r, st);
    if (st == WEIR_LIMIT)
        return bad(r, "key_file", "an RSA key has to have %d to %d bits", PUBLIC_KEY_MIN_RSA_BITS,
                   PUBLIC_KEY_MAX_RSA_BITS);
    if (st == WEIR_BAD_TYPE)
        return bad(r, "key_file", "the key is not one for %s", jwt_alg_names[alg]);
    return bad(r, "key_file", "has no PEM \"PUBLIC KEY\" and is no JWK");
}

static struct jwt_key *add_key(struct reader *r, const struct jwt_issuer *issuer)
{
    struct jwt_trust *t = r->trust;
    if (t->n_keys == JWT_MAX_KEYS) {
        bad(r, "", "there may be %d keys at most", JWT_MAX_KEYS);
        return NULL;
    }
    struct jwt_key *key = &t->keys[t->n_keys++];
    *key = (struct jwt_key){.issuer = issuer};
    return key;
}

static bool read_secret(struct reader *r, const struct jwt_issuer *issuer, struct weir_slice path,
                        struct weir_slice kid)
{
    char text[SECRET_BYTES];
    struct secret_file_error error;
    size_t len = 0;
    struct jwt_key *key = add_key(r, issuer);
    enum weir_status st = key ? secret_file_read(path.ptr, text, sizeof text, &len, &error) : r->st;
    bool is_good = key && st == WEIR_OK;
    if (key && st != WEIR_OK) {
        bad(r, "secret_file", "%s", error.text);
        r->st = st;
    }
    if (is_good) {
        while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r')) len--;
        is_good = len >= JWT_MIN_SECRET_BYTES && keep(r, slice_of(text, len), &key->secret);
        if (len < JWT_MIN_SECRET_BYTES)
            bad(r, "secret_file", "a secret has %d bytes at least", JWT_MIN_SECRET_BYTES);
        if (is_good) key->kid = kid;
    }
    explicit_bzero(text, sizeof text);
    return is_good;
}

/* A number of a JWK. Its length is whatever it has; empty: it is not there or no base64url. */
static struct weir_slice number_of(const struct weir_json *jwk, const char *member, char *bytes)
{
    struct weir_slice text = weir_json_text(weir_json_get_str(jwk, member));
    size_t len = text.len * 6 / 8;
    bool is_good = text.len > 0 && len <= NUMBER_BYTES && base64url_read(text, bytes, len);
    return slice_of(bytes, is_good ? len : 0);
}

/* Whether a key of a set is meant for this: others stand there, too. */
static bool is_for(const struct weir_json *jwk, enum jwt_alg alg)
{
    static const struct {
        const char *kty, *crv;
    } types[] = {
        [JWT_RS256] = {"RSA", ""}, [JWT_ES256] = {"EC", "P-256"}, [JWT_EDDSA] = {"OKP", "Ed25519"}};
    struct weir_slice use = weir_json_text(weir_json_get_str(jwk, "use"));
    struct weir_slice name = weir_json_text(weir_json_get_str(jwk, "alg"));
    return weir_slice_is(weir_json_text(weir_json_get_str(jwk, "kty")), types[alg].kty) &&
           weir_slice_is(weir_json_text(weir_json_get_str(jwk, "crv")), types[alg].crv) &&
           (use.len == 0 || weir_slice_is(use, "sig")) &&
           (name.len == 0 || weir_slice_is(name, jwt_alg_names[alg]));
}

static bool read_jwk(struct reader *r, const struct jwt_issuer *issuer, const struct weir_json *jwk)
{
    char first[NUMBER_BYTES], second[NUMBER_BYTES];
    enum jwt_alg alg = issuer->alg;
    const struct weir_json *kid = weir_json_get_str(jwk, "kid");
    if (weir_json_get_str(jwk, "d"))
        return bad(r, "key_file", "has a private key, which does not belong there");
    struct jwt_key *key = add_key(r, issuer);
    if (!key) return false;
    enum weir_status st = public_key_from_numbers(
        &key->public, kind_of(alg), number_of(jwk, alg == JWT_RS256 ? "n" : "x", first),
        number_of(jwk, alg == JWT_RS256 ? "e" : "y", second));
    if (st != WEIR_OK) return bad_key(r, alg, st);
    return weir_json_type_of(kid) != WEIR_JSON_STRING || keep(r, weir_json_text(kid), &key->kid);
}

static bool read_jwks(struct reader *r, const struct jwt_issuer *issuer,
                      const struct weir_json *file, struct weir_slice kid)
{
    size_t before = r->trust->n_keys;
    const struct weir_json *set = weir_json_get_str(file, "keys");
    const struct weir_json *jwk = set ? weir_json_first(set) : file;
    for (; jwk; jwk = set ? weir_json_next(jwk) : NULL) {
        struct weir_slice name = weir_json_text(weir_json_get_str(jwk, "kid"));
        if (!is_for(jwk, issuer->alg) || (kid.len > 0 && !slice_eq(kid, name))) continue;
        if (!read_jwk(r, issuer, jwk)) return false;
    }
    if (r->trust->n_keys > before) return true;
    return bad(r, "key_file", "has no key for %s%s", jwt_alg_names[issuer->alg],
               kid.len > 0 ? " of that kid" : "");
}

static bool read_pem(struct reader *r, const struct jwt_issuer *issuer, struct weir_slice pem,
                     struct weir_slice kid)
{
    struct jwt_key *key = add_key(r, issuer);
    if (!key) return false;
    key->kid = kid;
    enum weir_status st = public_key_from_pem(&key->public, kind_of(issuer->alg), pem);
    return st == WEIR_OK || bad_key(r, issuer->alg, st);
}

/* A whole file that is no secret. */
static enum weir_status read_text(const char *path, char *out, size_t *len)
{
    struct file f;
    enum weir_status st = file_open(&f, path, FILE_READ_ONLY);
    if (st != WEIR_OK) return errno == ENOENT ? WEIR_NOT_FOUND : st;
    st = file_read_at(&f, out, FILE_BYTES, 0, len);
    file_close(&f);
    return st == WEIR_OK && *len == FILE_BYTES ? WEIR_LIMIT : st;
}

static bool read_public(struct reader *r, const struct jwt_issuer *issuer, struct weir_slice path,
                        struct weir_slice kid)
{
    size_t len = 0;
    bool is_good = false;
    const struct weir_json *v = NULL;
    char *text = mem_alloc(FILE_BYTES);
    struct weir_json_doc *doc = weir_json_doc_new(VALUES_BYTES);
    enum weir_status st = text && doc ? read_text(path.ptr, text, &len) : WEIR_NOMEM;
    if (st == WEIR_NOMEM) {
        fail(r, st);
    } else if (st != WEIR_OK) {
        bad(r, "key_file", "%s: %s", path.ptr, st == WEIR_LIMIT ? "is too large" : strerror(errno));
        r->st = st;
    } else if (weir_json_parse(doc, slice_of(text, len), &v, NULL) == WEIR_OK) {
        is_good = read_jwks(r, issuer, v, kid);
    } else {
        is_good = read_pem(r, issuer, slice_of(text, len), kid);
    }
    weir_json_doc_free(doc);
    mem_free(text);
    return is_good;
}

/* ---- entries ---- */

/* What an entry says that is not a field of the issuer. */
struct entry {
    struct jwt_issuer *issuer;
    struct weir_slice secret_file, key_file, kid;
    bool has_alg;
};

static bool take_alg(struct reader *r, struct entry *e, const struct weir_json *v)
{
    for (int i = 0; i < JWT_N_ALGS; i++) {
        if (weir_json_type_of(v) != WEIR_JSON_STRING ||
            !weir_slice_is(weir_json_text(v), jwt_alg_names[i]))
            continue;
        e->issuer->alg = (enum jwt_alg)i;
        e->has_alg = true;
        return true;
    }
    return bad(r, "alg", "has to be HS256, RS256, ES256 or EdDSA");
}

static bool take_audiences(struct reader *r, struct entry *e, const struct weir_json *v)
{
    struct jwt_issuer *issuer = e->issuer;
    if (weir_json_type_of(v) != WEIR_JSON_ARRAY) {
        issuer->n_audiences = 1;
        return take_text(r, v, &issuer->audiences[0]);
    }
    for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x)) {
        if (issuer->n_audiences == JWT_MAX_AUDIENCES || weir_json_type_of(x) != WEIR_JSON_STRING ||
            weir_json_text(x).len == 0)
            return bad(r, "aud", "has to be a text, or up to %d of them", JWT_MAX_AUDIENCES);
        if (!keep(r, weir_json_text(x), &issuer->audiences[issuer->n_audiences++])) return false;
    }
    return issuer->n_audiences > 0 || bad(r, "aud", "is empty");
}

static bool take_leeway(struct reader *r, struct entry *e, const struct weir_json *v)
{
    int64_t s = 0;
    if (!weir_json_int64(v, &s) || s < 0 || s > JWT_MAX_LEEWAY_S)
        return bad(r, "leeway_s", "has to be a whole number from 0 to %d", JWT_MAX_LEEWAY_S);
    e->issuer->leeway_s = s;
    return true;
}

static bool take_member(struct reader *r, struct entry *e, const struct weir_json *v)
{
    struct weir_slice key = weir_json_key(v);
    if (weir_slice_is(key, "alg")) return take_alg(r, e, v);
    if (weir_slice_is(key, "aud")) return take_audiences(r, e, v);
    if (weir_slice_is(key, "leeway_s")) return take_leeway(r, e, v);
    if (weir_slice_is(key, "iss")) return take_text(r, v, &e->issuer->iss);
    if (weir_slice_is(key, "kid")) return take_text(r, v, &e->kid);
    if (weir_slice_is(key, "scope_claim")) return take_text(r, v, &e->issuer->scope_claim);
    if (weir_slice_is(key, "secret_file")) return take_text(r, v, &e->secret_file);
    if (weir_slice_is(key, "key_file")) return take_text(r, v, &e->key_file);
    return bad(r, "",
               "has a member that is none of alg, secret_file, key_file, kid, iss, aud, leeway_s, "
               "scope_claim");
}

static bool read_keys(struct reader *r, const struct entry *e)
{
    if (!e->has_alg) return bad(r, "alg", "is missing");
    if (e->issuer->alg == JWT_HS256) {
        if (e->secret_file.len == 0 || e->key_file.len > 0)
            return bad(r, "", "HS256 goes with secret_file, and without key_file");
        return read_secret(r, e->issuer, e->secret_file, e->kid);
    }
    if (e->key_file.len == 0 || e->secret_file.len > 0)
        return bad(r, "", "%s goes with key_file, and without secret_file",
                   jwt_alg_names[e->issuer->alg]);
    return read_public(r, e->issuer, e->key_file, e->kid);
}

static bool read_entry(struct reader *r, const struct weir_json *v)
{
    struct entry e = {.issuer = arena_alloc(&r->trust->memory, sizeof *e.issuer)};
    if (!e.issuer) return fail(r, r->trust->memory.status);
    *e.issuer = (struct jwt_issuer){.leeway_s = JWT_LEEWAY_S};
    if (weir_json_type_of(v) != WEIR_JSON_OBJECT) return bad(r, "", "has to be an object");
    for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x))
        if (!take_member(r, &e, x)) return false;
    return read_keys(r, &e);
}

static enum weir_status read_entries(struct reader *r, struct weir_slice text)
{
    const struct weir_json *v = NULL;
    size_t offset = 0;
    struct weir_json_doc *doc = weir_json_doc_new(VALUES_BYTES);
    enum weir_status st = doc ? weir_json_parse(doc, text, &v, &offset) : WEIR_NOMEM;
    if (st == WEIR_NOMEM) {
        fail(r, st);
    } else if (st != WEIR_OK) {
        snprintf(r->why, JWT_WHY_BYTES, "%s: is not JSON, at byte %zu", r->name, offset);
        r->st = WEIR_BAD_FIELD;
    } else if (weir_json_type_of(v) != WEIR_JSON_ARRAY || weir_json_count(v) == 0) {
        snprintf(r->why, JWT_WHY_BYTES, "%s: has to be an array of issuers", r->name);
        r->st = WEIR_BAD_FIELD;
    } else {
        for (const struct weir_json *x = weir_json_first(v); x; x = weir_json_next(x), r->i++)
            if (!read_entry(r, x)) break;
    }
    weir_json_doc_free(doc);
    return r->st;
}

enum weir_status jwt_trust_read(struct jwt_trust **out, const char *path, char why[JWT_WHY_BYTES])
{
    size_t len = 0;
    char *text = mem_alloc(FILE_BYTES);
    struct jwt_trust *t = mem_zalloc(sizeof *t);
    struct reader r = {.trust = t, .name = path, .why = why};
    *out = NULL;
    why[0] = 0;
    if (t) arena_init(&t->memory, MEMORY_BYTES);
    enum weir_status st = text && t ? read_text(path, text, &len) : WEIR_NOMEM;
    if (st == WEIR_NOMEM || st == WEIR_LIMIT) fail(&r, st);
    else if (st != WEIR_OK) snprintf(why, JWT_WHY_BYTES, "%s: %s", path, strerror(errno));
    if (st == WEIR_OK) st = read_entries(&r, slice_of(text, len));
    mem_free(text);
    if (st == WEIR_OK) *out = t;
    else jwt_trust_free(t);
    return st;
}

void jwt_trust_free(struct jwt_trust *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->n_keys; i++) {
        struct weir_slice secret = t->keys[i].secret;
        if (secret.len > 0) explicit_bzero((char *)(uintptr_t)secret.ptr, secret.len);
        public_key_free(t->keys[i].public);
    }
    arena_fini(&t->memory);
    mem_free(t);
}
