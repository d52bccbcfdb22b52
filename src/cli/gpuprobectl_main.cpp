// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/choice.h"
#include "cli/client.h"
#include "cli/context.h"
#include "cli/direct_client.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/socket_client.h"
#include "cli/verb.h"
#include "engine/knowledge_base.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "policy/select.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {
namespace {

/// How long a driver may take without --patience.
constexpr Duration kUsualPatience = std::chrono::seconds{5};

/// Whether the selection depends only on the application's profile, so that the answer is the same
/// on every machine. Returns false for an invalid request, which is reported elsewhere.
bool rests_on_profile_alone(const Arguments& arguments) {
    const bool selects = arguments.verb == "select" || arguments.verb == "env";
    const auto& select = arguments.select;
    if (!selects || arguments.socket || select.request.find("gpus"))
        return false;
    const auto request = select_request_from(select.request);
    if (!request || !(request->platform || request->fake || is_switched_off(*request)))
        return false;
    const auto known = known_applications(arguments);
    const auto* profile = known.selection(select.application);
    return profile && rests_on_profile_alone(*profile, *request);
}

/// Whether the verb only lists names, so that the machine need not be examined.
bool asks_for_names(const Arguments& arguments) {
    return arguments.verb == "apps";
}

/// Whether the verb checks a file that is meant for other machines.
bool asks_for_captures(const Arguments& arguments) {
    return arguments.verb == "check" && arguments.replay;
}

/// How long to wait for a driver. Verbs that need an answer don't wait for a driver that hangs;
/// verbs about the drivers themselves wait as long as the daemon would (nullopt).
std::optional<Duration> patience_of(const Arguments& arguments) {
    if (arguments.patience)
        return std::chrono::seconds{*arguments.patience};
    const bool is_about_drivers = arguments.verb == "probe" || arguments.verb == "bench" ||
                                  arguments.verb == "capture" || arguments.verb == "monitor";
    return is_about_drivers ? std::nullopt : std::optional<Duration>{kUsualPatience};
}

/// Warns about each file in --applications folders that isn't used, with the reason.
void warn_of_ignored_files(const Arguments& arguments) {
    std::vector<Reason> ignored;
    if (!arguments.application_folders.empty())
        (void)engine::applications_in(arguments.application_folders, &ignored);
    warn(arguments, ignored);
}

/// Opens a client that runs the engine in this process.
Result<std::unique_ptr<Client>> open_direct(const Arguments& arguments, bool looks) {
    warn_of_ignored_files(arguments);
    ProgressLine line{arguments};
    const auto say_slow = [&](const std::string& what) {
        line.clear();
        remark(arguments, what);
    };
    return DirectClient::open(
        {.replay = asks_for_captures(arguments) ? std::nullopt : arguments.replay,
         .worker = arguments.worker,
         .application_folders = arguments.application_folders,
         .knowledge_root = arguments.knowledge_root,
         .has_cache = arguments.has_cache,
         .patience = patience_of(arguments),
         .follows_hardware = arguments.verb == "monitor" || arguments.call.wants_more,
         .lives_on = arguments.verb == "run" || arguments.verb == "watch",
         .looks = looks,
         .waiting =
             [&line](bool waits) { waits ? line.show("probing the drivers") : line.clear(); },
         .slow = say_slow});
}

/// Opens the client that the arguments request: a capture, this process, or the daemon on the named
/// socket. If the arguments name no client, the daemon on its usual socket is used; if no daemon
/// answers, the engine in this process is used, and a remark is printed. A selection that is the
/// same on every machine is answered in this process without probing, unless the arguments name a
/// daemon. Errors: the same as for open() of each client.
Result<std::unique_ptr<Client>> open_client(const Arguments& arguments) {
    const bool looks = !rests_on_profile_alone(arguments) && !asks_for_names(arguments) &&
                       !asks_for_captures(arguments);
    const bool has_own_applications =
        asks_for_names(arguments) && !arguments.application_folders.empty();
    if (rests_on_profile_alone(arguments) || asks_for_captures(arguments) || has_own_applications ||
        arguments.is_direct || arguments.replay || arguments.capture_folder || arguments.bundle)
        return open_direct(arguments, looks);
    // gpuprobectl also needs the data files: it uses them to write messages about the answer.
    knowledge::Library::use(
        engine::knowledge_in(engine::KnowledgeFolders::below(arguments.knowledge_root)).library);
    auto daemon = SocketClient::open(arguments.socket);
    if (daemon || arguments.socket)
        return daemon;
    if (looks)
        remark(arguments,
               "the daemon does not answer on its socket; probing this machine directly");
    return open_direct(arguments, looks);
}

/// How long a completion waits for the daemon after the user has pressed Tab.
constexpr std::chrono::microseconds kPatience{300'000};

/// Ends the process with status 0 after kPatience.
void leave_when_it_takes_long() {
    (void)std::signal(SIGALRM, [](int) { ::_exit(0); });
    itimerval timer{};
    timer.it_value.tv_usec = kPatience.count();
    (void)::setitimer(ITIMER_REAL, &timer, nullptr);  // if this fails, the answer may take longer
}

/// Prints completions, one per line.
void show(const std::vector<Offer>& offers) {
    for (const auto& offer : offers)
        if (shell_quoted(offer.word) == offer.word)  // shells insert the word unquoted
            print(offer.word + "\t" + offer.help + (offer.group.empty() ? "" : "\t" + offer.group) +
                  "\n");
    std::fflush(stdout);
}

/// Converts names to completions that have the same help text.
std::vector<Offer> offers_from(const std::vector<std::string>& names, std::string_view help) {
    std::vector<Offer> offers;
    for (const auto& name : names)
        offers.push_back({.word = name, .help = std::string{help}});
    return offers;
}

/// The GPUs and partitions known to the daemon or to a captured machine. The machine itself is not
/// probed, because that takes too long for a completion.
std::vector<Offer> gpus(Arguments arguments) {
    // If no daemon answered, open_client() would fall back to probing.
    if (!arguments.is_direct && !arguments.replay && !SocketClient::open(arguments.socket))
        return {};
    arguments.is_quiet = true;
    const auto client = open_client(arguments);
    const auto report = client ? (*client)->report() : Result<Report>{client.error()};
    std::vector<Offer> offers;
    if (report)
        for (const auto& gpu : report->gpus)
            offers.push_back({.word = gpu.id, .help = scrubbed(gpu_title(gpu), 64)});
    const auto view = report ? std::optional<ComputeView>{*report} : std::nullopt;
    if (view)
        for (const auto& gpu : view->report().gpus)
            if (partition_of(gpu))
                offers.push_back({.word = gpu.id, .help = scrubbed(gpu_title(gpu), 64)});
    return offers;
}

/// The hidden verb that the shells' completions call. Prints a line "word<tab>help" for each word
/// that fits at the end of `words` (cli/help.h), and after a verb also "<tab>group". The lines
/// "<tab>files" and "<tab>folders" request that the shell complete file names itself. Reports no
/// errors; ends the process after kPatience, and keeps the output so far.
int complete(const std::vector<std::string>& words) {
    leave_when_it_takes_long();
    const auto completion = completion_of(words);
    show(completion.offers);
    if (completion.names & kFiles)
        print("\tfiles\n");
    if (completion.names & kFolders)
        print("\tfolders\n");
    if (completion.names & (kManifests | kApplications)) {
        const auto known = known_applications(completion.arguments);
        if (completion.names & kManifests)
            show(offers_of(completion, offers_from(known.manifests(), "application")));
        if (completion.names & kApplications)
            show(offers_of(completion, offers_from(known.applications(), "application")));
    }
    // Print the fast results before listing GPUs, because listing may exceed the time limit.
    std::fflush(stdout);
    if (completion.names & kGpus)
        show(offers_of(completion, gpus(completion.arguments)));
    return 0;
}

/// Returns the text on one line, with Markdown's special characters escaped.
std::string plain(std::string_view text) {
    std::string escaped;
    for (const char character : text) {
        if (character == '*' || character == '_' || character == '\\' || character == '<')
            escaped += '\\';
        escaped += character == '\n' ? ' ' : character;
    }
    return escaped;
}

/// An option in Markdown, such as "**-q**, **--quiet**", "**--json**=*MODE*".
std::string option_names(const Option& option) {
    std::string text;
    for (const auto name : split(option.names, ','))
        text += fmt::format("{}**{}**", text.empty() ? "" : ", ", name);
    return option.value.name.empty() ? text : fmt::format("{}=*{}*", text, option.value.name);
}

/// Options as a definition list.
std::string entries(const std::vector<Option>& options) {
    std::string text;
    for (const auto& option : options)
        text += fmt::format("{}\n: {}\n\n", option_names(option), plain(option.help));
    return text;
}

/// Converts a verb's description to Markdown: examples are indented by four spaces, not by two.
std::string paragraphs(std::string_view about) {
    std::string text;
    for (const auto line : split(about, '\n'))
        text += (line.starts_with("  ") ? "  " + std::string{line} : plain(line)) + "\n";
    return text;
}

std::string section_on(const Verb& verb) {
    std::string text = fmt::format("## {}\n\n", verb.name);
    for (const auto usage : verb.usage)
        text += fmt::format("    gpuprobectl {}\n", usage);
    return text + paragraphs(verb.about) + "\n" + entries(verb.options);
}

/// All verbs and options as Markdown, for the middle part of gpuprobectl(1).
std::string manual() {
    std::string text;
    std::string_view before;
    for (const auto& verb : verbs()) {
        if (title_of(verb.group) != before)
            text += fmt::format("# {}\n\n", title_of(verb.group));
        before = title_of(verb.group);
        text += section_on(verb);
    }
    text += "# OPTIONS\n\n";
    for (const auto& group : global_options())
        text += fmt::format("## {}\n\n", group.title) + entries(group.options);
    return text;
}

/// Verbs that print facts and end at once. Only the output of these verbs goes to a pager.
constexpr auto kReadVerbs = std::to_array<std::string_view>(
    {"status", "list", "show", "describe", "doctor", "select", "recommend", "plan", "env", "help"});

bool wants_pager(const Arguments& arguments,
                 const Screen& screen,
                 const std::vector<std::string>& words) {
    return arguments.json == JsonMode::Off && !arguments.fleet.every && screen.is_terminal &&
           ::isatty(STDIN_FILENO) == 1 &&
           std::ranges::find(kReadVerbs, arguments.verb) != kReadVerbs.end() &&
           std::ranges::find(words, "--no-pager") == words.end();
}

/// Runs a verb, with a client if it needs one.
Result<ExitCode> run_verb(const Arguments& arguments, Screen screen) {
    const auto& verb = *find_verb(arguments.verb);
    if (verb.run_alone)
        return verb.run_alone(arguments);
    const auto client = TRY(open_client(arguments));
    screen.has_legend = arguments.has_legend;
    Context context{
        .arguments = arguments, .screen = screen, .client = *client, .read_build = read_build};
    return verb.run(context);
}

/// Whether a command line that could not be parsed requests JSON.
bool asks_for_json(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return word == "-j" || word == "--json=short" || word == "--json=pretty";
    });
}

/// Prints the help or the error message. An error is also printed as JSON if the user requested
/// JSON.
ExitCode refuse(const Refusal& refusal, const std::vector<std::string>& words) {
    if (refusal.is_help) {
        print(narrowed(refusal.text, screen_of(STDOUT_FILENO, ColourMode::Never).columns));
        return ExitCode::Answered;
    }
    print_error(refusal.text);
    constexpr std::string_view kLead = "gpuprobectl: ";
    const auto line = refusal.text.substr(0, refusal.text.find('\n'));
    const Error error{ErrorCode::InvalidRequest, line.substr(kLead.size())};
    if (asks_for_json(words))
        print_json(Arguments{.json = JsonMode::Short}, failure_document(error, {}));
    return ExitCode::Usage;
}

/// Flushes the output and returns the exit status. If a signal ended the program that was run, this
/// process ends by the same signal; if this process survives the signal, the function returns the
/// exit status that shells use for the signal.
int status_of(ExitCode code) {
    const auto end = flushed(code);
    if (end <= ExitCode::EndedBySignal)
        return static_cast<int>(end);
    const int signal = static_cast<int>(end) - static_cast<int>(ExitCode::EndedBySignal);
    die_by(signal);
    return 128 + signal;
}

/// The whole program except main(). `words` is the command line without the program's name. Returns
/// the exit code.
int run(const std::vector<std::string>& words) {
    if (!words.empty() && words.front() == "complete")  // the command line may be incomplete
        return complete({words.begin() + 1, words.end()});
    if (words == std::vector<std::string>{"manual"}) {  // used at build time for the man page
        print(manual());
        return status_of(ExitCode::Answered);
    }
    const auto parsed = parse_arguments(words, ::isatty(STDOUT_FILENO) == 1);
    if (parsed.refusal)
        return status_of(refuse(*parsed.refusal, words));
    const auto& arguments = *parsed.arguments;
    const auto screen = screen_of(STDOUT_FILENO, arguments.colour);
    Pager pager;
    if (wants_pager(arguments, screen, words))
        pager.start();
    // Run the verb once, or repeatedly with --every.
    for (;;) {
        const auto done = run_verb(arguments, screen);
        const int code = status_of(done ? *done : report_failure(arguments, done.error()));
        if (!arguments.fleet.every)
            return code;
        if (!sleep_for(std::chrono::seconds{*arguments.fleet.every}))
            return static_cast<int>(ExitCode::Answered);
    }
}

}  // namespace
}  // namespace gpuprobe::inline cli

int main(int argc, char** argv) try {
    (void)std::setlocale(LC_CTYPE, "");  // only to learn whether the terminal reads UTF-8
    return gpuprobe::run({argv + (argc > 0 ? 1 : 0), argv + argc});
} catch (const std::exception& problem) {
    gpuprobe::print_error("gpuprobectl: unexpected error: " + std::string{problem.what()} + "\n");
    return 1;
}
