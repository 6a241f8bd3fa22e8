/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether help comes before numbers, and the words for it. The rules are safety.def's. The words
 * have no digits, for an answer of this kind may contain no number at all: emergency numbers differ
 * from country to country, and a wrong one is worse than none.
 */
#include "agent/route_impl.h"

static const char *const idioms[] = {
#define IDIOM(pattern) pattern,
#define SAFETY(kind, pattern)
#include "agent/safety.def"
#undef IDIOM
#undef SAFETY
};

static const struct {
    const char *kind, *pattern;
} rules[] = {
#define IDIOM(pattern)
#define SAFETY(kind, pattern) {#kind, pattern},
#include "agent/safety.def"
#undef IDIOM
#undef SAFETY
};

static bool holds(const struct said *s, const char *pattern)
{
    size_t from, end = 0;
    for (size_t at = 0; said_find_from(s, pattern, at, &from, &end); at = from + 1)
        if (!said_is_denied(s, from)) return true;
    return false;
}

const char *safety_of(struct said *s)
{
    size_t from, end;
    for (size_t i = 0; i < sizeof idioms / sizeof *idioms; i++)
        while (said_find(s, idioms[i], &from, &end)) said_hide(s, from, end);
    const char *kind = NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !kind; i++)
        if (holds(s, rules[i].pattern)) kind = rules[i].kind;
    for (size_t i = 0; i < s->n; i++) s->words[i].is_hidden = false;
    return kind;
}

const char *safety_answer(struct weir_slice kind)
{
    if (weir_slice_is(kind, "self_harm"))
        return "I'm really sorry that things are this hard right now. Please don't stay alone with "
               "this: call your local emergency number or a crisis line in your country now, or "
               "go to the nearest emergency department. If you can, tell somebody close to you "
               "and stay with them.\n\nIf this is about somebody else, stay with them, take what "
               "they say seriously, and call for help together.\n\nI'm a program that reads "
               "health data, and people who can listen and help are the right ones to turn to. "
               "Your data can wait.";
    if (weir_slice_is(kind, "starvation"))
        return "I won't help with eating too little or getting rid of food, because it can do "
               "lasting harm, and it can do so quickly. How you feel about food and weight "
               "deserves real support: a doctor, or an eating-disorder helpline in your country, "
               "can help without judging.\n\nIf you feel faint or confused, or your heart beats "
               "irregularly, call your local emergency number now. If you are thinking of harming "
               "yourself, a crisis line is there at any hour.";
    return "This sounds like it could be an emergency. Please call your local emergency number "
           "right now, or have somebody with you call. Don't wait for an answer from an app, and "
           "don't drive yourself.\n\nUntil help comes, stay with somebody, sit or lie down "
           "safely, unlock the door, and do what the person on the phone tells you. I can't judge "
           "from data whether this is dangerous; the people who answer that call can.";
}
