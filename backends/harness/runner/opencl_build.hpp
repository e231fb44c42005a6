// `kernsmith-runner opencl SOURCE`: compiles a program for the OpenCL CPU device, with the work-group functions of all its kernels, into
// the cache that POCL_CACHE_DIR names. Runs in the build sandbox; nothing of OpenCL is linked, the loader is opened where it is installed.
#pragma once

namespace kernsmith::runner {

/// Exit: 0 built, 1 the source does not compile (the compiler's words on stdout), 3 no OpenCL CPU device here. Without SOURCE: says which
/// device there is.
int run_opencl_build(int argc, char** argv);

}  // namespace kernsmith::runner
