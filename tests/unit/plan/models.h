// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "plan/model.h"
#include "support/places.h"

/// The models in tests/data/models: headers with the numbers of real models.
namespace gpuprobe::support {

inline Gguf header_of(const std::string& name) {
    std::ifstream file{GPUPROBE_SOURCE_DIR "/tests/data/models/" + name + ".header.gguf",
                       std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    const auto gguf = parse_gguf(bytes, Bytes{std::numeric_limits<std::uint64_t>::max()});
    return gguf.value().value();
}

inline Model model_named(const std::string& name) {
    return model_of(header_of(name)).value();
}

/// A model with `layers` layers and the given additional values.
inline Gguf made(const std::string& architecture,
                 std::int64_t layers,
                 const std::map<std::string, GgufValue>& values) {
    Gguf gguf{.version = 3};
    gguf.values["general.architecture"] = architecture;
    gguf.values[architecture + ".block_count"] = layers;
    gguf.values[architecture + ".embedding_length"] = std::int64_t{1024};
    gguf.values[architecture + ".attention.head_count"] = std::int64_t{16};
    for (const auto& [key, value] : values)
        gguf.values[architecture + "." + key] = value;
    return gguf;
}

}  // namespace gpuprobe::support
