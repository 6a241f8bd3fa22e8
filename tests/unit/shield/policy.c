/* SPDX-License-Identifier: Apache-2.0 */
/* A policy is read whole or not at all, and says what is wrong with it. */
#include "shield/policy.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/slice.h"
#include "t.h"

static struct shield_policy *parse(const char *text)
{
    char error[SHIELD_ERROR_BYTES];
    struct shield_policy *p;
    T_EQ(shield_policy_parse(&p, weir_slice_of(text), "p.json", error), WEIR_OK);
    return p;
}

TEST(without_a_file_external_providers_get_placeholders)
{
    struct shield_policy *p = shield_policy_default();
    T_EQ(shield_policy_action(p), PII_REDACT);
    T_EQ(shield_policy_scope(p), PII_EXTERNAL);
    T_OK(!shield_policy_sends_attachments(p));
    T_OK(shield_policy_rules(p) != NULL);
    T_OK(!shield_policy_label(p, 0));
    shield_policy_free(p);
    shield_policy_free(NULL);
}

TEST(a_policy_says_what_is_done_and_for_whom)
{
    struct shield_policy *p = parse(
        "{\"piiAction\":\"ask\",\"scope\":\"all\",\"attachments\":\"send\",\"terms\":[{\"label\":"
        "\"project\",\"term\":\"Blue Heron\"},{\"label\":\"project\",\"term\":\"Red Kite\"}],"
        "\"patterns\":[{\"label\":\"ticket\",\"pattern\":\"TCK-[0-9]{4}\"}]}");
    T_EQ(shield_policy_action(p), PII_ASK);
    T_EQ(shield_policy_scope(p), PII_ALL);
    T_OK(shield_policy_sends_attachments(p));
    T_OK(strcmp(shield_policy_label(p, 0), "project") == 0 ||
         strcmp(shield_policy_label(p, 1), "project") == 0);
    T_OK(!shield_policy_label(p, 2));
    struct shield_findings found;
    T_EQ(shield_scan(shield_policy_rules(p), SLICE("blue heron has TCK-1234"), &found), WEIR_OK);
    T_EQ(found.n, 2);
    shield_findings_fini(&found);
    shield_policy_free(p);
    p = parse("{}");
    T_EQ(shield_policy_action(p), PII_REDACT);
    shield_policy_free(p);
}

TEST(what_is_wrong_is_said_with_its_place)
{
    static const char *const cases[][2] = {
        {"", "p.json: byte 0: "},
        {"[]", "p.json: a policy is a JSON object"},
        {"{\"piiAction\":\"of\"}", "p.json: piiAction is one of "},
        {"{\"piiAction\":true}", "p.json: piiAction is one of "},
        {"{\"scope\":\"some\"}", "p.json: scope is \"external\" or \"all\""},
        {"{\"attachments\":1}", "p.json: attachments is \"refuse\" or \"send\""},
        {"{\"piiaction\":\"block\"}", "p.json: a policy has no member \"piiaction\""},
        {"{\"terms\":{}}", "p.json: terms has to be a list"},
        {"{\"terms\":[1]}", "p.json: terms[0].label has to be"},
        {"{\"terms\":[{\"label\":\"a\",\"term\":\"xy\"},{\"label\":\"a\"}]}",
         "p.json: terms[1].term has to be a text"},
        {"{\"terms\":[{\"label\":\"A\",\"term\":\"xy\"}]}", "p.json: terms[0]: a label has"},
        {"{\"terms\":[{\"label\":\"text\",\"term\":\"xy\"}]}", "p.json: the label \"text\""},
        {"{\"terms\":[{\"label\":\"a\\u0000b\",\"term\":\"xy\"}]}", "p.json: terms[0].label"},
        {"{\"terms\":[{\"label\":\"a\",\"term\":\"xy\",\"x\":1}]}",
         "p.json: terms[0] has no member \"x\""},
        {"{\"patterns\":[{\"label\":\"a\",\"pattern\":\"(\"}]}", "p.json: patterns[0]: "},
        {"{\"\\u001b[1m\":1}", "p.json: a policy has no member \"?[1m\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char error[SHIELD_ERROR_BYTES];
        struct shield_policy *p;
        T_EQ(shield_policy_parse(&p, weir_slice_of(cases[i][0]), "p.json", error), WEIR_BAD_FIELD);
        T_OK(!p);
        if (strncmp(error, cases[i][1], strlen(cases[i][1])) != 0)
            t_fail(__FILE__, __LINE__, "%s: %s", cases[i][0], error);
    }
}

TEST(there_is_a_ceiling_on_labels)
{
    static char text[1 << 16];
    char error[SHIELD_ERROR_BYTES];
    struct shield_policy *p;
    size_t len = (size_t)snprintf(text, sizeof text, "{\"terms\":[");
    for (int i = 0; i <= POLICY_MAX_LABELS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "%s{\"label\":\"l%d\",\"term\":\"term%d\"}", i ? "," : "", i, i);
    snprintf(text + len, sizeof text - len, "]}");
    T_EQ(shield_policy_parse(&p, weir_slice_of(text), "p", error), WEIR_BAD_FIELD);
    T_OK(strstr(error, "more than 128 labels") != NULL);
}

TEST(a_policy_comes_from_a_file)
{
    char path[512], error[SHIELD_ERROR_BYTES];
    struct shield_policy *p;
    snprintf(path, sizeof path, "%s/policy.json", t_temp_dir());
    T_EQ(shield_policy_read(&p, path, error), WEIR_NOT_FOUND);
    T_OK(strstr(error, "policy.json") != NULL);
    FILE *f = fopen(path, "w");
    fputs("{\"piiAction\":\"block\"}", f);
    fclose(f);
    T_EQ(shield_policy_read(&p, path, error), WEIR_OK);
    T_EQ(shield_policy_action(p), PII_BLOCK);
    shield_policy_free(p);
}

TEST(actions_have_names_and_an_order)
{
    for (int i = PII_OFF; i <= PII_BLOCK; i++) {
        enum pii_action a;
        T_OK(pii_action_parse(weir_slice_of(pii_action_name((enum pii_action)i)), &a));
        T_EQ(a, i);
    }
    enum pii_action a;
    T_OK(!pii_action_parse(SLICE("redact"), &a));
    T_OK(!pii_action_parse(SLICE(""), &a));
    T_EQ(pii_action_stricter(PII_ASK, PII_REDACT), PII_REDACT);
    T_EQ(pii_action_stricter(PII_BLOCK, PII_OFF), PII_BLOCK);
}

TEST(a_policy_without_memory_is_none)
{
    char error[SHIELD_ERROR_BYTES];
    for (uint64_t n = 1;; n++) {
        struct shield_policy *p;
        fault_arm(FAULT_ALLOC, n, FAULT_ONCE);
        enum weir_status st = shield_policy_parse(
            &p, SLICE("{\"terms\":[{\"label\":\"a\",\"term\":\"xy\"}]}"), "p", error);
        bool was_hit = fault_count(FAULT_ALLOC) >= n;
        fault_disarm_all();
        if (st == WEIR_OK) shield_policy_free(p);
        else T_OK(!p);
        if (!was_hit) break;
    }
}
