// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/version.h"

/// The environment variables that a data file may set. The list is in the code on purpose, because
/// a data file that could extend the list could also set LD_PRELOAD. See docs/data-files.md, "What
/// a data file can do".

namespace gpuprobe::knowledge {

/// Returns the reason why a data file must not set this variable; nullopt if the variable is
/// allowed. Two groups of variables are allowed. First, variables that restrict drivers and their
/// loaders to certain GPUs. Second, an application's own variables that choose GPUs or backends:
/// the name of such a variable begins with the application's name, and all other words in the name
/// are about GPUs. `owner` is the name of the application that the data file describes; it may be
/// empty.
std::optional<std::string> variable_problem(std::string_view name, std::string_view owner);

/// Returns the reason why a data file must not set the variable to this value (a template); nullopt
/// if the value is allowed. If a variable names files to load, its value must be something that
/// gpuprobe itself finds on the machine (the template must consist of exactly one fact), or the
/// path that hides all GPUs.
std::optional<std::string> value_problem(std::string_view name, std::string_view text);

// Variables that restrict programs to certain GPUs, or hide GPUs from them:
// data/knowledge/selectors.json.

/// The reliability with which a selector identifies a GPU. Stable: the selector identifies the
/// device on this machine, even after a restart. Index: the selector is a position in a list of
/// devices, and is valid only together with its environment and until the hardware or a driver
/// changes. Part: the selector hides some devices, but may leave other devices visible in addition
/// to the intended device.
enum class SelectorKind { Stable, Index, Part };
constexpr std::array<EnumName<SelectorKind>, 3> names_of(SelectorKind) {
    return {{{SelectorKind::Stable, "stable"},
             {SelectorKind::Index, "index"},
             {SelectorKind::Part, "part"}}};
}

/// The syntax of a variable that lists the GPUs that a program may use.
enum class ListForm {
    CudaIds,         ///< positions or prefixes of UUIDs; the list ends at the first invalid item
    HipIds,          ///< like CudaIds, but an empty value counts as unset
    RocrIds,         ///< like CudaIds, but an empty value hides all GPUs
    PciRanks,        ///< positions in order of PCI address; an empty value counts as unset
    Backends,        ///< "backend:devices;backend:devices"; "!" excludes devices
    Numbers,         ///< positions in a list; an empty value hides all GPUs
    Manifests,       ///< paths of driver manifests, or of folders with manifests
    OlderManifests,  ///< like Manifests, but ignored if VK_DRIVER_FILES is set
    DriversOff,      ///< patterns of manifests that aren't used
    DriversOn,       ///< patterns of the only manifests that are used
    PciIds,          ///< "vendor:device!"
    PrimeIds,        ///< like PciIds, or a path tag such as "pci-0000_03_00_0!"
    DeviceIds,       ///< PCI device ids or ranges of ids; an empty value counts as unset
};
constexpr std::array<EnumName<ListForm>, 13> names_of(ListForm) {
    return {{{ListForm::CudaIds, "cuda-ids"},
             {ListForm::HipIds, "hip-ids"},
             {ListForm::RocrIds, "rocr-ids"},
             {ListForm::PciRanks, "pci-ranks"},
             {ListForm::Backends, "backends"},
             {ListForm::Numbers, "numbers"},
             {ListForm::Manifests, "manifests"},
             {ListForm::OlderManifests, "older-manifests"},
             {ListForm::DriversOff, "drivers-off"},
             {ListForm::DriversOn, "drivers-on"},
             {ListForm::PciIds, "pci-ids"},
             {ListForm::PrimeIds, "prime-ids"},
             {ListForm::DeviceIds, "device-ids"}}};
}

/// A map from the name of a variable to its value, a template that contains facts about GPUs
/// (policy/gpu_selection.h).
using Variables = std::map<std::string, std::string>;

/// A library that reads environment variables to determine which GPUs it may use.
struct Reader {
    std::string name = {};  ///< name in data files, such as "cuda" or "ggml-vulkan"
    std::string api = {};   ///< name of an API in report/api_table.h, "opengl" or "container"
    std::vector<std::string> reads = {};
    Variables hide = {};  ///< values that hide all GPUs from the library
    /// Values that hide all GPUs, for variables that otherwise add devices; needed only if the
    /// caller has set such a variable.
    Variables hide_if_set = {};
    /// variables that list the remaining GPUs, with their syntax
    std::map<std::string, ListForm> lists = {};
    /// APIs for which `hide` also hides the drivers of the same vendor
    std::vector<std::string> reaches = {};
};

/// The oldest versions of Mesa and of the Vulkan loader with which a row works, and the OpenCL
/// loader that the row needs; nullopt means any version or loader.
struct Since {
    std::optional<Version> mesa = {};  ///< version of the driver and of its device-select layer
    std::optional<Version> vulkan_loader = {};  ///< version of the machine's libvulkan.so.1
    /// Name that the machine's OpenCL loader reports.
    std::optional<std::string> opencl_loader = {};
};

/// One way to restrict programs to certain GPUs.
struct UseRow {
    std::string api = {};  ///< as in Reader, or "ggml" for device names in ggml's notation
    SelectorKind kind = SelectorKind::Stable;
    /// the variables to set; empty if `argument` is used
    Variables variables = {};
    /// for programs that take the selection as an argument
    std::optional<std::string> argument = {};
    /// Additional variables that are needed for the selection to be valid. In a row with
    /// SelectorKind::Part, these are variables that prefer the selected GPUs but do not always hide
    /// other GPUs.
    Variables environment = {};
    std::optional<Since> since = {};
};

class Selectors {
public:
    /// The table of the knowledge base in use; valid until another knowledge base is put into use.
    static const Selectors& current();
    /// Reads selectors.json. Errors: Malformed or TooLarge; the message names the row and member at
    /// fault. It is an error if a row sets a variable that no reader of its API reads, or if a
    /// reader is listed twice.
    static Result<Selectors> from(std::string_view json);

    [[nodiscard]] const std::vector<Reader>& readers() const { return readers_; }
    /// The rows, sorted by preference within each API.
    [[nodiscard]] const std::vector<UseRow>& uses() const { return uses_; }
    /// The reader with the given name; nullptr if there is no such reader.
    [[nodiscard]] const Reader* find(std::string_view name) const;

private:
    std::vector<Reader> readers_ = {};
    std::vector<UseRow> uses_ = {};
};

}  // namespace gpuprobe::knowledge
