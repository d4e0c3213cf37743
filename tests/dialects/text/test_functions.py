"""Functions and modules as TVMScript."""

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, math, vector
from xdsl.parser import Parser

from stepwell.dialects.text import print_tvmscript
from stepwell.dialects.tir import Tir


def parse(text: str):
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, math.Math, vector.Vector, Tir):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def test_an_unknown_style_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown style 'clasic', did you mean 'classic'\? \(known: classic, 0.27\)"):
        print_tvmscript(parse(""), style="clasic")
