/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at one token. The order matters: its form, which keys it may be signed with, the
 * signature; only then what it says, for before that anybody could have written it.
 *
 *   token   = head "." claims "." signature, each in base64url without padding
 *   head    = {"alg", "kid"?, "typ"?}
 *   claims  = {"sub", "exp", "nbf"?, "iss"?, "aud"?}
 */
#include "serve/jwt.h"

#include <string.h>

#include <weir/json.h>

#include "base/slice.h"
#include "io/crypto.h"
#include "serve/jwt_impl.h"

enum {
    N_PARTS = 3,
    VALUES_BYTES = 256 << 10, /* of head and claims in memory */
};

const char *const jwt_alg_names[JWT_N_ALGS] = {
    [JWT_HS256] = "HS256",
    [JWT_RS256] = "RS256",
    [JWT_ES256] = "ES256",
    [JWT_EDDSA] = "EdDSA",
};

static const char not_good[] = "the token is not good";

/* A token on its way. */
struct token {
    struct weir_slice parts[N_PARTS]; /* as they came */
    struct weir_slice signed_bytes;   /* the first two with their dot */
    struct weir_slice signature;
    char bytes[JWT_BYTES]; /* of the parts, decoded */
    struct weir_json_doc *doc;
    const struct weir_json *head, *claims;
};

/* ---- form ---- */

static bool split(struct weir_slice token, struct weir_slice parts[N_PARTS])
{
    size_t n = 0;
    size_t begin = 0;
    if (token.len == 0 || token.len > JWT_BYTES) return false;
    for (size_t i = 0; i <= token.len; i++) {
        if (i < token.len && token.ptr[i] != '.') continue;
        if (n == N_PARTS) return false;
        parts[n++] = slice_of(token.ptr + begin, i - begin);
        begin = i + 1;
    }
    return n == N_PARTS && parts[0].len > 0 && parts[1].len > 0 && parts[2].len > 0;
}

bool jwt_has_form(struct weir_slice token)
{
    struct weir_slice parts[N_PARTS];
    return split(token, parts);
}

/*
 * Whether an object of JSON that was read without a fault has a member twice: of such the last one
 * is read here, and who knows which one elsewhere. Members are counted by the commas between them.
 */
static bool has_repeated(struct weir_slice text, const struct weir_json *object)
{
    size_t n = weir_json_count(object) > 0 ? 1 : 0;
    unsigned depth = 0;
    bool is_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (is_string) {
            if (c == '\\') i++;
            else if (c == '"') is_string = false;
        } else if (c == '"') {
            is_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c == ',' && depth == 1) {
            n++;
        }
    }
    return n != weir_json_count(object);
}

/* Decodes to the next free bytes of the token. */
static bool decode(struct token *t, size_t *used, struct weir_slice part, struct weir_slice *out)
{
    size_t len = part.len * 6 / 8; /* an impossible length of the text does not fit this one */
    if (len > sizeof t->bytes - *used || !base64url_read(part, t->bytes + *used, len)) return false;
    *out = slice_of(t->bytes + *used, len);
    *used += len;
    return true;
}

static enum weir_status read_object(struct token *t, struct weir_slice text,
                                    const struct weir_json **out)
{
    enum weir_status st = weir_json_parse(t->doc, text, out, NULL);
    if (st == WEIR_NOMEM) return st;
    bool is_good =
        st == WEIR_OK && weir_json_type_of(*out) == WEIR_JSON_OBJECT && !has_repeated(text, *out);
    return is_good ? WEIR_OK : WEIR_BAD_TOKEN;
}

static enum weir_status read_form(struct token *t, struct weir_slice text)
{
    struct weir_slice head, claims;
    size_t used = 0;
    if (!split(text, t->parts) || !decode(t, &used, t->parts[0], &head) ||
        !decode(t, &used, t->parts[1], &claims) || !decode(t, &used, t->parts[2], &t->signature))
        return WEIR_BAD_TOKEN;
    t->signed_bytes = slice_of(text.ptr, t->parts[0].len + 1 + t->parts[1].len);
    enum weir_status st = read_object(t, head, &t->head);
    return st == WEIR_OK ? read_object(t, claims, &t->claims) : st;
}

/* A text member; empty when it is not there. False when it is something else. */
static bool get_text(const struct weir_json *object, const char *key, struct weir_slice *out)
{
    const struct weir_json *v = weir_json_get_str(object, key);
    *out = weir_json_text(v);
    return !v || weir_json_type_of(v) == WEIR_JSON_STRING;
}

/* Tokens of other kinds (RFC 8725, 3.11) are not for us, whoever signed them. */
static bool is_our_type(struct weir_slice typ)
{
    static const char prefix[] = "application/";
    if (typ.len > sizeof prefix - 1 && strncasecmp(typ.ptr, prefix, sizeof prefix - 1) == 0)
        typ = slice_from(typ, sizeof prefix - 1);
    return typ.len == 0 || (typ.len == 3 && slice_ends_with_nocase(typ, "jwt")) ||
           (typ.len == 6 && slice_ends_with_nocase(typ, "at+jwt"));
}

static bool read_head(const struct token *t, enum jwt_alg *alg, struct weir_slice *kid)
{
    struct weir_slice name, typ;
    if (!get_text(t->head, "alg", &name) || !get_text(t->head, "kid", kid) ||
        !get_text(t->head, "typ", &typ) || weir_json_get_str(t->head, "crit") || !is_our_type(typ))
        return false;
    for (int i = 0; i < JWT_N_ALGS; i++) {
        if (!weir_slice_is(name, jwt_alg_names[i])) continue;
        *alg = (enum jwt_alg)i;
        return true;
    }
    return false;
}

/* ---- the signature ---- */

static bool is_signed_with(const struct token *t, const struct jwt_key *key)
{
    unsigned char mac[SHA256_BYTES];
    if (key->issuer->alg != JWT_HS256)
        return public_key_verify(key->public, t->signed_bytes, t->signature);
    if (t->signature.len != sizeof mac) return false;
    hmac_sha256(key->secret, t->signed_bytes, mac);
    return bytes_equal_ct(mac, t->signature.ptr, sizeof mac);
}

/* A key without a name may be meant by any; one with a name by its own, or by none. */
static bool may_be_meant(const struct jwt_key *key, struct weir_slice kid)
{
    return kid.len == 0 || key->kid.len == 0 || slice_eq(kid, key->kid);
}

/* ---- claims ---- */

/* A moment in seconds, with a fraction at will; false when it is none. */
static bool get_moment(const struct weir_json *claims, const char *key, double *out, bool *is_there)
{
    const struct weir_json *v = weir_json_get_str(claims, key);
    *is_there = v != NULL;
    return !v || (weir_json_type_of(v) == WEIR_JSON_NUMBER && weir_json_double(v, out));
}

static const char *judge_times(const struct weir_json *claims, int64_t now_ms, int64_t leeway_s)
{
    double now_s = (double)now_ms / 1000;
    double exp = 0, nbf = 0;
    bool has_exp, has_nbf;
    if (!get_moment(claims, "exp", &exp, &has_exp) || !get_moment(claims, "nbf", &nbf, &has_nbf))
        return "exp and nbf of the token have to be numbers";
    if (!has_exp) return "the token has no exp: it would last for ever";
    if (now_s >= exp + (double)leeway_s) return "the token has expired";
    if (has_nbf && now_s < nbf - (double)leeway_s) return "the token is not good yet (nbf)";
    return NULL;
}

static bool is_audience(const struct jwt_issuer *issuer, const struct weir_json *v)
{
    if (weir_json_type_of(v) != WEIR_JSON_STRING) return false;
    for (size_t i = 0; i < issuer->n_audiences; i++)
        if (slice_eq(issuer->audiences[i], weir_json_text(v))) return true;
    return false;
}

/* RFC 7519, 4.1.3: whoever does not know itself by one of its names refuses the token. */
static bool has_our_audience(const struct jwt_issuer *issuer, const struct weir_json *aud)
{
    if (!aud) return issuer->n_audiences == 0;
    if (weir_json_type_of(aud) != WEIR_JSON_ARRAY) return is_audience(issuer, aud);
    for (const struct weir_json *v = weir_json_first(aud); v; v = weir_json_next(v))
        if (is_audience(issuer, v)) return true;
    return false;
}

static unsigned scope_of(struct weir_slice word)
{
    if (weir_slice_is(word, "read")) return SCOPE_READ;
    return weir_slice_is(word, "write") ? SCOPE_WRITE : SCOPE_NONE;
}

/* Words with blanks between them (RFC 8693, 4.2), or a list of words; of others we know nothing. */
static unsigned read_scopes(const struct weir_json *v)
{
    unsigned scopes = SCOPE_NONE;
    if (weir_json_type_of(v) == WEIR_JSON_ARRAY) {
        for (const struct weir_json *i = weir_json_first(v); i; i = weir_json_next(i))
            scopes |= scope_of(weir_json_text(i));
        return scopes;
    }
    struct weir_slice text = weir_json_text(v);
    while (text.len > 0) {
        const char *blank = memchr(text.ptr, ' ', text.len);
        size_t len = blank ? (size_t)(blank - text.ptr) : text.len;
        scopes |= scope_of(slice_of(text.ptr, len));
        text = slice_from(text, blank ? len + 1 : len);
    }
    return scopes;
}

static const char *read_user(const struct weir_json *claims, struct access *out)
{
    struct weir_slice sub;
    if (!get_text(claims, "sub", &sub) || !owner_is_name(sub) || sub.len >= sizeof out->owner)
        return "sub of the token has to be a name of 1 to 63 bytes without \"/\"";
    memcpy(out->owner, sub.ptr, sub.len);
    return NULL;
}

/* NULL: the token is good, and says who asks. */
static const char *read_claims(const struct jwt_issuer *issuer, const struct weir_json *claims,
                               int64_t now_ms, struct access *out)
{
    struct weir_slice iss;
    const char *why = judge_times(claims, now_ms, issuer->leeway_s);
    if (why) return why;
    if (!get_text(claims, "iss", &iss) || (issuer->iss.len > 0 && !slice_eq(iss, issuer->iss)))
        return "the token is from another issuer (iss)";
    if (!has_our_audience(issuer, weir_json_get_str(claims, "aud")))
        return "the token is for somebody else (aud)";
    *out = (struct access){.name = "jwt", .scopes = SCOPE_READ | SCOPE_WRITE};
    if (issuer->scope_claim.len > 0)
        out->scopes = read_scopes(weir_json_get(claims, issuer->scope_claim));
    return read_user(claims, out);
}

/* ---- all together ---- */

/* Several issuers may share a key: any of its entries will do. */
static enum weir_status check(const struct jwt_trust *t, struct token *token, int64_t now_ms,
                              struct access *out, const char **why)
{
    enum jwt_alg alg;
    struct weir_slice kid;
    if (!read_head(token, &alg, &kid)) return WEIR_BAD_TOKEN;
    for (size_t i = 0; i < t->n_keys; i++) {
        const struct jwt_key *key = &t->keys[i];
        if (key->issuer->alg != alg || !may_be_meant(key, kid) || !is_signed_with(token, key))
            continue;
        *why = read_claims(key->issuer, token->claims, now_ms, out);
        if (!*why) return WEIR_OK;
    }
    return WEIR_BAD_TOKEN;
}

enum weir_status jwt_check(const struct jwt_trust *t, struct weir_slice text, int64_t now_ms,
                           struct access *out, const char **why)
{
    struct token token = {.doc = weir_json_doc_new(VALUES_BYTES)};
    *why = not_good;
    *out = (struct access){.scopes = SCOPE_NONE};
    enum weir_status st = token.doc ? read_form(&token, text) : WEIR_NOMEM;
    if (st == WEIR_OK) st = check(t, &token, now_ms, out, why);
    if (st != WEIR_OK) *out = (struct access){.scopes = SCOPE_NONE};
    weir_json_doc_free(token.doc);
    return st;
}
