"""Comparisons that stated ranges decide, read from LLVM's text."""

from rheostat.measurement.code.reached.stated_ranges import Stated

PASSED = """define i32 @half(i32 %n) {
  %less = sub nsw i32 %n, 1
  ret i32 %less
}
define i32 @main(i32 %argc, ptr %argv) {
  %given = call i32 @half(i32 7)
  ret i32 %given
}
"""


def test_a_parameter_is_what_every_call_gives():
    stated = Stated(PASSED, {1: (1, 2)})
    assert stated.decided("half", "gt", "%less", "5", signed=True) is True
    assert stated.decided("half", "lt", "%less", "5", signed=True) is False


def test_a_function_that_calls_itself_is_read_once(monkeypatch):
    """Four calls of itself, each with two parameters, were followed to every depth."""
    call = "  %v{} = call i32 @far(i32 %m, i32 %k)\n"
    less = "  %m = sub nsw i32 %i, 1\n  %k = add nsw i32 %j, %i\n"
    text = "define i32 @far(i32 %i, i32 %j) {\n" + less + "".join(map(call.format, range(4)))
    text += "  ret i32 %m\n}\ndefine i32 @main(i32 %argc, ptr %argv) {\n"
    text += "  %r = call i32 @far(i32 5, i32 6)\n  ret i32 %r\n}\n"
    asked = []
    given = Stated._given

    def counted(self, *arguments):
        asked.append(arguments)
        assert len(asked) < 100
        return given(self, *arguments)

    monkeypatch.setattr(Stated, "_given", counted)
    assert Stated(text, {1: (1, 2)}).decided("far", "lt", "%k", "3", signed=True) is None


def test_a_region_that_is_given_parts_of_a_loop_shares_nothing_that_is_known():
    """Behind two numbers its first pointer was taken for the third one."""
    start = "  call void (ptr, ...) @__kmpc_fork_call(ptr @1, i32 3, ptr @part, PARTS ptr %n)\n"
    text = "define void @part(ptr %a, ptr %b, i64 %low, i64 %high, ptr %n) {\n  ret void\n}\n"
    text += "define i32 @main(i32 %argc, ptr %argv) {\n" + start + "  ret i32 0\n}\n"
    assert Stated(text.replace("PARTS", "i64 %x, i64 %y,"), {1: (1, 2)}).regions == {}
    assert Stated(text.replace("PARTS ", ""), {1: (1, 2)}).regions["part"][0] == "main"
