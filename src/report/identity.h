// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// The UUIDs of a GPU as each family of APIs spells them, and its DRM numbers. What names nothing
/// (see uuid_digits) is unknown: as a selector it would end a list of devices, or match another.
Identity identity_of(const Subject& subject);

/// Forgets every UUID that two GPUs share, as NVK up to Mesa 24.1 gives all cards of a model, and
/// sets `canonical_uuid` from what is left.
void settle_uuids(std::vector<Gpu>& gpus);

/// Ids and place on the bus; from the APIs where the hardware is hidden. nullopt off PCI.
std::optional<PciInfo> pci_of(const Subject& subject);

/// What to call it: an API's marketing name (in the order of ApiTrust::name; Mesa's
/// code name in parentheses is left off), the kernel driver's model or that of libdrm's table,
/// "Vendor Device" of pci.ids, or "10de:2335". nullopt when not even ids are known.
std::optional<std::string> name_of(const Subject& subject);

/// The fact `title`, the name as people say it, for screens and menus: of pci.ids' "Navi 31 [Radeon
/// RX 7900 XT]" what is in brackets, without the trade marks' signs and a company's full name, and
/// with the maker in front of what does not name it: "AMD Radeon RX 7900 XT". nullopt where only
/// ids are known. A report of a program before this fact gets it from the name.
std::optional<std::string> title_of(const Gpu& gpu);

/// The vendor's word; see report/vendor.h.
std::optional<std::string> vendor_of(const Subject& subject);

}  // namespace gpuprobe::inline report
