"use strict";
(() => {
  const { key, classes, rows } = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const memory = "tares-consensus-" + key;
  const PAGE = 120;
  // index of the data → { label: number | null }, null for "skip"
  let decided = {};
  try { decided = JSON.parse(localStorage.getItem(memory)) || {}; } catch { /* a browser that keeps nothing */ }
  let shown = PAGE;
  let list = rows;
  let place = 0;

  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const percent = (part) => (100 * part).toFixed(1) + " %";
  const verdict = (r) => {
    const d = decided[r.index];
    if (!d) return "";
    return d.label === null ? "skip" : d.label === r.label ? "take" : "other";
  };
  const words = (r) => {
    const kind = verdict(r);
    if (kind === "") return "";
    return kind === "take" ? "kept" : kind === "skip" ? "skipped" : "now " + classes[decided[r.index].label];
  };
  const look = (r, most) => {
    if (r.picture) {
      const image = make("img");
      image.src = "data:image/png;base64," + r.picture;
      image.alt = `row ${r.id}, consensus ${classes[r.label]}`;
      image.loading = "lazy";
      return image;
    }
    const values = make("dl", undefined, "values");
    for (const { name, text } of r.texts || []) {
      const line = make("div", undefined, "long");
      line.append(make("dt", name), make("dd", most < Infinity && text.length > 300 ? text.slice(0, 300) + " …" : text));
      values.append(line);
    }
    for (const [name, value] of (r.values || []).slice(0, most)) {
      const line = make("div");
      line.append(make("dt", name), make("dd", value));
      values.append(line);
    }
    return values;
  };
  const chip = (r, name, label, quality) =>
    make("li", quality === undefined ? `${name}: ${classes[label]}` : `${name}: ${classes[label]} (right ${percent(quality)})`,
      label === r.label ? "same" : "");
  const save = () => {
    try { localStorage.setItem(memory, JSON.stringify(decided)); } catch { /* as above */ }
  };

  const draw = () => {
    const kind = at("kind").value, label = at("class").value, done = at("decided").value;
    list = rows.filter((r) =>
      (kind === "" || r[kind]) && (label === "" || r.label === +label) &&
      (done === "" || (done === "done") === (verdict(r) !== "")));
    if (kind === "ask") list.sort((a, b) => b.gain - a.gain);
    at("gallery").replaceChildren(...list.slice(0, shown).map((r, i) => {
      const item = make("li", undefined, verdict(r));
      item.tabIndex = 0;
      item.dataset.index = r.index;
      const figure = make("figure"), caption = make("figcaption"), labels = make("span", undefined, "labels");
      labels.append(make("b", classes[r.label], "suggested"), " ", make("span", percent(r.beliefs[0][1]), "sure"));
      caption.append(labels, make("span", r.id, "id"));
      if (r.against) caption.append(make("span", "against the majority", "flag"));
      const said = make("ul", undefined, "said");
      said.append(...r.said.slice(0, 12).map(([name, label]) => chip(r, name, label)));
      if (r.said.length > 12) said.append(make("li", `${r.said.length - 12} more`));
      caption.append(said);
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
    at("said").replaceChildren(...r.said.map(([name, label, quality]) => chip(r, name, label, quality)));
    const beliefs = r.beliefs.map(([label, part]) => `${classes[label]} ${percent(part)}`).join(", ");
    at("why").textContent = `${beliefs}. One more label would add ${percent(r.gain)}.`;
    at("take-name").textContent = classes[r.label];
    at("state").textContent = words(r);
    at("other").value = "";
    if (!at("dialog").open) at("dialog").showModal();
    at("dialog-title").focus(); // keys decide again after a class was chosen from the list
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
    take: () => decide(list[place].label),
    skip: () => decide(null),
    back: () => open(place - 1),
    next: () => open(place + 1),
    close: () => at("dialog").close(),
  };
  const keys = { k: "take", Enter: "take", x: "skip", " ": "skip", ArrowLeft: "back", ArrowRight: "next", Escape: "close" };

  const cell = (text) => /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  const table = () => {
    const lines = ["index,id,label"];
    for (const r of rows) {
      const d = decided[r.index];
      if (d && d.label !== null) lines.push([r.index, cell(r.id), cell(classes[d.label])].join(","));
    }
    return lines.join("\n") + "\n";
  };

  const present = new Set(rows.map((r) => r.label));
  classes.forEach((name, i) => { if (present.has(i)) at("class").append(new Option(name, i)); });
  at("other").append(new Option("…", ""), ...classes.map((name, i) => new Option(name, i)));
  for (const id of ["kind", "class", "decided"]) {
    at(id).addEventListener("change", () => { shown = PAGE; draw(); });
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
})();
