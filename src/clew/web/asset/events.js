"use strict";
// Changes on the server, for all scripts of a page: `clew.follow("sessions", (data) => …)`. Topics are "session:ID"
// ({state, changed} or {gone}), "sessions" ({version, changed}), "index" ({percent, isDone}), and "connection".
(() => {
  const handlers = new Map([["connection", []]]);
  const last = new Map();
  const deliver = (topic, data) => {
    const text = JSON.stringify(data);
    if (last.get(topic) === text) return;
    last.set(topic, text);
    (handlers.get(topic) || []).forEach((handle) => handle(data));
  };

  let tell;  // of a message to the stream
  if (window.SharedWorker) {
    const worker = new SharedWorker(document.body.dataset.stream, "clew");
    worker.port.onmessage = ({ data: [topic, data] }) => deliver(topic, data);
    tell = (message) => worker.port.postMessage(message);
  } else {
    const stream = openStream(deliver);
    tell = ({ topics, retry }) => { if (topics) stream.follow(topics.filter((topic) => topic !== "connection")); if (retry) stream.retry(); };
  }
  const follow = () => tell({ topics: Array.from(handlers.keys()) });

  clew.follow = (topic, handle) => {
    if (handlers.has(topic)) handlers.get(topic).push(handle);
    else { handlers.set(topic, [handle]); follow(); }
    if (last.has(topic)) handle(JSON.parse(last.get(topic)));
  };
  clew.isConnected = () => last.get("connection") === '"open"';

  let timer = 0, wasLost = false;
  clew.follow("connection", (state) => {
    clearTimeout(timer);
    if (state === "open") {
      clew.banner("");
      if (wasLost) {
        clew.toast("Connected again.", "good");
        document.dispatchEvent(new Event("clew-reconnected"));  // what failed meanwhile can be asked again
      }
      wasLost = false;
      return;
    }
    const say = () => {
      wasLost = true;
      clew.banner(state === "signed-out" ? "Signed out: reload this page to sign in." : "Not connected, retrying. Is clew serve running?");
    };
    timer = setTimeout(say, state === "signed-out" ? 0 : 700);  // a server that restarts at once is no news
  });
  addEventListener("pagehide", () => tell({ topics: null }));
  addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
  addEventListener("online", () => tell({ retry: true }));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) tell({ retry: true }); });
  follow();
})();
