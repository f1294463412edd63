#pragma once
#include <cstdint>
#include <string>

#include "dissect/describe.h"
#include "dissect/dissector.h"
#include "wire/frame.h"

/// What must hold for any octets at all. A violation aborts: that is what a fuzzer and a sanitizer notice.
namespace fuzz {

/// Walks a description, prints every value, and checks that it is well-formed.
class Examiner final : public dissect::Visitor {
public:
    void begin(std::size_t octets);
    void end() const;

    void open(const wire::FieldInfo& heading, const wire::Value& value, dissect::Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent) override;
    void close() override;

private:
    void look(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent);

    std::size_t octets_ = 0;
    unsigned depth_ = 0;
    std::string text_;
};

/// Aborts unless a dissection refers to `octets` octets only.
void check(const dissect::Dissection& dissection, std::size_t octets);

/// Receives what a dissector finds. With `describe`, everything is described and printed as well.
class CheckingSink final : public dissect::Sink {
public:
    explicit CheckingSink(bool describe) : describe_(describe) {}
    void describe(bool wanted) { describe_ = wanted; }
    std::uint64_t units() const { return units_; }

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override;
    void on_unit(const dissect::Unit& unit) override;
    void on_notice(const dissect::Notice& notice) override;

private:
    bool describe_;
    std::uint64_t units_ = 0;
    Examiner examiner_;
};

/// Bounds so small that hostile traffic meets them.
dissect::DissectorOptions small_bounds();

[[noreturn]] void violated(const char* what);

}  // namespace fuzz
