#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dissect/dissector.h"
#include "exporters/report/sequence_plot.h"
#include "metrics/figures/snapshot.h"
#include "metrics/measure/notes/sequence_points.h"

namespace cli::report {

/// Reads frames, and collects the plots of chosen flows: sequence against time, with what each packet is.
class MarkCollector final : public dissect::Sink {
public:
    struct Bounds {
        std::size_t marks = 30'000;  ///< of all plots
        std::uint64_t capture_ns = 0;
    };
    /// `flows` have plots, in this order. The marks of `frames` are kept.
    MarkCollector(std::span<const metrics::FlowSnapshot* const> flows, std::span<const std::uint64_t> frames,
                  const Bounds& bounds);

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override;
    /// iWARP: what the segment carries.
    void on_unit(const dissect::Unit& unit) override;
    /// The plots; no frames follow.
    std::vector<exporters::report::SequencePlot> take();

private:
    using Mark = exporters::report::SequenceMark;
    static constexpr std::size_t no_plot = ~std::size_t{0};
    struct Pair {
        metrics::SequencePoints points = {};
        std::size_t forward = no_plot;  ///< index into plots_
        std::size_t backward = no_plot;
    };
    struct Plot {
        exporters::report::SequencePlot plot;
        exporters::report::MarkThinner thinner;
        std::unordered_map<std::uint32_t, std::uint32_t> labels = {};
    };
    struct Waiting {
        std::size_t plot = 0;
        Mark mark = {};
    };

    void add_pair(const metrics::FlowSnapshot& flow);
    std::uint32_t label_of(Plot& plot, const metrics::SequencePoint& point);
    static std::uint32_t add_label(Plot& plot, std::uint32_t key, std::string text);
    void settle();

    std::vector<Plot> plots_ = {};
    std::vector<Pair> pairs_ = {};
    std::unordered_multimap<std::uint64_t, std::size_t> by_key_ = {};  ///< index into pairs_
    std::vector<metrics::SequencePoint> taken_ = {};
    std::vector<Waiting> waiting_ = {};  ///< marks of the present frame, until its units are known
    std::uint64_t waiting_frame_ = 0;
};

}  // namespace cli::report
