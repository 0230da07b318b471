"""What a user can choose of dimensions."""

from __future__ import annotations

from pnyx.core.errors import InputError, OptionError
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.formats.text_types import FileName


class EditedSpec(Spec, heading="Output"):
    """Where a draft is written that people edit."""

    out: FileName | None = out_opt(None, "Draft to write; required without --plan.")
    force: bool = opt(False, "Overwrite --out, including edits.")

    def check(self, *, plan: bool) -> None:
        """Refuse to go on without a place, or to write over what somebody may have edited."""
        from pathlib import Path

        if self.out is None:
            if not plan:
                raise OptionError("Missing option '--out'.")
        elif not plan and not self.force and self.out != "-" and Path(self.out).exists():
            raise InputError("exists, and may have been edited; --force replaces it", path=self.out)


class RubricSpec(EditedSpec, heading="Dimensions"):
    """What a rubric's scale is, and how long it is."""

    low: int = opt(1, "Lowest score.")
    high: int = opt(5, "Highest score, at most 10 above the lowest.")
    most: int = opt(5, "Maximum dimensions.", within="[1, 20]")
