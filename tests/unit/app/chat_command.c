/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_command.h"

#include <stdio.h>

#include "base/slice.h"
#include "t.h"

static void check(const char *text, enum chat_act act, const char *argument)
{
    struct chat_command c = chat_command_read(weir_slice_of(text));
    T_EQ(c.act, act);
    if (act != CHAT_UNKNOWN) T_EQ_STR(weir_slice_of(c.argument), argument);
}

TEST(lines_that_begin_with_a_slash_are_commands)
{
    check("what is /trace?", CHAT_QUESTION, "");
    check(" /trace", CHAT_QUESTION, "");
    check("", CHAT_QUESTION, "");
    check("/trace", CHAT_TRACE, "");
    check("/trace turn_01HX ", CHAT_TRACE, "turn_01HX");
    check("/facts\n", CHAT_FACTS, "");
    check("/memory", CHAT_MEMORY, "");
    check("/memory  forget\tmem_1", CHAT_FORGET, "mem_1");
    check("/turns", CHAT_TURNS, "");
    check("/session", CHAT_SESSION, "");
    check("/session ses_01HX", CHAT_SESSION, "ses_01HX");
    check("/new", CHAT_NEW, "");
    check("/help", CHAT_HELP, "");
    check("/quit", CHAT_QUIT, "");
}

TEST(what_is_wrong_is_unknown)
{
    static const char *const texts[] = {"/",
                                        "/Trace",
                                        "/traces",
                                        "/trace a b",
                                        "/memory x",
                                        "/memory forget",
                                        "/memory forget a b",
                                        "/quit now",
                                        "/\xff\xfe"};
    char text[400];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check(texts[i], CHAT_UNKNOWN, "");
    snprintf(text, sizeof text, "/trace %0300d", 1);
    check(text, CHAT_UNKNOWN, "");
}

static void check_answer(const char *text, const char *want)
{
    struct weir_buf out;
    weir_buf_init(&out, 4096);
    chat_command_unknown(weir_slice_of(text), &out);
    T_EQ_STR(weir_buf_slice(&out), want);
    weir_buf_fini(&out);
}

TEST(an_unknown_one_is_told_which_there_are_the_nearest_first)
{
    check_answer("/trase", "There is no /trase; there are /trace, /turns, /facts, /new, /help, "
                           "/quit, /memory and /session.\n");
    check_answer("/hepl x", "There is no /hepl; there are /help, /new, /quit, /trace, /facts, "
                            "/memory, /turns and /session.\n");
    check_answer("/\033[2Jaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                 "There is no /␛[2Jaaaaaaaaaaaaaaaaaa…; there are /trace, /facts, /memory, "
                 "/turns, /session, /new, /help and /quit.\n");
    check_answer("/memory x", "That is not how it goes:\n"
                              "  /memory            what is remembered of you\n"
                              "  /memory forget ID  forget an entry of it\n");
}

static void check_complete(const char *text, const char *line, const char *note)
{
    struct weir_buf whole;
    struct weir_buf several;
    weir_buf_init(&whole, 4096);
    weir_buf_init(&several, 4096);
    chat_command_complete(weir_slice_of(text), &whole, &several);
    T_EQ_STR(weir_buf_slice(&whole), line);
    T_EQ_STR(weir_buf_slice(&several), note);
    weir_buf_fini(&several);
    weir_buf_fini(&whole);
}

TEST(the_beginning_of_a_command_is_made_whole)
{
    check_complete("", "", "");
    check_complete("what", "", "");
    check_complete("/x", "", "");
    check_complete("/tra", "/trace", "");
    check_complete("/trace", "/trace", "");
    check_complete("/trace x", "", "");
    check_complete("/m", "/memory", "");
    check_complete("/t", "/t", "/trace  /turns");
    check_complete("/", "/", "/trace  /facts  /memory  /turns  /session  /new  /help  /quit");
}
