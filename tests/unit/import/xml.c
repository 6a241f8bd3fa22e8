/* SPDX-License-Identifier: Apache-2.0 */
#include "import/xml.h"

#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "t.h"
#include "text.h"

/* What the handler heard, and the reader that tells it. */
struct heard {
    struct text text;
    struct xml *xml;
    struct weir_slice input;
};

static enum weir_status on_start(void *user, const struct xml_tag *tag)
{
    struct heard *h = user;
    text_printf(&h->text, "%llu:%.*s", (unsigned long long)xml_line(h->xml), (int)tag->name.len,
                tag->name.ptr);
    for (size_t i = 0; i < tag->n_attrs; i++) {
        struct weir_slice value;
        if (!xml_value(h->xml, &tag->attrs[i], &value)) return WEIR_INVALID;
        text_printf(&h->text, " %.*s=", (int)tag->attrs[i].name.len, tag->attrs[i].name.ptr);
        text_quote(&h->text, value);
    }
    text_add_char(&h->text, '\n');
    return WEIR_OK;
}

static enum weir_status on_end(void *user, const struct xml_tag *tag)
{
    struct heard *h = user;
    text_printf(&h->text, "/%.*s %u\n", (int)tag->name.len, tag->name.ptr, tag->depth);
    if (h->input.len > 0) T_OK(h->input.ptr[tag->offset - 1] == '>');
    return WEIR_OK;
}

static enum weir_status feed_cut(struct xml *x, struct weir_slice input, struct cut *cut)
{
    struct weir_slice rest = input;
    struct weir_slice piece;
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = xml_feed(x, piece);
    return st == WEIR_OK ? xml_end(x) : st;
}

/* The same transcript in every cutting; a failure is in it with its line. */
static void check(struct weir_slice input, const char *want)
{
    struct cut cut;
    for (size_t n = 0; cut_nth(&cut, n, input.len); n++) {
        struct heard h = {.input = input};
        h.xml = xml_new(&(struct xml_handler){&h, on_start, on_end});
        enum weir_status st = feed_cut(h.xml, input, &cut);
        if (st != WEIR_OK)
            text_printf(&h.text, "%s, line %llu: %s\n", weir_status_name(st),
                        (unsigned long long)xml_line(h.xml), xml_error(h.xml));
        T_EQ_STR(text_slice(&h.text), want);
        xml_free(h.xml);
        cut_fini(&cut);
        text_fini(&h.text);
    }
}

#define CHECK_XML(literal, want) check((struct weir_slice){literal, sizeof(literal) - 1}, want)

TEST(tags_and_values_are_the_same_in_every_cutting)
{
    CHECK_XML("<a/>", "1:a\n/a 1\n");
    CHECK_XML("<?xml version=\"1.0\"?>\n<a b=\"1\" c='2 \"3\"'>\n <b/>text &amp; more</a>\n",
              "2:a b='1' c='2 \"3\"'\n3:b\n/b 2\n/a 1\n");
    CHECK_XML("<a\n b = \"x\"\n c=\"a long value that is longer than sixteen bytes\"/>",
              "1:a b='x' c='a long value that is longer than sixteen bytes'\n/a 1\n");
    CHECK_XML("\xEF\xBB\xBF<a b=\"Zoë’s\"></a >", "1:a b='Zo\\xc3\\xab\\xe2\\x80\\x99s'\n/a 1\n");
}

TEST(references_are_resolved)
{
    CHECK_XML("<a b=\"&lt;&#60;&#x3C;&gt;&quot;&apos;&amp;lt;\"/>", "1:a b='<<<>\"'&lt;'\n/a 1\n");
    CHECK_XML("<a b=\"1\n2\t3\v4\"/>", "1:a b='1 2 3 4'\n/a 1\n");
    CHECK_XML("<a b=\"&lol;\"/>", "1:ainvalid_argument, line 1: it refers to an entity that is not "
                                  "one of XML's own\n");
    CHECK_XML("<a b=\"&#0;\"/>", "1:ainvalid_argument, line 1: it refers to an entity that is not "
                                 "one of XML's own\n");
    CHECK_XML("<a b=\"&#xD800;\"/>", "1:ainvalid_argument, line 1: it refers to an entity that is "
                                     "not one of XML's own\n");
}

TEST(comments_instructions_and_text_are_skipped)
{
    CHECK_XML("<a><!-- <b> -- - ---><![CDATA[<c>]]]><?d <e>?></a>", "1:a\n/a 1\n");
    CHECK_XML("<!-- \n\n --><a/>", "3:a\n/a 1\n");
}

TEST(a_doctype_is_skipped_unread_even_when_it_is_broken)
{
    CHECK_XML("<!DOCTYPE a>\n<a/>", "2:a\n/a 1\n");
    CHECK_XML("<!DOCTYPE a [\n<!ELEMENT a (b)>\n<!ATTLIST a\n x CDATA>\n] >\n<a/>", "6:a\n/a 1\n");
    CHECK_XML("<!DOCTYPE a [\n<!ATTLIST v\n x CDATA\n<!ELEMENT r EMPTY>\n>\n>\n]>\n<a/>",
              "8:a\n/a 1\n");
}

TEST(declarations_of_entities_are_refused)
{
    CHECK_XML("<!DOCTYPE a [\n<!ENTITY lol \"lol\">\n]>\n<a/>",
              "invalid_argument, line 2: its DOCTYPE declares entities, which no health export "
              "does: it is refused as a possible entity bomb\n");
    CHECK_XML("<!DOCTYPE a [<<!ENTITY % x SYSTEM \"file:///etc/passwd\">]><a/>",
              "invalid_argument, line 1: its DOCTYPE declares entities, which no health export "
              "does: it is refused as a possible entity bomb\n");
}

TEST(what_is_broken_is_said_with_its_line)
{
    CHECK_XML("", "invalid_argument, line 1: it ends before its first element\n");
    CHECK_XML("<a>\n<b>\n", "1:a\n2:b\ninvalid_argument, line 3: it ends in the middle: it is "
                            "truncated\n");
    CHECK_XML("<a>\n</b>", "1:a\ninvalid_argument, line 2: </b> stands where </a> should\n");
    CHECK_XML("</a>", "invalid_argument, line 1: a closing tag stands where nothing is open\n");
    CHECK_XML("<a/>\n<b/>",
              "1:a\n/a 1\ninvalid_argument, line 2: there is a second root element\n");
    CHECK_XML("\nhello", "invalid_argument, line 2: it does not begin as XML does\n");
    CHECK_XML("<a/>\n\nx", "1:a\n/a 1\ninvalid_argument, line 3: there is text behind the end of "
                           "the document\n");
    CHECK_XML("<a b=\"1\n2\" c=\"<\"/>", "invalid_argument, line 1: a value has a \"<\" in it, or "
                                         "lacks its closing quote\n");
    CHECK_XML("<a/><!WHAT>", "1:a\n/a 1\ninvalid_argument, line 1: \"<!\" begins nothing that XML "
                             "knows\n");
}

TEST(nuls_and_other_encodings_are_refused)
{
    CHECK_XML("<a>\n<b \0/>", "1:a\ninvalid_argument, line 2: there is a NUL byte in it, which XML "
                              "cannot have\n");
    CHECK_XML("<a>\n\xE4</a>",
              "1:a\ninvalid_argument, line 2: it is not UTF-8: another encoding, or damaged\n");
    CHECK_XML("\xFF\xFE<\0a\0", "invalid_argument, line 1: it is UTF-16 or UTF-32; Apple writes "
                                "UTF-8\n");
    CHECK_XML("<\0a\0", "invalid_argument, line 1: it is UTF-16 or UTF-32; Apple writes UTF-8\n");
    CHECK_XML("<a b=\"\xED\xA0\x80\"/>", "invalid_argument, line 1: it is not UTF-8: another "
                                         "encoding, or damaged\n");
}

/* A document of one long thing, fed in pieces of 64 KiB. */
static enum weir_status feed_long(const char *begin, char fill, size_t len, const char **why)
{
    static char error[200];
    char *piece = malloc(1 << 16);
    struct heard h = {0};
    h.xml = xml_new(&(struct xml_handler){&h, on_start, on_end});
    enum weir_status st = xml_feed(h.xml, weir_slice_of(begin));
    memset(piece, fill, 1 << 16);
    for (size_t n = 0; n < len && st == WEIR_OK; n += 1 << 16)
        st = xml_feed(h.xml, (struct weir_slice){piece, 1 << 16});
    strncpy(error, xml_error(h.xml), sizeof error - 1);
    *why = error;
    xml_free(h.xml);
    text_fini(&h.text);
    free(piece);
    return st;
}

TEST(what_has_no_end_meets_a_ceiling)
{
    const char *why;
    T_EQ(feed_long("<a><b c=\"", 'x', 10 << 20, &why), WEIR_LIMIT);
    T_EQ_STR(weir_slice_of(why), "a tag is longer than 1 MiB, which no export has");
    T_EQ(feed_long("<!DOCTYPE a [", ' ', 10 << 20, &why), WEIR_LIMIT);
    T_EQ(feed_long("<", 'n', 10 << 20, &why), WEIR_LIMIT);
    T_EQ(feed_long("<a><!--", '-', 10 << 20, &why), WEIR_OK);
}

TEST(elements_nest_64_deep_and_no_deeper)
{
    struct heard h = {0};
    h.xml = xml_new(&(struct xml_handler){&h, on_start, on_end});
    for (int i = 0; i < XML_DEPTH; i++) T_EQ(xml_feed(h.xml, weir_slice_of("<a>")), WEIR_OK);
    T_EQ(xml_feed(h.xml, weir_slice_of("<a>")), WEIR_LIMIT);
    xml_free(h.xml);
    text_fini(&h.text);
}

TEST(a_document_goes_on_behind_any_child_of_the_root)
{
    static const char whole[] = "<r>\n <a x='1'/>\n <b><c/></b>\n <d/>\n</r>\n";
    struct heard all = {0};
    all.xml = xml_new(&(struct xml_handler){&all, on_start, on_end});
    T_EQ(xml_feed(all.xml, weir_slice_of(whole)), WEIR_OK);
    struct heard rest = {0};
    size_t at = (size_t)(strstr(whole, "</b>") + 4 - whole);
    rest.xml =
        xml_new_inside(&(struct xml_handler){&rest, on_start, on_end}, weir_slice_of("r"), at, 3);
    T_EQ(xml_feed(rest.xml, weir_slice_of(whole + at)), WEIR_OK);
    T_EQ(xml_end(rest.xml), WEIR_OK);
    T_EQ_STR(text_slice(&rest.text), "4:d\n/d 2\n/r 1\n");
    xml_free(all.xml);
    xml_free(rest.xml);
    text_fini(&all.text);
    text_fini(&rest.text);
}
