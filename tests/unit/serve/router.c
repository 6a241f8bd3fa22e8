/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/router.h"

#include "base/slice.h"
#include "t.h"

static void handle(struct exchange *ex)
{
    (void)ex;
}

static const struct route table[] = {
    {HTTP_GET, "/", handle, SCOPE_NONE, 0, "root"},
    {HTTP_POST, "/v1/streams/:name", handle, SCOPE_WRITE, 0, "append"},
    {HTTP_GET, "/v1/streams/:name", handle, SCOPE_READ, ROUTE_KEY_IN_QUERY, "watch"},
    {HTTP_GET, "/v1/streams/:name/state", handle, SCOPE_READ, ROUTE_KEY_IN_QUERY, "state"},
    {HTTP_GET, "/v1/a/:x/b/:y", handle, SCOPE_READ, ROUTE_KEY_IN_QUERY, "two"},
    {HTTP_HEAD, "/v1/both", handle, SCOPE_NONE, 0, "both.head"},
    {HTTP_GET, "/v1/both", handle, SCOPE_NONE, 0, "both.get"},
    {.handle = NULL},
};

TEST(a_path_is_answered_by_its_row)
{
    static const struct {
        enum http_method method;
        const char *path;
        enum weir_status st;
        const char *name;
        const char *param; /* the last one */
    } cases[] = {
        {HTTP_GET, "/", WEIR_OK, "root", NULL},
        {HTTP_GET, "/v1/streams/a", WEIR_OK, "watch", "a"},
        {HTTP_POST, "/v1/streams/a%2Fb", WEIR_OK, "append", "a%2Fb"},
        {HTTP_HEAD, "/v1/streams/a", WEIR_OK, "watch", "a"},
        {HTTP_HEAD, "/v1/both", WEIR_OK, "both.head", NULL},
        {HTTP_GET, "/v1/both", WEIR_OK, "both.get", NULL},
        {HTTP_GET, "/v1/streams/a/state", WEIR_OK, "state", "a"},
        {HTTP_GET, "/v1/a/1/b/22", WEIR_OK, "two", "22"},
        {HTTP_DELETE, "/v1/streams/a", WEIR_BAD_METHOD, NULL, NULL},
        {HTTP_OTHER, "/", WEIR_BAD_METHOD, NULL, NULL},
        {HTTP_GET, "", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "*", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/v1", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/v1/streams", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/v1/streams/", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/v1/streams/a/", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/v1//streams/a", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/v1/streams/a/b", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/V1/streams/a", WEIR_NOT_FOUND, NULL, NULL},
        {HTTP_GET, "/v1/str%65ams/a", WEIR_NOT_FOUND, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct route_match m;
        enum weir_status st = router_find(table, cases[i].method, weir_slice_of(cases[i].path), &m);
        T_EQ(st, cases[i].st);
        T_OK((m.route != NULL) == (cases[i].st == WEIR_OK));
        if (m.route) T_EQ_STR(weir_slice_of(m.route->name), cases[i].name);
        if (cases[i].param) T_EQ_STR(m.params[m.n_params - 1], cases[i].param);
        else if (m.route) T_EQ(m.n_params, 0);
    }
}

static void check_allow(const char *path, const char *want)
{
    struct weir_buf b;
    weir_buf_init(&b, 100);
    router_write_allow(&b, router_methods(table, weir_slice_of(path)));
    T_EQ_STR(weir_buf_slice(&b), want);
    weir_buf_fini(&b);
}

TEST(allow_names_the_methods_of_a_path)
{
    check_allow("/v1/streams/a", "GET, HEAD, POST, OPTIONS");
    check_allow("/", "GET, HEAD, OPTIONS");
    check_allow("/nowhere", "OPTIONS");
}

TEST(a_refused_method_comes_with_those_that_are_not)
{
    struct route_match m;
    T_EQ(router_find(table, HTTP_PUT, SLICE("/v1/streams/a"), &m), WEIR_BAD_METHOD);
    T_EQ(m.methods, 1u << HTTP_GET | 1u << HTTP_POST);
}

TEST(an_origin_is_allowed_if_it_is_listed)
{
    static const struct {
        const char *list;
        const char *origin;
        bool is_allowed;
    } cases[] = {
        {NULL, "http://a", false},
        {"", "http://a", false},
        {"*", "http://a", true},
        {"*", "", false},
        {"http://a", "http://a", true},
        {"http://a", "HTTP://A", true},
        {"http://a", "http://a.evil", false},
        {"http://a", "http://", false},
        {"http://b, http://a", "http://a", true},
        {"http://b,http://a", "http://b", true},
        {" , ,", "http://a", false},
        {"null", "null", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        T_EQ(origin_is_allowed(cases[i].list, weir_slice_of(cases[i].origin)), cases[i].is_allowed);
}
