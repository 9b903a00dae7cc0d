"use strict";
(() => {
  const { key, classes, suspects: cards } = JSON.parse(document.getElementById("data").textContent);
  // Class names become class numbers, which filters and decisions compare.
  const number = new Map(classes.map((name, i) => [name, i]));
  const suspects = cards.map((card) => ({ ...card, given: number.get(card.given), suggested: number.get(card.suggested) }));
  const at = (id) => document.getElementById(id);
  const memory = "tares-audit-" + key;
  const PAGE = 120;
  // index of the data → { label: number | null }, null for "skip"
  let decided = {};
  try { decided = JSON.parse(localStorage.getItem(memory)) || {}; } catch { /* a browser that keeps nothing */ }
  let shown = PAGE;
  let list = suspects;
  let place = 0;

  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const verdict = (s) => {
    const d = decided[s.index];
    if (!d) return "";
    if (d.label === null) return "skip";
    return d.label === s.given ? "keep" : d.label === s.suggested ? "take" : "other";
  };
  const words = (s) => {
    const kind = verdict(s);
    if (kind === "") return "";
    return kind === "keep" ? "kept" : kind === "skip" ? "skipped" : "now " + classes[decided[s.index].label];
  };
  // The words that speak for the suggestion, marked where they stand in the text. A word is what the program calls one.
  const marked = (text, words) => {
    const spoken = new Set(words);
    const parts = text.split(/([\p{L}\p{N}_]+)/u);
    return parts.map((part, i) => i % 2 && spoken.has(part.toLowerCase()) ? make("mark", part) : part);
  };
  const look = (s, most) => {
    if (s.picture) {
      const image = make("img");
      image.src = "data:image/png;base64," + s.picture;
      image.alt = `row ${s.id}, given ${classes[s.given]}, suggested ${classes[s.suggested]}`;
      image.loading = "lazy";
      return image;
    }
    const values = make("dl", undefined, "values");
    for (const { name, text, words = [] } of s.texts || []) {
      const line = make("div", undefined, "long"), cell = make("dd");
      const cut = most < Infinity && text.length > 300 ? text.slice(0, 300) + " …" : text;
      cell.append(...marked(cut, words));
      line.append(make("dt", name), cell);
      values.append(line);
    }
    for (const [name, value] of (s.values || []).slice(0, most)) {
      const line = make("div");
      line.append(make("dt", name), make("dd", value));
      values.append(line);
    }
    return values;
  };
  const save = () => {
    try { localStorage.setItem(memory, JSON.stringify(decided)); } catch { /* as above */ }
  };

  const draw = () => {
    const given = at("given").value, suggested = at("suggested").value, done = at("decided").value;
    list = suspects.filter((s) =>
      (given === "" || s.given === +given) && (suggested === "" || s.suggested === +suggested) &&
      (done === "" || (done === "done") === (verdict(s) !== "")));
    const gallery = at("gallery");
    gallery.replaceChildren(...list.slice(0, shown).map((s, i) => {
      const item = make("li", undefined, verdict(s));
      item.tabIndex = 0;
      item.dataset.index = s.index;
      const figure = make("figure"), caption = make("figcaption"), labels = make("span", undefined, "labels");
      labels.append(make("s", classes[s.given], "given"), " → ", make("b", classes[s.suggested], "suggested"));
      caption.append(labels, make("span", s.id, "id"));
      const mark = words(s);
      if (mark) caption.append(make("span", mark, "mark"));
      figure.append(look(s, 8), caption);
      item.append(figure);
      item.addEventListener("click", () => open(i));
      item.addEventListener("keydown", (event) => { if (event.key === "Enter") open(i); });
      return item;
    }));
    at("more").hidden = list.length <= shown;
    count();
  };
  const count = () => {
    const done = suspects.filter((s) => verdict(s) !== "").length;
    at("count").textContent = `${list.length} shown, ${done} of ${suspects.length} decided`;
    at("progress").value = done;
  };

  const open = (i) => {
    if (!list.length) return;
    place = Math.max(0, Math.min(i, list.length - 1));
    const s = list[place];
    at("dialog-title").textContent = `${s.id} (${place + 1} of ${list.length})`;
    at("card").replaceChildren(look(s, Infinity));
    at("why").textContent = `${s.reason}; quality of the label ${s.score.toFixed(3)}`;
    at("keep-name").textContent = classes[s.given];
    at("take-name").textContent = classes[s.suggested];
    at("state").textContent = words(s);
    at("other").value = "";
    if (!at("dialog").open) at("dialog").showModal();
    at("dialog-title").focus(); // keys decide again after a class was chosen from the list
  };
  const decide = (label) => {
    const s = list[place];
    decided[s.index] = { label };
    save();
    count();
    if (place + 1 < list.length) open(place + 1);
    else {
      at("dialog").close();
      draw();
    }
  };
  const act = {
    keep: () => decide(list[place].given),
    take: () => decide(list[place].suggested),
    skip: () => decide(null),
    back: () => open(place - 1),
    next: () => open(place + 1),
    close: () => at("dialog").close(),
  };
  const keys = { k: "keep", s: "take", Enter: "take", x: "skip", " ": "skip", ArrowLeft: "back", ArrowRight: "next", Escape: "close" };

  const cell = (text) => /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  const table = () => {
    const lines = ["index,id,given,label"];
    for (const s of suspects) {
      const d = decided[s.index];
      if (d && d.label !== null) lines.push([s.index, cell(s.id), cell(classes[s.given]), cell(classes[d.label])].join(","));
    }
    return lines.join("\n") + "\n";
  };

  for (const id of ["given", "suggested"]) {
    const present = new Set(suspects.map((s) => s[id]));
    classes.forEach((name, i) => { if (present.has(i)) at(id).append(new Option(name, i)); });
  }
  at("other").append(new Option("…", ""), ...classes.map((name, i) => new Option(name, i)));
  for (const id of ["given", "suggested", "decided"]) {
    at(id).addEventListener("change", () => { shown = PAGE; draw(); });
  }
  at("more").addEventListener("click", () => { shown += PAGE; draw(); });
  at("start").addEventListener("click", () => {
    const first = list.findIndex((s) => verdict(s) === "");
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
