// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_environment.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::size_t kMaxComment = 4096;

std::string assignment(const std::string& name, const std::string& value) {
    return name + "=" + shell_quoted(value);
}

/// A selector as a comment: "# cuda, by position: CUDA_DEVICE_ORDER=PCI_BUS_ID
/// CUDA_VISIBLE_DEVICES=0".
std::string comment(const GpuSelector& selector) {
    const auto sentence = selector.kind == SelectorKind::Index
                              ? "# {api}[, partition {partition}], by position:"
                              : "# {api}[, partition {partition}]:";
    auto line = phrase(sentence, {{"api", selector.api}, {"partition", selector.partition}});
    for (const auto& [name, value] : needs_of(selector))
        line += " " + assignment(name, value);
    if (selector.argument)
        line += " " + shell_quoted(*selector.argument);
    // A line break would end the comment, and eval would run the rest.
    return scrubbed(line, kMaxComment) + "\n";
}

}  // namespace

EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors,
                                   const std::map<std::string, std::string>& settings) {
    const auto chosen = chosen_selectors(selectors);
    EnvironmentLines lines;
    for (const auto& [name, value] : settings)
        lines.settings += assignment(name, value) + "\n";
    // The chosen selectors are in `settings` already.
    for (const auto& selector : selectors)
        if (std::ranges::find(chosen, &selector) == chosen.end())
            lines.comments += comment(selector);
    return lines;
}

Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors) {
    Value positions{Value::Object{}};
    for (const auto& [api, view] : gpu.apis)
        // APIs without a known order have no index.
        if (view.index)
            positions[api] = *view.index;
    Value card;
    card["gpu"] = gpu.id;
    card["name"] = to_value(gpu.name);
    card["vendor"] = to_value(gpu.vendor);
    card["pci"] = to_value(gpu.pci);
    card["nodes"] = to_value(gpu.nodes);
    card["identity"] = to_value(gpu.identity);
    card["indices"] = positions;
    card["selectors"] = to_value(selectors);
    return card;
}

}  // namespace gpuprobe::inline cli
