"""`--leaderboard` of `pnyx measure retrieval`, `perspectives` and `report`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pnyx.cli.options import refuse_same_file, refuse_two_outputs, warn
from pnyx.core.errors import InputError, OptionError
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.formats.text_types import FileName

if TYPE_CHECKING:
    from pnyx.core.records import LeaderboardCell
    from pnyx.search.measures.table import ComparedRuns


class LeaderboardSpec(Spec, heading="Files for other tools", rare="format unscored"):
    """Options of the leaderboard to write, and for cells without a value."""

    leaderboard: FileName | None = out_opt(None, "Write a value for each run, topic and measure.")
    format: Literal[
        "ir_measures", "tot", "trec_eval", "rag4reports", "ranking", "leaderboard-jsonl"
    ] = opt("ir_measures", "", "--to", needs="leaderboard", replaces=("--format",))
    unscored: Literal["error", "skip", "zero"] = opt("error")

    def files(self) -> dict[str, str]:
        """Flag -> file to write."""
        return {} if self.leaderboard is None else {"--leaderboard": self.leaderboard}

    def check_files(self, sources: Mapping[str, str | Path | None], *, as_json: bool) -> None:
        """Refuse to overwrite an input (`sources`: description -> file), or a file named twice."""
        files = self.files()
        if self.unscored != "error" and not files:
            raise OptionError("--unscored requires a file to write, such as --leaderboard FILE")
        for flag, path in files.items():
            refuse_two_outputs(flag, path, as_json=as_json)
            others = {name: other for name, other in files.items() if name != flag}
            refuse_same_file(flag, path, **{**sources, **others})

    @property
    def prints(self) -> bool:
        """Whether standard output is free for tables."""
        return "-" not in self.files().values()

    def settled_cells(
        self, cells: Sequence[LeaderboardCell], flag: str, how: str = ""
    ) -> list[LeaderboardCell]:
        """Return the cells to write; InputError, with the advice `how`, if one is unscored."""
        from pnyx.formats import settled

        with refused(flag, how):
            written = list(settled(cells, self.unscored))
        if left_out := len(cells) - len(written):
            warn(f"{flag}: {left_out} of {len(cells)} values are unscored, left out")
        return written

    def write_leaderboard(self, cells: Iterable[LeaderboardCell]) -> None:
        """Write settled cells and their means, if a file is named."""
        from pnyx.core.files import atomic_text
        from pnyx.formats import averaged, write_leaderboard

        if self.leaderboard is not None:
            with atomic_text(self.leaderboard) as stream:
                write_leaderboard(stream, averaged(cells), self.format)

    def write_runs(self, result: ComparedRuns) -> None:
        """Write the values of runs on topics and their means, if a file is named."""
        from pnyx.core.records import LeaderboardCell

        if self.leaderboard is not None:
            cells = [LeaderboardCell(m.run, m.query_id, m.measure, m.value) for m in result.table]
            self.write_leaderboard(self.settled_cells(cells, "--leaderboard"))


@contextmanager
def refused(flag: str, how: str = "") -> Iterator[None]:
    """Add the file that cannot be written and the options for it to an error."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{flag}: {error.problem} (--unscored skip or zero{how})") from error
