// SPDX-License-Identifier: Apache-2.0
#include "policy/exports.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "policy/fact.h"
#include "report/fact_key.h"

namespace gpuprobe::inline policy {
namespace {

/// The GPUs on which an API is usable.
std::vector<const Facts*> usable_by(const MachineFacts& machine, Api api) {
    std::vector<const Facts*> gpus;
    for (const auto& gpu : machine.gpus)
        if (gpu.usable(api) == true)
            gpus.push_back(&gpu);
    return gpus;
}

/// The distinct compute capabilities of the GPUs.
std::set<ComputeCapability> capabilities(const std::vector<const Facts*>& gpus) {
    std::set<ComputeCapability> all;
    for (const auto* gpu : gpus)
        if (const auto& known = gpu->version(FactId::ComputeCapability).value)
            all.insert(capability_of(*known));
    return all;
}

/// "13.0": CUDA versions without the patch number.
std::string major_minor(const Version& version) {
    return std::to_string(version.parts[0]) + "." + std::to_string(version.parts[1]);
}

/// The GPUs with these ids; all GPUs if the list is empty.
std::vector<const Gpu*> gpus_named(const Report& report, const std::vector<std::string>& ids) {
    std::vector<const Gpu*> gpus;
    for (const auto& gpu : report.gpus)
        if (ids.empty() || std::ranges::find(ids, gpu.id) != ids.end())
            gpus.push_back(&gpu);
    return gpus;
}

/// The compute capabilities in CMake's form, such as "86;89".
std::string cuda_architectures(const std::vector<const Gpu*>& gpus) {
    std::set<std::string> all;
    for (const auto* gpu : gpus)
        if (const auto& text = gpu->architecture.cuda_compute_capability)
            if (const auto capability = parse_text(*text, std::type_identity<ComputeCapability>{}))
                all.insert(std::to_string(capability->major) + std::to_string(capability->minor));
    return joined(all, ";");
}

/// AMD's targets in CMake's form, such as "gfx1100;gfx90a".
std::string gfx_targets(const std::vector<const Gpu*>& gpus) {
    std::set<std::string> all;
    for (const auto* gpu : gpus)
        if (const auto& target = gpu->architecture.gfx_target)
            if (parse_text(*target, std::type_identity<GfxTarget>{}))
                all.insert(*target);
    return joined(all, ";");
}

/// The settings with which ggml is built; `on` is the value that enables an option.
Settings ggml_settings(const Report& report,
                       const std::string& backend,
                       const std::vector<std::string>& ids,
                       const char* on) {
    const auto* api = find_api_of_backend(backend);
    if (!api || api->ggml_option.empty())
        return {};
    Settings settings{{std::string{api->ggml_option}, on}};
    const auto gpus = gpus_named(report, ids);
    const auto cuda = backend == "cuda" ? cuda_architectures(gpus) : std::string{};
    const auto gfx = backend == "rocm" ? gfx_targets(gpus) : std::string{};
    if (!cuda.empty())
        settings.emplace_back("CMAKE_CUDA_ARCHITECTURES", cuda);
    if (!gfx.empty())
        settings.emplace_back("AMDGPU_TARGETS", gfx);
    return settings;
}

/// The strings in a list; empty if the value isn't a list.
std::vector<std::string> texts_in(const Value& value) {
    std::vector<std::string> texts;
    if (const auto* items = value.as_array())
        for (const auto& item : *items)
            if (const auto* text = item.as_string())
                texts.push_back(*text);
    return texts;
}

/// The URL without a slash at the end.
std::string_view without_slash(std::string_view url) {
    return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
}

/// Adds the artifact's package indexes. uv has keywords for PyTorch's indexes; if a keyword is
/// used, uv takes only PyTorch's own packages from the index. uv refuses unknown keywords, so an
/// index without a supported keyword is added as a URL. PyPI is uv's default.
void add_indexes(const Value& artifact, const Rules& rules, Settings& variables) {
    constexpr std::string_view kTorch = "https://download.pytorch.org/whl/";
    constexpr std::string_view kPypi = "https://pypi.org/simple";
    if (artifact.at("type") != Value{"index"})
        return;
    std::vector<std::string> others;
    for (const auto& url : texts_in(artifact.at("urls"))) {
        const auto plain = without_slash(url);
        const auto word = plain.starts_with(kTorch) ? plain.substr(kTorch.size()) : "";
        if (rules.uv_with_torch_backend(word))
            variables.emplace_back("UV_TORCH_BACKEND", word);
        else if (plain != kPypi)
            others.push_back(url);
    }
    if (!others.empty())
        variables.emplace_back("UV_INDEX", joined(others, " "));
}

/// The requirements of a Python artifact.
std::vector<std::string> requirements_of(const Value& artifact) {
    std::vector<std::string> requirements;
    if (const auto* text = artifact.at("ref").as_string())
        for (const auto word : split(*text, ' '))
            requirements.emplace_back(word);
    return requirements;
}

/// The package name in a requirement, in the form in which names are compared: lower case, with one
/// hyphen between the words. Source: PyPA, "Names and normalization".
std::string project_in(std::string_view requirement) {
    std::string name;
    for (const char letter :
         lower_case(requirement.substr(0, requirement.find_first_of("[=<>~!;@")))) {
        const bool is_separator = std::string_view{"-_."}.find(letter) != std::string_view::npos;
        if (!is_separator)
            name += letter;
        else if (!name.ends_with('-'))
            name += '-';
    }
    return name;
}

/// The gfx target without its features, such as "gfx90a".
std::optional<std::string> processor_of(const Facts& gpu) {
    const auto& target = gpu.get<std::string>(FactId::GfxTarget).value;
    return target ? std::optional{target->substr(0, target->find(':'))} : std::nullopt;
}

/// The newest CUDA version that the driver of the first GPU supports.
std::optional<Version> cuda_of(const std::vector<const Facts*>& gpus) {
    return gpus.empty() ? std::nullopt : gpus.front()->version(FactId::Cuda).value;
}

/// The numbers in a gfx target, such as {11, 0, 1} for "gfx1101"; the last two digits are
/// hexadecimal. Source: LLVM, AMDGPUUsage.
std::optional<std::array<unsigned, 3>> isa_of(std::string_view target) {
    constexpr std::string_view kLead = "gfx";
    if (!target.starts_with(kLead) || target.size() < kLead.size() + 3)
        return std::nullopt;
    const auto digits = target.substr(kLead.size());
    const auto major = parse_number<unsigned>(digits.substr(0, digits.size() - 2));
    const auto minor = parse_number<unsigned>(digits.substr(digits.size() - 2, 1), 16);
    const auto stepping = parse_number<unsigned>(digits.substr(digits.size() - 1), 16);
    if (!major || !minor || !stepping)
        return std::nullopt;
    return std::array{*major, *minor, *stepping};
}

/// The number of a GPU's compute units that HIP or DRM reports.
std::optional<std::uint64_t> compute_units_of(const Gpu& gpu) {
    for (const auto* api : {"hip", "drm"})
        if (const auto view = gpu.apis.find(api); view != gpu.apis.end())
            if (const auto count = fact_in<std::uint64_t>(view->second.device, "compute_units"))
                return count;
    return std::nullopt;
}

/// Whether ROCm lists the GPU, or the kernel driver exposes the GPU to ROCm.
bool is_shown_to_rocm(const Gpu& gpu) {
    const auto hip = gpu.apis.find("hip");
    return gpu.identity.kfd_node || (hip != gpu.apis.end() && !hip->second.device.is_null());
}

/// Adds conda's variables for AMD. Only GPUs that are visible to ROCm determine the architecture.
void add_conda_amd(const Report& report, Settings& variables) {
    bool is_present = false;
    std::optional<std::pair<std::optional<std::uint64_t>, std::array<unsigned, 3>>> best;
    for (const auto& gpu : report.gpus) {
        if (gpu.vendor != "amd" || gpu.driver.name != "amdgpu")
            continue;
        is_present = true;
        const auto isa = isa_of(gpu.architecture.gfx_target.value_or(""));
        // Pairs are compared by their compute units; the ISA matters only if the numbers are equal.
        if (isa && is_shown_to_rocm(gpu))
            best = std::max(best, std::optional{std::pair{compute_units_of(gpu), *isa}});
    }
    std::string arch;
    if (best)
        for (const auto part : best->second)
            arch += (arch.empty() ? "" : ".") + std::to_string(part);
    variables.emplace_back("CONDA_OVERRIDE_AMDGPU", is_present ? "0" : "");
    variables.emplace_back("CONDA_OVERRIDE_AMDGPU_ARCH", arch);
}

/// Adds the variables of the Intel provider.
void add_intel(const MachineFacts& machine, Settings& variables) {
    std::set<std::string> ips;
    for (const auto* gpu : usable_by(machine, *row_of(FactId::IntelIp).api))
        if (const auto& ip = gpu->version(FactId::IntelIp).value)
            ips.insert(text_of(*ip));
    if (!ips.empty())
        variables.emplace_back("INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP", joined(ips, ","));
}

/// Adds the variables of the AMD provider.
void add_amd(const MachineFacts& machine, Settings& variables) {
    std::set<std::string> targets;
    std::optional<Version> rocm;
    for (const auto* gpu : usable_by(machine, Api::Hip)) {
        if (const auto processor = processor_of(*gpu))
            targets.insert(*processor);
        rocm = gpu->version(FactId::Rocm).value;
    }
    if (!targets.empty())
        variables.emplace_back("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", joined(targets, ","));
    if (rocm)
        variables.emplace_back("AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION",
                               major_minor(*rocm) + "." + std::to_string(rocm->parts[2]));
}

/// Adds a device as an argument that both docker and podman accept, unless the argument is already
/// in the list.
void add_node(const std::string& path, std::vector<std::string>& arguments) {
    const auto argument = "--device=" + path;
    if (std::ranges::find(arguments, argument) == arguments.end())
        arguments.push_back(argument);
}

/// Adds a GPU under its name in CDI. NVIDIA's toolkit has a name for each GPU of the regular
/// driver; on WSL and Jetson, it has only one name for all GPUs.
void add_nvidia(const Gpu& gpu, std::vector<std::string>& arguments) {
    if (gpu.identity.nvidia_uuid && gpu.driver.name == "nvidia")
        return arguments.push_back("--device=nvidia.com/gpu=" + *gpu.identity.nvidia_uuid);
    add_node("nvidia.com/gpu=all", arguments);
}

/// Whether NVIDIA's toolkit has a CDI name for this GPU.
bool is_named_by_nvidia(const Gpu& gpu) {
    const auto cuda = gpu.backends.find("cuda");
    const bool may_work = cuda != gpu.backends.end() && cuda->second.usable != false;
    return gpu.vendor == "nvidia" && (gpu.driver.name == "nvidia" || may_work);
}

/// Whether the GPU is in MIG mode but has no instance, so that programs can't use the GPU.
bool lacks_instances(const Gpu& gpu) {
    return std::ranges::any_of(gpu.backends, [](const auto& entry) {
        return has_reason(entry.second.reasons, "mig-without-instance") ||
               has_reason(entry.second.reasons, "mig-without-compute-instance");
    });
}

/// Adds the render nodes of the GPU, and also ROCm's node if this node exists and the GPU uses it.
void add_nodes(const Gpu& gpu, const Report& report, std::vector<std::string>& arguments) {
    constexpr const char* kKfd = "/dev/kfd";
    const bool has_kfd =
        std::ranges::find(report.nodes, kKfd, &DeviceNode::path) != report.nodes.end();
    if (has_kfd && gpu.driver.name == "amdgpu")
        add_node(kKfd, arguments);
    for (const auto& node : gpu.nodes)
        if (node.path.starts_with("/dev/dri/renderD"))
            add_node(node.path, arguments);
}

}  // namespace

Settings conda_variables(const Report& report, const Rules& rules) {
    const auto machine = machine_facts(report, rules);
    const auto gpus = usable_by(machine, Api::Cuda);
    const auto found = capabilities(gpus);
    const auto cuda = cuda_of(gpus);
    const auto& glibc = machine.host.version(FactId::Glibc).value;
    const auto& level = machine.host.version(FactId::CpuLevel).value;
    Settings variables{{"CONDA_OVERRIDE_CUDA", cuda ? major_minor(*cuda) : ""},
                       // Use the lowest compute capability, so that a package runs on every GPU.
                       {"CONDA_OVERRIDE_CUDA_ARCH", found.empty() ? "" : text_of(*found.begin())}};
    add_conda_amd(report, variables);
    if (glibc)
        variables.emplace_back("CONDA_OVERRIDE_GLIBC", text_of(*glibc));
    if (level && report.host.arch == "x86_64")
        variables.emplace_back(
            "CONDA_OVERRIDE_ARCHSPEC",
            level->major() == 1 ? "x86_64" : "x86_64_v" + std::to_string(level->major()));
    return variables;
}

Settings uv_variables(const Report& report, const Rules& rules, const Recommendation* answer) {
    const auto machine = machine_facts(report, rules);
    Settings variables;
    if (answer)
        add_indexes(answer->artifact, rules, variables);
    for (const auto* gpu : usable_by(machine, Api::Cuda)) {
        const auto& version = gpu->gpu()->driver.version;
        if (gpu->version(FactId::Driver).value && version) {
            variables.emplace_back("UV_CUDA_DRIVER_VERSION", *version);
            return variables;
        }
    }
    for (const auto* gpu : usable_by(machine, Api::Hip))
        if (const auto processor = processor_of(*gpu)) {
            variables.emplace_back("UV_AMD_GPU_ARCHITECTURE", *processor);
            return variables;
        }
    return variables;
}

bool fits_uv_variables(const Recommendation& answer) {
    const auto requirements = requirements_of(answer.artifact);
    const auto has_extras = [](const std::string& each) {
        return each.find('[') != std::string::npos;
    };
    const bool is_index = answer.artifact.at("type") == Value{"index"};
    if (std::ranges::any_of(requirements, has_extras))
        return false;
    // If there are several requirements, they are packages that the application uses, and users
    // install them by name.
    if (is_index && requirements.size() != 1)
        return true;
    const auto name = project_in(answer.application);
    return requirements.size() == 1 && project_in(requirements.front()) == name &&
           (is_index || requirements.front().find_first_of("=<>~!;@") == std::string::npos);
}

std::string oldest_uv(const Settings& variables, const Rules& rules) {
    Version oldest;
    for (const auto& [name, value] : variables) {
        if (name == "UV_INDEX")
            oldest = std::max(oldest, Version{.parts = {0, 4, 23}});
        if (name == "UV_TORCH_BACKEND")
            if (const auto* since = rules.uv_with_torch_backend(value))
                oldest = std::max(oldest, *since);
    }
    return oldest == Version{} ? "" : text_of(oldest);
}

Settings wheel_variables(const Report& report, const Rules& rules) {
    const auto machine = machine_facts(report, rules);
    const auto gpus = usable_by(machine, Api::Cuda);
    const auto found = capabilities(gpus);
    Settings variables;
    if (const auto cuda = cuda_of(gpus))
        variables.emplace_back("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", major_minor(*cuda));
    if (!found.empty())
        // The providers of wheel variants use the highest compute capability.
        variables.emplace_back("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", text_of(*found.rbegin()));
    add_amd(machine, variables);
    add_intel(machine, variables);
    return variables;
}

std::vector<std::string> ggml_options(const Report& report,
                                      const std::string& backend,
                                      const std::vector<std::string>& gpus) {
    std::vector<std::string> options;
    for (const auto& [name, value] : ggml_settings(report, backend, gpus, "ON"))
        options.push_back("-D" + name + "=" + value);
    return options;
}

Settings ggml_variables(const Report& report,
                        const std::string& backend,
                        const std::vector<std::string>& gpus) {
    return ggml_settings(report, backend, gpus, "1");
}

std::vector<std::string> container_arguments(const Report& report,
                                             const std::vector<std::string>& gpus,
                                             std::string_view family) {
    std::vector<std::string> arguments;
    bool has_nvidia = false;
    for (const auto* gpu : gpus_named(report, gpus)) {
        if (gpu->kind == GpuKind::DisplayOnly || lacks_instances(*gpu))
            continue;
        if (is_named_by_nvidia(*gpu)) {
            add_nvidia(*gpu, arguments);
            has_nvidia = true;
        } else {
            add_nodes(*gpu, report, arguments);
        }
    }
    for (const auto& accelerator : report.accelerators)
        if (std::ranges::find(gpus, accelerator.id) != gpus.end())
            for (const auto& node : accelerator.nodes)
                add_node(node.path, arguments);
    const std::string capabilities = "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility,";
    if (has_nvidia && family == "vulkan")
        arguments.push_back(capabilities + "graphics");
    if (has_nvidia && family == kVideo)
        arguments.push_back(capabilities + "video");
    return arguments;
}

std::vector<std::string> pip_arguments(const Recommendation& answer) {
    const auto& artifact = answer.artifact;
    const auto urls = texts_in(artifact.at("urls"));
    const auto* type = artifact.at("type").as_string();
    const auto* hash = artifact.at("sha256").as_string();
    if (type && *type == "file" && hash && !urls.empty() && urls.front().ends_with(".whl"))
        return {urls.front() + "#sha256=" + *hash};
    if (!type || (*type != "index" && *type != "wheel"))
        return {};
    auto arguments = requirements_of(artifact);
    if (*type == "index")
        for (const auto& url : urls) {
            arguments.emplace_back(&url == &urls.back() ? "--index-url" : "--extra-index-url");
            arguments.push_back(url);
        }
    return arguments;
}

std::vector<std::string> uv_arguments(const Recommendation& answer, const Rules& rules) {
    auto arguments = pip_arguments(answer);
    if (answer.artifact.at("type") != Value{"index"})
        return arguments;
    arguments = requirements_of(answer.artifact);
    Settings indexes;
    add_indexes(answer.artifact, rules, indexes);
    for (const auto& [name, value] : indexes)
        if (name == "UV_TORCH_BACKEND")
            arguments.push_back("--torch-backend=" + value);
        else
            for (const auto url : split(value, ' '))
                arguments.push_back("--index=" + std::string{url});
    return arguments;
}

}  // namespace gpuprobe::inline policy
