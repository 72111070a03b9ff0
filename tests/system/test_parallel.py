"""Work by several processes."""

import pytest
from support.texts import end_this_process

from nmt.system.errors import UserError
from nmt.system.parallel import in_parallel


def test_order_is_kept_by_as_many_processes_as_asked_for() -> None:
    jobs = [(n, 3) for n in range(20)]
    assert list(in_parallel(pow, iter(jobs), workers=3)) == [n**3 for n in range(20)]
    assert list(in_parallel(pow, [(2, 5)])) == [32]
    assert list(in_parallel(pow, [])) == []


def test_a_killed_process_is_named() -> None:
    with pytest.raises(UserError, match="was killed: is there enough memory"):
        list(in_parallel(end_this_process, [(1,), (2,)]))
