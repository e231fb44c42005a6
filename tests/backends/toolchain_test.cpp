#include "backends/cpp/toolchain.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "backends/cpp/build_cache.hpp"
#include "backends/cpp/machine_code.hpp"
#include "tests/backends/kernel_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::cpp;
using fixtures::doubling_body;
using fixtures::kernel_source;
using fixtures::temporary_folder;

namespace fs = std::filesystem;

namespace {

built_kernel build(const toolchain& compiler, const std::string& source) {
  return fixtures::value_of(compiler.build(source));
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("the same source is built once") {
  const temporary_folder cache;
  const toolchain compiler = fixtures::value_of(toolchain::discover(cache.path()));
  CHECK(compiler.compiler().find("g++") != std::string::npos);
  CHECK(compiler.flags().find("-O3 -march=native -fopenmp") != std::string::npos);
  const built_kernel first = build(compiler, kernel_source(doubling_body));
  CHECK(first.outcome == "");
  CHECK_FALSE(first.from_cache);
  CHECK(first.build_s > 0);
  CHECK(first.machine_code.size() == 32);
  const built_kernel second = build(compiler, kernel_source(doubling_body));
  CHECK(second.from_cache);
  CHECK(second.build_s == 0);
  CHECK(second.library == first.library);
  CHECK(second.machine_code == first.machine_code);
  const built_kernel flagged = fixtures::value_of(compiler.build(kernel_source(doubling_body), {"-DOTHER"}));
  CHECK_FALSE(flagged.from_cache);
  // Another process's toolchain on the same folder finds it as well.
  CHECK(build(fixtures::value_of(toolchain::discover(cache.path())), kernel_source(doubling_body)).from_cache);
  CHECK(entries(cache / "work") == 0);
}

TEST_CASE("machine code is the same for other names, comments and layout, and another for another deed") {
  const toolchain& compiler = fixtures::shared_toolchain();
  const std::string helper =
      "float twice(float v) { return 2 * v; }\n__attribute__((noinline)) float plus(float v, const float* w) { return v + *w; }\nfloat "
      "constants[4] = {1, 2, 3, 4};\n";
  const std::string body = "  for (long i = 0; i < n; ++i) y[i] = plus(twice(x[i]), constants + i % 4);\n  return 0;";
  const auto code = [&](std::string source) { return build(compiler, source).machine_code; };
  const auto renamed = [](std::string text) {
    for (const auto& [from, to] : {std::pair{"plus", "a_much_longer_name_that_moves_every_table_of_names_in_the_file"},
                                   {"twice", "zz"},
                                   {"constants", "another_name"}}) {
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += std::strlen(to))
        text.replace(at, std::strlen(from), to);
    }
    return text;
  };
  const std::string base = code(kernel_source(body, helper));
  CHECK(code(kernel_source(renamed(body), "// a comment\n\n\n" + renamed(helper))) == base);
  CHECK(code(kernel_source(body, "float twice(float v) { return 3 * v; }" + helper.substr(helper.find('\n')))) != base);
  std::string other_constants = helper;
  other_constants.replace(other_constants.find("3, 4"), 4, "3, 5");
  CHECK(code(kernel_source(body, other_constants)) != base);
  // Calls into libraries differ only in the loader's tables.
  CHECK(code(kernel_source("  for (long i = 0; i < n; ++i) y[i] = __builtin_lgammaf(x[i]);\n  return 0;")) !=
        code(kernel_source("  for (long i = 0; i < n; ++i) y[i] = __builtin_tgammaf(x[i]);\n  return 0;")));
}

TEST_CASE("a library carries the key that it was built for") {
  const built_kernel kernel = build(fixtures::shared_toolchain(), kernel_source(doubling_body));
  const auto facts = inspect_library(slurp(kernel.library));
  REQUIRE(facts.has_value());
  CHECK(facts->build_id == kernel.library.parent_path().filename().string());
  CHECK(facts->exports_launch);
}

TEST_CASE("a source that doesn't compile is an outcome with its first error, and isn't tried twice") {
  const toolchain& compiler = fixtures::shared_toolchain();
  const built_kernel broken = build(compiler, kernel_source("  return undeclared_name;"));
  CHECK(broken.outcome == "build_failed");
  CHECK(broken.detail.find("'undeclared_name' was not declared") != std::string::npos);
  CHECK(broken.detail.starts_with("kernel.cpp:"));
  CHECK(broken.log.find("undeclared_name") != std::string::npos);
  CHECK(build(compiler, kernel_source("  return undeclared_name;")).from_cache);
  const built_kernel unresolved = build(compiler, kernel_source("  return missing();", "int missing();\n"));
  CHECK(unresolved.outcome == "build_failed");
  CHECK(unresolved.detail.find("undefined reference to `missing()'") != std::string::npos);
  const built_kernel mangled = build(compiler, "int launch(int) { return 0; }\n");
  CHECK(mangled.outcome == "build_failed");
  CHECK(mangled.detail.find("extern \"C\"") != std::string::npos);
  CHECK(build(compiler, std::string(max_source_bytes + 1, ' ')).outcome == "build_failed");
  CHECK(build(compiler, "\xff\xfe \0 garbage").outcome == "build_failed");
}

TEST_CASE("compilers that never end or eat memory are stopped") {
  const toolchain& compiler = fixtures::shared_toolchain();
  const std::string endless =
      "template <int N> struct s { static constexpr long v = s<N - 1>::v + s<N - 2>::v * N; };\n"
      "constexpr long spin() { long total = 0; for (long i = 0; i < 1000000000L; ++i) total += i % 7; return total; }\nconstexpr long spun "
      "= spin();\n";
  const auto stopped =
      fixtures::value_of(compiler.build(kernel_source("  return spun != 0;", endless),
                                        {"-fconstexpr-ops-limit=1000000000000", "-fconstexpr-loop-limit=2000000000"}, {}, 1.0));
  CHECK(stopped.outcome == "build_timeout");
  const built_kernel again =
      fixtures::value_of(compiler.build(kernel_source("  return spun != 0;", endless),
                                        {"-fconstexpr-ops-limit=1000000000000", "-fconstexpr-loop-limit=2000000000"}, {}, 0.5));
  CHECK_FALSE(again.from_cache);
  const built_kernel loop = build(compiler, "#include \"/build/kernel.cpp\"\n");
  CHECK(loop.outcome == "build_failed");
  const built_kernel large = build(compiler, kernel_source("  return table[n];", "static char table[200u << 20] = {1};\n"));
  CHECK(large.outcome != "");
}

TEST_CASE("a build sees nothing of the machine but the toolchain") {
  const temporary_folder folder;
  std::ofstream(folder / "secret.h") << "#define SECRET 1\n";
  const built_kernel leaking =
      build(fixtures::shared_toolchain(), "#include \"" + (folder / "secret.h").string() + "\"\n" + kernel_source("  return SECRET;"));
  CHECK(leaking.outcome == "build_failed");
  CHECK(leaking.detail.find("No such file") != std::string::npos);
  const built_kernel passwd = build(fixtures::shared_toolchain(), kernel_source("  return 0;", "asm(\".incbin \\\"/etc/passwd\\\"\");\n"));
  CHECK(passwd.outcome == "build_failed");
}

TEST_CASE("damaged cache entries are rebuilt") {
  const temporary_folder cache;
  const toolchain compiler = fixtures::value_of(toolchain::discover(cache.path()));
  const std::string source = kernel_source(doubling_body);
  const built_kernel good = build(compiler, source);
  const std::string bytes = slurp(good.library);
  const fs::path record = good.library.parent_path() / "record";
  const auto damage = [&](const char* what, const auto& how) {
    CAPTURE(what);
    how();
    const built_kernel again = build(compiler, source);
    CHECK_FALSE(again.from_cache);
    CHECK(slurp(again.library) == bytes);
    CHECK(build(compiler, source).from_cache);
  };
  damage("truncated library", [&] { fs::resize_file(good.library, bytes.size() / 2); });
  damage("flipped bit", [&] {
    std::fstream(good.library, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<long>(bytes.size()) / 3)
        .put(static_cast<char>(~bytes[bytes.size() / 3]));
  });
  damage("missing library", [&] { fs::remove(good.library); });
  damage("library replaced by a link", [&] {
    fs::remove(good.library);
    fs::create_symlink("/etc/passwd", good.library);
  });
  damage("truncated record", [&] { fs::resize_file(record, 40); });
  damage("empty record", [&] { fs::resize_file(record, 0); });
  damage("missing record", [&] { fs::remove(record); });
  damage("record of something else", [&] { std::ofstream(record) << "{}\n"; });
}

TEST_CASE("work folders of dead processes are removed, those of the living stay") {
  const temporary_folder cache;
  fs::create_directories(cache / "work");
  fs::create_directories((cache / "work") / "2147483646-0" / "build");
  fs::create_directories((cache / "work") / (std::to_string(::getpid()) + "-999"));
  REQUIRE(build_cache::open(cache.path()).has_value());
  CHECK(entries(cache / "work") == 1);
}

TEST_CASE("of too many entries the least recently used go") {
  const temporary_folder cache;
  for (int i = 0; i < 6; ++i) {
    const fs::path entry = (cache / "objects") / ("entry" + std::to_string(i));
    fs::create_directories(entry);
    std::ofstream(entry / "record") << "x";
    fs::last_write_time(entry / "record", fs::file_time_type::clock::now() - std::chrono::hours(i));
  }
  REQUIRE(build_cache::open(cache.path(), 6, 3).has_value());
  CHECK(entries(cache / "objects") == 6);
  REQUIRE(build_cache::open(cache.path(), 5, 3).has_value());
  CHECK(entries(cache / "objects") == 3);
  CHECK(fs::exists((cache / "objects") / "entry0"));
  CHECK_FALSE(fs::exists((cache / "objects") / "entry5"));
}

TEST_CASE("a cache that can't be written is this machine's fault, with the reason") {
  const temporary_folder folder;
  std::ofstream(folder / "file") << "in the way";
  const auto blocked = toolchain::discover(folder / "file");
  REQUIRE_FALSE(blocked.has_value());
  CHECK(blocked.error().kind == fault::infrastructure);
  CHECK(blocked.error().message.find("file") != std::string::npos);

  const toolchain compiler = fixtures::value_of(toolchain::discover(folder / "cache"));
  fs::remove_all((folder / "cache") / "work");
  std::ofstream((folder / "cache") / "work") << "in the way";
  const auto failed = compiler.build(kernel_source(doubling_body));
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().kind == fault::infrastructure);
  // A full disk, as the system reports it.
  const auto full = write_file("/dev/full", "x");
  REQUIRE_FALSE(full.has_value());
  CHECK(full.error().kind == fault::infrastructure);
  CHECK(full.error().message.find("No space left") != std::string::npos);
  CHECK(full.error().message.find("free some space") != std::string::npos);
}

TEST_CASE("distinct sources build at the same time, and so does the same one") {
  const toolchain& compiler = fixtures::shared_toolchain();
  std::vector<std::string> outcomes(4, "never ran");
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto kernel = compiler.build(kernel_source("  return " + std::to_string(i / 2 + 4711) + ";"));
      outcomes[i] = kernel ? kernel->outcome : kernel.error().message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

TEST_CASE("ELF files that don't hold together are refused") {
  const std::string good = slurp(build(fixtures::shared_toolchain(), kernel_source(doubling_body)).library);
  REQUIRE(inspect_library(good).has_value());
  CHECK_FALSE(inspect_library("").has_value());
  CHECK_FALSE(inspect_library("\x7f"
                              "ELF")
                  .has_value());
  CHECK_FALSE(inspect_library(good.substr(0, good.size() / 2)).has_value());
  for (std::size_t at = 0; at < good.size(); at += 97) {  // any damage: an answer or an error, never a read outside
    std::string damaged = good;
    damaged[at] = static_cast<char>(~damaged[at]);
    (void)inspect_library(damaged);
  }
}
