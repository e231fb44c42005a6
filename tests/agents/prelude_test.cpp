// The prelude is compiled for AVX2 and for this machine, loaded, and compared with libm in double and with config's conversions.
#include "agents/synthesis/prelude.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

const std::array<std::string, 2> targets = {"x86-64-v3", "native"};

const std::set<std::string> all_pieces = {"simd", "simd64", "exp",     "log",    "log1p", "expm1",
                                          "tanh", "erf",    "sigmoid", "sincos", "pow",   "rsqrt"};

/// A shared object with one C function per name: `body` with NAME replaced.
class library {
 public:
  library(const std::string& source, const std::string& march) {
    const result<std::filesystem::path> built =
        compile_kernel("#include \"kernsmith_kernel.h\"\n" + prelude_text(all_pieces) + source, march);
    if (!built) FAIL(built.error().message);
    handle_ = dlopen(built->c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle_ != nullptr);
  }
  template <class F>
  F* function(const std::string& name) const {
    void* found = dlsym(handle_, name.c_str());
    REQUIRE(found != nullptr);
    return reinterpret_cast<F*>(found);
  }

 private:
  void* handle_ = nullptr;
};

using map_f32 = void(const float*, const float*, float*, int);
using map_f64 = void(const double*, const double*, double*, int);
constexpr int batch = 64;

std::string unary_wrappers() {
  std::string source;
  for (const char* f : {"exp", "log", "log1p", "expm1", "tanh", "erf", "sigmoid", "sin", "cos", "rsqrt"}) {
    source += fmt::format(
        "extern \"C\" void f32_{0}(const float* a, const float*, float* y, int n) {{ for (int i = 0; i < n; i += VL) vstore(y + i, "
        "v{0}(vload(a + i))); }}\n",
        f);
    source += fmt::format(
        "extern \"C\" void f64_{0}(const double* a, const double*, double* y, int n) {{ for (int i = 0; i < n; i += VLD) vstored(y + i, "
        "v{0}(vloadd(a + i))); }}\n",
        f);
  }
  return source + R"(
extern "C" void f32_pow(const float* a, const float* b, float* y, int n) { for (int i = 0; i < n; i += VL) vstore(y + i, vpow(vload(a + i), vload(b + i))); }
extern "C" void f32_max(const float* a, const float* b, float* y, int n) { for (int i = 0; i < n; i += VL) vstore(y + i, vmax(vload(a + i), vload(b + i))); }
extern "C" void f32_min(const float* a, const float* b, float* y, int n) { for (int i = 0; i < n; i += VL) vstore(y + i, vmin(vload(a + i), vload(b + i))); }
extern "C" void f32_hmax(const float* a, const float*, float* y, int n) { for (int i = 0; i < n; i += VL) y[i] = hmax(vload(a + i)); }
extern "C" int lanes() { return VL; }
)";
}

double unit_in_last_place(double exact, int digits, int lowest) {
  if (exact == 0 || !std::isfinite(exact)) return std::ldexp(1.0, lowest);
  return std::ldexp(1.0, std::max(std::ilogb(exact) + 1 - digits, lowest));
}

bool same_kind(float got, float want) {
  return std::isnan(got) == std::isnan(want) && std::isinf(got) == std::isinf(want) &&
         (std::isnan(want) || std::signbit(got) == std::signbit(want));
}

/// Worst error in ulps of a float function over a sweep of all bit patterns; infinity when a NaN, infinity or sign is out of place.
template <class Next, class Reference>
double worst_f32(map_f32* f, Next next, Reference reference) {
  double worst = 0;
  std::array<float, batch> a{}, b{}, y{};
  for (bool more = true; more;) {
    for (int i = 0; i < batch; ++i) more = next(a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(i)]);
    f(a.data(), b.data(), y.data(), batch);
    for (std::size_t i = 0; i < batch; ++i) {
      const double exact = reference(static_cast<double>(a[i]), static_cast<double>(b[i]));
      const auto want = static_cast<float>(exact);
      double error = std::fabs(static_cast<double>(y[i]) - exact) / unit_in_last_place(static_cast<double>(want), 24, -149);
      if (!same_kind(y[i], want))
        error = std::numeric_limits<double>::infinity();
      else if (!std::isfinite(want))
        error = 0;
      if (error > worst) worst = error;
      if (std::isinf(error)) {
        MESSAGE(fmt::format("f({:a}, {:a}) is {:a}, not {:a}", a[i], b[i], y[i], exact));
        return error;
      }
    }
  }
  return worst;
}

/// Every `stride`-th bit pattern.
auto sweep(std::uint64_t stride) {
  return [stride, bits = std::uint64_t{0}](float& a, float& b) mutable {
    a = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    b = 0;
    bits += stride;
    return bits <= 0xffffffffu;
  };
}

struct function_case {
  std::string name;
  double bound;  // ulps, as the piece's comment states
  double (*reference)(double);
};

const std::array<function_case, 10> functions = {
    {{"exp", 1.0, [](double x) { return std::exp(x); }},
     {"log", 1.0, [](double x) { return std::log(x); }},
     {"log1p", 2.0, [](double x) { return std::log1p(x); }},
     {"expm1", 2.0, [](double x) { return std::expm1(x); }},
     {"tanh", 2.0, [](double x) { return std::tanh(x); }},
     {"erf", 2.0, [](double x) { return std::erf(x); }},
     {"sigmoid", 3.0, [](double x) { return (x < 0 ? std::exp(x) : 1) / (1 + std::exp(-std::fabs(x))); }},
     {"sin", 2.0, [](double x) { return std::sin(x); }},
     {"cos", 2.0, [](double x) { return std::cos(x); }},
     {"rsqrt", 1.5, [](double x) { return 1 / std::sqrt(x); }}}};

TEST_CASE("float functions keep their ulp bounds over all exponents and special values") {
  constexpr std::uint64_t stride = 2053;  // two million values, prime so that all low bits occur
  for (const std::string& march : targets) {
    CAPTURE(march);
    const library math(unary_wrappers(), march);
    for (const function_case& f : functions) {
      CAPTURE(f.name);
      const double worst =
          worst_f32(math.function<map_f32>("f32_" + f.name), sweep(stride), [&](double x, double) { return f.reference(x); });
      CHECK(worst <= f.bound);
      CHECK(worst > 0);
    }
  }
}

TEST_CASE("float functions at the values where branches meet") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> centres = {0.0f,
                                      -0.0f,
                                      1.0f,
                                      -1.0f,
                                      0.5625f,
                                      0.92f,
                                      3.95f,
                                      88.722839f,
                                      89.0f,
                                      -87.33655f,
                                      -103.97208f,
                                      -104.0f,
                                      17.0f,
                                      0x1p-25f,
                                      0x1p-126f,
                                      0x1p-149f,
                                      32768.0f,
                                      1.5707964f,
                                      3.1415927f,
                                      1e30f,
                                      infinity,
                                      -infinity,
                                      std::numeric_limits<float>::max(),
                                      0.70710678f};
  for (const std::string& march : targets) {
    const library math(unary_wrappers(), march);
    for (const function_case& f : functions) {
      CAPTURE(f.name);
      std::size_t at = 0;
      int step = -32;
      const auto next = [&](float& a, float& b) {
        a = std::bit_cast<float>(std::bit_cast<std::uint32_t>(centres[at]) + static_cast<std::uint32_t>(step));
        b = 0;
        if (++step == 32) step = -32, ++at;
        return at < centres.size();
      };
      CHECK(worst_f32(math.function<map_f32>("f32_" + f.name), next, [&](double x, double) { return f.reference(x); }) <= f.bound);
    }
  }
}

TEST_CASE("pow and its special cases") {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> special = {0.0f, -0.0f,      1.0f,       -1.0f,  2.0f,       -2.0f,      0.5f,     -0.5f,
                                      3.0f, -3.0f,      1.5f,       -1.5f,  1e30f,      1e9f,       infinity, -infinity,
                                      nan,  16777216.f, 16777215.f, 1e-40f, 1.0000001f, 0.99999994f};
  for (const std::string& march : targets) {
    const library math(unary_wrappers(), march);
    auto* pow = math.function<map_f32>("f32_pow");
    std::size_t pair = 0;
    const auto pairs = [&](float& a, float& b) {
      a = special[pair / special.size() % special.size()];
      b = special[pair % special.size()];
      return ++pair < special.size() * special.size();
    };
    CHECK(worst_f32(pow, pairs, [](double a, double b) { return std::pow(a, b); }) <= 1.0);
    std::mt19937 random(7);
    int left = 1 << 19;
    const auto moderate = [&](float& a, float& b) {
      a = std::ldexp(1.0f + static_cast<float>(random()) * 0x1p-32f, static_cast<int>(random() % 80) - 40);
      b = (static_cast<float>(random()) * 0x1p-32f - 0.5f) * 8.0f;
      return --left > 0;
    };
    CHECK(worst_f32(pow, moderate, [](double a, double b) { return std::pow(a, b); }) <= 1.0);
  }
}

TEST_CASE("double overloads are accurate to a few ulps of a double") {
  for (const std::string& march : targets) {
    CAPTURE(march);
    const library math(unary_wrappers(), march);
    for (const function_case& f : functions) {
      CAPTURE(f.name);
      auto* run = math.function<map_f64>("f64_" + f.name);
      std::mt19937_64 random(3);
      double worst = 0;
      std::array<double, batch> a{}, y{};
      for (int round = 0; round < 4000; ++round) {
        for (double& x : a) {
          const std::uint64_t bits = random();
          x = round % 2 == 0 ? std::bit_cast<double>(bits)
                             : std::ldexp(std::bit_cast<double>((bits & 0x800fffffffffffff) | 0x3ff0000000000000),
                                          static_cast<int>(random() % 16) - 8);
        }
        run(a.data(), a.data(), y.data(), batch);
        for (std::size_t i = 0; i < batch; ++i) {
          const double want = f.reference(a[i]);
          REQUIRE(std::isnan(y[i]) == std::isnan(want));
          REQUIRE(std::isinf(y[i]) == std::isinf(want));
          if (std::isfinite(want)) worst = std::max(worst, std::fabs(y[i] - want) / unit_in_last_place(want, 53, -1074));
        }
      }
      CHECK(worst <= 4.0);  // libm in double is the yardstick, so its own ulp counts too
    }
  }
}

TEST_CASE("min and max carry NaN from either side, across lanes too") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string& march : targets) {
    const library math(unary_wrappers(), march);
    std::array<float, batch> a{}, b{}, y{};
    a.fill(1), b.fill(2);
    a[0] = nan, b[1] = nan;
    math.function<map_f32>("f32_max")(a.data(), b.data(), y.data(), batch);
    CHECK(std::isnan(y[0]));
    CHECK(std::isnan(y[1]));
    CHECK(y[2] == 2);
    math.function<map_f32>("f32_min")(a.data(), b.data(), y.data(), batch);
    CHECK(std::isnan(y[0]));
    CHECK(std::isnan(y[1]));
    CHECK(y[2] == 1);
    const int lanes = math.function<int()>("lanes")();
    for (int lane = 0; lane < lanes; ++lane) {
      a.fill(1);
      a[static_cast<std::size_t>(lane)] = nan;
      math.function<map_f32>("f32_hmax")(a.data(), a.data(), y.data(), batch);
      CHECK(std::isnan(y[0]));
      a[static_cast<std::size_t>(lane)] = 5;
      math.function<map_f32>("f32_hmax")(a.data(), a.data(), y.data(), batch);
      CHECK(y[0] == 5);
    }
  }
}

const std::array<dtype, 11> stored_types = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::f8e4m3, dtype::f8e5m2,
                                            dtype::i64, dtype::i32, dtype::i16, dtype::i8,   dtype::u8};

using convert_in = void(const void*, float*, int);
using convert_out = void(const float*, void*, int);
using convert_out_f64 = void(const double*, void*, int);

std::string conversion_wrappers() {
  std::string source;
  for (const dtype type : stored_types) {
    const std::string_view name = name_of(type);
    source += fmt::format(R"(
extern "C" void store_{0}(const float* x, void* y, int n) {{ for (int i = 0; i < n; i += VL) vstore(({1}*)y + i, vload(x + i)); }}
extern "C" void load_{0}(const void* x, float* y, int n) {{ for (int i = 0; i < n; i += VL) vstore(y + i, vload((const {1}*)x + i)); }}
extern "C" void scalar_{0}(const float* x, void* y, int n) {{ for (int i = 0; i < n; ++i) (({1}*)y)[i] = from_float<{1}>(x[i]); }}
extern "C" void scalar64_{0}(const double* x, void* y, int n) {{ for (int i = 0; i < n; ++i) (({1}*)y)[i] = from_double<{1}>(x[i]); }}
extern "C" void some_{0}(const void* x, void* y, int n) {{ vstore_n(({1}*)y, vload_n((const {1}*)x, n), n); }}
)",
                          name, storage_type(type));
  }
  return source + "extern \"C\" int lanes() { return VL; }\n";
}

/// NaNs may differ in their payload.
bool equal_elements(const void* a, const void* b, std::size_t i, dtype type) {
  const double x = load_as_double(a, i, type), y = load_as_double(b, i, type);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return std::memcmp(static_cast<const char*>(a) + i * size_of(type), static_cast<const char*>(b) + i * size_of(type), size_of(type)) == 0;
}

TEST_CASE("stores round and saturate as config's conversions do") {
  for (const std::string& march : targets) {
    const library convert(conversion_wrappers(), march);
    for (const dtype type : stored_types) {
      CAPTURE(name_of(type));
      auto* vector = convert.function<convert_out>("store_" + std::string(name_of(type)));
      auto* scalar = convert.function<convert_out>("scalar_" + std::string(name_of(type)));
      std::array<float, batch> x{};
      std::array<std::uint64_t, batch> by_vector{}, by_scalar{}, expected{};
      int wrong = 0;
      // 4001 walks through all exponents; the second sweep stays near ties of 16-bit floats.
      for (std::uint64_t bits = 0; bits <= 0xffffffffu;) {
        for (float& value : x) {
          value = std::bit_cast<float>(
              static_cast<std::uint32_t>((bits & 0x10) != 0 ? (bits & ~std::uint64_t{0x1fff}) | 0x1000 | (bits & 1) : bits));
          bits += 4001;
        }
        vector(x.data(), by_vector.data(), batch);
        scalar(x.data(), by_scalar.data(), batch);
        for (std::size_t i = 0; i < batch; ++i) {
          store_from_double(expected.data(), i, type, static_cast<double>(x[i]));
          if (!equal_elements(by_vector.data(), expected.data(), i, type) || !equal_elements(by_scalar.data(), expected.data(), i, type)) {
            if (++wrong < 4)
              MESSAGE(fmt::format("{:a}: vector {}, scalar {}, expected {}", x[i], load_as_double(by_vector.data(), i, type),
                                  load_as_double(by_scalar.data(), i, type), load_as_double(expected.data(), i, type)));
          }
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("doubles round once, also into types narrower than a float") {
  const library convert(conversion_wrappers(), "native");
  std::mt19937_64 random(11);
  for (const dtype type : stored_types) {
    CAPTURE(name_of(type));
    auto* scalar = convert.function<convert_out_f64>("scalar64_" + std::string(name_of(type)));
    std::array<double, batch> x{};
    std::array<std::uint64_t, batch> got{}, expected{};
    int wrong = 0;
    for (int round = 0; round < 2000; ++round) {
      for (double& value : x) {
        // A value of the type's neighbourhood, moved off a tie by less than a float can tell.
        const auto near = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0xfffff000u)));
        value = near * (1 + std::ldexp(static_cast<double>(static_cast<int>(random() % 3) - 1), -40));
      }
      scalar(x.data(), got.data(), batch);
      for (std::size_t i = 0; i < batch; ++i) {
        store_from_double(expected.data(), i, type, x[i]);
        if (!equal_elements(got.data(), expected.data(), i, type)) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("loads give the stored value, partial ones touch nothing beyond") {
  for (const std::string& march : targets) {
    const library convert(conversion_wrappers(), march);
    const int lanes = convert.function<int()>("lanes")();
    for (const dtype type : stored_types) {
      CAPTURE(name_of(type));
      std::array<std::uint64_t, batch> stored{}, copied{};
      std::array<float, batch> loaded{};
      std::mt19937_64 random(5);
      auto* load = convert.function<convert_in>("load_" + std::string(name_of(type)));
      for (int round = 0; round < 500; ++round) {
        for (std::uint64_t& element : stored) element = random();
        load(stored.data(), loaded.data(), batch);
        for (std::size_t i = 0; i < batch; ++i) {
          const auto want = is_float(type) ? static_cast<float>(load_as_double(stored.data(), i, type))
                                           : static_cast<float>(load_as_int64(stored.data(), i, type));
          if (std::isnan(want))
            REQUIRE(std::isnan(loaded[i]));
          else
            REQUIRE(loaded[i] == want);
        }
      }
      auto* some = convert.function<void(const void*, void*, int)>("some_" + std::string(name_of(type)));
      for (int n = 0; n <= lanes; ++n) {
        for (std::size_t i = 0; i < batch; ++i) store_from_double(stored.data(), i, type, static_cast<double>(i + 1));
        copied.fill(0);
        some(stored.data(), copied.data(), n);
        CHECK(std::memcmp(stored.data(), copied.data(), static_cast<std::size_t>(n) * size_of(type)) == 0);
        const auto* bytes = reinterpret_cast<const char*>(copied.data());
        CHECK(std::all_of(bytes + static_cast<std::size_t>(n) * size_of(type), bytes + sizeof copied, [](char byte) { return byte == 0; }));
      }
    }
  }
}

TEST_CASE("names are made safe, and safe names stay") {
  CHECK(emitted_name("x") == "x");
  CHECK(emitted_name("scores") == "scores");
  for (const std::string taken :
       {"float", "class", "vexp", "vf", "exp", "ctx", "launch", "ks_thing", "_x", "x_", "a__b", "VL", "hsum", "from_float"}) {
    CAPTURE(taken);
    CHECK(emitted_name(taken) != taken);
    CHECK(emitted_name(emitted_name(taken)) == emitted_name(taken));
  }
}

TEST_CASE("pieces come once, with what they need, in order") {
  const std::string text = prelude_text({"tanh", "exp"});
  CHECK(text.find("static inline vf vtanh(") != std::string::npos);
  CHECK(text.find("struct ks_bf16") < text.find("typedef float vf"));
  CHECK(text.find("static inline vf vexp(") == text.rfind("static inline vf vexp("));
  CHECK(text.find("static inline vd vexp(") == std::string::npos);
  CHECK(prelude_text({"exp", "simd64"}).find("static inline vd vexp(") != std::string::npos);
}

}  // namespace
}  // namespace kernsmith::agents::testing
