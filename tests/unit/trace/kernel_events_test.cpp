// What kernel events mean. The kernel's own printed traces of the lab (pcaps/*.trace.A.txt) say what happened; the
// records are put together from them at the places that the recorded format files give, read here by eye.
#include "trace/kernel/kernel_events.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <regex>
#include <set>
#include <unistd.h>

#include "tests/support/pcaps.h"
#include "trace_events.h"

namespace trace {
namespace {

using test::RecordBytes;
using test::recorded_format;

sockaddr_in socket_address(const std::string& text) {
    sockaddr_in address = {};
    const std::size_t colon = text.rfind(':');
    if (::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) return {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1))));
    return address;
}

/// The events of a trace file as records.
class Replay {
public:
    /// `pids`: the processes that the trace names, and its workers as threads of the kernel; else all are such.
    explicit Replay(bool pids = false)
        : pids_(pids), kernel_([this](std::uint32_t pid) { return pid == 0 || workers_.contains(pid); }) {
        for (const char* name :
             {"cm_event_handler", "cm_qp_create", "cm_qp_destroy", "cm_send_req", "cm_send_rep", "cm_id_destroy"})
            converters_[name] = kernel_.converter(std::string("rdma_cma:") + name, recorded_format("rdma_cma", name));
    }
    std::vector<Record> run(const std::string& path) {
        std::ifstream file(path);
        std::vector<Record> records;
        const std::regex line_of(R"((\d+\.\d+): (cm_\w+): cm\.id=(\d+) src=(\S+) dst=(\S+) tos=\d+ ?(.*))");
        const std::regex task_of(R"(^ *(\S+)-(\d+) +\[)");
        std::string line;
        std::smatch part;
        std::smatch task;
        while (std::getline(file, line)) {
            if (!std::regex_search(line, part, line_of) || !converters_.contains(part[2])) continue;
            const RecordBytes bytes = record_of(part);
            std::uint32_t pid = 0;
            if (pids_ && std::regex_search(line, task, task_of)) {
                pid = static_cast<std::uint32_t>(std::stoul(task[2]));
                if (task[1].str().starts_with("kworker")) workers_.insert(pid);
            }
            Record record;
            record.process = pid;
            const EventSample sample{static_cast<std::int64_t>(std::stod(part[1]) * 1e9), pid, pid, bytes.bytes()};
            if (converters_[part[2]](sample, record)) records.push_back(record);
        }
        return records;
    }

private:
    static RecordBytes record_of(const std::smatch& part) {
        const auto id = static_cast<std::uint32_t>(std::stoul(part[3]));
        const sockaddr_in from = socket_address(part[4]);
        const sockaddr_in to = socket_address(part[5]);
        const std::string rest = part[6];
        const auto after = [&](const std::string& key) {
            const std::size_t at = rest.find(key);
            return at == std::string::npos ? 0U : static_cast<std::uint32_t>(std::stol(rest.substr(at + key.size())));
        };
        RecordBytes bytes(104);
        bytes.put<std::uint32_t>(8, id);
        if (part[2] == "cm_event_handler") {  // "REJECTED (8/28)"
            const std::size_t open = rest.find('(');
            bytes.put<std::uint64_t>(16, std::stoul(rest.substr(open + 1)));
            bytes.put<std::int32_t>(24, std::stoi(rest.substr(rest.find('/') + 1))).put(28, from).put(56, to);
        } else if (part[2] == "cm_qp_create") {  // "pd.id=1 qp_type=RC send_wr=769 recv_wr=1025 qp_num=22 rc=0"
            bytes.put(20, after("qp_num=")).put(24, after("send_wr=")).put(28, after("recv_wr=")).put(32, after("rc="));
            bytes.put<std::uint64_t>(40, rest.find("qp_type=RC") != std::string::npos ? 2 : 1)
                .put(48, from)
                .put(76, to);
        } else {
            bytes.put(16, after("qp_num=")).put(20, from).put(48, to);
        }
        return bytes;
    }
    bool pids_;
    std::set<std::uint32_t> workers_ = {};
    KernelEvents kernel_;
    std::map<std::string, Converter> converters_ = {};
};

TEST(KernelEvents, a_connection_that_was_refused) {
    // rxe-trace-rping, machine A, cm.id 7: its lines are at the beginning of the file.
    const std::vector<Record> records = Replay().run(support::pcaps() + "/rxe-trace-rping.trace.A.txt");
    ASSERT_GE(records.size(), 5U);
    EXPECT_EQ(records[0].kind, RecordKind::connection);
    EXPECT_EQ(records[0].connection.event, 0);  // RDMA_CM_EVENT_ADDR_RESOLVED
    EXPECT_EQ(records[0].connection.family, 4);
    EXPECT_EQ(records[0].connection.local_port, 42188);
    EXPECT_EQ(records[0].connection.peer_port, 18634);
    EXPECT_EQ(records[0].connection.local[3], 1);
    EXPECT_EQ(records[0].connection.peer[3], 2);
    EXPECT_EQ(records[0].connection.local[0], 192);
    EXPECT_EQ(records[0].number, 0U) << "no queue pair yet";
    EXPECT_EQ(records[2].kind, RecordKind::queue_pair);
    EXPECT_EQ(records[2].number, 22U);
    EXPECT_EQ(records[2].change.state, 0);
    EXPECT_EQ(records[2].change.type, 2);  // IBV_QPT_RC
    EXPECT_EQ(records[2].change.send_capacity, 769U);
    EXPECT_EQ(records[2].change.receive_capacity, 1025U);
    EXPECT_EQ(records[3].connection.event, 8);  // RDMA_CM_EVENT_REJECTED
    EXPECT_EQ(records[3].connection.status, 28);
    EXPECT_EQ(records[3].number, 22U) << "by cm_qp_create";
    EXPECT_EQ(records[4].kind, RecordKind::queue_pair);
    EXPECT_EQ(records[4].change.state, 255);
    EXPECT_EQ(records[4].number, 22U);
}

TEST(KernelEvents, what_workers_do_for_a_program_is_the_program_s) {
    // rping-10832 answers with `cm_send_rep: cm.id=16 src=192.0.2.1:7174 dst=192.0.2.2:58306 ... qp_num=30`; that the
    // connection stands, a kworker says.
    const std::vector<Record> records = Replay(true).run(support::pcaps() + "/rxe-trace-rping.trace.A.txt");
    std::vector<Record> of_program;
    for (const Record& record : records)
        if (record.process != 0) of_program.push_back(record);
    ASSERT_GE(of_program.size(), 2U);
    EXPECT_EQ(of_program[0].kind, RecordKind::queue_pair);
    EXPECT_EQ(of_program[0].number, 30U);
    EXPECT_EQ(of_program[1].kind, RecordKind::connection);
    EXPECT_EQ(of_program[1].connection.event, 9);  // RDMA_CM_EVENT_ESTABLISHED
    EXPECT_EQ(of_program[1].connection.local_port, 7174);
    EXPECT_EQ(of_program[1].connection.peer_port, 58306);
    EXPECT_EQ(of_program.back().kind, RecordKind::queue_pair);
    EXPECT_EQ(of_program.back().change.state, 255) << "by cm_id_destroy";
    for (const Record& record : of_program) {
        EXPECT_EQ(record.process, 10832U);
        EXPECT_EQ(record.number, 30U);
    }
    // ib_write_bw-11265 asks twice: `cm_send_req: cm.id=16 ... qp_num=19`, then `cm.id=17 ... qp_num=20`.
    std::set<std::pair<std::uint32_t, std::uint32_t>> asked;
    for (const Record& record : Replay(true).run(support::pcaps() + "/rxe-trace-write-bw.trace.B.txt"))
        if (record.process != 0) asked.emplace(record.process, record.number);
    EXPECT_EQ(asked, (std::set<std::pair<std::uint32_t, std::uint32_t>>{{11265, 19}, {11265, 20}}));
}

TEST(KernelEvents, every_event_of_every_trace_is_there) {
    // grep -c 'cm_event_handler: \|cm_qp_create:.*rc=0\|cm_qp_destroy: '
    for (const char* name : {"rxe-trace-rping.trace.A", "rxe-trace-rping.trace.B", "rxe-trace-write-bw.trace.A",
                             "rxe-trace-write-bw.trace.B", "siw-trace-rping.trace.A", "siw-trace-rping.trace.B",
                             "siw-trace-write-bw.trace.A", "siw-trace-write-bw.trace.B"}) {
        const std::string path = support::pcaps() + "/" + name + ".txt";
        std::ifstream file(path);
        const std::regex wanted(R"(: (cm_event_handler|cm_qp_destroy|cm_qp_create): )");
        std::size_t lines = 0;
        for (std::string line; std::getline(file, line);) lines += std::regex_search(line, wanted) ? 1 : 0;
        EXPECT_GT(lines, 5U) << path;
        EXPECT_EQ(Replay().run(path).size(), lines) << path;
    }
}

TEST(KernelEvents, what_a_kernel_does_not_tell_is_no_record) {
    const KernelEvents kernel;
    const auto other = Format::parse(
        "name: cm_qp_create\nID: 1\nformat:\n\tfield:u32 cm_id;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n");
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(kernel.converter("rdma_cma:cm_qp_create", *other));
    EXPECT_FALSE(kernel.converter("rdma_core:cq_poll", recorded_format("rdma_core", "cq_poll")));
    EXPECT_FALSE(kernel.converter("", *other));
}

TEST(KernelEvents, a_queue_pair_that_was_not_made_is_none) {
    const KernelEvents kernel;
    const Converter convert = kernel.converter("rdma_cma:cm_qp_create", recorded_format("rdma_cma", "cm_qp_create"));
    RecordBytes bytes(104);
    bytes.put<std::uint32_t>(20, 5).put<std::int32_t>(32, -12);
    Record record;
    EXPECT_FALSE(convert({0, 0, 0, bytes.bytes()}, record));
}

TEST(KernelEvents, the_table_names_events_that_kernels_have) {
    const auto formats = test::recorded_formats();
    for (const std::string_view name : converted_kernel_events()) {
        const std::string event(name);
        const std::size_t colon = event.find(':');
        EXPECT_TRUE(formats.contains("events/" + event.substr(0, colon) + "/" + event.substr(colon + 1) + "/format"))
            << event;
        EXPECT_TRUE(KernelEvents().converter(event, recorded_format(event.substr(0, colon), event.substr(colon + 1))));
    }
}

TEST(KernelEvents, threads_of_the_kernel_are_told_from_programs) {
    EXPECT_FALSE(is_kernel_thread(static_cast<std::uint32_t>(::getpid())));
    std::ifstream comm("/proc/2/comm");
    std::string name;
    if (!std::getline(comm, name) || name != "kthreadd") GTEST_SKIP() << "no threads of the kernel are seen here";
    EXPECT_TRUE(is_kernel_thread(2));
}

}  // namespace
}  // namespace trace
