#include "tui/view/flow_figures.h"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

#include "exporters/flow_fields.h"
#include "exporters/value.h"
#include "metrics/figures/latencies.h"
#include "tui/view/figures.h"

namespace tui::inline view {

namespace {

using metrics::FlowSnapshot;

constexpr int label_width = 16;
constexpr int value_width = 12;
constexpr int block_width = label_width + 2 * value_width;

constexpr std::array<std::string_view, metrics::nak_code_count> nak_labels{
    "NAK sequence", "NAK invalid", "NAK access", "NAK operational", "NAK invalid RD", "NAK other"};

/// Digits as long as they fit, then three of them and a prefix.
std::string count_text(std::uint64_t count) {
    std::string text = base::group_digits(count);
    return width_of(text) < value_width ? text : base::format_count(count);
}

struct FigureText {
    FigureText(std::string words, bool is_idle = false) : text(std::move(words)), idle(is_idle) {}

    std::string text;
    bool idle;  ///< nothing is known, or the figure is 0
};
const FigureText no_figure("-", true);

/// Puts figures together, of the interval and of all.
class Maker {
public:
    Maker(const FlowPicture& picture, const Letters& letters) : picture_(picture), letters_(letters) {}

    using Text = std::function<FigureText(const FlowSnapshot&)>;
    using Count = std::function<std::uint64_t(const FlowSnapshot&)>;

    void text(std::string label, unsigned weight, const Text& of) {
        const auto one = [&of](const FlowSnapshot* flow) { return flow == nullptr ? no_figure : of(*flow); };
        FigureText interval = one(picture_.interval);
        FigureText total = one(picture_.total);
        figures.push_back(
            {std::move(label), std::move(interval.text), std::move(total.text), interval.idle, Role::normal, weight});
    }
    void count(std::string label, unsigned weight, const Count& of) {
        text(std::move(label), weight, [&of](const FlowSnapshot& flow) {
            const std::uint64_t count = of(flow);
            return FigureText(count_text(count), count == 0);
        });
    }
    /// What should be nothing: coloured where it is not, and left out unless `always`.
    void trouble(std::string label, Role role, const Count& of, bool always = false) {
        const bool none = picture_.any() == nullptr || of(*picture_.any()) == 0;
        if (none && !always) return;
        count(std::move(label), none ? 2 : 0, of);
        if (!none) figures.back().role = role;
    }
    void quantile(std::string label, unsigned weight, double share,
                  const std::function<const metrics::Histogram&(const FlowSnapshot&)>& of) {
        text(std::move(label), weight, [&](const FlowSnapshot& flow) {
            const auto time_ns = of(flow).quantile(share);
            return FigureText(base::format_duration(time_ns, in_sentence(letters_)), !time_ns);
        });
    }

    std::vector<FlowFigure> figures = {};

private:
    const FlowPicture& picture_;
    const Letters& letters_;
};

void add_traffic(Maker& maker, const FlowPicture& picture) {
    maker.text("goodput", 0, [&picture](const FlowSnapshot& flow) {
        if (picture.any()->messages_total() == 0) return no_figure;
        if (metrics::partly_read(flow) || metrics::lacks_lengths(flow)) return no_figure;
        const bool interval = &flow == picture.interval && picture.state.reading != nullptr;
        std::uint64_t ns = 0;
        if (picture.state.reading) ns = interval ? picture.state.reading->length_ns : picture.state.reading->whole_ns();
        const auto length = static_cast<double>(ns);
        const auto per_sec = length > 0 ? std::optional(static_cast<double>(flow.message_bytes_total()) * 1e9 / length)
                                        : flow.goodput_bytes_per_sec();
        return per_sec ? base::format_bit_rate(*per_sec * 8) : no_figure;
    });
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        if (picture.any()->operations[i].count == 0) continue;
        std::string name(metrics::operation_names[i]);
        std::replace(name.begin(), name.end(), '_', ' ');
        maker.count(name, 1, [i](const FlowSnapshot& flow) { return flow.operations[i].count; });
    }
    // Who only answers READs has no messages of its own.
    if (picture.any()->messages_total() == 0 && picture.any()->payload_bytes != 0)
        maker.text(metrics::only_begun(*picture.any()) ? "unfinished" : "responses", 0,
                   [](const FlowSnapshot& flow) { return base::format_size(flow.payload_bytes); });
    if (!picture.any()->message_bytes.empty())
        maker.text("message size", 4,
                   [](const FlowSnapshot& flow) { return base::format_size(flow.message_bytes.mean()); });
    maker.count("packets", 6, [](const FlowSnapshot& flow) { return flow.packets; });
    maker.text("on the wire", 7, [](const FlowSnapshot& flow) { return base::format_size(flow.wire_bytes); });
}

void add_latency(Maker& maker, const FlowPicture& picture) {
    const auto operation = metrics::main_operation(*picture.any());
    if (!operation) return;
    const auto of = [at = metrics::index_of(*operation)](const FlowSnapshot& flow) -> const metrics::Histogram& {
        return flow.operations[at].latency_ns;
    };
    if (of(*picture.any()).empty()) return;
    // Of one operation alone: others differ.
    std::string name(metrics::name_of(*operation));
    std::replace(name.begin(), name.end(), '_', ' ');
    name += ' ';
    maker.quantile(name + "p50", 0, 0.5, of);
    maker.quantile(name + "p90", 8, 0.9, of);
    maker.quantile(name + "p99", 0, 0.99, of);
    maker.quantile(name + "p99.9", 5, 0.999, of);
    maker.quantile(name + "max", 3, 1, of);
}

void add_outstanding(Maker& maker, const FlowPicture& picture) {
    if (picture.any()->messages_max == 0) return;
    maker.text("outstanding", 0, [&picture](const FlowSnapshot& flow) {
        std::string mean = base::format_decimal(flow.messages_mean);
        if (!metrics::knows_depth(flow)) return no_figure;
        // The most of an interval is not known; nor the mean, where the flow sent nothing in it.
        if (&flow != picture.total && flow.wall_ns() == 0) return no_figure;
        if (&flow == picture.total) return FigureText(fmt::format("{}/{}", mean, flow.messages_max));
        return FigureText(mean, flow.messages_mean == 0);
    });
    if (picture.any()->responses_max != 0)
        maker.text("READs at once", 3, [&picture](const FlowSnapshot& flow) {
            if (&flow != picture.total) return no_figure;
            const auto limit = flow.connection->initiator_depth;
            return FigureText(limit ? fmt::format("{} of {}", flow.responses_max, *limit)
                                    : count_text(flow.responses_max));
        });
}

void add_losses(Maker& maker, const FlowPicture& picture) {
    const FlowSnapshot& flow = *picture.any();
    if (flow.retransmitted_packets)
        maker.trouble(
            "resent", Role::bad, [](const FlowSnapshot& f) { return f.retransmitted_packets.value_or(0); }, true);
    if (flow.missing_packets)
        maker.trouble(
            "missing", Role::bad, [](const FlowSnapshot& f) { return f.missing_packets.value_or(0); }, true);
    maker.trouble("reordered", Role::warning, [](const FlowSnapshot& f) { return f.reordered_packets.value_or(0); });
    maker.trouble("doubled", Role::warning, [](const FlowSnapshot& f) { return f.duplicate_packets.value_or(0); });
    maker.trouble("time-outs", Role::bad, [](const FlowSnapshot& f) { return f.timeouts; });
    if (!flow.recovery.total_ns.empty())
        maker.quantile("repair p50", 4, 0.5,
                       [](const FlowSnapshot& f) -> const metrics::Histogram& { return f.recovery.total_ns; });
    for (std::size_t i = 0; i < metrics::nak_code_count; ++i)
        maker.trouble(std::string(nak_labels[i]), Role::bad, [i](const FlowSnapshot& f) { return f.naks[i]; });
    maker.trouble("RNR NAK", Role::bad, [](const FlowSnapshot& f) { return f.rnr_naks; });
    if (!flow.rnr_timer_ns.empty())
        maker.quantile("RNR timer", 3, 1,
                       [](const FlowSnapshot& f) -> const metrics::Histogram& { return f.rnr_timer_ns; });
    maker.trouble("out of credits", Role::warning, [](const FlowSnapshot& f) { return f.credits_exhausted; });
    maker.trouble("CE marked", Role::warning, [](const FlowSnapshot& f) { return f.ecn_ce_packets; });
    maker.trouble("CNP", Role::warning, [](const FlowSnapshot& f) { return f.cnp_packets; });
    maker.trouble("bad ICRC", Role::bad, [](const FlowSnapshot& f) { return f.icrc_bad; });
    maker.trouble("bad MPA CRC", Role::bad, [](const FlowSnapshot& f) { return f.crc_bad; });
    maker.trouble("Terminate", Role::bad, [](const FlowSnapshot& f) { return f.terminates; });
}

void add_tcp(Maker& maker, const FlowPicture& picture) {
    if (!picture.any()->tcp) return;
    static const metrics::TcpFigures none;
    const auto tcp = [](const FlowSnapshot& flow) -> const metrics::TcpFigures& { return flow.tcp ? *flow.tcp : none; };
    maker.quantile("TCP round trip", 5, 0.5,
                   [tcp](const FlowSnapshot& f) -> const metrics::Histogram& { return tcp(f).round_trip_ns; });
    maker.trouble("TCP dup ACKs", Role::warning, [tcp](const FlowSnapshot& f) { return tcp(f).duplicate_acks; });
    maker.trouble("TCP disorder", Role::warning, [tcp](const FlowSnapshot& f) { return tcp(f).out_of_order_segments; });
    maker.trouble("TCP zero window", Role::bad, [tcp](const FlowSnapshot& f) { return tcp(f).zero_windows; });
    maker.trouble("TCP ECE", Role::warning, [tcp](const FlowSnapshot& f) { return tcp(f).ece_acks; });
    if (tcp(*picture.any()).receive_window_min)
        maker.text("TCP window min", 9, [&picture, tcp](const FlowSnapshot& f) {
            return &f == picture.total ? base::format_size(tcp(f).receive_window_min.value_or(0)) : no_figure;
        });
}

void keep_what_fits(std::vector<FlowFigure>& figures, std::size_t room) {
    while (figures.size() > room) {
        auto victim = figures.begin();
        for (auto each = figures.begin(); each != figures.end(); ++each)
            if (each->weight >= victim->weight) victim = each;
        figures.erase(victim);
    }
}

int blocks_of(int width) { return std::max(width / block_width, 1); }

void add_part(std::string& text, const std::string& part) { text += (text.empty() ? "" : ", ") + part; }

std::string_view words_of(metrics::PairingMethod method) {
    switch (method) {
        case metrics::PairingMethod::none: return "an unknown way";
        case metrics::PairingMethod::tcp: return "TCP";
        case metrics::PairingMethod::cm: return "the CM";
        case metrics::PairingMethod::source_qp: return "its source QP";
        case metrics::PairingMethod::psn: return "its PSNs";
    }
    return {};
}

std::string on_or_off(bool value) { return value ? "on" : "off"; }

}  // namespace

std::vector<FlowFigure> flow_figures(const FlowPicture& picture, const Letters& letters) {
    if (picture.any() == nullptr) return {};
    Maker maker(picture, letters);
    add_traffic(maker, picture);
    add_latency(maker, picture);
    add_outstanding(maker, picture);
    add_losses(maker, picture);
    add_tcp(maker, picture);
    return std::move(maker.figures);
}

int figures_height(const std::vector<FlowFigure>& figures, int width, int most) {
    const int blocks = blocks_of(width);
    const int rows = (static_cast<int>(figures.size()) + blocks - 1) / blocks;
    return std::min(rows + 1, most);
}

void draw_figures(Canvas& canvas, Area area, std::vector<FlowFigure> figures) {
    Pane pane(canvas, area);
    const int rows = pane.height() - 1;
    if (rows < 1) return;
    const int blocks = blocks_of(pane.width());
    keep_what_fits(figures, static_cast<std::size_t>(rows) * static_cast<std::size_t>(blocks));
    const int wide = pane.width() / blocks;
    pane.fill(0, 0, pane.width(), U' ', {Role::bar});
    for (std::size_t i = 0; i < figures.size(); ++i) {
        const FlowFigure& figure = figures[i];
        const int x = static_cast<int>(i) / rows * wide;
        const int y = 1 + static_cast<int>(i) % rows;
        if (y == 1) {
            pane.right(x + label_width, 0, "interval", {Role::bar}, value_width);
            pane.right(x + label_width + value_width, 0, "total", {Role::bar}, value_width);
        }
        pane.text(x + 1, y, figure.label, {figure.role == Role::normal ? Role::dim : figure.role}, label_width - 1);
        pane.right(x + label_width, y, figure.interval, {figure.idle ? Role::dim : figure.role}, value_width);
        pane.right(x + label_width + value_width, y, figure.total, {figure.role, false, figure.role == Role::bad},
                   value_width);
    }
}

std::string identity_text(const FlowPicture& picture, const Letters& letters) {
    const FlowSnapshot& flow = *picture.any();
    std::string text = flow.transport == wire::Transport::iwarp
                           ? std::string("iWARP")
                           : fmt::format("{} {}", metrics::name_of(flow.transport), metrics::name_of(flow.service));
    // The upper six bits of an IP header's traffic class.
    add_part(text, fmt::format("DSCP {}", flow.traffic_class >> 2));
    if (flow.vantage == metrics::Vantage::sender) add_part(text, "seen near its sender");
    if (flow.vantage == metrics::Vantage::receiver) add_part(text, "seen near its receiver");
    if (flow.vantage == metrics::Vantage::mid_path) add_part(text, "seen on its way");
    add_part(text, fmt::format("{} {}", flow.finished ? "lasted" : "seen for",
                               base::format_duration(flow.wall_ns(), in_sentence(letters))));
    add_part(text, flow.reverse ? fmt::format("paired by {}", words_of(flow.pairing.method))
                                : std::string("opposite direction unknown"));
    return text;
}

std::string connection_text(const FlowSnapshot& flow, const Letters& letters) {
    const metrics::ConnectionFigures& c = flow.connection;
    const auto ns = [&letters](std::uint64_t value) { return base::format_duration(value, in_sentence(letters)); };
    std::string text;
    if (!c.end.empty()) text = "ended by " + c.end;
    if (!c.end.empty() && c.end_frame != 0) text += fmt::format(" at frame {}", c.end_frame);
    const std::size_t ended = text.size();
    if (c.setup_ns) add_part(text, fmt::format("set up in {} from frame {}", ns(*c.setup_ns), c.setup_frame));
    if (c.path_mtu) add_part(text, fmt::format("MTU {}", *c.path_mtu));
    if (c.initiator_depth) add_part(text, fmt::format("ORD {}", *c.initiator_depth));
    if (c.responder_resources) add_part(text, fmt::format("IRD {}", *c.responder_resources));
    if (c.ack_timeout_ns) add_part(text, fmt::format("ACK timeout {}", ns(*c.ack_timeout_ns)));
    if (c.retry_count) add_part(text, fmt::format("retries {}", *c.retry_count));
    constexpr std::uint32_t for_ever = 7;
    if (c.rnr_retry_count)
        add_part(text, *c.rnr_retry_count == for_ever ? std::string("RNR retries unlimited")
                                                      : fmt::format("RNR retries {}", *c.rnr_retry_count));
    if (c.starting_psn) add_part(text, fmt::format("first PSN {}", *c.starting_psn));
    if (c.mpa_revision) add_part(text, fmt::format("MPA revision {}", *c.mpa_revision));
    if (c.mpa_crc) add_part(text, "CRC " + on_or_off(*c.mpa_crc));
    if (c.mpa_markers) add_part(text, "markers " + on_or_off(*c.mpa_markers));
    if (flow.tcp && flow.tcp->mss) add_part(text, fmt::format("MSS {}", *flow.tcp->mss));
    if (flow.tcp && flow.tcp->handshake_ns) add_part(text, "TCP handshake " + ns(*flow.tcp->handshake_ns));
    if (text.size() == ended) add_part(text, "its set-up was not captured");
    return text;
}

}  // namespace tui::view
