/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain tables: one row a day and a column for each metric ("date,steps,weight_kg,mood"), or one
 * row a value ("date,metric,value,unit"). Columns are found in the catalogue by their names;
 * others that hold numbers are the person's own metrics, by the name the table gives them.
 *
 * Where the date column has times of day, a row is a measurement and not a day: what is measured
 * at a moment (weight, blood pressure) is then a sample, and the day's value is made of them.
 */
#include "base/slice.h"
#include "data/day.h"
#include "import/kinds.h"
#include "import/lab_value.h"
#include "import/table.h"

#define DATE_NAMES                                                                                 \
    "date|datum|fecha|data|dato|calendar date|date time|datetime|timestamp|local date|day date|"   \
    "recorded at|measured at|measurement date|start date|entry date|time of measurement|"          \
    "sleep score 7 days|sleep score 4 weeks|sleep score 1 year"

static const struct table_column wide_columns[] = {
    {DATE_NAMES, FIELD_DATE, NULL, NULL},
    {"day|jour|tag|giorno|dia|día", FIELD_DATE, NULL, NULL},
    {"time|clock|uhrzeit|time of day|hora|heure", FIELD_CLOCK, NULL, NULL},
    {"goal|id|uuid|user|user id|userid|weekday|day of week|wochentag|timezone|time zone|row|index",
     FIELD_UNUSED, NULL, NULL},
    /* As programs that copy a telephone's data into tables call them. */
    {"Heart Rate [Avg]|Heart Rate [Average]|Heart Rate Avg", FIELD_NONE, "heart_rate", NULL},
    {"Heart Rate [Min]", FIELD_NONE, "min_heart_rate", NULL},
    {"Heart Rate [Max]", FIELD_NONE, "max_heart_rate", NULL},
    {"Sleep Analysis [Asleep]|Sleep Analysis [Total]", FIELD_NONE, "sleep_minutes", "h"},
    {"Sleep Analysis [Deep]", FIELD_NONE, "deep_sleep_minutes", "h"},
    {"Sleep Analysis [REM]", FIELD_NONE, "rem_sleep_minutes", "h"},
    {"Sleep Analysis [Core]", FIELD_NONE, "light_sleep_minutes", "h"},
    {"Sleep Analysis [Awake]", FIELD_NONE, "awake_minutes", "h"},
    {"Sleep Analysis [In Bed]", FIELD_NONE, "time_in_bed", "h"},
    {"Walking + Running Distance", FIELD_NONE, "distance", NULL},
    {"Weight & Body Mass|Weight/Body Mass|Average weight", FIELD_NONE, "weight", NULL},
    {"Apple Exercise Time|Move Minutes count", FIELD_NONE, "active_minutes", NULL},
    {"Apple Stand Hour", FIELD_NONE, "stand_hours", NULL},
    {"Max weight|Min weight", FIELD_UNUSED, NULL, NULL},
    /* What the catalogue, which is for questions in English, has no words for. */
    {"Schritte|Schrittzahl|Pas|Nombre de pas|Pasos|Passi|Stappen|Passos|Steg", FIELD_NONE, "steps",
     NULL},
    {"Gewicht|Körpergewicht|Poids|Peso|Peso corporal|Vikt", FIELD_NONE, "weight", NULL},
    {"Schlaf|Schlafdauer|Schlafzeit|Sommeil|Durée de sommeil|Durée du sommeil|Sueño|"
     "Duración del sueño|Horas de sueño|Sonno|Slaap|Sono",
     FIELD_NONE, "sleep_minutes", NULL},
    {"Tiefschlaf|Sommeil profond|Sueño profundo|Sonno profondo|Diepe slaap|Sono profundo",
     FIELD_NONE, "deep_sleep_minutes", NULL},
    {"REM-Schlaf|Sommeil paradoxal|Sommeil REM|Sueño REM|Sonno REM|REM-slaap|Sono REM", FIELD_NONE,
     "rem_sleep_minutes", NULL},
    {"Leichtschlaf|Sommeil léger|Sueño ligero|Sonno leggero|Lichte slaap|Sono leve", FIELD_NONE,
     "light_sleep_minutes", NULL},
    {"Ruhepuls|Ruheherzfrequenz|Fréquence cardiaque au repos|FC au repos|FC de repos|"
     "Frecuencia cardiaca en reposo|Frecuencia cardíaca en reposo|FC en reposo|"
     "Frequenza cardiaca a riposo|Hartslag in rust|Rusthartslag|Frequência cardíaca em repouso",
     FIELD_NONE, "resting_heart_rate", NULL},
    {"Herzfrequenzvariabilität|HFV|Variabilité de la fréquence cardiaque|VFC|"
     "Variabilidad de la frecuencia cardiaca|Variabilità della frequenza cardiaca",
     FIELD_NONE, "hrv_rmssd", NULL},
    {"Distanz|Strecke|Distancia|Distanza|Afstand|Distância", FIELD_NONE, "distance", NULL},
    {"Kalorien|Calorías|Calorie|Calorieën|Calorias", FIELD_NONE, "total_energy", NULL},
    {"Aktive Minuten|Minutes actives|Minutos activos|Minuti attivi|Minutos ativos", FIELD_NONE,
     "active_minutes", NULL},
    {"Körperfett|Masse grasse|Grasa corporal|Grasso corporeo|Lichaamsvet|Gordura corporal",
     FIELD_NONE, "body_fat", NULL},
    {"Sauerstoffsättigung|Saturation en oxygène|Saturación de oxígeno|Saturazione di ossigeno",
     FIELD_NONE, "blood_oxygen", NULL},
    {"Körpertemperatur|Température corporelle|Temperatura corporal", FIELD_NONE, "body_temperature",
     NULL},
    {"Blutzucker|Glycémie|Glucosa|Glicemia", FIELD_NONE, "blood_glucose", NULL},
    {"Stimmung|Humeur|Estado de ánimo|Umore|Humor", FIELD_NONE, "mood", NULL},
    {"Schlafenszeit|Zubettgehzeit|Heure du coucher|Hora de acostarse", FIELD_NONE, "bedtime", NULL},
    {"Aufwachzeit|Aufstehzeit|Heure du lever|Hora de despertar", FIELD_NONE, "wake_time", NULL},
};

static const struct table_column long_columns[] = {
    {DATE_NAMES, FIELD_DATE, NULL, NULL},
    {"day|jour|tag", FIELD_DATE, NULL, NULL},
    {"time|clock|uhrzeit|time of day", FIELD_CLOCK, NULL, NULL},
    {"metric|measure|measurement|variable|parameter|metric name|quantity|indicator|name|type",
     FIELD_NAME, NULL, NULL},
    {"value|wert|valor|valeur|amount|reading", FIELD_VALUE, NULL, NULL},
    {"unit|units|einheit|unidad|unité", FIELD_UNIT, NULL, NULL},
};

/* What is measured at a moment; sums and nights belong to their day whatever the time says. */
static bool is_momentary(const struct metric *m)
{
    bool is_kept = m->daily == DAILY_MEAN || m->daily == DAILY_LAST || m->daily == DAILY_MIN ||
                   m->daily == DAILY_MAX;
    return is_kept && strcmp(m->group, "sleep") != 0 && m->relation != METRIC_SCORE_OF;
}

/* Steps of an hour, a glass of water: where a day has several rows, they are to be added. */
static bool is_counted(const struct table *t, const struct metric *m)
{
    return t->has_repeats && m->daily == DAILY_SUM && strcmp(m->group, "sleep") != 0;
}

static enum weir_status give(struct table *t, const struct metric *m, int32_t day, double value)
{
    bool has_moment = t->is_timed || table_cell(t, FIELD_CLOCK).len > 0;
    struct sample s = {.metric = m, .value = value, .source = t->source};
    if (!has_moment || !(is_momentary(m) || is_counted(t, m)))
        return table_day_value(t, m, (struct weir_slice){0}, day, value);
    if (!table_moment(t, FIELD_DATE, &s.start)) return WEIR_OK;
    s.end = s.start;
    return t->context.sink.sample(t->context.sink.user, &s);
}

/* "120/80" is two numbers of one measurement. */
static bool is_pressure(const struct table *t, size_t column, double both[2])
{
    const struct metric *m = t->columns[column].metric;
    struct weir_slice s = cell_trim(t->row.fields[column]);
    const char *slash = s.len > 0 ? memchr(s.ptr, '/', s.len) : NULL;
    if (!m || strcmp(m->name, "systolic") != 0 || !slash) return false;
    struct weir_slice rest = slice_from(s, (size_t)(slash + 1 - s.ptr));
    return cell_number(slice_of(s.ptr, (size_t)(slash - s.ptr)), t->numbers, &both[0]) &&
           cell_number(rest, t->numbers, &both[1]);
}

static enum weir_status give_pressure(struct table *t, int32_t day, const double both[2])
{
    const struct metric *high = metric_find(SLICE("systolic"));
    const struct metric *low = metric_find(SLICE("diastolic"));
    if (both[0] < high->min || both[0] > high->max || both[1] < low->min || both[1] > low->max) {
        table_refuse(t, "a blood pressure of %g/%g is not plausible", both[0], both[1]);
        return WEIR_OK;
    }
    enum weir_status st = give(t, high, day, both[0]);
    return st == WEIR_OK ? give(t, low, day, both[1]) : st;
}

static enum weir_status wide_cell(struct table *t, size_t column, int32_t day)
{
    const struct table_bound *b = &t->columns[column];
    double value;
    double both[2];
    if (is_pressure(t, column, both)) return give_pressure(t, day, both);
    if (b->analyte) {
        struct lab_text lab = {.name = b->label,
                               .value = cell_trim(t->row.fields[column]),
                               .unit = weir_slice_of(b->unit)};
        return cell_is_missing(lab.value) ? WEIR_OK : lab_give(t, b->analyte, &lab, day);
    }
    if ((!b->metric && !b->is_own) || b->is_text || !table_value(t, column, &value)) return WEIR_OK;
    if (b->metric) return give(t, b->metric, day, value);
    return table_day_value(t, NULL, b->label, day, value);
}

static enum weir_status wide_row(struct table *t)
{
    int32_t day = table_day(t, FIELD_DATE);
    if (day == DAY_NONE) return WEIR_OK;
    for (size_t i = 0; i < t->n_columns && i < t->row.n; i++) {
        if (t->columns[i].field != FIELD_NONE) continue;
        enum weir_status st = wide_cell(t, i, day);
        if (st != WEIR_OK) return st;
    }
    return WEIR_OK;
}

/* ---- one row a value ---- */

static enum weir_status long_row(struct table *t)
{
    int32_t day = table_day(t, FIELD_DATE);
    struct weir_slice name = table_cell(t, FIELD_NAME);
    struct weir_slice text = table_cell(t, FIELD_VALUE);
    if (day == DAY_NONE || text.len == 0) return WEIR_OK;
    if (name.len == 0) {
        table_refuse(t, "a value without the name of its metric");
        return WEIR_OK;
    }
    /* The value's column is given the metric of this row, and is then read as any other. */
    struct table_bound *b = &t->columns[t->at[FIELD_VALUE]];
    double value;
    if (!table_bind_value(t, b, name, table_cell(t, FIELD_UNIT))) return WEIR_OK;
    if (b->analyte) {
        struct lab_text lab = {.name = name, .value = text, .unit = table_cell(t, FIELD_UNIT)};
        return lab_give(t, b->analyte, &lab, day);
    }
    if (!table_value(t, t->at[FIELD_VALUE], &value)) return WEIR_OK;
    return b->metric ? give(t, b->metric, day, value) : table_day_value(t, NULL, name, day, value);
}

/* ---- a table of dates and values, named after what they are ---- */

static bool is_nameless(struct weir_slice label)
{
    static const char *const names[] = {"value", "values", "wert",   "amount",
                                        "total", "valor",  "valeur", "actual"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (table_is_name(label, weir_slice_of(names[i]))) return true;
    return false;
}

/* "weight-2025-03.csv" is of weight. */
static struct weir_slice stem(struct weir_slice file_name)
{
    size_t n = 0;
    while (n < file_name.len && file_name.ptr[n] != '.' &&
           !(file_name.ptr[n] >= '0' && file_name.ptr[n] <= '9'))
        n++;
    while (n > 0 && strchr(" -_(", file_name.ptr[n - 1])) n--;
    return cell_trim(slice_of(file_name.ptr, n));
}

/* Whether another column says what it is: then one that does not is merely the person's own. */
static bool has_named(const struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        const struct table_bound *b = &t->columns[i];
        if (b->metric || b->analyte || (b->is_own && !is_nameless(b->label))) return true;
    }
    return false;
}

static enum weir_status wide_begin(struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        struct table_bound *b = &t->columns[i];
        if (!b->is_own || !is_nameless(b->label)) continue;
        const struct metric *m = metric_find(stem(t->context.file_name));
        if (!m && has_named(t)) continue;
        if (!m)
            return table_fail(
                t,
                "column \"%.*s\" does not say what it is; call it by what is measured, "
                "or the file (weight.csv)",
                (int)b->label.len, b->label.ptr);
        b->metric = m;
        b->is_own = false;
        if (b->unit && b->unit[0] == 0) b->unit = NULL;
    }
    return WEIR_OK;
}

static const struct table_format formats[] = {
    {.name = "plain",
     .sure = 50,
     .needs = FIELD_BIT(FIELD_DATE) | FIELD_BIT(FIELD_NAME) | FIELD_BIT(FIELD_VALUE),
     .columns = long_columns,
     .n_columns = sizeof long_columns / sizeof *long_columns,
     .source = "plain",
     .looks_ahead = true,
     .row = long_row},
    {.name = "plain",
     .sure = 30,
     .needs = FIELD_BIT(FIELD_DATE),
     .columns = wide_columns,
     .n_columns = sizeof wide_columns / sizeof *wide_columns,
     .source = "plain",
     .is_open = true,
     .looks_ahead = true,
     .begin = wide_begin,
     .row = wide_row},
};

TABLE_KIND(reader_plain, "plain", "table with a date column");
