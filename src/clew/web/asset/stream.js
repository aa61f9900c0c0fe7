"use strict";
// Reads the stream of changes and connects again when it ends. It runs in a worker that all windows of a browser share,
// because a browser opens only six connections to a server; where there is none, it runs in the page.
const openStream = (deliver) => {
  const LONGEST = 8000;  // milliseconds between two attempts
  let wanted = "", current = null, wait = 0, timer = 0;
  const read = async (body) => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (text + value).split("\n\n");
      text = events.pop();
      events.forEach((event) => {
        const found = /^event: (\w+)\ndata: (.*)$/.exec(event);
        if (!found) return;
        const data = JSON.parse(found[2]);
        deliver(found[1] === "session" ? "session:" + data.id : found[1], data);
      });
    }
  };
  const connect = async () => {
    clearTimeout(timer);
    if (current) current.abort();
    const own = new AbortController();
    current = own;
    let state = "lost";
    try {
      const answer = await fetch("/events?" + wanted, { signal: own.signal });
      if (answer.status === 401) state = "signed-out";
      if (!answer.ok) throw new Error(answer.statusText);
      deliver("connection", "open");
      wait = 0;
      await read(answer.body);
    } catch (failed) { /* told below, unless another connection took its place */ }
    if (own !== current) return;
    deliver("connection", state);
    wait = Math.min(LONGEST, Math.max(500, wait * 2));
    timer = setTimeout(connect, wait);
  };
  return {
    follow: (topics) => {  // several windows often change their topics together
      const query = new URLSearchParams(Array.from(topics).sort().map((topic) => {
        const [kind, id] = topic.split(":");
        return [kind, id || "1"];
      })).toString();
      if (query === wanted && current) return;
      wanted = query;
      clearTimeout(timer);
      timer = setTimeout(connect, 50);
    },
    retry: () => { if (wait) { wait = 0; connect(); } },
  };
};

if (typeof SharedWorkerGlobalScope !== "undefined" && self instanceof SharedWorkerGlobalScope) {
  const ports = new Map();  // of each window: the topics that it follows
  const last = new Map();  // of each topic: the newest value
  const stream = openStream((topic, data) => {
    last.set(topic, data);
    ports.forEach((topics, port) => { if (topics.has(topic)) port.postMessage([topic, data]); });
  });
  const follow = () => {
    const topics = new Set(Array.from(ports.values()).flatMap((each) => Array.from(each)));
    topics.delete("connection");
    stream.follow(topics);
  };
  self.onconnect = (event) => {
    const port = event.ports[0];
    port.onmessage = ({ data }) => {
      if (data.retry) { stream.retry(); return; }
      if (data.topics) {
        const before = ports.get(port) || new Set();
        ports.set(port, new Set(data.topics));
        data.topics.forEach((topic) => { if (!before.has(topic) && last.has(topic)) port.postMessage([topic, last.get(topic)]); });
      } else ports.delete(port);
      follow();
    };
  };
}
