// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/knowledge_base.h"
#include "fuzz/input.h"

/// Checks a data file with the reader of its kind: chips, drivers, selectors, distributions,
/// contexts, setup, causes, rules, applications. The first line of the input is the file's name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto [name, text] = support::halves_at(support::text_of_input(data, size), "\n");
    const auto checked = engine::check_document(std::string{name}, text);
    if (!checked && checked.error().text.empty())
        std::abort();
    return 0;
}
