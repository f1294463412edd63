#include "cli/dump/inspector.h"

#include <fmt/format.h>

#include "dissect/dissector.h"

namespace cli::dump {

struct Inspector::State : dissect::Sink {
    State(const DumpOptions& chosen, TextOutput& text) : options(chosen), output(text) {}

    void on_unit(const dissect::Unit&) override { ++units; }

    const DumpOptions& options;
    TextOutput& output;
    dissect::Dissector dissector;
    unsigned units = 0;
};

Inspector::Inspector(std::unique_ptr<State> state) : state_(std::move(state)) {}
Inspector::~Inspector() = default;

wire::Result<std::unique_ptr<Inspector>, std::string> Inspector::make(const DumpOptions& options, const Environment&,
                                                                      TextOutput& output) {
    if (!options.prints() && options.display_filter.empty()) return std::unique_ptr<Inspector>{};
    return std::unique_ptr<Inspector>(new Inspector(std::make_unique<State>(options, output)));
}

void Inspector::begin(const capture::Source&) {}

bool Inspector::inspect(const wire::Frame& frame) {
    State& s = *state_;
    s.units = 0;
    s.dissector.dissect(frame, s);
    if (s.units != 0) s.output.outlet().text() += fmt::format("{} {}\n", frame.number, s.units);
    s.output.outlet().settle();
    return s.units != 0;
}

void Inspector::end() {}

}  // namespace cli::dump
