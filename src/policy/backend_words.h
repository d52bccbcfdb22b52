// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "report/api_table.h"

/// The names of backends that only consumers know; ours are in report/api_table.h.
namespace gpuprobe::inline policy {

/// Whether the word names a backend that inference runtimes have and this program never selects
/// (of another system, or under a name that only a profile's `translate` gives a meaning): a caller
/// may say that it is compiled in.
bool is_foreign_backend(std::string_view word);

}  // namespace gpuprobe::inline policy
