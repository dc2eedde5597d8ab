//go:build linux

package proc

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Grant lets users create files in a directory, which is unchanged since it was described by info. It
// replaces the access control list. The users cannot remove files of others.
func Grant(dir string, info fs.FileInfo, users []int) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, now) {
		return &fs.PathError{Op: "grant", Path: dir, Err: errors.New("another directory has taken its place")}
	}
	if err := f.Chmod(info.Mode().Perm() | fs.ModeSticky); err != nil {
		return err
	}
	return os.NewSyscallError("fsetxattr",
		unix.Fsetxattr(int(f.Fd()), "system.posix_acl_access", accessList(info.Mode().Perm(), users), 0))
}

// accessList returns an access control list as the kernel encodes it (posix_acl_xattr.h): the version, and
// for each entry its tag, the permissions and a user.
func accessList(mode fs.FileMode, users []int) []byte {
	const (
		version                          = 2
		owner, user, group, mask, others = 0x01, 0x02, 0x04, 0x10, 0x20
		all                              = 7
		nobody                           = 1<<32 - 1
	)
	list := binary.LittleEndian.AppendUint32(nil, version)
	add := func(tag uint16, permissions fs.FileMode, id uint32) {
		list = binary.LittleEndian.AppendUint16(list, tag)
		list = binary.LittleEndian.AppendUint16(list, uint16(permissions&all))
		list = binary.LittleEndian.AppendUint32(list, id)
	}
	add(owner, mode>>6, nobody)
	slices.Sort(users)
	for _, id := range users {
		add(user, all, uint32(id))
	}
	add(group, mode>>3, nobody)
	add(mask, all, nobody)
	add(others, mode, nobody)
	return list
}
