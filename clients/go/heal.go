package partner

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const maxSteps, hour, page, maxIDs = 1000, 3600, 200, 1000

// Heal lists the notifications of a step by creation time, which may differ from the time of the event. It therefore
// extends the period by these margins, in seconds, one after another.
var margins = []int64{5, 60, 3600, 86400}

// API calls the service. It obtains a token with the scope partner by the client credentials grant. BaseURL has no
// trailing slash.
type API struct {
	BaseURL, Key, Secret, SubscriptionID string
	Calls                                int
	token                                string
}

var nextLink = regexp.MustCompile(`<([^>]*)>;\s*rel="next"`)

// Call sends a GET request, or a POST request if body is not nil. It parses the response into result, and returns the
// address of the next page.
func (a *API) Call(path string, body, result any) (string, error) {
	a.Calls++
	base, err := url.Parse(a.BaseURL + "/")
	if err != nil {
		return "", err
	}
	address, err := base.Parse(path)
	if err != nil {
		return "", err
	}
	for isLast := false; ; isLast = true {
		if a.token == "" {
			form := url.Values{"grant_type": {"client_credentials"}, "scope": {"partner"}}.Encode()
			request, _ := http.NewRequest("POST", a.BaseURL+"/token", strings.NewReader(form))
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.SetBasicAuth(a.Key, a.Secret)
			var granted struct {
				AccessToken string `json:"access_token"`
			}
			if _, _, err := send(request, &granted); err != nil {
				return "", err
			}
			a.token = granted.AccessToken
		}
		request, _ := http.NewRequest("GET", address.String(), nil)
		if body != nil {
			data, err := json.Marshal(body)
			if err != nil {
				return "", err
			}
			request, _ = http.NewRequest("POST", address.String(), bytes.NewReader(data))
			request.Header.Set("Content-Type", "application/json")
		}
		request.Header.Set("Authorization", "Bearer "+a.token)
		status, link, err := send(request, result)
		if status != 401 || isLast {
			return link, err
		}
		a.token = ""
	}
}

func send(request *http.Request, result any) (int, string, error) {
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answered %d %s", request.URL.Path, response.StatusCode, data)
	}
	if err == nil {
		err = json.Unmarshal(data, result)
	}
	link := nextLink.FindStringSubmatch(response.Header.Get("Link"))
	return response.StatusCode, append(link, "", "")[1], err
}

// Poll fetches and processes the due notifications of a subscription with delivery POLL, and returns the number of
// acknowledged notifications. If your work fails, the lease of the notification expires and the service offers the
// notification again.
func (a *API) Poll(receiver *Receiver, forever bool) (int, error) {
	done, ack, refuse := 0, []string{}, []map[string]string{}
	for {
		var offered struct {
			Notifications []struct {
				ID       string      `json:"id"`
				Sequence json.Number `json:"event_sequence"`
				Body     string      `json:"body"`
			} `json:"notifications"`
		}
		order := map[string]any{"subscription_id": a.SubscriptionID, "max": 100, "ack": ack, "refuse": refuse}
		order["return_immediately"] = !forever || len(ack) > 0
		if _, err := a.Call("partner/notifications/poll", order, &offered); err != nil {
			return done, err
		}
		done, ack, refuse = done+len(ack), []string{}, []map[string]string{}
		if len(offered.Notifications) == 0 && !forever {
			return done, nil
		}
		for _, one := range offered.Notifications {
			status, code := receiver.Take(one.ID, one.Sequence.String(), []byte(one.Body))
			if status == 200 {
				ack = append(ack, one.ID)
			} else if status == 400 {
				reason := "OTHER"
				if code == "unknown_record" {
					reason = "NO_MATCHING_RECORD"
				}
				refuse = append(refuse, map[string]string{"id": one.ID, "reason": reason, "detail": code})
			}
		}
	}
}

// Step is one time step in the response to GET /partner/digest.
type Step struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Count  int    `json:"count"`
	Digest string `json:"digest"`
}

// StepsOf computes the digests of the time steps from the notifications that the partner has stored.
func StepsOf(kept []Kept, from, to, step int64) []Step {
	var steps []Step
	sums := map[int64][]byte{}
	counts := map[int64]int{}
	for _, one := range kept {
		index := (one.At - from) / step
		if sums[index] == nil {
			sums[index] = make([]byte, 32)
		}
		hash, _ := hex.DecodeString(one.Digest)
		for place, value := range hash {
			sums[index][place] ^= value
		}
		counts[index]++
	}
	for index, start := int64(0), from; start < to; index, start = index+1, start+step {
		end := start + step
		if end > to {
			end = to
		}
		sum := append(sums[index], make([]byte, 32)...)[:32]
		steps = append(steps, Step{dateTime(start), dateTime(end), counts[index], hex.EncodeToString(sum)})
	}
	return steps
}

func dateTime(at int64) string {
	return time.Unix(at, 0).UTC().Format("2006-01-02T15:04:05Z")
}

// Seconds converts a time in the service's format to seconds since 1970.
func Seconds(text string) (int64, error) {
	at, err := time.Parse("2006-01-02T15:04:05Z", text)
	return at.Unix(), err
}

// Heal finds the delivered notifications that the store does not have, and requests a replay of them. If the service's
// digest of a time step differs from the digest of the stored notifications, Heal divides the step into smaller steps,
// until the service can list the notifications of a step on one page. A step may contain notifications that only the
// partner still has; this is not a fault. Heal returns the missing ids and the number of API calls.
func (a *API) Heal(store *Store, from, to int64) (missing []string, calls int, err error) {
	if to-from > hour {
		// Steps of whole hours cost the service the least, because the service stores their digests.
		from, to = from/hour*hour, (to+hour-1)/hour*hour
	}
	before, ranges := a.Calls, [][2]int64{{from, to}}
	for len(ranges) > 0 {
		start, end := ranges[0][0], ranges[0][1]
		ranges = ranges[1:]
		unit := int64(1)
		if end-start > hour {
			unit = hour
		}
		step := unit * ((end - start + unit*maxSteps - 1) / (unit * maxSteps))
		query := a.query(start, end, "step_s", strconv.FormatInt(step, 10))
		var told []Step
		if _, err := a.Call("partner/digest?"+query, nil, &told); err != nil {
			return nil, 0, err
		}
		own := map[Step]bool{}
		for _, one := range StepsOf(store.Between(start, end), start, end, step) {
			own[one] = true
		}
		for _, one := range told {
			if one.Count == 0 || own[one] {
				continue
			}
			from, _ := Seconds(one.From)
			to, _ := Seconds(one.To)
			if one.Count > page && to-from > 1 {
				ranges = append(ranges, [2]int64{from, to})
				continue
			}
			ids, err := a.missing(store, one, from, to)
			if err != nil {
				return nil, 0, err
			}
			missing = append(missing, ids...)
		}
	}
	calls = a.Calls - before
	for rest := missing; len(rest) > 0; {
		count := len(rest)
		if count > maxIDs {
			count = maxIDs
		}
		if _, err := a.Call("partner/notifications/replay", map[string]any{"ids": rest[:count]}, &struct{}{}); err != nil {
			return missing, calls, err
		}
		rest = rest[count:]
	}
	return missing, calls, nil
}

func (a *API) query(from, to int64, name, value string) string {
	return url.Values{
		"subscription_id": {a.SubscriptionID}, "from": {dateTime(from)}, "to": {dateTime(to)}, name: {value},
	}.Encode()
}

// missing lists the delivered notifications of a step, and returns the ids that are not in the store.
func (a *API) missing(store *Store, step Step, from, to int64) ([]string, error) {
	var ids, found []string
	for _, margin := range margins {
		ids = nil
		next := "partner/notifications?state=DELIVERED&" + a.query(from-margin, to+margin, "limit", strconv.Itoa(page))
		for next != "" {
			var listed []struct {
				ID            string `json:"id"`
				EffectiveDate string `json:"effective_date"`
			}
			var err error
			if next, err = a.Call(next, nil, &listed); err != nil {
				return nil, err
			}
			for _, one := range listed {
				if one.EffectiveDate >= step.From && one.EffectiveDate < step.To {
					ids = append(ids, one.ID)
				}
			}
		}
		if len(ids) >= step.Count {
			break
		}
	}
	// The store is read after the list. A notification that arrives in between is therefore not reported as missing.
	known := map[string]bool{}
	for _, kept := range store.Between(from, to) {
		known[kept.ID] = true
	}
	for _, id := range ids {
		if !known[id] {
			found = append(found, id)
		}
	}
	return found, nil
}
