// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "cli/verb.h"

namespace gpuprobe::inline cli {
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

Status take_profile_folder(Arguments& arguments, const std::string& word) {
    arguments.profile_folders.push_back(word);
    return Done{};
}

/// Options about how answers are printed.
std::vector<Option> output_options() {
    return {
        {.names = "-j",
         .help = "JSON: indented on a terminal, one line otherwise",
         .take = put<&Arguments::wants_json>},
        {.names = "--json",
         .value = {.name = "MODE", .offers = "pretty short off", .takes_others = false},
         .help = "pretty, short or off",
         .take = take_json},
        {.names = "--color",
         .value = {.name = "WHEN", .offers = "auto always never", .takes_others = false},
         .help = "auto, always or never (NO_COLOR is honoured)",
         .take = take_colour,
         .also = "--colour"},
        {.names = "--no-legend",
         .help = "no titles and closing hints",
         .take = [](Arguments& arguments, const std::string&) -> Status {
             arguments.has_legend = false;
             return Done{};
         }},
        {.names = "-q,--quiet",
         .help = "no remarks on standard error; select prints only the backend",
         .take = put<&Arguments::is_quiet>},
        {.names = "--no-pager",
         .help = "do not show long output in $GPUPROBE_PAGER, $PAGER or less",
         // Nothing to store: only wants_pager() in cli/run.cpp looks for this option, in the words
         // themselves.
         .take = [](Arguments&, const std::string&) -> Status { return Done{}; }},
    };
}

/// Options about which daemon or machine answers.
std::vector<Option> source_options() {
    return {
        {.names = "--bus",
         .value = {.name = "BUS", .offers = "system session"},
         .help = "ask only on this bus: system, session or an address",
         .take = put<&Arguments::bus>},
        {.names = "--socket",
         .value = {.name = "PATH", .names = kFiles},
         .help = "the daemon's socket; without it the usual one, the bus and the machine are tried",
         .take = put<&Arguments::socket>},
        {.names = "--direct",
         .help = "ask the machine from this process, without the daemon",
         .take = put<&Arguments::is_direct>},
        {.names = "--replay",
         .value = {.name = "DIR", .names = kFolders},
         .help = "answer for a captured machine",
         .take = put<&Arguments::replay>},
        {.names = "--worker",
         .value = {.name = "PATH", .names = kFiles},
         .help = "the probe worker, with --direct",
         .take = put<&Arguments::worker>},
        {.names = "--profiles",
         .value = {.name = "DIR", .names = kFolders},
         .help = "more consumer profiles, with --direct or --replay; may be repeated",
         .take = take_profile_folder,
         .repeats = true},
        {.names = "--knowledge-root",
         .value = {.name = "DIR", .names = kFolders},
         .help = "the root folder of knowledge documents, with --direct and knowledge",
         .take = put<&Arguments::knowledge_root>},
        {.names = "--patience",
         .value = {.name = "SECONDS"},
         .help = "with --direct: how long a driver may take; 5 without it",
         .take = [](Arguments& arguments, const std::string& word) -> Status {
             // Ten minutes at most.
             const auto seconds = parse_number<int>(word);
             if (!seconds || *seconds < 1 || *seconds > kMostPatience)
                 return Error{ErrorCode::InvalidRequest, word + ": not a number from 1 to 600"};
             arguments.patience = seconds;
             return Done{};
         }},
        {.names = "--no-cache",
         .help = "forget what earlier --direct runs learned",
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
        {.title = "Where to ask", .options = source_options()},
        {.title = "This program",
         .options = {{.names = "-h,--help",
                      .help = "this page, or the one on the verb",
                      .take = put<&Arguments::wants_help>},
                     {.names = "--version",
                      .help = "as the verb version",
                      .take = put<&Arguments::wants_version>}}}};
    return groups;
}

}  // namespace gpuprobe::inline cli
