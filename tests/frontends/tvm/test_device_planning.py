import pytest

import stepwell.frontends.tvm as tvm
from stepwell import StepwellError
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.registry import get_global_func

CPU = tvm.target.VirtualDevice(tvm.device("cpu"), tvm.target.Target("llvm").with_host("llvm"))
GPU = tvm.target.VirtualDevice(tvm.device("cuda"), tvm.target.Target("cuda").with_host("llvm"))
CONFIG = tvm.target.make_compilation_config(
    tvm.transform.PassContext(config={"relay.fallback_device_type": 2}), [CPU.target, GPU.target]
)
ROW = "Tensor[(4,), float32]"


def parse(text: str) -> tvm.IRModule:
    text = text.replace("ROW", ROW).replace("CPU", "meta[VirtualDevice][0]").replace("GPU", "meta[VirtualDevice][1]")
    return relay.transform.InferType()(tvm.relay.parse(text, "from_string", None, {"VirtualDevice": [CPU, GPU]}))


def plan(mod: tvm.IRModule) -> tvm.IRModule:
    return relay.transform.InferType()(relay.transform.PlanDevices(CONFIG)(mod))


def check(before: str, after: str) -> None:
    """Checks the plan of a program, and that the plan is that of itself."""
    expected = parse(after)
    tvm.ir.assert_structural_equal(plan(parse(before)), expected, True)
    tvm.ir.assert_structural_equal(plan(expected), expected, True)


def test_a_value_on_another_device_is_copied_to_its_user() -> None:
    check(
        """def @main(%a: ROW, %b: ROW, %c: ROW) {
            %0 = add(%a, %b);
            %1 = on_device(%0, virtual_device=CPU);
            subtract(%1, %c)
        }""",
        """def @main(%a {virtual_device=CPU}: ROW, %b {virtual_device=CPU}: ROW, %c {virtual_device=GPU}: ROW,
                  virtual_device=GPU) {
            %0 = add(%a, %b);
            %1 = on_device(%0, virtual_device=CPU, constrain_result=True);
            %2 = device_copy(%1, src_virtual_device=CPU, dst_virtual_device=GPU);
            subtract(%2, %c)
        }""",
    )


def test_an_operand_on_two_devices_is_copied() -> None:
    check(
        """def @main(%a: ROW, %b: ROW) {
            %0 = on_device(negative(%a), virtual_device=CPU);
            %1 = on_device(add(%a, %b), virtual_device=GPU);
            subtract(%0, %1)
        }""",
        """def @main(%a {virtual_device=CPU}: ROW, %b {virtual_device=GPU}: ROW) {
            %0 = on_device(negative(%a), virtual_device=CPU, constrain_result=True);
            %1 = device_copy(%a, src_virtual_device=CPU, dst_virtual_device=GPU);
            %2 = device_copy(%0, src_virtual_device=CPU, dst_virtual_device=GPU);
            subtract(%2, add(%1, %b))
        }""",
    )


def test_devices_flow_through_functions_branches_tuples_and_references() -> None:
    check(
        """def @main(%p: bool, %a: ROW) {
            let %f = fn (%x) { on_device(negative(%x), virtual_device=CPU) };
            let %t = (%f, %a);
            let %r = ref(if (%p) { %t.0(%a) } else { %t.1 });
            ref_read(%r)
        }""",
        """def @main(%p {virtual_device=CPU}: bool, %a {virtual_device=CPU}: ROW, virtual_device=CPU) {
            let %f = fn (%x {virtual_device=CPU}, virtual_device=CPU) { negative(%x) };
            let %t = on_device((%f, %a), virtual_device=CPU, constrain_result=True);
            let %r = on_device(ref(if (%p) { %t.0(%a) } else { %t.1 }), virtual_device=CPU, constrain_result=True);
            ref_read(%r)
        }""",
    )


def test_devices_flow_through_data_types() -> None:
    check(
        """type Box { Full(Tensor[(4,), float32]), Empty, }
        def @main(%a: ROW) {
            let %b = Full(on_device(%a, virtual_device=CPU, constrain_result=True));
            match? (%b) { Full(%x) => negative(%x) }
        }""",
        """type Box { Full(Tensor[(4,), float32]), Empty, }
        def @main(%a {virtual_device=CPU}: ROW, virtual_device=CPU) {
            let %b = on_device(Full(%a), virtual_device=CPU, constrain_result=True);
            match? (%b) { Full(%x) => negative(%x) }
        }""",
    )


def test_the_devices_of_a_plan_are_those_of_its_marks() -> None:
    mod = plan(parse("def @main(%a: ROW) { negative(on_device(exp(%a), virtual_device=CPU)) }"))
    main = mod["main"]
    recover = get_global_func("relay.transform.RecoverVirtualDeviceMap")
    assert recover is relay.transform.RecoverVirtualDeviceMap
    devices = relay.transform.RecoverVirtualDeviceMap(mod, main)
    assert [devices[each].device_type for each in (main, main.body, main.params[0])] == [2, 2, 1]


def test_a_function_on_two_devices_is_rejected() -> None:
    text = """def @f(%x {virtual_device=CPU}: ROW, virtual_device=CPU) -> ROW { %x }
    def @main(%a {virtual_device=GPU}: ROW, virtual_device=GPU) -> ROW { @f(%a) }"""
    with pytest.raises(StepwellError, match="on several devices, expected one"):
        plan(parse(text))


def test_a_config_has_one_target_of_each_kind() -> None:
    context = tvm.transform.PassContext()
    assert tvm.target.make_compilation_config(context, "cuda").default_primitive_virtual_device.device_type == 2
    with pytest.raises(StepwellError, match="one of them twice"):
        tvm.target.make_compilation_config(context, ["llvm", "llvm"])
    fallback = tvm.transform.PassContext(config={"relay.fallback_device_type": 1})
    with pytest.raises(StepwellError, match=r"devices of type 1: no target, there is 2 \(cuda\)"):
        tvm.target.make_compilation_config(fallback, ["cuda"])
    with pytest.raises(StepwellError, match="no target"):
        tvm.target.make_compilation_config(context, [])


def test_devices_join_if_their_parts_agree() -> None:
    scope, other = (tvm.target.VirtualDevice(memory_scope=each) for each in ("a", "b"))
    assert scope.join(other) is None
    assert CPU.join(GPU) is None
    assert CPU.join(scope) == tvm.target.VirtualDevice(CPU.device, CPU.target, "a")
    assert str(tvm.target.VirtualDevice()) == "VirtualDevice(?)"


def test_text_names_entries_of_the_table_of_metadata() -> None:
    table = {"relay.Constant": [relay.const([1.0, 2.0])], "kind": ["x"]}
    mod = tvm.relay.parse("def @main() { meta[relay.Constant][0] }", "", None, table)
    assert mod["main"].body.data.numpy().tolist() == [1.0, 2.0]
    for text in ("def @main() { meta[kind][0] }", "def @main() { meta[kind][1] }", "def @main(%x {color=1}) { %x }"):
        with pytest.raises(StepwellError, match=r"metadata|annotation color, expected virtual_device"):
            tvm.relay.parse(text, "", None, table)


def test_a_parsed_module_keeps_the_functions_of_the_module_before() -> None:
    first = tvm.relay.parse("def @f(%x: float32) -> float32 { negative(%x) }")
    mod = tvm.relay.parse("def @main(%x: float32) -> float32 { @f(%x) }", "", first)
    assert sorted(mod) == ["f", "main"]
