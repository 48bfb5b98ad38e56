/* C++ leaves open in which order equal elements come of std::sort and the like: in any, here. */
#include <algorithm>
#include <functional>
#include <iterator>

namespace std {
template <class I> void rheostat_shuffle(I first, I last) {
  static unsigned state = 12345;
  for (auto i = last - first; i > 1; i--) {
    state = state * 1664525u + 1013904223u;
    iter_swap(first + (i - 1), first + (state >> 8) % i);
  }
}
template <class I, class... O> void rheostat_sort(I first, I last, O... order) {
  rheostat_shuffle(first, last);
  sort(first, last, order...);
}
template <class I, class... O> void rheostat_partial_sort(I first, I middle, I last, O... order) {
  rheostat_shuffle(first, last);
  partial_sort(first, middle, last, order...);
}
template <class I, class... O> void rheostat_nth_element(I first, I at, I last, O... order) {
  rheostat_shuffle(first, last);
  nth_element(first, at, last, order...);
}
}
#define sort rheostat_sort
#define partial_sort rheostat_partial_sort
#define nth_element rheostat_nth_element
