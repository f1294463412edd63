#include "wire/nfs4_reader.h"

namespace wire {

namespace {

/// How unlikely an operation is to be the purpose of its compound: 0 for a purpose, more for what accompanies it.
unsigned nfs4_rank(std::uint32_t operation) {
    switch (operation) {
        case 53:  // SEQUENCE
        case 22:  // PUTFH
        case 10:  // GETFH
        case 32:  // SAVEFH
        case 31:  // RESTOREFH
            return 3;
        case 9:   // GETATTR
        case 23:  // PUTPUBFH
        case 24:  // PUTROOTFH
            return 2;
        case 3: return 1;  // ACCESS
        default: return 0;
    }
}

}  // namespace

void Nfs4Reader::call() {
    in_.text(Item::tag);
    in_.number(Item::minor_version);
    const std::uint32_t count = in_.number(Item::operation_count);
    for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
        const std::uint32_t operation = in_.xdr.u32();
        if (in_.xdr.ended()) return;
        in_.heading(Item::operation, operation, nfs4_operation_name(operation).text);
        take_main(operation);
        const bool known = arguments(operation);
        in_.close();
        if (!known) break;
    }
    show_main();
}

void Nfs4Reader::reply() {
    const std::uint32_t status = in_.number(Item::status4);
    if (in_.xdr.ended()) return;
    in_.summary.status = status;
    in_.text(Item::tag);
    const std::uint32_t count = in_.number(Item::operation_count);
    for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
        const std::uint32_t operation = in_.xdr.u32();
        if (in_.xdr.ended()) return;
        in_.heading(Item::operation, operation, nfs4_operation_name(operation).text);
        take_main(operation);
        const std::uint32_t own = in_.number(Item::status4);
        const bool known = !in_.xdr.ended() && results(operation, own);
        in_.close();
        if (!known) break;
    }
    show_main();
}

void Nfs4Reader::callback_call() {
    in_.text(Item::tag);
    in_.number(Item::minor_version);
    in_.xdr.skip(4);  // callback_ident
    const std::uint32_t count = in_.number(Item::operation_count);
    for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
        const std::uint32_t operation = in_.xdr.u32();
        if (in_.xdr.ended()) return;
        in_.heading(Item::callback_operation, operation, nfs4_callback_name(operation).text);
        take_callback(operation);
        const bool known = callback_arguments(operation);
        in_.close();
        if (!known) return;
    }
}

void Nfs4Reader::callback_reply() {
    const std::uint32_t status = in_.number(Item::status4);
    if (in_.xdr.ended()) return;
    in_.summary.status = status;
    in_.text(Item::tag);
    const std::uint32_t count = in_.number(Item::operation_count);
    for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
        const std::uint32_t operation = in_.xdr.u32();
        if (in_.xdr.ended()) return;
        in_.heading(Item::callback_operation, operation, nfs4_callback_name(operation).text);
        take_callback(operation);
        const std::uint32_t own = in_.number(Item::status4);
        bool known = !in_.xdr.ended();
        constexpr std::uint32_t cb_sequence = 11;
        if (own == 0 && operation == cb_sequence)
            callback_sequence();
        else
            known = known && (own != 0 || operation != 3);
        in_.close();
        if (!known) return;
    }
}

void Nfs4Reader::show_main() {
    if (in_.summary.operation && !in_.xdr.ended())
        in_.computed(Item::main_operation, *in_.summary.operation, in_.xdr.offset(), 0);
}

void Nfs4Reader::take_main(std::uint32_t operation) {
    ++in_.summary.operations;
    is_main_ = false;
    const unsigned rank = nfs4_rank(operation);
    if (in_.summary.operation && rank > main_rank_) return;
    main_rank_ = rank;
    is_main_ = true;
    in_.summary.operation = operation;
    in_.summary.handle = current_;
    in_.summary.offset.reset();
    in_.summary.count.reset();
}

void Nfs4Reader::take_callback(std::uint32_t operation) {
    constexpr std::uint32_t cb_sequence = 11;
    ++in_.summary.operations;
    if (!in_.summary.operation || operation != cb_sequence) in_.summary.operation = operation;
}

void read_nfs4(NfsItemReader& in) {
    Nfs4Reader reader(in);
    return in.body.is_call ? reader.call() : reader.reply();
}

void read_nfs4_callback(NfsItemReader& in) {
    Nfs4Reader reader(in);
    return in.body.is_call ? reader.callback_call() : reader.callback_reply();
}

}  // namespace wire
