import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileStore, type Received } from '../src/index';

const folder = mkdtempSync(join(tmpdir(), 'eligibility-file-store-'));
const file = join(folder, 'store');

afterAll(() => rmSync(folder, { recursive: true }));

const received = (id: string, sequence: number): Received => ({
  id,
  sequence,
  notification: { booking_code: 'B1', candidate_id: 'C1', effective_date: `2026-12-01T10:00:0${sequence}Z` } as never,
  digest: `0${sequence}`,
});
const once = (store: FileStore, id: string, sequence: number) =>
  store.once(received(id, sequence), () => Promise.resolve());

describe('FileStore', () => {
  it('a reopened FileStore still knows the ids, sequences and digests of the processed notifications', async () => {
    const first = new FileStore(file);
    expect(await once(first, 'a', 2)).toBe('applied');
    first.close();
    const second = new FileStore(file);
    expect(await once(second, 'a', 2)).toBe('repeat');
    expect(await once(second, 'b', 1)).toBe('late');
    expect(await once(second, 'c', 3)).toBe('applied');
    second.close();
    const third = new FileStore(file);
    const atS = Date.parse('2026-12-01T10:00:00Z') / 1000;
    expect(await third.kept(atS + 1, atS + 3)).toEqual([
      { id: 'a', atS: atS + 2, digest: '02' },
      { id: 'b', atS: atS + 1, digest: '01' },
    ]);
    third.close();
  });

  it('FileStore discards an incomplete last line after a crash, and then appends the next notification', async () => {
    appendFileSync(file, '{"id":"d","seq');
    const first = new FileStore(file);
    expect(await once(first, 'd', 4)).toBe('applied');
    first.close();
    const second = new FileStore(file);
    expect(await once(second, 'd', 4)).toBe('repeat');
    second.close();
  });

  it('FileStore does not record a notification whose processing fails', async () => {
    const store = new FileStore(file);
    await expect(store.once(received('e', 5), () => Promise.reject(new Error('planned')))).rejects.toThrow('planned');
    expect(await once(store, 'e', 5)).toBe('applied');
    store.close();
  });
});
