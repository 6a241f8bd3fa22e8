/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "import/import_impl.h"
#include "t.h"

static const struct {
    const char *head, *want;
} cases[] = {
    {"", "it is empty"},
    {"hello\n", "it looks like plain text"},
    {"\x01\x02", "it looks like binary data"},
    {"%PDF-1.4", "it looks like a PDF document"},
    {"\x1f\x8b\x08", "it looks like a gzip file: unpack it first"},
    {"PK\x03\x04\x14", "it looks like a zip archive inside of an archive: unpack it first"},
    {"PKnope", "it looks like a zip archive that is damaged"},
    {"\xff\xfe<", "it looks like text in UTF-16: save it as UTF-8"},
    {"a,b\n1,2\n", "it looks like CSV with the columns a, b"},
    {"a;b;c\n", "it looks like CSV with the columns a, b, c"},
    {"a\tb\n", "it looks like a table with tabs, with the columns a, b"},
    {"1,2,3,4,5,6,7,8,9\n", "it looks like CSV with the columns 1, 2, 3, 4, 5, 6, 7, 8, …"},
    {"{\"a\":1,\"b\":[", "it looks like JSON with the keys a, b"},
    {"[{\"a\":1},", "it looks like JSON with the keys a"},
    {"{a", "it looks like text that begins as JSON does, but is none"},
    {"<?xml version=\"1.0\"?><gpx>", "it looks like XML whose root is <gpx>"},
    {"\xEF\xBB\xBF <a b='c'/>", "it looks like XML whose root is <a>"},
    {"<", "it looks like XML"},
    {"a,\xC3\n", "it looks like CSV with the columns a, "},
};

/* In memory that ends where the head does, for the address sanitizer. */
static struct weir_slice copy_of(const char *head, size_t len)
{
    char *exact = malloc(len > 0 ? len : 1);
    memcpy(exact, head, len);
    return (struct weir_slice){exact, len};
}

TEST(the_first_bytes_of_a_file_are_described)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_buf out;
        struct weir_slice head = copy_of(cases[i].head, strlen(cases[i].head));
        weir_buf_init(&out, 4096);
        describe_head(&out, head);
        T_EQ_STR(weir_buf_slice(&out), cases[i].want);
        weir_buf_fini(&out);
        free((void *)(uintptr_t)head.ptr);
    }
}

TEST(whatever_the_bytes_are_something_is_said)
{
    uint64_t random = t_random();
    for (int i = 0; i < 20000; i++) {
        static const char letters[] = "<>{}[]\",;:\t\n\r ab\0\xC3\xA4\xFF%PK";
        char bytes[40];
        size_t len = (random >> 20) % sizeof bytes;
        for (size_t k = 0; k < len; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[k] = letters[(random >> 33) % (sizeof letters - 1)];
        }
        random = random * 6364136223846793005u + 1442695040888963407u;
        struct weir_slice head = copy_of(bytes, len);
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        describe_head(&out, head);
        T_OK(out.len > 0 && weir_buf_status(&out) == WEIR_OK);
        weir_buf_fini(&out);
        free((void *)(uintptr_t)head.ptr);
    }
}
