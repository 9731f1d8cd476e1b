/**
 * The mutations of the change feed's protocol. Each mutation removes a part of the protocol. `because` gives the reason
 * why the part is needed. `shownBy` names the configuration in which the model finds a broken promise.
 */
export const FEED_MUTATIONS = {
  'a place is the own id alone': {
    because: 'a transaction with a higher id may have changed the record and ended before',
    shownBy: 'writers',
  },
  'a place is taken before the lock': {
    because: 'the transaction that held the lock had a higher id and has ended since',
    shownBy: 'writers',
  },
  'the order is that of the sequence alone': {
    because: 'an entry with an earlier number may become visible later',
    shownBy: 'writers',
  },
  'a cursor has no position': { because: 'entries of two transactions may have one id', shownBy: 'writers' },
  'a page ends at the newest id': {
    because: 'a transaction with an earlier id may still be running',
    shownBy: 'writers',
  },
  'every committed entry is listed': {
    because: 'an entry with an earlier id may be committed later',
    shownBy: 'writers',
  },
  'the cursor passes entries that are not settled': {
    because: 'the next page begins after them',
    shownBy: 'pages of two',
  },
  'now does not wait': {
    because: 'the first page lists what a running transaction held back',
    shownBy: 'writers',
  },
  'now begins after an entry that is not settled': {
    because: 'an entry with an earlier id may be committed later',
    shownBy: 'writers',
  },
  'the limit counts every kind': { because: 'a page without an entry of the kind has no successor', shownBy: 'kinds' },
  'a cursor is sought among the kinds asked': {
    because: 'the cursor of after=now may be an entry of another kind',
    shownBy: 'kinds',
  },
  'the cursor of an empty page is the horizon': {
    because: 'ids beyond the last entry are used again after a crash',
    shownBy: 'crash',
  },
  'an unknown cursor is accepted': { because: 'entries after a restore may sort before it', shownBy: 'restore' },
  'a cursor is known by its numbers alone': {
    because: 'another entry may have them after a restore',
    shownBy: 'restore',
  },
  'a restored dump begins no epoch': { because: 'the ids of a new cluster start anew', shownBy: 'restore' },
  'a dropped month is not noticed': { because: 'its entries are missing without an error', shownBy: 'months' },
  'a dropped month is judged by the first look': {
    because: 'the month of the cursor may be dropped while the request waits',
    shownBy: 'months',
  },
  'the cursor of a dropped entry is unknown': {
    because: 'a reader without news would be refused',
    shownBy: 'months',
  },
  'a full page counts as read up to now': { because: 'older entries follow in the next page', shownBy: 'months' },
  'no day is allowed for a late transaction': {
    because: 'its entry was written before the time of the cursor',
    shownBy: 'months',
  },
  'expired entries are left out of every page': {
    because: 'they may expire between two pages of one reader',
    shownBy: 'months',
  },
  'the age of a cursor is not checked': { because: 'the contract says how long a cursor is valid', shownBy: 'months' },
  'a cursor needs only the months since its time': {
    because: 'a late transaction of the month before may not have been read',
    shownBy: 'months',
  },
  'a month is dropped without the day for late transactions': {
    because: 'a reader that keeps up still needs it',
    shownBy: 'months',
  },
  'a month is dropped at its first expired entry': {
    because: 'its later entries are still within the retention',
    shownBy: 'months',
  },
  'retention follows the clock of the service alone': {
    because: 'a clock that is ahead drops the present month',
    shownBy: 'clock ahead',
  },
} as const;

export type FeedMutation = keyof typeof FEED_MUTATIONS;
