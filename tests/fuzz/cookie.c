/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cookie fields, cookies and origins from any bytes: nothing is read beyond the end (the input is
 * copied to memory just as large); what is read as a cookie is written and read again as the same,
 * and the only origin of a host is its own.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz/fuzz.h"
#include "serve/auth_cookie.h"

static const unsigned char secret[SECRET_BYTES] = "the fuzzer's, which is no secret";

static void check_cookie(struct weir_slice text)
{
    struct cookie cookie, again;
    char right[COOKIE_BYTES];
    if (!cookie_parse(text, &cookie)) return;
    cookie_write(secret, &cookie, 1, right);
    struct weir_slice written = {right, strlen(right)};
    fuzz_true("what was written can be read", cookie_parse(written, &again));
    fuzz_true("and is the same",
              strcmp(cookie.key, again.key) == 0 && strcmp(cookie.nonce, again.nonce) == 0 &&
                  cookie.issued_ms == again.issued_ms && cookie.expires_ms == again.expires_ms);
}

static void check_field(struct weir_slice field, bool is_secure)
{
    struct weir_slice value;
    struct weir_slice rest = field;
    while (cookie_next(&rest, cookie_name(is_secure), &value)) {
        fuzz_true("a value is a part of its field",
                  value.ptr >= field.ptr && value.ptr + value.len <= field.ptr + field.len);
        fuzz_true("and ends where it ends", value.len == 0 || !memchr(value.ptr, ';', value.len));
        fuzz_true("the next one is behind it", rest.len == 0 || rest.ptr > value.ptr);
        check_cookie(value);
    }
}

/* "ORIGIN LF HOST" */
static void check_origin(struct weir_slice input)
{
    const char *end = input.len > 0 ? memchr(input.ptr, '\n', input.len) : NULL;
    if (!end) return;
    struct weir_slice origin = {input.ptr, (size_t)(end - input.ptr)};
    const struct own_origin own = {.scheme = "http",
                                   .host = {end + 1, input.len - origin.len - 1},
                                   .public_url = "https://streams.example"};
    if (!origin_is_own(origin, &own)) return;
    fuzz_true("an origin has a scheme",
              origin.len > 7 && (strncasecmp(origin.ptr, "http://", 7) == 0 ||
                                 strncasecmp(origin.ptr, "https://", 8) == 0));
    bool is_public =
        origin.len >= 23 && strncasecmp(origin.ptr, "https://streams.example", 23) == 0;
    struct weir_slice host = {origin.ptr + 7, origin.len - 7};
    size_t len = host.len < own.host.len ? host.len : own.host.len;
    fuzz_true("and is of its host", is_public || strncasecmp(host.ptr, own.host.ptr, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size);
    struct weir_slice input = {copy, size};
    fuzz_true("memory", copy || size == 0);
    if (size > 0) memcpy(copy, data, size);
    check_cookie(input);
    check_field(input, false);
    check_field(input, true);
    check_origin(input);
    free(copy);
    return 0;
}
