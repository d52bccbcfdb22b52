// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/value.h"
#include "wire/sdbus.h"

/// What the daemon's answers hold. Each function ignores keys it does not know and leaves null what
/// is missing. They throw sdbus::Error for a type that is not the interface's.
namespace gpuprobe::client {

/// Object path to GPU id.
using GpuIds = std::map<std::string, std::string>;
/// What ObjectManager.GetManagedObjects answers.
using ManagedObjects =
    std::map<sdbus::ObjectPath, std::map<std::string, std::map<std::string, sdbus::Variant>>>;

GpuIds gpu_ids(const ManagedObjects& objects);

/// The answer of SelectBackend in the report's form. A GPU that is gone meanwhile keeps its path.
Value decision_value(const bus::Dictionary& answer, const GpuIds& ids);

/// The answer of RecommendVariant as a Recommendation's object.
Value recommendation_value(const bus::Dictionary& answer, const GpuIds& ids);

/// One of ListOverrides: rule, set_at_usec, set_by_uid.
Value override_value(const bus::Dictionary& entry);

/// The answer of GetMemory in the report's form; sizes that are not known are left out.
Value memory_value(const bus::Dictionary& answer);

/// What the properties of an interface hold; one of an unknown type is left out.
Value properties_value(const bus::Dictionary& properties);

}  // namespace gpuprobe::client
