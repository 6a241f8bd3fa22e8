/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kinds.h"
#include "record.h"
#include "t.h"

#define ACTIVITIES(input, want) RECORD_IS(&reader_activities, "a.csv", input, want)

TEST(a_table_of_workouts_is_read_and_is_not_taken_for_days)
{
    const char *table = "date,start,activity,duration_min,distance_km,avg_hr,calories\n"
                        "2024-10-05,2024-10-05 07:00,Strength,55.1,0.0,118,540\n"
                        "2024-10-06,2024-10-06 17:45,Walk,34.3,3.23,127,195\n";
    ACTIVITIES(
        table,
        "workout strength (Strength) 2024-10-05 2024-10-05T07:00:00-04:00 min 55.1 km 0 kcal "
        "540 avg 118 [activities]\n"
        "workout walk (Walk) 2024-10-06 2024-10-06T17:45:00-04:00 min 34.3 km 3.23 kcal 195 "
        "avg 127 [activities]\n");
    T_EQ_STR(weir_slice_of(record_kind("x", weir_slice_of(table))), "activities");
}

TEST(durations_and_distances_come_in_many_forms)
{
    ACTIVITIES("Date,Start,Sport,Duration,Distance (mi)\n"
               "2025-03-01,18:30,Running,42:30,5\n"
               "2025-03-02,06:00,Underwater hockey,5:30,\n",
               "workout run (Running) 2025-03-01 2025-03-01T18:30:00-05:00 min 42.5 km 8.04672 "
               "[activities]\n"
               "workout other (Underwater hockey) 2025-03-02 2025-03-02T06:00:00-05:00 min 5.5 "
               "[activities]\n");
    ACTIVITIES("date,activity,duration,distance_m\n2025-03-01,Row,1:15,2000\n",
               "workout rowing (Row) 2025-03-01 2025-03-01T00:00:00-05:00 min 75 km 2 "
               "[activities]\n");
}

TEST(workouts_that_are_wrong_are_refused)
{
    ACTIVITIES("date,activity,duration_min\n"
               "2025-03-01,,5\n"
               "2025-03-01,Run,99999\n"
               "soon,Run,30\n"
               "2025-03-02,Run,abc\n",
               "refused 2: a workout without the name of its activity\n"
               "refused 3: a workout of more than a week, or of no time\n"
               "refused 4: date: \"soon\" is not a date\n"
               "refused 5: duration_min: \"abc\" is not a number\n"
               "workout run (Run) 2025-03-02 2025-03-02T00:00:00-05:00 [activities]\n");
}

TEST(strava_counts_seconds_in_utc)
{
    ACTIVITIES(
        "Activity ID,Activity Date,Activity Name,Activity Type,Elapsed Time,Distance,Max Heart "
        "Rate,Moving Time,Distance,Elevation Gain\n"
        "1,\"Mar 3, 2025, 11:00:00 PM\",Evening,Run,2600,7.10,171,2520,7100.0,38.0\n",
        "ignored Distance\n"
        "workout run (Run) 2025-03-03 2025-03-03T18:00:00-05:00 min 42 km 7.1 max 171 up 38 "
        "[Strava app]\n");
}
