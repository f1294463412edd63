#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dissect/registry.h"
#include "exporters/filter/flow_filter.h"
#include "metrics/answers/answer.h"
#include "tui/model/columns.h"
#include "tui/model/command_list.h"
#include "tui/model/event_list.h"
#include "tui/model/feed.h"
#include "tui/model/flow_list.h"
#include "tui/model/hits.h"
#include "tui/model/keys.h"
#include "tui/model/packet_list.h"
#include "tui/model/path_list.h"
#include "tui/model/sequence_trace.h"
#include "tui/model/settings.h"
#include "tui/model/timeline.h"

namespace tui::inline model {

/// The user's place in a list.
struct Place {
    std::size_t selected = 0;
    std::size_t top = 0;    ///< the first row on the screen
    std::size_t count = 0;  ///< rows in all
};

/// What lies over the view.
enum class Overlay : std::uint8_t { none, help, letters, prompt, menu, answers, details };

struct Prompt {
    enum class Purpose : std::uint8_t { filter, packet_filter, jump } purpose = Purpose::filter;
    std::string text = {};   ///< UTF-8
    std::size_t cursor = 0;  ///< in bytes, before the cursor
    std::string error = {};  ///< what is wrong with the text as it stands
};

struct Menu {
    enum class Purpose : std::uint8_t { sort, columns, grouping, theme } purpose = Purpose::sort;
    std::vector<std::string> items = {};
    std::vector<bool> chosen = {};  ///< one for each item: columns that are shown; otherwise the one that is active
    Place place = {};
    std::string typed = {};  ///< narrows the items: letters go here
};

/// Of the view of one flow, in the order of the keys: where the time went, latency, sequence, outstanding.
inline constexpr unsigned chart_count = 4;

/// Everything that a picture needs. The view reads nothing else.
struct ModelState {
    Settings settings;
    FeedStatus feed;
    ReadingPtr reading;                         ///< null before the first
    const metrics::HostNames* names = nullptr;  ///< null to show numbers

    View view = View::flows;
    View back = View::flows;                 ///< where Escape leads from the view of one flow
    std::array<Place, view_count> places{};  ///< by View; rows of events and packets are indices of their lines(): the
                                             ///< oldest first. Of View::flow: the flow's place in `list`
    bool frozen = false;                     ///< a live screen that is paused
    Overlay overlay = Overlay::none;
    Place overlay_place;
    Prompt prompt;
    Menu menu;
    std::string message;  ///< of the last key, until the next one: "saved as ...", "no such time"
    bool message_is_error = false;
    bool spread = false;  ///< in the view of one flow: the chosen chart fills the screen
    unsigned chart = 0;   ///< in the view of one flow: the chosen chart

    std::string filter_text;         ///< of flows; the active one
    std::string packet_filter_text;  ///< of packets
    FlowChoice choice;
    std::vector<Column> columns;
    FlowList list;
    std::vector<const metrics::HostSnapshot*> hosts = {};  ///< of the window, the busiest first
    std::vector<const metrics::FlowSnapshot*> congested =
        {};                                  ///< flows with marks, CNPs or pauses of time, worst first
    std::vector<CommandLine> commands = {};  ///< of the window
    PathList paths;                          ///< of the window, as it was when it was last shown
    std::uint64_t flow_id = 0;               ///< of the view of one flow
    std::vector<metrics::Answer> answers = {};
    std::vector<std::string> details = {};  ///< of the packet selected: a line each
    std::uint64_t details_frame = 0;
    bool follow_packets = true;  ///< the newest line is visible
    bool follow_events = true;

    Timeline timeline;
    EventList events;
    SequenceTrace trace;
    std::unique_ptr<PacketList> packets;

    const Place& place() const { return places[static_cast<std::size_t>(view)]; }
    Place& place() { return places[static_cast<std::size_t>(view)]; }
    /// The snapshot of the chosen window: interval, or total; null before the first reading.
    const metrics::Snapshot* shown() const;
    /// The flow of the view of one flow since the beginning, and in the interval; null if it is gone or silent.
    const metrics::FlowSnapshot* flow_total() const;
    const metrics::FlowSnapshot* flow_interval() const;
    /// The view of one flow shows its commands: it was opened from the view of commands.
    bool shows_commands() const;
};

/// What a key asks of the program that runs the screen.
struct Request {
    enum class Kind : std::uint8_t { quit, suspend, redraw, save, theme, settings } kind = Kind::quit;
};

struct Controller;

/// The state and the keys. There is no terminal, clock or thread in it: the program that runs the screen passes keys,
/// readings and the time.
class Model {
public:
    /// `feed` and `names` outlive it; `names` may be null.
    Model(Settings settings, Feed& feed, const metrics::HostNames* names, const dissect::FieldRegistry& registry);
    ~Model();

    void press(const Key& key);
    void click(const Mouse& mouse);
    /// Reads the feed: its status, and the new readings. Returns whether there is something new to draw.
    bool refresh(std::int64_t now_ns);
    /// Passes on the results of the last drawing.
    void drawn(Drawn drawn);
    /// The requests of keys since the last call, in order.
    std::vector<Request> take_requests();
    /// A message for the user, until the next key: ModelState::message.
    void say(std::string message, bool is_error);

    const ModelState& state() const;

private:
    std::unique_ptr<Controller> controller_;
};

}  // namespace tui::model
