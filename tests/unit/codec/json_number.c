/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers keep their text, and give exact integers and the nearest double on request. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/json.h>

#include "base/slice.h"
#include "oracle/transcript.h"
#include "t.h"

static struct weir_json_doc *doc;

static const struct weir_json *parse(const char *text)
{
    const struct weir_json *v = NULL;
    if (!doc) doc = weir_json_doc_new(0);
    weir_json_doc_reset(doc);
    T_EQ(weir_json_parse(doc, weir_slice_of(text), &v, NULL), WEIR_OK);
    return v;
}

static void done(void)
{
    weir_json_doc_free(doc);
    doc = NULL;
}

TEST(numbers_keep_their_source_text)
{
    static const char *const rows[] = {
        "0",
        "-0",
        "-0.0",
        "1E+2",
        "1e-2",
        "1.50",
        "1e400",
        "-1e-400",
        "9223372036854775808",
        "18446744073709551616",
        "9007199254740993",
        "0.1000000000000000055511151231257827",
        "123456789012345678901234567890123456789012345678901234567890",
        "1e0000000000000000001"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text got = {0};
        const struct weir_json *v = parse(rows[i]);
        T_EQ_STR(weir_json_text(v), rows[i]);
        transcript_value(&got, v);
        T_EQ_STR(text_slice(&got), rows[i]);
        text_fini(&got);
    }
    done();
}

struct integer {
    const char *text;
    bool is_integer;
    int64_t value;
};

TEST(integers_are_exact_or_refused)
{
    static const struct integer rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-0.0", true, 0},
        {"0e999999999999999999999", true, 0},
        {"0.000e-99999999999999999999", true, 0},
        {"1", true, 1},
        {"-1", true, -1},
        {"1e2", true, 100},
        {"1E+2", true, 100},
        {"2.0", true, 2},
        {"2.50e1", true, 25},
        {"100e-2", true, 1},
        {"1230.00e-1", true, 123},
        {"0.001e3", true, 1},
        {"1e18", true, 1000000000000000000},
        {"9007199254740993", true, 9007199254740993},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775807.000", true, INT64_MAX},
        {"9223372036854775807000e-3", true, INT64_MAX},
        {"-9.223372036854775808e18", true, INT64_MIN},
        {"0.00000000000000000000000000000000000000001e41", true, 1},
        {"100000000000000000000000000000000000000000e-41", true, 1},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"9223372036854775807.1", false, 0},
        {"18446744073709551616", false, 0},
        {"1e19", false, 0},
        {"1e400", false, 0},
        {"1e99999999999999999999", false, 0},
        {"1e-99999999999999999999", false, 0},
        {"1e-1", false, 0},
        {"0.5", false, 0},
        {"1.0000000000000000000000000000000000000000000001", false, 0},
        {"99999999999999999999999999999999", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t n = 42;
        bool is_integer = weir_json_int64(parse(rows[i].text), &n);
        if (is_integer != rows[i].is_integer || (is_integer && n != rows[i].value))
            t_fail(__FILE__, __LINE__, "%s gives %d, %" PRId64, rows[i].text, is_integer, n);
    }
    done();
}

TEST(random_integers_in_all_spellings_are_exact)
{
    for (int round = 0; round < 20000; round++) {
        int64_t want = (int64_t)t_random() >> (t_random() % 64);
        char text[128];
        int64_t n = 0;
        int n_zeros = (int)(t_random() % 12);
        snprintf(text, sizeof text, "%" PRId64, want);
        T_OK(weir_json_int64(parse(text), &n) && n == want);
        snprintf(text, sizeof text, "%" PRId64 ".%0*d", want, n_zeros + 1, 0);
        T_OK(weir_json_int64(parse(text), &n) && n == want);
        if (want == 0) want = 10;
        snprintf(text, sizeof text, "%" PRId64 "%0*de-%d", want, n_zeros + 1, 0, n_zeros + 1);
        T_OK(weir_json_int64(parse(text), &n) && n == want);
        snprintf(text, sizeof text, "%" PRId64 ".5", want);
        T_OK(!weir_json_int64(parse(text), &n));
    }
    done();
}

TEST(other_types_are_no_numbers)
{
    static const char *const rows[] = {"null", "true", "\"1\"", "[1]", "{\"a\":1}"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t n;
        double x;
        T_OK(!weir_json_int64(parse(rows[i]), &n));
        T_OK(!weir_json_double(parse(rows[i]), &x));
    }
    done();
}

/* ---- doubles ---- */

static void expect_as_strtod(const char *text)
{
    double got = 42;
    double want = strtod(text, NULL);
    bool is_there = weir_json_double(parse(text), &got);
    if (is_there != (isfinite(want) != 0) || (is_there && memcmp(&got, &want, sizeof got) != 0))
        t_fail(__FILE__, __LINE__, "%s gives %d, %a and not %a", text, is_there, got, want);
}

TEST(hard_doubles_are_nearest)
{
    static const char *const rows[] = {
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "1",
        "0.1",
        "1e23",
        "9007199254740993",
        "9007199254740992",
        "9007199254740995",
        "1e22",
        "1e-22",
        "123456789012345678",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "179769313486231580793e289",
        "1e308",
        "1e309",
        "-1e309",
        "1e400",
        "1e99999999999999999999",
        "-1e-99999999999999999999",
        "5e-324",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2e-324",
        "1e-400",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "2.2250738585072012e-308",
        "0.500000000000000166533453693773481063544750213623046875",
        "3.5028646e-46",
        "7.2057594037927933e16",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000011102230246251565404236316680908203126",
        "8.988465674311579538646525953945123668089884894711532863671504057886e307",
        "0.000000000000000000000000000000000000000000000000000000000000000000000000000001e78",
        "100000000000000000000000000000000000000000000000000000000000000000000000000e-74"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) expect_as_strtod(rows[i]);
    done();
}

static void random_number(char *text, size_t cap)
{
    struct text t = {0};
    if (t_random() % 2) text_add_char(&t, '-');
    size_t n_whole = t_random() % 25;
    if (n_whole > 0) text_add_char(&t, (char)('1' + t_random() % 9));
    else text_add_char(&t, '0');
    for (size_t i = 1; i < n_whole; i++) text_add_char(&t, (char)('0' + t_random() % 10));
    size_t n_fraction = t_random() % 3 ? t_random() % 30 : 0;
    if (n_fraction > 0) text_add_char(&t, '.');
    for (size_t i = 0; i < n_fraction; i++) text_add_char(&t, (char)('0' + t_random() % 10));
    if (t_random() % 2) text_printf(&t, "e%d", (int)(t_random() % 700) - 350);
    snprintf(text, cap, "%.*s", (int)t.len, t.ptr);
    text_fini(&t);
}

TEST(random_decimals_are_what_strtod_says)
{
    for (int round = 0; round < 200000; round++) {
        char text[128];
        random_number(text, sizeof text);
        expect_as_strtod(text);
    }
    done();
}

static double random_double(void)
{
    uint64_t bits = t_random();
    double x;
    memcpy(&x, &bits, sizeof x);
    return isfinite(x) ? x : 0;
}

TEST(random_doubles_survive_their_printed_form)
{
    for (int round = 0; round < 100000; round++) {
        char text[64];
        snprintf(text, sizeof text, "%.17g", random_double());
        expect_as_strtod(text);
        snprintf(text, sizeof text, "%.16g", random_double());
        expect_as_strtod(text);
    }
    done();
}

/* The point between two doubles, exactly, and the numbers just beside it. */
TEST(halfway_cases_are_nearest)
{
    for (int round = 0; round < 3000; round++) {
        uint64_t bits = t_random();
        double x;
        bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (UINT64_C(1023) - 60 + t_random() % 200) << 52;
        memcpy(&x, &bits, sizeof x);
        long double middle = ((long double)x + (long double)nextafter(x, INFINITY)) / 2;
        char text[512];
        snprintf(text, sizeof text - 2, "%.200Lf", middle);
        expect_as_strtod(text);
        size_t len = strlen(text);
        text[len - 1] = '1';
        expect_as_strtod(text);
    }
    done();
}

TEST(very_long_numbers_are_read)
{
    struct text t = {0};
    for (int i = 0; i < 2000; i++) text_add_char(&t, (char)('1' + i % 9));
    text_printf(&t, "e-1999%c", 0);
    expect_as_strtod(t.ptr);
    t.len = 0;
    text_printf(&t, "0.");
    for (int i = 0; i < 2000; i++) text_add_char(&t, '0');
    text_printf(&t, "12345e2000%c", 0);
    expect_as_strtod(t.ptr);
    text_fini(&t);
    done();
}

TEST(locale_does_not_matter)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "ru_RU.UTF-8"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = setlocale(LC_NUMERIC, names[i]);
    if (!found) {
        t_skip("no locale with a decimal comma is installed");
        return;
    }
    double x = 0;
    struct weir_buf out;
    T_OK(weir_json_double(parse("1.5"), &x));
    T_OK(x == 1.5);
    T_OK(weir_json_double(parse("1.00000000000000011102230246251565404236316680908203126"), &x));
    T_OK(x > 1);
    weir_buf_init(&out, 100);
    weir_json_put_double(&out, 0.5);
    T_EQ_STR(weir_buf_slice(&out), "0.5");
    weir_buf_fini(&out);
    setlocale(LC_NUMERIC, "C");
    done();
}
