"""`T.prim_func` and `I.ir_module` on Python functions and classes: parse their source; their bodies never run.

    from stepwell.frontends.tvmscript.decorators import I, T

    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + 1.0

The program may use the values of names visible at its definition.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import re
import sys
import textwrap
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, NoReturn, overload

from ...core.diagnostics import SourceFile, Span, did_you_mean
from ...core.errors import OptionError, ParseError
from ...core.plugins import extension_names
from ...module import Module
from . import syntax
from .context import ElaborationContext
from .dispatch import apply
from .elaborate import captured_scope, elaborate
from .host import Proxy, current_host_call
from .macros import define_macro
from .pytime import to_script_value
from .reader import read_module
from .values import Deferred, Macro, Value, Word
from .vocabulary import CONSTANTS, FORMS, WORDS, is_dtype, relax_words

_FRONTENDS = __name__.removesuffix("tvmscript.decorators")

Definition = types.FunctionType | type


class _Word:
    """A word of a vocabulary in Python code.

    In a Python function that a program calls at parse time, a call of the word emits into the program. A call on an
    object with a method `__tvmscript_call__` is the result of the method. Elsewhere, in the annotations of a signature
    or as a constant, the word and its calls are recorded, and evaluated where a program uses them.
    """

    def __init__(self, word: Word, deferred: Deferred | None = None, is_size: bool = False):
        """is_size: whether the word has been called as a variable of integers, `T.int64()`."""
        self._word = word
        self._deferred = deferred
        self.is_size = is_size

    @property
    def __tvmscript__(self) -> Word | Deferred:
        return self._deferred or self._word

    def __call__(self, *args: object, **keywords: object) -> Any:
        if self._deferred is not None:
            raise TypeError(f"the value of {self._word} cannot be called")
        call = next(filter(None, map(_call_method, (*args, *keywords.values()))), None)
        if call is not None:
            return call(self._word, args, keywords)

        def run(context: ElaborationContext, span: Span) -> Value:
            values = [Proxy.unwrap(arg, context, span) for arg in args]
            named = {name: Proxy.unwrap(value, context, span) for name, value in keywords.items()}
            return apply(context, self._word, span, values, named)

        reading = current_host_call()
        if reading is not None:
            return Proxy.wrap(run(*reading), *reading)
        is_size = self._word.path in ("int32", "int64") and not args and not keywords
        return _Word(self._word, Deferred(run), is_size)

    def __getitem__(self, items: object) -> _Word:
        return self

    @property
    def __name__(self) -> str:
        """The name of the word without its vocabulary."""
        return self._word.path.rpartition(".")[2]

    def __getattr__(self, name: str) -> _Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Word(Word(self._word.namespace, f"{self._word.path}.{name}"))

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self._word} has a meaning in TVMScript only")

    def __repr__(self) -> str:
        return str(self._word)


def _call_method(value: Any) -> Callable[..., Any] | None:
    """The method of an object, or of the first item of a sequence, that calls a word."""
    first = value[0] if isinstance(value, list | tuple) and value else value
    return getattr(first, "__tvmscript_call__", None)


class Vocabulary(types.ModuleType):
    """The namespace of a vocabulary, with its decorators as attributes; every other word evaluates to a `_Word`.

    A vocabulary is a module, for programs with `import tvm.script.relax`.
    """

    def __init__(self, namespace: str, **decorators: Callable[..., Any]):
        super().__init__(f"{__name__}.{namespace}")
        self.__tvmscript__ = Word(namespace)
        self._decorators = decorators
        for name, decorator in decorators.items():
            vars(decorator)["__tvmscript__"] = Word(namespace, name)  # `from tvm.script.tir import prim_func`

    def __getattr__(self, name: str) -> Any:
        decorators: Mapping[str, Callable[..., Any]] = self.__dict__["_decorators"]
        if name in decorators:
            return decorators[name]
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = self.__dict__["__tvmscript__"].namespace
        if not _is_word(namespace, name):
            raise AttributeError(f"{namespace} has no {name!r}{did_you_mean(name, (*self._words(), *decorators))}")
        return _Word(Word(namespace, name))

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__["_decorators"], *(name for name in self._words() if name.isidentifier())})

    def _words(self) -> list[str]:
        return list(relax_words()) if self.__dict__["__tvmscript__"].namespace == "R" else [*WORDS, *FORMS]


def _is_word(namespace: str, name: str) -> bool:
    if namespace == "R":
        return name in {path.partition(".")[0] for path in relax_words()}
    known = {path.partition(".")[0] for path in (*WORDS, *FORMS, *CONSTANTS)}
    return name in known or name == "let" or is_dtype(name) or name in extension_names()


@overload
def prim_func(function: types.FunctionType, /) -> Module: ...
@overload
def prim_func(
    *, private: bool = False, check_well_formed: bool = True, s_tir: bool = False
) -> Callable[[types.FunctionType], Module]: ...
def prim_func(
    function: types.FunctionType | None = None,
    /,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = False,
) -> Any:
    """The module of one function, parsed from its source; inside a class with a decorator, the function itself, for
    `ir_module` to parse.

    The options are parsed from the source too. Raises `ParseError` at the user's line.
    """
    if function is None:
        return lambda definition: _read_function(definition)
    return _read_function(function)


@overload
def function(definition: types.FunctionType, /) -> Module: ...
@overload
def function(
    *, private: bool = False, pure: bool = True, check_well_formed: bool = True
) -> Callable[[types.FunctionType], Module]: ...
def function(
    definition: types.FunctionType | None = None,
    /,
    *,
    private: bool = False,
    pure: bool = True,
    check_well_formed: bool = True,
) -> Any:
    """The module of one function of `relax`, as `prim_func` of one of `tir`."""
    return _read_function if definition is None else _read_function(definition)


def _read_function(function: types.FunctionType) -> Any:
    outer = function.__qualname__.rpartition(".")[0]
    if outer and not outer.endswith("<locals>") and _is_class_decorated():
        return function  # a method: `ir_module` parses the class as a whole
    return _read(function, _captured_names(function))


def _is_class_decorated() -> bool:
    """Whether the class whose body is being executed has a decorator, or a source that cannot be read."""
    code = _caller_frame().f_code
    line = linecache.getline(code.co_filename, code.co_firstlineno)  # the code begins at the first decorator
    return not line or line.lstrip().startswith("@")


@overload
def ir_module(cls: type, /) -> Module: ...
@overload
def ir_module(*, check_well_formed: bool = True) -> Callable[[type], Module]: ...
def ir_module(cls: type | None = None, /, *, check_well_formed: bool = True) -> Any:
    """The module of the functions of a class, parsed from its source. Raises `ParseError` at the user's line."""
    if cls is None:
        return lambda definition: _read_class(definition)
    return _read_class(cls)


def _read_class(cls: type) -> Module:
    return read_class(cls, None)


def read_class(cls: type, hidden: Collection[str] | None) -> Module:
    """The module of the functions of a class, parsed from its source. hidden: the methods that are no functions of the
    module, of a class that may have bases; None for a class without bases. Raises `ParseError` at the user's line."""
    captured: dict[str, Any] = {}
    for member in vars(cls).values():
        if isinstance(member, types.FunctionType):
            captured.update(_captured_names(member))
    source = _source_of(cls)
    tree = read_module(source if hidden is None else _without_methods(source, hidden))
    return elaborate(tree, {**_frame_names(), **captured})


def _without_methods(source: SourceFile, hidden: Collection[str]) -> SourceFile:
    """The source of a class without bases, with the lines of some methods left empty."""
    lines = source.text.splitlines(keepends=True)
    (cls,) = ast.parse(textwrap.dedent(source.text)).body
    assert isinstance(cls, ast.ClassDef)
    for method in cls.body:
        if isinstance(method, ast.FunctionDef) and method.name in hidden:
            first = min(node.lineno for node in (method, *method.decorator_list))
            indent = " " * (len(lines[first - 1]) - len(lines[first - 1].lstrip()))
            for n in range(first - 1, method.end_lineno or first):
                lines[n] = "\n"
            lines[first - 1] = f"{indent}pass\n"
    text = re.sub(rf"(class\s+{cls.name}\s*)(\([^)]*\))", _without_bases, "".join(lines), count=1)
    return SourceFile(source.name, text, source.first_line)


def _without_bases(header: re.Match[str]) -> str:
    """The header of a class without its bases; the lines of the file keep their numbers."""
    return header[1] + "".join(letter if letter == "\n" else " " for letter in header[2])


def macro(function: types.FunctionType | None = None, /, *, hygienic: bool = True) -> Any:
    """A macro: a function with a body expanded at each call.

    hygienic: names in the body are resolved at the definition, with their current values; else at each call.
    """
    if not isinstance(hygienic, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"expected True or False for hygienic, got {hygienic!r}")
    if function is None:
        return lambda definition: _read_macro(definition, hygienic)
    if not isinstance(function, types.FunctionType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"macro: {function!r}, expected a function, or the option hygienic by its name")
    return _read_macro(function, hygienic)


def inline(function: types.FunctionType | None = None, /) -> Any:
    """A macro with names resolved at the definition: the `T.macro` of v0.24."""
    return (lambda definition: _read_macro(definition, True)) if function is None else _read_macro(function, True)


def _read_macro(function: types.FunctionType, hygienic: bool) -> Macro:
    tree = read_module(_source_of(function))
    match tree.body:
        case (syntax.FunctionDef() as node,):
            scope = captured_scope({**_frame_names(), **_captured_names(function)})
        case _:
            raise ParseError(f"cannot find the definition of {function.__qualname__} in its source")

    def later() -> dict[str, Value]:
        return {name: to_script_value(value) for name, value in _captured_names(function).items()}

    return replace(define_macro(node, scope, hygienic), later=later)


def _read(definition: Definition, captured: dict[str, Any]) -> Module:
    tree = read_module(_source_of(definition))
    return elaborate(tree, {**_frame_names(), **captured})


def _source_of(definition: Definition) -> SourceFile:
    try:
        place = _place_of_class(definition) if isinstance(definition, type) else None
        if place is None:
            place = (inspect.getsourcefile(definition) or "<unknown>", *inspect.getsourcelines(definition))
    except (OSError, TypeError) as error:
        name = definition.__qualname__
        raise ParseError(f"cannot read the source of {name}: {error}; parse_tvmscript reads text") from None
    file, lines, first = place
    return SourceFile(file, "".join(lines), max(first, 1))


def _place_of_class(cls: type) -> tuple[str, list[str], int] | None:
    """The file of a class, its lines and the number of the first one, by the places of its methods and its decorator:
    inspect finds no class of a notebook, and of several classes of a name in a file perhaps another one."""
    frame = _caller_frame()
    places = [
        (each.__code__.co_filename, each.__code__.co_firstlineno)
        for each in vars(cls).values()
        if isinstance(each, types.FunctionType)
    ]
    for file, line in (*places, (frame.f_code.co_filename, frame.f_lineno)):
        whole = linecache.getlines(file)
        for node in ast.walk(_parsed("".join(whole))):
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                start = min(each.lineno for each in (node, *node.decorator_list))
                if start <= line <= (node.end_lineno or start):
                    return file, whole[start - 1 : node.end_lineno], start
    return None


def _parsed(text: str) -> ast.Module:
    """The statements of a file; none of one that is not Python."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _captured_names(function: types.FunctionType) -> dict[str, Any]:
    """The globals and the free variables of a function."""
    names: dict[str, Any] = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names


def _caller_frame() -> types.FrameType:
    """The frame that uses a decorator."""
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_FRONTENDS):
        frame = frame.f_back
    return frame


def _frame_names() -> dict[str, Any]:
    """The names visible at the decorator: names used only in annotations are in no closure."""
    frame = _caller_frame()
    names = {**frame.f_globals, **frame.f_locals}
    return {name: value for name, value in names.items() if getattr(builtins, name, names) is not value}


T = Vocabulary("T", prim_func=prim_func, macro=macro, inline=inline)
"""The vocabulary of TIR: `T.prim_func` and all words that a function uses."""

R = Vocabulary("R", function=function)
"""The vocabulary of relax: `R.function` and all words that a function uses."""

I = Vocabulary("I", ir_module=ir_module)  # noqa: E741
"""The vocabulary of modules: `I.ir_module`."""
