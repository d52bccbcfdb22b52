// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/parse.h"
#include "explain/checks.h"
#include "report/api_table.h"
#include "report/confinement.h"
#include "report/trials.h"

namespace gpuprobe {
namespace {

Evidence when(bool holds, Value::Object evidence) {
    return holds ? Evidence{Value{std::move(evidence)}} : Evidence{};
}

bool computes(const Gpu& gpu) {
    return gpu.kind != GpuKind::DisplayOnly;
}

bool has_gpu(const Report& report) {
    return std::ranges::any_of(report.gpus, computes);
}

std::optional<std::string> driver_of(const std::string& manifest) {
    return manifest.empty() ? std::nullopt : std::optional{manifest};
}

Evidence no_gpu(const Report& report, const Surroundings&) {
    return when(!has_gpu(report) && report.accelerators.empty() && !report.host.container,
                {{"virtualization", to_value(report.host.virtualization)}});
}

Evidence container_without_gpu(const Report& report, const Surroundings& surroundings) {
    return when(!has_gpu(report) && report.host.container,
                {{"container", to_value(report.host.container)},
                 {"cdi", to_value(surroundings.cdi_specs)}});
}

Evidence wsl_libraries_missing(const Report& report, const Surroundings& surroundings) {
    return when(report.host.wsl && surroundings.has_wsl_libraries == false,
                {{"folder", "/usr/lib/wsl/lib"}});
}

/// In WSL the driver comes from Windows; one of the distribution's stands before it.
Evidence wsl_linux_driver(const Report& report, const Surroundings&) {
    const auto cuda = report.runtimes.find("cuda");
    if (!report.host.wsl || cuda == report.runtimes.end() || !cuda->second.loader)
        return {};
    const auto& library = *cuda->second.loader;
    return when(library.starts_with("/usr/lib/") && !library.starts_with("/usr/lib/wsl/"),
                {{"library", library}});
}

/// Vulkan answers, and not from a GPU although there is one.
Evidence only_software(const Report& report, const Surroundings&) {
    Value names{Value::Array{}};
    for (const auto& software : report.software)
        if (software.api == "vulkan")
            names.push_back(to_value(software.name));
    const auto uses_vulkan = [](const Gpu& gpu) {
        const auto view = gpu.apis.find("vulkan");
        return view != gpu.apis.end() && view->second.outcome == Outcome::Answered &&
               !view->second.device.is_null();
    };
    return when(has_gpu(report) && !names.as_array()->empty() &&
                    std::ranges::none_of(report.gpus, uses_vulkan),
                {{"api", "vulkan"}, {"names", names}});
}

Evidence library_without_device(const Report& report, const Surroundings&) {
    Evidence found;
    for (const auto& api : kApis) {
        const auto runtime = report.runtimes.find(std::string{api.word});
        const bool is_vendors = computes(api) && !api.vendor.empty();
        const bool has_vendor = std::ranges::any_of(
            report.gpus, [&api](const Gpu& gpu) { return gpu.vendor == api.vendor; });
        if (is_vendors && runtime != report.runtimes.end() && runtime->second.loader && !has_vendor)
            found.push_back(Value{Value::Object{{"api", api.word},
                                                {"vendor", api.vendor},
                                                {"library", to_value(runtime->second.loader)}}});
    }
    return found;
}

Evidence secure_boot(const Report& report, const Surroundings& surroundings) {
    Value gpus{Value::Array{}};
    for (const auto& gpu : report.gpus)
        if (has_reason(gpu.findings, "no-driver"))
            gpus.push_back(gpu.id);
    return when(surroundings.secure_boot == true && !gpus.as_array()->empty(), {{"gpus", gpus}});
}

Evidence nomodeset(const Report&, const Surroundings& surroundings) {
    const auto line = surroundings.kernel_command_line.value_or("");
    const auto options = words(trimmed(line));
    return when(std::ranges::find(options, "nomodeset") != options.end(),
                {{"option", "nomodeset"}});
}

Evidence set_variables(const Surroundings& surroundings, VariableKind kind) {
    Evidence found;
    for (const auto& variable : kVariables) {
        const auto set = surroundings.environment.find(std::string{variable.name});
        if (variable.kind == kind && set != surroundings.environment.end())
            found.push_back(Value{Value::Object{{"variable", set->first}, {"value", set->second}}});
    }
    return found;
}
Evidence devices_hidden(const Report&, const Surroundings& surroundings) {
    return set_variables(surroundings, VariableKind::HidesDevices);
}
Evidence drivers_overridden(const Report&, const Surroundings& surroundings) {
    return set_variables(surroundings, VariableKind::ChoosesDrivers);
}
Evidence architecture_overridden(const Report&, const Surroundings& surroundings) {
    return set_variables(surroundings, VariableKind::ClaimsArchitecture);
}

/// All but the one that comes with Mesa's own drivers.
Evidence vulkan_layers(const Report&, const Surroundings& surroundings) {
    auto layers = surroundings.vulkan_layers;
    std::erase_if(layers, [](const std::string& path) {
        return path.ends_with("/VkLayer_MESA_device_select.json");
    });
    return when(!layers.empty(), {{"layers", to_value(layers)}});
}

Evidence word_size(const Report& report, const Surroundings&) {
    constexpr std::array kNarrow =
        std::to_array<std::string_view>({"i386", "i486", "i586", "i686", "armv6l", "armv7l"});
    const auto arch = report.host.arch.value_or("");
    return when(std::ranges::find(kNarrow, arch) != kNarrow.end(), {{"arch", arch}});
}

/// Whether some GPU says so of this driver, with more about it.
bool is_said(const Report& report,
             const std::string& api,
             const std::string& driver,
             ReasonCode code) {
    const auto driver_or_null = driver.empty() ? Value{} : Value{driver};
    return std::ranges::any_of(report.gpus, [&](const Gpu& gpu) {
        return std::ranges::any_of(said_by(gpu, api, code), [&](const Value& evidence) {
            return evidence.at("driver") == driver_or_null;
        });
    });
}

/// Drivers that end so and that no GPU misses.
Evidence ended_so(const Report& report, Outcome outcome, ReasonCode code) {
    Evidence found;
    for (const auto& probe : report.probes)
        if (probe.outcome == outcome && probe.stage == kQueryStage &&
            !is_said(report, probe.api, probe.driver, code))
            found.push_back(Value{Value::Object{{"api", Value{probe.api}},
                                                {"driver", to_value(driver_of(probe.driver))},
                                                {"note", to_value(probe.note)},
                                                {"output", to_value(probe.output)}}});
    return found;
}
Evidence driver_crashed(const Report& report, const Surroundings&) {
    return ended_so(report, Outcome::Crashed, "driver-crashed");
}
Evidence driver_timed_out(const Report& report, const Surroundings&) {
    return ended_so(report, Outcome::TimedOut, "driver-timed-out");
}

Evidence quarantined(const Report& report, const Surroundings&) {
    Evidence found;
    for (const auto& held : report.quarantine)
        if (held.stage == kQueryStage && !is_said(report, held.api, held.driver, "quarantined"))
            found.push_back(Value{Value::Object{{"api", Value{held.api}},
                                                {"driver", to_value(driver_of(held.driver))},
                                                {"why", to_value(held.why)},
                                                {"note", to_value(held.note)},
                                                {"until_usec", to_value(held.until)}}});
    return found;
}

/// Without namespaces the others still hold; without these a driver reaches what its user may.
Evidence weak_confinement(const Report& report, const Surroundings&) {
    if (!report.confinement)
        return {};
    Value missing{Value::Array{}};
    for (const auto word : confinement::kWanted)
        if (std::ranges::none_of(*report.confinement, [word](const std::string& holds) {
                return holds.starts_with(word);
            }))
            missing.push_back(Value{word});
    const bool is_whole = missing.as_array()->empty();
    return when(!is_whole, {{"missing", std::move(missing)}});
}

Evidence notes(const Report& report, ReasonCode code) {
    Evidence found;
    for (const auto& note : report.notes)
        if (note.is(code))
            found.push_back(note.detail);
    return found;
}
Evidence profile_ignored(const Report& report, const Surroundings&) {
    return notes(report, "profile-ignored");
}
Evidence conflict(const Report& report, const Surroundings&) {
    return notes(report, "conflict");
}
Evidence unreadable(const Report& report, const Surroundings&) {
    return notes(report, "unreadable");
}
Evidence no_hotplug(const Report& report, const Surroundings&) {
    return notes(report, "no-hotplug");
}

}  // namespace

const std::vector<MachineCheck>& machine_checks() {
    static const std::vector<MachineCheck> checks{
        {"no-gpu", Severity::Warning, no_gpu},
        {"container-without-gpu", Severity::Warning, container_without_gpu},
        {"wsl-libraries-missing", Severity::Error, wsl_libraries_missing},
        {"wsl-linux-driver", Severity::Error, wsl_linux_driver},
        {"secure-boot", Severity::Warning, secure_boot},
        {"nomodeset", Severity::Warning, nomodeset},
        {"only-software", Severity::Warning, only_software},
        {"library-without-device", Severity::Info, library_without_device},
        {"devices-hidden", Severity::Warning, devices_hidden},
        {"drivers-overridden", Severity::Warning, drivers_overridden},
        {"architecture-overridden", Severity::Warning, architecture_overridden},
        {"vulkan-layers", Severity::Info, vulkan_layers},
        {"word-size", Severity::Info, word_size},
        {"unneeded-driver-crashed", Severity::Warning, driver_crashed},
        {"unneeded-driver-timed-out", Severity::Warning, driver_timed_out},
        {"unneeded-driver-quarantined", Severity::Warning, quarantined},
        {"weak-confinement", Severity::Info, weak_confinement},
        {"profile-ignored", Severity::Warning, profile_ignored},
        {"conflict", Severity::Info, conflict},
        {"unreadable", Severity::Info, unreadable},
        {"no-hotplug", Severity::Info, no_hotplug},
    };
    return checks;
}

}  // namespace gpuprobe
