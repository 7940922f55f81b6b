package ijson

import (
	"strings"
	"unicode/utf8"
)

// maxDepth limits recursion. A value of that depth needs twice as many bytes, so no token
// of 8 KiB reaches it.
const maxDepth = 4096

// manyMembers is the number of members from which names are compared with a set.
const manyMembers = 24

// Parse parses exactly one value of the kind; [Any] accepts every kind. It returns
// [ErrSyntax], or [ErrDuplicate] if the text is otherwise valid.
func Parse(text string, want Kind) (*Value, error) {
	p := parser{src: text}
	if !utf8.ValidString(text) {
		return nil, ErrSyntax
	}
	p.space()
	v, ok := p.value(0)
	if !ok {
		return nil, ErrSyntax
	}
	p.space()
	if p.pos != len(p.src) || (want != Any && v.kind != want) {
		return nil, ErrSyntax
	}
	if p.duplicate {
		return nil, ErrDuplicate
	}
	return v, nil
}

type parser struct {
	src       string
	pos       int
	slab      []Value
	duplicate bool
}

// node returns a value from the slab, so that one allocation serves many values.
func (p *parser) node(k Kind) *Value {
	if len(p.slab) == 0 {
		p.slab = make([]Value, p.more())
	}
	v := &p.slab[0]
	p.slab = p.slab[1:]
	v.kind = k
	return v
}

// more returns an estimate of how many values follow: each follows a comma, or is the first
// of an object or array.
func (p *parser) more() int {
	const most, sight = 64, 4096
	near := p.src[p.pos:min(p.pos+sight, len(p.src))]
	return min(2+strings.Count(near, ",")+strings.Count(near, "{")+strings.Count(near, "["), most)
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// take consumes white space and c. It returns false if the next character is another one.
func (p *parser) take(c byte) bool {
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) value(depth int) (*Value, bool) {
	if p.pos >= len(p.src) || depth > maxDepth {
		return nil, false
	}
	switch c := p.src[p.pos]; c {
	case '{':
		p.pos++
		return p.object(depth)
	case '[':
		p.pos++
		return p.array(depth)
	case '"':
		p.pos++
		s, ok := p.string()
		if !ok {
			return nil, false
		}
		v := p.node(String)
		v.text = s
		return v, true
	case 't':
		return p.word("true", Bool)
	case 'f':
		return p.word("false", Bool)
	case 'n':
		return p.word("null", Null)
	default:
		return p.number()
	}
}

func (p *parser) word(w string, k Kind) (*Value, bool) {
	if len(p.src)-p.pos < len(w) || p.src[p.pos:p.pos+len(w)] != w {
		return nil, false
	}
	v := p.node(k)
	v.text = w
	p.pos += len(w)
	return v, true
}

func (p *parser) object(depth int) (*Value, bool) {
	o := p.node(Object)
	if p.take('}') {
		return o, true
	}
	var names map[string]struct{}
	link, n := &o.first, 0
	for {
		if !p.take('"') {
			return nil, false
		}
		name, ok := p.string()
		if !ok || !p.take(':') {
			return nil, false
		}
		p.space()
		c, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		if n++; n == manyMembers {
			names = nameSet(o)
		}
		p.mark(o, names, name)
		c.name = name
		*link = c
		link = &c.next
		if p.take(',') {
			continue
		}
		return o, p.take('}')
	}
}

// mark records that the object has the name twice.
func (p *parser) mark(o *Value, names map[string]struct{}, name string) {
	if names == nil {
		if o.Get(name) != nil {
			p.duplicate = true
		}
		return
	}
	if _, ok := names[name]; ok {
		p.duplicate = true
	}
	names[name] = struct{}{}
}

func nameSet(o *Value) map[string]struct{} {
	names := make(map[string]struct{}, 2*manyMembers)
	for c := range o.Children() {
		names[c.name] = struct{}{}
	}
	return names
}

func (p *parser) array(depth int) (*Value, bool) {
	a := p.node(Array)
	if p.take(']') {
		return a, true
	}
	link := &a.first
	for {
		p.space()
		c, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		*link = c
		link = &c.next
		if p.take(',') {
			continue
		}
		return a, p.take(']')
	}
}

// number parses the grammar of RFC 8259 section 6 and keeps the literal.
func (p *parser) number() (*Value, bool) {
	start := p.pos
	p.skip('-')
	switch {
	case p.skip('0'):
	case p.digits() == 0:
		return nil, false
	}
	if p.skip('.') && p.digits() == 0 {
		return nil, false
	}
	if p.skip('e') || p.skip('E') {
		if !p.skip('+') {
			p.skip('-')
		}
		if p.digits() == 0 {
			return nil, false
		}
	}
	v := p.node(Number)
	v.text = p.src[start:p.pos]
	return v, true
}

func (p *parser) skip(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) digits() int {
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}
