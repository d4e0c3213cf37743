"""Matrices in registers of a warp: the instructions `mma.sync` and `ldmatrix` of PTX, in functions of the module."""

from __future__ import annotations

from ....analysis.threads.registers import WarpProduct
from .names import PREFIX

PREFIX_OF_PRODUCT = "mma_"
PREFIX_OF_MATRICES = "ldmatrix_"
"""The prefixes of the names of these functions, besides that of all helper functions."""
_BITS = {
    "float16": 16, "bfloat16": 16, "tfloat32": 19, "float32": 32, "float64": 64, "int32": 32, "int8": 8, "uint8": 8,
    "int4": 4, "uint4": 4,
}  # fmt: skip
_TYPES = {
    "float16": "__half", "bfloat16": "__nv_bfloat16", "tfloat32": "float", "float32": "float", "float64": "double",
    "int8": "signed char", "uint8": "signed char", "int4": "unsigned char", "uint4": "unsigned char", "int32": "int",
}  # fmt: skip


def product_text(name: str) -> str:
    """The definition of the function of a product: of its registers in place, as the instruction of PTX, or as the
    function of the emulation."""
    product = WarpProduct.of_name(name)
    left, right, _ = product.counts
    parameters = ", ".join(
        f"{constant}{_TYPES[dtype]}* {letter}"
        for constant, dtype, letter in (
            ("", product.sums, "d"),
            ("const ", product.left, "a"),
            ("const ", product.right, "b"),
        )
    )
    return f"""#ifdef STEPWELL_EMULATION
#include "registers.h"
#endif
static __device__ __forceinline__ void {PREFIX}{PREFIX_OF_PRODUCT}{name}({parameters}) {{
#ifdef STEPWELL_EMULATION
  stepwell_mma<{_emulation_arguments(product)}>(d, a, b);
#else
{_packed("a", product.left, left)}
{_packed("b", product.right, right)}
{_instruction(product)}
#endif
}}"""


def matrices_text(name: str) -> str:
    """The definition of the function that loads matrices of 8 rows of 16 bytes from shared memory into registers. name:
    their number, and whether they are transposed, `x4_trans`."""
    number = int(name[1])
    words = ".".join(["ldmatrix.sync.aligned.m8n8", *name.split("_"), "shared.b16"])
    outputs = ", ".join(f"%{n}" for n in range(number))
    registers = ", ".join(f'"=r"(registers[{n}])' for n in range(number))
    return f"""#ifdef STEPWELL_EMULATION
#include "registers.h"
#endif
static __device__ __forceinline__ void {PREFIX}{PREFIX_OF_MATRICES}{name}(void* d, const void* row) {{
#ifdef STEPWELL_EMULATION
  stepwell_ldmatrix<{number}, {str("trans" in name).lower()}>(d, row);
#else
  unsigned* registers = reinterpret_cast<unsigned*>(d);
  asm volatile("{words} {{{outputs}}}, [%{number}];"
               : {registers}
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#endif
}}"""


def _emulation_arguments(product: WarpProduct) -> str:
    m, _, k = product.shape
    words = [str(each == "row").lower() for each in product.layouts]
    if product.is_by_quads:
        places = f"stepwell_quad_places<{', '.join([*words, str(product.sums != 'float16').lower()])}>"
    else:
        places = f"stepwell_places<{m}, {_per_register(product.left)}>"
    left, right, sums = product.counts
    numbers: list[object] = [places, k, sums, left, right]
    for dtype in (product.left, product.right):
        numbers += [_BITS[dtype], str(not dtype.startswith("uint")).lower()]
    return ", ".join(map(str, numbers))


def _per_register(dtype: str) -> int:
    """The number of elements of a factor in a register of 32 bits, 1 for wider ones."""
    return {16: 2, 8: 4, 4: 8}.get(_BITS[dtype], 1)


def _packed(name: str, dtype: str, count: int) -> str:
    """The registers of a factor: variables `a0`, `a1`, ... of 32 bits, or the elements of 64."""
    if dtype == "float64":
        return ""
    register = f"const unsigned* {name}_register = reinterpret_cast<const unsigned*>({name});"
    if _BITS[dtype] != 4:
        return f"  {register}"
    return f"""  unsigned {name}_register[{count // 8}] = {{}};
#pragma unroll
  for (int i = 0; i < {count}; ++i) {{
    {name}_register[i / 8] |= ({name}[i] & 15u) << (i % 8 * 4);
  }}"""


def _instruction(product: WarpProduct) -> str:
    """The statement of the instruction."""
    left, right, sums = product.counts
    parts: list[tuple[str, list[str]]] = []
    if product.sums == "float16":
        parts.append(("+r", [f"reinterpret_cast<unsigned*>(d)[{n}]" for n in range(sums // 2)]))
    else:
        letter = {"float32": "f", "float64": "d", "int32": "r"}[product.sums]
        parts.append((f"+{letter}", [f"d[{n}]" for n in range(sums)]))
    for name, dtype, count in (("a", product.left, left), ("b", product.right, right)):
        if dtype == "float64":
            parts.append(("d", [f"{name}[{n}]" for n in range(count)]))
        else:
            parts.append(("r", [f"{name}_register[{n}]" for n in range(count // _per_register(dtype))]))
    texts, first = list[str](), 0
    for _, registers in parts:
        texts.append("{" + ", ".join(f"%{first + n}" for n in range(len(registers))) + "}")
        first += len(registers)
    words = product.name.split("_")
    layouts, (sums_word, *factors) = words[1:3], words[3:]
    name = ".".join(["mma.sync.aligned", words[0], *layouts, sums_word, *factors, sums_word])
    outputs, inputs = (
        ", ".join(f'"{letter}"({register})' for letter, registers in some for register in registers)
        for some in (parts[:1], parts[1:])
    )
    operands = ", ".join([*texts, texts[0]])
    return f"""  asm volatile("{name} {operands};"
               : {outputs}
               : {inputs});"""
