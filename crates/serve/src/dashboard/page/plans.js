// Runs of plans, and one of them as a picture.

import { act, known } from "./live.js";
import { ago, count, el, findings, money, number, show, state, svg, to, took, trouble, twice, used } from "./dom.js";

const LIVES = new Set(["running", "paused", "suspended"]);

function row(run) {
  const lives = LIVES.has(run.state);
  return el("li", { class: "row plan", "data-state": run.state },
    el("span", { class: "cell-state" }, state(run.state)),
    el("a", { class: "cell-name", href: to("plan", run.run), "data-row": true, "data-key": run.run }, run.run),
    el("span", { class: "cell-agent" }, run.dir ?? ""),
    el("span", { class: "cell-age" }, lives ? took(run.began_at) : ago(run.began_at)));
}

export function plans(place) {
  const draw = () => {
    const document = known.plans;
    if (!document) return show(place, el("h2", {}, "Plans"), el("p", { class: "quiet" }, "Looking…"));
    const all = document.runs ?? [];
    show(place, el("h2", {}, "Plans", el("small", {}, ` ${count(all.length, "run")}`)), trouble(document),
      all.length ? el("ul", { class: "rows", "aria-label": "Runs of plans, the newest first" }, all.map(row)) : el("p", { class: "quiet" }, "No plan has run yet: `cargo agents plan run` starts one."),
      findings(document.findings));
  };
  draw();
  return (word) => word === "plans" && draw();
}

// The picture. Its form stays while the graph does; its colours change.
function picture(run, drawn) {
  const tip = svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" }));
  const lines = drawn.lines.map((it) => svg("path", { class: it.dotted ? "wait dotted" : "wait", d: it.path, "marker-end": "url(#tip)" }));
  const nodes = new Map();
  const boxes = drawn.nodes.map((it) => {
    const middle = it.x + it.width / 2;
    const label = svg("title", {});
    const box = svg("a", { class: "node", href: to("plan", run, it.task), "data-key": `node ${it.task}` }, label,
      svg("rect", { x: it.x, y: it.y, width: it.width, height: it.height, rx: it.joins ? it.height / 2 : 6 }),
      svg("text", { x: middle, y: it.y + 18, class: "name" }, it.task),
      svg("text", { x: middle, y: it.y + 35, class: "work" }, it.work));
    nodes.set(it.task, { box, label });
    return box;
  });
  const image = svg("svg", { viewBox: `0 0 ${drawn.width} ${drawn.height}`, width: drawn.width, height: drawn.height, role: "group", "aria-label": "The plan as a graph" },
    svg("defs", {}, tip), lines, boxes);
  return { image, nodes };
}

function events(all) {
  return el("details", { class: "aside" }, el("summary", {}, `last ${count(all.length, "event")}`),
    el("ol", { class: "events" }, all.toReversed().map((it) => el("li", {}, el("time", { datetime: it.at }, it.at.slice(11, 19)), ` ${it.told}`))));
}

function chosen(run, task) {
  const outcome = task.outcome;
  const runs = ["running", "waiting", "ready", "resting", "asking"].includes(task.state);
  return [
    el("h3", {}, task.task, " ", state(task.state)),
    el("dl", { class: "facts" },
      el("dt", {}, "agent"), el("dd", {}, task.agent ?? "gathers results"),
      el("dt", {}, "attempts"), el("dd", {}, number(task.attempts)),
      outcome && [el("dt", {}, "took"), el("dd", {}, `${count(outcome.spent.turns, "turn")}, ${count(outcome.spent.tokens, "token")}${outcome.spent.cost ? `, ${money(outcome.spent.cost)}` : ""}${outcome.recalled ? ", known from an earlier run" : ""}`)]),
    outcome?.id && el("p", {}, el("a", { href: to("task", outcome.id), "data-key": "how" }, "how it went")),
    outcome?.message && el("p", { class: "question" }, outcome.message),
    outcome?.output && el("pre", {}, outcome.output),
    outcome?.text && !outcome.output && el("pre", {}, outcome.text),
    runs && LIVES.has(run.state) && el("p", {}, twice("Cancel this task", `cancel ${task.task}`, () => act({ do: "cancel-plan", run: run.run, task: task.task })))];
}

function listed(run, tasks) {
  const one = (it) => el("li", { class: "row step", "data-state": it.state },
    el("span", { class: "cell-state" }, state(it.state)),
    el("a", { class: "cell-name", href: to("plan", run, it.task), "data-row": true, "data-key": `row ${it.task}` }, it.task),
    el("span", { class: "cell-agent" }, it.agent ?? ""),
    el("span", { class: "cell-turns" }, it.outcome ? count(it.outcome.spent.turns, "turn") : ""),
    el("span", { class: "cell-cost" }, it.outcome?.spent.cost ? money(it.outcome.spent.cost) : ""));
  return el("ul", { class: "rows", "aria-label": "Tasks of the plan" }, tasks.map(one));
}

function deeds(run, driven) {
  const button = (label, word) => el("button", { type: "button", "data-key": word, onclick: () => act({ do: word, run: run.run }) }, label);
  if (!LIVES.has(run.state)) return null;
  return el("p", { class: "buttons" },
    run.state === "running" && button("Pause", "pause-plan"),
    run.state === "paused" && driven && button("Resume", "resume-plan"),
    !driven && el("span", { class: "hint" }, "Nobody runs it now. In a terminal: ", el("code", {}, `cargo agents plan resume ${run.run}`)),
    twice("Cancel", "cancel-plan", () => act({ do: "cancel-plan", run: run.run })));
}

export function plan(place, id, picked) {
  const top = el("div", { class: "top" });
  const frame = el("div", { class: "graph", tabindex: 0, role: "region", "aria-label": "Picture of the plan" });
  const side = el("section", { class: "picked", "aria-label": "The chosen task" });
  const below = el("div", { class: "below" });
  let [form, drawn, first] = ["", null, true];
  show(place, top, el("div", { class: "split" }, frame, side), below);

  function draw(word) {
    if (word !== undefined && word !== "plan") return;
    const seen = known.plan;
    if (!seen) return;
    const back = el("a", { href: to("plans"), class: "back", "data-back": true }, "Plans");
    if (seen.trouble) return show(top, el("h2", {}, back), trouble(seen));
    const { run } = seen;
    const done = run.tasks.filter((it) => it.state === "completed").length;
    show(top, el("h2", {}, back, " / ", run.run, " ", state(run.state)),
      el("dl", { class: "facts" },
        el("dt", {}, "tasks"), el("dd", {}, used(done, run.tasks.length, number)),
        el("dt", {}, "turns"), el("dd", {}, used(run.spent.turns, run.budget.turns, number)),
        el("dt", {}, "tokens"), el("dd", {}, used(run.spent.tokens, run.budget.tokens, number)),
        el("dt", {}, "cost"), el("dd", {}, used(run.spent.cost, run.budget.cost, money)),
        run.file && [el("dt", {}, "file"), el("dd", {}, el("code", {}, run.file))],
        run.fork_of && [el("dt", {}, "fork of"), el("dd", {}, el("a", { href: to("plan", run.fork_of) }, run.fork_of))]),
      deeds(run, seen.is_driven));
    const now = JSON.stringify(seen.picture);
    if (now !== form) {
      form = now;
      drawn = picture(id, seen.picture);
      show(frame, drawn.image);
    }
    for (const it of run.tasks) {
      const node = drawn.nodes.get(it.task);
      if (!node) continue;
      node.box.setAttribute("data-state", it.state);
      node.box.classList.toggle("chosen", it.task === picked);
      node.label.textContent = `${it.task}: ${it.state}`;
    }
    const one = run.tasks.find((it) => it.task === picked);
    side.hidden = !one;
    show(side, one ? chosen(run, one) : []);
    const open = below.querySelector("details")?.open;
    show(below, listed(id, run.tasks), events(seen.events));
    if (open) below.querySelector("details").open = true;
    if (first && one) side.scrollIntoView({ block: "nearest" });
    first = false;
  }
  draw();
  return draw;
}
