#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/field_collector.h"
#include "dissect/filter/filter.h"
#include "dissect/registry.h"

namespace filter_test {

/// The registry takes a while to build; all tests share one.
inline const dissect::FieldRegistry& registry() {
    static const dissect::FieldRegistry shared;
    return shared;
}

/// Values made up for a frame, as if layers had been described.
class Feed {
public:
    Feed& number(std::string_view name, std::uint64_t value) { return add(name, {value, {}, {}}); }
    Feed& octets(std::string_view name, std::vector<unsigned> values) {
        std::vector<std::byte>& kept = octets_.emplace_back();
        for (const unsigned value : values) kept.push_back(static_cast<std::byte>(value));
        return add(name, {0, kept, {}});
    }
    Feed& text(std::string_view name, std::string value) {
        return add(name, {0, {}, texts_.emplace_back(std::move(value))});
    }
    void visit(dissect::FieldCollector& collector) const {
        collector.begin_frame({});
        for (const auto& [info, value] : fields_) collector.field(*info, value, {});
    }
    /// A name that the registry does not know is reported so, lest a test passes for the wrong reason.
    const std::vector<std::string>& unknown() const { return unknown_; }

private:
    struct Given {
        const wire::FieldInfo* info;
        wire::Value value;
    };
    Feed& add(std::string_view name, wire::Value value) {
        const auto* field = registry().find(name);
        if (field == nullptr)
            unknown_.emplace_back(name);
        else
            fields_.push_back({field->info, value});
        return *this;
    }

    std::vector<Given> fields_;
    std::deque<std::vector<std::byte>> octets_;
    std::deque<std::string> texts_;
    std::vector<std::string> unknown_;
};

/// `yes`, `no`, or the error's message.
inline std::string answer(std::string_view expression, const Feed& feed) {
    dissect::FieldCollector collector{registry()};
    auto filter = dissect::filter::Filter::compile(expression, registry(), collector);
    if (!filter) return filter.error().message;
    feed.visit(collector);
    return filter->matches(collector) ? "yes" : "no";
}

}  // namespace filter_test
