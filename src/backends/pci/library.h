// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/pci/pci.h"

struct pci_access;
struct pci_dev;

namespace gpuprobe::backends {

/// libpci, set up to read one sysfs tree and one id database.
///
/// libpci reports errors through a callback that must not return; here it leaves the call that
/// failed by longjmp. Only libpci's own C frames lie in between, so nothing is skipped that C++
/// would have to clean up.
class PciLibrary {
public:
    explicit PciLibrary(const PciSources& sources);
    ~PciLibrary();
    PciLibrary(const PciLibrary&) = delete;
    PciLibrary& operator=(const PciLibrary&) = delete;

    /// Finds the devices. False when libpci gave up; then error() says why, and no other call is
    /// allowed.
    bool scan();
    /// The first of the devices; they are linked by `next`.
    [[nodiscard]] pci_dev* devices() const;
    /// Reads class, ids, BARs and NUMA node of one device. False when libpci gave up.
    bool fill(pci_dev& device);

    /// A name from the database; nullopt when it has none, and for good once it turned out broken.
    std::optional<std::string> vendor_name(const pci_dev& device);
    std::optional<std::string> device_name(const pci_dev& device);
    std::optional<std::string> subsystem_name(const pci_dev& device);

    /// The first thing libpci complained about; nullopt when it did not.
    [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

private:
    template <class Call>
    bool guarded(Call call);
    template <class... Ids>
    std::optional<std::string> look_up(int what, Ids... ids);

    pci_access* access_ = nullptr;
    std::optional<std::string> error_ = {};
    bool has_names_ = true;
};

}  // namespace gpuprobe::backends
