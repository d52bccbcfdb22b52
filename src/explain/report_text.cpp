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

/// The backends of the GPU whose member `usable` has the given value: first gpuprobe's backends in
/// the order of its table, then other backends, sorted by name.
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
        return scrubbed(accelerator_title(*one)) + " (" + scrubbed(id) + ")";
    // The report contains partitions only inside their GPU, so expand the GPU to find the
    // partition.
    const auto* whole = find_gpu(*report, whole_id(id));
    if (!whole)
        return scrubbed(id);
    const Report one{.gpus = {*whole}};
    for (const ComputeView view{one}; const auto& partition : view.report().gpus)
        if (partition.id == id)
            return named(partition);
    return scrubbed(id);
}

namespace {

/// GPUs with the same title.
struct SameTitle {
    std::string title = {};  ///< empty for an unknown GPU
    std::vector<std::string> ids = {};
    std::size_t of_machine = 0;  ///< number of GPUs and partitions with this title
};

/// The GPUs, grouped by title. A GPU that isn't in the report forms a separate group.
std::vector<SameTitle> by_title(const std::vector<std::string>& ids, const ComputeView& view) {
    std::vector<SameTitle> groups;
    for (const auto& id : ids) {
        const auto* gpu = find_gpu(view.report(), id);
        const auto title = gpu ? gpu_title(*gpu) : std::string{};
        const auto same = std::ranges::find(groups, title, &SameTitle::title);
        if (gpu && same != groups.end()) {
            same->ids.push_back(id);
            continue;
        }
        const auto of_machine = std::ranges::count_if(
            view.report().gpus, [&title](const Gpu& one) { return gpu_title(one) == title; });
        groups.push_back({title, {id}, static_cast<std::size_t>(of_machine)});
    }
    return groups;
}

}  // namespace

std::optional<std::string> named_gpu_titles(const std::vector<std::string>& ids,
                                            const Report* report,
                                            const Screen& screen) {
    if (ids.empty())
        return std::nullopt;
    const Report empty;
    const ComputeView view{report ? *report : empty};
    std::vector<std::string> titles;
    for (const auto& group : by_title(ids, view)) {
        const auto number = group.ids.size();
        const auto named = number == group.of_machine ? first_of(group.ids.front(), number, screen)
                                                      : joined(group.ids, ", ");
        titles.push_back(number == 1 ? named_gpu_title(group.ids.front(), report)
                                     : scrubbed(times_title(number, group.title)) + " (" +
                                           scrubbed(named, 4096) + ")");
    }
    return joined(titles, ", ");
}

std::string first_and_more(const std::vector<std::string>& ids) {
    const auto more = ids.size() - 1;
    return phrase("{id}[ and {more} more]",
                  {{"id", scrubbed(ids.front())},
                   {"more", more > 0 ? std::optional{std::to_string(more)} : std::nullopt}});
}

std::string accelerator_title(const Accelerator& accelerator) {
    constexpr auto kKinds = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"npu", "NPU"},
         {"tpu", "TPU"},
         {"training", "training accelerator"},
         {"inference", "inference accelerator"},
         {"vector", "vector processor"},
         {"video", "video codec"}});
    const auto& name = accelerator.name;
    const auto is_number = [](std::string_view text) {
        return text.size() == 9 && text.find(':') == 4 &&
               text.find_first_not_of("0123456789abcdefABCDEF", 5) == std::string_view::npos;
    };
    if (name && !name->empty() && !is_number(*name))
        return *name;
    const auto* kind = std::ranges::find(kKinds, accelerator.kind.value_or(""),
                                         &decltype(kKinds)::value_type::first);
    const std::string noun{kind == kKinds.end() ? "accelerator" : kind->second};
    return accelerator.vendor ? vendor_title(*accelerator.vendor) + " " + noun : noun;
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
    // At the end, add the backends that this version does not know, sorted by name.
    const auto ours = static_cast<std::ptrdiff_t>(names.size());
    for (const auto& gpu : report.gpus)
        for (const auto& [name, view] : gpu.backends)
            if (name != kCpu && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    std::sort(names.begin() + ours, names.end());
    return names;
}

std::vector<LikeGpus> like_gpus(const Report& report, const Screen& screen, bool separately) {
    const auto is_whole = [](const Gpu& gpu) {
        return gpu.partitions.empty() || partition_of(gpu);
    };
    const auto are_like = [&](const Gpu& one, const Gpu& other) {
        return is_whole(one) && is_whole(other) && gpu_title(one) == gpu_title(other) &&
               kind_title(one) == kind_title(other) &&
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
    return times_title(group.indices.size(), gpu_title(*group.gpu));
}

std::string id_of(const LikeGpus& group, const Screen& screen) {
    return first_of(group.gpu->id, group.indices.size(), screen);
}

std::string first_of(std::string_view first, std::size_t number, const Screen& screen) {
    return std::string{first} + (number > 1 ? " " + std::string{screen.ellipsis()} : "");
}

std::string times_title(std::size_t number, const std::string& title) {
    return phrase("[{number} x ]{title}",
                  {{"number", number > 1 ? std::optional{std::to_string(number)} : std::nullopt},
                   {"title", title}});
}

std::string index_text(const std::vector<std::size_t>& indices) {
    std::string text;
    for (std::size_t i = 0; i < indices.size();) {
        auto end = i + 1;
        while (end < indices.size() && indices[end] == indices[end - 1] + 1)
            ++end;
        text += (i == 0 ? "" : ",") + std::to_string(indices[i]);
        if (end > i + 1)
            text += "-" + std::to_string(indices[end - 1]);
        i = end;
    }
    return text;
}

std::vector<LikeAccelerators> like_accelerators(const LikeAccelerators& accelerators,
                                                const Screen& screen,
                                                bool separately) {
    const auto are_like = [&screen](const Accelerator& one, const Accelerator& other) {
        return accelerator_title(one) == accelerator_title(other) && one.kind == other.kind &&
               driver_title(one.driver, screen) == driver_title(other.driver, screen) &&
               one.memory == other.memory && one.health == other.health;
    };
    std::vector<LikeAccelerators> groups;
    for (const auto* accelerator : accelerators) {
        const auto group = std::ranges::find_if(groups, [&](const LikeAccelerators& known) {
            return !separately && are_like(*known.front(), *accelerator);
        });
        if (group == groups.end())
            groups.push_back({accelerator});
        else
            group->push_back(accelerator);
    }
    return groups;
}

std::string title_of(const LikeAccelerators& group) {
    return times_title(group.size(), accelerator_title(*group.front()));
}

std::string id_of(const LikeAccelerators& group, const Screen& screen) {
    return first_of(group.front()->id, group.size(), screen);
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

/// A kind of harm, with the words for one occurrence and for several occurrences.
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

/// The scrubbed text; nullopt if the text is empty.
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
    // For probes of single devices (verify, measure), the table shows the device; for all other
    // probes, the driver's file.
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
