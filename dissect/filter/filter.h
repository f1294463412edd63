#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "dissect/filter/filter_error.h"

namespace dissect {
class FieldCollector;
class FieldRegistry;
}  // namespace dissect

namespace dissect::filter {

/// A display filter in Wireshark's language (wireshark-filter(4) of Wireshark 4.0), over the fields of a registry.
/// Additions: `xor`, parentheses around values, literals on the left, functions of slices, addresses in quotes.
/// Omissions: references to a selected frame (`${field}`), macros, host names.
class Filter {
public:
    static constexpr std::size_t max_length = std::size_t{64} << 10;

    /// Chooses the fields in `collector`. `expression` may be any bytes; an empty one passes every frame.
    static base::Result<Filter, FilterError> compile(std::string_view expression, const FieldRegistry& registry,
                                                     FieldCollector& collector);

    /// Whether the frame whose values the collector holds passes. The collector must be the one that the filter was
    /// compiled for, or one with the same fields in the same order. Not for two threads at once.
    bool matches(const FieldCollector& collector);

    Filter(Filter&&) noexcept;
    Filter& operator=(Filter&&) noexcept;
    ~Filter();

private:
    struct State;
    explicit Filter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace dissect::filter
