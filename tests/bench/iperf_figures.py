#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of iperf3 clients that ran at once, one "name<tab>value" a line.

Rates are of the receiving side and leave out iperf3's first second; carried_gbit is
all there was. Streams of clients with -R count as backward.
usage: iperf_figures.py JSON-FILE...
"""
import json
import statistics
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        told = json.load(file)
    if "error" in told:
        sys.exit("iperf3: " + told["error"])
    return told


def rates_of(told):
    return [s["receiver"]["bits_per_second"] / 1e9 for s in told["end"]["streams"]]


def main():
    clients = [read(path) for path in sys.argv[1:]]
    forward = sum(sum(rates_of(c)) for c in clients if not c["start"]["test_start"]["reverse"])
    backward = sum(sum(rates_of(c)) for c in clients if c["start"]["test_start"]["reverse"])
    carried = sum(i["sum"]["bytes"] * 8 / 1e9 for c in clients for i in c["intervals"])
    rates = [rate for c in clients for rate in rates_of(c)]
    print(f"gbit_per_s\t{forward + backward:.6f}")
    print(f"carried_gbit\t{carried:.6f}")
    if backward:
        print(f"forward_gbit_per_s\t{forward:.6f}")
        print(f"backward_gbit_per_s\t{backward:.6f}")
    if len(rates) > 2:
        print(f"fairness\t{min(rates) / max(statistics.median(rates), 1e-9):.6f}")


if __name__ == "__main__":
    main()
