"""Subscripts as polynomials: sums of products of names with whole coefficients.

``i * n + j`` is {(i, n): 1, (j,): 1}.  What is no polynomial (a quotient, an element of an array)
becomes a name of its own, the text itself, so that equal texts stay equal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rheostat.tradeoff.variants.c_source import CSource, Node

Monomial = tuple[str, ...]
Polynomial = dict[Monomial, int]


def polynomial(  # noqa: PLR0911 - one return per kind of expression
    source: CSource, node: Node, known: Mapping[str, Polynomial]
) -> Polynomial:
    """An expression as a polynomial, with names in ``known`` put in.

    Parameters
    ----------
    source : CSource
        Of which the node is.
    node : tree_sitter.Node
        An expression.
    known : mapping of str to dict
        Local variables by what they were set to.

    Returns
    -------
    dict
        Coefficients by sorted names.

    Examples
    --------
    >>> s = CSource("int f(int i, int n) { return 2 * (i * n + 1); }")
    >>> from rheostat.measurement.code.parsing.syntax_tree import walk
    >>> e = next(x for x in walk(s.tree.root_node) if x.type == "binary_expression")
    >>> polynomial(s, e, {})
    {('i', 'n'): 2, (): 2}
    """
    text = source.text_of(node)
    if node.type == "number_literal":
        number = re.fullmatch(r"(-?\d+)[uUlL]*", text)
        return _kept({(): int(number[1])}) if number else {(text,): 1}
    if node.type == "identifier":
        return dict(known.get(text, {(text,): 1}))
    if node.type == "parenthesized_expression":
        return polynomial(source, node.named_children[0], known)
    if node.type == "cast_expression":
        return polynomial(source, node.child_by_field_name("value"), known)
    if node.type == "unary_expression" and text[:1] == "-":
        inner = polynomial(source, node.child_by_field_name("argument"), known)
        return {k: -v for k, v in inner.items()}
    if node.type == "binary_expression":
        left, right = (
            polynomial(source, node.child_by_field_name(side), known) for side in ("left", "right")
        )
        operator = source.text_of(node.child_by_field_name("operator"))
        if operator in "+-":
            return added(left, right, 1 if operator == "+" else -1)
        if operator == "*":
            return _product(left, right)
        if operator == "<<" and set(right) == {()}:
            return {k: v << right[()] for k, v in left.items()}
    return {(text,): 1}


def added(left: Polynomial, right: Polynomial, sign: int = 1) -> Polynomial:
    """The sum, or with sign -1 the difference.

    Parameters
    ----------
    left, right : dict
        Polynomials.
    sign : int
        1 or -1.

    Returns
    -------
    dict
        Without zeros.
    """
    total = dict(left)
    for k, v in right.items():
        total[k] = total.get(k, 0) + sign * v
    return _kept(total)


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            key = tuple(sorted((*a, *b)))
            total[key] = total.get(key, 0) + x * y
    return _kept(total)


def _kept(p: Polynomial) -> Polynomial:
    return {k: v for k, v in p.items() if v}


def names_in(p: Polynomial) -> set[str]:
    """Identifiers in any monomial, also inside the texts that stand for what is no polynomial.

    Parameters
    ----------
    p : dict
        A polynomial.

    Returns
    -------
    set of str
        Names.
    """
    return {name for m in p for text in m for name in re.findall(r"[A-Za-z_]\w*", text)}


def split(p: Polynomial, variable: str) -> tuple[Polynomial, Polynomial] | None:
    """(A, r) with p = A * variable + r, or None where p is not linear in it.

    Parameters
    ----------
    p : dict
        A polynomial.
    variable : str
        A name.

    Returns
    -------
    pair of dict, or None
        Neither has the variable.
    """
    slope: Polynomial = {}
    rest: Polynomial = {}
    for m, v in p.items():
        if m.count(variable) == 1:
            slope[tuple(x for x in m if x != variable)] = v
        elif m.count(variable) > 1:
            return None
        else:
            rest[m] = v
    if variable in names_in(slope) | names_in(rest):
        return None
    return slope, rest


def is_data(p: Polynomial) -> bool:
    """Whether a part is no name, also of a field: an element of an array, a quotient, a call."""
    return any(not re.fullmatch(r"\w+(?:(?:->|\.)\w+)*", text) for m in p for text in m)


def meet_in_one(pairs: list[tuple[Polynomial, Polynomial]], variable: str, inner: set[str]) -> bool:
    """Whether two accesses are at one place in one iteration alone, as ``c[i][j]`` and ``c[j][i]``.

    Each says in which iteration the other would have to be; both of them say the same.
    """
    said: tuple[list[Polynomial], list[Polynomial]] = ([], [])
    for write, other in pairs:
        mine, its = split(write, variable), split(other, variable)
        if mine is None or its is None:
            continue
        for k, (here, there) in enumerate(((mine, its), (its, mine))):
            if here[0] == {(): 1} and not there[0]:
                said[k].append(added(there[1], here[1], -1))
    fixed = [[p for p in ps if not is_data(p) and not names_in(p) & inner] for ps in said]
    return any(p == q for p in fixed[0] for q in fixed[1])
