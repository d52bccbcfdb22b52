// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include "base/value.h"
#include "report/reason_table.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Tests that a machine with more hardware or software never gets a worse answer.
namespace gpuprobe::testing_properties {
namespace monotone_test {

enum class Level { Nothing, Cpu, Gpu };

/// How good a choice is, by the order of its profile.
struct Standing {
    Level level = Level::Nothing;
    bool is_discrete = false;
    bool is_fallback = false;
    std::size_t place = 0;  ///< position of the backend in the profile; lower is better
};

Standing standing_of(const Profile& profile, const Decision& decision, const Report& report) {
    if (decision.gpus.empty())
        return {.level = decision.backend ? Level::Cpu : Level::Nothing};
    // An accelerator is not a GPU, so it is neither discrete nor integrated.
    const auto* gpu = gpu_called(report, decision.gpus.front());
    const auto kind = gpu ? gpu->kind : GpuKind::Unknown;
    const auto backend = own_name(profile, *decision.backend);
    const auto place = std::ranges::find(profile.backends, backend) - profile.backends.begin();
    return {.level = Level::Gpu,
            .is_discrete = kind == GpuKind::Discrete,
            .is_fallback =
                kind == GpuKind::Integrated && profile.integrated == IntegratedPolicy::Fallback,
            .place = static_cast<std::size_t>(place)};
}

bool is_worse(const Standing& after, const Standing& before) {
    if (after.level != before.level)
        return after.level < before.level;
    if (after.is_discrete && before.is_fallback)
        return false;
    if (after.is_fallback && before.is_discrete)
        return true;
    return after.place > before.place;
}

/// The candidate with the same backend and GPU; nullptr if the GPU has another id in this decision.
const Candidate* same_of(const Candidate& candidate, const Decision& decision) {
    const auto found = std::ranges::find_if(decision.candidates, [&](const Candidate& other) {
        return other.backend == candidate.backend && other.gpu == candidate.gpu;
    });
    return found == decision.candidates.end() ? nullptr : &*found;
}

/// Whether an API works but does not list this GPU, or lists a device without an address that may
/// be another GPU. Such a candidate may be rejected, because more is known now.
bool is_refusal(const Candidate& candidate) {
    return std::ranges::any_of(candidate.reasons, [](const Reason& reason) {
        return reason.is("ambiguous") || reason.is("not-listed") || reason.is("no-device");
    });
}

/// Whether the candidate was only allowed because a fact, or the vendor of the GPU, was unknown.
bool was_open(const Candidate& candidate, const Report& before, const Report& after) {
    if (std::ranges::any_of(candidate.reasons, [](const Reason& reason) {
            return find_reason(reason.code)->effect == ReasonEffect::LeavesOpen;
        }))
        return true;
    const auto* old = gpu_called(before, *candidate.gpu);
    const auto* now = gpu_called(after, *candidate.gpu);
    return old && now && now->vendor && old->vendor != now->vendor;
}

/// Whether an integrated GPU is not used because a discrete GPU can be used now.
bool gives_way(const Candidate& candidate) {
    return has_reason(candidate.reasons, "discrete-preferred");
}

bool was_refused(const Decision& after, const Decision& before) {
    return std::ranges::any_of(after.candidates, [&before](const Candidate& candidate) {
        return candidate.backend == before.backend && candidate.gpu == before.gpus.front() &&
               is_refusal(candidate);
    });
}

bool chose_what_was_open(const Decision& decision, const Report& before, const Report& after) {
    return std::ranges::any_of(decision.candidates, [&](const Candidate& candidate) {
        return candidate.backend == decision.backend && candidate.gpu == decision.gpus.front() &&
               was_open(candidate, before, after);
    });
}

/// If no variant fits the first machine, its answer assumes that users compile the application. If
/// a variant fits the second machine, the answers are compared under the same assumption.
bool was_own_build(const Decision& before, const Decision& after) {
    return !before.assumes && after.assumes;
}

/// Checks that the machine `more` gets no worse answers than the machine `less`. Choices are not
/// compared for profiles that rank candidates by measurements.
void expect_no_worse(const std::string& what, const Recipe& less, const Recipe& more) {
    const auto before = report_of(less);
    const auto after = report_of(more);
    for (const Profile& profile : profiles_for(more)) {
        SCOPED_TRACE(profile.name + ", " + what);
        const auto old = choice(profile, before);
        auto now = choice(profile, after);
        if (was_own_build(old, now))
            now = choice(profile, after, {.own_build = true});
        for (const auto& candidate : old.candidates) {
            const auto* same =
                is_usable(candidate.verdict) && candidate.gpu ? same_of(candidate, now) : nullptr;
            EXPECT_TRUE(!same || same->verdict != Verdict::Rejected || is_refusal(*same) ||
                        gives_way(*same) || was_open(candidate, before, after))
                << candidate.backend << " on " << *candidate.gpu << ": "
                << json_line(to_value(same->reasons));
        }
        auto later = standing_of(profile, now, after);
        // If GPUs come before backends, a GPU that is now the best GPU may have another backend.
        if (profile.order == ChoiceOrder::Gpus && old.gpus != now.gpus)
            later.place = 0;
        if (profile.rank != Rank::Measured && is_worse(later, standing_of(profile, old, before))) {
            EXPECT_TRUE(!old.gpus.empty() &&
                        (was_refused(now, old) || chose_what_was_open(old, before, after)))
                << "was " << old.backend.value_or("none") << ", is "
                << now.backend.value_or("none");
        }
    }
}

TEST(Monotone, AGpuMakesNoChoiceWorse) {
    on_mixed_machines([](const Recipe& recipe) {
        if (recipe.parts.empty())
            return;
        auto less = recipe;
        less.parts.pop_back();
        expect_no_worse("the last GPU", less, recipe);
    });
}

const std::vector<ApiInfo>& apis() {
    static const auto kComputing = [] {
        std::vector<ApiInfo> all;
        for (const auto* api : computing_apis())
            all.push_back(*api);
        return all;
    }();
    return kComputing;
}

TEST(Monotone, AnAnswerOfAnApiMakesNoChoiceWorse) {
    on_mixed_machines([](const Recipe& recipe) {
        for (const ApiInfo& api : sampled(apis(), recipe.sample)) {
            const std::string word{api.word};
            auto more = recipe;
            more.mishaps.erase(word);
            for (const auto mishap : {Mishap::NotAsked, Mishap::Absent}) {
                auto less = more;
                less.mishaps[word] = mishap;
                expect_no_worse(word, less, more);
            }
        }
    });
}

void open(DeviceNode& node) {
    node.mode = 0666;
    node.accessible = true;
    node.reason.reset();
}

/// Missing nodes stay missing, and nodes without a known access mode do not change.
TEST(Monotone, APermissionMakesNoChoiceWorse) {
    on_mixed_machines([](const Recipe& recipe) {
        const auto is_there = [](const DeviceNode& node) {
            return node.accessible && node.reason != "missing";
        };
        auto all = recipe;
        std::ranges::for_each(all.shared_nodes | std::views::filter(is_there), open);
        for (std::size_t i = 0; i < recipe.parts.size(); ++i) {
            if (!recipe.parts[i].hardware)
                continue;
            auto more = recipe;
            for (auto* recipes : {&more, &all})
                std::ranges::for_each(
                    recipes->parts[i].hardware->nodes | std::views::filter(is_there), open);
            expect_no_worse("nodes of " + more.parts[i].hardware->id, recipe, more);
        }
        expect_no_worse("all nodes", recipe, all);
        auto root = recipe;
        root.caller = Caller{.uid = 0};
        if (recipe.caller)
            expect_no_worse("root", recipe, root);
    });
}

/// Whether an API lists the GPU.
bool computes(const Report& report, std::string_view id) {
    const auto* gpu = gpu_called(report, id);
    return gpu && std::ranges::any_of(gpu->apis, [](const auto& entry) {
               return entry.second.outcome == Outcome::Answered;
           });
}

TEST(Monotone, ADriverMakesNoChoiceWorse) {
    on_mixed_machines([](const Recipe& recipe) {
        for (std::size_t i = 0; i < recipe.parts.size(); ++i) {
            const auto& hardware = recipe.parts[i].hardware;
            if (!hardware || !hardware->driver)
                continue;
            auto less = recipe;
            forget_drivers(less.parts[i]);
            less.parts[i].hardware->driver.reset();
            less.parts[i].hardware->nodes.clear();
            if (computes(report_of(less), hardware->id))
                continue;  // another card has the same UUID, which happens only on mixed machines
            expect_no_worse("driver of " + hardware->id, less, recipe);
        }
    });
}

TEST(Monotone, ALibraryMakesNoChoiceWorse) {
    on_mixed_machines([](const Recipe& recipe) {
        const auto libraries = recipe.host.libraries.value_or(std::vector<std::string>{});
        for (const auto& library : libraries) {
            auto less = recipe;
            std::erase(*less.host.libraries, library);
            expect_no_worse(library, less, recipe);
        }
    });
}

void add(Bytes more, std::optional<Bytes>& size) {
    if (size)
        size->count += more.count;
}

void add_memory(Bytes more, Part& part) {
    if (part.hardware) {
        add(more, part.hardware->largest_bar);
        for (auto& reading : part.hardware->memory)
            if (reading.what.ends_with("total") || reading.what == "free")
                reading.bytes.count += more.count;
    }
    for (auto& record : part.records)
        if (record.facts.memory) {
            add(more, record.facts.memory->total);
            add(more, record.facts.memory->free);
        }
}

TEST(Monotone, MemoryMakesNoChoiceWorse) {
    on_mixed_machines([](const Recipe& recipe) {
        for (std::size_t i = 0; i < recipe.parts.size(); ++i) {
            auto more = recipe;
            add_memory(gib(8), more.parts[i]);
            expect_no_worse("8 GiB for GPU " + std::to_string(i), recipe, more);
        }
        auto more = recipe;
        add(gib(8), more.host.memory.total);
        add(gib(8), more.host.memory.available);
        expect_no_worse("8 GiB for the host", recipe, more);
    });
}

}  // namespace monotone_test
}  // namespace gpuprobe::testing_properties
