#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "exporters/flow_fields.h"

namespace service::inline recorder {

enum class Comparison : std::uint8_t { more, at_least, less, at_most, same, other };

/// `path OP value`: one figure of a flow against a constant.
struct Term {
    const exporters::FlowField* field = nullptr;
    Comparison comparison{};
    exporters::Value value = {};
    std::string operation_text = {};  ///< as it was written: ">="
    std::string value_text = {};      ///< "2ms"

    /// Whether the figure fulfils the term; an unknown figure never does.
    bool holds(const exporters::Value& figure) const;
};

/// `TERM [and TERM ...]`. OP is one of > >= < <= == !=. A value has the unit of its figure: "2ms" for ns, "64KiB" for
/// bytes, "1GiB/s" or "10Gbit/s" for bytes/s, "10Gbit/s" for bits/s, "1%" or 0.01 for shares, text for a text (== and
/// != only). A text without blanks needs no quotes.
struct Condition {
    std::vector<Term> terms;

    /// Fails with a sentence: what is wrong, and what to write instead.
    static base::Result<Condition> parse(std::string_view text);
};

}  // namespace service::recorder
