// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <zlib.h>
#include <zstd.h>

#include "base/files.h"
#include "base/text.h"
#include "inventory/object_file.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxImages = 1U << 18U;        ///< limit for images in one section
constexpr std::size_t kMaxTargets = 256;             ///< limit for different targets in one section
constexpr std::uint64_t kMaxGap = 1U << 16U;         ///< limit for bytes between two containers
constexpr std::uint64_t kMaxBundleHead = 1U << 16U;  ///< limit for bytes of the table of targets
constexpr std::uint64_t kMaxEntries = 256;           ///< limit for targets in one bundle

constexpr std::string_view kFatbinMagic = "\x50\xED\x55\xBA";
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";

Error malformed_code(std::string text) {
    return {ErrorCode::Malformed, std::move(text)};
}

template <class T>
T number_at(std::string_view bytes, std::size_t offset) {
    T number{};
    std::memcpy(&number, bytes.data() + offset, sizeof number);
    return number;
}

/// A section of a file. Positions are relative to the start of the section.
struct Section {
    Pieces& file;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;

    /// Reads up to `count` bytes, but fewer at the end of the section.
    Result<std::string> read(std::uint64_t at, std::uint64_t count) const {
        return at >= size ? std::string{} : file.read(offset + at, std::min(count, size - at));
    }
    /// Reads exactly `count` bytes. Errors: Malformed if the section has fewer bytes left.
    Result<std::string> exactly(std::uint64_t at, std::uint64_t count) const {
        if (at > size || count > size - at)
            return malformed_code("GPU code: extends past its section");
        return file.exactly(offset + at, count);
    }
    /// The position of the next mark whose distance from `at` is at most kMaxGap; the end of the
    /// section if there is no such mark. Searches 64 bytes first, because the next container is
    /// usually near.
    Result<std::uint64_t> next(std::uint64_t at,
                               std::initializer_list<std::string_view> marks) const {
        for (const auto reach : {std::uint64_t{64}, kMaxGap}) {
            const auto bytes = TRY(read(at, reach));
            auto found = std::string::npos;
            for (const auto mark : marks)
                found = std::min(found, bytes.find(mark));
            if (found != std::string::npos)
                return at + found;
        }
        return size;
    }
};

Status add_word(std::string word, std::set<std::string>& out) {
    out.insert(std::move(word));
    return out.size() > kMaxTargets ? Status{malformed_code("GPU code: has more than 256 targets")}
                                    : Done{};
}

/// Adds "sm_90a" for a cubin, "compute_90@9.1" for PTX, and nothing for other kinds of images.
Status add_cuda_image(std::string_view head, std::set<std::string>& out) {
    constexpr std::uint16_t kPtx = 1;
    constexpr std::uint16_t kCubin = 2;
    constexpr std::uint64_t kSpecific = 1U << 20U;
    constexpr std::uint64_t kFamily = 1U << 21U;
    const auto kind = number_at<std::uint16_t>(head, 0);
    const auto minor = number_at<std::uint16_t>(head, 24);
    const auto major = number_at<std::uint16_t>(head, 26);
    const auto arch = number_at<std::uint32_t>(head, 28);
    const auto flags = number_at<std::uint64_t>(head, 40);
    if ((kind != kPtx && kind != kCubin) || arch < 10 || arch > 999)
        return Done{};
    const auto suffix = (flags & kSpecific) != 0 ? "a" : (flags & kFamily) != 0 ? "f" : "";
    auto word = (kind == kPtx ? "compute_" : "sm_") + std::to_string(arch) + suffix;
    if (kind == kPtx && major > 0)
        word += "@" + std::to_string(major) + "." + std::to_string(minor);
    return add_word(std::move(word), out);
}

/// Adds the images of a container. The images are stored one after another from `at` to `end`.
Status add_cuda_images(const Section& section,
                       std::uint64_t at,
                       std::uint64_t end,
                       std::size_t& left,
                       std::set<std::string>& out) {
    constexpr std::uint64_t kHead = 48;  // the part of the image's header that is read
    while (at < end && end - at >= kHead) {
        if (left-- == 0)
            return malformed_code("CUDA code: has more than 262144 images");
        const auto head = TRY(section.exactly(at, kHead));
        const std::uint64_t length = number_at<std::uint32_t>(head, 4);
        const auto payload = number_at<std::uint64_t>(head, 8);
        if (length < kHead || length > end - at || payload > end - at - length)
            return malformed_code("CUDA code: an image extends past its container");
        TRY(add_cuda_image(head, out));
        at += length + payload;
    }
    return Done{};
}

/// Adds "gfx1100" for "hipv4-amdgcn-amd-amdhsa--gfx1100", and nothing for the host's entry.
Status add_hip_target(std::string_view id, std::set<std::string>& out) {
    const auto start = std::min(id.find("gfx"), id.find("amdgcnspirv"));
    if (!id.starts_with("hip") || start == std::string_view::npos)
        return Done{};
    const auto word = id.substr(start);
    const bool is_plain = std::ranges::all_of(word, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' || c == '+' || c == '-';
    });
    return is_plain ? add_word(std::string{word}, out) : Done{};
}

/// Adds the targets that the header of a bundle lists. Returns the length of the bundle.
Result<std::uint64_t> add_bundle(std::string_view head, std::set<std::string>& out) {
    constexpr std::size_t kRow = 24;
    auto at = kBundleMagic.size();
    if (head.size() < at + 8)
        return malformed_code("HIP code: a bundle is cut short");
    const auto count = number_at<std::uint64_t>(head, at);
    if (count > kMaxEntries)
        return malformed_code("HIP code: a bundle has more than 256 targets");
    at += 8;
    std::uint64_t end = at;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (head.size() - at < kRow)
            return malformed_code("HIP code: a bundle is cut short");
        // A row of the table consists of the offset and size of the image, the length of the
        // target's name, and the name.
        const auto offset = number_at<std::uint64_t>(head, at);
        const auto size = number_at<std::uint64_t>(head, at + 8);
        const auto length = number_at<std::uint64_t>(head, at + 16);
        at += kRow;
        if (length > head.size() - at || offset > UINT64_MAX - size)
            return malformed_code("HIP code: a target's name is cut short");
        TRY(add_hip_target(head.substr(at, length), out));
        at += length;
        end = std::max({end, offset + size, std::uint64_t{at}});
    }
    return end;
}

/// The first kMaxBundleHead bytes of zlib-compressed data: enough for the table of targets.
Result<std::string> inflated(std::string_view input) {
    std::string out(kMaxBundleHead, '\0');
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK)
        return malformed_code("HIP code: too little memory to decompress the code");
    const CHandle<z_stream, inflateEnd> owner{&stream};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    // Z_BUF_ERROR is expected, because the input is only the start of the data, or because the
    // output is full.
    const auto result = inflate(&stream, Z_SYNC_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return malformed_code("HIP code: the compressed data is corrupt");
    out.resize(out.size() - stream.avail_out);
    return out;
}

/// The first kMaxBundleHead bytes of zstd-compressed data.
Result<std::string> unzstded(std::string_view input) {
    std::string out(kMaxBundleHead, '\0');
    const CHandle<ZSTD_DStream, ZSTD_freeDStream> stream{ZSTD_createDStream()};
    if (!stream)
        return malformed_code("HIP code: too little memory to decompress the code");
    ZSTD_inBuffer from{input.data(), input.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (from.pos < from.size && to.pos < to.size) {
        const auto left = ZSTD_decompressStream(stream.get(), &to, &from);
        if (ZSTD_isError(left) != 0)
            return malformed_code("HIP code: the compressed data is corrupt");
        if (left == 0)
            break;
    }
    out.resize(to.pos);
    return out;
}

/// Adds the targets of a compressed bundle, and returns the bundle's length. The bundle's header
/// has 20, 24 or 32 bytes in versions 1, 2 and 3.
Result<std::uint64_t> add_compressed(const Section& section,
                                     std::uint64_t at,
                                     std::set<std::string>& out) {
    constexpr std::uint64_t kInput = 1U << 18U;
    constexpr std::uint64_t kHeads[] = {20, 24, 32};
    const auto common = TRY(section.exactly(at, 8));
    const auto version = number_at<std::uint16_t>(common, 4);
    const auto method = number_at<std::uint16_t>(common, 6);
    if (version < 1 || version > 3 || method > 1)
        return malformed_code("HIP code: unknown compression");
    const auto length = kHeads[version - 1];
    const auto head = TRY(section.exactly(at, length));
    // The header of version 1 does not contain the bundle's length.
    const auto total = version == 1   ? section.size - at
                       : version == 2 ? std::uint64_t{number_at<std::uint32_t>(head, 8)}
                                      : number_at<std::uint64_t>(head, 8);
    if (total < length || total > section.size - at)
        return malformed_code("HIP code: a compressed bundle extends past its section");
    const auto input = TRY(section.exactly(at + length, std::min(total - length, kInput)));
    const auto start = TRY(method == 0 ? inflated(input) : unzstded(input));
    if (!start.starts_with(kBundleMagic))
        return malformed_code("HIP code: a compressed bundle contains no bundle");
    TRY(add_bundle(start, out));
    return total;
}

/// Adds the targets of a bundle, which may be compressed. Returns the length of the bundle in the
/// section.
Result<std::uint64_t> add_any_bundle(const Section& section,
                                     std::uint64_t at,
                                     std::set<std::string>& out) {
    const auto head = TRY(section.read(at, kMaxBundleHead));
    return head.starts_with(kCompressedMagic) ? add_compressed(section, at, out)
                                              : add_bundle(head, out);
}

}  // namespace

Result<std::set<std::string>> cuda_code(Pieces& file, std::uint64_t offset, std::uint64_t size) {
    constexpr std::uint64_t kHead = 16;
    const Section section{file, offset, size};
    std::set<std::string> code;
    auto left = kMaxImages;
    auto at = TRY(section.next(0, {kFatbinMagic}));
    while (at < size) {
        const auto head = TRY(section.exactly(at, kHead));
        // The header of a container: magic number (4 bytes), version (2), header length (2), length
        // of all images (8).
        const std::uint64_t length = number_at<std::uint16_t>(head, 6);
        const auto images = number_at<std::uint64_t>(head, 8);
        if (length < kHead || length > size - at || images > size - at - length)
            return malformed_code("CUDA code: a container extends past its section");
        if (left-- == 0)
            return malformed_code("CUDA code: has more than 262144 images");
        TRY(add_cuda_images(section, at + length, at + length + images, left, code));
        at = TRY(section.next(at + length + images, {kFatbinMagic}));
    }
    return code;
}

Result<std::set<std::string>> hip_code(Pieces& file, std::uint64_t offset, std::uint64_t size) {
    const Section section{file, offset, size};
    std::set<std::string> code;
    auto left = kMaxImages;
    auto at = TRY(section.next(0, {kBundleMagic, kCompressedMagic}));
    while (at < size) {
        if (left-- == 0)
            return malformed_code("HIP code: has more than 262144 bundles");
        const auto length = TRY(add_any_bundle(section, at, code));
        if (length > size - at)
            return malformed_code("HIP code: a bundle extends past its section");
        at = TRY(section.next(at + length, {kBundleMagic, kCompressedMagic}));
    }
    return code;
}

}  // namespace gpuprobe::inline inventory
