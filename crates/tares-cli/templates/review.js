"use strict";
// What the pages of an audit and of a consensus share: a gallery with filters, a dialog that decides one row after the
// other, decisions stored in the browser, and their export.
const at = (id) => document.getElementById(id);
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
};

// A page passes its own part:
//   memory           the name under which the browser stores decisions
//   classes          the class names; rows and decisions hold their positions in this list
//   rows             what is reviewed: `index`, `id`, and `picture` or `texts` and `values`
//   classFilters     id of a <select> → the field of a row that it filters by class
//   narrow(list)     optional: the page's further filters and order
//   verdict(r, d)    the CSS class of decision d about row r
//   kept             the verdict that is shown as "kept"
//   alt(r)           the alternative text of a picture
//   caption(r)       what stands under a row in the gallery
//   show(r)          fills the page's own part of the dialog
//   answers          name of a button → the label that it decides
//   keys             key → name of a button
//   columns          columns of the export between `id` and `label`: name → value of a row
const review = (page) => {
  const { classes, rows } = page;
  const PAGE = 120;
  // index of the data → { label: number | null }, null for "skip"
  let decided = {};
  try { decided = JSON.parse(localStorage.getItem(page.memory)) || {}; } catch { /* a browser that stores nothing */ }
  let shown = PAGE;
  let list = rows;
  let place = 0;

  const verdict = (r) => {
    const d = decided[r.index];
    if (!d) return "";
    return d.label === null ? "skip" : page.verdict(r, d.label);
  };
  const words = (r) => {
    const kind = verdict(r);
    if (kind === "") return "";
    return kind === page.kept ? "kept" : kind === "skip" ? "skipped" : "now " + classes[decided[r.index].label];
  };
  // Marks the words that speak for the suggestion. What counts as one word is the same as in the program.
  const marked = (text, words) => {
    if (!words.length) return [text];
    const spoken = new Set(words);
    const parts = text.split(/([\p{L}\p{N}_]+)/u);
    return parts.map((part, i) => i % 2 && spoken.has(part.toLowerCase()) ? make("mark", part) : part);
  };
  const look = (r, most) => {
    if (r.picture) {
      const image = make("img");
      image.src = "data:image/png;base64," + r.picture;
      image.alt = page.alt(r);
      image.loading = "lazy";
      return image;
    }
    const values = make("dl", undefined, "values");
    for (const { name, text, words = [] } of r.texts || []) {
      const line = make("div", undefined, "long"), cell = make("dd");
      const cut = most < Infinity && text.length > 300 ? text.slice(0, 300) + " …" : text;
      cell.append(...marked(cut, words));
      line.append(make("dt", name), cell);
      values.append(line);
    }
    for (const [name, value] of (r.values || []).slice(0, most)) {
      const line = make("div");
      line.append(make("dt", name), make("dd", value));
      values.append(line);
    }
    return values;
  };
  const save = () => {
    try { localStorage.setItem(page.memory, JSON.stringify(decided)); } catch { /* as above */ }
  };

  const draw = () => {
    const done = at("decided").value;
    list = rows.filter((r) =>
      Object.entries(page.classFilters).every(([id, field]) => at(id).value === "" || r[field] === +at(id).value) &&
      (done === "" || (done === "done") === (verdict(r) !== "")));
    if (page.narrow) list = page.narrow(list);
    at("gallery").replaceChildren(...list.slice(0, shown).map((r, i) => {
      const item = make("li", undefined, verdict(r));
      item.tabIndex = 0;
      item.dataset.index = r.index;
      const figure = make("figure"), caption = make("figcaption");
      caption.append(...page.caption(r));
      const mark = words(r);
      if (mark) caption.append(make("span", mark, "mark"));
      figure.append(look(r, 8), caption);
      item.append(figure);
      item.addEventListener("click", () => open(i));
      item.addEventListener("keydown", (event) => { if (event.key === "Enter") open(i); });
      return item;
    }));
    at("more").hidden = list.length <= shown;
    count();
  };
  const count = () => {
    const done = rows.filter((r) => verdict(r) !== "").length;
    at("count").textContent = `${list.length} shown, ${done} of ${rows.length} decided`;
    at("progress").value = done;
  };

  const open = (i) => {
    if (!list.length) return;
    place = Math.max(0, Math.min(i, list.length - 1));
    const r = list[place];
    at("dialog-title").textContent = `${r.id} (${place + 1} of ${list.length})`;
    at("card").replaceChildren(look(r, Infinity));
    page.show(r);
    at("state").textContent = words(r);
    at("other").value = "";
    if (!at("dialog").open) at("dialog").showModal();
    at("dialog-title").focus(); // so that keys decide again after a class was chosen from the list
  };
  const decide = (label) => {
    decided[list[place].index] = { label };
    save();
    count();
    if (place + 1 < list.length) open(place + 1);
    else {
      at("dialog").close();
      draw();
    }
  };
  const act = {
    skip: () => decide(null),
    back: () => open(place - 1),
    next: () => open(place + 1),
    close: () => at("dialog").close(),
  };
  for (const [name, label] of Object.entries(page.answers)) act[name] = () => decide(label(list[place]));
  const keys = { ...page.keys, x: "skip", " ": "skip", ArrowLeft: "back", ArrowRight: "next", Escape: "close" };

  const cell = (text) => /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  const table = () => {
    const columns = Object.entries(page.columns);
    const lines = [["index", "id", ...columns.map(([name]) => name), "label"]];
    for (const r of rows) {
      const d = decided[r.index];
      if (d && d.label !== null) lines.push([r.index, r.id, ...columns.map(([, value]) => value(r)), classes[d.label]].map(cell));
    }
    return lines.map((line) => line.join(",") + "\n").join("");
  };

  for (const [id, field] of Object.entries(page.classFilters)) {
    const present = new Set(rows.map((r) => r[field]));
    classes.forEach((name, i) => { if (present.has(i)) at(id).append(new Option(name, i)); });
  }
  at("other").append(new Option("…", ""), ...classes.map((name, i) => new Option(name, i)));
  for (const filter of document.querySelectorAll("#review select")) {
    filter.addEventListener("change", () => { shown = PAGE; draw(); });
  }
  at("more").addEventListener("click", () => { shown += PAGE; draw(); });
  at("start").addEventListener("click", () => {
    const first = list.findIndex((r) => verdict(r) === "");
    open(first < 0 ? 0 : first);
  });
  at("export").addEventListener("click", () => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
    link.download = "labels-reviewed.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  at("forget").addEventListener("click", () => {
    if (confirm("Forget all decisions made on this page?")) { decided = {}; save(); draw(); }
  });
  at("dialog").addEventListener("close", draw);
  at("dialog").addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    if (button) act[button.dataset.do]();
  });
  at("other").addEventListener("change", () => { if (at("other").value !== "") decide(+at("other").value); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!at("dialog").open) {
      if (event.key.toLowerCase() === "r" && event.target.tagName !== "SELECT") { event.preventDefault(); at("start").click(); }
      return;
    }
    if (event.target === at("other") && event.key !== "Escape") return;
    if (event.key.toLowerCase() === "o") { event.preventDefault(); at("other").focus(); return; }
    // A focused button answers Enter and space itself.
    if (event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return;
    const name = keys[event.key] || keys[event.key.toLowerCase()];
    if (name) { event.preventDefault(); act[name](); }
  });
  draw();
};
