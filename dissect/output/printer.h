#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "dissect/dissector.h"
#include "dissect/output/frame_fields.h"

/// What the ways of showing frames have in common. A printer is the sink of a Dissector; the caller says after each
/// frame whether to show it:
///
///     printer.begin();
///     while (...) { dissector.dissect(frame, printer); printer.end_frame(shown); }
///     printer.finish();
///
/// The frame lives until `end_frame` has returned. A printer appends to a text that the caller owns and empties between
/// frames as it likes.
namespace dissect::output {

/// The capture's name for an interface of the source, by `Frame::interface`. May be an empty function.
using InterfaceNames = std::function<InterfaceName(std::uint32_t)>;

class Printer : public Sink {
public:
    virtual void begin() {}
    /// The frame is complete: shown, or skipped (but remembered for the times of later ones).
    virtual void end_frame(bool shown) = 0;
    virtual void finish() {}
};

/// Visits all of a frame: `frame`, its layers, its notices and units; for printers that show the whole tree.
///
/// `frame` comes first in the output, but the protocols that it names are known last. So the layers go to one visitor
/// as they come, and `frame` to another at the end.
class TreePrinterBase : public Printer {
public:
    explicit TreePrinterBase(InterfaceNames names) : names_(std::move(names)) {}

    void on_frame(const wire::Frame& frame, const Dissection& dissection) final;
    void on_unit(const Unit& unit) final;
    void on_notice(const Notice& notice) final;
    void on_message(const UpperMessage& message) final;
    void end_frame(bool shown) final;

protected:
    /// A new frame begins: what was gathered for the old one is no longer needed.
    virtual void start() = 0;
    /// Receives all but `frame`.
    virtual Visitor& body() = 0;
    /// The body is complete and to be shown.
    virtual void show(const FrameView& view) = 0;

private:
    InterfaceNames names_;
    FrameClock clock_;
    FrameTimes times_;
    const wire::Frame* frame_ = nullptr;
    const Dissection* dissection_ = nullptr;
    std::string protocols_;
    bool has_units_ = false;
};

}  // namespace dissect::output
