/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/openapi.h"

#include <weir/json.h>

#include "t.h"

TEST(every_row_of_the_routes_is_described_and_nothing_else_is)
{
    size_t n_rows = 0;
    for (const struct route *r = routes; r->handle; r++, n_rows++) {
        if (!operation_find(r->name)) t_fail(__FILE__, __LINE__, "%s is in no OPERATION", r->name);
        for (const struct route *other = r + 1; other->handle; other++)
            T_OK(strcmp(r->name, other->name) != 0);
    }
    T_EQ(operation_count(), n_rows);
}

TEST(document_is_json_and_names_nothing_that_is_not_there)
{
    struct weir_buf json;
    const struct weir_json *v = NULL;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&json, 1 << 20);
    T_OK(openapi_put(&json));
    T_EQ(weir_buf_status(&json), WEIR_OK);
    T_EQ(weir_json_parse(doc, weir_buf_slice(&json), &v, NULL), WEIR_OK);
    T_EQ_STR(weir_json_text(weir_json_get_str(v, "openapi")), "3.1.0");
    weir_json_doc_free(doc);
    weir_buf_fini(&json);
}

TEST(path_has_its_parameters_in_braces)
{
    static const char *const cases[][2] = {
        {"/v1/turns", "/v1/turns"},
        {"/v1/turns/:id", "/v1/turns/{id}"},
        {"/v1/turns/:id/events", "/v1/turns/{id}/events"},
        {"/v1/stream/*name", "/v1/stream/{name}"},
        {"/a/:b/c/*d", "/a/{b}/c/{d}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_buf path;
        weir_buf_init(&path, 100);
        openapi_put_path(&path, cases[i][0]);
        T_EQ_STR(weir_buf_slice(&path), cases[i][1]);
        weir_buf_fini(&path);
    }
}
