// The first keys of the answer so far: figures, intervals, and since when the same keys have been first.
//
// A pair is an object with its key first (`key`, `host`, ...; with `_hex` if it is not UTF-8) and then its figures,
// whose estimates and errors have `_estimate` and `_within` after their names (docs/shows.md).

import { h, panel, setAttribute, setText, setVariable } from "./dom.js";
import { bytes, clock, compact, counted, number, percent, UNKNOWN } from "./text.js";

/** @import { JobState, Pair, Show } from "./api.js" */

// A key of any length is shown and copied whole up to here; beyond, its begin says which one it is.
const KEY_SHOWN = 2000;

/**
 * @param {Pair[string] | undefined} value
 * @returns {value is number | bigint}
 */
function isFigure(value) {
  return typeof value === "number" || typeof value === "bigint";
}

/**
 * Returns the key of a pair, and the names of its figures.
 * @param {Pair} pair
 */
function read(pair) {
  const [name = "key", ...rest] = Object.keys(pair);
  const is_hex = name.endsWith("_hex");
  const value = pair[name];
  return {
    name: is_hex ? name.slice(0, -4) : name,
    key: typeof value === "string" ? value : typeof value === "bigint" ? String(value) : JSON.stringify(value),
    is_hex,
    figures: rest.filter((figure) => !/_(estimate|within)$/.test(figure) && isFigure(pair[figure])),
  };
}

/**
 * Returns the largest N for which the first N keys are known to be the same ones since an earlier show, as a sentence.
 * @param {Show} show
 */
export function unchanged(show) {
  const known = Object.entries(show.top_since ?? {})
    .map(([first, since]) => ({ first: Number(first), since }))
    .filter(({ first, since }) => first <= show.pairs.length && since.bytes < show.bytes)
    .sort((a, b) => b.first - a.first);
  const [best] = known;
  if (!best) return "";
  const since =
    best.since.part === null || best.since.part === undefined ? bytes(best.since.bytes) : percent(best.since.part);
  return `the first ${best.first} are the same keys since ${since}`;
}

/**
 * Returns an interval of 95 % in percent of the estimate.
 * @param {number} estimate
 * @param {number} within
 */
function interval(estimate, within) {
  if (within === 0) return "exact";
  const part = (within / Math.max(1, Math.abs(estimate))) * 100;
  return `± ${part < 0.1 ? "<0.1" : part < 10 ? part.toFixed(1) : Math.round(part)} %`;
}

/**
 * Says why there are no keys.
 * @param {Show | null} show
 * @param {boolean} is_over
 * @param {number} at_s
 */
function nothing(show, is_over, at_s) {
  if (show) return "No keys yet.";
  if (is_over) return "No keys were shown while this job ran.";
  return at_s > 5 ? "This job has shown no keys so far." : "The first keys come after two seconds.";
}

export class Top {
  #caption = h("p", { class: "panel-note top-since", role: "status" });
  #head = h("tr", null);
  #body = h("tbody", null);
  #table = h("table", { class: "top-table" }, h("thead", null, this.#head), this.#body);
  #empty = h("p", { class: "empty" });
  #columns = "";

  constructor() {
    const { element, heading, side } = panel("Top keys so far", "top", this.#table, this.#empty, this.#caption);
    this.element = element;
    this.heading = heading;
    this.side = side;
  }

  /**
   * @param {Show | null} show
   * @param {JobState} state
   * @param {number} at_s the age of the attempt
   */
  update(show, state, at_s) {
    const is_over = state !== "queued" && state !== "running";
    this.#table.hidden = !show?.pairs.length;
    this.#empty.hidden = !this.#table.hidden;
    if (!show?.pairs.length) {
      setText(this.#empty, nothing(show, is_over, at_s));
      setText(this.#caption, "");
      setText(this.side, "");
      return;
    }
    setText(this.heading, show.is_last ? `Top ${show.pairs.length}` : `Top ${show.pairs.length} so far`);
    this.element.dataset.last = String(show.is_last);
    const seen =
      show.part === null || show.part === undefined ? bytes(show.bytes) : `${percent(show.part)} of the input`;
    const keys = show.keys === null || show.keys === undefined ? "" : `, ${counted(show.keys, "key")}`;
    setText(this.side, show.is_last ? `the answer${keys}` : `after ${seen}, ${clock(show.elapsed_s)}${keys}`);
    setText(this.#caption, unchanged(show));
    this.#rows(show);
  }

  /** @param {Show} show */
  #rows(show) {
    const [first] = show.pairs;
    if (!first) return;
    const { name, figures } = read(first);
    const with_estimates = !show.is_last && figures.some((figure) => `${figure}_estimate` in first);
    const columns = JSON.stringify([name, figures, with_estimates]);
    if (columns !== this.#columns) {
      this.#columns = columns;
      this.#body.replaceChildren();
      this.#head.replaceChildren(
        h("th", { scope: "col", class: "rank" }, "#"),
        h("th", { scope: "col" }, name),
        ...figures.map((figure) => h("th", { scope: "col", class: "number" }, figure)),
        ...(with_estimates
          ? [
              h(
                "th",
                {
                  scope: "col",
                  class: "number",
                  title: "the likely figure of the whole input, and its error with 95 % confidence",
                },
                "in the end",
              ),
            ]
          : []),
      );
    }
    const largest = Math.max(0, ...show.pairs.map((pair) => Number(pair[figures[0] ?? ""] ?? 0))) || 1;
    while (this.#body.rows.length > show.pairs.length) this.#body.deleteRow(-1);
    show.pairs.forEach((pair, at) => {
      const row = this.#body.rows[at] ?? this.#body.appendChild(this.#row(at, figures.length, with_estimates));
      this.#fill(row, pair, figures, largest, with_estimates);
    });
  }

  /**
   * @param {number} at
   * @param {number} figures
   * @param {boolean} with_estimates
   */
  #row(at, figures, with_estimates) {
    return h(
      "tr",
      null,
      h("td", { class: "rank" }, String(at + 1)),
      h(
        "th",
        { scope: "row", class: "key" },
        h("bdi", { class: "key-text" }),
        h("span", { class: "key-bar", "aria-hidden": "true" }),
      ),
      ...Array.from({ length: figures }, () => h("td", { class: "number" })),
      ...(with_estimates ? [h("td", { class: "number estimate" }, h("span", null), h("small", null))] : []),
    );
  }

  /**
   * @param {HTMLTableRowElement} row
   * @param {Pair} pair
   * @param {string[]} figures
   * @param {number} largest
   * @param {boolean} with_estimates
   */
  #fill(row, pair, figures, largest, with_estimates) {
    const { key, is_hex } = read(pair);
    const shown = key.length > KEY_SHOWN ? `${key.slice(0, KEY_SHOWN)}…` : key;
    const key_cell = /** @type {HTMLElement} */ (row.cells[1]);
    const text = /** @type {HTMLElement} */ (key_cell.firstElementChild);
    setText(text, key === "" ? "(empty)" : shown);
    setAttribute(text, "data-form", is_hex ? "hex" : key === "" ? "empty" : null);
    const title = is_hex ? "bytes that are not UTF-8, in hexadecimal" : key.length > 24 ? shown : null;
    setAttribute(key_cell, "title", title);
    const [first = ""] = figures;
    setVariable(
      /** @type {HTMLElement} */ (key_cell.lastElementChild),
      "--part",
      String(Number(pair[first] ?? 0) / largest),
    );
    figures.forEach((figure, at) => {
      const cell = row.cells[2 + at];
      const value = pair[figure];
      if (cell) setText(cell, isFigure(value) ? number(value) : UNKNOWN);
    });
    if (!with_estimates) return;
    const [estimate, within] = [pair[`${first}_estimate`], pair[`${first}_within`]];
    const cell = row.cells[2 + figures.length];
    const [value, error] = cell?.children ?? [];
    if (value) setText(value, isFigure(estimate) ? compact(Number(estimate)) : UNKNOWN);
    if (error)
      setText(error, isFigure(estimate) && isFigure(within) ? interval(Number(estimate), Number(within)) : "± ?");
  }
}
