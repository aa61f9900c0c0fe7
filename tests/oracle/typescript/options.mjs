// The options of `query()`: what comes of each, in one line.
import { createSdkMcpServer, InMemorySessionStore, tool } from "@anthropic-ai/claude-agent-sdk";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { collect, message, scripted, use } from "./bench.mjs";

const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
const INNER = "inner work";

export function calculator() {
  const add = tool("add", "Adds.", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] });
}

function plugin(bench) {
  bench.write("plugin/.claude-plugin/plugin.json", { name: "tidy", version: "1.0.0" });
  bench.write("plugin/commands/sweep.md", "---\ndescription: sweeps\n---\nSweep.\n");
  return { type: "local", path: join(bench.folder, "plugin") };
}

function agent(type, more = {}) {
  return use("Task", { description: "Help", prompt: INNER, subagent_type: type, run_in_background: false, ...more });
}

// What the last message says of a turn that ended at a limit: the SDK throws after it.
async function limited(bench, options) {
  const talk = bench.talk(options);
  const { result } = await talk.turn([bench.bash("echo 1"), bench.bash("echo 2"), "Done."]);
  talk.query.close();
  return `${result.subtype}, ${result.num_turns} turns, ${result.terminal_reason}`;
}

function sessions(bench) {
  const folder = join(bench.claude, "projects");
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
  return files.filter((name) => name.endsWith(".jsonl")).length;
}

export const OPTIONS = {
  "prompt (text)": async (b) => {
    const talk = await b.ask(["Hello."]);
    return `${talk.ending}: ${talk.result.result}`;
  },
  "prompt (messages)": async (b) => {
    async function* said() {
      yield message([{ type: "text", text: scripted(["Hello."]) }]);
    }
    const talk = await b.ask([], {}, said());
    return `${talk.ending}: ${talk.result.result}`;
  },
  abortController: async (b) => {
    const abortController = new AbortController();
    const talk = b.talk({ abortController, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true });
    talk.say(scripted([b.bash("sleep 60"), "Done."]));
    await talk.until((received) => received.type === "assistant");
    abortController.abort();
    return talk.until(() => false).catch((error) => error.constructor.name);
  },
  additionalDirectories: async (b) => {
    mkdirSync(join(b.folder, "other"));
    const call = use("Write", { file_path: join(b.folder, "other", "x.txt"), content: "x\n" });
    return (await b.ask([[call], "Done."], { additionalDirectories: [join(b.folder, "other")], permissionMode: "acceptEdits" })).calls;
  },
  projectConfigRoot: async (b) => {
    b.write("main/.claude/commands/sweep.md", "---\ndescription: sweeps\n---\nSweep.\n");
    const talk = await b.ask(["Done."], { projectConfigRoot: join(b.folder, "main"), settingSources: ["project"] });
    return `command listed: ${talk.init.slash_commands.includes("sweep")}`;
  },
  agent: async (b) => {
    const agents = { clock: { description: "Is a clock.", prompt: "You are a clock." } };
    return `its prompt sent: ${(await b.ask(["Done."], { agents, agent: "clock" })).system.includes("You are a clock.")}`;
  },
  agents: async (b) => {
    const agents = { helper: { description: "Helps.", prompt: "You help." } };
    const talk = await b.ask([[agent("helper")], "Done."], { agents });
    return `${talk.calls}, listed: ${talk.init.agents.includes("helper")}`;
  },
  allowedTools: async (b) => (await b.ask([b.writes(), "Done."], { allowedTools: ["Write"] })).calls,
  "allowedTools (none)": async (b) => {
    const talk = await b.ask([b.writes(), "Done."]);
    return `${talk.calls}, ${talk.result.permission_denials.length} denials`;
  },
  "canUseTool (another input)": async (b) => {
    const canUseTool = async (name, input) => ({ behavior: "allow", updatedInput: { ...input, content: "changed\n" } });
    const talk = await b.ask([b.writes(), "Done."], { canUseTool });
    return `${talk.calls}: ${readFileSync(join(b.project, "new.txt"), "utf8").trim()}`;
  },
  "canUseTool (denies)": async (b) => {
    const canUseTool = async () => ({ behavior: "deny", message: "Not now." });
    const talk = await b.ask([b.writes(), "Done."], { canUseTool });
    return `${talk.calls}, said: ${talk.saw("Not now.")}`;
  },
  "canUseTool (denies, interrupts)": async (b) => {
    const canUseTool = async () => ({ behavior: "deny", message: "Not now.", interrupt: true });
    const talk = b.talk({ canUseTool });
    const ended = await talk.turn([b.writes(), "Done."]);
    talk.query.close();
    return `${ended.result.subtype}, ${ended.bodies.filter((body) => body.tools?.length).length} request`;
  },
  "canUseTool (what it gets)": async (b) => {
    let keys = [];
    const canUseTool = async (name, input, more) => {
      keys = ["description", "displayName", "requestId", "signal", "suggestions", "toolUseID"].filter((key) => more[key] !== undefined);
      return { behavior: "allow", updatedInput: input };
    };
    await b.ask([b.writes(), "Done."], { canUseTool });
    return keys.join(", ");
  },
  "canUseTool (suggestions)": async (b) => {
    const seen = [];
    const canUseTool = async (name, input, { suggestions = [] }) => {
      seen.push(suggestions.map((update) => `${update.type} ${update.destination}`).join(" + "));
      return { behavior: "allow", updatedInput: input };
    };
    const outside = use("Write", { file_path: join(b.folder, "out.txt"), content: "x\n" });
    await b.ask([b.writes(), [outside], "Done."], { canUseTool });
    return seen.join("; ");
  },
  continue: async (b) => {
    const first = await b.ask(["First."]);
    const second = await b.ask(["Second."], { continue: true });
    return `same session: ${first.result.session_id === second.result.session_id}, remembers: ${second.saw("First.")}`;
  },
  cwd: async (b) => `kept: ${(await b.ask()).init.cwd === b.project}`,
  disallowedTools: async (b) => {
    const talk = await b.ask([b.bash("echo hi"), "Done."], { disallowedTools: ["Bash"] });
    return `${talk.calls}, Bash offered: ${talk.init.tools.includes("Bash")}`;
  },
  toolAliases: async (b) => {
    const options = { toolAliases: { Plus: "mcp__calc__add" }, mcpServers: { calc: calculator() }, allowedTools: ["mcp__calc"] };
    return (await b.ask([[use("Plus", { a: 2, b: 3 })], "Done."], options)).calls;
  },
  tools: async (b) => (await b.ask(["Done."], { tools: ["Read", "Bash"] })).init.tools.sort().join(", "),
  "tools (none)": async (b) => `${(await b.ask(["Done."], { tools: [] })).init.tools.length} tools`,
  "tools (preset)": async (b) => {
    const offered = (await b.ask(["Done."], { tools: { type: "preset", preset: "claude_code" } })).init.tools;
    return ["Bash", "Read", "Edit", "Write"].filter((name) => offered.includes(name)).join(", ");
  },
  env: async (b) => {
    const talk = await b.ask([b.bash("echo $COLOUR"), "Done."], { env: { COLOUR: "blue" }, allowedTools: ["Bash"] });
    return talk.saw("blue") ? "passed on" : "not passed on";
  },
  "executable, executableArgs": async (b) => (await b.ask(["Hello."], { executable: "node", executableArgs: [] })).ending,
  extraArgs: async (b) => (await b.ask(["Done."], { extraArgs: { model: "claude-haiku-5-5" } })).main.model,
  fallbackModel: async (b) => {
    const talk = await b.ask([], { model: "claude-sonnet-5-5", fallbackModel: "claude-haiku-5-5" }, "overloaded");
    return `${talk.result.subtype}: ${talk.result.result}, asked at last: ${talk.bodies.at(-1).model}`;
  },
  "enableFileCheckpointing, rewindFiles()": async (b) => {
    const path = b.write("project/a.txt", "one\n");
    const options = { enableFileCheckpointing: true, permissionMode: "acceptEdits", extraArgs: { "replay-user-messages": null } };
    const talk = b.talk(options);
    const edit = use("Edit", { file_path: path, old_string: "one", new_string: "two" });
    const { messages } = await talk.turn([[use("Read", { file_path: path })], [edit], "Done."]);
    const before = readFileSync(path, "utf8").trim();
    const prompt = messages.find((received) => received.type === "user" && received.isReplay);
    const dry = await talk.query.rewindFiles(prompt.uuid, { dryRun: true });
    const done = await talk.query.rewindFiles(prompt.uuid);
    const after = readFileSync(path, "utf8").trim();
    await talk.end();
    return `${before}, then ${after}; ${JSON.stringify([dry.canRewind, dry.insertions, dry.deletions, dry.filesChanged?.length, done.canRewind])}`;
  },
  toolConfig: async (b) => (await b.ask(["Hello."], { toolConfig: { askUserQuestion: { previewFormat: "html" } } })).ending,
  forkSession: async (b) => {
    const first = (await b.ask(["First."])).result.session_id;
    const second = await b.ask(["Second."], { resume: first, forkSession: true });
    return `same session: ${second.result.session_id === first}, remembers: ${second.saw("First.")}`;
  },
  betas: async (b) => {
    const talk = await b.ask(["Done."], { betas: ["context-1m-2025-08-07"], model: "claude-sonnet-4-5" });
    return `sent: ${talk.main.headers["anthropic-beta"].includes("context-1m-2025-08-07")}`;
  },
  persistSession: async (b) => {
    await b.ask(["Done."], { persistSession: false });
    return `${sessions(b)} session files`;
  },
  "sessionStore, sessionStoreFlush, loadTimeoutMs": async (b) => {
    const sessionStore = new InMemorySessionStore();
    const kept = { sessionStore, sessionStoreFlush: "eager", loadTimeoutMs: 20000 };
    const first = (await b.ask(["First."], kept)).result.session_id;
    const second = await b.ask(["Second."], { ...kept, resume: first });
    return `remembers: ${second.saw("First.")}, same session: ${second.result.session_id === first}`;
  },
  includePartialMessages: async (b) => {
    const events = (await b.ask(["Hello."], { includePartialMessages: true })).messages.filter((m) => m.type === "stream_event");
    return events.map((m) => m.event.type).filter((type) => !type.includes("delta")).join(", ");
  },
  forwardSubagentText: async (b) => {
    const talk = await b.ask([[agent("general-purpose")], "Done."], { forwardSubagentText: true });
    const inner = talk.messages.filter((m) => m.parent_tool_use_id && m.type === "assistant");
    return `${inner.flatMap((m) => m.message.content.map((block) => block.text)).join(" ")}`;
  },
  verbatimPrompts: async (b) => {
    b.write("home/.claude/commands/hello.md", "Say hello.\n");
    const talk = await b.ask([], { verbatimPrompts: true }, "/hello verbatim");
    return `as written: ${talk.saw("/hello verbatim")}, expanded: ${talk.saw("Say hello.")}`;
  },
  "thinking (enabled)": async (b) => {
    const { thinking } = (await b.ask(["Done."], { model: "claude-sonnet-4-5", thinking: { type: "enabled", budgetTokens: 5000 } })).main;
    return `${thinking.type} ${thinking.budget_tokens}`;
  },
  "thinking (adaptive)": async (b) => (await b.ask(["Done."], { thinking: { type: "adaptive" } })).main.thinking.type,
  "thinking (disabled)": async (b) => {
    const { thinking } = (await b.ask(["Done."], { model: "claude-sonnet-4-5", thinking: { type: "disabled" } })).main;
    return `${thinking?.type ?? "none"}`;
  },
  effort: async (b) => JSON.stringify((await b.ask(["Done."], { effort: "low" })).main.output_config),
  maxThinkingTokens: async (b) => {
    const { thinking } = (await b.ask(["Done."], { model: "claude-sonnet-4-5", maxThinkingTokens: 4000 })).main;
    return `${thinking.type} ${thinking.budget_tokens}`;
  },
  maxTurns: async (b) => limited(b, { maxTurns: 1 }),
  maxBudgetUsd: async (b) => limited(b, { maxBudgetUsd: 0.000001 }),
  taskBudget: async (b) => {
    const { main } = await b.ask(["Done."], { taskBudget: { total: 50000 } });
    return JSON.stringify([main.output_config.task_budget, main.headers["anthropic-beta"].includes("task-budgets-2026-03-13")]);
  },
  "mcpServers (in the program)": async (b) => {
    const talk = await b.ask([[use("mcp__calc__add", { a: 2, b: 3 })], "Done."], { mcpServers: { calc: calculator() }, allowedTools: ["mcp__calc__add"] });
    return `${talk.calls}, ${JSON.stringify(talk.init.mcp_servers)}`;
  },
  "mcpServers (program)": async (b) => {
    const calc = { type: "stdio", command: process.env.CALC_PYTHON, args: [process.env.CALC_SERVER] };
    const talk = await b.ask([[use("mcp__calc__add", { a: 2, b: 3 })], "Done."], { mcpServers: { calc }, allowedTools: ["mcp__calc"] });
    return talk.calls;
  },
  model: async (b) => (await b.ask(["Done."], { model: "haiku" })).main.model,
  outputFormat: async (b) => {
    const talk = await b.ask([[use("StructuredOutput", { n: 3 })], "Done."], { outputFormat: { type: "json_schema", schema: SCHEMA } });
    return `${talk.result.subtype}: ${JSON.stringify(talk.result.structured_output)}`;
  },
  "permissionMode (acceptEdits)": async (b) => (await b.ask([b.writes(), "Done."], { permissionMode: "acceptEdits" })).calls,
  "permissionMode (plan)": async (b) => {
    const talk = await b.ask([b.writes(), "Done."], { permissionMode: "plan" });
    return `${talk.calls}, ${talk.init.permissionMode}`;
  },
  "permissionMode (dontAsk)": async (b) => (await b.ask([b.writes(), "Done."], { permissionMode: "dontAsk" })).calls,
  "permissionMode (bypassPermissions), allowDangerouslySkipPermissions": async (b) =>
    (await b.ask([b.bash("touch made"), "Done."], { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true })).calls,
  planModeInstructions: async (b) => {
    const talk = await b.ask(["Done."], { permissionMode: "plan", planModeInstructions: "Plan a garden." });
    return `sent: ${JSON.stringify(talk.main).includes("Plan a garden.")}`;
  },
  permissionPromptToolName: async (b) => {
    const may = tool("may", "Decides.", { tool_name: z.string(), input: z.any() }, async ({ input }) => ({
      content: [{ type: "text", text: JSON.stringify({ behavior: "allow", updatedInput: { ...input, content: "asked\n" } }) }],
    }));
    const mcpServers = { judge: createSdkMcpServer({ name: "judge", tools: [may] }) };
    const talk = await b.ask([b.writes(), "Done."], { mcpServers, permissionPromptToolName: "mcp__judge__may" });
    return `${talk.calls}: ${existsSync(join(b.project, "new.txt")) ? readFileSync(join(b.project, "new.txt"), "utf8").trim() : ""}`;
  },
  permissionPrompts: async (b) => {
    const canUseTool = async (name, input) => ({ behavior: "allow", updatedInput: input });
    return (await b.ask([b.writes(), "Done."], { canUseTool, permissionPrompts: "none" })).calls;
  },
  plugins: async (b) => `command listed: ${(await b.ask(["Done."], { plugins: [plugin(b)] })).init.slash_commands.includes("tidy:sweep")}`,
  pluginDelivery: async (b) => {
    const talk = await b.ask(["Done."], { plugins: [plugin(b)], pluginDelivery: "initialize" });
    return `command listed: ${talk.init.slash_commands.includes("tidy:sweep")}`;
  },
  "promptSuggestions, agentProgressSummaries": async (b) =>
    (await b.ask(["Hello."], { promptSuggestions: true, agentProgressSummaries: true })).ending,
  resume: async (b) => {
    const first = (await b.ask(["First."])).result.session_id;
    const second = await b.ask(["Second."], { resume: first });
    return `same session: ${second.result.session_id === first}, remembers: ${second.saw("First.")}`;
  },
  sessionId: async (b) => {
    const sessionId = "44444444-4444-4444-8444-444444444444";
    return `kept: ${(await b.ask(["Done."], { sessionId })).result.session_id === sessionId}`;
  },
  resumeSessionAt: async (b) => {
    const first = await b.ask(["First."]);
    const at = first.messages.find((received) => received.type === "assistant").uuid;
    await b.ask(["Second."], { resume: first.result.session_id });
    const third = await b.ask(["Third."], { resume: first.result.session_id, resumeSessionAt: at });
    return `remembers: ${third.saw("First.")}, ${third.saw("Second.")}`;
  },
  resumeDropsTurn: async (b) => {
    const first = await b.ask(["First."]);
    const at = first.messages.find((received) => received.type === "assistant").uuid;
    const talk = b.talk({ resume: first.result.session_id, extraArgs: { "replay-user-messages": null } });
    const turn = await talk.turn(["Second."]);
    await talk.end();
    const dropped = turn.messages.find((received) => received.isReplay).uuid;
    const options = { resume: first.result.session_id, resumeSessionAt: at };
    const wrong = await b.ask(["Third."], { ...options, resumeDropsTurn: "99999999-9999-4999-8999-999999999999" }).then(
      (talk) => talk.result.subtype,
      (error) => `refused: ${/Resume rejected by --resume-drops-turn/.test(error.message)}`,
    );
    const right = await b.ask(["Third."], { ...options, resumeDropsTurn: dropped });
    return `another turn: ${wrong}; that turn: ${right.result.subtype}, remembers it: ${right.saw("Second.")}`;
  },
  sandbox: async (b) => (await b.ask([b.bash("echo hi"), "Done."], { sandbox: { enabled: false } })).calls,
  settings: async (b) => (await b.ask([b.writes(), "Done."], { settings: { permissions: { allow: ["Write"] } } })).calls,
  managedSettings: async (b) =>
    (await b.ask([b.bash("echo hi"), "Done."], { managedSettings: { permissions: { deny: ["Bash"] } }, allowedTools: ["Bash"] })).calls,
  settingSources: async (b) => {
    b.write("home/.claude/settings.json", { permissions: { allow: ["Write"] } });
    const without = (await b.ask([b.writes("a"), "Done."], { settingSources: ["project"] })).calls;
    return `project: ${without}; user: ${(await b.ask([b.writes("b"), "Done."], { settingSources: ["user"] })).calls}`;
  },
  skills: async (b) => {
    for (const name of ["one", "two"]) b.write(`home/.claude/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: Skill ${name}.\n---\nDo ${name}.\n`);
    const talk = await b.ask([[use("Skill", { skill: "one" })], "Done."], { skills: ["one"], settingSources: ["user"] });
    return `${talk.calls}, offered: ${["one", "two"].filter((name) => talk.last.includes(`Skill ${name}.`) || JSON.stringify(talk.main.tools).includes(`Skill ${name}.`) || talk.system.includes(`Skill ${name}.`))}`;
  },
  "debug, debugFile": async (b) => {
    const debugFile = join(b.folder, "debug.log");
    await b.ask(["Done."], { debug: true, debugFile });
    return `file written: ${existsSync(debugFile)}`;
  },
  stderr: async (b) => {
    b.write("home/.claude/settings.json", { hooks: {} });
    const heard = [];
    const talk = await b.ask(["Done."], { stderr: (text) => heard.push(text), model: "claude-sonnet-5-5" });
    return `${talk.ending}, ${heard.length} texts`;
  },
  strictMcpConfig: async (b) => {
    b.write("home/.claude/.claude.json", { mcpServers: { other: { type: "stdio", command: "/none/such", args: [] } } });
    const options = { mcpServers: { calc: calculator() }, strictMcpConfig: true };
    return JSON.stringify((await b.ask(["Done."], options)).init.mcp_servers.map((server) => server.name));
  },
  systemPrompt: async (b) => ((await b.ask(["Done."], { systemPrompt: "You are a clock." })).system.includes("You are a clock.") ? "sent" : "not sent"),
  "systemPrompt (list)": async (b) => {
    const talk = await b.ask(["Done."], { systemPrompt: ["You are a clock.", "Tick."] });
    return `${["You are a clock.", "Tick."].filter((text) => talk.system.includes(text)).join(" ")}`;
  },
  "systemPrompt (preset with append)": async (b) => {
    const talk = await b.ask(["Done."], { systemPrompt: { type: "preset", preset: "claude_code", append: "Be a clock." } });
    return talk.system.includes("Be a clock.") && talk.system.length > 200 ? "appended" : "not appended";
  },
  title: async (b) => {
    const talk = await b.ask(["Done."], { title: "Clocks" });
    const folder = join(b.claude, "projects");
    const file = readdirSync(folder, { recursive: true }).find((name) => name.endsWith(`${talk.result.session_id}.jsonl`));
    return `in the session file: ${readFileSync(join(folder, file), "utf8").includes("Clocks")}`;
  },
  spawnClaudeCodeProcess: async (b) => {
    let started = 0;
    const spawnClaudeCodeProcess = ({ command, args, cwd, env, signal }) => {
      started++;
      return spawn(command, args, { cwd, env, signal, stdio: ["pipe", "pipe", "ignore"] });
    };
    return `${(await b.ask(["Hello."], { spawnClaudeCodeProcess })).ending}, ${started} process`;
  },
};
export { agent, collect, plugin };
