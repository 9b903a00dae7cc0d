// The page of an audit in headless Chromium: look, filter, decide with the keyboard, reload, export.
//
//   node tests/browser/audit.mjs AUDIT_DIR [CHROMIUM]
//
// AUDIT_DIR holds audit.html of an audit with at least four shown suspects. Speaks the DevTools protocol over a pipe: needs nothing but Node and Chromium.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [directory, chromium = "/usr/bin/chromium"] = process.argv.slice(2);
if (!directory) { console.error("usage: audit.mjs AUDIT_DIR [CHROMIUM]"); process.exit(2); }
const scratch = mkdtempSync(join(tmpdir(), "tares-browser-"));
const browser = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
  `--user-data-dir=${scratch}/profile`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [, , , input, output] = browser.stdio;
let buffer = "", next = 1;
const waiting = new Map(), problems = [];
output.on("data", (chunk) => {
  buffer += chunk;
  for (let end; (end = buffer.indexOf("\0")) >= 0; buffer = buffer.slice(end + 1)) {
    const message = JSON.parse(buffer.slice(0, end));
    if (message.id) { waiting.get(message.id)?.(message); waiting.delete(message.id); }
    if (message.method === "Runtime.exceptionThrown") problems.push(message.params.exceptionDetails.text);
    if (message.method === "Log.entryAdded" && message.params.entry.level === "error") problems.push(message.params.entry.text);
  }
});
let session;
const send = (method, params = {}) => new Promise((done, fail) => {
  const id = next++;
  waiting.set(id, (answer) => answer.error ? fail(new Error(`${method}: ${answer.error.message}`)) : done(answer.result));
  input.write(JSON.stringify({ id, method, params, ...(session ? { sessionId: session } : {}) }) + "\0");
});
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const ask = async (expression) => {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
  return result.value;
};
const press = async (key, code = key) => {
  const text = key.length === 1 ? { text: key } : {};
  await send("Input.dispatchKeyEvent", { type: "keyDown", key, code, ...text });
  await send("Input.dispatchKeyEvent", { type: "keyUp", key, code });
};
const go = async () => {
  await ask("window.old = true");
  await sleep(500); // the browser writes its storage a moment later
  await send("Page.navigate", { url: "file://" + resolve(directory, "audit.html") });
  for (let i = 0; i < 100; i++) {
    if (await ask("!window.old && document.readyState === 'complete' && !!document.querySelector('#gallery')")) return;
    await sleep(50);
  }
  throw new Error("the page did not load");
};
let failures = 0;
const check = (what, holds) => { console.log(`${holds ? "ok  " : "FAIL"} ${what}`); if (!holds) failures++; };
const decided = () => ask("+document.getElementById('progress').value");
try {
  const { targetInfos } = await send("Target.getTargets");
  const target = targetInfos.find((t) => t.type === "page");
  session = (await send("Target.attachToTarget", { targetId: target.targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Log"]) await send(domain + ".enable");
  // The page's data, with class numbers in place of names.
  const DATA = `(() => { const data = JSON.parse(document.getElementById('data').textContent); const number = (name) => data.classes.indexOf(name);
    return { ...data, suspects: data.suspects.map((s) => ({ ...s, given: number(s.given), suggested: number(s.suggested) })) }; })()`;
  await go();
  const shown = await ask(`${DATA}.suspects.length`);
  check("at least four suspects are on the page", shown >= 4);
  check("the gallery shows them", await ask("document.querySelectorAll('#gallery li').length") === Math.min(shown, 120));
  check("each has a picture or values, and both labels", await ask(
    "[...document.querySelectorAll('#gallery li')].every(li => li.querySelector('.given') && li.querySelector('.suggested'))"));
  check("pictures are drawn", await ask("[...document.querySelectorAll('#gallery img')].slice(0, 4).every(i => i.naturalWidth > 0)"));
  check("the heat map is drawn", await ask("document.querySelectorAll('.map svg rect').length > 3"));

  const pair = await ask(`(() => { const s = ${DATA}.suspects[0]; return [s.given, s.suggested]; })()`);
  await ask(`(() => { for (const [id, v] of [['given', ${pair[0]}], ['suggested', ${pair[1]}]]) {
    const e = document.getElementById(id); e.value = v; e.dispatchEvent(new Event('change')); } })()`);
  const filtered = await ask("document.querySelectorAll('#gallery li').length");
  const wanted = await ask(`${DATA}.suspects.filter(s => s.given === ${pair[0]} && s.suggested === ${pair[1]}).length`);
  check("the filter by class pair leaves the pair", filtered === Math.min(wanted, 120) && filtered > 0);
  await ask("(() => { for (const id of ['given', 'suggested']) { const e = document.getElementById(id); e.value = ''; e.dispatchEvent(new Event('change')); } })()");

  await press("r", "KeyR");
  check("R opens the review", await ask("document.getElementById('dialog').open"));
  await press("s", "KeyS"); // take the suggestion
  await press("k", "KeyK"); // keep
  await press("x", "KeyX"); // skip
  check("three keys decide three suspects", await decided() === 3);
  await press("o", "KeyO");
  check("O goes to the other classes", await ask("document.activeElement.id === 'other'"));
  const other = await ask(`(() => { const d = ${DATA}; const s = d.suspects[3];
    const c = d.classes.findIndex((_, i) => i !== s.given && i !== s.suggested); const e = document.getElementById('other');
    const pick = c < 0 ? s.suggested : c; e.value = pick; e.dispatchEvent(new Event('change')); return pick; })()`);
  check("another class decides the fourth", await decided() === 4);
  await press("ArrowLeft");
  check("← goes back", (await ask("document.getElementById('dialog-title').textContent")).includes("(4 of"));
  await press("Escape");
  check("Esc closes", !(await ask("document.getElementById('dialog').open")));

  await go();
  check("decisions survive a reload", await decided() === 4);

  await send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: scratch });
  await ask("document.getElementById('export').click()");
  const file = join(scratch, "labels-reviewed.csv");
  for (let i = 0; i < 60 && !existsSync(file); i++) await sleep(50);
  check("export downloads labels-reviewed.csv", existsSync(file));
  if (existsSync(file)) {
    await sleep(200);
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const s = await ask(DATA);
    const expected = [["suggested", 0], ["given", 1]].map(([k, i]) => `${s.suspects[i].index}:${s.classes[s.suspects[i][k]]}`);
    expected.push(`${s.suspects[3].index}:${s.classes[other]}`);
    const told = lines.slice(1).map((line) => { const c = line.split(","); return `${c[0]}:${c[c.length - 1]}`; });
    check("it has the header and the three labels decided, not the skipped one",
      lines[0] === "index,id,given,label" && JSON.stringify(told) === JSON.stringify(expected));
    if (process.env.KEEP) { const { copyFileSync } = await import("node:fs"); copyFileSync(file, process.env.KEEP); }
  }
  check("no script error, nothing refused by the page's policy: " + problems.join("; "), problems.length === 0);
} catch (error) {
  check(String(error), false);
} finally {
  const gone = new Promise((done) => browser.on("exit", done));
  browser.kill();
  await gone;
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
process.exit(failures ? 1 : 0);
