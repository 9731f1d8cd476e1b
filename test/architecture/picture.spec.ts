import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(__dirname, '../..');

describe('the picture in docs/architecture.md', () => {
  it('the picture in docs/architecture.md shows the arrows that the dependency rules allow', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/house-picture.mjs'), '--check'], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });
});
