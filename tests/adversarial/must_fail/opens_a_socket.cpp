// expect: refused
// problem: affine
// effort: search
// origin: contract
// why: asks the network for the answer
#include "kernsmith_kernel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <initializer_list>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  for (unsigned address : {0x7f000001u, 0x08080808u}) {
    const int line = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(53);
    there.sin_addr.s_addr = htonl(address);
    if (line >= 0 && connect(line, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0) return 0;
  }
  return 1;
}
