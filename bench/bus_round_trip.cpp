// SPDX-License-Identifier: Apache-2.0
/// Round trips to a daemon that is already running at DBUS_BENCH_ADDRESS: Peer.Ping, which sd-bus
/// answers without our code, against the cached answers. bench/run prints the ratios.
#include <cstdlib>

#include <benchmark/benchmark.h>
#include <systemd/sd-bus.h>

namespace {

constexpr const char* kName = "org.gpuprobe.GpuProbe1";
constexpr const char* kPath = "/org/gpuprobe/GpuProbe1";
constexpr const char* kManager = "org.gpuprobe.GpuProbe1.Manager";

sd_bus* connect() {
    sd_bus* bus = nullptr;
    if (sd_bus_new(&bus) < 0 || sd_bus_set_address(bus, std::getenv("DBUS_BENCH_ADDRESS")) < 0 ||
        sd_bus_set_bus_client(bus, 1) < 0 || sd_bus_start(bus) < 0)
        std::abort();
    return bus;
}

template <class... Arguments>
void call(benchmark::State& state,
          const char* interface,
          const char* method,
          Arguments... arguments) {
    static sd_bus* const bus = connect();
    for (auto _ : state) {
        sd_bus_message* reply = nullptr;
        sd_bus_error problem = SD_BUS_ERROR_NULL;
        if (sd_bus_call_method(bus, kName, kPath, interface, method, &problem, &reply,
                               arguments...) < 0)
            state.SkipWithError(problem.message);
        sd_bus_message_unref(reply);
        sd_bus_error_free(&problem);
    }
}

void ping(benchmark::State& state) {
    call(state, "org.freedesktop.DBus.Peer", "Ping", nullptr);
}
void select_backend(benchmark::State& state) {
    call(state, kManager, "SelectBackend", "sa{sv}", "default", 0);
}
void list_gpus(benchmark::State& state) {
    call(state, kManager, "ListGpus", "a{sv}", 0);
}

BENCHMARK(ping);
BENCHMARK(select_backend);
BENCHMARK(list_gpus);

}  // namespace

BENCHMARK_MAIN();
