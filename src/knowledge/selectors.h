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

/// How programs are told which GPUs to use, and which not: data/knowledge/selectors.json.
namespace gpuprobe::knowledge {

/// Stable: names the device, on this machine and after a restart. Index: counts devices, which
/// holds only in the environment that comes with it and until the hardware or a driver changes.
/// Part: leaves fewer devices than there are, and perhaps more than are meant.
enum class SelectorKind { Stable, Index, Part };
constexpr std::array<EnumName<SelectorKind>, 3> names_of(SelectorKind) {
    return {{{SelectorKind::Stable, "stable"},
             {SelectorKind::Index, "index"},
             {SelectorKind::Part, "part"}}};
}

/// How the value of a variable says which GPUs a program may use.
enum class ListForm {
    CudaIds,         ///< positions, or the start of a UUID; ends with the first that is neither
    HipIds,          ///< the same; empty counts as unset
    RocrIds,         ///< the same; empty is none
    PciRanks,        ///< positions in order of PCI address; empty counts as unset
    Backends,        ///< "backend:devices;backend:devices", with "!" for those taken away
    Numbers,         ///< positions; without any there is no GPU
    Manifests,       ///< paths of drivers' manifests, or of folders with some
    OlderManifests,  ///< the same, and not looked at where VK_DRIVER_FILES is set
    DriversOff,      ///< patterns of manifests that are left out
    DriversOn,       ///< patterns of the only manifests that are not
    PciIds,          ///< "vendor:device!"
    PrimeIds,        ///< the same, or "pci-0000_03_00_0!"
};
constexpr std::array<EnumName<ListForm>, 12> names_of(ListForm) {
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
             {ListForm::PrimeIds, "prime-ids"}}};
}

/// Variable → template over facts of GPUs (policy/selector_facts.h).
using Variables = std::map<std::string, std::string>;

/// A library that looks at variables to learn which GPUs it may use.
struct Reader {
    std::string name = {};  ///< in profiles: "cuda", "ggml-vulkan"
    std::string api = {};   ///< a word of report/api_table.h, "opengl" or "container"
    std::vector<std::string> reads = {};
    Variables hide = {};                         ///< values under which it has no GPU at all
    std::map<std::string, ListForm> lists = {};  ///< how a variable says which GPUs are left
    std::vector<std::string> reaches = {};  ///< APIs whose drivers of the same vendor `hide` hides
};

/// One way to make programs use some GPUs and no others.
struct UseRow {
    std::string api = {};  ///< as a reader's, or "ggml" for its names of devices
    SelectorKind kind = SelectorKind::Stable;
    Variables variables = {};                  ///< what selects; none for an argument
    std::optional<std::string> argument = {};  ///< for programs that take it as a word
    Variables environment = {};                ///< what must be set beside it
};

class Selectors {
public:
    /// What is in use, until another library is.
    static const Selectors& current();
    /// Errors: Malformed, TooLarge, with the row and member at fault: a variable that no reader of
    /// the API reads, a reader twice.
    static Result<Selectors> from(std::string_view json);

    [[nodiscard]] const std::vector<Reader>& readers() const { return readers_; }
    /// In the order in which those of one API are to be preferred.
    [[nodiscard]] const std::vector<UseRow>& uses() const { return uses_; }
    /// nullptr for a word that is no reader.
    [[nodiscard]] const Reader* find(std::string_view name) const;

private:
    std::vector<Reader> readers_ = {};
    std::vector<UseRow> uses_ = {};
};

}  // namespace gpuprobe::knowledge
