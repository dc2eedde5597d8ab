//go:build linux

package roots

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEpollWords(t *testing.T) {
	const text = "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t2059\n" +
		"tfd:        4 events:       19 data:     55d0c8f2a2a0  pos:0 ino:3b6 sdev:e\n" +
		"tfd:        5 events:       19 data:                5  pos:0 ino:3b7 sdev:e\n" +
		"tfd:        6 events: data:\n"
	assert.Equal(t, []uint64{0x55d0c8f2a2a0, 5}, epollWords(text))
	assert.Empty(t, epollWords("data: 5\n"))
}

func TestTimerWords(t *testing.T) {
	const text = "ID: 1\nsignal: 60/00007fff86e452a8\nnotify: signal/pid.2634\nClockID: 0\nID: 0\nsignal: x/y\n"
	assert.Equal(t, []uint64{0x7fff86e452a8}, timerWords(text))
}
