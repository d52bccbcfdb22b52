// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "fuzz/input.h"
#include "fuzz/kept_file.h"
#include "store/probe_history.h"

namespace {

using namespace gpuprobe;

class StoppedClock final : public Clock {
public:
    [[nodiscard]] MonotonicTime monotonic() const override { return MonotonicTime{} + kSince; }
    [[nodiscard]] WallTime wall() const override { return WallTime{} + kSince; }

private:
    static constexpr auto kSince = std::chrono::hours{24 * 365 * 50};
};

/// Opens and changes the list of quarantined drivers, and returns its length.
std::size_t held_after_use(const std::string& folder, const std::string& boot) {
    static const StoppedClock clock;
    store::Quarantine ledger{folder, clock};
    (void)ledger.open(boot);
    const store::ProbeKey key{.api = "vulkan", .driver = "x", .stage = "query", .fingerprint = "f"};
    const auto before = ledger.held().size();
    if (ledger.find(key) == nullptr && ledger.begin({key})) {
        (void)ledger.strike(key, Harm::Crashed, "as found");
        ledger.ended(key);
        (void)ledger.settle();
        ledger.pardon(key);
    }
    (void)ledger.clear({.api = "opencl"});
    if (ledger.held().size() > before + 1)
        std::abort();
    return ledger.held().size();
}

}  // namespace

/// Reads a stored quarantine list, in the same boot and in another boot. The next process must be
/// able to read the list that a process leaves.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const support::KeptFile file{"quarantine", "gpuprobe-quarantine 1"};
    for (const auto* boot : {"this", "another", ""}) {
        file.write(support::text_of_input(data, size));
        (void)held_after_use(file.folder(), boot);
        (void)held_after_use(file.folder(), boot);
    }
    return 0;
}
