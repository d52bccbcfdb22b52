// SPDX-License-Identifier: Apache-2.0
#include "explain/gpu_words.h"

#include <algorithm>

#include "base/text.h"
#include "explain/sizes.h"
#include "knowledge/chips.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/identity.h"

namespace gpuprobe::inline explain {
namespace {

/// Backends of the GPU with that value of `usable`: ours in our order, then others by name.
std::vector<std::string> backends_with(const Gpu& gpu, std::optional<bool> usable) {
    std::vector<std::string> names;
    for (const auto& backend : gpu_backends()) {
        const auto found = gpu.backends.find(std::string{backend.name});
        if (found != gpu.backends.end() && found->second.usable == usable)
            names.push_back(found->first);
    }
    for (const auto& [name, view] : gpu.backends)
        if (!api_of_backend(name) && view.usable == usable)
            names.push_back(name);
    return names;
}

}  // namespace

std::string vendor_title(std::string_view vendor) {
    const auto* maker = knowledge::Chips::current().maker(vendor);
    return maker ? maker->name : std::string{vendor};
}

std::string gpu_title(const Gpu& gpu) {
    if (auto title = title_of(gpu))
        return *std::move(title);
    const auto vendor = gpu.vendor ? vendor_title(*gpu.vendor) : std::string{};
    if (gpu.pci && gpu.pci->vendor_id && gpu.pci->device_id)
        return vendor + (vendor.empty() ? "[" : " [") + *gpu.pci->vendor_id + ":" +
               *gpu.pci->device_id + "]";
    return vendor.empty() ? gpu.id : vendor + " GPU";
}

std::string named_gpu_title(const std::string& id, const Report* report) {
    if (!report)
        return scrubbed(id);
    const auto named = [&id](const Gpu& gpu) {
        return scrubbed(gpu_title(gpu)) + " (" + scrubbed(id) + ")";
    };
    if (const auto gpu = std::ranges::find(report->gpus, id, &Gpu::id); gpu != report->gpus.end())
        return named(*gpu);
    // The report has partitions only inside their GPU: expand the GPU to find the partition.
    const auto whole = std::ranges::find(report->gpus, whole_id(id), &Gpu::id);
    if (whole == report->gpus.end())
        return scrubbed(id);
    const Report one{.gpus = {*whole}};
    for (const ComputeView view{one}; const auto& unit : view.report().gpus)
        if (unit.id == id)
            return named(unit);
    return scrubbed(id);
}

std::optional<std::string> named_gpu_titles(const std::vector<std::string>& ids,
                                            const Report* report) {
    std::vector<std::string> titles;
    for (const auto& id : ids)
        titles.push_back(named_gpu_title(id, report));
    return titles.empty() ? std::nullopt : std::optional{joined(titles, ", ")};
}

std::string driver_title(const DriverInfo& driver, const Screen& screen) {
    if (!driver.name)
        return std::string{screen.dash()};
    auto text = *driver.name;
    if (driver.version)
        text += " " + *driver.version;
    if (driver.flavour)
        text += " (" + *driver.flavour + ")";
    return text;
}

std::string size_or_dash(const std::optional<Bytes>& size, const Screen& screen) {
    return size ? size_text(*size) : std::string{screen.dash()};
}

std::string kind_title(const Gpu& gpu) {
    const std::string kind{name_of(gpu.kind)};
    return gpu.health == "ok" ? kind : kind + " !";
}

std::vector<std::string> usable_backends(const Gpu& gpu) {
    return backends_with(gpu, true);
}

std::vector<std::string> backend_names(const Report& report) {
    std::vector<std::string> names;
    for (const auto& backend : gpu_backends())
        names.emplace_back(backend.name);
    // Then the backends that this version does not know, sorted by name.
    const auto ours = static_cast<std::ptrdiff_t>(names.size());
    for (const auto& gpu : report.gpus)
        for (const auto& [name, view] : gpu.backends)
            if (name != kCpu && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    std::sort(names.begin() + ours, names.end());
    return names;
}

Cell backends_cell(const Gpu& gpu, const Screen& screen) {
    auto names = usable_backends(gpu);
    const bool any = !names.empty();
    for (const auto& name : backends_with(gpu, std::nullopt))
        names.push_back(name + "?");
    if (names.empty())
        return {.text = std::string{screen.dash()}, .tone = Tone::Faint};
    return {.text = joined(names, " "), .tone = any ? Tone::Good : Tone::Unsure};
}

}  // namespace gpuprobe::inline explain
