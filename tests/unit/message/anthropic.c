/* SPDX-License-Identifier: Apache-2.0 */
/* The Anthropic dialect: each rule as a small stream, and the recorded samples. */
#include <stdio.h>

#include "base/slice.h"
#include "base/utf8.h"
#include "oracle/story.h"
#include "oracle/transcript.h"
#include "t.h"

#define STORY(name, script, result, message, ...)                                                  \
    TEST(name)                                                                                     \
    {                                                                                              \
        const struct story story = {                                                               \
            .events = script, .outcome = result, .value = message, __VA_ARGS__};                   \
        story_check(WEIR_ANTHROPIC, &story);                                                       \
    }

#define MESSAGE    WEIR_OUTCOME_MESSAGE
#define ERROR      WEIR_OUTCOME_ERROR
#define INCOMPLETE WEIR_OUTCOME_INCOMPLETE

#define START                                                                                      \
    "message_start {'type':'message_start','message':{'id':'m1','type':'message','content':[],"    \
    "'stop_reason':null,'usage':{'input_tokens':5,'output_tokens':1}}}\n"
#define BLOCK(index, block)                                                                        \
    "content_block_start {'type':'content_block_start','index':" index ",'content_block':" block   \
    "}\n"
#define TEXT(index)     BLOCK(index, "{'type':'text','text':''}")
#define TOOL(index)     BLOCK(index, "{'type':'tool_use','id':'t" index "','name':'f','input':{}}")
#define THINKING(index) BLOCK(index, "{'type':'thinking','thinking':'','signature':''}")
#define DELTA(index, delta)                                                                        \
    "content_block_delta {'type':'content_block_delta','index':" index ",'delta':" delta "}\n"
#define SAY(index, text)  DELTA(index, "{'type':'text_delta','text':'" text "'}")
#define JSON(index, text) DELTA(index, "{'type':'input_json_delta','partial_json':'" text "'}")
#define STOP(index)       "content_block_stop {'type':'content_block_stop','index':" index "}\n"
#define REASON(reason)                                                                             \
    "message_delta {'type':'message_delta','delta':{'stop_reason':'" reason                        \
    "'},'usage':{'output_tokens':9}}\n"
#define END REASON("end_turn") "message_stop {'type':'message_stop'}\n"

/* The message of START with this content, after END. */
#define DONE(content)                                                                              \
    "{'id':'m1','type':'message','content':" content                                               \
    ",'stop_reason':'end_turn','usage':{'input_tokens':5,'output_tokens':9}}"
/* The same, as long as no message_delta has come. */
#define OPEN(content)                                                                              \
    "{'id':'m1','type':'message','content':" content                                               \
    ",'stop_reason':null,'usage':{'input_tokens':5,'output_tokens':1}}"

/* ---- tools that broke off, or came in odd forms ---- */

STORY(tool_cut_before_its_input_is_truncated, START TOOL("0"), INCOMPLETE,
      OPEN("[{'type':'tool_use','id':'t0','name':'f','input':{}}]"),
      .notes = "tool_input_truncated ", .inputs = "0 truncated 0 {};")
STORY(tool_before_an_error_is_truncated, START TOOL("0") "error {'type':'error'}\n", ERROR, NULL,
      .notes = "tool_input_truncated ", .inputs = "0 truncated 0 {};")
STORY(tool_ended_by_message_stop_is_whole, START TOOL("0") END, MESSAGE,
      DONE("[{'type':'tool_use','id':'t0','name':'f','input':{}}]"), .notes = "",
      .inputs = "0 complete 0 {};")
STORY(scalar_input_stands_in_the_message_too, START TOOL("0") JSON("0", "12") STOP("0") END,
      MESSAGE, DONE("[{'type':'tool_use','id':'t0','name':'f','input':12}]"), .notes = "",
      .inputs = "0 complete 0 12;")

/* ---- newer members ---- */

STORY(compaction_comes_at_once,
      START BLOCK("0", "{'type':'compaction','content':''}")
          DELTA("0", "{'type':'compaction_delta','encrypted_content':'e','content':'short'}")
              STOP("0") END,
      MESSAGE, DONE("[{'type':'compaction','content':'short','encrypted_content':'e'}]"),
      .notes = "")
STORY(members_beside_the_delta_are_kept,
      START "message_delta {'type':'message_delta','delta':{'stop_reason':'end_turn'},"
            "'context_management':{'a':1},'usage':{'output_tokens':9}}\n"
            "message_stop {'type':'message_stop'}\n",
      MESSAGE,
      "{'id':'m1','type':'message','content':[],'stop_reason':'end_turn',"
      "'usage':{'input_tokens':5,'output_tokens':9},'context_management':{'a':1}}",
      .notes = "")
STORY(fallback_block_names_the_model,
      "message_start "
      "{'type':'message_start','message':{'id':'m1','model':'big','content':[]}}\n" BLOCK(
          "0", "{'type':'fallback','to':{'model':'small'}}") STOP("0"),
      INCOMPLETE,
      "{'id':'m1','model':'small','content':[{'type':'fallback','to':{'model':'small'}}]}",
      .notes = "")
STORY(null_does_not_take_a_stop_reason_back,
      START REASON(
          "end_turn") "message_delta {'type':'message_delta','delta':{'stop_reason':null}}\n",
      MESSAGE, DONE("[]"), .notes = "no_message_stop ")
STORY(empty_stop_reason_is_none, START REASON(""), INCOMPLETE, NULL)
STORY(error_event_counts_whatever_type_its_data_have,
      START "error {'type':'overloaded_error','message':'busy'}\n", ERROR, OPEN("[]"),
      .error = "{'code':'stream_error','type':'overloaded_error','message':'busy'}")
STORY(error_event_that_is_not_json_keeps_its_text, START "error Internal Server Error\n", ERROR,
      OPEN("[]"), .error = "{'code':'stream_error','type':null,'message':'Internal Server Error'}")
STORY(broken_event_is_shown_in_the_error, START "message_stop {oops\n", ERROR, OPEN("[]"),
      .error = "{'code':'bad_event','type':null,'raw':'{oops'}")
STORY(tool_without_any_input_gets_an_empty_one,
      START BLOCK("0", "{'type':'tool_use','id':'t','name':'f'}") STOP("0") END, MESSAGE,
      DONE("[{'type':'tool_use','id':'t','name':'f','input':{}}]"), .notes = "",
      .inputs = "0 complete 0 {};")
STORY(blocks_of_the_first_event_are_whole,
      "message_start {'type':'message_start','message':{'id':'m1','content':["
      "{'type':'text','text':'a'}]}}\n" SAY("0", "b") SAY("0", "c"),
      INCOMPLETE, "{'id':'m1','content':[{'type':'text','text':'a'}]}", .notes = "late_delta ")
STORY(half_at_the_end_of_the_start_joins,
      START BLOCK("0", "{'type':'text','text':'a\\ud83d'}") SAY("0", "\\ude80!") STOP("0") END,
      MESSAGE, DONE("[{'type':'text','text':'a\xf0\x9f\x9a\x80!'}]"), .notes = "")

/* ---- text ---- */

STORY(text_deltas_append, START TEXT("0") SAY("0", "Hel") SAY("0", "") SAY("0", "lo") STOP("0") END,
      MESSAGE, DONE("[{'type':'text','text':'Hello'}]"), .notes = "")
STORY(text_of_the_start_is_kept,
      START BLOCK("0", "{'type':'text','text':'a'}") SAY("0", "b") STOP("0") END, MESSAGE,
      DONE("[{'type':'text','text':'ab'}]"), .notes = "")
STORY(block_without_deltas_is_kept, START TEXT("0") STOP("0") END, MESSAGE,
      DONE("[{'type':'text','text':''}]"), .notes = "")
STORY(message_without_blocks_is_whole, START END, MESSAGE, DONE("[]"), .notes = "")
STORY(unstopped_text_block_is_kept, START TEXT("0") SAY("0", "a") END, MESSAGE,
      DONE("[{'type':'text','text':'a'}]"))
STORY(surrogate_halves_in_two_text_deltas_join,
      START TEXT("0") SAY("0", "x\\ud83d") SAY("0", "") SAY("0", "\\ude80y") STOP("0") END, MESSAGE,
      DONE("[{'type':'text','text':'x\xf0\x9f\x9a\x80y'}]"), .notes = "")
STORY(half_a_pair_that_stays_alone_is_kept,
      START TEXT("0") SAY("0", "\\ud83d") SAY("0", "a\\ud83d") STOP("0") END, MESSAGE,
      DONE("[{'type':'text','text':'\\ud83da\\ud83d'}]"))
STORY(half_a_pair_at_the_end_of_input_is_kept, START TEXT("0") SAY("0", "a\\ud83d"), INCOMPLETE,
      OPEN("[{'type':'text','text':'a\\ud83d'}]"))
STORY(nul_in_text_survives, START TEXT("0") SAY("0", "a\\u0000b") STOP("0") END, MESSAGE,
      DONE("[{'type':'text','text':'a\\u0000b'}]"))

/* ---- other deltas ---- */

STORY(thinking_appends_and_signature_replaces,
      START THINKING("0") DELTA("0", "{'type':'thinking_delta','thinking':'Let '}")
          DELTA("0", "{'type':'thinking_delta','thinking':'me'}")
              DELTA("0", "{'type':'signature_delta','signature':'first'}")
                  DELTA("0", "{'type':'signature_delta','signature':'second'}") STOP("0") END,
      MESSAGE, DONE("[{'type':'thinking','thinking':'Let me','signature':'second'}]"), .notes = "")
STORY(citations_are_pushed_with_and_without_a_list,
      START TEXT("0") DELTA("0", "{'type':'citations_delta','citation':{'n':1}}") SAY("0", "a")
          DELTA("0", "{'type':'citations_delta','citation':{'n':2}}") STOP("0")
              BLOCK("1", "{'type':'text','text':'','citations':[{'n':0}]}")
                  DELTA("1", "{'type':'citations_delta','citation':{'n':12345678901234567890}}")
                      STOP("1") END,
      MESSAGE,
      DONE("[{'type':'text','text':'a','citations':[{'n':1},{'n':2}]},"
           "{'type':'text','text':'','citations':[{'n':0},{'n':12345678901234567890}]}]"),
      .notes = "")

/* ---- what is not known ---- */

STORY(pings_are_ignored, "ping {'type':'ping'}\n" START "ping {'type':'ping'}\n" END, MESSAGE,
      DONE("[]"), .notes = "")
STORY(comments_are_ignored, ": hello\n" START ":\n" END, MESSAGE, DONE("[]"), .notes = "")
STORY(unknown_events_are_ignored,
      "hello {'type':'hello'}\n" START "weather {'type':'weather','index':0}\n" END, MESSAGE,
      DONE("[]"))
STORY(unknown_deltas_are_ignored,
      START TEXT("0") SAY("0", "a") DELTA("0", "{'type':'dance_delta','step':1}")
          DELTA("0", "{'text':'x'}") DELTA("0", "null") SAY("0", "b") STOP("0") END,
      MESSAGE, DONE("[{'type':'text','text':'ab'}]"))
STORY(unknown_blocks_are_kept_whole,
      START BLOCK("0", "{'type':'hologram','x':[1,{'y':2.50}]}") STOP("0") END, MESSAGE,
      DONE("[{'type':'hologram','x':[1,{'y':2.50}]}]"))
STORY(unknown_members_are_kept,
      "message_start {'type':'message_start','extra':1,'message':{'id':'m','new':{'a':[1]},"
      "'content':[],'stop_reason':null}}\n" BLOCK("0", "{'type':'text','text':'','new':7}")
          SAY("0", "a") STOP("0") "message_delta {'type':'message_delta','delta':{'stop_reason':"
                                  "'end_turn','stop_details':{'k':1}}}\n"
                                  "message_stop {'type':'message_stop'}\n",
      MESSAGE,
      "{'id':'m','new':{'a':[1]},'content':[{'type':'text','text':'a','new':7}],"
      "'stop_reason':'end_turn','stop_details':{'k':1}}",
      .notes = "")
STORY(type_in_the_data_decides_over_the_event_name,
      START TEXT("0") "ping {'type':'content_block_delta','index':0,'delta':"
                      "{'type':'text_delta','text':'a'}}\n"
                      "{'type':'content_block_delta','index':0,'delta':"
                      "{'type':'text_delta','text':'b'}}\n" STOP("0") END,
      MESSAGE, DONE("[{'type':'text','text':'ab'}]"), .notes = "")
STORY(
    event_name_decides_where_the_data_name_no_type,
    START TEXT(
        "0") "content_block_delta {'index':0,'delta':{'type':'text_delta','text':'a'}}\n" STOP("0")
        REASON("end_turn") "message_stop {}\n",
    MESSAGE, DONE("[{'type':'text','text':'a'}]"), .notes = "")

/* ---- indexes ---- */

STORY(index_addresses_interleaved_blocks,
      START TEXT("0") TEXT("1") SAY("1", "b") SAY("0", "a") TOOL("2") SAY("1", "B") JSON("2", "{}")
          SAY("0", "A") STOP("1") STOP("0") STOP("2") END,
      MESSAGE,
      DONE("[{'type':'text','text':'aA'},{'type':'text','text':'bB'},"
           "{'type':'tool_use','id':'t2','name':'f','input':{}}]"),
      .notes = "", .inputs = "2 complete 0 {};")
STORY(blocks_stand_in_the_order_of_their_index,
      START TEXT("1") SAY("1", "b") TEXT("0") SAY("0", "a") SAY("1", "B") STOP("0") STOP("1") END,
      MESSAGE, DONE("[{'type':'text','text':'a'},{'type':'text','text':'bB'}]"))
STORY(delta_for_an_unknown_index_is_noted_and_ignored,
      START TEXT("0") SAY("7", "x") SAY("0", "a") SAY("-1", "x") STOP("3") STOP("0") END, MESSAGE,
      DONE("[{'type':'text','text':'a'}]"), .notes = "unknown_index ")
STORY(event_without_a_usable_index_is_ignored,
      START TEXT("0") "content_block_delta {'type':'content_block_delta','delta':"
                      "{'type':'text_delta','text':'x'}}\n"
                      "content_block_stop {'type':'content_block_stop','index':'0'}\n"
                      "content_block_start {'type':'content_block_start','index':1}\n" SAY("0", "a")
                          END,
      MESSAGE, DONE("[{'type':'text','text':'a'}]"))
STORY(delta_after_the_stop_of_its_block_is_ignored,
      START TEXT("0") SAY("0", "a") STOP("0") SAY("0", "late") STOP("0") END, MESSAGE,
      DONE("[{'type':'text','text':'a'}]"))

/* ---- usage ---- */

STORY(usage_is_overwritten_and_null_or_absent_keeps,
      "message_start {'type':'message_start','message':{'id':'m','content':[],'stop_reason':null,"
      "'usage':{'a':1,'b':2,'c':3,'d':null}}}\n"
      "message_delta {'type':'message_delta','delta':{},'usage':{'a':10,'b':null,'e':5}}\n"
      "message_delta {'type':'message_delta','delta':{'stop_reason':'end_turn'},'usage':null}\n"
      "message_delta {'type':'message_delta','delta':{},'usage':{'a':11,'d':{'x':1}}}\n"
      "message_stop {'type':'message_stop'}\n",
      MESSAGE,
      "{'id':'m','content':[],'stop_reason':'end_turn',"
      "'usage':{'a':11,'b':2,'c':3,'d':{'x':1},'e':5}}",
      .notes = "")
STORY(numbers_keep_their_text,
      "message_start {'type':'message_start','message':{'id':9223372036854775809,'content':[],"
      "'usage':{'x':1e400,'y':-0,'z':1E+2}}}\n" TOOL("0") JSON("0", "{\\u0022id\\u0022:1234567890")
          JSON("0", "123456789012}") STOP("0") "message_stop {'type':'message_stop'}\n",
      MESSAGE,
      "{'id':9223372036854775809,'content':[{'type':'tool_use','id':'t0','name':'f','input':"
      "{'id':1234567890123456789012}}],'usage':{'x':1e400,'y':-0,'z':1E+2}}",
      .notes = "")

/* ---- the end ---- */

STORY(message_stop_completes_and_late_events_are_ignored,
      START TEXT("0") SAY("0", "a") STOP("0")
          END SAY("0", "late") "error {'type':'error','error':{'type':'x','message':'y'}}\n" START,
      MESSAGE, DONE("[{'type':'text','text':'a'}]"), .notes = "")
STORY(stop_reason_then_end_of_input_is_a_message_with_a_note,
      START TEXT("0") SAY("0", "a") STOP("0") REASON("end_turn"), MESSAGE,
      DONE("[{'type':'text','text':'a'}]"), .notes = "no_message_stop ")
STORY(end_of_input_without_stop_reason_is_incomplete, START TEXT("0") SAY("0", "a") STOP("0"),
      INCOMPLETE, OPEN("[{'type':'text','text':'a'}]"), .error = "-", .notes = "")
STORY(no_event_at_all_is_an_error, "", ERROR, "-", "{'code':'stream_empty','type':null}")
STORY(comments_alone_are_no_event, ": hello\n: again\n", ERROR, "-", "{'code':'stream_empty'}")
STORY(pings_alone_are_incomplete, "ping {'type':'ping'}\n", INCOMPLETE, "-")

TEST(outcome_is_known_before_the_end_of_input)
{
    struct text stream = {0};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    story_stream(&stream, START END);
    T_EQ(weir_message_feed(m, stream.ptr, stream.len - 1), WEIR_OK);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_OPEN);
    T_EQ(weir_message_feed(m, stream.ptr + stream.len - 1, 1), WEIR_OK);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_MESSAGE);
    weir_message_free(m);
    text_fini(&stream);
}

/* ---- errors ---- */

STORY(error_event_ends_the_stream_and_keeps_the_message,
      START TEXT("0") SAY("0", "part") "error {'type':'error','error':{'details':null,'type':"
                                       "'overloaded_error','message':'Overloaded'},"
                                       "'request_id':'r1'}\n" SAY("0", "ignored") END,
      ERROR, OPEN("[{'type':'text','text':'part'}]"),
      "{'code':'stream_error','type':'overloaded_error','message':'Overloaded','request_id':'r1',"
      "'raw':{'type':'error','error':{'details':null,'type':'overloaded_error','message':"
      "'Overloaded'},'request_id':'r1'}}")
STORY(error_may_come_first, "error {'type':'error','error':{'type':'api_error','message':'x'}}\n",
      ERROR, "-", "{'code':'stream_error','type':'api_error','message':'x'}")
STORY(error_without_details_is_an_error, "error {}\n" START END, ERROR, "-",
      "{'code':'stream_error','type':null}")
STORY(known_event_that_is_not_json_is_an_error, START "content_block_delta {oops\n" END, ERROR,
      OPEN("[]"), "{'code':'bad_event','type':null}")
STORY(truncated_known_event_is_an_error, START "message_stop {'type':'message_stop'\n", ERROR,
      OPEN("[]"), "{'code':'bad_event'}")
STORY(other_events_that_are_not_json_are_noted, "[DONE]\nhello world\n" START "hello {\n" END,
      MESSAGE, DONE("[]"), .notes = "ignored_event ")
STORY(truncated_tool_input_is_settled_by_an_error,
      START TOOL("0")
          JSON("0", "{\\u0022a\\u0022:") "error {'type':'error','error':{'type':'e'}}\n",
      ERROR, NULL, .inputs = "0 truncated 5 {};")

/* ---- tool input ---- */

STORY(tool_input_is_parsed_as_it_arrives,
      START TOOL("0") JSON("0", "") JSON("0", "{\\u0022a") JSON("0", "\\u0022:[1, tr")
          JSON("0", "ue],\\u0022b\\u0022:\\u0022x\\\\ud83d") JSON("0", "\\\\ude80\\u0022}")
              STOP("0") END,
      MESSAGE,
      DONE("[{'type':'tool_use','id':'t0','name':'f','input':{'a':[1,true],"
           "'b':'x\xf0\x9f\x9a\x80'}}]"),
      .notes = "", .inputs = "0 complete 0 {'a':[1,true],'b':'x\xf0\x9f\x9a\x80'};")
STORY(surrogate_halves_in_two_json_deltas_join,
      START TOOL("0") JSON("0", "[\\u0022x\\ud83d") JSON("0", "\\ude80y\\u0022]") STOP("0") END,
      MESSAGE, NULL, .notes = "", .inputs = "0 complete 0 ['x\xf0\x9f\x9a\x80y'];")
STORY(tool_without_delta_keeps_the_input_of_its_start,
      START BLOCK("0", "{'type':'tool_use','id':'t','name':'f','input':{'given':1}}") STOP("0") END,
      MESSAGE, DONE("[{'type':'tool_use','id':'t','name':'f','input':{'given':1}}]"), .notes = "",
      .inputs = "0 complete 0 {'given':1};")
STORY(tool_with_empty_deltas_keeps_the_input_of_its_start,
      START TOOL("0") JSON("0", "") JSON("0", "") STOP("0") END, MESSAGE,
      DONE("[{'type':'tool_use','id':'t0','name':'f','input':{}}]"), .notes = "",
      .inputs = "0 complete 0 {};")
STORY(truncated_tool_input_is_told_with_its_offset,
      START TOOL("0") JSON("0", "{\\u0022path\\u0022: ") JSON("0", "\\u0022/et") STOP("0")
          REASON("max_tokens") "message_stop {'type':'message_stop'}\n",
      MESSAGE, NULL, .notes = "tool_input_truncated ", .inputs = "0 truncated 13 {'path':'/et'};")
STORY(number_at_the_cut_is_not_shown,
      START TOOL("0") JSON("0", "{\\u0022n\\u0022:12") STOP("0") END, MESSAGE, NULL,
      .notes = "tool_input_truncated ", .inputs = "0 truncated 7 {};")
STORY(invalid_tool_input_is_told_with_its_offset,
      START TOOL("0") JSON("0", "{\\u0022a\\u0022:1,") JSON("0", "}") JSON("0", "more") STOP("0")
          END,
      MESSAGE, NULL, .notes = "tool_input_invalid ", .inputs = "0 invalid 7 {'a':1};")
STORY(garbage_after_tool_input_is_invalid, START TOOL("0") JSON("0", "{} x") STOP("0") END, MESSAGE,
      NULL, .notes = "tool_input_invalid ", .inputs = "0 invalid 3 {};")
STORY(offset_counts_bytes_of_the_joined_input,
      START TOOL("0") JSON("0", "{\\u0022\xc3\xa4") JSON("0", "\\u0022:?") STOP("0") END, MESSAGE,
      NULL, .notes = "tool_input_invalid ", .inputs = "0 invalid 6 {};")
STORY(tool_whose_stop_never_came_is_truncated,
      START TOOL("0") JSON("0", "{\\u0022a\\u0022:[1,2") END, MESSAGE, NULL,
      .notes = "tool_input_truncated ", .inputs = "0 truncated 9 {'a':[1]};")
STORY(tool_whose_stop_never_came_but_json_is_whole_is_complete,
      START TOOL("0") JSON("0", "{\\u0022a\\u0022:[1,2]}") END, MESSAGE, NULL, .notes = "",
      .inputs = "0 complete 0 {'a':[1,2]};")
STORY(tool_is_truncated_when_the_input_ends, START TOOL("0") JSON("0", "{"), INCOMPLETE, NULL,
      .notes = "tool_input_truncated ", .inputs = "0 truncated 1 {};")
STORY(other_kinds_of_tools_take_input,
      START BLOCK("0", "{'type':'server_tool_use','id':'a','name':'f','input':{}}") JSON("0", "[1]")
          STOP("0") BLOCK("1", "{'type':'mcp_tool_use','id':'b','name':'g',"
                               "'server_name':'s','input':{}}") JSON("1", "{}") STOP("1") END,
      MESSAGE, NULL, .notes = "", .inputs = "0 complete 0 [1];1 complete 0 {};")
STORY(duplicate_keys_in_tool_input_last_wins,
      START TOOL("0") JSON("0", "{\\u0022a\\u0022:1,\\u0022b\\u0022:2,\\u0022a\\u0022:3}") STOP("0")
          END,
      MESSAGE, NULL, .inputs = "0 complete 0 {'a':3,'b':2};")
STORY(misplaced_deltas_are_ignored,
      START TEXT("0") JSON("0", "{}") SAY("0", "a") STOP("0") TOOL("1") SAY("1", "x")
          JSON("1", "[]") STOP("1") END,
      MESSAGE,
      DONE("[{'type':'text','text':'a'},{'type':'tool_use','id':'t1','name':'f','input':[]}]"))
STORY(malformed_events_are_ignored,
      "message_start {'type':'message_start'}\nmessage_start [1]\n" SAY("0", "x") START TEXT("0")
          DELTA("0", "{'type':'text_delta','text':5}") DELTA(
              "0",
              "{'type':'text_delta'}") "message_delta {'type':'message_delta'}\n"
                                       "message_delta "
                                       "{'type':'message_delta','delta':5,'usage':[]}\n" TEXT("0")
                                           STOP("0") START END,
      MESSAGE, DONE("[{'type':'text','text':''}]"))

STORY(malformed_deltas_of_all_kinds_are_ignored,
      START THINKING("0") DELTA("0", "{'type':'signature_delta','signature':1}")
          DELTA("0", "{'type':'thinking_delta'}") STOP("0") TEXT("1")
              DELTA("1", "{'type':'citations_delta'}") STOP("1") TOOL("2")
                  DELTA("2", "{'type':'input_json_delta','partial_json':{}}") STOP("2") END,
      MESSAGE,
      DONE("[{'type':'thinking','thinking':'','signature':''},{'type':'text','text':''},"
           "{'type':'tool_use','id':'t2','name':'f','input':{}}]"))
STORY(blocks_that_message_start_carries_are_kept,
      "message_start {'type':'message_start','message':{'id':'m','content':[{'type':'text','text':"
      "'a'},{'type':'tool_use','id':'t','name':'f','input':{'k':1}}],'stop_reason':null}}\n" TEXT(
          "2") SAY("2", "c") STOP("2") "message_stop {'type':'message_stop'}\n",
      MESSAGE,
      "{'id':'m','content':[{'type':'text','text':'a'},{'type':'tool_use','id':'t','name':'f',"
      "'input':{'k':1}},{'type':'text','text':'c'}],'stop_reason':null}",
      .inputs = "1 complete 0 {'k':1};")

TEST(unfinished_event_at_the_end_is_noted_and_dropped)
{
    struct text stream = {0};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    story_stream(&stream, START END);
    T_EQ(weir_message_feed(m, stream.ptr, stream.len - 1), WEIR_OK);
    T_EQ(weir_message_end(m), WEIR_OUTCOME_MESSAGE);
    const struct weir_json *note = weir_json_first(weir_message_notes(m));
    T_EQ_STR(weir_json_text(weir_json_get_str(note, "code")), "unfinished_event");
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_json_next(note), "code")), "no_message_stop");
    weir_message_free(m);
    text_fini(&stream);
}

TEST(equal_notes_are_counted)
{
    struct text stream = {0};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    int64_t count = 0;
    story_stream(&stream, START SAY("7", "x"));
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    const struct weir_json *note = weir_json_first(weir_message_notes(m));
    T_OK(weir_json_get_str(note, "count") == NULL);
    stream.len = 0;
    story_stream(&stream, SAY("7", "x"));
    for (int i = 1; i < 100000; i++) T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ(weir_json_count(weir_message_notes(m)), 1);
    T_OK(weir_json_int64(weir_json_get_str(note, "count"), &count));
    T_EQ(count, 100000);
    weir_message_free(m);
    text_fini(&stream);
}

TEST(notes_name_what_they_are_about_and_are_bounded)
{
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    const struct weir_json *last = NULL;
    char data[32];
    for (int i = 0; i < 1000; i++) {
        int len = snprintf(data, sizeof data, "{\"type\":\"t%d\"}", i);
        struct weir_sse_event event = {.data = {data, (size_t)len}};
        T_EQ(weir_message_event(m, &event), WEIR_OK);
    }
    const struct weir_json *note = weir_json_first(weir_message_notes(m));
    T_EQ_STR(weir_json_text(weir_json_get_str(note, "name")), "t0");
    T_EQ(weir_json_count(weir_message_notes(m)), 65);
    for (; note; note = weir_json_next(note)) last = note;
    T_EQ_STR(weir_json_text(weir_json_get_str(last, "code")), "more_notes");
    weir_message_free(m);
}

TEST(numbers_lead_to_their_blocks)
{
    struct text stream = {0};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    story_stream(&stream, START TOOL("5") TOOL("1") JSON("1", "[") STOP("1"));
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_block(m, 0), "id")), "t5");
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_block(m, 1), "id")), "t1");
    T_OK(weir_message_block(m, 2) == NULL);
    T_OK(weir_message_choice(m, 0) == NULL);
    const struct weir_json *note = weir_json_first(weir_message_notes(m));
    T_EQ_STR(weir_json_text(weir_json_get_str(note, "id")), "t1");
    weir_message_free(m);
    text_fini(&stream);
}

TEST(huge_error_is_an_error_all_the_same)
{
    struct text events = {0};
    struct text stream = {0};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    text_printf(&events, "error {'type':'error','error':{'type':'t','message':'");
    for (int i = 0; i < 1000000; i++) text_add(&events, "\xc3\xa4", 2);
    text_printf(&events, "'},'request_id':'r'}\n%c", 0);
    story_stream(&stream, events.ptr);
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ(weir_message_end(m), WEIR_OUTCOME_ERROR);
    const struct weir_json *error = weir_message_error(m);
    struct weir_slice text = weir_json_text(weir_json_get_str(error, "message"));
    T_EQ_STR(weir_json_text(weir_json_get_str(error, "type")), "t");
    T_OK(text.len > 100 && text.len % 2 == 0);
    weir_message_free(m);
    text_fini(&events);
    text_fini(&stream);
}

TEST(input_state_of_no_such_block_is_none)
{
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    size_t offset = 5;
    T_EQ(weir_message_input_state(m, 0, &offset), WEIR_INPUT_NONE);
    T_EQ(weir_message_input_state(m, SIZE_MAX, NULL), WEIR_INPUT_NONE);
    T_OK(!weir_message_input(m, 0) && !weir_message_input(m, SIZE_MAX));
    weir_message_free(m);
    weir_message_free(NULL);
}

TEST(input_is_open_until_its_block_stops)
{
    struct text stream = {0};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    story_stream(&stream, START TOOL("0") JSON("0", "{\\u0022a\\u0022:\\u0022x"));
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ(weir_message_input_state(m, 0, NULL), WEIR_INPUT_OPEN);
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_input(m, 0), "a")), "x");
    weir_message_free(m);
    text_fini(&stream);
}

/* ---- callbacks ---- */

#define ALL_KINDS                                                                                  \
    START THINKING("0") DELTA("0", "{'type':'thinking_delta','thinking':'hm'}")                    \
        DELTA("0", "{'type':'signature_delta','signature':'sig'}") STOP("0") TEXT("1")             \
            SAY("1", "a\\ud83d") SAY("1", "\\ude80")                                               \
                DELTA("1", "{'type':'citations_delta','citation':{'n':1}}") STOP("1") TOOL("2")    \
                    JSON("2", "") JSON("2", "{\\u0022k\\u0022:1") JSON("2", "}") STOP("2") END

TEST(callbacks_come_in_order_with_their_arguments)
{
    struct text stream = {0};
    struct text got = {0};
    struct cut cut;
    story_stream(&stream, ALL_KINDS);
    cut_from_byte(&cut, 0);
    transcript_message(&got, WEIR_ANTHROPIC, text_slice(&stream), &cut, NULL);
    struct weir_slice head = text_slice(&got);
    const char *want = "thinking 0 'hm' of 2\n"
                       "signature 0 'sig'\n"
                       "content_block 0 "
                       "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"}\n"
                       "text 1 'a' of 1\n"
                       "text 1 '\\xf0\\x9f\\x9a\\x80' of 5\n"
                       "citation 1 {\"n\":1}\n"
                       "content_block 1 {\"type\":\"text\",\"text\":\"a\xf0\x9f\x9a\x80\","
                       "\"citations\":[{\"n\":1}]}\n"
                       "input_json 2 '' {}\n"
                       "input_json 2 '{\"k\":1' {}\n"
                       "input_json 2 '}' {\"k\":1}\n"
                       "content_block 2 {\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"f\","
                       "\"input\":{\"k\":1}}\n"
                       "message\n"
                       "end\n"
                       "fed ok\n";
    if (head.len > strlen(want)) head.len = strlen(want);
    T_EQ_STR(head, want);
    text_fini(&stream);
    text_fini(&got);
}

TEST(stream_may_be_freed_from_any_callback)
{
    story_free_in_callbacks(WEIR_ANTHROPIC, ALL_KINDS);
    story_free_in_callbacks(WEIR_ANTHROPIC,
                            START TEXT("0")
                                SAY("0", "a") "error {'type':'error','error':{'type':'e'}}\n");
    story_free_in_callbacks(WEIR_ANTHROPIC, START TEXT("0") SAY("0", "a") SAY("0", "b"));
}

TEST(every_failing_allocation_is_reported)
{
    story_fail_allocations(WEIR_ANTHROPIC, ALL_KINDS);
    story_fail_allocations(
        WEIR_ANTHROPIC,
        START TEXT("1") TEXT("0")
            SAY("7", "x") "error {'type':'error','error':{'type':'e'},'request_id':'r'}\n");
}

/* ---- events, limits, work ---- */

TEST(events_of_another_decoder_are_taken)
{
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    struct weir_sse_event start = {SLICE("message_start"),
                                   SLICE("{\"message\":{\"id\":\"m\",\"content\":[]}}"), SLICE("")};
    struct weir_sse_event stop = {SLICE("message"), SLICE("{\"type\":\"message_stop\"}"),
                                  SLICE("")};
    T_EQ(weir_message_event(m, &start), WEIR_OK);
    T_EQ(weir_message_event(m, &stop), WEIR_OK);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_MESSAGE);
    T_EQ(weir_message_event(m, &start), WEIR_OK);
    weir_message_free(m);
}

static void expect_limit(const struct weir_message_limits *limits, const char *events,
                         enum weir_status want)
{
    struct text stream = {0};
    struct text first = {0};
    story_stream(&stream, events);
    for (int way = 0; way < 20; way++) {
        struct text got = {0};
        struct cut cut;
        cut_from_byte(&cut, (uint8_t)(way < 10 ? way : 128 + way));
        transcript_message(&got, WEIR_ANTHROPIC, text_slice(&stream), &cut, limits);
        if (way == 0) text_add(&first, got.ptr, got.len);
        T_EQ_SLICE(text_slice(&got), text_slice(&first));
        text_add_char(&got, 0);
        char line[80];
        snprintf(line, sizeof line, "fed %s\noutcome error\n", weir_status_name(want));
        T_OK(strstr(got.ptr, line) != NULL);
        snprintf(line, sizeof line, "{\"code\":\"%s\",\"type\":null,", weir_status_name(want));
        T_OK(strstr(got.ptr, line) != NULL);
        text_fini(&got);
    }
    text_fini(&stream);
    text_fini(&first);
}

TEST(limits_become_the_outcome_in_any_cutting)
{
    struct weir_message_limits line = {.sse.max_line_bytes = 400};
    struct weir_message_limits event = {.sse.max_event_bytes = 400};
    struct weir_message_limits bytes = {.max_message_bytes = 64 << 10};
    struct text long_text = {0};
    struct text events = {0};
    for (int i = 0; i < 40; i++) text_printf(&long_text, "0123456789");
    text_printf(&events, "%s", START TEXT("0"));
    text_printf(&events, "content_block_delta {'type':'content_block_delta','index':0,'delta':");
    text_printf(&events, "{'type':'text_delta','text':'%.*s'}}\n", (int)long_text.len,
                long_text.ptr);
    text_add_char(&events, 0);
    expect_limit(&line, events.ptr, WEIR_LINE_TOO_LONG);
    expect_limit(&event, events.ptr, WEIR_EVENT_TOO_LONG);
    events.len = 0;
    text_printf(&events, "%s", START TEXT("0"));
    for (int i = 0; i < 400; i++) {
        text_printf(&events,
                    "content_block_delta {'type':'content_block_delta','index':0,'delta':");
        text_printf(&events, "{'type':'text_delta','text':'%.*s'}}\n", (int)long_text.len,
                    long_text.ptr);
    }
    text_add_char(&events, 0);
    expect_limit(&bytes, events.ptr, WEIR_LIMIT);
    text_fini(&events);
    text_fini(&long_text);
}

TEST(number_of_blocks_is_bounded)
{
    struct weir_message_limits limits = {.max_blocks = 2};
    expect_limit(&limits, START TEXT("0") TEXT("1") SAY("1", "a") TEXT("2"), WEIR_LIMIT);
}

TEST(limit_is_returned_once_and_the_message_stays_readable)
{
    struct weir_message_limits limits = {.sse.max_line_bytes = 400};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, &limits);
    struct text stream = {0};
    story_stream(&stream, START TEXT("0") SAY("0", "a"));
    for (int i = 0; i < 401; i++) text_add_char(&stream, 'x');
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_LINE_TOO_LONG);
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_ERROR);
    T_EQ(weir_json_count(weir_json_get_str(weir_message_value(m), "content")), 1);
    weir_message_free(m);
    text_fini(&stream);
}

TEST(depth_of_events_and_inputs_is_bounded)
{
    struct weir_message_limits limits = {.max_depth = 4};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, &limits);
    struct text stream = {0};
    story_stream(&stream, START TOOL("0") JSON("0", "[[[[[1]]]]]") STOP("0"));
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    size_t offset = 0;
    T_EQ(weir_message_input_state(m, 0, &offset), WEIR_INPUT_INVALID);
    T_EQ(offset, 4);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_OPEN);
    stream.len = 0;
    story_stream(&stream, BLOCK("1", "{'type':'x','y':[[[[1]]]]}"));
    (void)!weir_message_feed(m, stream.ptr, stream.len);
    T_EQ(weir_message_end(m), WEIR_OUTCOME_ERROR);
    weir_message_free(m);
    text_fini(&stream);
}

/* A copy of all text for each delta would need 5 GB here, of the whole input 1 GB. */
TEST(long_answers_in_small_deltas_take_linear_memory)
{
    struct weir_message_limits limits = {.max_message_bytes = 8 << 20};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, &limits);
    struct text stream = {0};
    struct text delta = {0};
    story_stream(&stream, START TEXT("0") TOOL("1") JSON("1", "\\u0022"));
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    story_stream(&delta, SAY("0", "ten bytes.") JSON("1", "ten bytes.") "ping {'type':'ping'}\n");
    for (int i = 0; i < 30000; i++) T_EQ(weir_message_feed(m, delta.ptr, delta.len), WEIR_OK);
    const struct weir_json *text =
        weir_json_first(weir_json_get_str(weir_message_value(m), "content"));
    T_EQ(weir_json_text(weir_json_get_str(text, "text")).len, 300000);
    T_EQ(weir_json_text(weir_message_input(m, 1)).len, 300000);
    weir_message_free(m);
    text_fini(&stream);
    text_fini(&delta);
}

/* ---- recorded samples ---- */

static const char *const samples[] = {
    "beta_mcp_tool",   "citations",  "empty_stream",       "error_first",      "events_after_stop",
    "midstream_error", "text_basic", "thinking_signature", "tool_use_chunked", "tool_use_no_input"};

static const struct weir_json *read_expected(struct weir_json_doc *doc, const char *dir,
                                             const char *name)
{
    char path[512];
    const struct weir_json *v = NULL;
    snprintf(path, sizeof path, "%s/messages/%s.expected.json", dir, name);
    T_EQ(weir_json_parse(doc, t_read_file(path), &v, NULL), WEIR_OK);
    return v;
}

static void check_sample(const struct weir_json *expected, struct weir_slice stream,
                         struct cut *cut)
{
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    struct weir_slice piece;
    while (cut_take(cut, &stream, &piece))
        T_EQ(weir_message_feed(m, piece.ptr, piece.len), WEIR_OK);
    cut_fini(cut);
    bool is_error = weir_message_end(m) == WEIR_OUTCOME_ERROR;
    const struct weir_json *want =
        weir_json_get_str(expected, is_error ? "snapshot" : "final_message");
    T_EQ_STR(weir_json_text(weir_json_get_str(expected, "outcome")),
             is_error ? "error" : "message");
    if (weir_json_type_of(want) == WEIR_JSON_NULL) T_OK(!weir_message_value(m));
    else T_OK(transcript_same(weir_message_value(m), want, false));
    const struct weir_json *error = weir_json_get_str(expected, "error");
    T_OK(transcript_same(weir_json_get_str(weir_message_error(m), "type"),
                         weir_json_get_str(error, "type"), true));
    weir_message_free(m);
}

TEST(recorded_streams_give_the_recorded_messages)
{
    const char *dir = t_samples_dir();
    if (!dir) {
        t_skip("the samples folder is not on this machine");
        return;
    }
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char path[512];
        struct cut cut;
        struct weir_json_doc *doc = weir_json_doc_new(0);
        const struct weir_json *expected = read_expected(doc, dir, samples[i]);
        snprintf(path, sizeof path, "%s/messages/%s.sse", dir, samples[i]);
        struct weir_slice stream = t_read_file(path);
        for (size_t n = 0; n < 400 && cut_nth(&cut, n, stream.len); n++)
            check_sample(expected, stream, &cut);
        for (int way = 1; way < 256; way += 3) {
            cut_from_byte(&cut, (uint8_t)way);
            check_sample(expected, stream, &cut);
        }
        weir_json_doc_free(doc);
    }
}

/* Callbacks see whole characters, and together all of the text and input. */
struct seen {
    struct weir_buf text;
    struct weir_buf input;
    size_t n_bad;
};

static void add_piece(struct seen *seen, struct weir_buf *to, struct weir_slice piece)
{
    if (utf8_valid_prefix(piece) < piece.len) seen->n_bad++;
    weir_buf_append_slice(to, piece);
}

static void see_text(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct seen *seen = user;
    (void)block;
    add_piece(seen, &seen->text, delta);
    T_EQ_SLICE(weir_buf_slice(&seen->text), all);
}

static void see_input(void *user, size_t block, struct weir_slice delta,
                      const struct weir_json *value)
{
    struct seen *seen = user;
    (void)block, (void)value;
    add_piece(seen, &seen->input, delta);
}

TEST(callbacks_never_see_half_a_character)
{
    static const struct weir_message_handlers handlers = {.on_text = see_text,
                                                          .on_input_json = see_input};
    struct seen seen = {.n_bad = 0};
    struct text stream = {0};
    weir_buf_init(&seen.text, 4096);
    weir_buf_init(&seen.input, 4096);
    story_stream(&stream, START TEXT("0") SAY("0", "x\\ud83d") SAY("0", "\\ude80y\\ud83d")
                              SAY("0", "\\ude80") TOOL("1") JSON("1", "[\\u0022\\ud83d")
                                  JSON("1", "\\ude80\\u0022]") STOP("0") STOP("1") END);
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, &handlers, &seen, NULL);
    struct weir_slice bytes = text_slice(&stream);
    T_EQ(weir_message_feed(m, bytes.ptr, bytes.len), WEIR_OK);
    T_EQ(seen.n_bad, 0);
    T_EQ_STR(weir_buf_slice(&seen.text), "x\xf0\x9f\x9a\x80y\xf0\x9f\x9a\x80");
    T_EQ_STR(weir_buf_slice(&seen.input), "[\"\xf0\x9f\x9a\x80\"]");
    weir_message_free(m);
    weir_buf_fini(&seen.text);
    weir_buf_fini(&seen.input);
    text_fini(&stream);
}

static void see_number(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    (void)all;
    weir_buf_printf(user, "%zu%.*s ", block, (int)delta.len, delta.ptr);
}

TEST(block_numbers_do_not_change_when_a_lower_index_begins)
{
    static const struct weir_message_handlers handlers = {.on_text = see_number};
    struct weir_buf seen;
    struct text stream = {0};
    weir_buf_init(&seen, 4096);
    story_stream(&stream, START TEXT("5") SAY("5", "five") TEXT("1") SAY("1", "one") SAY("5", "!"));
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, &handlers, &seen, NULL);
    struct weir_slice bytes = text_slice(&stream);
    T_EQ(weir_message_feed(m, bytes.ptr, bytes.len), WEIR_OK);
    T_EQ_STR(weir_buf_slice(&seen), "0five 1one 0! ");
    const struct weir_json *content = weir_json_get_str(weir_message_value(m), "content");
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_json_first(content), "text")), "one");
    weir_message_free(m);
    weir_buf_fini(&seen);
    text_fini(&stream);
}

TEST(no_input_stays_open_after_a_failure)
{
    struct weir_message_limits limits = {.max_message_bytes = 16384};
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, &limits);
    struct text stream = {0};
    story_stream(&stream, START TOOL("0") JSON("0", "[1,"));
    struct weir_slice bytes = text_slice(&stream);
    T_EQ(weir_message_feed(m, bytes.ptr, bytes.len), WEIR_OK);
    T_EQ(weir_message_input_state(m, 0, NULL), WEIR_INPUT_OPEN);
    enum weir_status st = WEIR_OK;
    while (st == WEIR_OK) {
        text_fini(&stream);
        story_stream(&stream, JSON("0", "{},{},{},{},{},{},{},{},{},{},{},{},"));
        bytes = text_slice(&stream);
        st = weir_message_feed(m, bytes.ptr, bytes.len);
    }
    T_EQ(st, WEIR_LIMIT);
    T_OK(weir_message_input_state(m, 0, NULL) != WEIR_INPUT_OPEN);
    T_OK(weir_message_error(m) != NULL);
    weir_message_free(m);
    text_fini(&stream);
}

TEST(input_without_any_event_is_shown_in_the_error)
{
    struct weir_slice page = SLICE("{\"error\":{\"message\":\"bad key\"}}");
    struct weir_message *m = weir_message_new(WEIR_ANTHROPIC, NULL, NULL, NULL);
    T_EQ(weir_message_feed(m, page.ptr, page.len), WEIR_OK);
    T_EQ(weir_message_end(m), WEIR_OUTCOME_ERROR);
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_error(m), "code")), "stream_empty");
    T_EQ_SLICE(weir_json_text(weir_json_get_str(weir_message_error(m), "raw")), page);
    weir_message_free(m);
}
