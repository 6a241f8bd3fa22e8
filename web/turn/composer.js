// SPDX-License-Identifier: Apache-2.0
// Where a question is typed. Enter asks, Shift and Enter begin a new line.

import { h, newId, setText } from "../lib/dom.js";
import { takeDraft } from "../lib/drafts.js";
import { icon } from "../lib/icons.js";
import { once } from "../lib/once.js";

const MAX_HEIGHT = 260; // pixels; then it scrolls

function problemText(error) {
  if (error.code === "concurrency_limit_exceeded")
    return "As many of your questions as may be are being answered. Wait for one to end, or stop one.";
  if (error.code === "rate_limit_exceeded") return "Too many requests at once. Try again in a moment.";
  if (error.status === 413) return "This is longer than the server takes. Your question is still here; make it shorter.";
  if (error.status === undefined)
    return "The server cannot be reached. Your question is still here; try again.";
  return error.message;
}

/**
 * ask(text, {idempotencyKey, maxRetries}) is called with what was typed and says by its promise whether it was
 * taken. The same text sent again after a failure counts once.
 */
export function composer({ label, placeholder, isLabelHidden = false, button = "Ask", ask, value = "" }) {
  const id = newId("question");
  const problemId = newId("problem");
  const input = h("textarea", {
    id,
    class: "textarea question-input",
    rows: 2,
    placeholder,
    "aria-describedby": problemId,
    value: takeDraft(label) ?? value,
  });
  const problem = h("p", { id: problemId, class: "field-problem", role: "alert" });
  const send = h("button", { type: "submit", class: "button button-primary" }, icon("arrow"), button);
  const put = once(ask);

  function fit() {
    input.style.height = "auto";
    input.style.height = `${Math.min(MAX_HEIGHT, input.scrollHeight + 2)}px`;
  }
  async function submit() {
    const text = input.value.trim();
    if (text === "" || send.disabled) return input.focus();
    send.disabled = true;
    setText(problem, "");
    input.removeAttribute("aria-invalid");
    try {
      await put(text, { maxRetries: 0 }); // somebody waits: they are told at once
    } catch (error) {
      setText(problem, problemText(error));
      input.setAttribute("aria-invalid", "true");
      input.focus();
    } finally {
      send.disabled = false;
    }
  }
  const form = h(
    "form",
    { class: "question-form", on: { submit: (event) => (event.preventDefault(), submit()) } },
    h("label", { for: id, class: isLabelHidden ? "visually-hidden" : "label" }, label),
    h("div", { class: "question-box" }, input, send),
    problem,
  );
  input.addEventListener("input", fit);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  return {
    element: form,
    input,
    ask(text) {
      input.value = text;
      fit();
      return submit();
    },
  };
}
