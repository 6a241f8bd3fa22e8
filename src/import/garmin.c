/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garmin's Activities.csv, in the languages its site speaks. The table does not say whether its
 * distances are kilometres or miles. It is found out, in this order: what the person says; steps
 * times the length of a stride, where both are there; and else kilometres. Swimming is in metres
 * or yards whatever the rest is in.
 */
#include <math.h>

#include "base/slice.h"
#include "import/kinds.h"
#include "import/table_workout.h"

/* Above so many, a swim is not in kilometres. */
enum { SWIM_KM = 20 };

static const struct table_column columns[] = {
    {"Activity Type|Aktivitätstyp|Type d'activité|Tipo de actividad|Tipo di attività|"
     "Activiteittype|Tipo de atividade|Aktivitetstyp|Activiteitstype",
     FIELD_ACTIVITY, NULL, NULL},
    {"Date|Datum|Fecha|Data", FIELD_START, NULL, NULL},
    {"Favorite|Favorit|Favori|Favorito|Preferito|Favoriet", FIELD_FLAG, NULL, NULL},
    {"Title|Titel|Titre|Título|Titolo", FIELD_TITLE, NULL, NULL},
    {"Distance|Distanz|Distancia|Distanza|Afstand|Distância|Distans|Strecke", FIELD_DISTANCE, NULL,
     NULL},
    {"Calories|Kalorien|Calorías|Calorie|Calorieën|Calorias|Kalorier", FIELD_KCAL, NULL, "kcal"},
    {"Time|Zeit|Durée|Tiempo|Tempo|Tijd|Tid|Heure|Temps|Dauer", FIELD_DURATION, NULL, "min"},
    {"Avg HR|Ø Herzfrequenz|Ø HF|Durchschnittliche Herzfrequenz|Fréquence cardiaque moyenne|"
     "FC moyenne|Frecuencia cardiaca media|Frecuencia cardíaca media|FC media|Gem. HS|FC Média|"
     "Average HR|Average Heart Rate|Genomsnittlig puls",
     FIELD_AVG_HR, NULL, NULL},
    {"Max HR|Maximale Herzfrequenz|Max. HF|Maximale HF|Fréquence cardiaque maximale|FC maximale|"
     "FC maximum|FC máxima|Frecuencia cardiaca máxima|FC max|Max. HS|FC Máxima|Maximum HR|Maxpuls",
     FIELD_MAX_HR, NULL, NULL},
    {"Avg Run Cadence|Ø Schrittfrequenz (Laufen)|Ø Schrittfrequenz|Cadence de course moyenne|"
     "Cadencia de carrera media|Avg Cadence",
     FIELD_CADENCE, NULL, NULL},
    {"Avg Stride Length|Ø Schrittlänge|Longueur moyenne des foulées|Longitud media de zancada|"
     "Lunghezza media passo",
     FIELD_STRIDE, NULL, NULL},
    {"Total Ascent|Elev Gain|Anstieg gesamt|Positiver Höhenunterschied|Ascension totale|"
     "Gain d'altitude|Ascenso total|Ascesa totale|Totale stijging|Subida total|Elevation Gain",
     FIELD_ASCENT, NULL, NULL},
    {"Avg Pace|Best Pace|Ø Pace|Beste Pace|Allure moyenne|Ritmo medio", FIELD_UNUSED, NULL, NULL},
    {"Steps|Schritte|Pas|Pasos|Passi|Stappen|Passos|Steg", FIELD_STEPS, NULL, NULL},
};

struct state {
    unsigned n_km, n_miles; /* rows whose strides say so */
};

static double quietly(const struct table *t, enum table_field f)
{
    double value;
    struct weir_slice s = table_cell(t, f);
    return s.len > 0 && cell_number(s, t->numbers, &value) ? value : NAN;
}

/* Metres walked for each unit of distance, by which kilometres differ from miles. */
static void look(struct table *t)
{
    struct state *s = t->state;
    double walked = quietly(t, FIELD_STRIDE) * quietly(t, FIELD_STEPS);
    double metres = walked / quietly(t, FIELD_DISTANCE);
    bool is_miles = metres > 1400 && metres < 1850;
    bool is_feet = metres > 4600 && metres < 6000; /* a mile, with the stride in feet */
    if (metres > 850 && metres < 1200) s->n_km++;
    else if (is_miles || is_feet) s->n_miles++;
}

static bool is_swim(const struct workout *w)
{
    return strcmp(w->activity->name, "swim") == 0;
}

/* Two parts are minutes and seconds here; whole hours have three. */
static enum weir_status begin(struct table *t)
{
    t->has_shorts = true;
    return WEIR_OK;
}

static enum weir_status row(struct table *t)
{
    const struct state *s = t->state;
    struct workout w;
    size_t column = t->at[FIELD_DISTANCE];
    /* As it stands: what unit that is, is for here to say. */
    if (column != SIZE_MAX && t->columns[column].unit == NULL) t->columns[column].unit = "km";
    if (!table_read_workout(t, &w)) return WEIR_OK;
    bool is_said = column != SIZE_MAX && strcmp(t->columns[column].unit, "km") != 0;
    bool is_imperial = t->context.units == UNITS_IMPERIAL ||
                       (t->context.units == UNITS_UNKNOWN && s->n_miles > s->n_km);
    if (!is_said && is_swim(&w) && w.km > SWIM_KM) w.km *= is_imperial ? 0.0009144 : 0.001;
    else if (!is_said && is_imperial) w.km *= 1.609344;
    if (is_imperial && !isnan(w.ascent_m)) w.ascent_m *= 0.3048;
    return table_give_workout(t, &w);
}

static const struct table_format formats[] = {
    {.name = "Garmin",
     .sure = 90,
     .needs = FIELD_BIT(FIELD_ACTIVITY) | FIELD_BIT(FIELD_START) | FIELD_BIT(FIELD_FLAG) |
              FIELD_BIT(FIELD_TITLE) | FIELD_BIT(FIELD_DURATION),
     .columns = columns,
     .n_columns = sizeof columns / sizeof *columns,
     .source = "Garmin",
     .source_class = SOURCE_WATCH,
     .looks_ahead = true,
     .state_bytes = sizeof(struct state),
     .begin = begin,
     .look = look,
     .row = row},
};

static unsigned recognise(struct weir_slice file_name, struct weir_slice head)
{
    return table_recognise(formats, 1, file_name, head);
}

static enum weir_status open(struct reader **out, const struct reader_context *c)
{
    return table_open(out, c, formats, 1);
}

const struct reader_kind reader_garmin = {
    .name = "garmin",
    .title = "Garmin activities",
    .recognise = recognise,
    .open = open,
    .feed = table_feed,
    .end = table_end,
    .close = table_close,
    .records = table_records,
    .error = table_error,
    .line = table_line,
};
