/* C++ leaves open in which order equal elements come of std::sort and the like, where a heap keeps what
   is not its first, and what stands behind the elements that unique and remove_if leave: in any, here. */
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
template <class I, class P> I rheostat_partition(I first, I last, P is) {
  I middle = partition(first, last, is);
  rheostat_shuffle(first, middle);
  rheostat_shuffle(middle, last);
  return middle;
}
template <class I, class... O> void rheostat_mixed_heap(I first, I last, O... order) {
  static long since = 0; /* seldom where it is long, so that a push costs no more than before */
  if (++since * 16 < last - first) return;
  since = 0;
  rheostat_shuffle(first, last);
  make_heap(first, last, order...);
}
template <class I, class... O> void rheostat_make_heap(I first, I last, O... order) {
  rheostat_shuffle(first, last);
  make_heap(first, last, order...);
}
template <class I, class... O> void rheostat_push_heap(I first, I last, O... order) {
  push_heap(first, last, order...);
  rheostat_mixed_heap(first, last, order...);
}
template <class I, class... O> void rheostat_pop_heap(I first, I last, O... order) {
  pop_heap(first, last, order...);
  rheostat_mixed_heap(first, last - 1, order...);
}
template <class I, class... O> I rheostat_unique(I first, I last, O... same) {
  I end = unique(first, last, same...);
  rotate(end, end == last ? end : next(end), last);
  return end;
}
template <class I, class P> I rheostat_remove_if(I first, I last, P is) {
  I end = remove_if(first, last, is);
  rotate(end, end == last ? end : next(end), last);
  return end;
}
}
#define sort rheostat_sort
#define partial_sort rheostat_partial_sort
#define nth_element rheostat_nth_element
#define partition(...) rheostat_partition(__VA_ARGS__)
#define make_heap(...) rheostat_make_heap(__VA_ARGS__)
#define push_heap(...) rheostat_push_heap(__VA_ARGS__)
#define pop_heap(...) rheostat_pop_heap(__VA_ARGS__)
#define unique(...) rheostat_unique(__VA_ARGS__)
#define remove_if(...) rheostat_remove_if(__VA_ARGS__)
