// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Who has more is not answered worse.
namespace gpuprobe::testing_properties {
namespace {

enum class Level { Nothing, Cpu, Gpu };

/// How good a choice is, in its profile's order.
struct Standing {
    Level level = Level::Nothing;
    bool is_discrete = false;
    bool is_fallback = false;
    std::size_t place = 0;  ///< of the backend among the profile's; less is better
};

Standing standing_of(const Profile& profile, const Decision& decision, const Report& report) {
    if (decision.gpus.empty())
        return {.level = decision.backend ? Level::Cpu : Level::Nothing};
    const auto& gpu = *gpu_called(report, decision.gpus.front());
    const auto backend = own_name(profile, *decision.backend);
    const auto place = std::ranges::find(profile.backends, backend) - profile.backends.begin();
    return {.level = Level::Gpu,
            .is_discrete = gpu.kind == GpuKind::Discrete,
            .is_fallback =
                gpu.kind == GpuKind::Integrated && profile.integrated == IntegratedPolicy::Fallback,
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

/// A record without an address belongs to the only GPU that it may be about. With two such GPUs
/// nobody can tell, and the report says so.
bool became_ambiguous(const Decision& after, const Decision& before) {
    return std::ranges::any_of(after.candidates, [&before](const Candidate& candidate) {
        return candidate.backend == before.backend && candidate.gpu == before.gpus.front() &&
               has_reason(candidate.reasons, "ambiguous");
    });
}

/// Profiles that rank by measurement have an order of their own.
void expect_no_worse(const std::string& what, const Recipe& less, const Recipe& more) {
    const auto before = report_of(less);
    const auto after = report_of(more);
    for (const auto& profile : profiles()) {
        if (profile.rank == Rank::Measured)
            continue;
        const auto old = choice(profile, before);
        const auto now = choice(profile, after);
        if (is_worse(standing_of(profile, now, after), standing_of(profile, old, before))) {
            EXPECT_TRUE(!old.gpus.empty() && became_ambiguous(now, old))
                << profile.name << ", " << what << ": was " << old.backend.value_or("none")
                << ", is " << now.backend.value_or("none");
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

TEST(Monotone, AnAnswerOfAnApiMakesNoChoiceWorse) {
    on_mixed_machines([](const Recipe& recipe) {
        for (const auto* api : computing_apis()) {
            const std::string word{api->word};
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
    for (auto& told : part.told)
        if (told.facts.memory) {
            add(more, told.facts.memory->total);
            add(more, told.facts.memory->free);
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

}  // namespace
}  // namespace gpuprobe::testing_properties
