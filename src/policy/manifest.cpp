// SPDX-License-Identifier: Apache-2.0
#include "policy/manifest.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include "knowledge/selectors.h"
#include "policy/fact.h"
#include "policy/manifest_reading.h"

namespace gpuprobe::inline policy {
namespace {

/// A visitor that hashes what a term needs. Equal needs have the same hash. Members that rarely
/// differ aren't hashed.
struct NeedHash {
    std::size_t value = 0;

    /// Combines the hash with a value.
    void add(std::size_t part) { value = value * 1'000'003U + part; }
    void add_text(const std::string& text) { add(std::hash<std::string>{}(text)); }
    void add_version(const Version& version) {
        for (const auto part : version.parts)
            add(part);
    }
    void add_version(const std::optional<Version>& version) {
        add_version(version.value_or(Version{}));
    }
    void add_targets(const std::optional<std::vector<KernelTarget>>& targets) {
        add(targets ? targets->size() + 1 : 0);
        if (targets)
            for (const auto& target : *targets)
                add(target.capability.major * 16 + target.capability.minor);
    }

    void operator()(std::monostate) { add(0); }
    void operator()(bool flag) { add(flag ? 1 : 0); }
    void operator()(Bytes bytes) { add(bytes.count); }
    void operator()(const Version& version) { add_version(version); }
    void operator()(const VersionRange& range) {
        add_version(range.min);
        add_version(range.max);
        add_version(range.below);
    }
    void operator()(const std::vector<std::string>& texts) {
        for (const auto& text : texts)
            add_text(text);
    }
    void operator()(const std::vector<Version>& versions) {
        for (const auto& version : versions)
            add_version(version);
    }
    void operator()(Api api) { add(place_of(api)); }
    void operator()(const std::vector<GfxTarget>& targets) {
        for (const auto& target : targets)
            add_text(target.processor);
    }
    void operator()(const CudaDriverNeed& need) {
        add_version(need.toolkit);
        add_version(need.min_driver);
    }
    void operator()(const CudaKernels& code) {
        add_version(code.toolkit);
        add_targets(code.sass);
        add_targets(code.ptx);
    }
    void operator()(const std::vector<Term>& alternatives) {
        for (const auto& alternative : alternatives)
            add_text(alternative.name);
    }
    void operator()(const std::vector<Conjunction>& alternatives) {
        for (const auto& alternative : alternatives)
            (*this)(alternative);
    }
};

/// The hash of a term; it does not depend on the name of the term.
std::size_t hash_of(const Term& term) {
    NeedHash hash{static_cast<std::size_t>(term.fact)};
    hash.add(static_cast<std::size_t>(term.relation));
    hash.add_version(term.image_cuda);
    std::visit([&hash](const auto& need) { hash(need); }, term.need);
    return hash.value;
}

/// Builds a VariantIndex, which stores each distinct term once.
class Indexer {
public:
    void add(const Variant& variant) {
        const auto& needs = variant.needs;
        index_.entries.push_back({.first = static_cast<std::uint32_t>(index_.words.size()),
                                  .host = static_cast<std::uint32_t>(needs.host.size()),
                                  .alternatives = static_cast<std::uint32_t>(needs.devices.size()),
                                  .tier = variant.tier,
                                  .priority = variant.priority,
                                  .needs_all = needs.scope == VariantScope::All,
                                  .gpus_min = needs.gpus_min,
                                  .is_supported = needs.unsupported.empty()});
        add(needs.host);
        for (const auto& alternative : needs.devices) {
            index_.words.push_back(static_cast<std::uint32_t>(alternative.size()));
            add(alternative);
        }
    }

    VariantIndex take() { return std::move(index_); }

private:
    void add(const Conjunction& terms) {
        for (const auto& term : terms)
            index_.words.push_back(place_in_index(term));
    }

    /// The index of the term in `terms`; if the term is new, adds it to `terms`.
    std::uint32_t place_in_index(const Term& term) {
        const auto hash = hash_of(term);
        const auto [from, to] = places_.equal_range(hash);
        for (auto known = from; known != to; ++known)
            if (index_.terms[known->second] == term)
                return known->second;
        const auto place = static_cast<std::uint32_t>(index_.terms.size());
        index_.terms.push_back(term);
        places_.emplace(hash, place);
        return place;
    }

    VariantIndex index_ = {};
    std::unordered_multimap<std::size_t, std::uint32_t> places_ = {};
};

constexpr std::size_t kMaxHint = 400;
constexpr std::size_t kMaxPlatforms = 64;

/// The name of a processor in platform keys.
struct Architecture {
    std::string_view word;
    std::string_view machine;  ///< as in `uname -m`
};
constexpr Architecture kArchitectures[] = {
    {"x86_64", "x86_64"},   {"amd64", "x86_64"},    {"aarch64", "aarch64"}, {"arm64", "aarch64"},
    {"riscv64", "riscv64"}, {"ppc64le", "ppc64le"}, {"s390x", "s390x"},
};

/// Parses a platform key such as "linux-amd64-glibc"; returns false for any other string.
bool read_platform_key(std::string_view key, VariantPlatform& out) {
    const auto pieces = split(key, '-');
    if (pieces.size() < 2 || pieces.size() > 3 || pieces[0] != "linux")
        return false;
    const auto* row = std::ranges::find(kArchitectures, pieces[1], &Architecture::word);
    if (row == std::end(kArchitectures))
        return false;
    if (pieces.size() == 3 && pieces[2] != "glibc" && pieces[2] != "musl")
        return false;
    out.key = key;
    out.arch = row->machine;
    if (pieces.size() == 3)
        out.libc = std::string{pieces[2]};
    return true;
}

/// Reads the variants for a platform.
ReadProblem read_variants(const Value& value, std::vector<Variant>& out, UnknownWords unknown) {
    const auto* members = value.as_object();
    if (!members)
        return wrong_type(value, "object");
    if (members->empty() || members->size() > kMaxVariants)
        return ReadProblem{"needs 1 to " + std::to_string(kMaxVariants) + " variants"};
    out.reserve(members->size());
    for (const auto& member : *members) {
        auto problem = read_variant(member.key, member.value, out.emplace_back(), unknown);
        if (!problem.empty())
            return std::move(problem).in(path_part(member.key));
    }
    // find_variant() and evaluate() need variants that are sorted by name.
    std::ranges::sort(out, {}, &Variant::name);
    return {};
}

/// Checks that companions are variants of the same platform.
ReadProblem check_companions(const VariantPlatform& platform) {
    for (const auto& variant : platform.variants) {
        const auto* companions = variant.artifact.at("companions").as_array();
        if (!companions)
            continue;
        for (const auto& companion : *companions)
            if (!find_variant(platform, *companion.as_string()))
                return ReadProblem{"does not name a variant"}
                    .in("companions")
                    .in("artifact")
                    .in(path_part(variant.name))
                    .in("variants");
    }
    return {};
}

constexpr std::string_view kPlatformMembers = "default none_hint on_none variants";

ReadProblem read_platform_member(const std::string& key,
                                 const Value& value,
                                 VariantPlatform& out,
                                 UnknownWords unknown) {
    if (key == "variants")
        return read_variants(value, out.variants, unknown);
    if (key == "default")
        return read_value(value, out.fallback.emplace());
    if (key == "none_hint")
        return read_plain_text(value, out.none_hint.emplace(), kMaxHint);
    if (key != "on_none")
        return unknown_member(key, word_list(kPlatformMembers));
    auto problem = read_value(value, out.on_none);
    if (!problem.empty())
        problem.reason = "expected 'error' or 'default'";
    return problem;
}

/// Reads a platform, and checks the references between the variants of this platform.
ReadProblem read_platform(const Value& value, VariantPlatform& out, UnknownWords unknown) {
    auto problem = read_members(value, [&](const std::string& key, const Value& member) {
        return read_platform_member(key, member, out, unknown);
    });
    if (!problem.empty())
        return problem;
    if (out.variants.empty())
        return ReadProblem{"missing"}.in("variants");
    if (out.fallback && !find_variant(out, *out.fallback))
        return ReadProblem{"does not name a variant"}.in("default");
    return check_companions(out);
}

/// Reads tsuku's oldest format, in which each platform has one variant: the platform itself.
ReadProblem read_flat_platform(const Value& value, VariantPlatform& out, UnknownWords unknown) {
    auto& variant = out.variants.emplace_back();
    auto problem = read_variant("default", value, variant, unknown);
    if (problem.empty() && variant.artifact.is_null())
        return ReadProblem{"missing"}.in("url");
    out.fallback = variant.name;
    return problem;
}

bool is_same_platform(const VariantPlatform& left, const VariantPlatform& right) {
    return left.arch == right.arch && left.libc == right.libc;
}

constexpr std::string_view kManifestMembers =
    "schema name version issued expires rules source platforms";

/// Reads a manifest. If the root has no `schema`, the manifest is in tsuku's format.
class ManifestReader {
public:
    ManifestReader(Manifest& out, UnknownWords unknown) : out_{out}, unknown_{unknown} {}

    ReadProblem read(const Value& root) {
        if (!root.is_object())
            return wrong_type(root, "object");
        is_tsuku_ = root.find("schema") == nullptr;
        auto problem = read_members(root, [this](const std::string& key, const Value& value) {
            return read_member(key, value);
        });
        if (!problem.empty())
            return problem;
        if (out_.name.empty() && !is_tsuku_)
            return ReadProblem{"missing"}.in("name");
        if (!has_platforms_)
            return ReadProblem{"missing"}.in("platforms");
        return {};
    }

private:
    ReadProblem read_member(const std::string& key, const Value& value) {
        if (key == "schema")
            return value == Value{kManifestSchema} ? ReadProblem{} : unknown_schema();
        if (key == "name")
            return read_name(value);
        if (key == "version")
            return read_plain_text(value, out_.version.emplace(), kMaxVersionText);
        if (key == "issued")
            return read_instant(value, out_.issued.emplace());
        if (key == "expires")
            return read_instant(value, out_.expires.emplace());
        if (key == "rules")
            return read_value(value, out_.rules.emplace());
        if (key == "source") {
            auto problem = check_source(value);
            return problem.empty() ? read_value(value, out_.source) : std::move(problem);
        }
        return key == "platforms" ? read_platforms(value)
                                  : unknown_member(key, word_list(kManifestMembers));
    }

    static ReadProblem unknown_schema() {
        const std::vector<std::string> known{std::string{kApplicationSchema},
                                             std::string{kManifestSchema}};
        return unknown_word("expected " + joined(known, " or "), known);
    }

    ReadProblem read_name(const Value& value) {
        auto problem = read_value(value, out_.name);
        return !problem.empty() || is_label(out_.name) ? problem : ReadProblem{"not a label"};
    }

    static ReadProblem read_instant(const Value& value, std::string& out) {
        auto problem = read_value(value, out);
        if (problem.empty() && !instant_from(out))
            problem = "expected a time such as 2026-08-22T00:00:00Z";
        return problem;
    }

    ReadProblem read_platforms(const Value& value) {
        has_platforms_ = true;
        const auto* members = value.as_object();
        if (!members)
            return wrong_type(value, "object");
        if (members->empty() || members->size() > kMaxPlatforms)
            return "needs 1 to 64 platforms";
        for (const auto& member : *members) {
            auto problem = read_one_platform(member.key, member.value);
            if (!problem.empty())
                return std::move(problem).in(path_part(member.key));
        }
        std::ranges::sort(out_.platforms, {}, &VariantPlatform::key);
        return {};
    }

    ReadProblem read_one_platform(const std::string& key, const Value& value) {
        VariantPlatform platform;
        if (!read_platform_key(key, platform))
            // tsuku's manifests also cover other operating systems, which are ignored.
            return is_tsuku_ && is_label(key) && !key.starts_with("linux")
                       ? ReadProblem{}
                       : ReadProblem{
                             "expected a platform such as linux-x86_64 or linux-arm64-musl"};
        // In tsuku's format, a platform without `variants` is a single artifact.
        const bool is_flat = is_tsuku_ && value.is_object() && !value.find("variants");
        auto problem = is_flat ? read_flat_platform(value, platform, unknown_)
                               : read_platform(value, platform, unknown_);
        if (!problem.empty())
            return problem;
        // The keys "linux-amd64" and "linux-x86_64" mean the same platform.
        for (const auto& other : out_.platforms)
            if (is_same_platform(other, platform))
                return ReadProblem{"the same platform as " + other.key};
        platform.index = index_of(platform.variants);
        out_.platforms.push_back(std::move(platform));
        return {};
    }

    Manifest& out_;
    UnknownWords unknown_;
    bool is_tsuku_ = false;
    bool has_platforms_ = false;
};

/// Checks for each variable of each variant whether a data file may name and set the variable. The
/// check is done at the end, because it needs the manifest's name, which may follow the platforms.
ReadProblem variables_problem(const Manifest& manifest) {
    for (const auto& platform : manifest.platforms)
        for (const auto& variant : platform.variants)
            for (const auto& [name, value] : variant.environment) {
                auto problem = knowledge::variable_problem(name, manifest.name);
                if (!problem)
                    problem = knowledge::value_problem(name, value);
                if (problem)
                    return ReadProblem{*std::move(problem)}
                        .in(path_part(name))
                        .in("env")
                        .in(path_part(variant.name))
                        .in("variants")
                        .in(path_part(platform.key))
                        .in("platforms");
            }
    return {};
}

}  // namespace

VariantIndex index_of(const std::vector<Variant>& variants) {
    Indexer indexer;
    for (const auto& variant : variants)
        indexer.add(variant);
    return indexer.take();
}

UpstreamVersions upstream_versions(const Value& source) {
    return record_from<UpstreamVersions>(source).value_or({});
}

std::optional<WallTime> instant_from(std::string_view text) {
    constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
    const auto fits = [](char c, char form) {
        return form == '0' ? c >= '0' && c <= '9' : c == form;
    };
    // Every digit and every separator must be at the right position.
    if (!std::ranges::equal(text, kForm, fits))
        return std::nullopt;
    const auto number = [text](std::size_t from, std::size_t count) {
        return parse_number<unsigned>(text.substr(from, count)).value_or(0);
    };
    const std::chrono::year_month_day day{std::chrono::year{static_cast<int>(number(0, 4))},
                                          std::chrono::month{number(5, 2)},
                                          std::chrono::day{number(8, 2)}};
    // The value 60 is valid for seconds, because it is a leap second.
    if (!day.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 60)
        return std::nullopt;
    return WallTime{std::chrono::sys_days{day}.time_since_epoch() +
                    std::chrono::hours{number(11, 2)} + std::chrono::minutes{number(14, 2)} +
                    std::chrono::seconds{number(17, 2)}};
}

std::vector<MemberPlace> manifest_members() {
    auto places = variant_members();
    places.push_back({.place = "platforms.PLATFORM", .members = word_list(kPlatformMembers)});
    places.push_back({.place = "the manifest", .members = word_list(kManifestMembers)});
    return places;
}

ReadProblem read_manifest(const Value& root, Manifest& out, UnknownWords unknown) {
    auto problem = ManifestReader{out, unknown}.read(root);
    return problem.empty() ? variables_problem(out) : problem;
}

const VariantPlatform* platform_for(const Manifest& manifest, const Facts& host) {
    const auto word = [&host](FactId id) { return host.get<std::string>(id).value; };
    const VariantPlatform* found = nullptr;
    for (const auto& platform : manifest.platforms) {
        // A key that contains the machine's C library takes precedence. A key that contains no C
        // library is the fallback.
        if (word(FactId::Os) != "linux" || platform.arch != word(FactId::Arch))
            continue;
        if (platform.libc && platform.libc == word(FactId::Libc))
            return &platform;
        if (!platform.libc)
            found = &platform;
    }
    return found;
}

const Variant* find_variant(const VariantPlatform& platform, std::string_view name) {
    const auto found = std::ranges::lower_bound(platform.variants, name, {}, &Variant::name);
    return found == platform.variants.end() || found->name != name ? nullptr : &*found;
}

}  // namespace gpuprobe::inline policy
