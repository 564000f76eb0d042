// Elements made of words. Every text that comes from elsewhere becomes a text node here, and nothing on this page ever reads HTML.

const SVG = "http://www.w3.org/2000/svg";

// What would change how the text around it looks, or hide in it: control characters, marks that turn text around, and
// characters without a width.
const ODD =
  /\u001b\[[0-9;:?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

function visible(odd) {
  const shown = (c) => {
    const code = c.codePointAt(0);
    if (code === 0x1b) return "ESC";
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    if (code > 0x20 && code < 0x7f) return c;
    return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  };
  return Array.from(odd, shown).join("");
}

// A text as nodes: what is odd in it is shown and marked instead of obeyed.
export function text(value) {
  const nodes = document.createDocumentFragment();
  const whole = String(value).replaceAll("\r\n", "\n");
  let last = 0;
  for (const odd of whole.matchAll(ODD)) {
    nodes.append(whole.slice(last, odd.index));
    const mark = document.createElement("span");
    mark.className = "odd";
    mark.textContent = visible(odd[0]);
    nodes.append(mark);
    last = odd.index + odd[0].length;
  }
  nodes.append(whole.slice(last));
  return nodes;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(2)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : text(child));
  }
  return element;
}

export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// The address of something on this page.
export function to(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

// Puts something else where something was; whoever had the focus there has it again.
export function show(place, ...nodes) {
  const key = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  place.replaceChildren(...nodes.flat().filter((it) => it));
  if (key) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

export function state(word) {
  return el("span", { class: "state", "data-state": word }, word);
}

export function money(micro) {
  if (micro === undefined || micro === null) return "";
  const dollars = micro / 1e6;
  return `$${dollars.toFixed(dollars !== 0 && dollars < 0.1 ? 4 : 2)}`;
}

export function number(value) {
  return Number(value).toLocaleString("en");
}

// `1 turn`, `2 turns`.
export function count(value, word) {
  return `${number(value)} ${word}${value === 1 ? "" : "s"}`;
}

// How much of what may be used is used.
export function used(value, most, told, unit = "") {
  if (most === undefined || most === null || !(most > 0)) return `${told(value ?? 0)}${unit && ` ${unit}`}`;
  const part = `${told(value ?? 0)} of ${told(most)} ${unit}`.trim();
  const meter = el("meter", { min: 0, max: most, high: most * 0.8, optimum: 0, value: Math.min(value ?? 0, most), "aria-label": part });
  return el("span", { class: "used", title: part }, el("span", {}, told(value ?? 0), el("small", {}, ` / ${told(most)} ${unit}`)), meter);
}

export function span(seconds) {
  const all = Math.max(0, Math.round(seconds));
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  if (all < 86400) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
  return `${Math.floor(all / 86400)} d ${Math.floor((all % 86400) / 3600)} h`;
}

// How long something took, or is taking: that goes on by itself.
export function took(began, ended) {
  const from = Date.parse(began);
  if (ended) return el("time", { datetime: began, title: began }, span((Date.parse(ended) - from) / 1000));
  return el("time", { datetime: began, title: began, "data-since": from }, span((Date.now() - from) / 1000));
}

export function ago(at) {
  const from = Date.parse(at);
  return el("time", { datetime: at, title: at, "data-since": from, "data-after": " ago" }, `${span((Date.now() - from) / 1000)} ago`);
}

// Moves the clocks on.
export function tick() {
  for (const time of document.querySelectorAll("time[data-since]")) {
    const told = span((Date.now() - Number(time.dataset.since)) / 1000) + (time.dataset.after ?? "");
    if (time.textContent !== told) time.textContent = told;
  }
}

// What is not so, in place of what would be shown.
export function trouble(document) {
  const it = document?.trouble;
  if (!it) return null;
  return el("div", { class: "trouble" }, el("p", {}, it.message), it.hint && el("p", { class: "hint" }, it.hint));
}

export function findings(all) {
  if (!all?.length) return null;
  const one = (it) =>
    el("li", { "data-severity": it.severity }, el("strong", {}, it.severity), ` ${it.message}`,
      it.file && el("code", {}, ` ${it.file}${it.line ? `:${it.line}` : ""}`), it.hint && el("p", { class: "hint" }, it.hint));
  return el("section", { class: "findings" }, el("h3", {}, "Findings"), el("ul", {}, all.map(one)));
}

// What was pressed once, by key, with when that is forgotten: the page may be drawn anew in between.
const pressed = new Map();

// A button for what cannot be taken back: it wants to be pressed twice.
export function twice(label, key, act) {
  const button = el("button", { type: "button", class: "danger", "data-key": key });
  const armed = () => pressed.get(key) > Date.now();
  const name = () => (button.textContent = armed() ? `${label}: sure?` : label);
  button.addEventListener("click", () => {
    if (armed()) {
      pressed.delete(key);
      button.disabled = true;
      Promise.resolve(act()).finally(() => (button.disabled = false));
    } else {
      pressed.set(key, Date.now() + 5000);
      setTimeout(name, 5001);
    }
    name();
  });
  name();
  if (armed()) setTimeout(name, 5001);
  return button;
}
