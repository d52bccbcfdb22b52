// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/fact.h"
#include "report/video.h"

namespace gpuprobe::inline policy {
namespace {

using Word = Fact<std::string>;
using KnownWords = Fact<WordSet>;

/// The string, converted to a word in lower case; unknown if there is no string.
Word word(const std::optional<std::string>& text) {
    return text ? Word::known(lower_case(*text)) : Word::unknown();
}

/// The version at the beginning of a string, together with the string itself; unknown if the string
/// does not begin with a version.
Fact<Version> version(const std::optional<std::string>& text) {
    if (!text)
        return Fact<Version>::unknown();
    auto fact = Fact<Version>::from(leading_version(*text));
    if (fact.value)
        fact.text = *text;
    return fact;
}

/// A complete set of words, which means that every word outside the set is absent.
KnownWords known_words(std::vector<std::string> items) {
    for (auto& item : items)
        item = lower_case(item);
    return KnownWords::known(WordSet{std::move(items)});
}

// Facts about the host ---------------------------------------------------------------------------

/// The version of glibc; absent if the host uses another C library.
AnyFact glibc(const Facts& facts) {
    const auto& libc = facts.report().host.libc;
    return libc.name && *libc.name != "glibc" ? Fact<Version>::absent() : version(libc.version);
}

/// The number in a level such as "x86-64-v3"; absent if the processor is known but has no such
/// levels (not x86-64).
AnyFact cpu_level(const Facts& facts) {
    constexpr std::string_view kLead = "x86-64-v";
    const auto& cpu = facts.report().host.cpu;
    if (cpu.level && cpu.level->starts_with(kLead))
        return version(cpu.level->substr(kLead.size()));
    return cpu.features.empty() ? Fact<Version>::unknown() : Fact<Version>::absent();
}

/// If the list is empty, the features could not be read, because every processor has features.
AnyFact cpu_features(const Facts& facts) {
    const auto& features = facts.report().host.cpu.features;
    return features.empty() ? KnownWords::unknown() : known_words(features);
}

AnyFact libraries(const Facts& facts) {
    const auto& libraries = facts.report().host.libraries;
    return libraries ? KnownWords::known(WordSet{*libraries}) : KnownWords::unknown();
}

AnyFact l4t(const Facts& facts) {
    const auto& release = facts.report().host.l4t;
    return release ? Word::known(*release) : Word::absent();
}

AnyFact container(const Facts& facts) {
    const auto& name = facts.report().host.container;
    return name ? word(name) : Word::absent();
}

/// If the request names a platform, it overrides the host's operating system.
AnyFact os(const Facts& facts) {
    const auto& platform = facts.subject().platform;
    return platform ? word(platform->substr(0, platform->find('-'))) : word(facts.report().host.os);
}

/// The different vendors of all GPUs with one of the given PCI classes; if there are no classes, of
/// all GPUs. Display-only adapters aren't included.
AnyFact vendors(const Facts& facts, std::initializer_list<std::string_view> classes) {
    std::set<std::string> found;
    for (const auto& gpu : facts.report().gpus) {
        const auto pci_class = gpu.pci ? gpu.pci->pci_class.value_or("") : std::string{};
        const bool counts =
            classes.size() == 0 || std::ranges::find(classes, pci_class) != classes.end();
        if (gpu.vendor && counts && gpu.kind != GpuKind::DisplayOnly)
            found.insert(*gpu.vendor);
    }
    return known_words({found.begin(), found.end()});
}

// Facts about a GPU ------------------------------------------------------------------------------

/// Reads a fact from the GPU; the fact is absent if the subject has no GPU.
template <class T, Fact<T> (*read)(const Gpu& gpu)>
AnyFact of_gpu(const Facts& facts) {
    return facts.gpu() ? read(*facts.gpu()) : Fact<T>::absent();
}

/// Whether the GPU may be from the given vendor; true if the GPU's vendor is unknown.
bool is_of(const Gpu& gpu, std::string_view vendor) {
    return !gpu.vendor || *gpu.vendor == vendor;
}

/// The GPU as an API reports it; null if that API wasn't probed or does not list the GPU.
const ApiView* any_view_of(const Gpu& gpu, std::string_view api) {
    const auto found = gpu.apis.find(std::string{api});
    return found == gpu.apis.end() ? nullptr : &found->second;
}

/// The device properties that an API reports; null if the API reports no properties.
const Value* device_of(const Gpu& gpu, std::string_view api) {
    const auto* view = any_view_of(gpu, api);
    return view && view->device.is_object() ? &view->device : nullptr;
}

/// A string in the device properties that isn't empty; null if there is no such string.
const std::string* text_at(const Value* device, std::string_view key) {
    const auto* text = device ? device->at(key).as_string() : nullptr;
    return text && !text->empty() ? text : nullptr;
}

Word kind(const Gpu& gpu) {
    return gpu.kind == GpuKind::Unknown ? Word::unknown()
                                        : Word::known(std::string{name_of(gpu.kind)});
}

Word pci_class(const Gpu& gpu) {
    return gpu.pci ? word(gpu.pci->pci_class) : Word::absent();
}

/// The PCI ids of a GPU, such as "10de:2684"; absent for a GPU that isn't on the PCI bus.
Word pci_device(const Gpu& gpu) {
    if (!gpu.pci)
        return Word::absent();
    if (!gpu.pci->vendor_id || !gpu.pci->device_id)
        return Word::unknown();
    return word(*gpu.pci->vendor_id + ":" + *gpu.pci->device_id);
}

/// The architecture of the GPU if it may be from the API's vendor; null if it is from another
/// vendor.
const std::optional<std::string>* own(const Gpu& gpu,
                                      Api api,
                                      const std::optional<std::string>& known) {
    return is_of(gpu, info_of(api).vendor) ? &known : nullptr;
}

Fact<Version> compute_capability(const Gpu& gpu) {
    const auto* text = own(gpu, Api::Cuda, gpu.architecture.cuda_compute_capability);
    return text ? version(*text) : Fact<Version>::absent();
}

Fact<Version> intel_ip(const Gpu& gpu) {
    const auto* text = own(gpu, api_of_architecture("intel_ip"), gpu.architecture.intel_ip);
    return text ? version(*text) : Fact<Version>::absent();
}

Word gfx(const Gpu& gpu) {
    const auto* text = own(gpu, Api::Hip, gpu.architecture.gfx_target);
    return text ? word(*text) : Word::absent();
}

/// The gfx target with its features ("gfx90a:xnack-"), which Architecture::gfx_target does not
/// contain.
Word gfx_target(const Gpu& gpu) {
    const auto* target = own(gpu, Api::Hip, gpu.architecture.gfx_target);
    if (!target)
        return Word::absent();
    if (!*target)
        return Word::unknown();
    // HIP and OpenCL report the complete target under different keys. Accept only strings that
    // begin with the name of the known processor.
    for (const auto* api : {"hip", "opencl"})
        for (const auto* key : {"gfx_target", "isa", "device_name", "name"})
            if (const auto* text = text_at(device_of(gpu, api), key))
                if (text->starts_with(**target + ":") &&
                    parse_text(*text, std::type_identity<GfxTarget>{}))
                    return Word::known(*text);
    const bool is_target = parse_text(**target, std::type_identity<GfxTarget>{}).has_value();
    return is_target ? Word::known(**target) : Word::unknown();
}

/// Whether the version of this driver can be compared with minimum driver versions for GPUs from
/// the vendor. For NVIDIA, this is true only for NVIDIA's own drivers; for other vendors, it is
/// true for any driver except the VFIO and PCI stubs.
bool is_vendors_own(std::string_view vendor, std::string_view driver) {
    const auto& cuda = info_of(Api::Cuda);
    if (vendor != cuda.vendor)
        return driver != "vfio-pci" && driver != "pci-stub";
    const auto own_drivers = gpuprobe::words(cuda.kernel_drivers);
    return std::ranges::find(own_drivers, driver) != own_drivers.end();
}

/// Whether the version is a release of Jetson Linux, which Jetson drivers up to R35 report as their
/// version. Such a release can't be compared with NVIDIA's driver numbers, which have three digits.
bool is_jetson_release(const Gpu& gpu, const Fact<Version>& version) {
    constexpr std::uint32_t kFirstNumber = 100;
    return gpu.kind == GpuKind::Integrated && gpu.vendor == info_of(Api::Cuda).vendor &&
           version.value && version.value->major() < kFirstNumber;
}

/// The version of the driver; absent if no driver is bound, if the driver isn't from the GPU's
/// vendor, or if the vendor's driver has no version number.
Fact<Version> driver(const Gpu& gpu) {
    const bool has_none =
        std::ranges::find(gpu.findings, "no-driver", &Reason::code) != gpu.findings.end();
    if (has_none)
        return Fact<Version>::absent();
    if (gpu.vendor && gpu.driver.name && !is_vendors_own(*gpu.vendor, *gpu.driver.name))
        return Fact<Version>::absent();
    if (const auto known = version(gpu.driver.version); known.value)
        return is_jetson_release(gpu, known) ? Fact<Version>::absent() : known;
    // If the version of the kernel driver is hidden, use the version that the vendor's library
    // reports.
    for (const auto* api : {"nvml", "cuda"})
        if (const auto* text = text_at(device_of(gpu, api), "driver_version"))
            return version(*text);
    return Fact<Version>::unknown();
}

/// The memory on the board.
Fact<Bytes> physical_memory(const Gpu& gpu) {
    return Fact<Bytes>::from(offered_memory(gpu.memory));
}

/// The GPU's kind. NVIDIA's systems on a chip are the separate kind "tegra", because CUDA
/// guarantees no binary compatibility between them and other GPUs.
AnyFact form(const Facts& facts) {
    if (!facts.gpu())
        return Word::absent();
    const auto& gpu = *facts.gpu();
    if (gpu.kind == GpuKind::DisplayOnly || gpu.kind == GpuKind::Unknown)
        return Word::unknown();
    // Only an integrated NVIDIA GPU can be a Tegra.
    if (gpu.kind != GpuKind::Integrated || gpu.vendor != info_of(Api::Cuda).vendor)
        return kind(gpu);
    const auto& capability = facts.version(FactId::ComputeCapability).value;
    const bool is_tegra = gpu.id.starts_with("platform:") ||
                          (capability && facts.rules().is_tegra(capability_of(*capability)));
    return is_tegra ? Word::known("tegra") : kind(gpu);
}

/// NVIDIA's product line; absent for a GPU from another vendor.
AnyFact product_line(const Facts& facts) {
    if (!facts.gpu() || !is_of(*facts.gpu(), info_of(Api::Cuda).vendor))
        return Word::absent();
    const auto* products = facts.rules().products_named(facts.gpu()->name.value_or(""));
    return products ? Word::known(products->line) : Word::unknown();
}

/// The version that the driver's library reports; absent if the library isn't installed.
Fact<Version> runtime_version(const Report& report,
                              Api api,
                              std::optional<std::string> RuntimeInfo::*text) {
    const auto found = report.runtimes.find(std::string{info_of(api).word});
    if (found == report.runtimes.end())
        return Fact<Version>::unknown();
    const auto& runtime = found->second;
    if (runtime.*text)
        return version(runtime.*text);
    return runtime.outcome == Outcome::Absent ? Fact<Version>::absent() : Fact<Version>::unknown();
}

/// The newest CUDA version that the driver supports: the version that the driver's library reports;
/// if there is none, the version that follows from the kernel driver's version.
AnyFact cuda(const Facts& facts) {
    if (!facts.gpu() || !is_of(*facts.gpu(), info_of(Api::Cuda).vendor))
        return Fact<Version>::absent();
    auto measured = runtime_version(facts.report(), Api::Cuda, &RuntimeInfo::version);
    if (measured.is_probed)
        return measured;
    const auto& driver = facts.version(FactId::Driver);
    if (driver.value)
        return Fact<Version>::from(facts.rules().cuda_of_driver(*driver.value));
    return driver.is_probed ? Fact<Version>::absent() : Fact<Version>::unknown();
}

/// The CUDA version of a forward-compatibility package (cuda-compat) on an older kernel driver;
/// absent if CUDA does not work or its version isn't newer than the kernel driver's CUDA version.
AnyFact cuda_compat(const Facts& facts) {
    const auto& cuda = facts.version(FactId::Cuda).value;
    const auto& driver = facts.version(FactId::Driver).value;
    const auto own = driver ? facts.rules().cuda_of_driver(*driver) : std::nullopt;
    const bool is_above = cuda && own && *cuda > *own && facts.usable(Api::Cuda) == true;
    return is_above ? Fact<Version>::known(*cuda) : Fact<Version>::absent();
}

/// The version of the ROCm release; absent if the GPU is from another vendor.
AnyFact rocm(const Facts& facts) {
    if (!facts.gpu() || !is_of(*facts.gpu(), info_of(Api::Hip).vendor))
        return Fact<Version>::absent();
    return runtime_version(facts.report(), Api::Hip, &RuntimeInfo::release);
}

/// The device in the form in which an API describes it. `is_known` is false if the API might be
/// able to describe the device but did not, for example because the API isn't installed.
struct ApiDevice {
    const ApiView* view = nullptr;
    bool is_known = false;
};

/// Looks up the device. If no device is found, and the API supports only other vendors, the device
/// is known not to exist.
ApiDevice device_in(const Facts& facts, std::string_view api) {
    if (!facts.gpu())
        // If the subject has no GPU, no device can be described.
        return {.is_known = true};
    const auto* view = any_view_of(*facts.gpu(), api);
    if (view && !view->device.is_null())
        return {.view = view, .is_known = true};
    const auto* info = find_api(api);
    return {.is_known = info && !info->vendor.empty() && !is_of(*facts.gpu(), info->vendor)};
}

/// The version of an API that the GPU supports; absent if the API is known not to support the GPU.
template <Api api>
AnyFact api_version(const Facts& facts) {
    const auto* view = facts.gpu() ? any_view_of(*facts.gpu(), info_of(api).word) : nullptr;
    if (view && view->version)
        return version(view->version);
    const auto device = device_in(facts, info_of(api).word);
    // The API lists the device, but reports no version.
    if (device.view)
        return Fact<Version>::unknown();
    return device.is_known ? Fact<Version>::absent() : Fact<Version>::unknown();
}

/// The strings in one of the lists in the Vulkan device properties.
KnownWords words_at(const Gpu& gpu, std::string_view key) {
    const auto* device = device_of(gpu, "vulkan");
    const auto* items = device ? device->at(key).as_array() : nullptr;
    if (!items)
        return KnownWords::unknown();
    std::vector<std::string> found;
    for (const auto& item : *items)
        if (const auto* text = item.as_string())
            found.push_back(*text);
    return KnownWords::known(WordSet{std::move(found)});
}

/// The name that a Vulkan feature has in the specification, and the device property with the same
/// meaning.
struct VulkanFeature {
    std::string_view name = {};
    std::string_view property = {};
};
constexpr auto kFeatureProperties = std::to_array<VulkanFeature>({
    {"shaderFloat16", "shader_float16"},
    {"shaderBFloat16Type", "shader_bfloat16"},
    {"shaderInt8", "shader_int8"},
    {"storageBuffer16BitAccess", "storage_buffer_16bit"},
    {"storageBuffer8BitAccess", "storage_buffer_8bit"},
    {"shaderIntegerDotProduct", "integer_dot_product"},
    {"cooperativeMatrix", "cooperative_matrix"},
});

/// Vulkan's features. The API reports either a complete list of supported features, or an object of
/// flags in which null means unknown. For an unknown flag, the device property with the same
/// meaning is used.
KnownWords vulkan_features(const Gpu& gpu) {
    if (auto listed = words_at(gpu, "features"); listed.value)
        return listed;
    const auto* device = device_of(gpu, "vulkan");
    const auto* flags = device ? device->at("features").as_object() : nullptr;
    // An object contains only the features that were probed, so the set is incomplete.
    WordSet features;
    features.is_complete = false;
    const auto add = [&features](std::string_view name, const Value& flag) {
        if (const auto is_supported = flag.as_bool())
            (*is_supported ? features.yes : features.no).emplace_back(name);
    };
    for (std::size_t i = 0; flags && i < flags->size(); ++i)
        add((*flags)[i].key, (*flags)[i].value);
    for (const auto& [name, property] : kFeatureProperties)
        if (device && device->at("features").at(name).is_null())
            add(name, device->at(property));
    std::ranges::sort(features.yes);
    std::ranges::sort(features.no);
    return KnownWords::known(std::move(features));
}

KnownWords vulkan_extensions(const Gpu& gpu) {
    return words_at(gpu, "extensions");
}

/// The video formats that the GPU supports in one direction, in the words of video_words(); unknown
/// if no API reports formats, unless it is known that there are no formats. It is unknown whether
/// the GPU supports a word outside the set if an entry lacks words, because gpuprobe does not know
/// the entry's profile or the driver did not report the bits. A backend other than Vulkan cannot
/// use the formats of Vulkan Video.
template <VideoDirection direction>
AnyFact video(const Facts& facts) {
    if (!facts.gpu())
        return KnownWords::absent();
    const auto& gpu = *facts.gpu();
    const auto apis = video_apis_of(facts.subject().backend);
    const auto entries = video_of(gpu, apis);
    if (is_without_video(gpu, direction, apis))
        return known_words({});
    if (!entries)
        return KnownWords::unknown();
    std::vector<std::string> words;
    bool is_complete = entries->size() < kMaxVideoEntries && !may_lack_video(gpu, direction);
    for (const auto& entry : *entries) {
        if (entry.direction != direction)
            continue;
        is_complete = is_complete && entry.codec && entry.bits;
        std::ranges::move(video_words(entry), std::back_inserter(words));
    }
    auto known = known_words(std::move(words));
    known.value->is_complete = is_complete;
    return known;
}

/// The name of the VA driver for the GPU, such as "ihd"; absent if VA-API does not list the GPU.
Word va_driver(const Gpu& gpu) {
    const auto* view = any_view_of(gpu, info_of(Api::Vaapi).word);
    if (view && view->outcome == Outcome::Absent)
        return Word::absent();
    const auto* name = view ? text_at(&view->device, "driver_name") : nullptr;
    return name ? word(*name) : Word::unknown();
}

// Facts about a GPU as seen by one backend --------------------------------------------------------

/// Whether the GPU's compute capability is at least `since`. CUDA's driver does not report data
/// types, so they are derived from the compute capability. Source: CUDA C++ Programming Guide,
/// "Arithmetic Instructions" and "Features and Technical Specifications".
Fact<bool> cuda_has(const Facts& facts, Version since) {
    const auto& capability = facts.version(FactId::ComputeCapability).value;
    return capability ? Fact<bool>::known(*capability >= since) : Fact<bool>::unknown();
}

/// A boolean device property that an API reports; absent if the API does not serve the GPU.
Fact<bool> device_flag(const Facts& facts, std::string_view api, std::string_view key) {
    const auto device = device_in(facts, api);
    if (!device.view)
        return device.is_known ? Fact<bool>::absent() : Fact<bool>::unknown();
    return Fact<bool>::from(device.view->device.at(key).as_bool());
}

/// A Vulkan feature with its name in the specification; absent if Vulkan does not serve the GPU.
Fact<bool> vulkan_feature(const Facts& facts, std::string_view name) {
    const auto device = device_in(facts, info_of(Api::Vulkan).word);
    if (!device.view)
        return device.is_known ? Fact<bool>::absent() : Fact<bool>::unknown();
    const auto features = vulkan_features(*facts.gpu());
    const auto truth = features.value ? features.value->holds(name) : Truth::Unknown;
    return truth == Truth::Unknown ? Fact<bool>::unknown()
                                   : Fact<bool>::known(truth == Truth::True);
}

/// A data type for computations, with the compute capability that introduced it, its feature in
/// Vulkan, and the name that other APIs use.
struct DataType {
    Version cuda_since = {};
    std::string_view in_vulkan = {};
    std::string_view elsewhere = {};
};

/// Whether the backend can compute with the data type.
Fact<bool> computes_in(const Facts& facts, const DataType& type) {
    if (!facts.gpu())
        return Fact<bool>::absent();
    const auto api = api_of_backend(facts.subject().backend);
    if (api == Api::Cuda)
        return cuda_has(facts, type.cuda_since);
    if (api == Api::Vulkan)
        return vulkan_feature(facts, type.in_vulkan);
    return device_flag(facts, api_below(facts.subject().backend), type.elsewhere);
}

AnyFact fp16(const Facts& facts) {
    return computes_in(facts, {Version{{5, 3}}, "shaderFloat16", "fp16"});
}
AnyFact bfloat16(const Facts& facts) {
    return computes_in(facts, {Version{{8, 0}}, "shaderBFloat16Type", "bfloat16"});
}
AnyFact int8(const Facts& facts) {
    return computes_in(facts, {Version{{6, 1}}, "shaderInt8", "int8"});
}
/// Whether Vulkan shaders can use 16-bit values in storage buffers.
AnyFact storage_16bit(const Facts& facts) {
    return vulkan_feature(facts, "storageBuffer16BitAccess");
}

/// The limit, in bytes, that the API below the backend reports under the first of the keys that
/// exists.
AnyFact limit(const Facts& facts, std::initializer_list<std::string_view> keys) {
    const auto device = device_in(facts, api_below(facts.subject().backend));
    if (!device.view)
        return device.is_known ? Fact<Bytes>::absent() : Fact<Bytes>::unknown();
    for (const auto key : keys)
        if (const auto size = device.view->device.at(key).as_unsigned())
            return Fact<Bytes>::known(Bytes{*size});
    return Fact<Bytes>::unknown();
}

/// Whether the backend has computed a verified result on the GPU.
AnyFact verified(const Facts& facts) {
    if (!facts.gpu())
        return Fact<bool>::absent();
    const auto view = facts.gpu()->backends.find(std::string{facts.subject().backend});
    return Fact<bool>::known(view != facts.gpu()->backends.end() && view->second.verified);
}

// -----------------------------------------------------------------------------------------------

using F = const Facts&;
constexpr auto kHost = FactScope::Host;
constexpr auto kGpu = FactScope::Gpu;
constexpr auto kBackend = FactScope::Backend;

// Formatted by hand, so that each row is easy to read.
// clang-format off
constexpr auto kOwnRows = std::to_array<FactRow>({
    {.id = FactId::Libc, .key = "libc", .type = FactForm::Word, .scope = kHost,
     .unfit = "other-libc",
     .read = [](F f) -> AnyFact { return word(f.report().host.libc.name); }},
    {.id = FactId::Glibc, .key = "glibc", .type = FactForm::Version, .scope = kHost,
     .too_low = "glibc-too-old",
     .read = glibc},
    {.id = FactId::Kernel, .key = "kernel", .type = FactForm::Version, .scope = kHost,
     .too_low = "kernel-too-old",
     .read = [](F f) -> AnyFact { return version(f.report().host.kernel); }},
    {.id = FactId::CpuLevel, .key = "cpu-level", .type = FactForm::Version, .scope = kHost,
     .too_low = "cpu-too-old",
     .read = cpu_level},
    {.id = FactId::CpuFeature, .key = "cpu-feature", .type = FactForm::Words, .scope = kHost,
     .unfit = "cpu-feature-missing",
     .read = cpu_features},
    {.id = FactId::Library, .key = "library", .type = FactForm::Words, .scope = kHost,
     .unfit = "library-missing",
     .read = libraries},
    {.id = FactId::Python, .key = "python", .type = FactForm::Version, .scope = kHost,
     .too_low = "python-too-old", .too_high = "python-too-new", .is_callers = true,
     .read = [](F f) -> AnyFact { return version(f.report().host.python); }},
    {.id = FactId::L4t, .key = "l4t", .type = FactForm::Word, .scope = kHost,
     .unfit = "other-l4t", .is_nameable = false,
     .read = l4t},
    {.id = FactId::HostMemory, .key = "host-memory", .type = FactForm::Size, .scope = kHost,
     .too_low = "too-little-host-memory", .is_nameable = false,
     .read = [](F f) -> AnyFact { return Fact<Bytes>::from(f.report().host.memory.total); }},
    {.id = FactId::Arch, .key = "arch", .type = FactForm::Word, .scope = kHost,
     .read = [](F f) -> AnyFact { return word(f.report().host.arch); }},
    {.id = FactId::Container, .key = "container", .type = FactForm::Word, .scope = kHost,
     .read = container},
    {.id = FactId::Os, .key = "os", .type = FactForm::Word, .scope = kHost, .read = os},
    {.id = FactId::Platform, .key = "platform", .type = FactForm::Word, .scope = kHost,
     .read = [](F f) -> AnyFact { const auto& other = f.subject().platform; return word(other ? other : platform_of(f.report().host)); }},
    {.id = FactId::Vendors, .key = "vendors", .type = FactForm::Words, .scope = kHost,
     .read = [](F f) { return vendors(f, {}); }},
    {.id = FactId::VgaVendors, .key = "vga-vendors", .type = FactForm::Words, .scope = kHost,
     .read = [](F f) { return vendors(f, {"0300", "0302"}); }},
    {.id = FactId::Wsl, .key = "wsl", .type = FactForm::Flag, .scope = kHost,
     .read = [](F f) -> AnyFact { return Fact<bool>::known(f.report().host.wsl); }},
    {.id = FactId::Alternatives, .key = "alternatives", .type = FactForm::Flag, .scope = kGpu,
     .is_nameable = false, .read = [](F) -> AnyFact { return Fact<bool>::unknown(); }},
    {.id = FactId::Usable, .key = "usable", .type = FactForm::Flag, .scope = kGpu,
     .unfit = "backend-not-usable", .is_nameable = false,
     // Usability depends on an API, which a row does not know; see Facts::usable().
     .read = [](F) -> AnyFact { return Fact<bool>::unknown(); }},
    {.id = FactId::Vendor, .key = "vendor", .type = FactForm::Word, .scope = kGpu,
     .unfit = "vendor-mismatch",
     .read = of_gpu<std::string, [](const Gpu& gpu) { return word(gpu.vendor); }>},
    {.id = FactId::Form, .key = "form", .type = FactForm::Word, .scope = kGpu,
     .unfit = "other-kind", .is_nameable = false,
     .read = form},
    {.id = FactId::Driver, .key = "driver", .type = FactForm::Version, .scope = kGpu,
     .too_low = "driver-too-old",
     .read = of_gpu<gpuprobe::Version, driver>},
    {.id = FactId::ComputeCapability, .key = "compute-capability", .type = FactForm::Version,
     .scope = kGpu, .too_low = "arch-not-in-build", .unfit = "arch-not-in-build", .api = Api::Cuda,
     .read = of_gpu<gpuprobe::Version, compute_capability>},
    {.id = FactId::Cuda, .key = "cuda", .type = FactForm::Version, .scope = kGpu,
     .unfit = "cuda-version-unfit", .api = Api::Cuda,
     .read = cuda},
    {.id = FactId::GfxTarget, .key = "gfx-target", .type = FactForm::Word, .scope = kGpu,
     .unfit = "arch-not-in-build", .is_nameable = false, .api = Api::Hip,
     .read = of_gpu<std::string, gfx_target>},
    {.id = FactId::Rocm, .key = "rocm", .type = FactForm::Version, .scope = kGpu,
     .unfit = "rocm-version-unfit", .is_nameable = false, .api = Api::Hip,
     .read = rocm},
    {.id = FactId::VulkanLoader, .key = "vulkan-loader", .type = FactForm::Version, .scope = kGpu,
     .too_low = "vulkan-loader-too-old", .is_nameable = false,
     .api = Api::Vulkan,
     .read = [](F f) -> AnyFact { return runtime_version(f.report(), Api::Vulkan,
     &RuntimeInfo::version); }},
    {.id = FactId::Vulkan, .key = "vulkan", .type = FactForm::Version, .scope = kGpu,
     .too_low = "vulkan-too-old", .api = Api::Vulkan,
     .read = api_version<Api::Vulkan>},
    {.id = FactId::VulkanFeature, .key = "vulkan-feature", .type = FactForm::Words, .scope = kGpu,
     .unfit = "vulkan-feature-missing", .is_nameable = false,
     .api = Api::Vulkan,
     .read = of_gpu<WordSet, vulkan_features>},
    {.id = FactId::VulkanExtension, .key = "vulkan-extension", .type = FactForm::Words,
     .scope = kGpu, .unfit = "vulkan-extension-missing", .is_nameable = false, .api = Api::Vulkan,
     .read = of_gpu<WordSet, vulkan_extensions>},
    {.id = FactId::IntelIp, .key = "intel-ip", .type = FactForm::Version, .scope = kGpu,
     .too_low = "arch-not-in-build", .unfit = "arch-not-in-build",
     .api = api_of_architecture("intel_ip"),
     .read = of_gpu<gpuprobe::Version, intel_ip>},
    {.id = FactId::Memory, .key = "memory", .type = FactForm::Size, .scope = kGpu,
     .too_low = "too-little-memory",
     .read = of_gpu<Bytes, memory_for_use>},
    {.id = FactId::PhysicalMemory, .key = "physical-memory", .type = FactForm::Size,
     .scope = kGpu, .too_low = "too-little-memory",
     .read = of_gpu<Bytes, physical_memory>},
    {.id = FactId::MaxBuffer, .key = "max-buffer", .type = FactForm::Size, .scope = kBackend,
     .read = [](F f) { return limit(f, {"max_buffer_size", "max_memory_allocation_size"}); }},
    {.id = FactId::MaxStorageBuffer, .key = "max-storage-buffer", .type = FactForm::Size,
     .scope = kBackend,
     .read = [](F f) { return limit(f, {"max_storage_buffer_range"}); }},
    {.id = FactId::Kind, .key = "kind", .type = FactForm::Word, .scope = kGpu,
     .read = of_gpu<std::string, kind>},
    {.id = FactId::Class, .key = "class", .type = FactForm::Word, .scope = kGpu,
     .read = of_gpu<std::string, pci_class>},
    {.id = FactId::Device, .key = "device", .type = FactForm::Word, .scope = kGpu,
     .read = of_gpu<std::string, pci_device>},
    {.id = FactId::ProductLine, .key = "product-line", .type = FactForm::Word, .scope = kGpu,
     .read = product_line},
    {.id = FactId::KernelDriver, .key = "kernel-driver", .type = FactForm::Word, .scope = kGpu,
     .read = of_gpu<std::string, [](const Gpu& gpu) { return word(gpu.driver.name); }>},
    {.id = FactId::Gfx, .key = "gfx", .type = FactForm::Word, .scope = kGpu,
     .unfit = "arch-not-in-build", .api = Api::Hip,
     .read = of_gpu<std::string, gfx>},
    {.id = FactId::VideoDecode, .key = "video.decode", .type = FactForm::Words, .scope = kGpu,
     .read = video<VideoDirection::Decode>},
    {.id = FactId::VideoEncode, .key = "video.encode", .type = FactForm::Words, .scope = kGpu,
     .read = video<VideoDirection::Encode>},
    {.id = FactId::VaDriver, .key = "va-driver", .type = FactForm::Word, .scope = kGpu,
     .api = Api::Vaapi,
     .read = of_gpu<std::string, va_driver>},
    {.id = FactId::CudaCompat, .key = "cuda-compat", .type = FactForm::Version, .scope = kGpu,
     .is_nameable = false, .api = Api::Cuda,
     .read = cuda_compat},
    {.id = FactId::Backend, .key = "backend", .type = FactForm::Word, .scope = kBackend,
     .read = [](F f) -> AnyFact { return word(f.subject().backend_word); }},
    {.id = FactId::Variant, .key = "variant", .type = FactForm::Word, .scope = kBackend,
     // The fact is known to be absent if the build isn't a published variant.
     .read = [](F f) -> AnyFact {
         return f.subject().variant ? word(f.subject().variant) : Word::absent();
     }},
    {.id = FactId::Fp16, .key = "fp16", .type = FactForm::Flag, .scope = kBackend, .read = fp16},
    {.id = FactId::BFloat16, .key = "bfloat16", .type = FactForm::Flag, .scope = kBackend,
     .read = bfloat16},
    {.id = FactId::Int8, .key = "int8", .type = FactForm::Flag, .scope = kBackend, .read = int8},
    {.id = FactId::Storage16Bit, .key = "storage-16bit", .type = FactForm::Flag, .scope = kBackend,
     .read = storage_16bit},
    {.id = FactId::Verified, .key = "verified", .type = FactForm::Flag, .scope = kBackend,
     .read = verified},
});
// clang-format on

/// The rows in kOwnRows, with the rows for API versions inserted at FactId::ApiVersion. A term can
/// name the version of an API if the API table has a name for the version.
template <std::size_t... kPlace>
consteval auto with_versions(std::index_sequence<kPlace...>) {
    constexpr auto kAt = static_cast<std::size_t>(FactId::ApiVersion);
    std::array<FactRow, kOwnRows.size() + kApiCount> rows = {};
    std::copy_n(kOwnRows.begin(), kAt, rows.begin());
    ((rows[kAt + kPlace] = {.id = static_cast<FactId>(kAt + kPlace),
                            .key = kApis[kPlace].version_term,
                            .type = FactForm::Version,
                            .scope = FactScope::Gpu,
                            .is_nameable = !kApis[kPlace].version_term.empty(),
                            .api = kApis[kPlace].id,
                            .read = api_version<kApis[kPlace].id>}),
     ...);
    std::ranges::copy(kOwnRows.begin() + kAt, kOwnRows.end(), rows.begin() + kAt + kApiCount);
    return rows;
}
constexpr auto kFactRows = with_versions(std::make_index_sequence<kApiCount>{});
static_assert(kFactRows.size() == static_cast<std::size_t>(FactId::Verified) + 1);
/// Whether the string is either empty or a known reason code.
constexpr bool is_reason(std::string_view code) {
    return code.empty() ||
           std::ranges::binary_search(reason_rows::kRows, code, {}, &ReasonInfo::code);
}
// Checks at compile time that every code is a reason, and that the index of each row is its FactId.
static_assert(std::ranges::all_of(kFactRows, [](const FactRow& row) {
    return is_reason(row.too_low) && is_reason(row.too_high) && is_reason(row.unfit);
}));
static_assert(std::ranges::all_of(kFactRows, [](const FactRow& row) {
    // Compare addresses: g++ 12 with -fsanitize=undefined can't evaluate `read != nullptr` as a
    // constant.
    return &row == &kFactRows[static_cast<std::size_t>(row.id)];
}));

}  // namespace

std::span<const FactRow> fact_rows() {
    return kFactRows;
}

const FactRow* find_fact(std::string_view key) {
    const auto* found = std::ranges::find(kFactRows, key, &FactRow::key);
    // Rows of facts that a term may not name are found only by their ids.
    return found == kFactRows.end() || !found->is_nameable ? nullptr : found;
}

const FactRow& row_of(FactId id) {
    return kFactRows[static_cast<std::size_t>(id)];
}

Fact<Bytes> memory_for_use(const GpuMemory& memory) {
    // The memory on the board is only a fallback: a process may get less memory, or more memory if
    // memory is shared.
    return Fact<Bytes>::from(memory.allocatable ? memory.allocatable : offered_memory(memory));
}

Fact<Bytes> memory_for_use(const Gpu& gpu) {
    return memory_for_use(gpu.memory);
}

std::optional<std::string> platform_of(const Host& host) {
    if (!host.os || !host.arch)
        return std::nullopt;
    const auto& arch = *host.arch;
    // Linux and Go have different names for processors.
    return *host.os + "-" + (arch == "x86_64" ? "amd64" : arch == "aarch64" ? "arm64" : arch);
}

}  // namespace gpuprobe::inline policy
