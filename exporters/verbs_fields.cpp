// What the sending process did, where it was traced.
#include <array>

#include "exporters/flow_groups.h"

namespace exporters {

namespace {

using metrics::DelayFigures;
using metrics::LevelFigures;
using metrics::VerbsFigures;
using Fields = FieldBuilder<FlowRow>;

template <class Of>
auto of_verbs(Of of) {
    return [of](const FlowRow& row) { return row.flow.verbs ? Value{of(*row.flow.verbs)} : Value{}; };
}
bool is_traced(const FlowRow& row) { return row.flow.verbs.has_value(); }
Value text_or_nothing(const std::string& text) { return text.empty() ? Value{} : Value{text}; }

void add_process(Fields& fields) {
    fields.add("process.pid", "", "pid", Unit::code, "the sending process, where it was traced",
               of_verbs([](const VerbsFigures& verbs) {
                   return verbs.process.pid == 0 ? Value{} : Value{std::uint64_t{verbs.process.pid}};
               }));
    fields.add("process.command", "", "command", Unit::text, "its command line",
               of_verbs([](const VerbsFigures& verbs) { return text_or_nothing(verbs.process.command); }));
    fields.add("process.container", "", "container", Unit::text, "the container that it runs in",
               of_verbs([](const VerbsFigures& verbs) { return text_or_nothing(verbs.process.container); }));
    fields.add("process.queue_pair", "", "its QP", Unit::code, "number of its queue pair; iWARP has one, too",
               of_verbs([](const VerbsFigures& verbs) { return std::uint64_t{verbs.queue_pair}; }));
}

void add_level(Fields& fields, const std::string& name, const std::string& title, const std::string& what,
               const LevelFigures VerbsFigures::*level) {
    const auto of = [level](auto get) {
        return of_verbs([level, get](const VerbsFigures& verbs) {
            // Before the first work request there is no level.
            return verbs.*level == LevelFigures{} ? Value{} : Value{get(verbs.*level)};
        });
    };
    fields
        .add(name + ".mean", "", title, Unit::ratio, what + ", averaged over the time from the first of them",
             of([](const LevelFigures& one) { return one.mean; }))
        .statistic = Statistic::mean;
    fields
        .add(name + ".max", "", title + " max", Unit::count, "most of them at once",
             of([](const LevelFigures& one) { return one.max; }))
        .statistic = Statistic::max;
    fields.add(name + ".capacity", "", title + " capacity", Unit::count, "as many as the queue pair was granted",
               of([](const LevelFigures& one) { return value(one.capacity); }));
    fields.add(name + ".empty_ns", "", title + " empty", Unit::ns, "time without any",
               of([](const LevelFigures& one) { return one.empty_ns; }));
    fields.add(name + ".full_ns", "", title + " full", Unit::ns, "time with as many as were granted",
               of([](const LevelFigures& one) { return one.capacity ? Value{one.full_ns} : Value{}; }));
    fields.add(name + ".observed_ns", "", title + " time", Unit::ns, "the time in which that was",
               of([](const LevelFigures& one) { return one.observed_ns; }));
}

void add_work(Fields& fields) {
    const auto count = [&](const char* name, const char* title, const char* help, std::uint64_t VerbsFigures::*member) {
        fields.add(std::string("work.") + name, "", title, Unit::count, help,
                   of_verbs([member](const VerbsFigures& verbs) { return verbs.*member; }));
    };
    count("posts", "posts", "work requests that the process put into the send queue", &VerbsFigures::posts);
    count("posts_refused", "refused", "those that the provider did not take", &VerbsFigures::posts_refused);
    count("completions", "completions", "completions of them that the process took", &VerbsFigures::completions);
    count("completion_errors", "errors", "completions with a status other than success, receives among them",
          &VerbsFigures::completion_errors);
    count("receives", "receives", "work requests that it put into the queue pair's own receive queue",
          &VerbsFigures::receives);
    count("receives_used", "receives used", "completions of receives that it took", &VerbsFigures::receives_used);
    count("records_lost", "lost", "records of the process that were lost: depths may be off by as many",
          &VerbsFigures::records_lost);
    count("completions_missed", "missed", "signalled requests whose completion was never seen, though later ones were",
          &VerbsFigures::completions_missed);
    count("messages_matched", "matched", "messages whose work request is known", &VerbsFigures::messages_matched);
    count("messages_unmatched", "unmatched", "messages with several possible work requests, or with none",
          &VerbsFigures::messages_unmatched);
    count("polled_early", "early", "completions that the process took before the acknowledgement passed",
          &VerbsFigures::polled_early);
    fields.histogram(
        "work.post_interval_ns", "", "between posts", Unit::ns, "one work request to the next",
        [](const FlowRow& row) -> metrics::Histogram {
            return row.flow.verbs ? row.flow.verbs->post_interval_ns : metrics::Histogram{};
        },
        is_traced);
}

/// Gaps that packets alone call the application's, by what the posts say of them.
void add_gaps(Fields& fields) {
    const auto sum = [&](const char* name, const char* title, const char* help,
                         metrics::ApplicationTimes VerbsFigures::*member) {
        fields.add(std::string("work.") + name, "", title, Unit::ns, help,
                   of_verbs([member](const VerbsFigures& verbs) {
                       std::uint64_t all = 0;
                       for (const std::uint64_t part : verbs.*member) all += part;
                       return all;
                   }));
    };
    sum("held_ns", "held", "time between messages with work posted and not sent; it counts as nic_stall",
        &VerbsFigures::held_ns);
    sum("unpolled_ns", "unpolled", "time between messages with nothing posted and an answer not looked at",
        &VerbsFigures::unpolled_ns);
}

void add_delays(Fields& fields) {
    const auto part = [&](const char* name, const char* title, const char* help,
                          metrics::Histogram DelayFigures::*member) {
        fields.histogram(
            name, "", title, Unit::ns, help,
            [member](const FlowRow& row) -> metrics::Histogram {
                metrics::Histogram all;
                if (!row.flow.verbs) return all;
                for (const metrics::OperationWaits& one : row.flow.verbs->operations) all.merge(one.delays.*member);
                return all;
            },
            is_traced);
    };
    part("post_to_wire_ns", "to wire", "work request posted to its message's first packet",
         &DelayFigures::post_to_wire_ns);
    part("on_wire_ns", "on wire", "first to last packet of such a message", &DelayFigures::wire_ns);
    part("wire_to_ack_ns", "to ack", "its last packet to the acknowledgement, or the last response packet",
         &DelayFigures::wire_to_ack_ns);
    part("ack_to_poll_ns", "to poll", "acknowledgement to the process taking the completion",
         &DelayFigures::ack_to_poll_ns);
    part("post_to_poll_ns", "post to poll", "the whole: the sum of these four", &DelayFigures::whole_ns);
    fields.histogram(
        "completion_ns", "", "completion", Unit::ns,
        "work request posted to the process taking its completion, whether packets were seen or not",
        [](const FlowRow& row) -> metrics::Histogram {
            metrics::Histogram all;
            if (!row.flow.verbs) return all;
            for (const metrics::OperationWaits& one : row.flow.verbs->operations) all.merge(one.completion_ns);
            return all;
        },
        is_traced);
}

/// Operation by operation: how many messages were timed, and of each wait the mean and the tail. Distributions of all
/// operations together are above; eight of each would be more columns than all others.
void add_waits(Fields& fields) {
    struct Part {
        const char* name;
        const char* title;
        const char* help;
        metrics::Histogram DelayFigures::*member;
    };
    static constexpr std::array parts{
        Part{"post_to_wire_ns", "to wire", "work request posted to the first packet", &DelayFigures::post_to_wire_ns},
        Part{"on_wire_ns", "on wire", "first to last packet", &DelayFigures::wire_ns},
        Part{"wire_to_ack_ns", "to ack", "last packet to the acknowledgement, or the last response packet",
             &DelayFigures::wire_to_ack_ns},
        Part{"ack_to_poll_ns", "to poll", "acknowledgement to the process taking the completion",
             &DelayFigures::ack_to_poll_ns},
        Part{"post_to_poll_ns", "post to poll", "the whole: the sum of these four", &DelayFigures::whole_ns}};
    const auto of = [](metrics::Operation operation, auto get) {
        return of_verbs([operation, get](const VerbsFigures& verbs) {
            for (const metrics::OperationWaits& one : verbs.operations)
                if (one.operation == operation) return Value{get(one.delays)};
            return Value{};
        });
    };
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        const auto operation = static_cast<metrics::Operation>(i);
        const std::string name(metrics::name_of(operation));
        const auto add = [&](const std::string& member, const std::string& title, Unit unit, const std::string& help,
                             auto get) -> Field<FlowRow>& {
            return fields.add("waits." + name + "." + member, "waits.OPERATION." + member, name + " " + title, unit,
                              help, of(operation, get));
        };
        add("count", "timed", Unit::count, "messages whose post, packets and completion were all seen",
            [](const DelayFigures& delays) { return delays.whole_ns.count(); });
        for (const Part& part : parts) {
            const auto member = part.member;
            add(std::string(part.name) + ".mean", std::string(part.title) + " mean", Unit::ns,
                std::string(part.help) + "; the mean",
                [member](const DelayFigures& delays) { return value((delays.*member).mean()); })
                .statistic = Statistic::mean;
            add(std::string(part.name) + ".p99", std::string(part.title) + " p99", Unit::ns,
                std::string(part.help) + "; 99 % are at most that",
                [member](const DelayFigures& delays) { return value((delays.*member).quantile(0.99)); })
                .statistic = Statistic::p99;
        }
    }
}

}  // namespace

void add_verbs(Fields& fields) {
    fields.presence = Presence::with_group;
    add_process(fields);
    add_level(fields, "queue_depth", "queue", "work requests posted and not known to be complete",
              &VerbsFigures::send_queue);
    add_level(fields, "receive_level", "receives left", "receives posted and not used; of a shared queue, all of it",
              &VerbsFigures::receive_queue);
    add_work(fields);
    add_gaps(fields);
    add_delays(fields);
    add_waits(fields);
    fields.presence = Presence::always;
}

}  // namespace exporters
