// The list of jobs: those that run, wait and are over, below the machine that they share.

import { get, OVER, overview, RequestError, request } from "./api.js";
import { ask, bar, h, notice, panel, setAttribute, setChildren, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { Colours, MachinePanel } from "./machine.js";
import { ago, bytes, clock, counted, duration, line, moment, part, percent, rate } from "./text.js";

/** @import { JobsPart, Machine, Overview, Summary } from "./api.js" */
/** @import { Frame, View } from "./app.js" */

const KINDS = ["snapshot", "job", "gone", "machine"];
// As many rows as are of use; the rest is a number.
const WAITING_SHOWN = 100;

/** One job in a list. */
class Row {
  #mark = h("span", { class: "row-mark" });
  #name = h("a", { class: "row-name", dir: "auto" });
  #sub = h("p", { class: "row-sub", dir: "auto" });
  #bar;
  #figures = h("p", { class: "row-figures" });
  #side = h("p", { class: "row-side" });
  #actions = h("div", { class: "row-actions" });

  /**
   * @param {Summary} job
   * @param {{ cancel: (job: Summary) => void, prioritise: (job: Summary, change: number) => void, again: (job: Summary) => void }} does
   */
  constructor(job, does) {
    this.job = job;
    this.does = does;
    this.#bar = bar("progress");
    this.#name.href = `#job=${job.id}`;
    this.element = h(
      "li",
      { class: "row", "data-job": job.id },
      this.#mark,
      h("div", { class: "row-what" }, this.#name, this.#sub),
      h("div", { class: "row-progress" }, this.#bar.element, this.#figures),
      this.#side,
      this.#actions,
    );
  }

  /**
   * @param {Summary} job
   * @param {Colours} colours
   */
  update(job, colours) {
    const { state } = job;
    if (
      this.#mark.dataset.state !== state ||
      this.job.cancelling !== job.cancelling ||
      this.#actions.childElementCount === 0
    )
      this.#buttons(job);
    this.job = job;
    setAttribute(this.element, "data-state", state);
    setAttribute(this.#mark, "data-state", state);
    setAttribute(this.#mark, "data-colour", colours.of(job.id));
    setText(
      this.#mark,
      state === "queued" ? String(job.place ?? "") : job.cancelling && state === "running" ? "cancelling" : state,
    );
    setText(this.#name, job.name.slice(0, 300));
    const command = line(job.command).slice(0, 300);
    setText(
      this.#sub,
      state === "failed" && job.message ? job.message : job.name === job.command.join(" ") ? job.folder : command,
    );
    setAttribute(this.#sub, "title", command);
    const done = part(job);
    const { progress } = job;
    this.#bar.element.hidden = state !== "running" || progress === null;
    this.#bar.set(done, done === null ? bytes(progress?.bytes_done) : percent(done));
    setText(this.#figures, this.#progressText(job));
    const [text, title] = this.#sideText(job);
    setText(this.#side, text);
    setAttribute(this.#side, "title", title);
  }

  /** @param {Summary} job */
  #progressText(job) {
    const { progress, state } = job;
    if (state === "queued")
      return `wants ${bytes(job.memory_bytes)}, ${job.least === job.most ? counted(job.least, "core") : `${job.least} to ${job.most} cores`}`;
    if (!progress) return state === "running" ? "starts" : "";
    if (state === "done") return `${bytes(progress.bytes_done)}, ${rate(progress.bytes_per_s)}`;
    const done = part(job);
    const parts = [done === null ? bytes(progress.bytes_done) : percent(done)];
    if (state !== "running") return `${parts[0]} in ${progress.stage}`;
    if (progress.stage !== "map") parts.push(progress.stage);
    parts.push(rate(progress.bytes_per_s));
    if (progress.left_s !== null) parts.push(`${clock(progress.left_s)} left`);
    return parts.join(" · ");
  }

  /**
   * @param {Summary} job
   * @returns {[string, string]}
   */
  #sideText(job) {
    const priority = job.priority === 0 ? "" : `priority ${job.priority} · `;
    if (job.state === "running") {
      return [
        `${clock(job.elapsed_s)} · ${job.cores ? `cores ${job.cores}` : "no core"} · ${job.user}`,
        `started ${moment(job.started_at_s ?? job.created_at_s)}`,
      ];
    }
    if (job.state === "queued")
      return [
        `${clock(Date.now() / 1000 - job.created_at_s)} · ${priority}${job.user}`,
        `submitted ${moment(job.created_at_s)}`,
      ];
    const answer = job.answer_bytes === null ? "" : ` · ${bytes(job.answer_bytes)}`;
    const ended = job.ended_at_s ?? job.created_at_s;
    return [`${ago(ended)} · ${duration(job.elapsed_s)}${answer} · ${job.user}`, `ended ${moment(ended)}`];
  }

  /** @param {Summary} job */
  #buttons(job) {
    /**
     * @param {string} text
     * @param {string} label
     * @param {() => void} onclick
     */
    const button = (text, label, onclick) =>
      h(
        "button",
        { type: "button", class: "button is-small", "aria-label": `${label}: job ${job.id}`, title: label, onclick },
        text,
      );
    const steps = [
      button("▲", "begin sooner", () => this.does.prioritise(this.job, 1)),
      button("▼", "begin later", () => this.does.prioritise(this.job, -1)),
    ];
    const cancel = button("Cancel", "cancel", () => this.does.cancel(this.job));
    cancel.disabled = job.cancelling;
    const again = button("Again", "run again", () => this.does.again(this.job));
    this.#actions.replaceChildren(
      ...(OVER.has(job.state) ? [again] : job.state === "queued" ? [...steps, cancel] : [cancel]),
    );
  }
}

/** A heading with rows below it. */
class Section {
  #rows = h("ol", { class: "rows" });
  #empty = h("p", { class: "empty" });

  /**
   * @param {string} title
   * @param {string} name
   * @param {string} empty what is said if there are no jobs
   * @param {string} [command] what to type then
   */
  constructor(title, name, empty, command = "") {
    const { element, side } = panel(title, name, this.#rows, this.#empty);
    this.element = element;
    this.side = side;
    this.empty = empty;
    this.command = command;
    element.classList.add("jobs");
  }

  /**
   * @param {Row[]} rows
   * @param {string} note
   * @param {boolean} is_filtered
   */
  update(rows, note, is_filtered) {
    setChildren(
      this.#rows,
      rows.map(({ element }) => element),
    );
    this.#rows.hidden = rows.length === 0;
    this.#empty.hidden = rows.length > 0;
    const text = is_filtered ? "No job here matches the filter." : this.empty;
    if (this.#empty.textContent !== text + (is_filtered ? "" : this.command)) {
      this.#empty.replaceChildren(text, is_filtered || this.command === "" ? "" : h("code", null, this.command));
    }
    setText(this.side, note);
  }
}

/** @implements {View} */
export class ListPage {
  /** @type {Map<number, Summary>} */
  #jobs = new Map();
  /** @type {Map<number, Row>} */
  #rows = new Map();
  /** @type {Machine | null} */
  #machine = null;
  #colours = new Colours();
  #machine_panel = new MachinePanel(this.#colours);
  #running = new Section("Running", "running", "Nothing runs. To submit a job: ", "tegula submit -- wordcount books/");
  #waiting = new Section("Waiting", "waiting", "Nothing waits.");
  #over = new Section("Done", "over", "No job has ended yet.");
  #filter = h("input", {
    type: "search",
    class: "filter",
    placeholder: "Filter jobs",
    "aria-label": "filter jobs by name, command or user",
    spellcheck: false,
  });
  #older = h("button", { type: "button", class: "button", onclick: () => this.#loadOlder() }, "Load older jobs");
  /** All jobs that are over are here from this id on; null if there are no others. @type {number | null} */
  #next = null;
  /** Changes of priorities are sent one after another, in the order of the presses. */
  #last_change = Promise.resolve();
  #dirty = false;
  #is_closed = false;
  /** @type {number} */
  #timer;

  /** @param {Frame} frame */
  constructor(frame) {
    this.frame = frame;
    frame.setTitle("Jobs · Tegula");
    this.#filter.addEventListener("input", () => this.#redraw());
    this.#older.hidden = true;
    this.#over.element.append(this.#older);
    this.element = h(
      "div",
      { class: "list", "aria-busy": "true" },
      h("div", { class: "list-head" }, h("h1", null, "Jobs"), this.#filter),
      h(
        "div",
        { class: "list-columns" },
        this.#machine_panel.element,
        h("div", { class: "column" }, this.#running.element, this.#waiting.element, this.#over.element),
      ),
    );
    this.keys = {
      j: () => this.#step(1),
      k: () => this.#step(-1),
      "/": () => this.#filter.focus(),
    };
    this.feed = new Feed({
      path: "api/events",
      kinds: KINDS,
      on: (kind, data) => this.#take(kind, data),
      snapshot: overview,
      onLink: frame.setLink,
      onRefused: frame.refused,
    });
    // Times since a moment go on without events.
    this.#timer = window.setInterval(() => this.#redraw(), 1000);
  }

  close() {
    this.#is_closed = true;
    window.clearInterval(this.#timer);
    this.feed.close();
  }

  themed() {
    // Nothing here is drawn on a canvas.
  }

  /**
   * @param {string} kind
   * @param {any} data
   */
  #take(kind, data) {
    if (this.#is_closed) return;
    if (kind === "snapshot") this.#reset(data);
    else if (kind === "job") this.#jobs.set(data.id, data);
    else if (kind === "gone") this.#jobs.delete(data.id);
    else this.#machine = data;
    this.#redraw();
  }

  /** @param {Overview} overview */
  #reset({ machine, jobs, next }) {
    const over = jobs.filter(({ state }) => OVER.has(state));
    const ended = over.filter(({ id }) => !OVER.has(this.#jobs.get(id)?.state ?? ""));
    // Older jobs that were loaded stay if their number says that no end was missed meanwhile, and none was removed.
    const is_same = ended.length < over.length && machine.finished === (this.#machine?.finished ?? 0) + ended.length;
    for (const { id, state } of [...this.#jobs.values()]) if (!is_same || !OVER.has(state)) this.#jobs.delete(id);
    for (const job of jobs) this.#jobs.set(job.id, job);
    this.#machine = machine;
    if (!is_same) this.#next = next;
    this.#older.hidden = this.#next === null;
  }

  #overJobs() {
    return [...this.#jobs.values()]
      .filter(({ state }) => OVER.has(state))
      .sort((a, b) => (b.ended_at_s ?? 0) - (a.ended_at_s ?? 0) || b.id - a.id);
  }

  #redraw() {
    if (this.#dirty) return;
    this.#dirty = true;
    requestAnimationFrame(() => {
      this.#dirty = false;
      if (!this.#is_closed) this.#render();
    });
  }

  #render() {
    const machine = this.#machine;
    if (!machine) return;
    this.element.removeAttribute("aria-busy");
    this.frame.setHost(machine.host);
    const jobs = [...this.#jobs.values()];
    const running = jobs
      .filter(({ state }) => state === "running")
      .sort((a, b) => (a.started_at_s ?? 0) - (b.started_at_s ?? 0) || a.id - b.id);
    const waiting = jobs
      .filter(({ state }) => state === "queued")
      .sort((a, b) => (a.place ?? Infinity) - (b.place ?? Infinity) || a.id - b.id);
    this.#colours.update(machine.running.map(({ id }) => id));
    this.#machine_panel.update(machine);
    const over = this.#overJobs();
    const wanted = this.#filter.value.trim().toLowerCase();
    for (const id of this.#rows.keys()) if (!this.#jobs.has(id)) this.#rows.delete(id);
    const rows = (/** @type {Summary[]} */ some) =>
      some.filter((job) => matches(job, wanted)).map((job) => this.#row(job));
    const waiting_rows = rows(waiting).slice(0, WAITING_SHOWN);
    this.#running.update(
      rows(running),
      running.length > 0 ? counted(running.length, "job") : "",
      wanted !== "" && running.length > 0,
    );
    const more = waiting.length > waiting_rows.length && wanted === "" ? `, the first ${waiting_rows.length}` : "";
    this.#waiting.update(
      waiting_rows,
      waiting.length > 0 ? `${counted(waiting.length, "job")}${more}` : "",
      wanted !== "" && waiting.length > 0,
    );
    const failed = over.filter(({ state }) => state === "failed").length;
    this.#over.update(
      rows(over),
      over.length > 0 ? `${counted(machine.finished, "job")}${failed > 0 ? `, ${failed} of these failed` : ""}` : "",
      wanted !== "" && over.length > 0,
    );
    this.frame.setTitle(`${running.length} running, ${waiting.length} waiting · Tegula`);
  }

  /** @param {Summary} job */
  #row(job) {
    let row = this.#rows.get(job.id);
    if (!row) {
      row = new Row(job, {
        cancel: (which) => this.#cancel(which),
        prioritise: (which, change) => this.#prioritise(which, change),
        again: (which) => this.#do(() => request("POST", `api/jobs/${which.id}/again`), "Submitted once more"),
      });
      this.#rows.set(job.id, row);
    }
    row.update(job, this.#colours);
    return row;
  }

  /** @param {number} by moves the focus from row to row */
  #step(by) {
    const links = /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll(".row-name")]);
    const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = links[at === -1 ? (by > 0 ? 0 : links.length - 1) : Math.max(0, Math.min(links.length - 1, at + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  async #loadOlder() {
    const before = this.#next;
    this.#older.disabled = true;
    await this.#do(async () => {
      /** @type {JobsPart} */
      const { jobs, next } = await get(`api/jobs?state=done,failed,cancelled&count=200&before=${before}`);
      // A snapshot may have come meanwhile, which begins anew.
      if (before !== this.#next) return;
      for (const job of jobs) this.#jobs.set(job.id, job);
      this.#next = next;
      this.#older.hidden = next === null;
      this.#redraw();
    }, "");
    this.#older.disabled = false;
  }

  /** @param {Summary} job */
  async #cancel(job) {
    if (!(await ask("Cancel this job?", job.name.slice(0, 300), "Cancel the job", "Let it run"))) return;
    await this.#do(() => this.#alter(job.id, "DELETE", `api/jobs/${job.id}`), "");
  }

  /**
   * @param {Summary} job
   * @param {number} change
   */
  async #prioritise(job, change) {
    const before = this.#jobs.get(job.id) ?? job;
    const priority = Math.max(-100, Math.min(100, before.priority + change));
    // The next press counts from here, also if it comes before the answer.
    const asked = { ...before, priority };
    this.#jobs.set(job.id, asked);
    const change_it = async () => {
      try {
        await this.#alter(job.id, "POST", `api/jobs/${job.id}/priority`, { priority });
      } catch (error) {
        if (this.#jobs.get(job.id) === asked) this.#jobs.set(job.id, before);
        throw error;
      }
    };
    this.#last_change = this.#last_change.then(() => this.#do(change_it, ""));
    await this.#last_change;
  }

  /**
   * Sends a request that changes a job. Its answer is taken unless the stream, which says what became of the job
   * later, was faster.
   * @param {number} id
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async #alter(id, method, path, body) {
    const known = this.#jobs.get(id);
    const response = await request(method, path, { body });
    const summary = await response.json();
    if (known === this.#jobs.get(id)) this.#take("job", summary);
  }

  /**
   * @param {() => Promise<unknown>} action
   * @param {string} said
   */
  async #do(action, said) {
    try {
      await action();
      if (said !== "") notice(said);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.status === 401) this.frame.refused(error);
      else notice(error.message, "error");
    }
  }
}

/**
 * @param {Summary} job
 * @param {string} wanted in lower case
 */
function matches(job, wanted) {
  return (
    wanted === "" ||
    `${job.id} ${job.name} ${line(job.command)} ${job.user} ${job.state}`.toLowerCase().includes(wanted)
  );
}
