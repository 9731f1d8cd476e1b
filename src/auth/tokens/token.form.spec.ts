import fc from 'fast-check';
import { parseForm } from './token.form.js';

describe('parseForm', () => {
  const parse = (text: string) => parseForm(Buffer.from(text, 'latin1'));

  it('decodes plus signs and percent-encoded UTF-8 in a token request', () => {
    const form = parse('username=J%C3%BCrgen+M%2Bller&password=a%26b%3Dc%25');
    expect(form.get('username')).toBe('Jürgen M+ller');
    expect(form.get('password')).toBe('a&b=c%');
  });

  it('parses every form that URLSearchParams writes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (value) => {
        const form = parseForm(Buffer.from(new URLSearchParams({ value }).toString()));

        if (/[\u0000-\u001f\u007f-\u009f\u202d\u202e\ufffd]/.test(value))
          expect(() => form.get('value')).toThrow('invalid_request');
        else expect(form.get('value')).toBe(value);
      }),
    );
  });

  it('treats a form parameter without a value as missing', () => {
    expect(parse('scope=&username').get('scope')).toBeUndefined();
    expect(parse('scope=&username').get('username')).toBeUndefined();
    expect(() => parse('scope=').require('scope')).toThrow('invalid_request');
    expect(parse('').get('scope')).toBeUndefined();
    expect(parse('&&scope=read&').get('scope')).toBe('read');
  });

  it.each([
    ['a repeated parameter', 'scope=read&scope=read'],
    ['a repeated parameter, once without a value', 'scope=&scope=read'],
    ['a repeated parameter, once encoded', 'scope=read&%73cope=read'],
    ['a repeated unknown parameter', 'x=1&x=2'],
    ['percent-encoded bytes that are not UTF-8', 'username=%FF'],
    ['a percent-encoded surrogate', 'username=%ED%A0%80'],
    ['raw bytes that are not UTF-8', 'username=\xff'],
    ['a stray percent sign', 'password=100%'],
  ])('refuses a token request with %s', (_what, text) => {
    expect(() => parse(text)).toThrow('invalid_request');
  });

  it.each(['%00', 'a%00b', '%0A', '%0D', '%7F', '%C2%80'])(
    'refuses a token request with the control character in %s',
    (value) => {
      const form = parse(`username=${value}&unused=${value}&grant_type=password`);
      expect(() => form.get('username')).toThrow('invalid_request');
      expect(form.get('grant_type')).toBe('password');
    },
  );

  it('does not mistake a property of Object.prototype for a form parameter', () => {
    expect(parse('').get('__proto__')).toBeUndefined();
    expect(parse('__proto__=x').get('__proto__')).toBe('x');
    expect(parse('').get('constructor')).toBeUndefined();
  });
});
