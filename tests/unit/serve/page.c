/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the page, from a table of the test's own: which one, in which form, or that nothing is
 * new. */
#include "serve/page.h"

#include "unit/serve/fake_exchange.h"

#define FILE_BYTES(text)                                                                           \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

const struct page_file page_files[] = {
    {"sdk/index.js", "text/javascript", "\"s\"", "\"s-gzip\"", FILE_BYTES("sdk"), FILE_BYTES("S")},
    {"web/app.js", "text/javascript", "\"a\"", "\"a-gzip\"", FILE_BYTES("a\0pp"), FILE_BYTES("A")},
    {"web/index.html", "text/html", "\"i\"", "\"i-gzip\"", FILE_BYTES("index"), FILE_BYTES("I")},
    {"web/tiny.css", "text/css", "\"t\"", "\"t-gzip\"", FILE_BYTES("t"), FILE_BYTES("")},
};
const size_t n_page_files = sizeof page_files / sizeof *page_files;

static bool has_field(const struct exchange *ex, const char *text)
{
    return strstr(ex->fields, text) != NULL;
}

static struct exchange ask(void (*handle)(struct exchange *ex), const char *name,
                           const char *encoding, const char *tag)
{
    struct exchange ex = request(name, "");
    if (encoding) add_field(&ex, "accept-encoding", encoding);
    if (tag) add_field(&ex, "if-none-match", tag);
    handle(&ex);
    T_EQ(ex.n_answers, 1);
    return ex;
}

TEST(file_is_found_by_its_folder_and_name)
{
    static const struct {
        void (*handle)(struct exchange *ex);
        const char *name;
        int status;
        const char *text;
    } cases[] = {
        {page_get, "", 200, "index"},
        {page_web_get, "index.html", 200, "index"},
        {page_web_get, "tiny.css", 200, "t"},
        {page_sdk_get, "index.js", 200, "sdk"},
        {page_web_get, "index.js", 404, "not_found: the page has no such file"},
        {page_sdk_get, "app.js", 404, "not_found: the page has no such file"},
        {page_web_get, "app.j", 404, "not_found: the page has no such file"},
        {page_web_get, "app.jss", 404, "not_found: the page has no such file"},
        {page_web_get, "../sdk/index.js", 404, "not_found: the page has no such file"},
        {page_web_get, "/web/app.js", 404, "not_found: the page has no such file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = ask(cases[i].handle, cases[i].name, NULL, NULL);
        T_EQ(ex.status, cases[i].status);
        T_EQ_STR(weir_slice_of(ex.text), cases[i].text);
        T_EQ(has_field(&ex, "Content-Security-Policy: default-src 'none'; script-src 'self';"),
             cases[i].status == 200);
    }
}

TEST(whoever_takes_gzip_gets_it_where_there_is_one)
{
    struct exchange ex = ask(page_web_get, "app.js", "gzip", NULL);
    T_EQ_STR(weir_slice_of(ex.text), "A");
    T_OK(has_field(&ex, "Content-Encoding: gzip\n") && has_field(&ex, "ETag: \"a-gzip\"\n"));
    T_OK(has_field(&ex, "Vary: Accept-Encoding\n"));
    ex = ask(page_web_get, "app.js", "gzip;q=0", NULL);
    T_EQ(memcmp(ex.text, "a\0pp", 4), 0);
    T_OK(!has_field(&ex, "Content-Encoding") && has_field(&ex, "ETag: \"a\"\n"));
    T_OK(has_field(&ex, "Vary: Accept-Encoding\n"));
    ex = ask(page_web_get, "tiny.css", "gzip", NULL);
    T_EQ_STR(weir_slice_of(ex.text), "t");
    T_OK(!has_field(&ex, "Content-Encoding") && !has_field(&ex, "Vary"));
    T_OK(has_field(&ex, "ETag: \"t\"\n"));
}

TEST(what_somebody_has_is_not_sent_again)
{
    static const struct {
        const char *encoding, *tag;
        int status;
    } cases[] = {
        {NULL, "\"a\"", 304},
        {NULL, "\"x\", W/\"a\"", 304},
        {NULL, "*", 304},
        {NULL, "\"a-gzip\"", 200},
        {"gzip", "\"a-gzip\"", 304},
        {"gzip", "\"a\"", 200},
        {"gzip", "\"a-gzip", 200},
        {NULL, "a", 200},
        {NULL, "", 200},
        {"gzip", "\"a\", \"b\"", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct exchange ex = ask(page_web_get, "app.js", cases[i].encoding, cases[i].tag);
        T_EQ(ex.status, cases[i].status);
        T_OK(has_field(&ex, "ETag: ") && has_field(&ex, "Cache-Control: no-cache\n"));
        if (ex.status == 304) T_OK(ex.text[0] == 0 && !has_field(&ex, "Content-Encoding"));
    }
}
