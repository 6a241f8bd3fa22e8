/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XML: the same tags in all pieces, and those that expat finds wherever expat accepts a document
 * that has no DOCTYPE. (Ours accepts more, on purpose; xml.h says what.)
 */
#include "import/xml.h"

#include <expat.h>
#include <string.h>

#include "fuzz/fuzz.h"

struct heard {
    struct text text;
    struct xml *xml;
};

static enum weir_status on_start(void *user, const struct xml_tag *tag)
{
    struct heard *h = user;
    text_quote(&h->text, tag->name);
    for (size_t i = 0; i < tag->n_attrs; i++) {
        struct weir_slice value;
        if (!xml_value(h->xml, &tag->attrs[i], &value)) return WEIR_INVALID;
        text_quote(&h->text, tag->attrs[i].name);
        text_quote(&h->text, value);
    }
    text_add_char(&h->text, '\n');
    return WEIR_OK;
}

static enum weir_status on_end(void *user, const struct xml_tag *tag)
{
    struct heard *h = user;
    (void)tag;
    text_printf(&h->text, "/\n");
    return WEIR_OK;
}

static void peer_start(void *user, const XML_Char *name, const XML_Char **attrs)
{
    struct text *t = user;
    text_quote(t, weir_slice_of(name));
    for (; *attrs; attrs++) text_quote(t, weir_slice_of(*attrs));
    text_add_char(t, '\n');
}

static void peer_end(void *user, const XML_Char *name)
{
    (void)name;
    text_printf(user, "/\n");
}

static bool peer_accepts(struct weir_slice input, struct text *out)
{
    XML_Parser p = XML_ParserCreate("UTF-8");
    XML_SetElementHandler(p, peer_start, peer_end);
    XML_SetUserData(p, out);
    bool is_accepted = XML_Parse(p, input.ptr, (int)input.len, 1) == XML_STATUS_OK;
    XML_ParserFree(p);
    return is_accepted;
}

static enum weir_status read_all(struct heard *h, struct weir_slice rest, struct cut *cut)
{
    struct weir_slice piece;
    enum weir_status st = WEIR_OK;
    h->xml = xml_new(&(struct xml_handler){h, on_start, on_end});
    while (st == WEIR_OK && cut_take(cut, &rest, &piece)) st = xml_feed(h->xml, piece);
    if (st == WEIR_OK) st = xml_end(h->xml);
    fuzz_true("a failure has its reason", st == WEIR_OK || xml_error(h->xml)[0] != 0);
    xml_free(h->xml);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cut cut;
    struct weir_slice input;
    struct heard whole = {0};
    struct heard pieces = {0};
    struct text peer = {0};
    if (!fuzz_input(data, size, &cut, &input)) return 0;
    struct cut uncut = {.first = input.len, .step = input.len};
    enum weir_status want = read_all(&whole, input, &uncut);
    enum weir_status got = read_all(&pieces, input, &cut);
    fuzz_true("pieces have the same verdict", (got == WEIR_OK) == (want == WEIR_OK));
    fuzz_same("tags", &pieces.text, &whole.text);
    bool is_plain = input.len > 0 && !memmem(input.ptr, input.len, "<!DOCTYPE", 9);
    if (is_plain && want != WEIR_LIMIT && peer_accepts(input, &peer)) {
        fuzz_true("what expat accepts is accepted", want == WEIR_OK);
        fuzz_same("expat's tags", &whole.text, &peer);
    }
    cut_fini(&cut);
    cut_fini(&uncut);
    text_fini(&whole.text);
    text_fini(&pieces.text);
    text_fini(&peer);
    return 0;
}
