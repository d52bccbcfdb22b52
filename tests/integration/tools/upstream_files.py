# SPDX-License-Identifier: Apache-2.0
"""Contains small files in the formats of other projects' files, for tests of the rules in tools/knowledge/rules.json.

FILES contains (application, beginning of the fact that cites the file, text). The marks «» enclose words on which a rule depends; the tests remove
these marks from the text.
"""

import json
import re

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
TORCH_CUDA_12_9 = re.sub("[«»]", "", TORCH_CUDA_12).replace('"7.0;7.5;8.0;8.6;9.0;10.0;12.0+PTX"', '"7.0;«7.5»;«8.0»;«8.6»;«9.0»;«10.0»;«12.0+PTX»"')
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


def releases(cuda="", rocm="", tested="", stable="", candidate="", python=""):
    """Returns PyTorch's matrix of builds, with only these versions of CUDA and ROCm."""
    words = lambda text: ", ".join(f'"«{word}»"' for word in text.split())
    members = lambda name, text: f'"«{name}»": [{words(text)}],' if text else ""
    versions = "".join(f'CURRENT_{kind}_VERSION = "«{version}».0"\n' for kind, version in (("STABLE", stable), ("CANDIDATE", candidate)) if version)
    pythons = f'PYTHON_ARCHES_DICT = {{\n    "release": ["«{python}»", "3.99"],\n}}\n' if python else ""
    return f"{pythons}CUDA_ARCHES_DICT = {{{members('release', cuda)}}}\nROCM_ARCHES_DICT = {{{members('release', rocm)}{members('test', tested)}}}\n{versions}"


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
CUPY = """\
def _nvcc_gencode_options(cuda_version: int) -> list[str]:
    envcfg = os.getenv('CUPY_NVCC_GENERATE_CODE', None)
    if envcfg is not None and envcfg != 'current':
        return ['--generate-code={}'.format(arch) for arch in envcfg.split(';')]
    if envcfg == 'current' and build.get_compute_capabilities() is not None:
        arch_list = [f'compute_{cc}' for cc in build.get_compute_capabilities()]
    else:
        aarch64 = (platform.machine() == '«aarch64»')
        if cuda_version >= 13000:
            arch_list = [«('compute_75', 'sm_75')», ('compute_80', '«sm_80»'), ('compute_86', 'sm_86'), ('compute_89', 'sm_89'), ('compute_90', 'sm_90'),
                         ('compute_100f', 'sm_100'), ('compute_120f', 'sm_120'), 'compute_120']
            if aarch64:
                arch_list += [('compute_87', '«sm_87»'), ('compute_110', 'sm_110')]
        elif cuda_version >= 12000:
            arch_list = [('compute_50', 'sm_50'), ('compute_52', 'sm_52'), ('compute_60', 'sm_60'), ('compute_61', 'sm_61'), ('compute_70', 'sm_70'),
                         ('compute_75', 'sm_75'), ('compute_80', 'sm_80'), ('compute_86', 'sm_86'), ('compute_89', 'sm_89'), ('compute_90', 'sm_90')]
            if cuda_version < 12080:
                arch_list.append('compute_90')
            elif 12080 <= cuda_version < 12090:
                arch_list += [('compute_100', 'sm_100'), ('compute_120', 'sm_120'), 'compute_100']
            elif 12090 <= cuda_version:
                arch_list += [('compute_100f', '«sm_100»'), ('compute_120f', 'sm_120'), '«compute_100»']
            if aarch64:
                arch_list += [('compute_72', 'sm_72'), ('compute_87', 'sm_87')]
        else:
            assert False
    options = []
    for arch in arch_list:
        options.append(arch)
    return options
"""
FLASH_SETUP = """\
def cuda_archs() -> str:
    return os.getenv("FLASH_ATTN_CUDA_ARCHS", "«80»;«90»;«100»;«110»;«120»").split(";")

def add_cuda_gencodes(cc_flag, archs, bare_metal_version):
    if "80" in archs:
        cc_flag += ["-gencode", "arch=compute_80,code=«sm_80»"]
    if bare_metal_version >= Version("11.8") and "90" in archs:
        cc_flag += ["-gencode", "arch=compute_90,code=«sm_90»"]
    if bare_metal_version >= Version("12.8"):
        if "100" in archs:
            if bare_metal_version >= Version("12.9"):
                cc_flag += ["-gencode", "arch=compute_100f,code=«sm_100»"]
            else:
                cc_flag += ["-gencode", "arch=compute_100,code=sm_100"]
        if "120" in archs:
            cc_flag += ["-gencode", "arch=compute_120f,code=«sm_120»"]
        if "110" in archs:
            if bare_metal_version >= Version("«13.0»"):
                cc_flag += ["-gencode", "arch=compute_110f,code=sm_110"]
            else:
                cc_flag += ["-gencode", "arch=compute_101,code=«sm_101»"]
    numeric = [a for a in archs if a.isdigit()]
    if numeric:
        newest = max(numeric, key=int)
        cc_flag += ["-gencode", f"arch=compute_{newest},code=compute_{newest}"]
    return cc_flag

def validate_and_update_archs(archs):
    allowed_archs = ["native", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1200", "gfx1201"]
"""
FLASH_AMD = 'def validate_and_update_archs(archs):\n    allowed_archs = ["native", "«gfx90a»", "«gfx950»", "«gfx942»"]\n'
TENSORFLOW = """\
build:cuda --repo_env=HERMETIC_CUDA_VERSION="12.5.1"
build:cuda_clang --repo_env=HERMETIC_CUDA_COMPUTE_CAPABILITIES="«sm_60»,«sm_70»,«sm_80»,«sm_89»,«compute_90»"
build:cuda_clang_official --repo_env=HERMETIC_CUDA_VERSION="«12.5».1"
build:cuda_clang_official --repo_env=HERMETIC_CUDNN_VERSION="«9.3».0"
"""
VLLM_PLATFORMS = "builtin_platform_plugins = {\n" + "".join(f"    '{each}': {each.strip('«»')}_platform_plugin,\n"
                                                           for each in ("tpu", "«cuda»", "«rocm»", "hpu", "«xpu»", "«cpu»", "neuron")) + "}\n"
VLLM_CUDA = """\
- GPU: compute capability «7.5» or higher (e.g., T4, RTX20xx)
uv pip install https://github.com/vllm-project/vllm/releases/download/v${VLLM_VERSION}/vllm-cp38-abi3-«manylinux_2_28»_${CPU_ARCH}.whl
- `https://wheels.vllm.ai/nightly/<variant>`: all other variants. Now this includes `«cu130»`, and `cpu`. The default variant (`«cu129»`) also has a subdirectory.
"""
VLLM_CUDA = VLLM_CUDA.replace("/vllm-cp38", "/vllm-${VLLM_VERSION}+cu${CUDA_VERSION}-cp38")
VLLM_ROCM = """\
| ROCm Variant | Python Version | ROCm Version | glibc Requirement | Supported Versions |
| `rocm700` | 3.12 | 7.0 | >= «2.35» | `0.14.0` to `0.18.0` |
| `rocm721` | «3.12» | 7.2.1 | >= 2.35 | Nightly releases |
- GPU: MI200s («gfx90a»), MI300 («gfx942»), MI350 («gfx950»), Radeon RX 7900 series (gfx1100/«1101»), Radeon RX 9000 series (gfx1200/1201), Ryzen AI MAX / AI 300 Series (gfx1151/1150)
    ROCm pre-built wheels are only available for **Python «3.12»**. Others get the wheel for CUDA.
"""
VLLM_XPU = "- Supported Hardware: «Intel Data Center GPU», Intel ARC GPU\n- `vllm/«vllm-openai-xpu»:latest` — stable release\n"
VLLM_CMAKE = """\
if(DEFINED CMAKE_CUDA_COMPILER_VERSION AND
   CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL «13.0»)
  set(CUDA_SUPPORTED_ARCHS "«7.5»;«8.0»;8.6;8.7;8.9;9.0;10.0;11.0;«12.0»")
elseif(DEFINED CMAKE_CUDA_COMPILER_VERSION AND
   CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  set(CUDA_SUPPORTED_ARCHS "7.5;8.0;8.6;8.7;8.9;9.0;10.0;«10.1»;10.3;12.0;12.1")
else()
  set(CUDA_SUPPORTED_ARCHS "7.0;7.5;8.0")
endif()
define_extension_target(spinloop)
"""
LLAMA_APP = """\
REPO="https://huggingface.co/buckets/«ggml-org/install.sh»/resolve"
        (linux)   [ -x llama ] || probe_«cuda»
                  [ -x llama ] || probe_«rocm»
                  [ -x llama ] || probe_«vulkan»
                  [ -x llama ] || probe_cpu ;;
"""
LLAMA_APP_GENERATE = """\
ROCM_ARCHS = ["«906»", "«90a»", "942", "950", "1030", "1031", "1032", "1011", "1100", "1101", "1102", "1103", "1150", "1151", "1152", "1153", "1200", "«1201»"]
CUDA_ARCHS = {"75": "«128»", "80": "128", "86": "128", "89": "128", "90": "128", "100": "128", "120": "«128»", "121": "«129»"}
BASELINE_FLAGS = {"x86_64": "-march=«x86-64-v3»", "aarch64": "-march=armv8.2-a"}
"""
LLAMA_APP_PRESETS = "".join(f"| `«gfx{each}»` | - |\n" for each in "906 90a 942 950 1030 1031 1032 1011 1100 1101 1102 1103 1150 1151 1152 1153 1200 1201".split())
LLAMA_APP_NEEDS = """\
| linux   | `aarch64` | `vulkan`     | GLIBC «2.29» | `libvulkan.so.1` |
| linux   | `x86_64`  | `vulkan`     | GLIBC «2.29» | `libvulkan.so.1` |
"""
JAN = """\
        "linux-x86_64" | "linux-x86" => {
            supported_backends.push("«linux-common_cpus-x64»".to_string());
            supported_backends.push("«linux-cuda-11-common_cpus-x64»".to_string());
            supported_backends.push("linux-cuda-12-common_cpus-x64".to_string());
            supported_backends.push("linux-cuda-13-common_cpus-x64".to_string());
            supported_backends.push("linux-vulkan-common_cpus-x64".to_string());
        "linux" => ("«450.80.02»", "«525.60.13»", "«580»"),
        "windows" => ("452.39", "527.41", "580"),
"""
ORT_ARCHS = """\
| OS | CUDA | CUDA architectures |
| Windows x64 | 13.0 | 75;80;86;89;120a |
| Linux x64 | 12.8 | «60»;«70»;«75»;80;86;89;90a;«120a» |
| Linux x64 | 13.0 | 75;80;86;89;90a;120a |
| Linux aarch64 | 13.0 | 89;90a;120a;121a |
"""
ROCBLAS_72 = "".join(f"TensileLibrary_lazy_«gfx{each}».dat\n" for each in "908 1030 90a 1100 1201 1101 1151 942 950 1200 1150 1102".split())
ROCBLAS_64 = "".join(f"TensileLibrary_lazy_«gfx{each}».dat\n" for each in "1101 1102 1200 1030 1100 1201 942 90a 908".split())
JAX_CUBINS = "xla_cuda12/xla_cuda_plugin.so | SASS: 50 «sm_100» 50 «sm_101» 50 «sm_120» 50 «sm_50» 50 sm_60 50 sm_70 50 sm_80 50 sm_90 | PTX: \n"
LLAMA = "https://github.com/ggml-org/llama.cpp/releases/download/b11429/"
LLAMA_ASSETS = ("«llama-b11429-bin-ubuntu-x64.tar.gz»", "«llama-b11429-bin-ubuntu-arm64.tar.gz»", "llama-b11429-bin-ubuntu-vulkan-x64.tar.gz",
                "llama-b11429-bin-ubuntu-vulkan-arm64.tar.gz", "«llama-b11429-bin-ubuntu-cuda-13.4-x64.tar.gz»", "llama-b11429-bin-ubuntu-cuda-12.8-x64.tar.gz",
                "«cudart-llama-b11429-bin-ubuntu-cuda-13.4-x64.tar.gz»", "cudart-llama-b11429-bin-ubuntu-cuda-12.8-x64.tar.gz")
LLAMA_RELEASE_INDEX = json.dumps({"tag_name": "«b11429»", "assets": [{"browser_download_url": LLAMA + name} for name in LLAMA_ASSETS]}, ensure_ascii=False)
NPM_LLAMA = json.dumps({"version": "«3.22.1»", "optionalDependencies": {f"@node-llama-cpp/{name}": "3.22.1" for name in (
    "«linux-arm64»", "linux-armv7l", "«linux-x64»", "«linux-x64-cuda»", "«linux-x64-cuda-ext»", "«linux-x64-vulkan»", "win-x64")}}, ensure_ascii=False)
NPM_TRANSFORMERS = '{"version": "«4.3.2»", "dependencies": {"onnxruntime-node": "«1.30.0»"}}'
COMFYUI = """\
[Portable for Nvidia GPUs with pytorch cuda «12.6» and python 3.12](https://example.org/a.7z) (Supports Nvidia 10 series and older GPUs).
```pip install torch torchvision torchaudio --index-url https://download.pytorch.org/whl/«rocm7.2»```
```pip install torch torchvision torchaudio --index-url https://download.pytorch.org/whl/«xpu»```
```pip install torch torchvision torchaudio --extra-index-url https://download.pytorch.org/whl/«cu130»```
"""
SGLANG = """\
git clone -b v«0.5.21» https://github.com/sgl-project/sglang.git
`lmsysorg/sglang:v«0.5.19»-cu129` is the last CUDA 12 tag.
SGLang requires CUDA «13». SGLang «0.5.19» is the last release with a CUDA 12 lane (PyTorch 2.13).
"""
XLA = "  static constexpr absl::string_view kSupportedGfxVersions[]{\n" + "".join(
    f'      "«gfx{each}»",\n' for each in "908 90a 942 950 1030 1100 1101 1103 1150 1151 1200 1201 1250".split()) + '      "gfx1250-strict",\n  };\n'
TRANSFORMERS = """\
} else if (apis.IS_NODE_ENV) {
            supportedDevices.push('dml');
                supportedDevices.push('«cuda»');
    supportedDevices.push('«webgpu»');
    supportedDevices.push('«cpu»');
} else {
    supportedDevices.push('webgpu');
}
"""
BLENDER_PAGE = """\
<!DOCTYPE html><html><p>CUDA is supported on Windows and Linux and requires a NVIDIA graphics cards with <b>compute capability «5.0»</b> and higher.</p>
<p>OptiX requires compute capability 5.0 and a driver version of at least «535». To make sure</p></html>
"""
PADDLE_OCR = "".join(f"# GPU version, requires driver version >= «{driver}» (Linux) or >= 1 (Windows)\n"
                     f"python -m pip install paddlepaddle-gpu==3.2.0 -i https://www.paddlepaddle.org.cn/packages/stable/«{index}»/\n"
                     for driver, index in (("450.80.02", "cu118"), ("550.54.14", "cu126")))
RAMALAMA_TEKTON = """\
spec:
  params:
  - {name: git-url, value: a}
  - name: build-platforms
    value:
    - linux-d160-m4xlarge/«amd64»
"""
TSUKU_RECIPE = """\
[metadata]
supported_libc = ["«glibc»"]
[[steps]]
when = { os = ["linux"], arch = "amd64", gpu = ["«nvidia»"] }
asset_pattern = "«tsuku-llm-linux-amd64-cuda»"
[[steps]]
when = { os = ["linux"], arch = "amd64", gpu = ["«amd»", "«intel»"] }
asset_pattern = "«tsuku-llm-linux-amd64-vulkan»"
"""
COMPRESSION = """\
``balanced``
  CUDA 12 Requires Driver Version: 550.54.14+
``size``
  Specify compression flags that will aim for smallest binary size.

  CUDA 12 Requires Driver Version: «550.54.14»+
"""
DIGESTS_B11429 = "".join(f'{{"digest": "sha256:«{each}»"}}' for each in (
    "8082b7eaa74a714c9fecca19128f751c8e32da763ee8096b8ad1e824da7621d3", "93d18648d815b2bd624d83d82f653e1db97afb478f02064305fe3cf570040a6d",
    "b13c64b9224d3c89d9993945d70cc21177ad00178c21b8d34237e3bc139834f1", "f4ab593e31507320b121f2cb21791f4c72420a2483d3df8bf2ca1a97d04e6845",
    "632c4e98feba2b94407a2130e3133e0c3aefb0ea1ab41337e926d8bfafdd0b74", "f6d25dde8f51133143d1453da4fd5f73b145127177612a283bf7995957af3392",
    "702d99c4219b4314cc6d3b10fb41ae96cbfc68226305c2681269dfb51487af34", "ed44c0f79c3d02424f62bdc87e106318b0b89f49050e2e80c5f352723d14e00b"))
AMD_WHEELS = "https://repo.radeon.com/rocm/manylinux/rocm-rel-"
ORT_PACKAGES = f"""\
{{"packages": [
  {{"vendor": "nvidia", "cuda_min": "12.0", "url": "https://example.org/a.tgz", "sha256": "0"}},
  {{"rocm_min": "«7.1»", "url": "{AMD_WHEELS}7.1.1/onnxruntime_migraphx-«1.23.1»-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    "sha256": "«0bb62f7c2b326b2435396ef90a5f3ad030fe779aa9d0da7013d8b514c27de08f»"}},
  {{"rocm_min": "«7.2»", "url": "{AMD_WHEELS}7.2.2/onnxruntime_migraphx-«1.23.2»-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    "sha256": "«45d556a6c261383f3e1f1469764a6ce94dc9daaa65fc3d494406d9cd357a3656»"}},
  {{"vendor": "intel",
    "url": "https://files.pythonhosted.org/packages/50/cf/17ba72de2df0fcba349937d2788f154397bbc2d1a2d67772a97e26f6bc5f/onnxruntime_openvino-«1.24.1»-cp312-cp312-manylinux_2_28_x86_64.whl",
    "sha256": "«d617fac2f59a6ab5ea59a788c3e1592240a129642519aaeaa774761dfe35150e»"}}]}}
"""
SUPPORT_MATRIX = """\
12.6.3 | Maxwell(5.0), Pascal(6.0), Volta(7.0)
12.8.1 | Turing(«7.5»), Ampere(«8.0», «8.6»), Hopper(«9.0»), Blackwell(«10.0», «12.0») |
"""
FLASH_WHEELS = json.dumps({"assets": [{"name": f"flash_attn-2.8.4+{cuda}torch2.10cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"} for cuda in ("«cu12»", "«cu13»")]}, ensure_ascii=False)
SD_ARCHIVES = json.dumps({"assets": [{"name": f"sd-master-700-abc-{end}"} for end in (
    "«bin-Linux-Ubuntu-24.04-x86_64.zip»", "«bin-Linux-Ubuntu-24.04-x86_64-vulkan.zip»", "«bin-Linux-Ubuntu-24.04-x86_64-rocm-7.14.0.zip»", "bin-win-x64.zip")]}, ensure_ascii=False)
wheels = lambda name: json.dumps({"urls": [{"filename": f"{name}-cp312-cp312-«manylinux_2_27»_{machine}.whl"} for machine in ("x86_64", "aarch64")]}, ensure_ascii=False)
marked = lambda words: " ".join(f"«gfx{each}»" for each in words.split())
WITHOUT_HIPBLASLT = "".join(f'therock_add_amdgpu_target(«gfx{each}» "AMD" FAMILY all\n  EXCLUDE_TARGET_PROJECTS\n    hipBLASLt # why\n)\n' for each in (
    "900 90c 906 1010 1011 1012 1030 1031 1032 1033 1034 1035 1036".split()))
WITH_HIPBLASLT = "".join(
    f'therock_add_amdgpu_target(«gfx{each}» "AMD CDNA" FAMILY all)\n' for each in "908 90a 942 950 1100 1101 1102 1103 1150 1151 1152 1153 1200 1201 1250".split())
HIPBLASLT = f"""\
    if (NOT BUILD_ADDRESS_SANITIZER)
      rocm_check_target_ids(DEFAULT_AMDGPU_TARGETS
          TARGETS "{";".join(marked("908 90a 940 941 942 1100 1101 1200 1201").split())}"
      )
    else()
      rocm_check_target_ids(DEFAULT_AMDGPU_TARGETS TARGETS "gfx908:xnack+")
    endif()
"""


def cudnn(package, toolkits, capabilities):
    """Returns a row of cuDNN's support matrix, followed by another row."""
    bullets = lambda words: "".join(f"\n  • {each}\n" for each in words.split())
    rows = ((package, toolkits, "".join(f"\n  • «{each}» [3]\n" for each in capabilities.split())), ("cuDNN 9.0.0 for CUDA 11.x", "11.8", bullets("9.0 3.5")))
    return "".join(f"{name}\n{bullets(versions)}\nYes\n\n>=525.60.13\n\n>=527.41\n{found}\n  • NVIDIA Hopper\n\n" for name, versions, found in rows)


UV_WORDS = ("cpu cu132 cu130 cu129 cu128 cu126 cu125 cu124 cu123 cu122 cu121 cu120 cu118 cu117 cu116 cu115 cu114 cu113 cu112 cu111 cu110 cu102 cu101 cu100 cu92 cu91 "
            "cu90 cu80 rocm7.2 rocm7.1 rocm7.0 rocm6.4 rocm6.3 rocm6.2.4 rocm6.2 rocm6.1 rocm6.0 rocm5.7 rocm5.6 rocm5.5 rocm5.4.2 rocm5.4 rocm5.3 rocm5.2 rocm5.1.1 "
            "rocm4.2 rocm4.1 rocm4.0.1 xpu")
UV_RDNA = "900 906 908 90a 942 1030 1100 1101 1102 1200 1201"
UV_GFX = {"Rocm72": f"950 1150 1151 {UV_RDNA}", "Rocm71": f"950 {UV_RDNA}", "Rocm70": f"950 {UV_RDNA}", "Rocm64": UV_RDNA, "Rocm63": UV_RDNA, "Rocm624": UV_RDNA,
          "Rocm62": "900 906 908 90a 1030 1100 942", "Rocm61": "900 906 908 90a 942 1030 1100 1101", "Rocm60": "900 906 908 90a 1030 1100 942"}


UV_SINCE = {"0.8.13": "cu129", "0.9.4": "cu130", "0.9.15": "rocm6.4", "0.9.27": "rocm7.1 rocm7.0", "0.11.3": "rocm7.2", "0.11.29": "cu132"}


def uv_accepting(words):
    """Returns uv's function that parses UV_TORCH_BACKEND, which accepts only these values."""
    return "impl FromStr for TorchBackend {\n" + "".join(f'            "«{each}»" => Ok(Self::Any),\n' for each in words.split()) + "}\n"


THEROCK = "900 906 908 90a 942 950 1010 1011 1012 1030 1031 1032 1033 1034 1035 1036 1100 1101 1102 1103 1150 1151 1152 1153 1200 1201"
THEROCK_GPUS = ("## ROCm on Linux\n" + "".join(f"| CDNA | «gfx{each}» | ✅ | | |\n" for each in "90a 908 906 900 90c".split()) +
                "| **CDNA4** | **«gfx950»** | ✅ | | |\n| **RDNA3.5** | **«gfx1153»** | ✅ | | |\n| **RDNA3** | **gfx1103** | ✅ | ✅ | ✅ |\n"
                "## ROCm on Windows\n| RDNA2 | gfx1036 | ✅ | | |\n")


def uv_rows(index, targets, unmarked=""):
    words = (each if each in unmarked.split() else f"«{each}»" for each in targets.split())
    return "".join(f"(TorchBackend::{index}, AmdGpuArchitecture::Gfx{each}),\n" for each in words)


FILES = [
    ("jax", "the kernels in the CUDA plugins", JAX_BAZEL),
    ("uv", "the values of UV_TORCH_BACKEND that uv accepts", uv_accepting(UV_WORDS)),
    ("uv", "0.7.14 is the first version of uv",
     "".join(f'LazyLock::new(|| IndexUrl::from_str("https://download.pytorch.org/whl/«{each}»").unwrap());\n' for each in UV_WORDS.split()
             if each not in " ".join(UV_SINCE.values()).split())),
    *(("uv", f"{version} is the first version of uv", uv_accepting(words)) for version, words in UV_SINCE.items()),
    ("uv", "the AMD GPUs for which uv chooses each index", "".join(uv_rows(*row) for row in UV_GFX.items())),
    ("bitnet", "the version that this file describes", '[workspace.package]\nversion = "«0.2.1-dev»"\n'),
    ("vectorizer", "the version that this file describes", '[package]\nversion = "«3.5.0»"\n'),
    ("shimmy-v2", "the version that this file describes", '[package]\nversion = "«2.5.0»"\n'),
    ("cyllama", "the version that this file describes", '[project]\nversion = "«0.4.0»"\n'),
    ("lemonade", "the version that this file describes", "project(lemon_cpp VERSION «11.7.0»)\n"),
    ("flash-attn", "the version that this file describes", '__version__ = "«2.8.3.post1»"\n'),
    ("uv", "version", '[package]\nname = "uv-version"\nversion = "«0.12.5»"\n'),
    ("rocBLAS", "the GPUs for which the library has kernels in ROCm 6.3", build_script(ROCBLAS_63)),
    ("rocBLAS", "the GPUs for which the library has kernels in ROCm 6.4", ROCBLAS_64),
    ("rocBLAS", "the GPUs for which the library has kernels in ROCm 7.1", uv_rows("Rocm71", UV_GFX["Rocm71"], "900 906")),
    ("rocBLAS", "the GPUs for which the library has kernels in ROCm 7.2", ROCBLAS_72),
    ("rocBLAS", "the GPUs for which the library has kernels in ROCm 10.1", WITHOUT_HIPBLASLT + WITH_HIPBLASLT),
    ("hipBLASLt", "the GPUs for which the library has kernels in ROCm 10.1", re.sub("[«»]", "", WITHOUT_HIPBLASLT).replace("hipBLASLt", "«hipBLASLt»") + WITH_HIPBLASLT),
    ("hipBLASLt", "the GPUs for which version 0.11 has kernels", HIPBLASLT),
    ("MIOpen", "the GPUs for which the library is built in ROCm 10.1", WITHOUT_HIPBLASLT + WITH_HIPBLASLT),
    ("MIGraphX", "the GPUs for which the library is built in ROCm 6.3", build_script("gfx900 gfx906 gfx908 gfx90a gfx1030 gfx1100 gfx1101 gfx1102 gfx942 gfx1200 gfx1201")),
    ("cuDNN", "the compute capabilities that cuDNN 9.5.1 supports", cudnn("cuDNN 9.5.1 for CUDA 12.x", "12.6 12.5", "9.0 8.9 8.6 8.0 7.5 7.0 6.1 6.0 5.0")),
    ("cuDNN", "the compute capabilities that cuDNN 9.10.2 supports", cudnn("cuDNN 9.10.2 for CUDA 12.x", "12.9 12.8", "12.0 10.0 9.0 8.9 8.6 8.0 7.5 7.0 6.1 6.0 5.0")),
    ("cuDNN", "the compute capabilities that cuDNN 9.17.0 supports", cudnn("cuDNN 9.17.0 for CUDA 12.x", "12.9 12.8 12.6", "12.0 10.0 9.0 8.9 8.6 8.0 7.5")),
    ("flash-attention", "the NVIDIA GPUs for which 2.8 has kernels", FLASH_SETUP),
    ("flash-attention", "the AMD architectures for which 2.8.3.post1 has kernels", FLASH_AMD),
    ("jax", "the described version is 0.11.1", JAX_VERSION),
    ("torch", "the compute capabilities for which the CUDA 12 wheels have kernels", TORCH_CUDA_12),
    ("torch", "the compute capabilities for which the CUDA 13 wheels have kernels", TORCH_CUDA_13),
    ("torch", "the AMD architectures for which the wheels have kernels", TORCH_ROCM),
    ("torch", "the extras for 26 GPU targets", "".join(f"| AMD Radeon | «gfx{each}» | `device-gfx{each}` |\n" for each in THEROCK.split())),
    ("torch", "the GPUs for which AMD builds packages on Linux but does not test them", THEROCK_GPUS),
    ("torch", "the gfx targets of the wheels for ROCm 6.3", UV),
    ("torch", "the CUDA 11.8 builds have kernels for compute capability 3.7 to 9.0", BUILDER),
    ("torch", "release 2.7.1 is the last release for CUDA 11.8", releases("11.8 12.6 12.8", stable="2.7")),
    ("torch", "release 2.8.0 is not published for CUDA 11.8", releases("12.6 12.8 12.9")),
    ("torch", "release 2.9.1 is the last release for ROCm 6.3", releases(rocm="6.3 6.4", stable="2.9")),
    ("torch", "release 2.10.0 is not published for ROCm 6.3", releases(rocm="7.0 7.1")),
    ("torch", "release 2.11.0 is the last release for CUDA 12.8", releases("12.6 12.8 13.0", stable="2.11")),
    ("torch", "the indexes of 2.13 and 2.14", releases("12.6 13.0 13.2", "7.1 7.2", "7.2 7.14", "2.13", "2.14", "3.10")),
    ("torch", "the gfx targets of rocBLAS in ROCm 6.3", build_script(ROCBLAS_63)),
    ("onnxruntime", "the GPUs for which AMD builds its MIGraphX packages", build_script("gfx900 gfx906 gfx908 gfx90a gfx1030 gfx1100 gfx1101 gfx1102 gfx942 gfx1200 gfx1201")),
    ("llama.cpp", "the build hosts (Ubuntu 22.04", LLAMA_RELEASE),
    ("llama.cpp", "the CUDA architectures that CMake builds by default", GGML),
    ("xformers", "the kernels for each CUDA version", XFORMERS),
    ("xformers", "the wheels are built for CUDA 12.6", "        CU_VERSIONS = ['«126»', '«128»', '«130»']\n        ROCM_VERSIONS = ['«7.1»']\n"),
    ("ctranslate2", "the ROCm wheels are built with ROCm 7.2", "tee /etc/yum.repos.d/rocm.repo <<EOF\nbaseurl=https://repo.radeon.com/rocm/el8/«7.2»/main\nEOF\n"
     'export PYTORCH_ROCM_ARCH="«gfx1030»;«gfx1100»;«gfx1101»;«gfx1102»;«gfx1150»;«gfx1151»;«gfx1200»;«gfx1201»"\n'),
    ("whisper.cpp", "the image is built with CUDA 13.0 for the architectures 75", "ARG CUDA_VERSION=«13.0».0\nARG BASE_CUDA_RUN_CONTAINER=nvidia/cuda:${CUDA_VERSION}-runtime-ubuntu${UBUNTU_VERSION}\nRUN make A=\"-DCMAKE_CUDA_ARCHITECTURES='«75»;«80»;«86»;«90»'\"\n"),
    ("ramalama", "the image is built with CUDA 12.9", "ARG CUDA_VERSION=«12.9».2\nFROM docker.io/nvidia/cuda:${CUDA_VERSION}-devel-ubi9 AS builder\nFROM docker.io/nvidia/cuda:${CUDA_VERSION}-runtime-ubi9\n"),
    ("localai", "the AMD architectures for which the image has kernels", LOCALAI),
    ("localai", "the image for AMD GPUs is built with ROCm 7.2.1",
     "include:\n  - tag-suffix: '-gpu-rocm-hipblas-llama-cpp'\n    base-image: \"rocm/dev-ubuntu-24.04:«7.2.1»\"\n"),
    ("localai", "the images contain only the packaged files",
     "".join(f"FROM «{each}» AS a\n" for each in ("${BASE_IMAGE}", "${BUILDER_BASE_IMAGE}", "${BUILDER_TARGET}")) + "\nFROM «scratch»\n"),
    ("localai", "the images contain Mesa, ROCm or Intel's driver",
     'package_cuda_libs() {\n        "libcudart.so*"\n}\npackage_rocm_libs() {\n        "«libamdhip64.so»*"\n}\n'
     'copy_libs_glob "${lib_path}/«libze_intel_gpu.so»*"\n    if [ -d "«/usr/share/vulkan/icd.d»" ]; then\n'),
    ("vllm", "the image for Intel GPUs contains Intel's compute runtime",
     "    wget https://github.com/intel/compute-runtime/releases/download/«25.48.36300.8»/libze-intel-gpu1_25.48.36300.8-0_amd64.deb && \\\n"),
    ("shimmy", "the downloads (for Linux only x86-64)", SHIMMY),
    ("tsuku", "GPUs are found by the PCI classes 0300 and 0302", TSUKU),
    ("llama.cpp", "the requirements of the Vulkan backend", GGML_VULKAN),
    ("llama.cpp", "the order in which ggml registers backends", GGML_ORDER),
    ("node-llama-cpp", "the kernels in both CUDA builds", NODE_LLAMA),
    ("lemonade", "the versions of the backends", '{"llamacpp": {"cuda": "«b10397»", "rocm-stable": "«b10470»"}}'),
    ("tsuku-llm", "at least 8,000,000,000 bytes of VRAM", "const MINIMUM_VRAM_GB: f64 = «8.0»;\n"),
    ("flash-attn", "the wheels are built with CUDA 12.9 and 13.0", FLASH),
    ("cupy", "the kernels in the wheels", CUPY),
    ("flash-attn", "the kernels for each CUDA version", FLASH_SETUP),
    ("flash-attn", "the AMD architectures of release 2.8.3.post1", FLASH_AMD),
    ("tensorflow", "CUDA 12.5, cuDNN", TENSORFLOW),
    ("vllm", "the order of platforms", VLLM_PLATFORMS),
    ("vllm", "vLLM recommends uv for the CUDA wheels", "We recommend leveraging `«uv»` to [automatically select the index]\n"),
    ("vllm", "vLLM recommends uv for the ROCm wheels", "    We recommend leveraging `«uv»` to install the vLLM wheel.\n"),
    ("vllm", "the supported AMD GPUs", VLLM_ROCM),
    ("vllm", "the supported Intel GPUs", VLLM_XPU),
    ("vllm", "the compute capabilities for each CUDA version", VLLM_CMAKE),
    ("vllm", "the minimum compute capability", VLLM_CUDA),
    ("llama.app", "the order of backends", LLAMA_APP),
    ("llama.app", "CUDA 12.8, but CUDA 12.9 for compute capability 12.1", LLAMA_APP_GENERATE),
    ("llama.app", "the architectures, and the suffixes of the CPU builds", LLAMA_APP_PRESETS),
    ("llama.app", "the minimum glibc versions and the ROCm libraries", LLAMA_APP_NEEDS),
    ("llama.app", "SKIP_SYCL and the other SKIP variables", "`«SKIP_CUDA»=1`, `«SKIP_ROCM»=1`, `«SKIP_SYCL»=1`, `«SKIP_VULKAN»=1`\n"),
    ("jan", "the minimum driver of each CUDA build", JAN),
    ("onnxruntime", "the compute capabilities for each CUDA version and platform", ORT_ARCHS),
    ("transformers.js", "the compute capabilities for each CUDA version and platform", ORT_ARCHS),
    ("onnxruntime", "the CUDA 13 wheels for arm64 are manylinux_2_34 wheels", "Note that it uses «manylinux_2_34» instead of manylinux_2_28.\n"),
    ("onnxruntime", "the gfx targets of rocBLAS in ROCm 7.2", ROCBLAS_72),
    ("torch", "rocBLAS has no kernels for gfx906 since ROCm 6.4", ROCBLAS_64),
    ("jax", "the CUDA 12 plugin of 0.11.1 contains no PTX", JAX_CUBINS),
    ("jax", "the AMD architectures", XLA),
    ("llama.cpp", "the published files", LLAMA_RELEASE_INDEX),
    ("node-llama-cpp", "the packages for each platform", NPM_LLAMA),
    ("transformers.js", "the described version", NPM_TRANSFORMERS),
    ("transformers.js", "the devices and their order", TRANSFORMERS),
    ("transformers.js", "the CUDA 12 provider exists only for linux/x64", "    'linux/x64': ['«cuda12»'],\n    'linux/arm64': «[]»,\n"),
    ("comfyui", "the PyTorch indexes: cu130 and later for NVIDIA GPUs since the 20 series", COMFYUI),
    ("sglang", "releases need CUDA 13", SGLANG),
    ("blender", "requirements: compute capability 5.0 for CUDA", BLENDER_PAGE),
    ("blender", "HIP is supported on gfx10 and later", "static inline bool hipSupportsDevice(const int hipDevId)\n{\n  return (major >= «10»);\n}\n"),
    ("paddle", "the indexes cu118 and cu126 need driver 450.80.02 and driver 550.54.14", PADDLE_OCR),
    ("ramalama", "the ROCm image is built only for x86-64", RAMALAMA_TEKTON),
    ("tsuku", "the vendor determines the backend", TSUKU_RECIPE),
    ("torch", "the recommended driver for compressed CUDA 12 kernels", COMPRESSION),
    ("tsuku-llm", "the minimum driver for CUDA 12", "CUDA 13.x\n\n>= 580\n\nCUDA 12.x\n\n>= «525»\n"),
    ("onnxruntime", "the packages for each vendor", ORT_PACKAGES),
    ("onnxruntime", "the wheels need glibc 2.27 according to their tags", wheels("onnxruntime-1.25.1")),
    ("jax", "the wheels need glibc 2.27 according to their tags", wheels("jaxlib-0.12.0")),
    ("vllm", "the lists of kernels in the torch wheels that the package depends on", TORCH_CUDA_12_9),
    ("sglang", "the lists of kernels in the torch wheels that the package depends on", TORCH_CUDA_12_9),
    ("torch", "the gfx targets of rocBLAS in ROCm 7.2", ROCBLAS_72),
    ("torch", "the CUDA 12.8 builds of 2.11 have no kernels for sm_70", SUPPORT_MATRIX),
    ("llama.cpp", "the digests and sizes of the downloads", DIGESTS_B11429),
    ("llama.cpp", "the digest of the ROCm archive of b10068", 'https://github.com/ggml-org/llama.cpp/releases/download/«b10068»/llama-b10068-bin-ubuntu-rocm-7.2-x64.tar.gz '
     "sha256:«81735d049c50e18c89de2e6d88f4e2091bf3e148eafafb859deadc4ac977225b»"),
    ("llama.cpp", "the archives for CUDA 13 are built with CUDA 13.4", "ci: Upgrade CUDA to «13.4» for Ubuntu CUDA Release Builds\n"),
    ("onnxruntime", "the MIGraphX packages support gfx1150 since ROCm 6.4", "Adding «gfx1150» to CMAKE_HIP_ARCHITECTURES\n"),
    ("onnxruntime", "the MIGraphX packages support gfx1151 since ROCm 7.0", "Add «gfx1151» and gfx1152 to supported HIP architectures for ROCm7.0\n"),
    ("flash-attn", "the published files", FLASH_WHEELS),
    ("stable-diffusion.cpp", "the published files", SD_ARCHIVES),
    ("ffmpeg", "the options -hwaccel", '    { "«hwaccel»", OPT_VIDEO },\n    { "«hwaccel_device»", OPT_VIDEO },\n    { "«hwaccel_output_format»", OPT_VIDEO },\n'
     '    { "hwaccels", OPT_EXIT },\n    { "«qsv_device»", HAS_ARG },\n'),
    ("jellyfin", "the names of the hardware accelerations", "public enum HardwareAccelerationType\n{\n    «none» = 0,\n\n    amf = 1,\n\n    «qsv» = 2,\n    «nvenc» = 3,\n    «vaapi» = 5,\n}\n"),
    ("jellyfin", "the settings for the render node", '        VaapiDevice = "«/dev/dri/renderD128»";\n        QsvDevice = string.Empty;\n'),
    ("jellyfin", "QSV is derived from a VA-API device", 'return GetVaapiDeviceArgs(renderNodePath, "«iHD»", "i915", null);\nGetVaapiDeviceArgs(options.VaapiDevice, "i965", null);\nargs.Append(GetCudaDeviceArgs(«0», CudaAlias))\n'),
    ("frigate", "the presets for NVIDIA and VA-API", 'FFMPEG_HWACCEL_AMF = "preset-amd-amf"\nFFMPEG_HWACCEL_NVIDIA = "«preset-nvidia»"\nFFMPEG_HWACCEL_VAAPI = "«preset-vaapi»"\n'),
    ("frigate", "the preset for QSV", '    "«preset-intel-qsv-h264»": f"-hwaccel qsv",\n    "preset-intel-qsv-h265": "-hwaccel qsv",\n'),
    ("frigate-detectors", "the type openvino", 'DETECTOR_KEY = "«openvino»"\n\n            model=detector_config.model.path, device_name=detector_config.«device»\n'),
    ("frigate-detectors", "the type hailo8l", 'DETECTOR_KEY = "«hailo8l»"\nARCH = None\n    device: str = Field(\n        default="«PCIe»",\n        title="Device Type",\n'),
    ("frigate-detectors", "the type rknn", 'DETECTOR_KEY = "«rknn»"\n\nsupported_models = {\n'),
    ("openvino-model-server", "the order of GPUs", "    if (info.vendor_id == cldnn::INTEL_VENDOR_ID && info.dev_type == cldnn::device_type::«integrated_gpu») {\n        return «0»;\n    }\n"
     "    if (info.vendor_id == cldnn::INTEL_VENDOR_ID) {\n        return «1»;\n    }\n    return std::numeric_limits<size_t>::«max»();\n"),
    ("frigate", "NVIDIA before VA-API", "    if cuda:\n        return FFMPEG_HWACCEL_«NVIDIA»\n    if vaapi:\n        return FFMPEG_HWACCEL_«VAAPI»\n"),
    ("go2rtc", "the engines and their arguments", '\tEngineSoftware = "«software»"\n\tEngineVAAPI = "«vaapi»" // GPU\n\tEngineCUDA  = "«cuda»"\n\tEngineDXVA2 = "dxva2"\n'),
    ("go2rtc", "CUDA before VA-API", "\t\tif run(bin, Probe«CUDA»H264) {\n\t\t\treturn EngineCUDA\n\t\t}\n\t\tif run(bin, Probe«VAAPI»H264) {\n"),
    ("immich", "the accelerations, their codecs", "      case TranscodeHWAccel.«NVENC»: {\n      case TranscodeHWAccel.«QSV»: {\n      case TranscodeHWAccel.«VAAPI»: {\n      case TranscodeHWAccel.RKMPP: {\n"),
    ("obs", "the encoders for VA-API", '\t.id = "ffmpeg_vaapi",\n\t.id = "«ffmpeg_vaapi_tex»",\n\t.id = "«av1_ffmpeg_vaapi_tex»",\n\t.id = "«hevc_ffmpeg_vaapi_tex»",\n'),
    ("obs", "a device needs an entry point", "if (vaapi_display_ep_combo_supported(profile, «VAEntrypointEncSlice», dpy)) {\nif (vaapi_display_ep_combo_supported(profile, «VAEntrypointEncSliceLP», dpy)) {\n"),
    ("obs", "the encoders for NVENC", '\t.id = "«obs_nvenc_h264_tex»",\n\t.id = "«obs_nvenc_hevc_tex»",\n\t.id = "«obs_nvenc_av1_tex»",\n\t.id = "obs_nvenc_h264_soft",\n'),
    ("obs", "the encoders for QSV", '\t.id = "obs_qsv11",\n\t.id = "«obs_qsv11_v2»",\n\t.id = "«obs_qsv11_av1»",\n\t.id = "«obs_qsv11_hevc»",\n'),
    ("handbrake", "the names of the encoders", '{ "AV1 (Intel QSV)", "«qsv_av1»" }, { "«nvenc_av1»" }, { "«qsv_h264»" }, { "vce_h264" }, { "«nvenc_h264»" }, { "«qsv_h265»" }, { "«nvenc_h265»" }\n'),
    ("handbrake", "the option --enable-hw-decoding", "\"   Use 'amfdec' to enable AMFdec\\n\"\n\"   Use '«nvdec»' to enable NVDec\\n\"\n\"   Use '«qsv»' to enable QSV decoding\\n\"\n"),
    ("mpv", "the order of the decoders", '    {"d3d11va", 3},\n    {"«nvdec»", 3},\n    {"«vaapi»", 3},\n    {"vdpau", 1},\n'),
    ("mpv", "the options --hwdec", "``--«hwdec»=<api1,api2>``\n    a decoder\n``--«vaapi-device»=<device file>``\n    a device\n"),
    ("ffmpeg", "-hwaccel qsv leaves the frames on the GPU", '"WARNING: defaulting hwaccel_output_format to cuda for compatibility "\n"WARNING: defaulting hwaccel_output_format to «qsv» for compatibility "\n'),
    ("ffmpeg", "Intel's runtime for QSV", "Intel platforms supported by the [driver](https://example.org) starting with «Tiger Lake».\n"),
    ("jellyfin", "Jellyfin needs NVIDIA's driver", "**In Jellyfin 10.11 the minimum required NVIDIA driver version is 522.25**.\n**In Jellyfin 10.11 the minimum required NVIDIA driver version is «520.56.06»**.\n"),
    ("jellyfin", "QSV is preferred on Intel's mainstream GPUs", "- **«QSV»** - **Preferred on mainstream GPUs**, for better\n\n- **«VA-API»** - Required by pre-Broadwell legacy GPUs\n"),
    ("jellyfin", "rkmpp on Rockchip boards", "    videotoolbox = 6,\n\n    «rkmpp» = 7\n}\n"),
    ("frigate", "QSV is recommended on Intel GPUs", "| gen8 - gen12       | iHD          | preset-vaapi        | preset-intel-qsv-\\* can also be used |\n| «gen13+»             | iHD / Xe     | preset-intel-qsv-\\* | |\n"
     "| Intel Arc «A-series» | iHD / Xe     | preset-intel-qsv-\\* | |\n| Intel Arc «B-series» | iHD / Xe     | preset-intel-qsv-\\* | |\n"),
    ("frigate", "LIBVA_DRIVER_NAME must be", "the environment variable `LIBVA_DRIVER_NAME=«i965»` to\nthe environment variable `LIBVA_DRIVER_NAME=«radeonsi»` to\n"),
    ("frigate", "the presets for Raspberry Pi", '    "«preset-rpi-64-h264»": "-c:v:1 h264_v4l2m2m",\n    "«preset-jetson-h264»": "-c:v h264_nvmpi -resize {1}x{2}",\n    "preset-rpi-64-h264": "-r {0}",\n'),
    ("frigate-detectors", "the type edgetpu, and that its device", 'DETECTOR_KEY = "«edgetpu»"\n            device_config = {"device": «detector_config».device}\n                device_config["device"] if "device" in device_config else "«auto»"\n'),
    ("frigate-detectors", "the devices pci:0 and pci:1", "    type: edgetpu\n    device: «pci:0»\n    device: «pci:1»\n    device: pci\n"),
    ("frigate-detectors", "pci:N is the PCI Express device", '//     "usb:<index>"  -- TPU device of USB type according to enumeration order\n//     "«pci»:<index>"  -- TPU device of PCIe type according to enumeration order\n'),
    ("frigate-detectors", "the list has the order of the entries", "  DIR* dir = «opendir»(class_dir_name.c_str());\n  while ((entry = «readdir»(dir)) != nullptr) {\n"),
    ("frigate-detectors", "the image contains HailoRT", 'hailo_version="«4.21».0"\n'),
    ("frigate-detectors", "rknn needs Rockchip's kernel", "comes with the rockchip BSP kernel 5.10 or 6.1 and drivers (especially rkvdec2 and «rknpu»).\n"),
    ("frigate-detectors", "the type cpu", 'DETECTOR_KEY = "«cpu»"\n'),
    ("frigate-detectors", "the image for x86-64 contains the drivers", "wget https://example.org/download/26/«intel-opencl-icd»_26.14_amd64.deb\nwget https://example.org/download/v1/«intel-level-zero-npu»_1.19_amd64.deb\n"),
    ("frigate-detectors", "the type onnx", 'DETECTOR_KEY = "«onnx»"\n'),
    ("frigate-detectors", "onnx uses NVIDIA GPUs in the image", "- «gfx1031» -> 10.3.0\n- «gfx1103» -> 11.0.0\n  - ROCm will automatically be detected and used with the ONNX detector in the `«-rocm»` Frigate image.\n"
     "  - Nvidia GPUs will automatically be detected and used with the ONNX detector in the `«-tensorrt»` Frigate image.\n"),
    ("frigate-detectors", "the tags of the images", "".join(f"- `{tag}` - a build\n" for tag in ("«stable»", "stable-standard-arm64", "«stable-tensorrt»", "«stable-rocm»", "stable-tensorrt-jp6", "«stable-rk»"))),
    ("frigate-detectors", "NVIDIA GPUs need driver", "The minimum driver version on the host system must be `>=«545»`. Also the GPU must support a Compute Capability of `«5.0»` or greater.\n"),
    ("frigate-detectors", "the image with ROCm contains kernels", "".join(f"COPY --from=rocm /opt/rocm-$ROCM/lib/rocblas/library/*«{each}»* /opt/rocm-$ROCM/lib/rocblas/library/\n" for each in ("gfx10", "gfx11", "gfx12"))),
    ("openvino-model-server", "the values of --target_device", "| `--target_device`       | `string`     | accepted values include `«CPU»`/`«GPU»`/`«NPU»`/`AUTO` |\n| `--target_device`           | `string` | `CPU` |\n"
     "> Auto-detection does not select `«NPU»`.\n"),
    ("openvino-model-server", "the nodes and the group", "docker run --rm -it  --device=/dev/«dri» --group-add=1\ndocker run --device /dev/«accel» -p 9000:9000\ndocker run --device=/dev/«dxg»\n"),
    ("onnxruntime", "the values of the OpenVINO provider", "| [**device_type**](#device_type) | string | «CPU», «NPU», «GPU», «GPU.0», «GPU.1», «HETERO», «MULTI», «AUTO» | string | a |\n"),
    ("onnxruntime", "the name VitisAIExecutionProvider", '    providers=["«VitisAIExecutionProvider»"],\n'),
    ("onnxruntime", "Ryzen AI Software 1.8 for Linux", "     - Ubuntu «24.04» LTS\n- Download the package `ryzen_ai-«1.8».0.tgz` from\n"),
    ("go2rtc", "on arm64, only v4l2m2m", "\t\t\tif run(bin, Probe«V4L2M2M»H264) {\n\t\t\t\treturn EngineV4L2M2M\n\t\t\tif run(bin, Probe«RKMPP»H264) {\n\t\tif run(bin, ProbeCUDAH264) {\n"),
    ("immich", "NVENC and QSV are preferred to VA-API", "- VAAPI («AMD» / «NVIDIA» / «Intel»)\n- «WSL2» does not support Quick Sync.\n- While you can use VAAPI with «NVIDIA» and «Intel» devices, prefer the more specific APIs since\n"),
    ("immich", "the service vaapi-wsl", "              capabilities:\n                - «gpu»\n                - «compute»\n                - «video»\n      - LIBVA_DRIVER_NAME=«d3d12»\n"),
    ("immich", "the version of Jellyfin's FFmpeg", '{"name": "ffmpeg", "version": "«7.1.2-4»"}'),
    ("immich", "Jellyfin's FFmpeg 7 needs", "**In Jellyfin 10.11 the minimum required NVIDIA driver version is «520.56.06»**.\n"),
    ("immich", "NVENC always uses device 0", "    return ['-init_hw_device cuda=«cuda:0»', '-filter_hw_device cuda'];\\n"),
    ("immich", "rkmpp on Rockchip boards", "      case TranscodeHWAccel.VAAPI: {\n      case TranscodeHWAccel.«RKMPP»: {\n"),
    ("obs", "OBS needs version 12", "find_package(FFnvcodec «12» REQUIRED)\n"),
    ("obs", "version 12.0 of NVENC needs", "Minimum required driver versions:\nLinux: «520.56.06» or newer\nWindows: 522.25 or newer\n"),
    ("handbrake", "HandBrake 1.11.2 is built", "NVENC.FETCH.url = https://example.org/contribs2/nv-codec-headers-«13.0».19.0.tar.gz\n"),
    ("handbrake", "version 13.0 of NVENC needs", "Minimum required driver versions:\nLinux: «570.0» or newer\nWindows: 570.0 or newer\n"),
    ("handbrake", "a build contains the encoders for VA-API", "grp.add_argument( '--enable-vaapi', dest=\"enable_vaapi\", default=«False», action='store_true' )\n"),
    ("handbrake", "the encoders for AMD GPUs", '{ "«vce_av1»" }, { "vce_av1_10bit" }, { "«vce_h264»" }, { "«vce_h265»" }\n'),
    ("mpv", "drm, which uses", '    {"vdpau", 1},\n    {"«drm»", 3},\n    {"drm-copy", 3},\n'),
]
