"""The options of the library as keywords of Python functions, taken from the tables of the library."""
from __future__ import annotations

import inspect
import numbers
from typing import Any, Callable, Iterable, Mapping

from . import _karma

Pairs = list[tuple[str, str]]
Table = dict[str, dict[str, Any]]


def keyword(name: str) -> str:
    """The keyword of an option: rank-form is rank_form."""
    return name.replace("-", "_")


def options(table: str = "fit") -> Table:
    """The options of one table ("fit", "search", "explain" or "compare") by their keywords: kind, values, default, help."""
    return {keyword(option["name"]): option for option in _karma.options(table)}


FIT, SEARCH, EXPLAIN, COMPARE = (options(table) for table in ("fit", "search", "explain", "compare"))


def number_text(value: Any) -> str:
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return _karma.number_text(float(value))


def class_text(label: Any) -> str:
    """The name of a class in the library."""
    if isinstance(label, (bool, str)) or type(label).__name__ == "bool_":
        return str(label)
    return number_text(label)


def _item_text(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value)


def _text(name: str, option: Mapping[str, Any], value: Any) -> list[str]:
    """The texts that set the option; a list of names has one each."""
    kind = option["kind"]
    if kind == "names":
        return [value] if isinstance(value, str) else [str(item) for item in value]
    if kind == "switch" and isinstance(value, (bool, numbers.Integral)):
        return ["on" if value else "off"]
    if isinstance(value, Mapping):
        for key in value:
            if set(class_text(key)) & set(",="):
                raise ValueError(f"{name}: the class {key!r} has a comma or an equals sign in its name; use sample_weight")
        return [",".join(f"{class_text(key)}={number_text(weight)}" for key, weight in value.items())]
    if isinstance(value, str):
        return [value]
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return [number_text(value)]
    if kind == "text" and isinstance(value, Iterable):
        return [",".join(_item_text(item) for item in value)]
    raise TypeError(f"{name}={value!r}: expected {option['values']}")


def pairs(table: Table, values: Mapping[str, Any]) -> Pairs:
    """(name, text) of all values that are not None, in the order of the table."""
    return [(option["name"], text) for key, option in table.items() if values.get(key) is not None
            for text in _text(key, option, values[key])]


def split(values: Mapping[str, Any], *tables: Table) -> list[Pairs]:
    """The values as pairs of each table. A keyword that no table has is an error, with the nearest one that exists."""
    known = {key for table in tables for key in table}
    for key in values:
        if key not in known:
            raise TypeError(slip(key, known))
    return [pairs(table, values) for table in tables]


def given(fit: Pairs) -> list[str]:
    """The options that the search keeps because they were given."""
    chosen = {option["name"] for option in FIT.values() if option["is_chosen"]}
    return list(dict.fromkeys(name for name, _ in fit if name in chosen))


def default_effort(search: Pairs, fixed: list[str]) -> Pairs:
    """As the tool does: options of the kernel or the solver turn the search off, unless an effort is given."""
    if any(name == "effort" and text != "auto" for name, text in search):
        return search
    return [pair for pair in search if pair[0] != "effort"] + [("effort", "off" if fixed else "normal")]


# The scikit-learn names of these options.
ELSEWHERE = {"random_state": "seed", "n_jobs": "threads", "tol": "tolerance", "max_iter": "passes", "cv": "folds",
             "scoring": "goal"}


def slip(key: str, known: Iterable[str]) -> str:
    """The end of a message about a keyword that does not exist."""
    near = ELSEWHERE.get(key) or _karma.nearest(key, sorted(known))
    return f"unexpected keyword '{key}'" + (f"; did you mean '{near}'?" if near else "")


def describe(key: str, option: Mapping[str, Any]) -> str:
    default = f" Default: {option['default']}." if option["default"] else ""
    return f"    {key} : {option['values']}\n        {option['help'].replace('--', '')}.{default}\n"


def with_options(*tables: Table, leave_out: Iterable[str] = (), **others: Any) -> Callable[[type], type]:
    """Gives a class an __init__ with a keyword for every option of the tables and for the others, which have the defaults
    that are given here. None is the library's default, or what the search chooses."""
    keys = {key: option for table in tables for key, option in table.items() if key not in set(leave_out)}
    defaults = {**dict.fromkeys(keys), **others}

    def decorate(cls: type) -> type:
        def __init__(self: Any, **values: Any) -> None:
            for key in values:
                if key not in defaults:
                    raise TypeError(f"{cls.__name__}: {slip(key, defaults)}")
            for key, default in defaults.items():
                setattr(self, key, values.get(key, default))

        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = inspect.Signature([own] + [  # type: ignore[attr-defined]
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Any)
            for key, default in defaults.items()])
        __init__.__qualname__ = cls.__qualname__ + ".__init__"
        cls.__init__ = __init__  # type: ignore[misc]
        cls.__doc__ = (cls.__doc__ or "") + "\n    Options of the library (None: its default)\n    " + "-" * 41 + "\n" + \
            "".join(describe(key, option) for key, option in keys.items())
        return cls

    return decorate
