/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of others: the published examples, and all that is to be refused. */
#include "serve/jwt.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/slice.h"
#include "io/crypto.h"
#include "t.h"
#include "text.h"

enum { NOW_S = 1763230000 };

static const char secret[] = "a secret of thirty-two bytes, or more";
static const unsigned char seed[ED25519_SEED_BYTES] = {7, 7, 7};

/* ---- files ---- */

struct trust {
    char folder[256];
    char path[300];
    struct jwt_trust *jwt;
    enum weir_status st;
    char why[JWT_WHY_BYTES];
};

static void put_file(const struct trust *t, const char *name, struct weir_slice text, mode_t mode)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", t->folder, name);
    FILE *f = fopen(path, "w");
    T_OK(f);
    if (text.len > 0) T_EQ(fwrite(text.ptr, 1, text.len, f), text.len);
    T_EQ(fclose(f), 0);
    T_EQ(chmod(path, mode), 0);
}

static void put_ed_jwk(struct text *out, const unsigned char *from, const char *more)
{
    unsigned char public[ED25519_PUBLIC_BYTES];
    char x[64];
    struct weir_buf b = {.ptr = x, .cap = sizeof x, .max = sizeof x};
    ed25519_public(from, public);
    base64url_write(&b, slice_of(public, sizeof public));
    text_printf(out, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%.*s\"%s}", (int)b.len, x, more);
}

static void trust_init(struct trust *t)
{
    struct text jwk = {0};
    *t = (struct trust){.jwt = NULL};
    snprintf(t->folder, sizeof t->folder, "%s", t_temp_dir());
    put_file(t, "secret", weir_slice_of(secret), 0600);
    put_ed_jwk(&jwk, seed, ",\"kid\":\"ed\"");
    put_file(t, "ed.jwk", text_slice(&jwk), 0644);
    text_fini(&jwk);
}

/* '@' in the configuration stands for the folder. */
static void trust_read(struct trust *t, const char *config)
{
    struct text text = {0};
    for (; *config; config++)
        if (*config == '@') text_printf(&text, "%s/", t->folder);
        else text_add(&text, config, 1);
    put_file(t, "jwt.json", text_slice(&text), 0644);
    text_fini(&text);
    snprintf(t->path, sizeof t->path, "%s/jwt.json", t->folder);
    jwt_trust_free(t->jwt);
    t->st = jwt_trust_read(&t->jwt, t->path, t->why);
}

static void trust_fini(struct trust *t)
{
    jwt_trust_free(t->jwt);
}

static const char plain[] = "[{\"alg\":\"HS256\",\"secret_file\":\"@secret\"},"
                            "{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\"}]";

/* ---- tokens ---- */

struct made {
    char text[2 * JWT_BYTES];
    struct weir_buf buf;
};

static struct weir_slice made_slice(const struct made *m)
{
    return slice_of(m->text, m->buf.len);
}

static void begin(struct made *m, const char *head, const char *claims)
{
    m->buf = (struct weir_buf){.ptr = m->text, .cap = sizeof m->text, .max = sizeof m->text};
    base64url_write(&m->buf, weir_slice_of(head));
    weir_buf_append_char(&m->buf, '.');
    base64url_write(&m->buf, weir_slice_of(claims));
}

static void make_hs(struct made *m, const char *head, const char *claims, struct weir_slice key)
{
    unsigned char mac[SHA256_BYTES];
    begin(m, head, claims);
    hmac_sha256(key, made_slice(m), mac);
    weir_buf_append_char(&m->buf, '.');
    base64url_write(&m->buf, slice_of(mac, sizeof mac));
}

static void make_ed(struct made *m, const char *head, const char *claims,
                    const unsigned char *with_seed)
{
    unsigned char signature[ED25519_SIGNATURE_BYTES];
    begin(m, head, claims);
    ed25519_sign(with_seed, made_slice(m), signature);
    weir_buf_append_char(&m->buf, '.');
    base64url_write(&m->buf, slice_of(signature, sizeof signature));
}

struct verdict {
    enum weir_status st;
    struct access who;
    const char *why;
};

/* From memory just as large, so that a sanitizer sees a byte too many. */
static struct verdict check_at(const struct trust *t, struct weir_slice token, int64_t now_s)
{
    struct verdict v;
    char *copy = malloc(token.len > 0 ? token.len : 1);
    if (token.len > 0) memcpy(copy, token.ptr, token.len);
    v.st = jwt_check(t->jwt, slice_of(copy, token.len), now_s * 1000, &v.who, &v.why);
    free(copy);
    return v;
}

static struct verdict check_hs(const struct trust *t, const char *head, const char *claims)
{
    static struct made m;
    make_hs(&m, head, claims, weir_slice_of(secret));
    return check_at(t, made_slice(&m), NOW_S);
}

#define HS     "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define ED     "{\"alg\":\"EdDSA\"}"
#define CLAIMS "{\"sub\":\"alice\",\"exp\":1763230100}"

/* ---- what is published ---- */

/* RFC 7515, A.1 to A.3; they say nobody's name, which is told only of what is truly signed. */
#define RFC_CLAIMS                                                                                 \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl" \
    "fQ"

TEST(examples_of_rfc_7515_are_signed)
{
    static const char *const tokens[] = {
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." RFC_CLAIMS
        ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        "eyJhbGciOiJSUzI1NiJ9." RFC_CLAIMS
        ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
        "O8W2F"
        "p5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_"
        "nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBM"
        "Hlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-"
        "eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2"
        "w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        "eyJhbGciOiJFUzI1NiJ9." RFC_CLAIMS
        ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    };
    char key[64];
    struct trust t;
    trust_init(&t);
    T_OK(base64url_read(
        SLICE("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1"
              "Z9CAow"),
        key, sizeof key));
    put_file(&t, "rfc.secret", slice_of(key, sizeof key), 0600);
    put_file(&t, "rfc.jwks",
             SLICE("{\"keys\":[{\"kty\":\"RSA\",\"n\":\"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTb"
                   "ji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_Yp"
                   "RPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBd"
                   "QOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK"
                   "-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\",\"e\":\"AQAB\""
                   "},{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus"
                   "9uPHvRVEU\",\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}"),
             0644);
    trust_read(&t, "[{\"alg\":\"HS256\",\"secret_file\":\"@rfc.secret\",\"iss\":\"joe\"},"
                   "{\"alg\":\"RS256\",\"key_file\":\"@rfc.jwks\",\"iss\":\"joe\"},"
                   "{\"alg\":\"ES256\",\"key_file\":\"@rfc.jwks\"}]");
    T_EQ(t.st, WEIR_OK);
    for (size_t i = 0; t.jwt && i < sizeof tokens / sizeof *tokens; i++) {
        char text[1024];
        struct verdict v = check_at(&t, weir_slice_of(tokens[i]), 1300819300);
        T_OK(strstr(v.why, "sub of the token"));
        v = check_at(&t, weir_slice_of(tokens[i]), 1300819380 + JWT_LEEWAY_S);
        T_OK(strstr(v.why, "expired"));
        snprintf(text, sizeof text, "%s", tokens[i]);
        text[strlen(text) - 5] ^= 1;
        v = check_at(&t, weir_slice_of(text), 1300819300);
        T_EQ(v.st, WEIR_BAD_TOKEN);
        T_EQ_STR(weir_slice_of(v.why), "the token is not good");
    }
    trust_fini(&t);
}

/* ---- good ones ---- */

TEST(good_token_says_who_asks_and_never_an_administrator)
{
    static struct made m;
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    T_EQ(t.st, WEIR_OK);
    struct verdict v =
        check_hs(&t, HS,
                 "{\"sub\":\"alice\",\"exp\":1763230100,\"scope\":\"read write "
                 "admin\",\"admin\":true,\"jwk\":{\"a\":[1,{\"b\":\"},\\\"{\"},2]}}");
    T_EQ(v.st, WEIR_OK);
    T_EQ_STR(weir_slice_of(v.who.owner), "alice");
    T_EQ_STR(weir_slice_of(v.who.name), "jwt");
    T_EQ(v.who.scopes, SCOPE_READ | SCOPE_WRITE);
    make_ed(&m, ED, "{\"exp\":1763230000.5,\"nbf\":1.763229e9,\"sub\":\"b\\u00e4r\"}", seed);
    v = check_at(&t, made_slice(&m), NOW_S);
    T_EQ(v.st, WEIR_OK);
    T_EQ_STR(weir_slice_of(v.who.owner), "b\u00e4r");
    trust_fini(&t);
}

TEST(token_with_any_byte_changed_or_cut_is_refused)
{
    static struct made m;
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    make_hs(&m, HS, CLAIMS, weir_slice_of(secret));
    struct weir_slice all = made_slice(&m);
    T_EQ(check_at(&t, all, NOW_S).st, WEIR_OK);
    for (size_t i = 0; i < all.len; i++) {
        char right = m.text[i];
        T_EQ(check_at(&t, slice_of(all.ptr, i), NOW_S).st, WEIR_BAD_TOKEN);
        for (int c = 0; c < 256; c += 3) {
            m.text[i] = (char)c;
            if (m.text[i] != right) T_EQ(check_at(&t, all, NOW_S).st, WEIR_BAD_TOKEN);
        }
        m.text[i] = right;
    }
    trust_fini(&t);
}

/* ---- heads ---- */

TEST(other_algorithms_heads_and_kinds_are_refused)
{
    static const char *const heads[] = {
        "{\"alg\":\"none\"}",
        "{\"alg\":\"None\"}",
        "{\"alg\":\"hs256\"}",
        "{\"alg\":\"HS512\"}",
        "{\"alg\":\"RS256\"}",
        "{\"alg\":\"ES256\"}",
        "{\"alg\":\"EdDSA\"}",
        "{\"alg\":256}",
        "{\"alg\":null}",
        "{}",
        "[]",
        "\"HS256\"",
        "{\"alg\":\"HS256\",\"alg\":\"HS256\"}",
        "{\"alg\":\"none\",\"alg\":\"HS256\"}",
        "{\"alg\":\"HS256\",\"crit\":[\"exp\"]}",
        "{\"alg\":\"HS256\",\"crit\":[]}",
        "{\"alg\":\"HS256\",\"b64\":false,\"crit\":[\"b64\"]}",
        "{\"alg\":\"HS256\",\"typ\":\"dpop+jwt\"}",
        "{\"alg\":\"HS256\",\"typ\":\"logout+jwt\"}",
        "{\"alg\":\"HS256\",\"typ\":1}",
        "{\"alg\":\"HS256\",\"kid\":7}",
        "{\"alg\":\"HS256\"",
        "{\"alg\":\"HS256\"} x",
    };
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct verdict v = check_hs(&t, heads[i], CLAIMS);
        T_EQ(v.st, WEIR_BAD_TOKEN);
        T_EQ(v.who.scopes, SCOPE_NONE);
        T_EQ_STR(weir_slice_of(v.who.owner), "");
    }
    T_EQ(check_hs(&t, "{\"alg\":\"HS256\",\"typ\":\"at+JWT\"}", CLAIMS).st, WEIR_OK);
    T_EQ(check_hs(&t, "{\"alg\":\"HS256\",\"typ\":\"application/jwt\"}", CLAIMS).st, WEIR_OK);
    trust_fini(&t);
}

TEST(token_without_signature_is_refused)
{
    static struct made m;
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    begin(&m, "{\"alg\":\"none\"}", CLAIMS);
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    weir_buf_append_char(&m.buf, '.');
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    T_OK(!jwt_has_form(made_slice(&m)));
    begin(&m, HS, CLAIMS);
    weir_buf_append_str(&m.buf, ".");
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    trust_fini(&t);
}

/* The public key is known to all: whoever takes it for a secret takes anybody's tokens. */
TEST(public_key_is_no_secret)
{
    static struct made m;
    unsigned char public[ED25519_PUBLIC_BYTES];
    char path[400];
    struct trust t;
    trust_init(&t);
    trust_read(&t, "[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\"}]");
    ed25519_public(seed, public);
    make_hs(&m, HS, CLAIMS, slice_of(public, sizeof public));
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    make_hs(&m, ED, CLAIMS, slice_of(public, sizeof public));
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    snprintf(path, sizeof path, "%s/ed.jwk", t.folder);
    make_hs(&m, HS, CLAIMS, t_read_file(path));
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    make_ed(&m, ED, CLAIMS, seed);
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_OK);
    trust_fini(&t);
}

TEST(key_that_a_token_brings_along_is_not_used)
{
    static const unsigned char other[ED25519_SEED_BYTES] = {9};
    static struct made m;
    struct text head = {0};
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    text_printf(&head, "{\"alg\":\"EdDSA\",\"jku\":\"http://127.0.0.1/\",\"x5u\":\"x\",\"jwk\":");
    put_ed_jwk(&head, other, "");
    text_add(&head, "}", 2); /* with the NUL */
    make_ed(&m, text_slice(&head).ptr, CLAIMS, other);
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    make_ed(&m, text_slice(&head).ptr, CLAIMS, seed);
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_OK);
    text_fini(&head);
    trust_fini(&t);
}

TEST(kid_selects_the_key)
{
    static const unsigned char other[ED25519_SEED_BYTES] = {9};
    static struct made m;
    struct text set = {0};
    struct trust t;
    trust_init(&t);
    text_printf(&set,
                "{\"keys\":[{\"kty\":\"RSA\",\"use\":\"enc\",\"n\":\"AQAB\",\"e\":\"AQAB\"},");
    put_ed_jwk(&set, seed, ",\"kid\":\"one\",\"use\":\"sig\",\"alg\":\"EdDSA\"");
    text_printf(&set, ",");
    put_ed_jwk(&set, other, ",\"kid\":\"two\"");
    text_printf(&set, "]}");
    put_file(&t, "set", text_slice(&set), 0644);
    text_fini(&set);
    trust_read(&t, "[{\"alg\":\"EdDSA\",\"key_file\":\"@set\"}]");
    T_EQ(t.st, WEIR_OK);
    static const struct {
        const char *head;
        const unsigned char *with;
        enum weir_status st;
    } cases[] = {
        {"{\"alg\":\"EdDSA\",\"kid\":\"one\"}", seed, WEIR_OK},
        {"{\"alg\":\"EdDSA\",\"kid\":\"two\"}", other, WEIR_OK},
        {"{\"alg\":\"EdDSA\",\"kid\":\"two\"}", seed, WEIR_BAD_TOKEN},
        {"{\"alg\":\"EdDSA\",\"kid\":\"three\"}", seed, WEIR_BAD_TOKEN},
        {"{\"alg\":\"EdDSA\"}", seed, WEIR_OK},
        {"{\"alg\":\"EdDSA\"}", other, WEIR_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_ed(&m, cases[i].head, CLAIMS, cases[i].with);
        T_EQ(check_at(&t, made_slice(&m), NOW_S).st, cases[i].st);
    }
    trust_read(&t, "[{\"alg\":\"EdDSA\",\"key_file\":\"@set\",\"kid\":\"two\"}]");
    make_ed(&m, ED, CLAIMS, seed);
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    make_ed(&m, ED, CLAIMS, other);
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_OK);
    trust_fini(&t);
}

/* ---- claims ---- */

TEST(claims_are_checked)
{
    static const struct {
        const char *claims;
        const char *why; /* NULL: it is good */
    } cases[] = {
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", NULL},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":[\"x\",\"weir\"]}", NULL},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":[1,null,\"w2\"]}", NULL},
        {"{\"sub\":\"a\",\"exp\":1763229941,\"iss\":\"id\",\"aud\":\"weir\"}", NULL},
        {"{\"sub\":\"a\",\"exp\":1763229940,\"iss\":\"id\",\"aud\":\"weir\"}", "expired"},
        {"{\"sub\":\"a\",\"exp\":-1,\"iss\":\"id\",\"aud\":\"weir\"}", "expired"},
        {"{\"sub\":\"a\",\"iss\":\"id\",\"aud\":\"weir\"}", "no exp"},
        {"{\"sub\":\"a\",\"exp\":\"1763230100\",\"iss\":\"id\",\"aud\":\"weir\"}", "numbers"},
        {"{\"sub\":\"a\",\"exp\":null,\"iss\":\"id\",\"aud\":\"weir\"}", "numbers"},
        {"{\"sub\":\"a\",\"exp\":1e999,\"iss\":\"id\",\"aud\":\"weir\"}", "numbers"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"nbf\":1763230060,\"iss\":\"id\",\"aud\":\"weir\"}",
         NULL},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"nbf\":1763230061,\"iss\":\"id\",\"aud\":\"weir\"}",
         "not good yet"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"nbf\":true,\"iss\":\"id\",\"aud\":\"weir\"}",
         "numbers"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id2\",\"aud\":\"weir\"}", "iss"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":[\"id\"],\"aud\":\"weir\"}", "iss"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"aud\":\"weir\"}", "iss"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\"}", "aud"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":[]}", "aud"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir \"}", "aud"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":{\"weir\":1}}", "aud"},
        {"{\"sub\":\"a\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":[[\"weir\"]]}", "aud"},
        {"{\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", "sub"},
        {"{\"sub\":\"\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", "sub"},
        {"{\"sub\":7,\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", "sub"},
        {"{\"sub\":\"a/b\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", "sub"},
        {"{\"sub\":\"a\\u0000b\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", "sub"},
        {"{\"sub\":\"a\\nb\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", "sub"},
        {"{\"sub\":\"a\\ud800\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}", "sub"},
        {"{\"sub\":\"a\",\"sub\":\"b\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}",
         "the token is not good"},
        {"{\"sub\":\"a\",\"\\u0073ub\":\"b\",\"exp\":1763230100,\"iss\":\"id\",\"aud\":\"weir\"}",
         "the token is not good"},
        {"[]", "the token is not good"},
        {"", "the token is not good"},
    };
    struct trust t;
    trust_init(&t);
    trust_read(&t, "[{\"alg\":\"HS256\",\"secret_file\":\"@secret\",\"iss\":\"id\",\"aud\":["
                   "\"weir\",\"w2\"]}]");
    T_EQ(t.st, WEIR_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verdict v = check_hs(&t, HS, cases[i].claims);
        T_EQ(v.st, cases[i].why ? WEIR_BAD_TOKEN : WEIR_OK);
        if (cases[i].why && !strstr(v.why, cases[i].why))
            t_fail(__FILE__, __LINE__, "%s: %s", cases[i].claims, v.why);
    }
    trust_fini(&t);
}

TEST(token_for_an_audience_is_refused_where_none_is_named)
{
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    T_EQ(check_hs(&t, HS, "{\"sub\":\"a\",\"exp\":1763230100,\"aud\":\"other\"}").st,
         WEIR_BAD_TOKEN);
    trust_fini(&t);
}

TEST(name_may_have_63_bytes_and_no_more)
{
    char claims[200];
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    for (int n = 62; n <= 65; n++) {
        snprintf(claims, sizeof claims, "{\"sub\":\"%0*d\",\"exp\":1763230100}", n, 7);
        T_EQ(check_hs(&t, HS, claims).st, n <= 63 ? WEIR_OK : WEIR_BAD_TOKEN);
    }
    trust_fini(&t);
}

TEST(scope_claim_gives_read_and_write_and_nothing_else)
{
    static const struct {
        const char *scope;
        unsigned scopes;
    } cases[] = {
        {"\"read\"", SCOPE_READ},
        {"\"openid write  read\"", SCOPE_READ | SCOPE_WRITE},
        {"[\"write\",\"admin\",3]", SCOPE_WRITE},
        {"\"admin\"", SCOPE_NONE},
        {"\"readwrite\"", SCOPE_NONE},
        {"7", SCOPE_NONE},
        {"null", SCOPE_NONE},
    };
    char claims[200];
    struct trust t;
    trust_init(&t);
    trust_read(&t, "[{\"alg\":\"HS256\",\"secret_file\":\"@secret\",\"scope_claim\":\"scp\"}]");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(claims, sizeof claims, "{\"sub\":\"a\",\"exp\":1763230100,\"scp\":%s}",
                 cases[i].scope);
        struct verdict v = check_hs(&t, HS, claims);
        T_EQ(v.st, WEIR_OK);
        T_EQ(v.who.scopes, cases[i].scopes);
    }
    T_EQ(check_hs(&t, HS, CLAIMS).who.scopes, SCOPE_NONE);
    trust_fini(&t);
}

/* ---- forms ---- */

TEST(odd_forms_are_refused)
{
    static struct made m;
    static char large[JWT_BYTES + 16];
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    static const char *const texts[] = {"",        ".",       "..",        "...",
                                        "a.b.c",   "a.b",     "e30.e30",   "e30.e30.",
                                        ".e30.AA", "e30..AA", "e30.e30.A", "e30.e30.AA.AA"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        T_EQ(check_at(&t, weir_slice_of(texts[i]), NOW_S).st, WEIR_BAD_TOKEN);
    make_hs(&m, HS, CLAIMS, weir_slice_of(secret));
    weir_buf_append_char(&m.buf, '=');
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    /* 32 bytes are 43 letters, of the last of which two bits are for nothing. */
    m.buf.len--;
    char *last = &m.text[m.buf.len - 1];
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_OK);
    *last = (char)(*last + 1);
    T_EQ(check_at(&t, made_slice(&m), NOW_S).st, WEIR_BAD_TOKEN);
    memset(large, 'A', sizeof large);
    large[100] = large[200] = '.';
    T_EQ(check_at(&t, slice_of(large, sizeof large), NOW_S).st, WEIR_BAD_TOKEN);
    T_OK(!jwt_has_form(slice_of(large, JWT_BYTES + 1)));
    T_OK(jwt_has_form(slice_of(large, JWT_BYTES)));
    trust_fini(&t);
}

TEST(without_memory_nobody_is_let_in)
{
    static struct made m;
    struct trust t;
    trust_init(&t);
    trust_read(&t, plain);
    make_hs(&m, HS, CLAIMS, weir_slice_of(secret));
    for (unsigned n = 1; n < 20; n++) {
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        struct verdict v = check_at(&t, made_slice(&m), NOW_S);
        bool has_failed = fault_count(FAULT_ALLOC) >= n;
        fault_disarm_all();
        T_OK(v.st == (has_failed ? WEIR_NOMEM : WEIR_OK));
        T_OK(v.st == WEIR_OK || v.who.scopes == SCOPE_NONE);
    }
    trust_fini(&t);
}

/* ---- the file ---- */

TEST(file_that_is_wrong_says_where)
{
    static const struct {
        const char *config, *why;
    } cases[] = {
        {"", "not JSON"},
        {"{}", "array"},
        {"[]", "array"},
        {"[1]", "[0]: has to be an object"},
        {"[{}]", "[0].alg: is missing"},
        {"[{\"alg\":\"none\"}]", "[0].alg"},
        {"[{\"alg\":\"RS512\"}]", "[0].alg"},
        {"[{\"alg\":\"HS256\"}]", "secret_file"},
        {"[{\"alg\":\"HS256\",\"key_file\":\"@ed.jwk\"}]", "secret_file"},
        {"[{\"alg\":\"HS256\",\"secret\":\"x\"}]", "none of alg"},
        {"[{\"alg\":\"HS256\",\"secret_file\":\"@nothing\"}]", "[0].secret_file"},
        {"[{\"alg\":\"HS256\",\"secret_file\":\"@open\"}]", "chmod 600"},
        {"[{\"alg\":\"HS256\",\"secret_file\":\"@short\"}]", "32 bytes"},
        {"[{\"alg\":\"EdDSA\",\"secret_file\":\"@secret\"}]", "key_file"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@nothing\"}]", "No such file"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@secret\"}]", "PUBLIC KEY"},
        {"[{\"alg\":\"RS256\",\"key_file\":\"@ed.jwk\"}]", "no key for RS256"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@private\"}]", "private"},
        {"[{\"alg\":\"RS256\",\"key_file\":\"@small\"}]", "2048"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@bad\"}]", "JWK"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\",\"kid\":\"other\"}]", "of that kid"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\",\"kid\":\"\"}]", "[0].kid"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\",\"iss\":7}]", "[0].iss"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\",\"aud\":[]}]", "[0].aud"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\",\"aud\":[1]}]", "[0].aud"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\",\"leeway_s\":601}]", "[0].leeway_s"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\",\"leeway_s\":\"6\"}]", "[0].leeway_s"},
        {"[{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\"},7]", "[1]"},
    };
    struct text jwk = {0};
    struct trust t;
    trust_init(&t);
    put_file(&t, "open", weir_slice_of(secret), 0640);
    put_file(&t, "short", SLICE("only 31 bytes, and a line's end\n"), 0600);
    put_ed_jwk(&jwk, seed, ",\"d\":\"AAAA\"");
    put_file(&t, "private", text_slice(&jwk), 0644);
    text_fini(&jwk);
    put_file(&t, "small", SLICE("{\"kty\":\"RSA\",\"n\":\"ofgWCuLjybRlzo0tZWJj\",\"e\":\"AQAB\"}"),
             0644);
    put_file(&t, "bad", SLICE("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQAB\"}"), 0644);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trust_read(&t, cases[i].config);
        T_OK(t.st != WEIR_OK && !t.jwt);
        if (!strstr(t.why, cases[i].why))
            t_fail(__FILE__, __LINE__, "%s: %s", cases[i].config, t.why);
    }
    T_EQ(jwt_trust_read(&t.jwt, "/nonexistent/jwt.json", t.why), WEIR_NOT_FOUND);
    trust_fini(&t);
}

TEST(more_keys_than_there_may_be_are_refused)
{
    struct text config = {0};
    struct trust t;
    trust_init(&t);
    for (int i = 0; i <= JWT_MAX_KEYS; i++)
        text_printf(&config, "%s{\"alg\":\"EdDSA\",\"key_file\":\"@ed.jwk\"}", i > 0 ? "," : "[");
    text_add(&config, "]", 2);
    trust_read(&t, text_slice(&config).ptr);
    T_EQ(t.st, WEIR_BAD_FIELD);
    T_OK(strstr(t.why, "64 keys"));
    text_fini(&config);
    trust_fini(&t);
}
