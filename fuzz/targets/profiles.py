"""Profiles, read by `tremula view`: summary, ops, page and trace."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import tempfile
from pathlib import Path

from fuzz.mutations import VALUES, flip_bytes
from fuzz.target import Target
from tremula.errors import Error


def make(folder: Path) -> list[Path]:
    """The profile of a small model."""
    import shutil

    import poptorch
    from fuzz.targets.exports import _INPUT, Network

    with tempfile.TemporaryDirectory() as place:
        options = poptorch.Options().showCompilationProgressBar(False).enableProfiling(place)
        model = poptorch.inferenceModel(Network().eval(), options)
        model(_INPUT)
        model.destroy()
        found = next(Path(place).rglob("profile.pop"))
        shutil.copy(found, folder / "profile.pop")
    return [folder / "profile.pop"]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Values of rows, definitions of tables, or bytes."""
    if rng.random() < 0.4:
        return flip_bytes(data, rng)
    with tempfile.NamedTemporaryFile(suffix=".pop") as file:
        Path(file.name).write_bytes(data)
        with (
            contextlib.closing(sqlite3.connect(file.name)) as connection,
            contextlib.suppress(sqlite3.Error, OverflowError),
        ):
            for _ in range(rng.choice((1, 2, 5))):
                _change(connection, rng)
            connection.commit()
        return Path(file.name).read_bytes()


def _change(connection: sqlite3.Connection, rng: random.Random) -> None:
    tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
    table = rng.choice(sorted(tables))
    columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
    kind = rng.randrange(6)
    if kind == 0:
        connection.execute(f'drop table "{table}"')
    elif kind == 1:
        connection.execute(f'alter table "{table}" add column planted')
    elif kind == 2:
        connection.execute(f'insert into "{table}" select * from "{table}" limit 5')
    elif kind == 3:
        connection.execute(f'delete from "{table}"')
    else:
        value = rng.choice(
            [each for each in VALUES if not isinstance(each, list | dict)] + [rng.randbytes(9)]
        )
        where = "" if rng.random() < 0.5 else f" where rowid = {rng.randrange(1, 50)}"
        connection.execute(f'update "{table}" set "{rng.choice(columns)}" = ?{where}', (value,))


def read(path: Path) -> None:
    """All that the command shows and writes, and every column of every frame."""
    from tremula.cli.command import CommandError
    from tremula.cli.view import write_files
    from tremula.profile.frames import FRAMES
    from tremula.profile.reader import Profile
    from tremula.view.op_text import ops_text
    from tremula.view.summary import summary

    try:
        with Profile(path) as profile:
            print(summary(profile, full=True))
            print(ops_text(profile, 20))
            for name in FRAMES:
                for column in profile.frame(name).columns:
                    profile.frame(name).column(column)
            if profile.ipus:
                print(
                    len(profile.variables_on_tile(0, 0)[0]),
                    len(profile.alive_at(0, 0)),
                    len(profile.programs),
                )
            write_files(profile, path.parent / "page.html", path.parent / "trace")
    except CommandError as problem:
        raise Error(str(problem)) from problem


def refusals() -> tuple[type[BaseException], ...]:
    """The project's error."""
    return (Error,)


PROFILES = Target("profiles", make, mutate, read, refusals)
