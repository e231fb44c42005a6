#include "memory/similarity.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "memory/index_file.hpp"
#include "temporary_folder.hpp"

using namespace kernsmith;
using namespace kernsmith::memory;
using namespace kernsmith::test;

namespace {

problem must_parse(const std::string& name, const std::string& inputs_and_outputs, const std::string& definition) {
  const auto text = fmt::format("name = \"{}\"\n{}[definition]\ntext = \"\"\"\n{}\n\"\"\"\n", name, inputs_and_outputs, definition);
  auto p = parse_problem(text, name + ".toml");
  REQUIRE_MESSAGE(p, (p ? "" : p.error().message));
  return *std::move(p);
}

std::string rows_of(std::int64_t rows, std::int64_t columns, const std::string& type = "f32") {
  return fmt::format(
      "[axes]\nB = {}\nN = {}\n[inputs.x]\nshape = [\"B\", \"N\"]\ndtype = \"{}\"\n[outputs.y]\nshape = [\"B\", \"N\"]\ndtype = \"{}\"\n",
      rows, columns, type, type);
}

problem softmax(std::int64_t rows = 4096, std::int64_t columns = 1024) {
  return must_parse("softmax", rows_of(rows, columns),
                    "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]");
}
problem log_softmax() {
  return must_parse("log_softmax", rows_of(4096, 1024),
                    "m[b] = max(n: x[b,n])\ns[b] = sum(n: exp(x[b,n] - m[b]))\ny[b,n] = x[b,n] - m[b] - log(s[b])");
}
problem rmsnorm() {
  return must_parse("rmsnorm", rows_of(4096, 1024), "s[b] = sum(n: x[b,n] * x[b,n])\ny[b,n] = x[b,n] * rsqrt(s[b] / N + 1e-5)");
}
problem relu() {
  return must_parse("relu", rows_of(4096, 1024), "y[b,n] = max(x[b,n], 0.0)");
}
problem cumsum() {
  return must_parse("cumsum", rows_of(4096, 1024), "y[b,n] = cumsum(n: x[b,n])");
}
problem matmul(std::int64_t extent = 1024, const std::string& type = "f32") {
  return must_parse(
      "matmul",
      fmt::format("[axes]\nM = {0}\nN = {0}\nK = {0}\n[inputs.a]\nshape = [\"M\", \"K\"]\ndtype = \"{1}\"\n[inputs.b]\nshape = [\"K\", "
                  "\"N\"]\ndtype = \"{1}\"\n[outputs.y]\nshape = [\"M\", \"N\"]\ndtype = \"{1}\"\n",
                  extent, type),
      "y[m,n] = sum(k: a[m,k] * b[k,n])");
}
problem linear_gelu() {
  return must_parse("linear_gelu",
                    "[axes]\nM = 512\nN = 1024\nK = 1024\n[inputs.a]\nshape = [\"M\", \"K\"]\ndtype = \"f32\"\n[inputs.w]\nshape = [\"N\", "
                    "\"K\"]\ndtype = "
                    "\"f32\"\n[inputs.c]\nshape = [\"N\"]\ndtype = \"f32\"\n[outputs.y]\nshape = [\"M\", \"N\"]\ndtype = \"f32\"\n",
                    "z[m,n] = sum(k: a[m,k] * w[n,k]) + c[n]\ny[m,n] = 0.5 * z[m,n] * (1.0 + erf(z[m,n] * 0.7071067811865476))");
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}
double alike(const problem& a, const problem& b) {
  return cosine(problem_features(a), problem_features(b));
}

std::unique_ptr<similarity_index> must_open(const store& s, std::string_view kind = "problem") {
  auto index = similarity_index::open(s, kind);
  REQUIRE_MESSAGE(index, (index ? "" : index.error().message));
  return *std::move(index);
}

std::unique_ptr<store> store_with_problems(const std::filesystem::path& directory) {
  auto s = *store::open(directory);
  write_batch batch;
  for (const auto& p : {softmax(), log_softmax(), rmsnorm(), relu(), cumsum(), matmul(), linear_gelu()})
    batch.put_vector("problem", p.name, problem_features(p));
  REQUIRE(s->commit(std::move(batch)));
  return s;
}

}  // namespace

TEST_CASE("features are of unit length, finite and the same each time") {
  for (const auto& p : {softmax(), matmul(), cumsum(), relu()}) {
    const auto f = problem_features(p);
    REQUIRE(f.size() == feature_dimensions);
    CHECK(cosine(f, f) == doctest::Approx(1));
    CHECK(problem_features(p) == f);
  }
}

TEST_CASE("problems that are computed alike are nearer than those that are not") {
  CHECK(alike(softmax(), log_softmax()) > alike(softmax(), rmsnorm()));
  CHECK(alike(softmax(), rmsnorm()) > alike(softmax(), matmul()));
  CHECK(alike(softmax(), log_softmax()) > 0.9);
  CHECK(alike(matmul(), linear_gelu()) > alike(matmul(), softmax()));
  CHECK(alike(matmul(), linear_gelu()) > alike(linear_gelu(), softmax()));
  CHECK(alike(cumsum(), relu()) < 0.5);
  CHECK(alike(cumsum(), matmul()) < 0.5);
}

TEST_CASE("size and dtype count, but for less than what is computed") {
  CHECK(alike(softmax(4096, 1024), softmax(64, 50257)) < 0.999);
  CHECK(alike(softmax(4096, 1024), softmax(64, 50257)) > alike(softmax(4096, 1024), rmsnorm()));
  CHECK(alike(matmul(1024), matmul(1000)) > alike(matmul(1024), matmul(16)));
  CHECK(alike(matmul(1024, "f32"), matmul(1024, "bf16")) < 0.999);
  CHECK(alike(matmul(1024, "f32"), matmul(1024, "bf16")) > alike(matmul(1024, "f32"), linear_gelu()));
}

TEST_CASE("candidates of one problem are told apart by their decisions") {
  const auto p = softmax();
  const auto a = candidate_features(p, {{"unroll", 4}, {"threads", 8}, {"online", 1}});
  const auto close = candidate_features(p, {{"unroll", 8}, {"threads", 8}, {"online", 1}});
  const auto far = candidate_features(p, {{"unroll", 1}, {"threads", 2}, {"online", 0}});
  CHECK(cosine(a, a) == doctest::Approx(1));
  CHECK(cosine(a, close) > cosine(a, far));
  CHECK(cosine(a, far) > cosine(a, candidate_features(matmul(), {{"mc", 96}, {"kc", 256}})));
  CHECK(cosine(candidate_features(p, {}), problem_features(p)) == doctest::Approx(1));
}

TEST_CASE("the nearest come first, the thing itself before all") {
  const temporary_folder folder;
  const auto s = store_with_problems(folder / "data");
  const auto index = must_open(*s);
  CHECK(index->size() == 7);
  const auto near = index->nearest(problem_features(softmax()), 3);
  REQUIRE(near);
  REQUIRE(near->size() == 3);
  CHECK((*near)[0].id == "softmax");
  CHECK((*near)[0].similarity == doctest::Approx(1));
  CHECK((*near)[1].id == "log_softmax");
  CHECK((*near)[1].similarity >= (*near)[2].similarity);
  CHECK((*index->nearest(problem_features(matmul()), 2))[1].id == "linear_gelu");
  CHECK(index->nearest(problem_features(matmul()), 100)->size() == 7);
  CHECK(index->nearest(problem_features(matmul()), 0)->empty());
}

TEST_CASE("queries that can't be answered are errors") {
  const temporary_folder folder;
  const auto s = store_with_problems(folder / "data");
  const auto index = must_open(*s);
  CHECK_FALSE(index->nearest(std::vector<float>(3, 1.0F), 1));
  CHECK_FALSE(index->nearest(std::vector<float>(feature_dimensions, 0.0F), 1));
  auto query = problem_features(softmax());
  query[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(index->nearest(query, 1));
  CHECK_FALSE(similarity_index::open(*s, "../problem"));
}

TEST_CASE("an index over nothing answers nothing") {
  const temporary_folder folder;
  const auto s = *store::open(folder / "data");
  const auto index = must_open(*s);
  CHECK(index->size() == 0);
  CHECK(index->nearest(problem_features(softmax()), 3)->empty());
  CHECK_FALSE(must_open(*s)->was_rebuilt());
}

TEST_CASE("the cached index is taken while it fits, and rebuilt when missing, stale or damaged in any bit") {
  const temporary_folder folder;
  const auto s = store_with_problems(folder / "data");
  const auto file = folder / "data" / "index" / "problem.faiss";
  const auto expected = *must_open(*s)->nearest(problem_features(softmax()), 7);
  const auto same = [&](similarity_index& index) {
    const auto got = *index.nearest(problem_features(softmax()), 7);
    bool equal = got.size() == expected.size();
    for (std::size_t i = 0; equal && i < got.size(); ++i)
      equal = got[i].id == expected[i].id && got[i].similarity == expected[i].similarity;
    return equal;
  };
  {
    const auto cached = must_open(*s);
    CHECK_FALSE(cached->was_rebuilt());
    CHECK(same(*cached));
  }
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  REQUIRE(whole.size() > 7 * feature_dimensions * sizeof(float));
  const auto with_file = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    const auto index = must_open(*s);
    CHECK(same(*index));
    return index->was_rebuilt();
  };
  CHECK_FALSE(with_file(whole));
  for (std::size_t at = 0; at < whole.size(); at += 41) {  // head, ids, vectors, tail
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    REQUIRE(with_file(damaged));
  }
  CHECK(with_file(whole.substr(0, whole.size() - 1)));
  CHECK(with_file(whole.substr(0, 10)));
  CHECK(with_file(""));
  std::filesystem::remove(file);
  CHECK(must_open(*s)->was_rebuilt());
  CHECK_FALSE(must_open(*s)->was_rebuilt());

  write_batch batch;
  batch.put_vector("problem", "another", problem_features(softmax(128, 128)));
  REQUIRE(s->commit(std::move(batch)));
  const auto after = must_open(*s);
  CHECK(after->was_rebuilt());
  CHECK(after->size() == 8);
}

TEST_CASE("an index of another feature version, another store or another size is not taken") {
  const temporary_folder folder;
  const auto s = store_with_problems(folder / "data");
  const auto file = folder / "data" / "index" / "problem.faiss";
  must_open(*s);
  const auto good = *read_index_file(file);
  const auto rebuilt_with = [&](const index_snapshot& snapshot) {
    REQUIRE(write_index_file(file, snapshot));
    const auto index = must_open(*s);
    CHECK(index->size() == 7);
    return index->was_rebuilt();
  };
  CHECK_FALSE(rebuilt_with(good));
  auto other = good;
  other.stamp.feature_version += 1;
  CHECK(rebuilt_with(other));
  other = good;
  other.stamp.stream = "stream-of-another-store";
  CHECK(rebuilt_with(other));
  other = good;
  other.ids.pop_back();
  CHECK(rebuilt_with(other));
  other = good;
  other.index = "not what FAISS wrote";
  const auto index = [&] {
    REQUIRE(write_index_file(file, other));
    return must_open(*s);
  }();
  CHECK(index->was_rebuilt());
}

TEST_CASE("an index that can't be written is as good") {
  const temporary_folder folder;
  const auto s = store_with_problems(folder / "data");
  std::ofstream(folder / "data" / "index") << "a file where the folder should be";
  for (int i = 0; i < 2; ++i) {
    const auto index = must_open(*s);
    CHECK(index->was_rebuilt());
    CHECK((*index->nearest(problem_features(softmax()), 1))[0].id == "softmax");
  }
}
