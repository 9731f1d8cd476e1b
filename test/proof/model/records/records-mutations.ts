/**
 * The mutations of the protocol of records' events. Each mutation removes a part of the protocol. `because` gives the
 * reason why the part is needed. `shownBy` names the configuration in which the model finds a broken promise.
 */
export const RECORDS_MUTATIONS = {
  'the listeners are read before the lock': {
    because: 'a subscription may begin to listen while the transaction waits for the record',
    shownBy: 'writers',
  },
  'the record is not locked': {
    because: 'a change that an erasure does not see would name the person',
    shownBy: 'erasure',
  },
  'the number is read before the lock': {
    because: 'the transaction that held the lock has taken the number',
    shownBy: 'writers',
  },
  'the number is reserved before the lock': {
    because: 'transactions may get the lock in another order',
    shownBy: 'writers',
  },
  'a rollback keeps the number': { because: 'no event would ever have the number', shownBy: 'writers' },
  'only written events are numbered': {
    because: 'the number counts the changes of the record, whatever a subscription selects',
    shownBy: 'listeners',
  },
  'the changes of one statement have one number': {
    because: 'two events of a record would have the same number',
    shownBy: 'several changes',
  },
  'an event without a listener is written': {
    because: 'a change that nobody selects costs no row',
    shownBy: 'writers',
  },
  'every change that the account hears is written': {
    because: 'a change that nobody selects costs no row',
    shownBy: 'listeners',
  },
  'the event is written in a transaction of its own': {
    because: 'the change may be rolled back',
    shownBy: 'writers',
  },
  'a listener is kept in a transaction of its own': {
    because: 'a change may begin between the two transactions',
    shownBy: 'writers',
  },
  'the service keeps the listeners': {
    because: 'a process of the earlier release does not know them',
    shownBy: 'earlier release',
  },
  'an event is only published by its own process': {
    because: 'the process may end between its commit and the translation',
    shownBy: 'writers',
  },
  'a translation reads the subscriptions in its first statement': {
    because: 'a subscription may be deleted before the second one',
    shownBy: 'translations',
  },
  'a translation does not lock the events': { because: 'another process may translate them', shownBy: 'translations' },
  'a locked event is not looked at again': {
    because: 'another process may have translated it since the snapshot',
    shownBy: 'translations',
  },
  'a later event passes a locked one': {
    because: 'the notifications of the earlier event are not yet visible',
    shownBy: 'translations',
  },
  'an event is settled in a transaction of its own': {
    because: 'the process may end before it makes the notifications',
    shownBy: 'translations',
  },
  'a translation reads the data of its snapshot': {
    because: 'an erasure may have rewritten the event since',
    shownBy: 'erasure',
  },
  'an erasure leaves the events': { because: 'an event may be translated later', shownBy: 'erasure' },
  'an erasure rewrites the notifications before the events': {
    because: 'a translation that holds an event may make a notification after it',
    shownBy: 'erasure',
  },
} as const;

export type RecordsMutation = keyof typeof RECORDS_MUTATIONS;
