// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/knowledge_base.h"
#include "fuzz/input.h"

/// One document of knowledge as its own reader sees it: chips, drivers, selectors, distributions,
/// contexts, setup, causes, rules, applications. The first line is its name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto [name, text] = support::halves_at(support::text_of_input(data, size), "\n");
    const auto checked = engine::check_document(std::string{name}, text);
    if (!checked && checked.error().text.empty())
        std::abort();
    return 0;
}
