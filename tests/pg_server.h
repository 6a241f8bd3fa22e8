/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PostgreSQL server for the time of a test program, by tests/postgres. It is started when it is
 * asked for first, and is gone when the program is, however that ends. One thread at a time.
 */
#pragma once

#include <stdbool.h>

/* The URL of its first database; NULL, with the case counted as skipped, where it is not installed.
 */
const char *pg_server_url(void);

/*
 * The URL of a database of this name, which is made empty unless it is there. It stays as it is
 * until the next call. NULL as above.
 */
const char *pg_server_database(const char *name);

/* Removes a database and whoever uses it. */
void pg_server_drop(const char *name);

/* Kills the server as a crash would; starts it again. */
void pg_server_stop(void);
void pg_server_start(void);
