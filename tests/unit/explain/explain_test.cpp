// SPDX-License-Identifier: Apache-2.0
#include "explain/explain.h"

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/process.h"
#include "explain/doctor.h"
#include "explain/wording_table.h"
#include "knowledge/library.h"
#include "policy/causes.h"
#include "policy/fact.h"

namespace gpuprobe {
namespace explain_test {

Value detail(Value::Object members) {
    return Value{std::move(members)};
}

TEST(Wording, FillsPlaceholders) {
    EXPECT_EQ(filled("no {a} for {b}", detail({{"a", "permission"}, {"b", 3}})),
              "no permission for 3");
    EXPECT_EQ(filled("{need:size}", detail({{"need", 8589934592LL}})), "8.0 GiB");
    EXPECT_EQ(filled("{node:number}", detail({{"node", "/dev/nvidia12"}})), "12");
    EXPECT_EQ(filled("{t:time}", detail({{"t", 1'700'000'040'000'000LL}})), "2023-11-14 22:14 UTC");
    EXPECT_EQ(filled("{list}", detail({{"list", Value::Array{Value{"a"}, Value{"b"}}}})), "a, b");
}

TEST(Wording, LeavesOptionalPartsOutWhenSomethingInThemIsUnknown) {
    EXPECT_EQ(filled("too old[: {have}, needs {need}]", detail({{"have", "1"}, {"need", "2"}})),
              "too old: 1, needs 2");
    EXPECT_EQ(filled("too old[: {have}, needs {need}]", detail({{"have", "1"}})), "too old");
    EXPECT_EQ(filled("too old[: {have}]", detail({{"have", Value{}}})), "too old");
    EXPECT_EQ(filled("for {node}", Value{}), "for ?");
}

TEST(Wording, TakesTheFirstAlternativeThatIsKnown) {
    constexpr auto kPattern = "[not {a}|not {b}|no]body";
    EXPECT_EQ(filled(kPattern, detail({{"a", 1}, {"b", 2}})), "not 1body");
    EXPECT_EQ(filled(kPattern, detail({{"b", 2}})), "not 2body");
    EXPECT_EQ(filled(kPattern, detail({})), "nobody");
    EXPECT_EQ(filled("a | b[{c}|{d}]", detail({})), "a | b");
}

TEST(Wording, UsesTheKnownFactsOfAnotherVendor) {
    const auto sentence = [](Value::Object members) {
        return explained(because("vendor-mismatch", std::move(members))).text;
    };
    EXPECT_EQ(sentence({{"vendor", "amd"}, {"needs", "nvidia"}}), "works only on NVIDIA GPUs");
    EXPECT_EQ(sentence({{"have", "amd"}, {"want", "nvidia"}}), "does not work on AMD GPUs");
    EXPECT_EQ(sentence({}), "not for GPUs from this vendor");
}

TEST(Wording, SurvivesPatternsThatAreCut) {
    const std::string pattern = "a [b {c:size} d|{e}] e {f}";
    for (std::size_t end = 0; end <= pattern.size(); ++end)
        (void)filled(pattern.substr(0, end), detail({{"c", 1}, {"f", 2}}));
}

TEST(Wording, TakesTheFixOfACauseThatRestsOnTheReason) {
    const auto stuck = usual_fix({.code = "worker-stuck"});
    ASSERT_TRUE(stuck);
    EXPECT_EQ(explained({.code = "worker-stuck"}).fix, stuck->text);
    EXPECT_FALSE(usual_fix({.code = "not-listed"})) << "no cause rests on it";
    const Reason missing{.code = "node-missing", .detail = detail({{"node", "/dev/nvidia0"}})};
    EXPECT_EQ(usual_fix(missing).value_or(Fix{}).text, "sudo nvidia-modprobe -c0");
    EXPECT_EQ(explained(missing).commands, std::vector<std::string>{"sudo nvidia-modprobe -c0"});
    auto inside = missing;
    inside.detail["container"] = "docker";
    EXPECT_NE(usual_fix(inside).value_or(Fix{}).text.find("start the container"),
              std::string::npos);
    knowledge::forget_tables();
    EXPECT_EQ(usual_fix(missing).value_or(Fix{}).text, "sudo nvidia-modprobe -c0");
}

TEST(Wording, NamesTheCommandOfItsFix) {
    const auto why = explained({.code = "not-verified"});
    EXPECT_EQ(why.fix, "verify the results: gpuprobectl probe --stage=verify");
    EXPECT_EQ(why.commands, std::vector<std::string>{"gpuprobectl probe --stage=verify"});
    EXPECT_EQ(explained({.code = "rules-too-old"}).commands, std::vector<std::string>{});
}

TEST(Wording, OfACauseIsNotThatOfItsReasonAgain) {
    for (const auto& cause : Causes::current().all()) {
        const auto sentence = sentence_of(cause.id);
        EXPECT_TRUE(cause.of == kOfAReason || cause.text || !sentence.empty()) << cause.id;
        EXPECT_NE(cause.text.value_or("-"), sentence) << cause.id << ": the reason says it";
        const auto own = cause.text ? *cause.text : std::string{sentence};
        for (const auto& remedy : cause.fixes)
            EXPECT_NE(remedy.text, own) << cause.id;
    }
}

/// A machine with two GPUs, each of which has a different problem.
Report container_report() {
    Report report{
        .gpus = {Gpu{.id = "pci:1", .vendor = "nvidia"}, Gpu{.id = "pci:2", .vendor = "amd"}}};
    report.host.container = "docker";
    report.gpus[0].findings = {because("uvm-missing", {{"node", "/dev/nvidia-uvm"}})};
    report.gpus[1].findings = {
        because("no-permission", {{"node", "/dev/dri/renderD128"}, {"group", "993"}})};
    for (const auto* api : {"vulkan", "opencl"})
        report.gpus[1].apis[api] = {.outcome = Outcome::Absent,
                                    .reasons = {because("loader-missing")}};
    return report;
}

TEST(Wording, TakesTheFixThatTheDoctorHasForThisPlace) {
    const auto findings = examine(container_report(), {});
    const auto fix = [&](const char* gpu, const char* backend, const Reason& reason) {
        const Candidate candidate{.backend = backend, .gpu = gpu, .reasons = {reason}};
        const auto fixes = explained(candidate, {.findings = &findings}).fixes;
        return fixes.empty() ? "" : fixes.front();
    };
    const auto closed =
        because("no-permission", {{"node", "/dev/dri/renderD128"}, {"group", "993"}});
    EXPECT_NE(fix("pci:2", "vulkan", closed).find("docker run --group-add"), std::string::npos);
    EXPECT_EQ(fix("pci:1", "vulkan", closed), "") << "that node is not this GPU's";
    const auto without_uvm = because("uvm-missing", {{"node", "/dev/nvidia-uvm"}});
    EXPECT_NE(fix("pci:1", "cuda", without_uvm).find("--gpus all"), std::string::npos);
    EXPECT_NE(fix("pci:2", "vulkan", because("loader-missing")).find("Vulkan"), std::string::npos);
    EXPECT_NE(fix("pci:2", "opencl", because("loader-missing")).find("OpenCL"), std::string::npos);
    EXPECT_EQ(fix("pci:2", "vulkan", because("not-probed")),
              "probe the drivers: gpuprobectl probe");
}

/// Reasons of candidates have causes that the doctor never finds.
TEST(Wording, TakesTheFixOfAReasonThatFitsThePlace) {
    const std::vector<Finding> none;
    const auto fix = [&none](const Host& host, const Reason& reason, bool is_root = false) {
        const Report machine{.host = host};
        return explained(reason, {.findings = &none, .machine = &machine, .is_root = is_root})
            .fix.value_or("");
    };
    const auto old = because("driver-too-old", {{"have", "535.54"}, {"need", "580"}});
    EXPECT_EQ(fix({}, old), "update the GPU's driver to 580 or later");
    EXPECT_EQ(fix({.container = "podman"}, old),
              "on the host, update the GPU's driver to 580 or later");
    EXPECT_EQ(fix({.wsl = true}, old), "in Windows, update the GPU's driver to 580 or later");
    EXPECT_EQ(explained(old).fix, "update the GPU's driver to 580 or later") << "nowhere known";
    const auto lost = because("device-lost");
    EXPECT_EQ(fix({}, lost), "find the cause in the kernel log: sudo dmesg");
    EXPECT_EQ(fix({}, lost, true), "find the cause in the kernel log: dmesg");
    const auto library = because("library-missing", {{"missing", "libcudart.so.13"}});
    EXPECT_NE(fix({.sandbox = "flatpak"}, library).find("use a build that includes"),
              std::string::npos);
    EXPECT_NE(fix({.container = "docker"}, library).find("in the container image"),
              std::string::npos);
}

/// The fix of a cause can come from another cause, whose node the reason does not mention.
TEST(Wording, UsesTheFixOfTheReasonThatReplacesIt) {
    Report report{.gpus = {Gpu{.id = "pci:1", .vendor = "amd", .driver = {.name = "amdgpu"}}}};
    report.gpus[0].nodes = {{.path = "/dev/dri/renderD128", .accessible = true}};
    report.gpus[0].apis["hip"] = {.outcome = Outcome::Answered,
                                  .reasons = {because("inconclusive")}};
    report.host.container = "docker";
    const auto findings = examine(report, {});
    const auto fix = [&findings](const char* api) {
        return explained(because("inconclusive"),
                         {.findings = &findings, .gpu = "pci:1", .api = api})
            .fix.value_or("");
    };
    EXPECT_NE(fix("hip").find("--device /dev/kfd"), std::string::npos);
    EXPECT_EQ(fix("vulkan"), "");
}

/// If the doctor left out a finding because another finding explains it, "update the driver" would
/// not help.
TEST(Wording, HasNoFixIfTheDoctorHasAnotherExplanation) {
    auto report = container_report();
    report.gpus[0].apis["cuda"] = {.outcome = Outcome::Failed,
                                   .reasons = {because("driver-failed")}};
    const auto findings = examine(report, {});
    const ReasonPlace place{.findings = &findings, .gpu = "pci:1", .api = "cuda"};
    EXPECT_EQ(explained(because("driver-failed"), place).fix, std::nullopt);
    EXPECT_NE(explained(because("driver-failed")).fix, std::nullopt);
}

TEST(Wording, TakesNoFixWhereSeveralCouldBeMeant) {
    const auto findings = examine(container_report(), {});
    EXPECT_EQ(explained(because("loader-missing"), {.findings = &findings, .gpu = "pci:2"}).fix,
              std::nullopt);
    const auto unused = [&](const Reason& reason) {
        return explained(because("gpu-unused",
                                 {{"gpu", "pci:2"}, {"reasons", to_value(std::vector{reason})}}),
                         {.findings = &findings})
            .fix.value_or("");
    };
    EXPECT_EQ(unused(because("loader-missing")), "");
    EXPECT_NE(unused(because("no-permission", {{"node", "/dev/dri/renderD128"}}))
                  .find("docker run --group-add"),
              std::string::npos);
}

TEST(Wording, ExplainsAPermissionWithItsFix) {
    const auto explanation = explained(
        {.code = "no-permission", .detail = detail({{"node", "/dev/kfd"}, {"group", "render"}})});
    EXPECT_EQ(explanation.text, "no permission to open /dev/kfd (group render)");
    EXPECT_EQ(
        explanation.fix,
        "add your account to the group, then log in again: sudo usermod -aG render \"$USER\"");
    EXPECT_EQ(explained({.code = "no-permission", .detail = detail({{"node", "/dev/kfd"}})}).fix,
              "assign the node to the group render with a udev rule, as systemd's own rules do; to "
              "show the node's properties: udevadm info /dev/kfd");
}

TEST(Wording, ReportsNestedReasonsWithTheirFixes) {
    const Reason closed{.code = "no-permission",
                        .detail = detail({{"node", "/dev/kfd"}, {"group", "render"}})};
    const auto unused = [](Value reasons) {
        return explained({.code = "gpu-unused",
                          .detail = detail({{"gpu", "pci:0000:01:00.0"}, {"reasons", reasons}})});
    };
    const auto with_reasons = unused(to_value(std::vector{closed}));
    EXPECT_EQ(with_reasons.text, "pci:0000:01:00.0 will not be used: " + explained(closed).text);
    EXPECT_EQ(with_reasons.fix, explained(closed).fix);
    const auto without_reasons = unused(Value{});
    EXPECT_EQ(without_reasons.text,
              "pci:0000:01:00.0 will not be used: no backend or variant supports this GPU");
    EXPECT_EQ(without_reasons.fix, std::nullopt);
    EXPECT_EQ(unused(Value{"no list"}).text, without_reasons.text);
}

TEST(Wording, NamesTheBackendThatDoesNotWorkWithItsReasons) {
    const std::vector reasons{because("mig-without-instance")};
    EXPECT_EQ(
        explained(because("not-usable", {{"backend", "cuda"}, {"reasons", to_value(reasons)}}))
            .text,
        "cuda does not work on this GPU: MIG mode is enabled, but no MIG instance is visible "
        "here");
    EXPECT_EQ(explained(because("not-usable")).text, "the backend does not work on this GPU");
}

TEST(Wording, NamesTheClosestVariantWithItsReasons) {
    const std::vector reasons{because("glibc-too-old", {{"have", "2.31"}, {"need", "2.34"}})};
    EXPECT_EQ(explained(because("closest-variant",
                                {{"variant", "cu130"}, {"reasons", to_value(reasons)}}))
                  .text,
              "the closest variant is cu130: " + explained(reasons[0]).text);
}

TEST(Wording, ShowsACodeThatItDoesNotKnow) {
    EXPECT_EQ(explained({.code = "from-the-future", .detail = detail({{"a", 1}, {"b", "x"}})}).text,
              "from-the-future (a=1, b=x)");
    EXPECT_EQ(explained({.code = "from-the-future"}).text, "from-the-future");
}

TEST(Wording, LetsNoControlCharacterThrough) {
    const auto text =
        explained({.code = "driver-failed", .detail = detail({{"note", "\x1b]0;evil\x07"}})}).text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
}

TEST(Wording, HasEachCodeOnce) {
    std::set<std::string_view> seen;
    for (const auto& wording : kWordings)
        EXPECT_TRUE(seen.insert(wording.code).second) << wording.code;
}

TEST(Wording, HasARowForEachReasonAndAReasonForEachRow) {
    for (const auto& row : reason_table())
        EXPECT_NE(std::ranges::find(kWordings, row.code, &Wording::code), std::end(kWordings))
            << row.code;
    for (const auto& wording : kWordings)
        EXPECT_NE(find_reason(wording.code), nullptr) << wording.code;
}

// The names of the placeholders, for example "have" and "need" in
// "too old[: it is {have}, and {need:size} is needed]".
std::set<std::string> placeholders_of(const Wording& wording) {
    const auto text = std::string{wording.sentence} + std::string{wording.fix};
    const std::regex placeholder{"\\{([a-z_]+)"};
    std::set<std::string> found;
    for (std::sregex_iterator at{text.begin(), text.end(), placeholder}, end; at != end; ++at)
        found.insert(at->str(1));
    return found;
}

TEST(Wording, NamesNoMemberThatTheReasonHasNot) {
    for (const auto& wording : kWordings) {
        const auto* row = find_reason(wording.code);
        ASSERT_NE(row, nullptr) << wording.code;
        std::string detail = row->detail;
        if (includes(row->places, ReasonPlaces::OnVariant))
            detail += std::string{"; "} + kVariantDetail;
        for (const auto& member : placeholders_of(wording))
            EXPECT_TRUE(std::regex_search(detail, std::regex{"(^|[,;] )" + member + "\\b"}))
                << wording.code << ": " << member;
    }
}

TEST(Wording, NamesSignals) {
    EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
    EXPECT_EQ(signal_name(63), "signal 63");
}

Reason at(const char* where, Reason reason) {
    reason.detail["where"] = where;
    return reason;
}

Reason unknown(const char* where, const char* predicate) {
    return at(where, because("fact-unknown", {{"predicate", predicate}}));
}

std::string rejected_text(std::vector<Reason> reasons) {
    return explained(VariantCandidate{.verdict = Verdict::Rejected, .reasons = std::move(reasons)})
        .text;
}

/// No missing facts are reported for a GPU that cannot be used or whose driver did not answer.
TEST(Explain, OmitsUnknownFactsIfAReasonIsFinal) {
    EXPECT_EQ(rejected_text({at("pci:1", because("no-driver")), unknown("pci:1", "gfx")}),
              "no kernel driver is bound to the device");
    EXPECT_EQ(rejected_text({unknown("pci:1", "cuda.driver"), at("pci:1", because("asleep"))}),
              "not probed, because a probe would wake a suspended GPU");
    EXPECT_EQ(
        rejected_text({at("pci:1", because("no-driver")), unknown("pci:2", "gfx")}),
        "pci:1: no kernel driver is bound to the device; pci:2: a required fact is unknown: gfx");
    EXPECT_EQ(rejected_text({at("pci:1", because("joined-weakly")), unknown("pci:1", "gfx")}),
              "the device was matched to this GPU only by vendor and model; a required fact is "
              "unknown: gfx");
    EXPECT_EQ(rejected_text({unknown("pci:1", "gfx")}), "a required fact is unknown: gfx");
    EXPECT_EQ(rejected_text({at("host", because("glibc-too-old")), unknown("host", "kernel")}),
              "glibc is too old; a required fact is unknown: kernel");
}

/// The same build may still have another usable backend.
TEST(Explain, ReportsAnUnknownFactOfAnotherAlternative) {
    auto ended = at("pci:1", because("backend-not-usable", {{"want", "cuda"}}));
    ended.detail["alternative"] = 0;
    auto open = unknown("pci:1", "vulkan.version");
    open.detail["alternative"] = 1;
    EXPECT_EQ(rejected_text({ended, open}),
              "cuda does not work on this GPU; a required fact is unknown: vulkan.version");
    open.detail["alternative"] = 0;
    EXPECT_EQ(rejected_text({ended, open}), "cuda does not work on this GPU");
}

/// Unknown facts are described in words. There is a fix only if somebody can find out the fact.
TEST(Explain, NamesUnknownFacts) {
    const auto open = [](const char* fact, const char* want) {
        return at("host", because("fact-unknown",
                                  {{"predicate", "a_key"}, {"fact", fact}, {"want", want}}));
    };
    const auto libc = open("libc", "glibc");
    EXPECT_EQ(rejected_text({libc}), "the C library is unknown (required: glibc)");
    EXPECT_EQ(rejected_text({libc, open("glibc", "2.39")}),
              "the version of glibc is unknown (required: 2.39)");
    EXPECT_EQ(rejected_text({libc, at("pci:1", because("vendor-mismatch", {{"have", "nvidia"}}))}),
              "does not work on NVIDIA GPUs");
    EXPECT_EQ(explained(libc).fix, "if you know the version of glibc, add --assume=glibc=VERSION");
    EXPECT_EQ(explained(open("l4t", "36")).fix, std::nullopt);
    EXPECT_EQ(explained(open("a-newer-one", "36")).text,
              "a required fact is unknown: a_key (required: 36)");
    const auto required = [](const char* text) {
        return explained(because("requirement-unknown", {{"requirement", text}}));
    };
    EXPECT_EQ(required("glibc>=2.28").text, "the version of glibc is unknown (required: 2.28)");
    EXPECT_EQ(required("glibc>=2.28").fix, explained(libc).fix);
    EXPECT_EQ(required("gfx=gfx900|gfx906").text,
              "the GPU's gfx target is unknown (required: gfx900, gfx906)");
    EXPECT_EQ(required("driver>=550").fix, "probe the drivers: gpuprobectl probe");
    for (const auto* text : {"driver>=550 or cuda>=13", "driver<550", "max-buffer>=1"})
        EXPECT_EQ(required(text).text,
                  "it is unknown whether the requirement " + std::string{text} + " is met");
}

TEST(Wording, HasATextForAnUnknownFactOnlyIfTheFactExists) {
    for (const auto& open : kUnknownFacts)
        EXPECT_NE(std::ranges::find(fact_rows(), open.fact, &FactRow::key), fact_rows().end())
            << open.fact;
}

TEST(Explain, ReportsOnlyThatADriverWasNotProbed) {
    const Candidate candidate{
        .backend = "cuda",
        .gpu = "pci:0000:01:00.0",
        .verdict = Verdict::Unknown,
        .reasons = {
            because("not-probed", {{"api", "cuda"}}),
            because("fact-unknown", {{"where", "pci:0000:01:00.0"}, {"predicate", "cuda.driver"}}),
            because("fact-unknown", {{"where", "host"}, {"predicate", "glibc"}}),
            because("unknown-not-chosen")}};
    const auto why = explained(candidate);
    EXPECT_TRUE(why.text.starts_with("not probed yet; a required fact is unknown: glibc"))
        << why.text;
    EXPECT_EQ(why.text.find("cuda.driver"), std::string::npos) << why.text;
    EXPECT_EQ(why.text.find("chosen"), std::string::npos) << why.text;
}

}  // namespace explain_test
}  // namespace gpuprobe
