// SPDX-License-Identifier: Apache-2.0
// Where each of many rows begins, when their heights become known one by one.

/**
 * A binary indexed tree over the heights of `count` rows that are first taken for `estimate` each:
 * setting one, finding where a row begins and which row is at a place take O(log n).
 */
export class Heights {
  #tree = new Float64Array(1); // #tree[i] sums what differs from the estimate, of (i & -i) rows up to i
  #known = new Map(); // row → height, where it is not the estimate
  count = 0;

  constructor(count, estimate) {
    this.estimate = estimate;
    this.resize(count);
  }

  /** More or fewer rows at the end; the others keep their heights. */
  resize(count) {
    this.count = count;
    if (count < this.#tree.length && count * 4 > this.#tree.length) {
      for (const index of this.#known.keys()) if (index >= count) this.set(index, this.estimate);
      return;
    }
    const known = this.#known;
    this.#known = new Map();
    this.#tree = new Float64Array(1 + Math.ceil(count * 1.5));
    for (const [index, height] of known) if (index < count) this.set(index, height);
  }

  /** Every row is taken for `estimate` again. */
  reset(estimate = this.estimate) {
    this.estimate = estimate;
    this.#known.clear();
    this.#tree.fill(0);
  }

  get(index) {
    return this.#known.get(index) ?? this.estimate;
  }

  /** Returns by how much the row has grown. */
  set(index, height) {
    const delta = height - this.get(index);
    if (delta === 0) return 0;
    if (height === this.estimate) this.#known.delete(index);
    else this.#known.set(index, height);
    for (let i = index + 1; i < this.#tree.length; i += i & -i) this.#tree[i] += delta;
    return delta;
  }

  /** Where the row begins; that of `count` is where the last one ends. */
  offset(index) {
    let sum = index * this.estimate;
    for (let i = index; i > 0; i -= i & -i) sum += this.#tree[i];
    return sum;
  }

  get total() {
    return this.offset(this.count);
  }

  /** The row at a place; the first or last one beyond the ends. */
  indexAt(y) {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offset(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
