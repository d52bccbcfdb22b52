// SPDX-License-Identifier: Apache-2.0
#include "cli/fact_list.h"

#include <algorithm>

#include "base/parse.h"
#include "base/value_json.h"
#include "explain/phrase.h"
#include "explain/screen.h"
#include "explain/sizes.h"
#include "report/fact_table.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::size_t kFactIndent = 2;
constexpr std::size_t kMaxItemsShown = 64;

FactType type_of(std::string_view key) {
    if (key.starts_with("memory."))
        return FactType::Bytes;
    const auto* fact = device_fact(key);
    return fact ? fact->type : FactType::Text;
}

std::string item_text(const Value& item);
std::string array_text(const Value::Array& items);

bool is_list(const Value& value) {
    return value.as_object() != nullptr || value.as_array() != nullptr;
}

/// "index 0, size 16777216, io no": what is not known is left out.
std::string members_text(const Value::Object& members) {
    std::string text;
    for (const auto& member : members)
        if (!member.value.is_null())
            text += (text.empty() ? "" : ", ") + member.key + " " + item_text(member.value);
    return text;
}

std::string item_text(const Value& item) {
    if (const auto flag = item.as_bool())
        return *flag ? "yes" : "no";
    if (const auto* members = item.as_object())
        return members_text(*members);
    if (const auto* items = item.as_array())
        return array_text(*items);
    const auto* text = item.as_string();
    return text ? *text : json_line(item);
}

std::string array_text(const Value::Array& items) {
    std::string text;
    for (std::size_t i = 0; i < std::min(items.size(), kMaxItemsShown); ++i)
        text += (i == 0 ? "" : is_list(items[i]) ? "; " : ", ") + item_text(items[i]);
    if (items.size() > kMaxItemsShown)
        return phrase("{items} and {more} more",
                      {{"items", text}, {"more", std::to_string(items.size() - kMaxItemsShown)}});
    return text;
}

std::string value_text(std::string_view key, const Value& value) {
    if (const auto flag = value.as_bool())
        return *flag ? "yes" : "no";
    if (const auto number = value.as_unsigned()) {
        if (type_of(key) == FactType::Bytes)
            return size_text(Bytes{*number});
        if (type_of(key) == FactType::Hertz)
            return rate_text(static_cast<double>(*number), "Hz");
    }
    if (const auto* items = value.as_array())
        return array_text(*items);
    return item_text(value);
}

}  // namespace

void FactList::add(std::string_view label, std::string_view text, Tone tone) {
    facts_.push_back({.label = scrubbed(label), .text = scrubbed(text, 4096), .tone = tone});
}

void FactList::add_known(std::string_view label, const std::optional<std::string>& text) {
    if (text && !text->empty())
        add(label, *text);
}

void FactList::add_member(const std::string& key, const Value& value) {
    if (value.is_null())
        return;
    if (const auto* members = value.as_object()) {
        for (const auto& member : *members)
            add_member(key + "." + member.key, member.value);
        return;
    }
    if (const auto text = value_text(key, value); !text.empty())
        add(key, text);
}

void FactList::add_members(const Value& object, const std::vector<std::string>& but) {
    const auto* members = object.as_object();
    if (!members)
        return;
    for (const auto& member : *members)
        if (std::find(but.begin(), but.end(), member.key) == but.end())
            add_member(member.key, member.value);
}

std::size_t FactList::label_width() const {
    std::size_t width = 0;
    for (const auto& fact : facts_)
        width = std::max(width, display_width(fact.label));
    return width;
}

std::string FactList::text(const Screen& screen, std::size_t width) const {
    if (facts_.empty())
        return "";
    width = std::max(width, label_width());
    std::string lines = "\n" + toned(screen, Tone::Strong, title_) + "\n";
    for (const auto& fact : facts_) {
        const auto lead = "  " + toned(screen, Tone::Faint, padded_right(fact.label, width)) + "  ";
        const std::size_t lead_width = kFactIndent + width + 2;
        lines += hanging(screen, lead, lead_width, fact.text, fact.tone);
    }
    return lines;
}

}  // namespace gpuprobe::inline cli
