# SPDX-License-Identifier: Apache-2.0
"""The results of a torture test, as text and as JSON."""
import collections
import json

MIB = 1 << 20
MEMORY_SLACK = 16 * MIB  # allowed growth per GPU, because other programs also use the GPU


def quantile(times):
    """Returns (median, 99th percentile, longest) in milliseconds; None if there are no values."""
    if not times:
        return None
    ordered = sorted(times)
    at = [ordered[int((len(ordered) - 1) * part)] for part in (0.5, 0.99, 1)]
    return tuple(round(1000 * seconds, 2) for seconds in at)


class Figures:
    def __init__(self, what):
        self.what, self.count, self.seconds, self.deaths, self.kills, self.late = what, 0, 0.0, 0, 0, 0
        self.outcomes = collections.Counter()
        self.wrong, self.grown = [], []
        self.resident, self.descriptors, self.children = [None, None], [None, None], 0
        self.latency, self.device_memory = None, None
        self.starts = None  # time that the daemon needed to start
        self.processor = None  # processor seconds that the daemon used
        self.resident_by_flood = {}  # name -> (bytes during the flood, bytes after it)
        self.by_attack = {}  # name -> interface -> waiting times of the interface's client

    def before(self, patient):
        self.resident[0], self.descriptors[0] = patient.resident(), patient.descriptors()

    def after(self, patient):
        if not patient.is_alive():
            return
        self.resident[1], self.descriptors[1] = patient.resident(), patient.descriptors()

    def compare_memory(self, before, after):
        self.device_memory = [before, after]
        if before is not None and after is not None and after > before + MEMORY_SLACK:
            self.grown.append(f"used device memory: {before} -> {after} bytes")

    @property
    def is_good(self):
        return not (self.deaths or self.wrong or self.grown)

    def value(self):
        """Returns the results for JSON: sizes in bytes, times in milliseconds."""
        return {"what": self.what, "count": self.count, "seconds": round(self.seconds, 1),
                "outcomes": dict(sorted(self.outcomes.items())), "deaths": self.deaths, "kills": self.kills, "late": self.late,
                "wrong": self.wrong, "grown": self.grown, "resident": self.resident,
                "descriptors": self.descriptors, "children": self.children, "latency_ms": self.latency,
                "starts_ms": self.starts, "processor_seconds": self.processor,
                "device_memory": self.device_memory, "by_attack": self.by_attack,
                "resident_by_flood": self.resident_by_flood, "good": self.is_good}

    def rows(self):
        yield self.what, f"{self.count} in {self.seconds:.1f} s ({self.count / max(self.seconds, 0.001):.0f} a second)"
        yield "outcomes", ", ".join(f"{number} {word}" for word, number in sorted(self.outcomes.items()))
        if self.kills:
            yield "killed by us", self.kills
        if self.late:
            yield "late", f"{self.late} workers that hang in nothing missed their deadline"
        yield "deaths", self.deaths
        yield "wrong answers", len(self.wrong)
        if None not in self.resident:
            yield "resident", " -> ".join(f"{size / MIB:.1f} MiB" for size in self.resident)
            yield "descriptors", " -> ".join(str(number) for number in self.descriptors)
        if self.processor is not None:
            yield "processor", f"{self.processor:.1f} s of the daemon"
        yield "children left", self.children
        if self.latency:
            yield "meanwhile", "a client's calls took {} ms, p99 {} ms, at most {} ms".format(*self.latency)
        if self.starts:
            yield "starts", "the daemon had its name after {} ms, p99 {} ms, at most {} ms".format(*self.starts)
        if self.device_memory:
            yield "device memory", " -> ".join(
                "unknown" if size is None else f"{size / MIB:.0f} MiB" for size in self.device_memory)

    def text(self):
        lines = [f"{name:<14} {text}" for name, text in self.rows()] + list(self.table())
        lines += [f"WRONG {text}" for text in self.wrong[:20]] + [f"GREW {text}" for text in self.grown]
        return "\n".join(lines)

    def table(self):
        """Yields the waiting times of clients during each attack, in milliseconds."""
        interfaces = list(dict.fromkeys(interface for waits in self.by_attack.values() for interface in waits))
        if interfaces:
            yield f"{'meanwhile':<26}" + "".join(f" {interface + ' p50':>11} {'p99':>9} {'longest':>9}" for interface in interfaces)
        for name, waits in self.by_attack.items():
            waited = "".join(" {:>11} {:>9} {:>9}".format(*(waits.get(interface) or ("-", "-", "-"))) for interface in interfaces)
            resident = "".join(f" {size / MIB:>6.1f} MiB" for size in self.resident_by_flood.get(name, ()))
            yield f"{name:<26}{waited}{resident}"

    def json(self):
        return json.dumps(self.value())
