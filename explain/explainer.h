#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/explanation.h"
#include "explain/knowledge.h"

namespace explain {

/// Explains lines and codes. Remembers the settings of adapters that earlier lines name.
class Explainer {
public:
    static base::Result<Explainer> make();

    /// No value for a line of something else. `reference_ns` is a time near the line's, for lines without a year.
    std::optional<Explanation> explain_line(std::string_view line, std::int64_t reference_ns);
    /// A bare code: "12", "IBV_WC_WR_FLUSH_ERR", "vendor err 129", "rej 28", "errno 110", "syndrome 0x15". No value if
    /// the text is no such code.
    std::optional<Explanation> explain_code(std::string_view text) const;

    /// For tests.
    const Knowledge& knowledge() const { return *knowledge_; }

private:
    explicit Explainer(Knowledge knowledge);

    const Pattern* match(std::string_view line, const std::vector<Pattern>& patterns,
                         std::vector<std::optional<dissect::filter::Regex>>& compiled,
                         std::vector<dissect::filter::Regex::Group>& groups) const;
    void learn_setting(std::string_view line);

    std::unique_ptr<Knowledge> knowledge_;                         ///< Facts point into it
    std::vector<std::optional<dissect::filter::Regex>> patterns_;  ///< each compiled when a line may need it
    std::vector<std::optional<dissect::filter::Regex>> settings_patterns_;
    std::map<std::string, RetrySettings> settings_ = {};  ///< by software
};

}  // namespace explain
