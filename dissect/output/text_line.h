#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/timestamp.h"
#include "dissect/output/printer.h"
#include "dissect/output/tcp_sequences.h"
#include "dissect/output/text_options.h"

namespace dissect::output {

/// One line for each RDMA packet, for people and for grep:
///
///     12:00:01.123456 192.0.2.1 > 192.0.2.2 RoCEv2 RC RDMA WRITE First          qp 0x000011 psn 671625   len 1024 ...
///
/// time, source and destination, transport, service and operation in the field's words, then name and value in turn,
/// then what matters in brackets or capitals. Columns are padded as far as lines so far have needed. Notices of the
/// stream engine and pause frames have lines too; with `all`, so has every other frame, in tcpdump's words.
class TextPrinter final : public Printer {
public:
    TextPrinter(std::string& out, TextOptions options)
        : out_(out), options_(std::move(options)), times_(options_.time_style, options_.nanoseconds) {}

    void on_frame(const wire::Frame& frame, const Dissection& dissection) override;
    void on_unit(const Unit& unit) override;
    void on_notice(const Notice& notice) override;
    void on_message(const UpperMessage& message) override;
    void end_frame(bool shown) override;

    /// Whether the frame, if shown, has a line: for a caller that counts what it prints. Known once it is dissected.
    bool has_lines() const;

private:
    struct Line {
        std::size_t begin = 0;  ///< in `lines_`
        std::size_t end = 0;
    };

    void begin_line() { line_begin_ = lines_.size(); }
    void end_line();
    void write_head(std::string& out);
    void pad_endpoints(std::size_t begin);
    void write_tree(const Unit& unit);
    void indent(std::string_view tree);
    void begin_message_line();

    std::string& out_;
    TextOptions options_;
    base::Timestamps times_;
    TcpSequences sequences_;

    const wire::Frame* frame_ = nullptr;
    const Dissection* dissection_ = nullptr;
    std::string lines_;        ///< of this frame, without their heads: times depend on what is shown
    std::vector<Line> parts_;  ///< where each line lies in `lines_`; a line may be a block
    std::size_t line_begin_ = 0;
    std::string endpoints_;  ///< of the last unit, for lines of commands alone
    std::string command_;    ///< of the last message; a member, so that messages cause no allocation
    std::size_t endpoints_width_ = 0;
    bool has_units_ = false;
};

}  // namespace dissect::output
