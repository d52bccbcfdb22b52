// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_text.h"

#include <algorithm>

#include "base/text.h"
#include "cli/video_text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "policy/gpu_selection.h"

namespace gpuprobe::inline cli {
namespace {

void add_part(std::vector<std::string>& parts, const std::optional<std::string>& part) {
    if (part && !trimmed(*part).empty())
        parts.emplace_back(trimmed(scrubbed(*part)));
}

/// The operating system, kernel and architecture, such as "Linux 6.1.0 x86_64".
std::string system_words(const Host& host) {
    auto words = host.os.value_or("linux");
    if (words == "linux")
        words = "Linux";
    for (const auto& word : {host.kernel, host.arch})
        words += word ? " " + *word : "";
    return words;
}

/// A remark about a report that may not describe the current state of this machine.
std::optional<std::string> remark_on(const Report& report) {
    if (report.source == ReportSource::Replay)
        return "recorded";
    if (report.state == ReportState::Starting || report.state == ReportState::Probing)
        return "still probing";
    return std::nullopt;
}

/// The GPUs of the choice, such as "4 x NVIDIA H200", "NVIDIA H200 and 2 more"; nullopt for the
/// CPU.
std::optional<std::string> chosen_gpus(const Report& report, const Decision& choice) {
    if (choice.gpus.empty())
        return std::nullopt;
    const auto* first = default_gpu(report, choice.gpus);
    if (!first)
        return scrubbed(choice.gpus.front());
    const auto title = scrubbed(gpu_title(*first));
    const auto number = choice.gpus.size();
    if (number == 1)
        return title;
    const bool are_like = std::ranges::all_of(choice.gpus, [&](const std::string& id) {
        const auto* gpu = find_gpu(report, id);
        return gpu && scrubbed(gpu_title(*gpu)) == title;
    });
    return phrase(
        are_like ? "{number} x {gpu}" : "{gpu} and {more} more",
        {{"number", std::to_string(number)}, {"gpu", title}, {"more", std::to_string(number - 1)}});
}

}  // namespace

std::string machine_line(const Report& report, const Screen& screen) {
    const auto& host = report.host;
    std::vector<std::string> parts;
    add_part(parts, system_words(host));
    if (host.libc.name)
        add_part(parts, *host.libc.name + " " + host.libc.version.value_or(""));
    if (host.virtualization && !host.wsl)
        add_part(parts, phrase("{kind} guest", {{"kind", *host.virtualization}}));
    if (host.container)
        add_part(parts, phrase("{kind} container", {{"kind", *host.container}}));
    if (host.wsl)
        add_part(parts, "WSL");
    add_part(parts, remark_on(report));
    for (auto& part : parts)
        part = toned(screen, Tone::Faint, part);
    return hanging_parts(screen, "", parts);
}

std::string default_text(const Report& report, const Decision* choice, const Screen& screen) {
    if (!choice)
        return "";
    if (!choice->backend)
        return toned(screen, Tone::Bad, "no default: no backend can be used");
    const auto gpus = chosen_gpus(report, *choice);
    return phrase(
        "default: {backend}[ on {gpus}]",
        {{"backend", toned(screen, gpus ? Tone::Good : Tone::Unsure,
                           scrubbed(backend_title(*choice->backend)))},
         {"gpus", gpus ? std::optional{toned(screen, Tone::Strong, *gpus)} : std::nullopt}});
}

namespace {

constexpr std::size_t kSummaryIndent = 2;

/// A GPU's memory, such as "VRAM 140.4 GiB", or "memory 24.0 GiB" if the GPU uses the machine's
/// memory.
std::string memory_words(const GpuMemory& memory, std::size_t gpus) {
    const bool is_shared = memory.kind && *memory.kind != MemoryKind::Dedicated;
    return phrase(is_shared ? "memory {size}[ {each}]" : "VRAM {size}[ {each}]",
                  {{"size", size_or_unknown(offered_memory(memory))},
                   {"each", gpus > 1 ? std::optional<std::string>{"each"} : std::nullopt}});
}

/// A group of GPUs: its name and address, then memory, driver and backends.
std::string gpu_block(const LikeGpus& group, const Screen& screen) {
    const auto& gpu = *group.gpu;
    const auto title = toned(screen, Tone::Strong, scrubbed(title_of(group)));
    const auto backends = backends_cell(gpu, screen);
    auto video = video_parts(gpu);
    for (auto& part : video)
        part = scrubbed(part);
    return hanging(screen, "", 0, title + " (" + scrubbed(id_of(group, screen)) + ")") +
           hanging_parts(
               screen, std::string(kSummaryIndent, ' '),
               {memory_words(gpu.memory, group.indices.size()),
                phrase("driver {driver}", {{"driver", scrubbed(driver_title(gpu.driver, screen))}}),
                "APIs " + toned(screen, backends.tone, scrubbed(backends.text))}) +
           (video.empty() ? "" : hanging_parts(screen, std::string(kSummaryIndent, ' '), video));
}

std::string accelerator_block(const LikeAccelerators& group, const Screen& screen) {
    const auto& accelerator = *group.front();
    const auto title = scrubbed(title_of(group));
    std::vector<std::string> parts;
    add_part(parts, accelerator.kind);
    add_part(parts,
             phrase("driver {driver}", {{"driver", driver_title(accelerator.driver, screen)}}));
    if (const auto health = accelerator.health.value_or("ok"); health != "ok")
        parts.push_back(toned(screen, Tone::Unsure, scrubbed(health)));
    return hanging(
               screen, "", 0,
               toned(screen, Tone::Strong, title) + " (" + scrubbed(id_of(group, screen)) + ")") +
           hanging_parts(screen, std::string(kSummaryIndent, ' '), parts);
}

/// Returns one block of text for each kind of device.
std::vector<std::string> device_blocks(const ShownDevices& devices, const Screen& screen) {
    Report shown;
    for (const auto* gpu : devices.gpus)
        shown.gpus.push_back(*gpu);
    std::vector<std::string> blocks;
    for (const auto& group : like_gpus(shown, screen, false))
        blocks.push_back(gpu_block(group, screen));
    for (const auto& group : like_accelerators(devices.accelerators, screen, false))
        blocks.push_back(accelerator_block(group, screen));
    return blocks;
}

/// Whether a finding is about the machine or one of these devices.
bool is_about(const Finding& finding, const ShownDevices& devices) {
    const auto is_named = [&finding](const auto* device) {
        return contains(finding.gpus, device->id);
    };
    return finding.gpus.empty() || std::ranges::any_of(devices.gpus, is_named) ||
           std::ranges::any_of(devices.accelerators, is_named);
}

bool works_somewhere(const ShownDevices& devices) {
    return std::ranges::any_of(devices.gpus,
                               [](const Gpu* gpu) { return !usable_backends(*gpu).empty(); });
}

/// The findings that need attention, most severe first. If nothing works, remarks are included,
/// because they may contain the cause.
std::vector<const Finding*> problems(const ShownDevices& devices,
                                     const std::vector<Finding>& found) {
    const auto least =
        works_somewhere(devices) || devices.gpus.empty() ? Severity::Warning : Severity::Info;
    std::vector<const Finding*> all;
    for (const auto& finding : found)
        if (finding.severity >= least && is_about(finding, devices))
            all.push_back(&finding);
    std::ranges::stable_sort(all, std::ranges::greater{},
                             [](const Finding* finding) { return finding->severity; });
    return all;
}

/// The name of the device, followed by the sentence of the finding about this device.
std::string problem_words(const Finding& finding) {
    const auto others = finding.gpus.size() - std::min<std::size_t>(finding.gpus.size(), 1);
    const auto gpu = finding.gpu ? std::optional{scrubbed(*finding.gpu)} : std::nullopt;
    // The sentence names one device, so only the number of the other devices is added.
    if (others > 0)
        return plural(others, "{gpu}: {what} (same for 1 more device)",
                      "{gpu}: {what} (same for {number} more devices)",
                      {{"gpu", gpu}, {"what", finding.sentence}});
    return phrase("[{gpu}: ]{what}", {{"gpu", gpu}, {"what", finding.sentence}});
}

/// The most severe problem and its fix; "" if there is no problem.
std::string problem_block(const std::vector<const Finding*>& all, const Screen& screen) {
    if (all.empty())
        return "";
    const auto& first = *all.front();
    const auto tone = first.severity == Severity::Error ? Tone::Bad : Tone::Unsure;
    auto text = "\n" + hanging(screen, toned(screen, tone, screen.bullet()) + " ", kSummaryIndent,
                               problem_words(first));
    if (first.fix)
        text += hanging_fix(screen, std::string(kSummaryIndent, ' ') + "fix: ", kSummaryIndent + 5,
                            *first.fix,
                            first.commands.empty() ? command_in(*first.fix)
                                                   : first.fix->find(first.commands.front()));
    if (all.size() > 1)
        text += hanging(
            screen, "  ", kSummaryIndent,
            phrase("{more} more: gpuprobectl doctor", {{"more", std::to_string(all.size() - 1)}}));
    return text;
}

/// Returns as many blocks as fit into `lines` lines, but at least one, and then the number of
/// blocks that were left out.
std::string fitting_blocks(const std::vector<std::string>& blocks,
                           std::size_t lines,
                           const Screen& screen) {
    std::string text;
    std::size_t used = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto height = static_cast<std::size_t>(std::ranges::count(blocks[i], '\n'));
        const bool is_last = i + 1 == blocks.size();
        if (i > 0 && used + height + (is_last ? 0 : 1) > lines)
            return text + hanging(screen, "", 0,
                                  plural(blocks.size() - i, "and 1 more: gpuprobectl list",
                                         "and {number} more: gpuprobectl list"));
        text += blocks[i];
        used += height;
    }
    return text;
}

}  // namespace

std::string summary_text(const ShownDevices& devices,
                         const Report& report,
                         const std::vector<Finding>& found,
                         const Decision* choice,
                         const Screen& screen) {
    const auto choice_words = default_text(report, choice, screen);
    auto top = machine_line(report, screen) +
               (choice_words.empty() ? "" : hanging(screen, "", 0, choice_words)) + "\n";
    auto end = problem_block(problems(devices, found), screen);
    if (screen.has_legend)
        end += "\n" + hanging_parts(screen, "",
                                    {toned(screen, Tone::Faint, "More: gpuprobectl show --all"),
                                     toned(screen, Tone::Faint, "gpuprobectl doctor")});
    const auto taken = static_cast<std::size_t>(std::ranges::count(top + end, '\n'));
    const auto blocks = device_blocks(devices, screen);
    const auto room = kMaxSummaryLines - std::min(kMaxSummaryLines, taken);
    return top + (blocks.empty() ? "no GPU\n" : fitting_blocks(blocks, room, screen)) + end;
}

}  // namespace gpuprobe::inline cli
