// The page of one job, live and afterwards the same: what it is, how far it is, and its parts from other files.

import { get, OVER, part as partOfText, RequestError, request } from "./api.js";
import { Cores } from "./cores.js";
import { ask, bar, copy, h, notice, panel, setAttribute, setText, setVariable } from "./dom.js";
import { Feed } from "./feed.js";
import { Grid } from "./grid.js";
import { Log } from "./log.js";
import { Plots } from "./plots.js";
import {
  ago,
  bytes,
  clock,
  count,
  counted,
  duration,
  figure,
  moment,
  part,
  percent,
  rate,
  shell,
  UNKNOWN,
  words,
} from "./text.js";
import { Top } from "./top.js";

/** @import { Bad, LaneWork, Progress, Snapshot, Stage, Stats, Summary } from "./api.js" */
/** @import { Frame, View } from "./app.js" */

/** @type {Stage[]} */
const STAGES = ["plan", "map", "reduce", "merge", "output"];
const KINDS = ["snapshot", "summary", "progress", "tiles", "lanes", "show", "bad", "stats"];
const ANSWER_LINES = 10;

/** The strip of figures at the top. */
class Figures {
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

  /** @param {Snapshot} job */
  update(job) {
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
        job.state === "running" ? `${clock(elapsed(job))} so far` : "",
      );
    const limit = progress?.memory_limit_bytes ?? job.memory_bytes;
    const peak = is_over ? (stats?.memory_resident_peak ?? stats?.memory_counted_peak) : undefined;
    const memory = peak ? Number(peak) : progress?.memory_bytes;
    this.#set("memory", bytes(memory), `${peak ? "at most, " : ""}of ${bytes(limit)}`);
    this.#memory.set(memory === undefined ? 0 : memory / limit, `${bytes(memory)} of ${bytes(limit)}`);
    const spilled = progress?.spilled_bytes ?? stats?.spilled_bytes;
    this.#set("spilled", bytes(spilled), spilled ? "to scratch files" : "");
    const keys = is_over && stats?.keys !== undefined ? Number(stats.keys) : progress?.keys_held;
    this.#set("keys", count(keys), is_over ? "" : "held");
  }
}

/** The stages from left to right, each with its seconds. */
class Stages {
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

/**
 * Returns for how long a job has run, without a jump when a progress event is newer than the summary.
 * @param {Snapshot} job
 */
function elapsed(job) {
  return job.attempts <= 1 ? Math.max(job.elapsed_s, job.progress?.at_s ?? 0) : job.elapsed_s;
}

/** What a job is and was told, and what to do with it. */
class About {
  #list = h("dl", { class: "facts" });
  #command = h("code", { class: "command", dir: "ltr", tabIndex: 0, "aria-label": "command" });
  #texts = "";

  /** @param {(change: number) => void} onPriority */
  constructor(onPriority) {
    this.onPriority = onPriority;
    const button = h("button", { type: "button", class: "button is-small", onclick: () => this.copy() }, "Copy");
    this.element = panel(
      "About",
      "about",
      h("div", { class: "command-row" }, this.#command, button),
      this.#list,
    ).element;
  }

  copy() {
    copy(this.#command.textContent ?? "", "Command");
  }

  /** @param {Snapshot} job */
  update(job) {
    setText(this.#command, shell(job.command, job.folder));
    const most = job.most === job.least ? String(job.least) : `${job.least} to ${job.most}`;
    /** @type {[string, string][]} */
    const facts = [
      ["user", job.user],
      ["cores", `${job.cores === null ? "" : `${job.cores === "" ? "none at present" : job.cores}, `}wants ${most}`],
      ["memory", bytes(job.memory_bytes)],
      ["priority", String(job.priority)],
      ["submitted", moment(job.created_at_s)],
      ["started", job.started_at_s === null ? UNKNOWN : moment(job.started_at_s)],
      ["ended", job.ended_at_s === null ? UNKNOWN : moment(job.ended_at_s)],
      ["attempts", String(job.attempts)],
      ["read", bytes(job.progress?.read_bytes)],
      ["written", bytes(job.progress?.written_bytes)],
      ["files", count(job.progress?.files_planned)],
    ];
    if (job.code !== null) facts.push(["exit code", String(job.code)]);
    if (job.signal !== null) facts.push(["signal", String(job.signal)]);
    const texts = JSON.stringify([facts, job.state]);
    if (texts === this.#texts) return;
    // The buttons of the priority keep their focus.
    const focused = this.#list.contains(document.activeElement)
      ? document.activeElement?.getAttribute("aria-label")
      : null;
    this.#texts = texts;
    this.#list.replaceChildren(
      ...facts.map(([name, value]) =>
        h(
          "div",
          null,
          h("dt", null, name),
          h("dd", null, h("bdi", null, value), name === "priority" && !OVER.has(job.state) && this.#steps()),
        ),
      ),
    );
    if (focused) /** @type {HTMLElement | null} */ (this.#list.querySelector(`[aria-label="${focused}"]`))?.focus();
  }

  #steps() {
    return h(
      "span",
      { class: "steps" },
      h(
        "button",
        {
          type: "button",
          class: "button is-small",
          "aria-label": "lower priority",
          onclick: () => this.onPriority(-1),
        },
        "−",
      ),
      h(
        "button",
        {
          type: "button",
          class: "button is-small",
          "aria-label": "higher priority",
          onclick: () => this.onPriority(1),
        },
        "+",
      ),
    );
  }
}

/** Records that the job passed over, with their places. */
class BadRecords {
  #list = h("ol", { class: "bad-list" });
  #empty = h("p", { class: "empty" });
  #shown = "";

  constructor() {
    const { element, side } = panel("Bad records", "bad", this.#empty, this.#list);
    this.element = element;
    this.side = side;
  }

  /**
   * @param {Bad | null} bad
   * @param {Snapshot} job
   */
  update(bad, job) {
    this.#empty.hidden = bad !== null;
    this.#list.hidden = bad === null;
    setText(this.#empty, OVER.has(job.state) ? "None." : "Those that are skipped are listed when the job ends.");
    setText(
      this.side,
      bad
        ? `${counted(bad.records, "record")} skipped${bad.records > bad.first.length ? `, the first ${bad.first.length}` : ""}`
        : "",
    );
    const shown = JSON.stringify(bad);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#list.replaceChildren(
      ...(bad?.first ?? []).map(({ place, cause }) =>
        h("li", null, h("bdi", { class: "bad-place" }, place), h("bdi", { class: "bad-cause" }, cause)),
      ),
    );
  }
}

/** The begin of the answer, when it is there. */
class Answer {
  #text = h("pre", { class: "answer-text", tabIndex: 0, "aria-label": "begin of the answer" });
  #bytes = -1;

  /** @param {number} job */
  constructor(job) {
    this.job = job;
    const { element, side } = panel("Answer", "answer", this.#text);
    this.element = element;
    this.size = h("span", null);
    side.append(this.size, h("a", { href: `api/jobs/${job}/answer`, download: "" }, "download"));
    this.element.hidden = true;
  }

  /** @param {Snapshot} job */
  async update(job) {
    const size = job.state === "done" ? job.answer_bytes : null;
    this.element.hidden = size === null;
    if (size === null || size === this.#bytes) return;
    this.#bytes = size;
    try {
      const { text, next } = await partOfText(`api/jobs/${this.job}/answer?from=0&count=${ANSWER_LINES}`);
      const is_all = next >= size;
      setText(this.#text, text === "" ? "(empty)" : is_all ? text : `${text}…`);
      setText(this.size, is_all ? bytes(size) : `${bytes(size)}, the first ${ANSWER_LINES} lines`);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      setText(this.#text, error.message);
    }
  }
}

/** All figures of the job, when it was done. */
class StatsTable {
  #list = h("dl", { class: "facts" });
  /** @type {Stats | null} */
  #stats = null;

  constructor() {
    const { element, side } = panel("Figures", "stats", this.#list);
    this.element = element;
    this.side = side;
    this.element.hidden = true;
  }

  /** @param {Snapshot} job */
  update({ stats, id, state }) {
    this.element.hidden = stats === null;
    if (stats === null || stats === this.#stats) return;
    this.#stats = stats;
    this.#list.replaceChildren(
      ...Object.entries(stats)
        .filter(([, value]) => typeof value === "number" || typeof value === "string")
        .map(([name, value]) =>
          h(
            "div",
            null,
            h("dt", null, words(name)),
            h(
              "dd",
              { "data-stat": name, title: String(value) },
              typeof value === "number" ? figure(name, value) : String(value),
            ),
          ),
        ),
    );
    this.side.replaceChildren();
    if (OVER.has(state))
      this.side.append(
        h("a", { href: `api/jobs/${id}/timeline.svg`, target: "_blank", rel: "noreferrer" }, "timeline.svg"),
      );
  }
}

/** @implements {View} */
export class JobPage {
  /** @type {Snapshot | null} */
  #job = null;
  #dirty = false;
  #is_closed = false;
  #state = h("span", { class: "state" });
  #name = h("h1", { dir: "auto" }, "…");
  #facts = h("p", { class: "job-facts" });
  #message = h("p", { class: "job-message", role: "alert", dir: "auto", hidden: true });
  #cancel = h("button", { type: "button", class: "button is-danger", onclick: () => this.cancel() }, "Cancel");
  #again = h("button", { type: "button", class: "button", onclick: () => this.again() }, "Run again");
  #figures = new Figures();
  #stages = new Stages();
  #cores = new Cores();
  #top = new Top();
  #plots = new Plots();
  #bad = new BadRecords();
  #stats = new StatsTable();
  #about = new About((change) => this.#change(change));

  /**
   * @param {number} id
   * @param {Frame} frame
   */
  constructor(id, frame) {
    this.id = id;
    this.frame = frame;
    this.grid = new Grid(id);
    this.log = new Log(id);
    this.answer = new Answer(id);
    this.element = this.#layout();
    this.element.setAttribute("aria-busy", "true");
    this.keys = {
      Escape: () => {
        location.hash = "#jobs";
      },
      m: () => this.#cores.toggle(),
      s: () => this.grid.focus(),
      l: () => this.log.focus(),
      c: () => this.#about.copy(),
      x: () => this.cancel(),
    };
    this.feed = new Feed({
      path: `api/events?job=${id}`,
      kinds: KINDS,
      on: (kind, data) => this.#take(kind, data),
      snapshot: () => get(`api/jobs/${id}`),
      onLink: frame.setLink,
      onRefused: frame.refused,
    });
  }

  close() {
    this.#is_closed = true;
    this.feed.close();
    this.#cores.close();
    this.#plots.close();
    this.grid.close();
    this.log.close();
  }

  themed() {
    this.#cores.redraw();
    this.#plots.themed();
    this.grid.redraw();
  }

  #layout() {
    const copy_button = h(
      "button",
      { type: "button", class: "button", onclick: () => this.#about.copy() },
      "Copy command",
    );
    return h(
      "article",
      { class: "job" },
      h(
        "nav",
        { class: "crumbs" },
        h("a", { href: "#jobs" }, "All jobs"),
        h("span", { "aria-hidden": "true" }, "/"),
        h("span", null, `job ${this.id}`),
      ),
      h(
        "header",
        { class: "job-head" },
        h("div", { class: "job-title" }, h("div", { class: "job-name" }, this.#name, this.#state), this.#facts),
        h("div", { class: "job-actions" }, copy_button, this.#again, this.#cancel),
      ),
      this.#message,
      this.#figures.element,
      this.#stages.element,
      h(
        "div",
        { class: "job-columns" },
        h(
          "div",
          { class: "column" },
          this.#cores.element,
          this.grid.element,
          this.#plots.element,
          this.log.element,
          this.#stats.element,
        ),
        h("div", { class: "column" }, this.#top.element, this.answer.element, this.#bad.element, this.#about.element),
      ),
    );
  }

  /**
   * Takes an event of the stream.
   * @param {string} kind
   * @param {any} data
   */
  #take(kind, data) {
    if (this.#is_closed) return;
    if (kind === "snapshot") this.#reset(data);
    else if (this.#job) this.#merge(this.#job, kind, data);
    if (this.#dirty) return;
    this.#dirty = true;
    requestAnimationFrame(() => {
      this.#dirty = false;
      if (!this.#is_closed) this.#render();
    });
  }

  /** @param {Snapshot} job */
  #reset(job) {
    this.#job = job;
    this.#cores.reset(job.lanes, job.progress?.at_s ?? 0);
    this.#plots.reset(job.history);
    this.#stages.reset(job);
    if (job.progress) {
      this.#plots.add(job.progress);
      this.#stages.add(job.progress);
    }
  }

  /**
   * @param {Snapshot} job
   * @param {string} kind
   * @param {any} data
   */
  #merge(job, kind, data) {
    if (kind === "summary") {
      const summary = /** @type {Summary} */ (data);
      const progress = summary.progress && { ...summary.progress, ...job.progress };
      Object.assign(job, summary, { progress });
    } else if (kind === "lanes") {
      this.#cores.add(/** @type {LaneWork} */ (data));
    } else if (kind === "progress") {
      job.progress = /** @type {Progress} */ (data);
      this.#plots.add(job.progress);
      this.#stages.add(job.progress);
    } else if (kind === "stats") {
      job.stats = data.stats;
    } else if (kind === "tiles" || kind === "show" || kind === "bad") {
      job[kind] = data;
    }
  }

  #render() {
    const job = this.#job;
    if (!job) return;
    this.element.removeAttribute("aria-busy");
    const is_over = OVER.has(job.state);
    setText(this.#name, job.name);
    setText(this.#state, job.cancelling && !is_over ? "cancelling" : job.state);
    setAttribute(this.#state, "data-state", job.state);
    setText(this.#facts, facts(job));
    setAttribute(this.#facts, "title", `submitted ${moment(job.created_at_s)}`);
    setText(this.#message, job.message ?? "");
    this.#message.hidden = job.message === null || job.state === "done";
    this.#cancel.hidden = is_over;
    this.#cancel.disabled = job.cancelling;
    setText(this.#cancel, job.cancelling ? "Cancelling…" : "Cancel");
    this.#again.hidden = !is_over;
    this.#figures.update(job);
    this.#stages.update(job);
    this.#cores.update(is_over);
    this.grid.update(job.tiles, { bytes_planned: job.progress?.bytes_planned ?? 0, is_over, attempt: job.attempts });
    this.#top.update(job.show, job.state);
    this.#plots.update({
      limit: job.progress?.memory_limit_bytes ?? job.memory_bytes,
      workers: job.progress?.workers ?? null,
      mean: job.progress?.bytes_per_s ?? null,
      is_over,
    });
    this.#bad.update(job.bad, job);
    this.#about.update(job);
    this.#stats.update(job);
    this.log.update(!is_over);
    this.answer.update(job);
    const done = part(job);
    this.frame.setTitle(`${is_over || done === null ? job.state : percent(done)} · ${job.name.slice(0, 80)} · Tegula`);
  }

  async cancel() {
    const job = this.#job;
    if (!job || OVER.has(job.state) || job.cancelling || document.querySelector("dialog[open]")) return;
    if (!(await ask("Cancel this job?", job.name, "Cancel the job", "Let it run"))) return;
    await this.#do(async () => {
      const response = await request("DELETE", `api/jobs/${this.id}`);
      this.#take("summary", await response.json());
    });
  }

  again() {
    return this.#do(async () => {
      const response = await request("POST", `api/jobs/${this.id}/again`);
      const { id } = await response.json();
      location.hash = `#job=${id}`;
    });
  }

  /** @param {number} change */
  #change(change) {
    const priority = Math.max(-100, Math.min(100, (this.#job?.priority ?? 0) + change));
    return this.#do(async () => {
      const response = await request("POST", `api/jobs/${this.id}/priority`, { body: { priority } });
      this.#take("summary", await response.json());
    });
  }

  /** @param {() => Promise<void>} action */
  async #do(action) {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.status === 401) this.frame.refused(error);
      else notice(error.message, "error");
    }
  }
}

/**
 * Returns the line below the name of a job.
 * @param {Snapshot} job
 */
function facts(job) {
  const all = [`job ${job.id}`, `of ${job.user}`];
  if (job.state === "queued") all.push(job.place === null ? "waits" : `place ${job.place} in the queue`);
  if (job.state === "running") {
    all.push(job.cores ? `cores ${job.cores}` : "no core at present");
    if (job.started_at_s !== null) all.push(`started ${ago(job.started_at_s)}`);
  }
  if (job.ended_at_s !== null) all.push(`ended ${ago(job.ended_at_s)}`);
  if (job.attempts > 1) all.push(`attempt ${job.attempts}`);
  return all.join(" · ");
}
