#pragma once
#include "dissect/dissector.h"
#include "dissect/subnet/management_learner.h"

namespace dissect::subnet {

/// Stands between a Dissector and its sink: learns names from management datagrams, and passes everything on.
class LearningSink final : public Sink {
public:
    explicit LearningSink(Sink& next) : next_(next) {}

    void on_frame(const wire::Frame& frame, const Dissection& dissection) override {
        next_.on_frame(frame, dissection);
    }
    void on_unit(const Unit& unit) override {
        learner_.learn(unit);
        next_.on_unit(unit);
    }
    void on_notice(const Notice& notice) override { next_.on_notice(notice); }

    const SubnetNames& names() const { return learner_.names(); }

private:
    ManagementLearner learner_ = {};
    Sink& next_;
};

}  // namespace dissect::subnet
