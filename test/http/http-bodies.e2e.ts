import { gzipSync } from 'node:zlib';
import { faultsOf } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { rawCall } from '../support/raw-http';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const path = () => `/accounts/${scene.account}/candidates`;
const create = (body: string | Buffer | object | undefined, headers: Record<string, string> = {}) =>
  app.call('POST', path(), { token: scene.token, body, headers });
const raw = (chunks: (string | Buffer)[], headers: Record<string, string> = {}, token = scene.token) =>
  rawCall(app.url, 'POST', path(), { chunks, headers: { authorization: `Bearer ${token}`, ...headers } });
const valid = () => app.given.eligibilityBody(scene.testCode);
const json = () => JSON.stringify(valid());
/** Returns the JSON of a valid body in which the candidate's city is the given raw JSON text. */
const withCity = (text: string) => {
  const body = valid();
  body['candidate'].city = '@city@';
  return JSON.stringify(body).replace('"@city@"', text);
};

describe('§2 strings', () => {
  it.each([
    ['NUL', '\\u0000', 'control_character'],
    ['a C0 control', '\\u0001', 'control_character'],
    ['a line break', '\\n', 'control_character'],
    ['a tab', '\\t', 'control_character'],
    ['DEL', '\\u007f', 'control_character'],
    ['a C1 control', '\\u0085', 'control_character'],
    ['a high surrogate alone', '\\ud800', 'lone_surrogate'],
    ['a low surrogate alone', '\\udc00x', 'lone_surrogate'],
    ['surrogates in the wrong order', '\\udc00\\ud800', 'lone_surrogate'],
  ])('a body with %s in any of its strings gets 400', async (_title, escape, code) => {
    expect(faultsOf(await create(withCity(`"a${escape}b"`)))).toEqual([`/candidate/city ${code}`]);
    const everywhere = json()
      .replace(/"(Ada|Lovelace|NY|US|ada@example.org)"/g, `"${escape}"`)
      .replace(/"candidate_id":"[^"]+"/, `"candidate_id":"${escape}"`);
    expect(faultsOf(await create(everywhere)).sort()).toEqual(
      ['candidate_id', 'country', 'email', 'first_name', 'last_name', 'province_state'].map(
        (name) => `/candidate/${name} ${code}`,
      ),
    );
    const body = { ...valid(), status: '@s@', additional_attributes: 0 };
    const readOnly = await create(
      JSON.stringify(body).replace('@s@', code === 'lone_surrogate' || escape.startsWith('\\u') ? escape : '\\u0000'),
    );
    expect(faultsOf(readOnly).some((fault) => fault.startsWith('/status '))).toBe(true);
  });

  it('stores surrogate pairs, right-to-left marks and letters of any script exactly as sent', async () => {
    const answer = await create(withCity('"\\ud83d\\ude00\\u200f مدينة Zürich e\\u0301 é"'));
    expect(answer.body.candidate.city).toBe('\u{1f600}\u200f مدينة Zürich e\u0301 é');
  });

  it.each([
    ['a stray continuation byte', [0x80]],
    ['an overlong NUL', [0xc0, 0x80]],
    ['a surrogate in UTF-8', [0xed, 0xa0, 0x80]],
    ['Latin-1', [0xe9]],
    ['a byte that never occurs', [0xff]],
  ])('refuses invalid UTF-8 with 400 malformed_json: %s', async (_title, bytes) => {
    const [before, after] = withCity('"@"').split('@');
    const answer = await create(Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]));
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_json']);
  });
});

describe('§2 malformed JSON', () => {
  it.each([
    '{"test_code":"A","candidate":{"candidate_id":"A","candidate_id":"B"}}',
    '{',
    '[1,',
    '{"a":01}',
    "{'a':1}",
    '{"a":1,}',
    'nul',
    '{"a":1}}',
    '\u0000',
    '{"a":NaN}',
    'test_code=X',
    '"\\x"',
  ])('refuses the body %j with 400 malformed_json', async (text) => {
    const answer = await create(text);
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_json']);
  });

  it('refuses arrays and objects nested more than 64 levels deep with 400 malformed_json', async () => {
    for (const deep of ['['.repeat(100_000) + ']'.repeat(100_000), '{"a":'.repeat(40_000) + '1' + '}'.repeat(40_000)]) {
      expect((await create(deep)).body).toMatchObject({ status: 400, code: 'malformed_json' });
      expect((await create(withCity(deep))).body).toMatchObject({ status: 400, code: 'malformed_json' });
    }
  });

  it.each(['null', '5', '"text"', 'true', '[]'])(
    'refuses the body %s, which is valid JSON but not an object, with type_invalid for the whole body',
    async (text) => {
      expect(faultsOf(await create(text))).toEqual([' type_invalid']);
    },
  );
});

describe('§2 names of members that every JavaScript object inherits', () => {
  it.each([
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__defineGetter__',
    'prototype',
    'then',
  ])('refuses a member named %s like any other unknown member', async (name) => {
    const text = json().replace('{', `{${JSON.stringify(name)}:{"admin":true},`);
    expect(faultsOf(await create(text))).toEqual([`/${name} unknown_field`]);
    const inside = json().replace('"first_name"', `${JSON.stringify(name)}:1,"first_name"`);
    expect(faultsOf(await create(inside))).toEqual([`/candidate/${name} unknown_field`]);
  });
});

describe('§2 size and type of bodies', () => {
  const padded = (bytes: number) => {
    const text = json();
    return text + ' '.repeat(bytes - Buffer.byteLength(text));
  };

  it('accepts a body of 256 KiB and refuses a larger one with 413, with or without Content-Length', async () => {
    expect((await create(padded(256 * 1024))).status).toBe(200);
    expect((await create(padded(256 * 1024 + 1))).body).toMatchObject({ status: 413, code: 'payload_too_large' });
    const chunked = await raw([padded(256 * 1024 + 1)], {
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    });
    expect(chunked.status).toBe(413);
  });

  it('applies the body size limit to the decompressed body', async () => {
    const gzip = { 'content-encoding': 'gzip' };
    expect((await create(gzipSync(json()), gzip)).status).toBe(200);
    expect((await create(gzipSync(' '.repeat(50_000_000) + json()), gzip)).status).toBe(413);
    expect((await create(gzipSync(json()).subarray(0, 40), gzip)).status).toBe(400);
    expect((await create(json(), gzip)).status).toBe(400);
    expect((await create(json(), { 'content-encoding': 'snappy' })).body).toMatchObject({
      status: 415,
      code: 'unsupported_media_type',
    });
  });

  it('reports only the first 100 faults of a body, with a note that there are more', async () => {
    for (const wide of [
      `{${Array.from({ length: 20_000 }, (_, at) => `"m${at}":1`).join()}}`,
      json().replace('}', `,"additional_attributes":[${Array(60_000).fill('{}').join()}]}`),
      json().replace('{', `{"voucher_codes":[${Array(90_000).fill('1').join()}],`),
    ]) {
      const answer = await create(wide);
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
      expect(answer.body.errors.length).toBeLessThanOrEqual(101);
    }
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/merge-patch+json',
    'application/json2',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    'json',
    '*/*',
  ])('refuses the content type %s with 415 unsupported_media_type', async (type) => {
    const answer = await create(json(), { 'content-type': type });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it('refuses a body without a content type with 415', async () => {
    expect((await raw([json()])).status).toBe(415);
  });

  it.each([
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; charset=Utf-8 ; q=1',
    'application/json;',
    'application/json; version',
  ])('accepts a body with the content type %s as JSON', async (type) => {
    expect((await create(json(), { 'content-type': type })).status).toBe(200);
  });

  it('a missing body gets 400 with the code "required", and an empty chunked body gets 400 malformed_json', async () => {
    expect(faultsOf(await create(undefined))).toEqual([' required']);
    const empty = await raw([], { 'content-length': '0', 'content-type': 'text/plain' });
    expect([empty.status, JSON.parse(empty.text).errors[0].code]).toEqual([400, 'required']);
    const chunked = await raw([], { 'transfer-encoding': 'chunked', 'content-type': 'application/json' });
    expect([chunked.status, JSON.parse(chunked.text).code]).toEqual([400, 'malformed_json']);
  });

  it('accepts a request body with Transfer-Encoding: chunked', async () => {
    const text = json();
    const answer = await raw([text.slice(0, 50), text.slice(50)], {
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    });
    expect(answer.status).toBe(200);
  });

  it('ignores the body of a GET or DELETE request', async () => {
    const record = await app.given.eligibility(scene);
    const one = `${path()}/${record['candidate'].candidate_id}`;
    const headers = { authorization: `Bearer ${scene.token}`, 'content-type': 'text/plain' };
    const read = await rawCall(app.url, 'GET', one, {
      headers: { ...headers, 'content-length': '3' },
      chunks: ['{"a'],
    });
    expect(read.status).toBe(200);
    const cancel = await rawCall(app.url, 'DELETE', `${one}/tests/${scene.testCode}`, {
      headers: { ...headers, 'content-length': '3' },
      chunks: ['{"a'],
    });
    expect(cancel.status).toBe(204);
  });

  it('checks the token first, then the scope, then the account, and only then the body', async () => {
    const foreign = await app.given.account();
    const reader = await app.given.token([scene.account], ['read']);
    for (const [body, type] of [
      [' '.repeat(300_000), 'application/json'],
      ['x', 'text/plain'],
      ['{', 'application/json'],
      ['{}', 'application/json'],
    ] as const) {
      const headers = { 'content-type': type };
      const post = (account: string, token?: string) =>
        app.call('POST', `/accounts/${account}/candidates`, { token, body, headers });
      expect((await post(scene.account)).status).toBe(401);
      expect((await post(scene.account, 'x')).status).toBe(401);
      expect((await post(foreign, reader)).body).toMatchObject({ status: 403, code: 'insufficient_scope' });
      expect((await post(foreign, scene.token)).body).toMatchObject({ status: 403, code: 'account_forbidden' });
      expect((await post(scene.account, scene.token)).status).toBeGreaterThanOrEqual(400);
    }
  });
});
