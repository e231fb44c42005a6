#include "actors/slot_lease.hpp"

namespace kernsmith::actors {

slot_lease::hold::hold(slot_lease& lease) : lease_(lease) {
  std::unique_lock lock(lease_.mutex_);
  const std::uint64_t ticket = lease_.next_ticket_++;
  lease_.turned_.wait(lock, [&] { return lease_.now_serving_ == ticket; });
}

slot_lease::hold::~hold() {
  {
    const std::lock_guard lock(lease_.mutex_);
    ++lease_.now_serving_;
  }
  lease_.turned_.notify_all();
}

}  // namespace kernsmith::actors
