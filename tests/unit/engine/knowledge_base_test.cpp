// SPDX-License-Identifier: Apache-2.0
#include "engine/knowledge_base.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "engine/decision_service.h"
#include "fakes/disk/failing_disk.h"
#include "knowledge/chips.h"
#include "report/outcome.h"
#include "support/signed_bundle.h"
#include "support/temporary_folder.h"

// Tests of data files that are installed on a machine: which of them are used, and bundles that are
// malicious, old or truncated.

namespace gpuprobe::engine {
namespace knowledge_base_test {

namespace fs = std::filesystem;
using knowledge::Origin;
using support::bundle_message;
using support::FailingDisk;
using support::signed_by;

constexpr const char* kDrivers = R"({"schema":"gpuprobe.drivers/1","drivers":[]})";
constexpr const char* kOldDrivers =
    R"({"schema":"gpuprobe.drivers/1","issued":"2026-01-01","expires":"2026-02-01","drivers":[]})";
const WallTime kNow = *knowledge::instant_of("2027-02-01");

std::string bundle_of(const char* version, const char* expires = "2028-01-01") {
    return signed_by(1, bundle_message({{"drivers", kDrivers}}, version, expires));
}

/// A root with one key and a state folder.
class MachineKnowledge : public ::testing::Test {
protected:
    void SetUp() override {
        root_.write("etc/gpuprobe/keys.d/test.pub", support::public_key_file(1));
        root_.write("etc/gpuprobe/keys.d/notes.txt", "no key");
        root_.folder("var/lib/gpuprobe-knowledge");
    }
    void TearDown() override {
        knowledge::Library::use(std::make_shared<const knowledge::Library>());
    }

    [[nodiscard]] KnowledgeFolders folders() const { return KnowledgeFolders::below(root_.path()); }
    [[nodiscard]] Status update(const std::string& file, WallTime now = kNow) const {
        root_.write("file", file);
        return install(TRY(checked_bundle(root_.path() + "/file", folders(), now)), folders());
    }
    [[nodiscard]] std::string refusal_of(const std::string& file, WallTime now = kNow) const {
        const auto done = update(file, now);
        return done ? "" : done.error().text;
    }
    /// The version of the data files in use, and their origin.
    [[nodiscard]] std::string in_use() const {
        const auto library = knowledge_in(folders()).library;
        return std::string{name_of(library->origin())} + " " + text_of(library->version());
    }

    support::TemporaryFolder root_;
};

TEST_F(MachineKnowledge, IsUpdatedAndRolledBack) {
    ASSERT_TRUE(update(bundle_of("2027.1.1")));
    EXPECT_EQ(in_use(), "bundle 2027.1.1");
    ASSERT_TRUE(update(bundle_of("2027.1.2")));
    EXPECT_EQ(in_use(), "bundle 2027.1.2");
    ASSERT_TRUE(roll_back(folders()));
    EXPECT_EQ(in_use(), "bundle 2027.1.1");
    ASSERT_TRUE(roll_back(folders()));
    EXPECT_TRUE(in_use().starts_with("built-in"));
    EXPECT_EQ(roll_back(folders()).error().code, ErrorCode::NotFound);
}

TEST_F(MachineKnowledge, TakesNoBundleThatIsNotNewer) {
    ASSERT_TRUE(update(bundle_of("2027.1.2")));
    for (const auto* version : {"2027.1.2", "2027.1.1", "2026.12.31"})
        EXPECT_EQ(refusal_of(bundle_of(version)),
                  std::string{"bundle: version "} + version +
                      " is not newer than 2027.1.2, the version in use");
    EXPECT_EQ(in_use(), "bundle 2027.1.2");
    root_.write("usr/share/gpuprobe/knowledge/release.json",
                support::release_of("2027.6.1", "2028-01-01"));
    EXPECT_EQ(in_use(), "package 2027.6.1");
    EXPECT_NE(refusal_of(bundle_of("2027.3.1")), "");
}

TEST_F(MachineKnowledge, TakesNoBundleThatIsFrozenForeignOrBroken) {
    EXPECT_EQ(refusal_of(bundle_of("2027.1.1", "2027-02-01")), "bundle: has expired on 2027-02-01");
    EXPECT_EQ(refusal_of(signed_by(2, bundle_message({}))),
              "bundle: not signed with a key that this machine trusts");
    root_.write("etc/gpuprobe/keys.d/test.pub",
                support::public_key_file(1, "k, expires 2027-01-31"));
    EXPECT_EQ(refusal_of(bundle_of("2027.1.1")), "bundle: the signing key has expired: test.pub");
    root_.write("etc/gpuprobe/keys.d/test.pub", support::public_key_file(1));
    // A signed bundle may also contain mistakes: each data file is parsed before the bundle is put
    // in use.
    const std::pair<const char*, const char*> documents[] = {
        {"chips", R"({"schema":"gpuprobe.chips/1"})"},
        {"drivers",
         R"({"schema":"gpuprobe.drivers/1","drivers":[{"driver":"x","memory_unit":0}]})"},
        {"setup", R"({"schema":"gpuprobe.setup/1","parameters":["amdgpu"]})"},
        {"causes/new", R"({"schema":"gpuprobe.causes/1","causes":[{}]})"},
        {"applications/mine", R"({"schema":"gpuprobe.application/1","name":"mine"})"},
        {"rules/cuda_sm", R"({"schema":"gpuprobe.rules.cuda-sm/1","sm":[{}]})"}};
    for (const auto& [name, text] : documents)
        EXPECT_NE(refusal_of(signed_by(1, bundle_message({{name, text}}))), "") << name;
    EXPECT_EQ(refusal_of(signed_by(1, bundle_message({{"drivers", kDrivers}})).substr(0, 300)),
              "bundle: not signed with a key that this machine trusts");
    EXPECT_TRUE(in_use().starts_with("built-in"));
    EXPECT_FALSE(fs::exists(folders().bundle()));
}

/// A signature shows who wrote a data file, but does not allow the file to run code.
TEST_F(MachineKnowledge, RefusesASignedFileWithVariablesThatLoadCode) {
    const std::string application =
        R"({"schema":"gpuprobe.application/1","name":"mine","description":"",
        "selection":{"backends":["cpu"],"cpu":"last","integrated":"never","strict":false,
                     "reads":["LD_PRELOAD"],"environment":{"cpu":[{"LD_PRELOAD":"/tmp/evil.so"}]}}})";
    EXPECT_EQ(
        refusal_of(signed_by(1, bundle_message({{"applications/mine", application}}))),
        "bundle: applications/mine: selection.reads: LD_PRELOAD: a data file must not name this "
        "variable; only variables that choose GPUs are allowed, such as MINE_GPU");
    const std::string selectors = R"({"schema":"gpuprobe.selectors/1","use":[],"readers":[
        {"name":"cuda","api":"cuda","reads":["LD_PRELOAD"],"hide":{"LD_PRELOAD":"/tmp/evil.so"}}]})";
    EXPECT_EQ(refusal_of(signed_by(1, bundle_message({{"selectors", selectors}}))),
              "bundle: selectors: selectors: cuda: LD_PRELOAD: a data file must not name this "
              "variable");
    EXPECT_TRUE(in_use().starts_with("built-in"));
}

TEST_F(MachineKnowledge, TakesNothingThatIsNoPlainFile) {
    root_.write("file", "");
    const auto path = root_.path() + "/other";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(checked_bundle(path, folders(), kNow));
    EXPECT_FALSE(checked_bundle("/dev/zero", folders(), kNow));
    EXPECT_FALSE(checked_bundle(root_.path(), folders(), kNow));
    const auto sparse = root_.path() + "/sparse";
    root_.write("sparse", bundle_of("2027.1.1"));
    fs::resize_file(sparse, 1UL << 30U);
    const auto large = checked_bundle(sparse, folders(), kNow);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, ErrorCode::TooLarge);
    std::string many = R"({"schema":"gpuprobe.bundle/1","documents":[)";
    for (int i = 0; i < 100'000; ++i)
        many += "{},";
    EXPECT_EQ(refusal_of(signed_by(1, many + "{}]}\n")), "bundle: head: the line is missing");
}

TEST_F(MachineKnowledge, IsTheOldOrTheNewOneAfterAnInterruptedUpdate) {
    const auto old_file = bundle_of("2027.1.1");
    const auto new_file = bundle_of("2027.1.2");
    for (const int problem : {EIO, ENOSPC, 0}) {
        bool is_done = false;
        for (int at = 1; !is_done; ++at) {
            fs::remove_all(folders().state);
            ASSERT_TRUE(update(old_file));
            root_.write("file", new_file);
            const auto bundle = checked_bundle(root_.path() + "/file", folders(), kNow).value();
            const auto child = ::fork();
            if (child == 0) {
                const FailingDisk disk{at, problem};
                const bool is_installed = static_cast<bool>(install(bundle, folders()));
                ::_exit(FailingDisk::calls() < at ? 2 : is_installed ? 0 : 1);
            }
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            is_done = WIFEXITED(status) && WEXITSTATUS(status) == 2;
            const auto loaded = knowledge_in(folders());
            EXPECT_TRUE(loaded.ignored.empty());
            const auto found = in_use();
            EXPECT_TRUE(found == "bundle 2027.1.1" || found == "bundle 2027.1.2") << found;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 1) {
                EXPECT_EQ(found, "bundle 2027.1.1") << problem << " " << at;
            }
            if (is_done) {
                EXPECT_EQ(found, "bundle 2027.1.2");
            }
            // Files from an interrupted update do no harm.
            if (found == "bundle 2027.1.1") {
                EXPECT_EQ(refusal_of(new_file), "") << problem << " " << at;
            }
        }
    }
}

TEST_F(MachineKnowledge, HoldsAnAdministratorsDocumentsOverAllOthers) {
    ASSERT_TRUE(update(bundle_of("2027.1.1")));
    root_.write("etc/gpuprobe/knowledge/drivers.json", kOldDrivers);
    root_.write("etc/gpuprobe/knowledge/chips.json", "{");
    root_.write("etc/gpuprobe/knowledge/release.json", support::release_of("9999", "9999-01-01"));
    root_.write("etc/gpuprobe/knowledge/what.json", "{}");
    root_.write("etc/gpuprobe/knowledge/rules/cuda_sm.json", "[]");
    root_.write("etc/gpuprobe/knowledge/README", "no document");
    const auto loaded = knowledge_in(folders());
    EXPECT_EQ(loaded.library->find("drivers")->json, kOldDrivers);
    EXPECT_EQ(loaded.library->find("drivers")->origin, Origin::Administrator);
    EXPECT_EQ(loaded.library->find("chips")->origin, Origin::BuiltIn);
    EXPECT_EQ(text_of(loaded.library->version()), "2027.1.1");
    ASSERT_EQ(loaded.ignored.size(), 4U);
    for (const auto& note : loaded.ignored)
        EXPECT_EQ(note.code, "knowledge-ignored");
}

TEST_F(MachineKnowledge, HasContextsOfKnownBackendsOnly) {
    const auto ignored_of = [this](const std::string& backend) {
        root_.write("etc/gpuprobe/knowledge/contexts.json",
                    R"({"schema":"gpuprobe.contexts/1","backends":[{"backend":")" + backend +
                        R"(","context_mib":1,"program_mib":0,"source":{"how":"seen"}}]})");
        const auto notes = knowledge_in(folders()).ignored;
        return notes.empty() ? "" : *notes.front().detail.at("problem").as_string();
    };
    for (const auto* backend : {"cuda", "rocm", "sycl", "vulkan", "opencl"})
        EXPECT_EQ(ignored_of(backend), "") << backend;
    EXPECT_EQ(ignored_of("cdua"), "backend: 'cdua' is not a backend; did you mean 'cuda'?");
    EXPECT_EQ(ignored_of("hip"),
              "backend: 'hip' is not a backend; known values: cuda, rocm, sycl, vulkan, opencl");
    EXPECT_EQ(ignored_of("cpu").substr(0, 31), "backend: 'cpu' is not a backend");
}

TEST_F(MachineKnowledge, UsesOfAPackageWhatThisProgramReads) {
    root_.write("usr/share/gpuprobe/knowledge/release.json",
                support::release_of("2027.1.1", "2028-01-01"));
    root_.write("usr/share/gpuprobe/knowledge/drivers.json", kDrivers);
    root_.write("usr/share/gpuprobe/knowledge/chips.json", R"({"schema":"gpuprobe.chips/2"})");
    const auto loaded = knowledge_in(folders());
    EXPECT_EQ(loaded.library->find("drivers")->origin, Origin::Package);
    EXPECT_EQ(loaded.library->find("chips")->origin, Origin::BuiltIn);
    ASSERT_EQ(loaded.ignored.size(), 1U);
}

TEST_F(MachineKnowledge, ThatIsDamagedOnDiskIsIgnored) {
    const auto file = bundle_of("2027.1.1");
    ASSERT_TRUE(update(file));
    for (const auto size : {std::size_t{0}, std::size_t{10}, file.size() / 2, file.size() - 1}) {
        root_.write("var/lib/gpuprobe-knowledge/current.bundle", file.substr(0, size));
        const auto loaded = knowledge_in(folders());
        EXPECT_EQ(loaded.library->origin(), Origin::BuiltIn);
        ASSERT_EQ(loaded.ignored.size(), 1U) << size;
    }
    EXPECT_TRUE(roll_back(folders()));
    EXPECT_TRUE(knowledge_in(folders()).ignored.empty());
}

TEST_F(MachineKnowledge, OfAnApplicationIsUsedInAnswers) {
    const std::string mine =
        R"({"schema":"gpuprobe.application/1","name":"mine","description":"","selection":)"
        R"({"backends":["vulkan","cpu"],"cpu":"last","integrated":"always","strict":false}})";
    DecisionService service{{.knowledge = folders()}};
    EXPECT_EQ(std::ranges::count(service.applications(), "mine", &ApplicationSummary::name), 0);
    ASSERT_TRUE(update(signed_by(1, bundle_message({{"applications/mine", mine}}))));
    service.reload();
    EXPECT_EQ(std::ranges::count(service.applications(), "mine", &ApplicationSummary::name), 1);
    ASSERT_TRUE(roll_back(folders()));
    service.reload();
    EXPECT_EQ(std::ranges::count(service.applications(), "mine", &ApplicationSummary::name), 0);
}

TEST_F(MachineKnowledge, ThatHasExpiredIsAWarningOfEveryAnswer) {
    const DecisionService service{{}};
    Report report;
    const auto warnings_at = [&](const char* day) {
        const auto now = *knowledge::instant_of(day);
        report.notes.clear();
        for (const auto& each : knowledge::Library::current()->expired(now))
            report.notes.push_back(stale_document(each.name, each.path, each.issued, each.expired));
        const CallerContext caller{.machine = report, .seen = report, .now = now};
        const auto decision = service.select("torch", {}, caller);
        const auto answer = service.recommend("torch", "", {}, caller);
        const auto stale = stale_among(decision->warnings).size();
        EXPECT_EQ(stale_among(answer->warnings).size(), stale);
        return stale;
    };
    EXPECT_EQ(warnings_at("2026-11-23"), 0U);
    // All data files, and the application.
    const auto all = knowledge::Library::current()->expired(*knowledge::instant_of("2100-01-01"));
    EXPECT_GE(all.size(), 16U);
    EXPECT_EQ(warnings_at("2100-01-01"), all.size() + 1);
}

}  // namespace knowledge_base_test
}  // namespace gpuprobe::engine
