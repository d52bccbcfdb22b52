// SPDX-License-Identifier: Apache-2.0
// The filters of system calls that hold a worker, written to files instead of given to the kernel:
// for a processor that is not this machine's. Usage: filters REFUSALS KNOWN
#include <cstdlib>

#include <fcntl.h>
#include <seccomp.h>

#define seccomp_load(filter) seccomp_export_bpf(filter, exported)
namespace {
int exported = -1;  // where the next one goes
}

#include "backends/confinement.cpp"
// The same names stand in both.
#define Filter KnownFilter
#include "backends/known_calls.cpp"

int main(int, char** files) {
    exported = ::creat(files[1], 0600);
    if (!gpuprobe::backends::refuse_reaching_out())
        return EXIT_FAILURE;
    exported = ::creat(files[2], 0600);
    const gpuprobe::backends::KnownFilter known{seccomp_init(SCMP_ACT_ERRNO(ENOSYS))};
    return gpuprobe::backends::load(known) ? EXIT_SUCCESS : EXIT_FAILURE;
}
