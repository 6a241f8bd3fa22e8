/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/topics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../t.h"

/* "ldl=124 mg/dL|hdl!9000 mg/dL": the subjects, the values they are given or cannot have. */
static const char *read(const char *text)
{
    static char out[512];
    struct arena arena;
    struct topics topics;
    size_t len = 0;
    arena_init(&arena, 1 << 20);
    T_EQ(topics_read(&topics, weir_slice_of(text), &arena), WEIR_OK);
    out[0] = '\0';
    for (size_t i = 0; i < topics.n; i++) {
        const struct topic *t = &topics.list[i];
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%s", i > 0 ? "|" : "",
                                t->subject->name);
        if (!isnan(t->refused))
            len += (size_t)snprintf(out + len, sizeof out - len, "!%g %s", t->refused, t->unit);
        if (!isnan(t->told))
            len += (size_t)snprintf(out + len, sizeof out - len, "=%g %s%s", t->told, t->unit,
                                    t->is_assumed ? "?" : "");
    }
    arena_fini(&arena);
    return out;
}

#define READS(text, want) T_EQ_STR(weir_slice_of(read(text)), want)

TEST(a_value_that_follows_its_subject_belongs_to_it)
{
    READS("Is LDL 124 a concern?", "ldl=124 mg/dL");
    READS("is an LDL of 3.2 mmol/L too high?", "ldl=3.2 mmol/L");
    READS("my LDL is 3.2, is that high?", "ldl=3.2 mmol/L?");
    READS("My HbA1c came back at 6.1%. Should I worry?", "hba1c=6.1 %");
    READS("hba1c 43 mmol/mol", "hba1c=43 mmol/mol");
    READS("fasting glucose of 5.4", "fasting_glucose=5.4 mmol/L?");
    READS("resting heart rate 48 bpm, is that too low?", "resting_heart_rate=48 bpm");
    READS("Is a BMI of 27 bad?", "bmi=27 kg/m2");
}

TEST(heart_rate_is_the_one_at_rest_unless_somebody_moves)
{
    READS("my friend's heart rate is 48", "resting_heart_rate=48 bpm");
    READS("my pulse is 140 and I am just sitting", "resting_heart_rate=140 bpm");
    READS("my heart rate hit 165 on my run", "");
    READS("pulse of 150 during the workout", "");
}

TEST(a_part_of_the_body_is_what_is_measured_of_it)
{
    READS("is my heart ok?", "resting_heart_rate|systolic|diastolic|ldl");
    READS("are my lungs fine?", "blood_oxygen|respiratory_rate");
    READS("can lack of sleep cause a heart attack?", "sleep_minutes");
}

TEST(a_value_may_stand_before_its_subject)
{
    READS("Is 6 hours of sleep enough?", "sleep_minutes=6 h");
    READS("are 8000 steps enough", "steps=8000 steps");
}

TEST(blood_pressure_is_two_subjects_and_two_values)
{
    READS("is 135/85 a high blood pressure?", "systolic=135 mmHg|diastolic=85 mmHg");
    READS("My blood pressure is 128/79", "systolic=128 mmHg|diastolic=79 mmHg");
    READS("blood pressure 150 over 95", "systolic=150 mmHg|diastolic=95 mmHg");
    READS("what is a normal blood pressure?", "systolic|diastolic");
}

TEST(numbers_that_are_no_values_are_left_alone)
{
    READS("Explain HRV in 3 sentences", "hrv_rmssd|hrv_sdnn");
    READS("how was my sleep over the last 30 days?", "sleep_minutes");
    READS("I am 67, how much sleep do I need?", "sleep_minutes");
    READS("is my vitamin D ok?", "vitamin_d_25oh");
    READS("what do you think of my holiday?", "");
    READS("", "");
}

TEST(a_value_that_cannot_be_is_refused_where_it_was_meant)
{
    READS("is a resting heart rate of 1000 normal?", "resting_heart_rate!1000 bpm");
    READS("is 500 hours of sleep ok?", "sleep_minutes!500 h");
    READS("is my resting heart rate ok 1000 people asked", "resting_heart_rate");
    READS("is -5 bpm a normal resting heart rate?", "resting_heart_rate");
}

TEST(a_panel_is_all_its_subjects)
{
    READS("is my cholesterol ok", "ldl|hdl|total_cholesterol|triglycerides");
    READS("how are my lipids?", "ldl|hdl|total_cholesterol|triglycerides");
}

static void person_is(const char *text, unsigned age, char sex)
{
    struct arena arena;
    struct fact_person p = {0};
    arena_init(&arena, 1 << 20);
    T_EQ(topics_read_person(&p, weir_slice_of(text), &arena), WEIR_OK);
    if (p.age != age || p.sex != sex)
        t_fail(__FILE__, __LINE__, "%s: age %u, sex %c", text, p.age, p.sex ? p.sex : '-');
    arena_fini(&arena);
}

TEST(people_say_how_old_they_are_and_what)
{
    person_is("I am 67, how much sleep do I need?", 67, 0);
    person_is("I'm a 45 year old woman", 45, 'f');
    person_is("i'm 31 and male, is 44 a good vo2max", 31, 'm');
    person_is("as a man, what hdl is normal?", 0, 'm');
    person_is("Is 40 good at age 52?", 52, 0);
    person_is("52-year-old female", 52, 'f');
    person_is("I am 10 days into a diet", 0, 0);
    person_is("my wife is 60", 0, 0);
    person_is("I am 80 kg", 0, 0);
}
