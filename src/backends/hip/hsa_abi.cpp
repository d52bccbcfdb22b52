// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hsa_abi.h"

namespace gpuprobe::backends::hsa {

Result<Symbols> load(const DynamicLibrary& library) {
    return Symbols{
        .init = TRY(library.symbol<Status()>("hsa_init")),
        .status_string = TRY(library.symbol<Status(Status, const char**)>("hsa_status_string")),
        .system_info = TRY(library.symbol<Status(int, void*)>("hsa_system_get_info")),
        .iterate_agents = TRY(library.symbol<Status(AgentCallback, void*)>("hsa_iterate_agents")),
        .agent_info = TRY(library.symbol<Status(Agent, int, void*)>("hsa_agent_get_info")),
        .iterate_pools = TRY(library.symbol<Status(Agent, PoolCallback, void*)>(
            "hsa_amd_agent_iterate_memory_pools")),
        .pool_info =
            TRY(library.symbol<Status(MemoryPool, int, void*)>("hsa_amd_memory_pool_get_info")),
    };
}

}  // namespace gpuprobe::backends::hsa
