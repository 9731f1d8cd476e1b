import { folded, hasFullName, namesPerson } from './person.js';

const person = { ids: ['A-77 b', 'ada@example.org', '7'], names: [['Ada', 'K', 'Lovelace']] };

it.each(['Lovelace asked', 'for ada.', 'id a77B', 'ADA@EXAMPLE.ORG wrote', 'Ms LOVELACE, by phone', 'seat 7'])(
  'detects that the text %j names the person Ada Lovelace',
  (text) => expect(namesPerson(text, person)).toBe(true),
);

it.each(['Adams asked', 'sent again after the outage', '77 of them', 'Glovelaces', 'K'])(
  'detects that the text %j does not name the person',
  (text) => expect(namesPerson(text, person)).toBe(false),
);

it.each([[['Ada', 'Lovelace']], [['ada lovelace']], [['LOVELACE, Ada K.']], [['Ms. Ada Lovelace looked away']]])(
  'finds the full name of the person in the texts %j',
  (texts) => expect(hasFullName(texts, person)).toBe(true),
);

it.each([[['Ada']], [['Lovelace']], [['Ada', 'Byron']], [[]]])(
  'does not find the full name of the person in the texts %j',
  (texts) => expect(hasFullName(texts, person)).toBe(false),
);

it('a person’s ids are compared without regard to blanks, case or punctuation', () =>
  expect(folded(' C-01 / ä.B ')).toBe('c01äb'));
