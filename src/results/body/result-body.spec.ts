import { DomainError } from '../../platform/errors.js';
import { PHOTO, readResultBody, VIDEO_LINK, wholeText, withMembers } from './result-body.js';
import { CandidateResultData, CandidateResultsDetails, DECIDING_OF_REGISTRATION } from './results.dto.js';

const read = (json: string, dto: new () => object = CandidateResultsDetails) =>
  readResultBody(dto, Buffer.from(json), dto === CandidateResultsDetails ? DECIDING_OF_REGISTRATION : null);
const kept = (json: string, dto?: new () => object) => {
  const { text, ...rest } = read(json, dto).kept;
  return { ...rest, text: text.toString('utf8') };
};
const hash = (json: string) => kept(json).hash.toString('hex');

function refusal(json: string | Buffer | undefined, dto: new () => object = CandidateResultsDetails): DomainError {
  try {
    readResultBody(dto, typeof json === 'string' ? Buffer.from(json) : json);
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}
const faults = (json: string, dto?: new () => object) =>
  read(json, dto).faults.map(({ pointer, code }) => `${pointer} ${code}`);

it('the hash of a given result body never changes, so it still matches hashes stored by earlier versions', () => {
  const body = `{"z":[{"b":null,"a":1e400,"c":12345678901234567890}],"examDate":null,"more":null,
    "examMetaData":{"examName":null,"own":null,"examCode":"A"},"desktopComments":[{"comments":null,"own":null,"duration":1}],
    "__proto__":{"b":1,"a":2},"${PHOTO}":"QUJD","${VIDEO_LINK}":"https://v.example/1"}`;
  expect(hash(body)).toBe('bbf746cc3f6f12254a1152efbf942e00db15973af96d1a3a3144070829cf15fd');
});

describe('the stored text of a body', () => {
  it.each([
    ['an empty object', '{}', '{}'],
    ['blanks only', ' \r\n\t{ } ', '{}'],
    ['numbers that no double holds', '{"id":12345678901234567890,"x":1.50}', '{"id":12345678901234567890,"x":1.50}'],
    ['a name that occurs twice', '{"a":1,"a":2}', '{"a":1,"a":2}'],
    ['escapes as they were written', '{"a":"\\u00e4\\/\\"","b":["\\\\"]}', '{"a":"\\u00e4\\/\\"","b":["\\\\"]}'],
    ['nested braces and quotes in texts', '{"a":{"b":["}]\\"",{}]},"c":"{"}', '{"a":{"b":["}]\\"",{}]},"c":"{"}'],
    ['letters beyond ASCII', '{"näme":"Å 🎓"}', '{"näme":"Å 🎓"}'],
    ['removed blanks between members', '{ "a" : 1 ,\n"b":2 }', '{"a" : 1,"b":2}'],
    ['a removed byte order mark', '\ufeff{"a":1}', '{"a":1}'],
    ['a member __proto__', '{"__proto__":{"a":1},"constructor":2}', '{"__proto__":{"a":1},"constructor":2}'],
  ])(
    'the stored text of a result body keeps every character of the members, but no blanks between them: %s',
    (_title, json, text) => {
      expect(kept(json).text).toBe(text);
    },
  );

  it.each([
    ['first', `{"${PHOTO}":"QUJD","a":1,"b":2}`],
    ['in the middle', `{"a":1,"${PHOTO}":"QUJD","b":2}`],
    ['last', `{"a":1,"b":2,"${PHOTO}":"QUJD"}`],
    ['under a name with escapes', `{"a":1,"b":2,"user\\u0050hotoBase64String":"QUJD"}`],
  ])('the stored text of a result body leaves out a photo that is %s', (_title, json) => {
    const { text, photo } = kept(json);
    expect(text).toBe('{"a":1,"b":2}');
    expect(photo?.toString()).toBe('"QUJD"');
  });

  it('removes the photo and the video link from the stored text of a result, and can restore them exactly as sent', () => {
    const { text, photo, videoLink } = kept(`{"${VIDEO_LINK}":"https:\\/\\/v.example/1","${PHOTO}":"QUJD"}`);
    expect(text).toBe('{}');
    expect(wholeText(text, { photo, videoLink, credentials: null })).toBe(
      `{"${PHOTO}":"QUJD","${VIDEO_LINK}":"https:\\/\\/v.example/1"}`,
    );
    expect(withMembers('{"a":1}', { [PHOTO]: String(photo), [VIDEO_LINK]: null })).toBe(`{"a":1,"${PHOTO}":"QUJD"}`);
  });

  it('removes the photo from the body of an account result, whatever the JSON type of the photo', () => {
    const { text, photo } = kept(`{"${PHOTO}":{"of":[1,"}"]},"a":1}`, CandidateResultData);
    expect([text, photo?.toString()]).toEqual(['{"a":1}', '{"of":[1,"}"]}']);
  });

  it('keeps the last of two photos in a result body, as JSON.parse does', () => {
    expect(kept(`{"${PHOTO}":"QUJD","${PHOTO}":"QUJE"}`).photo?.toString()).toBe('"QUJE"');
    expect(kept(`{"${PHOTO}":"QUJD","${PHOTO}":null}`).photo).toBeNull();
  });
});

describe('a body that is not well-formed', () => {
  it.each([
    '{',
    '{"a"',
    '{"a":',
    '{"a":}',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1 "b":2}',
    '{"a" 1}',
    '{a:1}',
    '{"a":1}}',
    '{"a":1} x',
    '{"a":[}',
    '{"a":]',
    '{"a":tru}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '{"a":01}',
    `{"${PHOTO}":}`,
    `{"${PHOTO}":tru}`,
    `{"${PHOTO}":"QUJD}`,
    `{"${PHOTO}":"QU\nJD"}`,
    '',
    ' ',
    'nothing',
    `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`,
  ])('refuses a result body that is malformed JSON: %j', (json) => {
    expect(refusal(json).code).toBe('malformed_json');
  });

  it.each(['[]', '1', '"text"', 'null', 'true'])('refuses a result body that is JSON but not an object: %s', (json) => {
    expect(refusal(json).errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([' type_invalid']);
  });

  it('refuses a missing result body', () => {
    expect(refusal(undefined).errors).toEqual([expect.objectContaining({ pointer: '', code: 'required' })]);
  });
});

describe('the hash of a body', () => {
  it.each([
    ['the order of members', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ['blanks', '{"a":[1,2]}', '{ "a" : [ 1 , 2 ] }'],
    ['how a text is written', '{"a":"ä/"}', '{"a":"\\u00e4\\/"}'],
    ['how a photo is written', `{"${PHOTO}":"QU/D"}`, `{"${PHOTO}":"QU\\/D"}`],
    ['a known member that is null', '{"examDate":null}', '{}'],
    ['a known member that is null, deeper', '{"examMetaData":{"examCode":null}}', '{"examMetaData":{}}'],
    ['a known member that is null, in a list', '{"webCamComments":[{"comments":null}]}', '{"webCamComments":[{}]}'],
    ['a photo that is null', `{"${PHOTO}":null}`, '{}'],
    ['how a short number is written', '{"a":1.0}', '{"a":1}'],
  ])('the hash of a result body stays the same when only %s differs', (_title, one, other) => {
    expect(hash(one)).toBe(hash(other));
  });

  it.each([
    ['a value', '{"a":1}', '{"a":2}'],
    ['the type of a value', '{"a":1}', '{"a":"1"}'],
    ['the order of a list', '{"a":[1,2]}', '{"a":[2,1]}'],
    ['an unknown member that is null', '{"a":null}', '{}'],
    ['the photo', `{"${PHOTO}":"QUJD"}`, `{"${PHOTO}":"QUJE"}`],
    ['a photo', `{"${PHOTO}":"QUJD"}`, '{}'],
    ['an empty photo', `{"${PHOTO}":""}`, '{}'],
    ['the link', `{"${VIDEO_LINK}":"https://v.example/1"}`, `{"${VIDEO_LINK}":"https://v.example/2"}`],
    ['the last digit of a long number', '{"a":12345678901234567890}', '{"a":12345678901234567891}'],
    ['the size of a number beyond all doubles', '{"a":1e400}', '{"a":1e401}'],
    ['a member __proto__', '{"__proto__":1}', '{}'],
  ])('the hash of a result body changes with %s', (_title, one, other) => {
    expect(hash(one)).not.toBe(hash(other));
  });
});

describe('a tolerant reader', () => {
  it('accepts the result bodies that real test drivers send', () => {
    const { value } = read(
      JSON.stringify({
        examDate: 'Jul 15 2015  1:13AM',
        examTakerEmail: '5f0c2f0e-0d0b-4f6f-8a43-3d1b0d3c2f11',
        examTakerFirstName: '',
        overAllComments: 'one\ttwo\r\nthree',
        userPhotoBase64String: '',
        videoReviewLink: '',
        desktopComments: [{ comments: 'a\nb', duration: 1, extra: { deep: [null] } }],
        webCamComments: null,
        examApiData: { reviewedExam: 'True', reviewerNotes: 'x\ny', orgExtra: { noOfStudents: 1.0, more: true } },
        examMetaData: { reviewedExam: 'false', simulatedExam: 'FALSE', examCode: null, extra: 'line\nbreak \u0007' },
        extra: { 'any\nname': '\u0001' },
      }),
    );
    expect(value).toMatchObject({ examMetaData: { reviewedExam: 'false' } });
  });

  it.each<[string, object, string[]]>([
    [
      'a text instead of an integer',
      { desktopComments: [{ duration: 'one' }] },
      ['/desktopComments/0/duration type_invalid'],
    ],
    ['a fraction', { webCamComments: [{}, { eventStart: 1.5 }] }, ['/webCamComments/1/eventStart type_invalid']],
    ['an object instead of a text', { examDate: {} }, ['/examDate type_invalid']],
    ['an object instead of a list', { webCamComments: {} }, ['/webCamComments type_invalid']],
    ['a list instead of an object', { examMetaData: [] }, ['/examMetaData type_invalid']],
    [
      'a text in a list of objects',
      { desktopComments: ['x', null] },
      ['/desktopComments/0 type_invalid', '/desktopComments/1 type_invalid'],
    ],
    [
      'a word that is no boolean',
      { examMetaData: { simulatedExam: 'yes' } },
      ['/examMetaData/simulatedExam type_invalid'],
    ],
    ['a number that is no boolean', { examApiData: { reviewedExam: 1 } }, ['/examApiData/reviewedExam type_invalid']],
    [
      'a deeper member',
      { examApiData: { orgExtra: { noOfStudents: '3.5' } } },
      ['/examApiData/orgExtra/noOfStudents type_invalid'],
    ],
    ['a photo that is no base64', { userPhotoBase64String: 'a%b=' }, ['/userPhotoBase64String base64_invalid']],
    ['a photo of two alphabets', { userPhotoBase64String: 'a+b_' }, ['/userPhotoBase64String base64_invalid']],
    ['a long link', { videoReviewLink: 'v'.repeat(2001) }, ['/videoReviewLink too_long']],
    ['a control character', { examTakerLastName: 'a\u0007' }, ['/examTakerLastName control_character']],
    ['a line break outside of comments', { examTakerLastName: 'a\nb' }, ['/examTakerLastName control_character']],
    ['a bell in comments', { overAllComments: '\u0007' }, ['/overAllComments control_character']],
    ['half a surrogate pair in a known member', { examDate: '\ud800' }, ['/examDate lone_surrogate']],
    ['NUL in an unknown member', { extra: { deep: ['\0'] } }, ['/extra/deep/0 control_character']],
    ['half a surrogate pair in an unknown member', { extra: 'a\udc00' }, ['/extra lone_surrogate']],
    ['NUL in an unknown name', { extra: { 'a\0': 1 } }, ['/extra/a\0 control_character']],
    ['half a surrogate pair in an unknown name', { '\ud800': 1 }, ['/\ud800 lone_surrogate']],
    [
      'an unknown name in a list of known objects',
      { webCamComments: [{ 'a/b': '\0' }] },
      ['/webCamComments/0/a~1b control_character'],
    ],
    [
      'everything at once',
      { examDate: true, extra: '\0', examMetaData: { examCode: [] }, examApiData: 'x' },
      [
        '/examApiData type_invalid',
        '/examDate type_invalid',
        '/examMetaData/examCode type_invalid',
        '/extra control_character',
      ],
    ],
  ])('reports the faults of a result body with %s', (_title, body, expected) => {
    expect(faults(JSON.stringify(body)).sort()).toEqual(expected);
  });

  it.each<[string, object, string[]]>([
    ['a score that is a boolean', { overall_score_pct: true }, ['/overall_score_pct type_invalid']],
    ['a scaled score that is a word', { overall_score_scaled: 'high' }, ['/overall_score_scaled type_invalid']],
    ['a scaled score with a fraction', { overall_score_scaled: 640.5 }, ['/overall_score_scaled type_invalid']],
    [
      'an order that is a list',
      { category_scores: [{ category_order: [] }] },
      ['/category_scores/0/category_order type_invalid'],
    ],
    [
      'a candidate that is no id, or a number of more digits than are read',
      { candidate_id: {}, result_id: 1e20 },
      ['/candidate_id type_invalid', '/result_id type_invalid'],
    ],
  ])('refuses an account result with %s', (_title, body, expected) => {
    expect(faults(JSON.stringify(body), CandidateResultData).sort()).toEqual(expected);
  });

  it('accepts photos of up to 5 MiB in a result body', () => {
    const photo = (bytes: number) => `{"${PHOTO}":"${Buffer.alloc(bytes, 7).toString('base64')}"}`;
    expect(kept(photo(5 * 1024 * 1024)).photo).toHaveLength(6990508 + 2);
    expect(faults(photo(5 * 1024 * 1024 + 1))).toEqual([`/${PHOTO} too_long`]);
  });

  it('refuses a result body with more than 50,000 category scores, but not one with more than 50,000 comments', () => {
    const list = (name: string) => `{"${name}":[${'{},'.repeat(50_000)}{}]}`;
    const judged = (json: string, dto?: new () => object) => {
      const { faults: found, isRefused } = read(json, dto);
      return [isRefused, ...found.map(({ pointer, code }) => `${pointer} ${code}`)];
    };
    expect(judged(list('webCamComments'))).toEqual([false, '/webCamComments too_many']);
    expect(judged(list('category_scores'), CandidateResultData)).toEqual([true, '/category_scores too_many']);
  });

  it('collects 101 faults of a result body: the 100 that a response lists, and one to show that there are more', () => {
    expect(faults(`{"webCamComments":[${'1,'.repeat(5000)}1]}`)).toHaveLength(101);
  });

  it.each<[string, object, boolean]>([
    ['a description that is at fault', { examDate: {}, userPhotoBase64String: '%', examApiData: 'x' }, false],
    ['an exam code', { examMetaData: { examCode: {} } }, true],
    ['an e-mail address', { examTakerEmail: 'a'.repeat(10_001) }, true],
    ['an unknown member', { extra: '\0' }, true],
    [
      'an exam code behind more faults than are named',
      { webCamComments: Array(200).fill(1), examMetaData: { extRecordLocator: [] } },
      true,
    ],
    ['as many faults without one', { webCamComments: Array(200).fill(1), examMetaData: { examCode: 'A' } }, false],
  ])('refuses a result only for faults in identifying members or in unknown members: %s', (_title, body, isRefused) => {
    expect(read(JSON.stringify(body)).isRefused).toBe(isRefused);
  });

  it.each<[string, object, new () => object]>([
    ['numbers for texts', { examDate: 2015, examMetaData: { examCode: 7 } }, CandidateResultsDetails],
    ['texts for integers', { desktopComments: [{ duration: '61', eventStart: '61.0' }] }, CandidateResultsDetails],
    ['base64url', { userPhotoBase64String: '_-8' }, CandidateResultsDetails],
    ['base64 in lines', { userPhotoBase64String: 'QUJD\r\nREVG\n' }, CandidateResultsDetails],
    ['a data: URL', { userPhotoBase64String: 'data:image/png;base64,QUJDRA==' }, CandidateResultsDetails],
    ['any link', { videoReviewLink: 'video 7' }, CandidateResultsDetails],
    [
      'scores',
      { overall_score_pct: 81.5, overall_score_scaled: '640', candidate_id: 7, result: 1 },
      CandidateResultData,
    ],
  ])('accepts other JSON types and spellings of a value in a result body: %s', (_title, body, dto) => {
    expect(faults(JSON.stringify(body), dto)).toEqual([]);
  });
});
