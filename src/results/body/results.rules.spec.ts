import {
  accountFacts,
  matchCandidateExam,
  matchRegistration,
  matchResultId,
  registrationFacts,
  type CandidateExam,
  type FoundRegistration,
  type Match,
} from './results.rules.js';

const codesOf = (match: Match) => ('refusal' in match ? match.refusal.code : match.svcEligibilityId);

describe('the registration of a result', () => {
  const found = (
    by: FoundRegistration['by'],
    svc_eligiblity_id: string,
    more: Partial<FoundRegistration> = {},
  ): FoundRegistration => ({ by, svc_eligiblity_id, status: 'SCHEDULED', locator_key: null, ...more });

  it.each<[string, FoundRegistration[], string | null, string]>([
    ['nothing found', [], null, 'registration_not_found'],
    ['nothing found, with a locator', [], 'L', 'registration_not_found'],

    ['the eligibility id alone', [found('svc_eligiblity_id', 'A')], null, 'A'],
    ['the booking code alone', [found('booking_code', 'A')], null, 'A'],
    ['the client’s id alone', [found('client_eligibility_id', 'A')], null, 'A'],
    ['the locator alone', [found('locator', 'A', { locator_key: 'l' })], 'L', 'A'],
    ['test and e-mail alone', [found('test_and_email', 'A')], null, 'A'],

    [
      'the eligibility id before booking code and client’s id',
      [found('client_eligibility_id', 'C'), found('booking_code', 'B'), found('svc_eligiblity_id', 'A')],
      null,
      'A',
    ],
    [
      'the booking code before the client’s id',
      [found('client_eligibility_id', 'C'), found('booking_code', 'B')],
      null,
      'B',
    ],
    [
      'the client’s id in two accounts',
      [found('client_eligibility_id', 'A'), found('client_eligibility_id', 'B')],
      null,
      'registration_ambiguous',
    ],
    [
      'the client’s id in two accounts, one of them with the locator',
      [
        found('client_eligibility_id', 'A', { locator_key: 'l' }),
        found('client_eligibility_id', 'B'),
        found('locator', 'A', { locator_key: 'l' }),
      ],
      'L',
      'registration_ambiguous',
    ],

    [
      'code and locator that agree',
      [found('svc_eligiblity_id', 'A', { locator_key: 'l' }), found('locator', 'A', { locator_key: 'l' })],
      'L',
      'A',
    ],
    [
      'code and locator that differ',
      [found('svc_eligiblity_id', 'A'), found('locator', 'B', { locator_key: 'l' })],
      'L',
      'registration_mismatch',
    ],
    [
      'a code whose registration has this locator in another case',
      [found('booking_code', 'A', { locator_key: 'l-1' })],
      'L-1',
      'A',
    ],
    [
      'a code whose registration has another locator',
      [found('booking_code', 'A', { locator_key: 'other' })],
      'L',
      'registration_mismatch',
    ],
    [
      'a code whose registration has a locator, and none given',
      [found('booking_code', 'A', { locator_key: 'l' })],
      null,
      'A',
    ],
    [
      'a locator in two accounts',
      [found('locator', 'A', { locator_key: 'l' }), found('locator', 'B', { locator_key: 'l' })],
      'L',
      'registration_ambiguous',
    ],
    [
      'a locator in two accounts, and a code of one of them',
      [
        found('svc_eligiblity_id', 'B', { locator_key: 'l' }),
        found('locator', 'A', { locator_key: 'l' }),
        found('locator', 'B', { locator_key: 'l' }),
      ],
      'L',
      'B',
    ],

    [
      'test and e-mail of several live records',
      [found('test_and_email', 'A'), found('test_and_email', 'B')],
      null,
      'registration_ambiguous',
    ],
    [
      'test and e-mail of one live record among closed ones',
      [
        found('test_and_email', 'A', { status: 'EXPIRED' }),
        found('test_and_email', 'B', { status: 'PENDING' }),
        found('test_and_email', 'C', { status: 'COMPLETED' }),
      ],
      null,
      'B',
    ],
    [
      'test and e-mail of an expired record',
      [found('test_and_email', 'A', { status: 'EXPIRED' })],
      null,
      'registration_not_found',
    ],
    ['a code before test and e-mail', [found('client_eligibility_id', 'A'), found('test_and_email', 'B')], null, 'A'],
    [
      'a locator before test and e-mail',
      [found('locator', 'A', { locator_key: 'l' }), found('test_and_email', 'B')],
      'L',
      'A',
    ],
    [
      'test and e-mail of a record with another locator',
      [found('test_and_email', 'A', { locator_key: 'other' })],
      'L',
      'registration_mismatch',
    ],

    ...(['svc_eligiblity_id', 'booking_code', 'client_eligibility_id', 'locator', 'test_and_email'] as const).map(
      (by): [string, FoundRegistration[], string | null, string] => [
        `a cancelled record by ${by}`,
        [found(by, 'A', { status: 'CANCELLED', locator_key: 'l' })],
        'L',
        'registration_not_found',
      ],
    ),
    [
      'a cancelled record by its id, another by the same client’s id',
      [found('svc_eligiblity_id', 'A', { status: 'CANCELLED' }), found('client_eligibility_id', 'B')],
      null,
      'B',
    ],
    ...(['PENDING', 'ELIGIBLE', 'COMPLETED', 'ABSENT', 'EXPIRED'] as const).map(
      (status): [string, FoundRegistration[], string | null, string] => [
        `a record that is ${status} by its id`,
        [found('svc_eligiblity_id', 'A', { status })],
        null,
        'A',
      ],
    ),
  ])('a result is matched to the right registration: %s', (_title, registrations, locator, expected) => {
    expect(codesOf(matchRegistration(registrations, locator))).toBe(expected);
    expect(codesOf(matchRegistration([...registrations].reverse(), locator))).toBe(expected);
  });
});

describe('the exam of an account result', () => {
  const NOW = new Date('2027-03-01T12:00:00Z');
  const at = (hours: number) => new Date(NOW.getTime() + hours * 3_600_000);
  const exam = (
    svc_eligiblity_id: string,
    status: CandidateExam['status'],
    booking_on: Date | null = null,
    has_account_result = false,
  ): CandidateExam => ({ svc_eligiblity_id, status, booking_on, has_account_result });

  it.each<[string, CandidateExam[], string]>([
    ['no exam', [], 'candidate_exam_not_found'],
    ['a completed exam', [exam('A', 'COMPLETED', at(-5))], 'A'],
    ['an exam booked in the past', [exam('A', 'SCHEDULED', at(-1))], 'A'],
    ['an exam booked in the future', [exam('A', 'SCHEDULED', at(1))], 'A'],
    ...(['ELIGIBLE', 'PENDING', 'EXPIRED', 'ABSENT'] as const).map((status): [string, CandidateExam[], string] => [
      `one that is ${status}`,
      [exam('A', status)],
      'A',
    ]),
    ['a cancelled exam', [exam('A', 'CANCELLED')], 'candidate_exam_not_found'],

    [
      'completed before booked and over',
      [exam('B', 'SCHEDULED', at(-1)), exam('A', 'COMPLETED', at(-9)), exam('C', 'ELIGIBLE')],
      'A',
    ],
    ['booked and over before booked', [exam('B', 'SCHEDULED', at(1)), exam('A', 'SCHEDULED', at(-9))], 'A'],
    ['booked now counts as over', [exam('B', 'SCHEDULED', at(1)), exam('A', 'SCHEDULED', NOW)], 'A'],
    ['booked before not booked', [exam('B', 'ELIGIBLE'), exam('A', 'SCHEDULED', at(1)), exam('C', 'ABSENT')], 'A'],

    ['the latest of the completed', [exam('B', 'COMPLETED', at(-9)), exam('A', 'COMPLETED', at(-1))], 'A'],
    ['the latest of those booked and over', [exam('A', 'SCHEDULED', at(-1)), exam('B', 'SCHEDULED', at(-9))], 'A'],
    ['the latest of those booked', [exam('B', 'SCHEDULED', at(1)), exam('A', 'SCHEDULED', at(9))], 'A'],
    [
      'two completed at the same time',
      [exam('A', 'COMPLETED', at(-1)), exam('B', 'COMPLETED', at(-1))],
      'candidate_exam_ambiguous',
    ],
    [
      'two exams completed at the same time, and a later exam',
      [exam('C', 'COMPLETED', at(-2)), exam('B', 'COMPLETED', at(-2)), exam('A', 'COMPLETED', at(-1))],
      'A',
    ],
    [
      'two booked for the same time',
      [exam('A', 'SCHEDULED', at(1)), exam('B', 'SCHEDULED', at(1))],
      'candidate_exam_ambiguous',
    ],
    ['two that are not booked', [exam('A', 'EXPIRED'), exam('B', 'ABSENT')], 'candidate_exam_ambiguous'],
    ['a cancelled exam beside an exam without a booking', [exam('B', 'CANCELLED'), exam('A', 'PENDING')], 'A'],

    ['an exam with a result', [exam('A', 'COMPLETED', at(-1), true)], 'candidate_exam_not_found'],
    [
      'an exam with a result beside an earlier exam without one',
      [exam('B', 'COMPLETED', at(-1), true), exam('A', 'COMPLETED', at(-9))],
      'A',
    ],
    [
      'an exam with a result beside an exam without a booking',
      [exam('B', 'COMPLETED', at(-1), true), exam('A', 'ELIGIBLE')],
      'A',
    ],
  ])('an account result is matched to the right exam: %s', (_title, exams, expected) => {
    expect(codesOf(matchCandidateExam(exams, NOW))).toBe(expected);
    expect(codesOf(matchCandidateExam([...exams].reverse(), NOW))).toBe(expected);
  });
});

describe('a result_id that the account has seen', () => {
  const seen = { svc_eligiblity_id: 'A', candidate_id: 'C-1' };
  it.each<[string, string | null, string]>([
    ['is matched to the same exam for the same candidate', 'C-1', 'A'],
    ['is matched to the same exam when no candidate is named', null, 'A'],
    ['is a conflict if it names another candidate', 'C-2', 'result_id_conflict'],
    ['is a conflict if its candidate_id differs in case', 'c-1', 'result_id_conflict'],
  ])('an account result whose result_id is already known %s', (_title, candidateId, expected) => {
    expect(codesOf(matchResultId(seen, candidateId))).toBe(expected);
  });
});

describe('the members that identify an exam', () => {
  it.each([
    ['in examMetaData if both have one', { examMetaData: { examCode: 'M' }, examApiData: { examCode: 'A' } }, 'M'],
    ['in examApiData if examMetaData has none', { examMetaData: {}, examApiData: { examCode: 'A' } }, 'A'],
    ['in examApiData if examMetaData has ""', { examMetaData: { examCode: '' }, examApiData: { examCode: 'A' } }, 'A'],
    ['missing if it is null', { examMetaData: { examCode: null }, examApiData: null }, null],
    ['missing if the body is empty', {}, null],
  ])('the exam code of a registration result is %s', (_title, body, expected) => {
    expect(registrationFacts(body).examCode).toBe(expected);
  });

  it.each([
    [true, true],
    ['True', true],
    ['tRUE', true],
    [false, false],
    ['False', false],
    [null, false],
    [undefined, false],
  ])('reads simulatedExam with the value %j as %j', (simulatedExam, simulated) => {
    expect(registrationFacts({ examMetaData: { simulatedExam } }).simulated).toBe(simulated);
  });

  it('an empty locator, e-mail address, candidate_id or result_id in a result is treated as missing', () => {
    expect(registrationFacts({ examMetaData: { extRecordLocator: '' }, examTakerEmail: '' })).toMatchObject({
      locator: null,
      email: null,
    });
    expect(accountFacts({ candidate_id: '', result_id: '' })).toEqual({ candidateId: null, resultId: null });
  });
});
