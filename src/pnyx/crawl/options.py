"""Options for searching the web and fetching pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import Address, SourceName, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pnyx.crawl.addresses import Network
    from pnyx.crawl.fetch import FetchLimits
    from pnyx.crawl.search import SearchApi
    from pnyx.formats.runs.search_results import QuestionResults

API_NAMES: Final = ("serper",)
"""The names in `pnyx.crawl.search.APIS`, repeated to avoid the import."""
SEARCH_HELP: Final = f"API to search with ({', '.join(API_NAMES)}), or a file of results."


class WebSearchSpec(Spec, heading="Search", rare="search_url"):
    """What searches the web."""

    search: SourceName | None = file_opt(None, SEARCH_HELP, metavar="API|FILE")
    search_url: Address | None = opt(
        None,
        "Address of the API.",
        metavar="URL",
        default_text="the provider's",
        needs=("an API, not with a file of results", lambda spec: spec.search in API_NAMES),
    )
    results: int = opt(10, "Results of each search (BERDS: 100).", within="[1, 1000]")

    def open_search(self) -> SearchApi | Mapping[str, QuestionResults] | None:
        """Open what --search names, if anything."""
        if self.search is None:
            return None
        if self.search in API_NAMES:
            from pnyx.crawl.search import APIS

            return APIS[self.search](self.search_url)
        from pnyx.formats.runs.search_results import read_search_results

        return {
            search_result.question_id: search_result
            for search_result in read_search_results(self.search)
        }


class FetchSpec(
    Spec, heading="Fetching", rare="timeout max_mb delay concurrency retry allow_private"
):
    """How pages are fetched."""

    contact: Words = opt(
        "",
        "Your e-mail address or web page, sent to the sites; required.",
        metavar="ADDRESS",
        env="PNYX_CONTACT",
        default_text="$PNYX_CONTACT",
    )
    timeout: float = opt(30.0, "Timeout of one page, in seconds.", within="[0.1, 600]")
    max_mb: float = opt(
        5.0, "Maximum size of one page, unpacked, in megabytes.", within="[0.001, 100]"
    )
    delay: float = opt(
        1.0, "Seconds between requests to a host; robots.txt may ask for more.", within="[0, 60]"
    )
    concurrency: int = opt(16, within="[1, 200]")
    retry: bool = opt(False, "Retry transient failures (no connection, timeout, HTTP 5xx).")
    allow_private: tuple[Address, ...] = opt(
        (),
        "DANGEROUS: fetch from this network too (10.1.2.0/24), at any port. Authors of pages or "
        "search results can then access it.",
        metavar="NETWORK",
    )

    def check_contact(self) -> None:
        """Raise if no contact is given."""
        if not self.contact:
            raise OptionError("Missing option '--contact' (or $PNYX_CONTACT).")

    @property
    def limits(self) -> FetchLimits:
        """How far a page is followed."""
        from pnyx.crawl.fetch import FetchLimits

        return FetchLimits(
            seconds=self.timeout,
            bytes=int(self.max_mb * 1_000_000),
            delay=self.delay,
            concurrency=self.concurrency,
        )

    @property
    def private(self) -> tuple[Network, ...]:
        """Networks to fetch from although they are not public."""
        from pnyx.crawl.addresses import network

        return tuple(network(address) for address in self.allow_private)
