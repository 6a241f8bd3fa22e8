/* SPDX-License-Identifier: Apache-2.0 */
/* The words that matter around numbers, and those that are numbers. Lists only. */
#include <string.h>
#include <strings.h>

#include "check/numbers_impl.h"

bool word_is(struct weir_slice a, const char *b)
{
    return a.len > 0 && strlen(b) == a.len && strncasecmp(a.ptr, b, a.len) == 0;
}

bool word_in(struct weir_slice word, const char *list)
{
    if (word.len == 0) return false;
    char first = (char)(word.ptr[0] | 0x20); /* as the lists are, if it is a letter */
    while (*list) {
        const char *end = list;
        while (*end && *end != '|') end++;
        bool may_be = (*list | 0x20) == first && (size_t)(end - list) == word.len;
        if (may_be && strncasecmp(list, word.ptr, word.len) == 0) return true;
        list = *end ? end + 1 : end;
    }
    return false;
}

struct word_value {
    const char *words;
    double value;
};

static bool look_up(const struct word_value *table, struct weir_slice word, double *value)
{
    for (; table->words; table++)
        if (word_in(word, table->words)) {
            *value = table->value;
            return true;
        }
    return false;
}

bool word_number(struct weir_slice word, double *value)
{
    static const struct word_value table[] = {
        {"zero", 0},     {"one", 1},      {"two", 2},           {"three", 3},     {"four", 4},
        {"five", 5},     {"six", 6},      {"seven", 7},         {"eight", 8},     {"nine", 9},
        {"ten", 10},     {"eleven", 11},  {"twelve", 12},       {"thirteen", 13}, {"fourteen", 14},
        {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17},    {"eighteen", 18}, {"nineteen", 19},
        {"twenty", 20},  {"thirty", 30},  {"forty|fourty", 40}, {"fifty", 50},    {"sixty", 60},
        {"seventy", 70}, {"eighty", 80},  {"ninety", 90},       {NULL, 0},
    };
    return look_up(table, word, value);
}

bool word_magnitude(struct weir_slice word, double *value)
{
    static const struct word_value table[] = {
        {"dozen", 12},           {"hundred", 100},    {"thousand", 1000},
        {"million|mio|mn", 1e6}, {"billion|bn", 1e9}, {NULL, 0},
    };
    return look_up(table, word, value);
}

bool word_fraction(struct weir_slice word, double *value)
{
    static const struct word_value table[] = {
        {"half|halves", 0.5},
        {"third|thirds", 1.0 / 3},
        {"quarter|quarters", 0.25},
        {"fourth|fourths", 0.25},
        {"fifth|fifths", 0.2},
        {"sixth|sixths", 1.0 / 6},
        {"seventh|sevenths", 1.0 / 7},
        {"eighth|eighths", 0.125},
        {"ninth|ninths", 1.0 / 9},
        {"tenth|tenths", 0.1},
        {NULL, 0},
    };
    return look_up(table, word, value);
}

unsigned word_month(struct weir_slice word)
{
    static const char *const months[] = {
        "january|jan",  "february|feb", "march|mar",  "april|apr",          "may",
        "june|jun",     "july|jul",     "august|aug", "september|sep|sept", "october|oct",
        "november|nov", "december|dec",
    };
    for (unsigned i = 0; i < 12; i++)
        if (word_in(word, months[i])) return i + 1;
    return 0;
}

enum unit_class word_unit(struct weir_slice word, double *long_days)
{
    static const struct word_value spans[] = {
        {"week|weeks|wk|wks|weekly", 7},
        {"fortnight|fortnights", 14},
        {"month|months|mo|monthly", 30.4375},
        {"year|years|yr|yrs|yearly", 365.25},
        {NULL, 0},
    };
    if (look_up(spans, word, long_days)) return UNIT_LONG;
    if (word_in(word, "percent|percentage|pct|pp")) return UNIT_PERCENT;
    if (word_in(word, "x|fold")) return UNIT_RATIO;
    if (word_in(word,
                "night|nights|morning|mornings|evening|evenings|weekend|weekends|weekday|weekdays|"
                "session|sessions|workout|workouts|reading|readings|measurement|measurements|nap|"
                "run|runs|ride|rides|swim|swims|walk|walks|activity|activities|naps|sample|"
                "samples|entry|entries|record|records|pair|pairs|observation|observations|"
                "occasion|occasions|test|tests|cup|cups|glass|glasses|coffee|coffees|awakening|"
                "awakenings|people|adults|men|women"))
        return UNIT_COUNT;
    return UNIT_NONE;
}

bool word_is_label(struct weir_slice word)
{
    return word_in(word,
                   "type|zone|stage|firmware|software|release|phase|step|table|figure|fig|section|"
                   "option|chapter|version|"
                   "series|gen|generation|part|tip|no|nr|number|omega|vitamin|ios|watchos|android|"
                   "watch|ring|charge|versa|sense|fenix|forerunner|grade|class|rule|point|goal|"
                   "question|finding|priority|item|note|appendix|category|tier|group|cohort|"
                   "scenario|experiment|hypothesis|round|quarter|reference|ref|footnote|gate");
}

bool word_is_rhetoric(struct weir_slice word)
{
    return word_in(word,
                   "thing|things|factor|factors|reason|reasons|way|ways|tip|tips|suggestion|"
                   "suggestions|option|options|idea|ideas|question|questions|finding|findings|"
                   "metric|metrics|measure|measures|caveat|caveats|note|notes|area|areas|pattern|"
                   "patterns|signal|signals|point|period|periods|window|windows|group|groups|"
                   "takeaway|takeaways|action|actions|change|changes|habit|"
                   "habits|possibility|possibilities|explanation|explanations|stretch|stretches|"
                   "limit|limits|part|parts|side|sides|kind|kinds|type|types|method|methods|"
                   "approach|approaches|key|main|small|simple|practical|possible|likely|numbers|"
                   "number|averages|results|trends|insights|insight|goals|goal|priorities|"
                   "experiment|experiments|devices|sources|series|variables|values|figures|"
                   "gates|halves|ends");
}

double word_rate(struct weir_slice word)
{
    static const struct word_value table[] = {
        {"d|day|night|daily|nightly", 1},
        {"week|wk|weekly", 7},
        {"month|mo|monthly", 30.4375},
        {"year|yr|annum|yearly|annually", 365.25},
        {NULL, 0},
    };
    double days = 0;
    return look_up(table, word, &days) ? days : 0;
}

bool word_is_fall(struct weir_slice word)
{
    return word_in(word, "drop|drops|dropped|dropping|fell|falls|fallen|falling|decrease|decreased|"
                         "decreases|decreasing|decline|declined|declines|declining|lost|loses|lose|"
                         "losing|loss|reduction|reduced|shrank|sank|slipped|dipped|tumbled|"
                         "plunged|shed|down");
}

int word_direction(struct weir_slice word)
{
    static const char lower[] =
        "drop|drops|dropped|dropping|decrease|decreases|decreased|decreasing|decline|declines|"
        "declined|declining|fall|falls|fell|fallen|falling|down|downward|lower|lowered|lowers|less|"
        "fewer|shorter|slower|below|under|beneath|minus|negative|negatively|inverse|inversely|"
        "reduce|reduced|reduces|reduction|reductions|loss|lose|loses|losing|lost|dip|dips|dipped|"
        "slip|slipped|slid|shrank|shrink|shrinks|shrunk|cut|cuts|shed|shaved|worse|worsened|"
        "deficit|"
        "short|shortfall|behind|earlier|sooner|smaller|lighter|cooler|weaker|sank|sunk|plunged|"
        "halved|fewest|lag|lags|trailing|off|faster|quicker|improved|improvement|improves|improve|"
        "difference|differ|differs|differed|gap|apart|changed|swing|opposite|ate|subtract|reduces|"
        "tumbled|eased|retreated|tapered|trimmed|slowed|missing|backward|younger|"
        "lowering|reducing|shortened|deeper|leaner|slimmer|calmer";
    static const char higher[] =
        "rise|rises|rose|risen|rising|increase|increases|increased|increasing|up|upward|higher|"
        "more|longer|above|over|gain|gains|gained|gaining|grew|grow|grows|growth|climb|climbs|"
        "climbed|positive|positively|added|adds|extra|additional|later|raised|raise|raises|jump|"
        "jumped|jumps|greater|bigger|larger|heavier|warmer|stronger|exceeded|surplus|crept|"
        "extended|lengthened|plus|boost|boosted|elevated|gained|ahead|older";
    if (word_in(word, lower)) return -1;
    return word_in(word, higher) ? 1 : 0;
}
