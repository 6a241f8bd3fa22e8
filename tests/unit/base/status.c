/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/status.h>

#include "t.h"

TEST(every_status_has_a_name_of_its_own)
{
    for (int i = 0; i < WEIR_N_STATUS; i++) {
        const char *name = weir_status_name((enum weir_status)i);
        T_OK(name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name));
        for (int k = 0; k < i; k++) T_OK(strcmp(name, weir_status_name((enum weir_status)k)) != 0);
    }
}

TEST(every_text_is_a_sentence_without_full_stop)
{
    for (int i = 0; i < WEIR_N_STATUS; i++) {
        const char *text = weir_status_text((enum weir_status)i);
        T_OK(strlen(text) > 3 && text[strlen(text) - 1] != '.');
    }
}

TEST(http_codes_fit_their_kind)
{
    T_EQ(WEIR_OK, 0);
    T_EQ(weir_status_http(WEIR_OK), 200);
    for (int i = 1; i < WEIR_N_STATUS; i++) {
        int http = weir_status_http((enum weir_status)i);
        T_OK(http >= 400 && http < 600);
        /* What the client must change first is its own fault, and trying again is vain. */
        bool may_come_again = http >= 500 || http == 408 || http == 429;
        if (weir_status_is_retryable((enum weir_status)i)) T_OK(may_come_again);
    }
}

TEST(known_rows_say_what_clients_rely_on)
{
    T_OK(strcmp(weir_status_name(WEIR_OK), "ok") == 0);
    T_OK(strcmp(weir_status_name(WEIR_LINE_TOO_LONG), "line_too_long") == 0);
    T_OK(weir_status_is_retryable(WEIR_NOMEM));
    T_OK(!weir_status_is_retryable(WEIR_INVALID));
    T_EQ(weir_status_http(WEIR_LIMIT), 413);
}

TEST(number_that_is_no_status_is_an_internal_error)
{
    T_OK(strcmp(weir_status_name(WEIR_N_STATUS), "internal_error") == 0);
    T_EQ(weir_status_http((enum weir_status)1000), 500);
    T_OK(weir_status_text((enum weir_status)1000) == weir_status_text(WEIR_INTERNAL));
    T_OK(!weir_status_is_retryable((enum weir_status)1000));
}
