// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "backends/opencl/opencl.h"

namespace gpuprobe::backends {
namespace opencl_facts_test {

/// A device that answers queries from a table, and refuses all other queries.
class FakeDevice {
public:
    template <class T>
    FakeDevice& say(cl_uint what, const T& value) {
        answers_[what] = std::string{reinterpret_cast<const char*>(&value), sizeof value};
        return *this;
    }
    FakeDevice& say_text(cl_uint what, std::string text) {
        answers_[what] = std::move(text) + '\0';
        return *this;
    }
    [[nodiscard]] DeviceInfo info() {
        return {&FakeDevice::answer, reinterpret_cast<cl_device_id>(this)};
    }

private:
    static cl_int answer(
        cl_device_id device, cl_uint what, std::size_t capacity, void* out, std::size_t* size) {
        const auto& answers = reinterpret_cast<FakeDevice*>(device)->answers_;
        const auto found = answers.find(what);
        if (found == answers.end() || (out && capacity < found->second.size()))
            return CL_INVALID_VALUE;
        if (size)
            *size = found->second.size();
        if (out)
            std::memcpy(out, found->second.data(), found->second.size());
        return CL_SUCCESS;
    }
    std::map<cl_uint, std::string> answers_ = {};
};

const Value kNoPlatform{Value::Object{}};

TEST(OpenClFacts, AreNullForADeviceThatRefusesEverything) {
    FakeDevice device;
    const auto facts = opencl_facts(device.info(), 3, kNoPlatform);
    EXPECT_EQ(facts.index, 3U);
    EXPECT_EQ(facts.name, std::nullopt);
    EXPECT_EQ(facts.type, std::nullopt);
    EXPECT_EQ(facts.memory, FactMemory{});
    for (const auto& member : *facts.extra.as_object())
        EXPECT_TRUE(member.value.is_null()) << member.key;
}

TEST(OpenClFacts, PreferAmdsBoardName) {
    FakeDevice device;
    device.say_text(CL_DEVICE_NAME, "gfx90a:sramecc+:xnack-")
        .say_text(CL_DEVICE_BOARD_NAME_AMD, "AMD Instinct MI210")
        .say(CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, std::array<std::size_t, 2>{1024, 512});
    EXPECT_EQ(opencl_facts(device.info(), 0, kNoPlatform).name, "gfx90a:sramecc+:xnack-");
    device.say_text(CL_DEVICE_EXTENSIONS, "cl_khr_fp64 cl_amd_device_attribute_query");
    const auto facts = opencl_facts(device.info(), 0, kNoPlatform);
    EXPECT_EQ(facts.name, "AMD Instinct MI210");
    EXPECT_EQ(facts.extra.at("device_name"), Value{"gfx90a:sramecc+:xnack-"});
    EXPECT_EQ(facts.extra.at("gfx_target"), Value{"gfx90a"});
    EXPECT_EQ(facts.memory->free, mib(1));
}

TEST(OpenClFacts, RefuseAnswersOfTheWrongSize) {
    FakeDevice device;
    device.say(CL_DEVICE_GLOBAL_MEM_SIZE, cl_uint{4096}).say(CL_DEVICE_TYPE, cl_uchar{4});
    const auto facts = opencl_facts(device.info(), 0, kNoPlatform);
    EXPECT_EQ(facts.memory->total, std::nullopt);
    EXPECT_EQ(facts.type, std::nullopt);
}

TEST(OpenClFacts, AskForUuidsOnlyWhereTheExtensionIs) {
    FakeDevice device;
    std::array<cl_uchar, CL_UUID_SIZE_KHR> uuid{};
    uuid[15] = 7;
    device.say(CL_DEVICE_UUID_KHR, uuid);
    EXPECT_EQ(opencl_facts(device.info(), 0, kNoPlatform).uuid, std::nullopt);
    device.say_text(CL_DEVICE_EXTENSIONS, "cl_khr_device_uuid");
    EXPECT_EQ(opencl_facts(device.info(), 0, kNoPlatform).uuid,
              "00000000-0000-0000-0000-000000000007");
    device.say(CL_DEVICE_UUID_KHR, std::array<cl_uchar, CL_UUID_SIZE_KHR>{});
    EXPECT_EQ(opencl_facts(device.info(), 0, kNoPlatform).uuid, std::nullopt);
}

TEST(OpenClFacts, KeepKhronosVendorNumbersOutOfThePciId) {
    FakeDevice device;
    device.say(CL_DEVICE_VENDOR_ID, cl_uint{0x10006});
    const auto facts = opencl_facts(device.info(), 0, kNoPlatform);
    EXPECT_EQ(facts.vendor_id, std::nullopt);
    EXPECT_EQ(facts.extra.at("opencl_vendor_id"), Value{0x10006});
}

TEST(OpenClFacts, ListIntermediateLanguagesFromEitherQuery) {
    FakeDevice device;
    device.say_text(CL_DEVICE_IL_VERSION, "SPIR-V_1.2 SPIR-V_1.0");
    const Value both{Value::Array{Value{"SPIR-V_1.0"}, Value{"SPIR-V_1.2"}}};
    EXPECT_EQ(opencl_facts(device.info(), 0, kNoPlatform).extra.at("il_versions"), both);
    cl_name_version entry{1U << 22 | 4U << 12, {}};
    std::memcpy(entry.name, "SPIR-V", 6);
    device.say(CL_DEVICE_ILS_WITH_VERSION, entry);
    EXPECT_EQ(opencl_facts(device.info(), 0, kNoPlatform).extra.at("il_versions"),
              (Value{Value::Array{Value{"SPIR-V_1.4"}}}));
}

TEST(OpenClAddress, ComesFromTheFirstExtensionThatKnowsIt) {
    FakeDevice device;
    cl_device_topology_amd topology{};
    topology.pcie.type = CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD;
    topology.pcie.bus = static_cast<cl_char>(0xc1);
    topology.pcie.device = 0;
    topology.pcie.function = 1;
    device.say(CL_DEVICE_TOPOLOGY_AMD, topology)
        .say(kPciBusIdNv, cl_uint{6})
        .say(kPciSlotIdNv, cl_uint{2U << 3 | 1U})
        .say(CL_DEVICE_PCI_BUS_INFO_KHR, cl_device_pci_bus_info_khr{0x10000, 7, 0, 0});
    EXPECT_FALSE(device_address(device.info(), {}));

    const auto amd = device_address(device.info(), {"cl_amd_device_attribute_query"});
    ASSERT_TRUE(amd);
    EXPECT_EQ(amd->address, (PciAddress{.bus = 0xc1, .function = 1}));

    const auto nvidia = device_address(device.info(), {"cl_nv_device_attribute_query"});
    ASSERT_TRUE(nvidia);
    EXPECT_EQ(nvidia->address, (PciAddress{.bus = 6, .device = 2, .function = 1}))
        << "a refused domain is 0";

    const auto khronos =
        device_address(device.info(), {"cl_amd_device_attribute_query", "cl_khr_pci_bus_info"});
    ASSERT_TRUE(khronos);
    EXPECT_EQ(khronos->address, (PciAddress{.domain = 0x10000, .bus = 7}));
    EXPECT_EQ(khronos->source, "cl_khr_pci_bus_info");
}

TEST(OpenClAddress, IsNeitherZeroNorOffTheScale) {
    FakeDevice device;
    device.say(CL_DEVICE_PCI_BUS_INFO_KHR, cl_device_pci_bus_info_khr{0, 0, 0, 0});
    EXPECT_FALSE(device_address(device.info(), {"cl_khr_pci_bus_info"}));
    device.say(CL_DEVICE_PCI_BUS_INFO_KHR, cl_device_pci_bus_info_khr{0, 256, 0, 0});
    EXPECT_FALSE(device_address(device.info(), {"cl_khr_pci_bus_info"}));
}

TEST(OpenClType, DependsOnWhetherMemoryIsShared) {
    EXPECT_EQ(opencl_device_type(CL_DEVICE_TYPE_GPU, true), DeviceType::Integrated);
    EXPECT_EQ(opencl_device_type(CL_DEVICE_TYPE_GPU, false), DeviceType::Discrete);
    EXPECT_EQ(opencl_device_type(CL_DEVICE_TYPE_GPU, std::nullopt), std::nullopt);
    EXPECT_EQ(opencl_device_type(CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT, true),
              DeviceType::Cpu);
    EXPECT_EQ(opencl_device_type(CL_DEVICE_TYPE_ACCELERATOR, true), DeviceType::Other);
    EXPECT_EQ(opencl_device_type(std::nullopt, true), std::nullopt);
}

TEST(OpenClNames, ReadVersionsInTheSpecifiedFormOnly) {
    EXPECT_EQ(api_version_in("OpenCL 3.0 PoCL 3.1"), "3.0");
    EXPECT_EQ(api_version_in("OpenCL 1.2"), "1.2");
    for (const auto* text : {"", "OpenCL", "OpenCL 3", "OpenCL 3.x", "OpenCL -3.0", "opencl 3.0",
                             "OpenCL 3.0.1", "OpenCL C 1.2", "OpenCL .", "OpenCL 99999999999.0"})
        EXPECT_EQ(api_version_in(text), std::nullopt) << text;
}

TEST(OpenClNames, UnpackVersions) {
    EXPECT_EQ(packed_version_text(3U << 22), "3.0.0");
    EXPECT_EQ(packed_version_text(1U << 22 | 2U << 12 | 9U), "1.2.9");
}

TEST(WordList, IsSortedOnceAndBounded) {
    EXPECT_EQ(word_list("b  a b\n"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(word_list(""), std::vector<std::string>{});
    EXPECT_EQ(word_list(std::nullopt), std::nullopt);
    std::string many;
    for (int i = 0; i < 5000; ++i)
        many += " x" + std::to_string(i);
    EXPECT_EQ(word_list(many)->size(), kMaxExtensionNames);
}

}  // namespace opencl_facts_test
}  // namespace gpuprobe::backends
