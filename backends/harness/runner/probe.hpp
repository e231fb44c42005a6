// Small attempts at what the sandbox forbids, for its self-test.
#pragma once

namespace kernsmith::runner {

/// kernsmith-runner probe NAME [ARGUMENT...]: tries it and ends with one of the codes of probe_codes.hpp.
int run_probe(int argc, char** argv);

}  // namespace kernsmith::runner
