/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "data/catalogue.h"
#include "t.h"

static double convert(const char *from, const char *to, double value)
{
    double out = NAN;
    return unit_convert(from, to, value, &out) ? out : NAN;
}

static double lab(const char *analyte, const char *from, double value)
{
    double out = NAN;
    const struct analyte *a = analyte_find(weir_slice_of(analyte));
    return analyte_convert(a, weir_slice_of(from), value, &out) ? out : NAN;
}

#define NEAR(a, b) T_OK(fabs((a) - (b)) < 1e-6)

TEST(units_of_one_dimension_convert_there_and_back)
{
    NEAR(convert("lb", "kg", 171.08), 77.6005826596);
    NEAR(convert("pounds", "kg", 1), 0.45359237);
    NEAR(convert("degF", "degC", 98.6), 37);
    NEAR(convert("degC", "degF", 37), 98.6);
    NEAR(convert("mi", "km", 1), 1.609344);
    NEAR(convert("count", "steps", 7), 7);
    NEAR(convert("count/min", "bpm", 60), 60);
    NEAR(convert("hours", "min", 7.5), 450);
    T_OK(isnan(convert("kg", "min", 1)));
    T_OK(isnan(convert("furlong", "km", 1)));
}

TEST(laboratory_values_convert_by_their_substance)
{
    NEAR(lab("fasting_glucose", "mmol/L", 5.4), 97.2864);
    NEAR(lab("ldl", "mmol/l", 3.4), 131.478);
    NEAR(lab("triglycerides", "mmol/L", 1.6), 141.712);
    NEAR(lab("hba1c", "mmol/mol", 40), 5.8112);
    NEAR(lab("hba1c", "%", 5.8), 5.8);
    NEAR(lab("vitamin_d_25oh", "ng/mL", 24), 24);
    NEAR(lab("hs_crp", "mg/dL", 0.1), 1);
    T_OK(isnan(lab("ldl", "furlong", 1)));
}
