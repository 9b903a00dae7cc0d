"""Sums up the lines of `run`: python3 verdict.py OUT.csv [MORE.csv ...]   Others are compared as means over the same tables, seeds and noises."""
import csv, sys
from collections import defaultdict

rows = [row for path in sys.argv[1:] for row in csv.DictReader(open(path))]
value = defaultdict(dict)  # (what, noise, table, seed) -> who -> line
for row in rows: value[row["what"], row["noise"], row.get("table") or row["set"], row["seed"]][row["who"]] = row
mean = lambda numbers: sum(numbers) / len(numbers)

def compare(what, noises, key, others, allowed):
    cases = {case: whos for case, whos in value.items() if case[0] == what and case[1] in noises and "tares" in whos and len(whos) > 1}
    if not cases: return
    named = [who for who in dict.fromkeys(who for whos in cases.values() for who in whos) if who != "tares" and others(who)]
    named = [who for who in named if all(who in whos for whos in cases.values())]
    ours = mean([float(whos["tares"][key]) for whos in cases.values()])
    print(f"\n{what}, {' and '.join(noises)}: {len(cases)} cases, mean {key}: tares {ours:.4f}")
    for who in named: print(f"   {who:45} {mean([float(whos[who][key]) for whos in cases.values()]):.4f}")
    tables = dict.fromkeys(case[2] for case in cases)
    for table in tables:
        of = lambda who: mean([float(whos[who][key]) for case, whos in cases.items() if case[2] == table])
        best = max(named, key=of)
        mark = "   <-- more than allowed below" if of("tares") < of(best) - allowed else ""
        print(f"   {table:20} tares {of('tares'):.4f}   best other {of(best):.4f} ({best}){mark}")

for noise in (["symmetric"], ["pair"], ["symmetric", "pair"]):
    compare("audit", noise, "f1", lambda who: True, 0.02)
    compare("learn", noise, "accuracy", lambda who: True, 0.0)
compare("learn", ["none"], "accuracy", lambda who: True, 0.0)
rates = [row for row in rows if row["what"] == "audit" and row["who"] == "tares" and row["low"]]
if rates:
    inside = [float(row["low"]) <= float(row["true_rate"]) <= float(row["high"]) for row in rates]
    print(f"\nnoise rate: {len(rates)} audits, mean error {mean([abs(float(row['rate']) - float(row['true_rate'])) for row in rates]):.4f}, "
          f"the interval holds the truth in {sum(inside)}, mean width {mean([float(row['high']) - float(row['low']) for row in rates]):.4f}")
    for noise in dict.fromkeys(row["noise"] for row in rates):
        own = [row for row in rates if row["noise"] == noise]
        print(f"   {noise:10} mean error {mean([abs(float(row['rate']) - float(row['true_rate'])) for row in own]):.4f}, "
              f"called wrong {mean([float(row['found'] or 'nan') for row in own]) if 'found' in own[0] else float('nan'):.4f}")
times = [(whos["tares"], whos["cleanlab + boosting"]) for case, whos in value.items() if case[0] == "audit" and "tares" in whos and "cleanlab + boosting" in whos]
times = [pair for pair in times if all(line.get("cpu_seconds") for line in pair)]
if times:
    print(f"\nprocessor time of an audit over cleanlab + boosting: {sum(float(a['cpu_seconds']) for a, _ in times) / sum(float(b['cpu_seconds']) for _, b in times):.2f} over {len(times)} cases")
