// SPDX-License-Identifier: Apache-2.0
// Elements without a framework, and without ever parsing HTML.
//
//   h("button", { class: "button", on: { click: save }, disabled: true }, "Save")
//   s("path", { d: "M0 0h9" })                       the same for SVG
//   replace(node, child, [more, children], null)     new children in place of the old ones
//
// props:   class (a text, or a list where what is false is left out), text, on: {event: listener},
//          style: {"--width": "3px", color: …} (set by CSSOM, which the policy allows),
//          data: {name: value}, and attributes: true is an empty one, false, null and undefined are
//          none. value, checked and open are properties. A button is type="button" unless it says otherwise.
// children: nodes, texts, numbers, lists of them; null, undefined and booleans are nothing.

const SVG = "http://www.w3.org/2000/svg";
const properties = new Set(["value", "checked", "open"]);

function classText(value) {
  return Array.isArray(value) ? value.filter(Boolean).join(" ") : value;
}

const special = {
  class: (element, value) => value && element.setAttribute("class", classText(value)),
  text: (element, value) => {
    element.textContent = value ?? "";
  },
  on: (element, listeners) => {
    for (const [type, listener] of Object.entries(listeners)) if (listener) element.addEventListener(type, listener);
  },
  style: (element, values) => {
    for (const [name, value] of Object.entries(values)) {
      if (name.startsWith("--")) element.style.setProperty(name, value);
      else element.style[name] = value;
    }
  },
  data: (element, values) => {
    for (const [name, value] of Object.entries(values)) if (value !== null && value !== undefined) element.dataset[name] = value;
  },
};

/** Sets props as h() does, on an element that is there already. */
export function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (Object.hasOwn(special, name)) special[name](element, value);
    else if (properties.has(name) && name in element) element[name] = value;
    else if (value === true) element.setAttribute(name, name.startsWith("aria-") ? "true" : "");
    else if (value === false && name.startsWith("aria-")) element.setAttribute(name, "false");
    else if (value === false || value === null || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, String(value));
  }
  return element;
}

/** Children as a flat list of nodes. */
function nodes(children, out = []) {
  for (const child of children) {
    if (Array.isArray(child)) nodes(child, out);
    else if (child instanceof Node) out.push(child);
    else if (child !== null && child !== undefined && typeof child !== "boolean")
      out.push(document.createTextNode(String(child)));
  }
  return out;
}

function make(element, props, children) {
  // Children first: a select takes its value only once it has its options.
  element.append(...nodes(children));
  if (props) set(element, props);
  return element;
}

export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  if (tag === "button") element.type = "button";
  return make(element, props, children);
}

export function s(tag, props, ...children) {
  return make(document.createElementNS(SVG, tag), props, children);
}

export function replace(node, ...children) {
  node.replaceChildren(...nodes(children));
  return node;
}

/** Sets the text only when it differs, so that nothing is laid out or read out anew for nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

let lastId = 0;

/** An id for aria-labelledby and the like that nothing else on the page has. */
export function newId(prefix = "id") {
  return `${prefix}-${++lastId}`;
}
