// SPDX-License-Identifier: Apache-2.0
#include "inventory/udev.h"

#include <cstdlib>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuprobe {
namespace udev_test {

using namespace std::chrono_literals;

constexpr const char* kInside = "GPUPROBE_TEST_UNDER_UMOCKDEV";

/// umockdev's test bed: it provides fake devices and events to libudev, in a process with
/// umockdev's preload library. The library is loaded at run time, so that building the tests does
/// not need GLib. Source: umockdev.h of umockdev 0.17.
class TestBed {
public:
    TestBed() : library_{dlopen("libumockdev.so.0", RTLD_NOW)} {
        if (!library_)
            return;
        bed_ = function<void*()>("umockdev_testbed_new")();
    }
    [[nodiscard]] bool works() const { return bed_ != nullptr; }

    std::string add(const char* subsystem,
                    const char* name,
                    std::vector<const char*> properties) const {
        properties.push_back(nullptr);
        const char* no_attributes[] = {nullptr};
        using Add = char*(void*, const char*, const char*, const char*, const char**, const char**);
        return function<Add>("umockdev_testbed_add_devicev")(bed_, subsystem, name, nullptr,
                                                             no_attributes, properties.data());
    }
    void set(const std::string& device, const char* key, const char* value) const {
        using Set = void(void*, const char*, const char*, const char*);
        function<Set>("umockdev_testbed_set_property")(bed_, device.c_str(), key, value);
    }
    void send(const std::string& device, const char* action) const {
        using Send = void(void*, const char*, const char*);
        function<Send>("umockdev_testbed_uevent")(bed_, device.c_str(), action);
    }

private:
    template <class F>
    F* function(const char* name) const {
        return reinterpret_cast<F*>(dlsym(library_, name));
    }

    void* library_ = nullptr;
    void* bed_ = nullptr;  // exists as long as the process
};

/// Runs one test of this program again with umockdev's preload library. Returns the exit status.
int run_under_umockdev(const std::string& test) {
    const auto filter = "--gtest_filter=" + test;
    const pid_t child = fork();
    if (child == 0) {
        setenv(kInside, "1", 1);
        setenv("LD_PRELOAD", "libumockdev-preload.so.0", 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
        execl("/proc/self/exe", "unit_inventory", filter.c_str(), nullptr);
        _exit(127);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class HardwareMonitorTest : public testing::Test {
protected:
    void SetUp() override {
        if (std::getenv(kInside) == nullptr)
            return;
        auto loop = SystemLoop::create();
        ASSERT_TRUE(loop);
        loop_ = std::move(loop).value();
    }
    void listen() {
        auto created = HardwareMonitor::create(*loop_, [this] { ++changes_; });
        ASSERT_TRUE(created) << created.error().text;
        monitor_ = std::move(created).value();
    }
    /// Runs the loop until this number of changes has been reported.
    void wait_for(int count) {
        bool late = false;
        const auto limit = loop_->after(5s, [&late] { late = true; });
        ASSERT_TRUE(loop_->run_until([&] { return late || changes_ >= count; }));
        ASSERT_FALSE(late);
    }
    /// The number of reported changes, after all events so far were handled. A deferred call runs
    /// after these events.
    [[nodiscard]] int changes() {
        bool is_over = false;
        const auto last = loop_->defer([&is_over] { is_over = true; });
        EXPECT_TRUE(loop_->run_until([&] { return is_over; }));
        return changes_;
    }
    static bool is_inside() { return std::getenv(kInside) != nullptr; }
    static bool has_umockdev() { return dlopen("libumockdev.so.0", RTLD_NOW) != nullptr; }

    std::unique_ptr<SystemLoop> loop_ = {};
    int changes_ = 0;
    std::unique_ptr<HardwareMonitor> monitor_ = {};
};

TEST_F(HardwareMonitorTest, HearsOfNewMinorsButNotOfConnectors) {
    if (!has_umockdev())
        GTEST_SKIP() << "libumockdev.so.0 is not installed";
    if (!is_inside()) {
        EXPECT_EQ(run_under_umockdev("HardwareMonitorTest.HearsOfNewMinorsButNotOfConnectors"), 0);
        return;
    }
    const TestBed bed;
    ASSERT_TRUE(bed.works());
    const auto card = bed.add("drm", "card0", {"DEVTYPE", "drm_minor"});
    listen();
    bed.send(card, "add");
    wait_for(1);
    bed.set(card, "HOTPLUG", "1");
    bed.send(card, "change");
    EXPECT_EQ(changes(), 1);
    bed.set(card, "HOTPLUG", "0");
    bed.send(card, "remove");
    wait_for(2);
}

TEST_F(HardwareMonitorTest, HearsOfDriversThatTakeAGpuAndNotOfOtherFunctions) {
    if (!has_umockdev())
        GTEST_SKIP() << "libumockdev.so.0 is not installed";
    if (!is_inside()) {
        EXPECT_EQ(run_under_umockdev("HardwareMonitorTest."
                                     "HearsOfDriversThatTakeAGpuAndNotOfOtherFunctions"),
                  0);
        return;
    }
    const TestBed bed;
    ASSERT_TRUE(bed.works());
    const auto disk = bed.add("pci", "0000:02:00.0", {"PCI_CLASS", "10802"});
    const auto gpu = bed.add("pci", "0000:01:00.0", {"PCI_CLASS", "30000"});
    listen();
    bed.send(disk, "bind");
    EXPECT_EQ(changes(), 0);
    bed.send(gpu, "bind");
    wait_for(1);
}

TEST_F(HardwareMonitorTest, TakesABurstBeforeAnythingElseRuns) {
    if (!has_umockdev())
        GTEST_SKIP() << "libumockdev.so.0 is not installed";
    if (!is_inside()) {
        EXPECT_EQ(run_under_umockdev("HardwareMonitorTest.TakesABurstBeforeAnythingElseRuns"), 0);
        return;
    }
    const TestBed bed;
    ASSERT_TRUE(bed.works());
    const auto card = bed.add("drm", "card0", {"DEVTYPE", "drm_minor"});
    listen();
    constexpr std::size_t kBurst = 8;  // umockdev sends on a socket that queues ten
    for (std::size_t i = 0; i < kBurst; ++i)
        bed.send(card, "change");
    EXPECT_EQ(changes(), 1);
    EXPECT_EQ(changes(), 1) << "one of the burst was left for later";
}

}  // namespace udev_test
}  // namespace gpuprobe
