package bind

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// List binds the slice or array V as the text of a JSON array, for `IN (SELECT value FROM json_each(?))`: one parameter and
// one SQL text, however many elements. https://www.sqlite.org/json1.html#jeach
//
// Elements are stored as they would be alone, a time as its text and nil as null. Those that JSON cannot carry exactly are
// an error: blobs, infinities, text that is no UTF-8. A nil slice is the empty array.
type List struct{ V any }

var (
	errListBlob = errors.New("a blob cannot be in a list: JSON has none")
	errListInf  = errors.New("an infinity cannot be in a list: JSON has none")
	errListUTF8 = errors.New("text that is not UTF-8 cannot be in a list: JSON has none")
	errListList = errors.New("a list cannot be in a list")
)

func (v *value) list(slice any) error {
	r := reflect.ValueOf(slice)
	if k := r.Kind(); k != reflect.Slice && k != reflect.Array {
		return fmt.Errorf("a list of type %T: want a slice", slice)
	}
	if r.Type().Elem().Kind() == reflect.Uint8 {
		return fmt.Errorf("a list of type %T: %w", slice, errListBlob)
	}
	b := append(make([]byte, 0, 2+8*r.Len()), '[')
	var element value
	for i := range r.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		arg := r.Index(i).Interface()
		if _, nested := arg.(List); nested {
			return fmt.Errorf("element %d: %w", i, errListList)
		}
		err := element.set(arg)
		if err == nil {
			b, err = element.appendJSON(b)
		}
		if err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	v.kind, v.s = text, string(append(b, ']'))
	return nil
}

func (v *value) appendJSON(b []byte) ([]byte, error) {
	switch v.kind {
	case integer:
		return strconv.AppendInt(b, v.n, 10), nil
	case float:
		if math.IsInf(v.f, 0) {
			return b, errListInf
		}
		// The exponent makes a REAL of a whole number too.
		return strconv.AppendFloat(b, v.f, 'e', -1, 64), nil
	case text:
		return appendString(b, v.s)
	case blob:
		return b, errListBlob
	case instant:
		return append(appendTime(append(b, '"'), v.t), '"'), nil
	default:
		return append(b, "null"...), nil
	}
}

func appendString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return b, errListUTF8
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"'), nil
}
