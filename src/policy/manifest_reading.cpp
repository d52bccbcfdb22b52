// SPDX-License-Identifier: Apache-2.0
#include "policy/manifest_reading.h"

#include <algorithm>
#include <array>

namespace gpuprobe::inline policy {
namespace {

constexpr std::size_t kMaxUrl = 2048;

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// Whether RFC 3986 permits the character in a URL.
bool is_url_character(char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '<' && c != '>' && c != '\\' && c != '^' &&
           c != '`' && c != '{' && c != '|' && c != '}';
}

/// Returns the position of the host in a URL, or npos if the scheme isn't supported.
std::size_t host_of(std::string_view url) {
    for (const std::string_view scheme : {"https://", "http://"})
        if (url.starts_with(scheme))
            return scheme.size();
    return std::string_view::npos;
}

}  // namespace

bool is_label(std::string_view text) {
    constexpr std::size_t kMaxLabel = 128;
    constexpr std::string_view kOthers = "_.+:/-";
    return !text.empty() && text.size() <= kMaxLabel && is_alphanumeric(text.front()) &&
           std::ranges::all_of(text, [kOthers](char c) {
               return is_alphanumeric(c) || kOthers.find(c) != std::string_view::npos;
           });
}

ReadProblem read_plain_text(const Value& value, std::string& out, std::size_t limit) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    if (text->size() > limit)
        return ReadProblem{"more than " + std::to_string(limit) + " bytes"};
    // Strings are shown in terminals, so reject any string that scrubbed() would change.
    if (scrubbed(*text, limit) != *text)
        return "has control characters";
    out = *text;
    return {};
}

ReadProblem check_source(const Value& value) {
    if (!value.is_object())
        return wrong_type(value, "object");
    for (const std::string_view key : {"version", "checked", "newer"}) {
        const auto* member = value.find(key);
        std::string text;
        auto problem = member ? read_plain_text(*member, text, kMaxVersionText) : ReadProblem{};
        if (member && problem.empty() && key == "checked" && !knowledge::instant_of(text))
            problem = "expected a date such as 2026-08-22";
        if (!problem.empty())
            return std::move(problem).in(std::string{key});
    }
    return {};
}

ReadProblem check_sha256(const Value& value) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    const bool is_hash = text->size() == 64 && std::ranges::all_of(*text, [](char c) {
                             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                         });
    if (!is_hash)
        return "not 64 lower-case hexadecimal digits";
    if (text->find_first_not_of('0') == std::string::npos)
        return "a placeholder: all zero";
    return {};
}

ReadProblem check_url(const Value& value) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    if (text->size() > kMaxUrl)
        return ReadProblem{"more than " + std::to_string(kMaxUrl) + " bytes"};
    const auto host = host_of(*text);
    if (host == std::string::npos)
        return "not an https or http URL";
    // The host must not be empty.
    if (text->size() == host || (*text)[host] == '/' ||
        !std::ranges::all_of(*text, is_url_character))
        return "not a URL";
    return {};
}

std::vector<std::string> word_list(std::string_view text) {
    const auto pieces = words(text);
    return {pieces.begin(), pieces.end()};
}

std::string path_part(std::string_view key) {
    constexpr std::size_t kMaxPart = 64;
    const bool is_plain =
        !key.empty() && key.size() <= kMaxPart &&
        std::ranges::all_of(key, [](char c) { return is_alphanumeric(c) || c == '_' || c == '-'; });
    return is_plain ? std::string{key} : "[\"" + scrubbed(key, kMaxPart) + "\"]";
}

namespace {

constexpr std::size_t kMaxNote = 400;
constexpr std::size_t kMaxReference = 512;
constexpr std::size_t kMaxVariables = 64;
constexpr std::size_t kMaxVariable = 4096;
constexpr int kMaxTier = 1000;

ReadProblem check_text(const Value& value, std::size_t limit) {
    std::string text;
    return read_plain_text(value, text, limit);
}

ReadProblem check_urls(const Value& value) {
    constexpr std::size_t kMaxUrls = 16;
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array");
    if (items->empty() || items->size() > kMaxUrls)
        return "needs 1 to 16 URLs";
    for (std::size_t i = 0; i < items->size(); ++i) {
        auto problem = check_url((*items)[i]);
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(i) + "]");
    }
    return {};
}

ReadProblem check_digest(const Value& value) {
    constexpr std::string_view kPrefix = "sha256:";
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    if (!text->starts_with(kPrefix))
        return "does not start with sha256:";
    return check_sha256(Value{text->substr(kPrefix.size())});
}

ReadProblem check_size(const Value& value) {
    std::uint64_t size = 0;
    return read_value(value, size);
}

ReadProblem check_companions(const Value& value) {
    std::vector<std::string> names;
    return read_list(value, names, kMaxList);
}

/// Checks a list of names of Python packages.
ReadProblem check_excludes(const Value& value) {
    constexpr std::size_t kMaxPackages = 16;
    std::vector<std::string> names;
    if (auto problem = read_list(value, names, kMaxPackages); !problem.empty())
        return problem;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!is_label(names[i]))
            return ReadProblem{"not the name of a package"}.in("[" + std::to_string(i) + "]");
    return {};
}

/// Checks a companion: a file with its URLs, or a package with its name.
ReadProblem check_companion_file(const Value& value) {
    auto problem =
        read_members(value, [](const std::string& key, const Value& member) -> ReadProblem {
            if (key == "urls")
                return check_urls(member);
            if (key == "sha256")
                return check_sha256(member);
            if (key == "size")
                return check_size(member);
            return key == "ref" ? check_text(member, kMaxReference) : ReadProblem{"unknown member"};
        });
    if (!problem.empty() || value.find("ref"))
        return problem;
    return value.find("urls") ? problem : ReadProblem{"missing"}.in("urls");
}

ReadProblem check_companion_files(const Value& value) {
    constexpr std::size_t kMaxFiles = 16;
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array");
    if (items->size() > kMaxFiles)
        return "more than 16 items";
    for (std::size_t i = 0; i < items->size(); ++i) {
        auto problem = check_companion_file((*items)[i]);
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(i) + "]");
    }
    return {};
}

ReadProblem check_signature(const Value& value) {
    return read_members(value, [](const std::string& key, const Value& member) -> ReadProblem {
        if (key == "url")
            return check_url(member);
        if (key == "key_id")
            return check_text(member, kMaxReference);
        if (key != "type")
            return unknown_member(key, {"url", "key_id", "type"});
        const std::vector<std::string> known{"minisign", "sigstore-bundle", "gpg"};
        const auto* word = member.as_string();
        return word && contains(known, *word)
                   ? ReadProblem{}
                   : unknown_word("expected minisign, sigstore-bundle or gpg", known);
    });
}

/// The parts of a driver that an image can bundle, so that the host does not have to provide them.
constexpr auto kBundled =
    std::to_array<std::string_view>({"compute-runtime", "cuda-compat", "mesa", "rocm"});

ReadProblem check_bundles(const Value& value) {
    return read_members(value, [](const std::string& key, const Value& version) -> ReadProblem {
        if (std::ranges::find(kBundled, key) == kBundled.end())
            return unknown_member(key, {kBundled.begin(), kBundled.end()});
        Version ignored;
        return version.is_null() ? ReadProblem{} : read_value(version, ignored);
    });
}

/// Joins the items of an image's condition, which are alternatives, into one string.
ReadProblem read_condition(const Value& value, std::string& out) {
    std::vector<std::string> items;
    if (auto problem = read_list(value, items, kMaxList); !problem.empty())
        return problem;
    for (const auto& item : items)
        out += (out.empty() ? "" : " ") + item;
    if (out.empty())
        return {};
    const auto condition = image_condition(out);
    return condition ? ReadProblem{} : ReadProblem{condition.error().text};
}

ReadProblem check_image(const Value& value) {
    return read_members(value, [](const std::string& key, const Value& member) -> ReadProblem {
        std::string condition;
        if (key == "bundles")
            return check_bundles(member);
        return key == "requires" ? read_condition(member, condition)
                                 : unknown_member(key, {"bundles", "requires"});
    });
}

/// Adds the known properties of the container image to the alternatives that use CUDA.
void add_image(const Value& image, Requirements& needs) {
    std::string condition;
    if (const auto* required = image.find("requires"))
        (void)read_condition(*required, condition);  // the condition is known to be valid
    const auto* compat = image.at("bundles").at("cuda-compat").as_string();
    for (auto& terms : needs.devices) {
        const auto is_of_cuda = [](const Term& term) { return api_of(term) == Api::Cuda; };
        if (std::ranges::none_of(terms, is_of_cuda))
            continue;
        for (auto& term : terms)
            if (compat && is_of_cuda(term))
                term.image_cuda = parse_text(*compat, std::type_identity<Version>{});
        if (!condition.empty())
            terms.insert(terms.begin(), image_condition(condition).value());
    }
}

constexpr const char* kNoArtifactType = "expected file, index, oci, dir, package or wheel";

/// A member of an artifact and the function that checks its value.
struct ArtifactCheck {
    std::string_view key;
    ReadProblem (*check)(const Value& value);
};
constexpr ArtifactCheck kArtifactChecks[] = {
    {"type",
     [](const Value& value) -> ReadProblem {
         const auto* word = value.as_string();
         return word && is_label(*word) ? ReadProblem{} : ReadProblem{kNoArtifactType};
     }},
    {"urls", check_urls},
    {"sha256", check_sha256},
    {"size", check_size},
    {"ref", [](const Value& value) { return check_text(value, kMaxReference); }},
    {"digest", check_digest},
    {"media_type", [](const Value& value) { return check_text(value, kMaxReference); }},
    {"companions", check_companions},
    {"companion_files", check_companion_files},
    {"excludes", check_excludes},
    {"signature", check_signature},
    {"image", check_image},
};

ReadProblem needs_member(const Value& artifact, const char* key) {
    return artifact.find(key) ? ReadProblem{} : ReadProblem{"missing"}.in(key);
}

/// Whether a member of the image has content. Presence alone does not count, because members of a
/// record that was read earlier can be present but empty.
bool describes_image(const Value& image) {
    const auto* bundles = image.at("bundles").as_object();
    const auto* conditions = image.at("requires").as_array();
    return (bundles && !bundles->empty()) || (conditions && !conditions->empty());
}

/// Checks that the artifact has the members that are needed to find and verify it.
ReadProblem check_whole(const Value& artifact) {
    auto problem = needs_member(artifact, "type");
    const auto* type = artifact.at("type").as_string();
    if (problem.empty() && type && *type == "file") {
        problem = needs_member(artifact, "urls");
        if (problem.empty())
            problem = needs_member(artifact, "sha256");
    }
    if (problem.empty() && type && *type == "oci")
        problem = needs_member(artifact, "ref");
    else if (problem.empty() && describes_image(artifact.at("image")))
        problem = ReadProblem{"allowed only for an artifact of type oci"}.in("image");
    return problem;
}

bool is_variable(std::string_view name) {
    return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
           std::ranges::all_of(name, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '_';
           });
}

ReadProblem read_environment(const Value& value, std::map<std::string, std::string>& out) {
    const auto* members = value.as_object();
    if (!members)
        return wrong_type(value, "object");
    if (members->size() > kMaxVariables)
        return "more than 64 variables";
    for (const auto& [name, member] : *members) {
        auto problem = is_variable(name) ? read_plain_text(member, out[name], kMaxVariable)
                                         : ReadProblem{"not the name of a variable"};
        if (!problem.empty())
            return std::move(problem).in(path_part(name));
    }
    return {};
}

/// Expands tsuku's shorthand into an artifact.
ReadProblem read_shorthand(const Value& value, Value& artifact) {
    artifact["type"] = "file";
    artifact["urls"] = Value::Array{value.at("url")};
    for (const char* key : {"sha256", "size"})
        if (const auto* member = value.find(key))
            artifact[key] = *member;
    auto problem = check_url(value.at("url"));
    if (!problem.empty())
        return std::move(problem).in("url");
    return read_artifact(Value{artifact}, artifact);
}

ReadProblem read_integer(const Value& value, int& out, int least, int most) {
    auto problem = read_value(value, out);
    if (problem.empty() && (out < least || out > most))
        problem = "number out of range";
    return problem;
}

constexpr auto kArtifactTypes =
    std::to_array<std::string_view>({"file", "index", "oci", "dir", "package", "wheel"});

/// A variant that is being read.
struct VariantReading {
    Variant& variant;
    UnknownWords unknown = UnknownWords::Lose;
};

/// Reads an artifact. An artifact of an unknown type isn't an error, but its variant is
/// rejected.
ReadProblem read_artifact_of(const Value& value, VariantReading& out) {
    auto problem = read_artifact(value, out.variant.artifact);
    const auto* type = value.at("type").as_string();
    if (!problem.empty() || !type ||
        std::ranges::find(kArtifactTypes, *type) != kArtifactTypes.end())
        return problem;
    if (out.unknown == UnknownWords::Refuse) {
        problem = unknown_word(kNoArtifactType, {kArtifactTypes.begin(), kArtifactTypes.end()});
        problem.may_be_newer = true;
        return std::move(problem).in("type");
    }
    out.variant.needs.unsupported.push_back("artifact.type=" + *type);
    return problem;
}

constexpr MemberReader<VariantReading> kReaders[] = {
    {"family",
     [](const Value& value, VariantReading& out) -> ReadProblem {
         auto& family = out.variant.family;
         auto problem = read_value(value, family);
         return !problem.empty() || is_label(family) ? problem : ReadProblem{"not a label"};
     }},
    {"tier",
     [](const Value& value, VariantReading& out) {
         return read_integer(value, out.variant.tier, 0, kMaxTier);
     }},
    {"priority", [](const Value& value,
                    VariantReading& out) { return read_value(value, out.variant.priority); }},
    {"on_unknown", [](const Value&, VariantReading&) { return ReadProblem{}; }},  // last, below
    {"requires",
     [](const Value& value, VariantReading& out) {
         return read_requirements(value, out.variant.needs, out.unknown);
     }},
    {"advises",
     [](const Value& value, VariantReading& out) {
         return read_advice(value, out.variant.advice.emplace(), out.unknown);
     }},
    {"artifact", read_artifact_of},
    {"url", [](const Value&, VariantReading&) { return ReadProblem{}; }},     // read below
    {"sha256", [](const Value&, VariantReading&) { return ReadProblem{}; }},  // see `url`
    {"size", [](const Value&, VariantReading&) { return ReadProblem{}; }},    // see `url`
    {"env", [](const Value& value,
               VariantReading& out) { return read_environment(value, out.variant.environment); }},
    {"version",
     [](const Value& value, VariantReading& out) {
         return read_plain_text(value, out.variant.version.emplace(), 64);
     }},
    {"note",
     [](const Value& value, VariantReading& out) {
         return read_plain_text(value, out.variant.note.emplace(), kMaxNote);
     }},
};

/// Whether the name is the term's name or the first part of the term's name: "cuda" also names
/// "cuda.driver".
bool names_term(std::string_view name, const Term& term) {
    const std::string_view own = term.name;
    return own == name ||
           (own.size() > name.size() && own.starts_with(name) && own[name.size()] == '.');
}

/// Marks the terms with the name, or all terms if the name is nullopt, as met if their facts are
/// unknown. Returns whether any term was marked.
bool accept_unknown(const std::optional<std::string>& name, Requirements& needs) {
    bool is_found = false;
    const auto accept_in = [&](Conjunction& terms) {
        for (auto& term : terms)
            if (!name || names_term(*name, term))
                is_found = term.accepts_unknown = true;
    };
    accept_in(needs.host);
    std::ranges::for_each(needs.devices, accept_in);
    return is_found;
}

/// Reads `on_unknown`: "reject", "accept", or the names of the requirements that count as met if
/// their facts are unknown. The variant's requirements must have been read before.
ReadProblem read_on_unknown(const Value& value, Variant& out) {
    const ReadProblem neither{"expected 'reject', 'accept' or a list of requirements"};
    if (const auto* word = value.as_string()) {
        if (*word == "accept")
            accept_unknown(std::nullopt, out.needs);
        return *word == "accept" || *word == "reject" ? ReadProblem{} : neither;
    }
    std::vector<std::string> names;
    if (!value.as_array())
        return neither;
    if (auto problem = read_list(value, names, kMaxList); !problem.empty())
        return problem;
    for (const auto& name : names)
        if (!accept_unknown(name, out.needs))
            return ReadProblem{path_part(name) + ": not the name of a requirement"};
    return {};
}

/// The API, or the CPU, that a tsuku variant's name or family implies; null if neither is implied.
/// Names of gpuprobe's backends are recognized, and "hip" is accepted as a name for ROCm.
const ApiInfo* implied_by(const Variant& variant) {
    const auto is_named = [&variant](std::string_view name) {
        return !name.empty() && (name == variant.name || name == variant.family);
    };
    const auto* row = std::ranges::find_if(kApis, [&](const ApiInfo& api) {
        const bool is_a_word = api.tier > 0 || api.id == Api::Cpu;
        return is_a_word && (is_named(api.backend) || (api.id == Api::Hip && is_named(api.word)));
    });
    return row == kApis.end() ? nullptr : row;
}

/// Sets the tier and the requirements that the variant's name implies.
void imply(Variant& variant) {
    const auto* api = implied_by(variant);
    if (!api)
        return;
    variant.tier = api->tier;
    if (!computes(*api))
        return;
    Value device;
    device["backend"] = api->word;
    Value needs;
    needs["device"] = std::move(device);
    (void)read_requirements(needs, variant.needs);  // `needs` was built above, so it is valid
}

}  // namespace

ReadProblem read_artifact(const Value& value, Value& out) {
    auto problem =
        read_members(value, [](const std::string& key, const Value& member) -> ReadProblem {
            for (const auto& row : kArtifactChecks)
                if (row.key == key)
                    return row.check(member);
            return unknown_member(key, keys_of(kArtifactChecks));
        });
    if (problem.empty())
        problem = check_whole(value);
    if (problem.empty())
        out = value;
    return problem;
}

std::vector<MemberPlace> variant_members() {
    auto places = requirement_members();
    places.push_back({.place = "variants.NAME", .members = keys_of(kReaders)});
    places.push_back({.place = "artifact", .members = keys_of(kArtifactChecks)});
    return places;
}

ReadProblem read_variant(std::string name, const Value& value, Variant& out, UnknownWords unknown) {
    out.name = std::move(name);
    if (!is_label(out.name))
        return "not a label";
    VariantReading reading{.variant = out, .unknown = unknown};
    auto problem = read_known(value, reading, kReaders);
    if (!problem.empty())
        return problem;
    // tsuku's shorthand and an artifact exclude each other, and the shorthand needs a URL.
    const bool has_shorthand = value.find("url") != nullptr;
    if (has_shorthand && !out.artifact.is_null())
        return ReadProblem{"not allowed with an artifact"}.in("url");
    if (!has_shorthand && (value.find("sha256") || value.find("size")))
        return ReadProblem{"missing"}.in("url");
    if (has_shorthand)
        problem = read_shorthand(value, out.artifact);
    if (problem.empty())
        add_image(out.artifact.at("image"), out.needs);
    if (out.family.empty())
        out.family = out.name;
    // Only variants without explicit requirements get the implied requirements.
    if (!value.find("requires") && !value.find("tier"))
        imply(out);
    if (const auto* accepted = value.find("on_unknown"); accepted && problem.empty()) {
        problem = read_on_unknown(*accepted, out);
        if (!problem.empty())
            return std::move(problem).in("on_unknown");
    }
    return problem;
}

}  // namespace gpuprobe::inline policy
