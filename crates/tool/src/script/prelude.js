// What a script sees of the world. Nothing here is a wall: a script may break all of it, and then only its own calls fail.
(function (call, log, finish, servers, script) {
  "use strict";
  const { stringify, parse } = JSON;
  const waiting = new Map();
  let last = 0;

  const tools = Object.create(null);
  for (const server of servers) {
    const ask = (tool) => (input) =>
      new Promise((resolve, reject) => {
        const text = stringify(input === undefined ? {} : input);
        last += 1;
        waiting.set(last, { resolve, reject });
        call(last, server, tool, text);
      });
    tools[server] = new Proxy(Object.freeze(Object.create(null)), {
      // A promise that resolves to a server would look for `then`.
      get: (_, tool) => (typeof tool === "string" && tool !== "then" ? ask(tool) : undefined),
    });
  }

  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return told(value);
    const text = typeof value === "bigint" ? undefined : stringify(value);
    return text === undefined ? String(value) : text;
  };
  const note = (...values) => log(values.map(shown).join(" "));
  const console = Object.freeze({ log: note, info: note, warn: note, error: note, debug: note });

  // The two lines before the body of the function are not the script's.
  const told = (error) => {
    // An interpreter without room for an error throws this.
    if (error === null) return "null (the script threw it, or no memory was left)";
    if (!(error instanceof Error)) return shown(error);
    const at = /<input>:(\d+)/.exec(String(error.stack));
    const line = at !== null && at[1] > 2 ? ` (line ${at[1] - 2})` : "";
    return `${error.name}: ${error.message}${line}`;
  };

  const AsyncFunction = (async () => {}).constructor;
  const run = async () => new AsyncFunction("tools", "console", script)(Object.freeze(tools), console);
  run()
    .then((value) => finish(true, value === undefined ? "null" : stringify(value) ?? "null"))
    .catch((error) => finish(false, told(error)));

  return (id, good, text) => {
    const one = waiting.get(id);
    waiting.delete(id);
    if (one === undefined) return;
    if (good) one.resolve(parse(text));
    else one.reject(new Error(parse(text)));
  };
});
