// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/context.h"
#include "policy/request_table.h"

/// What there is to say on a command line, as tables. The parser, the help and the completions of
/// every shell are all made of these: a verb or an option is written down once.
namespace gpuprobe::inline cli {

/// Names that only the machine knows; joined with |.
enum Names : unsigned {
    kNoNames = 0,
    kGpus = 1,
    kConsumers = 2,
    kProducts = 4,
    kVerbs = 8,
    kFiles = 16,
    kFolders = 32,
};

/// What may stand in one place.
struct Word {
    std::string_view name = {};    ///< "FILE", for the help; empty behind an option: it is a flag
    std::string_view offers = {};  ///< words to offer, between blanks
    unsigned names = kNoNames;     ///< names to offer as well
    bool takes_others = true;      ///< what is not in `offers` is taken all the same
    bool is_list = false;          ///< several, between commas
};

/// Puts a word where it belongs; "" for a flag. Errors: InvalidRequest, about the word alone; a
/// second line, if there is one, is the hint.
using Take = Status (*)(Arguments&, const std::string&);

struct Option {
    std::string_view names = {};  ///< "-q,--quiet"
    Word value = {};
    std::string_view help = {};  ///< a line break starts a new line of the help
    Take take = nullptr;
    std::string_view also = {};  ///< a second spelling, that no help mentions
    bool repeats = false;
    /// Instead of `take`: the word is a value of this key, which must outlive the option, in the
    /// request that `request` finds.
    const RequestKey* key = nullptr;
    Value& (*request)(Arguments&) = nullptr;

    /// Puts a word where it belongs, "" for a flag. Errors: as Take.
    Status accept(Arguments& arguments, const std::string& word) const;
};

struct Operand {
    Word word = {};
    Take take = nullptr;
    bool repeats = false;
};

/// A line of the overview.
struct Synopsis {
    std::string_view words = {};
    std::string_view text = {};
};

struct Verb {
    std::string_view name = {};
    std::vector<Synopsis> overview = {};       ///< the first says what completions say
    std::vector<std::string_view> usage = {};  ///< without the program's name
    std::string_view about = {};               ///< paragraphs of at most 100 columns
    std::vector<Operand> operands = {};
    std::vector<Option> options = {};
    bool takes_program = false;  ///< with its arguments, behind "--"
    /// What is missing or makes no sense together. Errors: InvalidRequest.
    Status (*check)(Arguments&) = nullptr;
    /// One of the two; the other kind of verb asks nobody.
    Result<ExitCode> (*run)(Context&) = nullptr;
    Result<ExitCode> (*run_alone)(const Arguments&) = nullptr;
};

/// Every verb, in the order of the help.
const std::vector<Verb>& verbs();
/// Null when there is none.
const Verb* find_verb(std::string_view name);

/// Options of every verb, as the overview groups them.
struct OptionGroup {
    std::string_view title = {};
    std::vector<Option> options = {};
};
const std::vector<OptionGroup>& global_options();

/// "--quiet" of "-q,--quiet"; "-j" of "-j".
std::string_view long_name(const Option& option);

/// The items between commas, without blanks around them and without empty ones.
std::vector<std::string> comma_list(std::string_view text);

/// How a word becomes a value of that type. Errors: InvalidRequest.
Status assign(bool& flag, const std::string& word);
Status assign(std::string& text, const std::string& word);
Status assign(std::optional<std::string>& text, const std::string& word);
Status assign(std::vector<std::string>& items, const std::string& word);
Status assign(std::optional<std::vector<std::string>>& items, const std::string& word);
Status assign(std::optional<std::uint64_t>& number, const std::string& word);
Status assign(std::optional<Bytes>& size, const std::string& word);

/// Puts a word into the member at the end of that path: put<&Arguments::select,
/// &SelectArguments::only>.
template <auto... Path>
Status put(Arguments& arguments, const std::string& word) {
    return assign((arguments.*....*Path), word);
}

/// An InvalidRequest.
Error refusal(std::string text);

/// The first options, then the others.
std::vector<Option> joined(std::vector<Option> options, const std::vector<Option>& more);

}  // namespace gpuprobe::inline cli
