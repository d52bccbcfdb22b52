// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "explain/doctor.h"
#include "explain/reason_words.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"
#include "unit/properties/hosts.h"

/// Tests that every printed fix is possible: on all recorded and mixed machines, at all places.
namespace gpuprobe::testing_properties {
namespace possible_fixes_test {

/// The limits of NVIDIA's driver by compute capability, independent of drivers.json.
struct Limits {
    std::uint32_t last = 0;  ///< the last driver branch; 0: there is no last branch
    bool needs_open = false;
    bool needs_proprietary = false;
};

Limits limits_of(const Gpu& gpu) {
    const auto text = gpu.architecture.cuda_compute_capability;
    const auto capability = text ? leading_version(*text) : std::nullopt;
    if (!capability || gpu.id.starts_with("platform:"))
        return {};
    const auto number = capability->parts[0] * 10 + capability->parts[1];
    if (number < 20)
        return {.last = 340, .needs_proprietary = true};
    if (number < 30)
        return {.last = 390, .needs_proprietary = true};
    if (number < 50)
        return {.last = 470, .needs_proprietary = true};
    if (number < 75)
        return {.last = 580, .needs_proprietary = true};
    return {.needs_open = number >= 100};
}

bool is_nvidia(const Gpu& gpu) {
    return gpu.vendor == "nvidia";
}

/// Whether the fix installs a driver or kernel module that does not support this NVIDIA GPU.
bool takes_away(const std::string& fix, const Gpu& gpu) {
    const auto limits = limits_of(gpu);
    const auto says = [&fix](const char* words) { return fix.find(words) != std::string::npos; };
    static const std::regex kVersion{R"(driver to (\d+)[\d.]* or later)"};
    std::smatch match;
    const bool is_beyond = std::regex_search(fix, match, kVersion) && limits.last != 0 &&
                           std::stoul(match[1].str()) > limits.last;
    const bool is_newest_only = says("open kernel module, 570 or later") && limits.last != 0;
    const bool is_proprietary = says("branch 580 with the proprietary") || says("of branch 470");
    const bool is_kepler_only = says("of branch 580 with") && limits.last != 0 && limits.last < 580;
    return is_beyond || is_newest_only || is_kepler_only || (is_proprietary && limits.needs_open);
}

/// Checks the fix for the GPUs of the finding, and for the GPUs that NVIDIA's driver serves now.
void expect_possible_driver(const Finding& finding, const Report& report) {
    const auto fix = finding.fix.value_or("");
    for (const auto& gpu : report.gpus) {
        const bool is_meant = std::ranges::count(finding.gpus, gpu.id) > 0;
        const bool works = std::ranges::any_of(gpu.backends, [](const auto& entry) {
            return entry.first == "cuda" && entry.second.usable == true;
        });
        if (is_nvidia(gpu) && (is_meant || works)) {
            EXPECT_FALSE(takes_away(fix, gpu))
                << finding.id << " against " << gpu.id << ": " << fix;
        }
    }
}

TEST(PossibleFixes, NoDriverIsBeyondWhatAGpuSupportsNorAgainstAnother) {
    on_every_machine([](const MachineFixture& fixture) {
        auto report = report_of(fixture);
        for (const auto& finding : examine(report, {}))
            expect_possible_driver(finding, report);
        // Repeats this with each NVIDIA GPU without its driver in turn.
        for (auto& gpu : report.gpus) {
            if (!is_nvidia(gpu) || has_reason(gpu.findings, "passthrough"))
                continue;
            const auto whole = gpu;
            gpu.findings.push_back(because("no-driver"));
            gpu.driver = {};
            gpu.backends.clear();
            gpu.apis.clear();
            for (const auto& finding : examine(report, {}))
                expect_possible_driver(finding, report);
            gpu = whole;
        }
    });
}

TEST(PossibleFixes, NoCandidateIsToldToUpdateBeyondTheLastBranchOfItsGpu) {
    constexpr auto kWanted =
        std::to_array<const char*>({"450.80.02", "525.60.13", "570.26", "580", "595"});
    on_every_machine([&](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto findings = examine(report, {});
        for (const auto& gpu : report.gpus)
            for (const auto* wanted : kWanted) {
                const auto reason =
                    because("driver-too-old", {{"where", gpu.id}, {"want", wanted}});
                const auto fix = explained(reason, {.findings = &findings, .machine = &report}).fix;
                if (!is_nvidia(gpu) || !fix)
                    continue;
                EXPECT_FALSE(takes_away(*fix, gpu)) << gpu.id << ": " << *fix;
                // Versions of Jetson Linux and of kernels are different numbers.
                EXPECT_TRUE(!gpu.id.starts_with("platform:") ||
                            fix->find(wanted) == std::string::npos)
                    << *fix;
            }
    });
}

TEST(PossibleFixes, NoModuleIsLoadedThatIsLoadedAlready) {
    static const std::regex kLoads{R"(modprobe ([a-z0-9_]+))"};
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto& setup = report.host.setup;
        if (!setup || !setup->loaded)
            return;
        for (const auto& finding : examine(report, {})) {
            const auto fix = finding.fix.value_or("");
            std::smatch match;
            if (!std::regex_search(fix, match, kLoads) || fix.find("rmmod") != std::string::npos ||
                fix.find("modprobe -r") != std::string::npos)
                continue;
            EXPECT_EQ(std::ranges::count(*setup->loaded, match[1].str()), 0)
                << finding.id << ": " << fix;
        }
    });
}

bool has_node(const Report& report, const std::string& path) {
    const auto is_it = [&path](const DeviceNode& node) { return node.path == path; };
    return std::ranges::any_of(report.nodes, is_it) ||
           std::ranges::any_of(
               report.gpus,
               [&](const Gpu& gpu) { return std::ranges::any_of(gpu.nodes, is_it); }) ||
           std::ranges::any_of(report.accelerators, [&](const Accelerator& one) {
               return std::ranges::any_of(one.nodes, is_it);
           });
}

/// The nodes whose permissions a command changes. Such a command cannot create a missing node.
TEST(PossibleFixes, NoPermissionIsChangedOfANodeThatIsNotThere) {
    static const std::regex kChanges{
        R"((?:chmod|chgrp|chown|setfacl) [^&;]*?(/dev/[-A-Za-z0-9/_]+))"};
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        if (report.host.container || report.host.sandbox)
            return;
        for (const auto& finding : examine(report, {})) {
            const auto fix = finding.fix.value_or("");
            std::smatch match;
            // A node that a reason names existed when the reason was found.
            const auto named = word_of(finding.evidence.at("node"));
            if (std::regex_search(fix, match, kChanges) && match[1].str() != named) {
                EXPECT_TRUE(has_node(report, match[1].str())) << finding.id << ": " << fix;
            }
        }
    });
}

// Candidates --------------------------------------------------------------------------------------

/// Codes of reasons that no change of the machine removes. They do not depend on the table of
/// reasons.
bool is_final(const Reason& reason) {
    static const std::set<std::string_view> kFinal{"arch-not-in-build",
                                                   "built-for-older",
                                                   "cpu-feature-missing",
                                                   "cpu-too-old",
                                                   "denied",
                                                   "display-only",
                                                   "integrated-not-allowed",
                                                   "mig-without-graphics",
                                                   "not-built",
                                                   "not-in-profile-for-vendor",
                                                   "not-published",
                                                   "not-requested",
                                                   "other-kind",
                                                   "other-l4t",
                                                   "other-libc",
                                                   "passthrough",
                                                   "switched-off",
                                                   "unsupported-predicate",
                                                   "vendor-mismatch"};
    return kFinal.contains(reason.code);
}

std::string where_of(const Reason& reason) {
    return word_of(reason.detail.at("where"));
}

/// Whether a final reason makes the other reason irrelevant: it has the same subject, or none.
bool excludes(const Reason& final_reason, const Reason& other) {
    const auto& route = final_reason.detail.at("alternative");
    return (where_of(final_reason).empty() || where_of(final_reason) == where_of(other)) &&
           (route.is_null() || route == other.detail.at("alternative"));
}

void expect_no_lesser_fix(const std::vector<Reason>& reasons, const std::string& name) {
    for (const auto& final_reason : reasons)
        for (const auto& other : reasons)
            if (is_final(final_reason) && !is_final(other) && excludes(final_reason, other) &&
                other.words) {
                EXPECT_FALSE(other.words->fix) << name << ": " << final_reason.code << " beside "
                                               << other.code << ": " << *other.words->fix;
            }
}

/// The answer with the sentences and fixes that clients receive.
template <class Answer>
Answer worded(Answer answer, const Report& report, const std::vector<Finding>& findings) {
    ReasonWriter writer{[&] { return ReasonPlace{.findings = &findings, .machine = &report}; }};
    writer.add_to(answer);
    return answer;
}

TEST(PossibleFixes, ACandidateWithAFinalReasonHasNoFixForALesserOne) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto findings = examine(report, {});
        for (const Profile& profile : profiles_for(fixture)) {
            const auto decision = worded(choice(profile, report), report, findings);
            for (const auto& candidate : decision.candidates)
                expect_no_lesser_fix(candidate.reasons, profile.name + " " + candidate.backend);
        }
        for (const Manifest& application : applications_for(fixture)) {
            const auto answer = worded(advice(application, report), report, findings);
            for (const auto& candidate : answer.candidates)
                expect_no_lesser_fix(candidate.reasons, application.name);
        }
    });
}

/// On Arch, each backend of Ollama is a separate package.
TEST(PossibleFixes, OnlyThePackageForTheVendorOfTheGpuIsNamed) {
    const std::map<std::string, std::string> packages{
        {"nvidia", "ollama-cuda"}, {"amd", "ollama-rocm"}, {"intel", "ollama-vulkan"}};
    for (const auto& recorded : recorded_machines()) {
        auto report = report_of(scene_of(recorded));
        report.host = Host{.os_release = OsRelease{.id = "arch"}};
        const auto findings = examine(report, {});
        for (const auto& gpu : report.gpus) {
            const auto fix = explained(because("not-built"),
                                       {.findings = &findings, .machine = &report, .gpu = gpu.id})
                                 .fix.value_or("");
            for (const auto& [vendor, package] : packages)
                EXPECT_EQ(fix.find(package) != std::string::npos, gpu.vendor == vendor)
                    << recorded.name << " " << gpu.id << ": " << fix;
        }
    }
}

// Places ------------------------------------------------------------------------------------------

OsRelease release(const char* id,
                  std::vector<std::string> like,
                  const char* version,
                  std::vector<std::string> codenames) {
    return {.id = id,
            .id_like = std::move(like),
            .version_id = *version ? std::optional<std::string>{version} : std::nullopt,
            .codenames = std::move(codenames)};
}

struct Derivative {
    OsRelease own = {};
    OsRelease parent = {};
};

/// Distributions without a row in the table, and the release whose packages they use.
std::vector<Derivative> derivatives() {
    const auto ubuntu = [](const char* version) {
        return release("ubuntu", {"debian"}, version, {});
    };
    const auto debian = [](const char* version) { return release("debian", {}, version, {}); };
    return {
        {release("linuxmint", {"ubuntu", "debian"}, "22.1", {"xia", "noble"}), ubuntu("24.04")},
        {release("linuxmint", {"ubuntu", "debian"}, "21.3", {"virginia", "jammy"}),
         ubuntu("22.04")},
        {release("linuxmint", {"debian"}, "6", {"faye", "bookworm"}), debian("12")},
        {release("pop", {"ubuntu", "debian"}, "22.04", {"jammy"}), ubuntu("22.04")},
        {release("zorin", {"ubuntu", "debian"}, "17", {"jammy"}), ubuntu("22.04")},
        {release("elementary", {"ubuntu", "debian"}, "8", {"circe", "noble"}), ubuntu("24.04")},
        {release("neon", {"ubuntu", "debian"}, "24.04", {"noble"}), ubuntu("24.04")},
        {release("tuxedo", {"ubuntu", "debian"}, "24.04", {"noble"}), ubuntu("24.04")},
        {release("mx", {"debian"}, "23", {"bookworm"}), debian("12")},
        {release("nobara", {"rhel", "centos", "fedora"}, "42", {}),
         release("fedora", {}, "42", {})},
        {release("eurolinux", {"rhel", "fedora", "centos"}, "9.4", {}),
         release("rhel", {}, "9.4", {})},
        {release("cachyos", {"arch"}, "", {}), release("arch", {}, "", {})},
    };
}

std::vector<std::string> fixes_in(Report report, const OsRelease& place) {
    report.host.os_release = place;
    report.host.kernel = "6.8.0-45-generic";
    std::vector<std::string> fixes;
    for (const auto& finding : examine(report, {}))
        fixes.push_back(finding.id + ": " + finding.fix.value_or(""));
    return fixes;
}

TEST(PossibleFixes, ADerivativeHasThePackagesOfItsParentsRelease) {
    for (const auto& recorded : recorded_machines()) {
        const auto report = report_of(scene_of(recorded));
        for (const auto& [own, parent] : derivatives())
            EXPECT_EQ(fixes_in(report, own), fixes_in(report, parent))
                << recorded.name << " with " << *own.id << " " << own.version_id.value_or("");
    }
}

/// Releases without a row in the table.
std::vector<OsRelease> unknown_releases() {
    return {release("ubuntu", {"debian"}, "20.04", {"focal"}),
            release("ubuntu", {"debian"}, "25.10", {"questing"}),
            release("ubuntu", {"debian"}, "28.04", {}),
            release("debian", {}, "10", {"buster"}),
            release("debian", {}, "", {"forky"}),
            release("kali", {"debian"}, "2026.3", {"kali-rolling"}),
            release("rhel", {"fedora"}, "8.10", {})};
}

TEST(PossibleFixes, NothingIsMissingFromAReleaseThatIsNotKnown) {
    for (const auto& recorded : recorded_machines()) {
        const auto report = report_of(scene_of(recorded));
        for (const auto& place : unknown_releases())
            for (const auto& fix : fixes_in(report, place))
                EXPECT_EQ(fix.find("has no package"), std::string::npos)
                    << recorded.name << " with " << *place.id << ": " << fix;
    }
}

TEST(PossibleFixes, NoPackageManagerIsUsedOnAnImage) {
    struct Image {
        const char* id;
        const char* variant;
        const char* kernel;
    };
    constexpr auto kImages =
        std::to_array<Image>({{"debian", "", "6.12.105-production+truenas"},
                              {"slackware", "", "6.1.106-Unraid"},
                              {"synology-dsm", "", "4.4.302+"},
                              {"bazzite", "", "6.14.6-109.bazzite.fc42.x86_64"},
                              {"fedora", "silverblue", "6.14.0"},
                              {"fedora", "kinoite", "6.14.0"},
                              {"nixos", "", "6.12.30"},
                              {"steamos", "", "6.11.11-valve19-1-neptune"},
                              {"haos", "", "6.12.20-haos"},
                              {"rhcos", "", "5.14.0-427.el9"},
                              {"talos", "", "6.12.18-talos"}});
    constexpr auto kManagers = std::to_array<const char*>(
        {"apt ", "dnf ", "pacman", "zypper", "ubuntu-drivers", "emerge"});
    for (const auto& recorded : recorded_machines()) {
        auto report = report_of(scene_of(recorded));
        if (report.host.container || report.host.sandbox || report.host.l4t || report.host.wsl)
            continue;
        for (const auto& image : kImages) {
            report.host.kernel = image.kernel;
            report.host.os_release = OsRelease{.id = image.id, .variant_id = image.variant};
            for (const auto& finding : examine(report, {}))
                for (const auto* manager : kManagers)
                    EXPECT_EQ(finding.fix.value_or("").find(manager), std::string::npos)
                        << recorded.name << " with " << image.kernel << ": " << *finding.fix;
        }
    }
}

// Containers --------------------------------------------------------------------------------------

/// Words of commands that work only in one kind of container, sandbox or virtual machine.
const std::multimap<std::string, const char*>& own_words() {
    static const std::multimap<std::string, const char*> kWords{
        {"docker", "docker run"},
        {"docker-jetson", "docker run"},
        {"podman", "podman run"},
        {"containerd", "nerdctl "},
        {"kubernetes", "resources.limits"},
        {"kubernetes", "runtimeClassName"},
        {"lxc", "incus "},
        {"proxmox", "pct reboot"},
        {"proxmox", "/etc/pve/"},
        {"systemd-nspawn", "systemd-nspawn "},
        {"apptainer", "apptainer exec"},
        {"singularity", "singularity exec"},
        {"flatpak", "flatpak override"},
        {"snap", "snap connect"},
        {"wsl", "wsl.exe"}};
    return kWords;
}

/// Whether the word belongs to this kind. Some kinds share words, for example Docker on a Jetson.
bool is_own(const std::string& kind, std::string_view word) {
    const auto [begin, end] = own_words().equal_range(kind);
    return std::any_of(begin, end, [word](const auto& own) { return own.second == word; });
}

TEST(PossibleFixes, NoCommandIsOfAnotherKindOfContainerOrHypervisor) {
    constexpr std::size_t kPlacesOfOne = 3;
    auto places = all_places();
    std::erase_if(places,
                  [](const Where& place) { return !place.host.container && !place.host.sandbox; });
    std::size_t next = 0;
    on_every_machine([&](const MachineFixture& fixture) {
        auto report = report_of(fixture);
        const auto& own = report.host;
        if (own.l4t || own.wsl || own.container || own.sandbox || own.virtualization == "microsoft")
            return;
        for (std::size_t i = 0; i < kPlacesOfOne; ++i, ++next) {
            const auto& place = places[next % places.size()];
            const auto kind = place.name.substr(place.name.rfind(' ') + 1);
            report.host.os_release = place.host.os_release;
            report.host.container = place.host.container;
            report.host.sandbox = place.host.sandbox;
            report.host.kernel = place.host.kernel;
            for (const auto& finding : examine(report, {}))
                for (const auto& [other, word] : own_words())
                    EXPECT_TRUE(is_own(kind, word) ||
                                finding.fix.value_or("").find(word) == std::string::npos)
                        << place.name << ", " << finding.id << ": " << *finding.fix;
        }
    });
}

}  // namespace possible_fixes_test
}  // namespace gpuprobe::testing_properties
