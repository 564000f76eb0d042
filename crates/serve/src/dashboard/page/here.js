// Plugins with their reasons, what a sync would change, and agents with those that they shadow. Looked at when somebody asks.

import { look } from "./live.js";
import { count, el, findings, number, show, state, trouble } from "./dom.js";

const ORDER = ["active", "candidate", "sleeping", "declined", "superseded", "not-applicable"];
const HEADINGS = {
  active: "Active",
  candidate: "Needs your approval",
  sleeping: "Sleeping until used",
  declined: "Turned off",
  superseded: "Superseded",
  "not-applicable": "Not for this workspace",
};

// Draws what a look gives, and again when somebody wants it.
function looked(place, title, what, draw) {
  const again = el("button", { type: "button", "data-key": `again ${what}` }, "Look again");
  const body = el("div", {}, el("p", { class: "quiet" }, "Looking…"));
  const load = async () => {
    again.disabled = true;
    const document = await look(what);
    show(body, ...(document.trouble ? [trouble(document)] : draw(document)).flat());
    again.disabled = false;
  };
  again.addEventListener("click", load);
  place.append(el("section", { "aria-label": title }, el("h2", {}, title, " ", again), body));
  load();
}

function conditions(steps) {
  return el("ul", { class: "steps" }, steps.map((it) =>
    el("li", { class: "step", "data-depth": Math.min(it.depth, 8), "data-holds": String(it.holds) }, el("code", {}, it.condition), ` ${it.holds ? "holds" : "does not hold"}`, it.because && `: ${it.because}`)));
}

function explanation(it) {
  return el("div", { class: "why" }, el("p", {}, el("code", {}, it.file)), conditions(it.conditions),
    it.contributions.map((part) => el("div", {}, el("p", {}, state(part.active ? "active" : "not active"), ` ${part.kind} `, el("strong", {}, part.name)), part.conditions.length > 0 && conditions(part.conditions))),
    it.skipped.map((left) => el("p", { class: "quiet" }, `${left.what}: ${left.because}`)));
}

function plugin(it) {
  const why = el("details", { class: "aside" }, el("summary", { "data-row": true, "data-key": `why ${it.name}` }, "why"));
  why.addEventListener("toggle", async () => {
    if (!why.open || why.childElementCount > 1) return;
    const told = await look("plugin", it.name);
    if (why.childElementCount > 1) return;
    why.append(...(told.trouble ? [trouble(told)] : told.plugins.map(explanation)));
  });
  const said = it.said && `\`[plugins] ${it.said.list}\` names \`${it.said.name}\``;
  return el("li", { class: "card" },
    el("p", {}, el("strong", {}, it.name), el("small", {}, ` ${it.from}`)),
    el("p", {}, said ?? it.because),
    it.withheld === "programs" && el("p", { class: "hint" }, `none of its programs run on their own; \`cargo agents use ${it.word}\` lets them`),
    it.brings.length > 0 && el("ul", { class: "pieces" }, it.brings.map((piece) => el("li", {}, el("small", {}, piece.kind), ` ${piece.name}`, piece.runs && el("code", {}, ` ${piece.runs}`)))),
    why);
}

function status(document) {
  const groups = ORDER.map((word) => [word, document.plugins.filter((it) => it.state === word)]).filter(([, all]) => all.length > 0);
  return [
    el("p", { class: "quiet" }, el("code", {}, document.workspace)),
    groups.map(([word, all]) => {
      const list = el("ul", { class: "cards" }, all.map(plugin));
      if (word !== "not-applicable") return el("section", {}, el("h3", {}, HEADINGS[word]), list);
      return el("details", { class: "aside" }, el("summary", {}, `${HEADINGS[word]} (${number(all.length)})`), list);
    }),
    el("section", {}, el("h3", {}, "Coding agents"),
      document.hosts.length
        ? el("ul", { class: "hosts" }, document.hosts.map((it) => el("li", {}, el("strong", {}, it.name), ` ${it.pending === 0 ? "in sync" : `${number(it.pending)} pending`}`)))
        : el("p", { class: "quiet" }, "None: `cargo agents init` configures those that are installed.")),
    findings(document.findings)];
}

// A diff, a line at a time; what a line begins with says what it is.
function diff(text) {
  const kinds = { "+": "added", "-": "removed", "@": "place" };
  return el("pre", { class: "diff" }, text.split("\n").map((line) => el("span", { class: kinds[line[0]] ?? "same" }, `${line}\n`)));
}

function changes(document) {
  const seen = new Set();
  const one = (it) => {
    // The changes of one file have one diff.
    const fresh = it.diff && !seen.has(it.diff);
    seen.add(it.diff);
    return el("li", { class: "card" },
      el("p", {}, state(it.action), " ", el("small", {}, it.kind), " ", el("strong", {}, it.name), ` from ${it.from}`, it.hosts.length > 0 && ` for ${it.hosts.join(", ")}`),
      fresh ? el("details", { class: "aside" }, el("summary", { "data-row": true }, it.place), diff(it.diff)) : el("p", { class: "quiet" }, el("code", {}, it.place)));
  };
  return [
    el("p", { class: "quiet" }, document.changes.length
      ? `${count(document.changes.length, "change")} that \`cargo agents sync\` would make; ${count(document.unchanged, "thing")} as wanted.`
      : `Nothing: ${count(document.unchanged, "thing")} as wanted.`),
    el("ul", { class: "cards" }, document.changes.map(one)),
    document.agreements.length > 0 && el("section", {}, el("h3", {}, "agents.lock"), el("ul", {}, document.agreements.map((it) => el("li", {}, it)))),
    findings(document.findings)];
}

export function plugins(place) {
  show(place);
  looked(place, "Plugins", "plugins", status);
  looked(place, "What a sync would change", "changes", changes);
  return () => {};
}

function agent([name, all]) {
  const wins = all.find((it) => it.available);
  const source = (it) => [state(it.available ? "wins" : it.description === undefined ? "invalid" : "shadowed"), ` ${it.source}`, it.file && el("code", {}, ` ${it.file}`), it.why_not && el("p", { class: "quiet" }, it.why_not)];
  return el("li", { class: "card", id: `agent-${name}` },
    el("p", {}, el("strong", {}, name), wins && el("small", {}, ` ${wins.source}`)),
    wins && el("p", {}, wins.description),
    el("details", { class: "aside", open: all.length > 1 }, el("summary", { "data-row": true, "data-key": `agent ${name}` }, all.length > 1 ? `${number(all.length)} of this name` : "where from"),
      el("ol", { class: "chain" }, all.map((it) => el("li", {}, source(it))))));
}

export function agents(place) {
  show(place);
  looked(place, "Agents", "agents", (document) => {
    const names = Map.groupBy(document.agents, (it) => it.name);
    return [
      el("p", { class: "quiet" }, `${count(names.size, "name")}; the first of each that can be read is meant.`),
      el("ul", { class: "cards" }, [...names].map(agent)),
      document.skipped.length > 0 && el("section", {}, el("h3", {}, "Not brought here"), el("ul", {}, document.skipped.map((it) => el("li", {}, `${it.what} of ${it.plugin}: ${it.why}`)))),
      findings(document.findings)];
  });
  return () => {};
}

