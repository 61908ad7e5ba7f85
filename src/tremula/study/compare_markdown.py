"""A comparison as Markdown for the comment of a pull request: the limits first, then figures, then what moved.

Names come from the user's program. They stand in code spans, with the characters removed that could end one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tremula.formatting import between, duration, memory_size, plain
from tremula.step_parts import part_title
from tremula.study.compare import FIGURES, Comparison, Difference
from tremula.study.limits import Check

#: rows of each table of what moved
_MOST = 10


def markdown(found: Comparison, checks: Sequence[Check] = ()) -> str:
    """The whole text."""
    lines = [f"### {_title(checks)}", "", f"A: {_code(found.a.name)}  ", f"B: {_code(found.b.name)}", ""]
    if checks:
        lines += ["| limit | found | A | B | |", "|---|---:|---:|---:|---|"]
        lines += [
            f"| {_code(each.limit.text)} | {each.shown} | {each.found.a:,.6g} | {each.found.b:,.6g} | "
            f"{'**exceeded**' if each.exceeded else 'kept'} |"
            for each in checks
        ]
        lines.append("")
    if found.settings:
        lines += ["| setting | A | B |", "|---|---|---|"]
        lines += [
            f"| {_code(k)} | {_code(str(x))} | {_code(str(y))} |" for k, (x, y) in found.settings.items()
        ]
        lines.append("")
    lines += ["| modelled figure | A | likely | B | likely | B / A |", "|---|---:|---|---:|---|---:|"]
    for each in found.figures:
        title, say = next((title, say) for name, title, say in FIGURES if name == each.name)
        sides = " | ".join(
            f"{say(figure.value)} | {between(figure.low, figure.high, say)}"
            for figure in (found.a[each.name], found.b[each.name])
        )
        lines.append(f"| {title} | {sides} | {'' if each.ratio is None else f'{each.ratio:.3f}'} |")
    lines += [f"| fits | {found.a.fit_words} | | {found.b.fit_words} | | |", ""]
    lines += _moved("time per sample", ((part_title(p.name, short=True), p) for p in found.parts), duration)
    lines += _moved("memory of the fullest IPU", ((each.name, each) for each in found.memory), memory_size)
    lines += _moved(
        "cycles per sample by module",
        ((each.name or "(outside modules)", each) for each in found.modules if abs(each.change) > 1.0),
        lambda value: f"{value:,.0f}",
    )
    lines += ["All figures are modelled, not measured.", ""]
    return "\n".join(lines)


def _title(checks: Sequence[Check]) -> str:
    exceeded = sum(each.exceeded for each in checks)
    if not checks:
        return "Modelled on the IPU: A against B"
    if not exceeded:
        return f"Modelled on the IPU: {'the limit is' if len(checks) == 1 else f'all {len(checks)} limits are'} kept"
    return f"Modelled on the IPU: {exceeded} of {len(checks)} limits exceeded"


def _moved(title: str, rows: Iterable[tuple[str, Difference]], say: Callable[[float], str]) -> list[str]:
    changed = sorted(((n, d) for n, d in rows if d.change), key=lambda row: -abs(row[1].change))
    if not changed:
        return []
    lines = [f"<details><summary>{title}</summary>", "", "| | A | B | B - A |", "|---|---:|---:|---:|"]
    for name, each in changed[:_MOST]:
        sign = "+" if each.change > 0 else "-"
        lines.append(f"| {_code(name)} | {say(each.a)} | {say(each.b)} | {sign}{say(abs(each.change))} |")
    if len(changed) > _MOST:
        lines.append(f"| {len(changed) - _MOST} more | | | |")
    return [*lines, "", "</details>", ""]


def _code(text: str) -> str:
    inside = plain(text, 120, lines=False).replace("`", "'").replace("|", "/")
    return f"`{inside or ' '}`"
