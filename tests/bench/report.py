#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The notes of bench/run as a table on stdout and as results.json.

usage: report.py NOTES-DIRECTORY OUTPUT-DIRECTORY
"""
import collections
import json
import os
import statistics
import sys

# What a claim compares: (text, workload, figure, subject, other subject, factor,
# whether the ratio must be at least or at most that).
CLAIMS = [
    ("VXLAN port, 192 KB, to wireguard-go's VXLAN", ("tcp1", "variants"), "gbit_per_s",
     "port-192k", "wireguard-go-vxlan", 15, "at least"),
    ("VXLAN port, 192 KB, to itself without cipher", ("variants", "tcp1"), "gbit_per_s",
     "port-192k", "port-null", 0.55, "at least"),
    ("kernel VXLAN on the TAP to wireguard-go's", ("tcp1", "variants"), "gbit_per_s",
     "sealane-vxlan", "wireguard-go-vxlan", 12, "at least"),
    ("plain to wireguard-go", ("tcp1",), "gbit_per_s", "sealane", "wireguard-go", 2.8, "at least"),
    ("old-kernel way to wireguard-go's VXLAN", ("tcp1",), "gbit_per_s",
     "sealane-old", "wireguard-go-vxlan", 3, "at least"),
    ("CPU per Gbit over VXLAN (port)", ("tcp1", "variants"), "machine_cpu_s_per_gbit",
     "port-192k", "wireguard-go-vxlan", 0.1, "at most"),
    ("CPU per Gbit over VXLAN (kernel's)", ("tcp1", "variants"), "machine_cpu_s_per_gbit",
     "sealane-vxlan", "wireguard-go-vxlan", 0.1, "at most"),
    ("64-byte packets, plain", ("pps64",), "packets_per_s", "sealane", "wireguard-go", 2, "at least"),
    ("64-byte packets, VXLAN port", ("pps64",), "packets_per_s",
     "port-192k", "wireguard-go-vxlan", 2, "at least"),
    ("p99 idle, plain", ("latency",), "p99_us", "sealane", "wireguard-go", 1, "at most"),
    ("p99 idle, VXLAN port", ("latency",), "p99_us", "port-192k", "wireguard-go-vxlan", 1, "at most"),
    ("p99 during a stream, plain", ("loaded",), "p99_us", "sealane", "wireguard-go", 1, "at most"),
    ("p99 during a stream, VXLAN port", ("loaded",), "p99_us",
     "port-192k", "wireguard-go-vxlan", 1, "at most"),
]

# Limits by themselves: (text, workload, subject, figure, at most).
LIMITS = [
    ("KB resident for an unused peer", "peers10000", "sealane", "unused_kb_per_peer", 4),
    ("KB resident for a peer with a session", "peers10000", "sealane", "session_kb_per_peer", 8),
    ("seconds of wg setconf", "peers10000", "sealane", "setconf_s", 2),
    ("per cent of a CPU when idle", "peers10000", "sealane", "idle_cpu_percent", 0.5),
]

KEEPS = 0.8  # of what bare VXLAN keeps from 1 to 200 streams


def rows_of(notes, name):
    with open(os.path.join(notes, name), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def read_notes(notes):
    runs = collections.OrderedDict()

    def run_of(workload, subject, number):
        key = (workload, subject, int(number))
        return runs.setdefault(key, {"workload": workload, "subject": subject, "run": int(number),
                                     "figures": {}, "commands": [], "failures": []})

    for *cell, busy in rows_of(notes, "others"):
        run_of(*cell)["others_busy_percent"] = float(busy)
    for *cell, name, value in rows_of(notes, "figures"):
        run_of(*cell)["figures"][name] = float(value) if value else None
    for *cell, text in rows_of(notes, "commands"):
        run_of(*cell)["commands"].append(text)
    for *cell, text in rows_of(notes, "failures"):
        run_of(*cell)["failures"].append(text)
    return {
        "machine": {row[0]: row[1] for row in rows_of(notes, "machine")},
        "workloads": [{"name": n, "main_figure": f, "title": t} for n, f, t in rows_of(notes, "workloads")],
        "subjects": [{"name": n, "baseline": b, "meaning": m, "absent": a or None, "program": p.strip()}
                     for n, b, m, a, p in rows_of(notes, "subjects")],
        "runs": list(runs.values()),
    }


def summarize(results):
    """Median, lowest and highest of each figure of each workload and subject."""
    values = collections.OrderedDict()
    for run in results["runs"]:
        for name, value in run["figures"].items():
            if value is not None:
                key = (run["workload"], run["subject"])
                values.setdefault(key, collections.OrderedDict()).setdefault(name, []).append(value)
    summary = []
    for (workload, subject), figures in values.items():
        summary.append({"workload": workload, "subject": subject, "figures": {
            name: {"median": statistics.median(v), "lowest": min(v), "highest": max(v), "n": len(v)}
            for name, v in figures.items()}})
    return summary


class Medians:
    def __init__(self, summary):
        self.figures = {(s["workload"], s["subject"]): s["figures"] for s in summary}

    def get(self, workload, subject, figure):
        found = self.figures.get((workload, subject), {}).get(figure)
        return found["median"] if found else None

    def ratio(self, workload, figure, subject, other):
        a, b = self.get(workload, subject, figure), self.get(workload, other, figure)
        return a / b if a is not None and b else None


def number(value):
    if value is None:
        return "-"
    if value and abs(value) < 0.001:
        return f"{value:.2e}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def print_grid(header, rows):
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]
    for row in [header] + rows:
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                               for i, (c, w) in enumerate(zip(row, widths))).rstrip())


# The table has room for so many figures beside the main one; results.json has all.
HIDDEN = {"carried_gbit", "machine_busy_percent", "sent_gbit_per_s", "iperf_client_cpu_s_per_gbit",
          "iperf_server_cpu_s_per_gbit", "max_us", "p90_us", "n_lost", "empty_kb", "n_cookies"}


HEADINGS = {"machine_cpu": "CPU", "sender_user": "tx usr", "sender_system": "tx sys", "receiver_user": "rx usr",
            "receiver_system": "rx sys", "packets_per_s": "packets/s", "requests_per_s": "requests/s",
            "handshakes_per_s": "handshakes/s", "unused_kb_per_peer": "KB unused",
            "session_kb_per_peer": "KB session", "idle_cpu_percent": "idle %",
            "idle_wakeups_per_s": "wake-ups/s", "sender_syscalls_per_mb": "tx calls/MB",
            "sender_switches_per_mb": "tx switches/MB", "receiver_syscalls_per_mb": "rx calls/MB",
            "receiver_switches_per_mb": "rx switches/MB", "resent_percent": "resent %", "lost_percent": "lost %",
            "forward_gbit_per_s": "there", "backward_gbit_per_s": "back", "stream_gbit_per_s": "stream Gbit/s",
            "gbit_per_s": "Gbit/s", "mbit_per_s": "Mbit/s", "datagrams_per_receive": "per receive",
            "n_sessions": "sessions",
            "port_bytes_per_read": "bytes/read", "port_bytes_per_write": "bytes/write"}


def heading(figure):
    """CPU seconds are per Gbit or million packets, whichever the workload counts."""
    for unit, short in (("_s_per_gbit", " s/Gb"), ("_s_per_mpacket", " s/Mp")):
        if figure.endswith(unit):
            return HEADINGS.get(figure[:-len(unit)], figure[:-len(unit)]) + short
    return HEADINGS.get(figure, figure)


def print_workload(results, workload, medians):
    main = workload["main_figure"]
    found = [s for s in results["summary"] if s["workload"] == workload["name"]]
    columns = []
    for entry in found:
        columns += [f for f in entry["figures"] if f != main and f not in HIDDEN and f not in columns]
    baselines = {s["name"]: s["baseline"] for s in results["subjects"]}
    print(f"\n{workload['name']}: {workload['title']}")
    rows = []
    for entry in found:
        subject, figures = entry["subject"], entry["figures"]
        ratio = medians.ratio(workload["name"], main, subject, baselines[subject])
        of_main = figures.get(main, {})
        rows.append([subject] + [number(of_main.get(k)) for k in ("median", "lowest", "highest")]
                    + [f"{ratio:.2f}x" if ratio is not None else "-"]
                    + [number(figures.get(c, {}).get("median")) for c in columns])
    if rows:
        print_grid([heading(main), "median", "lowest", "highest", "ratio"] + [heading(c) for c in columns], rows)
    for run in results["runs"]:
        if run["workload"] == workload["name"]:
            for text in run["failures"]:
                print(f"  {run['subject']}, run {run['run']}: FAILED: {text}")


def check_streams(medians, ret):
    """What is kept of the rate from 1 to 200 streams, and how fair they are, to bare VXLAN."""
    def kept(subject):
        one, many = (medians.get(w, subject, "gbit_per_s") for w in ("tcp1", "tcp200"))
        return many / one if one and many is not None else None

    bare, bare_fairness = kept("bare-vxlan"), medians.get("tcp200", "bare-vxlan", "fairness")
    for subject in ("port-192k", "port-64k", "sealane-vxlan"):
        here, fairness = kept(subject), medians.get("tcp200", subject, "fairness")
        if here is not None and bare:
            ret.append((f"200 streams, rate kept, {subject} to bare VXLAN", here / bare, "at least", KEEPS))
        if fairness is not None and bare_fairness:
            ret.append((f"200 streams, min/median, {subject} to bare VXLAN", fairness / bare_fairness,
                        "at least", KEEPS))


def check_claims(medians):
    checked = []
    for text, workloads, figure, subject, other, factor, sense in CLAIMS:
        ratios = [medians.ratio(w, figure, subject, other) for w in workloads]
        ratios = [r for r in ratios if r is not None]
        if ratios:
            checked.append((text, ratios[0], sense, factor))
    check_streams(medians, checked)
    for text, workload, subject, figure, limit in LIMITS:
        value = medians.get(workload, subject, figure)
        if value is not None:
            checked.append((text, value, "at most", limit))
    return [{"claim": t, "value": v, "sense": s, "limit": l, "holds": v >= l if s == "at least" else v <= l}
            for t, v, s, l in checked]


def print_results(results):
    for key, value in results["machine"].items():
        print(f"{key}: {value}")
    busy = sorted(r["others_busy_percent"] for r in results["runs"] if "others_busy_percent" in r)
    if busy:
        print(f"busy with others just before each run: median {statistics.median(busy):.0f} %, at most {busy[-1]:.0f} %")
        if statistics.median(busy) > 15:
            print("NOT QUIET: rates are too low, CPU seconds are also those of others")
    print("CPU: busy seconds of the whole machine; tx, rx: of the daemon at the sender, the receiver")
    print("medians of the runs; ratio: to wireguard-go, or to its VXLAN; every run and command: results.json")
    for subject in results["subjects"]:
        if subject["absent"]:
            print(f"NOT MEASURED: {subject['name']}: {subject['absent']}")
    medians = Medians(results["summary"])
    for workload in results["workloads"]:
        print_workload(results, workload, medians)
    if results["claims"]:
        print("\nwhat is wanted")
        print_grid(["", "is", "", "wanted", ""],
                   [[c["claim"], f"{c['value']:.3g}", c["sense"], f"{c['limit']:g}",
                     "holds" if c["holds"] else "DOES NOT HOLD"] for c in results["claims"]])
    print()


def main():
    notes, out = sys.argv[1:]
    results = read_notes(notes)
    results["summary"] = summarize(results)
    results["claims"] = check_claims(Medians(results["summary"]))
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    print_results(results)


if __name__ == "__main__":
    main()
