// SPDX-License-Identifier: Apache-2.0
#include "explain/report_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/process.h"
#include "base/text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/screen.h"
#include "knowledge/chips.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/identity.h"

namespace gpuprobe::inline explain {
namespace {

/// Backends of the GPU with the given value of `usable`: first gpuprobe's backends in the order of
/// its table, then other backends, sorted by name.
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
    const auto* row = knowledge::Chips::current().vendor(vendor);
    return row ? row->name : std::string{vendor};
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
    if (const auto* gpu = find_gpu(*report, id))
        return named(*gpu);
    if (const auto one = std::ranges::find(report->accelerators, id, &Accelerator::id);
        one != report->accelerators.end())
        return scrubbed(one->name.value_or("accelerator")) + " (" + scrubbed(id) + ")";
    // The report has partitions only inside their GPU: expand the GPU to find the partition.
    const auto* whole = find_gpu(*report, whole_id(id));
    if (!whole)
        return scrubbed(id);
    const Report one{.gpus = {*whole}};
    for (const ComputeView view{one}; const auto& partition : view.report().gpus)
        if (partition.id == id)
            return named(partition);
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

std::string size_or_unknown(const std::optional<Bytes>& size) {
    return size ? size_text(*size) : std::string{kUnknown};
}

std::string backend_title(std::string_view backend) {
    // Backends whose names differ from the name of their API.
    constexpr auto kOwnTitles =
        std::to_array<std::pair<std::string_view, std::string_view>>({{"rocm", "ROCm"},
                                                                      {"sycl", "SYCL"},
                                                                      {"webgpu", "WebGPU"},
                                                                      {"vaapi", "VA-API"},
                                                                      {"qsv", "Quick Sync Video"}});
    for (const auto& [name, title] : kOwnTitles)
        if (name == backend)
            return std::string{title};
    const auto api = std::ranges::find(kApis, backend, &ApiInfo::backend);
    return std::string{api == kApis.end() ? backend : api->label};
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
    // After these, add the backends that this version does not know, sorted by name.
    const auto ours = static_cast<std::ptrdiff_t>(names.size());
    for (const auto& gpu : report.gpus)
        for (const auto& [name, view] : gpu.backends)
            if (name != kCpu && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    std::sort(names.begin() + ours, names.end());
    return names;
}

std::vector<LikeGpus> like_gpus(const Report& report, const Screen& screen, bool separately) {
    const auto are_like = [&screen](const Gpu& one, const Gpu& other) {
        return one.partitions.empty() && other.partitions.empty() &&
               gpu_title(one) == gpu_title(other) && kind_title(one) == kind_title(other) &&
               driver_title(one.driver, screen) == driver_title(other.driver, screen) &&
               offered_memory(one.memory) == offered_memory(other.memory) &&
               backends_cell(one, screen) == backends_cell(other, screen);
    };
    std::vector<LikeGpus> groups;
    for (std::size_t i = 0; i < report.gpus.size(); ++i) {
        const auto& gpu = report.gpus[i];
        const auto group = std::ranges::find_if(groups, [&](const LikeGpus& known) {
            return !separately && are_like(*known.gpu, gpu);
        });
        if (group == groups.end())
            groups.push_back({.indices = {i}, .gpu = &gpu});
        else
            group->indices.push_back(i);
    }
    return groups;
}

std::string title_of(const LikeGpus& group) {
    const auto number = group.indices.size();
    return phrase("[{number} x ]{gpu}",
                  {{"number", number > 1 ? std::optional{std::to_string(number)} : std::nullopt},
                   {"gpu", gpu_title(*group.gpu)}});
}

std::string id_of(const LikeGpus& group, const Screen& screen) {
    const auto is_single = group.indices.size() < 2;
    return is_single ? group.gpu->id : group.gpu->id + " " + std::string{screen.ellipsis()};
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

namespace {

/// The sentence for a failed probe.
std::string_view problem_wording(Outcome outcome) {
    switch (outcome) {
        case Outcome::Crashed:
            return "{api}: [{driver}|the driver] crashed[ with {signal}][ while verifying "
                   "{verified}]"
                   "[ while measuring {measured}][ after {time}][: {note}]";
        case Outcome::TimedOut:
            return "{api}: [{driver}|the driver] did not answer in time[ while verifying "
                   "{verified}]"
                   "[ while measuring {measured}][ after {time}][: {note}]";
        default:
            return "{api}: [{driver}|the driver] failed[ while verifying {verified}]"
                   "[ while measuring {measured}][ after {time}][: {note}]";
    }
}

/// A harm, and the words for one occurrence and for several occurrences.
struct HarmWording {
    Harm harm;
    std::string_view once;
    std::string_view often;
};
constexpr std::array<HarmWording, 4> kHarm = {
    {{Harm::Crashed, "it crashed", "it crashed {number} times"},
     {Harm::TimedOut, "it hung", "it hung {number} times"},
     {Harm::MachineWentDown, "the machine went down while the driver was probed",
      "the machine went down while the driver was probed"},
     {Harm::DaemonWentDown, "the daemon went down while the driver was probed",
      "the daemon went down while the driver was probed {number} times"}}};

/// The scrubbed text; nullopt if it is empty.
std::optional<std::string> known(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional{scrubbed(text)};
}

}  // namespace

bool went_wrong(const ProbeEntry& probe) {
    return probe.outcome == Outcome::Crashed || probe.outcome == Outcome::TimedOut ||
           probe.outcome == Outcome::Failed;
}

std::string problem_sentence(const ProbeEntry& probe) {
    const auto device = std::optional{scrubbed(probe.device.value_or("a device"))};
    return phrase(
        problem_wording(probe.outcome),
        {{"api", scrubbed(probe.api)},
         {"driver", known(probe.driver)},
         {"signal", probe.signal ? std::optional{signal_name(*probe.signal)} : std::nullopt},
         {"verified", probe.stage == "verify" ? device : std::nullopt},
         {"measured", probe.stage == "measure" ? device : std::nullopt},
         {"time",
          probe.duration ? std::optional{duration_text(*probe.duration, "u")} : std::nullopt},
         {"note", probe.note ? std::optional{scrubbed(*probe.note)} : std::nullopt}});
}

std::string harm_words(Harm harm, std::uint32_t times) {
    const auto* wording = std::ranges::find(kHarm, harm, &HarmWording::harm);
    return plural(std::max(times, 1U), wording->once, wording->often);
}

std::string quarantine_sentence(const QuarantinedProbe& held) {
    return phrase("{api}: [{driver}|the driver] is in quarantine until {until}: {why}",
                  {{"api", scrubbed(held.api)},
                   {"driver", known(held.driver)},
                   {"until", time_text(held.until)},
                   {"why", harm_words(held.why, held.times)}});
}

std::string driver_file(const ProbeEntry& probe, const Screen& screen) {
    if (probe.driver.empty())
        return std::string{screen.dash()};
    return probe.driver.substr(probe.driver.rfind('/') + 1);
}

std::string ending(const ProbeEntry& probe) {
    std::string text;
    if (probe.signal)
        text = signal_name(*probe.signal);
    else if (probe.exit_code && *probe.exit_code != 0)
        text = phrase("exit code {code}", {{"code", std::to_string(*probe.exit_code)}});
    if (probe.note)
        text += (text.empty() ? "" : ": ") + *probe.note;
    return text;
}

Tone tone_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::Answered:
            return Tone::Good;
        case Outcome::Absent:
            return Tone::Faint;
        case Outcome::Skipped:
            return Tone::Unsure;
        default:
            return Tone::Bad;
    }
}

std::string probe_table(const std::vector<ProbeEntry>& probes, const Screen& screen) {
    const bool has_devices = std::ranges::any_of(
        probes, [](const ProbeEntry& probe) { return probe.device.has_value(); });
    // Probes of single devices (verify, measure) show the device; all other probes show the
    // driver's file.
    Table table{{{.title = "API"},
                 {.title = has_devices ? "DEVICE" : "DRIVER", .may_shrink = true},
                 {.title = "OUTCOME"},
                 {.title = "TIME", .is_right_aligned = true},
                 {.title = "NOTE", .may_shrink = true}}};
    for (const auto& probe : probes)
        table.add({{.text = probe.api},
                   {.text = probe.device.value_or(driver_file(probe, screen))},
                   {.text = std::string{name_of(probe.outcome)}, .tone = tone_of(probe.outcome)},
                   {.text = probe.duration ? duration_text(*probe.duration, screen.micro())
                                           : std::string{screen.dash()}},
                   {.text = ending(probe)}});
    return table.empty() ? "" : table.text(screen);
}

std::string probe_summary(const std::vector<ProbeEntry>& probes) {
    std::vector<std::string> counts;
    for (const auto& entry : names_of(Outcome{})) {
        const auto count = std::count_if(
            probes.begin(), probes.end(),
            [&entry](const ProbeEntry& probe) { return probe.outcome == entry.value; });
        if (count > 0)
            counts.push_back(phrase("{number} {outcome}", {{"number", std::to_string(count)},
                                                           {"outcome", std::string{entry.name}}}));
    }
    return plural(
        probes.size(), "{number} probe[: {counts}]", "{number} probes[: {counts}]",
        {{"counts", counts.empty() ? std::nullopt : std::optional{joined(counts, ", ")}}});
}

}  // namespace gpuprobe::inline explain
