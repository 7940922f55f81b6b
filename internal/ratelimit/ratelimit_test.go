package ratelimit_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/ratelimit"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func setup(perSecond int) (*ratelimit.Limits, *clock) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	return ratelimit.New(ratelimit.Config{PerSecond: perSecond, Clock: c.Now}), c
}

func TestBucketHoldsABurstAndRefills(t *testing.T) {
	t.Parallel()
	l, c := setup(2)
	for range 4 {
		require.True(t, l.Take("a").OK)
	}
	a := l.Take("a")
	require.False(t, a.OK)
	require.Equal(t, 500*time.Millisecond, a.Wait)
	require.True(t, l.Take("b").OK, "another name has another bucket")
	c.now = c.now.Add(a.Wait)
	require.True(t, l.Take("a").OK)
	require.False(t, l.Take("a").OK)
	c.now = c.now.Add(-time.Hour)
	require.False(t, l.Take("a").OK, "a clock that goes back refills nothing")
	c.now = c.now.Add(100 * time.Hour)
	for range 4 {
		require.True(t, l.Take("a").OK)
	}
	require.False(t, l.Take("a").OK, "a bucket holds no more than a burst")
}

func TestReturnedTokenIsThereAgain(t *testing.T) {
	t.Parallel()
	l, _ := setup(1)
	require.True(t, l.Take("a").OK)
	require.True(t, l.Take("a").OK)
	l.Return("a")
	require.True(t, l.Take("a").OK)
	require.False(t, l.Take("a").OK)
	l.Return("b")
	for range 2 {
		require.True(t, l.Take("b").OK)
	}
	l.Return("b")
	l.Return("b")
	l.Return("b")
	require.True(t, l.Take("b").OK)
	require.True(t, l.Take("b").OK)
	require.False(t, l.Take("b").OK, "returning does not overfill a bucket")
}

func TestHeadersReportTheBucket(t *testing.T) {
	t.Parallel()
	l, _ := setup(10)
	h := http.Header{}
	l.Take("a").Header(h, "reads")
	require.Equal(t, `"reads";q=20;w=2`, h.Get("RateLimit-Policy"))
	require.Equal(t, `"reads";r=19;t=1`, h.Get("RateLimit"))
}

func TestBucketsThatAreUsedStayAmongManyOthers(t *testing.T) {
	t.Parallel()
	l, _ := setup(1)
	used := 0
	for i := range 300_000 {
		l.Take(strconv.Itoa(i))
		if i%100 == 0 && l.Take("busy").OK {
			used++
		}
	}
	require.LessOrEqual(t, used, 4, "strangers do not empty the memory of a bucket in use")
}
