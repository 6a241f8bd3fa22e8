// SPDX-License-Identifier: Apache-2.0
// Questions that the data can answer, for those who do not know what to ask. Pure.

const MAX_SUGGESTIONS = 6;
const MIN_DAYS = 21; // of a metric that is asked about; fewer pass no gate

// Each needs all of its metrics.
const QUESTIONS = [
  [["resting_heart_rate"], "Is my resting heart rate normal?"],
  [["sleep_minutes"], "Do I sleep less on weekends?"],
  [["hrv_rmssd", "sleep_minutes"], "Does my HRV go together with my sleep?"],
  [["steps"], "On which weekday do I take the most steps?"],
  [["weight"], "Is my weight going down?"],
  [["bedtime"], "Do I go to bed later on Saturdays?"],
  [["resting_heart_rate"], "Did my resting heart rate change over the last 90 days?"],
  [["stress_score", "sleep_minutes"], "Does my stress go together with my sleep?"],
  [["deep_sleep_minutes"], "How much deep sleep did I get in the last 30 days?"],
  [["active_minutes"], "How active was I last month compared with the month before?"],
  [["systolic"], "Is my blood pressure normal?"],
  [["blood_oxygen"], "Is my blood oxygen normal?"],
  [["vo2max"], "Is my VO2max improving?"],
];

/** metrics: as /v1/data/metrics lists them. */
export function suggestions(metrics) {
  const days = new Map(metrics.map(({ metric, n }) => [metric, n]));
  const isKnown = (metric) => (days.get(metric) ?? 0) >= MIN_DAYS;
  const fit = QUESTIONS.filter(([needed]) => needed.every(isKnown)).map(([, text]) => text);
  // What has no question of its own is asked about by its name.
  const named = metrics
    .filter(({ n }) => n >= MIN_DAYS)
    .map(({ title }) => `How did my ${title} change over the last 3 months?`);
  const chosen = [...fit, ...named].slice(0, MAX_SUGGESTIONS - 1);
  return metrics.length > 0 ? ["Is there anything interesting in my data?", ...chosen] : [];
}
