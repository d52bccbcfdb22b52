// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zstd.h>

#include "unit/inventory/text_pieces.h"

/// Tests of src/inventory/gpu_code.cpp, which finds kernels in files.
namespace gpuprobe {
namespace gpu_code_test {

template <class T>
std::string bytes(T number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

constexpr std::uint64_t kPlain = 0x11;
constexpr std::uint64_t kSpecific = kPlain | 1U << 20U;
constexpr std::uint64_t kFamily = kPlain | 1U << 21U;

struct Image {
    std::uint16_t kind;  ///< 1: PTX, 2: cubin
    std::uint32_t arch;
    std::uint16_t major = 1;
    std::uint16_t minor = 8;
    std::uint64_t flags = kPlain;
};

std::string image_bytes(const Image& image) {
    constexpr std::uint32_t kHead = 64;
    const std::string payload(24, '\0');
    return bytes(image.kind) + bytes(std::uint16_t{0x101}) + bytes(kHead) +
           bytes(std::uint64_t{payload.size()}) + bytes(std::uint64_t{0}) + bytes(image.minor) +
           bytes(image.major) + bytes(image.arch) + bytes(std::uint64_t{0}) + bytes(image.flags) +
           bytes(std::uint64_t{0}) + bytes(std::uint64_t{0}) + payload;
}

std::string fatbin(std::initializer_list<Image> images) {
    std::string body;
    for (const auto& image : images)
        body += image_bytes(image);
    return bytes(std::uint32_t{0xBA55ED50}) + bytes(std::uint16_t{1}) + bytes(std::uint16_t{16}) +
           bytes(std::uint64_t{body.size()}) + body;
}

std::string bundle(std::initializer_list<std::string> ids) {
    std::string rows;
    for (const auto& id : ids)
        rows += bytes(std::uint64_t{4096}) + bytes(std::uint64_t{0}) +
                bytes(std::uint64_t{id.size()}) + id;
    auto all = "__CLANG_OFFLOAD_BUNDLE__" + bytes(std::uint64_t{ids.size()}) + rows;
    all.resize(4096);
    return all;
}

using Words = std::set<std::string>;
using Reader = Result<Words> (*)(Pieces&, std::uint64_t, std::uint64_t);

Words read(Reader reader, const std::string& text) {
    TextPieces file{text};
    const auto code = reader(file, 0, text.size());
    EXPECT_TRUE(code) << code.error().text;
    return code ? *code : Words{};
}

TEST(CudaCodeInFiles, ReportsCubinsAndPtxWithItsVersion) {
    EXPECT_EQ(read(cuda_code, fatbin({{2, 86}, {2, 120}, {1, 75, 9, 1}, {8, 80}})),
              (Words{"sm_86", "sm_120", "compute_75@9.1"}));
}

TEST(CudaCodeInFiles, ReportsArchitecturesOfASingleChipOrFamily) {
    EXPECT_EQ(read(cuda_code, fatbin({{2, 90, 1, 8, kSpecific}, {1, 100, 9, 0, kFamily}})),
              (Words{"sm_90a", "compute_100f@9.0"}));
}

TEST(CudaCodeInFiles, ReadsEveryContainerOfASection) {
    EXPECT_EQ(read(cuda_code, std::string(24, '\0') + fatbin({{2, 70}}) + std::string(200, '\0') +
                                  fatbin({}) + fatbin({{2, 80}})),
              (Words{"sm_70", "sm_80"}));
    EXPECT_EQ(read(cuda_code, ""), Words{});
    EXPECT_EQ(read(cuda_code, std::string(100000, 'x')), Words{});
}

TEST(HipCodeInFiles, ReportsTargetsWithTheirFeatures) {
    EXPECT_EQ(read(hip_code, bundle({"host-x86_64-unknown-linux--",
                                     "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
                                     "hip-amdgcn-amd-amdhsa-gfx1100"}) +
                                 bundle({"hipv4-amdgcn-amd-amdhsa--gfx11-generic"})),
              (Words{"gfx90a:sramecc+:xnack-", "gfx1100", "gfx11-generic"}));
}

TEST(HipCodeInFiles, AreDecompressedAsFarAsTheirTargetsGo) {
    auto plain = bundle({"hipv4-amdgcn-amd-amdhsa--gfx942"});
    plain.resize(std::size_t{4} << 20U, 'x');
    std::string packed(ZSTD_compressBound(plain.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
    const auto lead = "CCOB" + bytes(std::uint16_t{3}) + bytes(std::uint16_t{1});
    const auto whole = lead + bytes(std::uint64_t{32 + packed.size()}) +
                       bytes(std::uint64_t{plain.size()}) + bytes(std::uint64_t{0}) + packed;
    EXPECT_EQ(read(hip_code, whole + std::string(4096, '\0') + whole), Words{"gfx942"});
    auto broken = whole;
    broken.replace(32, 4, "none");
    TextPieces file{broken};
    EXPECT_FALSE(hip_code(file, 0, broken.size()));
}

TEST(GpuCodeInFiles, IsRefusedWhereItContradictsItself) {
    auto image = fatbin({{2, 86}});
    image[8] = '\x7f';  // the header claims that the container is longer than the section
    auto payload = fatbin({{2, 86}});
    payload[16 + 12] = '\x7f';  // the image claims to be longer than its container
    auto targets = bundle({"hip-amdgcn-amd-amdhsa-gfx906"});
    targets[24 + 7] = '\x7f';
    const std::string compressed = "CCOB" + bytes(std::uint16_t{9}) + bytes(std::uint16_t{0});
    for (const auto& [reader, text] : {std::pair<Reader, std::string>{cuda_code, image},
                                       {cuda_code, payload},
                                       {hip_code, targets},
                                       {hip_code, compressed + std::string(40, '\0')}}) {
        TextPieces file{text};
        const auto code = reader(file, 0, text.size());
        ASSERT_FALSE(code);
        EXPECT_EQ(code.error().code, ErrorCode::Malformed);
    }
}

TEST(GpuCodeInFiles, MayBeCutAtEachByte) {
    const auto cuda = fatbin({{2, 86}, {1, 75, 9, 1}}) + fatbin({{2, 90}});
    const auto hip = bundle({"hip-amdgcn-amd-amdhsa-gfx906"});
    for (std::size_t size = 0; size < cuda.size(); ++size) {
        TextPieces file{cuda.substr(0, size)};
        (void)cuda_code(file, 0, size);
        (void)cuda_code(file, 0, cuda.size());  // the section claims to be longer than the file
    }
    for (std::size_t size = 0; size < 200; ++size) {
        TextPieces file{hip.substr(0, size)};
        (void)hip_code(file, 0, size);
        (void)hip_code(file, 0, hip.size());
    }
}

}  // namespace gpu_code_test
}  // namespace gpuprobe
