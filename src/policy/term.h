// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/record.h"
#include "base/units.h"
#include "policy/rules.h"
#include "policy/truth.h"
#include "report/api_table.h"
#include "report/outcome.h"

/// Conditions on facts, and the only code that decides whether a condition holds. Profiles and
/// requests contain conditions as strings, "driver>=550" (docs/applications.md, "Predicates").
/// Manifests contain conditions as members, "glibc_min" (docs/data-files.md). Strings and members
/// are parsed into the same terms.

namespace gpuprobe::inline policy {

// Forward declarations of types in policy/fact.h. Only files that name or read facts include
// policy/fact.h, because each new fact changes that file.
enum class FactId : std::uint8_t;
class Facts;

enum class Relation : std::uint8_t {
    Never,   ///< always false: an unknown word in a newer manifest rejects only the variant
    Is,      ///< the fact equals one of the words; a trailing `*` matches anything
    IsNot,   ///< the fact does not equal any of the words
    Equals,  ///< the values from here to AtLeast compare a version, a size or a flag
    Differs,
    Less,
    AtMost,
    More,
    AtLeast,
    Within,    ///< the version is in a range
    Runs,      ///< the GPU can run a gfx target, an Intel IP or CUDA kernels of the build
    DriverOf,  ///< the driver supports code from a CUDA toolkit
    HasAll,    ///< the fact contains all the words
    AnyOf,     ///< one of several terms holds
    Admits,    ///< one of the alternatives in a container image's condition holds
};

/// The driver requirement of a CUDA build.
struct CudaDriverNeed {
    Version toolkit = {};
    /// If set, replaces the minimum driver version for the toolkit.
    std::optional<Version> min_driver = {};
    bool operator==(const CudaDriverNeed&) const = default;
};

struct Term;
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
                              CudaKernels,
                              std::vector<Term>,
                              std::vector<std::vector<Term>>>;

/// A condition on one fact.
struct Term {
    FactId fact = {};
    Relation relation = Relation::Never;
    TermNeed need = {};
    /// The term as it is written in answers: "driver>=550", "glibc_min", or an unknown word.
    std::string name = {};
    bool accepts_unknown = false;  ///< whether the term is met if its fact is unknown
    /// The CUDA version of the compatibility libraries in the variant's container image.
    std::optional<Version> image_cuda = {};
    bool operator==(const Term&) const = default;
};

/// Terms that must all hold. Terms about a device must hold on the same device.
using Conjunction = std::vector<Term>;

/// Whether the term holds for the subject.
Truth holds(const Term& term, const Facts& facts);
/// Whether the order of two values satisfies `relation`.
bool stands(std::strong_ordering order, Relation relation);
/// Whether all terms hold. Stops at the first false term.
Truth all_hold(const Conjunction& terms, const Facts& facts);

/// The properties of the subject that decide whether the CUDA kernels in a term run.
CudaDevice cuda_device(const Term& term, const Facts& facts);

/// Whether the term is about the machine and not about a GPU.
bool is_about_host(const Term& term);
/// Whether the fact is a list of video formats.
bool is_about_video(FactId fact);
/// The API that the term is about; nullopt if the term isn't about a particular API.
std::optional<Api> api_of(const Term& term);

/// The reason code for a false term.
ReasonCode shortfall_code(const Term& term);
/// The required value as answers show it: a string, a number of bytes or a list.
Value want_of(const Term& term, const Rules& rules);
/// The subject's value; null if it is unknown or absent.
Value have_of(const Term& term, const Facts& facts);
/// The missing words, if the term requires several words; null for any other term.
Value missing_of(const Term& term, const Facts& facts);

// Terms as strings --------------------------------------------------------------------------------

constexpr std::size_t kMaxPredicate = 256;  ///< maximum number of bytes in one predicate
constexpr std::size_t kMaxPredicates = 32;  ///< maximum number of predicates in one list

/// The pieces of a term, which are views into the string that was split.
struct TermText {
    std::string_view text = {};
    std::string_view name = {};
    std::string_view sign = {};  ///< operator such as "=" or ">="; empty if the term is only a name
    std::string_view value = {};
};
TermText term_text(std::string_view text);
/// relation_of() and fact_term() return InvalidRequest with an explanation on error.
Result<Relation> relation_of(const TermText& text);
Result<Term> fact_term(const TermText& text);
/// The alternatives in a string such as "A or B or unknown".
struct AlternativeTexts {
    std::vector<TermText> terms = {};
    bool takes_doubt = false;
};
AlternativeTexts alternatives_of(std::string_view text);
/// The trimmed pieces of `text` between occurrences of `word`, which includes its spaces (" and ").
std::vector<std::string_view> split_at_word(std::string_view text, std::string_view word);
/// The position of the first of the given characters outside "[…]"; the size of `text` if there is
/// none.
std::size_t find_outside_brackets(std::string_view text, std::string_view characters);

/// A predicate such as "compute-capability>=7.0 or driver>=570" or "gfx!=gfx8* or unknown". A
/// predicate holds if one of its alternatives holds. A predicate that ends in "unknown" also holds
/// if no alternative holds but one alternative is unknown. Data files and requests contain a
/// predicate as a string, which is parsed when the file or request is read.
struct Predicate {
    std::string text = {};
    std::vector<Term> alternatives = {};
    bool takes_doubt = false;
    bool operator==(const Predicate&) const = default;
};
/// Errors: InvalidRequest with an explanation.
Result<Predicate> parse_predicate(std::string_view text);
/// Like parse_predicate(), for a predicate in a request. An unknown video format is also an error,
/// because no GPU would support a misspelled format.
Result<Predicate> requested_predicate(std::string_view text);
/// The error in a predicate; nullopt if the predicate is valid.
std::optional<std::string> predicate_problem(std::string_view text);
/// Whether every fact in the predicate is about the machine and not about a GPU.
bool is_about_host(const Predicate& predicate);
/// The first word of the predicate that isn't among the known values of its fact.
ReadProblem unlisted_word(const Predicate& predicate);
using base::read_value;
using base::to_value;
ReadProblem read_value(const Value& value, Predicate& out);
Value to_value(const Predicate& predicate);

/// Converts the predicate to one term. If the predicate ends in "unknown", the term accepts unknown
/// facts.
Term term_of(Predicate predicate);

/// Whether a predicate holds, and the reason if it does not.
struct Tested {
    Truth truth = Truth::Unknown;
    /// Set if the predicate does not hold. If the predicate holds only because it accepts an
    /// unknown fact, this is the reason why the fact is unknown.
    std::optional<Reason> why = {};
};
/// Tests a predicate. If every alternative fails or is unknown, the reason is about the alternative
/// that is closest to being met (policy/closest_miss.h), and also names the alternatives that are
/// equally close.
Tested test_predicate(const Predicate& predicate, const Facts& facts);
/// Tests a single term.
Tested test_term(const Term& term, const Facts& facts);
/// Whether all predicates hold.
Truth test_all(const std::vector<Predicate>& predicates, const Facts& facts);

/// The condition in a container image's NVIDIA_REQUIRE_CUDA, as a term. Spaces separate the
/// alternatives of the condition, commas separate the parts of an alternative, and "|" separates
/// the values of a part. Errors: InvalidRequest with an explanation.
Result<Term> image_condition(std::string_view text);

/// The term for the minimum GPU memory in a request.
Term memory_floor(Bytes floor, std::string name);

}  // namespace gpuprobe::inline policy
