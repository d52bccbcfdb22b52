// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/driver_library.h"
#include "report/video.h"

namespace gpuprobe::backends {

/// Reports what NVDEC can decode and NVENC can encode on each GPU that CUDA lists. NVDEC and NVENC
/// need a CUDA context. The API has its own probe, so that a crash does not affect the facts about
/// CUDA. If both libraries are missing, CUDA isn't initialized.
Answer query_nvcodec(const ProbeTarget& target, Sink& sink);

}  // namespace gpuprobe::backends

/// The functions and structures of libnvcuvid.so.1 and libnvidia-encode.so.1 that this backend
/// uses. Names, layouts and numbers are from FFmpeg/nv-codec-headers at tag n13.0.19.0
/// (e844e5b26f46), include/ffnvcodec/dynlink_cuviddec.h and nvEncodeAPI.h. The layouts and the
/// versions of the structures have been the same since tag n8.0.14.9.

namespace gpuprobe::backends::nvcodec {

/// CUVIDDECODECAPS
struct DecoderCaps {
    std::int32_t codec = 0;   ///< cudaVideoCodec
    std::int32_t chroma = 0;  ///< cudaVideoChromaFormat
    std::uint32_t bits_above_8 = 0;
    std::uint32_t reserved_1[3] = {};
    std::uint8_t is_supported = 0;
    std::uint8_t engines = 0;
    std::uint16_t output_formats = 0;
    std::uint32_t max_width = 0;
    std::uint32_t max_height = 0;
    std::uint32_t unused[13] = {};
};
static_assert(sizeof(DecoderCaps) == 88 && offsetof(DecoderCaps, is_supported) == 24 &&
              offsetof(DecoderCaps, max_width) == 28);

struct DecodeSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<int(DecoderCaps*)> caps{*this, "cuvidGetDecoderCaps"};
};

/// GUID
struct Guid {
    std::uint32_t first = 0;
    std::uint16_t second = 0;
    std::uint16_t third = 0;
    std::uint8_t rest[8] = {};
    bool operator==(const Guid&) const = default;
};
static_assert(sizeof(Guid) == 16);

/// NV_ENC_CAPS_PARAM
struct CapsParameter {
    std::uint32_t version = 0;
    std::int32_t caps = 0;  ///< NV_ENC_CAPS
    std::uint32_t reserved[62] = {};
};
static_assert(sizeof(CapsParameter) == 256);

/// NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS
struct SessionParameters {
    std::uint32_t version = 0;
    std::uint32_t device_type = 0;  ///< NV_ENC_DEVICE_TYPE
    void* device = nullptr;
    void* reserved = nullptr;
    std::uint32_t api_version = 0;
    std::uint32_t reserved_1[253] = {};
    void* reserved_2[64] = {};
};
static_assert(sizeof(void*) != 8 || (sizeof(SessionParameters) == 1552 &&
                                     offsetof(SessionParameters, api_version) == 24));

using Session = void*;
/// NVENCSTATUS; 0 is success.
using Status = int;

/// NV_ENCODE_API_FUNCTION_LIST
struct EncodeFunctions {
    std::uint32_t version = 0;
    std::uint32_t reserved = 0;
    AnyFunction open_session_old = nullptr;
    Status (*codec_count)(Session, std::uint32_t*) = nullptr;
    Status (*profile_count)(Session, Guid, std::uint32_t*) = nullptr;
    Status (*profiles)(Session, Guid, Guid*, std::uint32_t, std::uint32_t*) = nullptr;
    Status (*codecs)(Session, Guid*, std::uint32_t, std::uint32_t*) = nullptr;
    AnyFunction input_formats[2] = {};
    Status (*caps)(Session, Guid, CapsParameter*, int*) = nullptr;
    AnyFunction unused_1[19] = {};
    Status (*close_session)(Session) = nullptr;
    AnyFunction invalidate = nullptr;
    Status (*open_session)(SessionParameters*, Session*) = nullptr;
    AnyFunction unused_2[288] = {};
};
static_assert(sizeof(void*) != 8 ||
              (sizeof(EncodeFunctions) == 2552 && offsetof(EncodeFunctions, codec_count) == 16 &&
               offsetof(EncodeFunctions, codecs) == 40 && offsetof(EncodeFunctions, caps) == 64 &&
               offsetof(EncodeFunctions, close_session) == 224 &&
               offsetof(EncodeFunctions, open_session) == 240));

struct EncodeSymbols : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<Status(std::uint32_t*)> newest_version{*this, "NvEncodeAPIGetMaxSupportedVersion"};
    Symbol<Status(EncodeFunctions*)> create{*this, "NvEncodeAPICreateInstance"};
};

/// The formats that NVDEC decodes on the GPU of the current context, at most kMaxVideoEntries.
/// Refusals: `api-refused`.
Attempt<std::vector<VideoEntry>> decoded_formats(const DecodeSymbols& api);

/// The formats that NVENC encodes on the GPU of the context, at most kMaxVideoEntries; empty for a
/// GPU without NVENC, such as a data-center GPU. Refusals: `api-refused`.
Attempt<std::vector<VideoEntry>> encoded_formats(const EncodeSymbols& api, void* context);

/// The newest version of the NVENC API that the driver supports, such as "13.0"; nullopt if
/// unknown.
std::optional<std::string> nvenc_version(const EncodeSymbols& api);

}  // namespace gpuprobe::backends::nvcodec
