// The page of one job, live and afterwards the same: what it is, how far it is, and its parts from other files.

import { get, OVER, RequestError, request } from "./api.js";
import { Cores } from "./cores.js";
import { ask, h, notice, setAttribute, setText } from "./dom.js";
import { About, Answer, BadRecords, StatsTable } from "./facts.js";
import { Feed } from "./feed.js";
import { Figures, memoryLimit, Stages } from "./figures.js";
import { Grid } from "./grid.js";
import { Log } from "./log.js";
import { Plots } from "./plots.js";
import { ago, moment, part, percent } from "./text.js";
import { Top } from "./top.js";

/** @import { LaneWork, Progress, Snapshot, Summary } from "./api.js" */
/** @import { Frame, View } from "./app.js" */

const KINDS = ["snapshot", "summary", "progress", "tiles", "lanes", "show", "bad", "stats"];

/** @implements {View} */
export class JobPage {
  /** @type {Snapshot | null} */
  #job = null;
  /** The time that earlier attempts ran. */
  #before_s = 0;
  /** Changes of the priority are sent one after another, in the order of the presses. */
  #last_change = Promise.resolve();
  /** How many summaries of the job have come. */
  #summaries = 0;
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
    if (!this.#job) this.frame.setHost(null);
    this.#summaries += 1;
    this.#cores.reset(job.lanes, job.progress?.at_s ?? 0, this.#job?.attempts === job.attempts);
    this.#job = job;
    this.#before_s = Math.max(0, job.elapsed_s - (job.progress?.at_s ?? 0));
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
      this.#summaries += 1;
      const summary = /** @type {Summary} */ (data);
      // A summary has fewer figures, and while the job runs also older ones.
      const progress = OVER.has(summary.state)
        ? summary.progress && { ...job.progress, ...summary.progress }
        : summary.progress && { ...summary.progress, ...job.progress };
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
    this.#figures.update(job, this.#before_s + (job.progress?.at_s ?? 0));
    this.#stages.update(job);
    this.#cores.update(is_over);
    this.grid.update(job.tiles, {
      bytes_planned: job.progress?.bytes_planned ?? 0,
      files: Number(job.stats?.files ?? job.progress?.files_planned ?? 1),
      is_over,
      attempt: job.attempts,
    });
    // A job that showed nothing has its answer to show.
    this.#top.element.hidden = job.show === null && job.state === "done" && job.answer_bytes !== null;
    this.#top.update(job.show, job.state, job.progress?.at_s ?? 0);
    this.#plots.update({
      limit: memoryLimit(job),
      workers: job.progress?.workers ?? null,
      mean: job.progress?.bytes_per_s ?? null,
      found_bytes: foundBytes(job),
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
    await this.#do(() => this.#alter("DELETE", `api/jobs/${this.id}`));
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
    const job = this.#job;
    if (!job) return;
    const before = job.priority;
    const priority = Math.max(-100, Math.min(100, before + change));
    // The next press counts from here, also if it comes before the answer.
    job.priority = priority;
    const change_it = async () => {
      try {
        await this.#alter("POST", `api/jobs/${this.id}/priority`, { priority });
      } catch (error) {
        if (job.priority === priority) job.priority = before;
        throw error;
      }
    };
    this.#last_change = this.#last_change.then(() => this.#do(change_it));
  }

  /**
   * Sends a request that changes the job. Its answer is taken unless the stream, which says what became of it later,
   * was faster.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async #alter(method, path, body) {
    const known = this.#summaries;
    const response = await request(method, path, { body });
    const summary = await response.json();
    if (known === this.#summaries) this.#take("summary", summary);
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
 * Returns about how many bytes were found in the state.
 * @param {Snapshot} job
 */
function foundBytes({ tiles, progress }) {
  if (!tiles || !progress || tiles.tiles === 0) return 0;
  return (tiles.counts.found / tiles.tiles) * progress.bytes_planned;
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
