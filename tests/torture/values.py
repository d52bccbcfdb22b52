# SPDX-License-Identifier: Apache-2.0
"""Generates values for any signature, up to the limits of each type and beyond."""
import wire

TEXTS = ["", "x", "default", "llama.cpp", "../../../etc/passwd", "%s%n", "a,b,,c", "\u202e\ufeff", "\x1b[2J\n", "cuda",
         "vulkan", "x" * 300, "-1", "null", "{", '{"schema":"gpuprobe.variants/1"}', "[" * 200, "driver>=550",
         "gfx=gfx9*|gfx11* or memory>=8GiB", "family:cuda", "org.gpuprobe.GpuProbe1.Manager", "LogLevel", "debug"]
KEYS = ["built", "only", "prefer", "deny", "backend", "gpus", "strict", "min-memory", "include-rejected", "require",
        "any-vendor", "rank", "platform", "fake", "forbid-fake", "exclude", "need-mib", "allow-wake", "stage", "all",
        "api", "driver", "outcome", "application", "application", "choice", "gpu", "detail", "variants", "colour",
        "require-verified", ""]
PATHS = ["/", "/org/gpuprobe/GpuProbe1", "/org/gpuprobe/GpuProbe1/gpu/pci_0000_00_06_0", "/a" * 100,
         "/org/gpuprobe/GpuProbe1/gpu/none", "/org/freedesktop/LogControl1"]
KINDS = ["s", "b", "t", "x", "d", "as", "ao", "a{sv}", "av", "v", "(ss)", "ay", "aa{sv}", "a{ss}", "g", "y", "n", "q", "u"]
# Values that the D-Bus specification forbids; the bus or the daemon disconnects a client that sends such a value.
BAD_TEXTS = [b"\xff\xfe", b"a\0b", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\x80"]
BAD_PATHS = [b"", b"//", b"x", b"/a/", b"/a//b", b"/\xff", b"/a-b"]
BAD_SIGNATURES = [b"a", b"(", b"{sv}", b"a{vs}", b"z", b"a" * 40 + b"i", b"(" * 40 + b"i" + b")" * 40, b"()"]
MAX_LEVELS = 64
LARGE = 1 << 20


class Values:
    def __init__(self, rng, is_valid=True, largest=LARGE):
        self.random, self.is_valid, self.largest = rng, is_valid, largest

    def chance(self, part):
        return self.random.random() < part

    def text(self):
        if not self.is_valid and self.chance(0.1):
            return self.random.choice(BAD_TEXTS)
        if self.chance(0.01):
            return "y" * self.random.randrange(self.largest)
        return self.random.choice(TEXTS)

    def number(self, code):
        bits = 8 * wire.ALIGNMENT[code]
        if code in "yqtu":
            return self.random.choice([0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), self.random.getrandbits(bits)])
        edge = 1 << (bits - 1)
        return self.random.choice([0, 1, -1, edge - 1, -edge, self.random.randrange(-edge, edge)])

    def of(self, signature, level=0):
        code = signature[0]
        if code == "b":
            return self.random.choice([0, 1] if self.is_valid else [0, 1, 2, 0xFFFFFFFF])
        if code == "d":
            return self.random.choice([0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 1e308])
        if code == "h":
            return self.random.choice([0, 1, 0xFFFFFFFF])
        if code in wire.FIXED:
            return self.number(code)
        if code == "s":
            return self.text()
        if code == "o":
            bad = not self.is_valid and self.chance(0.2)
            return self.random.choice(BAD_PATHS if bad else PATHS)
        if code == "g":
            bad = not self.is_valid and self.chance(0.3)
            return self.random.choice(BAD_SIGNATURES if bad else ["", "s", "a{sv}", "(ii)"])
        if code == "v":
            return self.variant(level)
        if code == "a":
            return self.array(signature[1:], level)
        return tuple(self.of(kind, level + 1) for kind in wire.types_of(signature[1:-1]))

    def variant(self, level):
        if level < MAX_LEVELS and self.chance(0.02):
            # Generates containers up to the maximum nesting that the bus allows, and with one level more.
            levels = [1, 4, 12, 40] if self.is_valid else [MAX_LEVELS - 1, MAX_LEVELS + 1]
            value = ("s", "deep")
            for _ in range(self.random.choice(levels)):
                value = ("v", value)
            return value
        kind = self.random.choice(KINDS if level < 6 else KINDS[:5])
        return kind, self.of(kind, level + 1)

    def count(self, level):
        return self.random.choice([0, 1, 2, 3, 17, 300] if level < 2 else [0, 1, 2])

    def array(self, kind, level):
        count = self.count(level)
        if kind == "y":
            return bytes(self.random.getrandbits(8) for _ in range(count))
        if kind[0] != "{":
            return [self.of(kind, level + 1) for _ in range(count)]
        key, value = wire.types_of(kind[1:-1])
        words = KEYS if key == "s" else None
        return [(self.random.choice(words) if words and self.chance(0.9) else self.of(key, level + 1),
                 self.of(value, level + 1)) for _ in range(min(count, 40))]
