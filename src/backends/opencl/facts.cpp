// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/opencl/opencl.h"
#include "backends/texts.h"
#include "base/record.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

constexpr std::array kErrors = {
    NumberWord{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    NumberWord{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    NumberWord{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    NumberWord{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    NumberWord{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    NumberWord{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    NumberWord{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    NumberWord{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    NumberWord{CL_INVALID_DEVICE_TYPE, "CL_INVALID_DEVICE_TYPE"},
    NumberWord{CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    NumberWord{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    NumberWord{CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    NumberWord{CL_PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
};

using Extensions = std::optional<std::vector<std::string>>;

bool lists(const Extensions& extensions, const char* name) {
    return extensions &&
           std::binary_search(extensions->begin(), extensions->end(), std::string{name});
}

/// Whether the extension is listed; null if the list is unknown.
Value listed(const Extensions& extensions, const char* name) {
    return extensions ? Value{lists(extensions, name)} : Value{};
}

/// A size in bytes; drivers report 0 for an unknown size.
std::optional<Bytes> bytes_in(std::optional<cl_ulong> size) {
    return size && *size != 0 ? std::optional{Bytes{*size}} : std::nullopt;
}

std::optional<std::string> name_of(const DeviceInfo& device, const Extensions& extensions) {
    // On AMD, CL_DEVICE_NAME is the compiler's target ("gfx90a:…"), so prefer the board name.
    if (lists(extensions, "cl_amd_device_attribute_query"))
        if (auto board = device.text(CL_DEVICE_BOARD_NAME_AMD))
            return board;
    return device.text(CL_DEVICE_NAME);
}

/// The free memory, which only AMD reports: two sizes in KiB, for all free memory and for the
/// largest block.
/// Source: cl_amd_device_attribute_query, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD.
std::optional<Bytes> free_memory(const DeviceInfo& device, const Extensions& extensions) {
    if (!lists(extensions, "cl_amd_device_attribute_query"))
        return std::nullopt;
    const auto sizes = device.list<std::size_t>(CL_DEVICE_GLOBAL_FREE_MEMORY_AMD);
    if (!sizes || sizes->empty() || sizes->front() > (SIZE_MAX >> 10))
        return std::nullopt;
    return kib(sizes->front());
}

/// A UUID of the device or of its driver.
std::optional<std::string> uuid_in(const DeviceInfo& device, cl_uint what) {
    using Uuid = std::array<std::uint8_t, CL_UUID_SIZE_KHR>;
    const auto bytes = device.value<Uuid>(what);
    return bytes ? canonical_uuid(*bytes) : std::nullopt;
}

std::optional<std::string> luid_in(const DeviceInfo& device) {
    using Luid = std::array<std::uint8_t, CL_LUID_SIZE_KHR>;
    if (device.flag(CL_DEVICE_LUID_VALID_KHR) != true)
        return std::nullopt;
    const auto bytes = device.value<Luid>(CL_DEVICE_LUID_KHR);
    return bytes ? hexadecimal_unless_zero(*bytes) : std::nullopt;
}

std::optional<std::string> device_id_of(const DeviceInfo& device, const Extensions& extensions) {
    if (!lists(extensions, "cl_intel_device_attribute_query"))
        return std::nullopt;
    const auto id = device.value<cl_uint>(CL_DEVICE_ID_INTEL);
    return id ? pci_id_text(*id) : std::nullopt;
}

/// The supported versions of OpenCL C; null before OpenCL 3.0.
Value version_list(const DeviceInfo& device) {
    const auto versions = device.list<cl_name_version>(CL_DEVICE_OPENCL_C_ALL_VERSIONS);
    if (!versions)
        return Value{};
    Value::Array list;
    for (const cl_name_version& entry : *versions)
        list.push_back(Value{packed_version_text(entry.version)});
    return Value{std::move(list)};
}

/// The supported intermediate languages ("SPIR-V_1.2"), from the list in OpenCL 3.0 or the string
/// in OpenCL 2.1.
Value il_list(const DeviceInfo& device) {
    const auto versions = device.list<cl_name_version>(CL_DEVICE_ILS_WITH_VERSION);
    if (!versions)
        return to_value(word_list(device.raw_text(CL_DEVICE_IL_VERSION)));
    Value::Array list;
    for (const cl_name_version& entry : *versions) {
        const auto name = clean_text({entry.name, sizeof entry.name}).value_or("");
        const auto version = dotted({entry.version >> 22, entry.version >> 12 & 0x3ff});
        list.push_back(Value{name + "_" + version});
    }
    return Value{std::move(list)};
}

void add_versions(const DeviceInfo& device, Value& extra) {
    const auto version = device.text(CL_DEVICE_VERSION);
    const auto numeric = device.value<cl_version>(CL_DEVICE_NUMERIC_VERSION);
    extra["version"] = to_value(version);
    extra["api_version"] = version ? to_value(api_version_in(*version)) : Value{};
    extra["numeric_version"] = numeric ? Value{packed_version_text(*numeric)} : Value{};
    extra["driver_version"] = to_value(device.text(CL_DRIVER_VERSION));
    extra["c_version"] = to_value(device.text(CL_DEVICE_OPENCL_C_VERSION));
    extra["c_versions"] = version_list(device);
    extra["il_versions"] = il_list(device);
    extra["profile"] = to_value(device.text(CL_DEVICE_PROFILE));
}

/// The names of the bits that are set in CL_DEVICE_SVM_CAPABILITIES.
Value svm_words(cl_device_svm_capabilities capabilities) {
    constexpr std::array kWords = {
        NumberWord{CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, "coarse-grain-buffer"},
        NumberWord{CL_DEVICE_SVM_FINE_GRAIN_BUFFER, "fine-grain-buffer"},
        NumberWord{CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, "fine-grain-system"},
        NumberWord{CL_DEVICE_SVM_ATOMICS, "atomics"},
    };
    return words_of_bits(kWords, capabilities);
}

void add_limits(const DeviceInfo& device, Value& extra) {
    extra["max_memory_allocation_size"] =
        to_value(bytes_in(device.value<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE)));
    extra["local_memory_size"] =
        to_value(bytes_in(device.value<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE)));
    extra["max_work_group_size"] =
        to_value(device.value<std::size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    extra["compute_units"] = to_value(device.value<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS));
    const auto megahertz = device.value<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY);
    extra["clock_hz"] = megahertz && *megahertz != 0 ? Value{*megahertz * 1'000'000ULL} : Value{};
    extra["available"] = to_value(device.flag(CL_DEVICE_AVAILABLE));
    extra["compiler_available"] = to_value(device.flag(CL_DEVICE_COMPILER_AVAILABLE));
    const auto svm = device.value<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
    extra["svm_capabilities"] = svm ? svm_words(*svm) : Value{};
}

/// Adds the facts from vendor extensions; the facts are null if the extensions are missing.
void add_vendor_facts(const DeviceInfo& device, const Extensions& extensions, Value& extra) {
    const auto name = device.text(CL_DEVICE_NAME);
    extra["device_name"] = to_value(name);
    extra["vendor_name"] = to_value(device.text(CL_DEVICE_VENDOR));
    extra["opencl_vendor_id"] = to_value(device.value<cl_uint>(CL_DEVICE_VENDOR_ID));
    extra["gfx_target"] = name ? to_value(gfx_target_in(*name)) : Value{};
    extra["compute_capability"] = Value{};
    extra["intel_ip"] = Value{};
    if (lists(extensions, "cl_nv_device_attribute_query")) {
        const auto major = device.value<cl_uint>(CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
        const auto minor = device.value<cl_uint>(CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV);
        if (major && minor)
            extra["compute_capability"] = dotted({*major, *minor});
    }
    if (lists(extensions, "cl_intel_device_attribute_query"))
        if (const auto ip = device.value<cl_uint>(CL_DEVICE_IP_VERSION_INTEL))
            extra["intel_ip"] = to_value(intel_ip_text(*ip));
}

/// Adds the extensions, and the capabilities that follow from them.
void add_extensions(const Extensions& extensions, Value& extra) {
    extra["fp16"] = listed(extensions, "cl_khr_fp16");
    extra["fp64"] = listed(extensions, "cl_khr_fp64");
    extra["integer_dot_product"] = listed(extensions, "cl_khr_integer_dot_product");
    extra["extensions"] = extensions ? to_value(*extensions) : Value{};
}

/// Whether the device shares the host's memory. NVIDIA's query also works if the driver lacks the
/// deprecated standard query.
std::optional<bool> shares_memory(const DeviceInfo& device, const Extensions& extensions) {
    if (lists(extensions, "cl_nv_device_attribute_query"))
        if (const auto integrated = device.flag(CL_DEVICE_INTEGRATED_MEMORY_NV))
            return integrated;
    return device.flag(CL_DEVICE_HOST_UNIFIED_MEMORY);
}

std::optional<PciAddress> khronos_address(const DeviceInfo& device) {
    const auto info = device.value<cl_device_pci_bus_info_khr>(CL_DEVICE_PCI_BUS_INFO_KHR);
    if (!info)
        return std::nullopt;
    return pci_address_unless_zero(info->pci_domain, info->pci_bus, info->pci_device,
                                   info->pci_function);
}

std::optional<PciAddress> nvidia_address(const DeviceInfo& device) {
    const auto bus = device.value<cl_uint>(kPciBusIdNv);
    const auto slot = device.value<cl_uint>(kPciSlotIdNv);
    if (!bus || !slot)
        return std::nullopt;
    const auto domain = device.value<cl_uint>(kPciDomainIdNv).value_or(0);
    return pci_address_unless_zero(domain, *bus, *slot >> 3, *slot & 7);
}

std::optional<PciAddress> amd_address(const DeviceInfo& device) {
    const auto topology = device.value<cl_device_topology_amd>(CL_DEVICE_TOPOLOGY_AMD);
    if (!topology || topology->raw.type != CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
        return std::nullopt;
    // The header declares these fields as signed, but a bus number may be above 127.
    const auto unsigned_of = [](cl_char number) {
        return static_cast<cl_uint>(static_cast<unsigned char>(number));
    };
    const auto& pcie = topology->pcie;
    return pci_address_unless_zero(0, unsigned_of(pcie.bus), unsigned_of(pcie.device),
                                   unsigned_of(pcie.function));
}

}  // namespace

std::string opencl_error_name(cl_int error) {
    return word_for(kErrors, error).value_or("OpenCL error " + std::to_string(error));
}

std::string packed_version_text(cl_version version) {
    return dotted({version >> 22, version >> 12 & 0x3ff, version & 0xfff});
}

std::optional<std::string> api_version_in(std::string_view text) {
    const auto pieces = words(text);
    if (pieces.size() < 2 || pieces[0] != "OpenCL")
        return std::nullopt;
    const auto numbers = split(pieces[1], '.');
    if (numbers.size() != 2)
        return std::nullopt;
    const auto major = parse_number<unsigned>(numbers[0]);
    const auto minor = parse_number<unsigned>(numbers[1]);
    if (!major || !minor)
        return std::nullopt;
    return dotted({*major, *minor});
}

std::optional<std::vector<std::string>> word_list(const std::optional<std::string>& raw) {
    if (!raw)
        return std::nullopt;
    std::vector<std::string> list;
    for (const auto word : words(*raw))
        if (list.size() < kMaxExtensionNames)
            list.push_back(scrubbed(word));
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

std::optional<DeviceAddress> device_address(const DeviceInfo& device,
                                            const std::vector<std::string>& extensions) {
    struct Route {
        std::string_view extension;
        std::optional<PciAddress> (*ask)(const DeviceInfo&);
    };
    // The extensions are in order of preference.
    constexpr Route kRoutes[] = {
        {"cl_khr_pci_bus_info", khronos_address},
        {"cl_nv_device_attribute_query", nvidia_address},
        {"cl_amd_device_attribute_query", amd_address},
    };
    for (const Route& route : kRoutes) {
        if (!std::binary_search(extensions.begin(), extensions.end(), route.extension))
            continue;
        if (const auto address = route.ask(device))
            return DeviceAddress{.address = *address, .source = route.extension};
    }
    return std::nullopt;
}

std::optional<DeviceType> opencl_device_type(std::optional<cl_device_type> type,
                                             std::optional<bool> shares_memory) {
    if (!type)
        return std::nullopt;
    if ((*type & CL_DEVICE_TYPE_GPU) != 0) {
        if (!shares_memory)
            return std::nullopt;
        return *shares_memory ? DeviceType::Integrated : DeviceType::Discrete;
    }
    return (*type & CL_DEVICE_TYPE_CPU) != 0 ? DeviceType::Cpu : DeviceType::Other;
}

DeviceFacts opencl_facts(const DeviceInfo& device, std::uint32_t index, const Value& platform) {
    const auto extensions = word_list(device.raw_text(CL_DEVICE_EXTENSIONS));
    const auto address = device_address(device, extensions.value_or(std::vector<std::string>{}));
    const auto vendor = device.value<cl_uint>(CL_DEVICE_VENDOR_ID);
    // Queries of an extension are undefined unless the device lists it.
    const bool has_uuids = lists(extensions, "cl_khr_device_uuid");
    const auto unified = shares_memory(device, extensions);
    DeviceFacts facts{
        .index = index,
        .name = name_of(device, extensions),
        .vendor_id = vendor ? pci_id_text(*vendor) : std::nullopt,
        .device_id = device_id_of(device, extensions),
        .pci = address ? std::optional{address->address} : std::nullopt,
        .uuid = has_uuids ? uuid_in(device, CL_DEVICE_UUID_KHR) : std::nullopt,
        .type = opencl_device_type(device.value<cl_device_type>(CL_DEVICE_TYPE), unified),
        .memory = FactMemory{.total = bytes_in(device.value<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE)),
                             .free = free_memory(device, extensions)},
    };
    Value& extra = facts.extra;
    if (const auto* members = platform.as_object())
        for (const auto& member : *members)
            extra[member.key] = member.value;
    extra["pci_source"] = address ? Value{address->source} : Value{};
    extra["driver_uuid"] = has_uuids ? to_value(uuid_in(device, CL_DRIVER_UUID_KHR)) : Value{};
    extra["luid"] = has_uuids ? to_value(luid_in(device)) : Value{};
    extra["host_unified_memory"] = to_value(unified);
    add_versions(device, extra);
    add_limits(device, extra);
    add_vendor_facts(device, extensions, extra);
    add_extensions(extensions, extra);
    return facts;
}

Value platform_facts(const PlatformInfo& platform) {
    Value facts{Value::Object{}};
    facts["platform_name"] = to_value(platform.text(CL_PLATFORM_NAME));
    facts["platform_vendor"] = to_value(platform.text(CL_PLATFORM_VENDOR));
    facts["platform_version"] = to_value(platform.text(CL_PLATFORM_VERSION));
    return facts;
}

}  // namespace gpuprobe::backends
