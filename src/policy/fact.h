// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/dotted_version.h"
#include "policy/rules.h"
#include "policy/truth.h"
#include "report/api_table.h"
#include "report/outcome.h"
#include "report/report.h"

/// What can be asked of a machine: one table for the terms of profiles, requests and manifests, for
/// texts with facts in them, and for exports. docs/consumers.md lists those that a term may name.
namespace gpuprobe::inline policy {

/// In the order in which answers give their reasons.
enum class FactId : std::uint8_t {
    // of the host
    Libc,
    Glibc,
    Kernel,
    CpuLevel,
    CpuFeature,
    Library,
    L4t,
    HostMemory,
    Arch,
    Container,
    Os,
    Platform,
    Vendors,
    VgaVendors,
    Wsl,
    // of a GPU
    Usable,  ///< by API: Facts::usable()
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
    KernelDriver,
    Gfx,
    ApiVersion,  ///< of the first API; those of the others follow, in the order of the table
    CudaCompat = ApiVersion + kApiCount,
    // of a GPU as one backend uses it
    Backend,
    Fp16,
    BFloat16,
    Int8,
    Storage16Bit,
    Verified,
};

/// The vendors that a manifest may name; "other" is every vendor that is not among the rest.
inline constexpr std::array kVariantVendors =
    std::to_array<std::string_view>({"nvidia", "amd", "intel", "apple", "arm", "qualcomm",
                                     "imagination", "broadcom", "mthreads", "other"});
/// The forms that a manifest may name. Display adapters without compute are none of them.
inline constexpr std::array kVariantForms =
    std::to_array<std::string_view>({"discrete", "integrated", "tegra", "virtual"});

/// Sorted words, of which some are known, and some known not to be there.
struct WordSet {
    std::vector<std::string> yes = {};
    std::vector<std::string> no = {};
    bool is_complete = true;  ///< what is in neither is not there; otherwise nobody knows

    WordSet() = default;
    explicit WordSet(std::vector<std::string> words);
    [[nodiscard]] Truth holds(std::string_view word) const;
    bool operator==(const WordSet&) const = default;
};

/// A fact with the type that its row says; words are in lower case.
using AnyFact =
    std::variant<Fact<std::string>, Fact<Version>, Fact<Bytes>, Fact<bool>, Fact<WordSet>>;

enum class AskedType : std::uint8_t { Word, Version, Size, Flag, Words };  // AnyFact's alternatives

enum class FactScope : std::uint8_t { Host, Gpu, Backend };

class Facts;

struct FactRow {
    FactId id = FactId::Libc;
    std::string_view key = {};
    AskedType type = AskedType::Word;
    FactScope scope = FactScope::Host;
    std::string_view too_low = {};  ///< code of a floor that it does not reach
    std::string_view unfit = {};    ///< code of any other term that fails
    bool is_nameable = true;        ///< a term that is written as text may name it
    std::optional<Api> api = {};    ///< the API that it is about
    AnyFact (*read)(const Facts& facts) = nullptr;
};

/// The whole table, in the order of FactId.
std::span<const FactRow> fact_rows();
/// Null when no term may name that fact.
const FactRow* find_fact(std::string_view key);
const FactRow& row_of(FactId id);

/// What is known of one subject: a machine, or one GPU of it, or that as one backend uses it. Each
/// fact is read from the report when it is first asked for. Not for several threads at once.
class Facts {
public:
    struct Subject {
        const Report& report;
        const Gpu* gpu = nullptr;                      // borrowed; null for none
        std::string_view backend = {};                 ///< ours; empty for none in particular
        std::optional<std::string> backend_word = {};  ///< the consumer's name of it
        std::optional<std::string> platform = {};  ///< another than the report's: "darwin-arm64"
        const Rules* rules = nullptr;              // borrowed; null for those compiled in
    };
    explicit Facts(Subject subject) : subject_{std::move(subject)} {}

    [[nodiscard]] const Subject& subject() const { return subject_; }
    [[nodiscard]] const Report& report() const { return subject_.report; }
    [[nodiscard]] const Gpu* gpu() const { return subject_.gpu; }
    [[nodiscard]] const Rules& rules() const;

    [[nodiscard]] const AnyFact& at(FactId id) const;
    template <class T>
    [[nodiscard]] const Fact<T>& get(FactId id) const {
        return std::get<Fact<T>>(at(id));
    }
    [[nodiscard]] const Fact<Version>& version(FactId id) const { return get<Version>(id); }

    /// What the report says of the backend on an API; nullopt where nobody knows.
    [[nodiscard]] std::optional<bool> usable(Api api) const;
    /// Whether it has computed a checked result.
    [[nodiscard]] bool verified(Api api) const;

private:
    Subject subject_;
    mutable std::array<std::optional<AnyFact>, static_cast<std::size_t>(FactId::Verified) + 1>
        known_ = {};
};

/// The words of a fact as answers show them; none when it is not known or not there.
std::vector<std::string> words_of(const AnyFact& fact);
/// Whether it is known, be it that it is not there.
bool is_probed(const AnyFact& fact);

/// Whether no term tells the two apart: each fact of a GPU is the same, and what works on it.
bool is_like(const Facts& left, const Facts& right);

/// One machine as manifests and exports ask about it.
struct MachineFacts {
    Facts host;
    std::vector<Facts> gpus = {};  ///< best first, without display adapters, kMaxVariantGpus
    std::size_t left_out = 0;      ///< GPUs over that limit
};
constexpr std::size_t kMaxVariantGpus = 64;
MachineFacts machine_facts(const Report& report, const Rules& rules);

/// Memory that a build may count on: what a process can have of it (`allocatable`), and where no
/// driver tells that, what the board offers. The one size that floors are held against.
Fact<Bytes> memory_for_use(const GpuMemory& memory);
Fact<Bytes> memory_for_use(const Gpu& gpu);

/// "linux-amd64": operating system and processor as Go and container images name them; nullopt when
/// the report does not know them.
std::optional<std::string> platform_of(const Host& host);

}  // namespace gpuprobe::inline policy
