// expect: build_timeout
// problem: affine
// effort: search
// origin: contract
// why: hundreds of instantiations, each a loop that the compiler has to run
#include "kernsmith_kernel.h"

template <int N>
constexpr unsigned long spin() {
  unsigned long sum = N;
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 100000; ++j) sum = sum * 3 + static_cast<unsigned long>(j);
  return sum;
}

template <int N>
struct bomb {
  static constexpr unsigned long value = spin<N>() ^ bomb<N - 1>::value;
};
template <>
struct bomb<0> {
  static constexpr unsigned long value = 1;
};

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  return static_cast<int>(bomb<400>::value & 1);
}
