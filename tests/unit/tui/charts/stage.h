#pragma once
#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/support/fake_feed.h"
#include "tui/model/model.h"
#include "tui/view/screen.h"

/// A capture that was played to its end, and views of it without header and footer.
namespace tui {

class Stage {
public:
    Stage(const std::string& capture, std::uint64_t interval_ms)
        : feed(support::FakeFeed::of_capture(capture, interval_ms * 1'000'000)), model({}, feed, nullptr, registry()) {
        ::setenv("TZ", "UTC", 1);  // as golden texts are made
        ::tzset();
        while (feed.next()) model.refresh(feed.state.now_ns);
        settle();
    }

    /// The flow with most octets, or that with fewest messages among those paired with it.
    void open_busiest() {
        const auto& lines = model.state().list.lines();
        std::size_t best = 0;
        for (std::size_t i = 0; i < lines.size(); ++i)
            if (lines[i].whole->payload_bytes > lines[best].whole->payload_bytes) best = i;
        model.press(key(Named::home));
        for (std::size_t i = 0; i < best; ++i) model.press(key(Named::down));
        model.press(key(Named::enter));
        settle();
    }
    void press(char32_t character) {
        model.press(key(character));
        settle();
    }
    void press(Named named) {
        model.press(key(named));
        settle();
    }

    Grid draw(void (*view)(Canvas&, Area), int width, int height, const Letters& letters = utf8_letters) {
        Grid grid(width, height);
        grid.set_ellipsis(letters.ellipsis);
        Drawn drawn;
        Canvas canvas{model.state(), letters, grid, drawn};
        view(canvas, {0, 0, width, height});
        model.drawn(drawn);
        return grid;
    }

    support::FakeFeed feed;
    Model model;

private:
    static const dissect::FieldRegistry& registry() {
        static const dissect::FieldRegistry fields;
        return fields;
    }
    void settle() {
        while (model.refresh(feed.state.now_ns)) {
        }
    }
};

}  // namespace tui
