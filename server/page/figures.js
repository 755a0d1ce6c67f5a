// How far a job is: the strip of figures at the top of its page, and its stages, each with its seconds.

import { OVER } from "./api.js";
import { bar, h, setAttribute, setText, setVariable } from "./dom.js";
import { bytes, clock, count, duration, part, percent, rate, UNKNOWN } from "./text.js";

/** @import { Progress, Snapshot, Stage } from "./api.js" */

/** @type {Stage[]} */
const STAGES = ["plan", "map", "reduce", "merge", "output"];

/**
 * Returns the limit of a job's memory, or null if it has none.
 * @param {Snapshot} job
 */
export function memoryLimit(job) {
  return (job.progress?.memory_limit_bytes ?? job.memory_bytes) || null;
}

/** The strip of figures at the top. */
export class Figures {
  element = h("dl", { class: "figures" });
  /** @type {Map<string, { value: HTMLElement, note: HTMLElement }>} */
  #items = new Map();
  #memory = bar("memory");

  constructor() {
    for (const name of ["progress", "throughput", "time left", "memory", "spilled", "keys"]) {
      const value = h("span", { class: "figure-value" }, UNKNOWN);
      const note = h("span", { class: "figure-note" });
      const term = h("dt", null, name);
      this.element.append(
        h(
          "div",
          { class: "figure", "data-figure": name.replace(" ", "-") },
          term,
          h("dd", null, value, note, name === "memory" && this.#memory.element),
        ),
      );
      this.#items.set(name, { value, note });
    }
  }

  /**
   * @param {string} name
   * @param {string} value
   * @param {string} note
   */
  #set(name, value, note) {
    const item = this.#items.get(name);
    if (!item) return;
    setText(item.value, value);
    setText(item.note, note);
  }

  /**
   * @param {Snapshot} job
   * @param {number} elapsed_s by the newest event
   */
  update(job, elapsed_s) {
    const { progress, stats } = job;
    const is_over = OVER.has(job.state);
    const planned = progress?.bytes_planned ? `of ${bytes(progress.bytes_planned)}` : "";
    const done = part(job);
    this.#set(
      "progress",
      done === null ? bytes(progress?.bytes_done) : percent(done),
      done === null ? "mapped" : progress ? `${bytes(progress.bytes_done)} ${planned}` : "",
    );
    this.#set("throughput", rate(progress?.bytes_per_s), is_over ? "on average" : "on average so far");
    const term = this.element.querySelector("[data-figure=time-left] dt");
    if (term) setText(term, is_over ? "time" : "time left");
    if (is_over) this.#set("time left", duration(job.elapsed_s), job.attempts > 1 ? `in ${job.attempts} attempts` : "");
    else
      this.#set(
        "time left",
        job.state === "running" ? clock(progress?.left_s) : UNKNOWN,
        job.state === "running" ? `${clock(elapsed_s)} so far` : "",
      );
    const limit = memoryLimit(job);
    const peak = is_over ? (stats?.memory_resident_peak ?? stats?.memory_counted_peak) : undefined;
    const memory = peak ? Number(peak) : progress?.memory_bytes;
    const of = limit === null ? "no limit" : `of ${bytes(limit)}`;
    this.#set("memory", bytes(memory), `${peak ? "at most, " : ""}${of}`);
    this.#memory.element.hidden = limit === null;
    this.#memory.set((memory ?? 0) / (limit ?? Infinity), `${bytes(memory)} ${of}`);
    const spilled = progress?.spilled_bytes ?? stats?.spilled_bytes;
    this.#set("spilled", bytes(spilled), spilled ? "to scratch files" : "");
    const keys = is_over && stats?.keys !== undefined ? Number(stats.keys) : progress?.keys_held;
    this.#set("keys", count(keys), is_over ? "" : "held");
  }
}

/** The stages from left to right, each with its seconds. */
export class Stages {
  element = h("ol", { class: "stages", "aria-label": "stages" });
  /** @type {Map<Stage, { item: HTMLElement, time: HTMLElement, state: HTMLElement }>} */
  #items = new Map();
  /** When each stage began, in seconds of the attempt. @type {Map<Stage, number>} */
  #begins = new Map();

  constructor() {
    for (const stage of STAGES) {
      const time = h("span", { class: "stage-time" });
      const state = h("span", { class: "hidden-text" });
      const item = h(
        "li",
        { class: "stage", "data-stage": stage },
        h("span", { class: "stage-name" }, stage),
        time,
        state,
      );
      this.element.append(item);
      this.#items.set(stage, { item, time, state });
    }
  }

  /** @param {Snapshot} job */
  reset(job) {
    this.#begins.clear();
    for (const { stage, from_s } of job.stages ?? []) this.#begins.set(stage, from_s);
  }

  /** @param {Progress} progress */
  add(progress) {
    if (progress.at_s !== undefined && !this.#begins.has(progress.stage))
      this.#begins.set(progress.stage, progress.at_s);
  }

  /** @param {Snapshot} job */
  update(job) {
    const at = job.state === "done" ? STAGES.length : STAGES.indexOf(job.progress?.stage ?? "plan");
    const is_begun = job.state !== "queued" && job.progress !== null;
    setAttribute(this.element, "data-job", job.state);
    STAGES.forEach((stage, place) => {
      const { item, time, state } = /** @type {NonNullable<ReturnType<typeof this.item>>} */ (this.item(stage));
      const now = !is_begun
        ? "waiting"
        : place < at
          ? "done"
          : place > at
            ? "waiting"
            : OVER.has(job.state)
              ? "stopped"
              : "now";
      setAttribute(item, "data-state", now);
      setAttribute(item, "aria-current", now === "now" ? "step" : null);
      setText(state, { done: "done", waiting: "not begun", stopped: "stopped here", now: "at work" }[now]);
      setText(time, now === "waiting" ? "" : this.#time(stage, job));
      const mapped = stage === "map" && now !== "done" && is_begun ? (part(job) ?? 0) : now === "done" ? 1 : 0;
      setVariable(item, "--part", String(now === "waiting" ? 0 : mapped));
      setAttribute(item, "data-unknown", now === "now" && (stage !== "map" || part(job) === null) ? "" : null);
    });
  }

  /** @param {Stage} stage */
  item(stage) {
    return this.#items.get(stage);
  }

  /**
   * @param {Stage} stage
   * @param {Snapshot} job
   */
  #time(stage, job) {
    const counted_time = job.stats?.stages?.find((time) => time.stage === stage);
    if (counted_time) return duration(counted_time.wall_s);
    const begin = this.#begins.get(stage);
    if (begin === undefined) return "";
    const later = STAGES.slice(STAGES.indexOf(stage) + 1).find((next) => this.#begins.has(next));
    const end = later === undefined ? (job.progress?.at_s ?? begin) : (this.#begins.get(later) ?? begin);
    return end > begin ? duration(end - begin) : "";
  }
}
