"""The emitter on whole modules: its output, and unsupported modules."""

import pytest

from stepwell.backends.llvm.emitter import emit_module
from stepwell.backends.runtime import BufferParameter, FunctionSignature, HandleParameter, ScalarParameter
from stepwell.core.errors import UnsupportedError


def test_signatures_tell_names_types_and_what_is_written(parse_upstream) -> None:
    emitted = emit_module(
        parse_upstream("""
    func.func private @copy(%from: memref<4xf32>, %to: memref<4xf32>) {
      "memref.copy"(%from, %to) : (memref<4xf32>, memref<4xf32>) -> ()
      func.return
    }
    func.func @main(%a: memref<4xf32> {stepwell.name = "A"}, %b: memref<4xf32> {stepwell.name = "B"},
                    %c: memref<?x3xi8, strided<[?, 2], offset: 5>> {stepwell.name = "C", stepwell.dtype = "uint8"},
                    %n: i32 {stepwell.name = "n"}, %h: !llvm.ptr, %t: memref<f64>) -> f32
        attributes {stepwell.noalias} {
      %c0 = arith.constant 0 : index
      %s = memref.subview %b[0] [4] [1] : memref<4xf32> to memref<4xf32>
      func.call @copy(%a, %s) : (memref<4xf32>, memref<4xf32>) -> ()
      %x = memref.load %a[%c0] : memref<4xf32>
      func.return %x : f32
    }""")
    )
    assert emitted.functions == (
        FunctionSignature(
            "main",
            (
                BufferParameter("A", "float32", (4,), written=False),
                BufferParameter("B", "float32", (4,), written=True),
                BufferParameter("C", "uint8", (None, 3), (None, 2), 5, written=False),
                ScalarParameter("n", "int32"),
                HandleParameter("arg4"),
                BufferParameter("arg5", "float64", (), written=False),
            ),
            "float32",
            noalias=True,
            short=True,
        ),
    )


POINTER = """\
%p = "memref.extract_aligned_pointer_as_index"(%a) : (memref<4xf32>) -> index
%n = arith.index_cast %p : index to i64
%q = llvm.inttoptr %n : i64 to !llvm.ptr
%b = builtin.unrealized_conversion_cast %q : !llvm.ptr to memref<?xf32>
"""
"""A view %b of the memory of %a by its address."""
ELEMENT = """\
%p = "memref.extract_aligned_pointer_as_index"(%a) : (memref<4xf32>) -> index
%o = arith.addi %p, %i : index
%t = arith.index_cast %o : index to i64
%r = llvm.inttoptr %t {attributes} : i64 to !llvm.ptr
func.call @f(%r) : (!llvm.ptr) -> ()
"""
"""A call with the address of an element of %a."""


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("memref.store %x, %a[%i] : memref<4xf32>", True),
        ("%v = vector.load %a[%i] : memref<4xf32>, vector<4xf32>", False),
        ("%v = vector.broadcast %x : f32 to vector<4xf32>\nvector.store %v, %a[%i] : memref<4xf32>, vector<4xf32>",
         True),
        (POINTER, False),
        (POINTER + "%y = memref.load %b[%i] : memref<?xf32>", False),
        (POINTER + "memref.store %x, %b[%i] : memref<?xf32>", True),
        (POINTER + "%r = arith.addi %p, %i : index", False),
        (POINTER + "%r = arith.muli %p, %i : index", True),
        (ELEMENT.format(attributes=""), True),
        (ELEMENT.format(attributes="{stepwell.read_only}"), False),
        ("func.call @main(%a, %i, %x, %c) : (memref<4xf32>, index, f32, i1) -> ()", True),
        ("%s = arith.select %c, %a, %a : memref<4xf32>\nmemref.store %x, %s[%i] : memref<4xf32>", True),
        ("%s = arith.select %c, %a, %a : memref<4xf32>\n%y = memref.load %s[%i] : memref<4xf32>", False),
        ("%d = memref.dim %a, %i : memref<4xf32>", False),
    ],
)  # fmt: skip
def test_buffers_only_read_are_known(parse_upstream, body: str, written: bool) -> None:
    text = f"func.func @main(%a: memref<4xf32>, %i: index, %x: f32, %c: i1) {{ {body}\n func.return }}"
    text += "\nfunc.func private @f(!llvm.ptr)"
    ((parameter, *_),) = [f.parameters for f in emit_module(parse_upstream(text)).functions]
    assert isinstance(parameter, BufferParameter)
    assert parameter.written is written


def test_static_layouts_leave_constants_in_addresses(parse_upstream) -> None:
    text = emit_module(
        parse_upstream("""func.func @main(%a: memref<8x16x4xf32>, %i: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %x = memref.load %a[%c3, %i, %c0] : memref<8x16x4xf32>
      func.return %x : f32
    }""")
    ).text
    function = text[text.index("@fn.main") : text.index("@entry.main")]
    assert function.count("mul nsw") == 1
    assert "add nsw i64 192," in function
    assert "noalias" not in function.split("{")[0]


def test_emitting_twice_gives_the_same_text(parse_upstream) -> None:
    text = """func.func @main(%a: memref<?xf32>, %n: index) {
      %b = memref.alloc(%n) : memref<?xf32>
      "memref.copy"(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
      memref.dealloc %b : memref<?xf32>
      func.return
    }"""
    assert emit_module(parse_upstream(text)) == emit_module(parse_upstream(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(%x: index) { scf.index_switch %x default { scf.yield }\n func.return }", "_switch.*no LLVM"),
        ("func.func @f(%x: tensor<4xf32>) { func.return }", "has no LLVM equivalent"),
        ("func.func @f(%x: vector<4xf32>) { func.return }", "a vector cannot be passed"),
        ("func.func @f(%x: f128) { func.return }", "has no LLVM equivalent"),
        ('func.func @f(%x: i32 {stepwell.dtype = "uint8"}) { func.return }', "uint8, but the type is i32"),
        ("func.func @f() { cf.br ^bb1 ^bb1: func.return }", "must be structured"),
        ("func.func @f(%x: i32) -> (i32, i32) { func.return %x, %x : i32, i32 }", "most one result"),
        ("arith.constant 1 : i32", "at the top of a module"),
        ('"memref.global"() <{sym_name = "g", sym_visibility = "private", type = memref<?xf32>, initial_value}>'
         " : () -> ()", "static shape"),
        ("func.func @f() { func.call @g() : () -> ()\n func.return }", "no function called 'g'"),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled_is_refused(parse_upstream, text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        emit_module(parse_upstream(text))


def test_refusals_say_where(parse_upstream) -> None:
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    module = parse_upstream('func.func @f(%a: i32) { "vector.print"(%a) : (i32) -> ()\n func.return }')
    for op in module.walk():
        op.location = FileLineColLoc(StringAttr("k.py"), IntAttr(3), IntAttr(5))
    with pytest.raises(UnsupportedError, match=r"vector\.print at k\.py:3:5: no LLVM lowering"):
        emit_module(module)


def test_addresses_that_a_mask_may_leave_out_need_not_exist(parse_upstream) -> None:
    text = emit_module(
        parse_upstream("""
    func.func @main(%a: memref<8xf32>, %i: index, %j: index, %m: i1) {
      %mask = vector.broadcast %m : i1 to vector<4xi1>
      %x = vector.load %a[%i] : memref<8xf32>, vector<4xf32>
      %y = vector.maskedload %a[%i], %mask, %x : memref<8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
      vector.maskedstore %a[%j], %mask, %y : memref<8xf32>, vector<4xi1>, vector<4xf32>
      func.return
    }""")
    ).text
    assert text.count("getelementptr inbounds float") == 1
    assert text.count("getelementptr float") == 2


def test_a_block_computes_equal_parts_of_addresses_once(parse_upstream) -> None:
    text = emit_module(
        parse_upstream("""
    func.func @main(%a: memref<4x8xf32>, %i: index, %j: index, %c: i1) {
      %x = memref.load %a[%i, %j] : memref<4x8xf32>
      memref.store %x, %a[%j, %i] : memref<4x8xf32>
      memref.store %x, %a[%i, %j] : memref<4x8xf32>
      scf.if %c {
        memref.store %x, %a[%i, %j] : memref<4x8xf32>
      }
      memref.store %x, %a[%j, %i] : memref<4x8xf32>
      func.return
    }""")
    ).text
    first, *branches = text.partition("define ")[2].split("br i1 %c")
    assert [part.count("mul nsw i64 %i") for part in (first, *branches)] == [1, 1]
    assert text.count("mul nsw i64 %i") == 2, "the branch, whose block others may not pass through, has its own"
    assert text.count("mul nsw i64 %j") == 2, "a block after the branch has its own"


def test_memory_of_vectors_holds_all_lanes(parse_upstream) -> None:
    emitted = emit_module(
        parse_upstream("""
    "memref.global"() <{sym_name = "g", sym_visibility = "private", type = memref<6xvector<4xf32>>,
       initial_value}> : () -> ()
    func.func @main() {
      %a = memref.get_global @g : memref<6xvector<4xf32>>
      %b = memref.alloc() : memref<8xvector<4xf32>>
      %c = memref.alloc() : memref<6xvector<4xf32>>
      "memref.copy"(%a, %c) : (memref<6xvector<4xf32>>, memref<6xvector<4xf32>>) -> ()
      memref.dealloc %c : memref<6xvector<4xf32>>
      memref.dealloc %b : memref<8xvector<4xf32>>
      func.return
    }""")
    )
    for text in ("[96 x i8] zeroinitializer", "aligned_alloc(i64 64, i64 128)", "i64 96, i1 false"):
        assert text in emitted.text
