#include "cli/explain/explain.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/quantities.h"
#include "cli/console.h"
#include "cli/explain/log_input.h"
#include "cli/explain/options.h"
#include "cli/explain/packet_source.h"
#include "cli/explain/page.h"
#include "explain/explainer.h"

namespace cli::explain {

namespace {

using ::explain::Cause;
using ::explain::CauseList;
using ::explain::Explainer;

constexpr std::string_view usage =
    "Usage: rdmascope explain LINE|CODE|LOG... [-r FILE] [OPTION]...\n"
    "       PROGRAM | rdmascope explain [--follow] [-] [-r FILE] [OPTION]...\n\n"
    "Explains lines that RDMA software logs, and codes: 12, IBV_WC_RETRY_EXC_ERR, 'vendor err 129', 'rej 28'. With a\n"
    "source of packets it names the flow and the frames that the line is about.\n";
constexpr std::string_view ending =
    "\nExit status: 0 something was explained, 1 the work failed, 2 usage, 4 no line is known. Manual:\n"
    "rdmascope-explain(1).\n";

std::string json_text(const nlohmann::ordered_json& document, int indent) {
    return document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool names_log(const std::string& word) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(word, unknown);
    return std::filesystem::is_regular_file(status) || std::filesystem::is_fifo(status);
}

/// A single word that begins as paths do: no log has such a line.
bool looks_like_path(std::string_view word) {
    const bool begins_so = word.starts_with('/') || word.starts_with("./") || word.starts_with("../");
    return begins_so && word.find_first_of(" \t") == std::string_view::npos;
}

class Explaining {
public:
    Explaining(const ExplainOptions& options, Explainer explainer)
        : options_(options), explainer_(std::move(explainer)), source_(options) {
        style_.columns = terminal_columns(STDOUT_FILENO);
        style_.read_paths = options.read_paths;
    }

    int run() {
        if (options_.follow) return follow();
        if (const int status = read_words(); status != exit_done) return status;
        if (options_.has_packets() && !list_.causes().empty() && !source_.open(list_.causes())) return source_.status();
        const int printed = print(options_.json ? page_json() : page());
        if (printed != exit_done) return printed;
        if (source_.failed()) return exit_failed;
        if (!list_.causes().empty()) return exit_done;
        print_message("rdmascope explain: no known line or code in {}", base::format_counted(lines_, "line"));
        return exit_nothing;
    }

private:
    std::int64_t reference_ns() const { return source_.last_ns().value_or(base::wall_ns()); }

    void take_line(std::string_view line) {
        ++lines_;
        if (auto explanation = explainer_.explain_line(line, reference_ns()))
            list_.add(std::move(*explanation), lines_);
        if (lines_ == 1) only_line_ = line;
    }

    bool take_code(std::string_view text) {
        auto explanation = explainer_.explain_code(text);
        if (!explanation) return false;
        list_.add(std::move(*explanation), lines_ + 1);
        return true;
    }

    bool is_known(const std::string& word) {
        return explainer_.explain_code(word) || explainer_.explain_line(word, reference_ns());
    }

    /// Words without quotes around them are one line, unless each word is known by itself or one names a log.
    std::vector<std::string> lines_of(const std::vector<std::string>& words) {
        const auto is_single = [](const std::string& word) { return word.find(' ') == std::string::npos; };
        const bool apart =
            words.size() < 2 || !std::ranges::all_of(words, is_single) ||
            std::ranges::all_of(words, [&](const std::string& word) { return is_known(word); }) ||
            std::ranges::any_of(words, [](const std::string& word) { return word == "-" || names_log(word); });
        if (apart) return words;
        const std::string joined = options::joined(words);
        return is_known(joined) ? std::vector{joined} : words;
    }

    int read_words() {
        for (const std::string& word : lines_of(options_.words)) {
            if (word == "-" || names_log(word) || looks_like_path(word)) {
                style_.numbers_lines = true;
                if (const int status = read_lines(word); status != exit_done) return status;
                continue;
            }
            if (take_code(word))
                ++lines_;
            else
                take_line(word);
        }
        return exit_done;
    }

    int read_lines(const std::string& path) {
        const std::uint64_t before = lines_;
        const auto read = read_log(path, [this](std::string_view line) { take_line(line); });
        if (!read) return failure(read.error());
        // A log of other software may have lines that are only numbers. A single line is what the user asks about.
        if (before == 0 && lines_ == 1 && list_.causes().empty()) {
            lines_ = 0;
            take_code(only_line_);
            lines_ = 1;
        }
        return exit_done;
    }

    static int failure(const base::Error& error) {
        print_message("rdmascope explain: {}", error.text());
        return exit_failed;
    }

    ExplainedCause explained(Cause& cause) const {
        ExplainedCause out;
        out.searched = options_.has_packets();
        if (out.searched) out.search = source_.search(cause.explanation);
        out.cause = cause;
        return out;
    }

    std::string page() {
        std::string out = summary_text(list_, lines_, style_);
        for (Cause& cause : list_.causes()) out += cause_text(explained(cause), style_);
        if (!out.empty()) out.pop_back();
        return out;
    }

    std::string page_json() {
        nlohmann::ordered_json array = nlohmann::ordered_json::array();
        for (Cause& cause : list_.causes()) array.push_back(cause_json(explained(cause)));
        return json_text(array, 2);
    }

    int follow() {
        style_.numbers_lines = true;
        const std::string path = options_.words.empty() ? "-" : options_.words.front();
        if (source_.is_fixed() && !source_.open({})) return source_.status();
        const auto read = follow_log(
            path, [this](std::string_view line) { take_line(line); }, [this] { return print_new(); });
        if (!read) return failure(read.error());
        if (status_ != exit_done) return status_;
        return list_.causes().empty() ? exit_nothing : exit_done;
    }

    /// Prints the causes that have come since the last time.
    bool print_new() {
        if (printed_ == list_.causes().size()) return true;
        const std::span<const Cause> fresh = std::span(list_.causes()).subspan(printed_);
        if (options_.has_packets() && !source_.is_fixed() && !source_.open(fresh)) {
            status_ = source_.status();
            return false;
        }
        std::string out;
        for (; printed_ < list_.causes().size(); ++printed_) {
            const ExplainedCause cause = explained(list_.causes()[printed_]);
            out += options_.json ? json_text(cause_json(cause), -1) : cause_text(cause, style_);
        }
        status_ = print(out);
        return status_ == exit_done;
    }

    const ExplainOptions& options_;
    Explainer explainer_;
    PacketSource source_;
    PageStyle style_ = {};
    CauseList list_ = {};
    std::uint64_t lines_ = 0;
    std::string only_line_ = {};
    std::size_t printed_ = 0;
    int status_ = exit_done;
};

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, ExplainOptions& options) {
    if (auto error = option_table().parse(arguments, options, options.words)) return error;
    if (options.help || options.version) return {};
    if (options.words.empty() && (options.follow || !is_terminal(STDIN_FILENO))) options.words.emplace_back("-");
    if (options.words.empty())
        return options::UsageError{"nothing to explain; name a line, a code, a log, or `-` for standard input"};
    return options::usage_error_if(contradiction_of_words(options));
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    ExplainOptions options;
    const auto error = parse(arguments, options);
    if (const auto status = answered(environment, "explain", error, options, help)) return *status;
    // The sentences of JSON are the same on a terminal and in a pipe.
    if (options.json) base::set_charset(base::Charset::ascii);
    auto explainer = Explainer::make();
    if (!explainer) {
        print_message("rdmascope explain: {}", explainer.error().text());
        return exit_failed;
    }
    return Explaining(options, std::move(*explainer)).run();
}

std::string help() { return options::help_page(usage, option_table().options(), ending); }

std::vector<options::CommandOptions> option_lists() { return {{"explain", option_table().options()}}; }

}  // namespace cli::explain
