// SPDX-License-Identifier: Apache-2.0
// The common part of the kernels of compute/device.h. `From` and `To` are the element types that a kernel
// reads and writes: words, or vectors of four words.

layout(local_size_x = 128) in;
layout(set = 0, binding = 0, std430) readonly buffer Source {
    From from[];
};
layout(set = 0, binding = 1, std430) writeonly buffer Target {
    To to[];
};
layout(push_constant) uniform Arguments {
    uint rounds;
    int factor;
    int addend;
};

// A thread's sixteen vectors are 128 vectors apart, so that adjacent threads read adjacent vectors.
#define FIRST_VECTOR (gl_WorkGroupID.x * 2048u + gl_LocalInvocationID.x)
#define FOR_EACH_VECTOR for (uint row = 0u, i = FIRST_VECTOR; row < 16u; ++row, i += 128u)

// One step of each of the eight chains.
#define STEP(next) \
    x0 = next(x0); x1 = next(x1); x2 = next(x2); x3 = next(x3); \
    x4 = next(x4); x5 = next(x5); x6 = next(x6); x7 = next(x7);
#define TWICE(steps) steps steps
#define EIGHT_TIMES(steps) TWICE(TWICE(TWICE(steps)))
