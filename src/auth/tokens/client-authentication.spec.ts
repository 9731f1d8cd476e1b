import { readBasic } from './client-authentication.js';

describe('readBasic', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  it('splits Basic credentials at the first colon and form-decodes both halves (RFC 6749 §2.3.1)', () => {
    expect(readBasic(basic('key:secret'))).toEqual({ key: 'key', secret: 'secret' });
    expect(readBasic(basic('key:a:b'))).toEqual({ key: 'key', secret: 'a:b' });
    expect(readBasic(basic('k%3Ay:a+b%2B%C3%A9'))).toEqual({ key: 'k:y', secret: 'a b+é' });
    expect(readBasic(basic('key:'))).toEqual({ key: 'key', secret: '' });
  });

  it('accepts the scheme name Basic in any case (RFC 9110 §11.1)', () => {
    expect(readBasic(basic('key:secret').replace('Basic', 'bAsIc'))).toEqual({ key: 'key', secret: 'secret' });
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another scheme', 'Bearer abc'],
    ['no credentials', 'Basic'],
    ['no base64', 'Basic key:secret'],
    ['base64url', `Basic ${Buffer.from('key:\u00ff\u00ff\u00ff').toString('base64url')}-_`],
    ['two values', `${basic('key:secret')} x`],
    ['no colon', basic('keysecret')],
    ['an empty key', basic(':secret')],
    ['a stray percent sign', basic('key:100%')],
    ['bytes that are not UTF-8', `Basic ${Buffer.from('key:\xff', 'latin1').toString('base64')}`],
    ['encoded bytes that are not UTF-8', basic('key:%FF')],
  ])('reads no client credentials from %s', (_what, header) => {
    expect(readBasic(header)).toBeNull();
  });
});
