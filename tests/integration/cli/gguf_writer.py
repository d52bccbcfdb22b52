# SPDX-License-Identifier: Apache-2.0
"""Writes headers of GGUF files, right and wrong, and the models in tests/data/models."""
import pathlib
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
    if isinstance(kind, tuple):  # (ARRAY, kind of the items)
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
    """tensors: (name, shape, kind), one behind the other. Returns the header and the size of the whole file."""
    infos, offset = [], 0
    for name, shape, kind in tensors:
        infos.append(tensor(name, shape, kind, offset))
        offset = aligned(offset + size_of(shape, kind))
    start = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    whole = start + b"".join(pair(*item) for item in pairs) + b"".join(infos)
    whole += bytes(aligned(len(whole)) - len(whole))
    return whole, len(whole) + offset


def write(path, pairs, tensors, version=3):
    """The header and a hole for the tensors: takes a block on the disk, whatever size it says."""
    content, size = header(pairs, tensors, version)
    with open(path, "wb") as file:
        file.write(content)
        file.truncate(size)


def model(architecture, name, layers, width, heads, heads_kv, feed_forward, words, context, *, head=None, tied=False, more=()):
    """A model of the usual shape. One tensor per layer stands for all of the layer's weights."""
    head_width = head or width // heads
    pairs = [
        ("general.architecture", STRING, architecture),
        ("general.name", STRING, name),
        (f"{architecture}.block_count", U32, layers),
        (f"{architecture}.context_length", U32, context),
        (f"{architecture}.embedding_length", U32, width),
        (f"{architecture}.attention.head_count", U32, heads),
        (f"{architecture}.attention.head_count_kv", U32, heads_kv),
    ]
    if head:
        pairs += [(f"{architecture}.attention.key_length", U32, head), (f"{architecture}.attention.value_length", U32, head)]
    pairs += [(f"{architecture}.{key}", kind, content) for key, kind, content in more]
    rows = 2 * heads * head_width + 2 * heads_kv * head_width + 3 * feed_forward
    tensors = [("token_embd.weight", [width, words], "q4_K")]
    tensors += [(f"blk.{layer}.weight", [width, rows], "q4_K") for layer in range(layers)]
    if not tied:
        tensors.append(("output.weight", [width, words], "q6_K"))
    return pairs, tensors


# Numbers from the models' public configurations.
MODELS = {
    "llama-3.1-8b": model("llama", "Llama 3.1 8B", 32, 4096, 32, 8, 14336, 128256, 131072),
    "qwen2.5-14b": model("qwen2", "Qwen2.5 14B", 48, 5120, 40, 8, 13824, 152064, 32768),
    "qwen3-32b": model("qwen3", "Qwen3 32B", 64, 5120, 64, 8, 25600, 151936, 40960, head=128),
    "gemma-3-27b": model("gemma3", "Gemma 3 27B", 62, 5376, 32, 16, 21504, 262208, 131072, head=128, tied=True,
                         more=[("attention.sliding_window", U32, 1024)]),
}


def main(folder):
    for name, (pairs, tensors) in MODELS.items():
        (folder / f"{name}.header.gguf").write_bytes(header(pairs, tensors)[0])


if __name__ == "__main__":
    main(pathlib.Path(__file__).resolve().parents[2] / "data/models")
