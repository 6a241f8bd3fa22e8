/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite's way to the disk, with our windows in it: what it writes, syncs, truncates and
 * removes passes the fault points and is told to the watcher of io/file.h, under the last
 * part of the file's name. All else is the unix VFS of SQLite. The shared memory of the
 * write-ahead log is not told: it is made anew from the log after a crash.
 */
#pragma once

#include <stdbool.h>

/*
 * The name to open a database with; registered by the first call. NULL when SQLite cannot
 * even begin, for want of memory. Any thread.
 */
const char *db_vfs_name(void);

/*
 * Whether the thread that calls has time: then it lets others go first after each write, and
 * wherever it calls db_give_way(). It has not at first.
 */
void db_set_has_time(bool yes);
void db_give_way(void);
