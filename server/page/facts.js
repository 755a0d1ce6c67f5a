// Facts about a job: what it was told to do, its bad records, its answer, and all its figures.

import { OVER, part as partOfText, RequestError } from "./api.js";
import { copy, h, notice, panel, setText } from "./dom.js";
import { bytes, count, counted, figure, isPython, line, moment, shell, UNKNOWN, words } from "./text.js";

/** @import { Bad, Snapshot, Stats } from "./api.js" */

const ANSWER_LINES = 10;
// The order of figures: the input, the answer, how it was cut, memory, times. Others follow.
const FIRST = [
  "files",
  "bytes",
  "pairs",
  "pairs_handed_over",
  "keys",
  "key_value_bytes",
  "bad_records",
  "tiles",
  "tile_bytes",
  "splits",
  "split_bytes",
  "unit_bytes",
  "memory_resident_peak",
  "memory_counted_peak",
  "spilled_bytes",
  "restored_bytes",
  "saved_bytes",
  "workers",
  "readers",
];

/** @param {string} name of a figure */
function order(name) {
  const at = FIRST.indexOf(name);
  return at === -1 ? FIRST.length : at;
}

/** What a job is and was told, and what to do with it. */
export class About {
  #list = h("dl", { class: "facts" });
  #command = h("code", { class: "command", dir: "ltr", tabIndex: 0, "aria-label": "command" });
  #texts = "";
  #is_python = false;

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
    if (this.#is_python) notice("a job in Python has no command: submit it from Python, or run it again", "error");
    else copy(this.#command.textContent ?? "", "Command");
  }

  /** @param {Snapshot} job */
  update(job) {
    this.#is_python = isPython(job.command);
    setText(this.#command, this.#is_python ? line(job.command) : shell(job.command, job.folder));
    const most = job.most === job.least ? String(job.least) : `${job.least} to ${job.most}`;
    /** @type {[string, string][]} */
    const facts = [
      ["user", job.user],
      ["cores", `${job.cores === null ? "" : `${job.cores === "" ? "none at present" : job.cores}, `}wants ${most}`],
      ["memory", job.memory_bytes === 0 ? "no limit" : bytes(job.memory_bytes)],
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
export class BadRecords {
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
export class Answer {
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
export class StatsTable {
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
        .sort(([a], [b]) => order(a) - order(b))
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
