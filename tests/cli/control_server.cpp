/// A daemon without a capture: control_server FILE SOCKET [STEPS] answers at SOCKET for the frames of FILE. With STEPS,
/// it begins with none of them, and so many looks later it has seen them all. Ends by SIGTERM, or after five minutes.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "daemon/server/server.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"

namespace {

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

class Captured final : public service::Commands {
public:
    Captured(const std::string& path, std::size_t steps) : steps_(steps) {
        support::load_capture(path, 10'000'000, frames_);
        if (steps_ == 0) feed(frames_.size());
        look();
    }

    service::Published snapshot(std::uint64_t age_ns) override {
        if (steps_ != 0 && !std::exchange(asked_, true)) return look(), published_;
        if (std::chrono::steady_clock::now() - looked_at_ < std::chrono::nanoseconds(age_ns)) return published_;
        if (steps_ != 0 && !finished_) {
            feed(std::max<std::size_t>(1, frames_.size() / steps_));
            look();
        }
        return published_;
    }
    service::Status status() override {
        service::Status status;
        status.version = std::string("test");
        status.packets = published_.snapshot->capture.packets;
        return status;
    }
    const metrics::HostNames& names() const override { return names_; }
    bool crc_verified() const override { return true; }
    base::Result<void> trigger(const std::string& /*reason*/) override {
        return base::failure("nothing is recorded here");
    }
    base::Result<void, base::Errors> reload() override { return {}; }
    std::string history_directory() const override { return {}; }
    base::Result<std::unique_ptr<service::FrameStream>> frames(control::FramesOf /*which*/) override {
        return base::failure("nothing is captured here");
    }

private:
    void feed(std::size_t count) {
        for (; count != 0 && fed_ < frames_.size(); --count, ++fed_) {
            const wire::Frame frame = frames_[fed_].frame(fed_ + 1);
            analyzer_.feed({&frame, 1});
        }
        if (fed_ < frames_.size()) return;
        analyzer_.finish();
        finished_ = true;
    }
    void look() {
        const auto wall = std::chrono::system_clock::now().time_since_epoch();
        published_ = {std::make_shared<const metrics::Snapshot>(analyzer_.snapshot()),
                      std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count()};
        looked_at_ = std::chrono::steady_clock::now();
    }

    std::size_t steps_;
    std::vector<support::KeptFrame> frames_ = {};
    std::size_t fed_ = 0;
    bool finished_ = false;
    bool asked_ = false;
    metrics::Analyzer analyzer_ = metrics::Analyzer();
    service::Published published_ = {};
    std::chrono::steady_clock::time_point looked_at_ = {};
    NoNames names_ = {};
};

service::ControlServer* running = nullptr;
volatile std::sig_atomic_t ending = 0;

}  // namespace

int main(int count, char** arguments) {
    if (count < 3 || count > 4) return std::fputs("usage: control_server FILE SOCKET [STEPS]\n", stderr), 2;
    std::size_t steps = 0;
    if (count == 4) {
        const std::string_view text = arguments[3];
        std::from_chars(text.data(), text.data() + text.size(), steps);
    }
    Captured captured(arguments[1], steps);
    service::ServerOptions options;
    options.path = arguments[2];
    auto server = service::ControlServer::open(options, captured);
    if (!server) return std::fprintf(stderr, "control_server: %s\n", server.error().text().c_str()), 1;
    running = server->get();
    for (const int number : {SIGTERM, SIGALRM})
        std::signal(number, [](int) {
            ending = 1;
            running->wake();
        });
    ::alarm(300);
    std::puts("ready");
    std::fflush(stdout);
    while (ending == 0) running->progress(-1);
    return 0;
}
