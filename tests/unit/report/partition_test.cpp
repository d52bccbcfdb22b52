// SPDX-License-Identifier: Apache-2.0
#include "report/partition.h"

#include <gtest/gtest.h>

#include "base/value_json.h"
#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace {

Value json(const char* text) {
    return parse_json(text, kib(4)).value();
}

constexpr const char* kCard = "pci:0000:00:06.0";

/// The partitions of an H200 of which NVML says this, as JSON.
std::vector<Value> partitions_with(const char* mig_devices) {
    auto scene = headless_h200();
    scene.machine.devices.front().partitions = {{.name = "mig/gi1/ci0"}, {.name = "mig/gi2/ci0"}};
    scene.probes.at(1).devices.front().extra["mig_devices"] = json(mig_devices);
    return gpu_at(assembled(scene), kCard).partitions;
}

/// Instances of NVML's have nothing of what the kernel alone tells.
std::vector<Value> values(const char* text) {
    auto list = *json(text).as_array();
    for (auto& instance : list)
        for (const auto* member : {"node", "kfd_node", "state"})
            instance[member] = Value{};
    return list;
}

TEST(Partitions, AreTheInstancesThatNvmlLists) {
    EXPECT_EQ(partitions_with(R"([{"index":0,"uuid":"MIG-7e611089-1272-699d-8985-ab84fef4311e",
                                   "memory":{"total":1000,"free":900}},
                                  {"index":3,"uuid":null,"memory":null}])"),
              values(R"([{"name":"mig:0","uuid":"MIG-7e611089-1272-699d-8985-ab84fef4311e",
                          "memory":{"total":1000,"free":900}},
                         {"name":"mig:3","uuid":null,"memory":null}])"));
}

TEST(Partitions, AreTheKernelsWhereNvmlListsNone) {
    for (const auto* nothing : {"[]", "null", "5", "{}"})
        EXPECT_EQ(partitions_with(nothing),
                  values(R"([{"name":"mig/gi1/ci0","uuid":null,"memory":null},
                             {"name":"mig/gi2/ci0","uuid":null,"memory":null}])"))
            << nothing;
}

TEST(Partitions, KeepTheUuidOfAnOldDriver) {
    const auto partitions = partitions_with(
        R"([{"index":0,"uuid":"MIG-GPU-7e611089-1272-699d-8985-ab84fef4311e/3/0"}])");
    EXPECT_EQ(partitions.at(0).at("uuid"),
              Value{"MIG-GPU-7e611089-1272-699d-8985-ab84fef4311e/3/0"});
}

TEST(Partitions, DoNotBelieveMaskedUuidsAndImpossibleSizes) {
    for (const auto* entry :
         {R"([{"uuid":"MIG-00000000-0000-0000-0000-000000000000","memory":{"total":0,"free":0}}])",
          R"([{"uuid":"GPU-7e611089-1272-699d-8985-ab84fef4311e","memory":{"free":5}}])",
          R"([{"uuid":"MIG-","memory":{"total":18446744073709551615}}])", R"([7])"})
        EXPECT_EQ(partitions_with(entry), values(R"([{"name":"mig:0","uuid":null,"memory":null}])"))
            << entry;
    EXPECT_EQ(partitions_with(R"([{"memory":{"total":5,"free":6}}])").at(0).at("memory"),
              json(R"({"total":5,"free":null})"));
}

TEST(Partitions, AreKnownWhereTheHardwareIsHidden) {
    auto scene = headless_h200();
    scene.machine.devices.clear();
    scene.probes.at(1).devices.front().extra["mig_devices"] = json(R"([{"index":0}])");
    EXPECT_EQ(gpu_at(assembled(scene), kCard).partitions.size(), 1U);
}

}  // namespace
}  // namespace gpuprobe::test
