#include "cli/analysis/file_input.h"

namespace cli::analysis {

base::Result<std::unique_ptr<FileInput>> FileInput::open(const std::vector<std::string>& paths,
                                                         const capture::FileOptions& options) {
    auto input = std::make_unique<FileInput>();
    if (paths.size() == 1) {
        auto opened = capture::open_file(paths.front(), options);
        if (!opened) return base::Failure{opened.error()};
        input->file_ = std::move(opened).value();
    } else {
        auto opened = MergedFiles::open(paths, options);
        if (!opened) return base::Failure{opened.error()};
        input->merged_ = std::move(opened).value();
    }
    return input;
}

}  // namespace cli::analysis
