"""Whatever the core says has words for people."""

import ast
import string

from pipeline.config.code import CORE
from pipeline.running.messages import MESSAGES


def said(file):
    """Each key that a file of the core gives to UnusableError or Watcher.note, and the names of its values."""
    kept = {  # values that are put together before
        target.id: {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
        for node in ast.walk(file)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(file):
        name = isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name in ("UnusableError", "note"):
            values = [{each.arg} if each.arg else kept[each.value.id] for each in call.keywords]
            yield call.args[0].value, set().union(*values)


def test_each_error_and_note_of_the_core_has_words_with_its_values():
    raised = [each for file in CORE.rglob("*.py") for each in said(ast.parse(file.read_text(encoding="utf-8")))]
    assert {what for what, _ in raised} == set(MESSAGES)
    for what, values in raised:
        assert {name for _, name, *_ in string.Formatter().parse(MESSAGES[what]) if name} <= values, what
