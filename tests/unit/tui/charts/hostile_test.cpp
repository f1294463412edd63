// Whatever the state: views draw into their area alone, end, and need no memory of what was drawn before.
#include <gtest/gtest.h>
#include <random>

#include "tests/unit/tui/charts/stage.h"
#include "tui/view/chart.h"

namespace tui {
namespace {

using View = void (*)(Canvas&, Area);
constexpr std::array<View, 4> views{draw_flow, draw_events, draw_packets, draw_answers};

/// Draws into a part of a larger grid of `#`; says whether anything outside was touched.
bool stays_inside(const tui::ModelState& state, View view, Area area, const Letters& letters) {
    constexpr int margin = 3;
    Grid grid(area.width + 2 * margin, area.height + 2 * margin);
    grid.set_ellipsis(letters.ellipsis);
    grid.fill(0, 0, grid.width(), grid.height(), U'#', {Role::alarm});
    Drawn drawn;
    Canvas canvas{state, letters, grid, drawn};
    view(canvas, {margin, margin, area.width, area.height});
    for (int y = 0; y < grid.height(); ++y)
        for (int x = 0; x < grid.width(); ++x) {
            const bool inside = x >= margin && y >= margin && x < margin + area.width && y < margin + area.height;
            if (!inside && grid.at(x, y) != Cell{U'#', {Role::alarm}}) return false;
        }
    for (const Hit& hit : drawn.hits)
        if (hit.x < margin || hit.y < margin || hit.x + hit.width > margin + area.width ||
            hit.y + hit.height > margin + area.height)
            return false;
    return drawn.page >= 1 && drawn.overlay_page >= 1;
}

TEST(Views, draw_into_their_area_alone) {
    Stage stage("rxe-rxdrop1pct-write-bw.pcap.gz", 20);
    stage.open_busiest();
    const tui::ModelState& state = stage.model.state();
    for (int width = 0; width <= 210; width += width < 30 ? 1 : 17)
        for (int height = 0; height <= 60; height += height < 24 ? 1 : 7)
            for (const View view : views)
                ASSERT_TRUE(stays_inside(state, view, {0, 0, width, height}, utf8_letters)) << width << 'x' << height;
    for (unsigned chart = 0; chart < chart_count; ++chart) {
        stage.press(Named::right);
        stage.press(Named::enter);  // one chart alone
        for (int width = 0; width <= 60; width += 3)
            for (int height = 0; height <= 20; ++height)
                ASSERT_TRUE(stays_inside(state, draw_flow, {0, 0, width, height}, ascii_letters));
        stage.press(Named::enter);
    }
    stage.press(U'e');
    for (int width = 0; width <= 130; width += 3)
        for (int height = 0; height <= 60; height += 3)
            ASSERT_TRUE(stays_inside(state, draw_answers, {0, 0, width, height}, utf8_letters));
}

TEST(Views, details_draw_into_their_area_alone) {
    Stage stage("siw-verbs-badrkey-w.pcap", 20);
    stage.press(U'5');
    stage.press(Named::enter);
    ASSERT_FALSE(stage.model.state().details.empty());
    for (int width = 0; width <= 210; width += width < 30 ? 1 : 17)
        for (int height = 0; height <= 60; height += height < 24 ? 1 : 7)
            ASSERT_TRUE(stays_inside(stage.model.state(), draw_packets, {0, 0, width, height}, utf8_letters));
}

/// Figures that no traffic has: anything that a type can hold.
class Chaos {
public:
    explicit Chaos(unsigned seed) : random_(seed) {}

    std::uint64_t number() {
        switch (random_() % 4) {
            case 0: return 0;
            case 1: return random_() % 100;
            case 2: return random_();
            default: return ~std::uint64_t{0} - random_() % 3;
        }
    }
    metrics::FlowSnapshot flow(std::uint64_t id) {
        metrics::FlowSnapshot flow;
        flow.id = id;
        flow.transport = static_cast<wire::Transport>(number() % 4);
        flow.first_ns = static_cast<std::int64_t>(number());
        flow.last_ns = static_cast<std::int64_t>(number());
        flow.packets = number();
        flow.payload_bytes = number();
        flow.messages_mean = random_() % 5 == 0 ? 1e300 : static_cast<double>(random_() % 1000);
        flow.messages_max = number();
        flow.rnr_naks = number();
        flow.ecn_ce_packets = number();
        if (number() % 2 == 0) flow.retransmitted_packets = number();
        if (number() % 2 == 0) flow.reverse = number();
        if (number() % 2 == 0) flow.tcp.emplace();
        if (number() % 2 == 0) {
            flow.connection->end = "DREQ\x1b[2J";
            flow.connection->end_kind = metrics::EndKind::disconnect_request;
        }
        flow.connection->end_frame = number();
        flow.connection->setup_ns = number();
        flow.connection->initiator_depth = static_cast<std::uint32_t>(number());
        for (auto& ns : flow.state_ns) ns = number();
        for (auto& figures : flow.operations) {
            figures.count = number();
            figures.bytes = number();
            figures.latency_ns.record(number(), number() % 100'000);
        }
        for (std::size_t kind = 0; kind < metrics::event_kind_count; ++kind)
            if (number() % 3 == 0)
                flow.event_summaries.push_back({static_cast<metrics::EventKind>(kind), number(),
                                                std::vector<std::uint64_t>(number() % 5, number()), number(),
                                                number()});
        return flow;
    }
    Reading reading(std::uint64_t serial) {
        Reading reading;
        reading.serial = serial;
        reading.start_ns = static_cast<std::int64_t>(number());
        reading.length_ns = number();
        reading.restarted = number() % 7 == 0;
        for (std::uint64_t id = 1; id < 4; ++id) {
            if (number() % 4 != 0) reading.total.flows.push_back(flow(id));
            if (number() % 4 != 0) reading.interval.flows.push_back(flow(id));
        }
        metrics::ConnectionAttempt attempt;
        attempt.outcome = metrics::AttemptOutcome::rejected;
        attempt.reason = "\t\n\xff";
        attempt.requests = number();
        reading.interval.attempts = {attempt};
        reading.interval.capture.kernel_dropped = number();
        return reading;
    }

private:
    std::mt19937_64 random_;
};

TEST(Views, survive_any_state) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Chaos chaos(seed);
        tui::ModelState state;
        state.flow_id = 1 + seed % 4;
        state.chart = seed;
        state.spread = seed % 3 == 0;
        state.feed.has_packets = seed % 2 == 0;
        state.feed.playable = seed % 5 == 0;
        for (std::uint64_t serial = 1; serial <= 1 + seed % 30; ++serial) {
            auto reading = std::make_shared<Reading>(chaos.reading(serial));
            state.timeline.add(*reading);
            state.events.add(*reading, nullptr);
            state.reading = reading;
        }
        for (Place& place : state.places) place = {chaos.number(), chaos.number(), chaos.number()};
        state.overlay_place = {chaos.number(), chaos.number(), chaos.number()};
        state.details.assign(seed % 40, "    a field: \x01\xf0");
        state.overlay = static_cast<Overlay>(seed % 6);
        for (const auto& [width, height] : {std::pair{80, 19}, {120, 35}, {200, 55}, {7, 3}})
            for (const View view : views)
                ASSERT_TRUE(
                    stays_inside(state, view, {0, 0, width, height}, seed % 2 == 0 ? utf8_letters : ascii_letters))
                    << seed;
    }
}

TEST(Views, the_same_state_gives_the_same_picture) {
    Stage stage("siw-loss1pct-send-bw.pcap", 10);
    stage.open_busiest();
    for (const View view : views) {
        const Grid first = stage.draw(view, 120, 35);
        EXPECT_EQ(first.plain(), stage.draw(view, 120, 35).plain());
    }
}

TEST(FlowView, says_that_a_flow_is_gone) {
    tui::ModelState state;
    state.flow_id = 9;
    state.reading = std::make_shared<Reading>();
    Grid grid(80, 19);
    Drawn drawn;
    Canvas canvas{state, utf8_letters, grid, drawn};
    draw_flow(canvas, {0, 0, 80, 19});
    EXPECT_NE(grid.plain().find("no longer there"), std::string::npos);
}

}  // namespace
}  // namespace tui
