"""Types into an interactive shell and presses TAB, as a user does.

Usage: tab.py SHELL LINE WANT      SHELL is bash, zsh or fish

Succeeds when the terminal shows WANT, a regular expression, after LINE and TAB TAB were typed. It
gives up after a minute.
"""
import os
import pty
import re
import select
import sys
import time

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "-i"],
}
SETUP = {
    "bash": "source /usr/share/bash-completion/bash_completion",
    "zsh": "autoload -U compinit; compinit -u -D",
    "fish": "true",
}
DEADLINE = 60


def shown(text):
    """Returns the text without control sequences."""
    return re.sub(r"\x1b[()][A-Z0-9]|\x1b\[[0-9;?>=]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[=>]|[\x07\r]", "", text)


def read_until(terminal, want, deadline):
    text = ""
    while not re.search(want, shown(text)):
        if time.monotonic() > deadline:
            sys.exit(f"tab.py: {want!r} did not appear within {DEADLINE} s; the terminal shows:\n{shown(text)}")
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    return shown(text)


def main():
    shell, line, want = sys.argv[1:]
    deadline = time.monotonic() + DEADLINE
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm", COLUMNS="200", LINES="50", PS1="$ ", PROMPT="$ ")
        os.execvp(shell, SHELLS[shell])
    # The marker is computed, so that the echo of the command is not taken for its output.
    os.write(terminal, f"{SETUP[shell]}; expr 4000 + 711\r".encode())
    read_until(terminal, r"\b4711\b", deadline)
    os.write(terminal, f"{line}\t\t".encode())
    print(read_until(terminal, want, deadline).splitlines()[-1])
    os.kill(child, 9)


main()
