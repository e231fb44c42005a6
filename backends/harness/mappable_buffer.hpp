// What a runner maps from the verifier: memory behind a descriptor, of the host or of a device.
#pragma once

#include <cstddef>

namespace kernsmith::harness {

class mappable_buffer {
 public:
  virtual ~mappable_buffer() = default;
  [[nodiscard]] virtual std::size_t bytes() const = 0;        ///< of data
  [[nodiscard]] virtual int descriptor() const = 0;           ///< sent to the runner; stays the buffer's
  [[nodiscard]] virtual std::size_t file_bytes() const = 0;   ///< what is mapped: a multiple of the memory's granularity
  [[nodiscard]] virtual std::size_t data_offset() const = 0;  ///< of the data in what is mapped

 protected:
  mappable_buffer() = default;
  mappable_buffer(const mappable_buffer&) = default;
  mappable_buffer& operator=(const mappable_buffer&) = default;
};

}  // namespace kernsmith::harness
