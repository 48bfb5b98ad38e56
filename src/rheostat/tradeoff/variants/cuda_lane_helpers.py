"""Which lane of a warp a thread reads, and what the lanes have voted, in C++."""

from __future__ import annotations

from collections.abc import Iterator


def lane_functions() -> Iterator[tuple[str, str]]:
    """Names and definitions of what the exchanges call."""
    head = (
        "static inline unsigned {}(unsigned me, {} by, unsigned threads, unsigned width = 32) {{\n"
    )
    inside = "  return {};\n}}\n"
    for name, kind, said in (
        ("lane_from", "int", "me / width * width + unsigned(by) % width < threads"
         " ? me / width * width + unsigned(by) % width : me"),
        ("lane_down", "unsigned", "me % width + by < width && me + by < threads ? me + by : me"),
        ("lane_up", "unsigned", "me % width < by ? me : me - by"),
        ("lane_xor", "unsigned", "(me ^ by) < threads && (me ^ by) / width <= me / width"
         " ? me ^ by : me"),
    ):  # fmt: skip
        yield name, head.format(name, kind) + inside.format(said)
    mask = "static inline unsigned lane_mask(unsigned me, unsigned threads, unsigned mask) {\n"
    mask += "  unsigned lanes = threads - me / 32 * 32;\n"
    mask += "  return lanes < 32 ? mask & ((1u << lanes) - 1) : mask;\n}\n"
    yield "lane_mask", mask
    votes = "static inline unsigned lane_votes(const int *votes, unsigned me, unsigned threads,\n"
    votes += "                                  unsigned mask) {\n  unsigned all = 0;\n"
    votes += "  for (unsigned i = me / 32 * 32; i < threads && i / 32 == me / 32; i++)\n"
    votes += "    all |= unsigned(votes[i] != 0) << i % 32;\n  return all & mask;\n}\n"
    yield "lane_votes", votes
