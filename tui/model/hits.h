#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tui::inline model {

/// The meaning of a place on the screen, for clicks. The view makes hits with each picture.
struct Hit {
    enum class Target : std::uint8_t {
        row,       ///< `value`: index of the row of the view's list
        heading,   ///< `value`: index of the column in ModelState::columns
        tab,       ///< `value`: a View
        item,      ///< `value`: index in the menu that is open
        play,      ///< pause or continue
        position,  ///< the bar that shows how far a source is; `value`: permille of its width, of this cell
    } target = Target::row;
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 1;
    std::size_t value = 0;
};

/// The results of drawing.
struct Drawn {
    std::vector<Hit> hits = {};                ///< later ones lie above earlier ones
    std::size_t page = 1;                      ///< rows of the view's list that fit; at least 1
    std::size_t overlay_page = 1;              ///< the same of the overlay: help, answers, menu
    std::size_t overlay_rows = 0;              ///< rows that the overlay has in all
    std::vector<std::uint64_t> evidence = {};  ///< of answers: the frames of the first "See:" in sight
};

}  // namespace tui::model
