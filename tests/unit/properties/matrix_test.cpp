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

/// Every application on every recorded machine: what select, recommend, env and plan answer, side
/// by side. Where two of them differ one has a reason; the table counts which.
namespace gpuprobe::testing_properties {
namespace matrix_test {

/// One application's line of the table.
struct Row {
    int machines = 0;
    int same = 0;          ///< select and recommend name one backend, or there is one of them alone
    int by_builds = 0;     ///< no build does what select chose, each for a reason
    int by_selection = 0;  ///< select refuses what recommend chose, each candidate for a reason
    int open = 0;          ///< a build is recommended although something is not known
    int no_build = 0;      ///< no variant fits, or none is published for the processor
    int gpus = 0;          ///< answers with a GPU, whose environment and plan were looked at
};
using Table = std::map<std::string, Row>;

/// What a variant computes with, by our names of backends.
std::set<std::string> backends_of(const Variant& variant) {
    std::set<std::string> backends;
    for (const auto& alternative : variant.needs.devices)
        for (const auto api : apis_used(variant, alternative))
            backends.insert(std::string{info_of(api).backend});
    if (variant.needs.devices.empty())
        backends.insert(std::string{kCpu});
    return backends;
}

const Variant& variant_of(const Manifest& application,
                          const Recommendation& answer,
                          const std::string& name) {
    const auto platform =
        std::ranges::find(application.platforms, *answer.platform, &VariantPlatform::key);
    return *find_variant(*platform, name);
}

/// Whether each build for the backend is refused for a reason. True of none.
bool builds_say_why(const Manifest& application,
                    const Recommendation& answer,
                    const std::string& backend) {
    return std::ranges::all_of(answer.candidates, [&](const VariantCandidate& candidate) {
        return !backends_of(variant_of(application, answer, candidate.variant)).contains(backend) ||
               (candidate.verdict != Verdict::Accepted && !candidate.reasons.empty());
    });
}

/// Whether each candidate for one of the backends is refused for a reason. True of none.
bool selection_explains(const Profile& profile,
                        const Decision& decision,
                        const std::set<std::string>& backends) {
    return std::ranges::all_of(decision.candidates, [&](const Candidate& candidate) {
        return !backends.contains(own_name(profile, candidate.backend)) ||
               (candidate.verdict != Verdict::Accepted && !candidate.reasons.empty());
    });
}

/// Counts in which way select and recommend agree; false where they do not and nobody says why.
bool count_agreement(const Profile& profile,
                     const Decision& decision,
                     const Manifest& application,
                     const Recommendation& answer,
                     Row& row) {
    if (!answer.variant) {
        const bool is_explained = answer.status == RecommendStatus::NoPlatform ||
                                  std::ranges::all_of(answer.candidates, [](const auto& candidate) {
                                      return !candidate.reasons.empty();
                                  });
        row.no_build += is_explained;
        return is_explained;
    }
    const auto chosen = own_name(profile, decision.backend.value_or("none"));
    const auto recommended = backends_of(variant_of(application, answer, *answer.variant));
    const auto place = [&profile](const std::string& backend) {
        return std::ranges::find(profile.backends, backend) - profile.backends.begin();
    };
    const auto best = std::ranges::min(recommended, {}, place);
    if (recommended.contains(chosen)) {
        ++row.same;
    } else if (place(chosen) < place(best)) {
        row.by_builds += builds_say_why(application, answer, chosen);
        return builds_say_why(application, answer, chosen);
    } else if (answer.verdict == Verdict::Accepted) {
        row.by_selection += selection_explains(profile, decision, recommended);
        return selection_explains(profile, decision, recommended);
    } else {
        ++row.open;
    }
    return true;
}

/// The environment of an answer is that of its first candidate on its first GPU where it has one
/// GPU alone, and hides every GPU where it has none.
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
    EXPECT_EQ(chosen->verdict, Verdict::Accepted);
    EXPECT_EQ(chosen->environment, decision.environment);
}

/// What select chose is planned for, and no plan finds less memory on it than select did, but for
/// what others use now.
void expect_plan(const Decision& decision, const Report& report) {
    const ComputeView view{report};
    for (const auto& id : decision.gpus) {
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
    std::printf("%-22s %8s %6s %6s %9s %6s %8s %6s\n", "application", "machines", "same", "builds",
                "selection", "open", "no build", "GPU");
    for (const auto& [name, row] : table)
        std::printf("%-22s %8d %6d %6d %9d %6d %8d %6d\n", name.c_str(), row.machines, row.same,
                    row.by_builds, row.by_selection, row.open, row.no_build, row.gpus);
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
            EXPECT_TRUE(
                count_agreement(profile, decision, *application, advice(*application, report), row))
                << decision.summary << ", recommended "
                << advice(*application, report).variant.value_or("nothing");
    }
}

/// The backends that an application computes with on the machines of one processor, and on all.
std::set<std::string> published(const Manifest& application,
                                const std::optional<std::string>& arch) {
    std::set<std::string> backends;
    for (const auto& platform : application.platforms)
        if (!arch || platform.arch == *arch)
            for (const auto& variant : platform.variants)
                backends.merge(backends_of(variant));
    return backends;
}

/// A choice of a backend for which there are builds, but none for that processor.
void expect_builds_for(const std::string& arch, const Manifest& application, const Report& report) {
    const auto* profile = profile_called(application.name);
    if (!profile)
        return;
    SCOPED_TRACE(application.name + " on " + arch);
    const auto all = published(application, std::nullopt);
    const auto here = published(application, arch);
    for (const auto& candidate : choice(*profile, report).candidates) {
        const auto backend = own_name(*profile, candidate.backend);
        EXPECT_FALSE(candidate.gpu && candidate.verdict != Verdict::Rejected &&
                     all.contains(backend) && !here.contains(backend))
            << candidate.backend << " on " << *candidate.gpu;
    }
}

/// ARM's captures as they are, and every other machine as if its processor were another one.
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
        EXPECT_EQ(row.same + row.by_builds + row.by_selection + row.open + row.no_build,
                  row.machines)
            << name;
}

}  // namespace matrix_test
}  // namespace gpuprobe::testing_properties
