// The grid of tiles: a canvas of at most 4096 cells, one colour a state, with the counts beside it as text.
//
// Which file a cell is of is asked of the server once, when the first cell is pointed at.

import { get } from "./api.js";
import { atNextFrame, colour, context, h, panel, setAttribute, setText } from "./dom.js";
import { bytes, count, counted, expand } from "./text.js";

/** @import { Places, Tiles } from "./api.js" */

/** @type {{ letter: string, name: keyof Tiles["counts"], means: string }[]} */
const STATES = [
  { letter: "s", name: "saved", means: "mapped, and saved in the state" },
  { letter: "m", name: "mapped", means: "mapped by workers" },
  { letter: "d", name: "device", means: "mapped by a device, at least in part" },
  { letter: "f", name: "found", means: "found again in the state: not mapped by this run" },
  { letter: "r", name: "running", means: "begun" },
  { letter: "w", name: "waiting", means: "nobody has begun it" },
];
const NAMES = Object.fromEntries(STATES.map(({ letter, name }) => [letter, name]));
const CELLS = 4096;

/**
 * Returns the side of a cell with its gap, in pixels: such that all are in one row, or else the largest with which
 * they keep below a height.
 * @param {number} cells
 * @param {number} width
 */
export function pitch(cells, width) {
  const one_row = Math.floor(width / cells);
  if (one_row >= 14) return Math.min(22, one_row);
  for (let side = 22; side > 5; side -= 1) {
    const columns = Math.max(1, Math.floor(width / side));
    if (Math.ceil(cells / columns) * side <= Math.max(88, Math.min(280, width * 0.75))) return side;
  }
  return 5;
}

export class Grid {
  #canvas = h("canvas", { class: "tiles-canvas", tabIndex: 0, role: "img" });
  #readout = h("p", { class: "readout", role: "status" });
  #legend = h("ul", { class: "legend" });
  #empty = h("p", { class: "empty" });
  /** @type {Map<string, HTMLElement>} */
  #counts = new Map();
  #cells = "";
  /** @type {Tiles | null} */
  #tiles = null;
  #bytes_planned = 0;
  #files = 1;
  /** @type {number | null} */
  #at = null;
  #columns = 1;
  #pitch = 22;
  #width = 0;
  /** @type {Promise<void> | null} */
  #asked = null;
  /** @type {Places | null} */
  #places = null;
  #observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width === this.#width) return;
    this.#width = width;
    this.redraw();
  });

  /** Which grid of which attempt the places are of. */
  #which = "";

  /** @param {number} job */
  constructor(job) {
    this.job = job;
    for (const { letter, name, means } of STATES) {
      const number = h("b", null, "0");
      this.#counts.set(name, number);
      this.#legend.append(
        h(
          "li",
          { title: means, "data-tile": letter },
          h("i", { class: "swatch", "aria-hidden": "true" }),
          h("span", null, name),
          number,
        ),
      );
    }
    const place = h("div", { class: "tiles-place" }, this.#canvas);
    const { element, side } = panel("Tiles", "tiles", place, this.#empty, this.#readout, this.#legend);
    this.element = element;
    this.side = side;
    this.#observer.observe(place);
    this.#canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.#canvas.addEventListener("pointerleave", () => this.#select(null));
    this.#canvas.addEventListener("focus", () => this.#select(this.#at ?? 0));
    this.#canvas.addEventListener("blur", () => this.#select(null));
    this.#canvas.addEventListener("keydown", (event) => this.#move(event));
  }

  close() {
    this.#observer.disconnect();
  }

  focus() {
    this.#canvas.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  /**
   * @param {Tiles | null} tiles
   * @param {{ bytes_planned: number, files: number, is_over: boolean, attempt: number }} job
   */
  update(tiles, { bytes_planned, files, is_over, attempt }) {
    const which = `${attempt} ${tiles?.places ?? 0} ${tiles?.tiles}`;
    if (which !== this.#which) {
      this.#which = which;
      this.#asked = null;
      this.#places = null;
      if (tiles && this.#at !== null && this.#at * tiles.tiles_per_cell >= tiles.tiles) this.#at = null;
      if (this.#at !== null) this.#ask(tiles);
    }
    this.#tiles = tiles;
    this.#bytes_planned = bytes_planned;
    this.#files = files;
    this.#empty.hidden = tiles !== null;
    this.#canvas.hidden = tiles === null;
    this.#legend.hidden = tiles === null;
    this.#readout.hidden = tiles === null;
    if (!tiles) {
      setText(
        this.#empty,
        is_over ? "This job had no tiles to show." : "No tiles yet; jobs over streams and sorts have none.",
      );
      setText(this.side, "");
      return;
    }
    this.#cells = expand(tiles.cells, CELLS);
    for (const { name } of STATES) {
      const number = /** @type {HTMLElement} */ (this.#counts.get(name));
      setText(number, count(tiles.counts[name]));
      /** @type {HTMLElement} */ (number.parentElement).hidden =
        tiles.counts[name] === 0 && (name === "device" || name === "found" || name === "saved");
    }
    const { waiting, running } = tiles.counts;
    const done = tiles.tiles - waiting - running;
    const each = tiles.tiles_per_cell > 1 ? `, ${count(tiles.tiles_per_cell)} a cell` : "";
    setText(this.side, `${count(done)} of ${counted(tiles.tiles, "tile")} done${each}`);
    setAttribute(
      this.#canvas,
      "aria-label",
      `${counted(tiles.tiles, "tile")}: ${done} done, ${running} running, ${waiting} waiting. Arrow keys move from cell to cell`,
    );
    this.redraw();
    this.#tell();
  }

  /** Draws the cells at the next frame. */
  redraw = atNextFrame(() => this.#draw());

  #draw() {
    const cells = this.#cells;
    if (!this.#tiles || cells.length === 0 || this.#width < 20) return;
    this.#pitch = pitch(cells.length, this.#width);
    this.#columns = Math.max(1, Math.floor(this.#width / this.#pitch));
    const rows = Math.ceil(cells.length / this.#columns);
    const drawing = context(this.#canvas, Math.min(this.#columns, cells.length) * this.#pitch, rows * this.#pitch);
    if (!drawing) return;
    const side = this.#pitch - (this.#pitch > 12 ? 2 : 1);
    const fills = Object.fromEntries(STATES.map(({ letter }) => [letter, colour(`--tile-${letter}`)]));
    for (let at = 0; at < cells.length; at += 1) {
      const letter = cells[at] ?? "w";
      const [x, y] = [(at % this.#columns) * this.#pitch, Math.floor(at / this.#columns) * this.#pitch];
      drawing.fillStyle = fills[letter] ?? "#888";
      if (side >= 9) {
        drawing.beginPath();
        drawing.roundRect(x, y, side, side, 2);
        drawing.fill();
        this.#mark(drawing, letter, x, y, side);
      } else {
        drawing.fillRect(x, y, side, side);
      }
    }
    if (this.#at !== null && this.#at < cells.length) {
      const [x, y] = [(this.#at % this.#columns) * this.#pitch, Math.floor(this.#at / this.#columns) * this.#pitch];
      drawing.lineWidth = 2;
      drawing.strokeStyle = colour("--surface");
      drawing.strokeRect(x + 1, y + 1, side - 2, side - 2);
      drawing.strokeStyle = colour("--ink");
      drawing.strokeRect(x - 1, y - 1, side + 2, side + 2);
    }
  }

  /**
   * Marks states whose colours alone might be confused: a dot runs, a line was found again, a corner is a device's.
   * @param {CanvasRenderingContext2D} drawing
   * @param {string} letter
   * @param {number} x
   * @param {number} y
   * @param {number} side
   */
  #mark(drawing, letter, x, y, side) {
    drawing.fillStyle = colour("--tile-mark");
    if (letter === "r") {
      drawing.beginPath();
      drawing.arc(x + side / 2, y + side / 2, side / 5, 0, 2 * Math.PI);
      drawing.fill();
    } else if (letter === "f") {
      drawing.fillRect(x + side * 0.2, y + side / 2 - 1, side * 0.6, 2);
    } else if (letter === "d") {
      drawing.beginPath();
      drawing.moveTo(x + side, y + side * 0.45);
      drawing.lineTo(x + side, y + side);
      drawing.lineTo(x + side * 0.45, y + side);
      drawing.fill();
    }
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const [column, row] = [Math.floor(event.offsetX / this.#pitch), Math.floor(event.offsetY / this.#pitch)];
    const at = row * this.#columns + column;
    this.#select(column >= 0 && column < this.#columns && at >= 0 && at < this.#cells.length ? at : null);
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const steps = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: this.#columns,
      ArrowUp: -this.#columns,
      Home: -CELLS,
      End: CELLS,
    };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step === undefined) return;
    event.preventDefault();
    this.#select(Math.max(0, Math.min(this.#cells.length - 1, (this.#at ?? 0) + step)));
  }

  /** @param {number | null} at */
  #select(at) {
    if (at === this.#at) return;
    this.#at = at;
    if (at !== null) this.#ask(this.#tiles);
    this.redraw();
    this.#tell();
  }

  /**
   * Asks for the places of the cells, once a grid.
   * @param {Tiles | null} tiles
   */
  #ask(tiles) {
    // A server may not know them: then the range is an approximate one of the whole input.
    if (!tiles?.places) return;
    const which = this.#which;
    this.#asked ??= /** @type {Promise<Places>} */ (get(`api/jobs/${this.job}/places`)).then(
      (places) => {
        if (which !== this.#which) return;
        this.#places = places;
        this.#tell();
      },
      () => {
        if (which === this.#which) this.#asked = null;
      },
    );
  }

  /** Says what the cell is that is pointed at. */
  #tell() {
    const tiles = this.#tiles;
    const at = this.#at;
    if (!tiles || at === null || at >= this.#cells.length) {
      this.#readout.replaceChildren("Point at a tile to see its file and range.");
      this.#readout.dataset.idle = "";
      return;
    }
    delete this.#readout.dataset.idle;
    const first = at * tiles.tiles_per_cell;
    const last = Math.min(tiles.tiles, first + tiles.tiles_per_cell) - 1;
    const which = first === last ? `tile ${count(first)}` : `tiles ${count(first)} to ${count(last)}`;
    const letter = this.#cells[at] ?? "w";
    const { path, range } = this.#place(at, first, last + 1, tiles.tiles);
    this.#readout.replaceChildren(
      h("b", null, which),
      h(
        "span",
        { class: "readout-state", "data-tile": letter },
        h("i", { class: "swatch", "aria-hidden": "true" }),
        NAMES[letter] ?? letter,
      ),
      h("span", null, range),
      path === "" ? "" : h("bdi", { class: "readout-path", title: path }, path),
    );
  }

  /**
   * @param {number} cell
   * @param {number} first the number of its first tile
   * @param {number} end
   * @param {number} tiles
   */
  #place(cell, first, end, tiles) {
    const begin = this.#places?.cells[cell];
    if (begin) {
      const next = this.#places?.cells[cell + 1];
      const path = this.#places?.paths[begin[0]] ?? "";
      const [from, to] = [bytes(begin[1]), next && next[2] === begin[2] ? bytes(next[1]) : "its end"];
      const more = (next?.[2] ?? this.#files) - begin[2] - 1;
      if (more <= 0) return { path, range: `${from} to ${to}` };
      return { path, range: `from ${from} of this file, and ${counted(more, "more file")}` };
    }
    if (this.#bytes_planned === 0) return { path: "", range: "" };
    const each = this.#bytes_planned / tiles;
    return { path: "", range: `about ${bytes(first * each)} to ${bytes(end * each)} of the input` };
  }
}
