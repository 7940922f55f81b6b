package tools

import (
	"container/list"
	"sync"

	"github.com/paywarrant/paywarrant/agent/toolkit"
	"github.com/paywarrant/paywarrant/server/store"
)

// maxKits limits the holders whose credentials and latest payments are kept here.
const maxKits = 1024

// kits keeps one Kit per holder of access tokens, because a Kit remembers what it paid. The one
// that was not used for the longest time goes first.
type kits struct {
	make func(plain string, t store.AccessToken) (*toolkit.Kit, error)

	mu    sync.Mutex
	byID  map[string]*list.Element
	order list.List // of *kept, the latest used last
}

type kept struct {
	id  string
	kit *toolkit.Kit
}

func (k *kits) of(plain string, t store.AccessToken) (*toolkit.Kit, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.byID[t.Holder()]; ok {
		k.order.MoveToBack(e)
		return e.Value.(*kept).kit, nil //nolint:forcetypeassert // the list holds nothing else
	}
	kit, err := k.make(plain, t)
	if err != nil {
		return nil, err
	}
	if k.byID == nil {
		k.byID = map[string]*list.Element{}
	}
	k.byID[t.Holder()] = k.order.PushBack(&kept{t.Holder(), kit})
	if k.order.Len() > maxKits {
		k.drop(k.order.Front())
	}
	return kit, nil
}

func (k *kits) drop(e *list.Element) {
	oldest := k.order.Remove(e).(*kept) //nolint:forcetypeassert // the list holds nothing else
	delete(k.byID, oldest.id)
	oldest.kit.CloseIdleConnections()
}

func (k *kits) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.order.Len() > 0 {
		k.drop(k.order.Front())
	}
}
