package market

// Line exports line.
var Line = line

// Listable reports whether an address may be listed in production.
func Listable(address string) bool {
	_, ok := endpoint(address, false)
	return ok
}

// Route exports route.
var Route = route

// MaxPaidOfOne exports maxPaidOfOne.
const MaxPaidOfOne = maxPaidOfOne
