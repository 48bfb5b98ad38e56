"""What tests of HLO and of costs share: small modules, what they call, a size."""

from __future__ import annotations


def module(
    *lines: str, before: str = "", head: str = "ENTRY e {", first: str = "HloModule m"
) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"{first}\n{before}\n{head}\n{body}\n}}\n"


X = "x = f32[4] parameter(0)"
F = "f {\n p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p)\n}\n"
ADD = "add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n"
# places where a window of three at padding one meets an image of five by five
MEETING = (2 + 3 + 3 + 3 + 2) ** 2
