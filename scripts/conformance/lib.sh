# Functions of the scripts that fetch cases of other projects. shellcheck shell=bash

# fetch_git DIR OWNER/NAME COMMIT clones one commit to DIR/OWNER/NAME.
fetch_git() {
	local clone=$1/$2
	[ "$(git -C "$clone" rev-parse HEAD 2>/dev/null)" != "$3" ] || return 0
	git init -q "$clone"
	git -C "$clone" fetch -q --depth 1 "https://github.com/$2" "$3"
	git -C "$clone" checkout -q --force FETCH_HEAD
}
