/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAI dialect as several servers speak it: each rule as a small stream. */
#include <stdio.h>

#include "base/slice.h"
#include "oracle/story.h"
#include "oracle/transcript.h"
#include "t.h"

#define STORY(name, script, result, message, ...)                                                  \
    TEST(name)                                                                                     \
    {                                                                                              \
        const struct story story = {                                                               \
            .events = script, .outcome = result, .value = message, __VA_ARGS__};                   \
        story_check(WEIR_OPENAI, &story);                                                          \
    }

#define MESSAGE    WEIR_OUTCOME_MESSAGE
#define ERROR      WEIR_OUTCOME_ERROR
#define INCOMPLETE WEIR_OUTCOME_INCOMPLETE

#define CHUNK(choices)                                                                             \
    "{'id':'c1','object':'chat.completion.chunk','created':5,'model':'g','choices':[" choices "]}" \
    "\n"
#define DELTA(delta)   CHUNK("{'index':0,'delta':" delta ",'finish_reason':null}")
#define ROLE           DELTA("{'role':'assistant','content':''}")
#define SAY(text)      DELTA("{'content':'" text "'}")
#define CALL(call)     DELTA("{'tool_calls':[" call "]}")
#define FINISH(reason) CHUNK("{'index':0,'delta':{},'finish_reason':'" reason "'}")
#define DONE           "[DONE]\n"

/* The whole of one answer with these choices. */
#define WHOLE(choices)                                                                             \
    "{'id':'c1','object':'chat.completion','created':5,'model':'g','choices':[" choices "]}"
#define CHOICE(message, reason) "{'index':0,'message':" message ",'finish_reason':" reason "}"
#define TEXT(text)              "{'role':'assistant','content':" text "}"
#define CALLS(calls)            "{'role':'assistant','content':null,'tool_calls':[" calls "]}"
#define F(id, name, arguments)                                                                     \
    "{'id':'" id "','type':'function','function':{'name':'" name "','arguments':'" arguments "'}}"

/* ---- text ---- */

STORY(content_appends, ROLE SAY("Hel") SAY("") SAY("lo") FINISH("stop") DONE, MESSAGE,
      WHOLE(CHOICE(TEXT("'Hello'"), "'stop'")), .notes = "")
STORY(content_is_null_until_text_comes,
      DELTA("{'role':'assistant','content':null}") DELTA("{'role':'assistant'}") FINISH("stop")
          DONE,
      MESSAGE, WHOLE(CHOICE(TEXT("null"), "'stop'")), .notes = "")
STORY(empty_content_is_text, ROLE FINISH("stop") DONE, MESSAGE, WHOLE(CHOICE(TEXT("''"), "'stop'")),
      .notes = "")
STORY(null_content_after_text_keeps_it, SAY("a") DELTA("{'content':null}") FINISH("stop") DONE,
      MESSAGE, WHOLE(CHOICE(TEXT("'a'"), "'stop'")), .notes = "")
STORY(refusal_and_reasoning_append,
      DELTA("{'refusal':'I '}") DELTA("{'refusal':'must not'}") DELTA("{'reasoning':'a'}")
          DELTA("{'reasoning':'b'}") DELTA("{'reasoning_content':'c'}")
              DELTA("{'reasoning_content':'d'}") FINISH("stop") DONE,
      MESSAGE,
      WHOLE(CHOICE("{'role':'assistant','content':null,'refusal':'I must not','reasoning':'ab',"
                   "'reasoning_content':'cd'}",
                   "'stop'")),
      .notes = "")
STORY(surrogate_halves_in_two_deltas_join,
      SAY("x\\ud83d") SAY("") SAY("\\ude80y") DELTA("{'reasoning':'\\ud83d'}")
          DELTA("{'reasoning':'\\ude80'}") FINISH("stop") DONE,
      MESSAGE,
      WHOLE(CHOICE("{'role':'assistant','content':'x\xf0\x9f\x9a\x80y',"
                   "'reasoning':'\xf0\x9f\x9a\x80'}",
                   "'stop'")))
STORY(half_a_pair_at_the_finish_is_kept, SAY("x\\ud83d") FINISH("stop") DONE, MESSAGE,
      WHOLE(CHOICE(TEXT("'x\\ud83d'"), "'stop'")))
STORY(text_in_the_finishing_chunk_counts,
      CHUNK("{'index':0,'delta':{'content':'all'},'finish_reason':'stop'}") DONE, MESSAGE,
      WHOLE(CHOICE(TEXT("'all'"), "'stop'")), .notes = "")

STORY(empty_finish_reason_is_none_yet,
      CHUNK("{'index':0,'delta':{'content':'a'},'finish_reason':''}"), INCOMPLETE,
      WHOLE(CHOICE(TEXT("'a'"), "null")), .notes = "")
STORY(parts_of_content_are_text_and_thoughts,
      DELTA("{'content':[{'type':'thinking','thinking':[{'type':'text','text':'hm'}]}]}")
          DELTA("{'content':[{'type':'text','text':'a'},{'type':'x'},{'type':'text','text':'b'}]}")
              FINISH("stop") DONE,
      MESSAGE,
      WHOLE(CHOICE("{'role':'assistant','content':'ab','reasoning_content':'hm'}", "'stop'")),
      .notes = "unknown_part ")
STORY(lists_are_extended_and_sound_is_joined,
      DELTA("{'annotations':[1],'audio':{'id':'a','data':'x','transcript':'he'}}")
          DELTA("{'annotations':[2,3],'audio':{'data':'y','transcript':'llo','expires_at':9}}")
              FINISH("stop") DONE,
      MESSAGE,
      WHOLE(CHOICE("{'role':'assistant','content':null,'annotations':[1,2,3],"
                   "'audio':{'id':'a','data':'xy','transcript':'hello','expires_at':9}}",
                   "'stop'")),
      .notes = "")
STORY(member_with_two_values_keeps_the_first_and_is_noted,
      DELTA("{'odd':'a'}") DELTA("{'odd':'b'}") FINISH("stop") DONE, MESSAGE,
      WHOLE(CHOICE("{'role':'assistant','content':null,'odd':'a'}", "'stop'")),
      .notes = "member_not_joined ")

/* ---- the frame ---- */

STORY(empty_first_values_give_way,
      "{'id':'','object':'','created':0,'model':'','choices':[],'prompt_filter_results':[1]}\n" SAY(
          "a") FINISH("stop") DONE,
      MESSAGE,
      "{'id':'c1','object':'chat.completion','created':5,'model':'g','prompt_filter_results':[1],"
      "'choices':[" CHOICE(TEXT("'a'"), "'stop'") "]}",
      .notes = "")
STORY(members_of_a_choice_are_kept,
      CHUNK("{'index':0,'delta':{},'finish_reason':null,'stop_reason':null}")
          CHUNK("{'index':0,'delta':{},'finish_reason':'stop','stop_reason':7}") DONE,
      MESSAGE,
      WHOLE("{'index':0,'message':{'role':'assistant','content':null},'finish_reason':'stop',"
            "'stop_reason':7}"),
      .notes = "")
STORY(choices_are_listed_by_their_index,
      CHUNK("{'index':1,'delta':{'content':'b'},'finish_reason':'stop'}")
          CHUNK("{'index':0,'delta':{'content':'a'},'finish_reason':'stop'}") DONE,
      MESSAGE,
      WHOLE(CHOICE(TEXT("'a'"), "'stop'") ",{'index':1,'message':" TEXT("'b'") ",'finish_reason':"
                                                                               "'stop'}"),
      .notes = "")
STORY(refusal_probabilities_form_a_list_too,
      CHUNK("{'index':0,'delta':{},'logprobs':{'content':null,'refusal':[1]}}")
          CHUNK("{'index':0,'delta':{},'logprobs':{'content':[2],'refusal':[3]}}")
              CHUNK("{'index':0,'delta':{},'logprobs':null,'finish_reason':'stop'}") DONE,
      MESSAGE,
      WHOLE("{'index':0,'message':{'role':'assistant','content':null},'finish_reason':'stop',"
            "'logprobs':{'content':[2],'refusal':[1,3]}}"),
      .notes = "")
STORY(error_that_says_nothing_is_none,
      "{'id':'c1','object':'x','created':5,'model':'g','error':false,'choices':[]}\n" SAY("a")
          FINISH("stop") DONE,
      MESSAGE, WHOLE(CHOICE(TEXT("'a'"), "'stop'")), .notes = "")
STORY(error_event_that_is_not_json_keeps_its_text, "error Internal Server Error\n", ERROR, "-",
      .error = "{'code':'stream_error','type':null,'message':'Internal Server Error'}")

/* ---- more ways to tell tool calls apart ---- */

STORY(whole_calls_without_id_at_one_index_are_two,
      CALL("{'index':0,'function':{'name':'f','arguments':'{}'}}")
          CALL("{'index':0,'function':{'name':'g','arguments':'{\\u0022a\\u0022:1}'}}")
              FINISH("tool_calls") DONE,
      MESSAGE,
      WHOLE(CHOICE(CALLS("{'id':null,'type':'function','function':{'name':'f','arguments':'{}'}},"
                         "{'id':null,'type':'function','function':{'name':'g','arguments':"
                         "'{\\'a\\':1}'}}"),
                   "'tool_calls'")),
      .notes = "")
STORY(name_grows_in_pieces_or_is_repeated,
      CALL("{'index':0,'id':'a','function':{'name':'get_'}}")
          CALL("{'index':0,'function':{'name':'weather'}}")
              CALL("{'index':0,'function':{'name':'get_weather'}}")
                  CALL("{'index':0,'function':{'name':'get_weather','arguments':'{}'}}")
                      FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "get_weather", "{}")), "'tool_calls'")), .notes = "")
STORY(members_of_a_call_are_kept,
      CALL("{'index':0,'id':'a','type':'function','extra_content':{'google':{'s':'t'}},"
           "'function':{'name':'f','arguments':'{}'}}") FINISH("tool_calls") DONE,
      MESSAGE,
      WHOLE(CHOICE(CALLS("{'id':'a','type':'function','function':{'name':'f','arguments':'{}'},"
                         "'extra_content':{'google':{'s':'t'}}}"),
                   "'tool_calls'")),
      .notes = "")
STORY(function_call_of_old_grows,
      DELTA("{'role':'assistant','content':null,'function_call':{'name':'f','arguments':''}}")
          DELTA("{'function_call':{'arguments':'{\\u0022a\\u0022'}}")
              DELTA("{'function_call':{'arguments':':1}'}}") FINISH("function_call") DONE,
      MESSAGE,
      WHOLE(CHOICE("{'role':'assistant','content':null,'function_call':{'name':'f','arguments':"
                   "'{\\'a\\':1}'}}",
                   "'function_call'")),
      .notes = "", .inputs = "0 complete 0 {'a':1};")

STORY(call_cut_before_its_arguments_is_truncated,
      CALL("{'index':0,'id':'a','function':{'name':'rm','arguments':''}}"), INCOMPLETE,
      WHOLE(CHOICE(CALLS(F("a", "rm", "")), "null")), .notes = "tool_input_truncated ",
      .inputs = "0 truncated 0 -;")
STORY(call_without_arguments_is_whole_when_its_choice_finishes,
      CALL("{'index':0,'id':'a','function':{'name':'now','arguments':''}}") FINISH("tool_calls")
          DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "now", "")), "'tool_calls'")), .notes = "",
      .inputs = "0 complete 0 {};")
STORY(id_that_changes_with_every_piece_is_one_call,
      CALL("{'index':0,'id':'c1','function':{'name':'f','arguments':''}}")
          CALL("{'index':0,'id':'c2','function':{'arguments':'{'}}")
              CALL("{'index':0,'id':'c3','function':{'arguments':'}'}}") FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("c1", "f", "{}")), "'tool_calls'")), .notes = "")
STORY(pieces_of_two_ids_at_one_index_interleave,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'['}}")
          CALL("{'index':0,'id':'b','function':{'name':'g','arguments':'['}}")
              CALL("{'index':0,'id':'a','function':{'arguments':'1]'}}")
                  CALL("{'index':0,'id':'b','function':{'arguments':'2]'}}") FINISH("tool_calls")
                      DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "[1]") "," F("b", "g", "[2]")), "'tool_calls'")),
      .notes = "")
STORY(second_call_without_id_and_arguments_is_one_of_its_own,
      CALL("{'index':0,'function':{'name':'f','arguments':'{}'}}")
          CALL("{'index':0,'function':{'name':'g','arguments':''}}") FINISH("tool_calls") DONE,
      MESSAGE,
      WHOLE(CHOICE(CALLS("{'id':null,'type':'function','function':{'name':'f','arguments':'{}'}},"
                         "{'id':null,'type':'function','function':{'name':'g','arguments':''}}"),
                   "'tool_calls'")),
      .notes = "")
STORY(arguments_of_any_type_are_written_out,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':[1]}}") FINISH("tool_calls")
          DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "[1]")), "'tool_calls'")), .notes = "",
      .inputs = "0 complete 0 [1];")
STORY(input_of_a_custom_tool_is_joined,
      CALL("{'index':0,'id':'a','type':'custom','custom':{'name':'sh','input':'l'}}")
          CALL("{'index':0,'custom':{'input':'s'}}") FINISH("tool_calls") DONE,
      MESSAGE,
      WHOLE(CHOICE(CALLS("{'id':'a','type':'custom','custom':{'name':'sh','input':'ls'}}"),
                   "'tool_calls'")),
      .notes = "", .inputs = "")
STORY(stray_call_beside_a_function_call_does_no_harm,
      DELTA("{'function_call':{'name':'f','arguments':'{'},'tool_calls':[{'arguments':[],"
            "'function':{'arguments':'x'}}]}") DELTA("{'function_call':{'arguments':'}'}}")
          FINISH("stop") DONE,
      MESSAGE, NULL, .notes = "tool_input_invalid ")
STORY(late_pieces_do_no_harm,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{}'}}") FINISH("tool_calls")
          CALL("{'index':0,'id':'a','function':{'arguments':'x'}}")
              DELTA("{'role':'assistant','content':null}") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{}")), "'tool_calls'")), .notes = "late_delta ")

/* ---- members, again ---- */

STORY(equal_pieces_are_pieces_all_the_same,
      CHUNK("{'index':0,'delta':{'content':'a','audio':{'data':'AA'}},'logprobs':{'content':[1]}}")
          CHUNK("{'index':0,'delta':{'content':'a','audio':{'data':'AA'}},'logprobs':{'content':"
                "[1]}}") FINISH("stop") DONE,
      MESSAGE,
      WHOLE("{'index':0,'message':{'role':'assistant','content':'aa','audio':{'data':'AAAA'}},"
            "'finish_reason':'stop','logprobs':{'content':[1,1]}}"),
      .notes = "")
STORY(
    list_sent_whole_each_time_is_not_doubled,
    "{'id':'c1','object':'x','created':5,'model':'g','citations':['u'],'choices':[]}\n"
    "{'id':'c1','object':'x','created':5,'model':'g','citations':['u','v'],'choices':[]}\n" FINISH(
        "stop") DONE,
    MESSAGE,
    "{'id':'c1','object':'chat.completion','created':5,'model':'g','citations':['u','v'],"
    "'choices':[" CHOICE(TEXT("null"), "'stop'") "]}",
    .notes = "")
STORY(lists_of_a_choice_are_extended,
      CHUNK("{'index':0,'delta':{},'token_ids':[1]}")
          CHUNK("{'index':0,'delta':{},'token_ids':[2],'finish_reason':'stop'}") DONE,
      MESSAGE,
      WHOLE("{'index':0,'message':{'role':'assistant','content':null},'finish_reason':'stop',"
            "'token_ids':[1,2]}"),
      .notes = "")
STORY(what_differs_from_chunk_to_chunk_is_no_oddity,
      "{'id':'c1','object':'x','created':5,'model':'g','obfuscation':'q','choices':[]}\n"
      "{'id':'c2','object':'x','created':6,'model':'h','obfuscation':'r','choices':[]}\n" FINISH(
          "stop") DONE,
      MESSAGE, WHOLE(CHOICE(TEXT("null"), "'stop'")), .notes = "")
STORY(objects_of_a_chunk_are_as_they_last_came,
      "{'id':'c1','object':'x','created':5,'model':'g','timings':{'n':1},'choices':[]}\n"
      "{'id':'c1','object':'x','created':5,'model':'g','timings':{'n':2},'choices':[]}\n" FINISH(
          "stop") DONE,
      MESSAGE,
      "{'id':'c1','object':'chat.completion','created':5,'model':'g','timings':{'n':2},"
      "'choices':[" CHOICE(TEXT("null"), "'stop'") "]}",
      .notes = "")
STORY(whole_message_in_one_chunk_is_taken,
      CHUNK("{'index':0,'message':{'role':'assistant','content':'hello'},'finish_reason':'stop'}")
          DONE,
      MESSAGE, WHOLE(CHOICE(TEXT("'hello'"), "'stop'")), .notes = "")
STORY(an_object_where_a_list_must_be_is_none,
      DELTA("{'tool_calls':{'index':0,'function':{'name':'f'}}}") FINISH("stop") DONE, MESSAGE,
      WHOLE(CHOICE(TEXT("null"), "'stop'")), .notes = "")

/* ---- the frame, goes on ---- */

STORY(unknown_members_are_kept,
      "{'id':'c1','object':'chat.completion.chunk','created':5,'model':'g','system_fingerprint':"
      "'fp','choices':[{'index':0,'delta':{'role':'assistant','content':'a','new':[1]},"
      "'finish_reason':null}]}\n" FINISH("stop") DONE,
      MESSAGE,
      "{'id':'c1','object':'chat.completion','created':5,'model':'g','system_fingerprint':'fp',"
      "'choices':[{'index':0,'message':{'role':'assistant','content':'a','new':[1]},"
      "'finish_reason':'stop'}]}",
      .notes = "")
STORY(several_choices_are_told_apart,
      CHUNK("{'index':0,'delta':{'content':'a'}},{'index':1,'delta':{'content':'x'}}")
          CHUNK("{'index':1,'delta':{'content':'y'},'finish_reason':'length'}") SAY("b")
              FINISH("stop") DONE,
      MESSAGE,
      WHOLE(CHOICE(TEXT("'ab'"), "'stop'") ",{'index':1,'message':{'role':'assistant',"
                                           "'content':'xy'},'finish_reason':'length'}"),
      .notes = "")
STORY(numbers_keep_their_text,
      "{'id':'c1','object':'chat.completion.chunk','created':12345678901234567890,'model':'g',"
      "'choices':[{'index':0,'delta':{'content':'a'},'finish_reason':'stop'}],"
      "'usage':{'total_tokens':1E+2}}\n" DONE,
      MESSAGE,
      "{'id':'c1','object':'chat.completion','created':12345678901234567890,'model':'g','choices':"
      "[" CHOICE(TEXT("'a'"), "'stop'") "],'usage':{'total_tokens':1E+2}}")
STORY(usage_chunk_with_empty_choices_merges,
      "{'id':'c1','object':'chat.completion.chunk','created':5,'model':'g','choices':[{'index':0,"
      "'delta':{'content':'a'},'finish_reason':'stop'}],'usage':null}\n"
      "{'id':'c1','object':'chat.completion.chunk','created':5,'model':'g','choices':[],"
      "'usage':{'prompt_tokens':3,'total_tokens':4,'x':null}}\n" DONE,
      MESSAGE,
      "{'id':'c1','object':'chat.completion','created':5,'model':'g','choices':[" CHOICE(
          TEXT("'a'"), "'stop'") "],'usage':{'prompt_tokens':3,'total_tokens':4}}",
      .notes = "")
STORY(usage_is_overwritten_as_it_grows,
      "{'id':'c1','choices':[],'usage':{'a':1,'b':1}}\n"
      "{'id':'c1','choices':[{'index':0,'delta':{},'finish_reason':'stop'}],"
      "'usage':{'a':2,'b':null}}\n" DONE,
      MESSAGE,
      "{'id':'c1','object':'chat.completion','choices':[" CHOICE(
          TEXT("null"), "'stop'") "],'usage':{'a':2,'b':1}}")
STORY(comments_are_ignored, ": ping\n" SAY("a") ":\n" FINISH("stop") DONE, MESSAGE,
      WHOLE(CHOICE(TEXT("'a'"), "'stop'")), .notes = "")

/* ---- the end ---- */

STORY(done_after_all_have_finished_is_a_message_and_later_events_are_ignored,
      SAY("a") FINISH("stop") DONE SAY("late") "{'error':{'message':'late'}}\n", MESSAGE,
      WHOLE(CHOICE(TEXT("'a'"), "'stop'")), .error = "-", .notes = "")
STORY(done_without_finish_reason_is_incomplete, SAY("a") DONE, INCOMPLETE,
      WHOLE(CHOICE(TEXT("'a'"), "null")), .error = "-")
STORY(done_while_one_choice_is_open_is_incomplete,
      CHUNK("{'index':0,'delta':{'content':'a'},'finish_reason':'stop'},"
            "{'index':1,'delta':{'content':'b'},'finish_reason':null}") DONE,
      INCOMPLETE, NULL)
STORY(done_alone_is_incomplete, DONE, INCOMPLETE, NULL)
STORY(finish_reason_then_end_of_input_is_a_message_with_a_note, SAY("a") FINISH("stop"), MESSAGE,
      WHOLE(CHOICE(TEXT("'a'"), "'stop'")), .notes = "no_done ")
STORY(end_of_input_without_finish_reason_is_incomplete, SAY("a"), INCOMPLETE,
      WHOLE(CHOICE(TEXT("'a'"), "null")), .error = "-")
STORY(no_event_at_all_is_an_error, "", ERROR, "-", "{'code':'stream_empty','type':null}")

TEST(outcome_is_known_at_done)
{
    struct text stream = {0};
    struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, NULL);
    story_stream(&stream, SAY("a") FINISH("stop"));
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_OPEN);
    T_EQ(weir_message_feed(m, "data: [DONE]\n\n", 14), WEIR_OK);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_MESSAGE);
    weir_message_free(m);
    text_fini(&stream);
}

/* ---- errors ---- */

STORY(error_on_a_chunk_ends_the_stream_and_keeps_the_message,
      SAY("part") "{'error':{'type':'server_error','message':'boom','code':500}}\n" SAY("x")
          FINISH("stop") DONE,
      ERROR, WHOLE(CHOICE(TEXT("'part'"), "null")),
      "{'code':'stream_error','type':'server_error','message':'boom',"
      "'raw':{'error':{'type':'server_error','message':'boom','code':500}}}")
STORY(error_beside_choices_is_an_error,
      "{'id':'c1','choices':[],'error':{'message':'boom'}}\n" DONE, ERROR, NULL,
      "{'code':'stream_error','type':null,'message':'boom'}")
STORY(error_as_text_is_an_error, "{'error':'out of memory'}\n", ERROR, "-",
      "{'code':'stream_error','type':null,'message':'out of memory'}")
STORY(error_object_of_vllm_is_an_error,
      SAY("a") "{'object':'error','message':'too long','type':'BadRequestError','code':400}\n" DONE,
      ERROR, WHOLE(CHOICE(TEXT("'a'"), "null")),
      "{'code':'stream_error','type':'BadRequestError','message':'too long'}")
STORY(error_may_be_a_named_event, "error {'error':{'message':'boom','type':'t'}}\n", ERROR, "-",
      "{'code':'stream_error','type':'t','message':'boom'}")
STORY(null_error_is_none,
      "{'id':'c1','error':null,'choices':[{'index':0,'delta':{'content':'a'},'finish_reason':"
      "'stop'}]}\n" DONE,
      MESSAGE, NULL)

/* ---- tool calls ---- */

STORY(tool_calls_join_by_index,
      ROLE CALL("{'index':0,'id':'a','type':'function','function':{'name':'f','arguments':''}}")
          CALL("{'index':0,'function':{'arguments':'{\\u0022x\\u0022:'}}")
              CALL("{'index':1,'id':'b','type':'function','function':{'name':'g','arguments':'{'}}")
                  CALL("{'index':0,'function':{'arguments':'1}'}},"
                       "{'index':1,'function':{'arguments':'}'}}") FINISH("tool_calls") DONE,
      MESSAGE,
      WHOLE(CHOICE("{'role':'assistant','content':'','tool_calls':[" F(
                       "a", "f", "{\\u0022x\\u0022:1}") "," F("b", "g", "{}") "]}",
                   "'tool_calls'")),
      .notes = "", .inputs = "0 complete 0 {'x':1};1 complete 0 {};")
STORY(new_id_at_the_same_index_is_a_new_call,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{}'}}")
          CALL("{'index':0,'id':'b','function':{'name':'g','arguments':'['}}")
              CALL("{'index':0,'function':{'arguments':'1]'}}") FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{}") "," F("b", "g", "[1]")), "'tool_calls'")),
      .notes = "", .inputs = "0 complete 0 {};1 complete 0 [1];")
STORY(repeated_or_empty_id_is_the_same_call,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{'}}")
          CALL("{'index':0,'id':'a','function':{'name':'f','arguments':''}}")
              CALL("{'index':0,'id':'','function':{'arguments':'}'}}") FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{}")), "'tool_calls'")), .notes = "",
      .inputs = "0 complete 0 {};")
STORY(calls_without_index_go_by_id,
      CALL("{'id':'a','function':{'name':'f','arguments':'{}'}}")
          CALL("{'id':'b','function':{'name':'g','arguments':'[]'}}") FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{}") "," F("b", "g", "[]")), "'tool_calls'")),
      .inputs = "0 complete 0 {};1 complete 0 [];")
STORY(calls_without_index_grow_by_id_and_without_both_the_latest_grows,
      CALL("{'id':'a','function':{'name':'f','arguments':'{'}}")
          CALL("{'id':'b','function':{'name':'g','arguments':'['}}")
              CALL("{'id':'a','function':{'arguments':'}'}}") CALL("{'function':{'arguments':']'}}")
                  FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{}") "," F("b", "g", "[]")), "'tool_calls'")),
      .notes = "", .inputs = "0 complete 0 {};1 complete 0 [];")
STORY(arguments_as_an_object_are_written_as_text,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':{ 'k' : [1.50, null] }}}")
          FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{\\u0022k\\u0022:[1.50,null]}")), "'tool_calls'")),
      .notes = "", .inputs = "0 complete 0 {'k':[1.50,null]};")
STORY(call_without_arguments_is_complete,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':''}}") FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "")), "'tool_calls'")), .notes = "",
      .inputs = "0 complete 0 {};")
STORY(truncated_arguments_are_told_with_their_offset,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{\\u0022k\\u0022:1'}}")
          FINISH("length") DONE,
      MESSAGE, NULL, .notes = "tool_input_truncated ", .inputs = "0 truncated 6 {};")
STORY(invalid_arguments_are_told_with_their_offset,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{} '}}")
          CALL("{'index':0,'function':{'arguments':'x'}}") FINISH("tool_calls") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{} x")), "'tool_calls'")),
      .notes = "tool_input_invalid ", .inputs = "0 invalid 3 {};")
STORY(arguments_are_truncated_when_the_input_ends,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{'}}"), INCOMPLETE, NULL,
      .inputs = "0 truncated 1 {};")
STORY(surrogate_halves_in_two_argument_deltas_join,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'[\\u0022\\ud83d'}}")
          CALL("{'index':0,'function':{'arguments':'\\ude80\\u0022]'}}") FINISH("tool_calls") DONE,
      MESSAGE,
      WHOLE(CHOICE(CALLS(F("a", "f", "[\\u0022\xf0\x9f\x9a\x80\\u0022]")), "'tool_calls'")),
      .inputs = "0 complete 0 ['\xf0\x9f\x9a\x80'];")
STORY(calls_of_several_choices_are_told_apart,
      CHUNK("{'index':0,'delta':{'tool_calls':[{'index':0,'id':'a','function':{'name':'f',"
            "'arguments':'{'}}]}},{'index':1,'delta':{'tool_calls':[{'index':0,'id':'b',"
            "'function':{'name':'g','arguments':'['}}]}}")
          CHUNK("{'index':1,'delta':{'tool_calls':[{'index':0,'function':{'arguments':']'}}]},"
                "'finish_reason':'tool_calls'},{'index':0,'delta':{'tool_calls':[{'index':0,"
                "'function':{'arguments':'}'}}]},'finish_reason':'tool_calls'}") DONE,
      MESSAGE, NULL, .notes = "", .inputs = "0 complete 0 {};1 complete 0 [];")

STORY(malformed_chunks_are_not_fatal,
      "{}\n{'choices':5}\n{'choices':[5,null,{'delta':7},{'index':'x'}]}\n"
      "{'choices':[{'index':0,'delta':{'content':5,'tool_calls':[1,{}]}}]}\n" SAY("a")
          FINISH("stop") DONE,
      MESSAGE, NULL)

STORY(content_as_a_list_of_parts_appends,
      DELTA("{'content':[{'type':'text','text':'a'},{'type':'image'},{'type':'text','text':'b'}]}")
          SAY("c") FINISH("stop") DONE,
      MESSAGE, WHOLE(CHOICE(TEXT("'abc'"), "'stop'")))
STORY(log_probabilities_form_one_list,
      CHUNK("{'index':0,'delta':{'content':'a'},'logprobs':{'content':[{'token':'a','logprob':"
            "-0.10}]}}")
          CHUNK("{'index':0,'delta':{'content':'b'},'logprobs':{'content':[{'token':'b'}]},"
                "'finish_reason':'stop'}") DONE,
      MESSAGE,
      WHOLE("{'index':0,'message':" TEXT("'ab'") ",'finish_reason':'stop','logprobs':{'content':"
                                                 "[{'token':'a','logprob':-0.10},{'token':'b'}]}}"))
STORY(call_that_grows_after_its_choice_finished_is_ignored,
      CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{}'}}") FINISH("tool_calls")
          CALL("{'index':0,'function':{'arguments':'late'}}") DONE,
      MESSAGE, WHOLE(CHOICE(CALLS(F("a", "f", "{}")), "'tool_calls'")),
      .inputs = "0 complete 0 {};")
STORY(data_that_are_not_json_are_an_error, SAY("a") "{oops\n" DONE, ERROR,
      WHOLE(CHOICE(TEXT("'a'"), "null")), "{'code':'bad_event','type':null}")

TEST(event_without_data_is_ignored)
{
    struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, NULL);
    T_EQ(weir_message_feed(m, "data:\n\n", 7), WEIR_OK);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_OPEN);
    weir_message_free(m);
}

/* ---- callbacks, memory, limits ---- */

#define ALL_KINDS                                                                                  \
    ROLE CHUNK("{'index':0,'delta':{},'logprobs':{'content':[{'token':'a'}]}}")                    \
        DELTA("{'reasoning':'hm'}") SAY("a\\ud83d") SAY("\\ude80")                                 \
            CALL("{'index':0,'id':'a','function':{'name':'f','arguments':''}}")                    \
                CALL("{'index':0,'function':{'arguments':'{\\u0022k\\u0022:1'}}")                  \
                    CALL("{'index':0,'function':{'arguments':'}'}}") FINISH(                       \
                        "tool_calls") "{'id':'c1','choices':[],'usage':{'total_tokens':3}}\n" DONE

TEST(text_callbacks_count_the_choices_as_they_begin)
{
    struct text stream = {0};
    struct text got = {0};
    struct cut cut;
    story_stream(&stream, CHUNK("{'index':3,'delta':{'content':'x','reasoning':'y'}}")
                              CHUNK("{'index':0,'delta':{'content':'z'}}"));
    cut_from_byte(&cut, 0);
    transcript_message(&got, WEIR_OPENAI, text_slice(&stream), &cut, NULL);
    text_add_char(&got, 0);
    T_OK(strstr(got.ptr, "text 0 'x' of 1\n") != NULL);
    T_OK(strstr(got.ptr, "thinking 0 'y' of 1\n") != NULL);
    T_OK(strstr(got.ptr, "text 1 'z' of 1\n") != NULL);
    text_fini(&stream);
    text_fini(&got);
}

TEST(tool_calls_call_back_as_they_grow)
{
    struct text stream = {0};
    struct text got = {0};
    struct cut cut;
    story_stream(&stream, ALL_KINDS);
    cut_from_byte(&cut, 0);
    transcript_message(&got, WEIR_OPENAI, text_slice(&stream), &cut, NULL);
    text_add_char(&got, 0);
    T_OK(strstr(got.ptr, "input_json 0 '{\"k\":1' {}\n") != NULL);
    T_OK(strstr(got.ptr, "input_json 0 '}' {\"k\":1}\n") != NULL);
    T_OK(strstr(got.ptr, "message\nend\nfed ok\n") != NULL);
    text_fini(&stream);
    text_fini(&got);
}

static void feed_again(void *user, size_t block, struct weir_slice delta, struct weir_slice all)
{
    struct weir_message *m = *(struct weir_message **)user;
    struct weir_sse_event event = {SLICE("message"), SLICE("[DONE]"), SLICE("")};
    (void)block, (void)delta, (void)all;
    T_EQ(weir_message_feed(m, "data: {}\n\n", 10), WEIR_INVALID);
    T_EQ(weir_message_event(m, &event), WEIR_INVALID);
    (void)weir_message_end(m);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_OPEN);
}

TEST(feeding_from_a_callback_is_refused_and_does_no_harm)
{
    struct weir_message_handlers handlers = {.on_text = feed_again};
    struct weir_message *m = NULL;
    struct text stream = {0};
    m = weir_message_new(WEIR_OPENAI, &handlers, &m, NULL);
    story_stream(&stream,
                 SAY("a") CHUNK("{'index':0,'delta':{'content':'b'}},{'index':1,'delta':"
                                "{'content':'c'},'finish_reason':'stop'}") FINISH("stop") DONE);
    T_EQ(weir_message_feed(m, stream.ptr, stream.len), WEIR_OK);
    T_EQ(weir_message_end(m), WEIR_OUTCOME_MESSAGE);
    T_EQ(weir_json_count(weir_json_get_str(weir_message_value(m), "choices")), 2);
    weir_message_free(m);
    text_fini(&stream);
}

TEST(stream_may_be_freed_from_any_callback)
{
    story_free_in_callbacks(WEIR_OPENAI, ALL_KINDS);
    story_free_in_callbacks(WEIR_OPENAI, SAY("a") "{'error':{'message':'x'}}\n");
    story_free_in_callbacks(
        WEIR_OPENAI, SAY("a") CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{'}}"));
}

TEST(every_failing_allocation_is_reported)
{
    story_fail_allocations(WEIR_OPENAI, ALL_KINDS);
    story_fail_allocations(WEIR_OPENAI,
                           CALL("{'index':0,'id':'a','function':{'name':'f','arguments':{'k':[1]}}"
                                "}") "{'error':{'type':'e','message':'m'},'request_id':'r'}\n");
}

TEST(long_answers_in_small_deltas_take_linear_memory)
{
    struct weir_message_limits limits = {.max_message_bytes = 8 << 20};
    struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, &limits);
    struct text delta = {0};
    size_t n_bytes = 0;
    story_stream(&delta, SAY("ten bytes."));
    for (int i = 0; i < 30000; i++) T_EQ(weir_message_feed(m, delta.ptr, delta.len), WEIR_OK);
    const struct weir_json *choice =
        weir_json_first(weir_json_get_str(weir_message_value(m), "choices"));
    const struct weir_json *message = weir_json_get_str(choice, "message");
    n_bytes = weir_json_text(weir_json_get_str(message, "content")).len;
    T_EQ(n_bytes, 300000);
    weir_message_free(m);
    text_fini(&delta);
}

/* Some servers repeat the usage on every chunk; a long answer must not fill the message with it. */
TEST(usage_on_every_chunk_does_not_fill_the_message)
{
    struct weir_message_limits limits = {.max_message_bytes = 4 << 20};
    struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, &limits);
    struct text delta = {0};
    enum weir_status st = WEIR_OK;
    for (int i = 0; st == WEIR_OK && i < 50000; i++) {
        char events[256];
        snprintf(events, sizeof events,
                 "{'id':'c1','choices':[{'index':0,'delta':{'content':'a'}}],'usage':"
                 "{'prompt_tokens':3,'completion_tokens':%d,'total_tokens':%d,'details':{'x':0,'n':"
                 "%d}}}\n",
                 i, i + 3, i);
        delta.len = 0;
        story_stream(&delta, events);
        st = weir_message_feed(m, delta.ptr, delta.len);
    }
    T_EQ(st, WEIR_OK);
    weir_message_free(m);
    text_fini(&delta);
}

TEST(limits_become_the_outcome)
{
    struct weir_message_limits limits = {.max_message_bytes = 64 << 10};
    struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, &limits);
    struct text delta = {0};
    enum weir_status st = WEIR_OK;
    story_stream(&delta, SAY("a text of thirty-two characters."));
    for (int i = 0; st == WEIR_OK && i < 50000; i++)
        st = weir_message_feed(m, delta.ptr, delta.len);
    T_EQ(st, WEIR_LIMIT);
    T_EQ(weir_message_outcome(m), WEIR_OUTCOME_ERROR);
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_error(m), "code")), "limit_exceeded");
    T_EQ(weir_message_feed(m, delta.ptr, delta.len), WEIR_OK);
    weir_message_free(m);
    text_fini(&delta);
}

TEST(error_field_of_llama_cpp_is_an_error)
{
    struct weir_slice input =
        SLICE("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
              "error: {\"code\":500,\"message\":\"no slot\",\"type\":\"server_error\"}\n\n");
    for (size_t step = 1; step <= input.len; step++) {
        struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, NULL);
        for (size_t at = 0; at < input.len; at += step)
            T_EQ(
                weir_message_feed(m, input.ptr + at, input.len - at < step ? input.len - at : step),
                WEIR_OK);
        T_EQ(weir_message_end(m), WEIR_OUTCOME_ERROR);
        T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_error(m), "message")), "no slot");
        T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_error(m), "type")), "server_error");
        weir_message_free(m);
    }
}

TEST(many_calls_are_found_by_index_and_by_id)
{
    enum { N = 3000 };
    struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, NULL);
    struct weir_buf data;
    weir_buf_init(&data, 1 << 24);
    for (int round = 0; round < 3; round++) {
        weir_buf_reset(&data);
        weir_buf_append_str(&data, "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[");
        for (int i = 0; i < N; i++) {
            static const char *const arguments[] = {"[", "1", "]"};
            weir_buf_printf(&data, "%s{", i > 0 ? "," : "");
            if (i % 2 == 0) weir_buf_printf(&data, "\"index\":%d,", i);
            if (i % 2 == 1 || round == 0) weir_buf_printf(&data, "\"id\":\"call-%d\",", i);
            weir_buf_printf(&data, "\"function\":{\"arguments\":\"%s\"}}", arguments[round]);
        }
        weir_buf_append_str(&data, "]}}]}");
        struct weir_sse_event event = {.type = SLICE("message"), .data = weir_buf_slice(&data)};
        T_EQ(weir_message_event(m, &event), WEIR_OK);
    }
    struct weir_sse_event finish = {
        .type = SLICE("message"),
        .data = SLICE("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}")};
    T_EQ(weir_message_event(m, &finish), WEIR_OK);
    for (size_t i = 0; i < N; i++) T_EQ(weir_message_input_state(m, i, NULL), WEIR_INPUT_COMPLETE);
    T_EQ(weir_message_input_state(m, N, NULL), WEIR_INPUT_NONE);
    weir_buf_fini(&data);
    weir_message_free(m);
}

TEST(numbers_lead_to_choices_and_calls)
{
    struct weir_message *m = weir_message_new(WEIR_OPENAI, NULL, NULL, NULL);
    struct weir_sse_event event = {
        .data = SLICE("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}},"
                      "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":3,\"id\":\"x\"}]}}]}")};
    int64_t index = 0;
    T_EQ(weir_message_event(m, &event), WEIR_OK);
    T_OK(weir_json_int64(weir_json_get_str(weir_message_choice(m, 0), "index"), &index));
    T_EQ(index, 1);
    T_OK(weir_message_choice(m, 1) != NULL);
    T_OK(weir_message_choice(m, 2) == NULL);
    T_EQ_STR(weir_json_text(weir_json_get_str(weir_message_block(m, 0), "id")), "x");
    T_OK(weir_message_block(m, 1) == NULL);
    weir_message_free(m);
}
