/* SPDX-License-Identifier: Apache-2.0 */
/* The engine on PostgreSQL with two databases, of which one has the documents. */
#define CONFORM_CLUSTERS 2
#include "conform/postgres.c"
