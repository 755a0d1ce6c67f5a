// The machine: which job has which core, who has how much memory, the queue, and the users.

import { h, panel, setAttribute, setChildren, setText, setVariable } from "./dom.js";
import { bytes, clock, counted, duration, percent } from "./text.js";

/** @import { Machine } from "./api.js" */

const COLOURS = 8;

/** Gives each running job a colour, which it keeps while it runs. */
export class Colours {
  /** @type {Map<number, number>} */
  #of = new Map();

  /** @param {number[]} running the ids of the running jobs */
  update(running) {
    for (const id of [...this.#of.keys()]) if (!running.includes(id)) this.#of.delete(id);
    for (const id of running) {
      if (this.#of.has(id)) continue;
      const taken = new Set(this.#of.values());
      const free = Array.from({ length: COLOURS }, (_, at) => at).find((at) => !taken.has(at));
      this.#of.set(id, free ?? id % COLOURS);
    }
  }

  /**
   * Returns the number of a job's colour, as text for `data-colour`, or null if the job does not run.
   * @param {number | null} id
   */
  of(id) {
    const number = id === null ? undefined : this.#of.get(id);
    return number === undefined ? null : String(number);
  }
}

/**
 * Returns the cores of each group, from ranges such as `0-3,8`.
 * @param {Machine} machine
 * @returns {number[][]}
 */
function groups({ groups: known, cores }) {
  let at = 0;
  // Groups name processors and the cores of the server are numbered: a group has as many cores as it has processors.
  const parts = known.map((group) => {
    const size = group.cores.split(",").reduce((sum, range) => {
      const [first = 0, last = first] = range.split("-").map(Number);
      return sum + last - first + 1;
    }, 0);
    const part = cores.slice(at, at + size).map((_, place) => at + place);
    at += size;
    return part;
  });
  if (at < cores.length) parts.push(cores.slice(at).map((_, place) => at + place));
  return parts.filter((part) => part.length > 0);
}

export class MachinePanel {
  #cores = h("div", { class: "machine-cores", role: "img" });
  #cores_text = h("p", { class: "panel-note" });
  #memory = h("div", { class: "machine-memory", role: "img" });
  #memory_text = h("p", { class: "panel-note" });
  #jobs = h("ul", { class: "machine-jobs" });
  #users = h("ul", { class: "machine-users" });
  #numbers = h("dl", { class: "machine-numbers" });
  /** @type {Map<string, HTMLElement>} */
  #values = new Map();
  #shape = "";
  /** @type {Map<number, HTMLElement>} */
  #segments = new Map();
  /** @type {Map<number, HTMLElement>} */
  #lines = new Map();

  /** @param {Colours} colours */
  constructor(colours) {
    this.colours = colours;
    for (const name of ["running", "waiting", "finished"]) {
      const value = h("dd", null, "–");
      this.#values.set(name, value);
      this.#numbers.append(h("div", null, h("dt", null, name), value));
    }
    const { element, heading, side } = panel(
      "Machine",
      "machine",
      h(
        "div",
        { class: "machine-body" },
        this.#numbers,
        h("div", { class: "machine-part" }, h("h3", null, "Cores by job"), this.#cores, this.#cores_text),
        h(
          "div",
          { class: "machine-part" },
          h("h3", null, "Memory by job"),
          this.#memory,
          this.#memory_text,
          this.#jobs,
        ),
        this.#users,
      ),
    );
    this.element = element;
    this.heading = heading;
    this.side = side;
  }

  /** @param {Machine} machine */
  update(machine) {
    setText(this.side, `up ${duration(machine.uptime_s)} · version ${machine.version}`);
    const running = machine.running.length;
    this.#set("running", `${running}`, `of ${machine.jobs_at_once} at once`);
    this.#set("waiting", `${machine.queued}`, "");
    this.#set("finished", `${machine.finished}`, "");
    this.#drawCores(machine);
    this.#drawMemory(machine);
    this.#drawUsers(machine);
  }

  /**
   * @param {string} name
   * @param {string} value
   * @param {string} note
   */
  #set(name, value, note) {
    const element = this.#values.get(name);
    if (element && element.textContent !== value + note)
      element.replaceChildren(value, note === "" ? "" : h("small", null, note));
  }

  /** @param {Machine} machine */
  #drawCores(machine) {
    const parts = groups(machine);
    const shape = JSON.stringify(parts.map((part) => part.length));
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.#cores.replaceChildren(
        ...parts.map((part) =>
          h("div", { class: "group" }, ...part.map((core) => h("i", { class: "core", "data-core": core }))),
        ),
      );
      this.#cores.dataset.size = machine.cores.length > 64 ? "small" : machine.cores.length > 16 ? "medium" : "large";
    }
    const names = new Map(machine.running.map(({ id, name }) => [id, name]));
    for (const cell of /** @type {NodeListOf<HTMLElement>} */ (this.#cores.querySelectorAll(".core"))) {
      const core = Number(cell.dataset.core);
      const id = machine.cores[core] ?? null;
      setAttribute(cell, "data-colour", this.colours.of(id));
      setAttribute(
        cell,
        "title",
        id === null ? `core ${core}: free` : `core ${core}: ${(names.get(id) ?? `job ${id}`).slice(0, 200)}`,
      );
    }
    const busy = machine.cores.filter((id) => id !== null).length;
    const caches = parts.length > 1 ? ` in ${counted(parts.length, "group")} with a cache each` : "";
    const text = `${busy} of ${counted(machine.cores.length, "core")} in use${caches}`;
    setText(this.#cores_text, text);
    setAttribute(this.#cores, "aria-label", text);
  }

  /** @param {Machine} machine */
  #drawMemory(machine) {
    const { memory_bytes: all, memory_free_bytes: free, running } = machine;
    const used = running.reduce((sum, job) => sum + job.memory_used_bytes, 0);
    const text = `${bytes(all - free)} of ${bytes(all)} granted, ${bytes(used)} used`;
    setText(this.#memory_text, text);
    setAttribute(this.#memory, "aria-label", text);
    this.#keep(
      this.#segments,
      running.map(({ id }) => id),
      () => h("span", { class: "segment" }, h("span", { class: "segment-used" })),
    );
    this.#keep(
      this.#lines,
      running.map(({ id }) => id),
      (id) =>
        h(
          "li",
          null,
          h("i", { class: "swatch", "aria-hidden": "true" }),
          h("a", { href: `#job=${id}`, dir: "auto" }),
          h("span", null),
        ),
    );
    for (const job of running) {
      const segment = /** @type {HTMLElement} */ (this.#segments.get(job.id));
      setAttribute(segment, "data-colour", this.colours.of(job.id));
      // A job without a limit takes what it uses.
      const limit = job.memory_bytes || job.memory_used_bytes || 1;
      setVariable(segment, "--part", String(limit / all));
      setVariable(segment, "--used", String(Math.min(1, job.memory_used_bytes / limit)));
      const line = /** @type {HTMLElement} */ (this.#lines.get(job.id));
      const [swatch, name, figures] = line.children;
      if (!swatch || !name || !figures) continue;
      setAttribute(swatch, "data-colour", this.colours.of(job.id));
      setText(name, job.name.slice(0, 200));
      const cores = job.cores === "" ? "no core" : `cores ${job.cores}`;
      const of = job.memory_bytes === 0 ? "" : ` of ${bytes(job.memory_bytes)}`;
      setText(figures, `${bytes(job.memory_used_bytes)}${of} · ${cores}`);
    }
    setChildren(this.#memory, [...this.#segments.values()]);
    setChildren(this.#jobs, [...this.#lines.values()]);
  }

  /**
   * Keeps one element a job, in the order of the jobs.
   * @param {Map<number, HTMLElement>} elements
   * @param {number[]} ids
   * @param {(id: number) => HTMLElement} make
   */
  #keep(elements, ids, make) {
    const kept = ids.map((id) => /** @type {const} */ ([id, elements.get(id) ?? make(id)]));
    elements.clear();
    for (const [id, element] of kept) elements.set(id, element);
  }

  /** @param {Machine} machine */
  #drawUsers({ users }) {
    this.#users.hidden = users.length < 2;
    const whole = users.reduce((sum, user) => sum + user.core_s, 0);
    const texts = users.map(
      ({ name, running, queued, core_s }) =>
        /** @type {const} */ ([
          name,
          `${running} running, ${queued} waiting, ${percent(whole > 0 ? core_s / whole : 0)} of the cores lately (${clock(core_s)})`,
        ]),
    );
    if (this.#users.dataset.texts === JSON.stringify(texts)) return;
    this.#users.dataset.texts = JSON.stringify(texts);
    this.#users.replaceChildren(
      ...texts.map(([name, text]) => h("li", null, h("bdi", null, name), h("span", null, text))),
    );
  }
}
