// SPDX-License-Identifier: Apache-2.0
// Definitions with which opencl/kernels.cl compiles as HIP; the two files are compiled together.
// The vectors are clang's extended vectors, because the vectors in HIP's headers are classes.

#define __kernel extern "C" __global__ __launch_bounds__(128)
#define reqd_work_group_size(x, y, z) unused
#define __global
#define restrict __restrict__

typedef unsigned int uint;
typedef uint gpuprobe_uint4 __attribute__((ext_vector_type(4)));
#define uint4 gpuprobe_uint4
#define VECTOR(x, y, z, w) gpuprobe_uint4{x, y, z, w}

#define get_group_id(dimension) blockIdx.x
#define get_local_id(dimension) threadIdx.x
#define get_global_id(dimension) (blockIdx.x * 128u + threadIdx.x)

#define FUSED __builtin_fmaf

// A product and a sum, which this compiler fuses. HIP's headers do the same for packed halves.
typedef _Float16 gpuprobe_half2 __attribute__((ext_vector_type(2)));
#define half _Float16
#define half2 gpuprobe_half2
#define PAIR(x, y) gpuprobe_half2{x, y}
#define FUSED_PAIR(x, y, z) ((x) * (y) + (z))

// Newer devices have an instruction for signed and unsigned bytes, older ones have one for signed bytes. On
// devices with neither, the kernel fails to compile and there is no rate for bytes. Source: LLVM,
// clang/include/clang/Basic/BuiltinsAMDGPU.def; __has_builtin considers the device features listed there.
#if __has_builtin(__builtin_amdgcn_sudot4)
#define dot_4x8packed_ss_int(x, y) __builtin_amdgcn_sudot4(true, (int)(x), true, (int)(y), 0, false)
#elif __has_builtin(__builtin_amdgcn_sdot4)
#define dot_4x8packed_ss_int(x, y) __builtin_amdgcn_sdot4((int)(x), (int)(y), 0, false)
#endif
