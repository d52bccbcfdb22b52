// SPDX-License-Identifier: Apache-2.0
#include "wire/reason.h"

#include "base/value_json.h"
#include "report/reason_table.h"
#include "wire/text.h"

namespace gpuprobe::bus {

std::string reason_text(std::string_view code, const Value& detail) {
    auto text = bus_text(code, kMaxReasonDetail);
    const auto* facts = detail.as_object();
    if (!facts || facts->empty())
        return text;
    const auto json = json_line(detail);
    if (json.size() <= kMaxReasonDetail.count)
        text += ' ' + bus_text(json);
    return text;
}

Value reason_value(std::string_view text) {
    const auto space = text.find(' ');
    Value reason;
    reason["code"] = today_for(text.substr(0, space));
    reason["detail"] = Value{Value::Object{}};
    if (space == std::string_view::npos)
        return reason;
    auto detail = parse_json(text.substr(space + 1), kMaxReasonDetail);
    if (detail && detail->as_object())
        reason["detail"] = std::move(detail).value();
    return reason;
}

}  // namespace gpuprobe::bus
