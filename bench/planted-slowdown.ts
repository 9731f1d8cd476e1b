/**
 * Loaded into a service that can be slowed down while it runs: the process takes so much more of the processor than it would.
 * `BENCH_PLANTED_SLOWDOWN` names a file that says by how much; 0.1 in it is a tenth.
 */
import { readFileSync } from 'node:fs';
import { PLANTED } from './service-process.js';

const EVERY_MS = 2;
const READ_AGAIN_MS = 100;
const share = () => Number(readFileSync(process.env[PLANTED]!, 'utf8'));
const used = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
let slower = share();
let counted = used();

setInterval(() => (slower = share()), READ_AGAIN_MS).unref();
setInterval(() => {
  const planted = used() + (used() - counted) * slower;
  while (used() < planted);
  counted = used();
}, EVERY_MS).unref();
