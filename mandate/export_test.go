package mandate

// Cached tells how many mandates a verifier remembers.
func Cached(v *Verifier) int {
	v.cache.mu.RLock()
	defer v.cache.mu.RUnlock()
	return len(v.cache.young) + len(v.cache.old)
}
