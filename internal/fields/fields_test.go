package fields

import (
	"database/sql"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGoNamesBecomeSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"ID": "id", "UserID": "user_id", "HTTPServer": "http_server", "CreatedAt": "created_at", "Name": "name", "A": "a",
		"IDs": "ids", "UserIDs": "user_ids", "UserIDsSeen": "user_ids_seen", "Sha256Sum": "sha256_sum", "User_Name": "user_name",
		"ÜberID": "über_id", "XMLHTTPRequest": "xmlhttp_request", "IsOK": "is_ok", "DSname": "d_sname",
	} {
		assert.Equal(t, want, Snake(name), name)
	}
}

type base struct {
	ID      int64
	Created time.Time `db:"created_at,unix"`
}

type Audit struct {
	By   string
	Name string // hidden by the outer Name
}

type user struct {
	base
	*Audit
	Name   string
	Email  string `db:"E_Mail"`
	Key    string `db:"secret"`
	Secret string // the tag of Key goes first
	Extra  any    `db:",json"`
	Hidden string `db:"-"`
	inner  string
	time.Time
	sql.NullString
}

func TestTagsNamesAndEmbeddedStructsCount(t *testing.T) {
	s, err := Of(reflect.TypeFor[user]())
	require.NoError(t, err)
	got := map[string]string{}
	for f := range s.All {
		got[f.Name] = f.Go
	}
	assert.Equal(t, map[string]string{
		"id": "fields.user.base.ID", "created_at": "fields.user.base.Created", "by": "fields.user.Audit.By",
		"name": "fields.user.Name", "e_mail": "fields.user.Email", "secret": "fields.user.Key", "extra": "fields.user.Extra",
		"time": "fields.user.Time", "null_string": "fields.user.NullString",
	}, got)
	f, err := s.Field("E_MAIL")
	require.NoError(t, err)
	assert.Equal(t, reflect.TypeFor[string](), f.Type)
	f, err = s.Field("Created_At")
	require.NoError(t, err)
	assert.Equal(t, Unix, f.Option)
	f, err = s.Field("inner")
	require.NoError(t, err)
	assert.Nil(t, f)
	_ = user{}.inner
}

func TestTwoFieldsOfOneNameAreAnErrorOnlyWhenAskedFor(t *testing.T) {
	type a struct{ X, Y int }
	type b struct{ X int }
	type both struct {
		a
		b
	}
	s, err := Of(reflect.TypeFor[both]())
	require.NoError(t, err)
	_, err = s.Field("x")
	assert.ErrorContains(t, err, "both.a.X or fields.both.b.X")
	f, err := s.Field("y")
	require.NoError(t, err)
	assert.NotNil(t, f)
}

func TestATagWithoutSenseIsAnError(t *testing.T) {
	for _, v := range []any{
		struct {
			A int `db:",jsno"`
		}{},
		struct {
			A int `db:"a,unix"`
		}{},
		struct {
			A time.Time `db:",unix,json"`
		}{},
	} {
		_, err := Of(reflect.TypeOf(v))
		assert.ErrorContains(t, err, ".A: ")
	}
}

type Node struct {
	*Node
	Value int
}

func TestATypeThatEmbedsAPointerToItselfEnds(t *testing.T) {
	s, err := Of(reflect.TypeFor[Node]())
	require.NoError(t, err)
	f, err := s.Field("value")
	require.NoError(t, err)
	assert.Equal(t, []int{1}, f.Index)
}
