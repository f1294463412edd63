/// Survival of a fuzz target that takes structured inputs, without libFuzzer: mutations of its seeds.
///
///     mutate_TARGET SEEDS SHARD/SHARDS PER_MILLE     that share of RDMASCOPE_MUTATIONS, or of 400000
///
/// The same on every run and machine. The input at work when something failed is left in crash-input.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <vector>

#include "tests/fuzz/driver.h"
#include "tests/fuzz/fuzz_random.h"
#include "tests/fuzz/target.h"

namespace {

using Input = std::vector<std::uint8_t>;

const Input* at_work = nullptr;

void leave_crash() {
    const int file = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const bool good = file >= 0 && at_work != nullptr &&
                      write(file, at_work->data(), at_work->size()) == static_cast<ssize_t>(at_work->size());
    std::fputs(good ? "the input is in crash-input\n" : "crash-input could not be written\n", stderr);
}

std::vector<Input> load(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<Input> inputs;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return inputs;
}

/// A little more or less than what stands there, or a value at which something ends.
void change_number(Input& input, std::size_t at, fuzz::Random& random) {
    static constexpr std::array<std::uint8_t, 10> boundary_values{0, 1, 2, 3, 0x3f, 0x40, 0x7f, 0x80, 0xfe, 0xff};
    if (random.one_in(2))
        input[at] = static_cast<std::uint8_t>(input[at] + random.below(9) - 4);
    else
        input[at] = boundary_values[random.below(boundary_values.size())];
    if (random.one_in(4) && at + 1 < input.size())
        input[at + 1] = boundary_values[random.below(boundary_values.size())];
}

void mutate_once(Input& input, const Input& other, fuzz::Random& random) {
    if (input.empty()) return;
    const std::size_t at = random.below(input.size());
    const std::size_t length = 1 + random.below(std::min<std::size_t>(input.size() - at, 48));
    const auto place = [&input](std::size_t octet) { return input.begin() + static_cast<std::ptrdiff_t>(octet); };
    switch (random.below(9)) {
        case 0: input[at] ^= static_cast<std::uint8_t>(1u << random.below(8)); break;
        case 1: input[at] = static_cast<std::uint8_t>(random.next()); break;
        case 2:
        case 3: change_number(input, at, random); break;
        case 4: input.erase(place(at), place(at + length)); break;
        case 5: {
            const Input block(place(at), place(at + length));
            const std::size_t target = random.below(input.size());
            input.insert(place(target), block.begin(), block.end());
            break;
        }
        case 6: {  // the head of this one, the tail of another
            const std::size_t from = random.below(other.size() + 1);
            const Input tail(other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
            input.resize(at);
            input.insert(input.end(), tail.begin(), tail.end());
            break;
        }
        case 7: input.resize(at); break;
        case 8:
            input[random.below(std::min<std::size_t>(3, input.size()))] = static_cast<std::uint8_t>(random.next());
            break;
    }
    if (input.size() > 4096) input.resize(4096);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) return std::fputs("usage: mutate_TARGET SEEDS SHARD/SHARDS PER_MILLE\n", stderr), 2;
    fuzz::on_death(leave_crash);
    const fuzz::Shard shard = fuzz::shard_of(arguments[2]);
    const std::uint64_t share = fuzz::wished_mutations() * fuzz::number_of(arguments[3]) / 1000 / shard.count;
    const std::vector<Input> seeds = load(arguments[1]);
    if (seeds.empty()) return std::fputs("there are no seeds\n", stderr), 1;
    fuzz::Random random(77 + shard.index);
    Input input;
    at_work = &input;
    for (std::uint64_t done = 0; done < share; ++done) {
        input = seeds[random.below(seeds.size())];
        for (std::size_t times = 1 + random.below(4); times != 0; --times)
            mutate_once(input, seeds[random.below(seeds.size())], random);
        input.shrink_to_fit();
        LLVMFuzzerTestOneInput(input.data(), input.size());
        if (done % 1'000'000 == 999'999)
            std::fprintf(stderr, "%llu mutated inputs\n", static_cast<unsigned long long>(done + 1));
    }
    std::printf("%llu mutated inputs survived\n", static_cast<unsigned long long>(share));
    return 0;
}
