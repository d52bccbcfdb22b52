// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/outcome.h"

/// English for the stable codes. No other room turns a code into words.
namespace gpuprobe {

/// One code in words. In both texts "{key}" stands for that member of the reason's detail. "[A]" is
/// left out when a member that A names is unknown, and "[A|B]" becomes B then. "{key:size}" reads
/// bytes, "{key:signal}" a signal number, "{key:time}" microseconds since the epoch, "{key:vendor}"
/// a vendor's word, "{key:join}" a group that is worth joining.
struct Wording {
    std::string_view code;
    std::string_view sentence;
    std::string_view hint = {};  ///< what the reader can do about it; empty when nothing
};

struct Explanation {
    std::string sentence = {};
    std::optional<std::string> hint = {};
};

/// A code that has no wording is shown as it is, with its detail.
Explanation explain(const Reason& reason);

/// "SIGSEGV"; "signal 63" for a number without a name here.
std::string signal_name(int number);

/// A template with its placeholders filled, as for Wording. Exposed for tests.
std::string filled(std::string_view pattern, const Value& detail);

}  // namespace gpuprobe
