// The page of a consensus in headless Chromium: look, filter, decide with the keyboard, reload, export.
//
//   node tests/browser/consensus.mjs CONSENSUS_DIR [CHROMIUM]
//
// CONSENSUS_DIR holds consensus.html of a consensus with at least four shown rows, one of them against the majority.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { visit } from "./devtools.mjs";

const [directory, chromium = "/usr/bin/chromium"] = process.argv.slice(2);
if (!directory) { console.error("usage: consensus.mjs CONSENSUS_DIR [CHROMIUM]"); process.exit(2); }
await visit(join(directory, "consensus.html"), chromium, async ({ ask, press, go, goUntil, check, download }) => {
  const decided = () => ask("+document.getElementById('progress').value");
  const DATA = "JSON.parse(document.getElementById('data').textContent)";
  await go();
  const { classes, rows } = await ask(DATA);
  check("at least four rows are on the page", rows.length >= 4);
  check("the gallery shows them", await ask("document.querySelectorAll('#gallery li[data-index]').length") === Math.min(rows.length, 120));
  check("each has its label, how sure it is and what was said", await ask(
    "[...document.querySelectorAll('#gallery li[data-index]')].every(li => li.querySelector('.suggested') && li.querySelector('.sure') && li.querySelector('.said'))"));
  check("the annotators are listed", await ask("document.querySelectorAll('#annotators-title ~ .scroll tbody tr').length > 0"));
  check("both heat maps are drawn", await ask("[...document.querySelectorAll('.map svg')].filter(svg => svg.querySelectorAll('rect').length > 3).length") === 2);

  const show = (kind) => ask(`(() => { const e = document.getElementById('kind'); e.value = '${kind}'; e.dispatchEvent(new Event('change')); })()`);
  await show("against");
  const against = rows.filter((row) => row.against).length;
  check("the filter leaves the rows against the majority", against > 0 && await ask("document.querySelectorAll('#gallery li[data-index]').length") === Math.min(against, 120));
  await show("");

  await press("r", "KeyR");
  check("R opens the review", await ask("document.getElementById('dialog').open"));
  check("everybody's answer stands there", await ask("document.querySelectorAll('#said li').length") === rows[0].said.length);
  await press("k", "KeyK"); // keep the consensus
  await press("x", "KeyX"); // skip
  check("two keys decide two rows", await decided() === 2);
  await press("o", "KeyO");
  check("O goes to the other classes", await ask("document.activeElement.id === 'other'"));
  const other = (rows[2].label + 1) % classes.length;
  await ask(`(() => { const e = document.getElementById('other'); e.value = ${other}; e.dispatchEvent(new Event('change')); })()`);
  check("another class decides the third", await decided() === 3);
  await press("ArrowLeft");
  check("← goes back", (await ask("document.getElementById('dialog-title').textContent")).includes("(3 of"));
  await press("Escape");
  check("Esc closes", !(await ask("document.getElementById('dialog').open")));

  check("decisions survive a reload", await goUntil("document.getElementById('progress').value === 3"));
  const file = await download("export", "labels-reviewed.csv");
  check("export downloads labels-reviewed.csv", file !== null);
  const told = file ? readFileSync(file, "utf8").trim().split("\n") : [];
  const wanted = ["index,id,label", `${rows[0].index},${rows[0].id},${classes[rows[0].label]}`, `${rows[2].index},${rows[2].id},${classes[other]}`];
  check("it has the two labels decided, not the skipped one", JSON.stringify(told) === JSON.stringify(wanted));
});
