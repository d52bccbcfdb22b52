// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/drm/facts.h"
#include "fake_drm.h"

namespace gpuprobe::backends {
namespace drm_facts_test {

DeviceFacts facts_of(const FakeDrm& device) {
    DeviceFacts facts;
    add_drm_facts(device, facts);
    return facts;
}

std::uint64_t number(const DeviceFacts& facts, std::string_view key) {
    return facts.extra.at(key).as_unsigned().value_or(0);
}

TEST(DrmFacts, NameTheDriverAndItsVersion) {
    const auto facts = facts_of(FakeDrm{"panfrost"});
    EXPECT_EQ(*facts.extra.at("driver_name").as_string(), "panfrost");
    EXPECT_EQ(*facts.extra.at("driver_version").as_string(), "3.49.0");
    EXPECT_EQ(*facts.extra.at("driver_description").as_string(), "Fake driver");
    EXPECT_EQ(facts.type, std::nullopt);
    EXPECT_EQ(facts.memory, std::nullopt);
}

TEST(DrmFacts, ReadNoMoreOfALongNameThanThereIs) {
    const auto facts = facts_of(FakeDrm{std::string(1000, 'x')});
    EXPECT_EQ(*facts.extra.at("driver_name").as_string(), std::string(128, 'x'));
}

TEST(DrmFacts, SayWhyADeviceDoesNotAnswer) {
    FakeDrm device;
    device.refuse(DRM_IOCTL_VERSION, ENODEV);
    const auto facts = facts_of(device);
    EXPECT_EQ(*facts.extra.at("error").as_string(), "DRM_IOCTL_VERSION: No such device");
    EXPECT_TRUE(facts.extra.at("driver_name").is_null());
}

/// An amdgpu device that answers both queries. The answers are cut to the size of the caller's
/// buffer.
FakeDrm amdgpu(std::uint64_t flags, std::uint64_t used) {
    FakeDrm device{"amdgpu"};
    device.on<drm_amdgpu_info>(DRM_IOCTL_AMDGPU_INFO, [=](drm_amdgpu_info& info) {
        if (info.query == AMDGPU_INFO_DEV_INFO &&
            info.return_size >= sizeof(drm_amdgpu_info_device)) {
            auto& reply = at_address<drm_amdgpu_info_device>(info.return_pointer);
            reply.cu_active_number = 60;
            reply.max_engine_clock = 2'500'000;
            reply.ids_flags = flags;
            reply.vram_type = 9;
            reply.vram_bit_width = 256;
            return 0;
        }
        if (info.query != AMDGPU_INFO_MEMORY)
            return EINVAL;
        auto& reply = at_address<drm_amdgpu_memory_info>(info.return_pointer);
        reply.vram.total_heap_size = 16000;
        reply.vram.usable_heap_size = 15000;
        reply.vram.heap_usage = used;
        reply.cpu_accessible_vram.total_heap_size = 256;
        reply.gtt.total_heap_size = 32000;
        reply.gtt.heap_usage = 7;
        return 0;
    });
    return device;
}

TEST(Amdgpu, DistinguishesACardFromAnApu) {
    EXPECT_EQ(facts_of(amdgpu(0, 0)).type, DeviceType::Discrete);
    EXPECT_EQ(facts_of(amdgpu(1, 0)).type, DeviceType::Integrated);
}

TEST(Amdgpu, CountsMemory) {
    const auto facts = facts_of(amdgpu(0, 4000));
    EXPECT_EQ(facts.memory, (FactMemory{.total = Bytes{16000}, .free = Bytes{12000}}));
    EXPECT_EQ(number(facts, "memory_usable"), 15000U);
    EXPECT_EQ(number(facts, "memory_visible"), 256U);
    EXPECT_EQ(number(facts, "gtt_total"), 32000U);
    EXPECT_EQ(number(facts, "gtt_used"), 7U);
    EXPECT_EQ(number(facts, "compute_units"), 60U);
    EXPECT_EQ(number(facts, "clock_hz"), 2'500'000'000U);
    EXPECT_EQ(*facts.extra.at("memory_type").as_string(), "gddr6");
    EXPECT_TRUE(facts.extra.at("memory_clock_hz").is_null());
}

TEST(Amdgpu, DoesNotBelieveThatMoreIsUsedThanThereIs) {
    EXPECT_EQ(facts_of(amdgpu(0, 16001)).memory,
              (FactMemory{.total = Bytes{16000}, .free = std::nullopt}));
    EXPECT_EQ(facts_of(amdgpu(0, 16000)).memory,
              (FactMemory{.total = Bytes{16000}, .free = Bytes{0}}));
}

TEST(Amdgpu, KeepsItsVersionWhenItRefusesTheRest) {
    FakeDrm device{"amdgpu"};
    device.refuse(DRM_IOCTL_AMDGPU_INFO, EACCES);
    const auto facts = facts_of(device);
    EXPECT_EQ(*facts.extra.at("driver_name").as_string(), "amdgpu");
    EXPECT_EQ(*facts.extra.at("error").as_string(), "AMDGPU_INFO_DEV_INFO: Permission denied");
    EXPECT_EQ(facts.type, std::nullopt);
}

TEST(Amdgpu, HasTheVersionOfItsScheduler) {
    // In the kernel log, the first version is 0x83; the other bits are the version of an interface.
    for (const auto& [version, text] : std::vector<std::pair<std::uint32_t, Value>>{
             {0x83, "0x83"}, {0x0200'0083, "0x83"}, {0x105, "0x105"}, {0x0100'0000, {}}}) {
        FakeDrm device{"amdgpu"};
        device.on<drm_amdgpu_info>(DRM_IOCTL_AMDGPU_INFO, [=](drm_amdgpu_info& info) {
            if (info.query != AMDGPU_INFO_FW_VERSION || info.query_fw.fw_type != 0x1a)
                return EINVAL;
            at_address<drm_amdgpu_info_firmware>(info.return_pointer).ver = version;
            return 0;
        });
        EXPECT_EQ(facts_of(device).extra.at("mes_firmware"), text) << version;
    }
    EXPECT_TRUE(facts_of(amdgpu(0, 0)).extra.at("mes_firmware").is_null());
}

/// An i915 device whose regions are the given bytes, but which reports `length` as their size.
FakeDrm i915(const std::vector<drm_i915_memory_region_info>& regions, std::int32_t length) {
    FakeDrm device{"i915"};
    device.on<drm_i915_query>(DRM_IOCTL_I915_QUERY, [=](drm_i915_query& query) {
        auto& item = at_address<drm_i915_query_item>(query.items_ptr);
        if (item.length == 0) {
            item.length = length;
            return 0;
        }
        auto* const reply = &at_address<std::byte>(item.data_ptr);
        const auto count = static_cast<std::uint32_t>(regions.size());
        std::memcpy(reply, &count, sizeof count);
        std::memcpy(reply + sizeof(drm_i915_query_memory_regions), regions.data(),
                    regions.size() * sizeof regions[0]);
        return 0;
    });
    return device;
}

constexpr std::int32_t kOneRegion =
    sizeof(drm_i915_query_memory_regions) + sizeof(drm_i915_memory_region_info);

TEST(I915, IsIntegratedWithoutMemoryOfItsOwn) {
    const auto facts = facts_of(i915({i915_region(0, 32, 0)}, kOneRegion));
    EXPECT_EQ(facts.type, DeviceType::Integrated);
    EXPECT_EQ(facts.memory, std::nullopt);
    EXPECT_EQ(facts.extra.at("regions").as_array()->size(), 1U);
}

TEST(I915, IsDiscreteWithMemoryOfItsOwn) {
    const auto facts = facts_of(i915({i915_region(1, 32, 32)}, kOneRegion));
    EXPECT_EQ(facts.type, DeviceType::Discrete);
    EXPECT_EQ(facts.memory, (FactMemory{.total = Bytes{32}, .free = std::nullopt}));
}

TEST(I915, SaysWhyItRefuses) {
    for (const std::int32_t length : {-EINVAL, -2147483647 - 1}) {
        const auto facts = facts_of(i915({}, length));
        EXPECT_EQ(*facts.extra.at("error").as_string(), "DRM_IOCTL_I915_QUERY: Invalid argument");
        EXPECT_EQ(facts.type, std::nullopt);
    }
}

TEST(I915, IsNotAskedForMoreThanMakesSense) {
    for (const std::int32_t length : {0, 0x7fffffff}) {
        const auto facts = facts_of(i915({}, length));
        EXPECT_EQ(facts.type, std::nullopt);
        EXPECT_TRUE(facts.extra.at("error").is_null());
    }
}

/// An xe device that answers each query with the given words.
FakeDrm xe(const std::map<std::uint32_t, std::vector<std::uint64_t>>& replies) {
    FakeDrm device{"xe"};
    device.on<drm::xe::DeviceQuery>(drm::xe::kDeviceQuery, [=](drm::xe::DeviceQuery& query) {
        const auto found = replies.find(query.query);
        if (found == replies.end())
            return EINVAL;
        const auto size = static_cast<std::uint32_t>(found->second.size() * sizeof(std::uint64_t));
        if (query.size == 0) {
            query.size = size;
            return 0;
        }
        if (query.size != size)
            return EINVAL;
        std::memcpy(&at_address<std::byte>(query.data), found->second.data(), size);
        return 0;
    });
    return device;
}

TEST(Xe, CombinesRegionsConfigurationAndIp) {
    const std::vector<std::uint64_t> regions = {1, 1, 16, 6, 16, 0, 0, 0, 0, 0, 0, 0};
    const std::vector<std::uint64_t> gts = {1, 0, 0, 0, 0, 20ULL | 1ULL << 16U | 4ULL << 32U, 0, 0,
                                            0, 0, 0, 0, 0};
    const auto facts = facts_of(xe({{1, regions}, {2, {2, 0xe20b, 1}}, {3, gts}}));
    EXPECT_EQ(facts.type, DeviceType::Discrete);
    EXPECT_EQ(facts.memory, (FactMemory{.total = Bytes{16}, .free = Bytes{10}}));
    EXPECT_EQ(*facts.extra.at("intel_ip").as_string(), "20.1.4");
    EXPECT_TRUE(facts.extra.at("error").is_null());
}

TEST(Xe, ReportsAWedgedDevice) {
    FakeDrm device{"xe"};
    device.refuse(drm::xe::kDeviceQuery, ECANCELED);
    const auto facts = facts_of(device);
    EXPECT_EQ(*facts.extra.at("error").as_string(),
              "DRM_IOCTL_XE_DEVICE_QUERY: Operation canceled");
    EXPECT_TRUE(facts.extra.at("intel_ip").is_null());
}

TEST(Nouveau, KnowsItsMemoryAndChipset) {
    FakeDrm device{"nouveau"};
    device.on<drm::nouveau::Parameter>(
        drm::nouveau::kGetParameter, [](drm::nouveau::Parameter& question) {
            question.value = question.parameter == drm::nouveau::kFrameBufferSize ? 4096 : 0x164;
            return 0;
        });
    const auto facts = facts_of(device);
    EXPECT_EQ(facts.memory, (FactMemory{.total = Bytes{4096}}));
    EXPECT_EQ(*facts.extra.at("chipset").as_string(), "164");
}

TEST(Nouveau, HasNoMemoryOnASystemOnChip) {
    FakeDrm device{"nouveau"};
    device.on<drm::nouveau::Parameter>(drm::nouveau::kGetParameter,
                                       [](drm::nouveau::Parameter&) { return 0; });
    EXPECT_EQ(facts_of(device).memory, std::nullopt);
}

FakeDrm radeon(std::uint64_t used) {
    FakeDrm device{"radeon"};
    device.on<drm_radeon_gem_info>(DRM_IOCTL_RADEON_GEM_INFO, [](drm_radeon_gem_info& memory) {
        memory = {.gart_size = 512, .vram_size = 1024, .vram_visible = 256};
        return 0;
    });
    device.on<drm_radeon_info>(DRM_IOCTL_RADEON_INFO, [used](drm_radeon_info& question) {
        if (question.request != RADEON_INFO_VRAM_USAGE)
            return EINVAL;
        at_address<std::uint64_t>(question.value) = used;
        return 0;
    });
    return device;
}

TEST(Radeon, CountsAllMemoryAndNotOnlyTheVisible) {
    EXPECT_EQ(facts_of(radeon(24)).memory, (FactMemory{.total = Bytes{1024}, .free = Bytes{1000}}));
    EXPECT_EQ(facts_of(radeon(1025)).memory,
              (FactMemory{.total = Bytes{1024}, .free = std::nullopt}));
}

TEST(Virtio, ReportsWhatItsHostOffers) {
    FakeDrm device{"virtio_gpu"};
    device.on<drm_virtgpu_getparam>(DRM_IOCTL_VIRTGPU_GETPARAM, [](drm_virtgpu_getparam& question) {
        if (question.param == drm::virtgpu::kContextInit)
            return EINVAL;
        const std::uint32_t capsets = 1U << 2U | 1U << 4U | 1U << 9U;
        at_address<std::uint32_t>(question.value) =
            question.param == drm::virtgpu::kCapsetIds ? capsets : 1;
        return 0;
    });
    const auto facts = facts_of(device);
    EXPECT_EQ(facts.type, DeviceType::Virtual);
    EXPECT_EQ(facts.extra.at("accelerated").as_bool(), true);
    EXPECT_TRUE(facts.extra.at("context_init").is_null());
    EXPECT_EQ(facts.extra.at("capsets"), (Value{Value::Array{"virgl2", "venus", "9"}}));
    EXPECT_TRUE(facts.extra.at("error").is_null());
}

}  // namespace drm_facts_test
}  // namespace gpuprobe::backends
