// SPDX-License-Identifier: Apache-2.0
// gpuprobectl: a small program for the verbs that other programs run at every start. The program
// answers these verbs through the daemon's socket, prints the help and the versions, and passes
// every other command line to gpuprobectl-whole. Because gpuprobectl does not load the libraries
// for examining the machine, it starts in two thirds of the time.
#include <algorithm>
#include <clocale>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/choice.h"
#include "cli/context.h"
#include "cli/help.h"
#include "cli/help_pages.h"
#include "cli/paths.h"
#include "cli/socket_client.h"
#include "cli/verb.h"
#include "engine/knowledge_base.h"
#include "knowledge/library.h"
#include "policy/select.h"

namespace gpuprobe::inline cli {

/// The following functions replace those in verbs.cpp, which isn't linked into this program.
const std::vector<Verb>& verbs() {
    static const std::vector<Verb> few{select_verb(), env_verb(), version_verb()};
    return few;
}

const Verb* find_verb(std::string_view name) {
    const auto found = std::ranges::find(verbs(), name, &Verb::name);
    return found == verbs().end() ? nullptr : &*found;
}

/// Always false: gpuprobectl-whole has the verbs that this program lacks.
bool is_left_out(std::string_view /*verb*/) {
    return false;
}

namespace {

/// The verb whose help page the command line requests; "" for the overview. nullopt if the command
/// line is anything else, so that gpuprobectl-whole parses it.
std::optional<std::string_view> help_topic(const std::vector<std::string>& words) {
    const auto is_flag = [](const std::string& word) { return word == "--help" || word == "-h"; };
    if (words.size() == 1 && (words[0] == "help" || is_flag(words[0])))
        return "";
    if (words.size() != 2)
        return std::nullopt;
    // The verb is the second word of "help VERB", and the first word of "VERB --help".
    const bool is_second = words[0] == "help";
    const std::string_view verb = is_second ? words[1] : words[0];
    return !verb.empty() && (is_second || is_flag(words[1])) ? std::optional{verb} : std::nullopt;
}

/// The properties of standard output. The locale is only used to find out whether the terminal uses
/// UTF-8.
Screen screen_of_output(ColourMode colour) {
    (void)std::setlocale(LC_CTYPE, "");
    return screen_of(STDOUT_FILENO, colour);
}

/// Prints the help page and returns the exit code. nullopt if there is no such page.
std::optional<int> printed_page(std::string_view topic) {
    const auto pages = help_pages();
    const auto page = std::ranges::find(pages, topic, &HelpPage::verb);
    if (page == pages.end())
        return std::nullopt;
    print(narrowed(page->text, screen_of_output(ColourMode::Never).columns));
    return static_cast<int>(flushed(ExitCode::Answered));
}

/// Whether any word may be one of the verbs of this program. If no word is a verb of this program,
/// gpuprobectl-whole is run at once, without parsing.
bool may_be_answered(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return word == "--version" || find_verb(word) != nullptr;
    });
}

/// Whether the command line must not be answered by the daemon on its socket, or can be answered
/// without a daemon.
bool asks_elsewhere(const Arguments& arguments) {
    if (!find_verb(arguments.verb) || arguments.is_direct || arguments.replay || arguments.bundle ||
        arguments.fleet.every || !arguments.application_folders.empty() || names_a_build(arguments))
        return true;
    const auto request = select_request_from(arguments.select.request);
    return !request || request->platform || request->fake || is_switched_off(*request);
}

/// Whether the answer is text on a terminal, which gpuprobectl-whole shows in a pager.
bool needs_pager(const Arguments& arguments) {
    return !find_verb(arguments.verb)->run_alone && arguments.json == JsonMode::Off &&
           ::isatty(STDOUT_FILENO) == 1;
}

/// Answers the command line and returns the exit code. Returns nullopt, and has printed nothing, if
/// gpuprobectl-whole has to answer.
std::optional<int> answered(const std::vector<std::string>& words) {
    if (const auto topic = help_topic(words))
        return printed_page(*topic);
    if (!may_be_answered(words))
        return std::nullopt;
    const auto parsed = parse_arguments(words, ::isatty(STDOUT_FILENO) == 1);
    if (!parsed.arguments || asks_elsewhere(*parsed.arguments) || needs_pager(*parsed.arguments))
        return std::nullopt;
    const auto& arguments = *parsed.arguments;
    const auto finished = [&arguments](const Result<ExitCode>& done) {
        return static_cast<int>(flushed(done ? *done : report_failure(arguments, done.error())));
    };
    if (const auto run_alone = find_verb(arguments.verb)->run_alone)
        return finished(run_alone(arguments));
    const auto client = SocketClient::open(arguments.socket);
    if (!client)
        return std::nullopt;
    // gpuprobectl also needs the data files: it uses them to write messages about the answer.
    knowledge::Library::use(
        engine::knowledge_in(engine::KnowledgeFolders::below(arguments.knowledge_root)).library);
    auto screen = screen_of_output(arguments.colour);
    screen.has_legend = arguments.has_legend;
    Context context{.arguments = arguments, .screen = screen, .client = **client};
    return finished(find_verb(arguments.verb)->run(context));
}

/// Replaces this process with gpuprobectl-whole. Returns only if it can't be started.
int run_whole(char** words) {
    std::string tried;
    for (const auto& path : own_program_paths("gpuprobectl-whole")) {
        ::execv(path.c_str(), words);
        tried += (tried.empty() ? "" : ", ") + path;
    }
    print_error(fmt::format("gpuprobectl: program not found: {}; reinstall gpuprobe\n", tried));
    return static_cast<int>(ExitCode::Failed);
}

}  // namespace
}  // namespace gpuprobe::inline cli

int main(int argc, char** argv) try {
    using namespace gpuprobe;
    const std::vector<std::string> words{argv + (argc > 0 ? 1 : 0), argv + argc};
    const auto code = answered(words);
    return code ? *code : run_whole(argv);
} catch (const std::exception& problem) {
    gpuprobe::print_error("gpuprobectl: unexpected error: " + std::string{problem.what()} + "\n");
    return 1;
}
