// SPDX-License-Identifier: Apache-2.0
// Tests of the files on disk, with a disk that fails and a process that is killed.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "fakes/disk/failing_disk.h"
#include "store/probe_history.h"
#include "store/state_files.h"
#include "support/temporary_folder.h"

namespace gpuprobe::store {
namespace disk_faults_test {

using support::FailingDisk;
using support::TemporaryFolder;

namespace fs = std::filesystem;

Override override_of(const char* backend) {
    Override entry;
    entry.rule["backend"] = backend;
    return entry;
}

/// A store, with functions that write its first and its second content, and a function that returns
/// the content that a new process finds.
struct Store {
    const char* name;
    std::function<Status(const std::string& folder)> first;
    std::function<Status(const std::string& folder)> second;
    /// "first" or "second"; otherwise a description of the fault.
    std::function<std::string(const std::string& folder)> found;
};

std::string one_of(bool is_first, bool is_second) {
    return is_first == is_second ? "neither" : is_first ? "first" : "second";
}

Store plain() {
    const auto file = [](const std::string& folder) {
        return CheckedFile{folder + "/file", "thing", 1, kib(64)};
    };
    const auto save = [file](const char* word) {
        return [file, word](const std::string& folder) {
            Value document;
            document["word"] = word;
            document["rest"] = std::string(20'000, *word);  // more than a single write transfers
            return file(folder).save(document);
        };
    };
    return {"CheckedFile", save("first"), save("second"), [file](const std::string& folder) {
                const auto document = file(folder).load();
                return document ? *document->at("word").as_string() : document.error().text;
            }};
}

Store overrides() {
    const auto set = [](const char* backend) {
        return [backend](const std::string& folder) -> Status {
            Overrides store{folder + "/overrides"};
            TRY(store.load());
            return store.set("ollama", override_of(backend));
        };
    };
    return {"Overrides", set("cuda"), set("vulkan"), [](const std::string& folder) {
                Overrides store{folder + "/overrides"};
                if (const auto loaded = store.load(); !loaded)
                    return loaded.error().text;
                const auto* entry = store.find("ollama");
                const auto* rule = entry ? entry->rule.at("backend").as_string() : nullptr;
                return one_of(rule && *rule == "cuda", rule && *rule == "vulkan");
            }};
}

Store outcomes() {
    const auto fail = [](const char* choice) {
        return [choice](const std::string& folder) -> Status {
            Outcomes store{folder + "/outcomes"};
            TRY(store.load());
            return store.failed({.application = "ollama", .choice = choice});
        };
    };
    return {"Outcomes", fail("cuda"), fail("vulkan"), [](const std::string& folder) {
                Outcomes store{folder + "/outcomes"};
                if (const auto loaded = store.load(); !loaded)
                    return loaded.error().text;
                return one_of(store.all().size() == 1, store.all().size() == 2);
            }};
}

Store ledger() {
    const auto strike = [](const char* api) {
        return [api](const std::string& folder) -> Status {
            const SystemClock clock;
            Quarantine store{folder, clock};
            TRY(store.open("boot"));
            const ProbeKey key{.api = api, .driver = "", .stage = "query", .fingerprint = "x"};
            (void)store.strike(key, Harm::MachineWentDown, std::nullopt);
            return store.settle();
        };
    };
    return {"Quarantine", strike("cuda"), strike("vulkan"), [](const std::string& folder) {
                const SystemClock clock;
                Quarantine store{folder, clock};
                if (const auto opened = store.open("boot"); !opened)
                    return opened.error().text;
                return one_of(store.held().size() == 1, store.held().size() == 2);
            }};
}

class DiskFaults : public ::testing::TestWithParam<Store> {
protected:
    [[nodiscard]] static std::size_t files_in(const std::string& folder) {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator{folder}, fs::directory_iterator{}));
    }
    /// The number of files if no call failed.
    [[nodiscard]] static std::size_t files_after(const Store& store) {
        const TemporaryFolder folder;
        EXPECT_TRUE(store.first(folder.path()));
        return files_in(folder.path());
    }
};

/// The number of calls that change a file while the second content is written.
int calls_of(const Store& store) {
    const TemporaryFolder folder;
    EXPECT_TRUE(store.first(folder.path()));
    const FailingDisk disk{0, 0};
    EXPECT_TRUE(store.second(folder.path()));
    return FailingDisk::calls();
}

TEST_P(DiskFaults, KilledBeforeAnyCallItHoldsTheOldOrTheNew) {
    const int calls = calls_of(GetParam());
    EXPECT_GE(calls, 5);
    for (int at = 1; at <= calls; ++at) {
        const TemporaryFolder folder;
        ASSERT_TRUE(GetParam().first(folder.path()));
        const pid_t writer = ::fork();
        if (writer == 0) {
            const FailingDisk disk{at, 0};
            (void)GetParam().second(folder.path());
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(writer, &status, 0), writer);
        EXPECT_TRUE(WIFSIGNALED(status)) << "call " << at << " of " << calls;
        const auto found = GetParam().found(folder.path());
        EXPECT_TRUE(found == "first" || found == "second") << "call " << at << ": " << found;
        // The next process that writes removes temporary files that were left behind.
        ASSERT_TRUE(GetParam().second(folder.path()));
        EXPECT_EQ(GetParam().found(folder.path()), "second");
        EXPECT_LE(files_in(folder.path()), files_after(GetParam()))
            << "call " << at << ": a leftover";
    }
}

TEST_P(DiskFaults, WhereACallFailsItHoldsTheOldOrTheNew) {
    const int calls = calls_of(GetParam());
    for (const int problem : {ENOSPC, EIO, EROFS, EDQUOT, EACCES})
        for (int at = 1; at <= calls; ++at) {
            const TemporaryFolder folder;
            ASSERT_TRUE(GetParam().first(folder.path()));
            Status written = Done{};
            {
                const FailingDisk disk{at, problem};
                written = GetParam().second(folder.path());
            }
            const auto found = GetParam().found(folder.path());
            EXPECT_TRUE(found == "second" || (!written && found == "first"))
                << "call " << at << ", error " << problem << ": " << found;
            EXPECT_LE(files_in(folder.path()), files_after(GetParam()))
                << "call " << at << ": a leftover";
        }
}

INSTANTIATE_TEST_SUITE_P(Stores,
                         DiskFaults,
                         ::testing::Values(plain(), overrides(), outcomes(), ledger()),
                         [](const auto& store) { return std::string{store.param.name}; });

TEST(TwoProcesses, DoNotWriteOneFile) {
    const TemporaryFolder folder;
    Overrides second{folder.path() + "/overrides"};
    {
        Overrides first{folder.path() + "/overrides"};
        ASSERT_TRUE(first.set("ollama", override_of("cuda")));
        const auto refused = second.set("vllm", override_of("vulkan"));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().text,
                  folder.path() + "/overrides: another process uses this file");
    }
    ASSERT_TRUE(second.set("vllm", override_of("vulkan")));
    EXPECT_EQ(second.all().size(), 2U) << "what the first one wrote is lost";
}

/// A file with valid content, before the test changes it.
class OddFile : public ::testing::Test {
protected:
    void SetUp() override {
        Value document;
        document["word"] = "kept";
        ASSERT_TRUE(file_.save(document));
    }
    void open(const std::string& path) {
        path_ = path;
        file_ = CheckedFile{path_, "thing", 1, kib(64)};
    }
    void refuses(ErrorCode code) const {
        const auto loaded = file_.load();
        ASSERT_FALSE(loaded);
        EXPECT_EQ(loaded.error().code, code) << loaded.error().text;
        EXPECT_TRUE(loaded.error().text.starts_with(path_)) << loaded.error().text;
    }

    TemporaryFolder folder_ = {};
    std::string path_ = folder_.path() + "/file";
    CheckedFile file_{path_, "thing", 1, kib(64)};
};

TEST_F(OddFile, OfAnotherOwnerIsRefused) {
    if (::geteuid() == 0)
        ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
    else  // only root can give files to other users
        open("/etc/passwd");
    refuses(ErrorCode::PermissionDenied);
}

TEST_F(OddFile, ThatOthersMayWriteIsRefused) {
    for (const mode_t mode : {0620, 0602, 0666}) {
        ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
        refuses(ErrorCode::PermissionDenied);
    }
}

TEST_F(OddFile, ThatIsALinkIsRefused) {
    fs::rename(path_, path_ + ".real");
    fs::create_symlink(path_ + ".real", path_);
    refuses(ErrorCode::Io);
}

TEST_F(OddFile, ThatIsAPipeIsRefusedAndNotWaitedFor) {
    fs::remove(path_);
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    refuses(ErrorCode::Io);
}

TEST_F(OddFile, ThatIsAFolderIsRefused) {
    fs::remove(path_);
    fs::create_directory(path_);
    refuses(ErrorCode::Io);
}

TEST_F(OddFile, ThatIsADeviceIsRefused) {
    const CheckedFile device{"/dev/zero", "thing", 1, kib(64)};
    const auto loaded = device.load();
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::Io);
}

TEST_F(OddFile, ThatIsEndlessIsRefused) {
    ASSERT_EQ(::truncate(path_.c_str(), off_t{10} << 30), 0);  // sparse
    refuses(ErrorCode::TooLarge);
}

TEST_F(OddFile, OfAFutureVersionIsRefusedAndSetAside) {
    const CheckedFile future{path_, "thing", 2, kib(64)};
    Value document;
    document["word"] = "of the future";
    ASSERT_TRUE(future.save(document));
    EXPECT_FALSE(file_.take([](const Value&) -> Status { return Done{}; }));
    EXPECT_EQ(file_.load().error().code, ErrorCode::NotFound);
    EXPECT_TRUE(fs::exists(path_ + ".broken"));
}

TEST_F(OddFile, WhoseFolderWasRemovedIsAnErrorAndNoCrash) {
    fs::remove_all(folder_.path());
    EXPECT_EQ(file_.load().error().code, ErrorCode::NotFound);
    EXPECT_FALSE(file_.save({}));
}

TEST_F(OddFile, EveryTruncationAndEveryFlippedBitIsRefused) {
    const auto whole = RootedFiles{}.read(path_, kib(64)).value();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        folder_.write("file", whole.substr(0, at));
        EXPECT_FALSE(file_.load()) << "cut at " << at;
        for (int bit = 0; bit < 8; ++bit) {
            auto damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
            folder_.write("file", damaged);
            EXPECT_FALSE(file_.load()) << "bit " << bit << " of byte " << at;
        }
    }
}

}  // namespace disk_faults_test
}  // namespace gpuprobe::store
