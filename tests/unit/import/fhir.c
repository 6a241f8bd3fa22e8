/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "import/fhir_code.h"
#include "import/kinds.h"
#include "record.h"
#include "t.h"

#define FHIR_IS(input, want) RECORD_IS(&reader_fhir, "Observation-1.json", input, want)
#define LOINC(code, text)                                                                          \
    "\"code\":{\"coding\":[{\"system\":\"http://loinc.org\",\"code\":\"" code                      \
    "\"}],\"text\":\"" text "\"}"
#define WHEN           "\"effectiveDateTime\":\"2024-05-06T08:30:00-04:00\""
#define VALUE(n, unit) "\"valueQuantity\":{\"value\":" n ",\"unit\":\"" unit "\"}"
#define OBSERVATION    "{\"resourceType\":\"Observation\",\"status\":\"final\","

TEST(an_observation_is_a_laboratory_result)
{
    FHIR_IS(OBSERVATION LOINC("13457-7", "LDL (calc)") "," WHEN "," VALUE(
                "121", "mg/dL") ",\"performer\":[{\"display\":\"City "
                                "Lab\"}],\"interpretation\":[{\"coding\":[{"
                                "\"code\":\"H\"}]}],\"referenceRange\":[{\"low\":{\"value\":0},"
                                "\"high\":{\"value\":"
                                "99}}]}",
            "lab ldl (LDL (calc)) 2024-05-06 121 mg/dL printed '121 mg/dL' range '0 - 99' flag 'H' "
            "[City Lab lab]\n");
}

TEST(dstu2_has_one_interpretation_and_a_text_for_the_range)
{
    FHIR_IS(OBSERVATION LOINC("4548-4", "HbA1c") ",\"effectiveDateTime\":\"2024-05-06\"," VALUE(
                "5.4", "%") ",\"interpretation\":{\"coding\":[{\"code\":\"N\"}]},"
                            "\"referenceRange\":[{\"text\":\"<5.7\"}]}",
            "lab hba1c (HbA1c) 2024-05-06 5.4 % printed '5.4 %' range '<5.7' flag '' "
            "[clinical record lab]\n");
}

TEST(molar_units_and_codes_of_ucum_are_converted)
{
    FHIR_IS(OBSERVATION LOINC("14749-6", "Glucose") "," WHEN "," VALUE("5.5", "mmol/L") "}",
            "lab fasting_glucose (Glucose) 2024-05-06 99.088 mg/dL printed '5.5 mmol/L' range '' "
            "flag '' [clinical record lab]\n");
    FHIR_IS(OBSERVATION LOINC("3016-3", "TSH") "," WHEN
                                               ",\"valueQuantity\":{\"value\":2.1,\"unit\":"
                                               "\"u[IU]/mL\"}}",
            "lab tsh (TSH) 2024-05-06 2.1 mIU/L printed '2.1 u[IU]/mL' range '' flag '' "
            "[clinical record lab]\n");
    FHIR_IS(OBSERVATION LOINC("777-3", "PLT") "," WHEN ",\"valueQuantity\":{\"value\":210,\"unit\":"
                                              "\"Thousand\",\"code\":\"10*3/uL\"}}",
            "lab platelets (PLT) 2024-05-06 210 10^3/uL printed '210 Thousand' range '' flag '' "
            "[clinical record lab]\n");
}

TEST(bounds_keep_their_comparator)
{
    FHIR_IS(
        OBSERVATION LOINC(
            "30522-7",
            "hs-CRP") "," WHEN
                      ",\"valueQuantity\":{\"value\":0.3,\"comparator\":\"<\",\"unit\":\"mg/L\"}}",
        "lab hs_crp (hs-CRP) 2024-05-06 < 0.3 mg/L printed '<0.3 mg/L' range '' flag '' "
        "[clinical record lab]\n");
    FHIR_IS(OBSERVATION LOINC("30522-7", "hs-CRP") "," WHEN ",\"valueString\":\"<0.3 mg/L\"}",
            "lab hs_crp (hs-CRP) 2024-05-06 < 0.3 mg/L printed '<0.3 mg/L' range '' flag '' "
            "[clinical record lab]\n");
}

TEST(a_test_without_a_known_code_is_found_by_its_name_or_kept_by_it)
{
    FHIR_IS(OBSERVATION "\"code\":{\"text\":\"Ferritin\"}," WHEN "," VALUE("88", "ng/mL") "}",
            "lab ferritin (Ferritin) 2024-05-06 88 ng/mL printed '88 ng/mL' range '' flag '' "
            "[clinical record lab]\n");
    FHIR_IS(OBSERVATION LOINC("99999-9", "Zonulin") "," WHEN "," VALUE("3.1", "ng/mL") "}",
            "lab - (Zonulin) 2024-05-06 3.1 ng/mL printed '3.1 ng/mL' range '' flag '' "
            "[clinical record lab]\n");
}

TEST(blood_pressure_panels_and_other_vital_signs_join_their_series)
{
    FHIR_IS(OBSERVATION LOINC("85354-9", "BP") "," WHEN ",\"component\":[{" LOINC(
                "8480-6",
                "Systolic") "," VALUE("128", "mm[Hg]") "},"
                                                       "{" LOINC("8462-4", "Diastolic") "," VALUE(
                                                           "82", "mmHg") "}]}",
            "sample systolic 2024-05-06T08:30:00-04:00 128 [clinical record scale]\n"
            "sample diastolic 2024-05-06T08:30:00-04:00 82 [clinical record scale]\n");
    FHIR_IS(OBSERVATION LOINC("29463-7", "Weight") ",\"effectiveDateTime\":\"2024-05-06\"," VALUE(
                "160", "[lb_av]") "}",
            "day weight 2024-05-06 72.5747792 [clinical record scale]\n");
    FHIR_IS(OBSERVATION LOINC("8310-5", "Temp") "," WHEN "," VALUE("98.6", "[degF]") "}",
            "sample body_temperature 2024-05-06T08:30:00-04:00 37 [clinical record scale]\n");
}

TEST(reports_bundles_arrays_and_lines_hold_observations)
{
    static const char want[] =
        "lab ldl (LDL) 2024-05-06 121 mg/dL printed '121 mg/dL' range '' flag "
        "'' [clinical record lab]\n";
#define LDL OBSERVATION LOINC("2089-1", "LDL") "," WHEN "," VALUE("121", "mg/dL") "}"
    FHIR_IS("{\"resourceType\":\"DiagnosticReport\",\"contained\":[" LDL "]}", want);
    FHIR_IS("{\"resourceType\":\"Bundle\",\"entry\":[{\"fullUrl\":\"u\",\"resource\":" LDL "}]}",
            want);
    FHIR_IS("[" LDL "]", want);
    FHIR_IS("\xEF\xBB\xBF" LDL, want);
    RECORD_IS(&reader_fhir, "x.ndjson", LDL "\n\n{\"resourceType\":\"Patient\"}\n",
              "lab ldl (LDL) 2024-05-06 121 mg/dL printed '121 mg/dL' range '' flag '' "
              "[clinical record lab]\nignored FHIR Patient\n");
}

TEST(what_has_no_number_or_was_an_error_is_ignored)
{
    FHIR_IS(OBSERVATION LOINC("1-8", "Colour") "," WHEN ",\"valueString\":\"yellow\"}",
            "ignored FHIR Observation without a number\n");
    FHIR_IS("{\"resourceType\":\"Observation\",\"status\":\"entered-in-error\"," WHEN
            "," VALUE("1", "mg/dL") "}",
            "ignored FHIR Observation that was an error\n");
    FHIR_IS("{\"resourceType\":\"Immunization\"}", "ignored FHIR Immunization\n");
}

TEST(results_without_a_day_or_beyond_belief_are_refused)
{
    FHIR_IS(OBSERVATION LOINC("2089-1", "LDL") "," VALUE("121", "mg/dL") "}",
            "refused 1: \"\" is no date of a result\n");
    FHIR_IS(OBSERVATION LOINC("2089-1", "LDL") "," WHEN "," VALUE("99999", "mg/dL") "}",
            "refused 1: \"LDL\" has a value that is not plausible\n");
}

TEST(broken_json_ends_with_an_error_and_its_line)
{
    FHIR_IS("{\"resourceType\":\n\"Observation\",]",
            "error json_syntax: line 2: the text is not JSON\n");
    FHIR_IS("{\"resourceType\":\"Observation\"", "error json_truncated: line 1: the JSON text ends "
                                                 "before its value does\n");
}

TEST(a_time_in_utc_is_told_by_the_clock_of_the_person)
{
    FHIR_IS(
        OBSERVATION LOINC("2089-1", "LDL") ",\"effectiveDateTime\":\"2024-05-06T02:00:00Z\"," VALUE(
            "121", "mg/dL") "}",
        "lab ldl (LDL) 2024-05-05 121 mg/dL printed '121 mg/dL' range '' flag '' "
        "[clinical record lab]\n");
}

TEST(units_of_ucum_are_spelt_as_ours)
{
    char out[UCUM_BYTES];
    T_OK(ucum_spell(weir_slice_of("{beats}/min"), out));
    T_EQ_STR(weir_slice_of(out), "/min");
    T_OK(ucum_spell(weir_slice_of("mm[Hg]"), out));
    T_EQ_STR(weir_slice_of(out), "mmHg");
    T_OK(ucum_spell(weir_slice_of("Cel"), out));
    T_EQ_STR(weir_slice_of(out), "degC");
    T_OK(!ucum_spell(weir_slice_of("{}"), out));
}
