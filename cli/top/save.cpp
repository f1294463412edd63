#include "cli/top/save.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/chrono.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "cli/console.h"
#include "exporters/flow_order.h"
#include "exporters/json.h"

namespace cli::top {

namespace {

constexpr int most_in_a_second = 100;

/// A new file, or none with errno.
base::Descriptor create(const std::string& path) {
    return base::Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644));
}

/// The descriptors of both new files.
struct Pair {
    std::string name = {};  ///< without the ending
    base::Descriptor json = {};
    base::Descriptor text = {};
};

/// The first pair of names that are both free. If no file can be made, the result has no descriptors, and errno is set.
Pair create_pair(const std::string& base) {
    for (int attempt = 1; attempt <= most_in_a_second; ++attempt) {
        Pair pair{attempt == 1 ? base : fmt::format("{}-{}", base, attempt)};
        pair.json = create(pair.name + ".json");
        if (!pair.json && errno == EEXIST) continue;
        if (!pair.json) return pair;
        pair.text = create(pair.name + ".txt");
        if (pair.text) return pair;
        const int error = errno;
        ::unlink((pair.name + ".json").c_str());
        errno = error;
        if (error != EEXIST) return {};
    }
    return {};
}

/// A file that is written in pieces. The first failure is kept.
class NewFile {
public:
    explicit NewFile(base::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

    std::string& text() { return text_; }
    void settle() {
        if (text_.size() >= piece) flush();
    }
    /// Empty, or what went wrong.
    std::string close() {
        flush();
        if (::close(descriptor_.release()) != 0 && error_ == 0) error_ = errno;
        return error_ == 0 ? std::string{} : std::strerror(error_);
    }

private:
    static constexpr std::size_t piece = std::size_t{1} << 20;
    void flush() {
        if (error_ == 0 && !base::write_all(descriptor_.number(), text_)) error_ = errno;
        text_.clear();
    }

    base::Descriptor descriptor_;
    int error_ = 0;
    std::string text_ = {};
};

std::string write_json(base::Descriptor descriptor, const tui::ModelState& state) {
    NewFile file(std::move(descriptor));
    const metrics::Snapshot& shown = *state.shown();
    const tui::Reading& reading = *state.reading;
    exporters::Context context{state.names, reading.crc_verified, {}, exporters::start_of(reading.total.capture)};
    const bool interval = state.choice.window == tui::Window::interval;
    if (interval) context.interval = exporters::Interval{reading.start_ns, reading.length_ns};
    context.problems = interval ? &reading.interval_problems() : &reading.total_problems();
    exporters::FlowsDocument document(exporters::all_columns(interval));
    document.begin(file.text(), shown.capture, context);
    const auto order = exporters::flow_order({}, false);
    for (const metrics::FlowSnapshot* flow : exporters::ordered_flows(shown, context, *order, {})) {
        document.flow(file.text(), {*flow, context});
        file.settle();
    }
    document.end(file.text(), shown, context);
    return file.close();
}

std::string write_text(base::Descriptor descriptor, const tui::Grid& picture) {
    NewFile file(std::move(descriptor));
    file.text() = picture.plain();
    return file.close();
}

}  // namespace

Saved save(const tui::ModelState& state, const tui::Grid& picture, std::time_t now, const std::string& directory) {
    if (state.shown() == nullptr) return {"nothing to save yet", true};
    std::tm local{};
    ::localtime_r(&now, &local);
    const std::string base =
        fmt::format("{}rdmascope-top-{:%Y%m%d-%H%M%S}", directory == "." ? std::string() : directory + "/", local);
    Pair files = create_pair(base);
    if (!files.text) {
        const std::string reason = std::strerror(errno);
        std::error_code code;
        const std::string place = std::filesystem::weakly_canonical(directory, code).string();
        return {fmt::format("cannot save in {}: {}", place, reason), true};
    }
    std::string error = write_json(std::move(files.json), state);
    if (const std::string other = write_text(std::move(files.text), picture); error.empty()) error = other;
    if (!error.empty()) return {fmt::format("{}: {}", files.name, error), true};
    return {fmt::format("saved as {}.json and .txt", files.name), false};
}

}  // namespace cli::top
