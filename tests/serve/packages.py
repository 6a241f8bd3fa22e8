# SPDX-License-Identifier: Apache-2.0
"""npm packages that tests use, installed under build/ from a lock file of ours."""
import fcntl
import filecmp
import shutil
import subprocess

from support import ROOT, WAIT_S, Skip

# Besides its own programs a folder has these; what they say is what is installed.
_DESCRIPTION = ("package.json", "package-lock.json", ".npmrc")


def install(source, name):
    """npm ci, once: nothing is fetched while the lock file says the same. Copies the programs
    of the folder `source` next to the packages, and returns where that is. Skip: it cannot be."""
    folder = ROOT / "build" / name
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Skip(f"{program} is not installed; tools/deps test does that")
    folder.mkdir(parents=True, exist_ok=True)
    # Programs that run side by side install it once.
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _install_locked(source, name, folder)


def _install_locked(source, name, folder):
    for path in source.glob("*.mjs"):
        copy = folder / path.name
        if not copy.exists() or not filecmp.cmp(path, copy, shallow=False):
            shutil.copyfile(path, copy)
    done = folder / "installed-lock.json"
    if done.exists() and filecmp.cmp(source / "package-lock.json", done, shallow=False):
        return folder
    for each in _DESCRIPTION:
        shutil.copyfile(source / each, folder / each)
    result = subprocess.run(["npm", "ci", "--prefer-offline", "--fetch-retries=1"], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S * 10,
                            check=False)
    if result.returncode != 0:
        raise Skip(f"npm could not install {name}: {' '.join(result.stderr.decode().split())[:300]}")
    shutil.copyfile(source / "package-lock.json", done)
    return folder
