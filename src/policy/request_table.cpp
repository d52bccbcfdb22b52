// SPDX-License-Identifier: Apache-2.0
#include "policy/request_table.h"

#include "base/text.h"
#include "base/units.h"
#include "policy/assumptions.h"
#include "policy/select.h"
#include "policy/term.h"

namespace gpuprobe::inline policy {
namespace {

constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxKeyName = 128;

/// Parses one item and adds it to a list.
using Add = ReadProblem (*)(std::string_view text, std::vector<std::string>& out);

/// Adds a name with its case unchanged.
ReadProblem add_as_it_is(std::string_view text, std::vector<std::string>& out) {
    const auto name = trimmed(text);
    if (name.empty())
        return "a name is empty";
    if (name.size() > kMaxKeyName)
        return "a name of more than 128 bytes";
    if (out.size() == kMaxNames)
        return "more than 64 names";
    out.emplace_back(name);
    return {};
}

/// Adds a name in lower case.
ReadProblem add_name(std::string_view text, std::vector<std::string>& out) {
    return add_as_it_is(lower_case(text), out);
}

/// Adds a predicate without changing its case, because sizes contain capital letters:
/// "memory>=8GiB".
ReadProblem add_predicate(std::string_view text, std::vector<std::string>& out) {
    auto problem = add_as_it_is(text, out);
    if (!problem.empty())
        return problem;
    if (auto why = predicate_problem(out.back()))
        return std::move(*why);
    return {};
}

/// Adds an assumption. A second assumption about the same fact is an error, because it would
/// contradict the first.
ReadProblem add_assumption(std::string_view text, std::vector<std::string>& out) {
    auto problem = add_as_it_is(text, out);
    if (!problem.empty())
        return problem;
    if (auto why = assumption_problem(out.back()))
        return std::move(*why);
    return assumed_values(out).size() == out.size()
               ? ReadProblem{}
               : ReadProblem{scrubbed(out.back(), 64) + ": the fact is given twice"};
}

/// Checks a word about a build with the function `problem`, and adds the word if it is valid.
template <std::optional<std::string> (*problem)(std::string_view)>
ReadProblem add_build_word(std::string_view text, std::vector<std::string>& out) {
    const auto word = trimmed(text);
    if (auto why = problem(word))
        return scrubbed(word, 64) + ": " + *why;
    if (out.size() == kMaxPartWords)
        return "more than 256 words";
    out.emplace_back(word);
    return {};
}

/// Reads an array of strings, or a string with commas. An empty string means an empty list.
ReadProblem read_list(const Value& value, std::vector<std::string>& out, Add add) {
    out.clear();
    if (const auto* text = value.as_string()) {
        if (trimmed(*text).empty())
            return {};
        for (const auto piece : split(*text, ','))
            if (auto problem = add(piece, out); !problem.empty())
                return problem;
        return {};
    }
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array of strings");
    for (const auto& item : *items) {
        std::string name;
        auto problem = read_value(item, name);
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(out.size()) + "]");
        problem = add(name, out);
        if (!problem.empty())
            return problem;
    }
    return {};
}

/// Reads words about a whole build, or an object with words about each part of the build.
ReadProblem read_parts(const Value& value, PartWords& out, Add add) {
    out.clear();
    const auto* parts = value.as_object();
    if (!parts)
        return read_list(value, out[""], add);
    if (parts->size() > kMaxParts)
        return "more than 64 parts";
    for (const auto& part : *parts) {
        const auto name = scrubbed(part.key, kMaxKeyName);
        if (auto problem = read_list(part.value, out[name], add); !problem.empty())
            return std::move(problem).in(name);
    }
    return {};
}

ReadProblem read_names(const Value& value, std::vector<std::string>& out) {
    return read_list(value, out, add_name);
}

/// Reads a list that restricts the choice. An empty list is an error, because a script with an
/// empty variable would otherwise remove the restriction.
ReadProblem read_some_names(const Value& value, std::optional<std::vector<std::string>>& out) {
    auto problem = read_names(value, out.emplace());
    if (problem.empty() && out->empty())
        return "expected at least one name; omit the key to allow any name";
    return problem;
}

/// Reads a size as a number of bytes or as a string.
ReadProblem read_size(const Value& value, std::optional<Bytes>& out) {
    if (const auto count = value.as_unsigned())
        out = Bytes{*count};
    else if (const auto* text = value.as_string())
        out = size_from_text(*text);
    else
        out.reset();
    return out ? ReadProblem{} : ReadProblem{"expected a number of bytes, or text like \"8GiB\""};
}

constexpr std::size_t kMaxCallerVariables = 256;
constexpr std::size_t kMaxCallerVariable = 4096;

/// Reads a platform, "os-arch".
ReadProblem read_platform(const Value& value, std::optional<std::string>& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    out = lower_case(trimmed(*text));
    const auto dash = out->find('-');
    if (out->size() > kMaxKeyName || dash == 0 || dash == std::string::npos || out->ends_with('-'))
        return "expected an operating system and a processor, like \"darwin-arm64\"";
    return {};
}

/// Reads a backend; "auto" means absent.
ReadProblem read_backend(const Value& value, std::optional<std::string>& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    std::vector<std::string> names;
    if (auto problem = add_name(*text, names); !problem.empty())
        return problem;
    out.reset();
    if (names.front() != "auto")
        out = names.front();
    return {};
}

// The accepted keys in the order of the help.
constexpr ReadableKey<SelectRequest> kSelectKeys[] = {
    {{.key = "built",
      .meaning = "the backends that the application is built with: cuda,vulkan,…",
      .option = "--built",
      .placeholder = "LIST",
      .offers = kBackendWords,
      .keeps_empty = true},
     [](const Value& v, SelectRequest& r) { return read_names(v, r.built.emplace()); }},
    {{.key = "variant",
      .meaning = "the build that is installed: a variant, a folder or a file",
      .option = "--installed",
      .placeholder = "PATH|NAMES",
      .offers_files = true},
     [](const Value& v, SelectRequest& r) { return read_list(v, r.variants, add_as_it_is); }},
    {{.key = "needs",
      .meaning = "libraries that the build needs: libcudart.so.13,'glibc>=2.34'",
      .option = "--needs",
      .placeholder = "LIST"},
     [](const Value& v, SelectRequest& r) {
         return read_parts(v, r.installed.needs, add_build_word<need_problem>);
     }},
    {{.key = "bundles",
      .meaning = "libraries that the build bundles",
      .option = "--bundles",
      .placeholder = "LIST"},
     [](const Value& v, SelectRequest& r) {
         return read_parts(v, r.installed.bundles, add_as_it_is);
     }},
    {{.key = "kernels",
      .meaning = "the kernels in the build: sm_90,compute_90@9.1,gfx1100",
      .option = "--kernels",
      .placeholder = "LIST"},
     [](const Value& v, SelectRequest& r) {
         return read_parts(v, r.installed.kernels, add_build_word<kernels_problem>);
     }},
    {{.key = "explain",
      .type = RequestType::Flag,
      .meaning = "show every candidate with the reason for its verdict",
      .option = "--explain"},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.explain); }},
    {{.key = "prefer",
      .meaning = "backends to try first",
      .option = "--prefer",
      .placeholder = "LIST",
      .offers = kBackendWords,
      .rule_option = "--prefer"},
     [](const Value& v, SelectRequest& r) { return read_names(v, r.prefer); }},
    {{.key = "only",
      .meaning = "use only the given backends",
      .option = "--only",
      .placeholder = "LIST",
      .offers = kBackendWords,
      .keeps_empty = true,
      .rule_option = "--only"},
     [](const Value& v, SelectRequest& r) { return read_some_names(v, r.only); }},
    {{.key = "deny",
      .meaning = "do not use the given backends or GPUs",
      .option = "--exclude",
      .placeholder = "LIST",
      .offers = kBackendWords,
      .offers_gpus = true,
      .rule_option = "--exclude"},
     [](const Value& v, SelectRequest& r) { return read_names(v, r.deny); }},
    {{.key = "gpus",
      .meaning = "use only the given GPUs",
      .option = "--gpu",
      .placeholder = "LIST",
      .offers_gpus = true,
      .keeps_empty = true,
      .rule_option = "--gpu"},
     [](const Value& v, SelectRequest& r) { return read_some_names(v, r.gpus); }},
    {{.key = "backend",
      .type = RequestType::Word,
      .meaning = "use only this backend; 'none' means no GPU",
      .option = "--backend",
      .placeholder = "NAME",
      .offers = kBackendOrNone,
      .rule_option = "--backend"},
     [](const Value& v, SelectRequest& r) { return read_backend(v, r.backend); }},
    {{.key = "min-memory",
      .type = RequestType::Size,
      .meaning = "memory that a GPU must have: 8GiB, 8GB, 8192MiB",
      .option = "--memory",
      .placeholder = "SIZE",
      .offers = "4GiB 8GiB 16GiB 24GiB",
      .rule_option = "--memory"},
     [](const Value& v, SelectRequest& r) { return read_size(v, r.min_memory); }},
    {{.key = "strict",
      .type = RequestType::Flag,
      .meaning = "fail instead of falling back to the CPU",
      .option = "--strict",
      .rule_option = "--strict"},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.strict.emplace()); }},
    {{.key = "any-vendor",
      .type = RequestType::Flag,
      .meaning = "allow every backend of the application on any vendor's GPU",
      .option = "--any-vendor"},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.any_vendor); }},
    {{.key = "own-build",
      .type = RequestType::Flag,
      .meaning = "choose for a build that you compile yourself, not for a published variant",
      .option = "--own-build"},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.own_build); }},
    {{.key = "require",
      .meaning = "conditions that must be true: vulkan>=1.2,fp16,'gfx=gfx90a|gfx942'",
      .option = "--require",
      .placeholder = "LIST",
      .offers = "fp16 bfloat16 int8 verified"},
     [](const Value& v, SelectRequest& r) { return read_list(v, r.require, add_predicate); }},
    {kAssumeKey, [](const Value& v, SelectRequest& r) { return read_assumptions(v, r.assume); }},
    {{.key = "require-verified",
      .type = RequestType::Flag,
      .meaning = "accept only candidates whose results were verified (probe --stage=verify)",
      .option = "--require-verified"},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.require_verified); }},
    {{.key = "rank",
      .type = RequestType::Word,
      .meaning = "order of preference: documented, or measured (fastest in bench first)",
      .option = "--rank",
      .placeholder = "ORDER",
      .offers = "documented measured",
      .takes_others = false},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.rank.emplace()); }},
    {{.key = "platform",
      .type = RequestType::Word,
      .meaning = "answer for a machine of another platform: darwin-arm64",
      .option = "--platform",
      .placeholder = "NAME",
      .offers = "darwin-arm64 darwin-amd64 linux-amd64 linux-arm64"},
     [](const Value& v, SelectRequest& r) { return read_platform(v, r.platform); }},
    {{.key = "fake",
      .meaning = "simulate a GPU for each of the given backends",
      .option = "--fake",
      .placeholder = "LIST",
      .offers = kBackendWords},
     [](const Value& v, SelectRequest& r) { return read_some_names(v, r.fake); }},
    {{.key = "forbid-fake",
      .type = RequestType::Flag,
      .meaning = "never simulate a GPU",
      .option = "--forbid-fake"},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.forbid_fake); }},
    {{.key = "environment",
      .type = RequestType::Pairs,
      .meaning = "the caller's environment variables: some hide GPUs, others let the program use "
                 "more GPUs"},
     [](const Value& v, SelectRequest& r) { return read_variables(v, r.environment); }},
    {{.key = "include-rejected",
      .type = RequestType::Flag,
      .meaning = "false omits rejected candidates",
      .option = "--no-rejected",
      .option_sets = false},
     [](const Value& v, SelectRequest& r) { return read_value(v, r.include_rejected); }},
};

}  // namespace

ReadProblem read_assumptions(const Value& value, std::vector<std::string>& out) {
    return read_list(value, out, add_assumption);
}

ReadProblem read_variables(const Value& value, std::map<std::string, std::string>& out) {
    if (auto problem = read_value(value, out); !problem.empty())
        return problem;
    if (out.size() > kMaxCallerVariables)
        return "more than 256 variables";
    for (const auto& [name, text] : out)
        if (name.size() > kMaxKeyName || text.size() > kMaxCallerVariable)
            return "a variable of more than 4096 bytes";
    return {};
}

std::span<const RequestKey> select_keys() {
    static const auto keys = described(kSelectKeys);
    return keys;
}

Result<SelectRequest> select_request_from(const Value& object) {
    return request_from(object, kSelectKeys);
}

}  // namespace gpuprobe::inline policy
