// A row for each thread: its work over the whole run, or over the last minute, coloured by kind.
//
// In the whole run a cell has one colour. In the last minute kinds share the height of a column, and the empty rest is
// idle.

import { atNextFrame, colour, context, h, panel, setAttribute, setText, setVariable } from "./dom.js";
import { duration, percent, tick } from "./text.js";
import { KINDS, MINUTE_S, times, Work } from "./work.js";

/** @import { LaneCells, LaneWork } from "./api.js" */
/** @import { Lane } from "./work.js" */

/**
 * Fills a rectangle whose sides are between pixels, so that no seam is left beside the next one.
 * @param {CanvasRenderingContext2D} drawing
 * @param {number} left
 * @param {number} right
 * @param {number} top
 * @param {number} height
 */
function fillBetween(drawing, left, right, top, height) {
  const ratio = window.devicePixelRatio || 1;
  const [begin, end] = [Math.round(left * ratio) / ratio, Math.round(right * ratio) / ratio];
  drawing.fillRect(begin, top, Math.max(end - begin, 1 / ratio), height);
}

export class Cores {
  #work = new Work();
  #canvas = h("canvas", { "aria-hidden": "true" });
  #labels = h("div", { class: "cores-labels", "aria-hidden": "true" });
  #busy = h("div", { class: "cores-busy", "aria-hidden": "true" });
  #axis = h("div", { class: "cores-axis", "aria-hidden": "true" }, h("span", null), h("span", null), h("span", null));
  #place = h("div", { class: "cores-place" }, this.#canvas);
  #picture = h("div", { class: "cores-picture" }, this.#labels, this.#place, this.#busy, this.#axis);
  #legend = h("ul", { class: "legend" });
  #table_body = h("tbody", null);
  #empty = h("p", { class: "empty" }, "No work yet.");
  #readout = h("p", { class: "readout", role: "status" });
  #whole_button = h("button", { type: "button", class: "choice", onclick: () => this.choose(false) }, "whole run");
  #minute_button = h("button", { type: "button", class: "choice", onclick: () => this.choose(true) }, "last minute");
  #last_minute = false;
  #width = 0;
  /** When the texts were written. */
  #told_ms = -Infinity;
  /** @type {number | undefined} */
  #timer;
  #is_over = false;
  #observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width === this.#width) return;
    this.#width = width;
    this.redraw();
  });

  constructor() {
    const table = h(
      "table",
      null,
      h("caption", null, "Work of each thread"),
      h("thead", null, h("tr", null, ...["thread", "busy", "kinds"].map((name) => h("th", { scope: "col" }, name)))),
      this.#table_body,
    );
    const { element, side } = panel(
      "Cores",
      "cores",
      this.#empty,
      this.#picture,
      this.#legend,
      this.#readout,
      h("div", { class: "hidden-text" }, table),
    );
    side.append(
      h(
        "div",
        { class: "choices", role: "group", "aria-label": "time shown" },
        this.#whole_button,
        this.#minute_button,
      ),
    );
    this.element = element;
    this.#observer.observe(this.#place);
    this.#canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.#canvas.addEventListener("pointerleave", () => this.#idle());
    this.#idle();
    this.choose(false);
  }

  close() {
    window.clearTimeout(this.#timer);
    this.#observer.disconnect();
  }

  /** @param {boolean} last_minute */
  choose(last_minute) {
    this.#last_minute = last_minute;
    setAttribute(this.#whole_button, "aria-pressed", String(!last_minute));
    setAttribute(this.#minute_button, "aria-pressed", String(last_minute));
    this.#told_ms = -Infinity;
    this.redraw();
  }

  toggle() {
    this.choose(!this.#last_minute);
  }

  /**
   * @param {LaneCells | null} cells
   * @param {number} at_s the age of the attempt
   * @param {boolean} is_same whether it is the attempt that was shown so far
   */
  reset(cells, at_s, is_same) {
    this.#work.reset(cells, at_s, is_same);
    this.#told_ms = -Infinity;
    this.redraw();
  }

  /** @param {LaneWork} work */
  add(work) {
    this.#work.add(work);
    this.redraw();
  }

  /** @param {boolean} is_over */
  update(is_over) {
    if (is_over === this.#is_over) return;
    this.#is_over = is_over;
    setText(this.#empty, is_over ? "No work was recorded." : "No work yet.");
  }

  redraw = atNextFrame(() => this.#draw());

  /** Returns the interval that is shown. */
  #interval() {
    const { from_s, end_s } = this.#work;
    const begin = this.#last_minute ? Math.max(from_s, end_s - MINUTE_S) : from_s;
    return { begin, end: Math.max(end_s, begin + 0.25) };
  }

  /** @param {number} lanes */
  #rowHeight(lanes) {
    return lanes <= 12 ? 18 : lanes <= 40 ? 12 : lanes <= 100 ? 7 : 4;
  }

  #draw() {
    const lanes = this.#work.sorted();
    this.#empty.hidden = lanes.length > 0;
    this.#picture.hidden = lanes.length === 0;
    this.#legend.hidden = lanes.length === 0;
    this.#readout.hidden = lanes.length === 0;
    if (lanes.length === 0) return;
    const row = this.#rowHeight(lanes.length);
    setVariable(this.#picture, "--row", `${row}px`);
    this.#tell(lanes, row);
    if (this.#width < 20) return;
    const { begin, end } = this.#interval();
    const drawing = context(this.#canvas, this.#width, lanes.length * row);
    if (!drawing) return;
    const gap = row > 8 ? 2 : row > 5 ? 1 : 0;
    const fills = new Map(KINDS.map(({ letter }) => [letter, colour(`--kind-${letter}`)]));
    const scale = this.#width / (end - begin);
    lanes.forEach((lane, at) => {
      const top = at * row;
      const height = row - gap;
      drawing.fillStyle = colour("--idle");
      drawing.fillRect(0, top, this.#width, height);
      this.#cells(drawing, lane, fills, { begin, scale, top, height });
      if (this.#last_minute) this.#spans(drawing, lane, fills, { begin, scale, top, height });
    });
    const [left, middle, right] = this.#axis.children;
    if (left) setText(left, tick(begin, end));
    if (middle) setText(middle, tick((begin + end) / 2, end));
    if (right) setText(right, tick(end, end));
  }

  /**
   * @param {CanvasRenderingContext2D} drawing
   * @param {Lane} lane
   * @param {Map<string, string>} fills
   * @param {{ begin: number, scale: number, top: number, height: number }} area
   */
  #cells(drawing, lane, fills, { begin, scale, top, height }) {
    const { from_s, step_s } = this.#work;
    const cells = lane.cells;
    for (let at = 0; at < cells.length; ) {
      let next = at + 1;
      while (next < cells.length && cells[next] === cells[at]) next += 1;
      const fill = fills.get(cells[at] ?? "i");
      const left = Math.max(0, (from_s + at * step_s - begin) * scale);
      const right = (from_s + next * step_s - begin) * scale;
      if (fill && right > left) {
        drawing.fillStyle = fill;
        fillBetween(drawing, left, right, top, height);
      }
      at = next;
    }
  }

  /**
   * @param {CanvasRenderingContext2D} drawing
   * @param {Lane} lane
   * @param {Map<string, string>} fills
   * @param {{ begin: number, scale: number, top: number, height: number }} area
   */
  #spans(drawing, lane, fills, { begin, scale, top, height }) {
    for (const { from_s, to_s, ms } of lane.spans) {
      const left = Math.max(0, (from_s - begin) * scale);
      const right = (to_s - begin) * scale;
      if (right <= left) continue;
      const whole = Math.max(
        (to_s - from_s) * 1000,
        Object.values(ms).reduce((sum, time) => sum + time, 0),
      );
      drawing.fillStyle = colour("--idle");
      fillBetween(drawing, left, right, top, height);
      let bottom = top + height;
      for (const { letter, name } of KINDS) {
        const part = ((ms[name] ?? 0) / whole) * height;
        if (part === 0) continue;
        drawing.fillStyle = fills.get(letter) ?? "#888";
        fillBetween(drawing, left, right, bottom - part, part);
        bottom -= part;
      }
    }
  }

  /**
   * Says as text what the picture shows, at most once a second.
   * @param {Lane[]} lanes
   * @param {number} row
   */
  #tell(lanes, row) {
    const wait_ms = this.#told_ms + 1000 - performance.now();
    if (wait_ms > 0 && this.#labels.childElementCount === lanes.length) {
      this.#timer ??= window.setTimeout(() => {
        this.#timer = undefined;
        this.redraw();
      }, wait_ms);
      return;
    }
    this.#told_ms = performance.now();
    const { begin, end } = this.#interval();
    /** @type {Map<string, number>} */
    const all = new Map();
    const facts = lanes.map((lane) => {
      const kinds = times(lane, this.#work, begin, this.#last_minute);
      let sum = 0;
      for (const [letter, time] of kinds) {
        sum += time;
        all.set(letter, (all.get(letter) ?? 0) + time);
      }
      return { name: lane.name, busy: Math.min(1, sum / (end - begin)), kinds, sum };
    });
    const every = Math.ceil(12 / row);
    this.#lines(
      this.#labels,
      facts.map(({ name }, at) => (at % every === 0 ? name.replace(/^worker-/, "") : "")),
    );
    this.#lines(
      this.#busy,
      facts.map(({ busy }, at) => (at % every === 0 ? `${Math.round(busy * 100)} %` : "")),
    );
    this.#rows(facts);
    this.#sums(all, (end - begin) * lanes.length);
  }

  /**
   * @param {Element} parent
   * @param {string[]} texts
   */
  #lines(parent, texts) {
    while (parent.childElementCount > texts.length) parent.lastElementChild?.remove();
    while (parent.childElementCount < texts.length) parent.append(h("span", null));
    for (const [at, text] of texts.entries()) setText(/** @type {Element} */ (parent.children[at]), text);
  }

  /** @param {{ name: string, busy: number, kinds: Map<string, number>, sum: number }[]} facts */
  #rows(facts) {
    const body = this.#table_body;
    while (body.rows.length > facts.length) body.deleteRow(-1);
    facts.forEach(({ name, busy, kinds, sum }, at) => {
      const row =
        body.rows[at] ?? body.appendChild(h("tr", null, h("th", { scope: "row" }), h("td", null), h("td", null)));
      const [first, second, third] = row.cells;
      const shares = KINDS.filter(({ letter }) => kinds.has(letter)).map(
        (kind) => `${kind.name} ${percent((kinds.get(kind.letter) ?? 0) / (sum || 1))}`,
      );
      if (first) setText(first, name);
      if (second) setText(second, percent(busy));
      if (third) setText(third, shares.join(", "));
    });
  }

  /**
   * @param {Map<string, number>} all seconds of each kind
   * @param {number} whole_s
   */
  #sums(all, whole_s) {
    const busy = [...all.values()].reduce((sum, time) => sum + time, 0);
    const entries = [
      ...KINDS.filter(({ letter }) => all.has(letter)).map((kind) => ({
        ...kind,
        part: (all.get(kind.letter) ?? 0) / whole_s,
      })),
      { letter: "i", name: "idle", means: "waiting for work", part: Math.max(0, 1 - busy / whole_s) },
    ];
    const known = [...this.#legend.children].map((item) => /** @type {HTMLElement} */ (item).dataset.kind).join("");
    if (known !== entries.map(({ letter }) => letter).join("")) {
      this.#legend.replaceChildren(
        ...entries.map(({ letter, name, means }) =>
          h(
            "li",
            { title: means, "data-kind": letter },
            h("i", { class: "swatch", "aria-hidden": "true" }),
            h("span", null, name.replace("_", " ")),
            h("b", null),
          ),
        ),
      );
    }
    entries.forEach(({ part }, at) => {
      const text = this.#legend.children[at]?.lastElementChild;
      if (text) setText(text, percent(part));
    });
  }

  #idle() {
    setText(this.#readout, "Point at a row to see its work.");
    this.#readout.dataset.idle = "";
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const lanes = this.#work.sorted();
    const lane = lanes[Math.floor(event.offsetY / this.#rowHeight(lanes.length))];
    if (!lane) return;
    delete this.#readout.dataset.idle;
    const { begin, end } = this.#interval();
    const at_s = begin + (event.offsetX / Math.max(1, this.#width)) * (end - begin);
    const span = this.#last_minute ? lane.spans.find(({ from_s, to_s }) => from_s <= at_s && at_s < to_s) : undefined;
    if (span) {
      const kinds = Object.entries(span.ms).map(([kind, ms]) => `${kind.replace("_", " ")} ${duration(ms / 1000)}`);
      setText(
        this.#readout,
        `${lane.name} at ${tick(at_s, end)}: ${kinds.join(", ")} of ${duration(span.to_s - span.from_s)}`,
      );
      return;
    }
    const letter = lane.cells[Math.floor((at_s - this.#work.from_s) / this.#work.step_s)] ?? "i";
    setText(
      this.#readout,
      `${lane.name} at ${tick(at_s, end)}: ${KINDS.find((kind) => kind.letter === letter)?.name ?? "idle"}`,
    );
  }
}
