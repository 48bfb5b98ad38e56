"""What a CUDA program asks of its device, answered as by a small one.

A host has no multiprocessors: it says what every device has, and eight multiprocessors, by which
programs choose a number of blocks.  `rheostat.measurement.code.device_kernels.cuda_on_host`
answers the same where a program in CUDA itself is run without a device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TYPE = "DeviceProperties"
PROPERTIES = {
    "name": ("char", "[256]", '"CPU"'), "sharedMemPerBlock": ("size_t", "", "49152"),
    "regsPerBlock": ("int", "", "65536"), "warpSize": ("int", "", "32"),
    "maxThreadsPerBlock": ("int", "", "1024"), "maxThreadsDim": ("int", "[3]", "{1024, 1024, 64}"),
    "maxGridSize": ("int", "[3]", "{2147483647, 65535, 65535}"), "major": ("int", "", "8"),
    "minor": ("int", "", "0"), "multiProcessorCount": ("int", "", "8"),
    "maxThreadsPerMultiProcessor": ("int", "", "2048"),
}  # fmt: skip
"""Members of ``cudaDeviceProp``: type, sizes of an array and value."""
ATTRIBUTES = {
    "cudaDevAttrMaxThreadsPerBlock": "1024", "cudaDevAttrMaxSharedMemoryPerBlock": "49152",
    "cudaDevAttrWarpSize": "32", "cudaDevAttrMultiProcessorCount": "8",
    "cudaDevAttrMaxThreadsPerMultiProcessor": "2048", "cudaDevAttrComputeCapabilityMajor": "8",
    "cudaDevAttrComputeCapabilityMinor": "0",
}  # fmt: skip


def device_properties(text: str) -> str:
    """The definition of what a translated program asks for.

    Parameters
    ----------
    text : str
        The translation.

    Returns
    -------
    str
        Empty where it asks for nothing.
    """
    if not re.search(rf"\b{TYPE}\b", text):
        return ""
    members = "".join(
        f"  {kind} {name}{size} = {value};\n" for name, (kind, size, value) in PROPERTIES.items()
    )
    return f"struct {TYPE} {{\n{members}}};\n"


def unknown_properties(code: str) -> Iterator[str]:
    """Members of a device that a translation reads and no host can answer.

    Parameters
    ----------
    code : str
        The translation, without comments.

    Yields
    ------
    str
        Names, each once.
    """
    variables = re.findall(rf"\b{TYPE}\b[\s*&]*(\w+)", code)
    named = "|".join(map(re.escape, variables)) or r"(?!)"
    read = re.findall(rf"\b(?:{named})(?:\[[^][]*\])?\s*(?:\.|->)\s*([A-Za-z_]\w*)", code)
    yield from dict.fromkeys(n for n in read if n not in PROPERTIES)
