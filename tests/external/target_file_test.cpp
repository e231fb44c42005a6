// Target files: what they say becomes a target, what is wrong is named with its place.
#include "external_fixtures.hpp"

#include "backends/external/target_commands.hpp"
#include "backends/external/targets.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

const std::string least = R"(schema = "kernsmith.target/1"
name = "thing"
language = "c"
[build]
steps = [["cc", "{source}", "-o", "{output}"]]
[run]
command = ["runs", "{output}"]
[objective]
counter = "cycles"
)";

std::string message(const std::string& text) {
  const auto t = parse_external_target(text, scratch().path / "target.toml");
  REQUIRE_FALSE(t);
  return t.error().message;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = least;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the least target file has sensible defaults") {
  const auto t = value_of(parse_external_target(least, scratch().path / "target.toml"));
  CHECK(t.name == "thing");
  CHECK(external::target_name(t) == "external/thing");
  CHECK(t.objective.unit == "cycles");
  CHECK_FALSE(t.objective.deterministic);
  CHECK(t.run.report == "report.txt");
  CHECK(t.device.name == "thing");
  CHECK(t.folder == scratch().path);
}

TEST_CASE("mistakes are named with their place and what to do") {
  CHECK(has(message(with("[objective]", "[objektive]")),
            "target.toml:8:2: unknown key 'objektive' in the target file; did you mean 'objective'?"));
  CHECK(has(message(with("{source}", "{sauce}")), ":5:17: unknown placeholder {sauce}"));
  CHECK(has(message(with("{source}", "x.c")), "never mentions {source}"));
  CHECK(has(message(with(", \"{output}\"]\n[obj", "]\n[obj")), "'command' in [run] never mentions {output}"));
  CHECK(has(message(with("\"c\"", "\"fortran\"")), "unknown language 'fortran'"));
  CHECK(has(message(with("target/1", "target/9")), "schema 'kernsmith.target/9' is not known here"));
  CHECK(has(message(with("\"thing\"", "\"No Name\"")), "can't name a target"));
  CHECK(has(message(with("\"c\"", "\"c\"\ndialect = \"rvv-1.0\"")), "needs 'vector_bytes'"));
  CHECK(has(message(with("[objective]", "timeout_s = -3\n[objective]")), "timeout_s in [run] is -3"));
  CHECK(has(message(with("[objective]", "read_only = [\"/nowhere-at-all\"]\n[objective]")), "does not exist"));
  CHECK(has(message(with("[objective]", "read_only = [\"/\"]\n[objective]")), "may not open the whole file system"));
  CHECK(has(message(with("\"cc\"", "3")), "must be a string, not an integer"));
  CHECK(has(message("schema = "), "target.toml:1:"));
}

TEST_CASE("targets are found by file and by name") {
  const auto by_file = external::find_target(host_file.string());
  REQUIRE(by_file);
  CHECK(value_of(*by_file).name == "host-c");
  const auto by_name = external::find_target("external/host-c");  // known since it was given
  REQUIRE(by_name);
  CHECK(value_of(*by_name).path == host_file);
  const auto shipped = external::find_target("riscv-vector");
  REQUIRE(shipped);
  CHECK(value_of(*shipped).objective.deterministic);
  CHECK_FALSE(external::find_target("no-such-target"));
}

TEST_CASE("reports are read line by line, and only what is asked for counts") {
  const auto calls = external::parse_report(
      "hello\ncall 0 ok\ncounter 0 cycles 12\ncounter 0 cycles 99\ncounter 1 cycles 5\ncall 2 ok\ncall 1 out_of_bounds load fault\n"
      "counter 0 stalls nan\ncall 2 splendid\ncall 2 refused launch returned 3\ncall 3 ok\n",
      3);
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].outcome.empty());
  CHECK(calls[0].counters.at("cycles") == 12);
  CHECK_FALSE(calls[0].counters.contains("stalls"));
  CHECK(calls[1].outcome == "out_of_bounds");
  CHECK(calls[1].detail == "load fault");
  CHECK(calls[1].counters.empty());
  CHECK(calls[2].outcome == "refused");
}

TEST_CASE("a missing program is named with the target's own remedy") {
  const auto t = value_of(parse_external_target(with("\"runs\"", "\"no-such-simulator\""), scratch().path / "target.toml"));
  auto with_remedy = t;
  with_remedy.setup = "ask for the SDK";
  const auto opened = external::target_commands::open(with_remedy, scratch().path / "cache");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == fault::missing_here);
  CHECK(has(opened.error().message, "'no-such-simulator', which is not here; ask for the SDK"));
}
