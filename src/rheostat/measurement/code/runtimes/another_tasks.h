/* C++ leaves open whether a task of std::async without a policy has a thread of its own: here it is run
   by the thread that asks for its result, and only then, as where no thread can be started. */
#include <future>
#include <utility>

namespace std {
template <class F, class... A>
auto rheostat_async(launch policy, F &&f, A &&...a)
    -> decltype(async(policy, forward<F>(f), forward<A>(a)...)) {
  bool open = (policy & launch::deferred) == launch::deferred;
  return async(open ? launch::deferred : policy, forward<F>(f), forward<A>(a)...);
}
template <class F, class... A>
auto rheostat_async(F &&f, A &&...a)
    -> decltype(async(launch::deferred, forward<F>(f), forward<A>(a)...)) {
  return async(launch::deferred, forward<F>(f), forward<A>(a)...);
}
}
#define async(...) rheostat_async(__VA_ARGS__)
