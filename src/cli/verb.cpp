// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "base/units.h"
#include "report/api_table.h"

namespace gpuprobe::inline cli {

std::string_view title_of(VerbGroup group) {
    switch (group) {
        case VerbGroup::Ask:
            return "Ask";
        case VerbGroup::Start:
            return "Start";
        case VerbGroup::Record:
            return "Record";
        case VerbGroup::Administer:
            return "Administer";
        case VerbGroup::Advanced:
            break;
    }
    return "Advanced";
}

std::string_view long_name(const Option& option) {
    const auto dashes = option.names.find("--");
    return dashes == std::string_view::npos ? option.names : option.names.substr(dashes);
}

std::vector<std::string> comma_list(std::string_view text) {
    std::vector<std::string> items;
    for (const auto item : split(text, ','))
        if (!trimmed(item).empty())
            items.emplace_back(trimmed(item));
    return items;
}

Status assign(bool& flag, const std::string& /*word*/) {
    flag = true;
    return Done{};
}

Status assign(std::string& text, const std::string& word) {
    text = word;
    return Done{};
}

Status assign(std::optional<std::string>& text, const std::string& word) {
    text = word;
    return Done{};
}

Status assign(std::vector<std::string>& items, const std::string& word) {
    items = comma_list(word);
    return Done{};
}

Status assign(std::optional<std::vector<std::string>>& items, const std::string& word) {
    items = comma_list(word);
    return Done{};
}

Status assign(std::optional<std::uint64_t>& number, const std::string& word) {
    number = parse_number<std::uint64_t>(word);
    if (!number)
        return refusal(fmt::format("'{}' is not a number", scrubbed(word, 32)));
    return Done{};
}

namespace {

/// The unit that was most likely meant for a small number without a unit.
std::string_view likely_unit(Bytes number) {
    constexpr Bytes kLeastMebibytes{512};
    return number < kLeastMebibytes ? "GiB" : "MiB";
}

}  // namespace

// The second line of the error's text becomes the hint.
Status assign(std::optional<Bytes>& size, const std::string& word) {
    size = parse_size(word);
    if (!size)
        return refusal(fmt::format(
            "'{}' is not a size\nWrite a size like 8GiB, 8192MiB or 8GB, or as a number of bytes.",
            scrubbed(word, 32)));
    const bool has_unit = word.find_first_not_of(" .0123456789") != std::string::npos;
    if (!has_unit && *size < mib(1))
        return refusal(fmt::format("'{0}' has no unit and would mean bytes: write {0}{1}",
                                   scrubbed(trimmed(word), 32), likely_unit(*size)));
    return Done{};
}

namespace {

/// The word as a list. nullopt for an empty list if the key treats an empty list like a missing
/// list.
std::optional<Value> names_from(const RequestKey& key, const std::string& word) {
    const auto names = comma_list(word);
    return names.empty() && !key.keeps_empty ? std::nullopt : std::optional{to_value(names)};
}

/// Rounds up, so that at least the requested size is required.
std::uint64_t whole_mebibytes(Bytes size) {
    const auto unit = mib(1).count;
    return size.count / unit + (size.count % unit == 0 ? 0 : 1);
}

/// The value for a request key. Numbers such as "32k" stay strings; the reader of the request
/// converts them.
Result<std::optional<Value>> value_of(const RequestKey& key, const std::string& word) {
    std::optional<Bytes> size;
    switch (key.type) {
        case RequestType::Names:
            return names_from(key, word);
        case RequestType::Flag:
            return std::optional<Value>{key.option_sets};
        case RequestType::Word:
        case RequestType::Pairs:  // never reached, because such keys have no option
        case RequestType::Number:
            break;
        case RequestType::Size:
            TRY(assign(size, word));
            return std::optional{to_value(*size)};
        case RequestType::Mebibytes:
            TRY(assign(size, word));
            return std::optional{to_value(whole_mebibytes(*size))};
    }
    return std::optional<Value>{word};
}

}  // namespace

Status Option::accept(Arguments& arguments, const std::string& word) const {
    // An option without a request key has its own function to store the word.
    if (!key)
        return take(arguments, word);
    if (auto meant = TRY(value_of(*key, word))) {
        auto& given = request(arguments)[key->key];
        const auto* more = meant->as_array();
        // The option was given several times: append to the list.
        if (repeats && more && given.as_array())
            given.as_array()->insert(given.as_array()->end(), more->begin(), more->end());
        else
            given = std::move(*meant);
    }
    return Done{};
}

Error refusal(std::string text) {
    return {ErrorCode::InvalidRequest, std::move(text)};
}

std::vector<Option> joined(std::vector<Option> options, const std::vector<Option>& more) {
    options.insert(options.end(), more.begin(), more.end());
    return options;
}

namespace {

// Functions that return the request to which an option adds its key.
Value& select_request(Arguments& arguments) {
    return arguments.select.request;
}
Value& recommend_request(Arguments& arguments) {
    return arguments.recommend.request;
}
Value& variants_of_a_rule(Arguments& arguments) {
    return arguments.overriding.variants;
}

}  // namespace

Option option_of(const RequestKey& key, Value& (*request)(Arguments&)) {
    return {.names = key.option,
            .value = {.name = key.placeholder,
                      .offers = key.offers,
                      .names = (key.offers_gpus ? unsigned{kGpus} : 0U) |
                               (key.offers_files ? unsigned{kFiles} : 0U),
                      .takes_others = key.takes_others,
                      .is_list = key.type == RequestType::Names},
            .help = key.meaning,
            .repeats = key.repeats,
            .key = &key,
            .request = request};
}

namespace {

/// The options of a rule. An option of a rule may have a different name and help text from the same
/// option of a request.
std::vector<Option> rule_options_of(std::span<const RequestKey> keys,
                                    Value& (*request)(Arguments&)) {
    std::vector<Option> options;
    for (const auto& key : keys) {
        if (key.rule_option.empty())
            continue;
        auto& option = options.emplace_back(option_of(key, request));
        option.names = key.rule_option;
        if (!key.rule_meaning.empty())
            option.help = key.rule_meaning;
    }
    return options;
}

}  // namespace

std::vector<Option> rule_options() {
    return joined(rule_options_of(select_keys(), select_request),
                  rule_options_of(recommend_keys(), variants_of_a_rule));
}

std::vector<Option> choice_options() {
    std::vector<Option> options;
    for (const auto& key : select_keys())
        if (!key.option.empty())
            options.push_back(option_of(key, select_request));
    return options;
}

Option all_option(std::string_view help) {
    return {.names = "--all", .help = help, .take = put<&Arguments::shows_all>};
}

std::string_view api_words() {
    // Options keep string views, so the text must live as long as the program.
    static const std::string words = [] {
        std::string all;
        for (const auto& api : kApis)
            all.append(all.empty() ? "" : " ").append(api.word);
        return all;
    }();
    return words;
}

std::vector<Option> trial_options() {
    return {
        {.names = "--api",
         .value = {.name = "LIST", .offers = api_words(), .takes_others = false, .is_list = true},
         .help = "use only the given APIs: vulkan,opencl,…",
         .take = put<&Arguments::apis>},
        {.names = "--allow-wake",
         .help = "wake suspended GPUs",
         .take = put<&Arguments::allow_wake>},
        {.names = "--force",
         .help = "measure even if the GPU is in use or has little free memory, or if the machine "
                 "runs on battery",
         .take = put<&Arguments::measures_in_use>},
    };
}

std::vector<Option> variant_options() {
    std::vector<Option> options{
        {.names = "--manifest",
         .value = {.name = "FILE", .names = kFiles},
         .help = "read the variants from this manifest instead of the installed manifest of "
                 "APPLICATION",
         .take = put<&Arguments::recommend, &RecommendArguments::manifest>}};
    for (const auto& key : recommend_keys())
        if (!key.option.empty() && key.key != "explain")
            options.push_back(option_of(key, recommend_request));
    return options;
}

Option explain_variants_option() {
    const auto keys = recommend_keys();
    return option_of(*std::ranges::find(keys, "explain", &RequestKey::key), recommend_request);
}

Status take_gpu(Arguments& arguments, const std::string& word) {
    arguments.gpus.push_back(word);
    return Done{};
}

Option gpus_option(std::string_view help) {
    return {.names = "--gpu",
            .value = {.name = "LIST", .names = kGpus, .is_list = true},
            .help = help,
            .take = [](Arguments& arguments, const std::string& word) -> Status {
                for (auto& gpu : comma_list(word))
                    arguments.gpus.push_back(std::move(gpu));
                return Done{};
            },
            .repeats = true};
}

Status take_application(Arguments& arguments, const std::string& word) {
    arguments.select.application = word;
    arguments.select.names_application = true;
    return Done{};
}

namespace {

/// Longest --patience, in seconds.
constexpr int kMostPatience = 600;

/// --json=off is the default and does not cancel -j.
Status take_json(Arguments& arguments, const std::string& word) {
    if (word != "off")
        arguments.json = word == "pretty" ? JsonMode::Pretty : JsonMode::Short;
    return Done{};
}

Status take_colour(Arguments& arguments, const std::string& word) {
    if (word != "auto")
        arguments.colour = word == "always" ? ColourMode::Always : ColourMode::Never;
    return Done{};
}

Status take_application_folder(Arguments& arguments, const std::string& word) {
    arguments.application_folders.push_back(word);
    return Done{};
}

Status take_replay(Arguments& arguments, const std::string& word) {
    arguments.replay = word;
    arguments.captures.push_back(word);
    return Done{};
}

/// Options for printing answers.
std::vector<Option> output_options() {
    return {
        {.names = "-j",
         .help = "print JSON: indented on a terminal, otherwise on one line",
         .take = put<&Arguments::wants_json>},
        {.names = "--json",
         .value = {.name = "MODE", .offers = "pretty short off", .takes_others = false},
         .help = "print JSON indented (pretty) or on one line (short), or print no JSON (off)",
         .take = take_json},
        {.names = "--color",
         .value = {.name = "WHEN", .offers = "auto always never", .takes_others = false},
         .help = "when to use colors: auto, always or never (respects NO_COLOR)",
         .take = take_colour,
         .also = "--colour"},
        {.names = "--no-legend",
         .help = "omit table titles and closing hints",
         .take = [](Arguments& arguments, const std::string&) -> Status {
             arguments.has_legend = false;
             return Done{};
         }},
        {.names = "-q,--quiet",
         .help = "print no remarks on standard error; select and recommend print only the backend "
                 "or the variant, unless --explain is given",
         .take = put<&Arguments::is_quiet>},
        {.names = "--no-pager",
         .help = "do not use a pager ($GPUPROBE_PAGER, $PAGER or less) for long output",
         // Nothing is stored: only wants_pager() in cli/gpuprobectl_main.cpp uses this option, and
         // searches the words of the command line.
         .take = [](Arguments&, const std::string&) -> Status { return Done{}; }},
    };
}

/// Options for choosing the daemon or the machine that answers.
std::vector<Option> source_options() {
    return {
        {.names = "--socket",
         .value = {.name = "PATH", .names = kFiles},
         .help = "connect to the daemon's socket at PATH (default: the standard socket; without a "
                 "daemon, probe this machine directly)",
         .take = put<&Arguments::socket>},
        {.names = "--direct",
         .help = "probe this machine directly, without the daemon",
         .take = put<&Arguments::is_direct>},
        {.names = "--replay",
         .value = {.name = "DIR", .names = kFolders},
         .help = "use the captured machine in DIR instead of this machine",
         .take = take_replay,
         .repeats = true},
        {.names = "--worker",
         .value = {.name = "PATH", .names = kFiles},
         .help = "with --direct: path of the probe worker",
         .take = put<&Arguments::worker>},
        {.names = "--applications",
         .value = {.name = "DIR", .names = kFolders},
         .help = "with --direct or --replay: a folder of additional application files; repeatable",
         .take = take_application_folder,
         .repeats = true},
        {.names = "--knowledge-root",
         .value = {.name = "DIR", .names = kFolders},
         .help = "with --direct, or with the verb knowledge: root folder of the data files",
         .take = put<&Arguments::knowledge_root>},
        {.names = "--patience",
         .value = {.name = "SECONDS"},
         .help = "with --direct: seconds to wait for each driver (default: 5)",
         .take = [](Arguments& arguments, const std::string& word) -> Status {
             // The value is limited to ten minutes.
             const auto seconds = parse_number<int>(word);
             if (!seconds || *seconds < 1 || *seconds > kMostPatience)
                 return Error{ErrorCode::InvalidRequest, word + ": not a number from 1 to 600"};
             arguments.patience = seconds;
             return Done{};
         }},
        {.names = "--no-cache",
         .help = "discard the results of earlier --direct runs",
         .take = [](Arguments& arguments, const std::string&) -> Status {
             arguments.has_cache = false;
             return Done{};
         }},
    };
}

}  // namespace

const std::vector<OptionGroup>& global_options() {
    static const std::vector<OptionGroup> groups{
        {.title = "Output", .options = output_options()},
        {.title = "Data source", .options = source_options()},
        {.title = "This program",
         .options = {
             {.names = "-h,--help", .help = "show help", .take = put<&Arguments::wants_help>},
             {.names = "--version",
              .help = "show the versions of this program and the daemon",
              .take = put<&Arguments::wants_version>}}}};
    return groups;
}

}  // namespace gpuprobe::inline cli
