// The end of a job's log. It is asked for while it is in view: on opening its last part, then what was added.

import { part, RequestError } from "./api.js";
import { h, panel, setText } from "./dom.js";
import { bytes } from "./text.js";

const TAIL_BYTES = 16_384;
const KEPT_CHARACTERS = 200_000;
const POLL_MS = 2000;

export class Log {
  #text = h("pre", { class: "log-text", tabIndex: 0, "aria-label": "log" });
  #empty = h("p", { class: "empty" }, "Nothing was written to the log.");
  #next = 0;
  #is_begun = false;
  #is_visible = false;
  #is_live = false;
  #is_closed = false;
  #is_asking = false;
  #asks_again = false;
  /** @type {number | undefined} */
  #timer;
  #observer = new IntersectionObserver(([entry]) => {
    this.#is_visible = entry?.isIntersecting ?? false;
    this.#ask();
  });

  /** @param {number} job */
  constructor(job) {
    this.job = job;
    const { element, side } = panel("Log", "log", this.#text, this.#empty);
    this.element = element;
    this.size = h("span", null);
    side.append(
      this.size,
      h("a", { href: `api/jobs/${job}/log?tail=1048576`, target: "_blank", rel: "noreferrer" }, "open"),
    );
    this.#text.hidden = true;
    this.#empty.hidden = true;
    this.#observer.observe(element);
  }

  close() {
    this.#is_closed = true;
    window.clearTimeout(this.#timer);
    this.#observer.disconnect();
  }

  focus() {
    this.element.scrollIntoView({ block: "nearest" });
    this.#text.focus();
  }

  /** @param {boolean} is_live whether the job may still write */
  update(is_live) {
    if (is_live === this.#is_live) return;
    this.#is_live = is_live;
    // What the job wrote last may have come after the last poll.
    this.#ask();
  }

  async #ask() {
    if (this.#is_asking) {
      this.#asks_again = true;
      return;
    }
    if (!this.#is_visible || this.#is_closed || document.hidden) {
      this.#again();
      return;
    }
    this.#is_asking = true;
    try {
      const is_first = !this.#is_begun;
      this.#is_begun = true;
      const which = is_first ? `tail=${TAIL_BYTES}` : `from=${this.#next}`;
      const { text, bytes: size, next } = await part(`api/jobs/${this.job}/log?${which}`);
      if (size < this.#next) {
        // Another file: the next request is for its end.
        this.#is_begun = false;
        this.#asks_again = true;
      } else if (next < size) {
        // An answer has a part of what was added, if that is much.
        this.#asks_again = true;
      }
      this.#next = next;
      this.#show(text, size, is_first);
    } catch (error) {
      // The link at the top of the page says that the server does not answer.
      if (!(error instanceof RequestError)) throw error;
    } finally {
      this.#is_asking = false;
      this.#again();
    }
    if (!this.#asks_again) return;
    this.#asks_again = false;
    this.#ask();
  }

  #again() {
    window.clearTimeout(this.#timer);
    if (this.#is_live && !this.#is_closed) this.#timer = window.setTimeout(() => this.#ask(), POLL_MS);
  }

  /**
   * @param {string} text
   * @param {number} size
   * @param {boolean} is_first
   */
  #show(text, size, is_first) {
    const element = this.#text;
    const is_at_end = element.hidden || element.scrollHeight - element.scrollTop - element.clientHeight < 24;
    if (is_first || text !== "") {
      const all = (is_first ? "" : (element.textContent ?? "")) + text;
      setText(element, all.slice(-KEPT_CHARACTERS));
    }
    element.hidden = element.textContent === "";
    this.#empty.hidden = !element.hidden;
    setText(this.size, size > 0 ? bytes(size) : "");
    if (is_at_end) element.scrollTop = element.scrollHeight;
  }
}
