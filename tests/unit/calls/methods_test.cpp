// SPDX-License-Identifier: Apache-2.0
#include "calls/methods.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/value.h"
#include "support/served_machine.h"

namespace gpuprobe {
namespace methods_test {

using support::HandLoop;
using support::ServedMachine;

// The form on D-Bus
// --------------------------------------------------------------------------------

std::string contents_of(const std::string& file) {
    std::ifstream stream{file};
    EXPECT_TRUE(stream) << file;
    return {std::istreambuf_iterator<char>{stream}, {}};
}

/// The value of an attribute in the first tag of an XML text.
std::string attribute(std::string_view text, std::string_view name) {
    const auto tag = text.substr(0, text.find('>'));
    const auto start = tag.find(" " + std::string{name} + "=\"");
    if (start == std::string_view::npos)
        return "";
    const auto value = tag.substr(start + name.size() + 3);
    return std::string{value.substr(0, value.find('"'))};
}

/// The methods in the XML of an interface: "Plan(request:a{sv} model:s) json:s".
std::set<std::string> methods_in_xml(const std::string& name) {
    const auto xml =
        contents_of(GPUPROBE_SOURCE_DIR "/dbus/org.gpuprobe.GpuProbe1." + name + ".xml");
    std::set<std::string> methods;
    for (auto at = xml.find("<method "); at != std::string::npos;
         at = xml.find("<method ", at + 1)) {
        const std::string_view method =
            std::string_view{xml}.substr(at, xml.find("</method>", at) - at);
        std::string in;
        std::string out;
        for (auto arg = method.find("<arg "); arg != std::string_view::npos;
             arg = method.find("<arg ", arg + 1)) {
            const auto text = method.substr(arg);
            auto& list = attribute(text, "direction") == "in" ? in : out;
            list +=
                (list.empty() ? "" : " ") + attribute(text, "name") + ":" + attribute(text, "type");
        }
        methods.insert(attribute(method, "name") + "(" + in + ") " + out);
    }
    return methods;
}

std::set<std::string> methods_in_table(bool is_of_gpu) {
    std::set<std::string> methods;
    for (const auto& row : bus_methods())
        if (row.form.is_of_gpu == is_of_gpu)
            methods.insert(std::string{row.form.member} + "(" + std::string{row.form.in} + ") " +
                           std::string{row.form.out});
    return methods;
}

TEST(BusMethods, AreThoseOfTheDocumentedInterfaces) {
    EXPECT_EQ(methods_in_table(false), methods_in_xml("Manager"));
    EXPECT_EQ(methods_in_table(true), methods_in_xml("Gpu"));
    EXPECT_GT(methods_in_table(false).size(), 10U);
}

/// The name and the D-Bus type in "request:a{sv}".
std::pair<std::string_view, std::string_view> argument(std::string_view spelling) {
    const auto colon = spelling.find(':');
    return {spelling.substr(0, colon), spelling.substr(colon + 1)};
}

std::vector<std::string_view> words_of(std::string_view text) {
    return text.empty() ? std::vector<std::string_view>{} : split(text, ' ');
}

bool has(const std::vector<TypedMember>& members, std::string_view key) {
    return std::ranges::find(members, key, &TypedMember::key) != members.end();
}

/// Whether an argument of this D-Bus type can be used for a parameter of the given type.
bool suits(std::string_view bus_type, const MemberType& type) {
    using Kind = MemberType::Kind;
    if (type.kind == Kind::Nullable)
        return suits(bus_type, type.item.front());
    return (bus_type == "s" && type.kind == Kind::Text) ||
           ((bus_type == "as" || bus_type == "ao") && type.kind == Kind::List) ||
           (bus_type == "a{sv}" && (type.kind == Kind::Json || type.kind == Kind::Record));
}

/// An argument that is a dictionary of parameters must not have the name of a parameter.
TEST(BusMethods, HaveArgumentsOfTheTypesOfTheirParameters) {
    for (const auto& row : bus_methods()) {
        TypeTable types;
        const auto parameters = row.parameters(types);
        for (const auto word : words_of(row.form.in)) {
            const auto [name, type] = argument(word);
            const auto parameter = std::ranges::find(parameters, name, &TypedMember::key);
            if (parameter != parameters.end()) {
                EXPECT_TRUE(suits(type, parameter->type)) << row.form.member << " " << word;
            }
        }
    }
}

/// A method must be usable with only its row, so everything to which the row refers must exist.
TEST(BusMethods, HaveArgumentsThatTheirTypesHave) {
    for (const auto& row : bus_methods()) {
        TypeTable types;
        const auto parameters = row.parameters(types);
        const auto result = row.result(types);
        for (const auto word : words_of(row.form.in)) {
            const auto [name, type] = argument(word);
            EXPECT_TRUE(has(parameters, name) || type == "a{sv}") << row.form.member << " " << word;
        }
        for (const auto word : words_of(row.form.out)) {
            const auto [name, type] = argument(word);
            const bool is_whole = (name == "answer" && type == "a{sv}") ||
                                  (name == "json" && (type == "s" || type == "h"));
            EXPECT_TRUE(is_whole || has(result, name)) << row.form.member << " " << word;
        }
        for (const auto& words : {row.form.optional, row.form.explained})
            for (const auto word : words_of(words))
                EXPECT_TRUE(has(result, word)) << row.form.member << " " << word;
        if (row.form.is_of_gpu) {
            EXPECT_TRUE(has(parameters, "gpu")) << row.form.member;
        }
        if (row.keeping != Keeping::Never) {
            EXPECT_NE(row.form.out, "") << row.form.member << ": nothing to keep";
        }
    }
}

// Traits
// -------------------------------------------------------------------------------------------

/// A GPU that the caller of a method may or may not open.
Report one_gpu(bool is_accessible) {
    Gpu gpu{.id = "pci:0000:06:00.0"};
    gpu.nodes = {{.path = "/dev/nvidia0", .accessible = is_accessible}};
    return {.gpus = {gpu}};
}

MethodCall call_of(const std::string& method, const char* parameters = "{}") {
    return {.method = "org.gpuprobe." + method,
            .parameters = parse_json(parameters, kib(1)).value()};
}

std::vector<Action> needs_of_call(const std::string& method,
                                  const char* parameters = "{}",
                                  bool is_accessible = true) {
    const auto traits = traits_of(call_of(method, parameters), one_gpu(is_accessible));
    EXPECT_TRUE(traits) << method;
    return traits.value_or(MethodTraits{}).needs;
}

TEST(TraitsOf, HasTheActionsThatTheTableNames) {
    EXPECT_EQ(needs_of_call("SetOverride"), std::vector{Action::SetOverride});
    EXPECT_EQ(needs_of_call("ClearOverride"), std::vector{Action::SetOverride});
    EXPECT_EQ(needs_of_call("ClearQuarantine"), std::vector{Action::ClearQuarantine});
    EXPECT_EQ(needs_of_call("ReportOutcome"), std::vector<Action>{});
    EXPECT_EQ(needs_of_call("Select"), std::vector<Action>{});
}

TEST(TraitsOf, HasTheActionsOfTheProbeThatIsRequested) {
    EXPECT_EQ(needs_of_call("Probe"), std::vector<Action>{});
    EXPECT_EQ(needs_of_call("Probe", R"({"allow_wake":true})"), std::vector{Action::AllowWake});
    EXPECT_EQ(needs_of_call("Probe", R"({"allow_wake":true,"force":true})"),
              (std::vector{Action::AllowWake, Action::MeasureInUse}));
    EXPECT_EQ(needs_of_call("Probe", R"({"allow_wake":"yes"})"), std::vector<Action>{})
        << "the call is refused for everybody";
}

TEST(TraitsOf, HasAnActionForTheIdentifiersOfAClosedGpuOnly) {
    constexpr const char* kGpu = R"({"gpu":"pci:0000:06:00.0"})";
    EXPECT_EQ(needs_of_call("GetIdentifiers", kGpu, true), std::vector<Action>{});
    EXPECT_EQ(needs_of_call("GetIdentifiers", kGpu, false), std::vector{Action::GetIdentifiers});
    EXPECT_EQ(needs_of_call("GetIdentifiers", R"({"gpu":"0000:06:00.0"})", false),
              std::vector{Action::GetIdentifiers})
        << "however it is spelled";
    EXPECT_EQ(needs_of_call("GetIdentifiers", R"({"gpu":"pci:none"})", false),
              std::vector<Action>{});
}

TEST(TraitsOf, KnowsNoOtherMethods) {
    for (const char* method : {"SetOverrides", "Set", "", "Select.x"})
        EXPECT_FALSE(traits_of(call_of(method), {})) << method;
    EXPECT_FALSE(traits_of({.method = "Select"}, {}));
    EXPECT_TRUE(traits_of({.method = "org.varlink.service.GetInfo"}, {}));
}

/// A cached answer is sent without checking permission again.
TEST(TraitsOf, KeepsNoAnswerThatNeedsPermission) {
    TypeTable types;
    for (const auto& method : methods_of(kInterface, types)) {
        const auto traits = traits_of(call_of(std::string{method.name}), one_gpu(false));
        ASSERT_TRUE(traits) << method.name;
        if (!traits->needs.empty()) {
            EXPECT_EQ(traits->keeping, Keeping::Never) << method.name;
        }
    }
    EXPECT_EQ(traits_of(call_of("GetIdentifiers"), {})->keeping, Keeping::Never);
    EXPECT_EQ(traits_of(call_of("Probe"), {})->keeping, Keeping::Never);
}

// Answers
// ------------------------------------------------------------------------------------------

class AnswerTest : public ::testing::Test {
protected:
    /// Returns the answer to a call, which must be the only answer.
    MethodAnswer answer_to(const MethodCall& call) {
        static const std::vector<Finding> no_findings;
        std::vector<MethodAnswer> answers;
        answer(
            call,
            {.engine = *machine.engine,
             .files = *machine.files,
             .seen = machine.engine->report(),
             .seen_json = [this]() -> const std::string& { return machine.engine->report_json(); },
             .findings = []() -> const std::vector<Finding>& { return no_findings; }},
            [&answers](const MethodAnswer& one) { answers.push_back(one); });
        EXPECT_EQ(answers.size(), 1U) << call.method;
        return answers.empty() ? MethodAnswer{} : answers.back();
    }
    /// The same call as D-Bus sends it.
    MethodAnswer value_of(const std::string& method, const char* parameters) {
        auto call = call_of(method, parameters);
        call.always_explains = false;
        call.wants_value = true;
        return answer_to(call);
    }

    HandLoop loop = {};
    ServedMachine machine{loop};
};

TEST_F(AnswerTest, IsATextOrAValue) {
    const auto call = call_of("ListApplications");
    const auto text = answer_to(call);
    const auto value = value_of("ListApplications", "{}");
    EXPECT_TRUE(text.value.is_null());
    EXPECT_EQ(json_line(value.value), text.document);
}

TEST_F(AnswerTest, HasWordsUnlessTheCallerFindsThemItself) {
    auto call = call_of("Query", R"({"terms":["driver>=9999"]})");
    EXPECT_NE(answer_to(call).document.find(R"("text":")"), std::string::npos);
    call.wants_words = false;
    EXPECT_EQ(answer_to(call).document.find(R"("text":")"), std::string::npos);
}

TEST_F(AnswerTest, IsNoMatchWithTheCandidates) {
    const auto no_match = answer_to(call_of("Select", R"({"request":{"only":["sycl"]}})"));
    EXPECT_EQ(no_match.error, "org.gpuprobe.NoMatch");
    EXPECT_NE(no_match.document.find(R"("candidates":[{)"), std::string::npos);
    EXPECT_TRUE(no_match.message.starts_with("nothing on this machine satisfies 'default'"))
        << no_match.message;
}

/// A D-Bus error has no members, so a caller who wants the candidates gets an answer.
TEST_F(AnswerTest, IsADecisionWithoutABackendIfDBusAsksForTheCandidates) {
    EXPECT_EQ(value_of("Select", R"({"request":{"only":["sycl"]}})").error, "org.gpuprobe.NoMatch");
    const auto decision = value_of("Select", R"({"request":{"only":["sycl"],"explain":true}})");
    EXPECT_EQ(decision.error, "");
    EXPECT_EQ(decision.value.at("backend"), Value{""});
    EXPECT_FALSE(decision.value.at("candidates").as_array()->empty());
}

TEST_F(AnswerTest, NamesTheParameterAtFault) {
    const auto wrong = answer_to(call_of("Probe", R"({"stage":1})"));
    EXPECT_EQ(wrong.error, "org.varlink.service.InvalidParameter");
    EXPECT_EQ(wrong.document,
              R"({"parameter":"stage","message":"stage: expected string, found integer"})");
    EXPECT_EQ(wrong.message, "stage: expected string, found integer");
    const auto unknown = answer_to(call_of("Select", R"({"aplication":"torch"})"));
    EXPECT_EQ(unknown.message, "aplication: unknown member; did you mean 'application'?");
    EXPECT_EQ(unknown.document,
              R"({"parameter":"aplication","message":")" + unknown.message + R"("})");
    EXPECT_EQ(answer_to(call_of("Describe", R"({"a":1})")).message, "a: unknown member");
}

/// The parameter of Plan is in bytes, and the key of its request is in MiB.
TEST_F(AnswerTest, SuggestsTheNameThatTheSizeOfAPlanHasHere) {
    EXPECT_EQ(answer_to(call_of("Plan", R"({"request":{"need":8}})")).message,
              "request: need: unknown key; did you mean 'need-mib'?");
    EXPECT_EQ(answer_to(call_of("Plan", R"({"need-mib":8})")).message,
              "need-mib: unknown member; did you mean 'need'?");
}

TEST_F(AnswerTest, NamesTheMethodOrTheInterfaceThatIsUnknown) {
    const auto method = answer_to(call_of("Selekt"));
    EXPECT_EQ(method.error, "org.varlink.service.MethodNotFound");
    EXPECT_EQ(method.message, "no method 'Selekt'; did you mean 'Select'?");
    EXPECT_EQ(method.document,
              R"({"method":"org.gpuprobe.Selekt","message":")" + method.message + R"("})");
    const auto other = answer_to({.method = "org.example.Select"});
    EXPECT_EQ(other.error, "org.varlink.service.InterfaceNotFound");
    EXPECT_TRUE(other.document.starts_with(R"({"interface":"org.example","message":"no interface)"))
        << other.document;
}

TEST_F(AnswerTest, HoldsIdentifiersByTheirNames) {
    const auto list = value_of("GetIdentifiers", R"({"gpu":"pci:0000:00:06.0"})");
    const auto& identifiers = list.value.at("identifiers");
    EXPECT_EQ(identifiers.at("nvidia_uuid"), Value{"GPU-00000000-0000-4000-8000-000000000001"});
    EXPECT_EQ(identifiers.find("drm"), nullptr) << "numbers of nodes identify no GPU elsewhere";
    EXPECT_EQ(identifiers.find("luid"), nullptr) << "which is not known";
}

TEST_F(AnswerTest, HoldsTheMemoryOfAPartitionThatIsNamedNextToItsGpu) {
    const auto refused = value_of("GetMemory", R"({"gpu":"pci:0000:00:06.0","partition":"mig-1"})");
    EXPECT_EQ(refused.error, "org.gpuprobe.NoSuchGpu");
    const auto memory = value_of("GetMemory", R"({"gpu":"pci:0000:00:06.0"})");
    EXPECT_EQ(memory.value.at("kind"), Value{"dedicated"});
    EXPECT_EQ(memory.value.at("source"), Value{"report"});
}

// Descriptions
// -------------------------------------------------------------------------------------

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

}  // namespace methods_test
}  // namespace gpuprobe
