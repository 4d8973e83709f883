package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// appWork is the work of the clients of the service tenants.
type appWork struct {
	service *service
	work    Work
	apps    int
	clients int
	made    int64 // items that were acknowledged, in all runs
	current []*appClient
}

func appPath(app int) string { return fmt.Sprintf("/apps/app%03d", app) }

// newAppWork makes the apps.
func newAppWork(s Spec, svc *service) (*appWork, error) {
	w := &appWork{service: svc, work: s.Work, apps: max(1, s.Apps), clients: s.Clients}
	for app := range w.apps {
		if _, err := svc.do("PUT", appPath(app), nil, time.Now().Add(answerTimeout)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *appWork) begin(time.Duration) ([]client, error) {
	w.current = nil
	var clients []client
	for i := range w.clients {
		c := &appClient{work: w.work, host: w.service.address, app: i % w.apps, apps: w.apps}
		w.current = append(w.current, c)
		clients = append(clients, c)
	}
	return clients, nil
}

// end counts the items of all apps, which have to be those that were acknowledged, and the apps that are open, which have to be
// all.
func (w *appWork) end() error {
	for _, c := range w.current {
		w.made += c.made
	}
	var items int64
	for app := range w.apps {
		var stats struct {
			Items int64 `json:"items"`
		}
		if err := w.read(appPath(app)+"/stats", &stats); err != nil {
			return err
		}
		items += stats.Items
	}
	if items != w.made {
		return fmt.Errorf("%d items are there, %d were acknowledged", items, w.made)
	}
	var stats struct {
		Apps struct {
			Open int `json:"open"`
		} `json:"apps"`
	}
	if err := w.read("/stats", &stats); err != nil {
		return err
	}
	if stats.Apps.Open != w.apps {
		return fmt.Errorf("%d apps are open, not %d", stats.Apps.Open, w.apps)
	}
	return nil
}

func (w *appWork) read(path string, into any) error {
	a, err := w.service.do("GET", path, nil, time.Now().Add(answerTimeout))
	if err != nil {
		return err
	}
	return json.Unmarshal(a.body, into)
}

// appClient goes from app to app.
type appClient struct {
	work      Work
	host      string
	app, apps int
	made      int64

	reads bool  // the request that is under way
	id    int64 // of the item that was made last, in the same app
	path  []byte
	want  []byte
}

var itemBody = []byte(`{"title":"An item like any other","body":"` + string(bytes.Repeat([]byte("words and "), 10)) + `"}`)

func (c *appClient) next(b []byte) []byte {
	c.reads = c.work == WorkMix && !c.reads && c.id > 0
	c.path = append(append(c.path[:0], appPath(c.app)...), "/items"...)
	if c.reads {
		c.path = strconv.AppendInt(append(c.path, '/'), c.id, 10)
		c.leave()
		return request(b, "GET", c.host, c.path, nil)
	}
	if c.work == WorkItems {
		c.leave()
	}
	return request(b, "POST", c.host, c.path, itemBody)
}

// leave lets the next item go to another app.
func (c *appClient) leave() { c.app = (c.app + 1) % c.apps }

func (c *appClient) check(a answer) error {
	if c.reads {
		c.want = append(strconv.AppendInt(append(c.want[:0], `{"id":`...), c.id, 10), `,"title":"An item`...)
		if a.status != 200 || !bytes.HasPrefix(a.body, c.want) {
			return errWrongBody
		}
		return nil
	}
	if a.status != 201 {
		return errWrongStatus
	}
	digits, _, found := bytes.Cut(bytes.TrimPrefix(a.body, []byte(`{"id":`)), []byte("}"))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if !found || err != nil || id <= 0 {
		return errWrongBody
	}
	c.id = id
	c.made++
	return nil
}
