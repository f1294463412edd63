#include "daemon/sources.h"

#include <algorithm>

namespace service {

namespace {

constexpr int wait_with_devices_ms = 1;

}  // namespace

Sources::Sources(std::unique_ptr<capture::Tap> tap, std::vector<std::unique_ptr<capture::VerbsSource>> devices,
                 std::uint64_t frames_before, int longest_wait_ms)
    : tap_(std::move(tap)), frames_(frames_before), error_(&tap_->error()) {
    for (auto& source : devices) {
        const auto ports = static_cast<std::uint32_t>(source->interfaces().size());
        devices_.push_back({std::move(source), device_interfaces_});
        device_interfaces_ += ports;
    }
    tap_->set_wait_ms(devices_.empty() ? longest_wait_ms : std::min(longest_wait_ms, wait_with_devices_ms));
}

capture::ReadStatus Sources::next(wire::Frame& frame) { return next_batch({&frame, 1}).status; }

bool Sources::from_device(Device& device, std::span<wire::Frame> frames, capture::Batch& batch) {
    if (device.gone) return false;
    batch = device.source->next_batch(frames);
    for (wire::Frame& frame : frames.first(batch.count)) {
        frame.interface += device.first_interface;
        frame.number = ++frames_;
    }
    if (batch.status == capture::ReadStatus::timeout) return false;
    if (batch.status != capture::ReadStatus::frame) {
        device.gone = true;
        const bool removed = batch.status == capture::ReadStatus::end;
        const std::string& name = device.source->interfaces().front().name;
        events_.push_back(
            {capture::TapEvent::Kind::lost, name,
             removed ? name + ": the device was removed; start again when it is back" : device.source->error().text()});
        return false;
    }
    return true;
}

capture::Batch Sources::next_batch(std::span<wire::Frame> frames) {
    capture::Batch batch;
    for (std::size_t asked = 0; asked < devices_.size(); ++asked) {
        turn_ = turn_ < devices_.size() ? turn_ + 1 : 0;
        if (turn_ == devices_.size()) break;  // the kernel's interfaces have their turn
        if (from_device(devices_[turn_], frames, batch)) return batch;
    }
    batch = tap_->next_batch(frames);
    for (wire::Frame& frame : frames.first(batch.count)) {
        frame.interface += device_interfaces_;
        frame.number = ++frames_;
    }
    return batch;
}

const std::vector<capture::InterfaceInfo>& Sources::interfaces() const {
    if (devices_.empty()) return tap_->interfaces();
    const std::vector<capture::InterfaceInfo>& kernels = tap_->interfaces();
    const bool same = interfaces_.size() == device_interfaces_ + kernels.size() &&
                      std::equal(kernels.begin(), kernels.end(), interfaces_.begin() + device_interfaces_);
    if (same) return interfaces_;
    interfaces_.clear();
    for (const Device& device : devices_)
        interfaces_.insert(interfaces_.end(), device.source->interfaces().begin(), device.source->interfaces().end());
    interfaces_.insert(interfaces_.end(), kernels.begin(), kernels.end());
    return interfaces_;
}

capture::Statistics Sources::statistics() const {
    capture::Statistics sum = tap_->statistics();
    for (const Device& device : devices_) sum += device.source->statistics();
    return sum;
}

capture::Statistics Sources::statistics(std::size_t interface) const {
    if (interface >= device_interfaces_) return tap_->statistics(interface - device_interfaces_);
    for (const Device& device : devices_)
        if (interface < device.first_interface + device.source->interfaces().size())
            return device.source->statistics(interface - device.first_interface);
    return {};
}

std::vector<capture::TapEvent> Sources::events() {
    std::vector<capture::TapEvent> all = std::exchange(events_, {});
    for (capture::TapEvent& event : tap_->events()) all.push_back(std::move(event));
    return all;
}

bool Sources::is_open(std::size_t interface) const {
    for (const Device& device : devices_)
        if (interface >= device.first_interface &&
            interface < device.first_interface + device.source->interfaces().size())
            return !device.gone;
    return interface >= device_interfaces_ && tap_->is_open(interface - device_interfaces_);
}

bool Sources::hardware_timestamps(std::size_t interface) const {
    return interface >= device_interfaces_ && tap_->hardware_timestamps(interface - device_interfaces_);
}

}  // namespace service
