// SPDX-License-Identifier: Apache-2.0
#include "backends/demo/demo.h"

#include "report/fact_key.h"

namespace gpuprobe::backends {

namespace facts {
constexpr FactKey<std::string> kApiVersion{"api_version"};
constexpr FactKey<std::uint64_t> kLanes{"lanes"};
constexpr FactKey<bool> kWide{"wide"};
}  // namespace facts

Answer query_demo(const ProbeTarget&, Sink& sink) {
    constexpr Bytes kMemory{std::uint64_t{16} << 30};
    sink.phase("enumerate");
    sink.runtime(Value{Value::Object{{"version", "1.2"}}});
    DeviceFacts device{.index = 0,
                       .name = "Demo accelerated graphics",
                       .vendor_id = "1ed5",
                       .device_id = "0200",
                       .pci = parse_text("0000:65:00.0", std::type_identity<PciAddress>{}),
                       .uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f",
                       .type = DeviceType::Discrete,
                       .memory = FactMemory{.total = kMemory, .free = kMemory}};
    device.extra = Value{Value::Object{{std::string{facts::kApiVersion.name}, "1.2"},
                                       {std::string{facts::kLanes.name}, 64},
                                       {std::string{facts::kWide.name}, false}}};
    sink.device(device);
    return {};
}

}  // namespace gpuprobe::backends
