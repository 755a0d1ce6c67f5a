// Figures as text: sizes, rates, times, counts, and a command for a shell.
//
// Sizes have binary units, as in the command line's own output. A figure that is not known is a dash.

/** @import { Summary } from "./api.js" */

export const UNKNOWN = "–";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const WHOLE = new Intl.NumberFormat("en");
const FRACTION = new Intl.NumberFormat("en", {
  maximumFractionDigits: 3,
  maximumSignificantDigits: 6,
  roundingPriority: "morePrecision",
});
const COMPACT = new Intl.NumberFormat("en", {
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/**
 * Returns a number with three digits at least, and no decimals from 100 on.
 * @param {number} value
 */
function digits(value) {
  if (value >= 100 || Number.isInteger(value)) return WHOLE.format(Math.round(value));
  return value.toFixed(value >= 10 ? 1 : 2);
}

/**
 * @param {number | null | undefined} value
 * @returns {string} such as `1.50 GiB`
 */
export function bytes(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  let unit = 0;
  let size = Math.max(0, value);
  while (size >= 999.5 && unit + 1 < UNITS.length) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? WHOLE.format(Math.round(size)) : digits(size)} ${UNITS[unit]}`;
}

/** @param {number | null | undefined} value bytes per second */
export function rate(value) {
  const size = bytes(value);
  return size === UNKNOWN ? size : `${size}/s`;
}

/** @param {number | null | undefined} value */
export function count(value) {
  return value === null || value === undefined ? UNKNOWN : WHOLE.format(value);
}

/**
 * Returns a value of an answer: all digits if it is whole, and six significant ones at least.
 * @param {number | bigint} value
 */
export function number(value) {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return WHOLE.format(value);
  const size = Math.abs(value);
  return size >= 1e-6 && size < 1e21 ? FRACTION.format(value) : String(Number(value.toPrecision(6)));
}

/** @param {number} value */
export function compact(value) {
  return Math.abs(value) < 10_000 ? number(value) : COMPACT.format(value);
}

/** @param {number | null | undefined} part 0 to 1 */
export function percent(part) {
  if (part === null || part === undefined || !Number.isFinite(part)) return UNKNOWN;
  const value = part * 100;
  // 99.97 % is not all.
  if (value >= 99.95 && value < 100) return "99.9 %";
  return `${value === 0 || value >= 100 || (value >= 10 && Number.isInteger(value)) ? Math.round(value) : value.toFixed(1)} %`;
}

/**
 * @param {number | null | undefined} seconds
 * @returns {string} such as `850 ms`, `4.2 s`, `1:05`, `2:03:09` or `3 d 4 h`
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  const value = Math.max(0, seconds);
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 9.95) return `${value.toFixed(1)} s`;
  if (value < 59.5) return `${Math.round(value)} s`;
  return clock(value);
}

/**
 * @param {number | null | undefined} seconds
 * @returns {string} such as `0:14`, `1:05`, `2:03:09`, or from two days on `3 d 4 h`
 */
export function clock(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours}:${two(minutes)}:${two(rest)}`;
  return `${minutes}:${two(rest)}`;
}

/**
 * Returns a moment on an axis of time.
 * @param {number} seconds
 * @param {number} whole the length of the axis
 */
export function tick(seconds, whole) {
  return whole < 10 ? `${seconds === 0 ? 0 : seconds.toFixed(1)} s` : clock(seconds);
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}

/**
 * @param {number} moment_s seconds since 1970
 * @returns {string} such as `just now`, `5 min ago`, or the date
 */
export function ago(moment_s) {
  const passed = Date.now() / 1000 - moment_s;
  if (passed < 5) return "just now";
  if (passed < 60) return `${Math.round(passed)} s ago`;
  if (passed < 3600) return `${Math.round(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.round(passed / 3600)} h ago`;
  if (passed < 7 * 86_400) return `${Math.round(passed / 86_400)} d ago`;
  return moment(moment_s).slice(0, 10);
}

/**
 * @param {number} moment_s seconds since 1970
 * @returns {string} the local date and time
 */
export function moment(moment_s) {
  const date = new Date(moment_s * 1000);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/**
 * Returns the part of a job's input that is done, or null if its size is not known.
 * @param {Pick<Summary, "state" | "progress">} job
 * @returns {number | null}
 */
export function part(job) {
  if (job.state === "done") return 1;
  const progress = job.progress;
  if (!progress || progress.bytes_planned <= 0) return null;
  return Math.min(1, progress.bytes_done / progress.bytes_planned);
}

/**
 * Returns whether a job is in Python, which no command line gives.
 * @param {string[]} command
 */
export function isPython(command) {
  return command[0] === "python";
}

/**
 * Returns the line that runs a command in a POSIX shell.
 * @param {string[]} command
 * @param {string} folder
 */
export function shell(command, folder) {
  return `cd ${quoted(folder)} && ${line(command)}`;
}

/**
 * Returns a command as it is typed; of a job in Python its name and its input.
 * @param {string[]} command
 */
export function line(command) {
  return (isPython(command) ? command : ["tegula", ...command]).map(quoted).join(" ");
}

/** @param {string} word */
function quoted(word) {
  // A tilde is only expanded at the begin of a word, and there it is quoted.
  return /^[\w@%+=:,./-][\w@%+=:,./~-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Returns the letters of a run-length code, such as `s3m5r2w22`.
 * @param {string} code
 * @param {number} most letters
 */
export function expand(code, most) {
  let letters = "";
  for (const [, letter = "", length = ""] of code.matchAll(/([a-z])(\d+)/g)) {
    letters += letter.repeat(Math.min(Number(length), most - letters.length));
  }
  return letters;
}

/** @type {Record<string, string>} */
const NAMES = {
  bytes: "input",
  tile_bytes: "size of a tile",
  split_bytes: "size of a split",
  unit_bytes: "taken at a time",
  direct_bytes: "read past the cache",
  read_ahead_bytes: "read ahead",
  read_ahead_busy_s: "reading ahead, all readers",
  ingest_busy_s: "reading, all workers",
  hand_over_busy_s: "handing over, all workers",
  compress_busy_s: "compressing, all workers",
  spilled_bytes: "spilled to scratch files",
  restored_bytes: "found in the state",
  saved_bytes: "saved in the state",
  simd: "instruction set",
  key_value_bytes: "keys and values",
  memory_counted_peak: "memory counted, peak",
  memory_resident_peak: "memory resident, peak",
};

/**
 * Returns the name of a figure of the job, such as `spilled_bytes`, in words.
 * @param {string} name
 */
export function words(name) {
  return NAMES[name] ?? name.replace(/_(s|bytes)$/, "").replaceAll("_", " ");
}

/**
 * Returns a figure by the unit at the end of its name.
 * @param {string} name
 * @param {number} value
 */
export function figure(name, value) {
  if (name.endsWith("_s")) return duration(value);
  if (name === "bytes" || name.endsWith("_bytes") || /^memory_.*_peak$/.test(name)) return bytes(value);
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(6)));
}
