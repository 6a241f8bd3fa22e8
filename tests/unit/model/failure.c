/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/slice.h"
#include "model/model_impl.h"
#include "t.h"

static char key[] = "k3y-of-the-test-0123456789";
static const struct model_provider claude = {.name = "claude", .key = key};

/* The one table of what is done about an HTTP status. */
static const struct {
    int http;
    bool may_help, is_outage;
} statuses[] = {
    {201, false, false}, {204, false, false}, {301, false, false}, {307, false, false},
    {400, false, false}, {401, false, false}, {402, false, false}, {403, false, false},
    {404, false, false}, {408, true, false},  {409, true, false},  {413, false, false},
    {422, false, false}, {429, true, false},  {500, true, true},   {501, false, true},
    {502, true, true},   {503, true, true},   {504, true, true},   {505, false, true},
    {529, true, true},
};

TEST(a_status_says_whether_asking_again_may_help)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct model_failure f;
        char want[64];
        model_failure_of_http(&f, &claude, statuses[i].http, SLICE(""));
        T_EQ(f.status, WEIR_UPSTREAM);
        if (f.may_help != statuses[i].may_help || f.is_outage != statuses[i].is_outage)
            t_fail(__FILE__, __LINE__, "%d: %d %d", statuses[i].http, f.may_help, f.is_outage);
        snprintf(want, sizeof want, "%d", statuses[i].http);
        T_OK(strstr(f.why, "claude ") == f.why && strstr(f.why, want));
    }
}

TEST(the_code_of_a_server_is_in_the_sentence_and_none_of_its_words)
{
    static const struct {
        const char *body, *says;
    } rows[] = {
        {"{\"error\":{\"message\":\"bad: ann@example.org\",\"type\":\"invalid_request_error\"}}",
         "claude answered 400: invalid_request_error"},
        {"{\"error\":{\"type\":\"a_type\",\"code\":\"context_length_exceeded\"}}",
         "claude answered 400: context_length_exceeded"},
        {"{\"error\":{\"type\":\"a_type\",\"code\":\"ann@example.org\"}}",
         "claude answered 400: a_type"},
        {"{\"error\":{\"type\":\"4012888888881881\",\"code\":\"two words\"}}",
         "claude answered 400"},
        {"{\"error\":\"ann@example.org\"}", "claude answered 400"},
        {"{\"message\":\"ann@example.org\"}", "claude answered 400"},
        {"{\"detail\":\"ann@example.org\"}", "claude answered 400"},
        {"<html>no</html>", "claude answered 400"},
        {"", "claude answered 400"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct model_failure f;
        model_failure_of_http(&f, &claude, 400, weir_slice_of(rows[i].body));
        T_EQ_STR(weir_slice_of(f.why), rows[i].says);
    }
}

TEST(a_quota_that_is_used_up_is_not_waited_for)
{
    struct model_failure f;
    model_failure_of_http(&f, &claude, 429, SLICE("{\"error\":{\"type\":\"insufficient_quota\"}}"));
    T_OK(!f.may_help);
    model_failure_of_http(&f, &claude, 429, SLICE("{\"error\":{\"type\":\"rate_limit_error\"}}"));
    T_OK(f.may_help);
}

TEST(a_key_that_a_server_repeats_is_taken_out)
{
    static const char *const bodies[] = {
        "{\"error\":{\"message\":\"Incorrect API key provided: k3y-of-the-test-0123456789.\"}}",
        "{\"error\":{\"message\":\"k3y-of-the-test-0123456789k3y-of-the-test-0123456789\"}}",
        "{\"error\":{\"message\":\"no: sk-another-0123456789abcdef\"}}",
        "{\"error\":{\"message\":\"Authorization: Bearer abcdefghijkl\"}}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct model_failure f;
        model_failure_of_http(&f, &claude, 401, weir_slice_of(bodies[i]));
        T_OK(!strstr(f.why, key));
        model_failure_say(&f, &claude, "does not answer", weir_slice_of(bodies[i]));
        T_OK(!strstr(f.why, key) && !strstr(f.why, "another") && !strstr(f.why, "abcdef"));
    }
}

TEST(a_long_message_is_cut_between_characters)
{
    char said[1300] = "";
    for (int i = 0; i < 600; i++) strncat(said, "\xc3\xa9", sizeof said - strlen(said) - 1);
    struct model_failure f;
    model_failure_say(&f, &claude, "does not answer", weir_slice_of(said));
    size_t len = strlen(f.why);
    T_OK(len < MODEL_WHY_BYTES && len % 2 == strlen("claude does not answer: ") % 2);
}

TEST(the_type_of_an_error_says_whether_it_lasts)
{
    T_OK(model_error_may_help(SLICE("overloaded_error")));
    T_OK(model_error_may_help(SLICE("api_error")));
    T_OK(model_error_may_help(SLICE("rate_limit_error")));
    T_OK(model_error_may_help(SLICE("server_error")));
    T_OK(model_error_may_help(SLICE("")));
    T_OK(!model_error_may_help(SLICE("invalid_request_error")));
    T_OK(!model_error_may_help(SLICE("authentication_error")));
    T_OK(!model_error_may_help(SLICE("billing_error")));
}

TEST(retry_after_is_read_in_all_its_forms_and_clamped)
{
    static const struct {
        const char *ms, *seconds;
        uint64_t want;
    } rows[] = {
        {"", "", 0},
        {"", "0", 0},
        {"", "2", 2000},
        {"", "1.5", 1500},
        {"", "0.0405", 40},
        {"", "3600", 60000},
        {"", "99999999999999999999", 60000},
        {"", "-1", 0},
        {"", "soon", 0},
        {"", "2 s", 0},
        {"250", "7", 250},
        {"250.9", "7", 250},
        {"x", "7", 7000},
        {"", "Sun, 06 Nov 1994 08:49:37 GMT", 7000},
        {"", "Sun, 06 Nov 1994 08:49:29 GMT", 0},
        {"", "Mon, 07 Nov 1994 08:49:37 GMT", 60000},
        {"", "Sun, 06 Nov 1994 08:49:37 CET", 0},
        {"", "Sun, 06 Xxx 1994 08:49:37 GMT", 0},
        {"", "Sun, 06 Nov 1994 28:49:37 GMT", 0},
        {"", "Sunday, 06-Nov-94 08:49:37 GMT", 0},
    };
    int64_t now = 0;
    T_OK(clock_parse(SLICE("1994-11-06T08:49:30Z"), &now));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t got =
            model_retry_after_ms(weir_slice_of(rows[i].ms), weir_slice_of(rows[i].seconds), now);
        if (got != rows[i].want)
            t_fail(__FILE__, __LINE__, "%s %s: %llu", rows[i].ms, rows[i].seconds,
                   (unsigned long long)got);
    }
}
