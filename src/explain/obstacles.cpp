// SPDX-License-Identifier: Apache-2.0
#include "explain/obstacles.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "explain/doctor.h"
#include "explain/gpu_words.h"
#include "explain/phrase.h"
#include "report/api_table.h"

namespace gpuprobe::inline explain {
namespace {

bool has_gpu_of(const Report& report, std::string_view vendor) {
    return std::any_of(report.gpus.begin(), report.gpus.end(),
                       [vendor](const Gpu& gpu) { return gpu.vendor == vendor; });
}

/// True for reasons that nothing can change, such as a GPU from another vendor.
bool is_by_nature(const Reason& reason) {
    return has_trait(reason.code, ReasonTraits::ByNature);
}

/// The sentence for a backend that only a software implementation offers; "" if none does.
std::string software_sentence(const Report& report, std::string_view api) {
    for (const auto& software : report.software)
        if (software.api == api)
            return phrase("only in software, on the CPU: {name}",
                          {{"name", scrubbed(software.name.value_or("unnamed"))}});
    return "";
}

/// The sentence for the outcome of probing an API.
std::string runtime_sentence(const Report& report, std::string_view api) {
    const auto runtime = report.runtimes.find(std::string{api});
    if (runtime == report.runtimes.end())
        return report.gpus.empty() ? "no GPU" : "not known on any GPU here";
    switch (runtime->second.outcome) {
        case Outcome::Absent:
            return "its loader or driver is not installed";
        case Outcome::Answered:
            return explained(because("no-device")).text;
        case Outcome::Failed:
            return explained(because("driver-failed")).text;
        case Outcome::TimedOut:
            return explained(because("driver-timed-out")).text;
        case Outcome::Crashed:
            return explained(because("driver-crashed")).text;
        case Outcome::Skipped:
            break;
    }
    return explained(because("skipped")).text;
}

/// The obstacle for a backend without a result on any GPU.
Obstacle general_obstacle(const Report& report, const std::string& backend) {
    Obstacle obstacle{.backend = backend};
    const auto vendor = vendor_of_backend(backend);
    // The most basic reason first: no GPU of that vendor, then software only, then the probe's
    // outcome.
    if (!vendor.empty() && !has_gpu_of(report, vendor))
        obstacle.text = phrase("no {vendor} GPU", {{"vendor", vendor_title(vendor)}});
    else
        obstacle.text = software_sentence(report, api_below(backend));
    if (obstacle.text.empty())
        obstacle.text = runtime_sentence(report, api_below(backend));
    return obstacle;
}

/// One obstacle for each GPU with a result that is worth a line.
std::vector<Obstacle> gpu_obstacles(const Report& report,
                                    const std::vector<Finding>& findings,
                                    const std::string& backend) {
    std::vector<Obstacle> found;
    for (const auto& gpu : report.gpus) {
        const auto view = gpu.backends.find(backend);
        if (view == gpu.backends.end() || view->second.usable == true)
            continue;
        const auto& reasons = view->second.reasons;
        // Skip GPUs that the backend can never use, such as CUDA on an AMD GPU.
        if (std::all_of(reasons.begin(), reasons.end(), is_by_nature))
            continue;
        auto why = explained(
            reasons,
            {.findings = &findings, .gpu = gpu.id, .api = std::string{api_below(backend)}});
        found.push_back({.backend = backend,
                         .gpu = gpu.id,
                         .text = std::move(why.text),
                         .fixes = std::move(why.fixes),
                         .is_uncertain = !view->second.usable});
    }
    return found;
}

/// Merges equal obstacles of several GPUs into one line. If all GPUs have it, the line names no
/// GPU.
std::vector<Obstacle> merged(const std::vector<Obstacle>& found, std::size_t gpus) {
    std::vector<Obstacle> lines;
    for (const auto& obstacle : found) {
        const auto same = std::find_if(lines.begin(), lines.end(), [&](const Obstacle& line) {
            return line.text == obstacle.text && line.is_uncertain == obstacle.is_uncertain;
        });
        if (same == lines.end())
            lines.push_back(obstacle);
        else
            ++same->others;
    }
    if (gpus > 1 && lines.size() == 1 && lines.front().others + 1 == gpus) {
        lines.front().gpu.reset();
        lines.front().others = 0;
    }
    return lines;
}

/// Adds an obstacle, or adds its backend to an equal one.
void add_or_join(std::vector<Obstacle>& all, Obstacle obstacle) {
    const auto same = std::find_if(all.begin(), all.end(), [&obstacle](const Obstacle& other) {
        return other.gpu == obstacle.gpu && other.others == obstacle.others &&
               other.text == obstacle.text && other.is_uncertain == obstacle.is_uncertain;
    });
    if (same == all.end())
        all.push_back(std::move(obstacle));
    else
        same->backend += ", " + obstacle.backend;
}

}  // namespace

std::vector<Obstacle> obstacles(const Report& report, const std::vector<Finding>& findings) {
    std::vector<Obstacle> all;
    for (const auto& backend : backend_names(report)) {
        auto found = gpu_obstacles(report, findings, backend);
        const bool works = std::any_of(report.gpus.begin(), report.gpus.end(), [&](const Gpu& gpu) {
            const auto view = gpu.backends.find(backend);
            return view != gpu.backends.end() && view->second.usable == true;
        });
        if (found.empty() && !works)
            found.push_back(general_obstacle(report, backend));
        for (auto& obstacle : merged(found, report.gpus.size()))
            add_or_join(all, std::move(obstacle));
    }
    return all;
}

}  // namespace gpuprobe::inline explain
