// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <memory>

#include <sys/socket.h>
#include <systemd/sd-bus.h>

#include "base/value.h"
#include "fuzz/input.h"
#include "wire/bus.h"

namespace {

using namespace gpuprobe;

/// A connection without a peer, which is enough to create messages.
sd_bus* connection() {
    static sd_bus* const bus = [] {
        int ends[2] = {-1, -1};
        sd_bus* made = nullptr;
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
            sd_bus_new(&made) < 0 || sd_bus_set_fd(made, ends[0], ends[0]) < 0 ||
            sd_bus_start(made) < 0)
            std::abort();
        return made;
    }();
    return bus;
}

}  // namespace

/// Writes a JSON value into a D-Bus message, and reads the message within the limits of requests.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto value = parse_json(support::text_of_input(data, size), kib(64));
    if (!value)
        return 0;
    for (const char* signature : {"v", "a{sv}"}) {
        const TypeTable types;
        const bus::MessageWriter::PathOf no_paths;
        bus::MessageBody body;
        bus::MessageWriter{body, types, no_paths}.append(signature, *value, {});
        sd_bus_message* created = nullptr;
        if (sd_bus_message_new_signal(connection(), &created, "/", "org.example.Fuzz", "Data") < 0)
            std::abort();
        const std::shared_ptr<sd_bus_message> message{created, sd_bus_message_unref};
        body.append_to(created);
        if (sd_bus_message_seal(created, 1, 0) < 0 || sd_bus_message_rewind(created, 1) < 0)
            std::abort();
        (void)bus::read_argument(created);
    }
    return 0;
}
