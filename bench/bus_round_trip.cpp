// SPDX-License-Identifier: Apache-2.0
/// Measures round trips to a running daemon on the bus DBUS_BENCH_ADDRESS: calls that the daemon
/// answers from its cache, the same calls to bench_bare_answer, and Peer.Ping, which sd-bus answers
/// without the daemon's code.
/// It also sends calls to the daemon's socket, GPUPROBE_SOCKET, with system calls and with the
/// library, and transfers as many bytes as the answer to ListGpus from a process that does nothing
/// else. bench/run prints the ratios.
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include <benchmark/benchmark.h>
#include <gpuprobe/gpuprobe.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

namespace {

struct Callee {
    const char* name;
    const char* path;
    const char* interface;
};
constexpr Callee kPeer{"org.gpuprobe.GpuProbe1", "/org/gpuprobe/GpuProbe1",
                       "org.freedesktop.DBus.Peer"};
constexpr Callee kManager{"org.gpuprobe.GpuProbe1", "/org/gpuprobe/GpuProbe1",
                          "org.gpuprobe.GpuProbe1.Manager"};
constexpr Callee kBare{"org.gpuprobe.Bench1", "/org/gpuprobe/Bench1", "org.gpuprobe.Bench1"};

sd_bus* connect() {
    sd_bus* bus = nullptr;
    if (sd_bus_new(&bus) < 0 || sd_bus_set_address(bus, std::getenv("DBUS_BENCH_ADDRESS")) < 0 ||
        sd_bus_set_bus_client(bus, 1) < 0 || sd_bus_start(bus) < 0)
        std::abort();
    return bus;
}

template <class... Arguments>
void call(benchmark::State& state,
          const Callee& callee,
          const char* method,
          Arguments... arguments) {
    static sd_bus* const bus = connect();
    for (auto _ : state) {
        sd_bus_message* reply = nullptr;
        sd_bus_error problem = SD_BUS_ERROR_NULL;
        if (sd_bus_call_method(bus, callee.name, callee.path, callee.interface, method, &problem,
                               &reply, arguments...) < 0)
            state.SkipWithError(problem.message);
        sd_bus_message_unref(reply);
        sd_bus_error_free(&problem);
    }
}

void ping(benchmark::State& state) {
    call(state, kPeer, "Ping", nullptr);
}
void select_backend(benchmark::State& state) {
    call(state, kManager, "SelectBackend", "sa{sv}", "default", 0);
}
void select_backend_explained(benchmark::State& state) {
    call(state, kManager, "SelectBackend", "sa{sv}", "default", 1, "explain", "b", 1);
}
void bare_select(benchmark::State& state) {
    call(state, kBare, "SelectBackend", "sa{sv}", "default", 0);
}
void bare_select_explained(benchmark::State& state) {
    call(state, kBare, "SelectBackendExplained", "sa{sv}", "default", 1, "explain", "b", 1);
}
void bare_recommend(benchmark::State& state) {
    call(state, kBare, "RecommendVariant", "ssa{sv}", "llama.cpp", "", 0);
}
void bare_recommend_explained(benchmark::State& state) {
    call(state, kBare, "RecommendVariantExplained", "ssa{sv}", "llama.cpp", "", 1, "explain", "b",
         1);
}
void list_gpus(benchmark::State& state) {
    call(state, kManager, "ListGpus", "a{sv}", 0);
}
void recommend(benchmark::State& state) {
    call(state, kManager, "RecommendVariant", "ssa{sv}", "llama.cpp", "", 0);
}
void recommend_explained(benchmark::State& state) {
    call(state, kManager, "RecommendVariant", "ssa{sv}", "llama.cpp", "", 1, "explain", "b", 1);
}

int connected_socket() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, std::getenv("GPUPROBE_SOCKET"), sizeof address.sun_path - 1);
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        std::abort();
    return descriptor;
}

/// Sends a question and receives the answer, which ends with a NUL. Returns the size of the answer;
/// 0 if the connection has ended.
std::size_t exchange(int descriptor, const std::string& question) {
    static std::array<char, 1 << 18> answer{};
    if (::send(descriptor, question.c_str(), question.size() + 1, 0) <= 0)
        return 0;
    std::size_t size = 0;
    for (;;) {
        const ssize_t got = ::recv(descriptor, answer.data(), answer.size(), 0);
        if (got <= 0)
            return 0;
        size += static_cast<std::size_t>(got);
        if (answer[static_cast<std::size_t>(got) - 1] == '\0')
            return size;
    }
}

void ask_socket(benchmark::State& state, const std::string& question) {
    static const int descriptor = connected_socket();
    for (auto _ : state)
        if (exchange(descriptor, question) == 0)
            state.SkipWithError("no answer");
}

constexpr const char* kListGpus = R"({"method":"org.gpuprobe.ListGpus"})";

/// Starts a process that answers each question with as many bytes as the daemon's answer to
/// ListGpus has. Returns the socket of this process, which ends when the socket is closed.
int bare_server() {
    const int daemon = connected_socket();
    const std::size_t size = exchange(daemon, kListGpus);
    ::close(daemon);
    std::array<int, 2> pair{};
    if (size == 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
        std::abort();
    if (::fork() == 0) {
        ::close(pair[0]);
        std::string answer(size - 1, 'x');
        std::array<char, 256> question{};
        while (::recv(pair[1], question.data(), question.size(), 0) > 0)
            if (::send(pair[1], answer.c_str(), size, MSG_NOSIGNAL) <= 0)
                break;
        ::_exit(0);
    }
    ::close(pair[1]);
    return pair[0];
}

void bare_socket(benchmark::State& state) {
    static const int descriptor = bare_server();
    for (auto _ : state)
        if (exchange(descriptor, "?") == 0)
            state.SkipWithError("no answer");
}

void socket_select(benchmark::State& state) {
    ask_socket(state, R"({"method":"org.gpuprobe.Select","parameters":{"application":"default"}})");
}
void socket_recommend(benchmark::State& state) {
    ask_socket(state,
               R"({"method":"org.gpuprobe.Recommend","parameters":{"application":"llama.cpp"}})");
}
void socket_list_gpus(benchmark::State& state) {
    ask_socket(state, kListGpus);
}
void socket_diagnose(benchmark::State& state) {
    ask_socket(state, R"({"method":"org.gpuprobe.Diagnose"})");
}

void library_select(benchmark::State& state) {
    static gpuprobe_client* client = nullptr;
    if (!client && gpuprobe_open(&client, nullptr, GPUPROBE_DAEMON_ONLY) < 0)
        std::abort();
    for (auto _ : state) {
        char* json = nullptr;
        if (gpuprobe_select(client, nullptr, nullptr, &json) < 0)
            state.SkipWithError("no answer");
        gpuprobe_free(json);
    }
}

BENCHMARK(socket_select);
BENCHMARK(socket_recommend);
BENCHMARK(socket_list_gpus);
BENCHMARK(bare_socket);
BENCHMARK(socket_diagnose);
BENCHMARK(library_select);
BENCHMARK(ping);
BENCHMARK(select_backend);
BENCHMARK(select_backend_explained);
BENCHMARK(bare_select);
BENCHMARK(bare_select_explained);
BENCHMARK(bare_recommend);
BENCHMARK(bare_recommend_explained);
BENCHMARK(list_gpus);
BENCHMARK(recommend);
BENCHMARK(recommend_explained);

}  // namespace

BENCHMARK_MAIN();
