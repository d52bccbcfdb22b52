// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/result.h"

/// Why a GPU is not used, as documents: data/knowledge/causes/*.json. docs/extending.md says how
/// one is written, data/schema/causes.schema.json has the form.
namespace gpuprobe::knowledge {

/// What is said of a cause, and what helps, where its terms hold; of several the first is meant.
struct Remedy {
    std::vector<std::string> when = {};         ///< terms; none: always
    std::optional<std::string> case_name = {};  ///< told in the evidence as `case`
    std::optional<std::string> text = {};       ///< in place of the cause's
    std::optional<std::string> fix = {};        ///< for people; commands follow it
    std::vector<std::string> run = {};          ///< commands of a shell
    bool is_safe = false;  ///< the commands change nothing that can't be undone as easily
    /// They are run on the host and not in this container or sandbox.
    bool is_for_host = false;
};

struct Cause {
    std::string id = {};
    std::string of = {};                   ///< "machine", "gpu", "accelerator" or "device", both
    std::vector<std::string> from = {};    ///< where its evidence is; none: one finding at most
    std::optional<std::string> once = {};  ///< a member of the evidence that differs in each
    std::vector<std::string> when = {};    ///< all of them hold
    std::vector<std::string> unless = {};  ///< none of them holds
    std::map<std::string, std::string> show = {};  ///< members of the evidence, and where they are
    bool is_alone = false;  ///< only where nothing graver was found on the device
    std::string severity = {};
    std::vector<std::string> eased = {};  ///< where all hold, it is a warning at most
    std::string text = {};
    std::vector<Remedy> fixes = {};
};

class Causes {
public:
    /// The documents that are in use.
    static const Causes& current();
    /// Adds a document. Errors: Malformed, TooLarge, with the row and member at fault.
    Status add(std::string_view json);

    [[nodiscard]] const std::vector<Cause>& all() const { return causes_; }
    /// Names of the variables that change what a program sees of the GPUs, each with what it does:
    /// "hides-devices", "chooses-drivers" …
    [[nodiscard]] const std::map<std::string, std::string>& variables() const { return variables_; }
    /// What is in the lines of the kernel's log that are about graphics drivers: one of these.
    [[nodiscard]] const std::vector<std::string>& log_words() const { return log_words_; }

private:
    std::vector<Cause> causes_ = {};
    std::map<std::string, std::string> variables_ = {};
    std::vector<std::string> log_words_ = {};
};

}  // namespace gpuprobe::knowledge
