import fc from 'fast-check';
import { PHOTO, readResultBody, VIDEO_LINK, wholeText } from './result-body.js';
import { CandidateResultData, CandidateResultsDetails } from './results.dto.js';

function kept(json: string, dto: new () => object = CandidateResultsDetails) {
  const { text, ...rest } = readResultBody(dto, Buffer.from(json)).kept;
  return { ...rest, text: text.toString('utf8') };
}

describe('the stored text of a result', () => {
  it.each([
    ['in an object', '{"more":{"NAME":1}}', '{"more":{}}'],
    ['in a list', '{"a":[1,{"b":2,"NAME":"x"},[{"NAME":{"c":"}"},"d":3}]]}', '{"a":[1,{"b":2},[{"d":3}]]}'],
    ['with blanks around it', '{"a" : { "NAME" : "x" , "b" : "y" }}', '{"a" : {"b" : "y"}}'],
    ['under a name with escapes', '{"a":{"\\u0045SCAPED":"x"}}', '{"a":{}}'],
    ['twice', '{"a":{"NAME":"x","b":1,"NAME":"y","c":2}}', '{"a":{"b":1,"c":2}}'],
  ])(
    'the stored text of a result omits the separately stored members, which can be put back: %s',
    (_title, json, text) => {
      for (const dto of [CandidateResultData, CandidateResultsDetails])
        for (const name of ['examPassword', 'extExamToken', PHOTO, VIDEO_LINK]) {
          const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
          const whole = json.replaceAll('NAME', name).replaceAll('\\u0045SCAPED', escaped);
          const apart = kept(whole, dto);
          expect(apart.text).toBe(text);
          expect(JSON.parse(wholeText(apart.text, apart))).toEqual(JSON.parse(whole));
          expect(apart.photo !== null).toBe(name === PHOTO);
          expect(apart.videoLink !== null).toBe(name === VIDEO_LINK);
          expect(apart.credentials !== null).toBe(name.startsWith('ex'));
        }
    },
  );

  it('the stored text of a result omits a credential at the top level, but keeps a credential that is null', () => {
    const { text, credentials } = kept('{"examPassword":"x","a":null,"extExamToken":null}');
    expect(text).toBe('{"a":null,"extExamToken":null}');
    expect(credentials?.toString()).toContain('examPassword');
  });

  it('any result body can be restored completely from its stored text and the separately stored members', () => {
    const name = fc.constantFrom('examPassword', 'extExamToken', PHOTO, VIDEO_LINK, 'a', 'ä"', 'b');
    const { node } = fc.letrec<{ node: unknown; object: Record<string, unknown> }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.integer(),
        fc.constant(null),
        tie('object'),
        fc.array(tie('node'), { maxLength: 3 }),
      ),
      object: fc.dictionary(name, tie('node'), { maxKeys: 5 }),
    }));
    const body = fc.dictionary(fc.constantFrom('m', 'n', 'o', 'examPassword'), node, { maxKeys: 4 });
    fc.assert(
      fc.property(body, fc.boolean(), fc.boolean(), fc.boolean(), (value, photo, link, credentials) => {
        const apart = kept(JSON.stringify(value, null, 1));
        expect(JSON.parse(wholeText(apart.text, apart))).toEqual(value);
        expect(apart.text).not.toMatch(
          /"(examPassword|extExamToken|userPhotoBase64String|videoReviewLink)":(?! ?null)/,
        );
        const some = {
          photo: photo ? apart.photo : null,
          videoLink: link ? apart.videoLink : null,
          credentials: credentials ? apart.credentials : null,
        };
        JSON.parse(wholeText(apart.text, some));
      }),
    );
  });
});
