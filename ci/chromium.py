"""See to a Chromium for the tests of the HTML report, where that needs nobody's answer."""

import os
import shutil
import subprocess

APT_GET = ["apt-get", "--quiet=2", "--option=DPkg::Lock::Timeout=60"]


def why_none() -> str | None:
    """Install Debian's chromium if there is none, or say why not. Never asks."""
    if shutil.which("chromium"):
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "apt-get install chromium would do, but needs root and apt-get"
    print("setup: no chromium, installing it", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = [*APT_GET, "install", "--yes", "--no-install-recommends", "chromium"]
    try:
        child = subprocess.run(
            command,
            env=environment,
            timeout=300,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "apt-get install chromium took over 300 s"
    if child.returncode == 0:
        return None
    return (child.stderr.strip().splitlines() or ["apt-get install chromium failed"])[-1]


if __name__ == "__main__":
    reason = why_none()
    if reason is not None:
        print(f"setup: the HTML report is not tried in a browser: {reason}")
