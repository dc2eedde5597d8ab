#!/usr/bin/env bash
# Runs the tests of the lines of Perl, PHP and Ruby with the interpreters of other distributions, which have other
# versions. Ubuntu's are left out unless its keyring is installed. Needs root and debootstrap.
# Usage: languages.sh [SUITE...]     for example: scripts/languages.sh trixie
#
# ${XDG_CACHE_HOME:-~/.cache}/heaplapse-dev/languages keeps the roots. It can be deleted at any time.
set -euo pipefail
cd "$(dirname "$0")/.."
roots=${XDG_CACHE_HOME:-$HOME/.cache}/heaplapse-dev/languages
keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
suites=("$@")
if [ $# = 0 ]; then
	suites=(bullseye trixie forky)
	[ ! -e $keyring ] || suites+=(jammy noble)
fi

# make_root SUITE makes a root with the interpreters.
make_root() {
	local dir=$roots/$1 components=main from=(http://deb.debian.org/debian/)
	case $1 in
	jammy | noble)
		components=main,universe from=(http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/jammy)
		;;
	esac
	[ ! -e "$dir/ready" ] || return 0
	rm -rf --one-file-system "$dir"
	mkdir -p "$dir"
	debootstrap --variant=minbase --components=$components --include=perl,php-cli,ruby "$1" "$dir" "${from[@]}" >"$dir.log"
	touch "$dir/ready"
}

# versions SUITE tells which versions there are.
versions() {
	echo "languages.sh: $1:" \
		"Perl $(chroot "$roots/$1" perl -e 'printf "%vd", $^V')," \
		"PHP $(chroot "$roots/$1" php -r 'echo PHP_VERSION;')," \
		"Ruby $(chroot "$roots/$1" ruby -e 'print RUBY_VERSION')"
}

# run SUITE runs the tests whose interpreters are supported there.
run() {
	local dir=$roots/$1 names='perl|php'
	if [[ $(chroot "$dir" ruby -e 'print RUBY_VERSION') =~ ^3\.[12]\. ]]; then names+='|ruby'; fi
	rm -rf "$dir/test"
	mkdir -p "$dir/test"
	cp -r "$test" engine/testdata "$dir/test/"
	unshare --mount --pid --fork sh -c 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" &&
		exec chroot "$1" sh -c "cd /test && exec ./engine.test -test.v -test.run \"\$0\"" "$2"' sh \
		"$dir" "^TestLanguage(Lines|Forks)\$/^($names)\$|^TestLanguage(DeepStacks|ReusedMemory)\$"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
test=$work/engine.test
CGO_ENABLED=0 go test -c -o "$test" ./engine
for suite in "${suites[@]}"; do
	make_root "$suite"
	versions "$suite"
	run "$suite" | grep -E '^ *--- |^(PASS|FAIL)|Error'
done
