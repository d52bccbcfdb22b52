// SPDX-License-Identifier: Apache-2.0
#include "policy/rules.h"

#include <algorithm>

#include "base/text.h"
#include "base/value.h"
#include "knowledge/library.h"

namespace gpuprobe::inline policy {
namespace {

// Maximum length of a processor name in bytes.
constexpr std::size_t kMaxProcessor = 16;

bool is_hex_or_wild(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == 'X';
}

/// Whether the name stands for several processors with the same code: "gfx11-generic".
bool is_generic(std::string_view processor) {
    constexpr std::string_view kEnd = "-generic";
    if (!processor.starts_with("gfx") || !processor.ends_with(kEnd))
        return false;
    const auto family = processor.substr(3, processor.size() - 3 - kEnd.size());
    return !family.empty() && family.find_first_not_of("0123456789-") == std::string_view::npos;
}

/// The processor's name in lower case, except for an X, which represents any digit.
std::optional<std::string> processor_from(std::string_view text) {
    if (is_generic(text) && text.size() <= kMaxProcessor)
        return std::string{text};
    if (text.size() < 6 || text.size() > kMaxProcessor || !text.starts_with("gfx"))
        return std::nullopt;
    std::string processor{text};
    for (auto& c : processor)
        if (c >= 'A' && c <= 'F')
            c = static_cast<char>(c - 'A' + 'a');
    const bool is_valid = std::all_of(processor.begin() + 3, processor.end(), is_hex_or_wild);
    return is_valid ? std::optional{processor} : std::nullopt;
}

/// Whether the processor matches the family digit by digit, where X matches any digit.
bool is_in_family(std::string_view family, std::string_view processor) {
    return family.size() == processor.size() &&
           std::ranges::equal(family, processor, [](char wild, char digit) {
               return wild == digit || (wild == 'X' && digit != 'X');
           });
}

/// Whether the target's processor, family or generic processor includes `processor`.
bool names(const GfxTarget& target, const std::string& processor, const GfxFamilies& families) {
    if (target.processor == processor)
        return true;
    // Only a family or a generic processor can match a processor with another name.
    if (target.processor.find('X') == std::string::npos && !is_generic(target.processor))
        return false;
    const auto listed = families.find(target.processor);
    return listed == families.end()
               ? is_in_family(target.processor, processor)
               : std::ranges::find(listed->second, processor) != listed->second.end();
}

}  // namespace

std::optional<GfxTarget> parse_text(std::string_view text, std::type_identity<GfxTarget>) {
    const auto pieces = split(text, ':');
    auto processor = processor_from(pieces.front());
    if (!processor)
        return std::nullopt;
    GfxTarget target{.processor = std::move(*processor)};
    // The remaining pieces of the target id are features, each with "+" or "-".
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        const auto piece = pieces[i];
        if (piece != "xnack+" && piece != "xnack-" && piece != "sramecc+" && piece != "sramecc-")
            return std::nullopt;
        const bool is_new =
            target.features.emplace(piece.substr(0, piece.size() - 1), piece.back() == '+').second;
        if (!is_new)
            return std::nullopt;
    }
    return target;
}

std::string text_of(const GfxTarget& target) {
    auto text = target.processor;
    for (const auto& [feature, is_on] : target.features)
        text += ":" + feature + (is_on ? "+" : "-");
    return text;
}

Truth runs_on(const GfxTarget& target, const GfxTarget& device, const GfxFamilies& families) {
    if (!names(target, device.processor, families))
        return Truth::False;
    auto result = Truth::True;
    // Code that does not mention a feature runs with both settings of the feature.
    for (const auto& [feature, is_on] : target.features) {
        const auto found = device.features.find(feature);
        result = both(result, found == device.features.end() ? Truth::Unknown
                                                             : truth_of(found->second == is_on));
    }
    return result;
}

namespace {

bool is_exactly(const KernelTarget& target, const ComputeCapability& device) {
    return target.capability == device;
}

/// The rule for cubins and for family-specific PTX: the major version of the device must be the
/// same.
bool is_same_major(const KernelTarget& target, const ComputeCapability& device) {
    return target.capability.major == device.major && target.capability.minor <= device.minor;
}

bool cubin_runs(const KernelTarget& cubin, const ComputeCapability& device, bool exact) {
    // Architecture-specific code ("9.0a") isn't forward compatible.
    if (exact || cubin.suffix == TargetSuffix::Specific)
        return is_exactly(cubin, device);
    return is_same_major(cubin, device);
}

bool ptx_runs(const KernelTarget& ptx, const ComputeCapability& device, bool exact) {
    if (exact || ptx.suffix == TargetSuffix::Specific)
        return is_exactly(ptx, device);
    if (ptx.suffix == TargetSuffix::Family)
        return is_same_major(ptx, device);
    return ptx.capability <= device;
}

/// Whether the driver can compile this PTX.
Truth is_known_to_driver(const KernelTarget& ptx,
                         const CudaKernels& code,
                         const Fact<Version>& cuda,
                         const Rules& rules) {
    if (ptx.isa && cuda.value)
        return rules.runs_ptx(*cuda.value, *ptx.isa);
    // If the PTX has no ISA version, compare the driver with the toolkit that produced the PTX.
    return when_known(cuda, [&code](const Version& have) { return have >= code.toolkit; });
}

/// The best result over all PTX that the device could run.
KernelFit fit_of_ptx(const CudaKernels& code, const CudaDevice& device, const Rules& rules) {
    auto found = Truth::False;
    bool is_there = false;
    for (const auto& ptx : code.ptx.value_or(std::vector<KernelTarget>{})) {
        if (!ptx_runs(ptx, *device.capability.value, code.exact))
            continue;
        is_there = true;
        found = either(found, is_known_to_driver(ptx, code, device.cuda, rules));
    }
    if (!is_there)
        return KernelFit::NoCode;
    if (found == Truth::True)
        return KernelFit::Runs;
    if (found == Truth::Unknown)
        return KernelFit::CudaUnknown;
    return device.cuda.value ? KernelFit::PtxNeedsNewerCuda : KernelFit::NoCuda;
}

}  // namespace

std::optional<ComputeCapability> parse_text(std::string_view text,
                                            std::type_identity<ComputeCapability>) {
    // The string must be "major.minor", where the minor version has one digit.
    const auto dot = text.find('.');
    if (dot == std::string_view::npos || dot > 2 || text.size() != dot + 2)
        return std::nullopt;
    const auto major = parse_number<std::uint32_t>(text.substr(0, dot));
    const auto minor = parse_number<std::uint32_t>(text.substr(dot + 1));
    if (!major || !minor)
        return std::nullopt;
    return ComputeCapability{.major = *major, .minor = *minor};
}

std::string text_of(const ComputeCapability& capability) {
    return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

std::optional<KernelTarget> parse_text(std::string_view text, std::type_identity<KernelTarget>) {
    KernelTarget target;
    // Split off PTX's ISA version first.
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        target.isa = parse_text(text.substr(at + 1), std::type_identity<Version>{});
        if (!target.isa)
            return std::nullopt;
        text = text.substr(0, at);
    }
    if (text.ends_with('a'))
        target.suffix = TargetSuffix::Specific;
    else if (text.ends_with('f'))
        target.suffix = TargetSuffix::Family;
    if (target.suffix != TargetSuffix::None)
        text.remove_suffix(1);
    const auto capability = parse_text(text, std::type_identity<ComputeCapability>{});
    if (!capability)
        return std::nullopt;
    target.capability = *capability;
    return target;
}

std::string text_of(const KernelTarget& target) {
    const auto* suffix = target.suffix == TargetSuffix::Specific ? "a"
                         : target.suffix == TargetSuffix::Family ? "f"
                                                                 : "";
    return text_of(target.capability) + suffix + (target.isa ? "@" + text_of(*target.isa) : "");
}

KernelFit fit_of(const CudaKernels& code, const CudaDevice& device, const Rules& rules) {
    const auto oldest = rules.oldest_capability(code.toolkit);
    // The build lists no kernels and names no toolkit, so no known fact excludes the device.
    if (!code.sass && !code.ptx && !oldest)
        return KernelFit::Runs;
    if (!device.capability.value)
        return device.capability.is_probed ? KernelFit::NoCuda : KernelFit::CapabilityUnknown;
    const auto& capability = *device.capability.value;
    // The toolkit can't compile for a device as old as this one.
    if (oldest && capability < *oldest)
        return KernelFit::NoCode;
    if (!code.sass && !code.ptx)
        return KernelFit::Runs;
    const bool is_exact = code.exact || device.is_tegra;
    // A matching cubin needs no compiler in the driver, so check cubins first.
    if (code.sass && std::ranges::any_of(*code.sass, [&](const KernelTarget& cubin) {
            return cubin_runs(cubin, capability, is_exact);
        }))
        return KernelFit::Runs;
    return fit_of_ptx(code, device, rules);
}

const KernelTarget* nearest_ptx(const CudaKernels& code, const CudaDevice& device) {
    const KernelTarget* nearest = nullptr;
    if (code.ptx && device.capability.value)
        for (const auto& ptx : *code.ptx)
            if (ptx_runs(ptx, *device.capability.value, code.exact) &&
                (!nearest || ptx.isa < nearest->isa))
                nearest = &ptx;
    return nearest;
}

Truth truth_of(KernelFit fit) {
    switch (fit) {
        case KernelFit::Runs:
            return Truth::True;
        case KernelFit::CapabilityUnknown:
        case KernelFit::CudaUnknown:
            return Truth::Unknown;
        case KernelFit::NoCode:
        case KernelFit::PtxNeedsNewerCuda:
        case KernelFit::NoCuda:
            break;
    }
    return Truth::False;
}

namespace {

/// Limit for the JSON text of one table.
constexpr Bytes kMaxRulesText = kib(256);

/// cuda_driver: the minimum driver of a CUDA major version (minor-version compatibility).
struct MajorFloor {
    std::uint32_t major = 0;
    Version driver = {};
    std::map<std::string, Version> exceptions = {};  ///< minimum drivers by toolkit
};
RECORD_MEMBERS(MajorFloor, ("toolkit_major", major), ("min_driver", driver), exceptions)

/// cuda_driver: the minimum driver of one toolkit release.
struct ToolkitFloor {
    Version toolkit = {};
    Version driver = {};
};
RECORD_MEMBERS(ToolkitFloor, toolkit, ("min_driver", driver))

/// cuda_driver: the CUDA version of a driver branch.
struct Branch {
    std::uint32_t branch = 0;
    Version cuda = {};
};
RECORD_MEMBERS(Branch, branch, cuda)

struct CudaDriverTable {
    std::vector<MajorFloor> majors = {};
    std::vector<ToolkitFloor> toolkits = {};
    std::vector<Branch> branches = {};
};
RECORD_MEMBERS(CudaDriverTable,
               ("mvc_floor", majors),
               ("exact_floor", toolkits),
               ("branch_to_cuda", branches))

/// cuda_sm: a compute capability and the toolkits that compile for it.
struct SmRow {
    ComputeCapability capability = {};
    Version first = {};
    std::optional<Version> last = {};
    std::optional<bool> is_tegra = {};
};
RECORD_MEMBERS(SmRow, ("sm", capability), first, last, ("tegra", is_tegra))

struct SmTable {
    std::vector<SmRow> rows = {};
};
RECORD_MEMBERS(SmTable, ("sm", rows))

/// ptx_isa: a PTX ISA version and the first CUDA version that compiles it.
struct PtxRow {
    Version isa = {};
    Version cuda = {};
};
RECORD_MEMBERS(PtxRow, ("ptx", isa), cuda)

struct PtxTable {
    std::vector<PtxRow> rows = {};
};
RECORD_MEMBERS(PtxTable, ("isa", rows))

/// nvidia_products: the product lines.
struct NvidiaProductTable {
    std::vector<NvidiaProducts> products = {};
};
RECORD_MEMBERS(NvidiaProductTable, products)

/// uv: the values of UV_TORCH_BACKEND in this version, and the first version with each value.
struct UvTable {
    Version version = {};
    std::vector<std::string> torch_backends = {};
    std::map<std::string, std::vector<std::string>> since = {};
};
RECORD_MEMBERS(UvTable, version, torch_backends, since)

/// intel_ip: an Intel IP and the IP whose code it also runs.
struct IpRow {
    Version ip = {};
    std::optional<Version> base = {};
};
RECORD_MEMBERS(IpRow, ip, ("compat", base))

struct IpTable {
    std::vector<IpRow> rows = {};
};
RECORD_MEMBERS(IpTable, ("ip", rows))

/// rocm_gfx: gfx families and their processors.
struct GfxTable {
    std::map<std::string, std::vector<std::string>> families = {};
};
RECORD_MEMBERS(GfxTable, ("family_wildcards", families))

/// cpu_levels: other spellings of processor features, and Linux's spellings.
struct CpuTable {
    std::map<std::string, std::string> aliases = {};
};
RECORD_MEMBERS(CpuTable, aliases)

struct IndexTable {
    std::string serial = {};
};
RECORD_MEMBERS(IndexTable, serial)

/// Parses a table of the given record type.
template <class Table>
Result<Table> table_from(std::string_view json) {
    return record_from<Table>(TRY(parse_json(json, kMaxRulesText)));
}

}  // namespace

Status Rules::read_cuda_driver(std::string_view json) {
    const auto table = TRY(table_from<CudaDriverTable>(json));
    for (const auto& floor : table.majors) {
        floors_by_major_.emplace_back(floor.major, floor.driver);
        // The exceptions are toolkits whose minimum differs from the minimum for their major
        // version.
        for (const auto& [toolkit, driver] : floor.exceptions)
            if (const auto version = parse_text(toolkit, std::type_identity<Version>{}))
                floors_by_toolkit_.emplace(*version, driver);
    }
    for (const auto& floor : table.toolkits)
        floors_by_toolkit_.emplace(floor.toolkit, floor.driver);
    for (const auto& branch : table.branches)
        cuda_by_branch_.emplace(branch.branch, branch.cuda);
    return Done{};
}

Status Rules::read_cuda_sm(std::string_view json) {
    const auto table = TRY(table_from<SmTable>(json));
    for (const auto& row : table.rows) {
        capabilities_.insert(row.capability);
        toolkits_[row.capability] = {.min = row.first, .max = row.last};
        if (row.is_tegra == true)
            tegra_.insert(row.capability);
    }
    return Done{};
}

Status Rules::read_ptx_isa(std::string_view json) {
    const auto table = TRY(table_from<PtxTable>(json));
    for (const auto& row : table.rows)
        cuda_by_ptx_.emplace(row.isa, row.cuda);
    return Done{};
}

Status Rules::read_nvidia_products(std::string_view json) {
    nvidia_products_ = TRY(table_from<NvidiaProductTable>(json)).products;
    return Done{};
}

Status Rules::read_intel_ip(std::string_view json) {
    const auto table = TRY(table_from<IpTable>(json));
    for (const auto& row : table.rows)
        if (row.base)
            intel_base_.emplace(row.ip, *row.base);
    return Done{};
}

Status Rules::read_rocm_gfx(std::string_view json) {
    const auto table = TRY(table_from<GfxTable>(json));
    gfx_families_.insert(table.families.begin(), table.families.end());
    return Done{};
}

Status Rules::read_cpu_levels(std::string_view json) {
    const auto table = TRY(table_from<CpuTable>(json));
    cpu_aliases_.insert(table.aliases.begin(), table.aliases.end());
    return Done{};
}

Status Rules::read_uv(std::string_view json) {
    const auto table = TRY(table_from<UvTable>(json));
    for (const auto& word : table.torch_backends)
        uv_torch_backends_.emplace(word, table.version);
    for (const auto& [text, words] : table.since) {
        const auto version = parse_text(text, std::type_identity<Version>{});
        if (!version)
            return Error{ErrorCode::Malformed, "since: " + text + ": not a version"};
        for (const auto& word : words)
            if (const auto known = uv_torch_backends_.find(word); known != uv_torch_backends_.end())
                known->second = *version;
    }
    return Done{};
}

Status Rules::read_index(std::string_view json) {
    serial_ = TRY(table_from<IndexTable>(json)).serial;
    return Done{};
}

Result<Rules> Rules::builtin() {
    return from(knowledge::builtin_rules());
}

const Rules& Rules::current() {
    return knowledge::made_of_documents([](const knowledge::Library& library) {
        const auto tables = library.below("rules");
        std::vector<knowledge::BuiltinDocument> documents;
        for (const auto& [name, table] : tables)
            documents.push_back({.name = name, .json = table->json});
        auto read = from(documents);
        // If a table in use is malformed, use all compiled-in tables instead of mixing versions.
        if (!read)
            read = builtin();
        return std::move(read).value_or({});
    });
}

Result<Rules> Rules::from(std::span<const knowledge::BuiltinDocument> documents) {
    struct Reader {
        std::string_view name;
        Status (Rules::*read)(std::string_view);
    };
    constexpr Reader kReaders[] = {
        {"cpu_levels", &Rules::read_cpu_levels},
        {"cuda_driver", &Rules::read_cuda_driver},
        {"cuda_sm", &Rules::read_cuda_sm},
        {"index", &Rules::read_index},
        {"intel_ip", &Rules::read_intel_ip},
        {"nvidia_products", &Rules::read_nvidia_products},
        {"ptx_isa", &Rules::read_ptx_isa},
        {"rocm_gfx", &Rules::read_rocm_gfx},
        {"uv", &Rules::read_uv},
    };
    Rules rules;
    // Every table is required, so a missing table is an error.
    for (const auto& reader : kReaders) {
        const auto found =
            std::ranges::find(documents, reader.name, &knowledge::BuiltinDocument::name);
        if (found == documents.end())
            return Error{ErrorCode::NotFound, "rules: " + std::string{reader.name} + ": missing"};
        auto read = (rules.*reader.read)(found->json);
        if (!read)
            return std::move(read).error().in("rules: " + std::string{reader.name});
    }
    return rules;
}

std::optional<std::uint32_t> Rules::branch_of_cuda(const Version& cuda) const {
    // Branches and CUDA versions ascend together, so the first match is the lowest branch.
    const auto found = std::ranges::find_if(
        cuda_by_branch_, [&cuda](const auto& row) { return row.second >= cuda; });
    return found == cuda_by_branch_.end() ? std::nullopt : std::optional{found->first};
}

std::optional<Version> Rules::cuda_of_ptx(const Version& isa) const {
    // The first row with this ISA version or a newer ISA version.
    const auto found = cuda_by_ptx_.lower_bound(isa);
    return found == cuda_by_ptx_.end() ? std::nullopt : std::optional{found->second};
}

Truth Rules::runs_ptx(const Version& cuda, const Version& isa) const {
    if (const auto first = cuda_of_ptx(isa))
        return truth_of(cuda >= *first);
    // The ISA version is newer than the table, so a driver in the table cannot compile the PTX.
    const bool is_in_table = !cuda_by_ptx_.empty() && cuda <= cuda_by_ptx_.rbegin()->second;
    return is_in_table ? Truth::False : Truth::Unknown;
}

std::optional<ComputeCapability> Rules::oldest_capability(const Version& toolkit) const {
    // The table lists releases ("12.4") without patch numbers.
    const Version release{.parts = {toolkit.parts[0], toolkit.parts[1], 0, 0}};
    for (const auto& [capability, toolkits] : toolkits_)
        if (toolkits.contains(release))
            return capability;
    return std::nullopt;
}

std::vector<std::uint32_t> Rules::driver_branches() const {
    std::vector<std::uint32_t> branches;
    for (const auto& [branch, cuda] : cuda_by_branch_)
        branches.push_back(branch);
    return branches;
}

std::vector<Version> Rules::intel_ips_of(const Version& ip) const {
    std::vector<Version> ips{ip};
    for (const auto& [other, base] : intel_base_)
        if (base == ip && other != ip)
            ips.push_back(other);
    return ips;
}

std::optional<Version> Rules::cuda_floor(const Version& toolkit) const {
    const Version release{.parts = {toolkit.parts[0], toolkit.parts[1], 0, 0}};
    // The function runs for each variant and GPU, so skip the look-up for toolkits newer than the
    // last row.
    const bool may_have_row =
        !floors_by_toolkit_.empty() && release <= floors_by_toolkit_.rbegin()->first;
    if (may_have_row)
        if (const auto found = floors_by_toolkit_.find(release); found != floors_by_toolkit_.end())
            return found->second;
    // The table has no row for the toolkit, so minor-version compatibility determines the minimum.
    for (const auto& [major, driver] : floors_by_major_)
        if (major == toolkit.major())
            return driver;
    return std::nullopt;
}

std::optional<Version> Rules::cuda_of_driver(const Version& driver) const {
    // The row of the newest branch that isn't newer than the driver's branch.
    const auto next = cuda_by_branch_.upper_bound(driver.major());
    return next == cuda_by_branch_.begin() ? std::nullopt : std::optional{std::prev(next)->second};
}

bool Rules::is_tegra(const ComputeCapability& capability) const {
    return tegra_.contains(capability);
}

namespace {

/// Whether the name is the name of a vGPU: "A10-24Q", "GRID T4-16C".
bool is_of_vgpu(std::string_view name) {
    const auto profile = name.substr(name.rfind('-') + 1);
    return profile.size() > 1 && std::string_view{"ABCQ"}.find(profile.back()) != profile.npos &&
           parse_number<unsigned>(profile.substr(0, profile.size() - 1));
}

/// Whether the string begins with these words.
bool begins_with_words(std::string_view text, std::string_view words) {
    return text.starts_with(words) &&
           (text.size() == words.size() || text[words.size()] == ' ' || text[words.size()] == '-');
}

}  // namespace

const NvidiaProducts* Rules::products_named(std::string_view name) const {
    constexpr std::string_view kVendor = "NVIDIA ";
    if (name.starts_with(kVendor))
        name.remove_prefix(kVendor.size());
    const auto has_name = [&name](const NvidiaProducts& products) {
        return std::ranges::any_of(products.names, [&name](const std::string& beginning) {
            return begins_with_words(name, beginning);
        });
    };
    const auto found = std::ranges::find_if(nvidia_products_, has_name);
    return found == nvidia_products_.end() || is_of_vgpu(name) ? nullptr : &*found;
}

std::optional<Version> Rules::intel_base(const Version& ip) const {
    const auto found = intel_base_.find(ip);
    return found == intel_base_.end() ? std::nullopt : std::optional{found->second};
}

std::string Rules::cpu_feature(std::string_view word) const {
    auto lower = lower_case(word);
    const auto found = cpu_aliases_.find(lower);
    return found == cpu_aliases_.end() ? lower : found->second;
}

}  // namespace gpuprobe::inline policy
