// The runner as a library of an interpreter: Python starts (with what belongs to its installation where it belongs), loads this, and hands
// over its function that loads kernels. The interpreter's own functions are the program's that has loaded this; they are declared here,
// from Python's stable interface (PEP 384), so that one library serves every Python 3.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "backends/harness/runner/channel.hpp"
#include "backends/harness/runner/renewal.hpp"
#include "backends/harness/runner/serve.hpp"

extern "C" {
struct PyObject;
int PyGILState_Ensure();
void PyGILState_Release(int state);
PyObject* PyObject_CallFunction(PyObject* callable, const char* format, ...);
PyObject* PyObject_CallObject(PyObject* callable, PyObject* arguments);
PyObject* PyObject_GetAttrString(PyObject* object, const char* name);
const char* PyUnicode_AsUTF8AndSize(PyObject* text, std::intptr_t* bytes);
long PyLong_AsLong(PyObject* number);
void PyErr_Print();
void Py_IncRef(PyObject* object);
void Py_DecRef(PyObject* object);
}

namespace kernsmith::runner {

namespace {

/// Sets of buffers whose calls are kept ready; beyond them all are made anew.
constexpr std::size_t max_ready_calls = 8192;

PyObject *load_kernel = nullptr, *make_call = nullptr, *put_outputs = nullptr;

/// Python's lock, as long as this lives. The runner's own waiting is done without it, so that threads of the kernel's can run.
class python_lock {
 public:
  python_lock() : state_(PyGILState_Ensure()) {}
  ~python_lock() { PyGILState_Release(state_); }
  python_lock(const python_lock&) = delete;
  python_lock& operator=(const python_lock&) = delete;

 private:
  int state_;
};

/// All that a call depends on. Addresses alone would not do: after the buffers were given back others may come to lie there.
std::vector<std::uint64_t> signature(const ks_tensor* in, int n_in, const ks_tensor* out, int n_out, const ks_launch& context) {
  std::vector<std::uint64_t> words;
  for (const auto& [tensors, count] : {std::pair(in, n_in), std::pair(out, n_out)}) {
    for (int i = 0; i < count; ++i) {
      words.push_back(reinterpret_cast<std::uint64_t>(tensors[i].data));
      words.push_back(static_cast<std::uint64_t>(tensors[i].dtype) << 32 | static_cast<std::uint32_t>(tensors[i].rank));
      for (std::int32_t d = 0; d < tensors[i].rank; ++d) words.push_back(static_cast<std::uint64_t>(tensors[i].shape[d]));
    }
  }
  for (std::int32_t a = 0; a < context.n_axes; ++a) words.push_back(static_cast<std::uint64_t>(context.axes[a]));
  return words;
}

int result_of(PyObject* answer) {
  if (answer == nullptr) {
    PyErr_Print();
    return wire::hosted_raised;
  }
  const int code = static_cast<int>(PyLong_AsLong(answer));
  Py_DecRef(answer);
  return code;
}

/// The interpreter makes an object for each set of buffers once; after that a call is a call of a Python function without arguments.
int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* context) {
  static std::map<std::vector<std::uint64_t>, PyObject*> ready;
  const python_lock lock;
  auto words = signature(in, n_in, out, n_out, *context);
  auto known = ready.find(words);
  if (known == ready.end()) {
    if (ready.size() >= max_ready_calls) {
      for (const auto& [ignored, call] : ready) Py_DecRef(call);
      ready.clear();
    }
    PyObject* const call =
        PyObject_CallFunction(make_call, "KiKiK", reinterpret_cast<unsigned long long>(in), n_in, reinterpret_cast<unsigned long long>(out),
                              n_out, reinterpret_cast<unsigned long long>(context));
    if (call == nullptr) return result_of(nullptr);
    known = ready.emplace(std::move(words), call).first;
  }
  return result_of(PyObject_CallObject(known->second, nullptr));
}

launch_function load(const char* library, const ks_launch& context) {
  const python_lock lock;
  PyObject* const said = PyObject_CallFunction(load_kernel, "sK", library, reinterpret_cast<unsigned long long>(&context));
  if (said == nullptr) {
    PyErr_Print();
    give_up(wire::answer_kind::load_failed, "the interpreter could not load the kernel");
  }
  // The function for calls, or a text that says why there is none.
  std::intptr_t bytes = 0;
  make_call = PyObject_GetAttrString(said, "make_call");
  put_outputs = PyObject_GetAttrString(said, "put_outputs");
  PyObject* const failure = PyObject_GetAttrString(said, "failure");
  if (make_call == nullptr || put_outputs == nullptr || failure == nullptr) PyErr_Print();
  const char* const text = failure != nullptr ? PyUnicode_AsUTF8AndSize(failure, &bytes) : nullptr;
  if (text == nullptr || bytes > 0)
    give_up(wire::answer_kind::load_failed, text != nullptr ? text : "the interpreter could not load the kernel");
  return launch;
}

/// The interpreter's own fork, which leaves it in order in the new process.
int fork_interpreter(PyObject* fork) {
  const python_lock lock;
  PyObject* const pid = PyObject_CallObject(fork, nullptr);
  if (pid == nullptr) {
    PyErr_Print();
    return -1;
  }
  const int number = static_cast<int>(PyLong_AsLong(pid));
  Py_DecRef(pid);
  return number;
}

/// What the last calls computed goes to their outputs now, outside of any clock: a module returns new tensors, and a user of it would
/// not copy them.
void follow() {
  const python_lock lock;
  if (result_of(PyObject_CallObject(put_outputs, nullptr)) != 0) std::_Exit(1);
}

}  // namespace

}  // namespace kernsmith::runner

/// `argv`: the runner's arguments behind any first one. `loader` is called with a path and the address of a ks_launch; it gives an object
/// with `failure` (empty when it worked), `make_call(in, n_in, out, n_out, context)`, which gives a function without arguments, and
/// `put_outputs()`. `fork` is os.fork. To be called without Python's lock. Returns only when the arguments are wrong.
extern "C" __attribute__((visibility("default"))) int kernsmith_runner_hosted(int argc, char** argv, PyObject* loader, PyObject* fork) {
  using namespace kernsmith::runner;
  runner_arguments given{};
  if (!read_arguments(argc, argv, given)) return 2;
  load_kernel = loader;
  if (std::getenv(wire::renewable_variable) != nullptr) become_renewed([fork] { return fork_interpreter(fork); });
  const bool follows = std::getenv(wire::outputs_follow_variable) != nullptr;
  serve(given, {load, follows ? follow : nullptr});
}
