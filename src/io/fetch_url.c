/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which URLs are asked for, by their text alone. It is libcurl that reads them, here as when it
 * connects, so that there are no two opinions about what the host is.
 */
#include <curl/curl.h>
#include <pthread.h>

#include "base/check.h"
#include "base/slice.h"
#include "io/fetch_impl.h"

static void init_curl(void)
{
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == 0);
}

void fetch_need_curl(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
}

struct url_parts {
    CURLU *url;
    char *scheme;
    char *host; /* numbers in any form as libcurl will read them: 0x7f.1 is 127.0.0.1 */
};

static void parts_fini(struct url_parts *parts)
{
    curl_free(parts->scheme);
    curl_free(parts->host);
    curl_url_cleanup(parts->url);
}

static bool has_part(CURLU *url, CURLUPart what)
{
    char *part = NULL;
    bool has = curl_url_get(url, what, &part, 0) == CURLUE_OK;
    curl_free(part);
    return has;
}

/* libcurl is generous about slashes; who reads the URL elsewhere may not be. */
static bool is_written_out(const char *text)
{
    const char *rest = strstr(text, "://");
    return rest && rest[3] != '/' && rest[3] != '\\' && !memchr(text, '/', (size_t)(rest - text));
}

/* False with *why. parts_fini() either way. */
static bool url_split(struct url_parts *parts, const char *text, const char **why)
{
    *parts = (struct url_parts){.url = curl_url()};
    *why = "it is not a URL";
    if (!is_written_out(text)) return false;
    if (!parts->url || curl_url_set(parts->url, CURLUPART_URL, text, 0) != CURLUE_OK) return false;
    if (curl_url_get(parts->url, CURLUPART_SCHEME, &parts->scheme, 0) != CURLUE_OK) return false;
    if (curl_url_get(parts->url, CURLUPART_HOST, &parts->host, 0) != CURLUE_OK) return false;
    *why = "only http and https URLs are asked for";
    if (strcmp(parts->scheme, "http") != 0 && strcmp(parts->scheme, "https") != 0) return false;
    *why = "a URL with a name or password in it is not asked for";
    return !has_part(parts->url, CURLUPART_USER) && !has_part(parts->url, CURLUPART_PASSWORD);
}

/* Names that every resolver knows to be this machine. */
static bool is_this_machine(const char *host)
{
    struct weir_slice name = weir_slice_of(host);
    if (name.len > 0 && name.ptr[name.len - 1] == '.') name.len--;
    return (name.len == 9 && slice_ends_with_nocase(name, "localhost")) ||
           slice_ends_with_nocase(name, ".localhost");
}

static enum weir_status judge(const struct target_rules *rules, const struct url_parts *parts,
                              const char **why)
{
    bool is_listed = target_is_listed(rules, parts->host);
    *why = "its host is not in the public network";
    if (target_judge_host(rules, parts->host) == TARGET_FORBIDDEN) return WEIR_FORBIDDEN;
    if (!is_listed && is_this_machine(parts->host)) return WEIR_FORBIDDEN;
    *why = "without https only hosts are asked that the configuration lists";
    if (!is_listed && strcmp(parts->scheme, "http") == 0) return WEIR_FORBIDDEN;
    return WEIR_OK;
}

/* Control characters and blanks are no part of a URL, and what reads them differs. */
bool fetch_copy_url(struct weir_slice url, char out[FETCH_URL_BYTES])
{
    if (url.len == 0 || url.len >= FETCH_URL_BYTES) return false;
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= 0x20 || url.ptr[i] == 0x7F) return false;
    memcpy(out, url.ptr, url.len);
    out[url.len] = 0;
    return true;
}

enum weir_status fetch_judge(const struct target_rules *rules, const char *text, bool *is_listed,
                             const char **why)
{
    struct url_parts parts;
    bool is_good = url_split(&parts, text, why);
    enum weir_status st = is_good ? WEIR_OK : WEIR_INVALID;
    if (st == WEIR_OK && rules) st = judge(rules, &parts, why);
    if (st == WEIR_OK) *why = "";
    *is_listed = st == WEIR_OK && (!rules || target_is_listed(rules, parts.host));
    parts_fini(&parts);
    return st;
}

enum weir_status fetch_check_url(const struct target_rules *rules, struct weir_slice url,
                                 const char **why)
{
    char text[FETCH_URL_BYTES];
    bool is_listed;
    fetch_need_curl();
    *why = "it is not a URL, or longer than one may be";
    return fetch_copy_url(url, text) ? fetch_judge(rules, text, &is_listed, why) : WEIR_INVALID;
}
