// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/value.h"
#include "policy/accelerators.h"
#include "policy/gpu_selection.h"
#include "support/places.h"
#include "unit/report/machines.h"

namespace gpuprobe {
namespace openvino_devices_test {

std::string text_of_member(const Value& value, std::string_view member) {
    const auto* text = value.at(member).as_string();
    return text ? *text : std::string{};
}

/// The device of a row, with the kernel driver that Linux binds to it.
HardwareDevice hardware_of(const Value& row, int number) {
    const auto id = text_of_member(row, "id");
    const auto vendor = id.substr(0, 4);
    const auto chip = id.substr(5);
    const auto place = "0000:" + text_of_member(row, "address");
    const auto pci_class = text_of_member(row, "class");
    auto device = test::pci_device(place.c_str(), vendor.c_str(), chip.c_str(), pci_class.c_str());
    if (pci_class == "1200") {
        device.is_accel = true;
        device.driver = "intel_vpu";
        return device;
    }
    test::with_drm(device, number, 128 + number);
    device.driver = vendor == "8086" ? "i915" : "nvidia";
    return device;
}

/// Sets what OpenCL reports about a GPU: `false` for no driver, or the version of the driver.
void set_opencl(const Value& opencl, Gpu& gpu) {
    gpu.backends["opencl"].usable = opencl != Value{false};
    if (const auto* version = opencl.as_string())
        gpu.apis["opencl"] = {.outcome = Outcome::Answered, .version = *version};
}

/// The report of a row's machine. A row that does not mention OpenCL has an OpenCL driver.
Report report_of(const Value& row) {
    Machine machine{.host = test::linux_host()};
    const auto& devices = *row.at("devices").as_array();
    int number = 0;
    for (const auto& device : devices)
        machine.devices.push_back(hardware_of(device, number++));
    auto report = assemble(machine, {}, {});
    for (const auto& device : devices)
        for (auto& gpu : report.gpus)
            if (gpu.id == "pci:0000:" + text_of_member(device, "address"))
                set_opencl(device.at("opencl"), gpu);
    return report;
}

Profile openvino_profile() {
    Profile profile;
    profile.backends = {"openvino", "cpu"};
    profile.bundles = {"openvino"};
    return profile;
}

/// gpuprobe's name of the device at that address; null if it has none.
Value name_of(const Report& report, const std::string& address) {
    const auto profile = openvino_profile();
    const SelectionMachine machine{profile, report};
    for (const auto& gpu : machine.report().gpus)
        if (gpu.id == "pci:0000:" + address) {
            const auto name =
                selector_fact("openvino_devices", {.report = machine.report(), .gpus = {&gpu}});
            return name ? Value{*name} : Value{};
        }
    return Value{};
}

const Value& logs() {
    static const Value document =
        parse_json(
            RootedFiles{}
                .read(GPUPROBE_SOURCE_DIR "/tests/data/openvino/available_devices.json", mib(1))
                .value(),
            mib(1))
            .value();
    return document.at("logs");
}

TEST(OpenvinoDevices, HaveTheNamesInPublicLogs) {
    ASSERT_GE(logs().as_array()->size(), 30U);
    for (const auto& row : *logs().as_array()) {
        const auto report = report_of(row);
        std::vector<std::string> names;
        // OpenVINO lists GPUs of other vendors too, but cannot use them, so they have no name here.
        if (const auto* other = row.at("other_vendor").as_string())
            names.push_back(*other);
        for (const auto& device : *row.at("devices").as_array()) {
            const auto name = name_of(report, text_of_member(device, "address"));
            if (device.find("name")) {
                EXPECT_EQ(name, device.at("name")) << text_of_member(row, "thread");
            }
            if (const auto* text = name.as_string())
                names.push_back(*text);
        }
        std::ranges::sort(names);
        EXPECT_EQ(to_value(names), row.at("names")) << text_of_member(row, "thread");
    }
}

/// A machine with an integrated GPU and two discrete GPUs, in the order of the parameter.
Report three_gpus(std::optional<std::uint32_t> first, std::optional<std::uint32_t> second) {
    Machine machine{.host = test::linux_host()};
    machine.devices = {test::pci_device("0000:00:02.0", "8086", "4680", "0300"),
                       test::pci_device("0000:03:00.0", "8086", "56a0", "0300"),
                       test::pci_device("0000:07:00.0", "8086", "56a0", "0300")};
    auto report = assemble(machine, {}, {});
    for (auto& gpu : report.gpus) {
        gpu.backends["opencl"].usable = true;
        auto& view = gpu.apis["opencl"];
        view = {.outcome = Outcome::Answered, .joined_by = "pci"};
        view.device["name"] = "Intel";
        if (gpu.id == "pci:0000:03:00.0")
            view.index = first;
        if (gpu.id == "pci:0000:07:00.0")
            view.index = second;
    }
    return report;
}

TEST(OpenvinoDevices, OfOneKindAreInTheOrderOfOpenCl) {
    const auto report = three_gpus(1, 0);
    EXPECT_EQ(name_of(report, "00:02.0"), Value{"GPU.0"});
    EXPECT_EQ(name_of(report, "03:00.0"), Value{"GPU.2"});
    EXPECT_EQ(name_of(report, "07:00.0"), Value{"GPU.1"});
}

TEST(OpenvinoDevices, OfOneKindHaveNoNameIfTheOrderOfOpenClIsUnknown) {
    const auto report = three_gpus(1, std::nullopt);
    EXPECT_EQ(name_of(report, "00:02.0"), Value{"GPU.0"});
    EXPECT_EQ(name_of(report, "03:00.0"), Value{});
}

TEST(OpenvinoDevices, AreNumberedIfAnotherVendorsGpuMayBeListed) {
    Machine machine{.host = test::linux_host()};
    machine.devices = {test::pci_device("0000:00:02.0", "8086", "4680", "0300"),
                       test::pci_device("0000:01:00.0", "10de", "2684", "0300")};
    auto report = assemble(machine, {}, {});
    const auto set_opencl = [&report](std::string_view vendor, std::optional<bool> usable) {
        for (auto& gpu : report.gpus)
            if (gpu.vendor == vendor)
                gpu.backends["opencl"].usable = usable;
    };
    set_opencl("intel", true);
    set_opencl("nvidia", std::nullopt);
    EXPECT_EQ(name_of(report, "00:02.0"), Value{"GPU.0"});
    set_opencl("nvidia", true);
    EXPECT_EQ(name_of(report, "00:02.0"), Value{"GPU.0"});
    EXPECT_EQ(name_of(report, "01:00.0"), Value{});
    set_opencl("nvidia", false);
    EXPECT_EQ(name_of(report, "00:02.0"), Value{"GPU"});
    set_opencl("intel", std::nullopt);
    EXPECT_EQ(name_of(report, "00:02.0"), Value{});
}

}  // namespace openvino_devices_test
}  // namespace gpuprobe
