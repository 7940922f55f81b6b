package ijson

import "encoding/json"

// AppendJSON appends the value as JSON without white space: members in order, numbers by
// their literal.
func (v *Value) AppendJSON(dst []byte) []byte {
	switch v.Kind() {
	case Absent, Null, Any:
		return append(dst, "null"...)
	case Bool, Number:
		return append(dst, v.text...)
	case String:
		return AppendString(dst, v.text)
	case Array:
		dst = append(dst, '[')
		for c := v.first; c != nil; c = c.next {
			if c != v.first {
				dst = append(dst, ',')
			}
			dst = c.AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for c := v.first; c != nil; c = c.next {
			if c != v.first {
				dst = append(dst, ',')
			}
			dst = c.AppendJSON(append(AppendString(dst, c.name), ':'))
		}
		return append(dst, '}')
	}
	return dst
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	b, _ := json.Marshal(s) // never fails for a string
	return append(dst, b...)
}
