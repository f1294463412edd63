// draw FOLDER: the pictures of docs/pictures/, each for dark and for light pages.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/core.h>
#include <fstream>

#include "tests/pictures/svg.h"
#include "tests/support/fake_feed.h"
#include "tui/view/screen.h"

namespace {

using tui::Model;

struct Size {
    int width;
    int height;
};

/// One picture: a capture that is played in `interval_ms` steps up to `share` of its end, and the keys pressed then.
struct Picture {
    const char* name;
    const char* title;
    const char* capture;
    std::uint64_t interval_ms;
    std::size_t readings;  ///< shown; 0: all
    const char* keys;      ///< '\r' is Enter, '^' is Home
    Size size;
};

constexpr Picture pictures_of_docs[] = {
    {"top-flows", "rdmascope top: the flows of rdmascope demo", "demo-loopback.pcap.gz", 200, 0, "^", {118, 24}},
    {"top-flow",
     "rdmascope top: one flow, whose sender waits for its retry timer",
     "rxe-rxdrop1pct-write-bw.pcap.gz",
     100,
     0,
     "^\r",
     {118, 37}},
    {"top-answers",
     "rdmascope top: the answers of why for one flow",
     "rxe-rxdrop1pct-write-bw.pcap.gz",
     100,
     0,
     "^e",
     {118, 34}},
    {"top-congestion",
     "rdmascope top: congestion, with ECN marks",
     "rxe-ecn-ce-write-bw.pcap.gz",
     100,
     0,
     "3",
     {118, 24}},
};

void settle(Model& model, const support::FakeFeed& feed) {
    while (model.refresh(feed.state.now_ns)) {
    }
}

void press(Model& model, const support::FakeFeed& feed, char key) {
    switch (key) {
        case '\r': model.press(tui::key(tui::Named::enter)); break;
        case '^': model.press(tui::key(tui::Named::home)); break;
        default: model.press(tui::key(static_cast<char32_t>(key)));
    }
    settle(model, feed);
}

tui::Grid drawn(const Picture& picture, const dissect::FieldRegistry& registry) {
    support::FakeFeed feed = support::FakeFeed::of_capture(picture.capture, picture.interval_ms * 1'000'000);
    tui::Settings settings;
    settings.names = false;
    Model model(settings, feed, nullptr, registry);
    for (std::size_t i = 0; (picture.readings == 0 || i < picture.readings) && feed.next(); ++i)
        model.refresh(feed.state.now_ns);
    settle(model, feed);
    for (const char* key = picture.keys; *key != '\0'; ++key) press(model, feed, *key);
    tui::Grid grid(picture.size.width, picture.size.height);
    // What a list shows depends on the number of rows that fit, which the first drawing finds out.
    model.drawn(tui::draw(model.state(), tui::utf8_letters, grid));
    tui::draw(model.state(), tui::utf8_letters, grid);
    return grid;
}

bool write(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) std::fprintf(stderr, "draw: cannot write %s\n", path.c_str());
    return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: draw FOLDER\n", stderr);
        return 2;
    }
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    const std::string folder = argv[1];
    const dissect::FieldRegistry registry;
    const pictures::Ground dark{"#d4d4d4", "#1c1c20"};
    const pictures::Ground light{"#202020", "#fafafa"};
    for (const Picture& picture : pictures_of_docs) {
        const tui::Grid grid = drawn(picture, registry);
        const std::string path = folder + "/" + picture.name;
        if (!write(path + "-dark.svg", to_svg(grid, *tui::find_theme("safe"), dark, picture.title))) return 1;
        if (!write(path + "-light.svg", to_svg(grid, *tui::find_theme("light"), light, picture.title))) return 1;
    }
    return 0;
}
