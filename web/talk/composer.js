// SPDX-License-Identifier: Apache-2.0
// Where one writes: grows with its text, Enter sends, Shift and Enter begins a new line.

import { h, newId } from "../lib/dom.js";
import { takeDraft } from "../lib/drafts.js";
import { icon } from "../lib/icons.js";

/**
 * `onSend(text)` may be asynchronous; the text is gone when it has succeeded, and stays when it fails, which
 * `onError` is told. `extra` are elements beside the button; those of `withText` are buttons that need
 * a text, too.
 */
export class Composer {
  #onSend;
  #onError;
  #buttons; // that need a text
  #isSending = false;
  #isOff = false;

  constructor({ label, placeholder, button = "Send", onSend, onError, extra = [], withText = [] }) {
    const id = newId("say");
    const send = h("button", { type: "submit", class: "button button-primary" }, icon("arrow"), h("span", null, button));
    this.#onSend = onSend;
    this.#onError = onError;
    this.#buttons = [...withText, send];
    this.input = h("textarea", {
      id,
      class: "textarea say-input",
      rows: 1,
      placeholder,
      value: takeDraft(label) ?? "",
      on: { input: () => this.#refresh(), keydown: (event) => this.#onKey(event) },
    });
    this.element = h(
      "form",
      { class: "say", on: { submit: (event) => this.#submit(event) } },
      h("label", { class: "visually-hidden", for: id }, label),
      this.input,
      h("div", { class: "say-actions" }, extra, this.#buttons),
    );
    this.#refresh();
  }

  get #canSend() {
    return !this.#isOff && !this.#isSending && this.input.value.trim() !== "";
  }

  #refresh() {
    for (const button of this.#buttons) button.disabled = !this.#canSend;
  }

  #onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (this.#canSend) this.element.requestSubmit();
  }

  #submit(event) {
    event.preventDefault();
    this.run(this.#onSend);
  }

  /** Hands the text to `act` as to onSend. */
  async run(act) {
    if (!this.#canSend) return;
    const text = this.input.value.trim();
    this.#isSending = true;
    this.#refresh();
    try {
      await act(text);
      if (this.input.value.trim() === text) this.input.value = "";
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#isSending = false;
      this.#refresh();
    }
  }

  /** Nothing can be written. */
  setOff(isOff) {
    this.#isOff = isOff;
    this.input.disabled = isOff;
    this.#refresh();
  }

  focus() {
    this.input.focus({ preventScroll: true });
  }
}
