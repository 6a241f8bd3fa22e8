// SPDX-License-Identifier: Apache-2.0

/** What the numbers behind an answer come to, in a sentence; "" when there is nothing to say. */
export function basisText({ agents_used: agents, validator, fact_sheet: sheet, numbers }) {
  if (agents.length === 0) return "Answered without a look at your data.";
  if (validator.findings_total === 0) return "Nothing was computed from your data for this.";
  if (validator.findings_rejected === validator.findings_total)
    return "Nothing that was found held up to the checks, so the answer claims no number.";
  if (sheet.length === 0 || !numbers?.length) return "";
  const isConditional = sheet.some(
    (fact) => fact.verdict === "conditional" && numbers.some(({ claim }) => claim === fact.claim),
  );
  if (isConditional)
    return "Numbers with a dashed line have passed a part of the checks only. Follow one to where it comes from.";
  return "Every number has passed the checks. Follow one to where it comes from.";
}
