# SPDX-License-Identifier: Apache-2.0
"""Writes valid and invalid headers of GGUF files."""
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<B",
           U64: "<Q", I64: "<q", F64: "<d"}
TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q8_0": (8, 32, 34), "q4_K": (12, 256, 144), "q6_K": (14, 256, 210)}
ALIGNMENT = 32


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(kind, content):
    if kind == STRING:
        return text(content)
    if isinstance(kind, tuple):  # (ARRAY, type of the items)
        return struct.pack("<IQ", kind[1], len(content)) + b"".join(value(kind[1], item) for item in content)
    return struct.pack(FORMATS[kind], content)


def pair(key, kind, content):
    number = kind[0] if isinstance(kind, tuple) else kind
    return text(key) + struct.pack("<I", number) + value(kind, content)


def size_of(shape, kind):
    _, block, width = TYPES[kind]
    rows = 1
    for length in shape[1:]:
        rows *= length
    return shape[0] // block * width * rows


def aligned(offset):
    return -(-offset // ALIGNMENT) * ALIGNMENT


def tensor(name, shape, kind, offset):
    return (text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", length) for length in shape)
            + struct.pack("<IQ", TYPES[kind][0], offset))


def header(pairs, tensors, version=3):
    """Returns the header of a file and the size of the whole file. `tensors` are (name, shape, type), in the order of their data in the file."""
    infos, offset = [], 0
    for name, shape, kind in tensors:
        infos.append(tensor(name, shape, kind, offset))
        offset = aligned(offset + size_of(shape, kind))
    start = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    whole = start + b"".join(pair(*item) for item in pairs) + b"".join(infos)
    whole += bytes(aligned(len(whole)) - len(whole))
    return whole, len(whole) + offset


def write(path, pairs, tensors, version=3):
    """Writes the header of a GGUF file, and a hole instead of the tensors' data, so that a file of any size needs few blocks on the disk."""
    content, size = header(pairs, tensors, version)
    with open(path, "wb") as file:
        file.write(content)
        file.truncate(size)
