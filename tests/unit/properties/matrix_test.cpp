// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "plan/plan.h"
#include "policy/build_needs.h"
#include "policy/environment.h"
#include "policy/fact.h"
#include "report/compute_view.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Tests every application on every recorded machine, and compares the answers of select,
/// recommend, env and plan.
namespace gpuprobe::testing_properties {
namespace matrix_test {

/// One row of the table: the results for one application.
struct Row {
    int machines = 0;
    int same = 0;      ///< select and recommend name the same variant, or there are no variants
    int no_build = 0;  ///< no variant fits, so select assumes that users compile the application
    int gpus = 0;      ///< answers with a GPU, whose environment and plan were checked
};
using Table = std::map<std::string, Row>;

/// The backends that a variant uses, by gpuprobe's names.
std::set<std::string> backends_of(const Variant& variant) {
    std::set<std::string> backends;
    for (const auto& alternative : variant.needs.devices)
        for (const auto api : apis_used(variant, alternative))
            backends.insert(std::string{info_of(api).backend});
    if (variant.needs.devices.empty())
        backends.insert(std::string{kCpu});
    return backends;
}

/// Counts how select and recommend agree. Returns false if they do not agree.
bool count_agreement(const Decision& decision, const Recommendation& answer, Row& row) {
    if (!answer.variant) {
        const bool is_said = has_reason(decision.warnings, "no-published-variant");
        row.no_build += is_said ? 1 : 0;
        return is_said && !decision.assumes;
    }
    const bool is_same = decision.assumes && decision.assumes->variant == *answer.variant;
    row.same += is_same ? 1 : 0;
    return is_same;
}

/// If an answer has one GPU, its environment must be that of the candidate for this GPU. If it has
/// no GPU, its environment must be that of the candidate without a GPU.
void expect_environment(const Profile& profile, const Decision& decision) {
    const auto backend = own_name(profile, decision.backend.value_or("none"));
    if (decision.gpus.size() > 1 || !decision.backend)
        return;
    const auto chosen = std::ranges::find_if(decision.candidates, [&](const Candidate& candidate) {
        const bool is_there =
            decision.gpus.empty() ? !candidate.gpu : candidate.gpu == decision.gpus.front();
        return is_there && own_name(profile, candidate.backend) == backend;
    });
    ASSERT_NE(chosen, decision.candidates.end());
    EXPECT_TRUE(is_usable(chosen->verdict));
    EXPECT_EQ(chosen->environment, decision.environment);
}

/// Plans for the GPUs that select chose. A plan may find less free memory than select only because
/// other programs use memory now.
void expect_plan(const Decision& decision, const Report& report) {
    const ComputeView view{report};
    for (const auto& id : decision.gpus) {
        // Plans are only for GPUs. The choice may be another accelerator.
        if (std::ranges::find(report.accelerators, id, &Accelerator::id) !=
            report.accelerators.end())
            continue;
        const auto* gpu = gpu_called(view.report(), id);
        ASSERT_NE(gpu, nullptr);
        const auto memory = memory_for_use(*gpu).value;
        const auto need =
            std::min(memory.value_or(mib(1)), gpu->memory.free.value_or(memory.value_or(mib(1))));
        const auto answer = planned({.need = need, .margin = {}, .gpus = {id}}, report);
        ASSERT_EQ(answer.gpus.size(), 1U) << id;
        EXPECT_EQ(answer.gpus.front().gpu, id);
        EXPECT_EQ(answer.gpus.front().fit == Fit::Unknown, !memory) << id;
        EXPECT_NE(answer.gpus.front().fit, Fit::No) << id;
    }
}

void print(const Table& table) {
    std::printf("%-22s %8s %6s %8s %6s\n", "application", "machines", "same", "no build", "GPU");
    for (const auto& [name, row] : table)
        std::printf("%-22s %8d %6d %8d %6d\n", name.c_str(), row.machines, row.same, row.no_build,
                    row.gpus);
}

void add_machine(const Recorded& recorded, Table& table) {
    const auto report = report_of(scene_of(recorded));
    for (const auto& profile : profiles()) {
        SCOPED_TRACE(recorded.name + " " + profile.name);
        auto& row = table[profile.name];
        const auto decision = choice(profile, report);
        ++row.machines;
        row.gpus += !decision.gpus.empty();
        expect_environment(profile, decision);
        expect_plan(decision, report);
        const auto application = std::ranges::find(manifests(), profile.name, &Manifest::name);
        if (application == manifests().end())
            ++row.same;
        else
            EXPECT_TRUE(count_agreement(decision, advice(*application, report), row))
                << decision.summary << ", recommended "
                << advice(*application, report).variant.value_or("nothing");
    }
}

/// The backends for which an application has builds: on one architecture, or on all architectures.
std::set<std::string> published(const Manifest& application,
                                const std::optional<std::string>& arch) {
    std::set<std::string> backends;
    for (const auto& platform : application.platforms)
        if (!arch || platform.arch == *arch)
            for (const auto& variant : platform.variants)
                backends.merge(backends_of(variant));
    return backends;
}

/// No candidate may need a build that exists only for other architectures.
void expect_builds_for(const std::string& arch, const Manifest& application, const Report& report) {
    const auto* profile = profile_called(application.name);
    if (!profile)
        return;
    SCOPED_TRACE(application.name + " on " + arch);
    const auto all = published(application, std::nullopt);
    const auto here = published(application, arch);
    const auto decision = choice(*profile, report);
    // If no variant fits the machine, the answer assumes that users compile the application.
    if (has_reason(decision.warnings, "no-published-variant")) {
        EXPECT_FALSE(decision.assumes);
        EXPECT_FALSE(advice(application, report).variant);
        return;
    }
    for (const auto& candidate : decision.candidates) {
        const auto backend = own_name(*profile, candidate.backend);
        EXPECT_FALSE(candidate.gpu && candidate.verdict != Verdict::Rejected &&
                     all.contains(backend) && !here.contains(backend))
            << candidate.backend << " on " << *candidate.gpu;
    }
}

/// Tests each recorded machine with three architectures.
TEST(Matrix, OffersOnNoProcessorWhatIsBuiltForOthersOnly) {
    for (const auto& recorded : recorded_machines()) {
        SCOPED_TRACE(recorded.name);
        auto report = report_of(scene_of(recorded));
        for (const auto* arch : {"x86_64", "aarch64", "ppc64le"}) {
            report.host.arch = arch;
            for (const auto& application : manifests())
                expect_builds_for(arch, application, report);
        }
    }
}

TEST(Matrix, OfApplicationsAndRecordedMachinesHasNothingUnexplained) {
    Table table;
    for (const auto& recorded : recorded_machines())
        add_machine(recorded, table);
    print(table);
    for (const auto& [name, row] : table)
        EXPECT_EQ(row.same + row.no_build, row.machines) << name;
}

}  // namespace matrix_test
}  // namespace gpuprobe::testing_properties
