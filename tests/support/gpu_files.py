# SPDX-License-Identifier: Apache-2.0
"""Creates files with GPU code in their documented formats (src/inventory/object_file.h names the sources).

The machine's compiler creates shared objects. This module creates the content of the sections of these objects.
"""
import struct
import subprocess
import zlib

PTX, CUBIN = 1, 2
SPECIFIC, FAMILY = 1 << 20, 1 << 21
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"


def image(kind, arch, version=(1, 8), flags=0x11, payload=b"\0" * 16, head=64):
    """Returns an entry of a fat binary. The header of an entry has 64 bytes, and more since Blackwell."""
    row = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, head, len(payload), len(payload), 0, version[1], version[0],
                      arch, 0, 0, flags, 0, 0)
    return row + b"\0" * (head - len(row)) + payload


def fatbin(*images):
    body = b"".join(images)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def cuda(sass=(), ptx=(), isa=(9, 1), suffix=0):
    return fatbin(*[image(CUBIN, arch, flags=0x8011 | suffix) for arch in sass],
                  *[image(PTX, arch, isa, head=80) for arch in ptx])


def bundle(*targets):
    """Returns an offload bundle with an empty part for the host and one code object for each target."""
    ids = [b"host-x86_64-unknown-linux-gnu--", *[b"hipv4-amdgcn-amd-amdhsa--" + t.encode() for t in targets]]
    start = len(BUNDLE) + 8 + sum(24 + len(i) for i in ids)
    rows, body = b"", b""
    for number, name in enumerate(ids):
        size = 64 if number else 0
        rows += struct.pack("<QQQ", start + len(body), size, len(name)) + name
        body += b"\0" * size
    return BUNDLE + struct.pack("<Q", len(ids)) + rows + body


def compressed(content, version=2):
    """Returns the content compressed with zlib, which is method 0."""
    packed = zlib.compress(content)
    head = {1: struct.pack("<4sHHIQ", b"CCOB", 1, 0, len(content), 0),
            2: struct.pack("<4sHHIIQ", b"CCOB", 2, 0, 24 + len(packed), len(content), 0),
            3: struct.pack("<4sHHQQQ", b"CCOB", 3, 0, 32 + len(packed), len(content), 0)}[version]
    return head + packed


def library(folder, name, needs=(), sections=None, soname=None, options=(), text=""):
    """Compiles a shared object that needs the given sonames and has the given sections. Returns its path."""
    stubs = folder / ".stubs"
    stubs.mkdir(parents=True, exist_ok=True)
    words = []
    for need in needs:
        stub = stubs / need
        if not stub.exists():
            subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{need}", "-o", stub],
                           check=True)
        words.append(str(stub))
    source = text + "\nint made_for_a_test;\n"
    for number, (section, content) in enumerate((sections or {}).items()):
        part = stubs / f"{name}.{number}"
        part.write_bytes(content)
        source += f'__asm__(".pushsection {section},\\"a\\"\\n.incbin \\"{part}\\"\\n.popsection");\n'
    path = folder / name
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", str(path), "-Wl,--no-as-needed", *words,
               *([f"-Wl,-soname,{soname}"] if soname else []), *options]
    subprocess.run(command, input=source, text=True, check=True)
    for leftover in stubs.iterdir():
        leftover.unlink()
    stubs.rmdir()
    return path


def examples(folder):
    """Yields (name, content) for one file of each kind."""
    code = cuda([75, 86], [90]) + b"\0" * 8 + cuda([120], suffix=SPECIFIC)
    hip = bundle("gfx906:sramecc+:xnack-", "gfx1100")
    yield "fatbin", code
    yield "bundle", hip + b"\0" * 40 + bundle("gfx942")
    for version in (1, 2, 3):
        yield f"compressed-{version}", compressed(hip, version)
    path = library(folder, "libx.so", ["libcudart.so.13", "libcuda.so.1"],
                   {".nv_fatbin": code, ".hip_fatbin": hip, "__CLANG_OFFLOAD_BUNDLE__sycl-spir64": b"\3\2#\7"},
                   options=["-Wl,-rpath,$ORIGIN/../lib"])
    yield "library", path.read_bytes()
