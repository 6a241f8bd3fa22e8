/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mask.h"

#include "base/slice.h"
#include "t.h"

struct row {
    struct weir_slice in;
    const char *want;
};

static void expect_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        mask_append(&out, rows[i].in);
        T_EQ_STR(weir_buf_slice(&out), rows[i].want);
        weir_buf_fini(&out);
    }
}

#define EXPECT(rows) expect_rows(rows, sizeof(rows) / sizeof *(rows))

TEST(bearer_tokens_are_masked)
{
    static const struct row rows[] = {
        {SLICE("Bearer abc"), "Bearer [secret]"},
        {SLICE("sent bearer   a.b-c_d/e+f== and went on"), "sent bearer   [secret] and went on"},
        {SLICE("BEARER\tabc"), "BEARER\t[secret]"},
        {SLICE("{\"a\":\"Bearer abc\"}"), "{\"a\":\"Bearer [secret]\"}"},
        {SLICE("Bearer"), "Bearer"},
        {SLICE("Bearer "), "Bearer "},
        {SLICE("bearers come"), "bearers come"},
        {SLICE("Bearer: 'x y'"), "Bearer: '[secret]'"},
    };
    EXPECT(rows);
}

TEST(sk_keys_are_masked_at_the_start_of_a_word)
{
    static const struct row rows[] = {
        {SLICE("sk-abc"), "sk-[secret]"},
        {SLICE("used (sk-ant-api03-Ab_9) here"), "used (sk-[secret] here"},
        {SLICE("key is \"sk-1\""), "key is \"sk-[secret]\""},
        {SLICE("the task-list and a disk-full"), "the task-list and a disk-full"},
        {SLICE("risk-free-and-long-enough-to-be-a-key"), "risk-free-and-long-enough-to-be-a-key"},
        {SLICE("x%22sk-abcdefghij0123456789"), "x%22sk-[secret]"},
        {SLICE("sk-"), "sk-"},
    };
    EXPECT(rows);
}

TEST(links_are_masked_in_addresses_only)
{
    static const struct row rows[] = {
        {SLICE("GET /v1/streams/a?link=1.5.aB-_c HTTP"), "GET /v1/streams/a?link=[secret] HTTP"},
        {SLICE("/v1/stream/a?live=sse&link=1.5.aB&x=1"), "/v1/stream/a?live=sse&link=[secret]&x=1"},
        {SLICE("\"/a?LINK=1.5.x\""), "\"/a?LINK=[secret]\""},
        {SLICE("the link=up and link: down"), "the link=up and link: down"},
        {SLICE("/a?links=5&blink=2&link"), "/a?links=5&blink=2&link"},
    };
    EXPECT(rows);
}

TEST(user_part_of_a_url_is_masked)
{
    static const struct row rows[] = {
        {SLICE("https://user:pass@host/path"), "https://[secret]@host/path"},
        {SLICE("at postgres://me@db:5432/x?y=1."), "at postgres://[secret]@db:5432/x?y=1."},
        {SLICE("https://a@b@host/"), "https://[secret]@host/"},
        {SLICE("https://host/@scope/name"), "https://host/@scope/name"},
        {SLICE("https://host:8080/a@b"), "https://host:8080/a@b"},
        {SLICE("https://[::1]:80/a@b"), "https://[::1]:80/a@b"},
        {SLICE("postgres://u:p#s/s@host/db"), "postgres://[secret]@host/db"},
        {SLICE("https:\\/\\/user:pass@host\\/"), "https:\\/\\/[secret]@host\\/"},
        {SLICE("mail me@host or http://host"), "mail me@host or http://host"},
        {SLICE("http://"), "http://"},
    };
    EXPECT(rows);
}

TEST(what_is_assigned_to_a_secret_name_is_masked)
{
    static const struct row rows[] = {
        {SLICE("https://h/p?api_key=abc&x=1"), "https://h/p?api_key=[secret]&x=1"},
        {SLICE("?x=1&key=abc"), "?x=1&key=[secret]"},
        {SLICE("?access_token=abc#top"), "?access_token=[secret]"},
        {SLICE("password = hunter2 was given"), "password = [secret] was given"},
        {SLICE("x-api-key: abc"), "x-api-key: [secret]"},
        {SLICE("{\"token\": \"a b\\\"c\", \"n\": 1}"), "{\"token\": \"[secret]\", \"n\": 1}"},
        {SLICE("{\\\"token\\\":\\\"abc\\\",\\\"n\\\":1}"),
         "{\\\"token\\\":\\\"[secret]\\\",\\\"n\\\":1}"},
        {SLICE("{\"secret\":12}"), "{\"secret\":[secret]"},
        {SLICE("apiKey => 'abc' done"), "apiKey => '[secret]' done"},
        {SLICE("input_tokens=12 keys=3"), "input_tokens=12 keys=3"},
        {SLICE("the token was bad"), "the token was bad"},
        {SLICE("password="), "password="},
        {SLICE("password=\""), "password=\""},
        {SLICE("password=\"abc\\"), "password=\"[secret]"},
        {SLICE("monkey=banana"), "monkey=banana"},
        {SLICE("token: Bearer abc done"), "token: [secret] done"},
        {SLICE("key: token: cookie: a b c"), "key: [secret]"},
        {SLICE("key=a://u&v@host"), "key=[secret]@host"},
    };
    EXPECT(rows);
}

TEST(headers_with_spaces_are_masked_to_the_end_of_the_line)
{
    static const struct row rows[] = {
        {SLICE("Authorization: Basic dXNlcjpw\r\nHost: x"), "Authorization: [secret]\r\nHost: x"},
        {SLICE("set-cookie: a=b; Path=/\nage: 1"), "set-cookie: [secret]\nage: 1"},
        {SLICE("Cookie: a=b; c=d"), "Cookie: [secret]"},
        {SLICE("curl -H 'Proxy-Authorization: Digest a b' url"),
         "curl -H 'Proxy-Authorization: [secret]' url"},
        {SLICE("{\"cookies\":[\"a\",\"b\"],\"n\":1}"), "{\"cookies\":[secret]"},
    };
    EXPECT(rows);
}

TEST(other_text_and_bytes_stay)
{
    static const struct row rows[] = {
        {SLICE(""), ""},
        {{NULL, 0}, ""},
        {SLICE("plain: text = here, at 10:30"), "plain: text = here, at 10:30"},
        {SLICE("\xC3\xA9\xFF\x80"), "\xC3\xA9\xFF\x80"},
    };
    EXPECT(rows);
}

TEST(names_that_mean_secrets_are_known)
{
    static const char *const secret[] = {"authorization",
                                         "Authorization",
                                         "Proxy-Authorization",
                                         "cookie",
                                         "Set-Cookie",
                                         "api_key",
                                         "API-KEY",
                                         "x-api-key",
                                         "apikey",
                                         "apiKey",
                                         "key",
                                         "signing_key",
                                         "signingKey",
                                         "token",
                                         "access_token",
                                         "accessToken",
                                         "accesstoken",
                                         "password",
                                         "PASSWORD",
                                         "db_password",
                                         "passwd",
                                         "client_secret",
                                         "secret",
                                         "secret_id",
                                         "auth",
                                         "x-auth",
                                         "credentials",
                                         "private_key",
                                         "token2",
                                         "pwd",
                                         "db.pass",
                                         "api_key_backup",
                                         "X-Amz-Signature",
                                         "jwt",
                                         "passphrase"};
    static const char *const open[] = {
        "",       "name",   "keys", "monkey",    "input_tokens", "tokens",   "keyboard",
        "author", "status", "url",  "key_count", "compass",      "tokenizer"};
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        if (!mask_is_secret_name(weir_slice_of(secret[i])))
            t_fail(__FILE__, __LINE__, "%s would be shown", secret[i]);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (mask_is_secret_name(weir_slice_of(open[i])))
            t_fail(__FILE__, __LINE__, "%s would be masked", open[i]);
}

TEST(full_buffer_never_shows_part_of_a_secret)
{
    struct weir_slice text =
        SLICE("go https://u:HUSH@h/?key=HUSH Bearer HUSH sk-HUSH password: HUSH");
    for (size_t max = 0; max <= text.len; max++) {
        struct weir_buf out;
        weir_buf_init(&out, max);
        mask_append(&out, text);
        T_OK(out.len <= max);
        T_OK(!out.ptr || !memchr(out.ptr, 'H', out.len));
        weir_buf_fini(&out);
    }
}

/* Planted secrets must be gone whatever stands around them. */
TEST(random_surroundings_do_not_bring_a_secret_back)
{
    static const char *const noise[] = {"a", " ",  "\"",  "\\", "=",    ":",      "://",      "@",
                                        "&", "sk", "-",   "[",  "\n",   "bearer", "password", "key",
                                        "'", "/",  "x y", "?",  "\xFF", "%20",    "{",        ", "};
    static const char *const planted[] = {" Bearer HUSH", " sk-HUSH", " x://HUSH@h",
                                          " api_key=HUSH", " cookie: HUSH"};
    for (int round = 0; round < 20000; round++) {
        struct weir_buf in, out;
        weir_buf_init(&in, 4096);
        weir_buf_init(&out, 8192);
        for (uint64_t n = t_random() % 12; n > 0; n--)
            weir_buf_append_str(&in, noise[t_random() % 24]);
        weir_buf_append_str(&in, planted[t_random() % 5]);
        weir_buf_append_char(&in, ' ');
        for (uint64_t n = t_random() % 12; n > 0; n--)
            weir_buf_append_str(&in, noise[t_random() % 24]);
        mask_append(&out, weir_buf_slice(&in));
        T_EQ(weir_buf_status(&out), WEIR_OK);
        if (memmem(out.ptr, out.len, "HUSH", 4))
            T_EQ_SLICE(weir_buf_slice(&out), weir_buf_slice(&in));
        weir_buf_fini(&in);
        weir_buf_fini(&out);
    }
}

TEST(long_text_takes_linear_time)
{
    static const char *const parts[] = {
        "key",      "://",   "a",     "bearer ",  "sk-",    "ask-",    "key:\"", "secret ",
        "x://a:b/", "key=[", "key= ", "key:\\\"", "token:", "bearer:", "sk-1 ",  "p_"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        struct weir_buf in, out;
        weir_buf_init(&in, 8 << 20);
        weir_buf_init(&out, 16 << 20);
        for (int i = 0; i < 100000; i++) weir_buf_append_str(&in, parts[k]);
        mask_append(&out, weir_buf_slice(&in)); /* quadratic would not end in the time limit */
        T_EQ(weir_buf_status(&out), WEIR_OK);
        weir_buf_fini(&in);
        weir_buf_fini(&out);
    }
}
