// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gpuprobe::inline base {

/// A JSON file that was embedded at build time (cmake/embed_json.cmake).
struct BuiltinDocument {
    std::string_view name = {};  ///< the file's name without ".json"
    std::string_view json = {};
};

}  // namespace gpuprobe::inline base
