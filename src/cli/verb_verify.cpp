// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cli/recommendation.h"
#include "cli/verbs.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {
namespace {

/// The hash and size in the manifest.
struct Expected {
    std::string sha256 = {};
    std::optional<std::uint64_t> size = {};
};

/// The hash and size of the file.
struct Found {
    std::string sha256 = {};
    std::uint64_t size = 0;
};

/// This machine's architecture, such as "x86_64".
std::string machine() {
    utsname names = {};
    return ::uname(&names) == 0 ? names.machine : "";
}

/// The variant with that name for this machine's architecture, or else for the only platform that
/// has it.
Result<const Variant*> chosen_variant(const Manifest& manifest, const std::string& name) {
    std::vector<const Variant*> found;
    const auto here = machine();
    for (const auto& platform : manifest.platforms)
        if (const auto* variant = find_variant(platform, name)) {
            if (platform.arch == here)
                return variant;
            found.push_back(variant);
        }
    if (found.size() == 1)
        return found.front();
    return Error{ErrorCode::InvalidRequest,
                 phrase(found.empty() ? "the manifest has no variant '{name}'"
                                      : "the manifest has several variants '{name}'",
                        {{"name", scrubbed(name, 64)}})};
}

/// The hash and size that the manifest has for a variant. Placeholders need not be checked here,
/// because the parser of manifests refuses them.
Result<Expected> expected_of(const Variant& variant) {
    const auto* hash = variant.artifact.at("sha256").as_string();
    if (!hash)
        return Error{ErrorCode::Malformed,
                     fmt::format("variant '{}' has no sha256", scrubbed(variant.name, 64))};
    return Expected{.sha256 = *hash, .size = variant.artifact.at("size").as_unsigned()};
}

using File = CHandle<FILE, std::fclose>;

/// Hashes a file of any size, in blocks.
Result<Found> hashed(const std::string& path) {
    const File file{std::fopen(path.c_str(), "rbe")};
    if (!file)
        return errno_error(path, errno);
    Sha256 hash;
    Found found;
    std::array<char, 65536> piece = {};
    while (const auto count = std::fread(piece.data(), 1, piece.size(), file.get())) {
        hash.add({piece.data(), count});
        found.size += count;
    }
    if (std::ferror(file.get()) != 0)
        return errno_error(path, errno);
    found.sha256 = hash.take();
    return found;
}

/// How the file differs from the manifest; "" if it does not.
std::string difference(const Expected& expected, const Found& found) {
    if (expected.size && *expected.size != found.size)
        return phrase(
            "it has {size} bytes, but the manifest says {expected}",
            {{"size", std::to_string(found.size)}, {"expected", std::to_string(*expected.size)}});
    if (expected.sha256 != found.sha256)
        return phrase("its SHA-256 is {sum}, but the manifest says {expected}",
                      {{"sum", found.sha256}, {"expected", expected.sha256}});
    return "";
}

Result<ExitCode> run_verify(const Arguments& arguments) {
    const auto& wanted = arguments.recommend;
    const auto manifest = TRY(wanted_manifest(wanted));
    const auto& variant = *TRY(chosen_variant(manifest, *wanted.variant));
    const auto expected = TRY(expected_of(variant));
    const auto found = TRY(hashed(*wanted.file));
    const auto problem = difference(expected, found);
    if (arguments.json != JsonMode::Off) {
        Value document{Value::Object{}};
        document["file"] = scrubbed(*wanted.file, 4096);
        document["variant"] = variant.name;
        document["matches"] = problem.empty();
        document["size"] = static_cast<unsigned long long>(found.size);
        document["sha256"] = found.sha256;
        document["expected_size"] =
            expected.size ? Value{static_cast<unsigned long long>(*expected.size)} : Value{};
        document["expected_sha256"] = expected.sha256;
        print_json(arguments, document);
        return problem.empty() ? ExitCode::Answered : ExitCode::Failed;
    }
    if (!problem.empty())
        return Error{ErrorCode::Malformed, scrubbed(*wanted.file, 512) + ": " + problem};
    if (!arguments.is_quiet)
        print(phrase("{file} is {variant} of {product}", {{"file", scrubbed(*wanted.file, 512)},
                                                          {"variant", variant.name},
                                                          {"product", manifest.name}}) +
              "\n");
    return ExitCode::Answered;
}

Status check_verify(Arguments& arguments) {
    const auto& recommend = arguments.recommend;
    if (!recommend.file || !recommend.manifest || !recommend.variant)
        return refusal("verify: FILE, --manifest and --variant are needed");
    return Done{};
}

}  // namespace

Verb verify_verb() {
    return {.name = "verify",
            .overview = {{"verify FILE", "whether a downloaded file is what a manifest says"}},
            .usage = {"verify FILE --manifest=FILE --variant=NAME"},
            .about = R"(
Whether FILE has the size and the SHA-256 that the manifest says.
)",
            .operands = {{.word = {.name = "FILE", .names = kFiles},
                          .take = put<&Arguments::recommend, &RecommendArguments::file>}},
            .options = {{.names = "--manifest",
                         .value = {.name = "FILE", .names = kFiles},
                         .help = "the manifest",
                         .take = put<&Arguments::recommend, &RecommendArguments::manifest>},
                        {.names = "--variant",
                         .value = {.name = "NAME"},
                         .help = "the variant that FILE is",
                         .take = put<&Arguments::recommend, &RecommendArguments::variant>}},
            .check = check_verify,
            .run_alone = run_verify};
}

}  // namespace gpuprobe::inline cli
