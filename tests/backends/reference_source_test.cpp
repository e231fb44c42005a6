// The generated reference and the naive baseline against the interpreter, which shares no code with them.
#include "backends/cpp/reference_source.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "backends/cpp/toolchain.hpp"
#include "backends/harness/kernsmith_kernel.h"
#include "config/interpreter.hpp"

using namespace kernsmith;

namespace {

struct folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("kernsmith-reference-" + std::to_string(::getpid()));
  folder() { std::filesystem::create_directories(path); }
  ~folder() { std::filesystem::remove_all(path); }
};

using launch_function = int (*)(const ks_tensor*, int, ks_tensor*, int, ks_launch*);

struct loaded {
  void* handle = nullptr;
  launch_function launch = nullptr;
};

loaded load(const cpp::toolchain& compiler, const std::string& source, const std::vector<std::string>& flags) {
  const auto built = compiler.build(source, flags);
  REQUIRE(built);
  INFO(built->log);
  REQUIRE(built->outcome.empty());
  loaded l;
  // Never unloaded: the OpenMP runtime that comes with it has threads that outlive the call.
  l.handle = ::dlopen(built->library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  REQUIRE(l.handle != nullptr);
  l.launch = reinterpret_cast<launch_function>(::dlsym(l.handle, "launch"));
  REQUIRE(static_cast<bool>(l.launch));
  return l;
}

/// Tensors of one call and the memory they stand in.
struct tensors {
  std::vector<std::vector<std::byte>> data;
  std::vector<std::vector<std::int64_t>> shapes, strides;
  std::vector<ks_tensor> list;

  void add(dtype type, const std::vector<std::int64_t>& shape, std::vector<std::byte> bytes) {
    data.push_back(std::move(bytes));
    shapes.push_back(shape);
    std::vector<std::int64_t> step(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) step[d - 1] = step[d] * shape[d];
    strides.push_back(step);
    list.push_back({nullptr, static_cast<std::int32_t>(type), static_cast<std::int32_t>(shape.size()), nullptr, nullptr});
  }
  ks_tensor* ready() {
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i].data = data[i].data();
      list[i].shape = shapes[i].data();
      list[i].strides = strides[i].data();
    }
    return list.data();
  }
};

void fill(const tensor_declaration& t, const std::vector<std::int64_t>& axes, std::mt19937_64& random, std::vector<std::byte>& bytes,
          tensor_values& values) {
  const auto n = static_cast<std::size_t>(element_count(shape_of(t, axes)));
  bytes.assign(n * size_of(t.type) + 64, std::byte{0});
  std::int64_t limit = 9;
  for (const dim& d : t.index_limits) limit = std::min(limit, extent_of(d, axes));
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < n; ++i) {
    if (is_float(t.type)) {
      store_from_double(bytes.data(), i, t.type, normal(random));
      values.real.push_back(load_as_double(bytes.data(), i, t.type));
    } else {
      const auto range = static_cast<std::uint64_t>(t.type == dtype::boolean ? 2 : limit);
      auto value = static_cast<std::int64_t>(random() % range);
      if (t.index_limits.empty() && t.type != dtype::u8 && t.type != dtype::boolean) value -= 4;
      store_from_int64(bytes.data(), i, t.type, value);
      values.integer.push_back(load_as_int64(bytes.data(), i, t.type));
    }
  }
}

struct case_of_definition {
  const char* name;
  const char* text;                               ///< of the problem file
  std::vector<std::vector<std::int64_t>> shapes;  ///< axes to run under
  double naive_tolerance = 2e-5;
};

bool near(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

void cross_check(const case_of_definition& c, const cpp::toolchain& compiler) {
  CAPTURE(c.name);
  const auto p = parse_problem(c.text, "/nowhere/case.toml");
  INFO((p ? "" : p.error().message));
  REQUIRE(p);
  const auto reference = cpp::reference_source(*p), naive = cpp::naive_source(*p);
  REQUIRE(reference);
  REQUIRE(naive);
  CAPTURE(*reference);
  const loaded wide = load(compiler, *reference, {}), native = load(compiler, *naive, {"-O1"});
  std::mt19937_64 random(17);
  for (const std::vector<std::int64_t>& axes : c.shapes) {
    CAPTURE(axes.front());
    std::vector<tensor_values> values(p->tensors.size());
    tensors in, wide_out, native_out;
    for (int i : p->inputs()) {
      const tensor_declaration& t = p->tensors[static_cast<std::size_t>(i)];
      std::vector<std::byte> bytes;
      fill(t, axes, random, bytes, values[static_cast<std::size_t>(i)]);
      in.add(t.type, shape_of(t, axes), bytes);
    }
    for (int o : p->outputs()) {
      const tensor_declaration& t = p->tensors[static_cast<std::size_t>(o)];
      const auto n = static_cast<std::size_t>(element_count(shape_of(t, axes)));
      wide_out.add(is_float(t.type) ? dtype::f64 : dtype::i64, shape_of(t, axes), std::vector<std::byte>(n * 8));
      native_out.add(t.type, shape_of(t, axes), std::vector<std::byte>(n * 8));
    }
    const auto interpreted = interpret(*p, axes, values);
    INFO((interpreted ? "" : interpreted.error().message));
    REQUIRE(interpreted);
    ks_launch context{nullptr, nullptr, 0, 0, 2, axes.data(), static_cast<std::int32_t>(axes.size())};
    const int inputs = static_cast<int>(in.list.size()), outputs = static_cast<int>(wide_out.list.size());
    REQUIRE(wide.launch(in.ready(), inputs, wide_out.ready(), outputs, &context) == 0);
    REQUIRE(native.launch(in.ready(), inputs, native_out.ready(), outputs, &context) == 0);
    int o = 0;
    for (int output : p->outputs()) {
      const tensor_declaration& t = p->tensors[static_cast<std::size_t>(output)];
      const tensor_values& expected = values[static_cast<std::size_t>(output)];
      const void* const w = wide_out.list[static_cast<std::size_t>(o)].data;
      const void* const n = native_out.list[static_cast<std::size_t>(o)].data;
      int wide_wrong = 0, naive_wrong = 0;
      const std::size_t count = is_float(t.type) ? expected.real.size() : expected.integer.size();
      for (std::size_t i = 0; i < count; ++i) {
        if (is_float(t.type)) {
          wide_wrong += near(load_as_double(w, i, dtype::f64), expected.real[i], 1e-12) ? 0 : 1;
          const double tolerance = c.naive_tolerance + 4 * unit_roundoff(t.type);
          naive_wrong += near(load_as_double(n, i, t.type), round_through(expected.real[i], t.type), tolerance) ? 0 : 1;
        } else {
          std::int64_t held = 0;
          store_from_int64(&held, 0, t.type, expected.integer[i]);
          wide_wrong += load_as_int64(w, i, dtype::i64) == expected.integer[i] ? 0 : 1;
          naive_wrong += load_as_int64(n, i, t.type) == load_as_int64(&held, 0, t.type) ? 0 : 1;
        }
      }
      CAPTURE(t.name);
      CHECK(wide_wrong == 0);
      CHECK(naive_wrong == 0);
      ++o;
    }
  }
}

#define INPUT(name, shape, type) "[inputs." name "]\nshape = " shape "\ndtype = \"" type "\"\n"
#define OUTPUT(name, shape, type) "[outputs." name "]\nshape = " shape "\ndtype = \"" type "\"\n"
#define TEXT(text) "[definition]\ntext = \"\"\"\n" text "\n\"\"\"\n"

const std::vector<case_of_definition>& cases() {
  static const std::vector<case_of_definition> all = {
      {"softmax with everything in one statement",
       "name = \"a\"\n[axes]\nB = 6\nN = 300\n" INPUT("x", "[\"B\", \"N\"]", "f32") OUTPUT("y", "[\"B\", \"N\"]", "f32")
           TEXT("y[b,n] = exp(x[b,n] - max(k: x[b,k])) / sum(j: exp(x[b,j] - max(i: x[b,i])))"),
       {{6, 300}, {1, 1}, {3, 17}, {5, 129}}},
      {"matrix products in three layouts",
       "name = \"a\"\n[axes]\nM = 40\nN = 300\nK = 70\n" INPUT("a", "[\"M\", \"K\"]", "f32") INPUT("b", "[\"K\", \"N\"]", "f32")
           INPUT("t", "[\"N\", \"K\"]", "bf16") INPUT("s", "[\"K\", \"M\"]", "f16") OUTPUT("c", "[\"M\", \"N\"]", "f32") OUTPUT(
               "d", "[\"M\", \"N\"]", "f64") OUTPUT("e", "[\"M\", \"N\"]", "bf16")
               TEXT("c[m,n] = sum(k: a[m,k] * b[k,n])\nd[m,n] = sum(k: a[m,k] * t[n,k])\ne[m,n] = tanh(sum(k: s[k,m] * t[n,k])) + c[m,n]"),
       {{40, 300, 70}, {1, 1, 1}, {5, 257, 3}, {7, 3, 129}},
       1e-4},
      {"convolution with padding and stride",
       "name = \"a\"\n[axes]\nB = 2\nC = 3\nO = 5\nH = 9\nW = 11\nP = 5\nQ = 6\n[inputs.x]\nshape = [\"B\", \"C\", \"H\", \"W\"]\ndtype = "
       "\"f32\"\npad = 0.5\n" INPUT("k", "[\"O\", \"C\", 3, 3]", "f32") INPUT("bias", "[\"O\"]", "f32")
           OUTPUT("y", "[\"B\", \"O\", \"P\", \"Q\"]", "f32")
               TEXT("y[b,o,p,q] = max(sum(c, r, s: x[b, c, 2*p + r - 1, 2*q + s - 1] * k[o,c,r,s]) + bias[o], 0)"),
       {{2, 3, 5, 9, 11, 5, 6}, {1, 1, 1, 4, 4, 2, 2}, {1, 2, 9, 6, 60, 3, 30}}},
      {"scans: carried, reversed in order, nested, along the first index",
       "name = \"a\"\n[axes]\nB = 4\nN = 30\n" INPUT("x", "[\"B\", \"N\"]", "f32") OUTPUT("y", "[\"B\", \"N\"]", "f32")
           OUTPUT("z", "[\"B\", \"N\"]", "f32") OUTPUT("w", "[\"B\"]", "f32") OUTPUT("v", "[\"N\", \"B\"]", "f32")
               TEXT("y[b,n] = cumsum(n: x[b,n] * 2) / (n + 1) + cummax(n: x[b,n])\nz[b,n] = cumsum(b: cummin(n: x[b,n]))\n"
                    "w[b] = max(k: cumsum(b: x[b,k]))\nv[n,b] = cumprod(n: 1 + 0.01 * x[b,n])"),
       {{4, 30}, {1, 1}, {5, 3}}},
      {"positions of extremes, any and all, prod, min",
       "name = \"a\"\n[axes]\nB = 5\nN = 40\nM = 3\n" INPUT("x", "[\"B\", \"M\", \"N\"]", "f32") INPUT("q", "[\"B\", \"N\"]", "i32")
           OUTPUT("where", "[\"B\"]", "i64") OUTPUT("low", "[\"B\", \"M\"]", "i32") OUTPUT("some", "[\"B\"]", "bool")
               OUTPUT("every", "[\"B\"]", "bool") OUTPUT("p", "[\"B\"]", "f32") OUTPUT("least", "[]", "i32")
                   TEXT("where[b] = argmax(m, n: x[b,m,n])\nlow[b,m] = argmin(n: abs(x[b,m,n] + q[b,n]))\nsome[b] = any(n: q[b,n] == 3)\n"
                        "every[b] = all(n: q[b,n] > -5 and not (q[b,n] > 100))\np[b] = prod(m: x[b,m,0])\nleast = min(b, n: q[b,n])"),
       {{5, 40, 3}, {1, 1, 1}, {2, 200, 2}}},
      {"gathers and integer arithmetic",
       "name = \"a\"\n[axes]\nB = 7\nL = 5\nV = 20\nD = 33\n" INPUT("table", "[\"V\", \"D\"]", "f16") INPUT("id", "[\"B\", \"L\"]", "i32")
           INPUT("w", "[\"B\", \"L\"]", "f32") INPUT("a", "[\"B\", \"D\"]", "i8") INPUT("b", "[\"B\", \"D\"]", "u8")
               OUTPUT("y", "[\"B\", \"D\"]", "f32") OUTPUT("s", "[\"B\"]", "i32") OUTPUT("small", "[\"B\", \"D\"]", "i8")
                   OUTPUT("q", "[\"B\", \"D\"]", "f32")
                       TEXT("y[i,d] = sum(l: w[i,l] * table[id[i,l], d])\ns[i] = sum(d: a[i,d] * b[i,d])\nsmall[i,d] = i8(a[i,d] * 40)\n"
                            "q[i,d] = a[i,d] / (b[i,d] + 1) + floor(1.5 * a[i,d]) + round(0.5 * a[i,d])"),
       {{7, 5, 20, 33}, {1, 1, 1, 1}, {3, 2, 9, 270}}},
      {"declared intermediates are rounded, casts, f8",
       "name = \"a\"\n[axes]\nB = 5\nN = 64\n" INPUT("x", "[\"B\", \"N\"]", "f32") OUTPUT("y", "[\"B\", \"N\"]", "f32")
           OUTPUT("f", "[\"B\", \"N\"]", "f8e4m3")
               OUTPUT("i", "[\"B\", \"N\"]", "i32") "[intermediates.h]\ndtype = \"bf16\"\n[intermediates.g]\ndtype = \"f8e5m2\"\n" TEXT(
                   "h[b,n] = x[b,n] * 1.7\ng[b,n] = h[b,n] * 3\ny[b,n] = h[b,n] + f16(x[b,n] / 3) - g[b,n]\nf[b,n] = f8e4m3(x[b,n]) * "
                   "2\ni[b,n] = i32(x[b,n] * 1000)"),
       {{5, 64}, {1, 1}}},
      {"a shared window and a product of three",
       "name = \"a\"\n[axes]\nB = 3\nF = 6\nD = 40\n" INPUT("x", "[\"B\", \"F\", \"D\"]", "f32") OUTPUT("g", "[\"B\", \"F\", \"F\"]", "f32")
           OUTPUT("t", "[\"B\", \"D\"]", "f32")
               TEXT("g[b,i,j] = select(i < j, sum(d: x[b,i,d] * x[b,j,d]), 0)\nt[b,d] = sum(i, j: x[b,i,d] * x[b,j,d] * g[b,i,j])"),
       {{3, 6, 40}, {1, 1, 1}, {2, 9, 130}},
       2e-3},
  };
  return all;
}

}  // namespace

TEST_CASE("generated sources agree with the interpreter") {
  const folder scratch;
  const auto compiler = cpp::toolchain::discover(scratch.path);
  REQUIRE(compiler);
  for (const case_of_definition& c : cases()) cross_check(c, *compiler);
}

TEST_CASE("no definition, no generated source") {
  problem p;
  p.name = "none";
  CHECK_FALSE(cpp::reference_source(p));
  CHECK(cpp::naive_source(p).error().kind == fault::bad_request);
}
