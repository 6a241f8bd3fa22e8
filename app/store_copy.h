/* SPDX-License-Identifier: Apache-2.0 */
/* `weir store copy` and `weir store compare`: whole stores, by folder or by URL of a database. */
#pragma once

#include <stdbool.h>

/* Both return the exit status. The words of the command line lose their passwords. */
int store_copy(char *from, char *to, bool is_json);
int store_compare(char *one, char *other, bool is_json);
