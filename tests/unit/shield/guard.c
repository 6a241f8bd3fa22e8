/* SPDX-License-Identifier: Apache-2.0 */
/* Whole requests: nothing private leaves in any form of hiding, and all of it comes back. */
#include "shield/guard.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "shield/restore.h"
#include "t.h"

static struct shield_policy *policy;

static struct guard *make(void)
{
    if (!policy) policy = shield_policy_default();
    return guard_new(policy);
}

struct parsed {
    struct weir_json_doc *doc;
    const struct weir_json *value;
};

static struct parsed parse(struct weir_slice text)
{
    struct parsed p = {.doc = weir_json_doc_new(0)};
    T_EQ(weir_json_parse(p.doc, text, &p.value, NULL), WEIR_OK);
    return p;
}

static enum weir_status redact(struct guard *g, enum guard_form form, const char *json,
                               struct weir_buf *out)
{
    struct parsed p = {.doc = weir_json_doc_new(0)};
    weir_buf_init(out, 64 << 20);
    enum weir_status st =
        p.doc ? weir_json_parse(p.doc, weir_slice_of(json), &p.value, NULL) : WEIR_NOMEM;
    if (st == WEIR_OK) st = guard_redact(g, form, p.value, out, NULL);
    weir_json_doc_free(p.doc);
    return st;
}

static size_t count_of(struct guard *g, enum guard_form form, struct weir_slice json)
{
    struct guard_report report;
    struct parsed p = parse(json);
    guard_report_init(&report);
    T_EQ(guard_find(g, form, p.value, &report), WEIR_OK);
    size_t n = report.n;
    guard_report_fini(&report);
    weir_json_doc_free(p.doc);
    return n;
}

/* Redacted as wanted, passes the check, and comes back. */
static void expect(enum guard_form form, const char *json, const char *want)
{
    struct guard *g = make();
    struct weir_buf out, back;
    enum shield_category category;
    T_EQ(redact(g, form, json, &out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    T_EQ(guard_check(g, weir_buf_slice(&out), &category), WEIR_OK);
    T_EQ(count_of(g, form, weir_buf_slice(&out)), 0);
    weir_buf_init(&back, 64 << 20);
    T_EQ(guard_restore(g, weir_buf_slice(&out), &back), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&back), json);
    weir_buf_fini(&back);
    weir_buf_fini(&out);
    guard_free(g);
}

TEST(texts_of_messages_get_placeholders)
{
    expect(GUARD_MESSAGES, "[{\"role\":\"user\",\"content\":\"I am alice@example.org\"}]",
           "[{\"role\":\"user\",\"content\":\"I am [email_1]\"}]");
    expect(
        GUARD_MESSAGES,
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a@x.org\"},{\"type\":"
        "\"text\",\"text\":\", not b@x.org\"}]},{\"role\":\"assistant\",\"content\":\"a@x.org\"}]",
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[email_1]\"},{\"type\":"
        "\"text\",\"text\":\", not [email_2]\"}]},{\"role\":\"assistant\",\"content\":"
        "\"[email_1]\"}]");
    expect(GUARD_MESSAGES, "[]", "[]");
}

TEST(a_request_of_anthropic_is_looked_at_everywhere)
{
    expect(
        GUARD_ANTHROPIC,
        "{\"model\":\"claude-x\",\"max_tokens\":1024,\"system\":[{\"type\":\"text\",\"text\":"
        "\"You help a@x.org\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"metadata\":{"
        "\"user_id\":\"b@x.org\"},\"stop_sequences\":[\"c@x.org\"],\"tools\":[{\"name\":\"mail\","
        "\"description\":\"writes to d@x.org\",\"input_schema\":{\"type\":\"object\","
        "\"properties\":{\"e@x.org\":{\"type\":\"string\"}}}}],\"messages\":[{\"role\":\"user\","
        "\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
        "\"toolu_01\",\"name\":\"mail\",\"input\":{\"to\":[\"a@x.org\"],\"f@x.org\":true}}]},{"
        "\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01\","
        "\"content\":[{\"type\":\"text\",\"text\":\"sent to a@x.org\"}]}]}],\"x_new\":\"g@x.org\"}",
        "{\"model\":\"claude-x\",\"max_tokens\":1024,\"system\":[{\"type\":\"text\",\"text\":"
        "\"You help [email_1]\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"metadata\":{"
        "\"user_id\":\"[email_2]\"},\"stop_sequences\":[\"[email_3]\"],\"tools\":[{\"name\":"
        "\"mail\",\"description\":\"writes to [email_4]\",\"input_schema\":{\"type\":\"object\","
        "\"properties\":{\"[email_5]\":{\"type\":\"string\"}}}}],\"messages\":[{\"role\":"
        "\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":[{\"type\":"
        "\"tool_use\",\"id\":\"toolu_01\",\"name\":\"mail\",\"input\":{\"to\":[\"[email_1]\"],"
        "\"[email_6]\":true}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
        "\"tool_use_id\":\"toolu_01\",\"content\":[{\"type\":\"text\",\"text\":\"sent to "
        "[email_1]\"}]}]}],\"x_new\":\"[email_7]\"}");
}

TEST(a_request_of_openai_is_looked_at_everywhere)
{
    expect(
        GUARD_OPENAI,
        "{\"model\":\"gpt-x\",\"messages\":[{\"role\":\"system\",\"content\":\"for a@x.org\"},{"
        "\"role\":\"user\",\"name\":\"b@x.org\",\"content\":[{\"type\":\"text\",\"text\":"
        "\"c@x.org\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://example.com/i."
        "png\"}}]},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"to\\\":\\\"d@x.org\\\"}\""
        "}}]},{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"e@x.org\"}],"
        "\"user\":\"f@x.org\",\"prediction\":{\"type\":\"content\",\"content\":\"g@x.org\"},"
        "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
        "\"schema\":{\"description\":\"h@x.org\"}}},\"stop\":\"i@x.org\"}",
        "{\"model\":\"gpt-x\",\"messages\":[{\"role\":\"system\",\"content\":\"for [email_1]\"},{"
        "\"role\":\"user\",\"name\":\"[email_2]\",\"content\":[{\"type\":\"text\",\"text\":"
        "\"[email_3]\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://example.com/i."
        "png\"}}]},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"to\\\":\\\"[email_4]"
        "\\\"}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"[email_5]\"}],"
        "\"user\":\"[email_6]\",\"prediction\":{\"type\":\"content\",\"content\":\"[email_7]\"},"
        "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
        "\"schema\":{\"description\":\"[email_8]\"}}},\"stop\":\"[email_9]\"}");
}

TEST(names_of_members_say_what_their_values_are)
{
    expect(GUARD_VALUE, "{\"dateOfBirth\":\"1980-02-03\",\"other\":\"1980-02-03\"}",
           "{\"dateOfBirth\":\"[date_of_birth_1]\",\"other\":\"1980-02-03\"}");
    expect(GUARD_VALUE, "{\"db_password\":\"xK9mQ2vLp\"}", "{\"db_password\":\"[secret_1]\"}");
    expect(GUARD_VALUE, "{\"ssn\":\"536904399\"}", "{\"ssn\":\"[us_ssn_1]\"}");
    expect(GUARD_VALUE, "{\"passport\":{\"number\":\"X1234567\"}}",
           "{\"passport\":{\"number\":\"[passport_1]\"}}");
    expect(GUARD_VALUE, "{\"phones\":[\"020 7946 0958\"]}", "{\"phones\":[\"[phone_1]\"]}");
}

TEST(a_private_number_becomes_a_text)
{
    struct guard *g = make();
    struct weir_buf out, back;
    T_EQ(redact(g, GUARD_VALUE, "{\"n\":4012888888881881,\"m\":17,\"ssn\":536904399}", &out),
         WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "{\"n\":\"[credit_card_1]\",\"m\":17,\"ssn\":\"[us_ssn_1]\"}");
    weir_buf_init(&back, 1 << 20);
    T_EQ(guard_restore(g, weir_buf_slice(&out), &back), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&back), "{\"n\":\"4012888888881881\",\"m\":17,\"ssn\":\"536904399\"}");
    weir_buf_fini(&back);
    weir_buf_fini(&out);
    guard_free(g);
}

/* Each hides an address from who looks at the bytes alone. */
TEST(values_that_are_coded_are_found)
{
    static const char *const cases[] = {
        "\"alice\\\\u0040example.org\"", /* JSON, twice */
        "\"alice\\\\x40example.org\"",   /* a program's */
        "\"alice\\\\@example.org\"",     /* Markdown */
        "\"alice\\\\u{40}example.org\"", /* other languages */
        "\"alice\\\\x{40}example.org\"",
        "\"alice\\\\U00000040example.org\"",
        "\"alice\\\\100example.org\"",
        "\"alice%u0040example.org\"",
        "\"alice&#64example.org\"", /* HTML without its semicolon */
        "\"alice&#x40xample.org\"",
        "\"ali\\u0001ce@exam\\u007fple.org\"",             /* controls */
        "\"alic\\u0301e@exampl\\u0301e.org\"",             /* marks on letters */
        "\"4\\ufe0f\\u20e3012888888881881\"",              /* keycaps */
        "\"4012888888881\\u2787\\u277d\\u2488\"",          /* digits in circles, with dots */
        "\"alice%40example.org\"",                         /* a web address */
        "\"alice%2540example.org\"",                       /* the same, twice */
        "\"alice&#64;example.org\"",                       /* HTML */
        "\"alice&#x40;example&period;org\"",               /* the same */
        "\"alice&commat;example.org\"",                    /* the same by its name */
        "\"ali\\u200bce@exam\\u00adple.org\"",             /* not seen */
        "\"alice\\uff20example\\uff0eorg\"",               /* full-width */
        "\"4012 8888 \\uff18\\uff18\\uff18\\uff18 1881\"", /* full-width digits */
        "\"4012\\u200b8888\\u200b8888\\u200b1881\"",       /* digits, not seen between */
        "\"\\u0664\\u0660\\u0661\\u0662888888881881\"",    /* Arabic digits */
        "\"\\ud835\\udfd2\\ud835\\udfce\\ud835\\udfcf\\ud835\\udfd0888888881881\"", /* bold ones */
        "\"{\\\"a\\\":\\\"alice\\\\u0040example.org\\\"}\"", /* JSON in JSON */
        "\"[{\\\"a\\\":\\\"{\\\\\\\"b\\\\\\\":\\\\\\\"alice@example.org\\\\\\\"}\\\"}]\"",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct guard *g = make();
        struct weir_buf out;
        enum shield_category category;
        T_EQ(count_of(g, GUARD_VALUE, weir_slice_of(cases[i])), 1);
        T_EQ(redact(g, GUARD_VALUE, cases[i], &out), WEIR_OK);
        if (!memmem(out.ptr, out.len, "[email_1]", 9) &&
            !memmem(out.ptr, out.len, "[credit_card_1]", 15))
            t_fail(__FILE__, __LINE__, "%s: %.*s", cases[i], (int)out.len, out.ptr);
        T_EQ(guard_check(g, weir_slice_of(cases[i]), &category), WEIR_FORBIDDEN);
        T_EQ(guard_check(g, weir_buf_slice(&out), &category), WEIR_OK);
        weir_buf_fini(&out);
        guard_free(g);
    }
}

/* What is escaped in JSON inside of a string comes back in its shortest form. */
TEST(json_in_strings_comes_back_as_the_same_value)
{
    struct guard *g = make();
    struct weir_buf out, back;
    T_EQ(redact(g, GUARD_VALUE,
                "{\"arguments\":\"{ \\\"password\\\": \\\"xK\\\\\\\"9mQ2vLp\\\" }\"}", &out),
         WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "{\"arguments\":\"{\\\"password\\\":\\\"[secret_1]\\\"}\"}");
    weir_buf_init(&back, 1 << 20);
    T_EQ(guard_restore(g, weir_buf_slice(&out), &back), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&back),
             "{\"arguments\":\"{\\\"password\\\":\\\"xK\\\\\\\"9mQ2vLp\\\"}\"}");
    weir_buf_fini(&back);
    weir_buf_fini(&out);
    guard_free(g);
    /* Where nothing is private, not a space is changed. */
    expect(GUARD_VALUE, "{\"arguments\":\"{ \\\"a\\\": [1, 2] }\"}",
           "{\"arguments\":\"{ \\\"a\\\": [1, 2] }\"}");
}

TEST(values_cut_by_the_ends_of_texts_are_found)
{
    static const char *const cases[] = {
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"I am "
        "alice@exa\"},{\"type\":"
        "\"text\",\"text\":\"mple.org now\"}]}]",
        "[{\"role\":\"user\",\"content\":\"card 4012 8888\"},{\"role\":\"user\",\"content\":\"8888 "
        "1881\"}]",
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"4012\"},{\"type\":\"text\","
        "\"text\":\"8888\"},{\"type\":\"text\",\"text\":\"8888\"},{\"type\":\"text\",\"text\":"
        "\"1881"
        "\"}]}]",
        "[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content"
        "\":[{\"type\":\"text\",\"text\":\"alice@exa\"},{\"type\":\"text\",\"text\":\"mple.org\"}]}"
        "]}]",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct guard *g = make();
        struct weir_buf out, back;
        T_OK(count_of(g, GUARD_MESSAGES, weir_slice_of(cases[i])) > 0);
        T_EQ(redact(g, GUARD_MESSAGES, cases[i], &out), WEIR_OK);
        T_OK(!memmem(out.ptr, out.len, "mple.org", 8) && !memmem(out.ptr, out.len, "8888", 4));
        T_EQ(count_of(g, GUARD_MESSAGES, weir_buf_slice(&out)), 0);
        weir_buf_init(&back, 1 << 20);
        T_EQ(guard_restore(g, weir_buf_slice(&out), &back), WEIR_OK);
        T_EQ_STR(weir_buf_slice(&back), cases[i]);
        weir_buf_fini(&back);
        weir_buf_fini(&out);
        guard_free(g);
    }
}

TEST(documents_of_text_are_looked_into)
{
    /* "Write to alice@example.org" */
    expect(
        GUARD_MESSAGES,
        "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"text\","
        "\"media_type\":\"text/plain\",\"data\":\"alice@example.org\"},\"title\":\"b@x.org\"}]}]",
        "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"text\","
        "\"media_type\":\"text/plain\",\"data\":\"[email_1]\"},\"title\":\"[email_2]\"}]}]");
    struct guard *g = make();
    struct weir_buf out;
    T_EQ(redact(g, GUARD_MESSAGES,
                "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":"
                "\"base64\",\"media_type\":\"text/plain\",\"data\":"
                "\"V3JpdGUgdG8gYWxpY2VAZXhhbXBsZS5vcmc=\"}}]}]",
                &out),
         WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out),
             "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":"
             "\"base64\",\"media_type\":\"text/plain\",\"data\":\"V3JpdGUgdG8gW2VtYWlsXzFd\"}}]}]");
    weir_buf_fini(&out);
    T_EQ(redact(g, GUARD_OPENAI,
                "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"file\":{"
                "\"filename\":\"a@x.org.txt\",\"file_data\":\"data:text/plain;base64,"
                "V3JpdGUgdG8gYWxpY2VAZXhhbXBsZS5vcmc=\"}}]}]}",
                &out),
         WEIR_OK);
    T_OK(memmem(out.ptr, out.len, "data:text/plain;base64,V3JpdGUgdG8gW2VtYWlsXzFd\"", 48) != NULL);
    weir_buf_fini(&out);
    guard_free(g);
}

static const char *const unseen[] = {
    "[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\","
    "\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgoAAAANSUhEUg==\"}}]}]",
    "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"base64\","
    "\"media_type\":\"application/pdf\",\"data\":\"JVBERi0xLjcKgYGBgQ==\"}}]}]",
    "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
    "\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==\"}}]}]",
    "[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_audio\":{\"data\":"
    "\"UklGRiSAAABXQVZF\",\"format\":\"wav\"}}]}]",
    "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"base64\","
    "\"media_type\":\"text/plain\",\"data\":\"not base64!\"}}]}]",
};

TEST(what_cannot_be_looked_into_does_not_leave)
{
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++) {
        struct guard *g = make();
        struct weir_buf out;
        enum shield_category category;
        T_EQ(redact(g, GUARD_MESSAGES, unseen[i], &out), WEIR_FORBIDDEN);
        T_EQ(guard_check(g, weir_slice_of(unseen[i]), &category), WEIR_FORBIDDEN);
        T_EQ(category, SHIELD_N_CATEGORIES);
        T_EQ_STR(weir_slice_of(shield_category_name(category)), "attachment");
        weir_buf_fini(&out);
        guard_free(g);
    }
}

TEST(a_policy_may_send_what_cannot_be_looked_into)
{
    char error[SHIELD_ERROR_BYTES];
    struct shield_policy *p;
    T_EQ(shield_policy_parse(&p, SLICE("{\"attachments\":\"send\"}"), "p", error), WEIR_OK);
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++) {
        struct guard *g = guard_new(p);
        struct weir_buf out;
        T_EQ(redact(g, GUARD_MESSAGES, unseen[i], &out), WEIR_OK);
        T_EQ_STR(weir_buf_slice(&out), unseen[i]);
        weir_buf_fini(&out);
        guard_free(g);
    }
    shield_policy_free(p);
}

TEST(where_nothing_can_be_put_in_its_place_it_does_not_leave)
{
    static const char *const cases[] = {
        "{\"model\":\"a@x.org\",\"messages\":[]}",
        "{\"messages\":[{\"role\":\"a@x.org\",\"content\":\"\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a@x.org\"}]"
        "}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_use\",\"name\":\"a@x."
        "org\"}"
        "]}]}",
        "{\"tools\":[{\"name\":\"a@x.org\"}]}",
        "{\"tool_choice\":{\"type\":\"tool\",\"name\":\"a@x.org\"}}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"\","
        "\"signature\":\"a@x.org\"}]}]}",
        "{\"thinking\":{\"a@x.org\":1}}",
        "{\"max_tokens\":\"a@x.org\"}",
        "{\"stream\":[{\"x\":\"a@x.org\"}]}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct guard *g = make();
        struct weir_buf out;
        enum shield_category category;
        T_EQ(redact(g, GUARD_ANTHROPIC, cases[i], &out), WEIR_FORBIDDEN);
        T_EQ(guard_check(g, weir_slice_of(cases[i]), &category), WEIR_FORBIDDEN);
        T_EQ(category, SHIELD_EMAIL);
        weir_buf_fini(&out);
        guard_free(g);
    }
}

TEST(own_terms_do_not_touch_how_a_request_is_built)
{
    char error[SHIELD_ERROR_BYTES];
    struct shield_policy *p;
    struct weir_buf out;
    enum shield_category category;
    T_EQ(shield_policy_parse(&p,
                             SLICE("{\"terms\":[{\"label\":\"who\",\"term\":\"user\"},{\"label\":"
                                   "\"who\",\"term\":\"text\"},{\"label\":\"who\",\"term\":"
                                   "\"content\"}]}"),
                             "p", error),
         WEIR_OK);
    struct guard *g = guard_new(p);
    T_EQ(redact(g, GUARD_ANTHROPIC,
                "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"the "
                "user\"}]}]}",
                &out),
         WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"the "
             "[who_1]\"}]}]}");
    T_EQ(guard_check(g, weir_buf_slice(&out), &category), WEIR_OK);
    weir_buf_fini(&out);
    guard_free(g);
    shield_policy_free(p);
}

TEST(text_that_looks_like_a_placeholder_comes_back_as_it_was)
{
    expect(GUARD_VALUE, "[\"a@x.org\",\"[email_1]\",\"[Email 1] b@x.org\"]",
           "[\"[email_1]\",\"[text_1]\",\"[text_2] [email_2]\"]");
    expect(GUARD_VALUE, "[\"[email_1]\"]", "[\"[text_1]\"]");
}

TEST(placeholders_of_the_map_stay)
{
    struct guard *g = make();
    struct weir_buf out;
    T_EQ(redact(g, GUARD_VALUE, "\"a@x.org\"", &out), WEIR_OK);
    weir_buf_fini(&out);
    T_EQ(redact(g, GUARD_VALUE, "[\"[email_1] a@x.org b@x.org\",\"[Email 1]\"]", &out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "[\"[email_1] [email_1] [email_2]\",\"[Email 1]\"]");
    weir_buf_fini(&out);
    guard_free(g);
}

TEST(in_texts_from_elsewhere_nothing_is_a_placeholder)
{
    static const char json[] = "{\"[email_1]\":[\"[email_1] [Email 1] a@x.org\",7,\"[text_1]\"]}";
    struct guard *g = make();
    struct weir_buf out, back, revealed;
    T_EQ(redact(g, GUARD_VALUE, "\"a@x.org\"", &out), WEIR_OK);
    weir_buf_reset(&out);
    struct parsed p = parse(weir_slice_of(json));
    T_EQ(guard_redact_fresh(g, GUARD_VALUE, p.value, &out, NULL), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out),
             "{\"[text_1]\":[\"[text_1] [text_2] [email_1]\",7,\"[text_3]\"]}");
    weir_buf_init(&back, 1 << 20);
    T_EQ(guard_restore(g, weir_buf_slice(&out), &back), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&back), json);
    weir_json_doc_free(p.doc);
    /* With the values and no more it can be redacted again, to the same. */
    weir_buf_init(&revealed, 1 << 20);
    T_EQ(guard_reveal(g, weir_buf_slice(&out), &revealed), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&revealed),
             "{\"[text_1]\":[\"[text_1] [text_2] a@x.org\",7,\"[text_3]\"]}");
    p = parse(weir_buf_slice(&revealed));
    weir_buf_reset(&back);
    T_EQ(guard_redact(g, GUARD_VALUE, p.value, &back, NULL), WEIR_OK);
    T_EQ_SLICE(weir_buf_slice(&back), weir_buf_slice(&out));
    weir_buf_reset(&back);
    T_EQ(guard_redact_fresh_text(g, SLICE("[email_1]"), &back, NULL), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&back), "[text_1]");
    weir_json_doc_free(p.doc);
    weir_buf_fini(&revealed);
    weir_buf_fini(&back);
    weir_buf_fini(&out);
    guard_free(g);
}

TEST(a_report_counts_and_names_without_values)
{
    struct guard *g = make();
    struct guard_report r;
    struct weir_buf categories;
    struct parsed p = parse(SLICE("[\"a@x.org or b@x.org\",\"4012888888881881\"]"));
    guard_report_init(&r);
    T_EQ_STR(weir_buf_slice(&r.findings), "[]");
    T_EQ(guard_find(g, GUARD_VALUE, p.value, &r), WEIR_OK);
    T_EQ(r.n, 3);
    T_EQ(r.counts[SHIELD_EMAIL], 2);
    T_EQ(r.counts[SHIELD_CREDIT_CARD], 1);
    T_EQ_STR(weir_buf_slice(&r.findings),
             "[{\"label\":\"email\",\"category\":\"email\",\"source\":\"format\"},{\"label\":"
             "\"email\",\"category\":\"email\",\"source\":\"format\"},{\"label\":\"visa\","
             "\"category\":\"credit_card\",\"source\":\"checksum\"}]");
    weir_buf_init(&categories, 1024);
    guard_report_put_categories(&r, &categories);
    T_EQ_STR(weir_buf_slice(&categories), "[\"credit_card\",\"email\"]");
    weir_buf_fini(&categories);
    guard_report_fini(&r);
    T_EQ(token_map_count(guard_tokens(g)), 0);
    weir_json_doc_free(p.doc);
    guard_free(g);
}

TEST(what_was_allowed_stays_plain)
{
    struct guard *g = make();
    struct weir_buf out;
    enum shield_category category;
    struct parsed p = parse(SLICE("{\"messages\":[{\"role\":\"user\",\"content\":\"a@x.org\"}]}"));
    T_EQ(guard_allow(g, GUARD_ANTHROPIC, p.value), WEIR_OK);
    T_EQ(guard_version(g), 1);
    T_EQ(guard_allow(g, GUARD_ANTHROPIC, p.value), WEIR_OK);
    T_EQ(guard_version(g), 1);
    T_EQ(redact(g, GUARD_VALUE, "[\"a@x.org\",\"a%40x.org\",\"b@x.org\"]", &out), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "[\"a@x.org\",\"a%40x.org\",\"[email_1]\"]");
    weir_buf_fini(&out);
    T_EQ(guard_check(g, SLICE("{\"x\":\"a@x.org\"}"), &category), WEIR_OK);
    T_EQ(guard_check(g, SLICE("{\"x\":\"c@x.org\"}"), &category), WEIR_FORBIDDEN);
    T_EQ(category, SHIELD_EMAIL);
    weir_json_doc_free(p.doc);
    guard_free(g);
}

TEST(a_cut_value_that_was_allowed_stays_plain)
{
    static const char text[] = "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                               "\"text\":\"I am alice@exa\"},"
                               "{\"type\":\"text\",\"text\":\"mple.org 4012 "
                               "8888\"},{\"type\":\"text\",\"text\":\"8888 1881\"}]}]}";
    struct guard *g = make();
    enum shield_category category;
    struct parsed p = parse(weir_slice_of(text));
    T_EQ(guard_check(g, weir_slice_of(text), &category), WEIR_FORBIDDEN);
    T_EQ(guard_allow(g, GUARD_ANTHROPIC, p.value), WEIR_OK);
    T_EQ(guard_check(g, weir_slice_of(text), &category), WEIR_OK);
    T_EQ(guard_check(g, SLICE("{\"x\":\"alice@example.org\"}"), &category), WEIR_OK);
    T_EQ(guard_check(g, SLICE("{\"x\":\"bob@example.org\"}"), &category), WEIR_FORBIDDEN);
    weir_json_doc_free(p.doc);
    guard_free(g);
}

TEST(numbers_are_looked_at_wherever_they_stand)
{
    struct guard *g = make();
    struct weir_buf out;
    enum shield_category category;
    T_EQ(guard_check(g, SLICE("{\"seed\":4012888888881881}"), &category), WEIR_FORBIDDEN);
    T_EQ(category, SHIELD_CREDIT_CARD);
    T_EQ(redact(g, GUARD_OPENAI, "{\"messages\":[{\"content\":4012888888881881}],\"n\":1}", &out),
         WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "{\"messages\":[{\"content\":\"[credit_card_1]\"}],\"n\":1}");
    weir_buf_fini(&out);
    guard_free(g);
}

/* Each of them is found by one way of looking alone. */
TEST(without_memory_nothing_leaves)
{
    static const char *const bodies[] = {
        "{\"x\":\"{\\\"passport\\\":{\\\"number\\\":\\\"X1234567\\\"}}\"}",
        "{\"x\":\"alice%2540example.org\"}",
        "{\"ssn\":536904399}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"alice@exa\"},"
        "{"
        "\"type\":\"text\",\"text\":\"mple.org\"}]}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{"
        "\"type\":"
        "\"base64\",\"media_type\":\"text/"
        "plain\",\"data\":\"V3JpdGUgdG8gYWxpY2VAZXhhbXBsZS5vcmc=\"}}]"
        "}]}",
    };
    char error[SHIELD_ERROR_BYTES];
    struct shield_policy *p;
    T_EQ(shield_policy_parse(&p, SLICE("{\"attachments\":\"send\"}"), "p", error), WEIR_OK);
    struct guard *g = guard_new(p);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        enum shield_category category;
        T_EQ(guard_check(g, weir_slice_of(bodies[i]), &category), WEIR_FORBIDDEN);
        for (uint64_t n = 1;; n++) {
            fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
            enum weir_status st = guard_check(g, weir_slice_of(bodies[i]), &category);
            bool was_hit = fault_count(FAULT_ALLOC) >= n;
            fault_disarm_all();
            T_OK(st != WEIR_OK);
            if (!was_hit) break;
        }
    }
    guard_free(g);
    shield_policy_free(p);
}

TEST(redacting_without_memory_gives_nothing_private_away)
{
    for (uint64_t n = 1;; n++) {
        struct guard *g = make();
        struct weir_buf out;
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        enum weir_status st = redact(
            g, GUARD_VALUE,
            "{\"a\":\"{\\\"b\\\":\\\"alice@example.org\\\"}\",\"c\":\"+31612345678\"}", &out);
        bool was_hit = fault_count(FAULT_ALLOC) >= n;
        fault_disarm_all();
        T_OK(st == WEIR_OK || out.len == 0);
        T_OK(!out.ptr ||
             (!memmem(out.ptr, out.len, "alice", 5) && !memmem(out.ptr, out.len, "316", 3)));
        weir_buf_fini(&out);
        guard_free(g);
        if (!was_hit) break;
    }
}

TEST(what_is_no_json_does_not_leave)
{
    struct guard *g = make();
    enum shield_category category;
    T_OK(guard_check(g, SLICE("{\"x\":"), &category) != WEIR_OK);
    T_OK(guard_check(g, SLICE(""), &category) != WEIR_OK);
    guard_free(g);
}

TEST(a_text_alone_is_redacted_as_strings_are)
{
    struct guard *g = make();
    struct weir_buf out;
    struct guard_report r;
    weir_buf_init(&out, 1 << 20);
    guard_report_init(&r);
    T_EQ(guard_redact_text(g, SLICE("Mail \"alice@example.org\"\n"), &out, &r), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), "Mail \"[email_1]\"\n");
    T_EQ(r.n, 1);
    T_EQ(guard_version(g), 1);
    guard_report_fini(&r);
    weir_buf_fini(&out);
    guard_free(g);
}

TEST(restoring_bears_the_drift_of_models)
{
    struct guard *g = make();
    struct weir_buf out;
    T_EQ(redact(g, GUARD_VALUE, "\"quote\\\"me@example.org or a@x.org\"", &out), WEIR_OK);
    weir_buf_fini(&out);
    static const char *const cases[][2] = {
        {"{\"text\":\"To [Email_1].\"}", "{\"text\":\"To me@example.org.\"}"},
        {"{\"text\":\"To [EMAIL 1] [email-2]\"}", "{\"text\":\"To me@example.org a@x.org\"}"},
        {"{ \"text\" : \"nothing [here] [email_3]\" }",
         "{ \"text\" : \"nothing [here] [email_3]\" }"},
        {"{\"[email_1]\":[\"\\u005bemail_1]\"]}", "{\"me@example.org\":[\"me@example.org\"]}"},
        {"[1,\"[email_1]\",2.50]", "[1,\"me@example.org\",2.50]"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weir_buf_init(&out, 1 << 20);
        T_EQ(guard_restore(g, weir_slice_of(cases[i][0]), &out), WEIR_OK);
        T_EQ_STR(weir_buf_slice(&out), cases[i][1]);
        weir_buf_fini(&out);
    }
    guard_free(g);
}

static struct vault *some_vault(void)
{
    char path[512], error[VAULT_ERROR_BYTES];
    struct vault *v = NULL;
    snprintf(path, sizeof path, "%s/key", t_temp_dir());
    T_EQ(vault_create(path), WEIR_OK);
    T_EQ(vault_open(path, &v, error), WEIR_OK);
    return v;
}

TEST(a_guard_is_sealed_and_opened_again)
{
    struct vault *v = some_vault();
    struct guard *g = make(), *again = make();
    struct weir_buf out, sealed;
    T_EQ(redact(g, GUARD_VALUE, "[\"a@x.org\",\"[email_9]\"]", &out), WEIR_OK);
    struct parsed p = parse(SLICE("\"4012888888881881\""));
    T_EQ(guard_allow(g, GUARD_VALUE, p.value), WEIR_OK);
    T_EQ(guard_version(g), 3);
    weir_buf_init(&sealed, 1 << 20);
    T_EQ(guard_seal(g, v, SLICE("conv_1"), &sealed), WEIR_OK);
    T_OK(!memmem(sealed.ptr, sealed.len, "a@x.org", 7));
    T_EQ(guard_unseal(again, v, SLICE("conv_2"), weir_buf_slice(&sealed)), WEIR_CORRUPT);
    T_EQ(guard_unseal(again, v, SLICE("conv_1"), SLICE("")), WEIR_OK);
    T_EQ(guard_unseal(again, v, SLICE("conv_1"), weir_buf_slice(&sealed)), WEIR_OK);
    T_EQ(guard_version(again), 0);
    struct weir_buf back;
    weir_buf_init(&back, 1 << 20);
    T_EQ(guard_restore(again, weir_buf_slice(&out), &back), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&back), "[\"a@x.org\",\"[email_9]\"]");
    T_EQ(count_of(again, GUARD_VALUE, SLICE("[\"4012888888881881\",\"b@x.org\"]")), 1);
    weir_buf_fini(&back);
    weir_buf_fini(&sealed);
    weir_buf_fini(&out);
    weir_json_doc_free(p.doc);
    guard_free(again);
    guard_free(g);
    vault_close(v);
}

static void expect_refused(enum guard_form form, const char *json, const char *what, const char *at)
{
    struct guard_report report;
    struct weir_buf out;
    struct guard *g = make();
    struct parsed p = parse(weir_slice_of(json));
    guard_report_init(&report);
    weir_buf_init(&out, 1 << 20);
    T_EQ(guard_redact(g, form, p.value, &out, &report), WEIR_FORBIDDEN);
    T_EQ_STR(weir_slice_of(report.refused_what), what);
    T_EQ_STR(weir_slice_of(report.refused_at), at);
    weir_buf_fini(&out);
    guard_report_fini(&report);
    weir_json_doc_free(p.doc);
    guard_free(g);
}

TEST(what_is_refused_is_named_with_its_place_and_without_its_value)
{
    expect_refused(GUARD_ANTHROPIC,
                   "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                   "\"x\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
                   "\"image/png\",\"data\":\"iVBORw0KGgo=\"}}]}]}",
                   "attachment", "messages[0].content[1].source.data");
    expect_refused(GUARD_OPENAI,
                   "{\"messages\":[],\"tools\":[{\"function\":{\"name\":\"a@x.org\"}}]}", "email",
                   "tools[0].function.name");
    expect_refused(GUARD_OPENAI, "{\"seed\":4012888888881881}", "credit_card", "seed");
    expect_refused(GUARD_OPENAI, "{\"model\":\"[email_1]\"}", "placeholder", "model");
    /* The names on the way may be private, too. */
    expect_refused(GUARD_ANTHROPIC, "{\"thinking\":{\"a@x.org\":{\"b\":\"c@x.org\"}}}", "email",
                   "thinking.…");
}

#define B64_PDF "JVBERi0xLjQgYWxpY2VAZXhhbXBsZS5vcmc="
#define B64_RAW                                                                                    \
    "AP/+gGFsaWNlQGV4YW1wbGUub3JnAP/+gGFsaWNlQGV4YW1wbGUub3JnAP/+gGFsaWNlQGV4YW1wbGUub3JnAP/+gA=="
#define BLOCK(text) "{\"messages\":[{\"role\":\"user\",\"content\":[{" text "}]}]}"

TEST(what_says_that_it_is_no_text_is_refused_whatever_its_bytes_are)
{
    static const struct {
        const char *json, *at;
    } cases[] = {
        {BLOCK("\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
               "\"application/pdf\",\"data\":\"" B64_PDF "\"}"),
         "messages[0].content[0].source.data"},
        {BLOCK("\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
               "\"text/plain\",\"data\":\"" B64_PDF "\"}"),
         "messages[0].content[0].source.data"},
        {BLOCK("\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":"
               "\"data:image/svg+xml,%3Csvg%3E\"}"),
         "messages[0].content[0].source.url"},
        {BLOCK("\"type\":\"file\",\"file\":{\"file_data\":\"data:application/pdf;base64," B64_PDF
               "\"}"),
         "messages[0].content[0].file.file_data"},
        {BLOCK("\"type\":\"input_file\",\"file_data\":\"data:application/pdf;base64," B64_PDF "\""),
         "messages[0].content[0].file_data"},
        {BLOCK("\"type\":\"video_url\",\"video_url\":{\"url\":\" DATA:video/mp4;BASE64,AAAA\"}"),
         "messages[0].content[0].video_url.url"},
        {BLOCK("\"type\":\"input_audio\",\"input_audio\":{\"data\":\"YWJj\",\"format\":\"wav\"}"),
         "messages[0].content[0].input_audio.data"},
        {BLOCK("\"type\":\"new\",\"payload\":\"" B64_RAW "\""), "messages[0].content[0].payload"},
        {"{\"x\":{\"y\":[\"" B64_RAW "\"]}}", "x.y[0]"},
        {BLOCK("\"type\":\"text\",\"text\":\"data:image/png;base64,iVBORw0KGgo=\""),
         "messages[0].content[0].text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(GUARD_OPENAI, cases[i].json, "attachment", cases[i].at);
}

TEST(what_is_text_in_truth_is_not_refused)
{
    static const char *const cases[] = {
        BLOCK("\"type\":\"text\",\"text\":\"data: image/png, and data:image/png are words\""),
        BLOCK("\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{\"x\":\"" B64_RAW
              "\"}"),
        BLOCK("\"type\":\"web_search_result\",\"encrypted_content\":\"" B64_RAW "\""),
        BLOCK("\"type\":\"new\",\"sha\":"
              "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f0"
              "0a08\""),
        BLOCK("\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
              "\"application/json; charset=utf-8\",\"data\":\"e30=\"}"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(GUARD_OPENAI, cases[i], cases[i]);
}

TEST(a_number_is_private_however_it_is_written)
{
    static const char *const cases[] = {"4012888888881881.0", "4012888888881881e0",
                                        "4.012888888881881e15", "4012888888881881000E-3"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[80];
        struct weir_buf out;
        struct guard *g = make();
        snprintf(json, sizeof json, "{\"x\":%s}", cases[i]);
        T_EQ(redact(g, GUARD_VALUE, json, &out), WEIR_OK);
        T_EQ_STR(weir_buf_slice(&out), "{\"x\":\"[credit_card_1]\"}");
        weir_buf_fini(&out);
        guard_free(g);
    }
    expect_refused(GUARD_OPENAI, "{\"seed\":4012888888881881.0}", "credit_card", "seed");
    expect_refused(GUARD_OPENAI, "{\"temperature\":4.012888888881881e15}", "credit_card",
                   "temperature");
    expect_refused(GUARD_OPENAI, "{\"max_tokens\":40128888888818.81E+2}", "credit_card",
                   "max_tokens");
    expect_refused(GUARD_OPENAI, "{\"n\":0.4012888888881881e16}", "credit_card", "n");
    expect(GUARD_VALUE, "[1.5,1e400,-0.0,1e-400,0e0,1E5]", "[1.5,1e400,-0.0,1e-400,0e0,1E5]");
}
