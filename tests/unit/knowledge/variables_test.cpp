// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "knowledge/selectors.h"

namespace gpuprobe::knowledge {
namespace variables_test {

TEST(DataFileVariables, MayChooseGpus) {
    for (const auto* name : {"CUDA_VISIBLE_DEVICES",
                             "CUDA_DEVICE_ORDER",
                             "HIP_VISIBLE_DEVICES",
                             "ROCR_VISIBLE_DEVICES",
                             "HSA_OVERRIDE_GFX_VERSION",
                             "ZE_AFFINITY_MASK",
                             "ZE_FLAT_DEVICE_HIERARCHY",
                             "ONEAPI_DEVICE_SELECTOR",
                             "MESA_VK_DEVICE_SELECT",
                             "MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE",
                             "VK_LOADER_DEVICE_ID_FILTER",
                             "DRI_PRIME",
                             "NODEVICE_SELECT",
                             "GPU_DEVICE_ORDINAL",
                             "NVIDIA_VISIBLE_DEVICES",
                             "VK_DRIVER_FILES",
                             "VK_ICD_FILENAMES",
                             "OCL_ICD_FILENAMES",
                             "OCL_ICD_VENDORS",
                             "__GLX_VENDOR_LIBRARY_NAME",
                             "__NV_PRIME_RENDER_OFFLOAD",
                             "GGML_VK_VISIBLE_DEVICES",
                             "GGML_OPENCL_DEVICE",
                             "GGML_CUDA",
                             "OLLAMA_VULKAN",
                             "JAX_PLATFORMS",
                             "WGPU_BACKEND",
                             "SKIP_VULKAN"})
        EXPECT_EQ(variable_problem(name, ""), std::nullopt) << name;
}

TEST(DataFileVariables, MustNotChangeTheCodeThatAProgramRuns) {
    for (const auto* name :
         {// variables of the loader, shells and interpreters
          "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PATH", "BASH_ENV", "ENV", "SHELLOPTS",
          "BASHOPTS", "PS4", "IFS", "PROMPT_COMMAND", "CDPATH", "PYTHONPATH", "PYTHONSTARTUP",
          "PYTHONHOME", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT", "RUBYOPT", "RUBYLIB",
          "JAVA_TOOL_OPTIONS", "CLASSPATH", "LUA_INIT", "DYLD_INSERT_LIBRARIES", "MY_PRELOAD",
          // variables of the C library, toolkits and desktops
          "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "GIT_SSH_COMMAND", "GTK_MODULES",
          "QT_PLUGIN_PATH", "TMPDIR", "HOME", "USER", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "EDITOR",
          "PAGER", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "HTTP_PROXY",
          "https_proxy", "PIP_INDEX_URL", "UV_INDEX",
          // variables of drivers and runtimes that begin like allowed variables
          "VK_ADD_LAYER_PATH", "VK_LAYER_PATH", "VK_INSTANCE_LAYERS", "VK_ADD_DRIVER_FILES",
          "VK_LOADER_LAYERS_ENABLE", "OPENCL_VENDOR_PATH", "LIBGL_DRIVERS_PATH",
          "GBM_BACKENDS_PATH", "__EGL_VENDOR_LIBRARY_FILENAMES", "MESA_LOADER_DRIVER_OVERRIDE",
          "CUDA_INJECTION64_PATH", "CUDA_PATH", "CUDA_CACHE_PATH", "NVIDIA_DRIVER_CAPABILITIES",
          "ROCM_PATH", "HIP_PATH", "HSA_TOOLS_LIB", "ZE_ENABLE_ALT_DRIVERS", "GGML_BACKEND_PATH",
          "LLAMA_ARG_MODEL", "LLAMA_CACHE", "OLLAMA_HOST", "OLLAMA_MODELS", "OLLAMA_LLM_LIBRARY",
          "TORCH_EXTENSIONS_DIR", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "XLA_FLAGS", "TF_XLA_FLAGS",
          "ORT_DYLIB_PATH", "VLLM_PLUGINS", "JAX_COMPILATION_CACHE_DIR", "CUPY_CACHE_DIR",
          // names that are only similar to allowed names
          "", "_", "GGML_", "GGML__CUDA", "GGML", "CUDA_VISIBLE_DEVICES2", "cuda_visible_devices",
          " CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES "})
        for (const auto* owner : {"", "example", "ld", "python", "bash", "vk", "git", "uv", "xdg"})
            EXPECT_NE(variable_problem(name, owner), std::nullopt) << name << " of " << owner;
}

TEST(DataFileVariables, BeginWithTheNameOfTheirApplication) {
    EXPECT_EQ(variable_problem("EXAMPLE_GPU", "example"), std::nullopt);
    EXPECT_EQ(variable_problem("EXAMPLE_GPU_0", "example"), std::nullopt);
    EXPECT_EQ(variable_problem("STABLE_DIFFUSION_CPP_DEVICE", "stable-diffusion.cpp"),
              std::nullopt);
    EXPECT_EQ(variable_problem("EXAMPLE_GPU", "other"),
              "a data file must not name this variable; only variables that choose GPUs are "
              "allowed, such as OTHER_GPU");
    EXPECT_EQ(variable_problem("EXAMPLE_GPU", ""), "a data file must not name this variable");
    EXPECT_NE(variable_problem("EXAMPLE_GPU_PATH", "example"), std::nullopt);
    EXPECT_NE(variable_problem("_GPU", "."), std::nullopt);
    EXPECT_NE(variable_problem("7Z_GPU", "7z"), std::nullopt);
}

TEST(DataFileVariables, LoadOnlyFilesThatWereFoundHere) {
    EXPECT_EQ(value_problem("VK_DRIVER_FILES", "{vulkan_manifests}"), std::nullopt);
    EXPECT_EQ(value_problem("VK_ICD_FILENAMES", "{vulkan_own_manifest}"), std::nullopt);
    EXPECT_EQ(value_problem("OCL_ICD_VENDORS", "{opencl_vendor}"), std::nullopt);
    EXPECT_EQ(value_problem("__GLX_VENDOR_LIBRARY_NAME", "{glx_offload}"), std::nullopt);
    EXPECT_EQ(value_problem("LIBVA_DRIVER_NAME", "{va_driver_name}"), std::nullopt);
    EXPECT_NE(value_problem("LIBVA_DRIVER_NAME", "iHD"), std::nullopt);
    EXPECT_NE(value_problem("LIBVA_DRIVER_NAME", "../../tmp/evil"), std::nullopt);
    EXPECT_EQ(value_problem("CUDA_VISIBLE_DEVICES", "0"), std::nullopt);
    for (const auto* name :
         {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"}) {
        EXPECT_EQ(value_problem(name, "/nonexistent"), std::nullopt);
        for (const auto* text : {"", "/tmp/evil.json", "{vulkan_manifests}:/tmp/evil.json",
                                 "/tmp/{vulkan_manifests}", "{=path}", "{opencl_platform}",
                                 "{mesa_device}", "evil", "/nonexistent:/tmp", "{glx_offload}"})
            EXPECT_NE(value_problem(name, text), std::nullopt) << name << "=" << text;
    }
    EXPECT_NE(value_problem("OCL_ICD_VENDORS", "{vulkan_manifests}"), std::nullopt);
    EXPECT_EQ(value_problem("OCL_ICD_FILENAMES", "{opencl_vendor}"),
              "this variable loads files: its value must be /nonexistent");
    EXPECT_NE(value_problem("__GLX_VENDOR_LIBRARY_NAME", "../../tmp/evil"), std::nullopt);
    EXPECT_EQ(value_problem("VK_DRIVER_FILES", "/tmp/evil.json"),
              "this variable loads files: its value must be {vulkan_manifests} or "
              "{vulkan_own_manifest} or /nonexistent");
}

}  // namespace variables_test
}  // namespace gpuprobe::knowledge
