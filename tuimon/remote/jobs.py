"""The hosts of one job: a mirror for each below one directory, so that the reader sees one run with all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tuimon.model.links import Link, RemotePath
from tuimon.platform_support import mirror_directory
from tuimon.remote.link import Keeper
from tuimon.remote.mirror import Mirror
from tuimon.remote.places import JobPlace, base_name, name_of_job
from tuimon.remote.sync import Connect
from tuimon.remote.targets import Target


class Job:
    """Keeps the mirrors of the hosts of one job."""

    def __init__(
        self,
        targets: Sequence[Target],
        connector: Callable[[Target], Connect],
        *,
        where: str | None = None,
        max_bytes: int,
        offline: bool = False,
    ) -> None:
        """connector: returns what makes connections to a target. where: the directory of all mirrors."""
        where = where or mirror_directory()
        place = JobPlace(targets, where)
        self.keepers: list[Keeper] = []
        for number, target in enumerate(targets):
            mirror = Mirror(target, where, place.of(number))
            keeper = Keeper(target, connector(target), mirror=mirror, max_bytes=max_bytes, offline=offline)
            self.keepers.append(keeper)
        shown = name_of_job(targets)
        links = tuple(keeper.link for keeper in self.keepers)
        label = targets[0].job if targets[0].job and shown.endswith(targets[0].path) else f"{len(targets)} hosts"
        self.link = Link(shown, label, members=links)
        self.link.combine()
        for keeper in self.keepers:
            keeper.on_link = self.link.combine
        members = tuple(keeper.path for keeper in self.keepers)
        base = base_name(targets[0]) if " + " not in shown else shown
        if targets[0].job and " + " not in shown:
            base = base.replace(f"{targets[0].host}:", f"{targets[0].job}:", 1)
        self.path = RemotePath(place.root, shown, place.root, "", self.link, base, members)
        """The path to read."""
