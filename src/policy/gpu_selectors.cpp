// SPDX-License-Identifier: Apache-2.0
#include "policy/gpu_selectors.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/environment.h"
#include "policy/selector_facts.h"
#include "report/api_table.h"
#include "report/compute_view.h"

namespace gpuprobe::inline policy {
namespace {

/// The selector of a row. nullopt if a fact is unknown, or if the row needs a single device name
/// but several partitions are selected.
std::optional<GpuSelector> made(const knowledge::UseRow& row, const Selection& selection) {
    if (row.kind == SelectorKind::Part || (selection.gpus.size() != 1 && row.argument))
        return std::nullopt;
    auto variables = filled(row.variables, selection);
    auto argument = row.argument ? filled(*row.argument, selection) : std::nullopt;
    auto environment = filled(row.environment, selection);
    if (!variables || !environment || argument.has_value() != row.argument.has_value())
        return std::nullopt;
    return GpuSelector{.api = row.api,
                       .kind = row.kind,
                       .variables = std::move(*variables),
                       .argument = std::move(argument),
                       .environment = std::move(*environment)};
}

/// All selectors of the selection.
std::vector<GpuSelector> selectors_of(const Selection& selection) {
    std::vector<GpuSelector> selectors;
    for (const auto& row : knowledge::Selectors::current().uses())
        if (auto selector = made(row, selection))
            selectors.push_back(std::move(*selector));
    return selectors;
}

using Variables = std::map<std::string, std::string>;

bool is_variable_name(std::string_view text) {
    const auto is_letter = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && is_letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c); });
}

bool can_be_set(const Variables& variables) {
    return std::ranges::all_of(
        variables, [](const auto& entry) { return is_settable(entry.first, entry.second); });
}

/// Whether the API lists the GPU.
bool is_shown(const Gpu& gpu, const std::string& api) {
    const auto view = gpu.apis.find(api);
    return view != gpu.apis.end() && view->second.device.is_object();
}

/// Whether the API may list the GPU although it did not when probed, for example because the GPU
/// sleeps or the driver crashed.
bool is_open(const Gpu& gpu, const std::string& api) {
    const auto* row = find_api(api);
    const auto backend = row ? gpu.backends.find(std::string{row->backend}) : gpu.backends.end();
    return !is_shown(gpu, api) && backend != gpu.backends.end() && !backend->second.usable;
}

/// Whether the API lists, or may list, devices of this machine but not this GPU. If it may list
/// this GPU too, the other devices must be known.
bool shows_only_others(const Report& report, const Gpu& gpu, const std::string& api) {
    const bool is_certain = !is_open(gpu, api);
    return !is_shown(gpu, api) && std::ranges::any_of(report.gpus, [&](const Gpu& other) {
        return !goes_by(other, gpu.id) &&
               (is_shown(other, api) || (is_certain && is_open(other, api)));
    });
}

/// Whether the variables that hide one API's devices would also hide this GPU in a used API.
bool hides_too_much(const knowledge::Reader& reader,
                    const Gpu& gpu,
                    const std::set<std::string_view>& used) {
    const auto* api = find_api(reader.api);
    return api && gpu.vendor == api->vendor &&
           std::ranges::any_of(reader.reaches, [&used](const std::string& reached) {
               return used.contains(reached);
           });
}

/// Whether no variable has different values in the two sets.
bool agree(const Variables& left, const Variables& right) {
    return std::ranges::all_of(left, [&right](const auto& entry) {
        const auto found = right.find(entry.first);
        return found == right.end() || found->second == entry.second;
    });
}

}  // namespace

std::vector<GpuSelector> gpu_selectors(const Report& report, const Gpu& gpu) {
    const ComputeView view{report};
    Selection all{.report = view.report()};
    // A partitioned GPU is represented by its partitions in the view.
    for (const auto& one : view.report().gpus)
        if (goes_by(one, gpu.id))
            all.gpus.push_back(&one);
    auto selectors = selectors_of(all);
    if (!is_divided(gpu) || unit_of(gpu))
        return selectors;
    for (const auto* unit : all.gpus)
        for (auto& selector : selectors_of({.report = view.report(), .gpus = {unit}})) {
            selector.partition = unit_of(*unit)->name;
            selectors.push_back(std::move(selector));
        }
    return selectors;
}

bool is_settable(std::string_view name, std::string_view value) {
    // scrubbed() replaces unprintable characters, so an unchanged value is printable.
    return is_variable_name(name) && scrubbed(value, value.size()) == value;
}

std::map<std::string, std::string> needs_of(const GpuSelector& selector) {
    auto needs = selector.environment;
    needs.insert(selector.variables.begin(), selector.variables.end());
    return needs;
}

std::vector<const GpuSelector*> chosen_selectors(const std::vector<GpuSelector>& selectors) {
    std::vector<const GpuSelector*> chosen;
    Variables set;
    for (const auto& selector : selectors) {
        const auto needs = needs_of(selector);
        const bool is_first = std::ranges::none_of(
            chosen, [&selector](const auto* other) { return other->api == selector.api; });
        // Skip selectors that set no variables, can't be set, or conflict with earlier ones.
        if (!is_first || selector.partition || selector.variables.empty() || !can_be_set(needs) ||
            !agree(needs, set))
            continue;
        set.insert(needs.begin(), needs.end());
        chosen.push_back(&selector);
    }
    return chosen;
}

std::map<std::string, std::string> environment_for(const Report& report, const Gpu& gpu) {
    const auto selectors = gpu_selectors(report, gpu);
    std::set<std::string_view> used;
    Variables variables;
    for (const auto* selector : chosen_selectors(selectors)) {
        used.insert(selector->api);
        variables.merge(needs_of(*selector));
    }
    // Hiding other GPUs is pointless, and even harmful, if this GPU can't be selected.
    if (variables.empty())
        return variables;
    for (const auto& reader : knowledge::Selectors::current().readers())
        if (!used.contains(reader.api) && !hides_too_much(reader, gpu, used) &&
            shows_only_others(report, gpu, reader.api))
            variables.insert(reader.hide.begin(), reader.hide.end());
    return variables;
}

}  // namespace gpuprobe::inline policy
