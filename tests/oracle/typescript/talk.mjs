// Talks with the program that the first argument names, through the SDK for TypeScript, and prints what it found as JSON.
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { existsSync } from "node:fs";
import { z } from "zod";

const [, , program, project, begun] = process.argv;
const shared = { pathToClaudeCodeExecutable: program, cwd: project, env: process.env };
const found = {};

async function all(talk) {
  const messages = [];
  for await (const message of talk) messages.push(message);
  return messages;
}

const first = await all(query({ prompt: "hello", options: { ...shared, systemPrompt: "You are a clock." } }));
found.query = first.map((message) => message.subtype ?? message.type);
const session = first.at(-1).session_id;

// Prompts that are said one after the other, until null ends the talk.
const waiting = [];
let wake = () => {};
function say(text) {
  waiting.push(text);
  wake();
}
async function* prompts() {
  for (;;) {
    while (!waiting.length) await new Promise((resolve) => (wake = resolve));
    const text = waiting.shift();
    if (text === null) return;
    yield { type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, session_id: "" };
  }
}

found.asked = [];
found.hooked = [];
const add = tool("add", "Adds.", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
  content: [{ type: "text", text: String(a + b) }],
}));
const talk = query({
  prompt: prompts(),
  options: {
    ...shared,
    mcpServers: { calc: createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] }) },
    hooks: {
      PreToolUse: [{ hooks: [async (input) => (found.hooked.push(input.tool_name), {})] }],
    },
    canUseTool: async (name, input, { suggestions }) => {
      found.asked.push([name, suggestions.map((update) => update.type)]);
      if (input.file_path?.endsWith("secret")) return { behavior: "deny", message: "Not that one." };
      return { behavior: "allow", updatedInput: input, updatedPermissions: suggestions };
    },
  },
});

async function turn(text, meanwhile = async () => {}) {
  say(text);
  const hearing = (async () => {
    const messages = [];
    do messages.push((await talk.next()).value);
    while (messages.at(-1).type !== "result");
    return messages;
  })();
  await meanwhile();
  return hearing;
}

const tools = await turn("tools");
const blocks = tools.filter((message) => message.type === "user").flatMap((message) => message.message.content);
found.results = blocks.filter((block) => block.type === "tool_result").map((block) => block.content);
await talk.setPermissionMode("plan");
await talk.setModel("claude-opus-4-5");
const planned = await turn("again");
found.mode = planned.find((message) => message.subtype === "init").permissionMode;
await talk.setPermissionMode("default");
const broken = await turn("wait", async () => {
  while (!existsSync(begun)) await new Promise((resolve) => setTimeout(resolve, 20));
  await talk.interrupt();
});
found.interrupted = [broken.at(-1).subtype, broken.at(-1).is_error];
found.again = (await turn("again")).at(-1).result;
found.commands = (await talk.supportedCommands()).map((command) => command.name);
found.models = (await talk.supportedModels()).map((model) => model.value);
found.agents = (await talk.supportedAgents()).map((agent) => agent.name);
found.servers = await talk.mcpServerStatus();
found.tokens = (await talk.getContextUsage()).totalTokens;
say(null);
await all(talk);

const resumed = (await all(query({ prompt: "again", options: { ...shared, resume: session } }))).at(-1);
found.resumed = [resumed.session_id === session, resumed.result];
console.log(JSON.stringify(found));
