// SPDX-License-Identifier: Apache-2.0
#include "policy/term.h"

#include <algorithm>
#include <compare>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "policy/closest_miss.h"
#include "policy/fact.h"
#include "policy/known_words.h"
#include "report/api_table.h"
#include "report/video.h"

namespace gpuprobe::inline policy {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kOr = " or ";

/// Whether the relation sets a minimum.
bool is_floor(Relation relation) {
    return relation == Relation::AtLeast || relation == Relation::More;
}

/// Whether the relation sets a maximum.
bool is_ceiling(Relation relation) {
    return relation == Relation::AtMost || relation == Relation::Less;
}

/// Whether the word matches an item of the list. A trailing `*` in an item matches anything.
bool is_one_of(std::string_view word, const Words& alternatives) {
    return std::ranges::any_of(alternatives, [word](const std::string& wanted) {
        if (wanted.ends_with('*'))
            return word.starts_with(std::string_view{wanted}.substr(0, wanted.size() - 1));
        return word == wanted;
    });
}

/// Whether the vendor is in the list. In the list, "other" matches every vendor outside
/// kVariantVendors.
bool is_vendor(std::string_view have, const Words& wanted) {
    const bool is_named = std::ranges::find(kVariantVendors, have) != kVariantVendors.end();
    return is_one_of(have, wanted) || (!is_named && is_one_of("other", wanted));
}

/// Evaluates Is and IsNot on a fact that is a single word.
Truth word_is(const Term& term, const Fact<std::string>& fact) {
    const auto& wanted = std::get<Words>(term.need);
    return when_known(fact, [&](const std::string& have) {
        const bool is_it =
            term.fact == FactId::Vendor ? is_vendor(have, wanted) : is_one_of(have, wanted);
        return is_it != (term.relation == Relation::IsNot);
    });
}

/// Evaluates Is and IsNot on a fact that is a list. Is holds if any word in the list matches; IsNot
/// holds if no word matches, including if the list is empty. An incomplete list without a match
/// makes both relations unknown.
Truth some_word_is(const Term& term, const Fact<WordSet>& fact) {
    const auto& wanted = std::get<Words>(term.need);
    const auto has_any = [&wanted](const WordSet& have) {
        return std::ranges::any_of(
            have.yes, [&wanted](const std::string& word) { return is_one_of(word, wanted); });
    };
    if (fact.value && !fact.value->is_complete && !has_any(*fact.value))
        return Truth::Unknown;
    return when_known(fact, [&](const WordSet& have) {
        return has_any(have) != (term.relation == Relation::IsNot);
    });
}

/// Linux's name for a processor feature; words of other facts stay unchanged.
std::string spelled(const Term& term, const std::string& word, const Facts& facts) {
    return term.fact == FactId::CpuFeature ? facts.rules().cpu_feature(word) : word;
}

/// Whether the set contains the word. A library that the scan does not look for is unknown, not
/// absent.
Truth has_word(const Term& term, const std::string& word, const WordSet& have) {
    const auto found = have.holds(word);
    const bool may_be_there =
        term.fact == FactId::Library && found == Truth::False && !is_listed_library(word);
    return may_be_there ? Truth::Unknown : found;
}

/// Whether the set contains every word that the term requires.
Truth has_all(const Term& term, const Facts& facts) {
    const auto& fact = facts.get<WordSet>(term.fact);
    if (!fact.value)
        return fact.is_probed ? Truth::False : Truth::Unknown;
    auto result = Truth::True;
    for (const auto& word : std::get<Words>(term.need))
        result = both(result, has_word(term, spelled(term, word, facts), *fact.value));
    return result;
}

/// compares(): whether the fact and the term's value satisfy the term's relation.
Truth compares(const Term& term, const Fact<Bytes>& fact) {
    const auto need = std::get<Bytes>(term.need);
    return when_known(fact, [&](Bytes have) { return stands(have <=> need, term.relation); });
}

Truth compares(const Term& term, const Fact<Version>& fact) {
    const auto& need = std::get<Version>(term.need);
    return when_known(fact,
                      [&](const Version& have) { return stands(have <=> need, term.relation); });
}

Truth compares(const Term& term, const Fact<bool>& fact) {
    const bool need = std::get<bool>(term.need);
    return when_known(fact, [&](bool have) { return have == need; });
}

// Words have no order, so a comparison is false.
Truth compares(const Term&, const Fact<std::string>&) {
    return Truth::False;
}
Truth compares(const Term&, const Fact<WordSet>&) {
    return Truth::False;
}

Truth is_usable(const Term& term, const Facts& facts) {
    const auto usable = facts.usable(std::get<Api>(term.need));
    return usable ? truth_of(*usable) : Truth::Unknown;
}

/// Whether NVIDIA's driver has at least this version. If the driver's version is unknown, the CUDA
/// version that it reported (cuDriverGetVersion) determines the oldest possible driver branch.
Truth driver_reaches(const Version& floor, const Facts& facts) {
    const auto& driver = facts.version(FactId::Driver);
    const auto& cuda = facts.version(FactId::Cuda).value;
    // A cuda-compat package reports a newer CUDA version than the kernel driver, and Tegra's
    // drivers use other version numbers.
    const bool is_tegra = facts.get<std::string>(FactId::Form).value == "tegra";
    if (driver.is_probed || !cuda || is_tegra || facts.version(FactId::CudaCompat).value)
        return when_known(driver, [&floor](const Version& have) { return have >= floor; });
    const auto branch = facts.rules().branch_of_cuda(*cuda);
    const bool is_first_of_branch =
        branch == floor.major() && facts.rules().cuda_floor(*cuda) == floor;
    return branch > floor.major() || is_first_of_branch ? Truth::True : Truth::Unknown;
}

const NvidiaProducts* products_of(const Facts& facts) {
    return facts.gpu() ? facts.rules().products_named(facts.gpu()->name.value_or("")) : nullptr;
}

/// Whether cuda-compat works on the GPU. NVIDIA restricts cuda-compat to some products. Source:
/// CUDA Compatibility, "Forward Compatibility".
Truth runs_compat(const Facts& facts) {
    const auto* products = products_of(facts);
    return products && products->runs_compat ? truth_of(*products->runs_compat) : Truth::Unknown;
}

/// Whether the driver supports the CUDA toolkit. A driver of another vendor never supports the
/// toolkit, regardless of its version.
Truth host_driver_runs(const CudaDriverNeed& need, const Facts& facts) {
    const auto& vendor = facts.get<std::string>(FactId::Vendor);
    // If the vendor is unknown, it may be NVIDIA.
    if (vendor.value ? *vendor.value != info_of(Api::Cuda).vendor : vendor.is_probed)
        return Truth::False;
    // A cuda-compat package supplies a newer user-space driver for the installed kernel driver.
    const auto& compat = facts.version(FactId::CudaCompat).value;
    if (compat && compat->major() >= need.toolkit.major())
        return Truth::True;
    const auto floor = need.min_driver ? need.min_driver : facts.rules().cuda_floor(need.toolkit);
    if (floor)
        return driver_reaches(*floor, facts);
    // The table lacks this toolkit, so accept a driver with the same or a later CUDA major version.
    return when_known(facts.version(FactId::Cuda), [&need](const Version& have) {
        return have.major() >= need.toolkit.major();
    });
}

/// Whether the driver or the compatibility libraries in the image support the toolkit. The image's
/// condition defines which drivers the image's libraries work with.
Truth driver_runs(const Term& term, const Facts& facts) {
    const auto& need = std::get<CudaDriverNeed>(term.need);
    const auto by_host = host_driver_runs(need, facts);
    const bool has_cuda = facts.version(FactId::Cuda).value.has_value();
    const bool is_newer = term.image_cuda && term.image_cuda->major() >= need.toolkit.major();
    return by_host != Truth::True && has_cuda && is_newer ? either(by_host, runs_compat(facts))
                                                          : by_host;
}

/// Whether one of the gfx targets runs on the GPU.
Truth gfx_runs(const std::vector<GfxTarget>& targets, const Facts& facts) {
    const auto& fact = facts.get<std::string>(FactId::GfxTarget);
    const auto device =
        fact.value ? parse_text(*fact.value, std::type_identity<GfxTarget>{}) : std::nullopt;
    if (!device)
        return fact.is_probed ? Truth::False : Truth::Unknown;
    auto result = Truth::False;
    for (const auto& target : targets)
        result = either(result, runs_on(target, *device, facts.rules().gfx_families()));
    return result;
}

/// Whether one of the Intel IPs is the GPU's IP or the older IP whose code the GPU also runs.
Truth ip_runs(const std::vector<Version>& ips, const Facts& facts) {
    return when_known(facts.version(FactId::IntelIp), [&](const Version& have) {
        const auto base = facts.rules().intel_base(have);
        return std::ranges::any_of(
            ips, [&](const Version& ip) { return ip == have || (base && ip == *base); });
    });
}

/// Whether the GPU runs the build's CUDA kernels, gfx targets or Intel IPs.
Truth runs(const Term& term, const Facts& facts) {
    if (const auto* code = std::get_if<CudaKernels>(&term.need))
        return truth_of(fit_of(*code, cuda_device(term, facts), facts.rules()));
    if (const auto* targets = std::get_if<std::vector<GfxTarget>>(&term.need))
        return gfx_runs(*targets, facts);
    return ip_runs(std::get<std::vector<Version>>(term.need), facts);
}

/// Whether the conjunction in an image's condition holds for a GPU with this NVML brand.
Truth holds_for(const Conjunction& terms,
                const std::optional<std::string>& brand,
                const Facts& facts) {
    auto result = Truth::True;
    for (const auto& term : terms)
        if (term.fact != FactId::ProductLine)
            result = both(result, holds(term, facts));
        else
            result = both(result, !brand ? Truth::Unknown
                                         : truth_of(is_one_of(*brand, std::get<Words>(term.need)) !=
                                                    (term.relation == Relation::IsNot)));
    return result;
}

/// Whether an alternative of an image's condition holds.
Truth admits(const std::vector<Conjunction>& alternatives,
             const std::optional<std::string>& brand,
             const Facts& facts) {
    auto result = Truth::False;
    for (const auto& alternative : alternatives)
        result = either(result, holds_for(alternative, brand, facts));
    return result;
}

/// Whether an alternative holds for every brand that the GPU may have; unknown if the result
/// depends on the brand.
Truth admits(const std::vector<Conjunction>& alternatives, const Facts& facts) {
    const auto* products = products_of(facts);
    if (!products)
        return admits(alternatives, std::nullopt, facts);
    auto all = Truth::True;
    auto any = Truth::False;
    for (const auto& brand : products->brands) {
        const auto result = admits(alternatives, brand, facts);
        all = both(all, result);
        any = either(any, result);
    }
    return all == any ? all : Truth::Unknown;
}

Truth is_word(const Term& term, const Facts& facts) {
    const auto& fact = facts.at(term.fact);
    if (const auto* list = std::get_if<Fact<WordSet>>(&fact))
        return some_word_is(term, *list);
    return word_is(term, std::get<Fact<std::string>>(fact));
}

// Reasons ---------------------------------------------------------------------------------------

/// Converts a list of values to a list of strings.
template <class T>
Value texts(const std::vector<T>& items) {
    Value::Array list;
    for (const auto& item : items)
        list.emplace_back(std::string{text_of(item)});
    return Value{std::move(list)};
}

/// Joins the targets with spaces: "7.5 8.0a".
std::string target_words(const std::optional<std::vector<KernelTarget>>& targets) {
    std::string text;
    if (targets)
        for (const auto& target : *targets)
            text += (text.empty() ? "" : " ") + text_of(target);
    return text;
}

/// "sass 7.5 8.0, ptx 9.0"
std::string text_of(const CudaKernels& code) {
    std::string text = code.sass ? "sass " + target_words(code.sass) : "";
    if (code.ptx && !code.ptx->empty())
        text += (text.empty() ? "ptx " : ", ptx ") + target_words(code.ptx);
    return text;
}

/// Formats a range of versions: "13.0 or later, before 14.0".
std::string text_of(const VersionRange& range) {
    std::string text = range.min ? text_of(*range.min) + " or later" : "";
    if (range.max)
        text += (text.empty() ? "" : ", ") + ("up to " + text_of(*range.max));
    if (range.below)
        text += (text.empty() ? "" : ", ") + ("before " + text_of(*range.below));
    return text;
}

constexpr std::string_view kCpuLevelLead = "x86-64-v";

/// The visitor with which want_of() renders the need of a term.
struct NeedText {
    const Term& term;
    const Rules& rules;

    Value operator()(std::monostate) const { return {}; }
    Value operator()(bool flag) const { return Value{flag}; }
    Value operator()(Bytes bytes) const { return to_value(bytes); }
    Value operator()(const Version& version) const {
        if (term.fact == FactId::CpuLevel)
            return Value{std::string{kCpuLevelLead} + std::to_string(version.major())};
        return Value{text_of(version)};
    }
    Value operator()(const VersionRange& range) const { return Value{text_of(range)}; }
    Value operator()(const Words& items) const {
        // Terms about the C library and L4T usually name one word, which is shown as a string.
        const bool is_one = term.fact == FactId::Libc || term.fact == FactId::L4t;
        return is_one && items.size() == 1 ? Value{items.front()} : to_value(items);
    }
    Value operator()(const std::vector<Version>& items) const { return texts(items); }
    Value operator()(Api api) const { return Value{info_of(api).word}; }
    Value operator()(const std::vector<GfxTarget>& items) const { return texts(items); }
    Value operator()(const CudaDriverNeed& need) const {
        const auto floor = need.min_driver ? need.min_driver : rules.cuda_floor(need.toolkit);
        return floor ? Value{text_of(*floor)} : Value{};
    }
    Value operator()(const CudaKernels& code) const {
        // If the build lists neither cubins nor PTX, its kernels are unknown.
        const bool has_lists = code.sass || code.ptx;
        return has_lists ? Value{text_of(code)} : Value{};
    }
    Value operator()(const std::vector<Term>&) const { return {}; }
    /// The first alternative, which is the condition for GPUs of any kind.
    Value operator()(const std::vector<Conjunction>& alternatives) const {
        std::string text;
        for (const auto& part : alternatives.front())
            text += (text.empty() ? "" : ",") + part.name;
        return Value{std::move(text)};
    }
};

/// value_of(): the fact's value as answers show it; null if the fact has no value.
Value value_of(const Fact<std::string>& fact) {
    return to_value(fact.value);
}
Value value_of(const Fact<Version>& fact) {
    return fact.value ? Value{text_of(*fact.value)} : Value{};
}
Value value_of(const Fact<Bytes>& fact) {
    return to_value(fact.value);
}
Value value_of(const Fact<bool>& fact) {
    return to_value(fact.value);
}
// There are too many present words to show; missing_of() lists the missing words.
Value value_of(const Fact<WordSet>&) {
    return {};
}

/// The fact as one word, a list of several words, or null.
Value shown(const AnyFact& fact) {
    if (const auto* size = std::get_if<Fact<Bytes>>(&fact))
        return value_of(*size);
    const auto words = words_of(fact);
    if (words.empty())
        return {};
    return words.size() == 1 ? Value{words.front()} : to_value(words);
}

/// The right-hand side of a term: a number of bytes for sizes, and the string after the operator
/// for all other facts.
Value need_of(const Term& term) {
    if (const auto* size = std::get_if<Bytes>(&term.need))
        return to_value(*size);
    const std::string_view name{term.name};
    return Value{trimmed(name.substr(std::min(name.find_last_of("<>=!") + 1, name.size())))};
}

/// `too-little-memory` with the size that was compared: physical or allocatable.
Reason memory_reason(const Term& term, const Fact<Bytes>& fact, const Gpu& gpu) {
    const bool is_bound = !gpu.memory.allocatable || term.fact == FactId::PhysicalMemory;
    return because("too-little-memory", {{"have", value_of(fact)},
                                         {"need", need_of(term)},
                                         {"of", is_bound ? "physical" : "allocatable"}});
}

bool is_architecture(FactId fact) {
    return fact == FactId::ComputeCapability || fact == FactId::Gfx || fact == FactId::IntelIp;
}

/// The reason code for a fact that is below a minimum or above a maximum; empty if there is none.
std::string_view bound_code(const Term& term) {
    const auto& row = row_of(term.fact);
    return is_floor(term.relation)     ? row.too_low
           : is_ceiling(term.relation) ? row.too_high
                                       : std::string_view{};
}

VideoDirection direction_of(const Term& term) {
    return term.fact == FactId::VideoDecode ? VideoDirection::Decode : VideoDirection::Encode;
}

/// The formats of the codecs that the term names, such as "hevc-main10-10bit"; if the GPU has none
/// of these codecs, the names of the GPU's codecs, or "none" if there are none. A GPU has too many
/// formats to show all of them.
Value shown_video(const Term& term, const Facts& facts) {
    const auto direction = direction_of(term);
    std::set<std::string> formats;
    std::set<std::string> codecs;
    const auto entries = video_of(*facts.gpu(), video_apis_of(facts.subject().backend));
    for (const auto& entry : entries.value_or(std::vector<VideoEntry>{})) {
        if (entry.direction != direction || !entry.codec)
            continue;
        codecs.insert(*entry.codec);
        const auto is_of_codec = [&entry](const std::string& wanted) {
            return wanted.substr(0, wanted.find_first_of("-*")) == entry.codec;
        };
        // The last word is the most specific word.
        if (std::ranges::any_of(std::get<Words>(term.need), is_of_codec))
            formats.insert(video_words(entry).back());
    }
    const auto& shown = formats.empty() ? codecs : formats;
    return shown.empty() ? Value{"none"} : to_value(Words{shown.begin(), shown.end()});
}

/// The reason for a false term, as specific as the fact allows.
Reason failure(const Term& term, const Facts& facts) {
    const auto& fact = facts.at(term.fact);
    const auto& row = row_of(term.fact);
    const auto have =
        is_about_video(term.fact) && facts.gpu() ? shown_video(term, facts) : shown(fact);
    if (is_floor(term.relation) && !have.is_null() && row.scope == FactScope::Gpu)
        if (const auto* size = std::get_if<Fact<Bytes>>(&fact))
            return memory_reason(term, *size, *facts.gpu());
    if (is_about_video(term.fact) && facts.gpu())
        if (const auto library = missing_video_library(*facts.gpu(), direction_of(term)))
            return because("library-missing", {{"missing", std::string{*library}}});
    if (term.fact == FactId::Library && term.relation == Relation::Is)
        return because("library-missing", {{"missing", need_of(term)}});
    if (!have.is_null() && is_architecture(term.fact))
        return because("arch-not-in-build", {{"have", have}, {"need", term.name}});
    const auto code = bound_code(term);
    if (!have.is_null() && !code.empty())
        return because(*find_reason(code), {{"have", have}, {"need", need_of(term)}});
    return because("requirement-unmet", {{"have", have}, {"requirement", term.name}});
}

/// The reason for an unknown term.
Reason doubt(const Term& term) {
    if (term.fact == FactId::Memory)
        return because("memory-unknown", {{"need", need_of(term)}});
    return because("requirement-unknown", {{"requirement", term.name}});
}

/// The last fact and operator in a string: "driver>=" in "cuda=13 or driver>=550 or 560".
std::string_view last_lead(std::string_view text) {
    const auto lead = text.substr(0, text.find_last_of("<>=!") + 1);
    const auto before = lead.rfind(kOr);
    return before == std::string_view::npos ? lead : lead.substr(before + kOr.size());
}

/// Joins two terms with "or". The second term omits its fact and operator if they are the same as
/// in the first term: "driver=550 or 560".
std::string either_of(std::string_view text, std::string_view term) {
    const auto lead = last_lead(text);
    return std::string{text}.append(kOr).append(
        !lead.empty() && term.starts_with(lead) ? term.substr(lead.size()) : term);
}

/// Extends the reason for term A to "A or B" if B failed in the same way.
void add_alternative(const Reason& other, Reason& reason) {
    const auto* key = reason.is("arch-not-in-build") ? "need" : "requirement";
    const auto* own = reason.detail.at(key).as_string();
    const auto* term = other.detail.at(key).as_string();
    if (reason.code == other.code && own && term &&
        reason.detail.at("have") == other.detail.at("have"))
        reason.detail[key] = either_of(*own, *term);
}

}  // namespace

CudaDevice cuda_device(const Term& term, const Facts& facts) {
    const auto& capability = facts.version(FactId::ComputeCapability);
    CudaDevice device{.cuda = facts.version(FactId::Cuda),
                      .is_tegra = facts.get<std::string>(FactId::Form).value == "tegra"};
    // The fact contains the compute capability as a version.
    device.capability.is_probed = capability.is_probed;
    if (capability.value)
        device.capability.value = capability_of(*capability.value);
    // The libraries in the image replace the libraries of an older driver.
    const auto& own = device.cuda.value;
    if (term.image_cuda && own && *own < *term.image_cuda && runs_compat(facts) == Truth::True)
        device.cuda = Fact<Version>::known(*term.image_cuda);
    return device;
}

bool stands(std::strong_ordering order, Relation relation) {
    switch (relation) {
        case Relation::Equals:
            return order == 0;
        case Relation::Differs:
            return order != 0;
        case Relation::Less:
            return order < 0;
        case Relation::AtMost:
            return order <= 0;
        case Relation::More:
            return order > 0;
        default:
            return order >= 0;
    }
}

Truth holds(const Term& term, const Facts& facts) {
    if (const auto* alternatives = std::get_if<std::vector<Term>>(&term.need)) {
        auto result = Truth::False;
        for (const auto& alternative : *alternatives)
            result = either(result, holds(alternative, facts));
        return result;
    }
    // Whether a GPU is usable depends on the term's API, so there is no fact to compare.
    if (term.fact == FactId::Usable)
        return is_usable(term, facts);
    if (term.fact == FactId::Driver && term.relation == Relation::AtLeast)
        return driver_reaches(std::get<Version>(term.need), facts);
    switch (term.relation) {
        case Relation::Never:
            return Truth::False;
        case Relation::Is:
        case Relation::IsNot:
            return is_word(term, facts);
        case Relation::Within:
            return when_known(facts.version(term.fact), [&term](const Version& have) {
                return std::get<VersionRange>(term.need).contains(have);
            });
        case Relation::Runs:
            return runs(term, facts);
        case Relation::DriverOf:
            return driver_runs(term, facts);
        case Relation::Admits:
            return admits(std::get<std::vector<Conjunction>>(term.need), facts);
        case Relation::HasAll:
            return has_all(term, facts);
        // The remaining relations compare values. The type of the fact determines the overload.
        default:
            return std::visit([&term](const auto& fact) { return compares(term, fact); },
                              facts.at(term.fact));
    }
}

Truth all_hold(const Conjunction& terms, const Facts& facts) {
    auto result = Truth::True;
    for (const auto& term : terms) {
        result = both(result, holds(term, facts));
        if (result == Truth::False)
            break;
    }
    return result;
}

bool is_about_host(const Term& term) {
    if (const auto* alternatives = std::get_if<std::vector<Term>>(&term.need))
        return std::ranges::all_of(*alternatives,
                                   [](const Term& one) { return is_about_host(one); });
    return row_of(term.fact).scope == FactScope::Host;
}

bool is_about_video(FactId fact) {
    return fact == FactId::VideoDecode || fact == FactId::VideoEncode;
}

std::optional<Api> api_of(const Term& term) {
    if (const auto* api = std::get_if<Api>(&term.need))
        return *api;
    const bool is_of_cuda =
        term.relation == Relation::DriverOf || term.relation == Relation::Admits;
    return is_of_cuda ? Api::Cuda : row_of(term.fact).api;
}

ReasonCode shortfall_code(const Term& term) {
    // The term is an unknown word in a newer manifest.
    if (term.relation == Relation::Never)
        return "unsupported-predicate";
    const auto& row = row_of(term.fact);
    if (term.relation == Relation::AnyOf)
        return "requirement-unmet";
    if (term.relation == Relation::Admits)
        return "image-needs-newer-driver";
    const auto bound = term.relation == Relation::DriverOf ? row.too_low : bound_code(term);
    const bool is_bound = is_floor(term.relation) || !bound.empty();
    const auto code = is_bound ? bound : row.unfit;
    if (const auto* reason = find_reason(code))
        return *reason;
    return "requirement-unmet";
}

Value want_of(const Term& term, const Rules& rules) {
    return std::visit(NeedText{term, rules}, term.need);
}

Value have_of(const Term& term, const Facts& facts) {
    if (term.relation == Relation::Never)
        return {};
    if (term.fact == FactId::Usable)
        return to_value(facts.usable(std::get<Api>(term.need)));
    // The condition of an image begins with the driver's CUDA version.
    const auto& fact = facts.at(term.relation == Relation::Admits ? FactId::Cuda : term.fact);
    // Levels are stored as versions; show them in their usual spelling.
    if (const auto* level = std::get_if<Fact<Version>>(&fact);
        term.fact == FactId::CpuLevel && level->value)
        return Value{std::string{kCpuLevelLead} + std::to_string(level->value->major())};
    return std::visit([](const auto& known) { return value_of(known); }, fact);
}

Value missing_of(const Term& term, const Facts& facts) {
    const auto* wanted = std::get_if<Words>(&term.need);
    if (term.relation != Relation::HasAll || !wanted)
        return {};
    const auto& fact = facts.get<WordSet>(term.fact);
    if (!fact.value)
        return {};
    Value::Array missing;
    for (const auto& word : *wanted)
        if (const auto found = spelled(term, word, facts); fact.value->holds(found) == Truth::False)
            missing.emplace_back(found);
    // In an incomplete set, a missing word may still be present on the machine.
    const bool is_inconclusive = missing.empty() && !fact.value->is_complete;
    return is_inconclusive ? Value{} : Value{std::move(missing)};
}

Tested test_term(const Term& term, const Facts& facts) {
    Tested tested{.truth = holds(term, facts)};
    if (tested.truth == Truth::False)
        tested.why = failure(term, facts);
    else if (tested.truth == Truth::Unknown)
        tested.why = doubt(term);
    return tested;
}

Tested test_predicate(const Predicate& predicate, const Facts& facts) {
    // Keep the alternative that is closest to being met, and mention the alternatives that are
    // equally close.
    std::optional<Route> nearest;
    for (const auto& term : predicate.alternatives) {
        auto tested = test_term(term, facts);
        if (tested.truth == Truth::True)
            return tested;
        Route route{.is_open = tested.truth, .reasons = {std::move(*tested.why)}};
        if (!nearest || is_nearer(route, *nearest))
            nearest = std::move(route);
        else if (!is_nearer(*nearest, route))
            add_alternative(route.reasons.front(), nearest->reasons.front());
    }
    // "or unknown": accept if no alternative is known to hold.
    if (predicate.takes_doubt && nearest->is_open == Truth::Unknown)
        return {.truth = Truth::True, .why = std::move(nearest->reasons.front())};
    return {.truth = nearest->is_open, .why = std::move(nearest->reasons.front())};
}

Truth test_all(const std::vector<Predicate>& predicates, const Facts& facts) {
    auto all = Truth::True;
    for (const auto& predicate : predicates)
        all = both(all, test_predicate(predicate, facts).truth);
    return all;
}

Term memory_floor(Bytes floor, std::string name) {
    return {.fact = FactId::Memory,
            .relation = Relation::AtLeast,
            .need = floor,
            .name = std::move(name)};
}

}  // namespace gpuprobe::inline policy
