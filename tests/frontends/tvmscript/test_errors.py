"""Invalid programs: each is refused at the location of the error, with the reason.

In the texts below the comment `# error: message` marks the line of the error.
"""

# ruff: noqa: E501  (a message stands on its line)

import re
import textwrap

import pytest

from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import parse_tvmscript

_EXPECTED = re.compile(r"\s*# error: (.*)$")


def assert_refused(text: str) -> None:
    """Asserts that a text is refused at its marked line, with the message of the mark."""
    lines = textwrap.dedent(text).strip("\n").split("\n")
    (number, message) = next((i + 1, m[1]) for i, line in enumerate(lines) if (m := _EXPECTED.search(line)))
    source = "\n".join(_EXPECTED.sub("", line) for line in lines)
    with pytest.raises(ParseError) as caught:
        parse_tvmscript(source, "f.py")
    first, shown, caret, *_notes = str(caught.value).split("\n")
    match = re.fullmatch(r"f\.py:(\d+:\d+): error: (.*)", first)
    assert match is not None
    where, got = match.groups()
    assert (where.split(":")[0], got) == (str(number), message)
    assert shown.strip() == source.split("\n")[number - 1].strip()
    assert caret.index("^") == 3 + int(where.split(":")[1])


# ---- families that TVM's own parser knows

TVM_FAMILIES = {
    "match_buffer without a shape": """
        A = T.match_buffer(a)  # error: T.match_buffer: missing argument 'shape'
    """,
    "undefined buffer": """
        A = T.match_buffer(a, (16,))
        AA[0] = 1.0  # error: undefined name 'AA', did you mean 'A'?
    """,
    "unsupported function call": """
        T.grid_of(16)  # error: unknown name 'T.grid_of', did you mean 'T.grid'?
    """,
    "invalid for": """
        for i in T.evaluate(0):  # error: expected loops (range, T.serial, T.grid, ...), got None
            pass
    """,
    "invalid with": """
        with T.evaluate(0):  # error: expected a block or another frame, got None
            pass
    """,
    "return not allowed": """
        return T.block("x")  # error: expected an expression, got a block
    """,
    "no body": """
        for i in range(4):
        pass  # error: expected an indented block, got 'pass'
    """,
    "allocate with buffers": """
        with T.allocate([4], "float32", "global") as [B, C]:  # error: expected one name to bind
            pass
    """,
    "inconsistent binding of v0.8": """
        with T.block([16, 16]) as [vi]:  # error: expected 2 names for the axes of this block, got 1
            pass
    """,
    "inconsistent binding": """
        for i, j in T.grid(4, 4):
            with T.block():
                vi, vj, vk = T.axis.remap("SS", [i, j])  # error: expected 2 names to bind, got 3
    """,
    "remap of the same loop twice": """
        for i, j in T.grid(4, 4):
            with T.block():
                vi, vj = T.axis.remap("SS", [i, i])  # error: T.axis.remap: a loop is bound twice
    """,
    "remap with too few loops": """
        for i, j in T.grid(4, 4):
            with T.block():
                vi, vj = T.axis.remap("SS", [i])  # error: T.axis.remap: 2 kinds for 1 loops
    """,
    "remap of what is no loop": """
        for i, j in T.grid(4, 4):
            with T.block():
                vi, vj = T.axis.remap("SS", [i, i + j])  # error: T.axis.remap takes loop variables, got an expression
    """,
    "remap of an unknown kind": """
        for i in range(4):
            with T.block():
                vi = T.axis.remap("X", [i])  # error: T.axis.remap: kind 'X', expected 'S' or 'R'
    """,
    "invalid axis": """
        A = T.match_buffer(a, (16,))
        for i in range(4):
            with T.block():
                vi = T.axis.S(i, A)  # error: expected an expression, got the buffer 'A'
    """,
    "duplicate axes": """
        for i, j in T.grid(4, 4):
            with T.block():
                vi = T.axis.S(4, i)
                vi = T.axis.S(4, j)  # error: this block already has an axis 'vi'
    """,
    "missing binding": """
        with T.block():
            vi = T.axis.S(16)  # error: T.axis.S: missing argument 'binding'
    """,
    "missing binding of v0.8": """
        for i in range(16):
            with T.block([16, 16]) as [vi, vj]:  # error: axis 'vj' of this block has no binding
                T.bind(vi, i)
    """,
    "number of loops around a v0.8 block": """
        for i in range(16):
            with T.block([16, 16]) as [vi, vj]:  # error: 2 axes of this block for 1 loops around it
                pass
    """,
    "non-integer axis": """
        for i in range(4):
            with T.block():
                vi = T.axis.S(i, 0.1)  # error: expected an integer, got 0.1
    """,
    "invalid loop variable": """
        for i, j in range(16):  # error: expected 1 loop variables, got 2
            pass
    """,
    "inconsistent grid": """
        for i, j, k in T.grid(16, 16):  # error: expected 2 loop variables, got 3
            pass
    """,
    "invalid region to match": """
        A = T.match_buffer(a, (16, 16))
        with T.block():
            B = T.match_buffer(A[0], (16,))  # error: buffer 'A' has 2 dimensions, got 1 index
    """,
    "shape of a matched region": """
        A = T.match_buffer(a, (16, 16))
        with T.block():
            B = T.match_buffer(A[0:4, 0:8], (4, 4))  # error: extent 1 of the region is 8, that of the shape 4
    """,
    "rank of a matched region": """
        A = T.match_buffer(a, (16, 16))
        with T.block():
            B = T.match_buffer(A[0:4, 0:8], (8,))  # error: a region of 2 dimensions does not match a shape of 1
    """,
    "duplicate buffer": """
        A = T.match_buffer(a, (16,))
        B = T.match_buffer(a, (16,))  # error: this parameter is already the buffer 'A'
    """,
    "duplicate reads": """
        A = T.match_buffer(a, (16,))
        with T.block():
            T.reads(A[0])
            T.reads(A[1])  # error: T.reads is given twice for this block
    """,
    "duplicate init": """
        with T.block():
            with T.init():
                pass
            with T.init():  # error: T.init is given twice for this block
                pass
    """,
    "duplicate predicate": """
        with T.block():
            T.where(n > 1)
            T.where(n > 1)  # error: T.where is given twice for this block
    """,
    "duplicate annotation": """
        with T.block():
            T.block_attr({"a": 1})
            T.block_attr({"a": 1})  # error: T.block_attr: 'a' is given twice for this block
    """,
    "opaque access in a block without regions": """
        A = T.match_buffer(a, (16,))
        with T.block():  # error: the block uses a pointer to buffer 'A', so what it reads and writes is not known; write T.reads and T.writes
            T.evaluate(T.call_extern("int32", "f", A.data))
    """,
    "slice as a scalar": """
        A = T.match_buffer(a, (16, 16))
        A[0, 0] = A[0, 0:4]  # error: cannot cast float32x4 to float32
    """,
    "slice of a leading dimension": """
        A = T.match_buffer(a, (16, 16))
        A[0:4, 0] = 1.0  # error: only the last index of a load or store can be a slice
    """,
    "slice of unknown length": """
        A = T.match_buffer(a, (16,))
        A[0:n] = 1.0  # error: the number of elements of this slice must be known
    """,
    "illegal step": """
        A = T.match_buffer(a, (16,))
        A[0:4:-1] = 1.0  # error: step -1 of a slice, expected a positive one
    """,
    "strides of another rank": """
        A = T.match_buffer(a, (16,))
        B = T.alloc_buffer([8, 8], strides=[1])  # error: 1 strides for a shape of 2 dimensions
    """,
    "block with a target": """
        with T.block("root") as x:  # error: T.block has nothing to bind, its axes come from T.axis
            pass
    """,
    "attributes of the implicit root": """
        T.block_attr({"a": 1})  # error: T.block_attr belongs into a block (the root of a function has none of its own)
    """,
    "predicate of the implicit root": """
        T.where(n > 1)  # error: T.where belongs into a block (the root of a function has none of its own)
    """,
    "init of the implicit root": """
        with T.init():  # error: T.init belongs into a block (the root of a function has none of its own)
            pass
    """,
    "load through a number": """
        x = T.load("float32", 1, 1)  # error: expected a pointer, got a value of type int32
    """,
    "load through a pointer to nothing known": """
        x = T.load("float32", a, 1)  # error: T.load and T.store through a pointer to memory of unknown size are not supported
    """,
    "store through a buffer": """
        A = T.match_buffer(a, (16,))
        T.store(A, 0, 1.0)  # error: expected an expression, got the buffer 'A'
    """,
    "operand that is a list": """
        A = T.match_buffer(a, (16,))
        A[0] = A[1] + [1]  # error: operator '+' cannot take a list
    """,
    "operand that is a pointer": """
        A = T.match_buffer(a, (16,))
        A[0] = 1 + A.data  # error: operator '+' cannot take a pointer
    """,
}


@pytest.mark.parametrize("name", TVM_FAMILIES)
def test_errors_that_tvm_knows(name: str) -> None:
    body = textwrap.indent(textwrap.dedent(TVM_FAMILIES[name]).strip("\n"), "    ")
    assert_refused(f"@T.prim_func\ndef f(a: T.handle, n: T.int32):\n{body}\n")


# ---- expressions

EXPRESSIONS = [
    ("x", "undefined name 'x'"),
    ("A[0]", "buffer 'A' has 2 dimensions, got 1 index"),
    ("A[0, 0, 0]", "buffer 'A' has 2 dimensions, got 3 indices"),
    ("A[0.5, 0]", "expected an integer index, got 0.5"),
    ("A[A[0, 0], 0]", "expected an integer index, got float32"),
    ("A[p, 0]", "expected an integer index, got a pointer"),
    ("A.dat", "buffer 'A' has no attribute 'dat', did you mean 'data'?"),
    ("n.foo", "an expression has no attribute 'foo'"),
    ("n[0]", "only buffers and Python's lists have items, got an expression"),
    ("n(1)", "an expression cannot be called"),
    ("n / 2", "'/' on integers: use // (rounds down) or T.truncdiv (rounds towards zero)"),
    ("n ** 2", "operator '**' is not supported on expressions, use T.pow"),
    ("n @ n", "operator '@' is not supported on expressions"),
    ("n in [1]", "operator 'in' is not supported on expressions"),
    ("n is None", "operator 'is' is not supported on expressions, use =="),
    ("n < A", "operator '<' cannot take the buffer 'A'"),
    ("A[0, 0] & 1", "operator and needs integers, got float32"),
    ("~A[0, 0]", "operator '~' needs an integer"),
    ("not n", "expected a condition of type bool, got int32"),
    ("n and n", "expected a condition of type bool, got int32"),
    ("n > 1 and n", "expected a condition of type bool, got int32"),
    ("-A", "operator '-' cannot take the buffer 'A'"),
    ("1 // 0", "division by zero"),
    ("1 << 100000", "the result of '<<' is too large"),
    ("10 ** 100000", "the result of '**' is too large"),
    ("'a' * 100000", "the result of '*' is too large"),
    ("'%99999d' % 1", "formatting by % is not supported, write an f-string"),
    ("1 + 'a'", "cannot compute 1 + 'a': unsupported operand type(s) for +: 'int' and 'str'"),
    ("[1, 2][5]", "cannot take item 5 of a list: list index out of range"),
    ("1[0]", "an integer has no items"),
    ("'abc'.format()", "a string has no attribute 'format' here, write an f-string"),
    ("b'x'", "bytes and ... have no meaning in TVMScript"),
    ("f'{T.float32}'", "expected something with a text, got 'T.float32'"),
    ("f'{1:9999}'", "this format is too long"),
    ("f'{1:q}'", "Unknown format code 'q' for object of type 'int'"),
    ("{A: 1}", "the buffer 'A' cannot be a key"),
    ("{**1}", "expected a dictionary after **, got an integer"),
    ("len(1)", "len(): object of type 'int' has no len()"),
    ("max(n, 1)", "max() is computed while the program is read, its argument is only known when it runs"),
    ("[i for i in n]", "expected something to iterate over, got an expression"),
    ("[i for i in range(n)]", "the bounds of this range must be known while the program is read"),
    ("[i for i in range(4) if n > i]", "this condition must be known while the program is read"),
    ("[i for i in range(1000000)]", "more than 500000 items of lists while the program is read"),
    ("(lambda a: a)()", "the lambda: missing argument 'a'"),
    ("(lambda a: a)(1, 2)", "the lambda takes at most 1 arguments by position, got 2"),
    ("(lambda a: a)(1, b=2)", "the lambda has no parameter 'b'"),
    ("T.exp(1.0, dtype='float64')", "this is float32, got dtype='float64'"),
    ("T.exp()", "T.exp: missing argument 'x'"),
    ("T.exp(1.0, 2.0)", "T.exp takes at most 1 arguments, got 2"),
    ("T.exp(y=1.0)", "T.exp has no parameter 'y'"),
    ("T.Cast('float33', n)", "unknown dtype 'float33'"),
    ("T.Cast('handle', n)", "expected a data type, got handle"),
    ("T.Cast(1, n)", "expected a data type, got an integer"),
    ("T.Cast('float32', A.data)", "operator 'cast' cannot take a pointer"),
    ("T.int8(300)", "300 does not fit int8"),
    ("T.uint8(-1)", "-1 does not fit uint8"),
    ("T.int32(1.5)", "1.5 is not of type int32"),
    ("T.float32('x')", "'x' is not a number of type float32"),
    ("T.float32(1e300)", "1e+300 does not fit float32"),
    ("T.int32(1, 2)", "T.int32 takes at most 1 argument, got 2"),
    ("T.int32(1, foo=2)", "T.int32 has no parameter 'foo'"),
    ("9999999999999999999999", "9999999999999999999999 does not fit int32"),
    ("T.Select(n, 1, 2)", "expected a condition of type bool, got int32"),
    ("T.Select(n > 1, p, 2)", "cannot combine a pointer and another value"),
    ("T.if_then_else(n > 1, 1)", "T.if_then_else: missing argument 'f'"),
    ("T.if_then_else(n > 1, A.data, 1)", "cannot combine a pointer and another value"),
    ("T.Ramp(0, 1, n)", "expected a known integer for the number of lanes"),
    ("T.Ramp(0, 1, 0)", "0 lanes, expected 1 to 65535"),
    ("T.Broadcast(T.Ramp(0, 1, 4), 4)", "T.Broadcast takes a scalar"),
    ("T.Ramp(0, 1, 4) + T.Ramp(0, 1, 8)", "cannot combine int32x4 and int32x8: 4 lanes against 8"),
    ("T.Shuffle([T.Ramp(0, 1, 4)], [4])", "T.Shuffle: a lane is not in [0, 4)"),
    ("T.Shuffle([T.Ramp(0, 1, 4), A[0, 0]], [0])", "T.Shuffle: the vectors have different element types"),
    ("T.Shuffle([], [])", "T.Shuffle takes a list of vectors and a list of lanes"),
    ("T.infinity('int32')", "there is no infinity of type int32"),
    ("T.isnullptr(n)", "T.isnullptr takes a pointer"),
    ("T.call_packed(n)", "T.call_packed: expected the name of the function"),
    ("T.call_extern('int32', n)", "expected a string for the name of the function, got an expression"),
    ("T.call_intrin('int32', 'tir.expp', n)", "builtin 'expp' is not supported, did you mean 'exp'?"),
    ("T.call_intrin('int32', 'tir.exp', A[0, 0])", "builtin 'exp' gives float32, expected int32"),
    ("T.address_of(n)", "expected an element of a buffer, got an expression"),
    ("A.access_ptr('x')", "access 'x', expected 'r', 'w' or 'rw'"),
    ("A.vload([0, 0], 'int32x4')", "buffer 'A' holds float32, got int32x4"),
    ("A.view(512)", "a view of 512 elements of a buffer of 256"),
    ("T.Let(n)", "expected T.Let(body, where={variable: value})"),
    ("T.meta_var(1, 2)", "T.meta_var takes at most 1 arguments, got 2"),
    ("T.ptx_mma_sp(1)", "T.ptx_mma_sp is not supported"),
    ("T.ptx.mma(1)", "T.ptx is not supported"),
    ("T.cuda.func_call('f')", "T.cuda is not supported"),
    ("T.vscale()", "T.vscale is not supported"),
    ("T.comm_reducer(lambda x, y: x, [0, 1])", "T.comm_reducer of several values is not supported"),
    ("T.comm_reducer(0, [0])", "an integer cannot be called"),
    ("R.add(n, n)", "R.add has its place in a function with @R.function"),
    ("R.ad(n, n)", "R.ad is not supported, did you mean 'add'?"),
    ("T.axis.spatia(1, 2)", "unknown name 'T.axis.spatia', did you mean 'T.axis.spatial'?"),
    ("T.axis(1)", "unknown name 'T.axis', did you mean 'T.axis.S'?"),
    ("*A", "a starred expression needs a tuple or a list around it"),
]


@pytest.mark.parametrize(("expression", "message"), EXPRESSIONS)
def test_expressions_that_mean_nothing(expression: str, message: str) -> None:
    params = "A: T.Buffer((16, 16), 'float32'), p: T.handle, n: T.int32"
    assert_refused(f"@T.prim_func\ndef f({params}):\n    n_1: T.int32 = {expression}  # error: {message}\n")


# ---- statements

STATEMENTS = {
    "break": "break  # error: break outside of a loop",
    "continue": "continue  # error: continue outside of a loop",
    "import": "import numpy  # error: an import has no place in a function",
    "class": "class X: pass  # error: a class has no place in a function",
    "function": "def g(): pass  # error: a function inside a function must be a @T.macro or a @T.inline",
    "assignment to an attribute": "A.x = 1  # error: expected a name or an element of a buffer",
    "assignment to an item": "[1][0] = 1  # error: only elements of buffers can be assigned to",
    "assignment of a block": "x = T.block()  # error: a block has its place in a with statement",
    "assignment of loops": "x = range(4)  # error: loops have their place in a for statement",
    "unpacking an expression": "x, y = n  # error: expected one name to bind, got 2",
    "unpacking with two stars": "*x, *y = [1, 2]  # error: only one name can have a star",
    "let of another type": "x: T.int64 = n  # error: the value is int32, expected int64",
    "let of a buffer": "x: T.Buffer((4,)) = n  # error: expected a data type, got a buffer declaration",
    "annotation of an element": "A[0, 0]: T.int32 = 1  # error: only a name can have an annotation",
    "let without anything": "x: T.let  # error: expected a type and a value",
    "store of a pointer": "A[0, 0] = p  # error: a pointer cannot be stored into a buffer of numbers",
    "store of a tuple": "A[0, 0] = (1, 2)  # error: expected an expression, got a tuple",
    "statement that is a string list": "[1]  # error: a list is not a statement",
    "block alone": "T.block('x')  # error: a block has its place in a with statement",
    "init alone": "T.init()  # error: T.init() has its place in a with statement",
    "declaration alone": "T.Buffer((4,))  # error: a buffer declaration is not a statement",
    "realize of a buffer with memory": "T.realize(A[0:16, 0:16], '')  # error: buffer 'A' has memory already",
    "evaluate of a buffer": "T.evaluate(A)  # error: expected an expression, got the buffer 'A'",
    "condition that is a float": "if A[0, 0]: pass  # error: expected a condition of type bool, got float32",
    "condition that is a buffer": "while A: pass  # error: expected an expression, got the buffer 'A'",
    "assert of a number": "assert n  # error: expected a condition of type bool, got int32",
    "message of an assert": "assert n > 1, n  # error: expected a string for the message, got an expression",
    "message tuple of an assert": 'assert n > 1, (\'a\',)  # error: expected a message, or ("RuntimeError", ["message"])',
    "text of a message with values": 'assert n > 1, ("E", ["{}", n])  # error: a message with values cannot have the text \'{}\'',
    "buffer in a message": "assert n > 1, (\"E\", [A])  # error: expected an expression, got the buffer 'A'",
    "then without if": "with T.Then(): pass  # error: T.Then and T.Else have their place in a T.If",
    "second func_attr": "T.func_attr({}); T.func_attr({})  # error: T.func_attr is given twice",
    "func_attr of a list": "T.func_attr([1])  # error: expected a dictionary, got a list",
    "func_attr with a number as key": "T.func_attr({1: 1})  # error: expected a string for a key, got an integer",
    "func_attr of an expression": "T.func_attr({'a': n + 1})  # error: expected a constant, got an expression",
    "builder form": "T.func_name('f')  # error: the builder form of functions is not supported, write def name(...) -> type",
    "grid of nothing": "for i in T.grid(): pass  # error: T.grid: expected an extent",
    "range of nothing": "for i in range(): pass  # error: range takes 1 to 3 arguments, got 0",
    "step of zero": "for i in range(0, 8, 0): pass  # error: step 0 of a loop, expected a positive or negative one",
    "extent that is a float": "for i in range(0.5): pass  # error: expected an integer, got 0.5",
    "extent that is a float expression": "for i in range(A[0, 0]): pass  # error: expected an integer, got a value of type float32",
    "loop over the same name twice": "for i, i in T.grid(4, 4): pass  # error: two loop variables have the same name",
    "loop over an element": "for A[0, 0] in range(4): pass  # error: expected the name of a loop variable",
    "thread without axis": "for i in T.thread_binding(4): pass  # error: T.thread_binding: missing argument 'thread'",
    "annotations of a loop": "for i in T.serial(4, annotations=1): pass  # error: expected a dictionary of annotations, got an integer",
    "launch of what is no axis": "T.launch_thread(n, 4)  # error: expected a thread axis, got an expression",
    "binding what gives nothing": "with T.attr(0, 'a', 1) as x: pass  # error: there is nothing to bind here",
    "extent of a negative shape": "B = T.alloc_buffer((-1,))  # error: extent -1 of a shape, expected 0 or more",
    "shape of a string": "B = T.alloc_buffer('n *')  # error: expected an expression, got ')'",
    "dtype of handles": "B = T.alloc_buffer((4,), 'handle')  # error: buffers of handles are not supported",
    "kind of a buffer": "B = T.alloc_buffer((4,), buffer_type='image')  # error: buffer_type and layout are not supported",
    "groups of dimensions": "B = T.alloc_buffer((4, 4), axis_separators=1)  # error: expected a list of positions for axis_separators, got an integer",
    "group that ends outside": "B = T.alloc_buffer((4, 4), axis_separators=[3])  # error: axis_separators [3], expected positions from 0 to 2, none less than the one before it",
    "groups without order": "B = T.alloc_buffer((4, 4), axis_separators=[2, 1])  # error: axis_separators [2, 1], expected positions from 0 to 2, none less than the one before it",
    "group that ends at a variable": "B = T.alloc_buffer((4, 4), axis_separators=[n])  # error: expected a known integer for an axis separator",
    "memory of an allocated buffer": "B = T.alloc_buffer((4,), data=p)  # error: T.alloc_buffer allocates its own memory, got data",
    "constant array of another size": "w = T.allocate_const([1, 2], 'int32', [3])  # error: T.allocate_const: 2 numbers for 3 elements",
    "constant array of text": "w = T.allocate_const(['a'], 'int32', [1])  # error: T.allocate_const needs a list of numbers",
    "argument given twice": "T.evaluate(T.exp(1.0, x=2.0))  # error: T.exp: 'x' is given twice",
    "unknown argument": "B = T.alloc_buffer((4,), scop='local')  # error: T.alloc_buffer has no parameter 'scop', did you mean 'scope'?",
    "symbol that nothing binds": "m = T.int32(); A[m, 0] = 1.0  # error: variable 'm' never gets a value: no buffer has it as an extent",
    "pointer that nothing gives a value": "q = T.handle('int8'); T.evaluate(q)  # error: this pointer never gets a value",
    "parameter matched inside a loop": "for i in range(4): B = T.match_buffer(p, (4,))  # error: T.match_buffer of a parameter belongs at the top of the function",
    "match of a scalar": "B = T.match_buffer(n, (4,))  # error: expected a parameter of type T.handle, got one of type int32",
    "match of an expression": "B = T.match_buffer(n + 1, (4,))  # error: expected a parameter of the function or a part of a buffer, got an expression",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_that_mean_nothing(name: str) -> None:
    params = "A: T.Buffer((16, 16), 'float32'), p: T.handle, n: T.int32"
    assert_refused(f"@T.prim_func\ndef f({params}):\n    {STATEMENTS[name]}\n")


# ---- functions and modules

DEFINITIONS = {
    "parameter without a type": """
        @T.prim_func
        def f(a):  # error: parameter 'a' needs a type: T.handle, T.Buffer(...), T.int32, ...
            pass
    """,
    "parameter of no type": """
        @T.prim_func
        def f(a: T.grid):  # error: expected a type, got 'T.grid'
            pass
    """,
    "parameter with a default": """
        @T.prim_func
        def f(a: T.int32 = 1):  # error: a function takes plain parameters without defaults
            pass
    """,
    "star parameter": """
        @T.prim_func
        def f(*a: T.int32):  # error: a function takes plain parameters without defaults
            pass
    """,
    "buffer parameter with memory": """
        @T.prim_func
        def f(p: T.handle('float32'), A: T.Buffer((4,), data=p)):  # error: the buffer of a parameter has no data=
            pass
    """,
    "results of two types": """
        @T.prim_func
        def f(n: T.int32, m: T.int64):
            if n > 1:
                return n
            return m  # error: the result is int64, expected int32
    """,
    "result where none is": """
        @T.prim_func
        def f(n: T.int32):
            if n > 1:
                return
            return n  # error: this function returns nothing elsewhere
    """,
    "no result where one is": """
        @T.prim_func
        def f(n: T.int32) -> T.int32:
            return  # error: expected a result of type int32
    """,
    "unknown option": """
        @T.prim_func(privat=True)  # error: T.prim_func has no parameter 'privat'
        def f():
            pass
    """,
    "unsupported option": """
        @T.prim_func(persistent=True)  # error: T.prim_func(persistent=True) is not supported
        def f():
            pass
    """,
    "no definition": """
        x = 1  # error: expected a function with @T.prim_func or @R.function, or a class with @I.ir_module
    """,
    "two functions of one name": """
        @I.ir_module
        class M:
            @T.prim_func
            def f(): pass
            @T.prim_func
            def f(): pass  # error: function 'f' is defined twice
    """,
    "two modules": """
        @I.ir_module
        class M:
            pass
        @I.ir_module
        class N:  # error: expected one module, got 'M' and 'N'
            pass
    """,
    "module with a base": """
        @I.ir_module
        class M(Base):  # error: a module has no bases
            pass
    """,
    "method without a decorator": """
        @I.ir_module
        class M:
            def f():  # error: function 'f' needs the decorator @T.prim_func or @R.function
                pass
    """,
    "call in a module": """
        @I.ir_module
        class M:
            print({"a": 1})  # error: only functions and constants are supported in a module
    """,
    "attributes of a module": """
        @I.ir_module
        class M:
            I.module_attrs(["a"])  # error: expected a dictionary, I.module_attrs({"param_num": 2})
    """,
    "relax rewriter": """
        @I.ir_module
        class M:
            @R.rewriter
            def f():  # error: function 'f' needs the decorator @T.prim_func or @R.function
                pass
    """,
    "unknown function of the module": """
        @I.ir_module
        class M:
            @T.prim_func
            def first():
                cls.secnd()  # error: cls has no function 'secnd', did you mean 'second'?
            @T.prim_func
            def second():
                pass
    """,
    "number of arguments of a function": """
        @I.ir_module
        class M:
            @T.prim_func
            def f(n: T.int32):
                cls.f()  # error: f takes 1 arguments, got 0
    """,
    "types of arguments of a function": """
        @I.ir_module
        class M:
            @T.prim_func
            def f(n: T.int32, A: T.Buffer((4,), "float32")):
                cls.f(A, A)  # error: (C2) argument 0 is memref<4xf32>, expected i32
    """,
    "result of a function that comes later": """
        @I.ir_module
        class M:
            @T.prim_func
            def f(n: T.int32):
                x: T.int32 = cls.g()  # error: the result type of g must be written (-> T.int32), or g come first
            @T.prim_func
            def g():
                T.ret(1)
    """,
    "element type of a pointer given twice": """
        @T.prim_func
        def f():
            q = T.handle("float32", dtype="int8")  # error: T.handle: 'dtype' is given twice
    """,
    "unknown parameter of a pointer": """
        @T.prim_func
        def f():
            q = T.handle("float32", storage="shared")  # error: T.handle has no parameter 'storage', did you mean 'storage_scope'?
    """,
    "constant defined by itself": """
        N = N + 1  # error: 'N' is defined by itself
        @T.prim_func
        def f(A: T.Buffer((N,), "float32")):
            pass
    """,
    "macro that calls itself": """
        @T.macro
        def m(A):
            m(A)  # error: macros and lambdas are nested more than 64 deep
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            m(A)
    """,
    "binding that uses what the block defines": """
        @T.prim_func
        def f():
            for i in range(4):
                with T.block():
                    x: T.int32 = 3
                    vi = T.axis.S(4, x)  # error: undefined name 'x' before the block, where bindings and the predicate are computed
    """,
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_that_mean_nothing(name: str) -> None:
    assert_refused(DEFINITIONS[name])
