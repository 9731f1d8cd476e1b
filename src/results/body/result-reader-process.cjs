// The process that reads large results. result-reader.ts starts the process, which ends when the channel to its parent
// closes.
require('../../platform/worker-start.cjs');
require('reflect-metadata');
const { DomainError } = require('../../platform/errors.js');
const { excessOf } = require('../../platform/http/json-text.js');
const { readDelivered } = require('./result-delivered.js');

/** The number of JSON values above which a body counts as having many values. */
const MANY_VALUES = 10_000;

/**
 * Returns the parts without those bytes that are a part of the body. They are replaced by their offsets, because passing
 * a body of 8 MiB back would block the other process's event loop.
 */
function withOffsets(kept, body) {
  return Object.fromEntries(
    Object.entries(kept).map(([name, part]) => {
      if (!Buffer.isBuffer(part)) return [name, part];
      if (part.equals(body)) return [name, [0, body.length]];
      if (part.buffer !== body.buffer) return [name, part];
      const start = part.byteOffset - body.byteOffset;
      return [name, [start, start + part.length]];
    }),
  );
}

process.on('message', ({ source, bytes }) => {
  const before = process.cpuUsage();
  const hasManyValues = excessOf(bytes, MANY_VALUES) === 'values';
  const answer = (said) => {
    const { user, system } = process.cpuUsage(before);
    process.send({ result: { ...said, hasManyValues, workMs: (user + system) / 1000 } });
  };
  try {
    const { kept, ...read } = readDelivered(source, bytes);
    answer({ ...read, kept: withOffsets(kept, bytes) });
  } catch (error) {
    const { code, detail, errors, message } = error;
    if (error instanceof DomainError) answer({ refusal: { code, detail, errors } });
    else process.send({ error: message });
  }
});
