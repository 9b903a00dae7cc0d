(() => {
  const { key, classes, rows } = JSON.parse(at("data").textContent);
  const percent = (part) => (100 * part).toFixed(1) + " %";
  const chip = (r, name, label, quality) =>
    make("li", quality === undefined ? `${name}: ${classes[label]}` : `${name}: ${classes[label]} (right ${percent(quality)})`,
      label === r.label ? "same" : "");
  review({
    memory: "tares-consensus-" + key,
    classes,
    rows,
    classFilters: { class: "label" },
    narrow: (list) => {
      const kind = at("kind").value;
      if (kind !== "") list = list.filter((r) => r[kind]);
      return kind === "ask" ? list.sort((a, b) => b.gain - a.gain) : list;
    },
    verdict: (r, label) => label === r.label ? "take" : "other",
    kept: "take",
    alt: (r) => `row ${r.id}, consensus ${classes[r.label]}`,
    caption: (r) => {
      const labels = make("span", undefined, "labels"), said = make("ul", undefined, "said");
      labels.append(make("b", classes[r.label], "suggested"), " ", make("span", percent(r.beliefs[0][1]), "sure"));
      said.append(...r.said.slice(0, 12).map(([name, label]) => chip(r, name, label)));
      if (r.said.length > 12) said.append(make("li", `${r.said.length - 12} more`));
      const flag = r.against ? [make("span", "against the majority", "flag")] : [];
      return [labels, make("span", r.id, "id"), ...flag, said];
    },
    show: (r) => {
      at("said").replaceChildren(...r.said.map(([name, label, quality]) => chip(r, name, label, quality)));
      const beliefs = r.beliefs.map(([label, part]) => `${classes[label]} ${percent(part)}`).join(", ");
      at("why").textContent = `${beliefs}. One more label would add ${percent(r.gain)}.`;
      at("take-name").textContent = classes[r.label];
    },
    answers: { take: (r) => r.label },
    keys: { k: "take", Enter: "take" },
    columns: {},
  });
})();
