// SPDX-License-Identifier: Apache-2.0
// The dialog in which an entry of memory is written or changed. Somebody else, or a turn, may change
// it meanwhile: whoever saves is told, and chooses.

import { openDialog } from "../lib/dialog.js";
import { h, newId, replace, setText } from "../lib/dom.js";
import { ago, number } from "../lib/format.js";
import { once } from "../lib/once.js";
import { byteLength, CATEGORIES, changesOf, dataOf, formOf, problemsOf, TEXT_BYTES } from "./entry.js";

const COUNT_FROM = 0.75; // of the ceiling: from there on bytes are counted

function field(label, control, problem, hint = null) {
  const [id, problemId] = [newId("field"), newId("problem")];
  problem.id = problemId;
  control.id = id;
  control.setAttribute("aria-describedby", problemId);
  return h("div", { class: "memory-field" }, h("label", { class: "label", for: id }, label), hint, control, problem);
}

class Editor {
  constructor(app, entry) {
    this.app = app;
    this.entry = entry; // null: a new one
    const form = formOf(entry);
    this.category = h(
      "select",
      { class: "select", value: form.category },
      Object.entries(CATEGORIES).map(([value, { label }]) => h("option", { value }, label)),
    );
    this.text = h("textarea", { class: "textarea", rows: 4, required: true, value: form.text });
    this.data = h("textarea", { class: "textarea mono", rows: 5, spellcheck: "false", value: form.data });
    this.problems = {
      text: h("p", { class: "field-problem" }),
      data: h("p", { class: "field-problem" }),
      form: h("p", { class: "field-problem", role: "alert" }),
    };
    this.hint = h("p", { class: "hint" });
    this.counter = h("p", { class: "hint memory-counter" });
    this.conflict = h("div");
    this.save = h("button", { type: "submit", class: "button button-primary" }, entry ? "Save" : "Add");
    this.result = this.#open();
    this.#hear();
  }

  #open() {
    const form = h(
      "form",
      {
        class: "stack",
        novalidate: true,
        on: {
          submit: (event) => {
            event.preventDefault();
            this.#submit();
          },
        },
      },
      this.conflict,
      field("What should be remembered", this.text, this.problems.text),
      this.counter,
      field("Kind", this.category, h("p"), this.hint),
      h(
        "details",
        { open: this.data.value !== "" },
        h("summary", { class: "hint" }, "Data for programs"),
        field("JSON", this.data, this.problems.data),
      ),
      this.problems.form,
      h(
        "div",
        { class: "dialog-actions" },
        h("button", { class: "button", on: { click: () => this.dialog.close(null) } }, "Cancel"),
        this.save,
      ),
    );
    this.dialog = openDialog({
      title: this.entry ? "Edit what is remembered" : "Remember something",
      body: [form],
      class: "memory-dialog",
    });
    this.text.focus();
    return this.dialog.result;
  }

  get form() {
    return { category: this.category.value, text: this.text.value, data: this.data.value };
  }

  #hear() {
    const tell = () => {
      setText(this.hint, CATEGORIES[this.category.value].hint);
      const size = byteLength(this.text.value);
      setText(
        this.counter,
        size > TEXT_BYTES * COUNT_FROM ? `${number(size, 0)} of ${number(TEXT_BYTES, 0)} bytes` : "",
      );
    };
    for (const control of [this.category, this.text, this.data])
      control.addEventListener("input", () => {
        tell();
        if (Object.values(this.problems).some((problem) => problem.textContent)) this.#show(problemsOf(this.form));
      });
    tell();
  }

  #show(problems) {
    for (const [name, element] of Object.entries(this.problems)) {
      setText(element, problems[name] ?? "");
      this[name]?.setAttribute?.("aria-invalid", String(Boolean(problems[name])));
    }
    const first = ["text", "data"].find((name) => problems[name]);
    if (first === "data") this.data.closest("details").open = true;
    return first;
  }

  async #submit() {
    const wrong = this.#show(problemsOf(this.form));
    if (wrong) return this[wrong].focus();
    this.save.disabled = true;
    try {
      const saved = await (this.entry ? this.#change() : this.#create(this.#written()));
      if (saved) this.dialog.close(saved);
    } catch (error) {
      this.#show({ form: error.message });
    } finally {
      this.save.disabled = false;
    }
  }

  #written() {
    const { category, text } = this.form;
    return { category, text, data: dataOf(this.form) };
  }

  #create = once((entry, options) => this.app.weir.memory.create(entry, options));

  /** The entry as it is then; null when there is something to choose first. */
  async #change() {
    const changes = changesOf(this.entry, this.form);
    if (Object.keys(changes).length === 0) return this.entry;
    const now = await this.#current();
    if (!now) return null;
    return this.app.weir.memory.update(this.entry.id, changes);
  }

  async #current() {
    try {
      const now = await this.app.weir.memory.retrieve(this.entry.id);
      if (now.updated_at === this.entry.updated_at) return now;
      this.#showConflict(now);
    } catch (error) {
      if (error.status !== 404) throw error;
      this.#showGone();
    }
    return null;
  }

  #notice(text, quote, actions) {
    const buttons = actions.map(([label, action]) =>
      h(
        "button",
        {
          class: "button button-small",
          on: {
            click: () => {
              replace(this.conflict);
              action();
              this.text.focus();
            },
          },
        },
        label,
      ),
    );
    replace(
      this.conflict,
      h(
        "div",
        { class: "notice notice-warn stack", role: "alert" },
        h("p", null, text),
        quote && h("blockquote", { class: "memory-theirs" }, quote),
        h("div", { class: "row" }, buttons),
      ),
    );
    buttons[0].focus();
  }

  #showConflict(now) {
    const kind = now.category === this.entry.category ? "" : ` (${CATEGORIES[now.category]?.label ?? now.category})`;
    this.#notice(
      `This was changed ${ago(now.updated_at)}, while you were writing. It says now:`,
      `${now.text}${kind}`,
      [
        ["Keep mine", () => (this.entry = now)],
        ["Take theirs", () => this.#take(now)],
      ],
    );
  }

  #take(now) {
    this.entry = now;
    const form = formOf(now);
    for (const name of ["category", "text", "data"]) this[name].value = form[name];
  }

  #showGone() {
    this.#notice("This was deleted while you were writing.", null, [
      [
        "Keep mine as a new one",
        () => {
          this.entry = null;
          setText(this.save, "Add");
        },
      ],
      ["Let it go", () => this.dialog.close({ isGone: true })],
    ]);
  }
}

/** Resolves to the entry as it was saved, to {isGone: true}, or to null when nothing was. */
export const editEntry = (app, entry = null) => new Editor(app, entry).result;
