// A page of the program in headless Chromium, over the DevTools protocol on a pipe: needs nothing but Node and Chromium.
//
//   await visit("DIR/audit.html", "/usr/bin/chromium", async ({ ask, press, go, goUntil, check, download }) => { await go(); check("…", await ask("…")); });
import { spawn } from "node:child_process";
import { mkdtempSync, existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Runs `test` with the verbs of a page and ends the process: 1 if a check failed.
export const visit = async (path, chromium, test) => {
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
    await send("Page.navigate", { url: "file://" + resolve(path) });
    for (let i = 0; i < 100; i++) {
      if (await ask("!window.old && document.readyState === 'complete' && !!document.querySelector('#gallery')")) return;
      await sleep(50);
    }
    throw new Error("the page did not load");
  };
  // Opens the page anew until `expression` is true: a busy browser hands what was stored to the next page seconds later.
  const goUntil = async (expression) => {
    for (let tries = 1; tries <= 8; tries++) {
      await go();
      if (await ask(expression)) return true;
      await sleep(500 * tries);
    }
    console.log(`     stored: ${await ask("JSON.stringify(Object.entries(localStorage))")}`);
    return false;
  };
  let failures = 0;
  const check = (what, holds) => { console.log(`${holds ? "ok  " : "FAIL"} ${what}`); if (!holds) failures++; };
  // The file that a click on `id` downloads; null if none comes.
  const download = async (id, name) => {
    await send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: scratch });
    await ask(`document.getElementById('${id}').click()`);
    const file = join(scratch, name);
    for (let i = 0; i < 60 && !existsSync(file); i++) await sleep(50);
    await sleep(200);
    return existsSync(file) ? file : null;
  };
  try {
    const { targetInfos } = await send("Target.getTargets");
    const target = targetInfos.find((t) => t.type === "page");
    session = (await send("Target.attachToTarget", { targetId: target.targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Runtime", "Log"]) await send(domain + ".enable");
    await test({ ask, press, go, goUntil, check, download });
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
};
