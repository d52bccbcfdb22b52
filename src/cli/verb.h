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

/// Tables that define the command line. The parser, the help and the shell completions are all
/// generated from these tables, so each verb and option is defined once.

namespace gpuprobe::inline cli {

/// Kinds of names that completions look up at run time. Combine several kinds with |.
enum Names : unsigned {
    kNoNames = 0,
    kGpus = 1,
    kApplications = 2,
    kManifests = 4,
    kVerbs = 8,
    kFiles = 16,
    kFolders = 32,
};

/// The syntax of an operand or of the value of an option.
struct Word {
    /// The placeholder in the help, such as "FILE". An option without a placeholder is a flag.
    std::string_view name = {};
    std::string_view offers = {};  ///< words that completions offer, separated by spaces
    unsigned names = kNoNames;     ///< kinds of names that completions also offer
    bool takes_others = true;      ///< whether words that `offers` lacks are accepted, too
    bool is_list = false;          ///< whether the word is a comma-separated list
};

/// Stores a word in the arguments; the word is "" for a flag. Errors: InvalidRequest. The error's
/// text describes only what is wrong with the word; a second line, if there is one, is a hint.
using Take = Status (*)(Arguments&, const std::string&);

/// An option of a verb or of the whole program.
struct Option {
    std::string_view names = {};  ///< all names, such as "-q,--quiet"
    Word value = {};
    std::string_view help = {};  ///< the help; a line break starts a new line
    Take take = nullptr;
    std::string_view also = {};  ///< a second spelling that the help does not mention
    bool repeats = false;
    /// If `key` is set, it is used instead of `take`: the word becomes the value of this key in the
    /// request that `request` returns. The key must outlive the option.
    const RequestKey* key = nullptr;
    Value& (*request)(Arguments&) = nullptr;

    /// Stores a word in the arguments; the word is "" for a flag. Errors: the same as for Take.
    Status accept(Arguments& arguments, const std::string& word) const;
};

/// A positional argument of a verb.
struct Operand {
    Word word = {};
    Take take = nullptr;
    bool repeats = false;
};

/// A line in the overview of verbs.
struct Synopsis {
    std::string_view words = {};
    std::string_view text = {};
};

/// The sections of the overview, in the order in which they are printed.
enum class VerbGroup { Ask, Start, Record, Administer, Advanced };

/// The title of a group, such as "Ask".
std::string_view title_of(VerbGroup group);

/// A verb with its syntax, help and implementation.
struct Verb {
    std::string_view name = {};
    VerbGroup group = VerbGroup::Ask;
    std::vector<Synopsis> overview = {};       ///< lines of the overview; completions use the first
    std::vector<std::string_view> usage = {};  ///< command lines without the program's name
    std::string_view about = {};               ///< a description, at most 100 columns wide
    std::vector<Operand> operands = {};
    std::vector<Option> options = {};
    bool takes_program = false;   ///< whether a program with its arguments follows "--"
    bool takes_captures = false;  ///< whether --replay may be repeated
    /// Checks for missing and conflicting arguments. Errors: InvalidRequest.
    Status (*check)(Arguments&) = nullptr;
    /// The implementation. Exactly one of `run` and `run_alone` is set; `run_alone` needs no
    /// client.
    Result<ExitCode> (*run)(Context&) = nullptr;
    Result<ExitCode> (*run_alone)(const Arguments&) = nullptr;
};

/// Every verb, in the order of the help: group by group.
const std::vector<Verb>& verbs();
/// Whether gpuprobectl has a verb `name` that the profile of this build leaves out.
bool is_left_out(std::string_view verb);
/// The verb `name`, or null if there is no such verb.
const Verb* find_verb(std::string_view name);

/// Options that every verb accepts, grouped as in the overview.
struct OptionGroup {
    std::string_view title = {};
    std::vector<Option> options = {};
};
const std::vector<OptionGroup>& global_options();

/// The long name of an option, such as "--quiet" for "-q,--quiet". The result for an option "-j"
/// without a long name is "-j".
std::string_view long_name(const Option& option);

/// The items of a comma-separated list, trimmed and without empty items.
std::vector<std::string> comma_list(std::string_view text);

/// Converts a word to the type of the first argument. Errors: InvalidRequest.
Status assign(bool& flag, const std::string& word);
Status assign(std::string& text, const std::string& word);
Status assign(std::optional<std::string>& text, const std::string& word);
Status assign(std::vector<std::string>& items, const std::string& word);
Status assign(std::optional<std::vector<std::string>>& items, const std::string& word);
Status assign(std::optional<std::uint64_t>& number, const std::string& word);
Status assign(std::optional<Bytes>& size, const std::string& word);

/// Stores a word in the member at the end of the path, for instance put<&Arguments::select,
/// &SelectArguments::for_build>.
template <auto... Path>
Status put(Arguments& arguments, const std::string& word) {
    return assign((arguments.*....*Path), word);
}

/// An error InvalidRequest with the message `text`.
Error refusal(std::string text);

/// The concatenation of two lists of options.
std::vector<Option> joined(std::vector<Option> options, const std::vector<Option>& more);

// The following functions are for options and operands that several verbs share.

/// The option for one key of a request.
Option option_of(const RequestKey& key, Value& (*request)(Arguments&));

/// The names of all APIs, separated by spaces.
std::string_view api_words();

/// The options of an override rule: the keys of backend and variant requests that a rule may
/// contain.
std::vector<Option> rule_options();
/// The option --all, with the help text of the verb.
Option all_option(std::string_view help);
/// The options of select and env.
std::vector<Option> choice_options();
/// The options that probe and bench share.
std::vector<Option> trial_options();
/// The options for variants that recommend and export share.
std::vector<Option> variant_options();
/// The option --explain of recommend, which export does not need.
Option explain_variants_option();

/// Adds a GPU to Arguments::gpus.
Status take_gpu(Arguments& arguments, const std::string& word);
/// The option --gpu for verbs that also take GPUs as operands. `help` must outlive the program.
Option gpus_option(std::string_view help);
/// Stores the operand APPLICATION as the application for which the verb makes a choice.
Status take_application(Arguments& arguments, const std::string& word);

// Each of these functions returns the table of one verb; verb_<name>.cpp contains the table and the
// code.

Verb status_verb();
Verb list_verb();
Verb show_verb();
Verb describe_verb();
Verb select_verb();
Verb env_verb();
Verb run_verb();
Verb watch_verb();
Verb recommend_verb();
Verb export_verb();
Verb selector_verb();
Verb verify_verb();
Verb check_verb();
Verb plan_verb();
Verb probe_verb();
Verb bench_verb();
Verb monitor_verb();
Verb doctor_verb();
Verb capture_verb();
Verb override_verb();
Verb call_verb();
Verb report_outcome_verb();
Verb quarantine_verb();
Verb applications_verb();
Verb knowledge_verb();
Verb version_verb();
Verb help_verb();

}  // namespace gpuprobe::inline cli
