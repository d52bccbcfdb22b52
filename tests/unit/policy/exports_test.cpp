// SPDX-License-Identifier: Apache-2.0
#include "policy/exports.h"

#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace exports_test {

using namespace testing_variants;

std::map<std::string, std::string> map_of(const Settings& variables) {
    return {variables.begin(), variables.end()};
}

// Tests conda and wheels as golden.json does. G08 has a GTX 1080 Ti and an H100; G28 has no driver.
TEST(CondaVariables, GiveTheLowestCapability) {
    EXPECT_EQ(map_of(conda_variables(machine("G08"), rules())),
              (std::map<std::string, std::string>{{"CONDA_OVERRIDE_CUDA", "13.0"},
                                                  {"CONDA_OVERRIDE_CUDA_ARCH", "6.1"},
                                                  {"CONDA_OVERRIDE_AMDGPU", ""},
                                                  {"CONDA_OVERRIDE_AMDGPU_ARCH", ""},
                                                  {"CONDA_OVERRIDE_GLIBC", "2.39"},
                                                  {"CONDA_OVERRIDE_ARCHSPEC", "x86_64_v3"}}));
}

TEST(CondaVariables, SayThatThereIsNoCuda) {
    const auto variables = map_of(conda_variables(machine("G28"), rules()));
    EXPECT_EQ(variables.at("CONDA_OVERRIDE_CUDA"), "");
    EXPECT_EQ(variables.at("CONDA_OVERRIDE_CUDA_ARCH"), "");
}

Gpu radeon(const char* target, std::optional<std::uint64_t> compute_units, bool has_kfd = true) {
    Gpu gpu{.id = target, .vendor = "amd"};
    gpu.driver.name = "amdgpu";
    gpu.architecture.gfx_target = target;
    if (has_kfd)
        gpu.identity.kfd_node = 1;
    if (compute_units)
        gpu.apis["drm"].device = Value{Value::Object{{"compute_units", Value{*compute_units}}}};
    return gpu;
}

std::string amd_of(std::vector<Gpu> gpus) {
    const Report report{.gpus = std::move(gpus)};
    const auto variables = map_of(conda_variables(report, rules()));
    return variables.at("CONDA_OVERRIDE_AMDGPU") + " " + variables.at("CONDA_OVERRIDE_AMDGPU_ARCH");
}

TEST(CondaVariables, GiveTheArchitectureOfTheBiggestRadeon) {
    EXPECT_EQ(amd_of({radeon("gfx90a", 104)}), "0 9.0.10");
    EXPECT_EQ(amd_of({radeon("gfx1100", 96), radeon("gfx1201", 2)}), "0 11.0.0");
    EXPECT_EQ(amd_of({radeon("gfx1036", 2), radeon("gfx1030", 2)}), "0 10.3.6");
    EXPECT_EQ(amd_of({radeon("gfx1100", std::nullopt), radeon("gfx906", 60)}), "0 9.0.6");
    EXPECT_EQ(amd_of({radeon("gfx1100", 96, false)}), "0 ");
    for (const auto* target : {"gfx9-generic", "gfx", "gfx1", "gfx11X0", ""})
        EXPECT_EQ(amd_of({radeon(target, 1)}), "0 ") << target;
    auto absent = radeon("gfx1100", 96, false);
    absent.apis["hip"] = {.outcome = Outcome::Absent};
    EXPECT_EQ(amd_of({absent}), "0 ") << "ROCm was asked, and does not list it";
    absent.apis["hip"] = {.outcome = Outcome::Answered,
                          .device = Value{Value::Object{{"index", 0}}}};
    EXPECT_EQ(amd_of({absent}), "0 11.0.0");
    auto display = radeon("gfx1100", 96);
    display.driver.name = "vfio-pci";
    EXPECT_EQ(amd_of({display}), " ");
}

TEST(WheelVariables, GiveTheHighestCapability) {
    EXPECT_EQ(map_of(wheel_variables(machine("G08"), rules())),
              (std::map<std::string, std::string>{
                  {"NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "13.0"},
                  {"NV_VARIANT_PROVIDER_FORCE_SM_ARCH", "9.0"}}));
}

TEST(WheelVariables, AreOfTheVendorsThatCanBeUsed) {
    EXPECT_EQ(
        map_of(wheel_variables(machine("G09"), rules())),
        (std::map<std::string, std::string>{{"AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", "gfx1100"},
                                            {"AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION", "7.2.0"}}));
    EXPECT_EQ(
        map_of(wheel_variables(machine("G12"), rules())),
        (std::map<std::string, std::string>{{"INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP", "20.1"}}));
    EXPECT_TRUE(wheel_variables(machine("G25"), rules()).empty());
}

TEST(UvVariables, GiveTheDriverAndTheIndex) {
    const auto answer = recommend(sample("torch-2.13"), {}, machine("G05"), rules());
    EXPECT_EQ(map_of(uv_variables(machine("G05"), rules(), &answer)),
              (std::map<std::string, std::string>{{"UV_TORCH_BACKEND", "cu126"},
                                                  {"UV_CUDA_DRIVER_VERSION", "580.65.06"}}));
    const auto other = recommend(sample("ollama"), {}, machine("G09"), rules());
    EXPECT_EQ(map_of(uv_variables(machine("G09"), rules(), &other)),
              (std::map<std::string, std::string>{{"UV_AMD_GPU_ARCHITECTURE", "gfx1100"}}));
    EXPECT_TRUE(uv_variables(machine("G25"), rules(), nullptr).empty());
}

TEST(UvVariables, AreAnIndexWhereUvHasNoWordForIt) {
    auto answer = recommend(sample("torch-2.13"), {}, machine("G05"), rules());
    answer.artifact["urls"] = to_value(std::vector<std::string>{"https://example.org/cu126"});
    EXPECT_EQ(map_of(uv_variables(machine("G05"), rules(), &answer)).at("UV_INDEX"),
              "https://example.org/cu126");
    answer.variant = "rocm7.14";
    answer.artifact["urls"] =
        to_value(std::vector<std::string>{"https://download.pytorch.org/whl/rocm7.14"});
    EXPECT_EQ(map_of(uv_variables(machine("G05"), rules(), &answer)).at("UV_INDEX"),
              "https://download.pytorch.org/whl/rocm7.14");
}

struct Row {
    const char* name;
    const char* machine;
    const char* backend;
    std::vector<std::string> wanted;
};
class GgmlOptions : public ::testing::TestWithParam<Row> {};

TEST_P(GgmlOptions, BuildForTheGpusThatThereAre) {
    const auto& row = GetParam();
    EXPECT_EQ(ggml_options(machine(row.machine), row.backend, {}), row.wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    GgmlOptions,
    ::testing::Values(
        Row{"Cuda", "G08", "cuda", {"-DGGML_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=61;90"}},
        Row{"CudaWithUnknownCapability", "G30", "cuda", {"-DGGML_CUDA=ON"}},
        Row{"Rocm", "G09", "rocm", {"-DGGML_HIP=ON", "-DAMDGPU_TARGETS=gfx1100"}},
        Row{"Sycl", "G12", "sycl", {"-DGGML_SYCL=ON"}},
        Row{"Vulkan", "G09", "vulkan", {"-DGGML_VULKAN=ON"}},
        Row{"Cpu", "G09", "cpu", {}}),
    support::case_name);

TEST(GgmlVariables, AreOfTheChosenGpusOnly) {
    EXPECT_EQ(map_of(ggml_variables(machine("G08"), "cuda", {"pci:02"})),
              (std::map<std::string, std::string>{{"GGML_CUDA", "1"},
                                                  {"CMAKE_CUDA_ARCHITECTURES", "90"}}));
}

using Words = std::vector<std::string>;

/// G33 has an AMD and an NVIDIA GPU.
Report machine_for_containers() {
    auto report = machine("G33");
    report.nodes = {{.path = "/dev/kfd"}};
    for (auto& gpu : report.gpus) {
        const bool is_nvidia = gpu.vendor == "nvidia";
        gpu.driver.name = is_nvidia ? "nvidia" : "amdgpu";
        if (is_nvidia)
            gpu.identity.nvidia_uuid = "GPU-1234";
        else
            gpu.nodes = {{.path = "/dev/dri/card0"}, {.path = "/dev/dri/renderD128"}};
    }
    return report;
}

Gpu& gpu_of(Report& report, std::string_view vendor) {
    return *std::ranges::find_if(report.gpus,
                                 [vendor](const Gpu& gpu) { return gpu.vendor == vendor; });
}

TEST(ContainerArguments, NameNvidiasByCdiAndOthersByTheirNodes) {
    auto report = machine_for_containers();
    EXPECT_EQ(container_arguments(report, {}),
              (Words{"--device=/dev/kfd", "--device=/dev/dri/renderD128",
                     "--device=nvidia.com/gpu=GPU-1234"}));
    gpu_of(report, "nvidia").identity = {};
    EXPECT_EQ(container_arguments(report, {gpu_of(report, "nvidia").id}),
              Words{"--device=nvidia.com/gpu=all"});
    EXPECT_TRUE(container_arguments(machine("G25"), {}).empty());
}

/// NVIDIA's toolkit mounts the driver's Vulkan libraries only if "graphics" is requested, and NVDEC
/// and NVENC only if "video" is requested.
TEST(ContainerArguments, AskForTheLibrariesThatNvidiaLeavesOut) {
    auto report = machine_for_containers();
    const auto nvidia = gpu_of(report, "nvidia").id;
    EXPECT_EQ(container_arguments(report, {nvidia}, "vulkan"),
              (Words{"--device=nvidia.com/gpu=GPU-1234",
                     "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics"}));
    EXPECT_EQ(container_arguments(report, {nvidia}, "cuda"),
              Words{"--device=nvidia.com/gpu=GPU-1234"});
    EXPECT_EQ(container_arguments(report, {nvidia}, kVideo),
              (Words{"--device=nvidia.com/gpu=GPU-1234",
                     "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility,video"}));
    EXPECT_EQ(container_arguments(report, {gpu_of(report, "amd").id}, kVideo),
              container_arguments(report, {gpu_of(report, "amd").id}));
    EXPECT_EQ(container_arguments(report, {gpu_of(report, "amd").id}, "vulkan"),
              container_arguments(report, {gpu_of(report, "amd").id}));
}

TEST(ContainerArguments, NameNoNodeThatIsNotThereOrOfAnotherDriver) {
    auto report = machine_for_containers();
    report.nodes.clear();
    EXPECT_EQ(container_arguments(report, {gpu_of(report, "amd").id}),
              Words{"--device=/dev/dri/renderD128"});
    report = machine_for_containers();
    gpu_of(report, "amd").driver.name = "radeon";
    EXPECT_EQ(container_arguments(report, {gpu_of(report, "amd").id}),
              Words{"--device=/dev/dri/renderD128"});
    gpu_of(report, "amd").driver.name = "vfio-pci";
    gpu_of(report, "amd").nodes.clear();
    EXPECT_EQ(container_arguments(report, {gpu_of(report, "amd").id}), Words{});
}

TEST(ContainerArguments, NameTheNodesOfAChosenAccelerator) {
    auto report = machine_for_containers();
    report.accelerators = {{.id = "pci:0000:00:0b.0", .nodes = {{.path = "/dev/accel/accel0"}}},
                           {.id = "npu:1", .nodes = {{.path = "/dev/accel/accel1"}}}};
    EXPECT_EQ(container_arguments(report, {"pci:0000:00:0b.0"}),
              Words{"--device=/dev/accel/accel0"});
    EXPECT_EQ(
        container_arguments(report, {gpu_of(report, "amd").id, "npu:1"}),
        (Words{"--device=/dev/kfd", "--device=/dev/dri/renderD128", "--device=/dev/accel/accel1"}));
}

/// A Jetson has a different driver, and WSL has none.
TEST(ContainerArguments, NameAllGpusWhereCudaMayWorkWithoutTheDriverForCards) {
    auto report = machine_for_containers();
    auto& gpu = gpu_of(report, "nvidia");
    gpu.backends["cuda"].usable = std::nullopt;
    EXPECT_EQ(container_arguments(report, {gpu.id}), Words{"--device=nvidia.com/gpu=GPU-1234"});
    for (const auto& driver : {std::optional<std::string>{}, std::optional<std::string>{"gk20a"}}) {
        gpu.driver.name = driver;
        EXPECT_EQ(container_arguments(report, {gpu.id}), Words{"--device=nvidia.com/gpu=all"});
    }
    gpu.backends["cuda"].usable = false;
    EXPECT_EQ(container_arguments(report, {gpu.id}), Words{});
}

TEST(ContainerArguments, LeaveOutAGpuInMigModeThatHasNoInstance) {
    auto report = machine_for_containers();
    auto& gpu = gpu_of(report, "nvidia");
    for (const auto& reason :
         {because("mig-without-instance"), because("mig-without-compute-instance")}) {
        gpu.backends["cuda"] = {.usable = false, .reasons = {reason}};
        EXPECT_EQ(container_arguments(report, {gpu.id}), Words{}) << reason.code;
    }
}

/// An answer with this artifact.
Recommendation answer_with(const char* artifact) {
    return {.variant = "v", .artifact = *parse_json(artifact, kib(1))};
}

using Words = std::vector<std::string>;

TEST(PipArguments, NameThePackageAndItsIndexes) {
    EXPECT_EQ(pip_arguments(answer_with(
                  R"({"type":"index","ref":"torch[device-gfx1151]","urls":["https://a.org/x"]})")),
              (Words{"torch[device-gfx1151]", "--index-url", "https://a.org/x"}));
    EXPECT_EQ(
        pip_arguments(answer_with(
            R"({"type":"index","ref":"a b==1+cu129","urls":["https://a.org","https://b.org","https://c.org"]})")),
        (Words{"a", "b==1+cu129", "--extra-index-url", "https://a.org", "--extra-index-url",
               "https://b.org", "--index-url", "https://c.org"}));
    EXPECT_EQ(pip_arguments(answer_with(R"({"type":"wheel","ref":"jax[cuda13]~=0.11.1"})")),
              (Words{"jax[cuda13]~=0.11.1"}));
    // The URLs of a wheel are not indexes.
    EXPECT_EQ(
        pip_arguments(answer_with(R"({"type":"wheel","ref":"a","urls":["https://a.org/a.whl"]})")),
        (Words{"a"}));
}

TEST(PipArguments, NameAWheelWithItsHash) {
    const std::string hash(64, 'a');
    const auto file = [&](const char* url) {
        return pip_arguments(answer_with(
            (R"({"type":"file","urls":[")" + std::string{url} + R"("],"sha256":")" + hash + "\"}")
                .c_str()));
    };
    EXPECT_EQ(file("https://a.org/a-1-cp312-cp312-linux_x86_64.whl"),
              (Words{"https://a.org/a-1-cp312-cp312-linux_x86_64.whl#sha256=" + hash}));
    EXPECT_TRUE(file("https://a.org/a-1.tar.gz").empty());
}

TEST(PipArguments, AreEmptyIfPipCannotInstallTheVariant) {
    for (const auto* artifact :
         {R"({"type":"oci","ref":"a.org/b:1"})", R"({"type":"package","ref":"llama-*.tar.gz"})",
          R"({"type":"dir","ref":"lib/a"})", R"({"type":"index"})", R"({"type":"wheel"})", "{}"})
        EXPECT_TRUE(pip_arguments(answer_with(artifact)).empty()) << artifact;
}

std::map<std::string, std::string> uv_of(const char* artifact) {
    const auto answer = answer_with(artifact);
    return map_of(uv_variables(machine("G25"), rules(), &answer));
}

TEST(UvVariables, GiveAWordOnlyIfUvKnowsIt) {
    using Map = std::map<std::string, std::string>;
    EXPECT_EQ(uv_of(R"({"type":"index","urls":["https://download.pytorch.org/whl/rocm7.2/"]})"),
              (Map{{"UV_TORCH_BACKEND", "rocm7.2"}}));
    EXPECT_EQ(uv_of(R"({"type":"index","urls":["https://download.pytorch.org/whl/rocm7.14"]})"),
              (Map{{"UV_INDEX", "https://download.pytorch.org/whl/rocm7.14"}}));
    EXPECT_EQ(
        uv_of(
            R"({"type":"index","urls":["https://a.org/1","https://download.pytorch.org/whl/cu129","https://pypi.org/simple"]})"),
        (Map{{"UV_INDEX", "https://a.org/1"}, {"UV_TORCH_BACKEND", "cu129"}}));
    EXPECT_EQ(uv_of(R"({"type":"index","urls":["https://a.org/cu130/","https://b.org"]})"),
              (Map{{"UV_INDEX", "https://a.org/cu130/ https://b.org"}}));
    EXPECT_TRUE(uv_of(R"({"type":"wheel","ref":"jax[cuda13]"})").empty());
}

/// A version of uv that does not know the value of UV_TORCH_BACKEND reports an error.
TEST(UvVariables, NeedTheUvThatKnowsTheWord) {
    using Floor = std::pair<Settings, const char*>;
    for (const auto& [variables, oldest] :
         {Floor{{{"UV_TORCH_BACKEND", "cpu"}}, "0.7.14"},
          Floor{{{"UV_TORCH_BACKEND", "cu130"}}, "0.9.4"},
          Floor{{{"UV_TORCH_BACKEND", "cu130"}, {"UV_INDEX", "https://a.org"}}, "0.9.4"},
          Floor{{{"UV_INDEX", "https://a.org"}}, "0.4.23"},
          Floor{{{"UV_CUDA_DRIVER_VERSION", "580"}}, ""}, Floor{{}, ""}})
        EXPECT_EQ(oldest_uv(variables, rules()), oldest);
}

TEST(UvVariables, ContainNoNamesOrExtrasOfPackages) {
    const auto fits = [](const char* artifact) {
        auto answer = answer_with(artifact);
        answer.application = "Flash_Attn";
        return fits_uv_variables(answer);
    };
    EXPECT_TRUE(fits(R"({"type":"wheel","ref":"flash-attn"})"));
    EXPECT_TRUE(fits(R"({"type":"index","ref":"flash.attn==2+cu129","urls":["https://a.org"]})"));
    EXPECT_TRUE(fits(R"({"type":"index","ref":"torch torchvision","urls":["https://a.org"]})"));
    EXPECT_TRUE(fits(R"({"type":"index","urls":["https://a.org"]})"));
    EXPECT_FALSE(fits(R"({"type":"wheel","ref":"flash-attn[cuda13]"})"));
    EXPECT_FALSE(fits(R"({"type":"wheel","ref":"flash-attn~=2.0"})"));
    EXPECT_FALSE(fits(R"({"type":"wheel","ref":"flash-attn-gpu"})"));
    EXPECT_FALSE(fits(R"({"type":"index","ref":"flash-attn[a]","urls":["https://a.org"]})"));
    EXPECT_FALSE(fits(R"({"type":"index","ref":"amd-flash-attn","urls":["https://a.org"]})"));
    EXPECT_FALSE(fits(R"({"type":"file","urls":["https://a.org/a.whl"]})"));
}

TEST(UvArguments, NameTheIndexesAsTheVariablesDo) {
    EXPECT_EQ(
        uv_arguments(
            answer_with(
                R"({"type":"index","ref":"a b==1","urls":["https://a.org","https://download.pytorch.org/whl/cu129","https://pypi.org/simple"]})"),
            rules()),
        (Words{"a", "b==1", "--torch-backend=cu129", "--index=https://a.org"}));
    EXPECT_EQ(uv_arguments(answer_with(R"({"type":"wheel","ref":"jax[cuda13]"})"), rules()),
              Words{"jax[cuda13]"});
    EXPECT_TRUE(uv_arguments(answer_with(R"({"type":"oci","ref":"a.org/b:1"})"), rules()).empty());
}

TEST(PipArguments, AreThoseOfAnIndex) {
    EXPECT_EQ(pip_arguments(recommend(sample("torch-2.13"), {}, machine("G02"), rules())),
              (std::vector<std::string>{"--index-url", "https://download.pytorch.org/whl/cu130"}));
    EXPECT_TRUE(pip_arguments(recommend(sample("ollama"), {}, machine("G02"), rules())).empty());
}

}  // namespace exports_test
}  // namespace gpuprobe
