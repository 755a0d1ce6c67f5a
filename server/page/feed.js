// The one stream of a page: server-sent events while the page is visible, and polling where there is no stream.
//
// Events carry state, not a log, so nothing is lost by closing the stream while the page is hidden: the next one
// begins with a snapshot. After an interruption the browser itself comes back with `Last-Event-ID`.

import { parse, RequestError } from "./api.js";

/** @typedef {"connecting" | "live" | "polling" | "lost" | "paused" | "closed"} Link */

const POLL_MS = 2000;
// The limit of streams may be reached for a moment only.
const STREAM_AGAIN_MS = 15_000;

export class Feed {
  /** @type {EventSource | null} */
  #stream = null;
  /** @type {number | undefined} */
  #poll_timer;
  /** @type {number | undefined} */
  #stream_timer;
  #is_closed = false;
  /** Polls that are on the way are void when the stream or the page has changed. */
  #turn = 0;

  /**
   * @param {object} options
   * @param {string} options.path of the stream
   * @param {string[]} options.kinds the events to hand on
   * @param {(kind: string, data: any) => void} options.on takes the data of an event
   * @param {() => Promise<unknown>} options.snapshot asks for what the stream begins with
   * @param {(link: Link) => void} options.onLink takes the state of the connection
   * @param {(error: RequestError) => void} options.onRefused takes a 4xx after which nothing more is tried
   */
  constructor({ path, kinds, on, snapshot, onLink, onRefused }) {
    this.path = path;
    this.kinds = kinds;
    this.on = on;
    this.snapshot = snapshot;
    this.onLink = onLink;
    this.onRefused = onRefused;
    document.addEventListener("visibilitychange", this.#visibility);
    window.addEventListener("pagehide", this.#hide);
    window.addEventListener("pageshow", this.#visibility);
    this.#visibility();
  }

  /** Ends the stream for good. */
  close() {
    this.#is_closed = true;
    this.#stop();
    document.removeEventListener("visibilitychange", this.#visibility);
    window.removeEventListener("pagehide", this.#hide);
    window.removeEventListener("pageshow", this.#visibility);
  }

  #visibility = () => {
    if (document.hidden) this.#hide();
    else if (!this.#stream && this.#poll_timer === undefined) this.#open();
  };

  #hide = () => {
    this.#stop();
    this.onLink("paused");
  };

  #stop() {
    this.#turn += 1;
    this.#stream?.close();
    this.#stream = null;
    this.#stopPolling();
    window.clearTimeout(this.#stream_timer);
  }

  #stopPolling() {
    window.clearTimeout(this.#poll_timer);
    this.#poll_timer = undefined;
  }

  #open() {
    if (this.#is_closed) return;
    this.#stream?.close();
    if (this.#poll_timer === undefined) this.onLink("connecting");
    const stream = new EventSource(this.path);
    this.#stream = stream;
    stream.addEventListener("open", () => {
      this.#turn += 1;
      this.#stopPolling();
      this.onLink("live");
    });
    stream.addEventListener("error", () => {
      if (this.#stream !== stream) return;
      // The browser comes back by itself unless it got an answer that is no stream.
      if (stream.readyState === EventSource.CLOSED) {
        this.#stream = null;
        window.clearTimeout(this.#stream_timer);
        this.#stream_timer = window.setTimeout(() => this.#open(), STREAM_AGAIN_MS);
      } else {
        this.onLink("lost");
      }
      if (this.#poll_timer === undefined) this.#pollIn(stream.readyState === EventSource.CLOSED ? 0 : POLL_MS);
    });
    for (const kind of this.kinds) {
      stream.addEventListener(kind, (event) => this.on(kind, parse(event.data)));
    }
  }

  /** @param {number} ms */
  #pollIn(ms) {
    this.#poll_timer = window.setTimeout(() => this.#poll(), ms);
  }

  async #poll() {
    const turn = this.#turn;
    try {
      const snapshot = await this.snapshot();
      if (turn !== this.#turn) return;
      this.onLink("polling");
      this.on("snapshot", snapshot);
    } catch (error) {
      if (turn !== this.#turn) return;
      if (!(error instanceof RequestError)) throw error;
      if (error.status >= 400 && error.status < 500 && error.status !== 429) {
        this.close();
        this.onRefused(error);
        return;
      }
      this.onLink("lost");
    }
    this.#pollIn(POLL_MS);
  }
}
