// Elements: making them, changing them only where they differ, and the colours of the style sheet for canvases.
//
// Text goes in as text nodes alone: keys and names are foreign bytes and are never parsed as markup.

/** @typedef {Node | string | null | false} Child */

/**
 * Makes an element. Properties of the element are set by name; `class`, `role`, `data-*` and `aria-*` as attributes;
 * functions named `on...` as listeners.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown> | null} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined) continue;
    if (typeof value === "function" && name.startsWith("on")) {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "class" || name === "role" || name === "for" || name === "scope" || name.includes("-")) {
      element.setAttribute(name, String(value));
    } else {
      /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (element))[name] = value;
    }
  }
  element.append(...children.filter((child) => child !== null && child !== false));
  return element;
}

/**
 * Sets the text of an element. What a screen reader has read it does not read again if nothing changed.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Sets an attribute, or removes it (null).
 * @param {Element} element
 * @param {string} name
 * @param {string | null} value
 */
export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * Sets a variable of the style sheet. (The content security policy forbids the attribute `style`, not this.)
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string} value
 */
export function setVariable(element, name, value) {
  if (element.style.getPropertyValue(name) !== value) element.style.setProperty(name, value);
}

/**
 * Makes these the children of an element, in order. Children that stay are not moved.
 * @param {Element} parent
 * @param {Element[]} children
 */
export function setChildren(parent, children) {
  const kept = new Set(children);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const child of children) {
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
}

/**
 * Returns a panel with a heading.
 * @param {string} title
 * @param {string} name of its class and its id
 * @param {...Child} children
 */
export function panel(title, name, ...children) {
  const heading = h("h2", { id: `${name}-title` }, title);
  const side = h("div", { class: "panel-side" });
  const element = h(
    "section",
    { class: `panel ${name}`, "aria-labelledby": `${name}-title` },
    h("header", { class: "panel-head" }, heading, side),
    ...children,
  );
  return { element, heading, side };
}

/**
 * Returns a bar whose value is also text for screen readers.
 * @param {string} label
 */
export function bar(label) {
  const fill = h("span", { class: "bar-fill" });
  const element = h(
    "div",
    { class: "bar", role: "progressbar", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "100" },
    fill,
  );
  return {
    element,
    /**
     * @param {number | null} part 0 to 1, or null if it is not known
     * @param {string} text
     */
    set(part, text) {
      setVariable(fill, "--part", String(part ?? 0));
      setAttribute(element, "data-unknown", part === null ? "" : null);
      setAttribute(element, "aria-valuenow", part === null ? null : String(Math.round(part * 100)));
      setAttribute(element, "aria-valuetext", text);
    },
  };
}

/** @type {Map<string, string>} */
const colours = new Map();

/**
 * Returns a colour of the style sheet in the present theme, for canvases.
 * @param {string} name such as `--kind-map`
 * @returns {string}
 */
export function colour(name) {
  let known = colours.get(name);
  if (known === undefined) {
    const probe = h("span", { hidden: true });
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    known = getComputedStyle(probe).color;
    probe.remove();
    colours.set(name, known);
  }
  return known;
}

/** Forgets the colours, when the theme has changed. */
export function forgetColours() {
  colours.clear();
}

/**
 * Gives a canvas the size of its place in pixels of the screen, and returns its context in pixels of the page.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D | null}
 */
export function context(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const drawing = canvas.getContext("2d");
  drawing?.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawing?.clearRect(0, 0, width, height);
  return drawing;
}

/**
 * Returns what lets a drawing be drawn at the next frame, once for all who ask until then.
 * @param {() => void} draw
 */
export function atNextFrame(draw) {
  let is_asked = false;
  return () => {
    if (is_asked) return;
    is_asked = true;
    requestAnimationFrame(() => {
      is_asked = false;
      draw();
    });
  };
}

/**
 * Asks a question in a dialog. Escape and the first button mean no.
 * @param {string} title
 * @param {string} text
 * @param {string} yes the label of the button that means yes
 * @param {string} no
 * @returns {Promise<boolean>}
 */
export function ask(title, text, yes, no) {
  const dialog = h(
    "dialog",
    { class: "dialog", "aria-labelledby": "ask-title" },
    h("h2", { id: "ask-title" }, title),
    h("p", { dir: "auto" }, text),
    h(
      "div",
      { class: "dialog-buttons" },
      h("button", { type: "button", class: "button", onclick: () => dialog.close("") }, no),
      h("button", { type: "button", class: "button is-danger", onclick: () => dialog.close("yes") }, yes),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

const notices = h("div", { class: "notices", role: "status" });

/**
 * Shows a line for a few seconds, which screen readers read.
 * @param {string} text
 * @param {"plain" | "error"} [kind]
 */
export function notice(text, kind = "plain") {
  if (!notices.isConnected) document.body.append(notices);
  const line = h("p", { class: `notice is-${kind}`, dir: "auto" }, text);
  notices.append(line);
  window.setTimeout(() => line.remove(), kind === "error" ? 8000 : 3000);
}

/**
 * Puts a text into the clipboard, and says so.
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    notice(`${what} copied`);
  } catch {
    // Without TLS, browsers have no clipboard except on loopback.
    notice("the browser refuses its clipboard: select the text and copy it", "error");
  }
}
