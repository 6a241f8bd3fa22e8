/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of the rows of the route table, for /openapi.json and /llms.txt. Constant; any
 * thread. The form of the fields is in openapi.def.
 */
#pragma once

#include <weir/buf.h>

#include "serve/exchange.h"

struct operation {
    const char *row; /* route.name */
    const char *tag;
    const char *summary;
    const char *parameters;
    const char *body;
    const char *answers;
    const char *refusals;
};

/* NULL when nothing is said of it. */
const struct operation *operation_find(const char *row);
size_t operation_count(void);
const struct operation *operation_at(size_t i);

/* "/v1/turns/{id}" of "/v1/turns/:id". */
void openapi_put_path(struct weir_buf *out, const char *pattern);

/* The whole document. False when it names a parameter or schema that is not there. */
bool openapi_put(struct weir_buf *out);

/* "GET". */
const char *openapi_method(enum http_method method);
