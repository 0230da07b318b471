"""Options for drafting dimensions."""

from __future__ import annotations

from pnyx.core.errors import InputError, OptionError
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.formats.text_types import FileName


class EditedSpec(Spec, heading="Output"):
    """Where to write a draft that people will edit."""

    out: FileName | None = out_opt(None)
    force: bool = opt(False)

    def check(self, *, plan: bool) -> None:
        """Require --out, and do not overwrite a draft that may have been edited."""
        from pathlib import Path

        if self.out is None:
            if not plan:
                raise OptionError("Missing option '--out'.")
        elif not plan and not self.force and self.out != "-" and Path(self.out).exists():
            raise InputError("exists and may have been edited; --force replaces it", path=self.out)


class RubricSpec(EditedSpec, heading="Dimensions"):
    """Scale and size of a rubric."""

    low: int = opt(1, "Lowest score.")
    high: int = opt(5, "Highest score, at most 10 above the lowest.")
    most: int = opt(5, within="[1, 20]")
