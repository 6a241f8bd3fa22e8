/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/wordlist.h"

#include "base/slice.h"

struct weir_slice wordlist_next(struct weir_slice list, size_t *at)
{
    while (*at < list.len && list.ptr[*at] == ' ') ++*at;
    size_t from = *at;
    while (*at < list.len && list.ptr[*at] != ' ') ++*at;
    return slice_of(list.ptr + from, *at - from);
}

struct weir_slice wordlist_first(struct weir_slice list)
{
    size_t at = 0;
    return wordlist_next(list, &at);
}

struct weir_slice wordlist_last(struct weir_slice list)
{
    size_t at = list.len;
    while (at > 0 && list.ptr[at - 1] != ' ') at--;
    return slice_from(list, at);
}

bool wordlist_have(struct weir_slice list, struct weir_slice word)
{
    size_t at = 0;
    for (struct weir_slice w; (w = wordlist_next(list, &at)).len > 0;)
        if (slice_eq(w, word)) return true;
    return false;
}
