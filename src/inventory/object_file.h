// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/dotted_version.h"
#include "base/handle.h"
#include "base/result.h"
#include "report/api_table.h"

/// What a program or shared library needs, and which GPUs it has code for, read from its file.
///
/// Such files are as hostile as any download. Nothing is mapped into memory, so a file that becomes
/// shorter is a short read; each size and offset is held against the file; and all reading of one
/// file counts against one allowance.
namespace gpuprobe::inline inventory {

/// A file that is read in pieces.
class Pieces {
public:
    virtual ~Pieces() = default;
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    /// So many bytes, or what the file still has. Errors: Io; TooLarge when the allowance is used
    /// up.
    virtual Result<std::string> read(std::uint64_t offset, std::uint64_t count) = 0;
    /// Exactly so many. Errors: as read(); Malformed where the file has fewer.
    Result<std::string> exactly(std::uint64_t offset, std::uint64_t count);
};

/// What may be read in all, of one file or many.
struct ReadAllowance {
    std::uint64_t bytes = 1ULL << 30U;
};

/// Reads a file's pieces with pread(2), each up to kMaxPiece.
class FilePieces final : public Pieces {
public:
    /// `fd` is a regular file of that size. `allowance` is borrowed for this object's life.
    FilePieces(UniqueFd fd, std::uint64_t size, ReadAllowance& allowance)
        : fd_{std::move(fd)}, size_{size}, allowance_{allowance} {}
    [[nodiscard]] std::uint64_t size() const override { return size_; }
    Result<std::string> read(std::uint64_t offset, std::uint64_t count) override;

private:
    UniqueFd fd_;
    std::uint64_t size_ = 0;
    ReadAllowance& allowance_;
    std::uint64_t start_ = 0;  ///< of `window_` in the file
    std::string window_ = {};
};

constexpr std::uint64_t kMaxPiece = 1U << 20U;

struct ObjectFile {
    std::string soname = {};               ///< empty where it has none
    std::vector<std::string> needed = {};  ///< sonames
    std::vector<std::string> search = {};  ///< of DT_RUNPATH, or else DT_RPATH, as written
    std::optional<Version> glibc = {};     ///< the newest version of a symbol that it needs
    /// "sm_86", "compute_90@9.1", "gfx1100", "spirv"; for Intel's native code, whose GPUs
    /// are not read, its API.
    std::set<std::string> code = {};
    std::set<Api> loads = {};  ///< APIs whose loader it names in its constants
    bool operator==(const ObjectFile&) const = default;
};

/// Whether the code and constants of a file are read, or only what it needs.
enum class ReadDepth { Needs, Code };

/// nullopt for what is no 64-bit little-endian ELF program or shared library: another kind of file.
/// Errors: Malformed for one that contradicts itself, Io, TooLarge.
///
/// Source of the ELF layout: elf(5), System V ABI "Dynamic Section" and LSB "Symbol Versioning".
Result<std::optional<ObjectFile>> read_object(Pieces& file, ReadDepth depth);

/// The words for the code in a section that holds CUDA fat binaries or HIP's offload bundles, from
/// `offset` on for `size` bytes. Errors: as read_object().
///
/// Sources: of fat binaries, n-eiling/cuda-fatbin-decompression@9b194a9a fatbin-decompress.h and
/// GrigoryEvko/nvopen-tools@3b50e20e fatbin/FORMAT_SPECIFICATION.md; the bits for architectures
/// with "a" and "f" were read from what nvcc 13.0 writes. Of bundles, LLVM's ClangOffloadBundler
/// documentation; of compressed ones, clang/include/clang/Driver/OffloadBundler.h.
Result<std::set<std::string>> cuda_code(Pieces& file, std::uint64_t offset, std::uint64_t size);
Result<std::set<std::string>> hip_code(Pieces& file, std::uint64_t offset, std::uint64_t size);

}  // namespace gpuprobe::inline inventory
