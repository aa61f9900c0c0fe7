// Tries options and methods of the SDK with the program that the first argument names; prints what came of each as JSON.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Bench, record } from "./bench.mjs";
import { HOOKS, METHODS } from "./methods.mjs";
import { OPTIONS } from "./options.mjs";

const SECONDS = 60; // for one of them
const FEATURES = { ...OPTIONS, ...METHODS, ...HOOKS };
const [, , program, folder, ...names] = process.argv;

if (program === "--list") {
  console.log(JSON.stringify(Object.keys(FEATURES)));
  process.exit(0);
}
process.on("unhandledRejection", () => {}); // of a talk that was given up
const found = {};
for (const [number, name] of (names.length ? names : Object.keys(FEATURES)).entries()) {
  const api = await record(process.env.ANTHROPIC_BASE_URL);
  const place = join(folder, String(number));
  mkdirSync(place);
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, SECONDS * 1000, "no answer")));
  const tried = FEATURES[name](new Bench(program, place, api)).catch((error) => `${error.constructor.name}: ${error.message.split("\n")[0].slice(0, 100)}`);
  found[name] = String(await Promise.race([tried, late]));
  clearTimeout(timer);
  api.close();
}
console.log(JSON.stringify(found));
process.exit(0); // programs of talks that were given up end with it
