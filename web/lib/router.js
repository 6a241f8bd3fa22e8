// SPDX-License-Identifier: Apache-2.0
// Addresses behind the "#": "#/turns/turn_1/trace?step=3" and which view they are for.

/**
 * { name, params, key } of the first pattern that fits, or null. A pattern is "turns/:id/*rest":
 * ":name" is one part, "*name" all parts that are left, also none. `params.query` has what is behind
 * "?". The key is the same as long as the same view of the same thing is meant: "*rest" and the
 * query are no part of it.
 */
export function match(routes, hash) {
  const [path, query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
  for (const [pattern, name] of routes) {
    const found = fit(pattern.split("/"), parts);
    if (!found) continue;
    const key = JSON.stringify([name, found.fixed]);
    return { name, params: { ...found.fixed, ...found.loose, query: Object.fromEntries(new URLSearchParams(query)) }, key };
  }
  return null;
}

function fit(pattern, parts) {
  const fixed = {};
  for (const [i, piece] of pattern.entries()) {
    if (piece[0] === "*") return { fixed, loose: { [piece.slice(1)]: parts.slice(i) } };
    if (i >= parts.length) return null;
    if (piece[0] === ":") fixed[piece.slice(1)] = parts[i];
    else if (piece !== parts[i]) return null;
  }
  return pattern.length === parts.length ? { fixed, loose: {} } : null;
}

/** "#/turns/a%2Fb?status=failed" out of its parts; what is null in the query is left out. */
export function address(parts, query = {}) {
  const search = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}
