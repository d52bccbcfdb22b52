// SPDX-License-Identifier: Apache-2.0
#include "knowledge/selectors.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

/// Variables that choose between GPUs, and that do not cause a program to load anything else.
/// Sources: see data/knowledge/selectors.json and the data files in data/knowledge/applications.
constexpr auto kSelecting = std::to_array<std::string_view>({
    "ASAHI_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "DRI_PRIME",
    "GPU_DEVICE_ORDINAL",
    "HABANA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "HSA_VISIBLE_DEVICES",
    "INTEL_VISIBLE_DEVICES",
    "MESA_VK_DEVICE_SELECT",
    "MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE",
    "MUSA_VISIBLE_DEVICES",
    "NEURON_RT_VISIBLE_CORES",
    "NODEVICE_SELECT",
    "NVIDIA_VISIBLE_DEVICES",
    "ONEAPI_DEVICE_SELECTOR",
    "ROCR_VISIBLE_DEVICES",
    "SKIP_CUDA",
    "SKIP_ROCM",
    "SKIP_SYCL",
    "SKIP_VULKAN",
    "SYCL_DEVICE_FILTER",
    "TPU_VISIBLE_CHIPS",
    "VK_LOADER_DEVICE_ID_FILTER",
    "VK_LOADER_DEVICE_SELECT",
    "VK_LOADER_DRIVERS_DISABLE",
    "VK_LOADER_DRIVERS_SELECT",
    "ZE_AFFINITY_MASK",
    "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
    "ZE_FLAT_DEVICE_HIERARCHY",
    "__NV_PRIME_RENDER_OFFLOAD",
    "__VK_LAYER_NV_optimus",
});

/// A variable that makes a loader open a file, and the facts that the value may contain.
struct LoadingVariable {
    std::string_view name;
    std::string_view facts;  ///< separated by spaces; defined in policy/gpu_selection.h
};
constexpr auto kLoading = std::to_array<LoadingVariable>({
    {"LIBVA_DRIVER_NAME", "va_driver_name"},
    {"OCL_ICD_FILENAMES", ""},
    {"OCL_ICD_VENDORS", "opencl_vendor"},
    {"VK_DRIVER_FILES", "vulkan_manifests vulkan_own_manifest"},
    {"VK_ICD_FILENAMES", "vulkan_manifests vulkan_own_manifest"},
    {"__GLX_VENDOR_LIBRARY_NAME", "glx_offload"},
});

/// The path of a file that does not exist, so that the loader finds no driver.
constexpr std::string_view kNowhere = "/nonexistent";

/// Prefixes of the variables of libraries and runtimes on which several applications are based.
constexpr auto kSharedPrefixes =
    std::to_array<std::string_view>({"CUPY_", "GGML_", "JAX_", "LLAMA_", "OLLAMA_", "ORT_",
                                     "PYTORCH_", "TF_", "TORCH_", "VLLM_", "WGPU_", "WHISPER_"});

/// Words that may follow an application's prefix in a variable name. None of these words concerns
/// files, folders, libraries, addresses, commands or options.
constexpr std::string_view kGpuWords =
    " ACCELERATOR ADAPTER BACKEND BACKENDS BATCH CAPABILITY COUNT CPU CUDA DEVICE DEVICES DISABLE "
    "DISABLED ENABLE ENABLED FORCE FRACTION GPU GPUS HIP ID IDS IGPU INTEGRATED LIMIT MAIN "
    "MEMORY META METAL NAME NO OPENCL OPENGL ORDER ORDINAL PLATFORM PLATFORMS POWER PREF PREFER "
    "ROCM SELECT SELECTOR SIZE SPLIT SYCL TYPE USE UUID VENDOR VISIBLE VK VULKAN WEBGPU WGPU ";

/// The prefix of an application's variables, such as "STABLE_DIFFUSION_CPP_" for
/// "stable-diffusion.cpp". The prefix is empty if a variable's name cannot begin with it.
std::string prefix_of(std::string_view application) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::string prefix;
    for (const char c : application) {
        // Clearing bit 0x20 makes an ASCII letter upper-case.
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        prefix += is_letter ? static_cast<char>(c & ~0x20) : is_digit(c) ? c : '_';
    }
    const bool is_usable = !prefix.empty() && prefix.front() != '_' && !is_digit(prefix.front());
    return is_usable ? prefix + "_" : std::string{};
}

/// Whether a word is about GPUs. A number at the end of the word is ignored ("GPU0"), and a number
/// by itself is accepted as a word ("GPU_0").
bool is_gpu_word(std::string_view word) {
    const auto letters = word.substr(0, word.find_last_not_of("0123456789") + 1);
    return letters.empty()
               ? !word.empty()
               : kGpuWords.find(" " + std::string{letters} + " ") != std::string_view::npos;
}

/// Whether the name consists of the prefix, followed only by words about GPUs.
bool is_about_gpus(std::string_view name, std::string_view prefix) {
    return !prefix.empty() && name.starts_with(prefix) &&
           std::ranges::all_of(split(name.substr(prefix.size()), '_'), is_gpu_word);
}

const LoadingVariable* loading(std::string_view name) {
    const auto* row = std::ranges::find(kLoading, name, &LoadingVariable::name);
    return row == kLoading.end() ? nullptr : row;
}

}  // namespace

std::optional<std::string> variable_problem(std::string_view name, std::string_view owner) {
    const auto own = prefix_of(owner);
    if (std::ranges::find(kSelecting, name) != kSelecting.end() || loading(name) ||
        is_about_gpus(name, own) ||
        std::ranges::any_of(kSharedPrefixes, [name](std::string_view prefix) {
            return is_about_gpus(name, prefix);
        }))
        return std::nullopt;
    constexpr std::string_view kRefusal = "a data file must not name this variable";
    if (own.empty())
        return std::string{kRefusal};
    return std::string{kRefusal} + "; only variables that choose GPUs are allowed, such as " + own +
           "GPU";
}

// Values are restricted only for variables that make a program load files.
std::optional<std::string> value_problem(std::string_view name, std::string_view text) {
    const auto* row = loading(name);
    if (!row || text == kNowhere)
        return std::nullopt;
    // The whole value must be one placeholder, so that a data file cannot add a path to the value.
    const auto facts = words(row->facts);
    const bool is_found_here = std::ranges::any_of(
        facts, [text](std::string_view fact) { return text == "{" + std::string{fact} + "}"; });
    if (is_found_here)
        return std::nullopt;
    std::string allowed;
    for (const auto fact : facts)
        allowed += "{" + std::string{fact} + "} or ";
    return "this variable loads files: its value must be " + allowed + std::string{kNowhere};
}

namespace {

constexpr std::string_view kSelectorsSchema = "gpuprobe.selectors/1";
constexpr std::string_view kGgml = "ggml";  // ggml names devices of other APIs in its own way

struct SelectorsDocument {
    std::string schema = {};
    std::vector<Reader> readers = {};
    std::vector<UseRow> use = {};
};

Error malformed(const std::string& where, const std::string& what) {
    return Error{ErrorCode::Malformed, "selectors: " + where + ": " + what};
}

/// All variables that are read by the readers for an API. An empty `api` means all APIs.
std::set<std::string> read_below(const std::vector<Reader>& readers, std::string_view api) {
    std::set<std::string> names;
    for (const auto& reader : readers)
        if (api.empty() || reader.api == api)
            names.insert(reader.reads.begin(), reader.reads.end());
    return names;
}

/// Checks for each variable that at least one reader reads it, and that its value is allowed.
Status check(const std::string& where,
             const Variables& variables,
             const std::set<std::string>& known) {
    for (const auto& [name, text] : variables) {
        if (!known.contains(name))
            return malformed(where, name + ": no program reads this variable");
        if (const auto problem = value_problem(name, text))
            return malformed(where, name + ": " + *problem);
    }
    return Done{};
}

/// Checks that the names of the reader's variables are allowed in a data file (variable_problem()).
Status check_names(const Reader& reader) {
    auto names = reader.reads;
    for (const auto& [name, form] : reader.lists)
        names.push_back(name);
    for (const auto& name : names)
        if (const auto problem = variable_problem(name, ""))
            return malformed(reader.name, name + ": " + *problem);
    return Done{};
}

Status check(const SelectorsDocument& document) {
    std::set<std::string> names;
    for (const auto& reader : document.readers) {
        // Names must be unique, because find() returns only one reader.
        if (!names.insert(reader.name).second)
            return malformed(reader.name, "named twice");
        TRY(check_names(reader));
        // A reader can hide GPUs only with variables that it reads itself.
        TRY(check(reader.name, reader.hide, {reader.reads.begin(), reader.reads.end()}));
        TRY(check(reader.name, reader.hide_if_set, {reader.reads.begin(), reader.reads.end()}));
    }
    // A variable that no library reads would have no effect; reject it as a typo.
    for (const auto& row : document.use) {
        // Device names in ggml's notation may be combined with variables of any API.
        const auto known = read_below(document.readers, row.api == kGgml ? "" : row.api);
        TRY(check("use: " + row.api, row.variables, known));
        TRY(check("use: " + row.api, row.environment, known));
        // A row must have either variables or an argument, but not both.
        if (row.variables.empty() == !row.argument.has_value())
            return malformed("use: " + row.api, "expected either variables or an argument");
    }
    return Done{};
}

}  // namespace

RECORD_MEMBERS(Reader, name, api, reads, hide, hide_if_set, lists, reaches)

RECORD_MEMBERS(Since, mesa, vulkan_loader, opencl_loader)

RECORD_MEMBERS(UseRow, api, kind, variables, argument, environment, since)

namespace {

RECORD_MEMBERS(SelectorsDocument, schema, readers, use)

}  // namespace

const Selectors& Selectors::current() {
    return table_in_use<Selectors>("selectors");
}

Result<Selectors> Selectors::from(std::string_view json) {
    auto document = TRY(document_from<SelectorsDocument>(json, kSelectorsSchema));
    TRY(check(document));
    Selectors selectors;
    selectors.readers_ = std::move(document.readers);
    selectors.uses_ = std::move(document.use);
    return selectors;
}

const Reader* Selectors::find(std::string_view name) const {
    const auto found = std::ranges::find(readers_, name, &Reader::name);
    return found == readers_.end() ? nullptr : &*found;
}

}  // namespace gpuprobe::knowledge
