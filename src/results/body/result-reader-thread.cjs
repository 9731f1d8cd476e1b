// The program of the thread that reads large results. result-reader.ts starts the thread.
require('reflect-metadata');
require('../../platform/low-priority.cjs');
const { threadMs } = require('../../platform/thread-time.cjs');
const { parentPort } = require('node:worker_threads');
const { DomainError } = require('../../platform/errors.js');
const { readDelivered } = require('./result-delivered.js');

parentPort.on('message', ({ source, bytes }) => {
  const begun = threadMs();
  const answer = (said, transferred) =>
    parentPort.postMessage({ result: { ...said, workMs: threadMs() - begun } }, transferred);
  try {
    const { kept, ...read } = readDelivered(source, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    // The bytes are copied, because transferring a view would transfer the whole underlying buffer.
    const own = Object.entries(kept).map(([name, value]) => [
      name,
      Buffer.isBuffer(value) ? new Uint8Array(value) : value,
    ]);
    const transferred = own.flatMap(([, value]) => (value instanceof Uint8Array ? [value.buffer] : []));
    answer({ kept: Object.fromEntries(own), ...read }, transferred);
  } catch (error) {
    const { code, detail, errors } = error;
    // The bytes of a refused body are returned with the error, because the main thread stores them.
    if (error instanceof DomainError)
      answer(
        { refusal: { code, detail, errors }, bytes },
        bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : [],
      );
    else parentPort.postMessage({ error });
  }
});
