/**
 * Loaded into a service that is to be slower: the process takes so much more of the processor than it would.
 * `BENCH_PLANTED_SLOWDOWN=0.1` is a tenth.
 */
const share = Number(process.env['BENCH_PLANTED_SLOWDOWN']);
const EVERY_MS = 2;
const used = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
let counted = used();

setInterval(() => {
  const planted = used() + (used() - counted) * share;
  while (used() < planted);
  counted = used();
}, EVERY_MS).unref();
