/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of laboratory results: a row for each test, under the many names headers have. */
#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/lab_value.h"

static const struct table_column columns[] = {
    {"collection date time|collected|collection date|date collected|sample date|specimen "
     "date|drawn|draw date|"
     "collected date|collection time|entnahmedatum|date de prélèvement",
     FIELD_DATE, NULL, NULL},
    {"date|datum|fecha|data|test date|result date|observation date|date time|datetime|day|"
     "reported|report date|effective date",
     FIELD_DATE, NULL, NULL},
    {"test|test name|analyte|biomarker|marker|component|lab test|observation|test description|"
     "analysis|assay|laborwert|analyt|untersuchung|prueba|análisis|examen|analyse|"
     "component name|result name|lab|exam",
     FIELD_NAME, NULL, NULL},
    {"value|result|results|wert|ergebnis|valor|resultado|résultat|valeur|result value|"
     "numeric result|your value|messwert|your result|test result|component value",
     FIELD_VALUE, NULL, NULL},
    {"unit|units|einheit|unidad|unidades|unité|unités|uom|unit of measure", FIELD_UNIT, NULL, NULL},
    {"reference range|range|reference|ref range|reference interval|normal range|referenzbereich|"
     "standard range|normal|ref|normbereich|valores de referencia|valeurs de référence|reference "
     "values",
     FIELD_RANGE, NULL, NULL},
    {"flag|abnormal|abnormal flag|interpretation|flags|status|markierung|bewertung", FIELD_FLAG,
     NULL, NULL},
    {"laboratory|lab name|provider|labor|laboratorio|laboratoire", FIELD_TITLE, NULL, NULL},
    /* Names that could be of anything: only where a range or a flag says what it is. */
    {"name|parameter|description|measurement|item|test type|type", FIELD_NAME, NULL, NULL},
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static enum weir_status row(struct table *t)
{
    int32_t day = table_day(t, FIELD_DATE);
    struct lab_text text = {.name = table_cell(t, FIELD_NAME),
                            .value = table_cell(t, FIELD_VALUE),
                            .unit = table_cell(t, FIELD_UNIT),
                            .range = table_cell(t, FIELD_RANGE),
                            .flag = table_cell(t, FIELD_FLAG)};
    if (day == DAY_NONE || text.value.len == 0) return WEIR_OK;
    if (text.name.len == 0) {
        table_refuse(t, "a result without the name of its test");
        return WEIR_OK;
    }
    struct weir_slice laboratory = table_cell(t, FIELD_TITLE);
    t->source.name = laboratory.len > 0 ? laboratory : SLICE("labs");
    return lab_give(t, lab_find(text.name), &text, day);
}

#define LABS                                                                                       \
    .name = "labs", .sure = 60, .source = "labs", .source_class = SOURCE_LAB, .looks_ahead = true, \
    .columns = columns, .row = row
#define NEEDS FIELD_BIT(FIELD_DATE) | FIELD_BIT(FIELD_NAME) | FIELD_BIT(FIELD_VALUE)

static const struct table_format formats[] = {
    {LABS, .needs = NEEDS, .n_columns = N_COLUMNS - 1},
    {LABS, .needs = NEEDS | FIELD_BIT(FIELD_RANGE), .n_columns = N_COLUMNS},
    {LABS, .needs = NEEDS | FIELD_BIT(FIELD_FLAG) | FIELD_BIT(FIELD_UNIT), .n_columns = N_COLUMNS},
};

TABLE_KIND(reader_labs, "labs", "laboratory results");
