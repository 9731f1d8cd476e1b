// A thread that reads large results; result-reader.ts is its other side.
require('reflect-metadata');
const { parentPort } = require('node:worker_threads');
const { DomainError } = require('../platform/errors.js');
const { readDelivered } = require('./result-delivered.js');

parentPort.on('message', ({ source, bytes }) => {
  try {
    const { kept, facts } = readDelivered(source, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    // A view would take the whole body behind it along.
    const own = Object.entries(kept).map(([name, value]) => [
      name,
      Buffer.isBuffer(value) ? new Uint8Array(value) : value,
    ]);
    const transferred = own.flatMap(([, value]) => (value instanceof Uint8Array ? [value.buffer] : []));
    parentPort.postMessage({ kept: Object.fromEntries(own), facts }, transferred);
  } catch (error) {
    const { code, detail, errors } = error;
    parentPort.postMessage(error instanceof DomainError ? { refusal: { code, detail, errors } } : { error });
  }
});
