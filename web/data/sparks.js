// SPDX-License-Identifier: Apache-2.0
// Small charts that are loaded when they come into view, a few at a time, so that a list of a hundred
// metrics costs what is seen of it.

const AT_ONCE = 3; // a browser has six connections for everything

/** load(element, signal) is called once for each element that `watch` was given and that is seen. */
export class SeenLoader {
  #waiting = [];
  #running = 0;
  #control = new AbortController();
  #observer;

  constructor(load, { Observer = globalThis.IntersectionObserver } = {}) {
    this.load = load;
    this.#observer = new Observer(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          this.#observer.unobserve(target);
          this.#waiting.push(target);
        }
        this.#next();
      },
      { rootMargin: "200px" },
    );
  }

  watch(element) {
    this.#observer.observe(element);
  }

  #next() {
    const { signal } = this.#control;
    while (this.#running < AT_ONCE && this.#waiting.length > 0 && !signal.aborted) {
      this.#running++;
      this.load(this.#waiting.shift(), signal).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  close() {
    this.#observer.disconnect();
    this.#control.abort();
  }
}
