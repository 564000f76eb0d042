// What the program tells: all of it first, then what changes. And what it is asked to do.

const here = new URL("./", location.href);

export const known = { tasks: null, asks: null, plans: null, task: null, plan: null };

const listeners = new Set();
let source;
let wanted = "";

// Calls somebody whenever something is known that was not; until they are told to stop.
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(word) {
  for (const listener of listeners) listener(word);
}

function line(state, told) {
  const place = document.getElementById("line");
  place.dataset.state = state;
  place.textContent = told;
  const lost = document.getElementById("lost");
  lost.hidden = state !== "lost";
  lost.textContent = lost.hidden ? "" : "The program does not answer. What you see is what it told last; if it was ended, start `cargo agents dashboard` again and open its new address.";
}

function open() {
  source?.close();
  source = new EventSource(new URL(`events${wanted}`, here));
  source.onopen = () => line("live", "live");
  source.onerror = () => {
    line("lost", "lost");
    // A browser that is refused does not try again by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => document.hidden || open(), 3000);
  };
  for (const word of Object.keys(known)) {
    source.addEventListener(word, (event) => {
      known[word] = JSON.parse(event.data);
      tell(word);
    });
  }
}

// From now on, this task or this plan is told, too.
export function follow(query) {
  const next = new URLSearchParams(query).toString();
  const asked = next ? `?${next}` : "";
  known.task = null;
  known.plan = null;
  if (source && asked === wanted) return;
  wanted = asked;
  open();
}

// Nobody looks at a page that is not seen, and a browser has few lines to one program.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    source?.close();
    line("resting", "paused");
  } else {
    open();
  }
});

async function fetched(path, options) {
  try {
    const response = await fetch(new URL(path, here), options);
    return await response.json();
  } catch {
    return { trouble: { message: "the program does not answer" } };
  }
}

export function look(...parts) {
  return fetched(`look/${parts.map(encodeURIComponent).join("/")}`);
}

export function story(task, from) {
  return fetched(`story/${encodeURIComponent(task)}?from=${from}`);
}

// Has something done, and says what came of it.
export async function act(what) {
  const answer = await fetched("act", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(what),
  });
  const place = document.getElementById("said");
  const { trouble } = answer;
  place.dataset.state = trouble ? "bad" : "good";
  place.textContent = trouble ? [trouble.message, trouble.hint].filter(Boolean).join(": ") : answer.done;
  return !trouble;
}
