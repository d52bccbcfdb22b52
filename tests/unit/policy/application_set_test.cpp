// SPDX-License-Identifier: Apache-2.0
#include "policy/application_set.h"

#include <gtest/gtest.h>

#include "knowledge/library.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace application_set_test {

using namespace testing_variants;

/// An application with a selection and without a manifest.
std::string selection_named(std::string_view name, bool strict = false) {
    return R"({"schema":"gpuprobe.application/1","name":")" + std::string{name} +
           R"(","description":"","selection":{"backends":["vulkan","cpu"],"cpu":"last",)"
           R"("integrated":"always","strict":)" +
           (strict ? "true}}" : "false}}");
}

constexpr const char* kSelection =
    R"({"backends":["vulkan","cpu"],"cpu":"last","integrated":"always","strict":true})";
constexpr const char* kManifest = R"({"platforms":{"linux-x86_64":{"variants":{"mine":{}}}}})";

/// A complete document with these members.
std::string application_with(const std::string& members) {
    return R"({"schema":"gpuprobe.application/1","name":"mine","description":"",)" + members + "}";
}

/// An application with a manifest and without a selection.
std::string variants_named(const std::string& name) {
    return R"({"schema":"gpuprobe.application/1","name":")" + name + R"(","manifest":)" +
           kManifest + "}";
}

/// A manifest that an installer passes with its request.
std::string manifest_of(const std::string& name) {
    return R"({"schema":"gpuprobe.variants/1","name":")" + name +
           R"(","platforms":{"linux-x86_64":{"variants":{"mine":{}}}}})";
}

TEST(BuiltinApplications, AreReadAndCalledAsTheirFiles) {
    const auto set = ApplicationSet::with_builtins();
    EXPECT_EQ(set.names().size(), knowledge::builtin_applications().size());
    for (const auto& document : knowledge::builtin_applications()) {
        const auto application = parse_application(document.json);
        ASSERT_TRUE(application) << document.name << ": " << application.error().text;
        EXPECT_EQ(application->name, document.name);
        EXPECT_TRUE(!application->manifest || application->manifest->expires) << document.name;
        EXPECT_EQ(set.selection(document.name) != nullptr,
                  application->selection || application->selection_of);
        EXPECT_EQ(set.manifest(document.name) != nullptr, application->manifest.has_value());
    }
}

TEST(BuiltinApplications, AreListedByTheirParts) {
    const auto unread = ApplicationSet::with_builtins();
    const auto applications = unread.applications();
    const auto manifests = unread.manifests();
    EXPECT_GE(applications.size(), 34U);
    EXPECT_GE(manifests.size(), 26U);
    for (const auto& name : unread.names()) {
        EXPECT_EQ(std::ranges::count(applications, name), unread.selection(name) ? 1 : 0) << name;
        EXPECT_EQ(std::ranges::count(manifests, name), unread.manifest(name) ? 1 : 0) << name;
    }
    // Reading the documents must not change the lists.
    EXPECT_EQ(unread.applications(), applications);
    EXPECT_EQ(unread.manifests(), manifests);
}

TEST(BuiltinApplications, HaveABuildForAMachineWithOneRecentCard) {
    const auto set = ApplicationSet::with_builtins();
    for (const auto& name : set.manifests()) {
        const auto answer = recommend(*set.manifest(name), {}, machine("G02"), rules());
        EXPECT_EQ(answer.status, RecommendStatus::Ok) << name << json_pretty(to_value(answer));
    }
}

TEST(ApplicationSet, HasNothingUnderAnUnknownName) {
    const auto set = ApplicationSet::with_builtins();
    EXPECT_EQ(set.selection("nobody"), nullptr);
    EXPECT_EQ(set.manifest("nobody"), nullptr);
    EXPECT_EQ(set.manifest("default"), nullptr);
    EXPECT_EQ(set.selection("tsuku-llm"), nullptr);
}

TEST(ApplicationSet, SharesTheSelectionOfAnotherApplication) {
    const auto set = ApplicationSet::with_builtins();
    ASSERT_NE(set.selection("shimmy"), nullptr);
    EXPECT_EQ(set.selection("shimmy"), set.selection("shimmy-v2"));
    ApplicationSet mine;
    const auto alias = std::string{R"("selection_of":"b","manifest":)"} + kManifest;
    ASSERT_TRUE(mine.add(application_with(alias), "alias"));
    EXPECT_EQ(mine.selection("mine"), nullptr) << "there is no b";
    ASSERT_TRUE(mine.add(selection_named("b"), "selection"));
    EXPECT_EQ(mine.selection("mine"), mine.selection("b"));
    EXPECT_EQ(mine.applications(), (std::vector<std::string>{"b", "mine"}));
}

TEST(ApplicationSet, FindsTheVariablesThatAllowIntegratedGpus) {
    using Names = std::vector<std::string>;
    const auto builtins = ApplicationSet::with_builtins();
    const Names variables{"OLLAMA_IGPU_ENABLE"};
    EXPECT_EQ(builtins.integrating_variables("ollama"), variables);
    EXPECT_EQ(builtins.integrating_variables("default"), Names{});
    EXPECT_EQ(builtins.integrating_variables("nobody"), Names{});
    // A file from a package or bundle may be for another version, or contain escapes.
    std::string escaped{knowledge::compiled_in_text("applications/ollama")};
    escaped.replace(escaped.find("integrated_by"), 13, "integrated\\u005fby");
    for (const auto& json : {std::string{R"({"schema":"gpuprobe.application/2"})"}, escaped}) {
        knowledge::Library library;
        ASSERT_TRUE(library.add("applications/ollama", {.json = json, .path = "a.bundle"}));
        knowledge::Library::use(std::make_shared<const knowledge::Library>(std::move(library)));
        EXPECT_EQ(ApplicationSet::with_builtins().integrating_variables("ollama"), variables);
        knowledge::Library::use(knowledge::Library::compiled_in());
    }
    // An added selection is used, and not the one in the file.
    auto set = ApplicationSet::with_builtins();
    ASSERT_TRUE(set.add(selection_named("ollama"), "selection"));
    EXPECT_EQ(set.integrating_variables("ollama"), Names{});
}

TEST(ApplicationSet, SummarizesEachApplication) {
    ApplicationSet set;
    const auto both = std::string{R"("selection":)"} + kSelection + R"(,"manifest":)" + kManifest;
    ASSERT_TRUE(set.add(application_with(both), "whole"));
    ASSERT_TRUE(set.add(selection_named("b"), "selection"));
    ASSERT_TRUE(set.add(variants_named("a"), "manifest"));
    const auto summaries = set.summaries();
    ASSERT_EQ(summaries.size(), 3U);
    EXPECT_EQ(summaries[0].name, "a");
    EXPECT_TRUE(summaries[0].backends.empty());
    EXPECT_FALSE(summaries[0].description);
    EXPECT_EQ(summaries[0].variants, (std::vector<std::string>{"mine"}));
    EXPECT_FALSE(summaries[1].backends.empty());
    EXPECT_TRUE(summaries[1].variants.empty());
    EXPECT_FALSE(summaries[2].backends.empty());
    EXPECT_FALSE(summaries[2].variants.empty());
    for (const auto& summary : ApplicationSet::with_builtins().summaries())
        EXPECT_FALSE(summary.backends.empty() && summary.variants.empty()) << summary.name;
}

TEST(ApplicationSet, KnowsTheFileOfAPart) {
    auto set = ApplicationSet::with_builtins();
    EXPECT_EQ(set.manifest("torch")->path, "");
    const std::string path = "/etc/gpuprobe/applications/torch.json";
    ASSERT_TRUE(set.add(R"({"schema":"gpuprobe.application/1","name":"torch","description":"x",
        "selection":{"backends":["cpu"],"cpu":"last","integrated":"never","strict":false}})",
                        path));
    EXPECT_EQ(set.selection("torch")->path, path);
    EXPECT_EQ(set.manifest("torch")->path, "");
}

TEST(ApplicationSet, NamesTheCommandForThePartThatAnApplicationHas) {
    const auto set = ApplicationSet::with_builtins();
    const auto no_manifest = set.no_manifest("default");
    EXPECT_EQ(no_manifest.code, ErrorCode::NotFound);
    EXPECT_NE(no_manifest.text.find("'gpuprobectl select default'"), std::string::npos);
    const auto no_selection = set.no_selection("tsuku-llm");
    EXPECT_EQ(no_selection.code, ErrorCode::UnknownApplication);
    EXPECT_NE(no_selection.text.find("'gpuprobectl recommend tsuku-llm'"), std::string::npos);
    EXPECT_NE(set.no_selection("torhc").text.find("did you mean 'torch'"), std::string::npos);
    EXPECT_NE(set.no_manifest("torhc").text.find("did you mean 'torch'"), std::string::npos);
}

TEST(ApplicationSet, ReadsApplicationsWithEitherPart) {
    ApplicationSet set;
    const auto both = std::string{R"("selection":)"} + kSelection + R"(,"manifest":)" + kManifest;
    ASSERT_TRUE(set.add(application_with(both), "whole"));
    ASSERT_TRUE(set.add(selection_named("b"), "selection"));
    ASSERT_TRUE(set.add(variants_named("a"), "manifest"));
    EXPECT_EQ(set.names(), (std::vector<std::string>{"a", "b", "mine"}));
    EXPECT_EQ(set.applications(), (std::vector<std::string>{"b", "mine"}));
    EXPECT_EQ(set.manifests(), (std::vector<std::string>{"a", "mine"}));
    EXPECT_TRUE(set.selection("mine")->strict);
    EXPECT_TRUE(find_variant(set.manifest("mine")->platforms.at(0), "mine"));
}

TEST(ApplicationSet, ReplacesOnlyThePartThatIsGiven) {
    auto set = ApplicationSet::with_builtins();
    ASSERT_TRUE(set.add(selection_named("torch", true), "selection"));
    EXPECT_TRUE(set.selection("torch")->strict);
    EXPECT_FALSE(find_variant(set.manifest("torch")->platforms.at(0), "mine"));
    ASSERT_TRUE(set.add(variants_named("torch"), "manifest"));
    EXPECT_TRUE(set.selection("torch")->strict);
    EXPECT_TRUE(find_variant(set.manifest("torch")->platforms.at(0), "mine"));
    ASSERT_TRUE(set.add(selection_named("torch", false), "later"));
    EXPECT_FALSE(set.selection("torch")->strict);
    EXPECT_EQ(set.names().size(), knowledge::builtin_applications().size());
}

TEST(ApplicationSet, ReadsAForgottenFileAgain) {
    auto set = ApplicationSet::with_builtins();
    ASSERT_TRUE(set.add(selection_named("llama.cpp", true), "mine.json"));
    const auto variants = set.manifest("llama.cpp")->platforms.size();
    set.forget();
    ASSERT_NE(set.selection("llama.cpp"), nullptr);
    EXPECT_TRUE(set.selection("llama.cpp")->strict) << "an added part is not forgotten";
    ASSERT_NE(set.manifest("llama.cpp"), nullptr);
    EXPECT_EQ(set.manifest("llama.cpp")->platforms.size(), variants);
}

TEST(ApplicationSet, KeepsItsContentIfATextIsBroken) {
    ApplicationSet set;
    ASSERT_TRUE(set.add(selection_named("a"), "one"));
    const auto selection = std::string{R"("selection":)"} + kSelection;
    const struct {
        std::string text;
        const char* problem;
    } kBroken[] = {
        {"{", "application: "},
        {"[]", "schema: not gpuprobe.application/1"},
        {R"({"name":"a","platforms":{"linux-amd64":{"variants":{"cpu":{}}}}})",
         "schema: not gpuprobe.application/1"},
        {manifest_of("a"), "schema: not gpuprobe.application/1"},
        {R"({"schema":1,"name":"a","description":"","backends":["cpu"],"cpu":"last",)"
         R"("integrated":"always","strict":false})",
         "schema: not gpuprobe.application/1"},
        {application_with(R"("source":{"facts":[]})"),
         "application: has neither a selection nor a manifest"},
        {application_with(selection + R"(,"floors":{})"), "floors: unknown member"},
        {application_with(R"("selection":[])"), "selection: expected an object"},
        {application_with(R"("selection":{"name":"a"})"), "selection.name: unknown member"},
        {application_with(selection.substr(0, selection.size() - 1) + R"(,"a\u001b":{}})"),
         "selection.a\xEF\xBF\xBD: unknown member"},
        {application_with(R"("manifest":{"schema":1})"), "manifest.schema: unknown member"},
        {application_with(R"("manifest":{})"), "manifest.platforms: missing"},
        {application_with(selection + R"(,"source":[])"), "source: expected object"},
        {R"({"schema":"gpuprobe.application/2","name":"a"})", "schema: not gpuprobe.application/1"},
    };
    for (const auto& [text, problem] : kBroken) {
        const auto added = set.add(text, "/etc/gpuprobe/applications/a.json");
        ASSERT_FALSE(added) << text;
        EXPECT_EQ(added.error().code, ErrorCode::Malformed);
        EXPECT_TRUE(added.error().text.starts_with("/etc/gpuprobe/applications/a.json: " +
                                                   std::string{problem}))
            << added.error().text;
    }
    EXPECT_EQ(set.names(), (std::vector<std::string>{"a"}));
}

/// The minimum requirements of an application with one CUDA build and one ROCm build.
Result<Application> with_floor(const std::string& floor, const std::string& builds) {
    return parse_application(application_with(
        R"("selection":{"backends":["cuda","rocm","cpu"],"cpu":"last","integrated":"always",)"
        R"("strict":false,"floors":{"cuda":[")" +
        floor + R"("]}},"manifest":{"platforms":{"linux-x86_64":{"variants":{)" + builds + "}}}}"));
}

TEST(Floors, MayUseTheRequirementsOfTheBuilds) {
    const std::string builds =
        R"("new":{"requires":{"device":{"cuda":{"toolkit":"13.0","sass":["8.0"],"ptx":["12.0"]}}}},)"
        R"("old":{"requires":{"device":[{"cuda":{"toolkit":"12.6"}},{"cuda":{"toolkit":"12.8",)"
        R"("sass":["9.0a","7.5"]}}]}},)"
        R"("amd":{"requires":{"device":{"gfx":["gfx1100","gfx90a"]}}},)"
        R"("more":{"requires":{"device":{"gfx":["gfx1030","gfx90a"]}}})";
    const struct {
        const char* written;
        const char* meant;
    } kFloors[] = {
        {"gfx=manifest", "gfx=gfx90a|gfx1030|gfx1100"},
        {"driver>=manifest", "driver>=525.60.13"},
        {"driver>=manifest or unknown", "driver>=525.60.13 or unknown"},
        // Toolkit 12.6, whose kernels are not listed, compiles for 5.0.
        {"compute-capability>=manifest", "compute-capability>=5.0"},
        {"compute-capability>=8.0", "compute-capability>=8.0"},
    };
    for (const auto& [written, meant] : kFloors) {
        const auto application = with_floor(written, builds);
        ASSERT_TRUE(application) << written << ": " << application.error().text;
        EXPECT_EQ(to_value(application->selection->floors.at("cuda")),
                  to_value(std::vector{std::string{meant}}));
    }
}

TEST(Floors, RestrictAProductLineOnlyByItsOwnValues) {
    for (const auto* floor : {"gfx=manifest", "driver>=manifest", "compute-capability>=manifest"})
        EXPECT_EQ(with_floor(floor, R"("cpu":{})").error().text,
                  "selection.floors.cuda[0]: " + std::string{floor} +
                      ": the application does not report this fact about its build");
    const auto own =
        R"("new":{"requires":{"device":{"cuda":{"toolkit":"13.0","min_driver":"570"}}}})";
    EXPECT_EQ(with_floor("driver>=manifest", own)->selection->floors.at("cuda").front().text,
              "driver>=570.0");
    EXPECT_FALSE(with_floor("glibc>=manifest", own));
}

TEST(ApplicationSet, HasALimit) {
    ApplicationSet set;
    for (std::size_t i = 0; i < kMaxApplications; ++i)
        ASSERT_TRUE(set.add(selection_named("p" + std::to_string(i)), "x"));
    const auto added = set.add(selection_named("one-more"), "x");
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::TooLarge);
    EXPECT_TRUE(set.add(selection_named("p0", true), "x"));
}

TEST(ParseManifest, TakesAnApplicationOrAManifest) {
    const auto application = std::string{R"("manifest":)"} + kManifest;
    EXPECT_EQ(parse_manifest(application_with(application))->name, "mine");
    EXPECT_EQ(parse_manifest(manifest_of("a"))->name, "a");
    EXPECT_EQ(parse_manifest(R"({"platforms":{"linux-amd64":{"variants":{"cpu":{}}}}})")->name, "");
    EXPECT_EQ(parse_manifest(selection_named("a")).error().text, "manifest: has no variants");
    EXPECT_TRUE(parse_manifest("{").error().text.starts_with("manifest: "));
    for (const auto* schema : {"1", R"("gpuprobe.application/2")", R"("gpuprobe.variants/2")"})
        EXPECT_EQ(parse_manifest("{\"schema\":" + std::string{schema} + "}").error().text,
                  "manifest: schema: expected gpuprobe.application/1 or gpuprobe.variants/1");
}

TEST(UnknownName, IsCalledByTheOneThatWasPerhapsMeant) {
    const auto near = unknown_name("no application", "torhc", {"jax", "torch"});
    EXPECT_EQ(near.code, ErrorCode::UnknownApplication);
    EXPECT_EQ(near.text, "no application 'torhc'; did you mean 'torch'?");
    EXPECT_EQ(unknown_name("no application", "x", {"jax"}).text,
              "no application 'x'; 'gpuprobectl apps' lists them");
}

}  // namespace application_set_test
}  // namespace gpuprobe
