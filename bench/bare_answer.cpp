// SPDX-License-Identifier: Apache-2.0
/// Sends a constant answer of the same shape as SelectBackend's answer for a machine with one GPU.
/// The time of a call to this program is therefore the time that sd-bus and the bus need. bench/run
/// starts this program on a separate bus, DBUS_BENCH_ADDRESS, as a second reference: the answer to
/// Peer.Ping, the first reference, is empty.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <systemd/sd-bus.h>

namespace {

constexpr const char* kGpu = "/org/gpuprobe/GpuProbe1/gpu/pci_0000_00_06_0";
constexpr const char* kUuid = "GPU-00000000-0000-4000-8000-000000000001";
constexpr const char* kDecision = "requested=auto detected=[cuda,vulkan,opencl,cpu] selected=cuda";

int answer(sd_bus_message* call, void* /*data*/, sd_bus_error* /*problem*/) {
    return sd_bus_reply_method_return(call, "a{sv}", 5,                                          //
                                      "Backend", "s", "cuda",                                    //
                                      "Decision", "s", kDecision,                                //
                                      "Environment", "a{ss}", 1, "CUDA_VISIBLE_DEVICES", kUuid,  //
                                      "Generation", "t", std::uint64_t{1},                       //
                                      "Gpus", "ao", 1, kGpu);
}

const sd_bus_vtable kTable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("SelectBackend", "sa{sv}", "a{sv}", answer, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

}  // namespace

int main() {
    sd_bus* bus = nullptr;
    if (sd_bus_new(&bus) < 0 || sd_bus_set_address(bus, std::getenv("DBUS_BENCH_ADDRESS")) < 0 ||
        sd_bus_set_bus_client(bus, 1) < 0 || sd_bus_start(bus) < 0 ||
        sd_bus_add_object_vtable(bus, nullptr, "/org/gpuprobe/Bench1", "org.gpuprobe.Bench1",
                                 kTable, nullptr) < 0 ||
        sd_bus_request_name(bus, "org.gpuprobe.Bench1", 0) < 0)
        return EXIT_FAILURE;
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
