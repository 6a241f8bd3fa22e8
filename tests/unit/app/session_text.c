/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of sessions, in lines. */
#include "session_text.h"

#include "base/clock.h"
#include "base/slice.h"
#include "t.h"

static int64_t now_ms(void)
{
    int64_t ms = 0;
    T_OK(clock_parse(SLICE("2026-05-25T10:00:00.000Z"), &ms));
    return ms;
}

typedef enum weir_status (*list_fn)(struct weir_buf *out, const struct weir_json *list,
                                    unsigned columns, int64_t now_ms);

static void check_lines(list_fn text, const char *json, unsigned columns, const char *want)
{
    const struct weir_json *v = NULL;
    struct weir_buf out;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&out, 64 << 10);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &v, NULL), WEIR_OK);
    T_EQ(text(&out, v, columns, now_ms()), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

static void check_list(const char *json, unsigned columns, const char *want)
{
    check_lines(session_list_text, json, columns, want);
}

static void check_show(const char *json, const char *want)
{
    const struct weir_json *v = NULL;
    struct weir_buf out;
    struct weir_json_doc *doc = weir_json_doc_new(0);
    weir_buf_init(&out, 64 << 10);
    T_EQ(weir_json_parse(doc, weir_slice_of(json), &v, NULL), WEIR_OK);
    T_EQ(session_show_text(&out, v, now_ms()), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
    weir_json_doc_free(doc);
}

TEST(times_are_told_from_now)
{
    static const struct {
        const char *at, *want;
    } rows[] = {
        {"2026-05-25T10:00:00.000Z", "just now"},   {"2026-05-25T09:59:01.000Z", "just now"},
        {"2026-05-25T09:59:00.000Z", "1 min ago"},  {"2026-05-25T09:00:01.000Z", "59 min ago"},
        {"2026-05-25T09:00:00.000Z", "1 h ago"},    {"2026-05-23T10:00:01.000Z", "47 h ago"},
        {"2026-05-23T10:00:00.000Z", "2 days ago"}, {"2026-04-24T10:00:00.000Z", "31 days ago"},
        {"2026-04-24T09:59:59.000Z", "2026-04-24"}, {"2026-05-25T10:00:30.000Z", "soon"},
        {"2026-05-25T10:05:00.000Z", "in 5 min"},   {"2027-05-25T10:05:00.000Z", "2027-05-25"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char ago[SESSION_AGO_BYTES];
        int64_t at_ms = 0;
        T_OK(clock_parse(weir_slice_of(rows[i].at), &at_ms));
        session_ago(ago, at_ms, now_ms());
        T_EQ_STR(weir_slice_of(ago), rows[i].want);
    }
}

#define SESSION                                                                                    \
    "{\"id\":\"ses_01\",\"title\":\"Sundays\\u001b[31m\",\"pinned\":true,\"state\":\"running\","   \
    "\"queued\":2,\"createdAt\":\"2026-05-20T10:00:00.000Z\","                                     \
    "\"updatedAt\":\"2026-05-25T09:55:00.000Z\",\"parentSessionId\":null}"
#define FORK                                                                                       \
    "{\"id\":\"ses_02\",\"title\":null,\"pinned\":false,\"state\":\"idle\",\"queued\":0,"          \
    "\"createdAt\":\"2026-05-25T10:00:00.000Z\",\"updatedAt\":\"2026-05-25T10:00:00.000Z\","       \
    "\"parentSessionId\":\"ses_01\"}"

TEST(sessions_have_a_row_each)
{
    check_list("[" SESSION "," FORK ",{\"id\":7,\"queued\":1},null]", 0,
               "session  used       state            pinned  title\n"
               "ses_01   5 min ago  running, 2 wait  yes     Sundays␛[31m\n"
               "ses_02   just now   idle\n"
               "7\n"
               "\n");
    check_list("[]", 0, "There are no sessions; \"weir session new\" begins one.\n");
    check_list("null", 0, "There are no sessions; \"weir session new\" begins one.\n");
}

TEST(decisions_have_a_row_each)
{
    check_lines(session_audit_text,
                "[{\"id\":3,\"at\":\"2026-05-25T09:55:00.000Z\",\"kind\":\"approval\","
                "\"tool\":\"write_note\",\"decision\":\"allow\",\"scope\":\"once\","
                "\"decidedBy\":\"tab\\u001b[31m\",\"session\":\"ses_01\"},"
                "{\"id\":2,\"at\":\"2026-05-25T09:00:00.000Z\",\"kind\":\"clarification\","
                "\"tool\":null,\"decision\":\"timeout-default\",\"decidedBy\":\"timeout\","
                "\"session\":\"ses_02\"},null]",
                0,
                "when       decision         of             scope  by        session\n"
                "5 min ago  allow            write_note     once   tab␛[31m  ses_01\n"
                "1 h ago    timeout-default  clarification         timeout   ses_02\n"
                "\n");
    check_lines(session_audit_text, "[]", 0, "Nothing has been decided yet.\n");
}

TEST(a_session_is_shown_with_what_was_said)
{
    check_show("{\"session\":" SESSION ",\"messages\":["
               "{\"role\":\"user\",\"content\":\"a\\nb\",\"timestamp\":\"2026-05-25T09:50:00Z\"},"
               "{\"role\":\"assistant\",\"content\":\"c\\u009b\","
               "\"timestamp\":\"2026-05-25T09:51:00Z\"}]}",
               "ses_01  Sundays␛[31m\n"
               "running, 2 wait; begun 5 days ago, used 5 min ago; pinned\n"
               "\n"
               "you, 10 min ago:\n"
               "a\nb\n"
               "\n"
               "weir, 9 min ago:\n"
               "c<U+009B>\n");
    check_show("{\"session\":" FORK ",\"messages\":[]}",
               "ses_02\n"
               "idle; begun just now, used just now; from ses_01\n"
               "\n"
               "Nothing has been said yet.\n");
}
