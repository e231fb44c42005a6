// expect: build_timeout or resource_limit or build_failed
// problem: affine
// effort: search
// origin: contract
// why: two to the fortieth instantiations
#include "kernsmith_kernel.h"

template <int N, class T>
struct bomb {
  static constexpr unsigned long value = bomb<N - 1, bomb<N, T>>::value + bomb<N - 1, const bomb<N, T>*>::value;
};
template <class T>
struct bomb<0, T> {
  static constexpr unsigned long value = 1;
};

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  return static_cast<int>(bomb<40, int>::value);
}
