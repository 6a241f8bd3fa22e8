/* SPDX-License-Identifier: Apache-2.0 */
/* The conversational answer, for what no agent was asked. It has no numbers at all. */
#include "agent/route_impl.h"

static const struct {
    const char *row, *answer;
} answers[] = {
    {"thanks", "You're welcome. If something else in your data makes you curious, just ask."},
    {"greeting", "Hello! Ask me about your own health data: how you slept, how your resting heart "
                 "rate is moving, whether two things go together, or simply whether anything "
                 "stands out."},
    {"goodbye", "Take care! Your data will be here when you come back."},
    {"agreement", "Good. Is there anything else you'd like to know about your data?"},
    {"noted", "Noted: I will remember that for answers to come."},
    {"off_topic",
     "That is outside of what I can help with. I answer questions about your own health data: try "
     "\"how did I sleep last week?\", \"is my resting heart rate going down?\", \"is my blood "
     "pressure normal?\", or \"does anything stand out?\"."},
    {"medicine",
     "I can't advise on medicines or supplements. Whether to take, change or stop one is for your "
     "doctor or pharmacist to say, and to stop some of them suddenly is dangerous. What your own "
     "data say I can tell you: try \"is my blood pressure normal?\" or \"how did I sleep last "
     "week?\"."},
    {"about",
     "I'm weir, a program that answers questions about your own health data. I can look up and "
     "compare daily values, find trends and relations, hold a value against published reference "
     "ranges, suggest small next steps, and look for what stands out. Every number in an answer is "
     "checked against your data. I'm not a doctor, and I make no diagnoses."},
};

const char *fallback_answer(struct weir_slice pattern)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (weir_slice_is(pattern, answers[i].row)) return answers[i].answer;
    return "I'm not sure what you mean. I answer questions in English about your own health "
           "data: try \"how did I sleep last week?\", \"is my resting heart rate going down?\", "
           "\"is my blood pressure normal?\", or \"does anything stand out?\".";
}
