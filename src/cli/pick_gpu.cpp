// SPDX-License-Identifier: Apache-2.0
#include "cli/pick_gpu.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

using Gpus = std::vector<const Gpu*>;

template <class Predicate>
Gpus matching(const Report& report, Predicate matches) {
    Gpus found;
    for (const auto& gpu : report.gpus)
        if (matches(gpu))
            found.push_back(&gpu);
    return found;
}

bool has_node(const Gpu& gpu, std::string_view path) {
    return std::any_of(gpu.nodes.begin(), gpu.nodes.end(),
                       [path](const DeviceNode& node) { return node.path == path; });
}

bool has_address(const Gpu& gpu, std::string_view selector) {
    const auto address = parse_text(selector, std::type_identity<PciAddress>{});
    return address && gpu.pci && gpu.pci->address == address;
}

/// Whether the text starts with `start`, in any case.
bool starts(std::string_view text, std::string_view start) {
    return lower_case(text).starts_with(lower_case(start));
}

/// Whether the id, PCI address or NVIDIA UUID starts with the selector.
bool starts_like(const Gpu& gpu, std::string_view selector) {
    if (starts(gpu.id, selector))
        return true;
    if (gpu.pci && gpu.pci->address && starts(text_of(*gpu.pci->address), selector))
        return true;
    return gpu.identity.nvidia_uuid && starts(*gpu.identity.nvidia_uuid, selector);
}

/// Whether the selector can only be an index. "7" must not match a UHD Graphics 770.
bool is_place(std::string_view selector) {
    return selector.size() <= 2 && parse_number<std::size_t>(selector);
}

bool is_named_like(const Gpu& gpu, std::string_view selector) {
    return gpu.name && !is_place(selector) &&
           lower_case(*gpu.name).find(lower_case(selector)) != std::string::npos;
}

/// Whether `gpu` is the partition `name` of the single GPU that the text before the slash means.
bool is_part_of(const Gpu& gpu, const Unit& unit, const Gpus& wholes, std::string_view name) {
    return wholes.size() == 1 && unit.name == name && whole_id(gpu.id) == wholes.front()->id;
}

/// The error for a selector that matches nothing.
Error unknown(const Report& report, std::string_view selector) {
    if (report.gpus.empty())
        return {ErrorCode::UnknownDevice,
                fmt::format("no GPU '{}': this machine has none", selector)};
    return {ErrorCode::UnknownDevice,
            phrase("no GPU '{asked}'; this machine has {gpus}",
                   {{"asked", std::string{selector}},
                    {"gpus", gpu_listing(matching(report, [](const Gpu&) { return true; }))}})};
}

}  // namespace

std::string gpu_listing(const std::vector<const Gpu*>& gpus) {
    std::string text;
    for (const auto* gpu : gpus)
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", gpu->id,
                            gpu->name.value_or("unnamed"));
    return text;
}

std::vector<const Gpu*> gpus_meant(const Report& report, std::string_view selector) {
    if (selector.empty())
        return {};
    // From the most exact way of naming a GPU to the vaguest; the first with a match wins.
    if (const auto index = parse_number<std::size_t>(selector);
        index && *index < report.gpus.size())
        return {&report.gpus[*index]};
    auto exact = matching(report, [selector](const Gpu& gpu) {
        return gpu.id == selector || has_node(gpu, selector) || has_address(gpu, selector);
    });
    if (!exact.empty())
        return exact;
    auto similar =
        matching(report, [selector](const Gpu& gpu) { return starts_like(gpu, selector); });
    if (!similar.empty())
        return similar;
    return matching(report, [selector](const Gpu& gpu) { return is_named_like(gpu, selector); });
}

std::vector<const Gpu*> gpus_meant(const ComputeView& view, std::string_view selector) {
    // The name of a partition follows the last slash. A path such as /dev/dri/card0 has one too,
    // but no GPU matches the text before it.
    const auto slash = selector.rfind('/');
    const auto name = slash == std::string_view::npos ? "" : selector.substr(slash + 1);
    const auto wholes = name.empty() ? Gpus{} : gpus_meant(view.whole(), selector.substr(0, slash));
    auto units = matching(view.report(), [&](const Gpu& gpu) {
        const auto* unit = unit_of(gpu);
        return unit && (gpu.id == selector || unit->uuid == selector || unit->node == selector ||
                        is_part_of(gpu, *unit, wholes, name));
    });
    return units.empty() ? gpus_meant(view.whole(), selector) : units;
}

namespace {

/// The only match. Errors: UnknownDevice for no match and for several.
Result<const Gpu*> only_one(const Gpus& meant, const Report& report, std::string_view selector) {
    if (meant.empty())
        return unknown(report, selector);
    if (meant.size() == 1)
        return meant.front();
    return Error{ErrorCode::UnknownDevice,
                 phrase("'{asked}' could mean {gpus}",
                        {{"asked", std::string{selector}}, {"gpus", gpu_listing(meant)}})};
}

}  // namespace

Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector) {
    return only_one(gpus_meant(report, selector), report, selector);
}

Result<const Gpu*> pick_gpu(const ComputeView& view, std::string_view selector) {
    return only_one(gpus_meant(view, selector), view.whole(), selector);
}

}  // namespace gpuprobe::inline cli
