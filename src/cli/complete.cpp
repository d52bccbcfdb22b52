// SPDX-License-Identifier: Apache-2.0
#include "cli/complete.h"

#include <chrono>
#include <csignal>
#include <cstdio>

#include <sys/time.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/completion.h"
#include "cli/open_client.h"
#include "cli/socket_client.h"
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

}  // namespace

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

}  // namespace gpuprobe::inline cli
