// SPDX-License-Identifier: Apache-2.0
#include "inventory/object_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <elf.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "report/api_table.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxSegments = 256;
constexpr std::size_t kMaxSections = 4096;
constexpr std::size_t kMaxDynamic = 4096;            ///< limit for entries of the dynamic section
constexpr std::size_t kMaxNeeded = 256;              ///< limit for needed libraries
constexpr std::size_t kMaxNeededName = 256;          ///< limit for bytes of a needed library's name
constexpr std::size_t kMaxSearch = 4096;             ///< limit for bytes of a RUNPATH
constexpr std::size_t kMaxVersions = 1024;           ///< limit for versions of symbols
constexpr std::uint64_t kMaxConstants = 16U << 20U;  ///< limit for bytes of a section to search

Error malformed_object(std::string text) {
    return {ErrorCode::Malformed, std::move(text)};
}

template <class T>
T record_at(std::string_view bytes, std::size_t offset) {
    T record;
    std::memcpy(&record, bytes.data() + offset, sizeof record);
    return record;
}

template <class T>
Result<std::vector<T>> table(Pieces& file, std::uint64_t offset, std::size_t count) {
    const auto bytes = TRY(file.exactly(offset, count * sizeof(T)));
    std::vector<T> rows;
    for (std::size_t i = 0; i < count; ++i)
        rows.push_back(record_at<T>(bytes, i * sizeof(T)));
    return rows;
}

/// A NUL-terminated string; "" if the string is longer than the limit or not printable, because
/// such a string can't be the name of an existing library or section.
Result<std::string> text_at(Pieces& file, std::uint64_t offset, std::size_t limit) {
    auto text = TRY(file.read(offset, limit + 1));
    const auto end = text.find('\0');
    text.resize(end == std::string::npos ? 0 : end);
    return scrubbed(text, limit) == text ? text : std::string{};
}

/// Parses one ELF file; call open(), then read_dynamic(), then read_sections().
class ElfReader {
public:
    explicit ElfReader(Pieces& file) : file_{file} {}

    /// Reads the headers; returns false if the file isn't an ELF file of the supported kind.
    Result<bool> open() {
        const auto head = TRY(file_.read(0, sizeof(Elf64_Ehdr)));
        if (head.size() < sizeof(Elf64_Ehdr) || !head.starts_with(ELFMAG))
            return false;
        header_ = record_at<Elf64_Ehdr>(head, 0);
        const bool is_ours = header_.e_ident[EI_CLASS] == ELFCLASS64 &&
                             header_.e_ident[EI_DATA] == ELFDATA2LSB &&
                             (header_.e_machine == EM_X86_64 || header_.e_machine == EM_AARCH64) &&
                             (header_.e_type == ET_DYN || header_.e_type == ET_EXEC);
        if (!is_ours)
            return false;
        if (header_.e_phnum > kMaxSegments ||
            (header_.e_phnum > 0 && header_.e_phentsize != sizeof(Elf64_Phdr)))
            return malformed_object("program headers: too many, or of an unsupported size");
        segments_ = TRY(table<Elf64_Phdr>(file_, header_.e_phoff, header_.e_phnum));
        return true;
    }

    /// Reads the needed libraries from the dynamic section.
    Status read_dynamic(ObjectFile& out) {
        const auto found =
            std::ranges::find(segments_, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
        if (found == segments_.end())
            return Done{};  // the file is statically linked
        const auto count =
            std::min<std::uint64_t>(found->p_filesz / sizeof(Elf64_Dyn), kMaxDynamic);
        entries_ = TRY(table<Elf64_Dyn>(file_, found->p_offset, count));
        const auto end = std::ranges::find(entries_, Elf64_Sxword{DT_NULL}, &Elf64_Dyn::d_tag);
        entries_.erase(end, entries_.end());
        TRY(read_names(out));
        return read_versions(out);
    }

    /// Reads the GPU kernels and constants from the sections.
    Status read_sections(ObjectFile& out) {
        if (header_.e_shnum == 0 || header_.e_shstrndx >= header_.e_shnum)
            return Done{};  // kernels can't be found without section headers
        if (header_.e_shnum > kMaxSections || header_.e_shentsize != sizeof(Elf64_Shdr))
            return malformed_object("section headers: too many, or of an unsupported size");
        const auto sections = TRY(table<Elf64_Shdr>(file_, header_.e_shoff, header_.e_shnum));
        const auto& names = sections[header_.e_shstrndx];
        for (const auto& section : sections) {
            if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
                continue;
            const auto name = TRY(text_at(file_, names.sh_offset + section.sh_name, 128));
            TRY(read_section(name, section, out));
        }
        return Done{};
    }

private:
    /// Translates a virtual address to a file offset.
    [[nodiscard]] std::optional<std::uint64_t> place_of(std::uint64_t address) const {
        for (const auto& segment : segments_)
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return segment.p_offset + (address - segment.p_vaddr);
        return std::nullopt;
    }

    /// The value of the first dynamic entry with the given tag.
    [[nodiscard]] std::optional<std::uint64_t> value_of(Elf64_Sxword tag) const {
        const auto found = std::ranges::find(entries_, tag, &Elf64_Dyn::d_tag);
        return found == entries_.end() ? std::nullopt : std::optional{found->d_un.d_val};
    }

    /// Reads a name from the string table of the dynamic section.
    Result<std::string> name_at(std::uint64_t offset, std::size_t limit) {
        const auto address = value_of(DT_STRTAB);
        const auto place = address ? place_of(*address) : std::nullopt;
        if (!place || offset >= file_.size())
            return malformed_object("dynamic section: the string table is outside the file");
        return text_at(file_, *place + offset, limit);
    }

    Status read_names(ObjectFile& out) {
        for (const auto& entry : entries_) {
            if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME)
                continue;
            auto name = TRY(name_at(entry.d_un.d_val, kMaxNeededName));
            if (entry.d_tag == DT_SONAME)
                out.soname = std::move(name);
            else if (out.needed.size() == kMaxNeeded)
                return malformed_object("dynamic section: needs more than 256 libraries");
            else if (!name.empty())
                out.needed.push_back(std::move(name));
        }
        // If both DT_RUNPATH and DT_RPATH exist, the dynamic linker ignores the older DT_RPATH.
        const auto run_path = value_of(DT_RUNPATH);
        if (const auto search = run_path ? run_path : value_of(DT_RPATH)) {
            const auto text = TRY(name_at(*search, kMaxSearch));
            for (const auto piece : split(std::string_view{text}, ':'))
                if (!piece.empty())
                    out.search.emplace_back(piece);
        }
        return Done{};
    }

    /// Reads the symbol versions, which are a linked list of libraries, each with a linked list of
    /// versions. `left` limits the length of both lists, which may be circular in a malicious file.
    Status read_versions(ObjectFile& out) {
        const auto address = value_of(DT_VERNEED);
        auto place = address ? place_of(*address) : std::nullopt;
        std::size_t left = kMaxVersions;
        while (place && left > 0) {
            const auto need = TRY(table<Elf64_Verneed>(file_, *place, 1)).front();
            auto at = *place + need.vn_aux;
            for (std::uint16_t i = 0; i < need.vn_cnt && left > 0; ++i, --left) {
                const auto version = TRY(table<Elf64_Vernaux>(file_, at, 1)).front();
                note_version(TRY(name_at(version.vna_name, kMaxNeededName)), out);
                if (version.vna_next == 0)
                    break;
                at += version.vna_next;
            }
            place = need.vn_next == 0 ? std::nullopt : std::optional{*place + need.vn_next};
            --left;
        }
        return Done{};
    }

    /// Keeps the version if it is the newest glibc version that was found until now.
    static void note_version(std::string_view name, ObjectFile& out) {
        constexpr std::string_view kLead = "GLIBC_";
        if (!name.starts_with(kLead))
            return;
        const auto version = parse_text(name.substr(kLead.size()), std::type_identity<Version>{});
        if (version && (!out.glibc || *out.glibc < *version))
            out.glibc = version;
    }

    /// Reads a section in the way that its name indicates. The names of sections are chosen by the
    /// compilers (nvcc, hipcc and clang, SYCL compilers).
    Status read_section(std::string_view name, const Elf64_Shdr& section, ObjectFile& out) {
        if (name == ".nv_fatbin" || name == "__nv_relfatbin")
            out.code.merge(TRY(cuda_code(file_, section.sh_offset, section.sh_size)));
        else if (name == ".hip_fatbin" || name == "__CLANG_OFFLOAD_BUNDLE__")
            out.code.merge(TRY(hip_code(file_, section.sh_offset, section.sh_size)));
        else if (name.starts_with("__CLANG_OFFLOAD_BUNDLE__sycl-spir64"))
            out.code.insert(sycl_code(name));
        else if (name == ".rodata")
            return find_loaders(section, out);
        return Done{};
    }

    /// The target of a SYCL image. Each SYCL target has a section whose name contains the target.
    static std::string sycl_code(std::string_view section) {
        constexpr std::string_view kPortable = "spirv";
        const bool is_native = section.find("spir64_") != std::string_view::npos;
        return std::string{is_native ? info_of(*api_of_code(kPortable)).word : kPortable};
    }

    /// Searches a section of constants for the names of loader libraries: if a program loads a
    /// library with dlopen(), the section contains the library's name. The section is read in
    /// overlapping pieces, so that a name at the border of two pieces is found.
    Status find_loaders(const Elf64_Shdr& section, ObjectFile& out) {
        constexpr std::uint64_t kOverlap = 64;
        const auto end = std::min(section.sh_size, kMaxConstants);
        for (std::uint64_t at = 0; at < end; at += kMaxPiece - kOverlap) {
            const auto piece =
                TRY(file_.read(section.sh_offset + at, std::min(kMaxPiece, end - at)));
            for (const auto* api : computing_apis()) {
                const auto loader = words(api->libraries).front();
                if (!out.loads.contains(api->id) && piece.find(loader) != std::string::npos)
                    out.loads.insert(api->id);
            }
            if (piece.empty())
                break;
        }
        return Done{};
    }

    Pieces& file_;
    Elf64_Ehdr header_ = {};
    std::vector<Elf64_Phdr> segments_ = {};
    std::vector<Elf64_Dyn> entries_ = {};
};

}  // namespace

Result<std::string> Pieces::exactly(std::uint64_t offset, std::uint64_t count) {
    auto bytes = TRY(read(offset, count));
    if (bytes.size() != count)
        return malformed_object("byte " + std::to_string(offset) + ": past the end of the file");
    return bytes;
}

Result<std::string> FilePieces::read(std::uint64_t offset, std::uint64_t count) {
    constexpr std::uint64_t kAhead = 1U << 12U;
    if (offset >= size_ || count == 0)
        return std::string{};
    count = std::min(count, size_ - offset);
    if (count > kMaxPiece)
        return Error{ErrorCode::TooLarge, "a part is larger than 1 MiB"};
    // If the window does not contain all requested bytes, read more than was requested, because
    // headers are small and close together.
    if (offset < start_ || offset - start_ > window_.size() ||
        window_.size() - (offset - start_) < count) {
        const auto wanted = std::min(std::max(count, kAhead), size_ - offset);
        if (wanted > allowance_.bytes)
            return Error{ErrorCode::TooLarge, "more than 1 GiB would have to be read"};
        allowance_.bytes -= wanted;
        window_.resize(wanted);
        start_ = offset;
        const auto got = ::pread(fd_.get(), window_.data(), wanted, static_cast<off_t>(offset));
        if (got < 0)
            return Error{ErrorCode::Io, std::strerror(errno)};
        window_.resize(static_cast<std::size_t>(got));
    }
    return window_.substr(offset - start_, count);
}

Result<std::optional<ObjectFile>> read_object(Pieces& file, ReadDepth depth) {
    ElfReader reader{file};
    if (!TRY(reader.open()))
        return std::optional<ObjectFile>{};
    ObjectFile object;
    TRY(reader.read_dynamic(object));
    if (depth == ReadDepth::Code)
        TRY(reader.read_sections(object));
    return std::optional{std::move(object)};
}

}  // namespace gpuprobe::inline inventory
