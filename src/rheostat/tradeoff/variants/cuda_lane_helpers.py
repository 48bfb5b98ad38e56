"""Which lane of a warp a thread reads, and what the lanes have voted, in C++."""

from __future__ import annotations

from collections.abc import Iterator


def lane_functions() -> Iterator[tuple[str, str]]:
    """Names and definitions of what the exchanges call.

    None asks how many threads there are: nothing is known of lanes that a block has not.
    """
    for name, by, said in (
        ("lane_from", "int by, unsigned width = 32", "me / width * width + unsigned(by) % width"),
        ("lane_down", "unsigned by, unsigned width = 32", "me % width + by < width ? me + by : me"),
        ("lane_up", "unsigned by, unsigned width = 32", "me % width < by ? me : me - by"),
        ("lane_xor", "unsigned by", "me ^ by"),
        ("lane_xor_within", "unsigned by, unsigned width",
         "(me ^ by) / width <= me / width ? me ^ by : me"),
    ):  # fmt: skip
        yield name, f"static inline unsigned {name}(unsigned me, {by}) {{\n  return {said};\n}}\n"
    votes = "static inline unsigned lane_votes(const int *votes, unsigned me, unsigned mask,\n"
    votes += "                                  int of) {\n  unsigned all = 0;\n"
    votes += "  for (unsigned lane = 0; lane < 32; lane++)\n"
    votes += "    all |= unsigned(votes[me / 32 * 32 + lane] == of) << lane;\n"
    yield "lane_votes", votes + "  return all & mask;\n}\n"
