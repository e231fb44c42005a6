// Telling AddressSanitizer, where it was loaded with the candidate, how far each buffer reaches.
#pragma once

#include <cstddef>

namespace kernsmith::runner {

/// Makes what lies around `bytes` of data unaddressable: the slack of the mapping at `start` and the guard pages beside it. One element
/// past the end is then found at the access itself, with the line of source, where a guard page sees only what leaves the page. Without
/// AddressSanitizer in the process nothing happens.
void fence(std::byte* start, std::size_t mapped_bytes, std::byte* data, std::size_t bytes);
/// Before the mapping is given back: its addresses may be used again.
void remove_fence(std::byte* start, std::size_t mapped_bytes);

}  // namespace kernsmith::runner
