"""Random programs whose Python part costs much: huge ranges, comprehensions, shared lists, long texts, macros."""

from __future__ import annotations

from random import Random

_NUMBERS = ("0", "1", "3", "-1", "400", "99999", "10**10", "10**30", "-10**9", "2**4000", "1.5", "True")
_LISTS = ("a", "a", "b", "b", "([0] * 4000)", "range(10**10)", "range(99999)", "range(30)", "['a' * 4000]", "A.shape")
_TEXTS = ("'ab'", "('a' * 4000)", "A.dtype")

_NUMBER = (
    "len({list})", "sum({list})", "max({list})", "min({list})", "all({list})", "any({list})",
    "round({number}, {number})",
    "abs({number})", "divmod({number}, {number})[0]", "int({text})", "({number} + {number})", "({number} * {number})",
    "({number} ** {number})", "({number} // {number})", "({number} << {number})", "({list} == {list})",
    "{list}[{number}]", "({number} in {list})", "({list} < {list})", "({number} if {number} else {number})",
    "{list}.index({number})",
    "{text}.count({text})", "float({number})", "bool({list})", "f({number})", "sum({number} for i in {list})",
)  # fmt: skip
_LIST = (
    "[{number} for i in {list}]", "[{list} for i in {list}]", "[{number} for i in {list} for j in {list} if {number}]",
    "list({list})", "tuple({list})", "sorted({list})", "reversed({list})", "enumerate({list})", "zip({list}, {list})",
    "[{list}, {list}]", "({list}, {number})", "[*{list}, *{list}]", "({list} + {list})", "({list} * {number})",
    "{list}[{number}:]", "{text}.split({text})", "dict(zip({list}, {list})).items()", "{{i: {list} for i in {list}}}",
    "{{i for i in {list}}}", "sum({list}, [])", "range({number})", "list(range({number}, {number}))", "f({list})",
    "[f({number}) for i in {list}]", "[A[i] for i in {list}]", "(lambda x: [x, x])({list})",
    "({list} if n > 0 else {list})",
)  # fmt: skip
_TEXT = (
    "str({list})", "str({number})", "({text} + {text})", "({text} * {number})", "{text}.join({list})", "f'{{{list}}}'",
    "{text}.replace({text}, {text})", "'-'.join([str({number}) for i in {list}])", "f'{{{number}:400}}'",
    "f'{{a!r}}{{b}}'",
    "{text}.upper()", "{text}[{number}:]",
)  # fmt: skip
_STATEMENTS = (
    "a = T.meta_var({list})", "a = T.meta_var([b, b])", "b = T.meta_var([a, a])", "a = T.meta_var((a, b, b))",
    "b = [a] * 400", "c = {number}", "m({number})", "m({list})", "a = T.meta_var([b] * 400)", "assert n > 0, {text}",
    "A[{number}] = 1.0", "A[0] = {number}", "A[0] = sum({list})", "A[0] = T.max(*{list})", "T.evaluate({number})",
    "for i in range({number}):\n        A[i] = 1.0", "for i in T.grid(*{list}):\n        A[0] = 1.0",
    "if {number}:\n        m({number})", "T.attr({number}, {text}, {number})", "T.func_attr({{'k': {list}}})",
    "B = T.alloc_buffer({list})", "B = T.Buffer(({text}, {number}))",
)  # fmt: skip
_MACROS = (
    "A[0] = 1.0", "m(x)\n    m(x)", "if x:\n        m(x - 1)\n        m(x - 1)", "m([x, x])",
    "y = T.meta_var({list})\n    m(y)",
)  # fmt: skip
_FORMS = {"number": (_NUMBERS, _NUMBER), "list": (_LISTS, _LIST), "text": (_TEXTS, _TEXT)}


def random_program(random: Random) -> str:
    """The text of a program of a few statements; most such programs are refused."""
    macro = _fill(random, random.choice(_MACROS), 1)
    lines = [_fill(random, random.choice(_STATEMENTS), 3) for _ in range(random.randint(1, 5))]
    body = "\n".join(f"    {line}" for line in lines for _ in range(random.choice((1, 1, 30))))
    function = _fill(random, random.choice(("{number}", "{list}", "x", "[x, x]", "f(x)")), 1)
    return (
        '@T.prim_func\ndef main(A: T.Buffer((16,), "float32"), n: T.int32):\n'
        f"    @T.macro\n    def m(x):\n        {macro.replace(chr(10), chr(10) + '    ')}\n"
        f"    a = T.meta_var([1])\n    b = T.meta_var(a)\n    i = T.meta_var(2)\n"
        f"    f = T.meta_var(lambda x: {function})\n"
        f"{body}\n"
    )


def _fill(random: Random, form: str, depth: int) -> str:
    """A form with an expression for each of its fields."""
    fields = {kind: _Field(random, kind, depth) for kind in _FORMS}
    return form.format(**fields)


class _Field:
    """A field of a form, a new expression each time that it is formatted."""

    def __init__(self, random: Random, kind: str, depth: int):
        self._random = random
        self._kind = kind
        self._depth = depth

    def __format__(self, style: str) -> str:
        leaves, forms = _FORMS[self._kind]
        if self._depth == 0 or self._random.random() < 0.2:
            return self._random.choice(leaves)
        text = _fill(self._random, self._random.choice(forms), self._depth - 1)
        return text.replace("'", '"') if text.startswith("f'") and text.count("'") == 2 else text
