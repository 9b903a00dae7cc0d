// The page of an audit in headless Chromium: look, filter, decide with the keyboard, reload, export.
//
//   node tests/browser/audit.mjs AUDIT_DIR [CHROMIUM]
//
// AUDIT_DIR holds audit.html of an audit with at least four shown suspects.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { visit } from "./devtools.mjs";

const [directory, chromium = "/usr/bin/chromium"] = process.argv.slice(2);
if (!directory) { console.error("usage: audit.mjs AUDIT_DIR [CHROMIUM]"); process.exit(2); }
await visit(join(directory, "audit.html"), chromium, async ({ ask, press, go, goUntil, check, download }) => {
  const decided = () => ask("+document.getElementById('progress').value");
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

  check("decisions survive a reload", await goUntil("document.getElementById('progress').value === 4"));

  const file = await download("export", "labels-reviewed.csv");
  check("export downloads labels-reviewed.csv", file !== null);
  if (file) {
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const s = await ask(DATA);
    const expected = [["suggested", 0], ["given", 1]].map(([k, i]) => `${s.suspects[i].index}:${s.classes[s.suspects[i][k]]}`);
    expected.push(`${s.suspects[3].index}:${s.classes[other]}`);
    const told = lines.slice(1).map((line) => { const c = line.split(","); return `${c[0]}:${c[c.length - 1]}`; });
    check("it has the header and the three labels decided, not the skipped one",
      lines[0] === "index,id,given,label" && JSON.stringify(told) === JSON.stringify(expected));
    if (process.env.KEEP) { const { copyFileSync } = await import("node:fs"); copyFileSync(file, process.env.KEEP); }
  }
});
