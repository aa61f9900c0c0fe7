// One program, driven through the SDK for TypeScript, with folders of its own and a record of its requests to the API.
import { query } from "@anthropic-ai/claude-agent-sdk";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

// The prompt carries the replies of the mock.
export function scripted(steps, words = "go") {
  return `${words} <<SCRIPT>>${JSON.stringify(steps)}<<END>>`;
}

export function use(name, input) {
  return { type: "tool_use", id: `toolu_${Math.random().toString(36).slice(2)}`, name, input };
}

export function message(content, more = {}) {
  return { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "", ...more };
}

export async function collect(talk) {
  const messages = [];
  for await (const received of talk) messages.push(received);
  return messages;
}

// Forwards to the API, and keeps the bodies and headers of requests for messages.
export async function record(target) {
  const bodies = [];
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { host, connection, "content-length": _length, ...headers } = request.headers;
    if (request.url.startsWith("/v1/messages") && !request.url.includes("count_tokens") && body.length)
      bodies.push({ ...JSON.parse(body), headers });
    const sent = { method: request.method, headers, ...(body.length ? { body } : {}) };
    const answer = await fetch(target + request.url, sent).catch(() => null);
    if (!answer) return response.destroy();
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    try {
      if (answer.body) for await (const part of answer.body) response.write(part);
    } catch {
      // the program went away
    }
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { bodies, url: `http://127.0.0.1:${server.address().port}`, close: () => server.closeAllConnections() ?? server.close() };
}

export class Outcome {
  constructor(messages, bodies) {
    this.messages = messages;
    this.bodies = bodies;
  }
  get result() {
    return this.messages.findLast((received) => received.type === "result");
  }
  get init() {
    return this.messages.findLast((received) => received.subtype === "init");
  }
  get ending() {
    return `${this.result.subtype}, ${this.result.num_turns} turns`;
  }
  get results() {
    const blocks = this.messages.filter((m) => m.type === "user").flatMap((m) => m.message.content);
    return blocks.filter((block) => block.type === "tool_result");
  }
  get calls() {
    return this.results.map((block) => (block.is_error ? "failed" : "done")).join(", ") || "no calls";
  }
  get main() {
    return this.bodies.find((body) => body.tools?.length) ?? this.bodies[0];
  }
  get last() {
    return JSON.stringify(this.bodies.filter((body) => body.tools?.length).at(-1).messages);
  }
  get system() {
    const system = this.main.system ?? "";
    return typeof system === "string" ? system : system.map((block) => block.text).join(" ");
  }
  saw(text) {
    return this.last.includes(text);
  }
}

export class Bench {
  constructor(program, folder, api) {
    Object.assign(this, { program, folder, api });
    this.project = join(folder, "project");
    this.home = join(folder, "home");
    this.claude = join(this.home, ".claude");
    for (const path of [this.project, this.claude, join(this.home, "data"), join(this.home, "tmp")])
      mkdirSync(path, { recursive: true });
  }
  write(name, text) {
    const path = join(this.folder, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, typeof text === "string" ? text : JSON.stringify(text));
    return path;
  }
  options({ env = {}, ...more } = {}) {
    const folders = {
      HOME: this.home,
      CLAUDE_CONFIG_DIR: this.claude,
      XDG_DATA_HOME: join(this.home, "data"),
      TMPDIR: join(this.home, "tmp"),
    };
    const all = { ...process.env, ...folders, ANTHROPIC_BASE_URL: this.api.url, ...env };
    return { pathToClaudeCodeExecutable: this.program, cwd: this.project, env: all, ...more };
  }
  // One prompt with these options; an async prompt keeps the input open until the result.
  async ask(steps = ["Done."], options = {}, prompt = scripted(steps)) {
    const from = this.api.bodies.length;
    const messages = await collect(query({ prompt, options: this.options(options) }));
    return new Outcome(messages, this.api.bodies.slice(from));
  }
  talk(options = {}) {
    return new Talk(this, options);
  }
  writes(name = "new.txt", content = "x\n") {
    return [use("Write", { file_path: join(this.project, name), content })];
  }
  bash(command) {
    return [use("Bash", { command, description: "Try" })];
  }
}

// A session with an open input: prompts are said one after the other.
export class Talk {
  constructor(bench, options) {
    this.bench = bench;
    this.waiting = [];
    this.wake = () => {};
    this.messages = [];
    this.from = bench.api.bodies.length;
    this.query = query({ prompt: this.prompts(), options: bench.options(options) });
  }
  async *prompts() {
    for (;;) {
      while (!this.waiting.length) await new Promise((resolve) => (this.wake = resolve));
      const next = this.waiting.shift();
      if (next === null) return;
      yield next;
    }
  }
  say(next) {
    this.waiting.push(next === null || typeof next === "object" ? next : message(next));
    this.wake();
  }
  async until(wanted) {
    for (;;) {
      const { value, done } = await this.query.next();
      if (done) throw new Error("the talk ended");
      this.messages.push(value);
      if (wanted(value)) return value;
    }
  }
  async turn(steps = ["Done."], words = "go") {
    const from = this.messages.length;
    this.say(scripted(steps, words));
    await this.until((received) => received.type === "result");
    return new Outcome(this.messages.slice(from), this.bodies);
  }
  get bodies() {
    return this.bench.api.bodies.slice(this.from);
  }
  async end() {
    this.say(null);
    for await (const received of this.query) this.messages.push(received);
  }
}
