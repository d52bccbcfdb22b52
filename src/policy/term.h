// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/cuda_code.h"
#include "policy/fact.h"
#include "policy/gfx.h"
#include "report/outcome.h"

/// Conditions on facts, and the only code that decides whether one holds. Profiles and requests
/// write them as text, "driver>=550" (docs/consumers.md, "Predicates"); manifests as members,
/// "glibc_min" (docs/variants.md). Both are read to the same terms.
namespace gpuprobe::inline policy {

enum class Relation : std::uint8_t {
    Never,   ///< a word of a newer manifest: false, so that such a manifest loses variants only
    Is,      ///< one of the words, of which a last `*` stands for anything
    IsNot,   ///< none of them
    Equals,  ///< the rest compares a version, a size or a flag
    Differs,
    Less,
    AtMost,
    More,
    AtLeast,
    Within,    ///< a range of versions
    Runs,      ///< what the need is compiled for: GPUs' targets, IPs, CUDA code
    DriverOf,  ///< a driver that runs what a CUDA toolkit made
    HasAll,    ///< all the words
};

/// The driver that a CUDA build needs.
struct CudaDriverNeed {
    Version toolkit = {};
    std::optional<Version> min_driver = {};  ///< in place of the toolkit's floor
    bool operator==(const CudaDriverNeed&) const = default;
};

using TermNeed = std::variant<std::monostate,
                              bool,
                              Bytes,
                              Version,
                              VersionRange,
                              std::vector<std::string>,
                              std::vector<Version>,
                              Api,
                              std::vector<GfxTarget>,
                              CudaDriverNeed,
                              CudaCode>;

struct Term {
    FactId fact = FactId::Libc;
    Relation relation = Relation::Never;
    TermNeed need = {};
    std::string name = {};  ///< as answers name it: "driver>=550", "glibc_min", an unknown word
    bool operator==(const Term&) const = default;
};

/// All of them hold. On a device: all on the same one.
using Conjunction = std::vector<Term>;

Truth holds(const Term& term, const Facts& facts);
/// Whether two things in that order are what `relation` says.
bool stands(std::strong_ordering order, Relation relation);
/// Stops at the first that is false.
Truth all_hold(const Conjunction& terms, const Facts& facts);

/// The subject, as far as running CUDA code is concerned.
CudaDevice cuda_device(const Facts& facts);

/// Whether it is about the machine, whatever the GPU.
bool is_about_host(const Term& term);
/// The API that a term is about; nullopt for one about any.
std::optional<Api> api_of(const Term& term);

/// The code for a term that is false.
ReasonCode shortfall_code(const Term& term);
/// What it asks for, as answers show it: a text, a number of bytes or a list.
Value want_of(const Term& term, const Rules& rules);
/// What the subject has in its place; null when that is not known or not there.
Value have_of(const Term& term, const Facts& facts);
/// Of a term over several words, those that are not there; null for any other.
Value missing_of(const Term& term, const Facts& facts);

// As text -----------------------------------------------------------------------------------------

constexpr std::size_t kMaxPredicate = 256;  ///< bytes of one
constexpr std::size_t kMaxPredicates = 32;  ///< in one list

/// A term taken apart. All are parts of the text that was given.
struct TermText {
    std::string_view text = {};
    std::string_view name = {};
    std::string_view sign = {};  ///< "=", ">=" …; empty for a name alone
    std::string_view value = {};
};
TermText term_text(std::string_view text);
/// Errors of both: InvalidRequest, with what is wrong.
Result<Relation> relation_of(const TermText& text);
Result<Term> fact_term(const TermText& text);
/// "A or B or unknown".
struct AlternativeTexts {
    std::vector<TermText> terms = {};
    bool takes_doubt = false;
};
AlternativeTexts alternatives_of(std::string_view text);
/// The pieces between a word with its spaces, " and ", each without white space around it.
std::vector<std::string_view> split_at_word(std::string_view text, std::string_view word);
/// Where the first of these characters is that is in no "[…]"; the text's size where none is.
std::size_t find_outside_brackets(std::string_view text, std::string_view characters);

/// "compute-capability>=7.0 or driver>=570", "gfx!=gfx8* or unknown": one of the terms holds, or,
/// where its last word says so, none of them is known.
struct Predicate {
    std::vector<Term> alternatives = {};
    bool takes_doubt = false;
};
/// Errors: InvalidRequest, with what is wrong.
Result<Predicate> parse_predicate(std::string_view text);
/// What is wrong with it; nullopt when nothing is.
std::optional<std::string> predicate_problem(std::string_view text);
/// Whether each fact that it names is one of the machine, not of a GPU.
bool is_about_host(std::string_view predicate);

/// Whether a predicate holds, and why not.
struct Tested {
    Truth truth = Truth::Unknown;
    Reason why = {};  ///< unless it holds
};
/// Of alternatives that all fail or are not known, the nearest one says why (policy/nearness.h),
/// and names those that are as near.
Tested test_predicate(std::string_view predicate, const Facts& facts);
/// The same of one term, whatever it came from.
Tested test_term(const Term& term, const Facts& facts);
Truth test_all(const std::vector<std::string>& predicates, const Facts& facts);

/// Memory that a request asks of a GPU, as a term.
Term memory_floor(Bytes floor, std::string name);

}  // namespace gpuprobe::inline policy
