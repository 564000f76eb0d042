// One task: who it is, and what happened, with tools folded.

import { act, known, story } from "./live.js";
import { ago, count, el, money, number, show, state, to, took, trouble, twice, used } from "./dom.js";
import { cost, question } from "./tasks.js";

// How many parts are told before somebody asks for more.
const PARTS = 6;

function body(piece) {
  return [piece.text, piece.cut ? el("span", { class: "cut" }, `… ${number(piece.cut)} bytes more are in the transcript`) : null];
}

function fold(kind, summary, ...inside) {
  return el("details", { class: kind }, el("summary", {}, summary), ...inside);
}

function teller(list) {
  const calls = new Map();
  const add = (kind, ...inside) => list.append(el("li", { class: `piece ${kind}` }, ...inside));
  const tell = {
    began: (it) => add("began",
      fold("aside", `told to be · ${count(it.tools.length, "tool")}`, el("pre", {}, body(it.system)), el("p", { class: "tools" }, it.tools.join(", ")))),
    turn: (it) => add("turn", `turn ${number(it.number)} · ${count(it.tokens, "token")}`, it.cost !== undefined && ` · ${money(it.cost)}`),
    told: (it) => add("told", el("h3", {}, "told"), el("pre", {}, body(it))),
    said: (it) => it.text && add("said", el("pre", {}, body(it))),
    thought: (it) => it.text && add("thought", fold("aside", "thought", el("pre", {}, body(it)))),
    called: (it) => {
      const mark = el("span", { class: "state", "data-state": "running" }, "running");
      const call = fold("tool", [el("code", {}, it.title), " ", mark], el("h4", {}, "input"), el("pre", {}, body(it.input)));
      calls.set(it.call, { call, mark });
      add("called", call);
    },
    answered: (it) => {
      const word = it.is_done ? "done" : "failed";
      const answer = [el("h4", {}, "answer"), el("pre", {}, body(it.content))];
      const known = calls.get(it.call);
      calls.delete(it.call);
      if (!known) return add("called", fold("tool", [el("code", {}, it.tool), " ", state(word)], ...answer));
      known.mark.dataset.state = word;
      known.mark.textContent = word;
      known.call.append(...answer);
    },
    compacted: (it) => add("turn", `${count(it.left_out, "earlier message")} left out to make room`),
    ended: (it) => add("ended", state(it.state), it.output && el("pre", {}, body(it.output))),
  };
  return (pieces) => {
    for (const piece of pieces) tell[piece.kind]?.(piece);
  };
}

function fact(name, ...value) {
  return value.some((it) => it) ? [el("dt", {}, name), el("dd", {}, value)] : [];
}

function head(task) {
  const runs = task.state === "running";
  return [
    el("h2", {}, el("a", { href: to("tasks"), class: "back", "data-back": true }, "Tasks"), " / ", task.path, " ", state(task.state)),
    el("dl", { class: "facts" },
      fact("agent", task.agent), fact("model", task.model),
      fact(runs ? "running for" : "took", took(task.started_at, task.finished_at ?? (runs ? undefined : task.started_at))),
      fact("began", ago(task.started_at)),
      fact("turns", used(task.turns, task.turn_limit, number)),
      fact("tools", count(task.tool_calls, "call")), fact("tokens", number(task.tokens)),
      fact("cost", cost(task)),
      fact("started by", task.parent && el("a", { href: to("task", task.parent) }, task.parent.slice(-12))),
      fact("resumed from", task.resumed_from && el("a", { href: to("task", task.resumed_from) }, task.resumed_from.slice(-12))),
      fact("ended", !runs && task.reason !== task.state && task.reason),
      fact("id", el("code", {}, task.id)))];
}

function resume(task) {
  const prompt = el("textarea", { id: "prompt", rows: 3, required: true, placeholder: "What is it to do next?" });
  const send = async (event) => {
    event.preventDefault();
    const button = event.target.querySelector("button");
    button.disabled = true;
    if (await act({ do: "resume-task", task: task.id, prompt: prompt.value })) location.hash = to("tasks");
    button.disabled = false;
  };
  return el("form", { class: "resume", onsubmit: send },
    el("label", { for: "prompt" }, "Go on from here, in the background"), prompt, el("button", { class: "go" }, "Resume"));
}

export function task(place, id) {
  const top = el("div", { class: "top" });
  const waiting = el("ul", { class: "asks" });
  const list = el("ol", { class: "story", "aria-label": "What happened" });
  const more = el("button", { type: "button", hidden: true, onclick: () => read(PARTS) }, "Show more");
  const below = el("div", { class: "below" });
  const tell = teller(list);
  let [next, reading, again, ended] = [0, false, false, undefined];
  show(place, top, list, more, waiting, below);

  async function read(parts) {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    const near = window.innerHeight + window.scrollY > document.body.scrollHeight - 120;
    for (let part = 0; part < parts && place.contains(list); part += 1) {
      const told = await story(id, next);
      if (told.trouble) {
        list.append(el("li", {}, trouble(told)));
        break;
      }
      tell(told.pieces);
      next = told.next;
      more.hidden = !told.more;
      if (!told.more) break;
    }
    reading = false;
    if (near && list.childElementCount > 12 && ended !== true) window.scrollTo({ top: document.body.scrollHeight });
    if (again) {
      again = false;
      if (more.hidden) read(PARTS);
    }
  }

  function draw(word) {
    if (word === "asks" || word === undefined) {
      const own = (known.asks?.asks ?? []).filter((it) => it.task === id);
      show(waiting, own.map(question));
    }
    if (word !== "task" && word !== undefined) return;
    const seen = known.task;
    if (!seen) return;
    if (seen.trouble) return show(top, el("h2", {}, el("a", { href: to("tasks"), "data-back": true }, "Tasks")), trouble(seen));
    const { task } = seen;
    const runs = task.state === "running";
    show(top, head(task), runs && el("p", {}, twice("Cancel", `cancel ${id}`, () => act({ do: "cancel-task", task: id }))));
    if (ended !== !runs) {
      show(below, runs ? null : resume(task));
      ended = !runs;
    }
    if (more.hidden) read(PARTS);
  }
  draw();
  return draw;
}

// Unfolds everything, or folds it if all of it is unfolded.
export function unfold() {
  const all = [...document.querySelectorAll(".story details")];
  const open = all.some((it) => !it.open);
  for (const it of all) it.open = open;
}
