// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_environment.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/parse.h"
#include "cli/shell_quote.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxComment = 4096;

using Variables = std::map<std::string, std::string>;

/// What the selector needs, all of it.
Variables needs_of(const GpuSelector& selector) {
    auto needs = selector.environment;
    needs.insert(selector.variables.begin(), selector.variables.end());
    return needs;
}

bool can_be_set(const Variables& variables) {
    return std::ranges::all_of(
        variables, [](const auto& entry) { return is_settable(entry.first, entry.second); });
}

bool agree(const Variables& left, const Variables& right) {
    return std::ranges::all_of(left, [&right](const auto& entry) {
        const auto found = right.find(entry.first);
        return found == right.end() || found->second == entry.second;
    });
}

std::string assignment(const std::string& name, const std::string& value) {
    return name + "=" + shell_quoted(value);
}

/// "# cuda, by position: CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0".
std::string comment(const GpuSelector& selector) {
    auto line = "# " + selector.api;
    if (selector.partition)
        line += ", partition " + *selector.partition;
    line += selector.kind == SelectorKind::Index ? ", by position:" : ":";
    for (const auto& [name, value] : needs_of(selector))
        line += " " + assignment(name, value);
    if (selector.argument)
        line += " " + *selector.argument;
    // A line break in it would end the comment.
    return scrubbed(line, kMaxComment) + "\n";
}

/// Chooses what is set; the rest become comments.
class Lines {
public:
    explicit Lines(bool has_positions) : has_positions_{has_positions} {}

    void add(const GpuSelector& selector) {
        const auto needs = needs_of(selector);
        const bool is_alternative = !selector.variables.empty() && is_best(selector);
        if (!is_alternative || !can_be_set(needs) || !agree(needs, set_)) {
            lines_.comments += comment(selector);
            return;
        }
        apis_.insert(selector.api);
        for (const auto& [name, value] : needs)
            if (set_.emplace(name, value).second)
                lines_.settings += assignment(name, value) + "\n";
    }
    EnvironmentLines take() { return std::move(lines_); }

private:
    [[nodiscard]] bool is_best(const GpuSelector& selector) const {
        const bool is_wanted = selector.kind == SelectorKind::Stable || has_positions_;
        return is_wanted && !selector.partition && !apis_.contains(selector.api);
    }

    bool has_positions_;
    Variables set_ = {};
    std::set<std::string> apis_ = {};
    EnvironmentLines lines_ = {};
};

}  // namespace

bool is_settable(std::string_view name, std::string_view value) {
    return is_variable_name(name) && value.find('\0') == std::string_view::npos;
}

EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors, bool has_positions) {
    Lines lines{has_positions};
    for (const auto& selector : selectors)
        lines.add(selector);
    return lines.take();
}

Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors) {
    Value positions{Value::Object{}};
    for (const auto& [api, view] : gpu.apis)
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

}  // namespace gpuprobe
