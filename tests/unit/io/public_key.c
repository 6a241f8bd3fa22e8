/* SPDX-License-Identifier: Apache-2.0 */
#include "io/public_key.h"

#include "base/slice.h"
#include "io/crypto.h"
#include "t.h"

static struct weir_slice read64(const char *text, char *out)
{
    size_t len = strlen(text) * 6 / 8;
    T_OK(base64url_read(weir_slice_of(text), out, len));
    return slice_of(out, len);
}

/* RFC 8037, appendix A. */
TEST(signature_of_rfc_8037_is_good_and_no_other)
{
    char x[64], raw[64];
    struct public_key *key;
    T_EQ(public_key_from_numbers(&key, PUBLIC_KEY_ED25519,
                                 read64("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", x),
                                 SLICE("")),
         WEIR_OK);
    struct weir_slice sig = read64(
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        raw);
    struct weir_slice text = SLICE("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc");
    T_OK(public_key_verify(key, text, sig));
    T_OK(!public_key_verify(key, slice_from(text, 1), sig));
    for (size_t i = 0; i < sig.len; i++) {
        T_OK(!public_key_verify(key, text, slice_of(sig.ptr, i)));
        raw[i] ^= 1;
        T_OK(!public_key_verify(key, text, sig));
        raw[i] ^= 1;
    }
    public_key_free(key);
}

/* RFC 7515, A.3: a signature is r and s, and nothing of DER. */
TEST(signature_of_p256_is_two_numbers)
{
    static const char zeros[PUBLIC_KEY_SIGNATURE_BYTES];
    char x[64], y[64], raw[64];
    struct public_key *key;
    T_EQ(public_key_from_numbers(&key, PUBLIC_KEY_P256,
                                 read64("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", x),
                                 read64("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", y)),
         WEIR_OK);
    struct weir_slice sig = read64(
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        raw);
    struct weir_slice text = SLICE(
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
        "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ");
    T_OK(public_key_verify(key, text, sig));
    T_OK(!public_key_verify(key, text, slice_of(zeros, sizeof zeros)));
    raw[63] ^= 1;
    T_OK(!public_key_verify(key, text, sig));
    public_key_free(key);
    y[0] ^= 1; /* a point beside the curve */
    T_EQ(public_key_from_numbers(&key, PUBLIC_KEY_P256, slice_of(x, 32), slice_of(y, 32)),
         WEIR_INVALID);
    T_OK(!key);
}

static const char ed_pem[] = "-----BEGIN PUBLIC KEY-----\n"
                             "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
                             "-----END PUBLIC KEY-----\n";

TEST(key_of_pem_is_of_the_kind_that_was_asked_for)
{
    struct public_key *key;
    T_EQ(public_key_from_pem(&key, PUBLIC_KEY_ED25519, weir_slice_of(ed_pem)), WEIR_OK);
    public_key_free(key);
    T_EQ(public_key_from_pem(&key, PUBLIC_KEY_RSA, weir_slice_of(ed_pem)), WEIR_BAD_TYPE);
    T_EQ(public_key_from_pem(&key, PUBLIC_KEY_P256, weir_slice_of(ed_pem)), WEIR_BAD_TYPE);
    for (size_t cut = 0; cut < sizeof ed_pem - 3; cut++) {
        T_EQ(public_key_from_pem(&key, PUBLIC_KEY_ED25519, slice_of(ed_pem, cut)), WEIR_INVALID);
        T_OK(!key);
    }
}

TEST(small_rsa_keys_are_refused)
{
    char n[128];
    struct public_key *key;
    memset(n, 0xA5, sizeof n);
    T_EQ(public_key_from_numbers(&key, PUBLIC_KEY_RSA, slice_of(n, sizeof n), SLICE("\1\0\1")),
         WEIR_LIMIT);
    T_EQ(public_key_from_numbers(&key, PUBLIC_KEY_RSA, slice_of(n, 0), SLICE("\1\0\1")),
         WEIR_INVALID);
    T_EQ(public_key_from_numbers(&key, PUBLIC_KEY_RSA, slice_of(n, sizeof n), SLICE("\1")),
         WEIR_INVALID);
}
