// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"
#include "base/version.h"
#include "policy/rules.h"
#include "policy/truth.h"
#include "report/api_table.h"
#include "report/outcome.h"
#include "report/report.h"

/// The facts about a machine in one table. Terms in profiles, requests and manifests use this
/// table, and text templates and exports use it, too. docs/applications.md lists the facts that a
/// term may name.
namespace gpuprobe::inline policy {

/// The facts, in the order in which answers contain reasons about them.
enum class FactId : std::uint8_t {
    // host
    Libc,
    Glibc,
    Kernel,
    CpuLevel,
    CpuFeature,
    Library,
    Python,
    L4t,
    HostMemory,
    Arch,
    Container,
    Os,
    Platform,
    Vendors,
    VgaVendors,
    Wsl,
    // GPU
    Alternatives,  ///< several alternative terms, which are about other facts
    Usable,        ///< whether an API works; see Facts::usable(), which needs the API
    Vendor,
    Form,
    Driver,
    ComputeCapability,
    Cuda,
    GfxTarget,
    Rocm,
    VulkanLoader,
    Vulkan,
    VulkanFeature,
    VulkanExtension,
    IntelIp,
    Memory,
    PhysicalMemory,
    MaxBuffer,
    MaxStorageBuffer,
    Kind,
    Class,
    Device,
    ProductLine,
    KernelDriver,
    Gfx,
    VideoDecode,
    VideoEncode,
    VaDriver,
    ApiVersion,  ///< version of the first API; the other APIs follow in table order
    CudaCompat = ApiVersion + kApiCount,
    // The facts below are about a GPU as one backend sees it.
    Backend,
    Variant,
    Fp16,
    BFloat16,
    Int8,
    Storage16Bit,
    Verified,
};

/// The vendors that a manifest may name; "other" means any vendor that isn't in this list.
inline constexpr std::array kVariantVendors =
    std::to_array<std::string_view>({"nvidia", "amd", "intel", "apple", "arm", "qualcomm",
                                     "imagination", "broadcom", "mthreads", "other"});
/// The kinds of GPUs that a manifest may name. Display-only GPUs do not belong to any of these
/// kinds.
inline constexpr std::array kVariantForms =
    std::to_array<std::string_view>({"discrete", "integrated", "tegra", "virtual"});

/// Sorted lists of words that are known to be present (`yes`) or known to be absent (`no`).
struct WordSet {
    std::vector<std::string> yes = {};
    std::vector<std::string> no = {};
    /// Whether a word that is in neither list is known to be absent; otherwise, it is unknown
    /// whether the word is present.
    bool is_complete = true;

    WordSet() = default;
    /// Makes a set in which the given words are present and all other words are absent.
    explicit WordSet(std::vector<std::string> words);
    [[nodiscard]] Truth holds(std::string_view word) const;
    bool operator==(const WordSet&) const = default;
};

/// A fact, whose type is the type that its row declares; words are in lower case.
using AnyFact =
    std::variant<Fact<std::string>, Fact<Version>, Fact<Bytes>, Fact<bool>, Fact<WordSet>>;

// The alternatives of AnyFact.
enum class FactForm : std::uint8_t { Word, Version, Size, Flag, Words };

enum class FactScope : std::uint8_t { Host, Gpu, Backend };

class Facts;

/// A row of the fact table.
struct FactRow {
    FactId id = FactId::Libc;
    std::string_view key = {};
    FactForm type = FactForm::Word;
    FactScope scope = FactScope::Host;
    std::string_view too_low = {};   ///< reason code for a fact below a required minimum
    std::string_view too_high = {};  ///< reason code for a fact above an allowed maximum
    std::string_view unfit = {};     ///< reason code if any other kind of term fails
    bool is_nameable = true;         ///< whether a textual term may name the fact
    bool is_callers = false;      ///< whether a request may assume a value other than the report's
    std::optional<Api> api = {};  ///< the API that the fact is about
    AnyFact (*read)(const Facts& facts) = nullptr;
};

/// All facts, in the order of FactId.
std::span<const FactRow> fact_rows();
/// The row of the fact with the key `key`; null if no term may name the fact.
const FactRow* find_fact(std::string_view key);
const FactRow& row_of(FactId id);

/// The facts about one subject: a machine, one of its GPUs, or a GPU as seen by one backend. Each
/// fact is read from the report when it is used for the first time. Not thread-safe.
class Facts {
public:
    struct Subject {
        const Report& report;
        const Gpu* gpu = nullptr;  // borrowed; null if the subject is the machine
        /// gpuprobe's name for the backend; empty if the subject isn't about a backend.
        std::string_view backend = {};
        std::optional<std::string> backend_word = {};  ///< the application's name for the backend
        std::optional<std::string> variant = {};       ///< the variant that is or will be installed
        /// A platform that replaces the report's platform, such as "darwin-arm64".
        std::optional<std::string> platform = {};
        const Rules* rules = nullptr;  // borrowed; null means Rules::current()
    };
    explicit Facts(Subject subject) : subject_{std::move(subject)} {}

    [[nodiscard]] const Subject& subject() const { return subject_; }
    [[nodiscard]] const Report& report() const { return subject_.report; }
    [[nodiscard]] const Gpu* gpu() const { return subject_.gpu; }
    [[nodiscard]] const Rules& rules() const;

    /// The value of a fact, which is read from the report on first use.
    [[nodiscard]] const AnyFact& at(FactId id) const;
    template <class T>
    [[nodiscard]] const Fact<T>& get(FactId id) const {
        return std::get<Fact<T>>(at(id));
    }
    [[nodiscard]] const Fact<Version>& version(FactId id) const { return get<Version>(id); }

    /// Whether the API's backend is usable on the GPU, according to the report; nullopt if unknown.
    [[nodiscard]] std::optional<bool> usable(Api api) const;
    /// Whether the API's backend has computed a verified result on the GPU.
    [[nodiscard]] bool verified(Api api) const;

private:
    Subject subject_;
    mutable std::array<std::optional<AnyFact>, static_cast<std::size_t>(FactId::Verified) + 1>
        known_ = {};
};

/// The value of the fact in words for answers; empty if the fact is unknown or absent.
std::vector<std::string> words_of(const AnyFact& fact);
/// Whether the fact is known. A fact that is known to be absent counts as known.
bool is_probed(const AnyFact& fact);

/// Whether no term can distinguish the two GPUs, because all GPU facts and the usability of all
/// APIs are equal.
bool is_like(const Facts& left, const Facts& right);

/// The facts about one machine that manifests and exports use.
struct MachineFacts {
    Facts host;
    /// The GPUs except display-only GPUs, best first; at most kMaxVariantGpus.
    std::vector<Facts> gpus = {};
    std::size_t left_out = 0;  ///< number of GPUs beyond kMaxVariantGpus
};
constexpr std::size_t kMaxVariantGpus = 64;
/// The machine's host and GPUs as subjects of terms. Borrows both arguments.
MachineFacts machine_facts(const Report& report, const Rules& rules);

/// Memory on which a build can rely: what one process can allocate (`allocatable`); if no driver
/// reports that size, the memory on the board. All minimums for memory are compared with this size.
Fact<Bytes> memory_for_use(const GpuMemory& memory);
Fact<Bytes> memory_for_use(const Gpu& gpu);

/// The operating system and processor with the names that Go and container images use, such as
/// "linux-amd64"; nullopt if the report lacks one of them.
std::optional<std::string> platform_of(const Host& host);

}  // namespace gpuprobe::inline policy
