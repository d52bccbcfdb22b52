// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include <sys/stat.h>

#include "base/files.h"
#include "store/probe_history.h"
#include "support/temporary_folder.h"

namespace gpuprobe::store {
namespace probe_cache_test {

using support::TemporaryFolder;

CachedProbes some_probes() {
    DeviceFacts device{.index = 0, .name = "NVIDIA H200", .pci = PciAddress{.device = 6}};
    device.extra["api_version"] = "1.4.312";
    const ProbeResult vulkan{.api = "vulkan",
                             .driver = "/etc/vulkan/icd.d/nvidia_icd.json",
                             .outcome = Outcome::Answered,
                             .devices = {device},
                             .duration = Duration{1234},
                             .at = WallTime{Duration{1700000000000000}}};
    const ProbeResult opencl{.api = "opencl", .outcome = Outcome::Absent, .note = "no platform"};
    auto measured = vulkan;
    measured.stage = "measure";
    measured.device = "pci:0000:00:06.0";
    return {.queries = {vulkan, opencl}, .trials = {{.fingerprint = "card", .probe = measured}}};
}

class ProbeCacheTest : public ::testing::Test {
protected:
    void rewrite(const std::string& content) const {
        std::ofstream{path_, std::ios::binary | std::ios::trunc} << content;
    }
    [[nodiscard]] std::string content() const { return RootedFiles{}.read(path_, mib(8)).value(); }

    TemporaryFolder folder_ = {};
    std::string path_ = folder_.path() + "/probes";
    ProbeCache cache_{path_};
};

TEST_F(ProbeCacheTest, ReturnsWhatWasSavedForTheSameFingerprint) {
    ASSERT_TRUE(cache_.save("print", some_probes()));
    const auto loaded = cache_.load("print");
    ASSERT_TRUE(loaded) << loaded.error().text;
    ASSERT_EQ(loaded->queries.size(), 2u);
    EXPECT_EQ(value_of(loaded->queries[0]), value_of(some_probes().queries[0]));
    EXPECT_EQ(value_of(loaded->queries[1]), value_of(some_probes().queries[1]));
    EXPECT_EQ(loaded->trials.size(), 1u);
}

TEST_F(ProbeCacheTest, HasForAnotherFingerprintOnlyWhatHasItsOwn) {
    ASSERT_TRUE(cache_.save("print", some_probes()));
    const auto loaded = cache_.load("another");
    ASSERT_TRUE(loaded) << loaded.error().text;
    EXPECT_TRUE(loaded->queries.empty());
    ASSERT_EQ(loaded->trials.size(), 1u);
    EXPECT_EQ(loaded->trials[0].fingerprint, "card");
    EXPECT_EQ(value_of(loaded->trials[0].probe), value_of(some_probes().trials[0].probe));
}

TEST_F(ProbeCacheTest, RefusesADocumentThatLacksAPart) {
    const CheckedFile file{path_, "cache", 2, mib(8)};
    const Value::Object whole{{"fingerprint", "print"},
                              {"probes", Value{Value::Array{}}},
                              {"trials", Value{Value::Array{}}}};
    ASSERT_TRUE(file.save(Value{whole}));
    EXPECT_TRUE(cache_.load("print"));
    for (std::size_t i = 0; i < whole.size(); ++i) {
        auto part = whole;
        part.erase(part.begin() + static_cast<std::ptrdiff_t>(i));
        ASSERT_TRUE(file.save(Value{part}));
        EXPECT_EQ(cache_.load("print").error().code, ErrorCode::Malformed) << whole[i].key;
    }
}

TEST_F(ProbeCacheTest, RefusesEveryTruncation) {
    ASSERT_TRUE(cache_.save("print", some_probes()));
    const auto whole = content();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        rewrite(whole.substr(0, length));
        EXPECT_FALSE(cache_.load("print")) << length;
    }
}

TEST_F(ProbeCacheTest, RefusesEveryFlippedByte) {
    ASSERT_TRUE(cache_.save("print", some_probes()));
    const auto whole = content();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
        rewrite(damaged);
        EXPECT_FALSE(cache_.load("print")) << at;
    }
}

TEST_F(ProbeCacheTest, RefusesAFileThatOthersMayWrite) {
    ASSERT_TRUE(cache_.save("print", some_probes()));
    ASSERT_EQ(::chmod(path_.c_str(), 0620), 0);
    EXPECT_EQ(cache_.load("print").error().code, ErrorCode::PermissionDenied);
}

TEST_F(ProbeCacheTest, RefusesALinkAndAFifo) {
    ASSERT_TRUE(cache_.save("print", some_probes()));
    folder_.link("link", path_);
    EXPECT_FALSE(ProbeCache{folder_.path() + "/link"}.load("print"));
    const auto fifo = folder_.path() + "/fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(ProbeCache{fifo}.load("print").error().code, ErrorCode::Io);
}

TEST_F(ProbeCacheTest, FailsToSaveWithoutAFolderAndSaysWhere) {
    const ProbeCache cache{folder_.path() + "/none/probes"};
    const auto saved = cache.save("print", {});
    ASSERT_FALSE(saved);
    EXPECT_NE(saved.error().text.find("/none/probes"), std::string::npos);
}

}  // namespace probe_cache_test
}  // namespace gpuprobe::store
