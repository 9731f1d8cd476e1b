import { randomBytes } from 'node:crypto';
import { openCursor, sealCursor, useCursorKeys } from './cursor';

const [old, young] = [randomBytes(32), randomBytes(32)];

describe('a cursor', () => {
  beforeEach(() => useCursorKeys([old]));

  it('decoding a cursor returns the encoded list position, and the same position always gives the same cursor', () => {
    expect(openCursor(sealCursor('4711'))).toBe('4711');
    expect(sealCursor('4711')).toBe(sealCursor('4711'));
  });

  it('a cursor does not reveal the list position that it encodes', () => {
    expect(Buffer.from(sealCursor('4711'), 'base64url').includes('4711')).toBe(false);
    expect(sealCursor('4712').slice(0, 20)).not.toBe(sealCursor('4711').slice(0, 20));
  });

  it('refuses a cursor with a single changed bit, and a text that is not a cursor', () => {
    const bytes = Buffer.from(sealCursor('4711'), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] ^= 1 << (bit & 7);
      expect(openCursor(changed.toString('base64url'))).toBeNull();
    }
    for (const text of ['', 'MTI', '!', sealCursor('4711') + 'A', sealCursor('4711') + '='])
      expect(openCursor(text)).toBeNull();
  });

  it('a cursor stays valid after a change of the key as long as the old key is configured', () => {
    const cursor = sealCursor('4711');
    useCursorKeys([young, old]);
    expect(openCursor(cursor)).toBe('4711');
    useCursorKeys([young]);
    expect(openCursor(cursor)).toBeNull();
  });
});
