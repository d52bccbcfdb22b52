// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include <sys/socket.h>

#include "base/value.h"
#include "fuzz/input.h"
#include "probe/socket_worker.h"
#include "probe/worker_answer.h"

namespace {

using namespace gpuprobe;

/// Checks that a record is the same after it has been written and read again.
template <class T>
void check(const Value& value) {
    const auto record = record_from<T>(value);
    if (!record)
        return;
    const auto again = record_from<T>(to_value(*record));
    if (!again || !(to_value(*again) == to_value(*record)))
        std::abort();
}

/// Receives the bytes as a message. Only a message above the limit may fail; others stay the same.
void check_receiving(std::string_view bytes) {
    static int ends[2] = {-1, -1};
    if (ends[0] < 0 && ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) != 0)
        std::abort();
    if (bytes.empty() || !send_message(ends[0], bytes))
        return;
    const auto message = receive_message(ends[1], kMaxNotice, 0);
    if (message ? !*message || (*message)->text != bytes : bytes.size() <= kMaxNotice.count)
        std::abort();
}

}  // namespace

/// Reads messages between a worker's parent and the daemon, and the output of a driver.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = support::text_of_input(data, size);
    check_receiving(text);
    OutputTail tail;
    tail.add(text.substr(0, size / 2));
    tail.add(text.substr(size / 2));
    for (const auto& line : tail.lines())
        if (line.empty() || line.find('\n') != std::string::npos)
            std::abort();
    if (const auto value = parse_json(text, kMaxRequest)) {
        check<ProbeTarget>(*value);
        check<WorkerNotice>(*value);
    }
    return 0;
}
