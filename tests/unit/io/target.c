/* SPDX-License-Identifier: Apache-2.0 */
#include "io/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "t.h"

static const struct target_rules none;

/* By what a connection would be made to, not by text. */
static bool allows(const struct target_rules *r, const char *text)
{
    struct sockaddr_storage sa = {0};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(443)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) memcpy(&sa, &v4, sizeof v4);
    else {
        T_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
        memcpy(&sa, &v6, sizeof v6);
    }
    bool is_allowed = target_allows(r, (const struct sockaddr *)&sa);
    /* Text that is an address gets the same verdict. */
    T_EQ(target_judge_host(r, text), is_allowed ? TARGET_ALLOWED : TARGET_FORBIDDEN);
    return is_allowed;
}

TEST(nothing_but_public_addresses_is_allowed_without_rules)
{
    static const char *const forbidden[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "169.254.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "192.168.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        /* IPv6 */
        "::",
        "::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "fc00::1",
        "fd12:3456::1",
        "ff02::1",
        "ff0e::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2001:10::1",
        "2002:7f00:1::",
        "2002:808:808::1",
        "3fff::1",
        "5f00::1",
        "4000::1",
        "fe00::1",
        /* IPv4 inside IPv6: mapped, compatible, translated */
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0.0.0.0",
        "::ffff:192.168.1.1",
        "::ffff:7f00:1",
        "::127.0.0.1",
        "::10.0.0.1",
        "::8.8.8.8",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.1.2.3",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::1",
    };
    static const char *const public[] = {
        "1.1.1.1",         "8.8.8.8",        "9.255.255.255",    "11.0.0.0",
        "100.63.255.255",  "100.128.0.0",    "126.255.255.255",  "128.0.0.1",
        "169.253.255.255", "169.255.0.0",    "172.15.255.255",   "172.32.0.0",
        "192.167.1.1",     "192.169.0.0",    "198.17.255.255",   "198.20.0.0",
        "223.255.255.255", "2606:4700::1",   "2a00:1450:4001::", "2001:4860:4860::8888",
        "2001:200::1",     "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    };
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (allows(&none, forbidden[i])) t_fail(__FILE__, __LINE__, "%s", forbidden[i]);
    for (size_t i = 0; i < sizeof public / sizeof *public; i++)
        if (!allows(&none, public[i])) t_fail(__FILE__, __LINE__, "%s", public[i]);
}

TEST(prefixes_let_in_what_is_below_them_in_every_form)
{
    struct target_rules r = {.n = 0};
    T_OK(target_rules_add(&r, "127.0.0.1"));
    T_OK(target_rules_add(&r, "10.1.0.0/16"));
    T_OK(target_rules_add(&r, "[fd00:1::]"));
    T_OK(target_rules_add(&r, "fd00:2::/33"));
    T_OK(allows(&r, "127.0.0.1"));
    T_OK(allows(&r, "::ffff:127.0.0.1"));
    T_OK(!allows(&r, "127.0.0.2"));
    T_OK(!allows(&r, "::1"));
    T_OK(allows(&r, "10.1.255.255"));
    T_OK(allows(&r, "64:ff9b::10.1.2.3"));
    T_OK(!allows(&r, "10.2.0.0"));
    T_OK(allows(&r, "fd00:1::"));
    T_OK(!allows(&r, "fd00:1::1"));
    T_OK(allows(&r, "fd00:2:7fff::"));
    T_OK(!allows(&r, "fd00:2:8000::"));
    T_OK(allows(&r, "1.1.1.1"));
    T_OK(target_is_listed(&r, "127.0.0.1"));
    T_OK(target_is_listed(&r, "[fd00:1::]"));
    T_OK(!target_is_listed(&r, "1.1.1.1"));
}

TEST(everything_can_be_let_in)
{
    struct target_rules r = {.n = 0};
    T_OK(target_rules_add(&r, "0.0.0.0/0"));
    T_OK(allows(&r, "127.0.0.1"));
    T_OK(!allows(&r, "::1"));
    T_OK(target_rules_add(&r, "::/0"));
    T_OK(allows(&r, "::1"));
}

TEST(names_are_compared_whole_and_in_any_case)
{
    struct target_rules r = {.n = 0};
    T_OK(target_rules_add(&r, "Hooks.Internal"));
    T_OK(target_rules_add(&r, "localhost."));
    T_OK(target_is_listed(&r, "hooks.internal"));
    T_OK(target_is_listed(&r, "HOOKS.internal."));
    T_OK(target_is_listed(&r, "localhost"));
    T_OK(!target_is_listed(&r, "x.hooks.internal"));
    T_OK(!target_is_listed(&r, "hooks.internal.example"));
    T_OK(!target_is_listed(&r, ""));
    T_EQ(target_judge_host(&r, "hooks.internal"), TARGET_IS_NAME);
    T_OK(!allows(&r, "127.0.0.1"));
}

TEST(what_is_neither_name_nor_prefix_is_no_rule)
{
    static const char *const wrong[] = {
        "",      ".",          "127.1", "1.2.3.4/33", "1.2.3.4/",    "1.2.3.4/-1", "::/129",
        "1.2.3", "2130706433", "a..b",  "a b",        "http://a/",   "a:80",       "1.2.3.4/x",
        "*",     "a/8",        "[::1",  "::g",        "1.2.3.4/8/8",
    };
    struct target_rules r = {.n = 0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (target_rules_add(&r, wrong[i])) t_fail(__FILE__, __LINE__, "%s", wrong[i]);
    T_EQ(r.n, 0);
    for (int i = 0; i < TARGET_MAX_RULES; i++) T_OK(target_rules_add(&r, "10.0.0.0/8"));
    T_OK(!target_rules_add(&r, "10.0.0.0/8"));
}

TEST(other_families_are_refused)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    T_OK(!target_allows(&none, (const struct sockaddr *)(const void *)&local));
}
