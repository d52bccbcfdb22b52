// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/version.h"
#include "report/api_table.h"

/// Reads from an ELF file which libraries a program or shared library needs and for which GPUs it
/// has kernels.
///
/// The files may be malicious. Files aren't mapped into memory, so that a file that shrinks causes
/// a short read instead of a signal. Each size and offset is compared with the size of the file,
/// and a ReadAllowance limits how much is read in total.
namespace gpuprobe::inline inventory {

/// Random access to the bytes of a file.
class Pieces {
public:
    virtual ~Pieces() = default;
    /// The file's size in bytes.
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    /// Reads `count` bytes, or fewer at the end of the file. Errors: Io, and TooLarge if the
    /// ReadAllowance is used up.
    virtual Result<std::string> read(std::uint64_t offset, std::uint64_t count) = 0;
    /// Reads exactly `count` bytes. Errors: the same as for read(); Malformed if the file has fewer
    /// bytes.
    Result<std::string> exactly(std::uint64_t offset, std::uint64_t count);
};

/// The number of bytes that may still be read from one file or from several files together.
struct ReadAllowance {
    std::uint64_t bytes = 1ULL << 30U;
};

/// Reads a file with pread(2), in pieces of at most kMaxPiece bytes.
class FilePieces final : public Pieces {
public:
    /// `fd` is a descriptor of a regular file with `size` bytes. `allowance` is borrowed and must
    /// outlive this object.
    FilePieces(UniqueFd fd, std::uint64_t size, ReadAllowance& allowance)
        : fd_{std::move(fd)}, size_{size}, allowance_{allowance} {}
    [[nodiscard]] std::uint64_t size() const override { return size_; }
    Result<std::string> read(std::uint64_t offset, std::uint64_t count) override;

private:
    UniqueFd fd_;
    std::uint64_t size_ = 0;
    ReadAllowance& allowance_;
    std::uint64_t start_ = 0;  ///< position of `window_` in the file
    std::string window_ = {};
};

constexpr std::uint64_t kMaxPiece = 1U << 20U;

/// The libraries that a program or shared library needs, and the GPUs for which it has kernels.
struct ObjectFile {
    std::string soname = {};               ///< the soname; empty if the file has no soname
    std::vector<std::string> needed = {};  ///< sonames of the needed libraries
    /// The unchanged folders from DT_RUNPATH or, if the file has no DT_RUNPATH, from DT_RPATH.
    std::vector<std::string> search = {};
    std::optional<Version> glibc = {};  ///< the newest symbol version of glibc that the file needs
    /// The GPU targets, such as "sm_86", "compute_90@9.1", "gfx1100" or "spirv". The
    /// targets of Intel's native code aren't parsed; the set contains the API's name instead.
    std::set<std::string> code = {};
    std::set<Api> loads = {};  ///< APIs whose loader library is named in the constants of the file
    bool operator==(const ObjectFile&) const = default;
};

/// Which parts of a file are read: only the needed libraries, or also the GPU kernels and
/// constants.
enum class ReadDepth { Needs, Code };

/// Parses an ELF file; nullopt for any file except a 64-bit little-endian ELF program or shared
/// library. Errors: Malformed if the file contradicts itself; Io; TooLarge.
///
/// Source of the ELF layout: elf(5), System V ABI "Dynamic Section" and LSB "Symbol Versioning".
Result<std::optional<ObjectFile>> read_object(Pieces& file, ReadDepth depth);

/// The GPU targets in a section with CUDA fat binaries or HIP offload bundles. The section has
/// `size` bytes and starts at `offset`. Errors: the same as for read_object().
///
/// Sources for fat binaries: n-eiling/cuda-fatbin-decompression@9b194a9a fatbin-decompress.h and
/// GrigoryEvko/nvopen-tools@3b50e20e fatbin/FORMAT_SPECIFICATION.md; the bits for architectures
/// with "a" and "f" were read from the output of nvcc 13.0. Sources for bundles: LLVM's
/// ClangOffloadBundler documentation; for compressed bundles,
/// clang/include/clang/Driver/OffloadBundler.h.
Result<std::set<std::string>> cuda_code(Pieces& file, std::uint64_t offset, std::uint64_t size);
Result<std::set<std::string>> hip_code(Pieces& file, std::uint64_t offset, std::uint64_t size);

}  // namespace gpuprobe::inline inventory
