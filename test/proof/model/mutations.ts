/**
 * The mutations of the delivery protocol. Each mutation removes a part of the protocol. `because` gives the reason why
 * the part is needed. `shownBy` names the configuration in which the model finds a broken promise. A test checks that
 * the model finds a broken promise for every mutation.
 */
export const MUTATIONS = {
  'translation settles before it makes': {
    because: 'a crash between the two leaves an event that nobody will ever tell',
    shownBy: 'crashes',
  },
  'translation settles after the first partner': {
    because: 'the others of the account are forgotten',
    shownBy: 'two partners',
  },
  'later events are born claimed': {
    because: 'the one before may be made at this moment by another process',
    shownBy: 'crashes',
  },
  'claim does not look at the booking': {
    because: 'a later event is claimed while an earlier one is left',
    shownBy: 'crashes',
  },
  'claim does not wait for an attempt under way': {
    because: 'two events of a booking are under way at once',
    shownBy: 'operators',
  },
  'claim goes by what it saw before': {
    because: 'between looking and writing an operator or another claim came',
    shownBy: 'suspension',
  },
  'claim ignores a suspension': { because: 'rows of a suspended partner are claimed', shownBy: 'suspension' },
  'lease is judged by a clock that is ahead': {
    because: 'a row is claimed while another still has it',
    shownBy: 'outage and refusals',
  },
  'attempt begins by a clock that is behind': {
    because: 'it begins under a lease that has lapsed',
    shownBy: 'outage and refusals',
  },
  'attempt begins at any age': { because: 'it outlasts the lease', shownBy: 'outage and refusals' },
  'attempt is not bounded by the wait time': { because: 'it outlasts the lease', shownBy: 'outage and refusals' },
  'record does not check the token': {
    because: 'a stale answer ends what somebody else is sending',
    shownBy: 'outage and refusals',
  },
  'release does not check the token': {
    because: 'a stale hold frees what somebody else is sending',
    shownBy: 'outage and refusals',
  },
  'release comes before the record': {
    because: 'the row is claimed again, and the answer is lost',
    shownBy: 'outage and refusals',
  },
  'a failure that is retried ends the obligation': {
    because: 'nothing is left that would be sent',
    shownBy: 'outage and refusals',
  },
  'lease does not lapse': { because: 'what a killed worker held is held for ever', shownBy: 'crashes' },
  'probe does not look at the booking': {
    because: 'the oldest free row overtakes the one that is in flight',
    shownBy: 'outage of two bookings',
  },
  'probe ignores a suspension': { because: 'a suspended partner is probed', shownBy: 'suspension' },
  'probe is not held': { because: 'two processes probe at once', shownBy: 'outage' },
  'a late probe moves the next': {
    because: 'recorded after its lease, it sets free what another probe holds',
    shownBy: 'outage',
  },
  'probe is held for ever': { because: 'the worker that had it was killed', shownBy: 'crashes' },
  'a refused probe is the last': { because: 'nobody tries the next oldest', shownBy: 'outage and refusals' },
  'events of a partner that fell are not queued': {
    because: 'first attempts wait for a probe that looks at others',
    shownBy: 'outage and refusals',
  },
  'suspend answers at once': { because: 'what was claimed before begins after', shownBy: 'suspension' },
  'resend takes what is under way': {
    because: 'the same event is sent twice at once',
    shownBy: 'operators in an outage',
  },
  'resolve takes what is under way': { because: 'the later event overtakes it', shownBy: 'operators in an outage' },
  'giving up takes what is under way': { because: 'the later event overtakes it', shownBy: 'giving up' },
  'suspended time counts towards giving up': {
    because: 'a healthy partner loses its events at resume',
    shownBy: 'giving up',
  },
  'an item is marked after it is handed over': {
    because: 'a crash between the two sends it twice',
    shownBy: 'job and crashes',
  },
  'abort leaves what was handed over': { because: 'it is sent after the abort was obeyed', shownBy: 'job' },
  'abort is obeyed at once': { because: 'what was claimed before begins after', shownBy: 'job' },
  'a partner that waits holds up the job': { because: 'items of the others are never sent', shownBy: 'job' },
  'no item of a job is a probe': {
    because: 'all that could probe a partner that is DOWN was refused: the job waits for it, and it for a probe',
    shownBy: 'job in an outage',
  },
  'replay does not wait for what is due': { because: 'an old event overtakes a new one', shownBy: 'replay' },
  'replay does not keep the order': { because: 'replayed events of a booking change places', shownBy: 'replay' },
  'a probe ignores the wall': { because: 'a partner that is DOWN and busy is probed', shownBy: 'busy in an outage' },
  'a job goes past the gate': { because: 'its items are sent to a busy partner', shownBy: 'busy job' },
  'a wall lies in the past': { because: 'the partner is asked again at once', shownBy: 'busy' },
  'a pace never grows again': { because: 'one burst slows the partner for ever', shownBy: 'busy' },
  'a busy partner is never given up': { because: 'its events wait for ever', shownBy: 'always busy' },
  'an accepted event does not end the busy time': {
    because: 'a partner that is busy now and then loses its events',
    shownBy: 'giving up a busy partner',
  },
  'all events of a busy partner are given up at once': {
    because: 'an event that was just created is never sent',
    shownBy: 'giving up a busy partner',
  },
  'the one event is never blamed': { because: 'each 500 to it holds up all others', shownBy: 'one bad event' },
  'a poll takes what is leased': { because: 'two callers get the same event at once', shownBy: 'polls' },
  'a poll does not look at the booking': { because: 'a caller gets two events of a booking at once', shownBy: 'polls' },
  'an acknowledgement does not check the token': {
    because: 'a late one ends what another caller has polled since',
    shownBy: 'polls',
  },
  'an acknowledgement does not check the time': {
    because: 'the lapse of its lease and the acknowledgement would both count',
    shownBy: 'polls',
  },
  'a claim does not wait for the record of a lapse': {
    because: 'the next claim takes the lease away, and the attempt leaves no record',
    shownBy: 'changes of the way',
  },
  'a lapse ends the obligation': { because: 'nothing is left that could be polled', shownBy: 'polls' },
  'a worker claims what is polled': { because: 'a partner that polls is sent requests', shownBy: 'changes of the way' },
  'a change to POLL answers at once': {
    because: 'a request that was claimed before begins after',
    shownBy: 'changes of the way',
  },
  'a change of the way ends the leases': {
    because: 'an event is polled while a request has it',
    shownBy: 'changes of the way',
  },
} as const;

export type Mutation = keyof typeof MUTATIONS;
