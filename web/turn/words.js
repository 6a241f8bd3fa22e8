// SPDX-License-Identifier: Apache-2.0
// What machines call things, as people read them. Names that read well as they are stand in no table.

import { capitalised } from "../lib/format.js";

const AGENTS = {
  data_science: "Data scientist",
  synthesis: "Writer",
};

const GATES = {
  subgroup_consistency: "Subgroups agree",
  method_triangulation: "Methods agree",
  discriminative_power: "Discriminates",
};

const GATE_QUESTIONS = {
  sample_size: "Are there enough days?",
  construct_validity: "Is it measured soundly, by one device?",
  effect_vs_noise: "Is it larger than the usual ups and downs?",
  bootstrap: "Does it hold when days are drawn again?",
  subgroup_consistency: "Is it the same in parts of the days?",
  method_triangulation: "Do other methods find it, too?",
  discriminative_power: "Can days be told apart by it?",
};

const STEPS = {
  classify_vagueness: "Read the question",
  route: "Choose agents",
  rephrase_per_agent: "Ask each agent",
  run_supporting_agents: "Supporting agents",
  run_main_agent: "Main agent",
  reflection: "Reflect",
  validation_gates: "Check findings",
  synthesis: "Write the answer",
  memory_extraction: "Remember",
};

const PHASES = {
  queued: "Waiting to begin",
  reading: "Reading the question",
  working: "Agents are at work",
  thinking: "Looking at what was found",
  checking: "Checking the findings",
  writing: "Writing the answer",
  remembering: "Remembering what matters",
  done: "The answer is ready",
  failed: "The turn has failed",
};

// What is behind the point of a claim: "ds-001.avg".
const NUMBERS = {
  avg: "mean",
  median: "median",
  sum: "sum",
  min: "lowest",
  max: "highest",
  sd: "standard deviation",
  range: "range",
  cv: "coefficient of variation",
  quantile: "quantile",
  count: "count",
  share: "share of days",
  streak: "longest streak",
  first: "first",
  last: "last",
  value: "value",
  usual: "usual value",
  a: "mean, first group",
  b: "mean, second group",
  diff: "difference",
  pct: "difference in percent",
  ratio: "ratio",
  slope: "slope",
  slope_month: "slope per month",
  change: "change over the window",
  from: "trend begins at",
  to: "trend ends at",
  r: "correlation",
  ci_low: "95 % interval, low end",
  ci_high: "95 % interval, high end",
  q25: "first quartile",
  q75: "third quartile",
  date: "date",
  lower: "lower limit",
  upper: "upper limit",
  high: "limit",
  low: "limit",
  metrics: "metrics looked at",
  days: "days looked at",
  tests: "tests tried",
  pairs: "pairs tried",
  trends: "trends tried",
  weekdays: "weekdays tried",
  changes: "changes tried",
  single_days: "single days tried",
  promising: "promising",
  found: "held on newer days",
};

// Numbers that decided a gate; others are said by their names.
const DETAILS = {
  n: "Days",
  n_a: "Days, first window",
  n_b: "Days, second window",
  n_eff: "Effective days",
  n_eff_a: "Effective days, first",
  n_eff_b: "Effective days, second",
  share_of_window: "Share of the window",
  span_days: "Days from first to last",
  whole_weeks: "Whole weeks",
  lag1: "Autocorrelation, lag 1",
  strict_lag1: "Autocorrelation, strict",
  se: "Standard error",
  se_on_effective_n: "Standard error",
  t_lo: "t interval, low",
  t_hi: "t interval, high",
  block_lo: "Block bootstrap, low",
  block_hi: "Block bootstrap, high",
  lo: "Interval, low",
  hi: "Interval, high",
  slope_lo: "Slope, low",
  slope_hi: "Slope, high",
  plus_minus: "Plus or minus",
  auc: "AUC",
  least_auc: "AUC needed",
  level: "p needed, below",
  paired_t_p: "Paired t, p",
  signed_rank_p: "Signed rank, p",
  welch_p: "Welch, p",
  mann_whitney_p: "Mann–Whitney, p",
  block_permutation_p: "Block permutation, p",
  mann_kendall_p: "Mann–Kendall, p",
  line_p: "Least squares, p",
  ols_slope: "Least squares slope",
  theil_sen_slope: "Theil–Sen slope",
  device_change_at: "Device changed on day",
  device_change_b_at: "Device changed on day, second",
  block_days: "Days in a block",
  allowed: "Difference allowed",
};

const FAILURES = {
  cancelled: ["You stopped this turn", "Nothing was written to memory. Ask again whenever you like."],
  upstream_unavailable: [
    "The model could not be reached",
    "It was tried several times. Your question is kept; ask again in a while.",
  ],
  unprocessable: [
    "No answer could be made of this",
    "Try to ask in other words, or about fewer things at once.",
  ],
  cost_limit_exceeded: [
    "The turn reached its cost limit",
    "Ask for less at once, or raise the limit of the server.",
  ],
  internal_error: [
    "Something went wrong in the server",
    "That should not happen. The trace shows how far it came.",
  ],
};

/** any_other_name → Any other name */
export const plainName = (name) =>
  capitalised(
    String(name ?? "")
      .replace(/[_.]+/g, " ")
      .trim(),
  );

const lookUp = (table) => (name) => (Object.hasOwn(table, name) ? table[name] : plainName(name));

export const agentName = lookUp(AGENTS);
export const gateName = lookUp(GATES);
export const gateQuestion = (name) => GATE_QUESTIONS[name] ?? "";
export const detailName = lookUp(DETAILS);
export const stepName = lookUp(STEPS);
export const phaseText = lookUp(PHASES);

/** "ds-001.row.2025-03-04" → "2025-03-04"; "ds-001.avg" → "mean" */
export function numberName(claim) {
  const [, ...rest] = claim.split(".");
  if (rest[0] === "row") return rest.slice(1).join(".").replaceAll("_", " ");
  return lookUp(NUMBERS)(rest.at(-1) ?? claim);
}

export function failureText(error) {
  const [title, advice] = FAILURES[error?.code] ?? ["The turn has failed", ""];
  return { title, advice, message: error?.message ?? "" };
}

/** [a, b, c] → "a, b and c" */
export function listText(names) {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
