// SPDX-License-Identifier: Apache-2.0
#include "calls/methods.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/value.h"
#include "calls/interface.h"

namespace gpuprobe {
namespace methods_test {

/// A machine with one GPU whose only node cannot be opened.
Report closed_gpu() {
    Report report;
    report.gpus.emplace_back();
    report.gpus.back().id = "pci:0000:03:00.0";
    report.gpus.back().nodes.push_back(
        {.path = "/dev/dri/renderD128", .accessible = false, .reason = "no-permission"});
    return report;
}

std::optional<MethodTraits> traits(const char* method, const char* parameters) {
    return traits_of({.method = std::string{"org.gpuprobe."} + method,
                      .parameters = parse_json(parameters, kib(1)).value()},
                     closed_gpu());
}

TEST(TraitsOf, NeedAllThatACallMayNeed) {
    const auto probe = traits("Probe", R"({"allow_wake": true, "force": true})");
    ASSERT_TRUE(probe);
    EXPECT_EQ(probe->needs, (std::vector{Action::AllowWake, Action::MeasureInUse}));
    EXPECT_EQ(probe->needs, probe->may_need);
    const auto identifiers = traits("GetIdentifiers", R"({"gpu": "pci:0000:03:00.0"})");
    ASSERT_TRUE(identifiers);
    EXPECT_EQ(identifiers->needs, std::vector{Action::GetIdentifiers});
    EXPECT_EQ(identifiers->needs, identifiers->may_need);
}

TEST(TraitsOf, NeedNothingForOtherParameters) {
    EXPECT_EQ(traits("Probe", "{}").value().needs, std::vector<Action>{});
    EXPECT_EQ(traits("Probe", R"({"allow_wake": "yes"})").value().needs, std::vector<Action>{});
    EXPECT_EQ(traits("GetIdentifiers", R"({"gpu": "pci:none"})").value().needs,
              std::vector<Action>{});
}

TEST(TraitsOf, AlwaysNeedTheActionsOfTheTable) {
    for (const auto* method : {"SetOverride", "ClearOverride"})
        EXPECT_EQ(traits(method, "{}").value().needs, std::vector{Action::SetOverride}) << method;
    EXPECT_EQ(traits("ClearQuarantine", "{}").value().needs, std::vector{Action::ClearQuarantine});
    EXPECT_EQ(traits("ReportOutcome", "{}").value().needs, std::vector<Action>{});
    EXPECT_FALSE(traits("SetOverrides", "{}"));
}

MethodTypes described(std::string_view name) {
    TypeTable types;
    for (auto& method : methods_of(kInterface, types))
        if (method.name == name)
            return method;
    return {};
}

TEST(MethodsOf, NameTheRecordsAndTheErrors) {
    const auto select = described("Select");
    EXPECT_EQ(select.parameter_record, "SelectParameters");
    EXPECT_EQ(select.result_record, "Decision");
    EXPECT_EQ(select.traits.keeping, Keeping::UntilReport);
    EXPECT_EQ(described("GetMemory").result_record, "LiveMemory");
    EXPECT_EQ(described("GetMemory").errors, std::vector{ErrorCode::UnknownDevice});
}

/// Whether an argument of D-Bus with this signature can hold a parameter of this type.
bool holds(std::string_view signature, const MemberType& type) {
    using Kind = MemberType::Kind;
    switch (type.kind) {
        case Kind::Nullable:
            return holds(signature, type.item.front());
        case Kind::Record:
        case Kind::Json:
            return signature == "a{sv}";
        case Kind::List:
            return signature == "as" || signature == "ao";
        case Kind::Text:
            return signature == "s";
        default:
            return false;
    }
}

// An argument with the name of a parameter is that parameter. One that is a dictionary of all
// parameters must therefore have another name.
TEST(BusForms, ArgumentsHaveTheTypeOfTheirParameter) {
    TypeTable types;
    for (const auto& method : methods_of(kInterface, types))
        for (const auto& form : method.bus)
            for (const auto argument : split(form.in, ' ')) {
                const auto colon = argument.find(':');
                const auto parameter = std::ranges::find(
                    method.parameters, argument.substr(0, colon), &TypedMember::key);
                EXPECT_TRUE(parameter == method.parameters.end() ||
                            holds(argument.substr(colon + 1), parameter->type))
                    << form.member << ": " << argument;
            }
}

}  // namespace methods_test
}  // namespace gpuprobe
