// SPDX-License-Identifier: Apache-2.0
// Where files come in: dropped, or chosen; with how far they are and what became of them.

import { h, replace, setText } from "../lib/dom.js";
import { ago, count, percent } from "../lib/format.js";
import { perFrame } from "../lib/frame.js";
import { icon } from "../lib/icons.js";
import { ignoredTexts, itemOf, refusalTexts, shareOf, stateText, waysToRetry } from "./import_text.js";
import { importer } from "./importer.js";

const SHOWN_RECORDS = 5;
const MORE_RECORDS = 20;

const KINDS =
  "apple fhir samsung whoop oura oura-api garmin garmin-connect fitbit fitbit-csv fitabase labs activities plain";
const OPTIONS = [
  { name: "kind", label: "Kind of file", choices: KINDS.split(" ").map((kind) => [kind, kind]) },
  { name: "dates", label: "03/04/2025 is", choices: Object.entries({ dmy: "3 April", mdy: "4 March" }) },
  { name: "units", label: "Units", choices: Object.entries({ metric: "metric", imperial: "imperial" }) },
  { name: "zone", label: "Time zone", placeholder: "Europe/Berlin" },
  { name: "person", label: "Id of the person, where there are several" },
];

function optionField({ name, label, choices, placeholder }) {
  const control = choices
    ? h(
        "select",
        { class: "select", name },
        h("option", { value: "" }, "found out"),
        choices.map(([value, text]) => h("option", { value }, text)),
      )
    : h("input", { class: "input", name, placeholder, autocomplete: "off", spellcheck: "false" });
  return h("label", { class: "import-option" }, h("span", null, label), control);
}

function optionFields() {
  const onSubmit = (event) => event.preventDefault();
  const form = h("form", { class: "import-options", on: { submit: onSubmit } }, OPTIONS.map(optionField));
  const read = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim() !== ""));
  const summary = h("summary", null, "What the files do not say themselves");
  return { details: h("details", { class: "import-details" }, summary, form), read };
}

/** Files of a drop; a folder is named, since a browser gives no file for it. */
function droppedFiles(transfer) {
  const entries = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => ({ file: item.getAsFile(), isFolder: item.webkitGetAsEntry?.()?.isDirectory === true }));
  return {
    files: entries.filter((entry) => !entry.isFolder && entry.file).map((entry) => entry.file),
    nFolders: entries.filter((entry) => entry.isFolder).length,
  };
}

function dropZone(take) {
  const input = h("input", {
    type: "file",
    multiple: true,
    class: "visually-hidden",
    tabindex: -1,
    "aria-hidden": "true",
    on: {
      change: () => {
        take([...input.files]);
        input.value = "";
      },
    },
  });
  const button = h(
    "button",
    { class: "button button-primary", on: { click: () => input.click() } },
    icon("upload"),
    "Choose files",
  );
  return h(
    "div",
    { class: "drop-zone" },
    h(
      "p",
      { class: "drop-zone-text" },
      h("strong", null, "Drop exports here"),
      h(
        "span",
        { class: "muted" },
        "Apple Health, Fitbit, Oura, WHOOP, Garmin, Samsung, laboratory results, any table with dates",
      ),
    ),
    button,
    input,
  );
}

/** Dropping counts anywhere on the page; the zone only shows it. */
function acceptDrops(zone, take, app) {
  let depth = 0;
  const mark = (change) => {
    depth = Math.max(0, depth + change);
    zone.classList.toggle("is-over", depth > 0);
  };
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const listeners = {
    dragenter: (event) => hasFiles(event) && (event.preventDefault(), mark(1)),
    dragleave: (event) => hasFiles(event) && mark(-1),
    dragover: (event) => hasFiles(event) && event.preventDefault(),
    drop: (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(-depth);
      const { files, nFolders } = droppedFiles(event.dataTransfer);
      if (nFolders > 0)
        app.toast("A folder cannot be sent by a browser: drop its zip archive, or the files in it.", "error");
      take(files);
    },
  };
  // Beside the view, too: a browser would leave the page for the file.
  for (const [type, listener] of Object.entries(listeners)) window.addEventListener(type, listener, { signal: app.signal });
}

const BADGES = {
  done: ["badge-good", "done"],
  failed: ["badge-bad", "failed"],
  cancelled: ["", "cancelled"],
  waiting: ["", "waiting"],
  sending: ["badge-accent", "sending"],
  reading: ["badge-accent", "reading"],
};

function resultDetails(item) {
  if (item.state !== "done") return null;
  const [refused, ignored] = [refusalTexts(item.summary, item.name), ignoredTexts(item.summary)];
  const list = (title, texts) =>
    texts.length > 0 &&
    h(
      "details",
      { class: "import-refusals" },
      h("summary", null, title),
      h(
        "ul",
        null,
        texts.map((text) => h("li", null, text)),
      ),
    );
  return [
    list(`${count(item.summary.refused, "row")} refused`, refused),
    list(`${count(ignored.length, "kind")} of content not read`, ignored),
  ];
}

function actionsOf(item, readOptions) {
  const button = (label, action) =>
    h(
      "button",
      {
        class: "button button-small",
        on: { click: action },
        "aria-label": `${label}: ${item.name}`,
      },
      label,
    );
  if (item.state === "waiting" || item.state === "sending") return button("Cancel", () => importer.cancel(item));
  if (!importer.items.includes(item) || item.state === "reading") return null;
  const again = waysToRetry(item).map(([label, more]) =>
    button(label, () => importer.retry(item, { ...item.options, ...readOptions(), ...more })),
  );
  return [again, button("Dismiss", () => importer.remove(item))];
}

/** One file. Only what changed is touched while it is sent or read. */
class ImportRow {
  constructor(item, readOptions) {
    this.readOptions = readOptions;
    this.text = h("p", { class: "import-text" });
    this.bar = h("div", { class: "import-bar" });
    this.progress = h(
      "div",
      {
        class: "progress",
        role: "progressbar",
        "aria-label": item.name,
        "aria-valuemin": 0,
        "aria-valuemax": 100,
      },
      this.bar,
    );
    this.badge = h("span");
    this.actions = h("div", { class: "row import-actions" });
    this.more = h("div", { class: "import-more" });
    const when = item.at && h("span", { class: "muted import-when" }, ago(item.at));
    this.element = h(
      "li",
      { class: "import-item" },
      h(
        "div",
        { class: "spread" },
        h("div", { class: "row import-name" }, h("strong", null, item.name), this.badge, when),
        this.actions,
      ),
      this.text,
      this.progress,
      this.more,
    );
    this.state = null;
    this.update(item);
  }

  update(item) {
    setText(this.text, stateText(item));
    const share = shareOf(item);
    this.bar.classList.toggle("is-unknown", share === null);
    this.bar.style.width = share === null ? "" : `${share * 100}%`;
    if (share === null) this.progress.removeAttribute("aria-valuenow");
    else this.progress.setAttribute("aria-valuenow", Math.round(share * 100));
    this.progress.setAttribute("aria-valuetext", share === null ? stateText(item) : percent(share));
    if (item.state === this.state) return;
    this.state = item.state;
    const [kind, word] = BADGES[item.state];
    this.badge.className = `badge ${kind}`;
    this.badge.textContent = word;
    this.text.classList.toggle("field-problem", item.state === "failed");
    this.progress.hidden = item.state !== "sending" && item.state !== "reading";
    replace(this.actions, actionsOf(item, this.readOptions));
    replace(this.more, resultDetails(item));
  }
}

/** The queue, and below what the server has read before. */
class ImportList {
  constructor(app, { onDone, readOptions }) {
    Object.assign(this, { app, onDone, readOptions });
    this.rows = new Map();
    this.records = [];
    this.next = null;
    this.list = h("ul", { class: "import-list" });
    this.more = h(
      "button",
      {
        class: "button button-small",
        hidden: true,
        on: { click: () => this.load(MORE_RECORDS) },
      },
      "Earlier imports",
    );
    this.element = h("div", { class: "stack" }, this.list, this.more);
    this.draw = perFrame(() => this.drawNow());
    this.stop = importer.subscribe((item) => this.hear(item));
    this.told = new Set(importer.items.filter((item) => item.state === "done" || item.state === "failed"));
    this.drawNow();
  }

  hear(item) {
    this.draw();
    if (!item || this.told.has(item) || (item.state !== "done" && item.state !== "failed")) return;
    this.told.add(item);
    this.app.announce(`${item.name}: ${stateText(item)}`);
    if (item.state === "done") this.onDone();
  }

  async load(limit) {
    if (this.isLoading) return;
    const { signal } = this.app;
    this.isLoading = true;
    try {
      this.show(await this.app.weir.data.imports({ limit, signal }).page(this.next));
    } catch (error) {
      if (!signal.aborted) this.app.toast(`Earlier imports cannot be listed: ${error.message}`, "error");
    }
    this.isLoading = false;
  }

  show(page) {
    // It may be somebody else's view by now.
    if (this.app.signal.aborted) return;
    this.next = page.next;
    for (const record of page.items) {
      if (record.status === "running") importer.adopt(record);
      else this.records.push(itemOf(record));
    }
    this.more.hidden = !this.next;
    this.drawNow();
  }

  drawNow() {
    const queued = new Set(importer.items.map((item) => item.id).filter(Boolean));
    const items = [...importer.items, ...this.records.filter((item) => !queued.has(item.id))];
    const keys = new Set(items.map((item) => item.key));
    for (const [key, row] of this.rows) if (!keys.has(key)) (row.element.remove(), this.rows.delete(key));
    let before = null;
    for (const item of items) {
      const row = this.rows.get(item.key) ?? new ImportRow(item, this.readOptions);
      row.update(item);
      this.rows.set(item.key, row);
      const place = before ? before.nextSibling : this.list.firstChild;
      if (row.element !== place) this.list.insertBefore(row.element, place);
      before = row.element;
    }
    this.list.hidden = items.length === 0;
  }

  close() {
    this.stop();
    this.draw.cancel();
  }
}

// What was not sent yet is lost with the page; the browser asks whether that is meant.
window.addEventListener("beforeunload", (event) => importer.isHolding && event.preventDefault());

/** { element, close }; `onDone` is called when there may be new values. */
export function importCard(app, { onDone }) {
  const options = optionFields();
  const take = (files) => {
    if (files.length === 0) return;
    const taken = importer.add(files, options.read());
    if (taken < files.length)
      app.toast(
        `Only ${count(taken, "file")} of ${files.length} fit into the queue; add the others when these are done.`,
        "error",
      );
    app.announce(`${count(taken, "file")} added`);
  };
  const zone = dropZone(take);
  acceptDrops(zone, take, app);
  const list = new ImportList(app, { onDone, readOptions: options.read });
  list.load(SHOWN_RECORDS);
  const element = h(
    "section",
    { class: "card stack", "aria-labelledby": "import-title" },
    h("h2", { id: "import-title" }, "Import"),
    zone,
    options.details,
    list.element,
  );
  return { element, close: () => list.close() };
}
