// SPDX-License-Identifier: Apache-2.0
// Data: bring files, and see what there is.

import { importCard } from "../data/import_card.js";
import { labsTable } from "../data/labs_table.js";
import { metricsTable, sourcesList } from "../data/metrics_table.js";
import { h, replace } from "../lib/dom.js";
import { count, number } from "../lib/format.js";
import { perFrame } from "../lib/frame.js";

function overview(metrics) {
  const days = metrics.map((metric) => metric.n);
  const first = metrics.map((metric) => metric.first).sort()[0];
  const last = metrics
    .map((metric) => metric.last)
    .sort()
    .at(-1);
  return `${count(metrics.length, "metric")}, up to ${number(Math.max(...days), 0)} days of each, ${first} to ${last}`;
}

const section = (id, title, note, ...children) =>
  h(
    "section",
    { class: "card stack", "aria-labelledby": id },
    h("div", { class: "spread" }, h("h2", { id }, title), note && h("p", { class: "hint" }, note)),
    ...children,
  );

/** What there is, drawn anew after an import. */
class Holdings {
  #control = new AbortController();
  #table = null;

  constructor(app) {
    this.app = app;
    this.metrics = h("div", { class: "stack data-sections" });
    this.labs = h("div", { class: "stack data-sections" });
    this.reload = perFrame(() => this.load());
    this.hasFailed = false;
    this.stop = app.connection.subscribe((state) => state === "connected" && this.hasFailed && this.reload());
  }

  async load() {
    this.#control.abort();
    const { signal } = (this.#control = new AbortController());
    this.hasFailed = false;
    await Promise.all([this.#loadMetrics(signal), this.#loadLabs(signal)]);
  }

  async #loadMetrics(signal) {
    try {
      const metrics = await this.app.weir.data.metrics({ signal });
      this.#table?.close();
      if (metrics.length === 0) return replace(this.metrics, this.#nothing());
      this.#table = metricsTable(metrics, this.app);
      replace(
        this.metrics,
        section("metrics-title", "Metrics", overview(metrics), this.#table.element),
        section("sources-title", "Sources", null, sourcesList(metrics)),
      );
    } catch (error) {
      if (!signal.aborted) this.#fail(this.metrics, "Metrics", error);
    }
  }

  #nothing() {
    return section(
      "metrics-title",
      "Nothing here yet",
      null,
      h(
        "p",
        { class: "muted" },
        "Drop the export of a watch, a ring, a scale or a laboratory above. A zip archive can stay as it was " +
          "downloaded. The files are read on the server and by nobody else.",
      ),
    );
  }

  async #loadLabs(signal) {
    try {
      const table = await labsTable(this.app, signal);
      replace(this.labs, table && section("labs-title", "Laboratory results", null, table));
    } catch (error) {
      if (!signal.aborted) this.#fail(this.labs, "Laboratory results", error);
    }
  }

  /** A server that comes back is asked again. */
  #fail(place, what, error) {
    this.hasFailed = true;
    const text = `${what} cannot be shown: ${error.message}`;
    replace(place, h("p", { class: "notice notice-bad", role: "alert" }, text));
  }

  close() {
    this.stop();
    this.#control.abort();
    this.#table?.close();
    this.reload.cancel();
  }
}

export const view = {
  title: "Data",
  render(root, params, app) {
    const holdings = new Holdings(app);
    const card = importCard(app, { onDone: () => holdings.reload() });
    root.append(
      h("h1", null, "Data"),
      h("div", { class: "data-sections stack" }, card.element, holdings.metrics, holdings.labs),
    );
    holdings.load();
    return () => {
      card.close();
      holdings.close();
    };
  },
};
