/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/multipart.h"

#include "base/slice.h"
#include "form.h"
#include "t.h"

/* "NAME|BYTES", or what is wrong. */
static void read_form(struct text *out, struct weir_slice input, struct cut *cut)
{
    struct multipart m;
    struct text bytes = {0};
    enum weir_status st = form_read(&m, SLICE("xx"), &bytes, input, cut);
    if (st == WEIR_OK) text_printf(out, "%s|", m.name);
    struct weir_slice got = st == WEIR_OK ? text_slice(&bytes) : weir_slice_of(m.error);
    text_add(out, got.ptr, got.len);
    text_fini(&bytes);
}

static void form_is(const char *input, const char *want)
{
    struct cut cut;
    struct weir_slice bytes = weir_slice_of(input);
    for (size_t n = 0; cut_nth(&cut, n, bytes.len); n++) {
        struct text got = {0};
        read_form(&got, bytes, &cut);
        T_EQ_STR(text_slice(&got), want);
        text_fini(&got);
    }
}

#define FILE_HEAD "Content-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n"

TEST(file_of_a_form_is_what_is_between_its_boundaries)
{
    form_is("--xx\r\n" FILE_HEAD "\r\nhello\r\n--xx--\r\n", "a.csv|hello");
    form_is("--xx\r\n" FILE_HEAD "Content-Type: text/csv\r\n\r\nhello\r\n--xx--", "a.csv|hello");
    form_is("--xx \t\r\ncontent-DISPOSITION:form-data; FileName=b\r\n\r\nhello\r\n--xx--",
            "b|hello");
    form_is("--xx\r\n" FILE_HEAD "\r\n\r\n--xx--", "a.csv|");
    form_is("--xx\r\n" FILE_HEAD "\r\n--xx--", "a.csv|");
    form_is("preamble\r\n--xx\r\n" FILE_HEAD "\r\nhello\r\n--xx--\r\nepilogue --xx", "a.csv|hello");
}

TEST(what_looks_like_a_boundary_is_the_files_own)
{
    form_is("--xx\r\n" FILE_HEAD "\r\na\r\n--x\r\n-\r\r\n\r\n--\n--xx\r\n--xx--",
            "a.csv|a\r\n--x\r\n-\r\r\n\r\n--\n--xx");
    form_is("--xx\r\n" FILE_HEAD "\r\n--x\r\n--xx--", "a.csv|--x");
    form_is("--xx\r\n" FILE_HEAD "\r\n\r\r\n--xx--", "a.csv|\r");
}

TEST(fields_beside_the_file_are_passed_over)
{
    form_is(
        "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--xx\r\n" FILE_HEAD
        "\r\nhello\r\n--xx\r\nContent-Disposition: form-data; name=\"b;filename=x\"\r\n\r\n2\r\n"
        "--xx--",
        "a.csv|hello");
}

TEST(forms_that_are_not_whole_are_refused)
{
    form_is("", "the form ends before its last boundary");
    form_is("--xx\r\n" FILE_HEAD "\r\nhello", "the form ends before its last boundary");
    form_is("--xx--", "there is no file in the form");
    form_is("--xx\r\n\r\nhello\r\n--xx--", "a part of the form does not say what it is");
    form_is("--xxy\r\n" FILE_HEAD "\r\n", "a boundary of the form is not the end of its line");
    form_is("--xx-y\r\n" FILE_HEAD "\r\n", "a boundary of the form is not the end of its line");
    form_is("--xx\r\n" FILE_HEAD "\r\n1\r\n--xx\r\n" FILE_HEAD "\r\n2\r\n--xx--",
            "there are two files in the form, and only one is taken");
}

TEST(fields_that_never_end_are_refused)
{
    struct text input = {0};
    text_printf(&input, "--xx\r\nX: ");
    for (int i = 0; i < MULTIPART_HEAD_BYTES; i++) text_add_char(&input, 'y');
    struct multipart m;
    multipart_init(&m, SLICE("xx"), form_on_bytes, NULL);
    T_EQ(multipart_feed(&m, text_slice(&input)), WEIR_BAD_REQUEST);
    text_fini(&input);
}

TEST(boundary_is_found_in_the_type)
{
    static const char *const cases[][2] = {
        {"multipart/form-data; boundary=abc", "abc"},
        {"Multipart/Form-Data;charset=x; Boundary=\"a b\"", "a b"},
        {"multipart/form-data; boundary=", NULL},
        {"multipart/form-data", NULL},
        {"multipart/form-data; boundary=\"a\001\"", NULL},
        {"multipart/mixed; boundary=abc", NULL},
        {"text/plain; boundary=abc", NULL},
        {"multipart/form-data; boundary="
         "12345678901234567890123456789012345678901234567890123456789012345678901",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_slice boundary;
        bool is_good = multipart_boundary(weir_slice_of(cases[i][0]), &boundary);
        T_EQ(is_good, cases[i][1] != NULL);
        if (is_good && cases[i][1]) T_EQ_STR(boundary, cases[i][1]);
    }
}
