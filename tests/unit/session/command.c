/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences that want something done, and those that only look like it. */
#include "session/command.h"

#include "t.h"

TEST(commands_are_read_with_their_inputs)
{
    static const struct {
        const char *text, *tool, *input;
    } rows[] = {
        {"Remember that I like tea", "remember", "{\"text\":\"I like tea\"}"},
        {"remember: tea ", "remember", "{\"text\":\"tea\"}"},
        {"note Shopping: milk, eggs", "write_note",
         "{\"name\":\"Shopping\",\"text\":\"milk, eggs\"}"},
        {"Write a note called plan: run: slowly", "write_note",
         "{\"name\":\"plan\",\"text\":\"run: slowly\"}"},
        {"make a note: water", "write_note", "{\"name\":\"note\",\"text\":\"water\"}"},
        {"Write a note called Shopping.: milk", "write_note",
         "{\"name\":\"Shopping\",\"text\":\"milk\"}"},
        {"add to note Shopping !: bread", "append_note",
         "{\"name\":\"Shopping\",\"text\":\"bread\"}"},
        {"Read note Shopping.", "read_note", "{\"name\":\"Shopping\"}"},
        {"Forget that I like tea.", "forget_memory", "{\"text\":\"I like tea\"}"},
        {"add to note Shopping: bread", "append_note",
         "{\"name\":\"Shopping\",\"text\":\"bread\"}"},
        {"Delete note Shopping", "delete_note", "{\"name\":\"Shopping\"}"},
        {"list notes", "list_notes", "{}"},
        {"Show my notes!", "list_notes", "{}"},
        {"every day at 7: how did I sleep?", "schedule_prompt",
         "{\"schedule\":\"0 7 * * *\",\"text\":\"how did I sleep?\"}"},
        {"Every Monday at 7:30 pm: my steps?", "schedule_prompt",
         "{\"schedule\":\"30 19 * * 1\",\"text\":\"my steps?\"}"},
        {"every weekday at 12am, wake up", "schedule_prompt",
         "{\"schedule\":\"0 0 * * 1-5\",\"text\":\"wake up\"}"},
        {"schedule */5 8-18 * * mon-fri: drink", "schedule_prompt",
         "{\"schedule\":\"*/5 8-18 * * mon-fri\",\"text\":\"drink\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct command c;
        struct weir_buf out;
        weir_buf_init(&out, 4096);
        T_OK(command_read(weir_slice_of(rows[i].text), &c));
        command_put_input(&out, &c);
        T_EQ_STR(weir_slice_of(c.tool), rows[i].tool);
        T_EQ_STR(weir_buf_slice(&out), rows[i].input);
        weir_buf_fini(&out);
    }
}

TEST(what_is_no_command_is_a_question)
{
    static const char *const rows[] = {"",
                                       "Do you remember that I like tea?",
                                       "remember",
                                       "remember that",
                                       "note",
                                       "notebook: a",
                                       "note Shopping",
                                       "note a:",
                                       "read note",
                                       "list notes of yesterday",
                                       "every day at 25: x",
                                       "every day at 7 x",
                                       "every day at 7:61: x",
                                       "every day at 13 pm: x",
                                       "every day: x",
                                       "schedule: x",
                                       "schedule 0 7 * * *",
                                       "How was my sleep every day at 7: good?"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct command c;
        T_OK(!command_read(weir_slice_of(rows[i]), &c));
    }
}
