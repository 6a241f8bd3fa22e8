/* SPDX-License-Identifier: Apache-2.0 */
/* Units and the ways between them. Factors are exact by definition where there is one. */
#include <strings.h>

#include "data/catalogue.h"

static const struct unit units[] = {
    {"min", "mins|minute|minutes|minuten|minutos|minuti|m", "time", 1, 0},
    {"h", "hr|hrs|hour|hours|stunden|std|heures|horas|ore|uren", "time", 60, 0},
    {"s", "sec|secs|second|seconds", "time", 1.0 / 60, 0},
    {"d", "day|days", "time", 1440, 0},
    {"kg", "kilo|kilos|kilogram|kilograms|kgs", "mass", 1, 0},
    {"g", "gram|grams|gr", "mass", 0.001, 0},
    {"mg", "milligram|milligrams", "mass", 1e-6, 0},
    {"lb", "lbs|pound|pounds", "mass", 0.45359237, 0},
    {"st", "stone|stones", "mass", 6.35029318, 0},
    {"oz", "ounce|ounces", "mass", 0.028349523125, 0},
    {"km", "kilometer|kilometers|kilometre|kilometres|kms|k", "length", 1, 0},
    {"mi", "mile|miles", "length", 1.609344, 0},
    {"meter", "meters|metre|metres|mtr|m", "length", 0.001, 0},
    {"cm", "centimeter|centimeters|centimetre|centimetres", "length", 1e-5, 0},
    {"ft", "foot|feet", "length", 0.0003048, 0},
    {"yd", "yard|yards", "length", 0.0009144, 0},
    {"in", "inch|inches", "length", 2.54e-5, 0},
    {"kcal", "cal|cals|calorie|calories|kilocalorie|kilocalories|kcals", "energy", 1, 0},
    {"kj", "kilojoule|kilojoules", "energy", 1 / 4.184, 0},
    {"degC", "c|°c|celsius|centigrade|degc|deg c|degrees celsius", "temperature", 1, 0},
    {"degF", "f|°f|fahrenheit|degf|deg f|degrees fahrenheit", "temperature", 5.0 / 9, -160.0 / 9},
    {"bpm", "count/min|beats per minute|beats/min|beats|/min", "rate", 1, 0},
    {"breaths/min", "breaths per minute|brpm|rpm|br/min|breaths|count/min", "breathing", 1, 0},
    {"ms", "millisecond|milliseconds|msec", "interval", 1, 0},
    {"%", "percent|pct|percentage", "share", 1, 0},
    {"fraction", "", "share", 100, 0},
    {"mmHg", "mm hg|mm[hg]", "pressure", 1, 0},
    {"kPa", "", "pressure", 7.50061683, 0},
    {"ml", "milliliter|milliliters|millilitre|millilitres", "volume", 1, 0},
    {"l", "liter|liters|litre|litres", "volume", 1000, 0},
    {"floz", "fl_oz_us|fl oz|fluid ounce|fluid ounces|oz|ounces", "volume", 29.5735295625, 0},
    {"cup", "cup_us|cups", "volume", 236.5882365, 0},
    {"steps", "step|count", "steps", 1, 0},
    {"floors", "floor|flights|flight|count", "floors", 1, 0},
    {"points", "point|score|pts", "points", 1, 0},
    {"drinks", "drink|count", "drinks", 1, 0},
    {"kg/m2", "kg/m^2|kg/m²|count", "bmi", 1, 0},
    {"ml/kg/min", "ml/kg*min|ml/min·kg|ml/(kg*min)|ml/(kg·min)|ml/min/kg", "uptake", 1, 0},
    {"km/h", "kph|km/hr|kilometers per hour|kilometres per hour", "speed", 1, 0},
    {"mph", "mi/hr|mi/h|miles per hour", "speed", 1.609344, 0},
    {"m/s", "", "speed", 3.6, 0},
    {"min/km", "minutes per kilometer|minutes per kilometre|minutes per km", "pace", 1, 0},
    {"min/mi", "minutes per mile", "pace", 1 / 1.609344, 0},
    {"s/km", "sec/km|seconds per km|seconds per kilometer|seconds per kilometre|sec per km", "pace",
     1.0 / 60, 0},
    {"s/mi", "sec/mi|seconds per mile|sec per mile", "pace", 1 / (60 * 1.609344), 0},
    {"mg/dL", "mg/dl|mg/100ml", "mass concentration", 1, 0},
    {"g/L", "g/l", "mass concentration", 100, 0},
    {"g/dL", "g/dl", "mass concentration", 1000, 0},
    {"mg/L", "mg/l|ug/ml|µg/ml", "mass concentration", 0.1, 0},
    {"ug/dL", "ug/dl|µg/dl|mcg/dl", "mass concentration", 0.001, 0},
    {"ng/mL", "ng/ml|ug/l|µg/l|mcg/l", "mass concentration", 1e-4, 0},
    {"ng/dL", "ng/dl", "mass concentration", 1e-6, 0},
    {"pg/mL", "pg/ml|ng/l", "mass concentration", 1e-7, 0},
    {"mmol/L", "mmol/l|mm|mmol", "molar concentration", 1, 0},
    {"umol/L", "umol/l|µmol/l", "molar concentration", 0.001, 0},
    {"nmol/L", "nmol/l", "molar concentration", 1e-6, 0},
    {"pmol/L", "pmol/l", "molar concentration", 1e-9, 0},
    {"mIU/L", "miu/l|uiu/ml|µiu/ml|mu/l|miu/ml", "activity concentration", 1, 0},
    {"uIU/mL", "uiu/ml|µiu/ml|mu/l|miu/l", "activity concentration", 1, 0},
    {"U/L", "u/l|iu/l", "enzyme", 1, 0},
    {"10^3/uL",
     "10*3/ul|k/ul|x10e3/ul|thousand/ul|10^9/l|10*9/l|k/mm3|x10^9/l|x10^3/ul|10e9/l|10e3/ul|10^3/"
     "mm3|k/mcl|tsd/ul",
     "cells", 1, 0},
    {"mL/min/1.73m2", "ml/min/1.73m2|ml/min|ml/min/{1.73_m2}|ml/min/1.73m^2", "filtration", 1, 0},
    {"mmol/mol", "", "glycation", 1, 0},
    {"clock", "minutes after midnight", "clock", 1, 0},
};

enum { N_UNITS = sizeof units / sizeof *units };

static bool is_same(struct weir_slice a, struct weir_slice b)
{
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

static bool is_called(const struct unit *u, struct weir_slice name)
{
    if (is_same(weir_slice_of(u->name), name)) return true;
    size_t at = 0;
    for (struct weir_slice a = alias_next(u->aliases, &at); a.len > 0;
         a = alias_next(u->aliases, &at))
        if (is_same(a, name)) return true;
    return false;
}

const struct unit *unit_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_UNITS; i++)
        if (weir_slice_is(name, units[i].name)) return &units[i];
    for (size_t i = 0; i < N_UNITS; i++)
        if (is_called(&units[i], name)) return &units[i];
    return NULL;
}

/* "count" is a step as well as a floor: of the units called so, the one of that dimension. */
static const struct unit *find_in(struct weir_slice name, const char *dimension)
{
    for (size_t i = 0; i < N_UNITS; i++)
        if (strcmp(units[i].dimension, dimension) == 0 && is_called(&units[i], name))
            return &units[i];
    return NULL;
}

bool unit_convert(const char *from, const char *to, double value, double *out)
{
    if (strcmp(from, to) == 0) {
        *out = value;
        return true;
    }
    const struct unit *b = unit_find(weir_slice_of(to));
    const struct unit *a = b ? find_in(weir_slice_of(from), b->dimension) : NULL;
    if (!a) return false;
    *out = (value * a->factor + a->offset - b->offset) / b->factor;
    return true;
}

/* What is not a matter of units alone. Each is `unit` = (printed + offset) * factor. */
static const struct {
    const char *analyte, *printed;
    double factor, offset;
} particular[] = {
    {"hba1c", "mmol/mol", 0.09148, 2.152 / 0.09148}, /* NGSP = 0.09148 IFCC + 2.152 */
    {"vitamin_d_25oh", "nmol/L", 1 / 2.496, 0},
    {"creatinine", "umol/L", 1 / 88.42, 0},
    {"bilirubin", "umol/L", 1 / 17.1, 0},
    {"uric_acid", "umol/L", 0.01681, 0},
    {"vitamin_b12", "pmol/L", 1.3554, 0},
    {"folate", "nmol/L", 1 / 2.266, 0},
    {"iron", "umol/L", 5.587, 0},
    {"testosterone", "nmol/L", 28.842, 0},
    {"cortisol", "nmol/L", 1 / 27.588, 0},
    {"free_t4", "pmol/L", 1 / 12.871, 0},
    {"free_t3", "pmol/L", 1 / 1.536, 0},
    {"insulin", "pmol/L", 1 / 6.945, 0},
    {"hemoglobin", "mmol/L", 1.6114, 0},
};

bool analyte_convert(const struct analyte *a, struct weir_slice from, double value, double *out)
{
    const struct unit *to = unit_find(weir_slice_of(a->unit));
    const struct unit *u = to ? find_in(from, to->dimension) : NULL;
    if (u) return unit_convert(u->name, a->unit, value, out);
    u = unit_find(from);
    if (!u) return false;
    for (size_t i = 0; i < sizeof particular / sizeof *particular; i++) {
        if (strcmp(particular[i].analyte, a->name) != 0) continue;
        double v;
        if (!unit_convert(u->name, particular[i].printed, value, &v)) continue;
        *out = (v + particular[i].offset) * particular[i].factor;
        return true;
    }
    double mmol;
    if (a->molar <= 0 || !unit_convert(u->name, "mmol/L", value, &mmol)) return false;
    *out = mmol * a->molar;
    return true;
}
