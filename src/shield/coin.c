/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of cryptocurrencies: base58check (Bitcoin and its kin), bech32 and bech32m (BIP 173,
 * BIP 350), Ethereum with the capitals of EIP-55. Private keys in base58check are secrets.
 */
#include <string.h>

#include "base/slice.h"
#include "io/crypto.h"
#include "shield/keccak.h"
#include "shield/mixed.h"

enum {
    BASE58_MIN = 26,
    BASE58_MAX = 52,
    DECODED_MAX = 40,
    ADDRESS_BYTES = 25, /* version, hash, check */
    BECH32_MIN = 14,
    BECH32_MAX = 90,
    ETHEREUM_CHARS = 42,
};

/* The number of bytes that a base58 text stands for; 0: it is none, or too long. */
static size_t base58_decode(const unsigned char *text, size_t len, unsigned char out[DECODED_MAX])
{
    static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    size_t used = 0, n_zeros = 0;
    unsigned char reversed[DECODED_MAX] = {0};
    while (n_zeros < len && text[n_zeros] == '1') n_zeros++;
    for (size_t i = n_zeros; i < len; i++) {
        const char *at = text[i] ? strchr(alphabet, text[i]) : NULL;
        if (!at) return 0;
        unsigned carry = (unsigned)(at - alphabet);
        for (size_t k = 0; k < used || carry > 0; k++) {
            if (k == DECODED_MAX) return 0;
            carry += 58U * reversed[k];
            reversed[k] = (unsigned char)(carry & 0xFF);
            carry >>= 8;
            if (k >= used) used = k + 1;
        }
    }
    if (n_zeros + used > DECODED_MAX) return 0;
    memset(out, 0, n_zeros);
    for (size_t i = 0; i < used; i++) out[n_zeros + i] = reversed[used - 1 - i];
    return n_zeros + used;
}

/* Four bytes of a double hash end the text. */
static bool has_check(const unsigned char *bytes, size_t len)
{
    unsigned char hash[SHA256_BYTES];
    sha256(slice_of(bytes, len - 4), hash);
    sha256(slice_of(hash, sizeof hash), hash);
    return memcmp(hash, bytes + len - 4, 4) == 0;
}

static size_t try_base58(struct scan *s, size_t at, size_t end)
{
    unsigned char bytes[DECODED_MAX];
    size_t len = end - at;
    if (len < BASE58_MIN || len > BASE58_MAX || (len > 35 && len < 51)) return 0;
    if (!strchr("132mn5KLcMDXTtrA7", s->text[at])) return 0;
    size_t n = base58_decode(s->text + at, len, bytes);
    if (n < ADDRESS_BYTES || n > 38 || !has_check(bytes, n)) return 0;
    if (n == ADDRESS_BYTES || n == ADDRESS_BYTES + 1) {
        scan_found(s, at, end, SHIELD_CRYPTO,
                   s->text[at] == '1' || s->text[at] == '3' ? "bitcoin" : "base58check", 1.0);
        return end;
    }
    if (n != 37 && n != 38) return 0;
    scan_found(s, at, end, SHIELD_SECRET, "bitcoin_private_key", 1.0);
    return end;
}

static uint32_t bech32_step(uint32_t sum, unsigned value)
{
    static const uint32_t generator[5] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                          0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ value;
    for (size_t i = 0; i < 5; i++)
        if (top >> i & 1) sum ^= generator[i];
    return sum;
}

/* The human part goes in as its high bits, a zero and its low bits. */
static bool bech32_is_right(const char *text, size_t len, size_t human)
{
    static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    uint32_t sum = 1;
    for (size_t i = 0; i < human; i++) sum = bech32_step(sum, (unsigned char)text[i] >> 5);
    sum = bech32_step(sum, 0);
    for (size_t i = 0; i < human; i++) sum = bech32_step(sum, (unsigned char)text[i] & 31);
    for (size_t i = human + 1; i < len; i++) {
        const char *at = strchr(alphabet, text[i]);
        if (!at) return false;
        sum = bech32_step(sum, (unsigned)(at - alphabet));
    }
    return sum == 1 || sum == 0x2bc830a3;
}

static size_t try_bech32(struct scan *s, size_t at, size_t end)
{
    static const char *const humans[] = {"bc", "tb", "bcrt", "ltc", "addr", "lnbc"};
    char text[BECH32_MAX + 1] = {0};
    unsigned cases = 0;
    size_t len = end - at;
    if (len < BECH32_MIN || len > BECH32_MAX) return 0;
    for (size_t i = 0; i < len; i++) {
        cases |= shield_bytes[s->text[at + i]] & BYTE_LETTER;
        text[i] = (char)lower_of(s->text[at + i]);
    }
    if (cases == BYTE_LETTER) return 0;
    for (size_t i = 0; i < sizeof humans / sizeof humans[0]; i++) {
        size_t human = strlen(humans[i]);
        if (memcmp(text, humans[i], human) != 0 || text[human] != '1') continue;
        if (!bech32_is_right(text, len, human)) continue;
        scan_found(s, at, end, SHIELD_CRYPTO, "bech32", 1.0);
        return end;
    }
    return 0;
}

/* A letter is a capital where the hash of the lower-case address has a high digit. */
static bool has_capitals(const unsigned char *hex)
{
    char lower[40];
    unsigned char hash[KECCAK_BYTES];
    for (size_t i = 0; i < sizeof lower; i++) lower[i] = (char)lower_of(hex[i]);
    keccak256(slice_of(lower, sizeof lower), hash);
    for (size_t i = 0; i < sizeof lower; i++) {
        unsigned digit = i % 2 == 0 ? hash[i / 2] >> 4 : hash[i / 2] & 15U;
        bool is_upper = (shield_bytes[hex[i]] & BYTE_UPPER) != 0;
        if ((shield_bytes[hex[i]] & BYTE_LETTER) && is_upper != (digit >= 8)) return false;
    }
    return true;
}

static size_t try_ethereum(struct scan *s, size_t at, size_t end)
{
    unsigned cases = 0;
    if (end - at != ETHEREUM_CHARS || s->text[at] != '0' || lower_of(s->text[at + 1]) != 'x')
        return 0;
    if (scan_run(s, at + 2, BYTE_HEX, 40) != end) return 0;
    for (size_t i = at + 2; i < end; i++) cases |= shield_bytes[s->text[i]] & BYTE_LETTER;
    bool is_mixed = cases == BYTE_LETTER;
    if (is_mixed && !has_capitals(s->text + at + 2)) return 0;
    scan_found(s, at, end, SHIELD_CRYPTO, "ethereum", is_mixed ? 1.0 : 0.7);
    return end;
}

size_t mixed_coin(struct scan *s, size_t at, size_t end)
{
    if (end - at < BECH32_MIN || end - at > BECH32_MAX || !scan_is_apart(s, at, end)) return 0;
    size_t found = try_base58(s, at, end);
    if (found == 0) found = try_bech32(s, at, end);
    return found > 0 ? found : try_ethereum(s, at, end);
}
