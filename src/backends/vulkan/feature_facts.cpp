// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/feature_facts.h"

#include "backends/texts.h"
#include "backends/vulkan/vulkan_names.h"
#include "backends/vulkan/webgpu.h"
#include "base/record.h"

namespace gpuprobe::backends {
namespace {

/// What a feature structure says; false where the device is known not to have the feature, null
/// where it could not be asked.
template <class Structure>
Value supported(const DeviceReply& reply,
                const std::optional<Structure>& structure,
                VkBool32 Structure::*member,
                const Origin& origin) {
    if (structure)
        return Value{(*structure).*member != VK_FALSE};
    return reply.lacks(origin) ? Value{false} : Value{};
}

void add_subgroup(const DeviceReply& reply, Value& extra) {
    const auto& subgroup = reply.subgroup;
    const auto& sizes = reply.subgroup_size;
    extra["subgroup_size"] = subgroup ? unless_zero(subgroup->subgroupSize) : Value{};
    extra["subgroup_operations"] =
        subgroup ? subgroup_operation_words(subgroup->supportedOperations) : Value{};
    extra["subgroup_size_min"] = sizes ? unless_zero(sizes->minSubgroupSize) : Value{};
    extra["subgroup_size_max"] = sizes ? unless_zero(sizes->maxSubgroupSize) : Value{};
}

Value matrix_list(const std::vector<CooperativeMatrixProperties>& matrices) {
    Value::Array list;
    for (const CooperativeMatrixProperties& matrix : matrices) {
        Value entry{Value::Object{}};
        entry["m"] = matrix.MSize;
        entry["n"] = matrix.NSize;
        entry["k"] = matrix.KSize;
        entry["a"] = component_word(matrix.AType);
        entry["b"] = component_word(matrix.BType);
        entry["c"] = component_word(matrix.CType);
        entry["result"] = component_word(matrix.ResultType);
        entry["saturating"] = matrix.saturatingAccumulation != VK_FALSE;
        entry["scope"] = scope_word(matrix.scope);
        list.push_back(std::move(entry));
    }
    return Value{std::move(list)};
}

void add_numbers(const DeviceReply& reply, Value& extra) {
    extra["shader_float16"] =
        supported(reply, reply.float16_int8,
                  &VkPhysicalDeviceShaderFloat16Int8Features::shaderFloat16, origin::kFloat16Int8);
    extra["shader_int8"] =
        supported(reply, reply.float16_int8, &VkPhysicalDeviceShaderFloat16Int8Features::shaderInt8,
                  origin::kFloat16Int8);
    extra["storage_buffer_16bit"] = supported(
        reply, reply.storage16, &VkPhysicalDevice16BitStorageFeatures::storageBuffer16BitAccess,
        origin::kStorage16);
    extra["storage_buffer_8bit"] =
        supported(reply, reply.storage8,
                  &VkPhysicalDevice8BitStorageFeatures::storageBuffer8BitAccess, origin::kStorage8);
    extra["integer_dot_product"] =
        supported(reply, reply.dot_product_feature,
                  &VkPhysicalDeviceShaderIntegerDotProductFeatures::shaderIntegerDotProduct,
                  origin::kDotProduct);
    extra["integer_dot_product_accelerated"] =
        supported(reply, reply.dot_product,
                  &VkPhysicalDeviceShaderIntegerDotProductProperties::
                      integerDotProduct4x8BitPackedSignedAccelerated,
                  origin::kDotProduct);
    extra["shader_bfloat16"] = supported(
        reply, reply.bfloat16, &ShaderBfloat16Features::shaderBFloat16Type, origin::kBfloat16);
    extra["cooperative_matrix"] =
        supported(reply, reply.matrix_feature, &CooperativeMatrixFeatures::cooperativeMatrix,
                  origin::kCooperativeMatrix);
    extra["cooperative_matrix_shapes"] = reply.matrices ? matrix_list(*reply.matrices) : Value{};
}

/// Features by the names that the specification, and so manifests, give them.
Value named_features(const DeviceReply& reply, const Value& extra) {
    Value named{Value::Object{}};
    for (const CoreFeature& feature : webgpu_features())
        named[feature.name] = (reply.features.*feature.member) != VK_FALSE;
    named["shaderInt16"] = reply.features.shaderInt16 != VK_FALSE;
    named["shaderInt64"] = reply.features.shaderInt64 != VK_FALSE;
    named["shaderFloat64"] = reply.features.shaderFloat64 != VK_FALSE;
    named["shaderFloat16"] = extra.at("shader_float16");
    named["shaderInt8"] = extra.at("shader_int8");
    named["storageBuffer16BitAccess"] = extra.at("storage_buffer_16bit");
    named["storageBuffer8BitAccess"] = extra.at("storage_buffer_8bit");
    named["shaderIntegerDotProduct"] = extra.at("integer_dot_product");
    named["shaderBFloat16Type"] = extra.at("shader_bfloat16");
    named["cooperativeMatrix"] = extra.at("cooperative_matrix");
    return named;
}

}  // namespace

void add_features(const DeviceReply& reply, Value& extra) {
    add_subgroup(reply, extra);
    add_numbers(reply, extra);
    extra["features"] = named_features(reply, extra);
    const auto webgpu = webgpu_support(reply.properties.apiVersion, reply.features);
    extra["webgpu"] = word_of(webgpu.level);
    extra["webgpu_missing"] = to_value(webgpu.missing);
}

}  // namespace gpuprobe::backends
