// SPDX-License-Identifier: Apache-2.0
// Values with their units, as people write them.

import { number } from "./format.js";

const MINUTES_A_DAY = 1440;
const HOURS_FROM_MIN = 60; // minutes are told as hours and minutes from here on

const UNIT_NAMES = {
  degC: "°C",
  "ug/dL": "µg/dL",
  "umol/L": "µmol/L",
  "uIU/mL": "µIU/mL",
  "mL/min/1.73m2": "mL/min/1.73 m²",
  "kg/m2": "kg/m²",
};

export const unitName = (unit) => UNIT_NAMES[unit] ?? unit ?? "";

/** 1421 as 23:41, and 1450 as 00:10: it goes around. */
export function clockText(minutes) {
  const whole = ((Math.round(minutes) % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY;
  const pad = (n) => String(n).padStart(2, "0");
  return `${pad(Math.floor(whole / 60))}:${pad(whole % 60)}`;
}

function hoursText(minutes) {
  const whole = Math.round(Math.abs(minutes));
  const sign = minutes < 0 ? "−" : "";
  const rest = whole % 60;
  return `${sign}${Math.floor(whole / 60)} h${rest ? ` ${rest} min` : ""}`;
}

/** 452 minutes as "7 h 32 min", 58.6 bpm as "58.6 bpm", a time of day as one. */
export function valueText(value, unit) {
  if (!Number.isFinite(value)) return "no value";
  if (unit === "clock") return clockText(value);
  if (unit === "min" && Math.abs(value) >= HOURS_FROM_MIN) return hoursText(value);
  const name = unitName(unit);
  return name ? `${number(value)} ${name}` : number(value);
}

/** "56.2 to 58 bpm": the unit once, where it is one word. */
export function rangeText(low, high, unit) {
  const isPlain = unit !== "clock" && unit !== "min";
  return `${isPlain ? number(low) : valueText(low, unit)} to ${valueText(high, unit)}`;
}

/** Names beside ticks are short: the unit stands once, at the top of the axis. */
export function tickText(value, unit, { digits, isHours }) {
  if (unit === "clock") return clockText(value);
  if (isHours) return value === 0 ? "0" : `${number(value / 60, 2)} h`;
  return number(value, digits);
}
