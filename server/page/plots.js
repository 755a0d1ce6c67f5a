// Charts of one job over its time: throughput, memory against its limit, and busy cores.
//
// The three share their axis of time and their cursor. Points come from the server's history and then from each
// progress event; when there are too many, every second one goes.

import { atNextFrame, colour, h, panel, setText } from "./dom.js";
import { bytes, duration, rate, tick, UNKNOWN } from "./text.js";
import uPlot from "./uplot.js";

/** @import { History, Progress } from "./api.js" */

const POINTS_MOST = 600;
const HEIGHT = 112;
// A rate over less time than this says more about the size of a split than about the job.
const RATE_S = 0.2;

/** Totals and levels at moments of one attempt. */
export class Series {
  /** @type {number[]} */
  at_s = [];
  /** @type {number[]} */
  bytes_done = [];
  /** @type {number[]} */
  memory_bytes = [];
  /** @type {(number | null)[]} */
  cpu_s = [];

  /** @param {History | null} history */
  reset(history) {
    const length = history?.bytes_done.length ?? 0;
    this.at_s = Array.from({ length }, (_, at) => (history?.from_s ?? 0) + (at + 1) * (history?.step_s ?? 0));
    this.bytes_done = [...(history?.bytes_done ?? [])];
    this.memory_bytes = [...(history?.memory_bytes ?? [])];
    this.cpu_s = [...(history?.cpu_s ?? [])];
  }

  /** @param {Progress} progress */
  add({ at_s, bytes_done, memory_bytes, cpu_s }) {
    const last = this.at_s.at(-1) ?? 0;
    if (at_s === undefined || at_s <= last) return;
    this.at_s.push(at_s);
    this.bytes_done.push(bytes_done);
    this.memory_bytes.push(memory_bytes);
    this.cpu_s.push(cpu_s ?? null);
    if (this.at_s.length > POINTS_MOST) this.#thin();
  }

  #thin() {
    /** @template T @param {T[]} values */
    const half = (values) => values.filter((_, at) => at % 2 === 1);
    [this.at_s, this.bytes_done, this.memory_bytes, this.cpu_s] = [
      half(this.at_s),
      half(this.bytes_done),
      half(this.memory_bytes),
      half(this.cpu_s),
    ];
  }

  /**
   * Returns by how much a total grew per second before each point.
   * @param {(number | null)[]} totals
   * @param {number} [jump] the first step of this size or more is left out
   * @returns {(number | null)[]}
   */
  rates(totals, jump = Infinity) {
    const left_out = totals.findIndex((total, at) => at > 0 && (total ?? 0) - (totals[at - 1] ?? 0) >= jump);
    return totals.map((total, at) => {
      if (total === null) return null;
      let before = at - 1;
      const now = this.at_s[at] ?? 0;
      while (before >= 0 && now - (this.at_s[before] ?? 0) < RATE_S) before -= 1;
      // What is known first may contain what an earlier attempt did.
      const [from_s, from] = [this.at_s[before], totals[before]];
      if (from_s === undefined || from === undefined || from === null) return null;
      if (before < left_out && left_out <= at) return null;
      return Math.max(0, total - from) / (now - from_s);
    });
  }
}

/**
 * Returns round steps of sizes for an axis.
 * @param {number} most
 */
function byteSteps(most) {
  const step = 2 ** Math.ceil(Math.log2(Math.max(most, 1) / 3));
  return [0, 1, 2, 3].map((number) => number * step).filter((value) => value <= most * 1.01);
}

/** @param {number} most */
function numberSteps(most) {
  const whole = Math.max(1, Math.ceil(most / 4));
  return [0, 1, 2, 3, 4].map((number) => number * whole).filter((value) => value <= most * 1.01);
}

class Plot {
  /** @type {uPlot | null} */
  #plot = null;
  #width = 0;
  /** @type {uPlot.AlignedData} */
  #data = [[], []];
  #most = 1;
  #end = 1;
  #observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width === this.#width || width < 40) return;
    this.#width = width;
    if (this.#plot) this.#plot.setSize({ width, height: HEIGHT });
    else this.#make();
  });

  /**
   * @param {object} options
   * @param {string} options.title
   * @param {string} options.stroke the name of a colour
   * @param {(value: number | null | undefined) => string} options.form
   * @param {(most: number) => number[]} options.steps
   * @param {number} options.least the least that the axis of values goes up to
   */
  constructor({ title, stroke, form, steps, least }) {
    this.title = title;
    this.stroke = stroke;
    this.form = form;
    this.steps = steps;
    this.least = least;
    this.place = h("div", { class: "plot-place", "aria-hidden": "true" });
    this.value = h("b", { class: "plot-value" }, UNKNOWN);
    this.note = h("span", { class: "plot-note" });
    this.pointed = h("span", { class: "plot-pointed", "aria-hidden": "true" });
    const caption = h("figcaption", null, h("span", null, title), this.value, this.note);
    this.element = h("figure", { class: "plot" }, caption, this.place, this.pointed);
    this.#observer.observe(this.place);
  }

  close() {
    this.#observer.disconnect();
    this.#plot?.destroy();
    this.#plot = null;
  }

  /**
   * @param {number[]} at_s
   * @param {(number | null)[]} values
   * @param {number | null} limit
   */
  set(at_s, values, limit) {
    const largest = Math.max(...values.map((value) => value ?? 0), 0);
    // A limit that is far away would press the line down on its axis; it is said beside the title anyway.
    const is_near = limit !== null && largest >= limit / 4;
    this.#most = Math.max(this.least, is_near ? limit : 0, largest);
    const end = Math.max(0.5, at_s.at(-1) ?? 0);
    const times = [0, ...at_s];
    this.#end = end;
    this.#data = [times, [null, ...values], times.map(() => (is_near ? limit : null))];
    if (!this.#plot) return;
    this.#plot.setData(this.#data, false);
    this.#plot.setScale("x", { min: 0, max: end });
  }

  /** Draws anew, in the colours of the present theme. */
  themed() {
    if (!this.#plot) return;
    this.#plot.destroy();
    this.#plot = null;
    this.#make();
  }

  #make() {
    const ink = colour("--muted");
    const line = colour("--line");
    const stroke = colour(this.stroke);
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    /** @type {uPlot.Axis} */
    const axis = { stroke: ink, font, ticks: { show: false }, grid: { stroke: line, width: 1 } };
    this.#plot = new uPlot(
      {
        width: this.#width,
        height: HEIGHT,
        padding: [8, 16, 0, 0],
        legend: { show: false },
        cursor: {
          sync: { key: "job" },
          drag: { x: false, y: false },
          points: { size: 6 },
        },
        scales: {
          x: { time: false, range: (_, min, max) => [min ?? 0, Math.max(0.5, max ?? 0)] },
          y: { range: () => [0, this.#most * 1.06] },
        },
        axes: [
          {
            ...axis,
            size: 22,
            gap: 4,
            space: 70,
            values: (_, values) => values.map((value) => tick(value, this.#end)),
            grid: { show: false },
          },
          {
            ...axis,
            size: 62,
            gap: 6,
            splits: () => this.steps(this.#most * 1.05),
            values: (_, values) => values.map((value) => (value === 0 ? "0" : this.form(value))),
          },
        ],
        series: [
          {},
          { stroke, width: 1.5, fill: colour(`${this.stroke}-fill`), points: { show: false }, spanGaps: true },
          { stroke: colour("--limit"), width: 1, dash: [4, 3], points: { show: false } },
        ],
        hooks: { setCursor: [(plot) => this.#tell(plot.cursor.idx ?? null)] },
      },
      this.#data,
      this.place,
    );
  }

  /** @param {number | null} at the point under the cursor */
  #tell(at) {
    const value = at === null ? null : this.#data[1]?.[at];
    const time = at === null ? null : this.#data[0][at];
    const is_known = value !== null && value !== undefined && time !== undefined && time !== null;
    setText(this.pointed, is_known ? `${this.form(value)} at ${tick(time, this.#end)}` : "");
  }
}

/**
 * Returns the largest of some values, or null.
 * @param {(number | null)[]} values
 */
function most(values) {
  return values.reduce(
    (/** @type {number | null} */ largest, value) => (value !== null && value > (largest ?? -1) ? value : largest),
    null,
  );
}

/**
 * @typedef {object} Facts
 * @property {number | null} limit of memory
 * @property {number | null} workers
 * @property {number | null} mean bytes per second
 * @property {number} found_bytes the size of the tiles that were found in the state
 * @property {boolean} is_over
 */

export class Plots {
  #series = new Series();
  #throughput = new Plot({ title: "Throughput", stroke: "--plot-read", form: rate, steps: byteSteps, least: 1 << 20 });
  #memory = new Plot({ title: "Memory", stroke: "--plot-memory", form: bytes, steps: byteSteps, least: 1 << 20 });
  #cpu = new Plot({
    title: "Busy cores",
    stroke: "--plot-cpu",
    form: (value) => (value === null || value === undefined ? UNKNOWN : value.toFixed(1)),
    steps: numberSteps,
    least: 1,
  });
  /** @type {Facts} */
  #job = { limit: null, workers: null, mean: null, found_bytes: 0, is_over: false };

  constructor() {
    const place = h("div", { class: "plots-row" }, this.#throughput.element, this.#memory.element, this.#cpu.element);
    this.element = panel("Over time", "plots", place).element;
  }

  close() {
    for (const plot of [this.#throughput, this.#memory, this.#cpu]) plot.close();
  }

  themed() {
    for (const plot of [this.#throughput, this.#memory, this.#cpu]) plot.themed();
  }

  /** @param {History | null} history */
  reset(history) {
    this.#series.reset(history);
    this.#redraw();
  }

  /** @param {Progress} progress */
  add(progress) {
    this.#series.add(progress);
    this.#redraw();
  }

  /** @param {Facts} job */
  update(job) {
    this.#job = job;
    this.#redraw();
  }

  #redraw = atNextFrame(() => this.#draw());

  #draw() {
    const { at_s, bytes_done, memory_bytes, cpu_s } = this.#series;
    const { limit, workers, mean, found_bytes, is_over } = this.#job;
    // What was found in the state is done at once.
    const rates = this.#series.rates(bytes_done, found_bytes > 0 ? found_bytes * 0.9 : Infinity);
    const busy = this.#series.rates(cpu_s);
    this.#throughput.set(at_s, rates, null);
    this.#memory.set(at_s, memory_bytes, limit);
    this.#cpu.set(at_s, busy, workers);
    const end = at_s.at(-1) ?? 0;
    setText(this.#throughput.value, is_over ? rate(mean) : rate(rates.at(-1)));
    setText(this.#throughput.note, is_over ? `on average, peak ${rate(most(rates))}` : `peak ${rate(most(rates))}`);
    setText(this.#memory.value, is_over ? bytes(most(memory_bytes)) : bytes(memory_bytes.at(-1)));
    const of = limit === null ? "" : `of ${bytes(limit)}`;
    setText(this.#memory.note, is_over ? `peak ${of}` : `${of}${of ? ", " : ""}peak ${bytes(most(memory_bytes))}`);
    const total = cpu_s.at(-1) ?? null;
    const cores = is_over ? (total !== null && end > 0 ? total / end : null) : (busy.at(-1) ?? null);
    setText(this.#cpu.value, cores === null ? UNKNOWN : cores.toFixed(1));
    const whole = workers === null ? "" : `of ${workers}`;
    setText(this.#cpu.note, `${whole}${total === null ? "" : `, ${duration(total)} CPU in all`}`.replace(/^, /, ""));
  }
}
