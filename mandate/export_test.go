package mandate

import "github.com/paywarrant/paywarrant/internal/sdjwt"

// Cached returns the number of mandates in a verifier's cache.
func Cached(v *Verifier) int {
	v.cache.mu.RLock()
	defer v.cache.mu.RUnlock()
	return len(v.cache.young) + len(v.cache.old)
}

// ReadLst reads the lst of a status list token.
func ReadLst(text string) (*StatusList, error) {
	b, ok := sdjwt.Decode64(text)
	if !ok {
		return nil, ErrStatusList
	}
	return decompressStatusList(b)
}
