// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "base/value.h"
#include "explain/doctor.h"
#include "export/formats.h"
#include "export/subject.h"
#include "plan/plan.h"
#include "policy/build_needs.h"
#include "policy/environment.h"
#include "policy/fact.h"
#include "policy/gpu_selection.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Tests that all methods give consistent answers, or that one of them contains the reason for a
/// difference.
namespace gpuprobe::testing_properties {
namespace one_answer_test {

bool is_accepted_on(const Decision& decision, const std::string& gpu) {
    return std::ranges::any_of(decision.candidates, [&gpu](const Candidate& candidate) {
        return candidate.gpu == gpu && is_usable(candidate.verdict);
    });
}

/// If select chooses the CPU, DefaultGpu still names a GPU, but select must reject this GPU.
TEST(OneAnswer, TheDefaultGpuIsTheOneThatSelectNames) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto decision = choice(*profile_called("default"), report);
        const auto* gpu = default_gpu(report, decision.gpus);
        if (!decision.gpus.empty()) {
            ASSERT_NE(gpu, nullptr);
            EXPECT_EQ(gpu->id, whole_id(decision.gpus.front()));
        } else if (gpu) {
            EXPECT_FALSE(is_accepted_on(decision, gpu->id)) << gpu->id;
        }
    });
}

// Select and recommend ----------------------------------------------------------------------------

using Names = std::set<std::string>;

/// The backends that a variant uses, by gpuprobe's names.
Names backends_of(const Variant& variant) {
    Names backends;
    for (const auto& alternative : variant.needs.devices)
        for (const auto api : apis_used(variant, alternative))
            backends.insert(std::string{info_of(api).backend});
    if (variant.needs.devices.empty())
        backends.insert(std::string{kCpu});
    return backends;
}

/// The chosen backend must be one of the variant's backends, and the variant must run on the GPUs.
void expect_start_of(const Variant& variant,
                     const Profile& profile,
                     const Decision& decision,
                     const Recommendation& answer) {
    const auto chosen = own_name(profile, decision.backend.value_or("none"));
    const auto backends = backends_of(variant);
    if (chosen == kCpu || chosen == "none") {
        // Only measurements may lead to the CPU although the recommended build is for GPUs.
        EXPECT_TRUE(answer.gpus.empty() || answer.status != RecommendStatus::Ok ||
                    profile.rank == Rank::Measured)
            << answer.application << ": " << variant.name << " on " << chosen;
        return;
    }
    EXPECT_TRUE(std::ranges::any_of(backends,
                                    [&chosen](const std::string& backend) {
                                        return api_of_backend(backend) == api_of_backend(chosen);
                                    }))
        << answer.application << ": " << variant.name << " with " << chosen;
    for (const auto& gpu : decision.gpus)
        EXPECT_TRUE(std::ranges::find(answer.gpus, gpu) != answer.gpus.end())
            << answer.application << ": " << variant.name << " is not for " << gpu;
}

/// If a user installs the recommended build and starts it with the environment from select, it must
/// compute on the GPUs that the recommendation names.
TEST(OneAnswer, SelectIsForTheVariantThatIsRecommended) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        for (const Manifest& application : applications_for(fixture)) {
            const auto* profile = profile_called(application.name);
            if (!profile)
                continue;
            const auto answer = advice(application, report);
            const auto decision = choice(*profile, report);
            EXPECT_EQ(answer.variant,
                      decision.assumes ? std::optional{decision.assumes->variant} : std::nullopt)
                << application.name;
            EXPECT_EQ(answer.variant.has_value(),
                      !has_reason(decision.warnings, "no-published-variant"))
                << application.name;
            if (!answer.variant)
                continue;
            const auto platform =
                std::ranges::find(application.platforms, *answer.platform, &VariantPlatform::key);
            expect_start_of(*find_variant(*platform, *answer.variant), *profile, decision, answer);
        }
    });
}

// Memory ------------------------------------------------------------------------------------------

bool select_finds_enough(const Report& report, const Gpu& gpu, Bytes need) {
    const auto decision = choice(*profile_called("default"), report,
                                 {.min_memory = need, .gpus = std::vector<std::string>{gpu.id}});
    return std::ranges::none_of(decision.candidates, [&gpu](const Candidate& candidate) {
        return candidate.gpu == gpu.id && has_reason(candidate.reasons, "too-little-memory");
    });
}

std::set<std::string> variants_on(const Manifest& application,
                                  const Report& report,
                                  const Gpu& gpu,
                                  std::optional<Bytes> need) {
    std::set<std::string> variants;
    for (const auto& candidate : advice(application, report, {.need = need}).candidates)
        if (std::ranges::find(candidate.gpus, gpu.id) != candidate.gpus.end())
            variants.insert(candidate.variant);
    return variants;
}

Fit planned(const Report& report, const Gpu& gpu, Bytes need) {
    return planned({.need = need, .margin = {}, .gpus = {gpu.id}}, report).gpus.front().fit;
}

/// Whether no backend works on the GPU, so that its memory does not matter.
bool is_no_use(const Gpu& gpu) {
    return std::ranges::none_of(
        gpu.backends, [](const auto& entry) { return entry.second.usable.value_or(false); });
}

void expect_one_memory(const MachineFixture& fixture,
                       const Report& report,
                       const Gpu& gpu,
                       Bytes memory) {
    const Bytes more{memory.count + 1};
    EXPECT_TRUE(select_finds_enough(report, gpu, memory));
    EXPECT_EQ(planned(report, gpu, more), Fit::No);
    EXPECT_TRUE(is_no_use(gpu) || !select_finds_enough(report, gpu, more));
    for (const Manifest& application : applications_for(fixture)) {
        // If the needed memory excludes better GPUs, a GPU that may work is named in addition.
        EXPECT_TRUE(std::ranges::includes(variants_on(application, report, gpu, memory),
                                          variants_on(application, report, gpu, std::nullopt)))
            << application.name;
        EXPECT_EQ(variants_on(application, report, gpu, more), std::set<std::string>{})
            << application.name;
    }
}

TEST(OneAnswer, SelectRecommendAndPlanCountTheSameMemory) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const ComputeView view{report};
        for (const auto& gpu : view.report().gpus) {
            SCOPED_TRACE(gpu.id);
            const auto memory = memory_for_use(gpu).value;
            if (memory && gpu.kind != GpuKind::DisplayOnly)
                expect_one_memory(fixture, report, gpu, *memory);
        }
    });
}

// Exports -----------------------------------------------------------------------------------------

Value exported(const Report& report, std::vector<Recommendation> answers) {
    const auto made = write_json({.report = report,
                                  .rules = Rules::current(),
                                  .answers = std::move(answers),
                                  .version = "1",
                                  .node = "n"});
    return parse_json(made.text.value_or(""), mib(8)).value();
}

std::string place_of(const Gpu& gpu) {
    return gpu.pci && gpu.pci->address ? text_of(*gpu.pci->address) : gpu.id;
}

TEST(OneAnswer, ExportsCountTheSameMemory) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto document = exported(report, {});
        for (const auto& entry : *document.at("gpus").as_array())
            for (const auto& gpu : report.gpus)
                if (entry.at("id") == Value{place_of(gpu)}) {
                    EXPECT_EQ(json_line(entry.at("memory_bytes")),
                              json_line(to_value(memory_for_use(gpu).value)));
                }
    });
}

/// A variant whose name is not a valid label is left out without a replacement.
TEST(OneAnswer, ExportsNameTheRecommendedVariant) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const auto answers = all_advice(fixture, report);
        const auto document = exported(report, answers);
        for (const auto& answer : answers) {
            const bool is_exported =
                answer.status == RecommendStatus::Ok && is_fleet_name(*answer.variant);
            EXPECT_EQ(json_line(document.at("applications").at(answer.application).at("best")),
                      json_line(is_exported ? to_value(answer.variant) : Value{}))
                << answer.application;
        }
    });
}

// Environments ------------------------------------------------------------------------------------

/// Whether the value hides every device from a reader. An application also hides those APIs of the
/// chosen GPU that it should not use.
bool hides(const std::string& name, const std::string& value) {
    return std::ranges::any_of(knowledge::Selectors::current().readers(),
                               [&](const knowledge::Reader& reader) {
                                   const auto hidden = reader.hide.find(name);
                                   return hidden != reader.hide.end() && hidden->second == value;
                               });
}

/// Whether the application has its own rules for variables. For example, vLLM reads indices where
/// `env` prints UUIDs. A position that is passed on alone counts all GPUs. A position that is
/// passed on with another variable counts only the GPUs that the other variable leaves visible.
bool has_own_rules(const Profile& profile, const Decision& decision) {
    return !profile.forwards.empty() ||
           profile.environment.contains(own_name(profile, *decision.backend));
}

TEST(OneAnswer, EnvOfTheChosenGpuIsWhatSelectSets) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        const ComputeView view{report};
        for (const Profile& profile : profiles_for(fixture)) {
            const auto decision = choice(profile, report);
            if (decision.gpus.size() != 1 || has_own_rules(profile, decision))
                continue;
            const auto* gpu = gpu_called(view.report(), decision.gpus.front());
            if (!gpu)
                continue;  // an accelerator, for which no variable is known
            const auto set = environment_for(view.report(), *gpu);
            for (const auto& [name, value] : decision.environment)
                if (!hides(name, value) && !name.starts_with("ONEAPI_") &&
                    !name.starts_with("GGML_")) {
                    EXPECT_EQ(set.contains(name) ? set.at(name) : value, value)
                        << profile.name << ": " << name;
                }
        }
    });
}

/// Whether a finding says that variables hide the GPU from this API.
bool is_hidden(const std::string& gpu, std::string_view api, const std::vector<Finding>& findings) {
    return std::ranges::any_of(findings, [&](const Finding& finding) {
        const bool is_about = finding.gpus.empty() || std::ranges::count(finding.gpus, gpu) > 0;
        return is_about && finding.id.ends_with("devices-hidden") &&
               finding.evidence.at("api") == Value{api};
    });
}

/// Tests that the doctor finds nothing wrong with the variables that gpuprobe itself prints.
TEST(OneAnswer, TheDoctorAcceptsTheEnvironmentOfAChoice) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        for (const Profile& profile : profiles_for(fixture)) {
            const auto decision = choice(profile, report);
            if (!decision.backend || decision.gpus.empty() || decision.environment.empty())
                continue;
            const auto findings = examine(report, {.environment = decision.environment});
            for (const auto& gpu : decision.gpus)
                EXPECT_FALSE(is_hidden(gpu, api_below(*decision.backend), findings))
                    << profile.name << ": " << gpu;
            for (const auto& finding : findings)
                EXPECT_FALSE(finding.id.ends_with("devices-hidden") && finding.gpus.empty())
                    << profile.name << ": " << finding.sentence;
        }
    });
}

/// The value of a variable in the environment, or "(nothing)" if it is not set.
std::string variable_in(const Variables& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "(nothing)" : found->second;
}

/// Checks that every item of a list is the name of this GPU.
void expect_only(const Variables& environment,
                 const std::string& name,
                 const std::optional<std::string>& own,
                 std::string_view form) {
    const auto found = environment.find(name);
    if (found == environment.end())
        return;
    for (const auto item : split(found->second, ','))
        if (item.starts_with(form)) {
            EXPECT_EQ(item, own.value_or("none")) << name;
        }
}

void expect_names_of(const Gpu& gpu, const Variables& environment) {
    const auto& identity = gpu.identity;
    auto hip = identity.hip_unique_id;
    if (hip && !hip->starts_with("GPU-"))
        hip = "GPU-" + lower_case(*hip);
    expect_only(environment, "CUDA_VISIBLE_DEVICES", identity.nvidia_uuid, "GPU-");
    expect_only(environment, "ROCR_VISIBLE_DEVICES", hip, "GPU-");
    const auto view = gpu.apis.find("vulkan");
    const auto files = variable_in(environment, "VK_DRIVER_FILES");
    if (files.ends_with(".json")) {
        ASSERT_NE(view, gpu.apis.end());
        EXPECT_EQ(files, view->second.driver.value_or("none"));
    }
    if (gpu.pci && gpu.pci->vendor_id && gpu.pci->device_id) {
        const auto ids = *gpu.pci->vendor_id + ":" + *gpu.pci->device_id;
        const auto device = variable_in(environment, "MESA_VK_DEVICE_SELECT");
        EXPECT_TRUE(device == ids || device == ids + "!" || device == "(nothing)") << device;
    }
}

/// Every reader of another API must see no device, unless it can use the candidate's own device.
void expect_others_hidden(const Profile& profile,
                          std::string_view api,
                          const Gpu* gpu,
                          const Variables& environment) {
    for (const auto* reader : access_of(profile).readers) {
        const auto* own = find_api(reader->api);
        const bool may_reach = gpu && own && own->vendor == gpu->vendor &&
                               std::ranges::find(reader->reaches, api) != reader->reaches.end();
        if (reader->api == api || may_reach)
            continue;
        for (const auto& [name, value] : reader->hide)
            EXPECT_EQ(variable_in(environment, name), value) << profile.name << " " << reader->name;
    }
}

TEST(Environments, UseACandidatesGpuAndHideAllElse) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        for (const Profile& profile : profiles_for(fixture)) {
            const auto access = access_of(profile);
            for (const auto& candidate : choice(profile, report).candidates) {
                const auto& environment = candidate.environment;
                SCOPED_TRACE(profile.name + " " + candidate.backend);
                if (!is_usable(candidate.verdict)) {
                    EXPECT_TRUE(environment.empty());
                    continue;
                }
                const auto* gpu = candidate.gpu ? gpu_called(report, *candidate.gpu) : nullptr;
                for (const auto& [name, value] : environment)
                    EXPECT_TRUE(access.variables.contains(name)) << name << " is not read";
                if (gpu)
                    expect_names_of(*gpu, environment);
                expect_others_hidden(profile, api_below(own_name(profile, candidate.backend)), gpu,
                                     environment);
            }
        }
    });
}

TEST(Environments, OfEveryApplicationThatWeBringSayWhatItReads) {
    for (const auto& profile : profiles())
        EXPECT_TRUE(profile.reads) << profile.name;
}

}  // namespace one_answer_test
}  // namespace gpuprobe::testing_properties
