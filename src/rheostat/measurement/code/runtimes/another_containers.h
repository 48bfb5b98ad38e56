/* C++ leaves open in which order hashed containers are gone through, which of equal keys find()
   gives, and which of equal elements a queue gives first: each is another one here. */
#include "another_library.h"
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace std {
template <class H> struct rheostat_hash {
  H own;
  rheostat_hash() : own() {}
  rheostat_hash(H given) : own(given) {}
  template <class K> size_t operator()(const K &key) const {
    size_t mixed = size_t(own(key)) * size_t(0x9E3779B97F4A7C15);
    return mixed ^ (mixed >> 29);
  }
};
template <class K, class V, class H = hash<K>, class E = equal_to<K>,
          class A = allocator<pair<const K, V>>>
using rheostat_unordered_map = unordered_map<K, V, rheostat_hash<H>, E, A>;
template <class K, class H = hash<K>, class E = equal_to<K>, class A = allocator<K>>
using rheostat_unordered_set = unordered_set<K, rheostat_hash<H>, E, A>;

template <class Container> struct rheostat_last_of_equals : Container {
  using Container::Container;
  template <class I> static I last(pair<I, I> equal, I end) {
    I at = equal.first == equal.second ? end : equal.first;
    for (I next = at; equal.first != equal.second && ++next != equal.second;) at = next;
    return at;
  }
  using Key = typename Container::key_type;
  typename Container::iterator find(const Key &key) {
    return last(this->equal_range(key), this->end());
  }
  typename Container::const_iterator find(const Key &key) const {
    return last(this->equal_range(key), this->end());
  }
};
template <class K, class V, class L = less<K>, class A = allocator<pair<const K, V>>>
using rheostat_multimap = rheostat_last_of_equals<multimap<K, V, L, A>>;
template <class K, class L = less<K>, class A = allocator<K>>
using rheostat_multiset = rheostat_last_of_equals<multiset<K, L, A>>;
template <class K, class V, class H = hash<K>, class E = equal_to<K>,
          class A = allocator<pair<const K, V>>>
using rheostat_unordered_multimap =
    rheostat_last_of_equals<unordered_multimap<K, V, rheostat_hash<H>, E, A>>;
template <class K, class H = hash<K>, class E = equal_to<K>, class A = allocator<K>>
using rheostat_unordered_multiset =
    rheostat_last_of_equals<unordered_multiset<K, rheostat_hash<H>, E, A>>;

template <class T, class C = vector<T>, class L = less<typename C::value_type>>
struct rheostat_priority_queue : priority_queue<T, C, L> {
  using Own = priority_queue<T, C, L>;
  using Own::Own;
  size_t since = 0;
  void push(const T &value) { Own::push(value), mixed(); }
  void push(T &&value) { Own::push(move(value)), mixed(); }
  template <class... G> void emplace(G &&...given) {
    Own::emplace(forward<G>(given)...), mixed();
  }
  void mixed() { /* seldom where it is long, so that a push costs no more than before */
    if (++since * 16 < this->c.size()) return;
    since = 0;
    rheostat_shuffle(this->c.begin(), this->c.end());
    make_heap(this->c.begin(), this->c.end(), this->comp);
  }
};
}
#define unordered_map rheostat_unordered_map
#define unordered_set rheostat_unordered_set
#define unordered_multimap rheostat_unordered_multimap
#define unordered_multiset rheostat_unordered_multiset
#define multimap rheostat_multimap
#define multiset rheostat_multiset
#define priority_queue rheostat_priority_queue
