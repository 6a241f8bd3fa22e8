/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOINC has a code for each way to measure a thing; those that laboratories use most for the
 * tests of the catalogue are here, in mass and in molar units alike.
 */
#include "import/fhir_code.h"

#include <string.h>

#include "base/slice.h"

static const struct {
    const char *analyte;
    const char *codes; /* separated by blanks */
} analytes[] = {
    {"ldl", "13457-7 2089-1 18262-6 96259-7 39469-2 22748-8 69419-0"},
    {"hdl", "2085-9 14646-4 49130-8"},
    {"total_cholesterol", "2093-3 14647-2"},
    {"non_hdl", "43396-1 70204-3"},
    {"triglycerides", "2571-8 3043-7 14927-8 12951-0"},
    {"apob", "1884-6"},
    {"lpa", "10835-7 43583-4"},
    {"fasting_glucose", "1558-6 2345-7 2339-0 14749-6 14771-0 76629-5 1556-0 14770-2"},
    {"hba1c", "4548-4 17856-6 59261-8 4549-2 62388-4 41995-2"},
    {"insulin", "20448-7 27873-9 2484-4"},
    {"hs_crp", "30522-7 1988-5 76486-0 71426-1"},
    {"vitamin_d_25oh", "1989-3 35365-6 62292-8 14635-7 68438-1"},
    {"vitamin_b12", "2132-9 14685-2"},
    {"ferritin", "2276-4 20567-4 24373-3"},
    {"iron", "2498-4 14798-3"},
    {"folate", "2284-8 14732-2"},
    {"tsh", "3016-3 11580-8 11579-0"},
    {"free_t4", "3024-7 14920-3"},
    {"free_t3", "3051-0 14928-6"},
    {"creatinine", "2160-0 14682-9 38483-4"},
    {"egfr", "33914-3 48642-3 48643-1 62238-1 69405-9 88293-6 88294-4 98979-8 77147-7 98980-6"},
    {"bun", "3094-0 6299-2 14937-7"},
    {"urea", "22664-7 3091-6"},
    {"uric_acid", "3084-1 14933-6"},
    {"alt", "1742-6 1743-4 1744-2"},
    {"ast", "1920-8 30239-8"},
    {"ggt", "2324-2"},
    {"alp", "6768-6"},
    {"bilirubin", "1975-2 14631-6 42719-5"},
    {"albumin", "1751-7 61151-7"},
    {"hemoglobin", "718-7 20509-6 30350-3 59260-0"},
    {"hematocrit", "4544-3 20570-8 48703-3"},
    {"wbc", "6690-2 26464-8 804-5"},
    {"platelets", "777-3 26515-7 778-1"},
    {"sodium", "2951-2 2947-0"},
    {"potassium", "2823-3 6298-4"},
    {"calcium", "17861-6 2000-8"},
    {"magnesium", "19123-9 2601-3"},
    {"testosterone", "2986-8 14913-8"},
    {"cortisol", "2143-6 9813-7 14675-3"},
    {"homocysteine", "13965-9 2428-1"},
    {"psa", "2857-1 35741-8"},
};

/* Vital signs are measured as the devices of a person measure them: they join those series. */
static const struct {
    const char *metric;
    const char *codes;
} metrics[] = {
    {"systolic", "8480-6"},
    {"diastolic", "8462-4"},
    {"heart_rate", "8867-4"},
    {"resting_heart_rate", "40443-4"},
    {"weight", "29463-7 3141-9 3142-7"},
    {"height", "8302-2 3137-7"},
    {"bmi", "39156-5"},
    {"body_temperature", "8310-5 8331-1 8333-7"},
    {"blood_oxygen", "2708-6 59408-5"},
    {"respiratory_rate", "9279-1"},
    {"waist", "8280-0 56086-2"},
    {"body_fat", "41982-0"},
};

static bool has_code(const char *codes, struct weir_slice code)
{
    for (const char *at = codes; at && code.len > 0;) {
        size_t len = strcspn(at, " ");
        if (len == code.len && memcmp(at, code.ptr, len) == 0) return true;
        at = at[len] == ' ' ? at + len + 1 : NULL;
    }
    return false;
}

const struct analyte *loinc_analyte(struct weir_slice code)
{
    for (size_t i = 0; i < sizeof analytes / sizeof *analytes; i++)
        if (has_code(analytes[i].codes, code))
            return analyte_find(weir_slice_of(analytes[i].analyte));
    return NULL;
}

const struct metric *loinc_metric(struct weir_slice code)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (has_code(metrics[i].codes, code)) return metric_find(weir_slice_of(metrics[i].metric));
    return NULL;
}

static const struct {
    const char *ucum, *ours;
} spellings[] = {
    {"lb_av", "lb"}, {"oz_av", "oz"}, {"in_i", "in"},    {"ft_i", "ft"},
    {"in_us", "in"}, {"Cel", "degC"}, {"min-1", "/min"}, {"IU/L", "U/L"},
};

bool ucum_spell(struct weir_slice unit, char out[UCUM_BYTES])
{
    size_t len = 0;
    unsigned depth = 0;
    for (size_t i = 0; i < unit.len; i++) {
        char c = unit.ptr[i];
        if (c == '{') depth++;
        bool is_left_out = depth > 0 || c == '[' || c == ']';
        if (c == '}' && depth > 0) depth--;
        if (is_left_out) continue;
        if (len + 1 >= UCUM_BYTES) return false;
        out[len++] = c;
    }
    out[len] = 0;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (strcmp(out, spellings[i].ucum) != 0) continue;
        len = strlen(spellings[i].ours);
        memcpy(out, spellings[i].ours, len + 1);
    }
    return len > 0;
}
