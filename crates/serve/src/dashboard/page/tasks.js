// Tasks as a tree, and questions.

import { act, known } from "./live.js";
import { ago, count, el, findings, money, number, show, state, to, took, trouble, twice, used } from "./dom.js";

export function cost(task) {
  if (task.cost === undefined && task.cost_limit === undefined) return "";
  return used(task.cost ?? 0, task.cost_limit, money);
}

function row(task, depth) {
  const runs = task.state === "running";
  const name = task.path.split("/").pop() || task.agent;
  return el("li", { class: "row task", "data-state": task.state, "data-depth": Math.min(depth, 8) },
    el("span", { class: "cell-state" }, state(task.state)),
    el("a", { class: "cell-name", href: to("task", task.id), "data-row": true, "data-key": task.id }, name),
    el("span", { class: "cell-agent" }, task.agent, el("small", {}, ` ${task.model}`)),
    el("span", { class: "cell-age" }, runs ? took(task.started_at) : ago(task.started_at)),
    el("span", { class: "cell-turns" }, runs ? used(task.turns, task.turn_limit, number, "turns") : count(task.turns, "turn")),
    el("span", { class: "cell-cost" }, cost(task)),
    el("span", { class: "cell-act" }, runs && twice("Cancel", `cancel ${task.id}`, () => act({ do: "cancel-task", task: task.id }))),
  );
}

function rows(tasks) {
  const depths = new Map();
  return tasks.map((task) => {
    const depth = depths.has(task.parent) ? depths.get(task.parent) + 1 : 0;
    depths.set(task.id, depth);
    return row(task, depth);
  });
}

export function tasks(place) {
  const draw = () => {
    const document = known.tasks;
    if (!document) return show(place, el("h2", {}, "Tasks"), el("p", { class: "quiet" }, "Looking…"));
    const all = document.tasks ?? [];
    const running = all.filter((it) => it.state === "running").length;
    // Each says what it spent itself, without those that it started.
    const spent = all.reduce((sum, it) => sum + (it.cost ?? 0), 0);
    const told = [`${number(running)} running`, `${number(all.length)} shown`, spent > 0 && `${money(spent)} altogether`].filter(Boolean);
    show(place,
      el("h2", {}, "Tasks", el("small", {}, ` ${told.join(" · ")}`)),
      trouble(document),
      all.length ? el("ul", { class: "rows tree", "aria-label": "Tasks, the newest first" }, rows(all)) : el("p", { class: "quiet" }, "No task has run yet: `cargo agents task run` starts one."),
      findings(document.findings));
  };
  draw();
  return (word) => word === "tasks" && draw();
}

export function question(it) {
  const reply = (label, word, kind) =>
    el("button", { type: "button", class: kind, "data-key": `${it.ask} ${word}`, onclick: (event) => {
      for (const button of event.target.parentElement.children) button.disabled = true;
      act({ do: "answer", ask: it.ask, reply: word });
    } }, label);
  return el("li", { class: "ask" },
    el("p", {}, el("a", { href: to("task", it.task), "data-row": true, "data-key": it.ask }, it.path), ` asks: `),
    el("p", { class: "question" }, it.question),
    el("p", { class: "buttons" },
      reply("Approve once", "once", "go"), reply("for this task", "task"), reply("for the whole tree", "tree"), reply("Deny", "no", "danger")));
}

export function asks(place) {
  const draw = () => {
    const document = known.asks;
    const all = document?.asks ?? [];
    show(place,
      el("h2", {}, "Asks"),
      trouble(document),
      all.length
        ? el("ul", { class: "asks" }, all.map(question))
        : el("p", { class: "quiet" }, document ? "No task in the background waits for an answer. What runs in a terminal asks there." : "Looking…"));
  };
  draw();
  return (word) => word === "asks" && draw();
}
