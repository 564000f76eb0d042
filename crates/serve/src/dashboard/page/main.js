// What is shown where, and what keys do.

import { tick } from "./dom.js";
import { follow, known, listen } from "./live.js";
import { agents, plugins } from "./here.js";
import { plan, plans } from "./plans.js";
import { task, unfold } from "./story.js";
import { asks, tasks } from "./tasks.js";

const main = document.getElementById("main");
const help = document.getElementById("help");
const letters = document.getElementById("letters");

// Each view with the entry of the navigation that it belongs to, and what it wants to be told besides.
const VIEWS = {
  tasks: { draw: tasks, list: "tasks" },
  task: { draw: task, list: "tasks", follows: "task" },
  plans: { draw: plans, list: "plans" },
  plan: { draw: plan, list: "plans", follows: "plan" },
  asks: { draw: asks, list: "asks" },
  plugins: { draw: plugins, list: "plugins" },
  agents: { draw: agents, list: "agents" },
};

let current = () => {};
let shown = "";

function where() {
  const parts = location.hash.replace(/^#\//, "").split("/").map((it) => {
    try {
      return decodeURIComponent(it);
    } catch {
      return it;
    }
  });
  return Object.hasOwn(VIEWS, parts[0]) ? parts : ["tasks"];
}

function go() {
  const [word, ...rest] = where();
  const before = shown;
  shown = `${word}/${rest[0] ?? ""}`;
  const { draw, list, follows } = VIEWS[word];
  // Another task of the same plan is still the same plan.
  if (before !== shown) follow(follows ? { [follows]: rest[0] ?? "" } : {});
  current = draw(main, ...rest);
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === list) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (before && before !== shown) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

let announced = new Set();

function count() {
  const all = known.asks?.asks ?? [];
  const badge = document.getElementById("asked");
  badge.hidden = all.length === 0;
  badge.textContent = String(all.length);
  document.title = all.length ? `(${all.length}) cargo agents` : "cargo agents";
  const fresh = all.filter((it) => !announced.has(it.ask));
  announced = new Set(all.map((it) => it.ask));
  if (fresh.length) document.getElementById("asking").textContent = `${fresh[0].path} asks: ${fresh[0].question}`;
}

function step(by) {
  const rows = [...main.querySelectorAll("[data-row]")].filter((it) => it.checkVisibility());
  const at = rows.indexOf(document.activeElement);
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  t: () => (location.hash = "#/tasks"),
  p: () => (location.hash = "#/plans"),
  a: () => (location.hash = "#/asks"),
  u: () => (location.hash = "#/plugins"),
  g: () => (location.hash = "#/agents"),
  j: () => step(1),
  k: () => step(-1),
  o: unfold,
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const writes = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape") {
    if (writes) return writes.blur();
    const back = main.querySelector("[data-back]");
    if (back) location.hash = back.getAttribute("href");
    return;
  }
  if (writes || !letters.checked) return;
  const act = Object.hasOwn(KEYS, event.key) && KEYS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

document.querySelector(".skip").addEventListener("click", (event) => {
  // The part after `#` says what is shown.
  event.preventDefault();
  main.focus();
});
document.getElementById("keys").addEventListener("click", () => help.showModal());
letters.checked = localStorage.getItem("letters") !== "off";
letters.addEventListener("change", () => localStorage.setItem("letters", letters.checked ? "on" : "off"));
listen((word) => {
  if (word === "asks") count();
  current(word);
});
window.addEventListener("hashchange", go);
setInterval(() => document.hidden || tick(), 1000);
go();
