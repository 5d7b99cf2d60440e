#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bar charts (SVG) of bench/run's results.json: medians, with lowest and highest.

usage: plot.py RESULTS.JSON OUTPUT-DIRECTORY
"""
import json
import math
import os
import sys
from xml.sax.saxutils import escape

# Figures that are worth a plot besides a workload's main one, and all axis labels.
ALSO = {"machine_cpu_s_per_gbit", "machine_cpu_s_per_mpacket", "fairness", "p50_us", "handshakes_per_s",
        "unused_kb_per_peer", "session_kb_per_peer", "packets_per_s", "sender_switches_per_mb",
        "receiver_syscalls_per_mb", "lost_percent"}
LABELS = {
    "gbit_per_s": "received (Gbit/s)",
    "packets_per_s": "received (packets/s)",
    "requests_per_s": "answered (requests/s)",
    "p50_us": "response time, median (\u00b5s)",
    "p99_us": "response time, 99th percentile (\u00b5s)",
    "fairness": "slowest stream / median stream",
    "machine_cpu_s_per_gbit": "CPU, whole machine (s/Gbit)",
    "machine_cpu_s_per_mpacket": "CPU, whole machine (s per million packets)",
    "sender_syscalls_per_mb": "system calls of the sending daemon (per MB)",
    "receiver_syscalls_per_mb": "system calls of the receiving daemon (per MB)",
    "sender_switches_per_mb": "context switches of the sending daemon (per MB)",
    "setconf_s": "wg setconf (s)",
    "handshakes_per_s": "handshakes answered (1/s)",
    "unused_kb_per_peer": "resident, peer never connected (KB)",
    "session_kb_per_peer": "resident, peer with a session (KB)",
    "lost_percent": "lost (%)",
}
WIDTH, LEFT, RIGHT, TOP, BOTTOM, ROW = 860, 230, 100, 68, 58, 30
COLORS = {"wireguard-go": "#b0552b", "bare": "#8a8a8a"}
OURS = "#1f6f8b"


def color_of(subject):
    return next((c for prefix, c in COLORS.items() if subject.startswith(prefix)), OURS)


def nice_step(highest):
    """1, 2 or 5 times a power of ten, for four to eight ticks."""
    rough = highest / 6
    power = 10 ** math.floor(math.log10(rough))
    return next(f * power for f in (1, 2, 5, 10) if f * power >= rough)


def tick_text(value, step):
    if value >= 10000:
        return f"{value:,.0f}"
    digits = max(0, -math.floor(math.log10(step)))
    return f"{value:.{digits}f}"


def value_text(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def text(x, y, content, anchor="start", size=13, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>{escape(content)}</text>'


def axis(parts, highest, bottom):
    scale = (WIDTH - LEFT - RIGHT) / highest
    step = nice_step(highest)
    for i in range(int(highest / step + 1e-9) + 1):
        x = LEFT + i * step * scale
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(text(x, bottom + 16, tick_text(i * step, step), "middle", 12))
    return scale


def bar(parts, y, subject, figure, scale):
    length, low, high = (figure[k] * scale for k in ("median", "lowest", "highest"))
    middle = y + ROW / 2
    parts.append(text(LEFT - 8, middle + 4, subject, "end"))
    parts.append(f'<rect x="{LEFT}" y="{y + 5}" width="{max(length, 0.5):.1f}" height="{ROW - 10}" '
                 f'fill="{color_of(subject)}"/>')
    parts.append(f'<path d="M{LEFT + low:.1f} {middle}H{LEFT + high:.1f}'
                 f'M{LEFT + low:.1f} {middle - 4}v8M{LEFT + high:.1f} {middle - 4}v8" stroke="#222" fill="none"/>')
    parts.append(text(LEFT + max(length, high) + 6, middle + 4, value_text(figure["median"]), size=12))


def chart(title, label, notes, bars):
    highest = max(f["highest"] for _, f in bars) or 1
    bottom = TOP + ROW * len(bars)
    height = bottom + BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" fill="#222">',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
             text(12, 22, title, size=16, extra=' font-weight="bold"')]
    parts += [text(12, 40 + 15 * i, line, size=11) for i, line in enumerate(notes)]
    scale = axis(parts, highest, bottom)
    for i, (subject, figure) in enumerate(bars):
        bar(parts, TOP + ROW * i, subject, figure, scale)
    parts.append(f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{bottom}" stroke="#222"/>')
    parts.append(text(LEFT + (WIDTH - LEFT - RIGHT) / 2, bottom + 40, label, "middle"))
    return "\n".join(parts + ["</svg>", ""])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    machine = results["machine"]
    notes = (f"median of {machine['runs']} runs of {machine['seconds']} s; line: lowest to highest",
             f"kernel {machine['kernel']}; {machine['cpu']}")
    for workload in results["workloads"]:
        cells = [s for s in results["summary"] if s["workload"] == workload["name"]]
        names = {f for cell in cells for f in cell["figures"]}
        for name in sorted((names & ALSO) | ({workload["main_figure"]} & names)):
            bars = [(c["subject"], c["figures"][name]) for c in cells if name in c["figures"]]
            path = os.path.join(sys.argv[2], f"{workload['name']}-{name}.svg")
            with open(path, "w", encoding="utf-8") as file:
                file.write(chart(workload["title"], LABELS.get(name, name.replace("_", " ")), notes, bars))


if __name__ == "__main__":
    main()
