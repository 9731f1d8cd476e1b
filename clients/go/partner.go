// Package partner receives the notifications of the candidate eligibility service. It verifies each notification, and
// processes it once and in order.
//
// It needs Go 1.19 and only the standard library. Copy it into your module; sample/main.go shows how to use it. A
// notification passes these steps, whether the service pushes it or you poll it:
//
//  1. The body must be `application/json` without a content coding. Otherwise, the response is 415.
//  2. The signature over the received bytes must be valid. Otherwise, the response is 401, and nothing is trusted.
//  3. The body must be a notification as JSON, and `event-sequence` a number. Otherwise, the response is 400.
//  4. For the sample notification of a verification, the response is 200, and nothing is processed.
//  5. The store decides the outcome: applied (your work ran), late or repeat. For all three, the response is 200.
//  6. If your work returns ErrUnknownRecord, the response is 400. After other errors (500), the service retries.
package partner

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const maxBody = 256 * 1024

// ErrUnknownRecord is returned by your work when it does not know the candidate or the exam. The response is then 400.
var ErrUnknownRecord = errors.New("the candidate or exam is unknown")

// ErrMalformed is returned for a body that comes from the service but is not a notification.
var ErrMalformed = errors.New("the body is not a notification, or event-sequence is not a number from 1 on")

var timestamps = regexp.MustCompile(`^[0-9]{1,12}$`)

// Verify checks a signature of Standard Webhooks v1 with one of several secrets, and returns one of four codes as an
// error when the request is not from the service or is too old.
func Verify(headers http.Header, body []byte, secrets []string, tolerance time.Duration, now time.Time) error {
	parts := make([]string, 3)
	for index, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		if parts[index] = headers.Get(name); parts[index] == "" || len(headers.Values(name)) != 1 {
			return errors.New("header_missing")
		}
	}
	if !timestamps.MatchString(parts[1]) {
		return errors.New("timestamp_invalid")
	}
	at, _ := strconv.ParseInt(parts[1], 10, 64)
	if difference := now.Sub(time.Unix(at, 0)); difference > tolerance || difference < -tolerance {
		return errors.New("timestamp_too_far")
	}
	isRight := false
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return errors.New("signature_wrong")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(parts[0] + "." + parts[1] + "."))
		mac.Write(body)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, given := range strings.Split(parts[2], " ") {
			isRight = hmac.Equal([]byte(given), []byte(expected)) || isRight
		}
	}
	if !isRight {
		return errors.New("signature_wrong")
	}
	return nil
}

// Notification has the members of the body that the kit reads. Body is the whole body as received.
type Notification struct {
	BookingCode         string `json:"booking_code"`
	BookingOn           string `json:"booking_on"`
	CandidateID         string `json:"candidate_id"`
	ChangeReason        string `json:"change_reason"`
	ClientEligibilityID string `json:"client_eligibility_id"`
	EffectiveDate       string `json:"effective_date"`
	ExamCode            string `json:"exam_code"`
	// Only a record change has the next three members. A subscription receives it only with record_changes.
	Change string `json:"change"`
	At     string `json:"at"`
	SvcID  string `json:"svc_eligiblity_id"`
	Body   []byte `json:"-"`
}

// Kept is a processed notification with its id, booking (Key), record, sequence, time and digest.
type Kept struct {
	ID, Key, Record string
	Sequence, At    int64
	Digest          string
}

// Parse parses a notification. Unknown members are kept in its Body.
func Parse(id, sequence string, body []byte) (n Notification, kept Kept, err error) {
	number, err := strconv.ParseInt(sequence, 10, 32)
	if err != nil || number < 1 || !utf8.Valid(body) || json.Unmarshal(body, &n) != nil {
		return n, kept, ErrMalformed
	}
	n.Body = body
	kept = Kept{ID: id, Sequence: number, Digest: DigestOf(id, number, body)}
	texts, times := []string{n.BookingCode, n.CandidateID, n.ChangeReason}, []string{n.BookingOn, n.EffectiveDate}
	kept.Key, kept.Record = n.BookingCode, n.ClientEligibilityID
	if kept.Record == "" {
		kept.Record = n.CandidateID + "/" + n.ExamCode
	}
	if n.SvcID != "" {
		texts, times = []string{n.Change}, []string{n.At}
		kept.Key, kept.Record = "record "+n.SvcID, "record "+n.SvcID
	}
	for _, text := range texts {
		if text == "" {
			return n, kept, ErrMalformed
		}
	}
	for _, text := range times {
		at, err := time.Parse("2006-01-02T15:04:05Z", text)
		if err != nil {
			return n, kept, ErrMalformed
		}
		kept.At = at.Unix()
	}
	return n, kept, nil
}

// DigestOf returns the contribution of one notification to the digest of its time step, in hexadecimal digits.
func DigestOf(id string, sequence int64, body []byte) string {
	hash := sha256.Sum256(append([]byte(id+"\n"+strconv.FormatInt(sequence, 10)+"\n"), body...))
	return hex.EncodeToString(hash[:])
}

// Store keeps the processed notifications of one process in a file, one per line. Your work and the write to the file
// are not one transaction. If the process crashes between them, your work is called again. Another process that runs
// Heal may read the file at the same time.
type Store struct {
	mutex  sync.Mutex
	file   *os.File
	isTorn bool
	ids    map[string]Kept
	last   map[string]int64
	newest map[string]int64
}

// Open reads the file of a store. If the file does not exist, Open creates it.
func Open(path string) (*Store, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	store := &Store{file: file, ids: map[string]Kept{}, last: map[string]int64{}, newest: map[string]int64{}}
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		var kept Kept
		if json.Unmarshal(line, &kept) == nil {
			store.remember(kept)
		}
		if err == io.EOF {
			// A crash may have left an incomplete last line.
			store.isTorn = len(line) > 0
			return store, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func (s *Store) remember(kept Kept) {
	s.ids[kept.ID] = kept
	if kept.Sequence > s.last[kept.Key] {
		s.last[kept.Key] = kept.Sequence
	}
	if kept.At > s.newest[kept.Record] {
		s.newest[kept.Record] = kept.At
	}
}

// Once calls the work unless the id or a later event of the booking is known, and returns applied, late or repeat. If
// the work fails, nothing is stored. isNewestOfRecord is false if another booking of the record had a later event.
func (s *Store) Once(kept Kept, work func(isNewestOfRecord bool) error) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, isKnown := s.ids[kept.ID]; isKnown {
		return "repeat", nil
	}
	outcome := "late"
	if kept.Sequence > s.last[kept.Key] {
		outcome = "applied"
		if err := work(kept.At >= s.newest[kept.Record]); err != nil {
			return "", err
		}
	}
	line, err := json.Marshal(kept)
	if s.isTorn {
		line = append([]byte{'\n'}, line...)
	}
	if err == nil {
		s.isTorn = true
		_, err = s.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err == nil {
		s.isTorn = false
		s.remember(kept)
	}
	return outcome, err
}

// Between returns the notifications that were generated at or after from and before to, in seconds since 1970.
func (s *Store) Between(from, to int64) []Kept {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []Kept
	for _, kept := range s.ids {
		if kept.At >= from && kept.At < to {
			found = append(found, kept)
		}
	}
	return found
}

// Receiver handles notifications and decides the responses. You provide Work.
type Receiver struct {
	Store   *Store
	Secrets []string
	Work    func(notification Notification, isNewestOfRecord bool) error
}

// Take handles a body that is known to come from the service, and returns the status and a code.
func (r *Receiver) Take(id, sequence string, body []byte) (int, string) {
	notification, kept, err := Parse(id, sequence, body)
	if err == nil && strings.HasPrefix(notification.BookingCode, "SAMPLE") {
		return 200, "sample"
	}
	var outcome string
	if err == nil {
		outcome, err = r.Store.Once(kept, func(isNewest bool) error { return r.Work(notification, isNewest) })
	}
	switch {
	case err == nil:
		return 200, outcome
	case errors.Is(err, ErrMalformed):
		return 400, "malformed"
	case errors.Is(err, ErrUnknownRecord):
		return 400, "unknown_record"
	default:
		log.Print(err)
		return 500, "failed"
	}
}

// ServeHTTP answers PUT {partner_url}/notifications and PUT {partner_url}/changes.
func (r *Receiver) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	status, code := r.answer(response, request)
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	_ = json.NewEncoder(response).Encode(map[string]string{"code": code})
}

func (r *Receiver) answer(response http.ResponseWriter, request *http.Request) (int, string) {
	if request.Method != http.MethodPut {
		response.Header().Set("Allow", "PUT")
		return 405, "method_not_allowed"
	}
	kind, _, _ := strings.Cut(request.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") || request.Header.Get("Content-Encoding") != "" {
		return 415, "unsupported_media_type"
	}
	body := new(bytes.Buffer)
	if _, err := body.ReadFrom(http.MaxBytesReader(response, request.Body, maxBody)); err != nil {
		return 413, "payload_too_large"
	}
	if err := Verify(request.Header, body.Bytes(), r.Secrets, 5*time.Minute, time.Now()); err != nil {
		return 401, err.Error()
	}
	return r.Take(request.Header.Get("Webhook-Id"), request.Header.Get("Event-Sequence"), body.Bytes())
}
