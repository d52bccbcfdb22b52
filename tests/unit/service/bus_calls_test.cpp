// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "service/bus_objects.h"

namespace gpuprobe {
namespace bus_calls_test {

/// "Plan(request a{sv}, model s) -> json s"
std::string spelled(const bus::BusMethod& method) {
    const auto list = [](const std::vector<bus::BusArgument>& arguments) {
        std::string text;
        for (const auto& argument : arguments)
            text += (text.empty() ? "" : ", ") + argument.name + " " + argument.signature;
        return text;
    };
    return method.name + "(" + list(method.in) + ") -> " + list(method.out);
}

std::string method_called(std::string_view name, bool is_of_gpu) {
    const auto methods = bus_methods_of(is_of_gpu);
    const auto found = std::ranges::find(methods, name, &bus::BusMethod::name);
    return found == methods.end() ? "" : spelled(*found);
}

TEST(BusMethodsOf, HasTheArgumentsOfEachMethod) {
    EXPECT_EQ(method_called("Plan", false), "Plan(request a{sv}, model s) -> json s");
    EXPECT_EQ(method_called("DescribeFd", false), "DescribeFd() -> json h");
    EXPECT_EQ(method_called("ReportOutcome", false), "ReportOutcome(report a{sv}) -> ");
    EXPECT_EQ(method_called("Probe", false),
              "Probe(gpus ao, apis as, options a{sv}) -> answer a{sv}");
}

TEST(BusMethodsOf, TellsMethodsOfGpusFromThoseOfTheManager) {
    EXPECT_EQ(method_called("GetMemory", true), "GetMemory(options a{sv}) -> answer a{sv}");
    EXPECT_EQ(method_called("GetMemory", false), "");
    EXPECT_EQ(method_called("Plan", true), "");
    EXPECT_EQ(method_called("Describe", true), "Describe() -> json s");
    EXPECT_EQ(method_called("Describe", false), "Describe() -> json s");
}

}  // namespace bus_calls_test
}  // namespace gpuprobe
