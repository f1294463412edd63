#include "cli/dump/job.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "capture/link_type.h"
#include "cli/console.h"
#include "cli/dump/change_user.h"
#include "cli/dump/frame_analysis.h"
#include "cli/dump/rotate_command.h"
#include "cli/unknown_links.h"

namespace cli::dump {

namespace {

constexpr std::size_t batch_frames = 256;

/// Whether the reading end of a pipe is closed.
bool has_no_reader(int descriptor) {
    pollfd asked{descriptor, 0, 0};
    return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR) != 0;
}

std::string packets(std::uint64_t count) { return fmt::format("{} packet{}", count, count == 1 ? "" : "s"); }

}  // namespace

Job::Job(const DumpOptions& options, const Environment& environment)
    : options_(options),
      environment_(environment),
      hand_over_(options.line_buffered || options.packet_buffered || is_terminal(STDOUT_FILENO)),
      selection_({}, options.optimize),
      output_(STDOUT_FILENO),
      progress_((options.read_path && !(options.prints() && is_terminal(STDOUT_FILENO))) ||
                (!options.read_path && options.write_path && options.verbosity > 0)) {}

int Job::run() {
    signals_.emplace();
    if (set_up()) {
        pump();
        finish();
    }
    if (output_.reader_is_gone() || reader_of_packets_is_gone_) signals_->end_by_broken_pipe();
    return mistaken_ ? exit_usage : failed_ ? exit_failed : exit_done;
}

void Job::fail(const std::string& message) {
    progress_.wipe();
    print_message("rdmascope dump: {}", message);
    failed_ = true;
}

void Job::fail(const base::Error& error) { fail(error.text()); }

/// Reports an error that makes the command line impossible to follow.
void Job::refuse(const std::string& message) {
    mistaken_ = true;
    fail(message);
}

void Job::fail_expression() {
    const bool field_meant = options_.link_header && !options_.expression.empty();
    refuse(selection_.error().text() +
           (field_meant ? "\nwithout -T fields, json or ek, -e is a flag and takes no field" : ""));
}

bool Job::set_up() {
    const auto expression = expression_of(options_.expression, options_.expression_path);
    if (!expression) {
        fail(expression.error());
        return false;
    }
    // Mistakes that need no source are reported before a source is opened.
    auto names = AddressNames::read(options_.node_names_path);
    if (!names) {
        for (const base::Error& error : names.error()) fail("--node-names: " + error.text());
        return false;
    }
    auto inspector = Inspector::make(options_, environment_, std::move(names).value(), output_);
    if (!inspector) {
        refuse(inspector.error());
        return false;
    }
    inspector_ = std::move(inspector).value();

    if (const std::string reason = missing_command(options_.rotate_command); !reason.empty()) {
        fail(fmt::format("-z {}: {}", options_.rotate_command, reason));
        return false;
    }

    auto input = open_input(options_, *expression, [this] {
        if (Signals::pending()) answer_signals();
        return Signals::stop();
    });
    if (!input) {
        mistaken_ = !options_.read_path && is_mistaken(*expression);
        fail(input.error());
        return false;
    }
    input_ = std::move(input).value();
    if (input_.file && !expression->empty()) {
        selection_ = Selection(*expression, options_.optimize);
        for (const capture::InterfaceInfo& interface : input_.file->interfaces())
            if (!selection_.compile(interface.link_type, interface.snaplen)) {
                fail_expression();
                return false;
            }
    }
    if (!options_.flows.empty()) {
        auto flows = find_flows(options_, *expression, [] { return Signals::stop(); });
        if (!flows) {
            fail(flows.error());
            return false;
        }
        inspector_->choose_flows(std::move(flows).value());
    }
    if (options_.kernel_events) {
        auto kernel = KernelLines::open(options_, output_);
        if (!kernel) {
            fail("--kernel-events: " + kernel.error().text());
            return false;
        }
        kernel_ = std::move(kernel).value();
    }
    if (!options_.user.empty())
        if (const std::string reason = become(options_.user); !reason.empty()) {
            fail(reason);
            return false;
        }

    auto kept = open_kept(options_, input_);
    if (!kept) {
        fail(kept.error());
        return false;
    }
    kept_ = std::move(kept).value();
    if (inspector_) inspector_->begin(input_.source());
    if (input_.live) report_listening();
    return true;
}

void Job::report_listening() const {
    for (const std::string& warning : input_.live->warnings()) print_message("rdmascope dump: {}", warning);
    for (const capture::InterfaceInfo& interface : input_.live->interfaces())
        print_message("rdmascope dump: listening on {}, link-type {} ({}), snapshot length {} bytes", interface.name,
                      capture::link_type_name(interface.link_type), capture::link_type_description(interface.link_type),
                      interface.snaplen);
}

void Job::pump() {
    std::array<wire::Frame, batch_frames> frames;
    capture::Source& source = input_.source();
    while (!Signals::stop()) {
        const capture::Batch batch = source.next_batch(frames);
        if (batch.status == capture::ReadStatus::end) {
            ended_ = true;
            return;
        }
        if (batch.status == capture::ReadStatus::error) {
            // If the user stops the program inside a stream, the source reports a cut file.
            if (Signals::stop()) return;
            output_.flush();
            return fail(source.error());
        }
        for (std::size_t i = 0; i < batch.count; ++i)
            if (take(frames[i]) != Step::go_on) return;
        if (batch.status != capture::ReadStatus::timeout)
            between_batches();
        else if (idle() == Step::enough)
            return;
        if (output_.failed()) return;
    }
}

Job::Step Job::take(const wire::Frame& frame) {
    if (!selection_.everything()) {
        const Selection::Answer answer = selection_.matches(frame, input_.source().interfaces());
        if (answer == Selection::Answer::no) return Step::go_on;
        if (answer == Selection::Answer::error) {
            fail_expression();
            return Step::failed;
        }
    }
    ++received_;
    if (inspector_) {
        if (!inspector_->inspect(frame)) return Step::go_on;
        if (output_.failed()) return Step::failed;
    }
    if (kept_.writer) {
        const Step step = keep(frame);
        if (step != Step::go_on) return step;
    }
    ++matched_;
    return options_.max_packets == matched_ ? Step::enough : Step::go_on;
}

Job::Step Job::keep(const wire::Frame& frame) {
    switch (kept_.write(frame, input_.source())) {
        case capture::WriteStatus::ok: return Step::go_on;
        case capture::WriteStatus::finished: return Step::enough;
        case capture::WriteStatus::error: break;
    }
    return Step::failed;  // reported when the writer is closed
}

void Job::between_batches() {
    if (kernel_) kernel_->print();
    if (hand_over_) output_.flush();
    if (Signals::pending()) answer_signals();
    if (!progress_.due()) return;
    if (input_.file)
        progress_.draw(input_.file->progress(), received_);
    else
        progress_.draw(matched_);
}

Job::Step Job::idle() {
    if (kernel_) kernel_->print();
    // Nothing is to be done now, so the output so far is written.
    output_.flush();
    if (Signals::pending()) answer_signals();
    if (progress_.due()) progress_.draw(matched_);
    return kept_.ring != nullptr && kept_.ring->end_if_over() ? Step::enough : Step::go_on;
}

void Job::answer_signals() {
    if (Signals::take_flush() && kept_.writer)
        if (const auto flushed = kept_.writer->flush(); !flushed) fail(flushed.error());
    if (!Signals::take_report()) return;
    progress_.wipe();
    report();
}

void Job::report() const {
    if (options_.read_path) {
        print_message("{} read, {} matched", packets(received_), matched_);
        return;
    }
    const capture::Statistics counted = input_.live->statistics();
    print_message("{} captured\n{} received by filter\n{} dropped by kernel", packets(matched_),
                  packets(counted.received.value_or(0)), packets(counted.kernel_dropped.value_or(0)));
    if (counted.interface_dropped.value_or(0) != 0)
        print_message("{} dropped by interface", packets(*counted.interface_dropped));
    if (kernel_) print_message("kernel events: {}", kernel_->text());
}

void Job::finish() {
    progress_.wipe();
    if (kernel_) kernel_->print();
    finish_output();
    close_writer();
    report_unknown_links();
    report_unread_carriers();
    if (!input_.live) return;
    // The terminal has printed `^C` on this line.
    if (Signals::stop() && is_terminal(STDERR_FILENO)) print_message("");
    report();
}

void Job::finish_output() {
    if (inspector_) inspector_->end(options_.max_packets != matched_);
    if (options_.count_only) output_.text() += fmt::format("{}\n", matched_);
    output_.flush();
    if (output_.failed() && !output_.reader_is_gone()) fail(output_.error());
}

/// Without --all such frames are not printed. The message shows that there are some.
void Job::report_unknown_links() const {
    if (!inspector_ || options_.all || received_ == 0) return;
    if (const std::string links = unknown_links(input_.source().interfaces()); !links.empty())
        print_message(
            "rdmascope dump: the link type {} is one that rdmascope does not know: what its frames hold cannot be "
            "told; --all lists them",
            links);
}

/// The same for frames that rdmascope can read in part only.
void Job::report_unread_carriers() const {
    const bool leaves_out = options_.form == Form::text || options_.form == Form::tree;
    if (!inspector_ || options_.all || !leaves_out || !unknown_links(input_.source().interfaces()).empty()) return;
    if (const std::string text = text_of(inspector_->unread()); !text.empty())
        print_message("rdmascope dump: {}; --all lists them", text);
}

void Job::close_writer() {
    if (!kept_.writer) return;
    if (const auto closed = kept_.close(input_.source(), ended_); !closed) {
        reader_of_packets_is_gone_ = options_.write_path == "-" && has_no_reader(STDOUT_FILENO);
        if (!reader_of_packets_is_gone_) fail(closed.error());
    }
    if (kept_.ring == nullptr) return;
    if (const std::size_t bad = kept_.ring->wait_for_commands(); bad != 0)
        fail(fmt::format("-z {}: {} of its runs failed: it ended with a status other than 0, or by a signal",
                         options_.rotate_command, bad));
}

}  // namespace cli::dump
