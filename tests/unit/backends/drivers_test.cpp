// SPDX-License-Identifier: Apache-2.0
// Tests of the queries with real loaders and fake drivers. Each test runs in a separate process.
#include <filesystem>

#include "backends/compute/stages.h"
#include "backends/driver_library.h"
#include "backends/opencl/opencl.h"
#include "backends/vulkan/vulkan.h"
#include "base/files.h"
#include "in_child.h"
#include "recording_sink.h"
#include "support/places.h"

namespace gpuprobe::backends {
namespace drivers_test {

namespace fs = std::filesystem;

/// Mesa's manifest has a different name since version 25.0.
const std::string kLavapipe = [] {
    const std::string folder{"/usr/share/vulkan/icd.d/"};
    const auto older = folder + "lvp_icd.x86_64.json";
    return fs::exists(older) ? older : folder + "lvp_icd.json";
}();
constexpr const char* kPocl = "/etc/OpenCL/vendors/pocl.icd";

std::string fake(const std::string& api, const std::string& variant) {
    const std::string ending = api == "vulkan" ? ".json" : ".icd";
    return std::string{GPUPROBE_BINARY_DIR} + "/fakes/" + api + "/" + variant + "/" + variant +
           ending;
}

bool has_loader(const char* soname) {
    return status_of_child([&] { EXPECT_TRUE(DynamicLibrary::open(soname)); }) == 0;
}

ProbeTarget pinned_vulkan(const std::string& manifest) {
    ::setenv("VK_DRIVER_FILES", manifest.c_str(), 1);
    ::setenv("VK_ICD_FILENAMES", manifest.c_str(), 1);
    ::setenv("VK_LOADER_LAYERS_DISABLE", "~all~", 1);
    return {.api = "vulkan", .driver = manifest};
}

ProbeTarget pinned_opencl(const std::string& icd) {
    ::setenv("OCL_ICD_VENDORS", fs::path{icd}.parent_path().c_str(), 1);
    return {.api = "opencl", .driver = icd};
}

/// Skips the test if the machine lacks the loader or the build lacks the driver.
class VulkanDriver : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(fake("vulkan", "gpu")))
            FAIL() << "the fake drivers are not built: tools/test provides it";
        if (!has_loader("libvulkan.so.1"))
            FAIL() << "no Vulkan loader: tools/test provides it";
    }
};
class OpenClDriver : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(fake("opencl", "gpu")))
            FAIL() << "the fake drivers are not built: tools/test provides it";
        if (!has_loader("libOpenCL.so.1"))
            FAIL() << "no OpenCL loader: tools/test provides it";
    }
};

TEST_F(VulkanDriver, ReportsAllFactsOfAHealthyGpu) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer = query_devices<visit_vulkan>(pinned_vulkan(fake("vulkan", "gpu")), sink);
        EXPECT_EQ(answer.outcome, Outcome::Answered);
        EXPECT_EQ(sink.phases,
                  (std::vector<std::string>{"dlopen", "instance", "enumerate", "query"}));
        EXPECT_EQ(sink.runtime_facts.at("loader"), Value{"libvulkan.so.1"});
        ASSERT_EQ(sink.devices.size(), 1U);
        const auto& device = sink.devices.front();
        EXPECT_EQ(device.name, "Fake GPU 24G");
        EXPECT_EQ(device.vendor_id, "10de");
        EXPECT_EQ(device.device_id, "2684");
        EXPECT_EQ(device.pci, PciAddress{.bus = 1});
        EXPECT_EQ(device.drm, (DrmNodes{.primary = "226:0", .render = "226:128"}));
        EXPECT_EQ(device.uuid, "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
        EXPECT_EQ(device.type, DeviceType::Discrete);
        EXPECT_EQ(device.memory, (FactMemory{.total = gib(24), .free = gib(23)}));
        EXPECT_EQ(device.extra.at("driver_version"), Value{"580.159.04"});
        EXPECT_EQ(device.extra.at("driver_id"), Value{"nvidia-proprietary"});
        EXPECT_EQ(device.extra.at("api_version"), Value{"1.3.277"});
        EXPECT_EQ(device.extra.at("shader_float16"), Value{true});
        EXPECT_EQ(device.extra.at("storage_buffer_16bit"), Value{true});
        EXPECT_EQ(device.extra.at("async_compute_queue"), Value{true});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(VulkanDriver, StopsAtItsLimitOfDevices) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer =
            query_devices<visit_vulkan>(pinned_vulkan(fake("vulkan", "many")), sink);
        EXPECT_EQ(answer.outcome, Outcome::Answered);
        EXPECT_TRUE(answer.note);
        EXPECT_EQ(sink.devices.size(), std::size_t{kMaxVulkanDevices});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(VulkanDriver, BelievesNoLie) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer =
            query_devices<visit_vulkan>(pinned_vulkan(fake("vulkan", "liar")), sink);
        EXPECT_EQ(answer.outcome, Outcome::Answered);
        ASSERT_EQ(sink.devices.size(), 1U);
        const auto& device = sink.devices.front();
        EXPECT_EQ(device.vendor_id, std::nullopt);
        EXPECT_EQ(device.device_id, std::nullopt);
        EXPECT_EQ(device.pci, std::nullopt);
        EXPECT_EQ(device.drm, std::nullopt);
        EXPECT_EQ(device.uuid, std::nullopt);
        EXPECT_EQ(device.type, std::nullopt);
        EXPECT_EQ(device.memory, FactMemory{});
        EXPECT_TRUE(device.extra.at("luid").is_null());
    });
    EXPECT_EQ(status, 0);
}

TEST_F(VulkanDriver, IsAbsentWhenItOffersNoDevice) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer =
            query_devices<visit_vulkan>(pinned_vulkan(fake("vulkan", "no-device")), sink);
        EXPECT_EQ(answer.outcome, Outcome::Absent);
        EXPECT_EQ(answer.note, "the driver lists no device (VK_ERROR_INITIALIZATION_FAILED)");
    });
    EXPECT_EQ(status, 0);
}

TEST_F(VulkanDriver, IsAbsentWithoutAManifest) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer = query_devices<visit_vulkan>({.api = "vulkan"}, sink);
        EXPECT_EQ(answer.outcome, Outcome::Absent);
        EXPECT_EQ(answer.note, "no ICD manifest");
        EXPECT_FALSE(sink.runtime_facts.at("version").is_null());
    });
    EXPECT_EQ(status, 0);
}

TEST_F(VulkanDriver, KeepsResultsFromBeforeACrash) {
    /// Writes one byte for each device to a pipe.
    struct PipeSink final : Sink {
        explicit PipeSink(int end) : fd{end} {}
        void phase(std::string_view) override {}
        void runtime(const Value&) override {}
        void device(const DeviceFacts&) override { EXPECT_EQ(::write(fd, "d", 1), 1); }
        int fd = -1;
    };
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);
    const UniqueFd reading{ends[0]};
    UniqueFd writing{ends[1]};
    const int status = status_of_child([&] {
        PipeSink sink{writing.get()};
        (void)query_devices<visit_vulkan>(pinned_vulkan(fake("vulkan", "crash-late")), sink);
    });
    writing.reset();
    EXPECT_EQ(WTERMSIG(status), SIGSEGV);
    char buffer[8] = {};
    EXPECT_EQ(::read(reading.get(), buffer, sizeof buffer), 1)
        << "the first device, not the second";
}

TEST_F(VulkanDriver, MayEndTheProcessInItsOwnWays) {
    const auto status_of = [](const char* variant, unsigned seconds) {
        return status_of_child(
            [&] {
                RecordingSink sink;
                (void)query_devices<visit_vulkan>(pinned_vulkan(fake("vulkan", variant)), sink);
                ADD_FAILURE() << "came back";
            },
            seconds);
    };
    EXPECT_EQ(WTERMSIG(status_of("crash", 20)), SIGSEGV);
    EXPECT_EQ(WTERMSIG(status_of("crash-constructor", 20)), SIGSEGV);
    EXPECT_EQ(WTERMSIG(status_of("hang", 1)), SIGALRM);
    EXPECT_EQ(status_of("print-exit", 20), 0) << "looks like success to whoever reads exit codes";
}

/// The running system with NVIDIA's kernel driver.
class WithNvidiaKernelDriver final : public FileSystem {
public:
    Result<std::string> read(std::string_view path, Bytes limit) const override {
        return files_.read(path, limit);
    }
    Result<std::vector<std::string>> list(std::string_view path) const override {
        return files_.list(path);
    }
    Result<std::string> link_target(std::string_view path) const override {
        return files_.link_target(path);
    }
    Result<std::string> real_path(std::string_view path) const override {
        return files_.real_path(path);
    }
    Result<FileStatus> status(std::string_view path) const override {
        return path == "/proc/driver/nvidia" ? Result<FileStatus>{FileStatus{}}
                                             : files_.status(path);
    }

private:
    RootedFiles files_;
};

TEST_F(VulkanDriver, OfNvidiaIsTriedBehindEgl) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto target = pinned_vulkan(fake("vulkan", "nvidia-headless"));
        const auto answer = visit_vulkan_on(WithNvidiaKernelDriver{}, target, sink,
                                            [&](const DeviceFacts& facts, const OpenDevice&) {
                                                sink.device(facts);
                                                return true;
                                            });
        EXPECT_EQ(answer.outcome, Outcome::Answered);
        ASSERT_EQ(answer.reasons.size(), 1U);
        EXPECT_EQ(answer.reasons.front().code, "nvidia-icd-needs-egl");
        EXPECT_EQ(sink.runtime_facts.at("icd"), Value{"egl-fallback"});
        ASSERT_EQ(sink.devices.size(), 1U);
        EXPECT_EQ(sink.devices.front().extra.at("icd"), Value{"egl-fallback"});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(VulkanDriver, OfNvidiaIsAbsentWithoutItsKernelDriver) {
    if (fs::exists("/proc/driver/nvidia"))
        GTEST_SKIP() << "this machine has NVIDIA's kernel driver";
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer =
            query_devices<visit_vulkan>(pinned_vulkan(fake("vulkan", "nvidia-headless")), sink);
        EXPECT_EQ(answer.outcome, Outcome::Absent);
        EXPECT_EQ(answer.note, "the driver lists no device (VK_ERROR_INCOMPATIBLE_DRIVER)");
    });
    EXPECT_EQ(status, 0);
}

TEST_F(VulkanDriver, MayBeSoftware) {
    if (!fs::exists(kLavapipe))
        FAIL() << "no lavapipe: tools/test provides it";
    const int status = status_of_child([] {
        RecordingSink sink;
        EXPECT_EQ(query_devices<visit_vulkan>(pinned_vulkan(kLavapipe), sink).outcome,
                  Outcome::Answered);
        ASSERT_EQ(sink.devices.size(), 1U);
        EXPECT_EQ(sink.devices.front().type, DeviceType::Cpu);
        EXPECT_EQ(sink.devices.front().extra.at("software"), Value{true});
        EXPECT_EQ(sink.devices.front().extra.at("driver_id"), Value{"mesa-llvmpipe"});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(OpenClDriver, ReportsAllFactsOfAHealthyGpu) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer = query_devices<visit_opencl>(pinned_opencl(fake("opencl", "gpu")), sink);
        EXPECT_EQ(answer.outcome, Outcome::Answered);
        EXPECT_EQ(sink.runtime_facts.at("version"), Value{"3.0"});
        ASSERT_EQ(sink.devices.size(), 1U);
        const auto& device = sink.devices.front();
        EXPECT_EQ(device.name, "Fake GPU 24G");
        EXPECT_EQ(device.pci, PciAddress{.bus = 1});
        EXPECT_EQ(device.uuid, "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
        EXPECT_EQ(device.type, DeviceType::Discrete);
        EXPECT_EQ(device.memory->total, gib(24));
        EXPECT_EQ(device.extra.at("compute_capability"), Value{"8.9"});
        EXPECT_EQ(device.extra.at("platform_name"), Value{"Fake OpenCL"});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(OpenClDriver, BelievesNoLie) {
    const int status = status_of_child([] {
        RecordingSink sink;
        EXPECT_EQ(query_devices<visit_opencl>(pinned_opencl(fake("opencl", "liar")), sink).outcome,
                  Outcome::Answered);
        ASSERT_EQ(sink.devices.size(), std::size_t{kMaxOpenClDevices});
        EXPECT_EQ(sink.devices.front().pci, std::nullopt);
        EXPECT_EQ(sink.devices.front().vendor_id, std::nullopt);
    });
    EXPECT_EQ(status, 0);
}

TEST_F(OpenClDriver, IsAbsentWhenItOffersNoDevice) {
    const int status = status_of_child([] {
        RecordingSink sink;
        EXPECT_EQ(
            query_devices<visit_opencl>(pinned_opencl(fake("opencl", "no-device")), sink).outcome,
            Outcome::Absent);
        EXPECT_EQ(sink.runtime_facts.at("version"), Value{"3.0"});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(OpenClDriver, IsAbsentWithoutAPlatform) {
    const int status = status_of_child([] {
        RecordingSink sink;
        const auto answer = query_devices<visit_opencl>(pinned_opencl("/nonexistent/no.icd"), sink);
        EXPECT_EQ(answer.outcome, Outcome::Absent);
        EXPECT_EQ(answer.note, "the driver lists no platform");
    });
    EXPECT_EQ(status, 0);
}

TEST_F(OpenClDriver, IsMissingWhenItsLibraryIs) {
    const int status = status_of_child([] {
        RecordingSink sink;
        auto target = pinned_opencl("/nonexistent/no.icd");
        target.library = "/nonexistent/libdriver.so";
        const auto answer = query_devices<visit_opencl>(target, sink);
        EXPECT_EQ(answer.outcome, Outcome::Absent);
        ASSERT_EQ(answer.reasons.size(), 1U);
        EXPECT_EQ(answer.reasons[0].code, "driver-missing");
        EXPECT_EQ(answer.reasons[0].detail.at("driver"), Value{target.driver});
        EXPECT_EQ(answer.reasons[0].detail.at("library"), Value{*target.library});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(OpenClDriver, MayEndTheProcessInItsOwnWays) {
    const auto status_of = [](const char* variant, unsigned seconds) {
        return status_of_child(
            [&] {
                RecordingSink sink;
                (void)query_devices<visit_opencl>(pinned_opencl(fake("opencl", variant)), sink);
                ADD_FAILURE() << "came back";
            },
            seconds);
    };
    EXPECT_EQ(WTERMSIG(status_of("crash", 20)), SIGSEGV);
    EXPECT_EQ(WTERMSIG(status_of("hang", 1)), SIGALRM);
}

TEST_F(OpenClDriver, MayBeACpu) {
    if (!fs::exists(kPocl))
        FAIL() << "no pocl: tools/test provides it";
    const int status = status_of_child([] {
        ::setenv("OCL_ICD_VENDORS", kPocl, 1);
        RecordingSink sink;
        EXPECT_EQ(query_devices<visit_opencl>({.api = "opencl", .driver = kPocl}, sink).outcome,
                  Outcome::Answered);
        ASSERT_EQ(sink.devices.size(), 1U);
        EXPECT_EQ(sink.devices.front().type, DeviceType::Cpu);
        EXPECT_TRUE(sink.devices.front().memory->total);
        // Debian's loader is ocl-icd.
        EXPECT_EQ(sink.runtime_facts.at("loader_name"), Value{"ocl-icd"});
        EXPECT_FALSE(sink.runtime_facts.at("loader_version").is_null());
    });
    EXPECT_EQ(status, 0);
}

}  // namespace drivers_test
}  // namespace gpuprobe::backends
