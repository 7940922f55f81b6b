//go:build failpoint

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// armed is the point to end the process at, and how often it is still to be passed.
var armed = sync.OnceValue(func() *arm {
	name, times, _ := strings.Cut(os.Getenv("PAYWARRANT_FAILPOINT"), ":")
	n, _ := strconv.ParseInt(times, 10, 64)
	a := &arm{point: Point(name)}
	a.left.Store(max(n, 1))
	return a
})

type arm struct {
	point Point
	left  atomic.Int64
}

// Hit ends the process if p is the point that it is to end at.
func Hit(p Point) {
	if a := armed(); p != "" && a.point == p && a.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot be caught
		select {}
	}
}
