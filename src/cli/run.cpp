// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/completion.h"
#include "cli/context.h"
#include "cli/failure.h"
#include "cli/help.h"
#include "cli/open_client.h"
#include "cli/pager.h"
#include "cli/program.h"
#include "cli/socket_client.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/consumer_folders.h"
#include "explain/gpu_words.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {
namespace {

/// How long a person who pressed a key waits for an answer of a daemon.
constexpr std::chrono::microseconds kPatience{300'000};

void leave_when_it_takes_long() {
    (void)std::signal(SIGALRM, [](int) { ::_exit(0); });
    itimerval timer{};
    timer.it_value.tv_usec = kPatience.count();
    (void)::setitimer(ITIMER_REAL, &timer, nullptr);  // without it the answer may take longer
}

void show(const std::vector<Offer>& offers) {
    for (const auto& offer : offers)
        print(offer.word + "\t" + offer.help + "\n");
    std::fflush(stdout);
}

std::vector<Offer> offers_from(const std::vector<std::string>& names, std::string_view help) {
    std::vector<Offer> offers;
    for (const auto& name : names)
        offers.push_back({.word = name, .help = std::string{help}});
    return offers;
}

/// Of the daemon, or of a captured machine: asking the drivers takes too long for this.
std::vector<Offer> gpus(Arguments arguments) {
    // By the socket if there is one, else by the bus, and never by the machine itself.
    if (!arguments.bus && !arguments.replay && !arguments.socket && !SocketClient::open({}))
        arguments.bus = "system";
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
            if (unit_of(gpu))
                offers.push_back({.word = gpu.id, .help = scrubbed(gpu_title(gpu), 64)});
    return offers;
}

/// What the completions of the shells call: prints a line for each word that fits at the end of
/// `words` (completion.h), "word<tab>what it is". "<tab>files" and "<tab>folders" stand for names
/// that a shell knows better. Silent about failures; ends the process after kPatience, with what
/// has been printed by then.
int complete(const std::vector<std::string>& words) {
    leave_when_it_takes_long();
    const auto completion = completion_of(words);
    show(completion.offers);
    if (completion.names & kFiles)
        print("\tfiles\n");
    if (completion.names & kFolders)
        print("\tfolders\n");
    if (completion.names & (kProducts | kConsumers)) {
        const auto known =
            engine::consumers_in(engine::consumer_folders(completion.arguments.profile_folders));
        if (completion.names & kProducts)
            show(offers_of(completion, offers_from(known.products(), "product")));
        if (completion.names & kConsumers)
            show(offers_of(completion, offers_from(known.consumers(), "consumer")));
    }
    std::fflush(stdout);
    if (completion.names & kGpus)
        show(offers_of(completion, gpus(completion.arguments)));
    return 0;
}

/// What Markdown would take for emphasis.
std::string plain(std::string_view text) {
    std::string escaped;
    for (const char character : text) {
        if (character == '*' || character == '_' || character == '\\' || character == '<')
            escaped += '\\';
        escaped += character == '\n' ? ' ' : character;
    }
    return escaped;
}

std::string option_names(const Option& option) {
    std::string text;
    for (const auto name : split(option.names, ','))
        text += fmt::format("{}**{}**", text.empty() ? "" : ", ", name);
    return option.value.name.empty() ? text : fmt::format("{}=*{}*", text, option.value.name);
}

std::string entries(const std::vector<Option>& options) {
    std::string text;
    for (const auto& option : options)
        text += fmt::format("{}\n: {}\n\n", option_names(option), plain(option.help));
    return text;
}

/// Examples are indented by two, and Markdown wants four.
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

/// Every verb and every option, as Markdown: the middle of gpuprobectl(1).
std::string manual() {
    std::string text = "# VERBS\n\n";
    for (const auto& verb : verbs())
        text += section_on(verb);
    text += "# OPTIONS\n\n";
    for (const auto& group : global_options())
        text += fmt::format("## {}\n\n", group.title) + entries(group.options);
    return text;
}

/// Those that print what is known, and end.
constexpr auto kReadVerbs = std::to_array<std::string_view>(
    {"status", "list", "show", "describe", "doctor", "select", "recommend", "plan", "env", "help"});

bool wants_pager(const Arguments& arguments, const std::vector<std::string>& words) {
    return arguments.json == JsonMode::Off && !arguments.fleet.every &&
           ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1 &&
           std::ranges::find(kReadVerbs, arguments.verb) != kReadVerbs.end() &&
           std::ranges::find(words, "--no-pager") == words.end();
}

Result<ExitCode> run_verb(const Arguments& arguments, Screen screen) {
    const auto& verb = *find_verb(arguments.verb);
    if (verb.run_alone)
        return verb.run_alone(arguments);
    const auto client = TRY(open_client(arguments));
    screen.has_legend = arguments.has_legend;
    Context context{.arguments = arguments, .screen = screen, .client = *client};
    return verb.run(context);
}

/// Of a command line that could not be read as a whole.
bool asks_for_json(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return word == "-j" || word == "--json=short" || word == "--json=pretty";
    });
}

ExitCode refuse(const Refusal& refusal, const std::vector<std::string>& words) {
    if (refusal.is_help) {
        print(narrowed(refusal.text, screen_of(STDOUT_FILENO, ColourMode::Never).columns));
        return ExitCode::Answered;
    }
    std::fwrite(refusal.text.data(), 1, refusal.text.size(), stderr);
    constexpr std::string_view kLead = "gpuprobectl: ";
    const auto line = refusal.text.substr(0, refusal.text.find('\n'));
    const Error error{ErrorCode::InvalidRequest, line.substr(kLead.size())};
    if (asks_for_json(words))
        print_json(Arguments{.json = JsonMode::Short}, failure_document(error, {}));
    return ExitCode::Usage;
}

/// The exit status, once everything is printed. A signal's where the program that was run ended by
/// one: ours too, or a shell's number for it.
int status_of(ExitCode code) {
    const auto end = flushed(code);
    if (end <= ExitCode::EndedBySignal)
        return static_cast<int>(end);
    const int signal = static_cast<int>(end) - static_cast<int>(ExitCode::EndedBySignal);
    die_by(signal);
    return 128 + signal;
}

}  // namespace

int run(const std::vector<std::string>& words) {
    if (!words.empty() && words.front() == "complete")  // words that need not make sense yet
        return complete({words.begin() + 1, words.end()});
    if (words == std::vector<std::string>{"manual"}) {  // for the man page, at build time
        print(manual());
        return status_of(ExitCode::Answered);
    }
    const auto parsed = parse_arguments(words, ::isatty(STDOUT_FILENO) == 1);
    if (parsed.refusal)
        return status_of(refuse(*parsed.refusal, words));
    const auto& arguments = *parsed.arguments;
    const auto screen = screen_of(STDOUT_FILENO, arguments.colour);
    Pager pager;
    if (wants_pager(arguments, words))
        pager.start();
    for (;;) {
        const auto done = run_verb(arguments, screen);
        const int code = status_of(done ? *done : report_failure(arguments, done.error()));
        if (!arguments.fleet.every)
            return code;
        if (!sleep_for(std::chrono::seconds{*arguments.fleet.every}))
            return static_cast<int>(ExitCode::Answered);
    }
}

}  // namespace gpuprobe::inline cli
