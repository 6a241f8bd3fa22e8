// SPDX-License-Identifier: Apache-2.0
// As much of a document as web/lib/dom.js needs, for tests without a browser. Elements are written
// out as HTML, so that a test says what it expects in one line.

class FakeNode {
  parent = null;

  remove() {
    if (this.parent) this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1);
    this.parent = null;
  }
}

class FakeText extends FakeNode {
  constructor(text) {
    super();
    this.data = text;
  }

  get textContent() {
    return this.data;
  }

  get length() {
    return this.data.length;
  }

  appendData(text) {
    this.data += text;
  }

  get html() {
    return this.data.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }
}

class FakeElement extends FakeNode {
  childNodes = [];
  attributes = new Map();
  listeners = new Map();
  dataset = {};
  style = { setProperty() {} };

  constructor(tag) {
    super();
    this.tag = tag;
  }

  get textContent() {
    return this.childNodes.map((child) => child.textContent).join("");
  }

  set textContent(text) {
    this.replaceChildren(new FakeText(text));
  }

  get firstChild() {
    return this.childNodes[0] ?? null;
  }

  get lastChild() {
    return this.childNodes.at(-1) ?? null;
  }

  append(...children) {
    for (const child of children) {
      child.remove();
      child.parent = this;
      this.childNodes.push(child);
    }
  }

  replaceChildren(...children) {
    for (const child of [...this.childNodes]) child.remove();
    this.append(...children);
  }

  setAttribute(name, value) {
    this.attributes.set(name, value);
  }

  removeAttribute(name) {
    this.attributes.delete(name);
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  /** All elements inside that have this class. */
  withClass(name) {
    const own = (this.getAttribute("class") ?? "").split(" ").includes(name) ? [this] : [];
    return [...own, ...this.childNodes.flatMap((child) => child.withClass?.(name) ?? [])];
  }

  addEventListener(type, listener) {
    this.listeners.set(type, listener);
  }

  get html() {
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${value}"`).join("");
    return `<${this.tag}${attributes}>${this.inner}</${this.tag}>`;
  }

  get inner() {
    return this.childNodes.map((child) => child.html).join("");
  }
}

/** From now on there is a document. */
export function installDocument() {
  globalThis.Node = FakeNode;
  globalThis.document = {
    createElement: (tag) => new FakeElement(tag),
    createElementNS: (_, tag) => new FakeElement(tag),
    createTextNode: (text) => new FakeText(text),
  };
}
