# SPDX-License-Identifier: Apache-2.0
"""Small files of the form that other projects' files have, for the rules in tools/knowledge/rules.json.

FILES has (application, beginning of the fact that cites the file, text). «» enclose what a rule depends on; they are not part of the file.
"""

JAX_BAZEL = """\
build:linux --config=posix
common:cuda_v12 --repo_env HERMETIC_CUDA_COMPUTE_CAPABILITIES="«sm_50»,«sm_60»,«sm_70»,«sm_80»,«sm_90»,«sm_100»,«sm_101»,«compute_120»"
common:cuda_v13 --repo_env HERMETIC_CUDA_COMPUTE_CAPABILITIES="«sm_75»,«sm_80»,«sm_90»,«sm_100»,«sm_110»,«compute_120»"
"""
JAX_VERSION = '_version = "«0.11.1»"\n'
TORCH_CUDA_12 = """\
#!/usr/bin/env bash
if [[ -n "$DESIRED_CUDA" ]]; then
    if [[ ${DESIRED_CUDA} =~ ^[0-9]+$ ]]; then
        OTHER=${DESIRED_CUDA}
    fi
fi
nodot=$(echo $CUDA_VERSION | tr -d '.')
case ${CUDA_VERSION} in
    # a comment in the middle
    «12.8»)
        TORCH_CUDA_ARCH_LIST="7.0;«7.5»;«8.0»;«8.6»;«9.0»;«10.0»;«12.0»"
        ;;
    «12.9»)
        TORCH_CUDA_ARCH_LIST="7.0;«7.5»;«8.0»;«8.6»;«9.0»;«10.0»;«12.0+PTX»"
        ;;
    «12.6»)
        TORCH_CUDA_ARCH_LIST="«5.0»;«6.0»;«7.0»;«7.5»;«8.0»;«8.6»;«9.0»"
        if [[ "$PACKAGE_TYPE" == "libtorch" ]]; then
            export FLAGS="${FLAGS} --compress-mode=default"
        fi
        ;;
    *)
        exit 1
        ;;
esac
export TORCH_CUDA_ARCH_LIST=${TORCH_CUDA_ARCH_LIST}
"""
TORCH_CUDA_13 = """\
TORCH_CUDA_ARCH_LIST_TABLE: dict[str, dict[str, set[int]]] = {
    "«12.6»": {"x86_64": {50, 90}, "«aarch64»": {«80», «90»}},
    "«13.0»": {"«x86_64»": {«75», «80», «86», «90», «100», «120»}, "«aarch64»": {«80», «90», «100», «110», «120»}},
    "«13.2»": {"x86_64": {«75», «80», «86», «90», «100», «120»}, "aarch64": {«80», «90», «100», «110», «120»}},
}
_PTX_ARCHES: set[int] = {«120»}
"""
TORCH_ROCM = """\
case ${image} in
    manylinux2_28-builder:cpu)
        TARGET=cpu_final
        ;;
    manylinux2_28-builder:rocm*)
        PYTORCH_ROCM_ARCH="«gfx908»;«gfx90a»;«gfx942»;«gfx950»;«gfx1030»;«gfx1100»;«gfx1101»;«gfx1102»;gfx1103;«gfx1200»;«gfx1201»;gfx1150;gfx1151"
        if [[ "$GPU_ARCH_VERSION" == *"7.14"* ]]; then
            ARGUMENT="--build-arg PYTORCH_ROCM_ARCH=${PYTORCH_ROCM_ARCH}"
        else
            if [[ "$GPU_ARCH_VERSION" == *"7.2"* ]]; then
                GPU_ARCH_VERSION="${GPU_ARCH_VERSION}.1"
            fi
            PYTORCH_ROCM_ARCH="gfx900;gfx906;${PYTORCH_ROCM_ARCH}"
        fi
        ;;
esac
"""
UV = "static LINUX_CUDA_DRIVERS: Table = [(TorchBackend::Cu118, Version::new([«450», «80», «2»])),\n];\n" + "".join(
    f"(TorchBackend::Rocm63, AmdGpuArchitecture::«Gfx{each}»),\n" for each in (900, 906, 908, "90a", 942, 1030, 1100, 1101, 1102, 1200, 1201))
BUILDER = """\
TORCH_CUDA_ARCH_LIST="3.7;«5.0»;«6.0»;«7.0»"
case ${CUDA_VERSION} in
    «11.8»)
        TORCH_CUDA_ARCH_LIST="${TORCH_CUDA_ARCH_LIST};«7.5»;«8.0»;«8.6»;«9.0»"
        ;;
esac
if [[ -n "$OVERRIDE_TORCH_CUDA_ARCH_LIST" ]]; then
    TORCH_CUDA_ARCH_LIST="$OVERRIDE_TORCH_CUDA_ARCH_LIST"
fi
"""


def releases(cuda="", rocm="", tested=""):
    """PyTorch's matrix of builds: with only those of CUDA's or ROCm's versions that a rule is about."""
    words = lambda text: ", ".join(f'"«{word}»"' for word in text.split())
    members = lambda name, text: f'"«{name}»": [{words(text)}],' if text else ""
    return f"CUDA_ARCHES_DICT = {{{members('release', cuda)}}}\nROCM_ARCHES_DICT = {{{members('release', rocm)}{members('test', tested)}}}\n"


def build_script(targets):
    return f"""\
build() {{
    if [ -n "$GPU_ARCHS" ]; then
        GPU_TARGETS="$GPU_ARCHS"
    else
        GPU_TARGETS="{";".join(f"«{each}»" for each in targets.split())}"
    fi
}}
"""


LLAMA_RELEASE = """\
jobs:
  ubuntu-vulkan:
    strategy:
      matrix:
        include:
          - build: '«x64»'
            os: «ubuntu-22.04»
          - build: '«arm64»'
            os: «ubuntu-24.04-arm»
  «ubuntu-22-rocm»:
    strategy:
      matrix:
        include:
          - ROCM_VERSION: "«7.2.1»"
            gpu_targets: "«gfx908»;«gfx90a»;«gfx942»;«gfx1030»;«gfx1100»;«gfx1101»;«gfx1102»;«gfx1151»;«gfx1150»;«gfx1200»;«gfx1201»"
            build: 'x64'
"""
GGML = """\
if (CUDAToolkit_FOUND)
    if (NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        # a comment with if ( in it
        if (GGML_NATIVE AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL "11.6" AND CMAKE_VERSION VERSION_GREATER_EQUAL "3.24")
            set(CMAKE_CUDA_ARCHITECTURES "native")
        else()
            if (CUDAToolkit_VERSION VERSION_LESS "«13»")
                list(APPEND CMAKE_CUDA_ARCHITECTURES «50-virtual» «61-virtual» «70-virtual»)
            endif ()
            list(APPEND CMAKE_CUDA_ARCHITECTURES «75-virtual» «80-virtual» «86-real»)
            if (CUDAToolkit_VERSION VERSION_GREATER_EQUAL "11.8")
                list(APPEND CMAKE_CUDA_ARCHITECTURES «89-real» «90-virtual»)
            endif()
            if (CUDAToolkit_VERSION VERSION_GREATER_EQUAL "«12.8»")
                list(APPEND CMAKE_CUDA_ARCHITECTURES «120a-real»)
            endif()
            if (CUDAToolkit_VERSION VERSION_GREATER_EQUAL "12.9")
                list(APPEND CMAKE_CUDA_ARCHITECTURES «121a-real»)
            endif()
        endif()
    endif()
    enable_language(CUDA)
    list(REMOVE_ITEM CMAKE_CUDA_ARCHITECTURES 120)
endif()
"""
XFORMERS = """\
env:
  TORCH_CUDA_ARCH_LIST: ${{ contains(inputs.toolkit_type, 'cuda') && '«7.5» «8.0+PTX»' || '' }}
  HIP_ARCHITECTURES: ${{ contains(inputs.toolkit_type, 'rocm') && '«gfx90a» «gfx942»' || '' }}
jobs:
  build:
    steps:
      - if: contains(inputs.toolkit_type, 'cuda') && fromJSON(inputs.toolkit_short_version) >= 120 && fromJSON(inputs.toolkit_short_version) < «130»
        run: |
          echo "TORCH_CUDA_ARCH_LIST=$TORCH_CUDA_ARCH_LIST 8.0 «9.0a»" >> ${GITHUB_ENV}
      - if: contains(inputs.toolkit_type, 'cuda') && fromJSON(inputs.toolkit_short_version) >= «130»
        run: |
          echo "TORCH_CUDA_ARCH_LIST=$TORCH_CUDA_ARCH_LIST 8.0 «9.0a» «10.0a» «10.3a» «11.0a» «12.0a» «12.1a»" >> ${GITHUB_ENV}
      - if: steps.a.outputs.b == 'c'
        run: printenv
"""
SHIMMY = """\
jobs:
  build:
    strategy:
      matrix:
        include:
          - os: «ubuntu-latest»
            artifact: «shimmy-linux-x86_64»
          - os: windows-latest
            artifact: shimmy-windows-x86_64.exe
"""
TSUKU = """\
const (
	pciClassVGA = "0x«0300»" // VGA compatible controller
	pciClass3D  = "0x«0302»" // 3D controller
)
var gpuPriority = map[string]int{
	"«nvidia»": 0,
	"«amd»":    1,
	"«intel»":  2,
}
"""
LOCALAI = """\
else ifeq ($(BUILD_TYPE),clblas)
	CMAKE_ARGS+=-DGGML_CLBLAST=ON
else ifeq ($(BUILD_TYPE),«hipblas»)
	AMDGPU_TARGETS?=«gfx908»,«gfx90a»,«gfx942»,«gfx950»,«gfx1030»,«gfx1100»,«gfx1101»,«gfx1102»,«gfx1151»,«gfx1200»,«gfx1201»
ifeq ($(strip $(AMDGPU_TARGETS)),)
"""
FLASH = """\
jobs:
  build_wheels:
    strategy:
      matrix:
        os: [ubuntu-22.04, ubuntu-22.04-arm]
        torch-version: ["2.8.0", "2.9.1"]
        cuda-version: ["«12.9.1»", "«13.0.1»"]
        exclude:
          - torch-version: "2.8.0"
            cuda-version: "13.0.1"
"""
GGML_VULKAN = """\
        if (!vk11_features.«storageBuffer16BitAccess») {
            return;
        }
    if (api_version < VK_API_VERSION_«1_2») {
"""
GGML_ORDER = "".join(f"        register_backend(ggml_backend_{each}_reg());\n" for each in ("«cuda»", "metal", "«sycl»", "«vk»", "«opencl»", "«cpu»"))
NODE_LLAMA = """\
if (NLC_CI_MODE AND GGML_CUDA AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT NLC_GGML_NATIVE)
    find_package(CUDAToolkit)
    if (CUDAToolkit_VERSION VERSION_LESS "13")
        list(APPEND CMAKE_CUDA_ARCHITECTURES «50-virtual» «61-virtual» «70-virtual» «75-virtual» «80-virtual» «86-real»)
        if (CUDAToolkit_VERSION VERSION_GREATER_EQUAL "11.8")
            list(APPEND CMAKE_CUDA_ARCHITECTURES 89-real 90-virtual)
        endif()
        list(REMOVE_ITEM CMAKE_CUDA_ARCHITECTURES «89-real»)
        list(REMOVE_ITEM CMAKE_CUDA_ARCHITECTURES «90-virtual»)
    endif()
endif()
add_subdirectory("llama.cpp")
"""
ROCBLAS_63 = "gfx900 gfx906:xnack- gfx908:xnack- gfx90a:xnack+ gfx90a:xnack- gfx940 gfx941 gfx942 gfx1030 gfx1100 gfx1101 gfx1102 gfx1200 gfx1201"
FILES = [
    ("jax", "kernels of the CUDA plugins", JAX_BAZEL),
    ("jax", "version 0.11", JAX_VERSION),
    ("torch", "CUDA 12's architectures", TORCH_CUDA_12),
    ("torch", "CUDA 13's architectures", TORCH_CUDA_13),
    ("torch", "AMD's architectures of the wheels", TORCH_ROCM),
    ("torch", "gfx of the wheels for ROCm 6.3", UV),
    ("torch", "CUDA 11.8's kernels", BUILDER),
    ("torch", "CUDA 11.8 in the release", releases("11.8 12.6 12.8")),
    ("torch", "no CUDA 11.8 in", releases("12.6 12.8 12.9")),
    ("torch", "ROCm 6.3 in the release", releases(rocm="6.3 6.4")),
    ("torch", "no ROCm 6.3 in", releases(rocm="7.0 7.1")),
    ("torch", "indexes of 2.13", releases("12.6 13.0 13.2", "7.1 7.2", "7.2 7.14")),
    ("torch", "gfx of rocBLAS in ROCm 6.3", build_script(ROCBLAS_63)),
    ("onnxruntime", "GPUs that AMD's packages", build_script("gfx900 gfx906 gfx908 gfx90a gfx1030 gfx1100 gfx1101 gfx1102 gfx942 gfx1200 gfx1201")),
    ("llama.cpp", "build hosts", LLAMA_RELEASE),
    ("llama.cpp", "code that CMake takes", GGML),
    ("xformers", "kernels by toolkit", XFORMERS),
    ("xformers", "CUDA 12.6, 12.8", "        CU_VERSIONS = ['«126»', '«128»', '«130»']\n        ROCM_VERSIONS = ['«7.1»']\n"),
    ("ctranslate2", "ROCm 7.2 of the ROCm wheels", "tee /etc/yum.repos.d/rocm.repo <<EOF\nbaseurl=https://repo.radeon.com/rocm/el8/«7.2»/main\nEOF\n"
     'export PYTORCH_ROCM_ARCH="«gfx1030»;«gfx1100»;«gfx1101»;«gfx1102»;«gfx1150»;«gfx1151»;«gfx1200»;«gfx1201»"\n'),
    ("whisper.cpp", "CUDA 13.0; 75", "ARG CUDA_VERSION=«13.0».0\nRUN make A=\"-DCMAKE_CUDA_ARCHITECTURES='«75»;«80»;«86»;«90»'\"\n"),
    ("ramalama", "CUDA 12.9", "ARG CUDA_VERSION=«12.9».2\nFROM docker.io/nvidia/cuda:${CUDA_VERSION}-devel-ubi9 AS builder\n"),
    ("localai", "AMD's architectures of its image", LOCALAI),
    ("shimmy", "assets (Linux", SHIMMY),
    ("tsuku", "vendors by PCI class", TSUKU),
    ("llama.cpp", "what the Vulkan backend needs", GGML_VULKAN),
    ("llama.cpp", "order in which backends", GGML_ORDER),
    ("node-llama-cpp", "code of both", NODE_LLAMA),
    ("lemonade", "versions of its", '{"llamacpp": {"cuda": "«b10397»", "rocm-stable": "«b10470»"}}'),
    ("tsuku-llm", "8 000 000 000", "const MINIMUM_VRAM_GB: f64 = «8.0»;\n"),
    ("flash-attn", "toolkits 12.9 and", FLASH),
]
