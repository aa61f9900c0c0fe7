// The methods of a query, and its callbacks: what comes of each, in one line.
import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { scripted, use } from "./bench.mjs";
import { agent, calculator, plugin } from "./options.mjs";

const UNKNOWN = "99999999-9999-4999-8999-999999999999";

// What a method gives after one turn.
function after(method, options = {}, steps = ["Done."]) {
  return async (b) => {
    const talk = b.talk(typeof options === "function" ? options(b) : options);
    await talk.turn(typeof steps === "function" ? steps(b) : steps);
    const given = await method(talk.query, b, talk);
    await talk.end();
    return given;
  };
}

const keys = (value) => (value && typeof value === "object" ? Object.keys(value).sort().join(", ") : String(value));
const hook = (answer) => [{ hooks: [async () => answer] }];
const special = (hookEventName, fields) => ({ hookSpecificOutput: { hookEventName, ...fields } });

export const METHODS = {
  "interrupt()": async (b) => {
    const talk = b.talk({ permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true });
    talk.say(scripted([b.bash("sleep 60"), "Done."]));
    await talk.until((received) => received.type === "assistant");
    const receipt = await talk.query.interrupt();
    const { subtype } = await talk.until((received) => received.type === "result");
    const again = await talk.turn(["Again."]);
    talk.query.close();
    return `${subtype}, ${JSON.stringify(receipt)}, then ${again.result.result}`;
  },
  "setPermissionMode()": after(async (query, b, talk) => {
    await query.setPermissionMode("acceptEdits");
    return (await talk.turn([b.writes(), "Done."])).calls;
  }),
  "setMcpPermissionModeOverride()": after(
    async (query) => JSON.stringify(Object.keys(await query.setMcpPermissionModeOverride("none", "default"))),
  ),
  "setModel()": after(async (query, b, talk) => {
    await query.setModel("claude-haiku-5-5");
    await talk.turn();
    const other = talk.bodies.at(-1).model;
    await query.setModel();
    await talk.turn();
    return `${other}, then ${talk.bodies.at(-1).model}`;
  }, { model: "claude-sonnet-5-5" }),
  "setMaxThinkingTokens()": after(async (query, b, talk) => {
    await query.setMaxThinkingTokens(3000);
    await talk.turn();
    return JSON.stringify(talk.bodies.at(-1).thinking.budget_tokens);
  }, { model: "claude-sonnet-4-5" }),
  "applyFlagSettings()": after(async (query, b, talk) => {
    await query.applyFlagSettings({ permissions: { allow: ["Write"] }, effortLevel: "low" });
    const { calls } = await talk.turn([b.writes(), "Done."]);
    return `${calls}, ${talk.bodies.at(-1).output_config.effort}`;
  }),
  "updateSettings() of outputStyle": after(async (query, b) => {
    await query.updateSettings("localSettings", { outputStyle: "Explanatory" });
    return readFileSync(join(b.project, ".claude", "settings.local.json"), "utf8").replace(/\s/g, "");
  }),
  "updateSettings() of effortLevel": after(async (query, b) => {
    await query.updateSettings("userSettings", { effortLevel: "low" });
    return readFileSync(join(b.claude, "settings.json"), "utf8").replace(/\s/g, "");
  }, { model: "claude-sonnet-5-5" }),
  "updateSettings() of another key": after((query) => query.updateSettings("userSettings", { model: "opus" }).catch(() => "refused")),
  "initializationResult()": after(async (query) => {
    const found = await query.initializationResult();
    return ["commands", "agents", "output_style", "available_output_styles", "models", "account", "pid"].filter((key) => key in found).join(", ");
  }),
  "reinitialize()": after(async (query) => JSON.stringify((await query.reinitialize()).pending_permission_requests)),
  "supportedCommands()": after(async (query) => {
    const found = (await query.supportedCommands()).find((command) => command.name === "compact");
    return keys(found);
  }),
  "supportedModels()": after(async (query) => (await query.supportedModels()).map((model) => model.value).join(", ")),
  "supportedAgents()": after(async (query) => `${(await query.supportedAgents()).some((each) => each.name === "general-purpose")}`),
  "mcpServerStatus()": after(async (query) => {
    const [server] = await query.mcpServerStatus();
    return `${server.name} ${server.status}, ${server.tools.map((each) => each.name)}`;
  }, () => ({ mcpServers: { calc: calculator() } })),
  "getContextUsage()": after(async (query) => {
    const found = await query.getContextUsage({ detail: "summary" });
    return `${found.maxTokens}, ${found.model}, ${found.totalTokens > 0}`;
  }, { model: "claude-sonnet-5-5" }),
  "usage…()": after(async (query) => {
    const found = await query.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET({ skipBehaviors: true });
    return `${found.rate_limits_available}, ${found.behaviors}`;
  }),
  "readFile()": after(async (query, b) => {
    b.write("project/a.txt", "one\n");
    const [text, base64, none] = [await query.readFile("a.txt"), await query.readFile("a.txt", { encoding: "base64" }), await query.readFile("none.txt")];
    const cut = await query.readFile("a.txt", { maxBytes: 2 });
    return `${text.contents?.trim()}, ${base64.contents}, ${none}, ${JSON.stringify([cut?.contents, cut?.truncated])}`;
  }),
  "reloadPlugins()": after(async (query, b) => {
    const found = await query.reloadPlugins({ addPlugins: [plugin(b)] });
    return `${["commands", "agents", "plugins", "mcpServers"].filter((key) => key in found)}, added: ${found.commands.some((each) => each.name === "tidy:sweep")}`;
  }),
  "reloadSkills()": after(async (query, b) => {
    b.write("home/.claude/skills/late/SKILL.md", "---\nname: late\ndescription: Late.\n---\nLate.\n");
    return `${(await query.reloadSkills()).skills.some((skill) => skill.name === "late")}`;
  }, { settingSources: ["user"] }),
  "reloadOutputStyles()": after(async (query, b) => {
    b.write("home/.claude/output-styles/late.md", "---\nname: Late\ndescription: Late.\n---\nLate.\n");
    return `${JSON.stringify(await query.reloadOutputStyles()).includes("Late")}`;
  }, { settingSources: ["user"] }),
  "accountInfo()": after(async (query) => keys(await query.accountInfo())),
  "rewindFiles() to an unknown message": after((query) => query.rewindFiles(UNKNOWN).then((found) => `${found.canRewind}`, () => "refused"), {
    enableFileCheckpointing: true,
  }),
  "seedReadState()": async (b) => {
    const path = b.write("project/a.txt", "one\n");
    const talk = b.talk({ permissionMode: "acceptEdits" });
    await talk.turn();
    await talk.query.seedReadState(path, Math.floor(statSync(path).mtimeMs));
    const edit = use("Edit", { file_path: path, old_string: "one", new_string: "two" });
    const { calls } = await talk.turn([[edit], "Done."]);
    await talk.end();
    return calls;
  },
  "setMcpServers(), toggleMcpServer(), reconnectMcpServer()": after(async (query) => {
    const calc = { type: "stdio", command: process.env.CALC_PYTHON, args: [process.env.CALC_SERVER] };
    const set = await query.setMcpServers({ calc });
    const status = async () => (await query.mcpServerStatus()).map((server) => server.status).join();
    const seen = [JSON.stringify([set.added, set.removed, set.errors]), await status()];
    await query.toggleMcpServer("calc", false);
    seen.push(await status());
    await query.toggleMcpServer("calc", true);
    await query.reconnectMcpServer("calc");
    seen.push(await status(), await query.reconnectMcpServer("none").catch(() => "refused"));
    return seen.join(" ");
  }),
  "readMcpResource()": after(async (query) => {
    const found = await query.readMcpResource("calc", "ui://calc/page");
    const refused = await query.readMcpResource("calc", "file:///x").catch(() => "refused");
    return `${found.contents.map((each) => `${each.mimeType} ${each.text}`)}, ${refused}`;
  }, () => ({ mcpServers: { calc: { type: "stdio", command: process.env.CALC_PYTHON, args: [process.env.CALC_SERVER] } } })),
  "streamInput()": after(async (query, b, talk) => {
    async function* more() {
      yield { type: "user", message: { role: "user", content: scripted(["More."]) }, parent_tool_use_id: null, session_id: "" };
    }
    query.streamInput(more());
    return (await talk.until((received) => received.type === "result")).result;
  }),
  "stopTask()": after(async (query, b, talk) => {
    const call = use("Bash", { command: "sleep 60", description: "Wait", run_in_background: true });
    talk.say(scripted([[call], "Done."]));
    const { task_id } = await talk.until((received) => received.subtype === "task_started");
    await talk.until((received) => received.type === "result");
    await query.stopTask(task_id);
    return (await talk.until((received) => received.subtype === "task_notification")).status;
  }, { allowedTools: ["Bash"] }),
  "backgroundTasks()": async (b) => {
    const begun = join(b.folder, "begun");
    const talk = b.talk({ permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true });
    talk.say(scripted([b.bash(`touch ${begun}; sleep 60`), "Done."]));
    await talk.until((received) => received.type === "assistant");
    while (!existsSync(begun)) await new Promise((resolve) => setTimeout(resolve, 20));
    const given = await talk.query.backgroundTasks();
    talk.query.close();
    return `${given}`;
  },
  "close()": async (b) => {
    const talk = b.talk();
    await talk.turn();
    talk.query.close();
    return `ended: ${await talk.query.next().then((next) => next.done)}`;
  },
};

export const HOOKS = {
  "hooks PreToolUse (denies)": async (b) => {
    const hooks = { PreToolUse: hook(special("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "No hooks." })) };
    const talk = await b.ask([b.bash("echo hi"), "Done."], { hooks });
    return `${talk.calls}, said: ${talk.saw("No hooks.")}`;
  },
  "hooks PreToolUse (another input)": async (b) => {
    const changed = { permissionDecision: "allow", updatedInput: { command: "echo changed", description: "Try" } };
    const talk = await b.ask([b.bash("touch x"), "Done."], { hooks: { PreToolUse: hook(special("PreToolUse", changed)) } });
    return `${talk.calls}, ran: ${talk.results[0].content}`;
  },
  "hooks PreToolUse (adds context)": async (b) => {
    const talk = await b.ask([b.bash("echo hi"), "Done."], { hooks: { PreToolUse: hook(special("PreToolUse", { additionalContext: "It is noon." })) } });
    return `sent: ${talk.saw("It is noon.")}`;
  },
  "hooks PreToolUse (ends the turn)": async (b) => {
    const talk = await b.ask([b.bash("echo hi"), "Done."], { hooks: { PreToolUse: hook({ continue: false, stopReason: "Enough." }) } });
    return `${talk.ending}, ${talk.result.terminal_reason}, ${talk.bodies.length} request`;
  },
  "hooks PostToolUse (another output)": async (b) => {
    const talk = await b.ask([b.bash("echo hi"), "Done."], {
      hooks: { PostToolUse: hook(special("PostToolUse", { updatedToolOutput: { stdout: "changed", stderr: "", interrupted: false, isImage: false } })) },
    });
    return `sent: ${talk.saw("changed")}`;
  },
  "hooks PostToolUse (another output of an MCP tool)": async (b) => {
    const options = { mcpServers: { calc: calculator() }, allowedTools: ["mcp__calc"] };
    const talk = await b.ask([[use("mcp__calc__add", { a: 2, b: 3 })], "Done."], {
      ...options,
      hooks: { PostToolUse: hook(special("PostToolUse", { updatedMCPToolOutput: [{ type: "text", text: "changed" }] })) },
    });
    return `sent: ${talk.saw("changed")}`;
  },
  "hooks PostToolUse (blocks)": async (b) => {
    const talk = await b.ask([b.bash("echo hi"), "Done."], { hooks: { PostToolUse: hook({ decision: "block", reason: "Look again." }) } });
    return `${talk.calls}, sent: ${talk.saw("Look again.")}`;
  },
  "hooks PostToolUseFailure": async (b) => {
    const talk = await b.ask([b.bash("ls none.txt"), "Done."], {
      hooks: { PostToolUseFailure: hook(special("PostToolUseFailure", { additionalContext: "It is noon." })) },
    });
    return `sent: ${talk.saw("It is noon.")}`;
  },
  "hooks UserPromptSubmit (adds context)": async (b) => {
    const talk = await b.ask(["Done."], { hooks: { UserPromptSubmit: hook(special("UserPromptSubmit", { additionalContext: "It is noon." })) } });
    return `sent: ${talk.saw("It is noon.")}`;
  },
  "hooks UserPromptSubmit (blocks)": async (b) => {
    const talk = await b.ask(["Done."], { hooks: { UserPromptSubmit: hook({ decision: "block", reason: "No." }) } });
    return `${talk.result.subtype}, ${talk.result.num_turns} turns, ${talk.bodies.length} requests`;
  },
  "hooks Stop (goes on)": async (b) => {
    let asked = 0;
    const Stop = [{ hooks: [async () => (asked++ ? {} : { decision: "block", reason: "One more." })] }];
    const talk = await b.ask(["First.", "Second."], { hooks: { Stop } });
    return `${talk.bodies.length} requests, said: ${talk.saw("One more.")}`;
  },
  "hooks PermissionRequest (allows)": async (b) => {
    const talk = await b.ask([b.writes(), "Done."], { hooks: { PermissionRequest: hook(special("PermissionRequest", { decision: { behavior: "allow" } })) } });
    return talk.calls;
  },
  "hooks (events of a turn)": async (b) => {
    const seen = [];
    const names = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "SubagentStart", "SubagentStop", "Stop", "SessionEnd", "MessageDisplay"];
    const hooks = Object.fromEntries(names.map((name) => [name, [{ hooks: [async (input) => (seen.push(input.hook_event_name), {})] }]]));
    b.write("project/CLAUDE.md", "Be brief.\n");
    await b.ask([[agent("general-purpose")], "Done."], { hooks });
    return [...new Set(seen)].sort().join(", ");
  },
  includeHookEvents: async (b) => {
    const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: "echo seen" }] }] };
    const talk = await b.ask([b.bash("echo hi"), "Done."], { settings: { hooks }, includeHookEvents: true });
    return talk.messages.filter((m) => m.subtype?.startsWith("hook_")).map((m) => `${m.subtype} ${m.hook_event} ${keys(m)}`).join("; ");
  },
  "onUserDialog, supportedDialogKinds, perTaskStopAffordance": async (b) =>
    (await b.ask(["Hello."], { onUserDialog: async () => ({}), supportedDialogKinds: [], perTaskStopAffordance: true })).ending,
};
