// The frame of the page: session, routes, theme and keyboard. What is shown is a view: the list, or one job.
//
// The address after `#` is the route: `#jobs`, `#job=17`. `#token=...` opens a session first and is then removed, so
// the token is neither sent nor kept in the history.

import { get, openSession, RequestError } from "./api.js";
import { forgetColours, h, setAttribute, setText } from "./dom.js";
import { JobPage } from "./job.js";
import { ListPage } from "./list.js";

/** @import { Link } from "./feed.js" */

/**
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {() => void} close
 * @property {() => void} themed is called when the colours have changed
 * @property {Record<string, () => void>} keys the view's own shortcuts
 */

/**
 * What a view may change outside of itself.
 * @typedef {object} Frame
 * @property {(link: Link) => void} setLink
 * @property {(host: string | null) => void} setHost asks the server for the host if it is null
 * @property {(title: string) => void} setTitle
 * @property {(error: RequestError) => void} refused
 */

const LINKS = {
  connecting: ["connecting", "Connecting to the server"],
  live: ["live", "Changes arrive as they happen"],
  polling: ["every 2 s", "The server has no stream to spare: the page asks every two seconds"],
  lost: ["no connection", "The server does not answer. The page tries again; the figures are the last known ones"],
  paused: ["paused", "No stream while the page is hidden"],
  closed: ["", ""],
};

const SHORTCUTS = [
  [
    "everywhere",
    [
      ["?", "this help"],
      ["t", "theme: as the system, light, dark"],
      ["g", "all jobs"],
    ],
  ],
  [
    "list of jobs",
    [
      ["j / k", "next, previous job"],
      ["Enter", "open the job"],
      ["/", "filter"],
    ],
  ],
  [
    "one job",
    [
      ["Esc", "back to all jobs"],
      ["m", "cores: whole run or last minute"],
      ["s", "go to the tiles; arrows move from tile to tile"],
      ["l", "go to the log"],
      ["c", "copy the command"],
      ["x", "cancel the job (asks first)"],
    ],
  ],
];

/** @type {("system" | "light" | "dark")[]} */
const THEMES = ["system", "light", "dark"];

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const link = /** @type {HTMLElement} */ (document.getElementById("link"));
const host = /** @type {HTMLElement} */ (document.getElementById("host"));
const theme_button = /** @type {HTMLElement} */ (document.getElementById("theme"));

/** @type {View | null} */
let view = null;

/** @type {Frame} */
const frame = {
  setLink(state) {
    const [text = "", title = ""] = LINKS[state];
    setText(link, text);
    setAttribute(link, "data-link", state);
    setAttribute(link, "title", title);
  },
  async setHost(name) {
    if (name === null && host.textContent !== "") return;
    try {
      setText(host, name ?? (await get("api/machine")).host);
    } catch (error) {
      // It is missing from the heading then, no more.
      if (!(error instanceof RequestError)) throw error;
    }
  },
  setTitle(title) {
    document.title = title;
  },
  refused(error) {
    show(error.status === 401 ? tokenForm("") : failure(error));
  },
};

/**
 * Shows an element in place of the view.
 * @param {HTMLElement} element
 */
function show(element) {
  view?.close();
  view = null;
  main.replaceChildren(element);
}

/** Shows the view of the present address. */
function route() {
  view?.close();
  const job = new URLSearchParams(location.hash.slice(1)).get("job");
  const id = job === null ? null : Number(job);
  view = id !== null && Number.isSafeInteger(id) && id > 0 ? new JobPage(id, frame) : new ListPage(frame);
  main.replaceChildren(view.element);
  window.scrollTo(0, 0);
}

/**
 * @param {RequestError} error
 */
function failure(error) {
  document.title = "Tegula";
  frame.setLink("closed");
  const title = error.status === 404 ? "There is no such job" : "The server refuses this";
  return h(
    "section",
    { class: "message", role: "alert" },
    h("h1", null, title),
    h("p", { dir: "auto" }, error.message),
    h("p", null, h("a", { class: "button", href: "#jobs" }, "All jobs")),
  );
}

/**
 * Returns the form that asks for the token.
 * @param {string} fault
 */
function tokenForm(fault) {
  document.title = "Tegula: token";
  frame.setLink("closed");
  const input = h("input", {
    id: "token",
    type: "password",
    autocomplete: "current-password",
    required: true,
    spellcheck: false,
    "aria-describedby": "token-help",
  });
  const form = h(
    "form",
    { class: "message" },
    h("h1", null, "This server wants its token"),
    h(
      "p",
      { id: "token-help" },
      "Open the address that ",
      h("code", null, "tegula serve"),
      " has printed, or paste the token, which is in ",
      h("code", null, "~/.tegula/serve-PORT.token"),
      ".",
    ),
    h("label", { for: "token" }, "Token"),
    h("div", { class: "field" }, input, h("button", { class: "button is-main" }, "Open")),
    h("p", { class: "fault", role: "alert", hidden: fault === "" }, fault),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    enter(input.value.trim());
  });
  return form;
}

/**
 * Opens a session and shows the view, or the form once more.
 * @param {string} token
 */
async function enter(token) {
  try {
    await openSession(token);
    route();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    show(tokenForm(error.status === 401 ? "That is not this server's token." : error.message));
    document.getElementById("token")?.focus();
  }
}

/** Takes the token out of the address, if there is one, and shows the view. */
function begin() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get("token");
  if (token === null) {
    route();
    return;
  }
  const job = parameters.get("job");
  history.replaceState(null, "", job === null ? "#jobs" : `#job=${encodeURIComponent(job)}`);
  enter(token);
}

/**
 * Sets the theme and keeps it for the next time.
 * @param {string | null} name
 */
function setTheme(name) {
  const theme = THEMES.find((known) => known === name) ?? "system";
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  setText(theme_button, { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" }[theme]);
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // Storage may be switched off; then the theme lasts as long as the page.
  }
  forgetColours();
  view?.themed();
}

function nextTheme() {
  const at = THEMES.findIndex((name) => name === (document.documentElement.dataset.theme ?? "system"));
  setTheme(THEMES[(at + 1) % THEMES.length] ?? null);
}

function storedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function help() {
  if (document.querySelector("dialog[open]")) return;
  const groups = SHORTCUTS.map(([title, keys]) =>
    h(
      "section",
      null,
      h("h3", null, String(title)),
      h(
        "dl",
        { class: "shortcuts" },
        .../** @type {string[][]} */ (keys).flatMap(([key = "", meaning = ""]) => [
          h("dt", null, ...key.split(" / ").map((name) => h("kbd", null, name))),
          h("dd", null, meaning),
        ]),
      ),
    ),
  );
  const dialog = h(
    "dialog",
    { class: "dialog", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keyboard shortcuts"),
    ...groups,
    h(
      "div",
      { class: "dialog-buttons" },
      h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close"),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** @type {Record<string, () => void>} */
const keys = {
  "?": help,
  t: nextTheme,
  g: () => {
    location.hash = "#jobs";
  },
};

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {HTMLElement | null} */ (event.target);
  const types = target?.closest("input, textarea, select");
  if (types && event.key === "Escape") /** @type {HTMLElement} */ (types).blur();
  if (event.ctrlKey || event.metaKey || event.altKey || types || document.querySelector("dialog[open]")) return;
  const action = view?.keys[event.key] ?? keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

setTheme(storedTheme());
theme_button.addEventListener("click", nextTheme);
document.getElementById("help")?.addEventListener("click", help);
document.addEventListener("keydown", pressed);
document.querySelector(".skip")?.addEventListener("click", (event) => {
  // What follows `#` is the route: the link must not change it.
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", begin);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  forgetColours();
  view?.themed();
});
begin();
