// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/value.h"
#include "unit/properties/each_machine.h"

/// Tests that unknown values are null, and that hidden values occur nowhere.
namespace gpuprobe::testing_properties {
namespace unknown_test {

/// Calls `use` with the path and value of each member of a document.
template <class Use>
void for_each_member(const Value& value, const std::string& path, const Use& use) {
    if (const auto* items = value.as_array())
        for (const auto& item : *items)
            for_each_member(item, path, use);
    if (const auto* members = value.as_object())
        for (const auto& member : *members) {
            use(path + "." + member.key, member.value);
            for_each_member(member.value, path + "." + member.key, use);
        }
}

/// Whether a string means "unknown".
bool is_no_answer(const std::string& text) {
    static const std::set<std::string> kNone{"", "unknown", "Unknown", "N/A", "n/a", "null"};
    return kNone.contains(text);
}

/// The driver of an API with only one driver has no name, and the kind of a device may be unknown.
bool may_be_no_answer(const std::string& path) {
    return path.ends_with(".detail.driver") || path.ends_with(".kind");
}

/// Strings from drivers, under `apis` and `software`, are not changed and not checked.
TEST(Unknown, IsNullAndNoWord) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        for (const auto& gpu : report.gpus) {
            auto bare = gpu;
            bare.apis.clear();
            for_each_member(to_value(bare), gpu.id,
                            [](const std::string& path, const Value& value) {
                                const auto* text = value.as_string();
                                EXPECT_FALSE(text && !may_be_no_answer(path) && is_no_answer(*text))
                                    << path << ": " << *text;
                            });
        }
    });
}

void expect_a_size(const std::optional<Bytes>& size, const std::string& what) {
    EXPECT_TRUE(!size || size->count > 0) << what;
}

TEST(Unknown, SizeIsNotZero) {
    on_every_machine([](const MachineFixture& fixture) {
        const auto report = report_of(fixture);
        for (const auto& gpu : report.gpus) {
            expect_a_size(gpu.memory.physical, gpu.id + " physical");
            expect_a_size(gpu.memory.allocatable, gpu.id + " allocatable");
            for (const auto& partition : gpu.partitions)
                if (partition.memory)
                    expect_a_size(partition.memory->total, partition.id.value_or(gpu.id));
            // On a divided GPU, `allocatable` is the size of one partition, and `free` is the sum
            // over all partitions.
            const auto& most =
                gpu.partitions.empty() ? gpu.memory.allocatable : gpu.memory.physical;
            if (gpu.memory.free && most) {
                EXPECT_LE(*gpu.memory.free, *most) << gpu.id;
            }
        }
        for (const auto& accelerator : report.accelerators)
            expect_a_size(accelerator.memory, accelerator.id);
    });
}

/// The UUIDs and serial numbers of the GPU, as they are reported.
std::set<std::string> identifiers_of(const Gpu& gpu) {
    std::set<std::string> all;
    for (const auto& text :
         {gpu.identity.nvidia_uuid, gpu.identity.hip_unique_id, gpu.identity.canonical_uuid})
        if (text)
            all.insert(*text);
    for (const auto& text : gpu.identity.uuids)
        if (text)
            all.insert(*text);
    for (const auto& partition : gpu.partitions)
        if (partition.uuid)
            all.insert(*partition.uuid);
    return all;
}

TEST(Redaction, LeavesNoIdentifierOfAClosedGpu) {
    on_every_machine([](const MachineFixture& fixture) {
        auto open = fixture;
        open.caller.reset();
        const auto whole = report_of(open);
        constexpr std::uint32_t kStranger = 65534;
        const auto seen =
            as_seen_by(whole, Caller{.uid = kStranger, .groups = std::vector{kStranger}});
        std::set<std::string> hidden;
        std::set<std::string> shown;
        for (std::size_t i = 0; i < whole.gpus.size(); ++i)
            (is_closed(seen.gpus[i]) ? hidden : shown).merge(identifiers_of(whole.gpus[i]));
        // Captures replace identifiers with numbers, so mixed captures may share an identifier.
        for (const auto& software : whole.software)
            for (const auto* key : {"uuid", "driver_uuid"})
                if (const auto* text = software.device.at(key).as_string())
                    shown.insert(*text);
        const auto text = json_line(to_value(seen));
        for (const auto& identifier : hidden)
            EXPECT_TRUE(shown.contains(identifier) || text.find(identifier) == std::string::npos)
                << identifier;
    });
}

}  // namespace unknown_test
}  // namespace gpuprobe::testing_properties
