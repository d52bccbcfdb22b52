// SPDX-License-Identifier: Apache-2.0
/// Answers calls with constant answers that it got from a running daemon, and does nothing else.
/// The time of a call to this program is therefore about the time that sd-bus and the bus need for
/// the daemon's answers. bench/run starts this program on the daemon's bus, DBUS_BENCH_ADDRESS, as
/// a second reference: the answer to Peer.Ping, the first reference, is empty.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <systemd/sd-bus.h>

#include "wire/bus.h"

namespace {

using gpuprobe::bus::MessageBody;

/// The daemon's answers to SelectBackend and RecommendVariant, without and with every candidate.
struct Answers {
    MessageBody select = {};
    MessageBody select_explained = {};
    MessageBody recommend = {};
    MessageBody recommend_explained = {};
};

void check(int result) {
    if (result < 0) {
        std::fprintf(stderr, "bench_bare_answer: error %d of sd-bus\n", -result);
        std::exit(EXIT_FAILURE);
    }
}

/// Adds the rest of the current container of a received message to `body`.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the daemon's answer
void copy(sd_bus_message* message, MessageBody& body) {
    char type = 0;
    const char* contents = nullptr;
    while (sd_bus_message_peek_type(message, &type, &contents) > 0) {
        if (contents != nullptr) {
            body.open(type, contents);
            check(sd_bus_message_enter_container(message, type, contents));
            copy(message, body);
            check(sd_bus_message_exit_container(message));
            body.close();
        } else if (type == 's' || type == 'o') {
            const char* text = nullptr;
            check(sd_bus_message_read_basic(message, type, &text));
            body.add_text(type, text);
        } else {
            std::uint64_t bits = 0;  // shorter numbers and booleans leave the other bytes 0
            check(sd_bus_message_read_basic(message, type, &bits));
            body.add_number(type, bits);
        }
    }
}

template <class... Arguments>
void take(sd_bus* bus, MessageBody& body, const char* method, Arguments... arguments) {
    sd_bus_message* reply = nullptr;
    check(sd_bus_call_method(bus, "org.gpuprobe.GpuProbe1", "/org/gpuprobe/GpuProbe1",
                             "org.gpuprobe.GpuProbe1.Manager", method, nullptr, &reply,
                             arguments...));
    copy(reply, body);
    sd_bus_message_unref(reply);
}

/// Sends the answer to which `body` points.
int answer(sd_bus_message* call, void* body, sd_bus_error* /*problem*/) {
    sd_bus_message* reply = nullptr;
    check(sd_bus_message_new_method_return(call, &reply));
    static_cast<const MessageBody*>(body)->append_to(reply);
    check(sd_bus_send(nullptr, reply, nullptr));
    sd_bus_message_unref(reply);
    return 1;
}

#define ROW(name, in, out, member)                                              \
    SD_BUS_METHOD_WITH_OFFSET(name, in, out, answer, offsetof(Answers, member), \
                              SD_BUS_VTABLE_UNPRIVILEGED)

const sd_bus_vtable kTable[] = {
    SD_BUS_VTABLE_START(0),
    ROW("SelectBackend", "sa{sv}", "a{sv}", select),
    ROW("SelectBackendExplained", "sa{sv}", "a{sv}", select_explained),
    ROW("RecommendVariant", "ssa{sv}", "a{sv}", recommend),
    ROW("RecommendVariantExplained", "ssa{sv}", "a{sv}", recommend_explained),
    SD_BUS_VTABLE_END,
};

}  // namespace

int main() {
    sd_bus* bus = nullptr;
    check(sd_bus_new(&bus));
    check(sd_bus_set_address(bus, std::getenv("DBUS_BENCH_ADDRESS")));
    check(sd_bus_set_bus_client(bus, 1));
    check(sd_bus_start(bus));
    Answers answers;
    take(bus, answers.select, "SelectBackend", "sa{sv}", "default", 0);
    take(bus, answers.select_explained, "SelectBackend", "sa{sv}", "default", 1, "explain", "b", 1);
    take(bus, answers.recommend, "RecommendVariant", "ssa{sv}", "llama.cpp", "", 0);
    take(bus, answers.recommend_explained, "RecommendVariant", "ssa{sv}", "llama.cpp", "", 1,
         "explain", "b", 1);
    check(sd_bus_add_object_vtable(bus, nullptr, "/org/gpuprobe/Bench1", "org.gpuprobe.Bench1",
                                   kTable, &answers));
    check(sd_bus_request_name(bus, "org.gpuprobe.Bench1", 0));
    std::puts("ready");
    std::fflush(stdout);
    for (;;) {
        const int more = sd_bus_process(bus, nullptr);
        if (more < 0)
            return EXIT_SUCCESS;  // the connection to the bus has ended
        if (more == 0)
            sd_bus_wait(bus, UINT64_MAX);
    }
}
