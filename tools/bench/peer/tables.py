"""Prints the results of `tributary bench --json` beside those of the peers.

    python tables.py tributary.json peer.json …
"""

import json
import math
import pathlib
import sys

ours, *others = [json.loads(pathlib.Path(p).read_text()) for p in sys.argv[1:]]
for peer in others:
    suite = peer["results"][0]["suite"]
    theirs = peer["results"]
    rows, ratios = [], []
    for mine in (r for r in ours["results"] if r["suite"] == suite):
        for r in (r for r in theirs if r["name"].split()[0] == mine["name"]):
            if mine.get("error"):
                rows.append(f"| {r['name']} | failed | {r['median']:.3f} | | {mine['error']} |")
                continue
            ratio = mine["median"] / r["median"]
            ratios.append(ratio)
            loss = f"loss {mine['values']['train_loss']} / {r['values']['train_loss']}" if "values" in mine else mine.get("check", "")
            rows.append(f"| {r['name']} | {mine['median']:.3f} | {r['median']:.3f} | {ratio:.2f} | {loss} |")
    print(f"\n### {suite}: {ours['server'].split(',')[0]} and {peer['server']}\n")
    print("| | Tributary, s | peer, s | Tributary / peer | answer |\n|---|---:|---:|---:|---|")
    print("\n".join(rows))
    if ratios:
        print(f"| geometric mean | | | {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} | |")
