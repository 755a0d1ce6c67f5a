// What each thread of a job did: kinds of work over time, of the whole run and of the last minute.
//
// The whole run is at most a few hundred cells, each the kind of most of its time, as the server keeps them too. The
// last minute is the events themselves, which have the time of each kind. Where there are none, because the page was
// not open or hidden, cells stand in for them.

import { expand } from "./text.js";

/** @import { LaneCells, LaneWork } from "./api.js" */

/** @type {{ letter: string, name: string, means: string }[]} */
export const KINDS = [
  { letter: "p", name: "plan", means: "listing and cutting the input" },
  { letter: "r", name: "read", means: "reading input, and waiting for it" },
  { letter: "d", name: "decode", means: "decompressing input" },
  { letter: "m", name: "map", means: "the job's map, and combining in the worker's own tables" },
  { letter: "c", name: "combine", means: "handing tables over to the partial" },
  { letter: "k", name: "compress", means: "folding partials while maps run" },
  { letter: "s", name: "spill", means: "writing to scratch files what exceeds memory, and reading it back" },
  { letter: "u", name: "reduce", means: "folding partitions into one pair per key" },
  { letter: "g", name: "merge", means: "sorting ranges of the answer" },
  { letter: "w", name: "write", means: "formatting and writing the answer" },
  { letter: "x", name: "copy_in", means: "copying input to a device" },
  { letter: "n", name: "kernel", means: "a kernel on a device" },
  { letter: "y", name: "copy_out", means: "copying a partial from a device" },
];
const LETTERS = new Map(KINDS.map(({ letter, name }) => [name, letter]));
const CELLS_MOST = 480;
export const MINUTE_S = 60;

/** @typedef {{ from_s: number, to_s: number, ms: Record<string, number> }} Span */

/** One thread's work: cells of the whole run, spans of the last minute, and the time of each kind. */
export class Lane {
  /** Letters, one a cell. */
  cells = "";
  /** @type {Span[]} */
  spans = [];
  /** The part of the next cell that is known: seconds of each kind. @type {Map<string, number>} */
  open = new Map();

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }
}

/**
 * Returns where a thread stands in the picture: workers first, then readers, devices and others.
 * @param {string} name
 * @returns {[number, string, number]}
 */
function order(name) {
  const [, kind = name, number = "0"] = /^([a-z]+)-?(\d*)/.exec(name) ?? [];
  const at = ["worker", "reader", "device"].indexOf(kind);
  return [at === -1 ? 3 : at, kind, Number(number)];
}

/**
 * @param {Lane} a
 * @param {Lane} b
 */
function byOrder(a, b) {
  const [x, y] = [order(a.name), order(b.name)];
  return x[0] - y[0] || (x[0] === 3 ? x[1].localeCompare(y[1]) : 0) || x[2] - y[2] || a.name.localeCompare(b.name);
}

/** The work of all threads of one attempt. */
export class Work {
  /** @type {Map<string, Lane>} */
  lanes = new Map();
  step_s = 0.25;
  from_s = 0;
  /** The end of what is known. */
  end_s = 0;
  /** The end of the whole cells. */
  #cells_end_s = 0;

  /**
   * Begins anew with the cells of a snapshot.
   * @param {LaneCells | null} cells
   * @param {number} at_s
   * @param {boolean} is_same whether it is of the attempt so far, so that what is known of the last minute stays true
   */
  reset(cells, at_s, is_same) {
    const spans = is_same ? [...this.lanes.values()].map((lane) => /** @type {const} */ ([lane.name, lane.spans])) : [];
    this.lanes.clear();
    this.step_s = cells?.step_s ?? 0.25;
    this.from_s = cells?.from_s ?? 0;
    let most = 0;
    for (const { name, cells: code } of cells?.lanes ?? []) {
      const letters = expand(code, CELLS_MOST);
      this.#lane(name).cells = letters;
      most = Math.max(most, letters.length);
    }
    this.#cells_end_s = this.from_s + most * this.step_s;
    this.end_s = Math.max(this.#cells_end_s, at_s);
    for (const lane of this.lanes.values()) lane.cells = lane.cells.padEnd(most, "i");
    for (const [name, known] of spans) if (this.lanes.has(name)) this.#lane(name).spans = known;
  }

  /** @param {string} name */
  #lane(name) {
    let lane = this.lanes.get(name);
    if (!lane) {
      lane = new Lane(name);
      const cells = Math.round((this.#cells_end_s - this.from_s) / this.step_s);
      lane.cells = "i".repeat(Math.max(0, cells));
      this.lanes.set(name, lane);
    }
    return lane;
  }

  /**
   * Adds what the threads did in an interval.
   * @param {LaneWork} work
   */
  add({ from_s, at_s, lanes }) {
    if (at_s <= from_s) return;
    for (const { name, ms } of lanes) {
      const lane = this.#lane(name);
      const sum_s = Object.values(ms).reduce((sum, time) => sum + time, 0) / 1000;
      if (sum_s === 0) continue;
      // Work is counted when it ends: what is more than the interval was done before it.
      const begin_s = Math.max(lane.spans.at(-1)?.to_s ?? this.from_s, Math.min(from_s, at_s - sum_s));
      lane.spans.push({ from_s: begin_s, to_s: at_s, ms });
      const inside = Math.min(1, (at_s - from_s) / sum_s);
      for (const [kind, time] of Object.entries(ms))
        lane.open.set(kind, (lane.open.get(kind) ?? 0) + (inside * time) / 1000);
      this.#fillBack(lane, (1 - inside) * sum_s, ms);
    }
    this.end_s = Math.max(this.end_s, at_s);
    while (this.end_s >= this.#cells_end_s + this.step_s) this.#closeCell();
    for (const lane of this.lanes.values()) {
      while (lane.spans[0] && lane.spans[0].to_s < this.end_s - MINUTE_S) lane.spans.shift();
    }
  }

  /**
   * Gives the idle cells before the open one to work that has ended now.
   * @param {Lane} lane
   * @param {number} time_s
   * @param {Record<string, number>} ms
   */
  #fillBack(lane, time_s, ms) {
    const [kind] = Object.entries(ms).reduce((most, entry) => (entry[1] > most[1] ? entry : most));
    const idle = /i*$/.exec(lane.cells)?.[0].length ?? 0;
    const cells = Math.min(idle, Math.round(time_s / this.step_s));
    lane.cells = lane.cells.slice(0, lane.cells.length - cells) + (LETTERS.get(kind) ?? "m").repeat(cells);
  }

  /** Gives each lane the letter of what it did most in the open cell. What is more than a cell stays for the next. */
  #closeCell() {
    for (const lane of this.lanes.values()) {
      let [letter, most, sum] = ["i", 0, 0];
      for (const [kind, time] of lane.open) {
        sum += time;
        if (time > most) [letter, most] = [LETTERS.get(kind) ?? "m", time];
      }
      lane.cells += most > this.step_s - sum ? letter : "i";
      const left = Math.max(0, sum - this.step_s);
      for (const [kind, time] of lane.open) lane.open.set(kind, sum > 0 ? (time * left) / sum : 0);
    }
    this.#cells_end_s += this.step_s;
    if ((this.#cells_end_s - this.from_s) / this.step_s >= CELLS_MOST) this.#double();
  }

  /** Makes one cell of two, of the kind that is not idle if there is one. */
  #double() {
    for (const lane of this.lanes.values()) {
      lane.cells = lane.cells.replace(/(.)(.)/g, (_, first, second) => (first === "i" ? second : first));
    }
    this.step_s *= 2;
  }

  /** Returns the lanes from top to bottom. */
  sorted() {
    return [...this.lanes.values()].sort(byOrder);
  }
}

/**
 * Returns the seconds of each kind of a lane: of the whole run by its cells, or of the last minute by spans, and by
 * cells where there are none.
 * @param {Lane} lane
 * @param {Work} work
 * @param {number} after_s
 * @param {boolean} by_spans
 * @returns {Map<string, number>}
 */
export function times(lane, work, after_s, by_spans) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  const spans = by_spans ? lane.spans : [];
  for (const { to_s, ms } of spans) {
    if (to_s <= after_s) continue;
    for (const [kind, time] of Object.entries(ms)) {
      const letter = LETTERS.get(kind) ?? "m";
      sums.set(letter, (sums.get(letter) ?? 0) + time / 1000);
    }
  }
  let next = 0;
  for (let at = 0; at < lane.cells.length; at += 1) {
    const middle_s = work.from_s + (at + 0.5) * work.step_s;
    const letter = lane.cells[at] ?? "i";
    if (letter === "i" || middle_s < after_s) continue;
    while ((spans[next]?.to_s ?? Infinity) <= middle_s) next += 1;
    if ((spans[next]?.from_s ?? Infinity) <= middle_s) continue;
    sums.set(letter, (sums.get(letter) ?? 0) + work.step_s);
  }
  return sums;
}
