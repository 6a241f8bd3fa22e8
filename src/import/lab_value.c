/* SPDX-License-Identifier: Apache-2.0 */
/* What a laboratory printed, as a number in the unit of its test. Nothing printed is lost. */
#include "import/lab_value.h"

#include <stdio.h>
#include <strings.h>

#include "base/slice.h"

enum { PRINTED_BYTES = 96, UNIT_BYTES = 48 };

/* ---- names ---- */

/* Words that do not change which test it is; "free" or "direct" would. */
static bool is_harmless(struct weir_slice word)
{
    static const char *const words[] = {"serum", "plasma",   "blood", "fasting",  "calc",
                                        "s",     "p",        "b",     "venous",   "calculated",
                                        "quant", "fasted",   "total", "nuchtern", "serum/plasma",
                                        "lab",   "nüchtern", "level", "estimated"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == word.len && strncasecmp(words[i], word.ptr, word.len) == 0)
            return true;
    return false;
}

/* "Glucose, Serum", "LDL Cholesterol (calc)": the name before a harmless addition. */
static struct weir_slice without_addition(struct weir_slice name)
{
    struct weir_slice none = {0};
    if (name.len == 0 || !name.ptr) return none;
    bool is_bracket = name.ptr[name.len - 1] == ')';
    const char *at = memrchr(name.ptr, is_bracket ? '(' : ',', name.len);
    if (!at) at = memrchr(name.ptr, ' ', name.len);
    if (!at || at == name.ptr) return none;
    const char *end = name.ptr + name.len - (is_bracket ? 1 : 0);
    if (!is_harmless(cell_trim(slice_of(at + 1, (size_t)(end - at - 1))))) return none;
    return cell_trim(slice_of(name.ptr, (size_t)(at - name.ptr)));
}

/* What the catalogue, which is for questions in English, has no words for. */
static const struct {
    const char *analyte, *names;
} translated[] = {
    {"ldl", "ldl-cholesterin|cholestérol ldl|ldl-cholestérol|colesterol ldl|colesterolo ldl"},
    {"hdl", "hdl-cholesterin|cholestérol hdl|hdl-cholestérol|colesterol hdl|colesterolo hdl"},
    {"total_cholesterol", "cholesterin|gesamtcholesterin|cholesterin gesamt|cholestérol|"
                          "cholestérol total|colesterol|colesterol total|colesterolo totale"},
    {"triglycerides", "triglyzeride|triglyceride|triglycérides|triglicéridos|trigliceridi"},
    {"fasting_glucose", "glukose|nüchternglukose|blutzucker|nüchternblutzucker|glycémie|"
                        "glycémie à jeun|glucosa|glucemia|glicemia|glucosio"},
    {"hba1c", "hémoglobine glyquée|hémoglobine glyquée (hba1c)|hemoglobina glicosilada|"
              "hemoglobina glicada|emoglobina glicata|hba1c ngsp|hba1c ifcc"},
    {"creatinine", "kreatinin|créatinine|creatinina"},
    {"hemoglobin", "hämoglobin|hémoglobine|hemoglobina|emoglobina"},
    {"hematocrit", "hämatokrit|hématocrite|hematocrito|ematocrito"},
    {"wbc", "leukozyten|leucocytes|leucocitos|leucociti"},
    {"platelets", "thrombozyten|plaquettes|plaquetas|piastrine"},
    {"ferritin", "ferritine|ferritina"},
    {"iron", "eisen|fer|fer sérique|hierro|ferro"},
    {"urea", "harnstoff|urée|azotemia"},
    {"uric_acid", "harnsäure|acide urique|ácido úrico|acido urico"},
    {"vitamin_d_25oh", "25-oh-vitamin d|25-oh-vitamin d3|vitamine d|vitamine d 25-oh|"
                       "25-oh vitamine d|vitamina d|vitamina d 25-oh"},
    {"vitamin_b12", "vitamine b12|vitamina b12"},
    {"folate", "folsäure|folates|acide folique|ácido fólico|acido folico"},
    {"sodium", "natrium|sodio"},
    {"potassium", "kalium|potasio|potassio"},
    {"calcium", "kalzium|calcio"},
    {"magnesium", "magnésium|magnesio"},
    {"albumin", "albumine|albúmina|albumina"},
    {"bilirubin", "bilirubin gesamt|bilirubine|bilirubine totale|bilirrubina|bilirubina"},
    {"testosterone", "testosteron|testostérone|testosterona"},
    {"alt", "gpt|alat|gpt (alat)|alat (gpt)"},
    {"ast", "got|asat|got (asat)|asat (got)"},
    {"ggt", "γ-gt"},
    {"alp", "alkalische phosphatase|phosphatases alcalines|fosfatasa alcalina"},
    {"hs_crp", "c-reaktives protein|protéine c réactive|proteína c reactiva|crp ultrasensible"},
};

static const struct analyte *find(struct weir_slice name)
{
    const struct analyte *a = analyte_find(name);
    for (size_t i = 0; !a && i < sizeof translated / sizeof *translated; i++) {
        size_t at = 0;
        for (struct weir_slice n = alias_next(translated[i].names, &at); n.len > 0;
             n = alias_next(translated[i].names, &at))
            if (table_is_name(name, n)) a = analyte_find(weir_slice_of(translated[i].analyte));
    }
    return a;
}

const struct analyte *lab_find(struct weir_slice name)
{
    struct weir_slice s = cell_trim(name);
    const struct analyte *a = find(s);
    for (unsigned i = 0; !a && i < 2; i++) {
        s = without_addition(s);
        if (s.len == 0) break;
        a = find(s);
    }
    if (a || name.len < 3 || name.ptr[1] != '-') return a;
    /* "S-Glucose", "P-Ferritin": what it was measured in, as northern laboratories write it. */
    return strchr("SPBspb", name.ptr[0]) ? analyte_find(slice_from(name, 2)) : NULL;
}

/* ---- values ---- */

struct result {
    double value;
    char comparator;
    struct weir_slice unit, flag;
};

static char take_comparator(struct weir_slice *s)
{
    char c = s->len > 0 ? s->ptr[0] : 0;
    size_t n = c == '<' || c == '>' ? 1 : 0;
    if (s->len >= 3 && memcmp(s->ptr, "≤", 3) == 0) c = '<', n = 3;
    else if (s->len >= 3 && memcmp(s->ptr, "≥", 3) == 0) c = '>', n = 3;
    if (n == 0) return 0;
    *s = slice_from(*s, n);
    if (s->len > 0 && s->ptr[0] == '=') *s = slice_from(*s, 1);
    *s = cell_trim(*s);
    return c;
}

static bool is_flag(struct weir_slice s)
{
    static const char *const flags[] = {"H", "L", "HH", "LL", "*", "!", "A", "High", "Low", "+"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (weir_slice_is(s, flags[i])) return true;
    return false;
}

static bool read_result(const struct table *t, const struct lab_text *text, struct result *out)
{
    struct weir_slice s = cell_trim(text->value);
    *out = (struct result){.unit = text->unit, .flag = text->flag};
    out->comparator = take_comparator(&s);
    if (cell_number(s, t->numbers, &out->value)) return true;
    if (s.len > 1 && (s.ptr[s.len - 1] == '*' || s.ptr[s.len - 1] == '!')) {
        if (out->flag.len == 0) out->flag = slice_from(s, s.len - 1);
        return cell_number(slice_of(s.ptr, s.len - 1), t->numbers, &out->value);
    }
    if (s.len == 0) return false;
    const char *blank = memchr(s.ptr, ' ', s.len);
    if (!blank) return false;
    struct weir_slice rest = cell_trim(slice_of(blank, (size_t)(s.ptr + s.len - blank)));
    if (is_flag(rest)) out->flag = rest;
    else if (out->unit.len == 0) out->unit = rest;
    else if (!slice_eq(rest, out->unit)) return false;
    return cell_number(slice_of(s.ptr, (size_t)(blank - s.ptr)), t->numbers, &out->value);
}

/* How a sign in a unit is written plainly; NULL when it is plain. *n is its length. */
static const char *plain_sign(struct weir_slice s, size_t *n)
{
    static const char *const signs[][2] = {{"µ", "u"}, {"μ", "u"}, {"²", "2"},   {"³", "3"},
                                           {"×", "x"}, {" ", ""},  {"mcg", "ug"}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        *n = strlen(signs[i][0]);
        if (s.len >= *n && memcmp(s.ptr, signs[i][0], *n) == 0) return signs[i][1];
    }
    *n = 1;
    return NULL;
}

/* "μmol / l" and "mL/min/1.73 m²" as the catalogue writes them. */
static struct weir_slice plain_unit(struct weir_slice unit, char out[UNIT_BYTES])
{
    size_t len = 0;
    size_t n;
    for (size_t i = 0; i < unit.len && len + 3 < UNIT_BYTES; i += n) {
        const char *sign = plain_sign(slice_from(unit, i), &n);
        if (!sign) out[len++] = unit.ptr[i];
        for (; sign && *sign; sign++) out[len++] = *sign;
    }
    return slice_of(out, len);
}

/* "mg/dL (calc)", "% of total Hgb": the unit before what is said of it. */
static struct weir_slice bare_unit(struct weir_slice unit)
{
    const char *at = memchr(unit.ptr, '(', unit.len);
    if (!at) at = memmem(unit.ptr, unit.len, " of ", 4);
    return at ? cell_trim(slice_of(unit.ptr, (size_t)(at - unit.ptr))) : unit;
}

/* Into the test's unit. Without a unit it is taken for that one when it is plausible so. */
static bool convert(const struct analyte *a, struct result *r)
{
    char plain[UNIT_BYTES];
    if (r->unit.len > 0)
        return analyte_convert(a, r->unit, r->value, &r->value) ||
               analyte_convert(a, plain_unit(bare_unit(r->unit), plain), r->value, &r->value);
    return r->value >= a->min && r->value <= a->max;
}

enum weir_status lab_give(struct table *t, const struct analyte *a, const struct lab_text *text,
                          int32_t day)
{
    struct result r;
    char printed[PRINTED_BYTES];
    char quoted[TABLE_QUOTE_BYTES];
    if (!read_result(t, text, &r)) {
        table_refuse(t, "\"%s\" is not a number", table_quote(quoted, text->value));
        return WEIR_OK;
    }
    int n = snprintf(printed, sizeof printed, "%.*s%s%.*s", (int)text->value.len, text->value.ptr,
                     text->unit.len > 0 ? " " : "", (int)text->unit.len, text->unit.ptr);
    if (n < 0 || (size_t)n >= sizeof printed) {
        table_refuse(t, "\"%s\" is too long for a result", table_quote(quoted, text->value));
        return WEIR_OK;
    }
    if (a && !convert(a, &r)) a = NULL;
    if (a && (r.value < a->min || r.value > a->max) && r.comparator == 0) {
        table_refuse(t, "%s: \"%s\" is not plausible (%g to %g %s)", a->title,
                     table_quote(quoted, weir_slice_of(printed)), a->min, a->max, a->unit);
        return WEIR_OK;
    }
    struct lab lab = {.analyte = a,
                      .label = text->name,
                      .day = day,
                      .value = r.value,
                      .comparator = r.comparator,
                      .printed = weir_slice_of(printed),
                      .unit = a ? weir_slice_of(a->unit) : r.unit,
                      .range = text->range,
                      .flag = r.flag,
                      .source = t->source};
    return t->context.sink.lab(t->context.sink.user, &lab);
}
