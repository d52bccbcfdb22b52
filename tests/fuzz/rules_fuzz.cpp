// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "knowledge/library.h"
#include "policy/rules.h"

namespace {

using namespace gpuprobe;

/// The tables of rules, with the table `name` replaced by `text`.
std::vector<knowledge::BuiltinDocument> tables_with(std::string_view name, std::string_view text) {
    std::vector<knowledge::BuiltinDocument> tables;
    for (const auto& table : knowledge::builtin_rules())
        tables.push_back(table.name == name
                             ? knowledge::BuiltinDocument{.name = table.name, .json = text}
                             : table);
    return tables;
}

}  // namespace

/// Changes a table of rules. The changed table is rejected, or every query returns. The first line
/// of the input is the name of the table.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto [name, text] = support::halves_at(support::text_of_input(data, size), "\n");
    const auto rules = Rules::from(tables_with(name, text));
    if (!rules)
        return 0;
    for (const auto* version : {"11.8", "12", "13.0.1", "535.104", "20.4.4", "0"})
        if (const auto parsed = leading_version(version)) {
            (void)rules->cuda_floor(*parsed);
            (void)rules->cuda_of_driver(*parsed);
            (void)rules->intel_base(*parsed);
        }
    (void)rules->cpu_feature("pni");
    (void)rules->serial();
    return 0;
}
