/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a configuration file: what it says, and what is wrong with it. */
#include "config_file.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "t.h"

static const char whole[] = "# the one at home\n"
                            "url = https://home.example/weir  \n"
                            "key=weir_abc\r\n"
                            "\n"
                            "  [work]  \n"
                            "\turl\t=\thttps://work.example#not-a-comment\n"
                            "key_file = ~/keys/work key\n"
                            "[ empty ]\n"
                            "ca_file = ca.pem";

static struct config_file read_good(const char *text, const char *profile)
{
    struct config_file file;
    struct config_mistake mistake;
    T_EQ(config_file_read(weir_slice_of(text), profile, &file, &mistake), true);
    T_EQ_STR(weir_slice_of(mistake.why), "");
    return file;
}

TEST(what_stands_before_the_sections_is_the_profile_without_a_name)
{
    struct config_file file = read_good(whole, NULL);
    T_EQ_STR(file.values[CONFIG_URL], "https://home.example/weir");
    T_EQ_STR(file.values[CONFIG_KEY], "weir_abc");
    T_EQ(file.lines[CONFIG_URL], 2);
    T_EQ(file.lines[CONFIG_KEY], 3);
    T_EQ(file.values[CONFIG_KEY_FILE].len, 0);
    T_EQ(file.values[CONFIG_CA_FILE].len, 0);
    T_EQ(file.has_profile, true);
}

TEST(a_byte_order_mark_is_passed_over_at_the_beginning_alone)
{
    struct config_mistake mistake;
    struct config_file file = read_good("\xef\xbb\xbf[work]\nurl = https://a.example\n", "work");
    T_EQ_STR(file.values[CONFIG_URL], "https://a.example");
    T_EQ(config_file_read(SLICE("\n\xef\xbb\xbfurl = https://a.example\n"), NULL, &file, &mistake),
         false);
    T_EQ(mistake.line, 2);
}

TEST(a_section_inherits_nothing)
{
    struct config_file file = read_good(whole, "work");
    T_EQ_STR(file.values[CONFIG_URL], "https://work.example#not-a-comment");
    T_EQ_STR(file.values[CONFIG_KEY_FILE], "~/keys/work key");
    T_EQ(file.lines[CONFIG_KEY_FILE], 7);
    T_EQ(file.values[CONFIG_KEY].len, 0);
    file = read_good(whole, "empty");
    T_EQ(file.values[CONFIG_URL].len, 0);
    T_EQ_STR(file.values[CONFIG_CA_FILE], "ca.pem");
}

TEST(a_profile_that_is_not_there_is_told)
{
    struct config_file file = read_good(whole, "nobody");
    T_EQ(file.has_profile, false);
    T_EQ(file.values[CONFIG_URL].len, 0);
}

static void check_mistake(const char *text, unsigned line, const char *why)
{
    struct config_file file;
    struct config_mistake mistake;
    T_EQ(config_file_read(weir_slice_of(text), NULL, &file, &mistake), false);
    T_EQ(mistake.line, line);
    T_EQ_STR(weir_slice_of(mistake.why), why);
}

TEST(mistakes_are_told_with_their_line_whosever_profile_they_are_in)
{
    check_mistake("url = http://a\nrul = b\n", 2, "there is no setting \"rul\"; did you mean url?");
    check_mistake("[work]\nkey-file = b\n", 2,
                  "there is no setting \"key-file\"; did you mean key_file?");
    check_mistake(
        "colour = b\n", 1,
        "there is no setting \"colour\"; there are url, key, key_file, ca_file and keep_events");
    check_mistake("\n\nurl\n", 3, "a line is \"name = value\", not \"url\"");
    check_mistake("url =\n", 1, "url has no value");
    check_mistake("url = \"http://a\"\n", 1, "url: values are written without quotes");
    check_mistake("url = a\nurl = b\n", 2, "url is set twice");
    check_mistake("[work]\nkey = a\n[home]\nkey = b\nkey = b\n", 5, "key is set twice");
    check_mistake("[work\n", 1, "a section is a name in brackets, as [work], not \"[work\"");
    check_mistake("[]\n", 1, "a section is a name in brackets, as [work], not \"[]\"");
    check_mistake("[", 1, "a section is a name in brackets, as [work], not \"[\"");
    check_mistake("url = a\x1b[2J\n", 1, "there is a control character in it");
    check_mistake("keep_events = maybe", 1, "keep_events is yes or no");
    check_mistake(
        "=", 1, "there is no setting \"\"; there are url, key, key_file, ca_file and keep_events");
}

TEST(a_section_that_is_asked_for_stands_there_once)
{
    struct config_file file;
    struct config_mistake mistake;
    T_EQ(config_file_read(SLICE("[a]\n[b]\n[a]\n"), "a", &file, &mistake), false);
    T_EQ(mistake.line, 3);
}

TEST(a_long_line_that_is_none_of_ours_is_not_shown_whole)
{
    struct config_file file;
    struct config_mistake mistake;
    char text[2000];
    memset(text, 'x', sizeof text);
    T_EQ(config_file_read(slice_of(text, sizeof text), NULL, &file, &mistake), false);
    T_EQ(strlen(mistake.why) < 100, true);
}

TEST(every_beginning_of_a_file_is_read_or_refused)
{
    for (size_t len = 0; len <= sizeof whole - 1; len++) {
        struct config_file file;
        struct config_mistake mistake;
        bool is_good = config_file_read(slice_of(whole, len), "work", &file, &mistake);
        T_EQ(is_good, mistake.why[0] == 0);
        for (int i = 0; i < CONFIG_N_NAMES; i++) {
            struct weir_slice value = file.values[i];
            T_EQ(value.len == 0 || (value.ptr > whole && value.ptr + value.len <= whole + len),
                 true);
        }
    }
}
