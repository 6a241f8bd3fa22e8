/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that show themselves: keys and tokens with the prefix their issuer published, JSON Web
 * Tokens, private keys in PEM. Without such a sign no string is taken for a secret here, however
 * random it looks: hashes, ids and pictures are random, too.
 */
#include "shield/secret.h"

#include <math.h>
#include <string.h>

#include "base/slice.h"
#include "shield/words.h"

enum { TOKEN_MAX = 512, PEM_MAX = 16384, JWT_MAX = 8192 };

/* Which bytes may follow a prefix. */
enum tail { TAIL_ALNUM, TAIL_WORD, TAIL_HEX, TAIL_UPPER, TAIL_BASE64 };

struct prefix {
    const char *text, *label;
    uint8_t tail;
    uint16_t min, max; /* bytes after the prefix */
};

/* By their first byte; longer prefixes before shorter ones they begin with. */
static const struct prefix prefixes[] = {
    {"AGE-SECRET-KEY-1", "age_key", TAIL_UPPER, 58, 58},
    {"AIza", "google_api_key", TAIL_WORD, 35, 35},
    {"AKIA", "aws_access_key", TAIL_UPPER, 16, 16},
    {"ASIA", "aws_access_key", TAIL_UPPER, 16, 16},
    {"ABIA", "aws_access_key", TAIL_UPPER, 16, 16},
    {"ACCA", "aws_access_key", TAIL_UPPER, 16, 16},
    {"AKID", "tencent_key", TAIL_ALNUM, 32, 36},
    {"ATATT3", "atlassian_token", TAIL_BASE64, 150, 250},
    {"ATCTT3", "atlassian_token", TAIL_BASE64, 150, 250},
    {"CCIPAT_", "circleci_token", TAIL_WORD, 40, 80},
    {"CFPAT-", "contentful_token", TAIL_WORD, 43, 43},
    {"CLOJARS_", "clojars_token", TAIL_HEX, 60, 60},
    {"EAACEdEose0cBA", "facebook_token", TAIL_ALNUM, 20, 300},
    {"EAAA", "square_token", TAIL_WORD, 60, 60},
    {"EZAK", "easypost_key", TAIL_ALNUM, 54, 54},
    {"EZTK", "easypost_key", TAIL_ALNUM, 54, 54},
    {"FLWSECK-", "flutterwave_key", TAIL_WORD, 20, 60},
    {"FLWSECK_TEST-", "flutterwave_key", TAIL_WORD, 12, 60},
    {"GOCSPX-", "google_oauth_secret", TAIL_WORD, 28, 28},
    {"HRKU-", "heroku_key", TAIL_WORD, 36, 64},
    {"LTAI", "alibaba_key", TAIL_ALNUM, 12, 24},
    {"NRAK-", "new_relic_key", TAIL_UPPER, 27, 27},
    {"PMAK-", "postman_key", TAIL_WORD, 59, 59},
    {"SG.", "sendgrid_key", TAIL_BASE64, 66, 66},
    {"SK", "twilio_key", TAIL_HEX, 32, 32},
    {"aio_", "adafruit_key", TAIL_ALNUM, 28, 28},
    {"bkua_", "buildkite_token", TAIL_HEX, 40, 40},
    {"dapi", "databricks_token", TAIL_HEX, 32, 34},
    {"dckr_pat_", "docker_token", TAIL_WORD, 27, 27},
    {"dop_v1_", "digitalocean_token", TAIL_HEX, 64, 64},
    {"doo_v1_", "digitalocean_token", TAIL_HEX, 64, 64},
    {"dor_v1_", "digitalocean_token", TAIL_HEX, 64, 64},
    {"dp.pt.", "doppler_token", TAIL_ALNUM, 40, 44},
    {"dp.st.", "doppler_token", TAIL_BASE64, 40, 64},
    {"duffel_live_", "duffel_token", TAIL_WORD, 43, 43},
    {"duffel_test_", "duffel_token", TAIL_WORD, 43, 43},
    {"figd_", "figma_token", TAIL_WORD, 40, 60},
    {"fio-u-", "frameio_token", TAIL_WORD, 64, 64},
    {"fo1_", "fly_token", TAIL_WORD, 43, 43},
    {"ghp_", "github_token", TAIL_ALNUM, 36, 255},
    {"gho_", "github_token", TAIL_ALNUM, 36, 255},
    {"ghu_", "github_token", TAIL_ALNUM, 36, 255},
    {"ghs_", "github_token", TAIL_ALNUM, 36, 255},
    {"ghr_", "github_token", TAIL_ALNUM, 36, 255},
    {"github_pat_", "github_token", TAIL_WORD, 60, 255},
    {"glpat-", "gitlab_token", TAIL_WORD, 20, 64},
    {"gldt-", "gitlab_token", TAIL_WORD, 20, 64},
    {"glrt-", "gitlab_token", TAIL_WORD, 20, 64},
    {"glptt-", "gitlab_token", TAIL_WORD, 20, 64},
    {"glc_", "grafana_token", TAIL_BASE64, 32, 400},
    {"glsa_", "grafana_token", TAIL_WORD, 41, 41},
    {"gsk_", "groq_key", TAIL_ALNUM, 40, 60},
    {"hf_", "huggingface_token", TAIL_ALNUM, 34, 40},
    {"hvb.", "vault_token", TAIL_WORD, 90, 300},
    {"hvs.", "vault_token", TAIL_WORD, 24, 300},
    {"key-", "mailgun_key", TAIL_HEX, 32, 32},
    {"lin_api_", "linear_key", TAIL_ALNUM, 40, 40},
    {"lin_oauth_", "linear_key", TAIL_HEX, 64, 64},
    {"nfp_", "netlify_token", TAIL_ALNUM, 36, 40},
    {"npm_", "npm_token", TAIL_ALNUM, 36, 36},
    {"ntn_", "notion_token", TAIL_ALNUM, 43, 50},
    {"pplx-", "perplexity_key", TAIL_ALNUM, 40, 60},
    {"pscale_tkn_", "planetscale_token", TAIL_WORD, 32, 64},
    {"pscale_pw_", "planetscale_token", TAIL_WORD, 32, 64},
    {"pscale_oauth_", "planetscale_token", TAIL_WORD, 32, 64},
    {"pul-", "pulumi_token", TAIL_HEX, 40, 40},
    {"pypi-", "pypi_token", TAIL_WORD, 70, 300},
    {"r8_", "replicate_token", TAIL_WORD, 37, 37},
    {"rdme_", "readme_key", TAIL_ALNUM, 70, 70},
    {"rk_live_", "stripe_key", TAIL_ALNUM, 20, 120},
    {"rk_test_", "stripe_key", TAIL_ALNUM, 20, 120},
    {"rubygems_", "rubygems_key", TAIL_HEX, 48, 48},
    {"sbp_", "supabase_token", TAIL_HEX, 40, 40},
    {"secret_", "notion_token", TAIL_ALNUM, 43, 43},
    {"shippo_live_", "shippo_token", TAIL_HEX, 40, 40},
    {"shippo_test_", "shippo_token", TAIL_HEX, 40, 40},
    {"shpat_", "shopify_token", TAIL_HEX, 32, 32},
    {"shpca_", "shopify_token", TAIL_HEX, 32, 32},
    {"shppa_", "shopify_token", TAIL_HEX, 32, 32},
    {"shpss_", "shopify_token", TAIL_HEX, 32, 32},
    {"sk-ant-", "anthropic_key", TAIL_WORD, 32, 120},
    {"sk-proj-", "openai_key", TAIL_WORD, 32, 200},
    {"sk-svcacct-", "openai_key", TAIL_WORD, 32, 200},
    {"sk-or-v1-", "openrouter_key", TAIL_HEX, 64, 64},
    {"sk-", "openai_key", TAIL_WORD, 32, 64},
    {"sk_live_", "stripe_key", TAIL_ALNUM, 20, 120},
    {"sk_test_", "stripe_key", TAIL_ALNUM, 20, 120},
    {"sl.", "dropbox_token", TAIL_WORD, 130, 300},
    {"sntrys_", "sentry_token", TAIL_BASE64, 80, 400},
    {"sntryu_", "sentry_token", TAIL_HEX, 64, 64},
    {"sq0atp-", "square_token", TAIL_WORD, 22, 22},
    {"sq0csp-", "square_token", TAIL_WORD, 43, 43},
    {"sqp_", "sonar_token", TAIL_HEX, 40, 40},
    {"squ_", "sonar_token", TAIL_HEX, 40, 40},
    {"tfp_", "typeform_token", TAIL_BASE64, 59, 60},
    {"tskey-", "tailscale_key", TAIL_WORD, 20, 80},
    {"whsec_", "webhook_secret", TAIL_BASE64, 32, 64},
    {"xai-", "xai_key", TAIL_ALNUM, 70, 90},
    {"xapp-", "slack_token", TAIL_WORD, 40, 200},
    {"xkeysib-", "brevo_key", TAIL_WORD, 80, 90},
    {"xoxa-", "slack_token", TAIL_WORD, 20, 200},
    {"xoxb-", "slack_token", TAIL_WORD, 20, 200},
    {"xoxe-", "slack_token", TAIL_WORD, 20, 300},
    {"xoxo-", "slack_token", TAIL_WORD, 20, 200},
    {"xoxp-", "slack_token", TAIL_WORD, 20, 200},
    {"xoxr-", "slack_token", TAIL_WORD, 20, 200},
    {"xoxs-", "slack_token", TAIL_WORD, 20, 200},
    {"ya29.", "google_oauth_token", TAIL_WORD, 30, 400},
};

void secret_index(uint8_t firsts[SECRET_FIRSTS])
{
    for (size_t c = 0; c < SECRET_FIRSTS; c++) {
        firsts[c] = 0;
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
            if ((unsigned char)prefixes[i].text[0] < c) firsts[c]++;
    }
}

static bool is_tail(unsigned char c, enum tail kind)
{
    unsigned classes = shield_bytes[c];
    switch (kind) {
    case TAIL_ALNUM: return (classes & BYTE_ALNUM) != 0;
    case TAIL_WORD: return (classes & BYTE_ALNUM) || c == '_' || c == '-';
    case TAIL_HEX: return (classes & (BYTE_HEX)) != 0;
    case TAIL_UPPER: return (classes & (BYTE_UPPER | BYTE_DIGIT)) != 0;
    default: return (classes & BYTE_ALNUM) || (c && strchr("_-+/=.", c));
    }
}

static size_t tail_end(const struct scan *s, size_t at, enum tail kind, size_t most)
{
    size_t end = at;
    while (end < s->len && end - at < most && is_tail(s->text[end], kind)) end++;
    return end;
}

double entropy_of(struct weir_slice value)
{
    unsigned counts[256] = {0};
    double bits = 0;
    for (size_t i = 0; i < value.len; i++) counts[(unsigned char)value.ptr[i]]++;
    for (size_t i = 0; i < 256; i++) {
        if (counts[i] == 0) continue;
        double share = (double)counts[i] / (double)value.len;
        bits -= share * log2(share);
    }
    return bits;
}

/* Whether the text has the word, in any case. */
static bool has_word(struct weir_slice text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++)
        if (lower_of((unsigned char)text.ptr[i]) == (unsigned char)word[0] &&
            strncasecmp(text.ptr + i, word, len) == 0)
            return true;
    return false;
}

static bool has_long_repeat(struct weir_slice value)
{
    size_t same = 1;
    for (size_t i = 1; i < value.len; i++) {
        same = value.ptr[i] == value.ptr[i - 1] ? same + 1 : 1;
        if (same == 5) return true;
    }
    return false;
}

bool value_is_placeholder(struct weir_slice value)
{
    static const char *const words[] = {"example",  "your",   "placeholder", "redacted",   "dummy",
                                        "changeme", "insert", "replace",     "abcdefghij", "xxxx",
                                        "fake",     "<",      ">",           "{",          "}",
                                        "...",      "***",    "todo"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (has_word(value, words[i])) return true;
    /* One of our own: what is redacted is looked at again. */
    if (value.len > 2 && value.ptr[0] == '[' && value.ptr[value.len - 1] == ']') return true;
    return has_long_repeat(value);
}

/* Enough different bytes for a random one of its length. */
static bool is_random(struct weir_slice value)
{
    double least = value.len >= 32 ? 3.0 : 2.5;
    return entropy_of(value) >= least && !value_is_placeholder(value);
}

static void add_secret(struct scan *s, size_t at, size_t end, const char *label)
{
    struct shield_finding f = {.label = label, .score = 0.95F, .category = SHIELD_SECRET};
    scan_found_by(s, at, end, f);
}

static size_t try_prefix(struct scan *s, size_t at, const struct prefix *p)
{
    size_t len = strlen(p->text);
    if (s->len - at < len || memcmp(s->text + at, p->text, len) != 0) return 0;
    size_t end = tail_end(s, at + len, (enum tail)p->tail, (size_t)p->max + 1);
    /* A dot or a sign of base64 at the end is the sentence's. */
    while (end > at + len && strchr(".-_/+", s->text[end - 1]) && p->tail == TAIL_BASE64) end--;
    size_t n = end - at - len;
    if (n < p->min || n > p->max || scan_is(s, end, BYTE_ALNUM)) return 0;
    if (p->tail != TAIL_WORD && p->tail != TAIL_BASE64 && scan_byte(s, end) == '_') return 0;
    if (!is_random(slice_of(s->text + at + len, n))) return 0;
    add_secret(s, at, end, p->label);
    return end;
}

static size_t base64url_end(const struct scan *s, size_t at)
{
    return tail_end(s, at, TAIL_WORD, JWT_MAX);
}

/* Three parts, the first two of which are objects: {" in base64 is eyJ. */
static size_t try_jwt(struct scan *s, size_t at)
{
    if (s->len - at < 20 || memcmp(s->text + at, "eyJ", 3) != 0) return 0;
    size_t head = base64url_end(s, at);
    if (head - at < 10 || scan_byte(s, head) != '.') return 0;
    size_t body = base64url_end(s, head + 1);
    if (body - head < 8 || scan_byte(s, body) != '.') return 0;
    size_t end = base64url_end(s, body + 1);
    /* The body of an encrypted one is no object, but then there are five parts. */
    bool is_object = memcmp(s->text + head + 1, "eyJ", 3) == 0;
    while (end > body && scan_byte(s, end) == '.' && scan_is(s, end + 1, BYTE_ALNUM)) {
        is_object = true;
        end = base64url_end(s, end + 1);
    }
    if (!is_object) return 0;
    add_secret(s, at, end, "jwt");
    return end;
}

/* Digits, a colon and 35 bytes. */
static size_t try_telegram(struct scan *s, size_t at)
{
    size_t colon = scan_run(s, at, BYTE_DIGIT, 11);
    if (colon - at < 8 || colon - at > 10 || scan_byte(s, colon) != ':') return 0;
    size_t end = tail_end(s, colon + 1, TAIL_WORD, 36);
    if (end - colon != 36 || memcmp(s->text + colon + 1, "AA", 2) != 0) return 0;
    add_secret(s, at, end, "telegram_token");
    return end;
}

/* 24 bytes, six, 27 to 38, with dots: Discord's. The first part is a number in base64. */
static size_t try_discord(struct scan *s, size_t at)
{
    size_t first = tail_end(s, at, TAIL_ALNUM, 29);
    if (first - at < 23 || first - at > 28 || scan_byte(s, first) != '.') return 0;
    size_t second = tail_end(s, first + 1, TAIL_WORD, 8);
    if (second - first != 7 || scan_byte(s, second) != '.') return 0;
    size_t end = tail_end(s, second + 1, TAIL_WORD, 40);
    if (end - second < 28 || end - second > 39 || !strchr("MNO", s->text[at])) return 0;
    add_secret(s, at, end, "discord_token");
    return end;
}

/* Parts of fixed sizes: 32 hex digits and a data centre (Mailchimp), pat14.64 (Airtable). */
static size_t try_parts(struct scan *s, size_t at)
{
    size_t first = scan_run(s, at, BYTE_HEX, 33);
    if (first - at == 32 && s->len - first > 4 && memcmp(s->text + first, "-us", 3) == 0) {
        size_t end = scan_run(s, first + 3, BYTE_DIGIT, 3);
        if (end > first + 3 && !scan_is(s, end, BYTE_ALNUM)) {
            add_secret(s, at, end, "mailchimp_key");
            return end;
        }
    }
    if (s->len - at < 82 || memcmp(s->text + at, "pat", 3) != 0 || s->text[at + 17] != '.')
        return 0;
    size_t end = scan_run(s, at + 18, BYTE_HEX, 65);
    if (end - at != 82 || tail_end(s, at, TAIL_ALNUM, 18) != at + 17) return 0;
    add_secret(s, at, end, "airtable_token");
    return end;
}

size_t match_secret(struct scan *s, size_t at)
{
    unsigned char c = s->text[at];
    if (scan_is(s, at, BYTE_DIGIT)) {
        size_t end = try_telegram(s, at);
        return end > 0 ? end : try_parts(s, at);
    }
    for (size_t i = s->rules->secret_first[c]; i < s->rules->secret_first[c + 1]; i++) {
        if ((unsigned char)prefixes[i].text[1] != scan_byte(s, at + 1)) continue;
        size_t end = try_prefix(s, at, &prefixes[i]);
        if (end > 0) return end;
    }
    /* In the middle of a token nothing begins; so each is read once. */
    unsigned char before = scan_before(s, at);
    if (before == '-' || before == '_' || before == '.') return 0;
    size_t end = try_jwt(s, at);
    if (end == 0) end = try_parts(s, at);
    return end > 0 ? end : try_discord(s, at);
}

/* Where the next "-----END" is; looked for once, however many begin. */
static size_t pem_end(struct scan *s, size_t at)
{
    if (at >= s->pem_from && at <= s->pem_end) return s->pem_end;
    const void *found = memmem(s->text + at, s->len - at, "-----END", 8);
    s->pem_from = at;
    s->pem_end = found ? (size_t)((const unsigned char *)found - s->text) : s->len;
    return s->pem_end;
}

static size_t count_base64(const struct scan *s, size_t at, size_t end)
{
    size_t n = 0;
    for (; at < end; at++) n += is_tail(s->text[at], TAIL_BASE64);
    return n;
}

/* -----BEGIN ... PRIVATE KEY----- to its end; where that is cut off, as far as it looks like one.
 */
size_t match_pem(struct scan *s, size_t at)
{
    static const char begin[] = "-----BEGIN ";
    size_t next = at + 5;
    if (s->len - at < 40 || memcmp(s->text + at, begin, sizeof begin - 1) != 0) return next;
    size_t window = s->len - at < 80 ? s->len - at : 80;
    const unsigned char *kind = memmem(s->text + at, window, "PRIVATE KEY", 11);
    if (!kind) return next;
    size_t body = (size_t)(kind - s->text) + 11;
    size_t end = pem_end(s, at);
    if (end == s->len || end - at > PEM_MAX) {
        end = body;
        while (end < s->len && end - at < PEM_MAX &&
               (is_tail(s->text[end], TAIL_BASE64) || strchr("\r\n\\ :,", s->text[end])))
            end++;
    } else {
        const unsigned char *dashes = memmem(s->text + end + 8, s->len - end - 8, "-----", 5);
        size_t close = dashes ? (size_t)(dashes - s->text) + 5 : s->len;
        if (close - end < 60) end = close;
    }
    if (count_base64(s, body, end) < 64) return next;
    add_secret(s, at, end, "private_key");
    return end;
}
