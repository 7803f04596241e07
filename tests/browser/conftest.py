"""A headless Chromium for the tests marked `browser`: skipped where there is none, unless REQUIRE_BROWSER=1."""

import os

import pytest

from tests.browser.chromium import Chromium, find_chromium


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: opens pages in a headless Chromium (apt-get install chromium)")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    binary = find_chromium()
    if binary is None:
        says = "no chromium on PATH: apt-get install chromium"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(says)
        pytest.skip(says)
    with Chromium(binary, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser
