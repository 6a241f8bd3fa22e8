/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kinds.h"
#include "record.h"
#include "t.h"

#define LABS(input, want) RECORD_IS(&reader_labs, "labs.csv", input, want)

TEST(results_are_converted_and_what_was_printed_is_kept)
{
    LABS("date,test,value,unit,reference_range,flag\n"
         "2025-03-05,LDL Cholesterol,124,mg/dL,<100,H\n"
         "2025-03-05,Triglycerides,1.6,mmol/L,<1.7,\n"
         "2025-03-05,hs-CRP,<0.3,mg/L,<3.0,\n"
         "2025-03-05,\"Vitamin D, 25-OH\",24,ng/mL,30-100,L\n"
         "2024-09-02,Hemoglobin A1c,40,mmol/mol,20-38,H\n",
         "lab ldl (LDL Cholesterol) 2025-03-05 124 mg/dL printed '124 mg/dL' range '<100' flag 'H' "
         "[labs lab]\n"
         "lab triglycerides (Triglycerides) 2025-03-05 141.712 mg/dL printed '1.6 mmol/L' range "
         "'<1.7' flag '' [labs lab]\n"
         "lab hs_crp (hs-CRP) 2025-03-05 < 0.3 mg/L printed '<0.3 mg/L' range '<3.0' flag '' "
         "[labs lab]\n"
         "lab vitamin_d_25oh (Vitamin D, 25-OH) 2025-03-05 24 ng/mL printed '24 ng/mL' range "
         "'30-100' flag 'L' [labs lab]\n"
         "lab hba1c (Hemoglobin A1c) 2024-09-02 5.8112 % printed '40 mmol/mol' range '20-38' flag "
         "'H' [labs lab]\n");
}

TEST(headers_of_other_houses_and_languages_are_known)
{
    LABS("Collection Date,Test Name,Result,Units,Reference Interval,Laboratory\n"
         "3/25/2025,\"Glucose, Serum\",98 H,mg/dL,65-99,Acme Labs\n",
         "lab fasting_glucose (Glucose, Serum) 2025-03-25 98 mg/dL printed '98 H mg/dL' range "
         "'65-99' flag 'H' [Acme Labs lab]\n");
    LABS(
        "Datum;Untersuchung;Wert;Einheit;Referenzbereich\n"
        "05.03.2025;Ferritin;85,5;ng/mL;30-400\n",
        "lab ferritin (Ferritin) 2025-03-05 85.5 ng/mL printed '85,5 ng/mL' range '30-400' flag '' "
        "[labs lab]\n");
    LABS("date,analyte,value,unit\n2024-12-12,ldl,131.2,mg/dL\n",
         "lab ldl (ldl) 2024-12-12 131.2 mg/dL printed '131.2 mg/dL' range '' flag '' "
         "[labs lab]\n");
}

TEST(names_of_other_languages_and_remarks_in_units_are_understood)
{
    LABS("Datum;Untersuchung;Ergebnis;Einheit\n"
         "15.03.2025;LDL-Cholesterin;3;mmol/l\n"
         "15.03.2025;Hämoglobin;14,5;g/dl\n"
         "15.03.2025;Hémoglobine glyquée;5,5;%\n",
         "lab ldl (LDL-Cholesterin) 2025-03-15 116.01 mg/dL printed '3 mmol/l' range '' flag '' "
         "[labs lab]\n"
         "lab hemoglobin (Hämoglobin) 2025-03-15 14.5 g/dL printed '14,5 g/dl' range '' flag '' "
         "[labs lab]\n"
         "lab hba1c (Hémoglobine glyquée) 2025-03-15 5.5 % printed '5,5 %' range '' flag '' "
         "[labs lab]\n");
    LABS("Date,Test Name,Result,Units\n"
         "2025-03-15,LDL-CHOLESTEROL,124,mg/dL (calc)\n"
         "2025-03-15,HEMOGLOBIN A1c,5.5,% of total Hgb\n",
         "lab ldl (LDL-CHOLESTEROL) 2025-03-15 124 mg/dL printed '124 mg/dL (calc)' range '' flag "
         "'' [labs lab]\n"
         "lab hba1c (HEMOGLOBIN A1c) 2025-03-15 5.5 % printed '5.5 % of total Hgb' range '' flag "
         "'' [labs lab]\n");
}

TEST(urea_and_urea_nitrogen_are_two_things)
{
    LABS("date,test,value,unit\n"
         "2025-03-15,Harnstoff,30,mg/dl\n"
         "2025-03-15,Urea,5,mmol/L\n"
         "2025-03-15,BUN,5,mmol/L\n",
         "lab urea (Harnstoff) 2025-03-15 30 mg/dL printed '30 mg/dl' range '' flag '' "
         "[labs lab]\n"
         "lab urea (Urea) 2025-03-15 30.03 mg/dL printed '5 mmol/L' range '' flag '' [labs lab]\n"
         "lab bun (BUN) 2025-03-15 14.005 mg/dL printed '5 mmol/L' range '' flag '' [labs lab]\n");
}

TEST(tests_that_are_not_known_are_kept_under_their_name)
{
    LABS("date,test,value,unit\n"
         "2025-03-05,Zonulin,42,ng/mL\n"
         "2025-03-05,\"Testosterone, Free\",9,pg/mL\n"
         "2025-03-05,LDL Cholesterol,3,furlong\n",
         "lab - (Zonulin) 2025-03-05 42 ng/mL printed '42 ng/mL' range '' flag '' [labs lab]\n"
         "lab - (Testosterone, Free) 2025-03-05 9 pg/mL printed '9 pg/mL' range '' flag '' "
         "[labs lab]\n"
         "lab - (LDL Cholesterol) 2025-03-05 3 furlong printed '3 furlong' range '' flag '' "
         "[labs lab]\n");
}

TEST(results_that_are_wrong_are_refused)
{
    LABS("date,test,value,unit\n"
         "2025-03-05,LDL,Negative,\n"
         "2025-03-05,LDL,99999,mg/dL\n"
         "2025-03-05,,5,mg/dL\n"
         "2025-03-05,LDL,,mg/dL\n"
         "yesterday,LDL,100,mg/dL\n"
         "2025-03-05,LDL,5.4 mmol/L,\n",
         "refused 2: \"Negative\" is not a number\n"
         "refused 3: LDL cholesterol: \"99999 mg/dL\" is not plausible (5 to 800 mg/dL)\n"
         "refused 4: a result without the name of its test\n"
         "refused 6: date: \"yesterday\" is not a date\n"
         "lab ldl (LDL) 2025-03-05 208.818 mg/dL printed '5.4 mmol/L' range '' flag '' "
         "[labs lab]\n");
}

TEST(a_name_of_anything_is_a_test_beside_a_range)
{
    const char *table = "date,name,value,unit,reference range\n2025-03-05,LDL,124,mg/dL,<100\n";
    T_EQ_STR(weir_slice_of(record_kind("x", weir_slice_of(table))), "labs");
    LABS(table, "lab ldl (LDL) 2025-03-05 124 mg/dL printed '124 mg/dL' range '<100' flag '' "
                "[labs lab]\n");
    const char *values = "date,name,value,unit\n2025-03-05,weight,70,kg\n";
    T_EQ_STR(weir_slice_of(record_kind("x", weir_slice_of(values))), "plain");
}

TEST(units_are_known_with_other_signs)
{
    LABS(
        "date,test,value,unit\n"
        "2025-03-05,Creatinine,88.42,μmol / l\n"
        "2025-03-05,eGFR,>60,mL/min/1.73 m²\n"
        "2025-03-05,Iron,100*,µg/dL\n",
        "lab creatinine (Creatinine) 2025-03-05 1 mg/dL printed '88.42 μmol / l' range '' flag '' "
        "[labs lab]\n"
        "lab egfr (eGFR) 2025-03-05 > 60 mL/min/1.73m2 printed '>60 mL/min/1.73 m²' range '' flag "
        "'' [labs lab]\n"
        "lab iron (Iron) 2025-03-05 100 ug/dL printed '100* µg/dL' range '' flag '*' [labs lab]\n");
}
