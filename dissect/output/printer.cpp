#include "dissect/output/printer.h"

#include "dissect/joined_records.h"
#include "dissect/output/command_fields.h"

namespace dissect::output {

void TreePrinterBase::on_frame(const wire::Frame& frame, const Dissection& dissection) {
    start();
    frame_ = &frame;
    dissection_ = &dissection;
    times_ = clock_.next(frame);
    protocols_.clear();
    append_protocols(protocols_, dissection);
    has_units_ = false;
    describe(dissection, frame.bytes, body());
}

void TreePrinterBase::on_unit(const Unit& unit) {
    has_units_ = true;
    if (!unit.in_frame) {
        append_protocols(protocols_, unit.dissection);
        describe(unit.dissection, unit.bytes, body());
    }
    describe_unit(unit, body());
    visit_joined_records(unit,
                         [this](const Dissection& record, base::Bytes bytes) { describe(record, bytes, body()); });
}

void TreePrinterBase::on_notice(const Notice& notice) { describe_notice(notice, body()); }

void TreePrinterBase::on_message(const UpperMessage& message) {
    describe(message.dissection, message.bytes, body());
    describe_command(message, body());
}

void TreePrinterBase::end_frame(bool shown) {
    if (frame_ == nullptr || !shown) return;
    if (!has_units_) describe_outcome(*dissection_, body());
    const InterfaceName interface = names_ ? names_(frame_->interface) : InterfaceName{};
    show(FrameView{*frame_, *dissection_, times_, interface, protocols_});
    clock_.shown();
    frame_ = nullptr;
}

}  // namespace dissect::output
