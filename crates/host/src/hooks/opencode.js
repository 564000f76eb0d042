// Written by `cargo agents`; changes are overwritten.
//
// OpenCode runs plugins, not commands. This one asks `cargo agents` what the hooks of the workspace's
// crates say, in the neutral format, and does what OpenCode lets a plugin do about it. If asking fails,
// OpenCode works as if there were no hooks.
import { spawn, spawnSync } from "node:child_process"

const PROGRAM = "@program@"
const DEADLINE = 30_000

function ask(event, facts) {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM, ["hook", "opencode", event], {
      cwd: facts.cwd,
      stdio: ["pipe", "pipe", "ignore"],
      timeout: DEADLINE,
    })
    const chunks = []
    child.on("error", () => resolve({}))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.on("close", (code) => {
      try {
        resolve(code === 0 ? JSON.parse(Buffer.concat(chunks).toString() || "{}") : {})
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(facts))
  })
}

// OpenCode may end right after this and does not wait for plugins, so it is kept waiting; nothing can be answered anyway.
function tell(event, facts) {
  spawnSync(PROGRAM, ["hook", "opencode", event], {
    cwd: facts.cwd,
    input: JSON.stringify(facts),
    stdio: ["pipe", "ignore", "ignore"],
    timeout: DEADLINE,
  })
}

function deny(answer) {
  if (answer.decision === "deny") throw new Error(answer.reason)
}

export const CargoAgents = async ({ client, directory }) => {
  const started = new Set()
  const requested = new Set()
  const about = (session_id, facts) => ({ session_id, cwd: directory, ...facts })

  return {
    "chat.message": async (input, output) => {
      const texts = output.parts.filter((part) => part.type === "text")
      const contexts = []
      if (!started.has(input.sessionID)) {
        started.add(input.sessionID)
        const answer = await ask("session-start", about(input.sessionID, { source: "startup" }))
        contexts.push(answer.additionalContext)
      }
      const prompt = texts.map((part) => part.text).join("\n")
      const answer = await ask("user-prompt-submit", about(input.sessionID, { prompt }))
      deny(answer)
      contexts.push(answer.additionalContext)
      const last = texts.at(-1)
      for (const context of contexts) {
        if (context && last) last.text += `\n\n<hook_context>\n${context}\n</hook_context>`
      }
    },

    "tool.execute.before": async (input, output) => {
      const facts = { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args }
      const answer = await ask("pre-tool-use", about(input.sessionID, facts))
      deny(answer)
      if (answer.updatedInput) {
        // In place, because OpenCode may hold on to the object that it gave us.
        for (const key of Object.keys(output.args)) delete output.args[key]
        Object.assign(output.args, answer.updatedInput)
      }
    },

    "tool.execute.after": async (input, output) => {
      const facts = {
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: input.args,
        tool_response: { title: output.title, output: output.output },
      }
      const answer = await ask("post-tool-use", about(input.sessionID, facts))
      const replaced = answer.updatedOutput
      if (replaced != null) {
        output.output = typeof replaced === "string" ? replaced : JSON.stringify(replaced)
      }
      if (answer.additionalContext) output.output += `\n\n${answer.additionalContext}`
    },

    // Older versions ask here, newer ones tell it as an event, which is answered by whoever is quicker.
    "permission.ask": async (input, output) => {
      requested.add(input.id)
      const facts = { tool_name: input.type, tool_input: { pattern: input.pattern, ...input.metadata } }
      const answer = await ask("permission-request", about(input.sessionID, facts))
      if (answer.decision) output.status = answer.decision
    },

    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("pre-compact", about(input.sessionID, { trigger: "auto" }))
      if (answer.additionalContext) output.context.push(answer.additionalContext)
    },

    event: async ({ event }) => {
      if (event.type === "session.idle") {
        await ask("stop", about(event.properties.sessionID, {}))
      } else if (event.type === "session.deleted") {
        started.delete(event.properties.info.id)
        tell("session-end", about(event.properties.info.id, { reason: "deleted" }))
      } else if (event.type === "permission.asked" && !requested.has(event.properties.id)) {
        const { id, sessionID, permission, patterns, metadata } = event.properties
        const facts = { tool_name: permission, tool_input: { pattern: patterns, ...metadata } }
        const answer = await ask("permission-request", about(sessionID, facts))
        const response = { allow: "once", deny: "reject" }[answer.decision]
        const path = { id: sessionID, permissionID: id }
        if (response) await client.postSessionIdPermissionsPermissionId({ path, body: { response } })
      }
    },
  }
}
