// Requests to the server, and the shapes of what it sends (docs/api.md).
//
// Addresses are relative, so the page also works below a path of another server. The browser adds the cookie.

/** @typedef {"queued" | "running" | "done" | "failed" | "cancelled"} JobState */
/** @typedef {"plan" | "map" | "reduce" | "merge" | "output"} Stage */

/**
 * The newest figures of a job. In a summary only some of the fields are there.
 * @typedef {object} Progress
 * @property {number} [at_s]
 * @property {Stage} stage
 * @property {number} bytes_planned 0 for streams
 * @property {number} bytes_done
 * @property {number} bytes_per_s
 * @property {number | null} left_s
 * @property {number} memory_bytes
 * @property {number} keys_held
 * @property {number | null} [memory_limit_bytes]
 * @property {number} [files_planned]
 * @property {number} [mapping_s]
 * @property {number} [cpu_s]
 * @property {number} [read_bytes]
 * @property {number} [written_bytes]
 * @property {number} [spilled_bytes]
 * @property {number} [log_bytes]
 * @property {number} [workers]
 * @property {string} [share]
 */

/**
 * @typedef {object} Summary
 * @property {number} id
 * @property {string} name
 * @property {string[]} command
 * @property {string} folder
 * @property {string} user
 * @property {JobState} state
 * @property {number} priority
 * @property {number} created_at_s
 * @property {number | null} started_at_s
 * @property {number | null} ended_at_s
 * @property {number} elapsed_s
 * @property {number} attempts
 * @property {number} memory_bytes
 * @property {number} least
 * @property {number} most
 * @property {string | null} cores
 * @property {number | null} place
 * @property {boolean} cancelling
 * @property {number | null} code
 * @property {number | null} signal
 * @property {string | null} message
 * @property {number | null} answer_bytes
 * @property {Progress | null} progress
 */

/** @typedef {{ waiting: number, running: number, mapped: number, saved: number, found: number, device: number }} TileCounts */
/** @typedef {{ at_s?: number, tiles: number, tiles_per_cell: number, places?: number, counts: TileCounts, cells: string }} Tiles */
/** @typedef {{ from_s: number, step_s: number, lanes: { name: string, cells: string }[] }} LaneCells */
/** @typedef {{ at_s: number, from_s: number, lanes: { name: string, ms: Record<string, number> }[] }} LaneWork */
/** @typedef {{ from_s: number, step_s: number, bytes_done: number[], memory_bytes: number[], cpu_s: number[] }} History */
// Its key is the first field.
/** @typedef {Record<string, string | number | bigint | number[] | null>} Pair */
/** @typedef {{ bytes: number, part: number | null }} Since */

/**
 * @typedef {object} Show
 * @property {number} [at_s]
 * @property {number} show
 * @property {number | null} [part]
 * @property {number} bytes
 * @property {number} bytes_planned
 * @property {number} elapsed_s
 * @property {number | null} keys
 * @property {boolean} is_last
 * @property {Record<string, Since>} [top_since]
 * @property {Pair[]} pairs
 */

/** @typedef {{ records: number, first: { place: string, cause: string }[] }} Bad */
/** @typedef {{ stage: Stage, wall_s: number, cpu_s: number }} StageTime */
/** @typedef {Record<string, any> & { stages?: StageTime[] }} Stats */
/** @typedef {{ stage: Stage, from_s: number }} StageBegin */

/**
 * @typedef {object} Details
 * @property {Tiles | null} tiles
 * @property {LaneCells | null} lanes
 * @property {History | null} history
 * @property {Show | null} show
 * @property {Bad | null} bad
 * @property {Stats | null} stats
 * @property {StageBegin[]} [stages]
 * @property {boolean} shares
 */

/** @typedef {Summary & Details} Snapshot */

/** @typedef {{ bytes?: number, paths: string[], cells: [path: number, byte: number, file: number][] }} Places */

/**
 * @typedef {object} Machine
 * @property {string} version
 * @property {string} host
 * @property {number} workers
 * @property {{ cores: string, cache_bytes: number, node: number }[]} groups
 * @property {number} memory_bytes
 * @property {number} memory_free_bytes
 * @property {number} jobs_at_once
 * @property {(number | null)[]} cores
 * @property {{ id: number, user: string, name: string, cores: string, memory_bytes: number, memory_used_bytes: number }[]} running
 * @property {number[]} queue
 * @property {number} queued
 * @property {number} finished
 * @property {{ name: string, weight: number, running: number, queued: number, core_s: number }[]} users
 * @property {number} uptime_s
 */

// `next` is the id before which the jobs are that are over and not here.
/** @typedef {{ machine: Machine, jobs: Summary[], next: number | null }} Overview */
/** @typedef {{ jobs: Summary[], next: number | null }} JobsPart */

/** An answer other than 2xx, or none: then the status is 0. */
export class RequestError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Parses JSON. Whole numbers that a float cannot hold are bigints; a browser that does not hand over their text rounds
 * them.
 * @param {string} text
 * @returns {any}
 */
export function parse(text) {
  /** @type {(this: any, name: string, value: any, context?: { source?: string }) => any} */
  const exact = (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context?.source ?? 0)
      : value;
  // Few texts have such a number, and a look at each value takes time.
  return JSON.parse(text, /\d{16}/.test(text) ? exact : undefined);
}

/** The states of jobs that are over. @type {Set<string>} */
export const OVER = new Set(["done", "failed", "cancelled"]);

/**
 * Sends a request and returns the response if it is 2xx.
 * @param {string} method
 * @param {string} path below the page's folder, such as `api/jobs/1`
 * @param {{ headers?: Record<string, string>, body?: unknown }} [options]
 * @returns {Promise<Response>}
 */
export async function request(method, path, { headers = {}, body } = {}) {
  /** @type {RequestInit} */
  const init = { method, headers, cache: "no-store" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...headers, "Content-Type": "application/json" };
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new RequestError(0, "the server does not answer");
  }
  if (!response.ok) {
    throw new RequestError(response.status, await cause(response));
  }
  return response;
}

/**
 * Returns the reason that the server gives, or the status.
 * @param {Response} response
 * @returns {Promise<string>}
 */
async function cause(response) {
  try {
    const { error } = await response.json();
    if (typeof error === "string") return error;
  } catch {
    // Another server on the way has answered, with a page of its own.
  }
  return `the server answers with status ${response.status}`;
}

/**
 * Returns the whole body of a response. One that is cut off on the way, or no JSON, is as good as none.
 * @template T
 * @param {Promise<T>} body
 * @returns {Promise<T>}
 */
async function whole(body) {
  try {
    return await body;
  } catch {
    throw new RequestError(0, "the answer of the server is not whole");
  }
}

/**
 * Returns the JSON that a GET yields.
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function get(path) {
  const response = await request("GET", path);
  return whole(response.text().then(parse));
}

/**
 * Trades the token for the cookie.
 * @param {string} token
 */
export async function openSession(token) {
  await request("POST", "api/session", { headers: { Authorization: `Bearer ${token}` } });
}

/**
 * Returns what the stream of all jobs begins with.
 * @returns {Promise<Overview>}
 */
export function overview() {
  return get("api/overview");
}

/**
 * Returns a part of a text with its size and the byte after the part.
 * @param {string} path
 * @returns {Promise<{ text: string, bytes: number, next: number }>}
 */
export async function part(path) {
  const response = await request("GET", path);
  const content = new Uint8Array(await whole(response.arrayBuffer()));
  return {
    text: new TextDecoder().decode(content),
    bytes: Number(response.headers.get("Tegula-Bytes") ?? content.length),
    next: Number(response.headers.get("Tegula-Next") ?? content.length),
  };
}
