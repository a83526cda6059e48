// Runs inside the Node of the REPL, as `node -e`: takes code on one descriptor and answers on another.
// Descriptors: 3 takes the answers, 4 brings the requests, 5 is the output. Code gets the output as 1 and 2.
"use strict";
const fs = require("fs");
const repl = require("repl");
const util = require("util");
const vm = require("vm");
const { PassThrough } = require("stream");
const { Worker } = require("worker_threads");

const ANSWERS = 3, OUTPUT = 5, LONGEST_TEXT = 200_000;

// A thread reads: while code runs, nothing else in this one does.
const READER = `
const fs = require("fs");
const { parentPort, workerData } = require("worker_threads");
const running = new Int32Array(workerData);
const chunk = Buffer.alloc(65536);
let received = 0;
let rest = Buffer.alloc(0);
for (;;) {
  let count = 0;
  try { count = fs.readSync(4, chunk); } catch (error) { if (error.code === "EAGAIN" || error.code === "EINTR") continue; }
  if (!count) break;
  rest = Buffer.concat([rest, chunk.subarray(0, count)]);
  for (let at; (at = rest.indexOf(10)) >= 0; rest = rest.subarray(at + 1)) {
    const request = JSON.parse(rest.subarray(0, at).toString());
    if (!("interrupt" in request)) { received += 1; parentPort.postMessage(request); continue; }
    Atomics.store(running, 1, received);
    if (Atomics.load(running, 0) === received) process.kill(process.pid, "SIGINT");
  }
}
process.kill(process.pid, "SIGKILL");
`;

const shared = new SharedArrayBuffer(8);
const running = new Int32Array(shared); // The number of the run that goes on, and of the last one that was stopped.
let count = 0;
const server = repl.start({
  prompt: "", input: new PassThrough(), output: new PassThrough(), terminal: false,
});
server.context.console = console; // Its own would write to the stream that no one reads.
server.context.display = (...values) => { for (const value of values) show(value); };
let pieces = [], interrupt = () => {};
process.on("SIGINT", () => interrupt());
// The thread that reads cannot be ended while it waits, so the real one would never return. Python goes on, too.
process.exit = (code) => { throw new Error(`process.exit(${code ?? ""}) does not end the REPL. Use restart.`); };

function show(value) {
  if (Buffer.isBuffer(value) && value.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]))) {
    pieces.push({ kind: "image/png", data: value.toString("base64") });
    return;
  }
  const text = typeof value === "string" ? util.inspect(value) : util.inspect(value, { depth: 4, maxArrayLength: 200 });
  const cut = text.slice(0, LONGEST_TEXT);
  const left = text.length - cut.length;
  pieces.push({ kind: "text/plain", data: left ? `${cut}\n[... ${left} of ${text.length} characters omitted ...]` : cut });
}

function write(number, data) {
  for (let at = 0; at < data.length; ) {
    try { at += fs.writeSync(number, data, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }
  }
}

function say(message) {
  write(ANSWERS, Buffer.from(JSON.stringify(message) + "\n"));
}

function described(error) {
  try { return words(error); } catch { return "Uncaught error that cannot be shown."; }
}

function words(error) {
  if (error && error.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED") return "KeyboardInterrupt";
  return error instanceof Error || (error && error.stack) ? String(error.stack) : `Uncaught ${util.inspect(error)}`;
}

function compiled(code) {
  // An object at the beginning is meant as a value and not as a block.
  const texts = /^\s*\{/.test(code) && !/;\s*$/.test(code) ? [`(${code}\n)`, code] : [code];
  let problem;
  for (const text of texts) {
    try { return new vm.Script(text, { filename: "<repl>" }); } catch (error) { problem = error; }
  }
  return problem;
}

function run({ run: code, token }) {
  pieces = [];
  let open = true;
  const finish = (failed, error, value) => {
    if (!open) return;
    open = false;
    Atomics.store(running, 0, 0);
    // Code of the value decides how it is shown, and that may fail too.
    try { if (!failed && value !== undefined) show(value); } catch (problem) { failed = true; error = problem; }
    // The end of the output of this run, in its own place: the answer comes another way and may be earlier.
    write(OUTPUT, Buffer.from(`\0${token}\0`));
    say({ token, pieces, error: failed ? described(error).slice(-LONGEST_TEXT) : "" });
  };
  interrupt = () => finish(true, { code: "ERR_SCRIPT_EXECUTION_INTERRUPTED" });
  count += 1;
  Atomics.store(running, 0, count);
  say({ token });
  if (Atomics.load(running, 1) === count) return interrupt(); // It was stopped before it began.
  const script = compiled(code);
  if (script instanceof vm.Script) {
    let value;
    try { value = script.runInContext(server.context, { breakOnSigint: true }); } catch (error) { return finish(true, error); }
    return finish(false, null, value);
  }
  if (!/\bawait\b/.test(code)) return finish(true, script);
  // Node's own REPL knows how to keep what is declared beside an await at the top level.
  server.eval(code + "\n", server.context, "<repl>", (error, value) => {
    finish(Boolean(error), error instanceof repl.Recoverable ? error.err : error, value);
  });
}

process.on("uncaughtException", (error) => process.stderr.write(`${described(error)}\n`));
new Worker(READER, { eval: true, workerData: shared }).on("message", run);
