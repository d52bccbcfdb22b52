#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpuprobe's report about NVDEC and NVENC with the answers of the driver's libraries, which this script calls itself.

Usage: tests/hardware/video.py --bin FOLDER

--bin is the folder of gpuprobectl and gpuprobe-worker. The script shares no code with gpuprobe: it writes and reads the structures by
their offsets. For NVDEC, an entry is a codec, a chroma format, the bits of a sample and the largest size. For NVENC, an entry is a codec
and a profile that can be encoded, with the largest size. The script prints each difference, and ends with "N equal, N unequal". A GPU
without NVENC, such as a data-center GPU, must have no entries for encoding.
"""
import argparse
import ctypes
import itertools
import json
import pathlib
import struct
import subprocess
import sys
import time
import uuid

CODECS = {0: "mpeg1", 1: "mpeg2", 2: "mpeg4", 3: "vc1", 4: "h264", 5: "jpeg", 7: "h264", 8: "hevc", 9: "vp8", 10: "vp9", 11: "av1"}
CHROMAS = ("4:0:0", "4:2:0", "4:2:2", "4:4:4")
ENCODERS = {"6bc82762-4e63-4ca4-aa85-1e50f321f6bf": "h264", "790cdc88-4522-4d7b-9425-bda9975f7603": "hevc",
            "0a352289-0aa7-4759-862d-5d15cd16d254": "av1"}
# For each profile: its names, the bits of a sample, and the required capabilities, which are numbers from NV_ENC_CAPS.
TEN, YUV422, YUV444 = 39, 59, 33
PROFILES = {
    "0727bcaa-78c4-4c83-8c2f-ef3dff267c6a": (("baseline", 8, ()),), "60b5c1d4-67fe-4790-94d5-c4726d7b6e6d": (("main", 8, ()),),
    "e7cbc309-4f7a-4b89-af2a-d537c92be310": (("high", 8, ()),), "8f0c337e-186c-48e9-a69d-7a8334089758": (("high10", 10, (TEN,)),),
    "ff3242e9-613c-4295-a1e8-2a7fe94d8133": (("high422", 8, (YUV422,)), ("high422", 10, (YUV422, TEN))),
    "7ac663cb-a598-4960-b844-339b261a7d52": (("high444", 8, (YUV444,)),), "40847bf5-33f7-4601-9084-e8fe3c1db8b7": (("stereo-high", 8, ()),),
    "b514c39a-b55b-40fa-878f-f1253b4dfdec": (("main", 8, ()),), "fa4d2b6c-3a5b-411a-8018-0a3f5e3c9be5": (("main10", 10, (TEN,)),),
    "51ec32b5-1b4c-453c-9cbd-b616bd621341": (("main422-10", 8, (YUV422,)), ("main422-10", 10, (YUV422, TEN)), ("main444", 8, (YUV444,)),
                                             ("main444-10", 10, (YUV444, TEN))),
    "5f2a39f5-f14e-4f95-9a9e-b76d568fcf97": (("main", 8, ()), ("main", 10, (TEN,)))}


class Gpu:
    """A GPU with a CUDA context, which is current until close()."""

    def __init__(self, cuda, index):
        self.cuda = cuda
        self.device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.check(cuda.cuDeviceGet(ctypes.byref(self.device), index))
        text = ctypes.create_string_buffer(32)
        self.check(cuda.cuDeviceGetPCIBusId(text, 32, self.device))
        self.address = text.value.decode().lower()
        self.check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), self.device))
        self.check(cuda.cuCtxSetCurrent(self.context))

    @staticmethod
    def check(code):
        if code:
            raise RuntimeError(f"CUDA error {code}")

    def close(self):
        self.check(self.cuda.cuDevicePrimaryCtxRelease_v2(self.device))


def decoded():
    """Returns NVDEC's capabilities on the current GPU, as a set of entries; None if the library is missing."""
    try:
        library = ctypes.CDLL("libnvcuvid.so.1")
    except OSError as problem:
        print(f"skipped  NVDEC: {problem}")
        return None
    found = set()
    for (codec, word), chroma, bits in itertools.product(CODECS.items(), range(4), (8, 10, 12)):
        caps = ctypes.create_string_buffer(struct.pack("<iiI", codec, chroma, bits - 8), 88)
        if library.cuvidGetDecoderCaps(caps) == 0 and caps.raw[24]:
            width, height = struct.unpack_from("<II", caps.raw, 28)
            found.add((word, CHROMAS[chroma], bits, width, height))
    return found


class Encoder:
    def __init__(self, gpu):
        self.library = ctypes.CDLL("libnvidia-encode.so.1")
        newest = ctypes.c_uint32()
        self.check(self.library.NvEncodeAPIGetMaxSupportedVersion(ctypes.byref(newest)))
        major, minor = min(divmod(newest.value, 16), (13, 0))
        self.version = major | minor << 24
        self.functions = ctypes.create_string_buffer(struct.pack("<I", self.structure(2)), 2552)
        self.check(self.library.NvEncodeAPICreateInstance(self.functions))
        self.session = ctypes.c_void_p()
        parameters = ctypes.create_string_buffer(struct.pack("<IIQQI", self.structure(1), 1, gpu.context.value, 0, self.version), 1552)
        self.status = self.function(240, ctypes.c_void_p, ctypes.c_void_p)(parameters, ctypes.addressof(self.session))

    def structure(self, number):
        return self.version | number << 16 | 7 << 28

    def function(self, offset, *types):
        (address,) = struct.unpack_from("<Q", self.functions.raw, offset)
        return ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"NVENC error {status}")

    def guids(self, offset, *codec):
        room, count = (ctypes.c_char * (16 * 64))(), ctypes.c_uint32()
        # A GUID is passed by value, as two integers.
        words = [value for one in codec for value in struct.unpack("<QQ", one.bytes_le)]
        types = [ctypes.c_void_p, *[ctypes.c_uint64] * len(words), ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]
        self.check(self.function(offset, *types)(self.session, *words, ctypes.addressof(room), 64, ctypes.addressof(count)))
        return [uuid.UUID(bytes_le=room.raw[16 * i:16 * i + 16]) for i in range(count.value)]

    def caps(self, codec, number):
        parameter, value = ctypes.create_string_buffer(struct.pack("<Ii", self.structure(1), number), 256), ctypes.c_int()
        call = self.function(64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)
        status = call(self.session, *struct.unpack("<QQ", codec.bytes_le), ctypes.addressof(parameter), ctypes.addressof(value))
        return 0 if status else value.value

    def entries(self):
        found = set()
        for codec in self.guids(40):
            size = self.caps(codec, 16), self.caps(codec, 17)
            for profile in self.guids(32, codec):
                for word, bits, needs in PROFILES.get(str(profile), ()):
                    if all(self.caps(codec, need) for need in needs):
                        found.add((ENCODERS[str(codec)], word, bits, *size))
        self.check(self.function(224, ctypes.c_void_p)(self.session))
        return found


def encoded(gpu):
    """Returns the entries of NVENC; None if they are unknown."""
    try:
        encoder = Encoder(gpu)
    except (OSError, RuntimeError) as problem:
        print(f"skipped  NVENC: {problem}")
        return None
    if encoder.status in (1, 2):
        print(f"note     {gpu.address} has no NVENC (status {encoder.status})")
        return set()
    if encoder.status:
        print(f"skipped  NVENC: status {encoder.status}")
        return None
    return encoder.entries()


def reported(binaries):
    """Returns the `nvcodec` view of each GPU in gpuprobe's report, by PCI address."""
    command = [str(pathlib.Path(binaries) / "gpuprobectl"), "--direct", "--no-cache", "describe", "-j"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return {gpu["pci"]["address"]: gpu["apis"]["nvcodec"] for gpu in json.loads(done.stdout)["gpus"] if "nvcodec" in gpu["apis"]}


def compare(what, got, wanted):
    if wanted is None:
        return 0, 0
    for entry in sorted(got ^ wanted):
        print(f"unequal  {what} {entry}: only {'gpuprobe' if entry in got else 'the driver'} has it")
    return len(got & wanted), len(got ^ wanted)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--bin", required=True)
    views = reported(parser.parse_args().bin)
    began = time.monotonic()
    cuda = ctypes.CDLL("libcuda.so.1")
    Gpu.check(cuda.cuInit(0))
    count = ctypes.c_int()
    Gpu.check(cuda.cuDeviceGetCount(ctypes.byref(count)))
    equal = unequal = 0
    for index in range(count.value):
        gpu = Gpu(cuda, index)
        times = {"context": time.monotonic() - began}
        view = views[gpu.address]
        device = view["device"] or {}
        video = device.get("video") or []
        print(f"{gpu.address}: {view['outcome']}, NVENC {device.get('nvenc_version')}, "
              f"errors: {device.get('decode_error')}, {device.get('encode_error')}")
        for what, key, ask in (("decode", "chroma", decoded), ("encode", "profile", lambda: encoded(gpu))):
            began = time.monotonic()
            wanted = ask()
            times[what] = time.monotonic() - began
            got = {tuple(item[name] for name in ("codec", key, "bits", "max_width", "max_height"))
                   for item in video if item["direction"] == what}
            same, different = compare(f"{gpu.address} {what}", got, wanted)
            print(f"{what}: {same} equal, {different} unequal")
            equal, unequal = equal + same, unequal + different
        gpu.close()
        print("milliseconds of this script's own calls:", ", ".join(f"{what} {taken * 1000:.0f}" for what, taken in times.items()))
        began = time.monotonic()
    print(f"{equal} equal, {unequal} unequal")
    return 0 if equal and not unequal else 1


if __name__ == "__main__":
    sys.exit(main())
