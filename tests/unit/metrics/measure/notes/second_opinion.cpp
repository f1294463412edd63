#include "tests/unit/metrics/measure/notes/second_opinion.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>

namespace notes_test {

using metrics::Operation;

namespace {

using Row = std::vector<std::string>;

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
}

struct Close {
    void operator()(std::FILE* pipe) const { pclose(pipe); }
};

/// A row a frame, a column a field; fields that a frame has several of are joined by commas.
std::optional<std::vector<Row>> tshark(const std::string& path, const std::vector<std::string>& fields) {
    if (std::system("command -v tshark > /dev/null") != 0) return std::nullopt;
    std::string command = "tshark -o tcp.relative_sequence_numbers:FALSE -r '" + path + "' -T fields";
    for (const std::string& field : fields) command += " -e " + field;
    const std::unique_ptr<std::FILE, Close> pipe(popen((command + " 2> /dev/null").c_str(), "r"));
    std::vector<Row> rows;
    std::string line;
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
        if (c != '\n') {
            line += static_cast<char>(c);
            continue;
        }
        rows.push_back(split(line, '\t'));
        rows.back().resize(fields.size());
        line.clear();
    }
    return rows;
}

std::uint32_t number(const std::string& text) {
    return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 0));
}

/// By the opcode's lower five bits. IBTA vol. 1, table 38.
std::optional<Operation> ended_by(std::uint32_t opcode) {
    switch (opcode) {
        case 2:
        case 4: return Operation::send;
        case 3:
        case 5: return Operation::send_immediate;
        case 22:
        case 23: return Operation::send_invalidate;
        case 8:
        case 10: return Operation::write;
        case 9:
        case 11: return Operation::write_immediate;
        case 12: return Operation::read;
        case 19: return Operation::compare_swap;
        case 20: return Operation::fetch_add;
        default: return std::nullopt;
    }
}

/// How far a PSN lies after another one, of 24 bits.
std::int32_t psn_distance(std::uint32_t from, std::uint32_t to) {
    return static_cast<std::int32_t>((to - from) << 8) >> 8;
}

/// Up to which PSN a packet of the responder acknowledges. IBTA vol. 1, 9.7.5.1.
std::optional<std::uint32_t> acknowledged_by(std::uint32_t opcode, std::uint32_t psn, std::uint32_t syndrome) {
    constexpr std::uint32_t first = 13, last = 15, only = 16, acknowledge = 17, atomic_acknowledge = 18;
    const bool positive = (syndrome & 0x60) == 0;
    if (opcode == acknowledge) return positive ? psn : psn - 1;
    if (opcode == first) return psn - 1;
    if (opcode == last || opcode == only || opcode == atomic_acknowledge) return psn;
    return std::nullopt;
}

std::uint32_t ending_of(Operation operation, std::uint32_t psn, std::uint32_t length, std::uint32_t path_mtu) {
    if (operation != Operation::read || length == 0) return psn;
    return psn + (length + path_mtu - 1) / path_mtu - 1;
}

}  // namespace

std::optional<std::vector<Answer>> roce_answers(const std::string& path, std::uint32_t path_mtu) {
    const auto rows = tshark(path, {"ip.src", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
                                    "infiniband.aeth.syndrome", "infiniband.reth.dmalen"});
    if (!rows) return std::nullopt;
    struct Waiting {
        std::size_t answer;
        std::uint32_t psn;
        std::string sender;
    };
    std::vector<Answer> answers;
    std::vector<Waiting> waiting;
    for (std::size_t i = 0; i < rows->size(); ++i) {
        const Row& row = (*rows)[i];
        if (row[1].empty() || number(row[2]) <= 1) continue;
        const std::uint32_t opcode = number(row[1]) & 31;
        const std::uint32_t psn = number(row[3]);
        if (const auto operation = ended_by(opcode)) {
            waiting.push_back({answers.size(), ending_of(*operation, psn, number(row[5]), path_mtu), row[0]});
            answers.push_back({i + 1, *operation, 0});
        }
        const auto up_to = acknowledged_by(opcode, psn, number(row[4]));
        if (!up_to) continue;
        std::erase_if(waiting, [&](const Waiting& one) {
            if (one.sender == row[0] || psn_distance(one.psn, *up_to) < 0) return false;
            answers[one.answer].response_frame = i + 1;
            return true;
        });
    }
    return answers;
}

std::optional<std::vector<std::uint64_t>> roce_repeats(const std::string& path) {
    const auto rows = tshark(path, {"ip.src", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"});
    if (!rows) return std::nullopt;
    std::vector<std::uint64_t> repeats(rows->size() + 1);
    std::map<std::string, std::uint64_t> frames;
    for (std::size_t i = 0; i < rows->size(); ++i) {
        const Row& row = (*rows)[i];
        if (row[1].empty() || number(row[2]) <= 1) continue;
        constexpr std::uint32_t first_response = 13, last_response = 16, acknowledge = 17, atomic_acknowledge = 18;
        const std::uint32_t opcode = number(row[1]);
        if (opcode == acknowledge || opcode == atomic_acknowledge) continue;
        const bool response = opcode >= first_response && opcode <= last_response;
        std::uint64_t& frame = frames[row[0] + ' ' + row[2] + ' ' + row[3] + (response ? " response" : "")];
        repeats[i + 1] = frame;
        frame = i + 1;
    }
    return repeats;
}

namespace {

/// The rows of a capture with iWARP, one after the other.
class Streams {
public:
    void take(std::uint64_t frame, const Row& row) {
        const std::string way = row[source] + ' ' + row[destination];
        const std::string back = row[destination] + ' ' + row[source];
        std::erase_if(waiting_, [&](const Waiting& one) {
            const bool past = static_cast<std::int32_t>(number(row[acknowledged]) - one.end) >= 0;
            if (one.way != back || one.operation == Operation::read || !past) return false;
            answers[one.answer].response_frame = frame;
            return true;
        });
        if (number(row[length]) == 0) return;
        if (ends_.count(way) == 0) {
            ends_[way] = number(row[sequence]) + number(row[length]);
            return;
        }
        const auto lengths = split(row[unit_lengths], ',');
        const auto opcodes = split(row[unit_opcodes], ',');
        const auto lasts = split(row[unit_lasts], ',');
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            // ULPDU length, ULPDU, pad to four octets, CRC. RFC 5044, 4.
            ends_[way] += (2 + number(lengths[i]) + 3) / 4 * 4 + 4;
            if (lasts.at(i) == "1") take_last(frame, way, back, number(opcodes.at(i)));
        }
    }

    static std::vector<std::string> fields() {
        return {"tcp.srcport", "tcp.dstport",           "tcp.seq",           "tcp.len",
                "tcp.ack",     "iwarp_mpa.ulpdulength", "iwarp_rdma.opcode", "iwarp_ddp.last_flag"};
    }

    std::vector<Answer> answers;

private:
    enum Column { source, destination, sequence, length, acknowledged, unit_lengths, unit_opcodes, unit_lasts };
    struct Waiting {
        std::size_t answer;
        std::uint32_t end;  ///< sequence number after its last octet
        std::string way;
        Operation operation;
    };

    /// The last segment of a message, by RDMAP's opcode. RFC 5040, 4.1.
    void take_last(std::uint64_t frame, const std::string& way, const std::string& back, std::uint32_t opcode) {
        constexpr std::uint32_t write = 0, read_request = 1, read_response = 2, send_invalidate = 4;
        if (opcode == read_response) {
            const auto asked = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
                return one.operation == Operation::read && one.way == back;
            });
            if (asked == waiting_.end()) return;
            answers[asked->answer].response_frame = frame;
            waiting_.erase(asked);
            return;
        }
        const Operation operation = opcode == write             ? Operation::write
                                    : opcode == read_request    ? Operation::read
                                    : opcode == send_invalidate ? Operation::send_invalidate
                                                                : Operation::send;
        waiting_.push_back({answers.size(), ends_[way], way, operation});
        answers.push_back({frame, operation, 0});
    }

    std::vector<Waiting> waiting_;
    std::map<std::string, std::uint32_t> ends_;  ///< of each way's last FPDU; first, of its MPA start frame
};

}  // namespace

std::optional<std::vector<Answer>> iwarp_answers(const std::string& path) {
    const auto rows = tshark(path, Streams::fields());
    if (!rows) return std::nullopt;
    Streams streams;
    for (std::size_t i = 0; i < rows->size(); ++i) streams.take(i + 1, (*rows)[i]);
    return streams.answers;
}

}  // namespace notes_test
