(() => {
  const { key, classes, suspects } = JSON.parse(at("data").textContent);
  // Class names become class numbers, which filters and decisions compare.
  const number = new Map(classes.map((name, i) => [name, i]));
  review({
    memory: "tares-audit-" + key,
    classes,
    rows: suspects.map((s) => ({ ...s, given: number.get(s.given), suggested: number.get(s.suggested) })),
    classFilters: { given: "given", suggested: "suggested" },
    verdict: (s, label) => label === s.given ? "keep" : label === s.suggested ? "take" : "other",
    kept: "keep",
    alt: (s) => `row ${s.id}, given ${classes[s.given]}, suggested ${classes[s.suggested]}`,
    caption: (s) => {
      const labels = make("span", undefined, "labels");
      labels.append(make("s", classes[s.given], "given"), " → ", make("b", classes[s.suggested], "suggested"));
      return [labels, make("span", s.id, "id")];
    },
    show: (s) => {
      at("why").textContent = `${s.reason}; quality of the label ${s.score.toFixed(3)}`;
      at("keep-name").textContent = classes[s.given];
      at("take-name").textContent = classes[s.suggested];
    },
    answers: { keep: (s) => s.given, take: (s) => s.suggested },
    keys: { k: "keep", s: "take", Enter: "take" },
    columns: { given: (s) => classes[s.given] },
  });
})();
